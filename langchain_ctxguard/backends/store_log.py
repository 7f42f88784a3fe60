"""The log on a LangGraph `BaseStore`, and what such a store cannot give."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any
from weakref import WeakKeyDictionary

from langgraph.store.base import BaseStore, GetOp, PutOp

from langchain_ctxguard.backends.forked import ForkSafeLock
from langchain_ctxguard.backends.store_items import ROOT, items_of, names_of, number, place_of, read_item, stream_of, value_of
from langchain_ctxguard.backends.tenancy import require_tenant
from langchain_ctxguard.domain.anchor import Anchor, Fault, Finding, Head, Unreadable, findings, missing_streams
from langchain_ctxguard.domain.log import GENESIS, Entry, Stream, appended
from langchain_ctxguard.errors import LogConflictError, LogTamperedError
from langchain_ctxguard.ports import Clock

LIMITS = MappingProxyType(
    {
        "compare_and_set": (
            "Two processes that append to one stream at the same moment can both succeed: a BaseStore cannot compare before it writes. "
            "Both entries stay, and reading the stream then raises LogTamperedError. Let one process write each stream."
        ),
        "append_only": "Whoever holds the store can change and delete entries: a BaseStore refuses neither. `verify(anchor)` finds it.",
        "atomic_append": "Several bodies appended at once, their head and their refs are one batch, which a store may carry out in part.",
    }
)
"""What a `BaseStore` cannot give, and what follows."""

_LOCKS: WeakKeyDictionary[BaseStore, ForkSafeLock] = WeakKeyDictionary()


class StoreLog:
    """A `Log` on a LangGraph `BaseStore`. Safe under threads of one process; `limits` says what is missing.

    The store is asked through its sync methods, so an async store of which only the async methods work is of no use here.
    """

    limits = LIMITS

    def __init__(self, store: BaseStore, *, tenant: str | None = None, clock: Clock | None = None) -> None:
        """Keep the log in `store`, below the namespace `ctxguard`.

        Args:
            store: Opened and closed by whoever gives it.
            tenant: Whose streams may be named; `None`: anybody's.
            clock: Says what time it is; `None`: the system's, in UTC.
        """
        self._store = store
        self._tenant = tenant
        self._clock = clock or (lambda: datetime.now(UTC))
        # One for each store, not for each log on it.
        self._lock = _LOCKS.setdefault(store, ForkSafeLock())

    def append(self, stream: Stream, bodies: Sequence[bytes], *, expected: int | None = None, refs: Sequence[str] = ()) -> list[Entry]:
        """Append `bodies` as one batch; see `ports.Log` and `limits`."""
        require_tenant(self._tenant, stream)
        with self._lock:
            head = self._last(stream)
            added = appended(stream, head, bodies, clock=self._clock, refs=refs, expected=expected)
            if not added:
                return added
            self._store.batch(_writes(stream, added))
            rivals = self._sorted(stream, {"seq": {"$gt": number(head[0])}})
            if {entry.hash for entry in rivals if entry.seq <= added[-1].seq} != {entry.hash for entry in added}:
                # Somebody wrote between our look and our word. Theirs may be acknowledged, ours is not.
                self._withdraw(stream, added)
                raise LogConflictError(stream, expected=head[0], found=head[0] + 1)
            return added

    def read(self, stream: Stream, since: int = 0) -> list[Entry]:
        """Return the entries of a stream after number `since`.

        Raises:
            LogTamperedError: one is missing, cannot be read, or is there twice because two processes wrote at once.
        """
        require_tenant(self._tenant, stream)
        last = max(since, 0)
        entries = []
        for entry in self._sorted(stream, {"seq": {"$gt": number(last)}}):
            if isinstance(entry, Unreadable):
                raise LogTamperedError(stream, seq=entry.seq, reason=entry.reason)
            if entry.seq != last + 1:
                reason = "it is there twice" if entry.seq == last else "it is missing"
                raise LogTamperedError(stream, seq=min(entry.seq, last + 1), reason=reason)
            entries.append(entry)
            last = entry.seq
        return entries

    def heads(self, streams: Sequence[Stream]) -> list[int]:
        """Return the number of the last entry of each stream, 0 for an empty one, in one batch."""
        for stream in streams:
            require_tenant(self._tenant, stream)
        items: list[Any] = self._store.batch([GetOp(namespace=(ROOT, "heads"), key=stream.address, refresh_ttl=False) for stream in streams])
        return [0 if item is None else int(item.value["seq"]) for item in items]

    def find(self, ref: str) -> list[Entry]:
        """Return the entries that carry `ref`, oldest first by their time."""
        named = list(items_of(self._store, (ROOT, "refs", place_of(ref))))
        items: list[Any] = self._store.batch([GetOp(namespace=(ROOT, "log", item.value["address"]), key=item.value["key"]) for item in named])
        found = [entry for item in items if item is not None and isinstance(entry := read_item(item.value), Entry)]
        mine = [entry for entry in found if ref in entry.refs and self._tenant in {None, entry.stream.tenant}]
        return sorted(mine, key=lambda entry: (entry.at, entry.stream.address, entry.seq))

    def verify(self, anchor: Anchor | None = None) -> list[Finding]:
        """Return everything that is changed, missing, moved or inserted; entries that the index does not name are found too."""
        anchored = {} if anchor is None else anchor.by_stream()
        found: list[Finding] = []
        streams = self._streams()
        for stream in streams:
            entries = list(self._sorted(stream))
            head = anchored.get(stream)
            last = self.heads([stream])[0]
            found += findings(stream, entries, head)
            if last > max((entry.seq for entry in entries), default=0):
                found.append(Finding(stream=stream, seq=last, fault=Fault.MISSING, detail="is missing, and the head names it."))
            found += [finding for entry in entries if isinstance(entry, Entry) for finding in self._unindexed(entry)]
        return [*found, *missing_streams(streams, anchored)]

    def anchor(self) -> Anchor:
        """Return where every stream ends now."""
        heads = []
        for stream in self._streams():
            seq, digest = self._last(stream)
            heads.append(Head(stream=stream, seq=seq, hash=digest))
        return Anchor(at=self._clock(), heads=tuple(heads))

    def _last(self, stream: Stream) -> tuple[int, str]:
        """Return number and hash of the last entry, also where a crash left the head behind it."""
        hint = self.heads([stream])[0]
        last = (0, GENESIS)
        for entry in self._sorted(stream, {"seq": {"$gt": number(hint - 1)}} if hint else None):
            if isinstance(entry, Unreadable) or entry.seq == last[0]:
                raise LogTamperedError(stream, seq=entry.seq, reason=entry.reason if isinstance(entry, Unreadable) else "it is there twice")
            last = (entry.seq, entry.hash)
        if last[0] < hint:
            raise LogTamperedError(stream, seq=hint, reason="it is missing")
        return last

    def _withdraw(self, stream: Stream, added: Sequence[Entry]) -> None:
        self._store.batch(_withdrawals(stream, added))
        left = self._sorted(stream)
        self._store.batch([_put((ROOT, "heads"), stream.address, _head(stream, left[-1].seq if left else 0))])

    def _sorted(self, stream: Stream, where: dict[str, Any] | None = None) -> list[Entry | Unreadable]:
        read = [read_item(item.value) for item in items_of(self._store, _log(stream), where)]
        return sorted(read, key=lambda entry: (entry.seq, entry.hash))

    def _streams(self) -> list[Stream]:
        streams = [stream_of(item.value) for item in items_of(self._store, (ROOT, "heads"))]
        return sorted((stream for stream in streams if self._tenant in {None, stream.tenant}), key=str)

    def _unindexed(self, entry: Entry) -> list[Finding]:
        key = _key(entry)
        items: list[Any] = self._store.batch([GetOp(namespace=(ROOT, "refs", place_of(ref)), key=_ref_key(entry)) for ref in entry.refs])
        if all(item is not None and item.value["key"] == key for item in items):
            return []
        return [Finding(stream=entry.stream, seq=entry.seq, fault=Fault.INDEX, detail="is not indexed under the names it carries.")]


def _log(stream: Stream) -> tuple[str, ...]:
    return (ROOT, "log", stream.address)


def _key(entry: Entry) -> str:
    # With the hash in it, two writers at once overwrite nothing of each other's.
    return f"{number(entry.seq)}-{entry.hash}"


def _ref_key(entry: Entry) -> str:
    return f"{entry.stream.address}-{_key(entry)}"


def _writes(stream: Stream, added: Sequence[Entry]) -> list[PutOp]:
    return [
        *(_put(_log(stream), _key(entry), value_of(entry)) for entry in added),
        *(
            _put((ROOT, "refs", place_of(ref)), _ref_key(entry), {"address": stream.address, "key": _key(entry)})
            for entry in added
            for ref in entry.refs
        ),
        _put((ROOT, "heads"), stream.address, _head(stream, added[-1].seq)),
    ]


def _head(stream: Stream, seq: int) -> dict[str, Any]:
    return {"seq": number(seq), "stream": names_of(stream)}


def _withdrawals(stream: Stream, added: Sequence[Entry]) -> list[PutOp]:
    return [
        *(_put((ROOT, "refs", place_of(ref)), _ref_key(entry), None) for entry in added for ref in entry.refs),
        *(_put(_log(stream), _key(entry), None) for entry in added),
    ]


def _put(namespace: tuple[str, ...], key: str, value: dict[str, Any] | None) -> PutOp:
    # Never embedded, never expired, whatever the store does with other items.
    return PutOp(namespace=namespace, key=key, value=value, index=False, ttl=None)

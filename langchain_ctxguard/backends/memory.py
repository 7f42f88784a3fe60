"""Log, blobs and index in the memory of one process: for tests, for trying things out, and for rules that come from code anyway."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from langchain_ctxguard.backends.blob_addresses import addressed, checked
from langchain_ctxguard.backends.forked import ForkSafeLock
from langchain_ctxguard.backends.tenancy import require_tenant
from langchain_ctxguard.core.search_terms import index_terms, query_terms, ranked
from langchain_ctxguard.domain.anchor import Anchor, Finding, Head, findings, missing_streams
from langchain_ctxguard.domain.hit import Hit
from langchain_ctxguard.domain.log import GENESIS, Entry, Stream, appended
from langchain_ctxguard.ports import Clock


class MemoryLog:
    """A `Log` that ends with its process. Safe under threads."""

    def __init__(self, *, tenant: str | None = None, clock: Clock | None = None) -> None:
        """Begin empty.

        Args:
            tenant: Whose streams may be named; `None`: anybody's.
            clock: Says what time it is; `None`: the system's, in UTC.
        """
        self._tenant = tenant
        self._clock = clock or (lambda: datetime.now(UTC))
        self._entries: dict[Stream, list[Entry]] = {}
        self._refs: dict[str, list[Entry]] = {}
        self._lock = ForkSafeLock()

    def append(self, stream: Stream, bodies: Sequence[bytes], *, expected: int | None = None, refs: Sequence[str] = ()) -> list[Entry]:
        """Append `bodies` as one; see `ports.Log`."""
        require_tenant(self._tenant, stream)
        with self._lock:
            entries = self._entries.get(stream, [])
            head = (entries[-1].seq, entries[-1].hash) if entries else (0, GENESIS)
            # Nothing is kept unless all of it is.
            added = appended(stream, head, bodies, clock=self._clock, refs=refs, expected=expected)
            if added:
                self._entries.setdefault(stream, entries).extend(added)
            for entry in added:
                for ref in entry.refs:
                    self._refs.setdefault(ref, []).append(entry)
            return added

    def read(self, stream: Stream, since: int = 0) -> list[Entry]:
        """Return the entries of a stream after number `since`."""
        require_tenant(self._tenant, stream)
        with self._lock:
            return list(self._entries.get(stream, ())[max(since, 0) :])

    def heads(self, streams: Sequence[Stream]) -> list[int]:
        """Return the number of the last entry of each stream, 0 for an empty one."""
        for stream in streams:
            require_tenant(self._tenant, stream)
        with self._lock:
            return [len(self._entries.get(stream, ())) for stream in streams]

    def find(self, ref: str) -> list[Entry]:
        """Return the entries that carry `ref`, oldest first."""
        with self._lock:
            return list(self._refs.get(ref, ()))

    def verify(self, anchor: Anchor | None = None) -> list[Finding]:
        """Return everything that is changed, missing, moved or inserted."""
        anchored = {} if anchor is None else anchor.by_stream()
        with self._lock:
            streams = {stream: list(entries) for stream, entries in self._entries.items()}
        found = [finding for stream, entries in streams.items() for finding in findings(stream, entries, anchored.get(stream))]
        return [*found, *missing_streams(streams, anchored)]

    def anchor(self) -> Anchor:
        """Return where every stream ends now."""
        with self._lock:
            heads = tuple(Head(stream=stream, seq=entries[-1].seq, hash=entries[-1].hash) for stream, entries in self._entries.items())
        return Anchor(at=self._clock(), heads=heads)


class MemoryBlobs:
    """A `BlobStore` that ends with its process. Safe under threads."""

    def __init__(self) -> None:
        """Begin empty."""
        self._spaces: dict[str, dict[str, bytes]] = {}
        self._lock = ForkSafeLock()

    def put(self, space: str, contents: Sequence[bytes], *, addresses: Sequence[str] | None = None) -> list[str]:
        """Keep contents that are not there yet; see `ports.BlobStore`."""
        filed = addressed(contents, addresses)
        with self._lock:
            kept = self._spaces.setdefault(space, {})
            for address, content in filed:
                kept.setdefault(address, content)
        return [address for address, _ in filed]

    def get(self, space: str, addresses: Sequence[str]) -> dict[str, bytes]:
        """Return what there is, by address."""
        with self._lock:
            kept = self._spaces.get(space, {})
            found = {address: kept[address] for address in addresses if address in kept}
        return checked(space, found)

    def copy_space(self, source: str, target: str) -> int:
        """Keep in `target` also what is in `source`."""
        with self._lock:
            added = {address: content for address, content in self._spaces.get(source, {}).items() if address not in self._spaces.get(target, {})}
            if added:
                self._spaces.setdefault(target, {}).update(added)
            return len(added)

    def purge_space(self, space: str) -> int:
        """Erase all contents of a space."""
        with self._lock:
            return len(self._spaces.pop(space, {}))

    def addresses(self, space: str) -> list[str]:
        """Return the addresses of all contents of a space."""
        with self._lock:
            return sorted(self._spaces.get(space, {}))

    def drop(self, space: str, addresses: Sequence[str]) -> int:
        """Erase these contents of a space."""
        with self._lock:
            kept = self._spaces.get(space, {})
            return sum(kept.pop(address, None) is not None for address in addresses)


class MemoryIndex:
    """A `TextIndex` that ends with its process. Safe under threads."""

    def __init__(self) -> None:
        """Begin empty."""
        self._spaces: dict[str, dict[str, Counter[str]]] = {}
        self._lock = ForkSafeLock()

    def put(self, space: str, texts: Mapping[str, str]) -> None:
        """Index texts by key."""
        terms = {key: index_terms(text) for key, text in texts.items()}
        with self._lock:
            self._spaces.setdefault(space, {}).update(terms)

    def search(self, space: str, query: str, *, limit: int = 10) -> list[Hit]:
        """Return the keys of the texts that share most with `query`, best first."""
        with self._lock:
            texts = dict(self._spaces.get(space, {}))
        return best(texts, query, limit=limit)

    def copy_space(self, source: str, target: str) -> None:
        """Index in `target` also what is indexed in `source`."""
        with self._lock:
            if theirs := self._spaces.get(source):
                self._spaces.setdefault(target, {}).update(theirs)

    def purge(self, space: str) -> int:
        """Forget all texts of a space."""
        with self._lock:
            return len(self._spaces.pop(space, {}))


def best(texts: Mapping[str, Mapping[str, int]], query: str, *, limit: int) -> list[Hit]:
    """Return the best of texts given by their terms, reading each of them."""
    terms, beginnings = query_terms(query)
    matches: dict[str, dict[str, int]] = {}
    for key, counts in texts.items():
        found = {term: counts[term] for term in terms if counts.get(term)}
        for beginning in beginnings:
            if count := sum(count for term, count in counts.items() if term.startswith(beginning)):
                found[beginning] = count
        if found:
            matches[key] = found
    return [Hit(key=key, score=score) for key, score in ranked(matches, texts=len(texts), limit=limit)]

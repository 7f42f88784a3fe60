"""What an append-only log holds: entries chained by hash, in streams. What is found wrong with one is in `anchor.py`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime

from pydantic import AwareDatetime

from langchain_ctxguard.domain.value import Value, canonical_json, digest_of, is_list_of
from langchain_ctxguard.errors import LogConflictError, StoreError

GENESIS = "0" * 64
"""What stands before the first entry of a stream."""


class Stream(Value):
    """The address of one log: whose it is, what it is about, and which one."""

    tenant: str = "default"
    kind: str
    key: str

    def __str__(self) -> str:
        """Name it in a sentence."""
        whose = "" if self.tenant == "default" else f" of '{self.tenant}'"
        return f"stream {self.kind} '{self.key}'{whose}"

    @property
    def address(self) -> str:
        """The same address in a fixed size: a digest in hexadecimal, for stores that cannot hold any text of any length as a key."""
        return digest_of(canonical_json([self.tenant, self.kind, self.key]))


class Entry(Value):
    """One fact on record. `body` is JSON bytes, kept as they came."""

    stream: Stream
    seq: int
    """From 1, without gaps."""

    at: AwareDatetime
    """In UTC."""

    body: bytes
    refs: tuple[str, ...] = ()
    """Names the entry can be found by."""

    before: str = GENESIS
    """Hash of the entry before."""

    hash: str

    def is_intact(self) -> bool:
        """Say whether the hash still is that of the content and of the entry before."""
        return self.hash == entry_hash(self.stream, self.seq, self.at, self.body, self.refs, self.before)


def entry_hash(stream: Stream, seq: int, at: datetime, body: bytes, refs: tuple[str, ...], before: str) -> str:  # noqa: PLR0917 - the fields of an entry
    """Return the hash that chains an entry to the one before."""
    place = [stream.tenant, stream.kind, stream.key, seq, at.isoformat(), list(refs), before]
    return digest_of(canonical_json(place) + "\n" + hashlib.sha256(body).hexdigest())


def chained(stream: Stream, after: Entry | None, at: datetime, body: bytes, refs: tuple[str, ...] = ()) -> Entry:
    """Return the entry that holds `body` behind `after` (`None`: the first of its stream)."""
    seq, before = (1, GENESIS) if after is None else (after.seq + 1, after.hash)
    return linked(stream, seq, before, at=at, body=body, refs=refs)


def linked(stream: Stream, seq: int, before: str, *, at: datetime, body: bytes, refs: tuple[str, ...] = ()) -> Entry:
    """Return entry `seq`, which follows the one of hash `before`.

    Raises:
        StoreError: `at` has no time zone.
    """
    if at.utcoffset() is None:
        msg = f"The clock of a log says '{at}', which names no time zone. Nothing was written; return an aware datetime, e.g. `datetime.now(UTC)`."
        raise StoreError(msg)
    moment = at.astimezone(UTC)
    return Entry(stream=stream, seq=seq, at=moment, body=body, refs=refs, before=before, hash=entry_hash(stream, seq, moment, body, refs, before))


def appended(
    stream: Stream,
    head: tuple[int, str],
    bodies: Sequence[bytes],
    *,
    clock: Callable[[], datetime],
    refs: Sequence[str] = (),
    expected: int | None = None,
) -> list[Entry]:
    """Return the entries that `bodies` become behind `head`, the number and hash of the last entry there is.

    Raises:
        LogConflictError: the stream does not end where the writer expects.
        StoreError: a body is not bytes, or a ref not text.
    """
    seq, before = head
    if expected is not None and expected != seq:
        raise LogConflictError(stream, expected=expected, found=seq)
    if not is_list_of(bytes, bodies):
        msg = f"What is appended to {stream} is a list of bytes, each the JSON text of one entry. Nothing was written; encode it with `encode_json`."
        raise StoreError(msg)
    if not is_list_of(str, refs):
        msg = f"The refs of entries of {stream} are a list of texts. Nothing was written."
        raise StoreError(msg)
    names, entries = tuple(dict.fromkeys(refs)), []
    for body in bodies:
        seq += 1
        entries.append(linked(stream, seq, before, at=clock(), body=body, refs=names))
        before = entries[-1].hash
    return entries


def verify(entries: Iterable[Entry], *, after: Entry | None = None, stream: Stream | None = None) -> int | None:
    """Return the number of the first of consecutive entries that is altered, or not where it belongs; `None` if all are as written.

    Entries taken off the end leave no trace here: the last number is to be compared with a head kept elsewhere.

    Args:
        entries: Of one stream, oldest first.
        after: The entry before the first of them; `None`: they begin the stream.
        stream: Where they belong; `None`: wherever the first one says.
    """
    seq, before = (0, GENESIS) if after is None else (after.seq, after.hash)
    home = stream if stream is not None or after is None else after.stream
    for entry in entries:
        home = home or entry.stream
        seq += 1
        if entry.seq != seq or entry.before != before or entry.stream != home or not entry.is_intact():
            return seq
        before = entry.hash
    return None

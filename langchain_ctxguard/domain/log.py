"""What an append-only log holds: entries chained by hash, in streams."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from pydantic import AwareDatetime

from langchain_ctxguard.domain.value import Value, canonical_json, digest_of

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


class Entry(Value):
    """One fact on record. `body` is JSON bytes, kept as they came."""

    stream: Stream
    seq: int
    """From 1, without gaps."""

    at: AwareDatetime
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
    return digest_of(canonical_json(place) + "\n" + digest_of(body.decode("utf-8", "surrogatepass")))


def chained(stream: Stream, after: Entry | None, at: datetime, body: bytes, refs: tuple[str, ...] = ()) -> Entry:
    """Return the entry that holds `body` behind `after` (`None`: the first of its stream)."""
    seq = 1 if after is None else after.seq + 1
    before = GENESIS if after is None else after.hash
    return Entry(stream=stream, seq=seq, at=at, body=body, refs=refs, before=before, hash=entry_hash(stream, seq, at, body, refs, before))


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

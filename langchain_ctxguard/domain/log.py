"""What an append-only log holds: entries chained by hash, in streams."""

from __future__ import annotations

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

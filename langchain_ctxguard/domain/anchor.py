"""What is found wrong with a log, and the anchor: heads kept elsewhere, by which entries taken off the end are missed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum

from pydantic import AwareDatetime, ValidationError

from langchain_ctxguard.domain.log import GENESIS, Entry, Stream
from langchain_ctxguard.domain.value import Value
from langchain_ctxguard.errors import StoreError


class Head(Value):
    """Where a stream ended, and the hash of that entry."""

    stream: Stream
    seq: int
    hash: str


class Anchor(Value):
    """Where every stream of a log ended at a moment. Keep it where whoever can write the log cannot."""

    schema_version: int = 1
    at: AwareDatetime
    heads: tuple[Head, ...]

    def to_json(self) -> str:
        """Return it as one line of ASCII."""
        return json.dumps(
            {
                "schema_version": self.schema_version,
                "at": self.at.isoformat(),
                "heads": [[head.stream.tenant, head.stream.kind, head.stream.key, head.seq, head.hash] for head in self.heads],
            }
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> Anchor:
        """Read what `to_json` wrote.

        Raises:
            StoreError: it is no anchor, or one of a later version.
        """
        try:
            data = json.loads(text)
            heads = [Head(stream=Stream(tenant=row[0], kind=row[1], key=row[2]), seq=row[3], hash=row[4]) for row in data["heads"]]
            anchor = cls(at=data["at"], heads=tuple(heads), schema_version=data["schema_version"])
        except (ValueError, TypeError, KeyError, IndexError, ValidationError) as error:
            msg = f"This is no anchor of a log ({type(error).__name__}). Nothing was verified; give the text that `Anchor.to_json` returned."
            raise StoreError(msg) from error
        if anchor.schema_version != 1:
            msg = f"The anchor has schema version {anchor.schema_version}; this version of the package reads 1. Upgrade langchain-ctxguard."
            raise StoreError(msg)
        return anchor

    def by_stream(self) -> dict[Stream, Head]:
        """Return the heads by stream."""
        return {head.stream: head for head in self.heads}


class Fault(StrEnum):
    """What can be wrong with an entry."""

    CHANGED = "changed"
    """Its hash is not that of its content."""

    MISSING = "missing"
    """It is not there."""

    MISPLACED = "misplaced"
    """It is whole and does not follow the entry before it: moved, inserted, or the one before was put in another's place."""

    REPLACED = "replaced"
    """The anchor knows another entry of this number."""

    UNREADABLE = "unreadable"
    """What is stored is no entry."""

    INDEX = "index"
    """The index names it wrongly: `find` misses it, or finds it under a name it does not carry."""


class Finding(Value):
    """One thing that is wrong with a log."""

    stream: Stream
    seq: int
    """The entry; the first one where several are missing."""

    fault: Fault
    detail: str

    def __str__(self) -> str:
        """Say it in a sentence."""
        return f"{self.stream}, entry {self.seq}: {self.detail}"


class Unreadable(Value):
    """What stands in an entry's place where none can be read."""

    seq: int
    hash: str = ""
    reason: str


def findings(stream: Stream, entries: Iterable[Entry | Unreadable], anchored: Head | None = None) -> Iterator[Finding]:
    """Yield what is wrong with the entries of a stream, oldest first as they are stored.

    A chain that was written anew from some entry to its end is whole: only an anchor taken before tells.
    """
    last, before = 0, GENESIS
    for entry in entries:
        # After a gap, or what cannot be read, there is nothing an entry could be held against.
        follows = entry.seq == last + 1 and before
        if entry.seq > last + 1:
            yield _missing(stream, last + 1, entry.seq - 1)
        if (fault := _fault(stream, entry, last=last, before=before if follows else None)) is not None:
            yield fault
        if anchored is not None and entry.seq == anchored.seq and entry.hash != anchored.hash:
            yield Finding(stream=stream, seq=entry.seq, fault=Fault.REPLACED, detail="another entry than the anchor knows.")
        last, before = max(last, entry.seq), entry.hash
    if anchored is not None and last < anchored.seq:
        yield _missing(stream, last + 1, anchored.seq)


def missing_streams(seen: Iterable[Stream], anchored: Mapping[Stream, Head]) -> Iterator[Finding]:
    """Yield a finding for each stream that the anchor knows and that is gone as a whole."""
    there = set(seen)
    for stream, head in anchored.items():
        if stream not in there and head.seq:
            yield _missing(stream, 1, head.seq)


def _fault(stream: Stream, entry: Entry | Unreadable, *, last: int, before: str | None) -> Finding | None:
    if isinstance(entry, Unreadable):
        return Finding(stream=stream, seq=entry.seq, fault=Fault.UNREADABLE, detail=f"cannot be read: {entry.reason}.")
    if entry.stream != stream or entry.seq <= last:
        return Finding(stream=stream, seq=entry.seq, fault=Fault.MISPLACED, detail="stands where it does not belong.")
    if not entry.is_intact():
        return Finding(stream=stream, seq=entry.seq, fault=Fault.CHANGED, detail="is not what was written.")
    if before is not None and entry.before != before:
        return Finding(stream=stream, seq=entry.seq, fault=Fault.MISPLACED, detail="does not follow the entry before it.")
    return None


def _missing(stream: Stream, first: int, last: int) -> Finding:
    detail = "is missing." if first == last else f"is missing, and so are all up to entry {last}."
    return Finding(stream=stream, seq=first, fault=Fault.MISSING, detail=detail)

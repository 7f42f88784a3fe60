"""How streams and entries stand in rows, and what a row that is no entry is taken for. Pure functions: no database is known here."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from itertools import groupby
from typing import Any, Generic, NamedTuple, TypeVar

from langchain_ctxguard.domain.anchor import Fault, Finding, Head, Unreadable, findings
from langchain_ctxguard.domain.log import Entry, Stream
from langchain_ctxguard.domain.value import canonical_json, digest_of

T = TypeVar("T")

_NAME_BYTES = 16
# A backslash stands for itself only when it is written as an escape, so that every text is read as it was.
_ESCAPED = re.compile(r"[\\\x00\ud800-\udfff]")
_ESCAPE = re.compile(r"\\u([0-9a-f]{4})")


class Row(NamedTuple):
    """One entry as it is stored; the types are what was written, not what may stand there now."""

    stream: Any
    seq: Any
    at: Any
    body: Any
    refs: Any
    before: Any
    hash: Any


class Place(NamedTuple):
    """A stream as it is stored."""

    id: Any
    address: Any
    tenant: Any
    kind: Any
    key: Any


class Name(NamedTuple):
    """A line of the index."""

    stream: Any
    seq: Any
    ref: Any
    tenant: Any


def shown(text: str) -> str:
    r"""Return a text as a database can hold it: NUL, half surrogate pairs and the backslash are escaped.

    >>> shown("C:\\x"), written(shown("C:\\x"))
    ('C:\\u005cx', 'C:\\x')
    """
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def written(text: str) -> str:
    """Return the text that `shown` was given."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)


@lru_cache(maxsize=4_096)
def name_digest(*names: str) -> bytes:
    """Return what a name of any length is indexed by."""
    return bytes.fromhex(digest_of(canonical_json(list(names))))[:_NAME_BYTES]


def row_of(stream_id: int, entry: Entry) -> Row:
    """Return the row of an entry."""
    refs = json.dumps(list(entry.refs), separators=(",", ":")).encode("ascii")
    return Row(stream_id, entry.seq, entry.at.isoformat(), entry.body, refs, bytes.fromhex(entry.before), bytes.fromhex(entry.hash))


def names_of(stream_id: int, entry: Entry) -> set[Name]:
    """Return the lines by which an entry is found."""
    tenant = name_digest(entry.stream.tenant)
    return {Name(stream_id, entry.seq, name_digest(ref), tenant) for ref in entry.refs}


def entry_of(stream: Stream, row: Row) -> Entry:
    """Return the entry a row holds.

    Raises:
        ValueError: the row is no entry, or not in the form it was written in.
    """
    if not isinstance(row.seq, int) or not isinstance(row.at, str):
        msg = "its number or time is of the wrong type"
        raise ValueError(msg)
    if not all(isinstance(value, bytes) for value in (row.body, row.refs, row.before, row.hash)):
        msg = "its content is not bytes"
        raise ValueError(msg)
    at, refs = datetime.fromisoformat(row.at), json.loads(row.refs.decode("ascii"))
    if not isinstance(refs, list) or not all(isinstance(ref, str) for ref in refs):
        msg = "its refs are no list of texts"
        raise ValueError(msg)
    entry = Entry(stream=stream, seq=row.seq, at=at, body=row.body, refs=tuple(refs), before=row.before.hex(), hash=row.hash.hex())
    # What says the same in other words was still changed.
    if at.utcoffset() != UTC.utcoffset(None) or row != row_of(row.stream, entry):
        msg = "it is written in another form"
        raise ValueError(msg)
    return entry


def stream_of(place: Place) -> Stream:
    """Return the stream a row names.

    Raises:
        ValueError: its names are not those of its address.
    """
    if all(isinstance(name, str) for name in (place.tenant, place.kind, place.key)):
        stream = Stream(tenant=written(place.tenant), kind=written(place.kind), key=written(place.key))
        if (shown(stream.tenant), shown(stream.kind), shown(stream.key)) == place[2:] and place.address == bytes.fromhex(stream.address):
            return stream
    msg = "its names are not those of its address"
    raise ValueError(msg)


class Sorted(Generic[T]):
    """Hands out items that are sorted by a number, one number after the other, without keeping them."""

    def __init__(self, items: Iterable[T], number: Callable[[T], Any]) -> None:
        """Read from `items`."""
        self._groups = groupby(items, number)
        self._ahead = next(self._groups, None)
        self.unclaimed: list[Any] = []
        """The numbers that nobody asked for."""

    def take(self, number: Any) -> Iterator[T]:
        """Yield the items of a number; ask for rising numbers only, and take all of one before the next."""
        while self._ahead is not None and isinstance(self._ahead[0], int) and self._ahead[0] < number:
            self._leave()
        if self._ahead is not None and self._ahead[0] == number:
            yield from self._ahead[1]
            self._ahead = next(self._groups, None)

    def rest(self) -> list[Any]:
        """Return the numbers nobody asked for, up to the end."""
        while self._ahead is not None:
            self._leave()
        return self.unclaimed

    def _leave(self) -> None:
        if self._ahead is not None:
            self.unclaimed.append(self._ahead[0])
        self._ahead = next(self._groups, None)


def row_findings(place: Place, rows: Iterable[Row], names: Iterable[Name], anchored: Mapping[Stream, Head]) -> Iterator[Finding]:
    """Yield what is wrong with a stream as it is stored: its names, its entries, and its lines of the index; both in order of their numbers."""
    try:
        stream = stream_of(place)
    except ValueError as error:
        stream = Stream(tenant=str(place.tenant), kind=str(place.kind), key=str(place.key))
        yield Finding(stream=stream, seq=0, fault=Fault.CHANGED, detail=f"the stream itself was changed: {error}.")
    index = Sorted(names, lambda name: name.seq)
    misnamed: list[Finding] = []
    count = 0

    def read() -> Iterator[Entry | Unreadable]:
        nonlocal count
        for row in rows:
            count += 1
            found = _read(stream, row)
            if isinstance(found, Entry) and {*index.take(found.seq)} != names_of(place.id, found):
                misnamed.append(_misnamed(stream, found.seq, "is not indexed under the names it carries."))
            yield found

    yield from findings(stream, read(), anchored.get(stream))
    if not count:
        yield Finding(stream=stream, seq=1, fault=Fault.MISSING, detail="is missing: the stream is there and has no entry.")
    yield from misnamed
    yield from (_misnamed(stream, seq, "is named in the index and is no entry that can be read.") for seq in index.rest())


def _misnamed(stream: Stream, seq: Any, detail: str) -> Finding:
    return Finding(stream=stream, seq=seq if isinstance(seq, int) else 0, fault=Fault.INDEX, detail=detail)


def _read(stream: Stream, row: Row) -> Entry | Unreadable:
    try:
        return entry_of(stream, row)
    except (ValueError, TypeError, RecursionError, OverflowError) as error:
        digest = row.hash.hex() if isinstance(row.hash, bytes) else ""
        return Unreadable(seq=row.seq if isinstance(row.seq, int) else 0, hash=digest, reason=str(error))

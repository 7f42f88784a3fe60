"""The log in a database: SQLite or PostgreSQL, through the same statements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Select, bindparam, func, insert, select

from langchain_ctxguard.backends.sql_database import Database
from langchain_ctxguard.backends.sql_rows import (
    Name,
    Place,
    Row,
    Sorted,
    entry_of,
    name_digest,
    names_of,
    row_findings,
    row_of,
    shown,
    stream_of,
)
from langchain_ctxguard.backends.sql_schema import entries, refs, streams
from langchain_ctxguard.backends.tenancy import require_tenant
from langchain_ctxguard.domain.anchor import Anchor, Fault, Finding, Head, missing_streams
from langchain_ctxguard.domain.log import GENESIS, Entry, Stream, appended
from langchain_ctxguard.errors import LogTamperedError
from langchain_ctxguard.ports import Clock

_ROW = (entries.c.stream, entries.c.seq, entries.c.at, entries.c.body, entries.c.refs, entries.c.before, entries.c.hash)
_PLACE = (streams.c.id, streams.c.address, streams.c.tenant, streams.c.kind, streams.c.key)
_NAME = (refs.c.stream, refs.c.seq, refs.c.ref, refs.c.tenant)
_AT_ONCE = 10_000
"""Streams asked for in one statement: databases bind a limited number of values."""

# Built once: to build a statement takes longer than to run it.
_HEAD = select(
    *_PLACE,
    select(func.max(entries.c.seq)).where(entries.c.stream == streams.c.id).scalar_subquery().label("seq"),
    select(entries.c.hash).where(entries.c.stream == streams.c.id).order_by(entries.c.seq.desc()).limit(1).scalar_subquery().label("hash"),
).where(streams.c.address == bindparam("address"))
_READ = (
    select(*_PLACE, *_ROW)
    .join(streams, streams.c.id == entries.c.stream)
    .where(streams.c.address == bindparam("address"), entries.c.seq > bindparam("since"))
    .order_by(entries.c.seq)
)
_HEADS = select(
    *_PLACE,
    select(func.max(entries.c.seq)).where(entries.c.stream == streams.c.id).scalar_subquery(),
).where(streams.c.address.in_(bindparam("addresses", expanding=True)))
_FIND = (
    select(*_PLACE, *_ROW)
    .join_from(refs, entries, (entries.c.stream == refs.c.stream) & (entries.c.seq == refs.c.seq))
    .join(streams, streams.c.id == entries.c.stream)
    .where(refs.c.ref == bindparam("ref"))
    .order_by(entries.c.id)
)
_FIND_OF_TENANT = _FIND.where(refs.c.tenant == bindparam("tenant"))
_NEW_STREAM = insert(streams).returning(streams.c.id)
_NEW_ENTRY = insert(entries)
_NEW_NAME = insert(refs)


class SqlLog:
    """A `Log` in a database. Safe under threads, processes and forks; made by `GuardStore.open`."""

    def __init__(self, database: Database, *, tenant: str | None = None, clock: Clock | None = None) -> None:
        """Read and write in a database that has the schema.

        Args:
            database: Where.
            tenant: Whose streams may be named; `None`: anybody's.
            clock: Says what time it is; `None`: the system's, in UTC.
        """
        self._database = database
        self._tenant = tenant
        self._clock = clock or (lambda: datetime.now(UTC))

    def append(self, stream: Stream, bodies: Sequence[bytes], *, expected: int | None = None, refs: Sequence[str] = ()) -> list[Entry]:
        """Append `bodies` as one; see `ports.Log`. What is returned is durable."""
        require_tenant(self._tenant, stream)
        address = bytes.fromhex(stream.address)
        with self._database.writing(claim=address) as connection:
            last = connection.execute(_HEAD, {"address": address}).first()
            if last is not None:
                _require_names(stream, last)
            head = (0, GENESIS) if last is None or last.seq is None else (last.seq, _hex(stream, last.seq, last.hash))
            added = appended(stream, head, bodies, clock=self._clock, refs=refs, expected=expected)
            if added:
                insert_entries(connection, new_stream(connection, stream) if last is None else last.id, added)
        return added

    def read(self, stream: Stream, since: int = 0) -> list[Entry]:
        """Return the entries of a stream after number `since`.

        Raises:
            LogTamperedError: a row is no entry. Whether entries follow one another is asked of `verify`.
        """
        require_tenant(self._tenant, stream)
        with self._database.reading() as connection:
            rows = connection.execute(_READ, {"address": bytes.fromhex(stream.address), "since": since}).all()
        for row in rows[:1]:
            _require_names(stream, row)
        return [_entry(stream, Row(*row[len(_PLACE) :])) for row in rows]

    def heads(self, streams: Sequence[Stream]) -> list[int]:
        """Return the number of the last entry of each stream, 0 for an empty one, in one query."""
        for stream in streams:
            require_tenant(self._tenant, stream)
        addresses = [bytes.fromhex(stream.address) for stream in streams]
        named = dict(zip(addresses, streams, strict=True))
        found: dict[bytes, int] = {}
        with self._database.reading() as connection:
            for start in range(0, len(addresses), _AT_ONCE):
                rows = connection.execute(_HEADS, {"addresses": addresses[start : start + _AT_ONCE]}).all()
                for row in rows:
                    _require_names(named[row.address], row)
                    found[row.address] = row[len(_PLACE)]
        return [found.get(address) or 0 for address in addresses]

    def find(self, ref: str) -> list[Entry]:
        """Return the entries that carry `ref`, oldest first.

        Raises:
            LogTamperedError: a row is no entry.
        """
        query, given = _FIND, {"ref": name_digest(ref)}
        if self._tenant is not None:
            query, given = _FIND_OF_TENANT, {**given, "tenant": name_digest(self._tenant)}
        with self._database.reading() as connection:
            rows = connection.execute(query, given).all()
        # Many entries, few streams.
        places = {row[0]: row[: len(_PLACE)] for row in rows}
        streams = {number: _stream(Place(*place)) for number, place in places.items()}
        found = [_entry(streams[row[0]], Row(*row[len(_PLACE) :])) for row in rows]
        return [entry for entry in found if ref in entry.refs and self._tenant in {None, entry.stream.tenant}]

    def verify(self, anchor: Anchor | None = None) -> list[Finding]:
        """Return everything that is changed, missing, moved, inserted or wrongly indexed, in one reading of all streams."""
        anchored = {} if anchor is None else anchor.by_stream()
        with self._database.reading(is_snapshot=True) as connection:
            return list(self._findings(connection, anchored))

    def anchor(self) -> Anchor:
        """Return where every stream ends now."""
        any_entry = entries.alias()
        last = select(func.max(any_entry.c.seq)).where(any_entry.c.stream == streams.c.id).scalar_subquery()
        query = select(*_PLACE, entries.c.seq, entries.c.hash).join_from(
            streams, entries, (entries.c.stream == streams.c.id) & (entries.c.seq == last)
        )
        if self._tenant is not None:
            query = query.where(streams.c.tenant == shown(self._tenant))
        with self._database.reading(is_snapshot=True) as connection:
            rows = connection.execute(query.order_by(streams.c.id)).all()
        ends = [(_stream(Place(*row[: len(_PLACE)])), row.seq, row.hash) for row in rows]
        return Anchor(at=self._clock(), heads=tuple(Head(stream=stream, seq=seq, hash=_hex(stream, seq, digest)) for stream, seq, digest in ends))

    def _findings(self, connection: Connection, anchored: dict[Stream, Head]) -> Iterator[Finding]:
        rows = Sorted(_streamed(connection, select(*_ROW).order_by(entries.c.stream, entries.c.seq), Row), lambda row: row.stream)
        names = Sorted(_streamed(connection, select(*_NAME).order_by(refs.c.stream, refs.c.seq), Name), lambda name: name.stream)
        seen: set[Stream] = set()
        for place in [Place(*row) for row in connection.execute(select(*_PLACE).order_by(streams.c.id)).all()]:
            mine, its_names = rows.take(place.id), names.take(place.id)
            stream = _readable(place)
            if stream is not None and self._tenant not in {None, stream.tenant}:
                _exhaust(mine)
                _exhaust(its_names)
                continue
            if stream is not None:
                seen.add(stream)
            yield from row_findings(place, mine, its_names, anchored)
        yield from (_orphan(stream_id) for stream_id in dict.fromkeys([*rows.rest(), *names.rest()]))
        yield from missing_streams(seen, anchored)


def _require_names(stream: Stream, row: Any) -> None:
    """Refuse a stream that is shown under other names than its own: by these a database tells who may write it."""
    if (row.tenant, row.kind, row.key) != (shown(stream.tenant), shown(stream.kind), shown(stream.key)):
        raise LogTamperedError(stream, seq=0, reason="its names are not those of its address")


def _hex(stream: Stream, seq: Any, digest: Any) -> str:
    if not isinstance(seq, int) or not isinstance(digest, bytes):
        raise LogTamperedError(stream, seq=seq, reason="its number or hash is of the wrong type")
    return digest.hex()


def new_stream(connection: Connection, stream: Stream) -> int:
    """Put a stream on record and return its number."""
    values = {"tenant": shown(stream.tenant), "kind": shown(stream.kind), "key": shown(stream.key), "address": bytes.fromhex(stream.address)}
    return int(connection.execute(_NEW_STREAM, values).scalar_one())


def insert_entries(connection: Connection, stream_id: int, added: Sequence[Entry]) -> None:
    """Insert entries and the lines by which they are found."""
    connection.execute(_NEW_ENTRY, [row_of(stream_id, entry)._asdict() for entry in added])
    names = [name._asdict() for entry in added for name in names_of(stream_id, entry)]
    if names:
        connection.execute(_NEW_NAME, names)


def _entry(stream: Stream, row: Row) -> Entry:
    try:
        return entry_of(stream, row)
    except (ValueError, TypeError, RecursionError, OverflowError) as error:
        raise LogTamperedError(stream, seq=row.seq, reason=str(error)) from error


def _stream(place: Place) -> Stream:
    try:
        return stream_of(place)
    except ValueError as error:
        where = f"stream {place.kind} '{place.key}'"
        raise LogTamperedError(where, seq=0, reason=str(error)) from error


def _readable(place: Place) -> Stream | None:
    try:
        return stream_of(place)
    except ValueError:
        return None


def _streamed(connection: Connection, query: Select[Any], kind: Any) -> Iterator[Any]:
    yield from (kind(*row) for row in connection.execution_options(yield_per=1_000).execute(query))


def _exhaust(items: Iterator[Any]) -> None:
    for _ in items:
        pass


def _orphan(stream_id: Any) -> Finding:
    stream = Stream(kind="unknown", key=str(stream_id))
    return Finding(stream=stream, seq=0, fault=Fault.MISSING, detail="the stream itself is missing, and its entries are there.")

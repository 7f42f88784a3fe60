"""Content by its digest, in a database."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import partial
from typing import Any

from sqlalchemy import Insert, Table, delete, literal, select

from langchain_ctxguard.backends.blob_addresses import addressed, checked
from langchain_ctxguard.backends.sql_database import Database
from langchain_ctxguard.backends.sql_rows import name_digest
from langchain_ctxguard.backends.sql_schema import blobs

_AT_ONCE = 5_000
"""Addresses asked for in one statement."""

_PUT_SQLITE = "INSERT OR IGNORE INTO ctxguard_blobs (space, address, content) VALUES (?, ?, ?)"
_PUT_POSTGRESQL = "INSERT INTO ctxguard_blobs (space, address, content) SELECT %s, * FROM unnest(%s::text[], %s::bytea[]) ON CONFLICT DO NOTHING"
_SOME_SQLITE = "SELECT address, content FROM ctxguard_blobs WHERE space = ? AND address IN (SELECT value FROM json_each(?))"
_SOME_POSTGRESQL = "SELECT address, content FROM ctxguard_blobs WHERE space = %s AND address = ANY(%s)"


class SqlBlobs:
    """A `BlobStore` in a database. Safe under threads, processes and forks; made by `GuardStore.open`."""

    def __init__(self, database: Database, *, tenant: str = "default", is_followed: bool = False) -> None:
        """Keep the spaces of one tenant in a database that has the schema.

        Args:
            database: Where.
            tenant: Whose.
            is_followed: Whatever relies on content is written to the same SQLite file later, and waits for the disk itself. The file loses in a
                power cut what was written last, and never what was written before: so what is put here need not wait.
        """
        self._database = database
        self._tenant = tenant
        self._is_followed = is_followed
        self._is_postgresql = database.dialect == "postgresql"

    def followed(self, file: str) -> SqlBlobs:
        """Return the same contents for a writer to `file`, who need not wait twice if that is where these rest."""
        is_same = self._database.dialect == "sqlite" and bool(file) and os.path.realpath(file) == os.path.realpath(str(self._database.url.database))
        return SqlBlobs(self._database, tenant=self._tenant, is_followed=is_same)

    def put(self, space: str, contents: Sequence[bytes], *, addresses: Sequence[str] | None = None) -> list[str]:
        """Keep contents that are not there yet; see `ports.BlobStore`."""
        filed = addressed(contents, addresses)
        where = self._space(space)
        # In one order everywhere, so that two writers never wait for each other crosswise.
        rows = sorted(dict(reversed(filed)).items())
        if rows:
            self._database.ask(partial(_put, where, rows, is_postgresql=self._is_postgresql), is_written=True, is_followed=self._is_followed)
        return [address for address, _ in filed]

    def get(self, space: str, addresses: Sequence[str]) -> dict[str, bytes]:
        """Return what there is, by address."""
        asked = list(dict.fromkeys(addresses))
        found = self._database.ask(partial(_some, self._space(space), asked, is_postgresql=self._is_postgresql))
        return checked(space, found)

    def copy_space(self, source: str, target: str) -> int:
        """Keep in `target` also what is in `source`."""
        where = self._space(target)
        theirs = select(literal(where, blobs.c.space.type), blobs.c.address, blobs.c.content).where(blobs.c.space == self._space(source))
        with self._database.writing() as connection:
            statement: Any = insert_absent(self._database.dialect, blobs).from_select(["space", "address", "content"], theirs)
            return int(connection.execute(statement, execution_options={"preserve_rowcount": True}).rowcount)

    def purge_space(self, space: str) -> int:
        """Erase all contents of a space."""
        with self._database.writing() as connection:
            return int(connection.execute(delete(blobs).where(blobs.c.space == self._space(space))).rowcount)

    def addresses(self, space: str) -> list[str]:
        """Return the addresses of all contents of a space."""
        with self._database.reading() as connection:
            query = select(blobs.c.address).where(blobs.c.space == self._space(space)).order_by(blobs.c.address)
            return list(connection.execute(query).scalars())

    def drop(self, space: str, addresses: Sequence[str]) -> int:
        """Erase these contents of a space."""
        asked, gone = sorted(set(addresses)), 0
        if asked:
            with self._database.writing() as connection:
                for start in range(0, len(asked), _AT_ONCE):
                    some = blobs.c.address.in_(asked[start : start + _AT_ONCE])
                    gone += int(connection.execute(delete(blobs).where(blobs.c.space == self._space(space), some)).rowcount)
        return gone

    def _space(self, space: str) -> bytes:
        return name_digest(self._tenant, space)


def _put(space: bytes, rows: Sequence[tuple[str, bytes]], driver: Any, *, is_postgresql: bool) -> None:
    if is_postgresql:
        driver.execute(_PUT_POSTGRESQL, (space, [address for address, _ in rows], [content for _, content in rows]))
    else:
        driver.executemany(_PUT_SQLITE, [(space, address, content) for address, content in rows])


def _some(space: bytes, asked: Sequence[str], driver: Any, *, is_postgresql: bool) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for start in range(0, len(asked), _AT_ONCE):
        some = asked[start : start + _AT_ONCE]
        # One parameter however many addresses: as many parameters as addresses cost more than the rows.
        text, given = (_SOME_POSTGRESQL, some) if is_postgresql else (_SOME_SQLITE, json.dumps(some))
        found.update(driver.execute(text, (space, given)).fetchall())
    return found


def insert_absent(dialect: str, table: Table) -> Insert:
    """Return an insert that leaves alone what is there."""
    if dialect == "postgresql":
        from sqlalchemy.dialects.postgresql import insert as postgresql_insert

        return postgresql_insert(table).on_conflict_do_nothing()
    from sqlalchemy.dialects.sqlite import insert as sqlite_insert

    return sqlite_insert(table).on_conflict_do_nothing()

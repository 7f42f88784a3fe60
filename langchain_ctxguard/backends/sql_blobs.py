"""Content by its digest, in a database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Insert, Table, delete, literal, select

from langchain_ctxguard.backends.blob_addresses import addressed, checked
from langchain_ctxguard.backends.sql_database import Database
from langchain_ctxguard.backends.sql_rows import name_digest
from langchain_ctxguard.backends.sql_schema import blobs

_AT_ONCE = 5_000
"""Addresses asked for in one statement."""


class SqlBlobs:
    """A `BlobStore` in a database. Safe under threads, processes and forks; made by `GuardStore.open`."""

    def __init__(self, database: Database, *, tenant: str = "default") -> None:
        """Keep the spaces of one tenant in a database that has the schema."""
        self._database = database
        self._tenant = tenant

    def put(self, space: str, contents: Sequence[bytes], *, addresses: Sequence[str] | None = None) -> list[str]:
        """Keep contents that are not there yet; see `ports.BlobStore`."""
        filed = addressed(contents, addresses)
        where = self._space(space)
        # In one order everywhere, so that two writers never wait for each other crosswise.
        rows = [{"space": where, "address": address, "content": content} for address, content in sorted(dict(reversed(filed)).items())]
        if rows:
            with self._database.writing() as connection:
                connection.execute(insert_absent(self._database.dialect, blobs), rows)
        return [address for address, _ in filed]

    def get(self, space: str, addresses: Sequence[str]) -> dict[str, bytes]:
        """Return what there is, by address."""
        asked = list(dict.fromkeys(addresses))
        found: dict[str, bytes] = {}
        with self._database.reading() as connection:
            for start in range(0, len(asked), _AT_ONCE):
                some = blobs.c.address.in_(asked[start : start + _AT_ONCE])
                query = select(blobs.c.address, blobs.c.content).where(blobs.c.space == self._space(space), some)
                found.update({row[0]: row[1] for row in connection.execute(query).all()})
        return checked(space, {address: found[address] for address in asked if address in found})

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


def insert_absent(dialect: str, table: Table) -> Insert:
    """Return an insert that leaves alone what is there."""
    if dialect == "postgresql":
        from sqlalchemy.dialects.postgresql import insert as postgresql_insert

        return postgresql_insert(table).on_conflict_do_nothing()
    from sqlalchemy.dialects.sqlite import insert as sqlite_insert

    return sqlite_insert(table).on_conflict_do_nothing()

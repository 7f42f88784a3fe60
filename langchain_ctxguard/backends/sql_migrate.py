"""The schema of a store's database: what is there, what is made, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlalchemy import Connection, insert, inspect, select, update

from langchain_ctxguard.backends.sql_database import Database
from langchain_ctxguard.backends.sql_schema import SCHEMA_VERSION, guards, meta, metadata
from langchain_ctxguard.errors import StoreError

MIGRATIONS: Mapping[int, Callable[[Connection], None]] = {}
"""What leads from each version to the next, by the version it begins with."""

_CLAIM = b"ctxguard"
"""Under which two migrations of one database wait for each other."""


def version_of(database: Database) -> int:
    """Return the version of the schema that is there, 0 for none.

    Raises:
        StoreError: it is newer than this package, or no version at all.
    """
    with database.reading() as connection:
        return _version(connection, database.name)


def migrate(database: Database) -> tuple[int, int]:
    """Make the schema, or bring it up to date; return the version before and after.

    Raises:
        StoreError: it is newer than this package, or the role may not create tables.
    """
    if (found := version_of(database)) == SCHEMA_VERSION:
        return found, found
    with database.writing(claim=_CLAIM) as connection:
        # Another process may have been first.
        found = _version(connection, database.name)
        if found == 0:
            metadata.create_all(connection, checkfirst=False)
            for statement in guards(database.dialect):
                connection.exec_driver_sql(statement)
            connection.execute(insert(meta).values(name="schema_version", value=str(SCHEMA_VERSION)))
        for version in range(max(found, 1), SCHEMA_VERSION):
            MIGRATIONS[version](connection)
            connection.execute(update(meta).where(meta.c.name == "schema_version").values(value=str(version + 1)))
    return found, SCHEMA_VERSION


def require_schema(database: Database) -> None:
    """Make the schema of a SQLite file that has none; of a server, only a role that is meant to does.

    Raises:
        StoreError: naming `ctxguard migrate`, or the newer version that was found.
    """
    found = version_of(database)
    if found == SCHEMA_VERSION:
        return
    if found == 0 and database.dialect == "sqlite":
        migrate(database)
        return
    state = (
        "has no tables of this package yet" if found == 0 else f"has schema version {found}, and this version of the package needs {SCHEMA_VERSION}"
    )
    msg = f"The store {database.name} {state}. Nothing was read or written; run `ctxguard migrate URL` with a role that may create tables."
    raise StoreError(msg)


def _version(connection: Connection, name: str) -> int:
    if not inspect(connection).has_table(meta.name):
        return 0
    value = connection.execute(select(meta.c.value).where(meta.c.name == "schema_version")).scalar()
    if value is None or not str(value).isdecimal():
        msg = f"The store {name} has no readable schema version ({value!r} stands there). Nothing was read or written; restore it."
        raise StoreError(msg)
    if int(value) > SCHEMA_VERSION:
        msg = (
            f"The store {name} has schema version {value}; this version of the package reads up to {SCHEMA_VERSION}. "
            "Nothing was read or written; upgrade langchain-ctxguard."
        )
        raise StoreError(msg)
    return int(value)

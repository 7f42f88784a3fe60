"""The tables of a store in a database, version 1, and the triggers by which the database itself keeps the log append-only."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Identity, Integer, LargeBinary, MetaData, String, Table, UniqueConstraint
from sqlalchemy.engine import Dialect

SCHEMA_VERSION = 1
"""Raise it with any change below, add the step to `MIGRATIONS` of `sql_migrate.py`, and add a golden file; the old ones stay readable."""


class Bytes(LargeBinary):
    """Bytes as the driver returns them: what somebody put in their place is looked at by whoever reads the row."""

    cache_ok = True

    def result_processor(self, dialect: Dialect, coltype: object) -> None:
        """Change nothing."""


_NUMBER = BigInteger().with_variant(Integer, "sqlite")
# Compared byte by byte everywhere: an index over what a language sorts elsewhere finds no beginnings.
_TEXT = String().with_variant(String(collation="C"), "postgresql")

metadata = MetaData()

meta = Table(
    "ctxguard_meta",
    metadata,
    Column("name", String, primary_key=True),
    Column("value", String, nullable=False),
)

streams = Table(
    "ctxguard_streams",
    metadata,
    Column("id", _NUMBER, Identity(always=True), primary_key=True),
    Column("address", Bytes, nullable=False, unique=True),
    # For people who look; `sql_rows.shown` says how they are written.
    Column("tenant", _TEXT, nullable=False),
    Column("kind", _TEXT, nullable=False),
    Column("key", _TEXT, nullable=False),
)

entries = Table(
    "ctxguard_entries",
    metadata,
    # Its order is that in which `find` answers; it is not part of the chain.
    Column("id", _NUMBER, Identity(always=True), primary_key=True),
    Column("stream", _NUMBER, ForeignKey("ctxguard_streams.id"), nullable=False),
    Column("seq", _NUMBER, nullable=False),
    Column("at", _TEXT, nullable=False),
    Column("body", Bytes, nullable=False),
    Column("refs", Bytes, nullable=False),
    Column("before", Bytes, nullable=False),
    Column("hash", Bytes, nullable=False),
    UniqueConstraint("stream", "seq"),
)

# Digests: names may be longer than a database indexes.
refs = Table(
    "ctxguard_refs",
    metadata,
    Column("ref", Bytes, primary_key=True),
    Column("tenant", Bytes, primary_key=True),
    Column("stream", _NUMBER, primary_key=True),
    Column("seq", _NUMBER, primary_key=True),
    sqlite_with_rowid=False,
)

blobs = Table(
    "ctxguard_blobs",
    metadata,
    Column("space", Bytes, primary_key=True),
    Column("address", _TEXT, primary_key=True),
    Column("content", Bytes, nullable=False),
)

texts = Table(
    "ctxguard_texts",
    metadata,
    Column("id", _NUMBER, Identity(always=True), primary_key=True),
    Column("space", Bytes, nullable=False),
    # A key may be longer than a database indexes.
    Column("name", Bytes, nullable=False),
    Column("key", _TEXT, nullable=False),
    UniqueConstraint("space", "name"),
)

terms = Table(
    "ctxguard_terms",
    metadata,
    Column("space", Bytes, primary_key=True),
    Column("term", _TEXT, primary_key=True),
    Column("text", _NUMBER, primary_key=True, index=True),
    Column("count", Integer, nullable=False),
    sqlite_with_rowid=False,
)

_LOGGED = ("ctxguard_streams", "ctxguard_entries", "ctxguard_refs")
_REFUSAL = "ctxguard: the log is append-only"


def guards(dialect: str) -> list[str]:
    """Return the statements that make the database refuse every change of the log, and entries that do not follow the last one."""
    return _sqlite_guards() if dialect == "sqlite" else _postgresql_guards()


def _sqlite_guards() -> list[str]:
    changes = [(table, change) for table in _LOGGED for change in ("UPDATE", "DELETE")]
    refusals = [
        f"CREATE TRIGGER {table}_no_{change.lower()} BEFORE {change} ON {table} BEGIN SELECT RAISE(ABORT, '{_REFUSAL}'); END"
        for table, change in [*changes, ("ctxguard_blobs", "UPDATE")]
    ]
    # INSERT OR REPLACE deletes without firing a DELETE trigger, so what is there already is refused before.
    known_stream = """CREATE TRIGGER ctxguard_streams_no_replace BEFORE INSERT ON ctxguard_streams
        WHEN EXISTS (SELECT 1 FROM ctxguard_streams WHERE id = NEW.id OR address = NEW.address)
        BEGIN SELECT RAISE(ABORT, 'ctxguard: the log is append-only'); END"""
    follows = """CREATE TRIGGER ctxguard_entries_follow BEFORE INSERT ON ctxguard_entries
        WHEN EXISTS (SELECT 1 FROM ctxguard_entries WHERE id = NEW.id)
          OR NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM ctxguard_entries WHERE stream = NEW.stream)
          OR NEW.before IS NOT coalesce((SELECT hash FROM ctxguard_entries WHERE stream = NEW.stream ORDER BY seq DESC LIMIT 1), zeroblob(32))
        BEGIN SELECT RAISE(ABORT, 'ctxguard: an entry follows the last one of its stream'); END"""
    return [*refusals, known_stream, follows]


def _postgresql_guards() -> list[str]:
    refuse = f"""CREATE FUNCTION ctxguard_refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION '{_REFUSAL}'; END $$"""
    follow = """CREATE FUNCTION ctxguard_follow() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE last record;
        BEGIN
            EXECUTE 'SELECT seq, hash FROM ' || quote_ident(TG_TABLE_SCHEMA) || '.ctxguard_entries WHERE stream = $1 ORDER BY seq DESC LIMIT 1'
                INTO last USING NEW.stream;
            IF NEW.seq <> coalesce(last.seq, 0) + 1 OR NEW.before <> coalesce(last.hash, decode(repeat('00', 32), 'hex')) THEN
                RAISE EXCEPTION 'ctxguard: an entry follows the last one of its stream';
            END IF;
            RETURN NEW;
        END $$"""
    refusals = [
        statement
        for table, changes in [*((table, "UPDATE OR DELETE OR TRUNCATE") for table in _LOGGED), ("ctxguard_blobs", "UPDATE")]
        for statement in (
            f"CREATE TRIGGER {table}_refuse BEFORE {changes} ON {table} FOR EACH STATEMENT EXECUTE FUNCTION ctxguard_refuse()",
            # Also for a session that calls itself a replica.
            f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {table}_refuse",
        )
    ]
    follows = "CREATE TRIGGER ctxguard_entries_follow BEFORE INSERT ON ctxguard_entries FOR EACH ROW EXECUTE FUNCTION ctxguard_follow()"
    return [refuse, follow, *refusals, follows]

"""Which savers are known by name: how long one lives, and whether its rows can be worked on. No saver is imported here."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Literal

SaverKind = Literal["memory", "sqlite", "async_sqlite", "postgres", "async_postgres"]

_KINDS: dict[tuple[str, str], SaverKind] = {
    ("langgraph.checkpoint.memory", "InMemorySaver"): "memory",
    ("langgraph.checkpoint.sqlite", "SqliteSaver"): "sqlite",
    ("langgraph.checkpoint.sqlite.aio", "AsyncSqliteSaver"): "async_sqlite",
    ("langgraph.checkpoint.postgres", "PostgresSaver"): "postgres",
    ("langgraph.checkpoint.postgres.aio", "AsyncPostgresSaver"): "async_postgres",
}


def kind_of(saver: object) -> SaverKind | None:
    """Return which of the known savers this is, subclasses included."""
    return next((_KINDS[name] for base in type(saver).__mro__ if (name := (base.__module__, base.__name__)) in _KINDS), None)


def outlives_process(saver: Any) -> bool:
    """Say whether what a saver stores may be there after this process; where that cannot be told, it may."""
    kind = kind_of(saver)
    if kind == "memory":
        return type(saver.storage) is not defaultdict
    if kind == "sqlite":
        return bool(file_of(saver))
    return True


def file_of(saver: Any) -> str | None:
    """Return the SQLite file a saver writes to; `None` where there is none, or it cannot be told without waiting."""
    if kind_of(saver) != "sqlite":
        return None
    return next((str(row[2]) for row in saver.conn.execute("PRAGMA database_list") if row[1] == "main" and row[2]), None)


def id_in(saver: Any, thread: str) -> Any:
    """Return how a saver knows a thread: those on databases by text, the one in memory by whatever it was given."""
    if kind_of(saver) != "memory" or thread in saver.storage:
        return thread
    return next((known for known in saver.storage if str(known) == thread), thread)

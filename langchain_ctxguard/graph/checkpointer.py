"""`ContextCheckpointer`, as it is made: a class for each kind of saver, because LangGraph asks the class what it can do."""

from __future__ import annotations

from typing import Any, Self, cast

from langgraph.checkpoint.base import BaseCheckpointSaver

from langchain_ctxguard.graph.capable import bases_for
from langchain_ctxguard.graph.wrapped import WrappedSaver

_made: dict[type[Any], type[ContextCheckpointer]] = {}


class ContextCheckpointer(WrappedSaver):
    """Wraps a LangGraph saver: each message is stored once, a checkpoint names it by its digest, and a turn writes what is new.

    Threads written without it are read as they are, and stored the new way from their next checkpoint on; `unwrap` goes the other way. The context
    version of a checkpoint stands in its metadata as `ctxguard_version`, so that `list(filter=...)` finds it. Around LangGraph's savers in memory,
    SQLite and PostgreSQL, `copy_thread`, `delete_for_runs`, `prune` and `unwrap` work as well, each awaited too; around any other saver, those it
    has itself.
    """

    def __new__(cls, inner: BaseCheckpointSaver[Any] | None = None, **_: Any) -> Self:
        """Make a saver that says of itself what it can do around `inner`."""
        if cls is not ContextCheckpointer or not isinstance(inner, BaseCheckpointSaver):
            return super().__new__(cls)
        kind = type(inner)
        if kind not in _made:
            base, methods = bases_for(inner)
            bases = (cls,) if base is WrappedSaver else (base, cls)
            _made[kind] = type(cls.__name__, bases, {**methods, "__module__": __name__, "__doc__": cls.__doc__})
        return cast("Self", object.__new__(_made[kind]))

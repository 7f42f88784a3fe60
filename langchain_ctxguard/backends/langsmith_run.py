"""Runs in LangSmith that are open: one below the other, found again by name from inside."""

from __future__ import annotations

import contextvars
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

from langchain_ctxguard.backends.stream import is_pause

if TYPE_CHECKING:
    from langsmith.run_trees import RunTree

_open: contextvars.ContextVar[tuple[RunTree, ...]] = contextvars.ContextVar("ctxguard_runs", default=())
_OWN_HOOKS = (".wrap_model_call", ".awrap_model_call")


class OpenRun:
    """A run: entered and left as a `with` block, below the one that is open already."""

    def __init__(self, trace: Any, metadata: Mapping[str, Any]) -> None:
        """Bind LangSmith's own context manager, and the metadata that are this run's and not its children's."""
        self._trace = trace
        self._metadata = dict(metadata)
        self._token: contextvars.Token[tuple[RunTree, ...]] | None = None
        self._run: RunTree | None = None

    def __enter__(self) -> RunTree:
        """Open it."""
        run: RunTree = self._trace.__enter__()
        # LangSmith lets metadata of the run around it win: a compaction in a tool would bear the thread of the call.
        run.add_metadata(self._metadata)
        self._run = run
        self._token = _open.set((*_open.get(), run))
        return run

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Send what it came to. An error is named by its type alone: its words may be words of the conversation."""
        if self._token is not None:
            _open.reset(self._token)
        if kind is not None and self._run is not None:
            if is_pause(kind):
                self._run.add_tags(["paused"])
            else:
                self._run.end(error=kind.__name__)
        self._trace.__exit__(None, None, None)


def innermost() -> RunTree | None:
    """Return the run that was opened last and is still open."""
    runs = _open.get()
    return runs[-1] if runs else None


def run_named(*names: str) -> RunTree | None:
    """Return the innermost open run of one of these names."""
    return next((run for run in reversed(_open.get()) if run.name in names), None)


def own_hook_run() -> RunTree | None:
    """Return the run LangChain made of a guard's hook around a model call, where it is the one that is open."""
    from langsmith import get_current_run_tree

    run: RunTree | None = get_current_run_tree()
    return run if run is not None and run.name.endswith(_OWN_HOOKS) else None

"""A request the provider refused is made smaller, once."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

from langchain.agents.middleware.types import ModelRequest
from langchain_core.exceptions import ContextOverflowError

from langchain_ctxguard.domain.config import CompactionSettings
from langchain_ctxguard.domain.context import ContextHead
from langchain_ctxguard.errors import ContextBudgetError
from langchain_ctxguard.graph.compacting import Compacting
from langchain_ctxguard.graph.due import Due
from langchain_ctxguard.graph.eviction import StateChange
from langchain_ctxguard.graph.pacing import Pace, Windows, smaller_keep
from langchain_ctxguard.graph.reading import Call
from langchain_ctxguard.graph.remembered import Memory
from langchain_ctxguard.graph.steps import Attempt, Step, sending
from langchain_ctxguard.graph.thread import run_of

_OVERFLOW = 0.7
"""A view the provider refused is compacted to this share of its tokens, as we count them."""


class Overflow:
    """Compacts what a provider refused."""

    def __init__(self, settings: CompactionSettings, *, due: Due, compacting: Compacting, windows: Windows, memory: Memory) -> None:
        """Bind who counts and who compacts."""
        self._settings = settings
        self._due = due
        self._compacting = compacting
        self._windows = windows
        self._memory = memory

    def smaller(
        self, request: ModelRequest[Any], call: Call, head: ContextHead | None, overflow: ContextOverflowError, change: StateChange
    ) -> Generator[Step, Any, tuple[ContextHead, ModelRequest[Any]]]:
        """Compact what the provider refused, once: a request counted too low, or a window smaller than said."""
        run = run_of(request.runtime)
        if self._settings.trigger is None or self._settings.on_full == "stop" or self._memory.runs_of(run, call) >= self._settings.max_compactions:
            raise overflow
        has_compacted = head is not None
        if head is not None:
            call = replace(call, raw_head=head.to_dict())
        reading = self._due.counted(call)
        # In our own count, which is what a compaction goes by: the provider's may be far from it, or we would not be here.
        goal = max(1, int(reading.own * _OVERFLOW))
        window, _ = self._windows.of(request.model)
        keep: Any = smaller_keep(self._settings) if has_compacted else None
        attempt = Attempt(call, "overflow", Pace(window=window, goal=goal), limit=goal, keep=keep)
        try:
            made = yield from self._compacting.made(attempt, reading, model=request.model, run=run, change=change)
        except ContextBudgetError as error:
            if error.needed >= reading.own:
                raise error from overflow
            # What must stay is more than the goal and still less than was refused.
            try:
                made = yield from self._compacting.made(replace(attempt, limit=reading.own - 1), reading, model=request.model, run=run, change=change)
            except ContextBudgetError as last:
                raise last from overflow
        if made.head is None or made.view is None or not made.is_new:
            raise overflow
        return made.head, sending(request, made.view.system, made.view.messages)

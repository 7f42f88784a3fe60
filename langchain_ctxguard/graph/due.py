"""Whether a compaction is due, from a reading's tokens and what was tried before."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from langchain_ctxguard.core.compaction import COOL_DOWN, Compacted
from langchain_ctxguard.domain.config import CompactionSettings
from langchain_ctxguard.domain.context import ContextHead
from langchain_ctxguard.graph.pacing import Windows, pace_of, triggered
from langchain_ctxguard.graph.phases import ASKED_FOR, asked_for
from langchain_ctxguard.graph.reading import Call, Reader, Reading
from langchain_ctxguard.graph.remembered import Memory
from langchain_ctxguard.graph.steps import Attempt, full

MIN_KEPT = 0.3
"""Share of the tokens before a compaction that an agent keeps raw, where the settings do not say."""

_REST = 1.1
"""After an attempt that found nothing to evict, the view must grow by this factor before the next look."""


class Due:
    """Judges readings by the settings. What it remembers can be lost: that costs an attempt, never a decision."""

    def __init__(self, settings: CompactionSettings, *, reader: Reader, windows: Windows, memory: Memory) -> None:
        """Bind the settings, who counts, and what this process did already."""
        self._settings = settings
        self._reader = reader
        self._windows = windows
        self._memory = memory

    def read(self, call: Call) -> Reading:
        """Return the view in force, the pinned message counted."""
        return with_lead(self._reader.read(call), call)

    def counted(self, call: Call) -> Reading:
        """Return the reading of a call with every message counted."""
        reading = self.read(call)
        if not reading.is_assumed:
            return reading
        self._reader.recount(call)
        return self.read(call)

    def wanted(self, call: Call, reading: Reading, model: Any, run: str | None, why: str) -> tuple[Attempt | None, Reading]:
        """Return the attempt that somebody asks for before the window is full, `None` where the run has made its compactions."""
        if self._memory.runs_of(run, call) >= self._settings.max_compactions:
            return None, reading
        reading = self.counted(call)
        window, is_known = self._windows.of(model)
        pace = pace_of(self._settings, window).scaled(reading.own / max(reading.tokens, 1))
        return Attempt(call, why, pace, limit=pace.window if is_known else None), reading

    def attempt(self, call: Call, reading: Reading, model: Any, run: str | None) -> tuple[Attempt | None, Reading]:
        """Return the attempt that is due for a reading, `None` where none is, and the reading it rests on.

        Raises:
            ContextBudgetError: the window is full and nothing may leave it.
        """
        if wanted := asked_for(call):
            return self.wanted(call, reading, model, run, wanted)
        settings = self._settings
        window, is_known = self._windows.of(model)
        for _ in range(2):
            why = triggered(settings, tokens=reading.tokens, messages=len(reading.messages), window=window)
            is_full = is_known and reading.tokens > window
            if why is None and not is_full:
                return None, reading
            if not reading.is_assumed:
                break
            # A provider's report may speak of another context: before anything is compacted for it, every message is counted.
            reading = self.counted(call)
        if settings.trigger is None:
            if is_full and settings.on_full == "stop":
                raise full(reading.tokens, window, "`trigger` is None: nothing is compacted")
            return None, reading
        # In our own count, as cool-downs are: reports of a provider are gone after a restart.
        if not is_full and reading.own < max(reading.head.cool_down or 0, self._memory.resting_until(call, reading.head)):
            return None, reading
        if self._memory.runs_of(run, call) >= settings.max_compactions:
            if is_full:
                raise full(reading.tokens, window, f"this run has made its {settings.max_compactions} compactions (`max_compactions`)")
            return None, reading
        pace = pace_of(settings, window).scaled(reading.own / max(reading.tokens, 1))
        return Attempt(call, why or "full", pace, limit=pace.window if is_known else None), reading

    def is_near(self, call: Call, reading: Reading, model: Any) -> bool:
        """Say whether a compaction may come soon: there was one, it is asked for, or half of what starts one is reached."""
        if reading.head.version or asked_for(call):
            return True
        window, _ = self._windows.of(model)
        tokens, messages = reading.tokens * 2, len(reading.messages) * 2
        return tokens > window or triggered(self._settings, tokens=tokens, messages=messages, window=window) is not None

    def min_kept(self, attempt: Attempt) -> float:
        """Return the share of the tokens to keep raw beyond `keep`: none where room must be made, or where it is messages that are too many."""
        if attempt.keep is not None:
            return 0.0
        if self._settings.min_kept is not None:
            return self._settings.min_kept
        # Whoever ends a stage wants room for the next one.
        return 0.0 if {"messages", *ASKED_FOR} & set(attempt.why.split("+")) else MIN_KEPT

    def rest(self, call: Call, reading: Reading) -> None:
        """Look at a view in which nothing could be evicted again when it has grown."""
        self._memory.rest(call, reading.head, int(reading.own * _REST))

    def cooled(self, reading: Reading, result: Compacted, model: Any) -> ContextHead:
        """Return the new head, resting where its view would start the next compaction before it has grown by a fifth.

        What must stay may hold the trigger, or come so close to it that each message would start a compaction that gains next to nothing: in a small
        window, and where a provider counts more than we do. A full window ends the rest.
        """
        after = result.record.tokens_after
        as_reported = after * reading.tokens / max(reading.own, 1)
        window, _ = self._windows.of(model)
        grown = int(as_reported * COOL_DOWN)
        if triggered(self._settings, tokens=grown, messages=len(result.view.messages), window=window) is None:
            return result.head
        return result.head.model_copy(update={"cool_down": int(after * COOL_DOWN)})


def with_lead(reading: Reading, call: Call) -> Reading:
    """Return the reading with the tokens of what is sent beside the view."""
    return replace(reading, tokens=reading.tokens + call.lead_tokens, own=reading.own + call.lead_tokens) if call.lead_tokens else reading

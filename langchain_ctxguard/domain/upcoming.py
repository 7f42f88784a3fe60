"""What an application is told of a compaction that is about to be made: numbers and names."""

from __future__ import annotations

from langchain_ctxguard.domain.value import Value


class UpcomingCompaction(Value):
    """A compaction before a summarizer is asked."""

    trigger: str
    """What started it: `tokens`, `messages`, `fraction`, `requested`, `phase`, `overflow`, `full`."""

    thread: str | None = None
    version: int
    """The version in force."""

    tokens: int
    """Of the view as it is."""

    evicted_messages: int
    """Messages that would leave it."""

    evicted_tokens: int
    is_full: bool = False
    """The window is full: stopped now, the run ends with `ContextBudgetError`."""

"""Every error this package raises on purpose.

    ContextGuardError
    |- ConfigurationError           wired wrongly; raised while constructing, before any model call
    |- CompactionError              a compaction that could not be carried out
    |  |- InvalidSummaryError       the summarizer's answer does not fit, after repair
    |  |- RetentionError            rules in force are missing and `on_violation="stop"`
    |  `- ContextBudgetError        pins and current request do not fit; names both numbers
    `- TranscriptError              a transcript file that cannot be read; names file, line and reason

A message says what happened, what state we are in now, and what to do. What a program needs is in the fields; nobody has to
parse the text.
"""

from __future__ import annotations


class ContextGuardError(Exception):
    """Base of all errors raised by this package."""


class ConfigurationError(ContextGuardError, ValueError):
    """Something is wired wrongly. Raised while constructing, before any model call."""


class CompactionError(ContextGuardError):
    """A compaction could not be carried out; the previous context stays in force."""


class InvalidSummaryError(CompactionError):
    """A summarizer's answer is not usable as a summary.

    `reason` is one word for the record: `empty`, `placeholder`, `not_json`, `tool_call`, `reasoning_only`, `too_long` or `wrong_type`.
    """

    def __init__(self, message: str, *, reason: str) -> None:
        """Keep the reason beside the sentence."""
        super().__init__(message)
        self.reason = reason


class RetentionError(CompactionError):
    """Rules in force are missing from a context and the settings say to stop.

    `missing` holds the ids of the rules.
    """

    def __init__(self, message: str, *, missing: tuple[str, ...]) -> None:
        """Keep the ids of the missing rules beside the sentence."""
        super().__init__(message)
        self.missing = missing


class ContextBudgetError(CompactionError):
    """What must stay in the context does not fit the budget.

    `needed` and `budget` are token counts.
    """

    def __init__(self, message: str, *, needed: int, budget: int) -> None:
        """Keep both numbers beside the sentence."""
        super().__init__(message)
        self.needed = needed
        self.budget = budget


class TranscriptError(ContextGuardError, ValueError):
    """A transcript file cannot be read.

    `path` and `line` (1-based, `None` where the fault has no line) say where.
    """

    def __init__(self, message: str, *, path: str, line: int | None = None) -> None:
        """Keep the place beside the sentence."""
        super().__init__(message)
        self.path = path
        self.line = line

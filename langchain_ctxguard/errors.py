"""Every error this package raises on purpose.

    ContextGuardError
    |- ConfigurationError           wired wrongly; raised while constructing, before any model call
    |  `- ConstraintConflictError   two rules contradict and neither outranks the other
    |- CompactionError              a compaction that could not be carried out
    |  |- InvalidSummaryError       the summarizer's answer does not fit, after repair
    |  |- RetentionError            rules in force are missing and `on_violation="stop"`
    |  |- ContextBudgetError        pins and current request do not fit; names both numbers
    |  `- InvariantError            what must hold would not hold after any compaction
    |- CheckFailedError             an answer or a result failed the check of a rule, and the rule says to stop
    |- ConsentRequiredError         nobody allowed what was to be done
    |- PolicyError                  a rule about tools could not be evaluated; the call is denied
    |- StoreError                   a log that cannot do what was asked
    |  |- LogConflictError          someone appended first
    |  |- LogTamperedError          what is stored is not what was written
    |  |- BlobMissingError          content that a record names is gone or altered
    |  `- VersionNotFoundError      a version that a thread never had
    `- TranscriptError              a transcript file that cannot be read; names file, line and reason

A message says what happened, what state we are in now, and what to do. What a program needs is in the fields; nobody has to
parse the text.
"""

from __future__ import annotations


class ContextGuardError(Exception):
    """Base of all errors raised by this package."""


class ConfigurationError(ContextGuardError, ValueError):
    """Something is wired wrongly. Raised while constructing, before any model call."""


class ConstraintConflictError(ConfigurationError):
    """Two rules in force contradict each other and neither outranks the other.

    `first` and `second` hold the ids.
    """

    def __init__(self, message: str, *, first: str, second: str) -> None:
        """Keep the ids beside the sentence."""
        super().__init__(message)
        self.first = first
        self.second = second


class CompactionError(ContextGuardError):
    """A compaction could not be carried out; the previous context stays in force."""

    record: object = None
    """The `CompactionRecord` of the attempt, where there was one."""


class InvalidSummaryError(CompactionError):
    """A summarizer's answer is not usable as a summary.

    `reason` is one word for the record: `empty`, `placeholder`, `not_json`, `tool_call`, `reasoning_only`, `refused`,
    `too_long` or `wrong_type`.
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


class InvariantError(CompactionError):
    """No compaction keeps what the settings say must hold, and the context cannot stay as it is either.

    `broken` holds the names of the invariants.
    """

    def __init__(self, message: str, *, broken: tuple[str, ...]) -> None:
        """Keep the names beside the sentence."""
        super().__init__(message)
        self.broken = broken


class CheckFailedError(ContextGuardError):
    """An answer or a tool's result failed the check of a rule that stops the run.

    `rules` holds the ids of the rules.
    """

    def __init__(self, message: str, *, rules: tuple[str, ...]) -> None:
        """Keep the ids of the rules beside the sentence."""
        super().__init__(message)
        self.rules = rules


class ConsentRequiredError(ContextGuardError):
    """A consent that is needed is not in force: nobody gave it, or it was refused, taken back, is over or was erased.

    `field` and `subject` say which and whose.
    """

    def __init__(self, message: str, *, field: str, subject: str) -> None:
        """Keep both names beside the sentence."""
        super().__init__(message)
        self.field = field
        self.subject = subject


class PolicyError(ContextGuardError):
    """A rule about tool calls could not be evaluated. The call is denied: nobody can tell whether it is allowed."""


class StoreError(ContextGuardError):
    """A log or store cannot do what was asked."""


class LogConflictError(StoreError):
    """Someone appended first: what the writer saw is no longer the end of the stream.

    `expected` is the entry the writer saw last, `found` the last one there is.
    """

    def __init__(self, stream: object, *, expected: int, found: int) -> None:
        """Name the stream and both numbers."""
        super().__init__(
            f"Someone appended to {stream} first: it ends at entry {found}, not {expected}. Nothing was written; read it again and retry."
        )
        self.expected = expected
        self.found = found


class LogTamperedError(StoreError):
    """What is stored in a log is not what was written.

    `stream` and `seq` say where.
    """

    def __init__(self, stream: object, *, seq: int, reason: str) -> None:
        """Name the stream, the entry and what is wrong."""
        super().__init__(f"Entry {seq} of {stream} is not what was written: {reason}. Nothing was read; restore the log, then `verify()` it.")
        self.stream = stream
        self.seq = seq


class BlobMissingError(StoreError):
    """Content that a record or manifest names is gone or altered.

    `space` and `address` say which.
    """

    def __init__(self, message: str, *, space: str, address: str) -> None:
        """Keep the place beside the sentence."""
        super().__init__(message)
        self.space = space
        self.address = address


class VersionNotFoundError(StoreError):
    """A version that a thread never had, or has no stable one of.

    `version` is what was asked for.
    """

    def __init__(self, message: str, *, version: int | str) -> None:
        """Keep what was asked for beside the sentence."""
        super().__init__(message)
        self.version = version


class TranscriptError(ContextGuardError, ValueError):
    """A transcript file cannot be read.

    `path` and `line` (1-based, `None` where the fault has no line) say where.
    """

    def __init__(self, message: str, *, path: str, line: int | None = None) -> None:
        """Keep the place beside the sentence."""
        super().__init__(message)
        self.path = path
        self.line = line

"""What a transcript file holds once it is read, and what a reader of one format is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from langchain_core.messages import BaseMessage

Where = tuple[str | int, ...]
"""Path into a parsed document: `("values", "messages", 3)`."""


class CompactionKind(StrEnum):
    """What a recorded compaction did to the context."""

    SUMMARY = "summary"
    """A summary took the place of messages."""

    DROPPED = "dropped"
    """Messages left the context and nothing took their place."""

    CLEARED = "cleared"
    """Tool results were emptied; their messages stayed."""


@dataclass(frozen=True, slots=True)
class CompactionMark:
    """A place where the program that wrote the transcript compacted its context."""

    start: int
    """Index of the first message after the compaction; `len(messages)` where the file ends with it."""

    kind: CompactionKind

    summary: int | None = None
    """Index of the message with the summary, `None` where the file does not hold it."""

    dropped: tuple[int, ...] = ()
    """Indexes of the messages that this compaction took from the context, as far as the file says."""

    timestamp: str | None = None
    """When, in ISO form, where the format says it."""


@dataclass(frozen=True, slots=True)
class Run:
    """One conversation of a transcript."""

    name: str
    """Thread id, task or position; the file's name where the file says nothing."""

    messages: list[BaseMessage]
    """As recorded, oldest first: nothing is repaired, merged or left out."""

    format: str
    """`FORMAT` of the reader that understood it."""

    compactions: tuple[CompactionMark, ...] = ()
    """Where the context was compacted while the conversation ran, oldest first."""

    title: str | None = None
    """What the file calls the conversation, where it has more than a name for it."""

    truncated: bool = False
    """The file ends in the middle of a line, as one does whose writer was killed; what that line said is not here."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """Every conversation of one file, in the order of the file."""

    runs: tuple[Run, ...]


class Reader(Protocol):
    """One transcript format: a module with these names."""

    @property
    def FORMAT(self) -> str:  # noqa: N802 - a constant of the module
        """Short name, as it stands in `Run.format`."""

    @property
    def TITLE(self) -> str:  # noqa: N802 - a constant of the module
        """What a person calls it."""

    def recognises(self, data: Any, /) -> bool:
        """Say whether `data` has the shape of this format, however damaged inside.

        `data` is JSON, the list of all lines' values for JSONL, or a `PlainText`.
        """

    def read(self, data: Any, name: str, /) -> tuple[Run, ...]:
        """Return the runs in `data`, which this reader recognised.

        Raises:
            Misfit: saying where and why.
        """


class Misfit(Exception):  # noqa: N818 - never leaves this package: it becomes a TranscriptError with file and line
    """A place in a recognised document that does not fit its format."""

    def __init__(self, where: Where, reason: str, *, line: int | None = None) -> None:
        """Keep the place beside the reason; `line` where the reader knows it better than the document does."""
        super().__init__(f"{path_text(where)} {reason}")
        self.where = where
        self.reason = reason
        self.line = line


def path_text(where: Where) -> str:
    """Return a path as people write it.

    >>> path_text(("values", "messages", 3))
    '`values.messages[3]`'
    >>> path_text((2, "traj", 5))
    '`[2].traj[5]`'
    """
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in where]
    return f"`{''.join(parts).removeprefix('.')}`" if parts else "the document"


def kind_of(value: Any) -> str:
    """Return the JSON word for a value's type, with its article."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "a list"
        case _:
            return "an object"

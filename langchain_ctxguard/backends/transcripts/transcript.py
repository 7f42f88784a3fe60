"""What a transcript file holds once it is read, and what a reader of one format is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from langchain_core.messages import BaseMessage

Where = tuple[str | int, ...]
"""Path into a parsed document: `("values", "messages", 3)`."""


@dataclass(frozen=True, slots=True)
class Run:
    """One conversation of a transcript."""

    name: str
    """Thread id, task or position; the file's name where the file says nothing."""

    messages: list[BaseMessage]
    """As recorded, oldest first: nothing is repaired, merged or left out."""

    format: str
    """`FORMAT` of the reader that understood it."""


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
        """Say whether `data` (JSON; the entries of all lines for JSONL) has the shape of this format, however damaged inside."""

    def read(self, data: Any, name: str, /) -> tuple[Run, ...]:
        """Return the runs in `data`, which this reader recognised.

        Raises:
            Misfit: saying where and why.
        """


class Misfit(Exception):  # noqa: N818 - never leaves this package: it becomes a TranscriptError with file and line
    """A place in a recognised document that does not fit its format."""

    def __init__(self, where: Where, reason: str) -> None:
        """Keep the place beside the reason."""
        super().__init__(f"{path_text(where)} {reason}")
        self.where = where
        self.reason = reason


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

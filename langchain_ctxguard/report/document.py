"""A report as a document: what both forms of it, Markdown and HTML, are written from. No node holds markup; text is text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

Tone = Literal["code", "strong", "dim", "good", "warn", "bad"]


@dataclass(frozen=True, slots=True)
class Mark:
    """A stretch of text that stands out."""

    text: str
    tone: Tone


@dataclass(frozen=True, slots=True)
class Link:
    """A reference to a place on the page."""

    text: str
    anchor: str


Inline = str | Mark | Link
Line = Sequence[Inline] | str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A few sentences."""

    line: Line


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    lines: Sequence[Line]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows below a head."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[Line]]
    numeric: frozenset[int] = frozenset()
    """Columns that hold numbers."""

    anchors: Sequence[str] = ()
    """By row, where links lead; empty: nowhere."""


@dataclass(frozen=True, slots=True)
class Said:
    """A message, verbatim."""

    anchor: str
    speaker: str
    """Its role."""

    title: str
    """Where it stood, and who said it."""

    text: str
    notes: Sequence[str] = ()
    """Calls it made, and what is left out of it."""


@dataclass(frozen=True, slots=True)
class Sides:
    """Two things side by side."""

    left: str
    right: str
    left_blocks: Sequence[Block]
    right_blocks: Sequence[Block]


@dataclass(frozen=True, slots=True)
class Fold:
    """What is opened on demand."""

    title: Line
    blocks: Sequence[Block]
    anchor: str = ""
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing, given as SVG made here of numbers alone, with the same in words."""

    svg: str
    words: str


Block = Paragraph | Items | Table | Said | Sides | Fold | Figure


@dataclass(frozen=True, slots=True)
class Answer:
    """One of the questions a page answers, and the answer in a sentence."""

    question: str
    line: Line
    anchor: str


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page."""

    anchor: str
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True, slots=True)
class Document:
    """The whole page."""

    title: str
    kind: str
    """What was read: one line under the title."""

    lead: Sequence[Line]
    figure: Figure | None
    answers: Sequence[Answer]
    sections: Sequence[Section] = field(default=())


def as_line(line: Line) -> Sequence[Inline]:
    """Return a line as its parts."""
    return (line,) if isinstance(line, str) else line


def plain(line: Line) -> str:
    """Return a line as text alone."""
    return "".join(part if isinstance(part, str) else part.text for part in as_line(line))

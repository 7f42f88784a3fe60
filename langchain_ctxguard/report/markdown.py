"""A document as Markdown. Text of a conversation can form no markup: it is escaped, or fenced where it stands verbatim."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import assert_never

from langchain_ctxguard.report.document import Block, Document, Figure, Fold, Inline, Items, Line, Link, Mark, Paragraph, Said, Sides, Table, as_line
from langchain_ctxguard.report.visible import visible

_SPECIAL = re.compile(r"([\\`*_\[\]<>|#&~$!])")
_BEGINS = re.compile(r"^(\d{1,9}(?=[.)]))?([-+=.)])")
_TICKS = re.compile("`+")


def render_markdown(document: Document) -> str:
    r"""Return the whole document.

    >>> from langchain_ctxguard.report.document import Document
    >>> print(render_markdown(Document(title="A *b*", kind="kind", lead=["One."], figure=None, answers=())))
    # A \*b\*
    <BLANKLINE>
    kind
    <BLANKLINE>
    One.
    <BLANKLINE>
    """
    return "\n\n".join(_parts(document)) + "\n"


def _parts(document: Document) -> Iterator[str]:
    yield f"# {_escaped(document.title)}"
    yield _started(_escaped(document.kind))
    yield from map(_paragraph, document.lead)
    if document.figure is not None:
        yield _started(_escaped(document.figure.words))
    if document.answers:
        yield "## Five questions"
        yield "\n".join(f"{number}. **{_escaped(one.question)}** {_line(one.line)}" for number, one in enumerate(document.answers, 1))
    for section in document.sections:
        yield f"## {_escaped(section.title)}"
        yield from _blocks(section.blocks, depth=3)


def _blocks(blocks: Iterable[Block], *, depth: int) -> Iterator[str]:
    for block in blocks:
        yield from _block(block, depth)


def _block(block: Block, depth: int) -> Iterator[str]:
    match block:
        case Paragraph(line=line):
            yield _paragraph(line)
        case Items(lines=lines):
            yield "\n".join(f"- {_paragraph(line)}" for line in lines)
        case Table():
            yield _table(block)
        case Said():
            yield from _said(block)
        case Sides():
            for title, inner in ((block.left, block.left_blocks), (block.right, block.right_blocks)):
                yield f"{_hashes(depth)} {_escaped(title)}"
                yield from _blocks(inner, depth=depth + 1)
        case Fold(title=title, blocks=inner):
            yield f"{_hashes(depth)} {_line(title)}"
            yield from _blocks(inner, depth=depth + 1)
        case Figure(words=words):
            yield _started(_escaped(words))
        case _:
            assert_never(block)


def _table(table: Table) -> str:
    head = [_escaped(cell) for cell in table.head]
    rule = ["---:" if column in table.numeric else "---" for column in range(len(head))]
    return "\n".join(map(_row, [head, rule, *([_line(cell) for cell in row] for row in table.rows)]))


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _said(said: Said) -> Iterator[str]:
    notes = "".join(f" — {_escaped(note)}" for note in said.notes)
    yield _started(f"{_strong(said.title)}{notes}")
    if said.text:
        yield _fenced(visible(said.text))


def _fenced(text: str) -> str:
    longest = max((len(ticks) for ticks in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def _line(line: Line) -> str:
    return "".join(map(_inline, as_line(line)))


def _inline(part: Inline) -> str:
    match part:
        case str():
            return _escaped(part)
        case Mark(text=text, tone="code"):
            return _code(text)
        case Mark(text=text, tone="strong" | "bad"):
            return _strong(text)
        case Mark(text=text) | Link(text=text):
            return _escaped(text)
        case _:
            assert_never(part)


def _code(text: str) -> str:
    shown = " ".join(visible(text).split()).replace("|", "\u2223")
    ticks = "`" * (max((len(found) for found in _TICKS.findall(shown)), default=0) + 1)
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{ticks}{pad}{shown}{pad}{ticks}" if shown else ""


def _escaped(text: str) -> str:
    # A line end would let text begin a heading, a list or a table of its own.
    return _SPECIAL.sub(r"\\\1", " ".join(visible(text).split()) if "\n" in text else visible(text))


def _strong(text: str) -> str:
    # Blanks inside would leave the asterisks to stand for themselves, and alone they are a line across the page.
    shown = _escaped(text)
    bare = shown.strip()
    return shown.replace(bare, f"**{bare}**", 1) if bare else shown


def _paragraph(line: Line) -> str:
    return _started(_line(line))


def _started(text: str) -> str:
    """Return the text of a line so that its beginning makes no list, no rule across the page and no block of code."""
    return _BEGINS.sub(lambda found: f"{found[1] or ''}\\{found[2]}", text.strip())


def _hashes(depth: int) -> str:
    return "#" * min(depth, 6)

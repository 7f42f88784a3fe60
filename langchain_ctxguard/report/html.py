"""A document as one HTML page that asks for nothing: style and script stand in it, named by their digests, and nothing else may run."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from html import escape
from importlib.resources import files
from typing import assert_never

from langchain_ctxguard.report.document import Block, Document, Figure, Fold, Inline, Items, Line, Link, Mark, Paragraph, Said, Sides, Table, as_line
from langchain_ctxguard.report.visible import pieces, visible


def render_html(document: Document) -> str:
    """Return the whole page."""
    return "".join(_page(document))


def _page(document: Document) -> Iterator[str]:
    style, script = _asset("page.css"), _asset("page.js")
    policy = f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; base-uri 'none'; form-action 'none'"
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="color-scheme" content="light dark">\n'
    yield f'<meta name="referrer" content="no-referrer">\n<title>{_attribute(document.title)}</title>\n<style>{style}</style>\n</head>\n<body>\n'
    yield '<a class="skip" href="#questions">Skip to the five questions</a>\n<a class="skip" href="#find">Skip to the search box</a>\n'
    yield from _top(document)
    yield "<main>\n"
    for section in document.sections:
        yield f'<section id="{escape(section.anchor)}" aria-labelledby="{escape(section.anchor)}-title">\n'
        yield f'<h2 id="{escape(section.anchor)}-title">{_text(section.title)}</h2>\n'
        yield from _blocks(section.blocks)
        yield "</section>\n"
    yield f"</main>\n<script>{script}</script>\n</body>\n</html>\n"


def _top(document: Document) -> Iterator[str]:
    yield f'<header>\n<p class="kind">{_text(document.kind)}</p>\n<h1>{_text(document.title)}</h1>\n'
    yield from (f'<p class="lead">{_line(line)}</p>\n' for line in document.lead)
    if document.figure is not None:
        yield _figure(document.figure)
    yield "</header>\n"
    yield '<nav id="questions" tabindex="-1" aria-label="Five questions">\n<h2>Five questions</h2>\n<ol>\n'
    for one in document.answers:
        yield f'<li><a href="#{escape(one.anchor)}">{_text(one.question)}</a> <span>{_line(one.line)}</span></li>\n'
    yield "</ol>\n</nav>\n"
    yield (
        '<search hidden><label for="find">Search this page</label> <input id="find" type="search" autocomplete="off" spellcheck="false" '
        'placeholder="a value, a rule, a call\u2026" aria-describedby="found"> <button type="button" id="open-all">Open all</button> '
        '<button type="button" id="close-all">Close all</button> <output id="found" for="find"></output></search>\n'
    )


def _blocks(blocks: Iterable[Block]) -> Iterator[str]:
    for block in blocks:
        yield from _block(block)


def _block(block: Block) -> Iterator[str]:
    match block:
        case Paragraph(line=line):
            yield f"<p>{_line(line)}</p>\n"
        case Items(lines=lines):
            yield "<ul>" + "".join(f'<li class="find">{_line(line)}</li>' for line in lines) + "</ul>\n"
        case Table():
            yield from _table(block)
        case Said():
            yield from _said(block)
        case Sides():
            yield '<div class="sides">\n'
            for title, inner in ((block.left, block.left_blocks), (block.right, block.right_blocks)):
                yield f"<div><h4>{_text(title)}</h4>\n"
                yield from _blocks(inner)
                yield "</div>\n"
            yield "</div>\n"
        case Fold(title=title, blocks=inner, anchor=anchor, is_open=is_open):
            named = f' id="{escape(anchor)}"' if anchor else ""
            yield f"<details{named}{' open' if is_open else ''}><summary>{_line(title)}</summary>\n"
            yield from _blocks(inner)
            yield "</details>\n"
        case Figure():
            yield _figure(block)
        case _:
            assert_never(block)


def _table(table: Table) -> Iterator[str]:
    # Wider than a narrow window, it scrolls in itself; with a keyboard too.
    yield f'<div class="scroll" tabindex="0" role="region" aria-label="{_attribute(table.caption)}"><table>'
    yield f"<caption>{_text(table.caption)}</caption><thead><tr>"
    yield "".join(f'<th scope="col"{_numeric(table, column)}>{_text(cell)}</th>' for column, cell in enumerate(table.head))
    yield "</tr></thead><tbody>\n"
    anchors = table.anchors or [""] * len(table.rows)
    for row, anchor in zip(table.rows, anchors, strict=True):
        named = f' id="{escape(anchor)}"' if anchor else ""
        yield f'<tr class="find"{named}>' + "".join(f"<td{_numeric(table, column)}>{_line(cell)}</td>" for column, cell in enumerate(row)) + "</tr>\n"
    yield "</tbody></table></div>\n"


def _numeric(table: Table, column: int) -> str:
    return ' class="n"' if column in table.numeric else ""


def _said(said: Said) -> Iterator[str]:
    named = f' id="{escape(said.anchor)}"' if said.anchor else ""
    yield f'<article class="find {escape(said.speaker)}"{named}><h5>{_text(said.title)}</h5>'
    if said.text:
        yield f'<pre dir="auto">{_text(said.text)}</pre>'
    yield "".join(f'<p class="note">{_text(note)}</p>' for note in said.notes)
    yield "</article>\n"


def _figure(figure: Figure) -> str:
    return f'<figure>{figure.svg}<figcaption class="for-ears">{_text(figure.words)}</figcaption></figure>\n'


def _line(line: Line) -> str:
    return "".join(map(_inline, as_line(line)))


def _inline(part: Inline) -> str:
    match part:
        case str():
            return _text(part)
        case Mark(text=text, tone="code"):
            return f"<code>{_text(text)}</code>"
        case Mark(text=text, tone=tone):
            return f'<b class="{tone}">{_text(text)}</b>'
        case Link(text=text, anchor=anchor):
            return f'<a href="#{escape(anchor)}">{_text(text)}</a>'
        case _:
            assert_never(part)


def _text(text: str) -> str:
    shown = (f'<i class="hid" title="{escape(piece.name)}">{piece.text}</i>' if piece.name else escape(piece.text) for piece in pieces(text))
    return "".join(shown)


def _attribute(text: str) -> str:
    """Return text for where no element may stand."""
    return escape(visible(text))


@cache
def _asset(name: str) -> str:
    return (files("langchain_ctxguard.report") / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"

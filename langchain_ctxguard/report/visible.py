"""Text as it is, except that what does not show is named: control characters, bidirectional controls, tags, halves of surrogate pairs."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufeff\uffa0\ufff0-\uffff\ud800-\udfff\ufdd0-\ufdef\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
)
"""Joiners stay: emoji and several scripts need them, and they change no order."""


class Piece(NamedTuple):
    """A stretch of text, or one character that does not show, under its number."""

    text: str
    name: str = ""
    """What the character is called; empty for text."""


def pieces(text: str) -> Iterator[Piece]:
    r"""Yield `text` with every character that does not show as a piece of its own.

    >>> [piece.text for piece in pieces("pay\u202e005\0")]
    ['pay', 'U+202E', '005', 'U+0000']
    """
    text = text.replace("\r\n", "\n")
    if _HIDDEN.search(text) is None:
        if text:
            yield Piece(text)
        return
    at = 0
    for found in _HIDDEN.finditer(text):
        if found.start() > at:
            yield Piece(text[at : found.start()])
        char = found.group()
        yield Piece(f"U+{ord(char):04X}", unicodedata.name(char, "a character that does not show"))
        at = found.end()
    if at < len(text):
        yield Piece(text[at:])


def hidden_in(text: str) -> int:
    r"""Return how many characters of a text do not show.

    >>> hidden_in("pay\u202e005\0")
    2
    """
    return len(_HIDDEN.findall(text))


def visible(text: str) -> str:
    r"""Return `text` with the numbers of characters that do not show in brackets.

    >>> visible("a\u2066b")
    'a⟦U+2066⟧b'
    """
    return "".join(f"⟦{piece.text}⟧" if piece.name else piece.text for piece in pieces(text))

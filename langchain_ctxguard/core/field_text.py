"""Text as the extractor reads it: widths folded one to one, so that offsets are those of the original; the sentences and clauses of a text."""

from __future__ import annotations

import re

_SAME: dict[int, str] = {}
for _first, _last in ((0xFF10, 0xFF19), (0xFF21, 0xFF3A), (0xFF41, 0xFF5A)):
    _SAME.update({code: chr(code - 0xFEE0) for code in range(_first, _last + 1)})
_SAME.update({ord(wide): narrow for wide, narrow in zip("－．／＃＋＠％＄＿＝＆＂", '-./#+@%$_=&"', strict=True)})
_SAME.update(dict.fromkeys((0x2010, 0x2011, 0x2012, 0x2212, 0xFE63), "-"))
_SAME.update(dict.fromkeys((0xA0, 0x2002, 0x2003, 0x2007, 0x2009, 0x202F, 0x3000), " "))
_SAME.update({0xB5: "μ", 0xBA: "°", 0x2DA: "°", 0xFFE5: "¥", 0xFF04: "$", 0x2103: "℃"})
_SAME.update(dict.fromkeys(range(0xD800, 0xE000), "\ufffd"))
_FOLDED = re.compile("[" + "".join(re.escape(chr(code)) for code in _SAME if not 0xD800 <= code < 0xE000) + "\ud800-\udfff：，]")  # noqa: PLR2004
# Between digits these are parts of a number; anywhere else they end a clause.
_COLON = re.compile("(?<=[0-9])：(?=[0-5][0-9])")
_COMMA = re.compile("(?<=[0-9])，(?=[0-9]{3}(?![0-9]))")

_SENTENCE_END = re.compile(r"[。！？!?\r\n]|\.(?=[\s\"”’)]|$)")
_ABBREVIATION = re.compile(r"\b(?:[A-Za-z]|[Nn]o|Mr|Mrs|Ms|Dr|St|vs|approx|Inc|Ltd|Co|Sept?|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Oct|Nov|Dec)$")
_CLAUSE_END = re.compile(r"[。！？!?\r\n;；,，、：]|:(?![0-9/:])|\.(?=\s|$)")
_REACH = 400
"""How far a sentence is followed on either side of a span; longer ones are cut there."""


def folded(text: str) -> str:
    r"""Return `text` with widths, spaces, hyphens and lone surrogates replaced one to one.

    >>> folded("ＯＲＤ－７７１２ １０：３０"), len(folded("\ud800")) == 1
    ('ORD-7712 10:30', True)
    """
    if text.isascii() or not _FOLDED.search(text):
        return text
    text = text.translate(_SAME)
    if "：" in text:
        text = _COLON.sub(":", text)
    return _COMMA.sub(",", text) if "，" in text else text


def sentence_at(text: str, start: int, stop: int) -> tuple[int, int]:
    """Return the bounds of the sentence around a span, its closing mark left out."""
    low = max(0, start - _REACH)
    left = low
    for mark in _SENTENCE_END.finditer(text, low, start):
        if not (mark.group() == "." and _ABBREVIATION.search(text, max(low, mark.start() - 6), mark.start())):
            left = mark.end()
    right = min(len(text), stop + _REACH)
    for mark in _SENTENCE_END.finditer(text, stop, right):
        if not (mark.group() == "." and _ABBREVIATION.search(text, max(start, mark.start() - 6), mark.start())):
            right = mark.start()
            break
    return trimmed(text, left, right)


def trimmed(text: str, start: int, stop: int) -> tuple[int, int]:
    """Return the bounds without white space and list marks at the front, white space and closing marks at the end."""
    while start < stop and (text[start].isspace() or text[start] in '-*•·"”’）)'):
        start += 1
    while stop > start and (text[stop - 1].isspace() or text[stop - 1] in ".,;:，；：。、"):
        stop -= 1
    return start, stop


def sentences_of(text: str) -> list[tuple[int, int]]:
    """Return the bounds of the sentences of a text."""
    bounds, left = [], 0
    for mark in _SENTENCE_END.finditer(text):
        if not (mark.group() == "." and _ABBREVIATION.search(text, max(left, mark.start() - 6), mark.start())):
            bounds.append((left, mark.start()))
            left = mark.end()
    bounds.append((left, len(text)))
    return [(start, stop) for start, stop in (trimmed(text, *bound) for bound in bounds) if stop > start]


def clauses_of(text: str) -> list[tuple[int, int]]:
    """Return the bounds of the clauses of a text."""
    bounds = []
    left = 0
    for mark in _CLAUSE_END.finditer(text):
        bounds.append((left, mark.start()))
        left = mark.end()
    bounds.append((left, len(text)))
    return [(start, stop) for start, stop in (trimmed(text, *bound) for bound in bounds) if stop > start]

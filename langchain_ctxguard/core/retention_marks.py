"""Finds in a sentence what sets its force, and cuts it into clauses. The phrases themselves are in `retention_phrases.py`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from langchain_ctxguard.core.retention_phrases import CHINESE, ENGLISH, Mark

_LIMITS = (Mark.MOST, Mark.LEAST)


def _one_of(phrases: Mapping[Mark, str], marks: Iterable[Mark]) -> str:
    return "|".join(f"(?P<{mark.value}>{phrases[mark]})" for mark in marks if mark in phrases)


# A limit is a ban as well (`must not exceed`), so limits are looked for on their own.
_FORCE = tuple(mark for mark in Mark if mark not in _LIMITS)
_GROUPS = (_FORCE, *((mark,) for mark in _LIMITS))
# Tried only where a word begins: that is most of the speed.
_ENGLISH = [re.compile(rf"\b(?=[a-z])(?:{_one_of(ENGLISH, group)})") for group in _GROUPS]
_CHINESE = [re.compile(_one_of(CHINESE, group)) for group in _GROUPS]

_CLAUSE = re.compile(
    r"[，；：]+|[,;](?=\s|[^\d\s])|:(?!\d)|[()（）\[\]—–]+|\s-\s|"
    r"\b(?:so|but|although|though|while|whereas|since|because)\b|\band (?=(?:it|they|you|the|this|that|so)\b)"
)
_ANAPHOR = re.compile(
    r"\W*(?:(?:and|so|then|but|therefore|hence|now)\s+)*"
    r"(?:it|they|this|that|these|those|both|such|doing so|the (?:rule|ban|restriction|instruction|requirement))\b|"
    r"\W*(?:都|也|这|该|此|其|均|但这|但该|上述|以上|前述)"
)


class Hit(NamedTuple):
    """A mark where it stands."""

    mark: Mark
    text: str
    start: int
    end: int


def marks_in(text: str) -> list[Hit]:
    """Return the marks of a folded text: English ones, then Chinese ones, each in order."""
    patterns = [*_ENGLISH, *_CHINESE] if not text.isascii() else _ENGLISH
    return [Hit(Mark(str(found.lastgroup)), found[0], found.start(), found.end()) for pattern in patterns for found in pattern.finditer(text)]


def clauses_of(text: str) -> list[tuple[int, int]]:
    """Return where the clauses of a folded text begin and end."""
    spans, start = [], 0
    for cut in _CLAUSE.finditer(text):
        if cut.start() > start:
            spans.append((start, cut.start()))
        start = cut.start() if cut[0][0].isalpha() else cut.end()
    spans.append((start, len(text)))
    return [(begin, end) for begin, end in spans if end > begin and text[begin:end].strip()]


def points_back(text: str) -> bool:
    """Say whether a clause speaks of what stood before it: it, this, both, 这, 都."""
    return _ANAPHOR.match(text) is not None

"""Rules -> the pairs of them that say the opposite. Only exact complements: the same words, allowed here and forbidden there.

A pair that is missed stands side by side for people to see. A pair that is found takes a rule out of force or stops a run, so nothing is found that
does not share every content word.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from typing import Literal

from langchain_ctxguard.core.lexicon import permits

Polarity = Literal["ban", "duty", "permission"]

_WORD = re.compile(r"[a-z0-9][a-z0-9_'./:-]*[a-z0-9]|[a-z0-9]|[\u3400-\u9fff\uf900-\ufaff]+")
_CONTRACTION = re.compile(r"n['\u2019]t\b")
_EMPTY_WORDS = """
a an the any all every each some this that these those it its is are was were be been being do does did done of to for in on at by with you we
they i he she your our their must shall should will would may might can could need needs have has had not never no always only please also ever
under circumstances whatsoever allowed permitted forbidden prohibited required free okay ok welcome make sure ensure from now
"""
_EMPTY = frozenset(_EMPTY_WORDS.split())
_BAN = re.compile(r"\b(?:not|never|no|cannot|nobody|forbidden|prohibited|refrain|avoid)\b|不|禁|勿|别|严禁|杜绝", re.IGNORECASE)
_DENIED = re.compile(r"\b(?:not|never|no longer) (?:need|have|required|obliged|necessary)\b|不必|无需|无须|不用|不需要", re.IGNORECASE)
_HAN_EMPTY = re.compile(
    r"必须|务必|应当|应该|可以|允许|准许|禁止|严禁|不得|不能|不许|不可以|不可|不要|不准|请勿|请|勿|别|始终|总是|永远|一律|任何|所有|一切|都|你|您|我们|现在|绝不|绝对|一定要|一定|的"
)
_LEAST = 2


def opposites(texts: Iterable[str]) -> frozenset[tuple[str, str]]:
    """Return the ordered pairs of texts of which each says the opposite of the other, both ways round. Linear in the number of texts."""
    by_words: defaultdict[frozenset[str], list[tuple[str, Polarity]]] = defaultdict(list)
    for text in dict.fromkeys(texts):
        words = _content(text)
        if len(words) >= _LEAST:
            by_words[words].append((text, _polarity(text)))
    return frozenset(
        (first, second) for group in by_words.values() for first, one in group for second, other in group if "ban" in (one, other) and one != other
    )


def _polarity(text: str) -> Polarity:
    if permits(text) or _DENIED.search(text):
        return "permission"
    return "ban" if _BAN.search(_CONTRACTION.sub(" not", text)) else "duty"


def _content(text: str) -> frozenset[str]:
    folded = _CONTRACTION.sub(" not", unicodedata.normalize("NFKC", text).lower())
    words: set[str] = set()
    for word in _WORD.findall(folded):
        if word[0] >= "\u3400":
            words.update(_pairs(_HAN_EMPTY.sub("", word)))
        elif word not in _EMPTY:
            words.add(_stem(word))
    return frozenset(words)


def _pairs(han: str) -> Iterable[str]:
    return (han[index : index + 2] for index in range(max(len(han) - 1, 0)))


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) > _LEAST:
            return word[: -len(ending)]
    return word

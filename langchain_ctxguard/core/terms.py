"""What a sentence is about: its content words, and whether others speak of the same. English and Chinese."""

from __future__ import annotations

import re
from itertools import pairwise

_WORD = re.compile(r"[a-z0-9_./@-]+|[\u3400-\u9fff\uac00-\ud7af\u3040-\u30ff]+")
_COMMON = frozenset(
    # One word list reads better than sixty quoted strings.
    """
    the and for you are with this that from have has was were will would can could please also need todo want let now then not done but all any its
    been our your his her they them into onto about just make sure don't forget later still next step
    需要 还需 还要 待办 请你 帮我 已经 完成 我们 可以 一下
    """.split()  # noqa: SIM905
)


def fold(text: str) -> str:
    """Return `text` in lower case with straight apostrophes, every character in its place."""
    folded = text.lower()
    if len(folded) != len(text):  # A few letters, such as `İ`, grow.
        folded = "".join(low if len(low := letter.lower()) == 1 else letter for letter in text)
    return folded.replace("’", "'")


def is_question(sentence: str) -> bool:
    """Say whether a sentence asks.

    >>> is_question("Which region?"), is_question("这个可以退吗。"), is_question("It is done.")
    (True, True, False)
    """
    bare = sentence.rstrip("\"'”’」』） )。.")
    return bare.endswith(("?", "？", "吗", "呢"))


def terms(text: str) -> frozenset[str]:
    """Return the content words of a text, roughly stemmed; Chinese as pairs of characters.

    >>> sorted(terms("Please cancel order 12")) == sorted(terms("order 12 cancelled"))
    True
    """
    found: set[str] = set()
    for word in _WORD.findall(fold(text)):
        if word[0].isascii():
            bare = word.strip("./@-_")
            if (len(bare) > 2 or bare.isdigit()) and bare not in _COMMON:  # noqa: PLR2004 - `is`, `of`, `to`
                found.add(bare if any(map(str.isdigit, bare)) else bare[:5])
        else:
            found.update(pair for pair in map("".join, pairwise(word)) if pair not in _COMMON)
    return frozenset(found)


def covers(evidence: frozenset[str], wanted: frozenset[str], share: float) -> bool:
    """Say whether at least `share` of the wanted terms stand in the evidence."""
    return bool(wanted) and len(wanted & evidence) >= share * len(wanted)

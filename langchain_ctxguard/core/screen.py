"""Which of many patterns a text may hold, found in one pass: a cheap look that spares most texts the close ones. It never misses a match.

A screen is made of the patterns themselves: each is told by the words of which no text that holds it is without.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, product
from typing import Any, NamedTuple

_MOST = 96
"""So many words tell a pattern at most: where more would, a shorter part of it does."""

_EDGE = "\b"
"""Stands in a word for the edge of one."""

_COUNT = re.compile(r"(?:[*+?]|\{\d*,?\d*\})\??")
_OPENING = re.compile(r"^\((?:\?:|\?P<\w+>)?")
_LOOKAROUNDS = ("(?=", "(?!", "(?<=", "(?<!")
_BLANKS = re.compile(" {2,}")
_FEW = re.compile(r"\[[^\\^-]{1,4}\]")


def words_of(pattern: str) -> frozenset[str]:
    r"""Return words of which one stands in every text that holds `pattern`: of those it is made of the longest. `\b` marks the edge of a word.

    Blanks count as one, of whatever kind. A sentence begins and ends at the edge of a word, so `^` and `$` are edges too.

    Args:
        pattern: A pattern of `re`, without groups that are referred to.

    >>> sorted(words_of(r"\b(?:i|we) (?:never|do not) (?!mind)\w+[^,;]{1,60}? but\b"))
    ['\x08i do not ', '\x08i never ', '\x08we do not ', '\x08we never ']
    """
    words = _read(pattern).words
    if not all(map(_weight, words)):
        msg = f"A text may hold this pattern whatever it says: {pattern}"
        raise ValueError(msg)
    words = frozenset(_BLANKS.sub(" ", word) for word in words)
    return _shortest(words)


def _shortest(words: Iterable[str]) -> frozenset[str]:
    """Return `words` without those that hold another."""
    kept: list[str] = []
    for word in sorted(words, key=len):
        if not any(short in word for short in kept):
            kept.append(word)
    return frozenset(kept)


class _Reading(NamedTuple):
    words: frozenset[str]
    is_all: bool
    """The words are all the texts there are that match, from end to end."""


_NOTHING = frozenset({""})


def _weight(word: str) -> int:
    return len(word.replace(" ", "").strip(_EDGE))


def _read(pattern: str) -> _Reading:
    """Read a pattern that may be a choice."""
    readings: list[_Reading] = []
    best, run, is_all = _NOTHING, _NOTHING, True
    for element in (*_elements(pattern), _Element("|", "")):
        if element.text == "|":
            readings.append(_Reading(run, is_all=True) if is_all else _Reading(_better(best, run), is_all=False))
            best, run, is_all = _NOTHING, _NOTHING, True
            continue
        found = element.read()
        if found.is_all and len(run) * len(found.words) <= _MOST:
            run = frozenset(map("".join, product(run, found.words)))
            continue
        best, is_all = _better(best, run), False
        run = _NOTHING
        if found.is_all:
            run = found.words
        elif found.words:
            best = _better(best, found.words)
    words = frozenset().union(*(reading.words for reading in readings))
    is_few = all(reading.is_all for reading in readings) and len(words) <= _MOST
    return _Reading(words, is_all=is_few)


def _better(one: frozenset[str], other: frozenset[str]) -> frozenset[str]:
    """Return the longer words, of equally long ones the fewer."""
    return max(map(_shortest, (one, other)), key=lambda words: (min(map(_weight, words)), -len(words)))


class _Element(NamedTuple):
    """A part of a pattern, and how often it may stand in its place."""

    text: str
    times: str

    def read(self) -> _Reading:
        """Return what it is told by: the empty word where it may be missing or is too many things."""
        if self.text == r"\s":
            return _Reading(frozenset({"", " "} if self.times[:1] in {"?", "*"} else {" "}), is_all=True)
        found = self._once()
        if not self.times:
            return found
        if self.times[0] == "?":
            return _Reading(found.words | {""}, is_all=True) if found.is_all else _Reading(_NOTHING, is_all=False)
        is_sure = self.times[0] == "+" or self.times[:2] not in {"{0", "{,", "*", "*?"}
        return _Reading(found.words if is_sure else _NOTHING, is_all=False)

    def _once(self) -> _Reading:
        first = self.text[0]
        if first == "(":
            return _read(_OPENING.sub("", self.text[:-1], count=1))
        if first == "[":
            is_few = _FEW.fullmatch(self.text) is not None
            return _Reading(frozenset(self.text[1:-1]) if is_few else _NOTHING, is_all=is_few)
        if self.text in {"^", "$", r"\b"}:
            return _Reading(frozenset({_EDGE}), is_all=True)
        if first == "." or (first == "\\" and self.text[1] in "wWsSdD"):
            return _Reading(_NOTHING, is_all=False)
        return _Reading(frozenset({_letter(self.text)}), is_all=True)


def _letter(text: str) -> str:
    if text[0] != "\\":
        return text
    return text.encode("ascii").decode("unicode_escape") if text[1] == "u" else text[1]


def _elements(pattern: str) -> Iterator[_Element]:
    """Yield what a pattern is made of at its outermost level, without what it only looks at."""
    at = 0
    while at < len(pattern):
        start = at
        if pattern[at] == "(":
            at = _closing(pattern, at)
        elif pattern[at] == "[":
            at = _class_end(pattern, at)
        elif pattern[at] == "\\":
            at += 6 if pattern[at + 1] == "u" else 2
        else:
            at += 1
        text = pattern[start:at]
        count = _COUNT.match(pattern, at)
        at = at if count is None else count.end()
        if not text.startswith(_LOOKAROUNDS):
            yield _Element(text, "" if count is None else count[0])


def _class_end(pattern: str, at: int) -> int:
    at += 2 if pattern.startswith("[^", at) else 1
    while pattern[at] != "]":
        at += 2 if pattern[at] == "\\" else 1
    return at + 1


def _closing(pattern: str, at: int) -> int:
    """Return where the group that opens at `at` ends."""
    depth = 0
    while True:
        if pattern[at] == "[":
            at = _class_end(pattern, at)
            continue
        if pattern[at] == "\\":
            at += 2
            continue
        depth += (pattern[at] == "(") - (pattern[at] == ")")
        at += 1
        if depth == 0:
            return at


def _sought(words: frozenset[str]) -> str:
    """Return the pattern of RE2 that finds any of some words."""
    return "|".join(sorted(map(_sought_word, words)))


def _sought_word(word: str) -> str:
    bare = word.strip(_EDGE).replace(_EDGE, "")
    # By a letter `re` means more than RE2, so what it takes for an edge beside one of ASCII, RE2 does too; beside others it may not.
    before = r"\b" if word.startswith(_EDGE) and _is_plain(bare[0]) else ""
    behind = r"\b" if word.endswith(_EDGE) and _is_plain(bare[-1]) else ""
    return f"{before}{re.escape(bare)}{behind}"


def _is_plain(letter: str) -> bool:
    return letter.isascii() and letter.isalnum()


class Screen:
    """Patterns a text is looked through for together."""

    def __init__(self, patterns: Sequence[str], *, beyond: Sequence[str] = ()) -> None:
        """Take patterns of `re`; nothing is compiled before the first text comes.

        Args:
            patterns: What may be found in any text.
            beyond: What may be found only where a text goes beyond ASCII; counted on from `patterns`.
        """
        self._patterns = tuple(patterns)
        self._further = tuple(beyond)

    def may_hit(self, text: str) -> bool:
        """Say whether `text` may hold any of the patterns."""
        return bool((self._any_ascii if text.isascii() else self._any).Match(_told(text)))

    def hits(self, text: str) -> list[int]:
        """Return the numbers of the patterns that `text` may hold, in their order."""
        told, is_ascii = _told(text), text.isascii()
        if not (self._any_ascii if is_ascii else self._any).Match(told):
            return []
        found: list[int] = (self._each_ascii if is_ascii else self._each).Match(told)
        found.sort()
        return found

    # What has matched is a part of an automaton's state: to tell the patterns apart takes many more states than to find any.
    @cached_property
    def _any_ascii(self) -> Any:
        return _compiled([_shortest(chain(*self._words))])

    @cached_property
    def _any(self) -> Any:
        return _compiled([_shortest(chain(*self._words, *self._further_words))])

    @cached_property
    def _each_ascii(self) -> Any:
        return _compiled(self._words)

    @cached_property
    def _each(self) -> Any:
        return _compiled([*self._words, *self._further_words])

    @cached_property
    def _words(self) -> list[frozenset[str]]:
        return list(map(words_of, self._patterns))

    @cached_property
    def _further_words(self) -> list[frozenset[str]]:
        return list(map(words_of, self._further))


def _told(text: str) -> bytes:
    # A lone surrogate is no letter, and neither is the question mark that stands for it.
    return f" {' '.join(text.split())} ".encode(errors="replace")


def _compiled(groups: Sequence[frozenset[str]]) -> Any:
    import re2  # type: ignore[import-untyped]  # it ships no types

    found = re2.Set.SearchSet()
    for words in groups:
        found.Add(_sought(words))
    found.Compile()
    return found._set  # noqa: SLF001 - the wrapper around it copies the text once more


class Screened:
    """A pattern that is searched for only where a text holds a word of it."""

    def __init__(self, pattern: str) -> None:
        """Compile a pattern of `re`."""
        self._pattern = re.compile(pattern)
        self._screen = Screen((pattern,))

    def search(self, text: str) -> re.Match[str] | None:
        """Return the first match in `text`."""
        return self._pattern.search(text) if self._screen.may_hit(text) else None


def first_matches(text: str, patterns: Sequence[re.Pattern[str]]) -> Iterator[re.Match[str]]:
    """Yield what an alternation of `patterns` finds in `text` from left to right. None of them matches the empty text."""
    found = [pattern.search(text) for pattern in patterns]
    while True:
        match = min((match for match in found if match is not None), key=re.Match.start, default=None)
        if match is None:
            return
        yield match
        at = match.end()
        for index, known in enumerate(found):
            if known is not None and known.start() < at:
                found[index] = patterns[index].search(text, at)

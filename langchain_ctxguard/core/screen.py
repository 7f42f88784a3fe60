"""Which of many patterns a text may hold, found in one pass: a cheap look that spares most texts the close ones. It never misses a match.

A screen is made of the patterns themselves, loosened: what they only refuse (lookarounds) is left out, and a count becomes "any number".
So a text that the screen lets through may hold nothing, and one that it holds back holds nothing for certain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

_MEMORY = 64 << 20
"""The automaton is built as far as texts ask for it; with less it is thrown away and built again."""

_COUNT = re.compile(r"\{(\d*),?\d*\}")
_ASSERTIONS = ("(?=", "(?!", "(?<=", "(?<!")
_BEYOND = r"\x80-\x{10ffff}"
_BLANKS = r"\s\x0b\x1c-\x1f"


def loosened(pattern: str, *, is_ascii: bool) -> str:
    r"""Return a pattern RE2 reads that is found wherever `pattern` is: it refuses less, and is bound to no beginning or end.

    Args:
        pattern: A pattern of `re`, without groups that are named or referred to.
        is_ascii: It is meant for texts of ASCII alone, where both mean the same by a letter.

    >>> loosened(r"^no(?!w)[^,;]{1,60}? not\b", is_ascii=True)
    'no[^,;]+? not\\b'
    """
    parts: list[str] = []
    at = 0
    while at < len(pattern):
        if pattern.startswith(_ASSERTIONS, at):
            at = _closing(pattern, at)
            continue
        token = pattern[at]
        if token == "\\":
            stop = at + (6 if pattern[at + 1] == "u" else 2)
            token = _escape(pattern[at:stop], is_ascii=is_ascii)
        elif token == "[":
            stop = _class_end(pattern, at)
            token = _class(pattern[at:stop], is_ascii=is_ascii)
        elif token == "{":
            count = _COUNT.match(pattern, at)
            assert count is not None, pattern[at:]
            stop = count.end()
            token = "*" if count[1] in {"", "0"} else "+"
        else:
            stop = at + 1
            token = "" if token in "^$" else token
        parts.append(token)
        at = stop
    return "".join(parts)


def _escape(token: str, *, is_ascii: bool) -> str:
    if token.startswith(r"\u"):
        return rf"\x{{{token[2:]}}}"
    if token == r"\s":
        return f"[{_BLANKS}]" if is_ascii else f"[{_BLANKS}{_BEYOND}]"
    if is_ascii:
        return token
    if token == r"\b":
        return ""
    return rf"[{token}{_BEYOND}]" if token in {r"\w", r"\d"} else token


def _class(token: str, *, is_ascii: bool) -> str:
    token = re.sub(r"\\u([0-9a-f]{4})", r"\\x{\1}", token)
    if token.startswith("[^"):
        return token
    token = token.replace(r"\s", _BLANKS)
    return token if is_ascii or not re.search(r"\\[wd]", token) and _BLANKS not in token else f"[{_BEYOND}{token[1:]}"


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

    def hits(self, text: str) -> list[int]:
        """Return the numbers of the patterns that `text` may hold, in their order."""
        found: list[int]
        if text.isascii():
            found = self._ascii.Match(text.encode())
        else:
            # A lone surrogate is no letter and no blank, and neither is the question mark that stands for it.
            found = self._beyond.Match(text.encode(errors="replace"))
        found.sort()
        return found

    @cached_property
    def _ascii(self) -> Any:
        return _compiled(self._patterns, is_ascii=True)

    @cached_property
    def _beyond(self) -> Any:
        return _compiled(self._patterns + self._further, is_ascii=False)


def _compiled(patterns: Sequence[str], *, is_ascii: bool) -> Any:
    import re2  # type: ignore[import-untyped]  # it ships no types

    options = re2.Options()
    options.max_mem = _MEMORY
    options.log_errors = False
    found = re2.Set.SearchSet(options)
    for pattern in patterns:
        found.Add(loosened(pattern, is_ascii=is_ascii))
    found.Compile()
    return found._set  # noqa: SLF001 - the wrapper around it copies the text once more


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

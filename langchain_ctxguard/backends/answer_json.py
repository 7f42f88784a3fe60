"""The JSON object in a text that should be one: alone, in a fence, amid prose, with a comma too many, or cut off at its end."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

_STARTS = 12
"""How many opening braces are tried as the start of the object."""

_ENDS = 8
"""How many places are tried as the end of one that breaks off."""


class Found(NamedTuple):
    """What was found."""

    data: Any
    """The object, or another JSON value where the text is one; `None` where it holds neither."""

    is_cut_off: bool = False


def object_in(text: str, keys: Collection[str]) -> Found:
    """Return the object in a text; one that has any of `keys` goes before the others.

    >>> object_in('Sure: {"a": [1, 2,]} Anything else?', {"a"}).data
    {'a': [1, 2]}
    >>> object_in('{"a": [1, 2], "b": "unfini', {"a"})
    Found(data={'a': [1, 2]}, is_cut_off=True)
    """
    try:
        return Found(json.loads(text))
    except (ValueError, RecursionError):
        pass
    others: list[dict[str, Any]] = []
    for version in dict.fromkeys((text, _without_stray_commas(text))):
        found = list(_objects(version))
        known = [data for data in found if any(key in data for key in keys)]
        if known:
            return Found(known[0])
        others += found
    completed = _completed(text)
    if completed is not None and any(key in completed for key in keys):
        return Found(completed, is_cut_off=True)
    return Found(others[0] if others else None)


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the objects that begin at the first few braces outside of one already read."""
    decoder = json.JSONDecoder(strict=False)
    at = -1
    for _ in range(_STARTS):
        at = text.find("{", at + 1)
        if at < 0:
            return
        try:
            data, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            continue
        yield data
        at = end - 1


def _without_stray_commas(text: str) -> str:
    """Return `text` without the commas that stand, outside of a string, before a closing bracket."""
    kept: list[str] = []
    start, comma = 0, None
    is_quoted = is_escaped = False
    for at, letter in enumerate(text):
        if is_quoted:
            is_quoted = is_escaped or letter != '"'
            is_escaped = letter == "\\" and not is_escaped
        elif letter == ",":
            comma = at
        elif letter in "]}" and comma is not None:
            kept.append(text[start:comma])
            start, comma = comma + 1, None
        elif not letter.isspace():
            is_quoted, comma = letter == '"', None
    return "".join([*kept, text[start:]])


def _completed(text: str) -> dict[str, Any] | None:
    """Return the object of a text that breaks off, with what was complete in it."""
    start = text.find("{")
    if start < 0:
        return None
    for stop, closers in _resting_places(text, start):
        try:
            data = json.loads(text[start:stop] + closers, strict=False)
        except (ValueError, RecursionError):
            continue
        return data if isinstance(data, dict) else None
    return None


def _resting_places(text: str, start: int) -> list[tuple[int, str]]:
    """Return where the object could be ended and the brackets that would end it, last place first."""
    places: deque[tuple[int, _Open | None]] = deque(maxlen=_ENDS)
    innermost: _Open | None = None
    is_quoted = is_escaped = False
    for at in range(start, len(text)):
        letter = text[at]
        if is_quoted:
            if not is_escaped and letter == '"':
                is_quoted = False
                places.append((at + 1, innermost))
            is_escaped = letter == "\\" and not is_escaped
        elif letter == '"':
            is_quoted = True
        elif letter in "{[":
            innermost = _Open("}" if letter == "{" else "]", innermost)
        elif letter in "}]" and innermost is not None:
            innermost = innermost.outer
            places.append((at + 1, innermost))
    return [(at, _closers(bracket)) for at, bracket in reversed(places)]


class _Open(NamedTuple):
    """A bracket that is open, and the one around it. Shared by all places inside of it: a place costs the same at any depth."""

    closer: str
    outer: _Open | None


def _closers(bracket: _Open | None) -> str:
    closers = []
    while bracket is not None:
        closers.append(bracket.closer)
        bracket = bracket.outer
    return "".join(closers)

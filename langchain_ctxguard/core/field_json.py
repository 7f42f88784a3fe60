"""Scalars of a JSON text with their path, read token by token: a cut-off or slightly broken document still gives what it holds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"|(-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(?![\w.-])|([{}\[\],:])|(true|false|null)')
_BEGINS = re.compile(r'\s*(?:\{\s*(?:"|\})|\[\s*(?:[\[{"\]]|-?[0-9]))')
_DEEPEST = 8
"""How many keys of a path are kept, counted from the inside: nesting costs nothing."""


class Scalar(NamedTuple):
    """A string or number of a JSON text."""

    path: str
    """Keys from the outside in, list positions left out: `payment.amount.value`."""

    start: int
    stop: int
    """Bounds of the value, quotes left out."""

    is_text: bool
    beside: dict[str, str]
    """Scalars of the same object by key, for a unit or a currency that stands beside its number."""


def is_json(text: str) -> bool:
    """Say whether a text begins like a JSON document and holds more of one."""
    return text[:1] in "{[ \n\t" and _BEGINS.match(text) is not None and (text.rstrip()[-1:] in "}]" or '":' in text[:400])


def scalars_in(text: str) -> Iterator[Scalar]:  # noqa: C901 - a list of cases
    """Yield the strings and numbers of a JSON text in order of appearance."""
    path: list[str] = []
    objects: list[dict[str, str]] = [{}]
    key: str | None = None
    expects_key = [False]
    for token in _TOKEN.finditer(text):
        group = token.lastindex
        if group == 3:  # noqa: PLR2004 - the group of marks
            mark = token[3]
            if mark in "{[":
                path.append(key or "")
                objects.append({} if mark == "{" else objects[-1])
                expects_key.append(mark == "{")
                key = None
            elif mark in "}]":
                if len(objects) > 1:
                    path.pop()
                    objects.pop()
                    expects_key.pop()
                key = None
            elif mark == ",":
                key = None
            continue
        if group == 1 and expects_key[-1] and key is None:
            key = token[1]
            continue
        if group in {1, 2}:
            start, stop = token.span(group)
            if key is not None:
                objects[-1][key] = token[group]
            yield Scalar(".".join(filter(None, (*path[-_DEEPEST:], key or ""))), start, stop, group == 1, objects[-1])
        if expects_key[-1]:
            key = None

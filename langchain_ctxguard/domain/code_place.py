"""A place in code, as people write it: `path::symbol`, `path:12`, `path:12-20`, or the path alone."""

from __future__ import annotations

import json
import re
from typing import Self

from pydantic import Field, PositiveInt, model_validator

from langchain_ctxguard.domain.one_line import quoted
from langchain_ctxguard.domain.value import Value

_QUOTED = r'"(?:[^"\\]|\\.)*"'
_BARE_PATH = r'[^\s",:\\\x00-\x1f\x7f]+'
_BARE_SYMBOL = r'[^\s",\\\x00-\x1f\x7f]+'
_PLACE = rf"(?P<path>{_QUOTED}|{_BARE_PATH})(?:::(?P<symbol>{_QUOTED}|{_BARE_SYMBOL})|:(?P<line>[1-9]\d*)(?:-(?P<last>[1-9]\d*))?)?"
_ONE = re.compile(_PLACE)
_LISTED = re.compile(rf"{_PLACE}(?:, |$)")


class CodePlace(Value):
    """Where in a tree: a file, and in it a symbol or lines."""

    path: str = Field(min_length=1)
    """As the work has it: relative to the workspace where it lies in it, with `/`."""

    symbol: str = ""
    line: PositiveInt | None = None
    last_line: PositiveInt | None = None
    """The last of several lines."""

    @model_validator(mode="after")
    def _is_one_place(self) -> Self:
        if self.symbol and self.line is not None:
            msg = "a place is a symbol or a line, not both"
            raise ValueError(msg)
        if self.last_line is not None and (self.line is None or self.last_line < self.line):
            msg = "`last_line` comes after a `line`"
            raise ValueError(msg)
        return self

    def __str__(self) -> str:
        """Write it as people do; what such a spelling cannot hold stands in quotes."""
        path = _bare_or_quoted(self.path, _BARE_PATH)
        if self.symbol:
            return f"{path}::{_bare_or_quoted(self.symbol, _BARE_SYMBOL)}"
        if self.line is None:
            return path
        return f"{path}:{self.line}" + ("" if self.last_line is None else f"-{self.last_line}")

    @classmethod
    def read(cls, text: str) -> CodePlace:
        """Return the place a text names.

        >>> CodePlace.read("src/a.py::Cart.total").symbol
        'Cart.total'

        Raises:
            ValueError: it names none.
        """
        found = _ONE.fullmatch(text)
        if found is None:
            msg = f"'{text}' is no place in code; write 'path', 'path::symbol' or 'path:12', with the path in double quotes if it holds spaces."
            raise ValueError(msg)
        return _of(found)


def written_places(places: tuple[CodePlace, ...]) -> str:
    """Return places in one line, to be read back by `read_places`."""
    return ", ".join(map(str, places))


def read_places(text: str) -> tuple[CodePlace, ...]:
    """Return the places of a line that `written_places` wrote.

    Raises:
        ValueError: it is none.
    """
    places, position = [], 0
    while position < len(text):
        found = _LISTED.match(text, position)
        if found is None:
            msg = f"'{text[position:]}' is no list of places in code."
            raise ValueError(msg)
        places.append(_of(found))
        position = found.end()
    return tuple(places)


def _bare_or_quoted(text: str, bare: str) -> str:
    return text if re.fullmatch(bare, text) else quoted(text)


def _plain(text: str | None) -> str:
    return str(json.loads(text)) if text and text.startswith('"') else text or ""


def _of(found: re.Match[str]) -> CodePlace:
    line, last = found["line"], found["last"]
    return CodePlace(
        path=_plain(found["path"]),
        symbol=_plain(found["symbol"]),
        line=None if line is None else int(line),
        last_line=None if last is None else int(last),
    )

"""A JSON value whose bytes are the value: never parsed and written anew, so nothing in it can change on the way."""

from __future__ import annotations

import json
from decimal import Decimal, InvalidOperation
from typing import Any

from pydantic import field_validator

from langchain_ctxguard.domain.value import Value, digest_of_bytes

_DEEPEST = 64
"""Levels of nesting. A bound of our own: how deep a parser gets depends on who calls it, and a value must read alike everywhere."""


class RawJson(Value):
    """JSON that is encoded already, kept byte for byte: `1.0` stays `1.0`, and keys stay in their order.

    What is not one JSON value in UTF-8 is refused, and so are a key that is there twice (whoever reads it later might read the other one),
    nesting beyond 64 levels, and numbers no decimal holds exactly.

    >>> raw = RawJson(data=b'{"y": 1e2, "x": 1.0}')
    >>> raw.value, raw.is_true, bytes(raw)
    ({'y': Decimal('1E+2'), 'x': Decimal('1.0')}, False, b'{"y": 1e2, "x": 1.0}')
    """

    data: bytes

    @field_validator("data")
    @classmethod
    def _is_json(cls, data: bytes) -> bytes:
        try:
            _parse(data)
        except (ValueError, RecursionError) as error:
            msg = f"is no JSON text in UTF-8 ({error})"
            raise ValueError(msg) from error
        return data

    def __bytes__(self) -> bytes:
        """Return what was given."""
        return self.data

    @property
    def value(self) -> Any:
        """The value parsed, numbers exact: integers as `int` (as `Decimal` beyond 4,000 digits), all others as `Decimal`."""
        return _parse(self.data)

    @property
    def digest(self) -> str:
        """The SHA-256 of the bytes in hexadecimal. Of a short value it is as good as the value itself: nothing to leave lying about."""
        return digest_of_bytes(self.data)

    @property
    def is_true(self) -> bool:
        """Say whether it is the JSON literal `true`. Nothing else counts as a yes: no text, no number, no list.

        >>> [RawJson(data=data).is_true for data in (b"true", b'"true"', b"1", b"[true]", b"false")]
        [True, False, False, False, False]
        """
        return self.data.strip(b" \t\r\n") == b"true"

    def equals(self, other: Any) -> bool:
        """Say whether it stands for the same JSON value as `other`, data or a `RawJson`: numbers by their exact value, texts by their characters.

        >>> RawJson(data=b"1.0").equals(1), RawJson(data=b"1").equals(True), RawJson(data=b'"a"').equals("A")
        (True, False, False)
        """
        return _is_same(self.value, other.value if isinstance(other, RawJson) else other)


def _parse(data: bytes) -> Any:
    value = json.loads(data.decode("utf-8"), parse_constant=_no_constant, parse_int=_integer, parse_float=_number, object_pairs_hook=_object)
    if (depth := _depth(value)) > _DEEPEST:
        msg = f"it nests {depth} levels deep, more than {_DEEPEST}"
        raise ValueError(msg)
    return value


def _depth(value: Any) -> int:
    level, depth = [value], 0
    while nested := [item for item in level if isinstance(item, dict | list)]:
        depth += 1
        level = [inner for item in nested for inner in (item.values() if isinstance(item, dict) else item)]
    return depth


def _integer(digits: str) -> int | Decimal:
    # `int` refuses longer texts, by a limit that a process may have set otherwise.
    return int(digits) if len(digits) <= 4_000 else _number(digits)  # noqa: PLR2004 - said in the docstring of `value`


def _number(text: str) -> Decimal:
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("inf")
    if not number.is_finite():
        msg = f"no decimal holds {text[:40]} exactly"
        raise ValueError(msg)
    return number


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]  # `add` returns None: not seen before
        msg = f"the key {ascii(twice)[:60]} is there twice"
        raise ValueError(msg)
    return found


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, bool) or isinstance(other, bool) or one is None or other is None:
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_is_same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_is_same, one, other))
    if isinstance(other, float):
        # As it would be written: 0.1 is meant, not what is nearest to it in binary.
        other = Decimal(repr(other))
    if isinstance(one, int | Decimal) and isinstance(other, int | Decimal):
        return one == other
    return isinstance(one, str) and isinstance(other, str) and one == other


def _no_constant(name: str) -> None:
    msg = f"{name} is no JSON"
    raise ValueError(msg)

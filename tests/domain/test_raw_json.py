"""A JSON value that is its bytes: kept as it was given, read exactly, and refused where two readers could differ."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from langchain_ctxguard.domain.raw_json import RawJson
from tests.support.raw_json import RAW_JSON


@given(RAW_JSON)
def test_the_bytes_are_what_was_given(data: bytes) -> None:
    """Alone, and through JSON and Python forms of a value that holds it."""

    class Holder(BaseModel):
        raw: RawJson

    held = Holder(raw=RawJson(data=data))
    assert [data] * 3 == [
        bytes(held.raw),
        bytes(Holder.model_validate_json(held.model_dump_json()).raw),
        bytes(Holder.model_validate(held.model_dump()).raw),
    ]


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"1.0", Decimal("1.0")),
        (b"1e2", Decimal("1E+2")),
        (b"0.1", Decimal("0.1")),
        (b"9007199254740993", 9007199254740993),
        (b"-0", 0),
        (b"1" + b"0" * 5_000, Decimal("1" + "0" * 5_000)),
        (b'"caf\xc3\xa9"', "caf\u00e9"),
        (b'"cafe\xcc\x81"', "cafe\u0301"),
        (b' {"b" : [true, null] } ', {"b": [True, None]}),
    ],
)
def test_numbers_and_texts_are_read_exactly(data: bytes, value: Any) -> None:
    """No number goes through a float, and no text is composed anew."""
    found = RawJson(data=data).value
    assert (value, type(value), str(value)) == (found, type(found), str(found))


@pytest.mark.parametrize(
    "data",
    [b'{"a":1,"a":1}', b'{"x":[{"a":1,"b":2,"a":3}]}', b'{"a":1,"\\u0061":2}', b'{"":1,"":2}'],
)
def test_a_key_that_is_there_twice_is_refused(data: bytes) -> None:
    """At any depth, and also where it is spelled another way: one reader takes the first, another the last."""
    with pytest.raises(ValidationError, match="is there twice"):
        RawJson(data=data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" ",
        b"true false",
        b"{'a':1}",
        b"[1,]",
        b"NaN",
        b"-Infinity",
        b"\xef\xbb\xbftrue",
        b'"\xff"',
        b"01",
        b"+1",
        b"1e99999999999999999999",
        b"True",
        b'"a\nb"',
        b"[" * 65 + b"]" * 65,
        b"[" * 1_000_000,
    ],
)
def test_what_is_not_one_json_value_is_refused(data: bytes) -> None:
    """Also what some parsers let pass, and what nests deeper than every reader can follow."""
    with pytest.raises(ValidationError):
        RawJson(data=data)


def test_nesting_is_judged_alike_however_deep_the_caller_stands() -> None:
    """What was taken once can be read by a gate deep within a graph."""
    data = b"[" * 64 + b"]" * 64

    def down(levels: int) -> Any:
        return RawJson(data=data).value if levels == 0 else down(levels - 1)

    assert RawJson(data=data).value == down(300)


@pytest.mark.parametrize("data", [b"true", b" true", b"true\n", b"\t\r\ntrue "])
def test_the_literal_true_is_a_yes(data: bytes) -> None:
    """Blanks around a JSON text are part of it."""
    assert RawJson(data=data).is_true


@given(RAW_JSON.filter(lambda data: data.strip() != b"true"))
def test_nothing_else_is_a_yes(data: bytes) -> None:
    """No text, number, list or object."""
    assert not RawJson(data=data).is_true


@pytest.mark.parametrize(
    ("data", "other", "is_same"),
    [
        (b"1.0", 1, True),
        (b"1e2", 100.0, True),
        (b"0.1", 0.1, True),
        (b"0.1", Decimal("0.1"), True),
        (b"9007199254740993", 9007199254740992.0, False),
        (b"1", True, False),
        (b"true", 1, False),
        (b"0", False, False),
        (b"null", False, False),
        (b"null", None, True),
        (b'"1"', 1, False),
        (b'"caf\xc3\xa9"', "cafe\u0301", False),
        (b'{"a":[1,2.0],"b":true}', {"b": True, "a": [1, 2]}, True),
        (b'{"a":true}', {"a": 1}, False),
        (b"[1]", (1,), True),
        (b"[]", {}, False),
        (b"1", RawJson(data=b"1.0"), True),
        (b"1", float("nan"), False),
    ],
)
def test_values_are_compared_exactly(data: bytes, other: Any, is_same: bool) -> None:  # noqa: FBT001 - the expected answer
    """Numbers by what they are worth, texts by their characters, and truth with nothing but truth."""
    assert is_same == RawJson(data=data).equals(other)


@given(RAW_JSON)
def test_every_value_equals_itself(data: bytes) -> None:
    """As it is read, and as it is."""
    raw = RawJson(data=data)
    assert (True, True) == (raw.equals(raw), raw.equals(raw.value))


@given(st.binary(max_size=40))
def test_any_bytes_are_taken_as_they_are_or_refused(data: bytes) -> None:
    """There is no third way: nothing is mended."""
    try:
        raw = RawJson(data=data)
    except ValidationError:
        return
    assert data == raw.data

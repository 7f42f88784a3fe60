from __future__ import annotations

from decimal import Decimal
from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_ctxguard.core.predicates import holds_for_all, holds_for_any, judge_of, leaves_of, number_in, values_at
from langchain_ctxguard.domain.tool_test import ArgTest


class Colour(Enum):
    RED = "red"


def answer(test: dict[str, Any], value: Any) -> bool | None:
    return judge_of(ArgTest.model_validate(test))(value)


@pytest.mark.parametrize(
    ("test", "value", "expected"),
    [
        ({"in": ["a"]}, "a", True),
        ({"in": ["a"]}, "b", False),
        ({"in": ["delete"]}, "DELETE", None),
        ({"in": ["delete"]}, " delete", None),
        ({"in": ["delete"]}, "ｄｅｌｅｔｅ", None),
        ({"in": ["delete"]}, "del\u200bete", None),
        ({"in": ["删除"]}, "删除", True),
        ({"in": [1]}, 1.0, True),
        ({"in": [1]}, "1", None),
        ({"in": ["1"]}, 1, None),
        ({"in": [1]}, True, False),
        ({"in": [True]}, True, True),
        ({"in": [True]}, 1, False),
        ({"in": [True]}, "true", None),
        ({"in": ["true"]}, True, None),
        ({"in": [0.1]}, 0.1, True),
        ({"in": ["a"]}, {"a": 1}, None),
        ({"not_in": ["rm"]}, "ls", True),
        ({"not_in": ["rm"]}, "rm", False),
        ({"not_in": ["rm"]}, "RM", None),
        ({"max": 10}, 10, True),
        ({"max": 10}, 10.01, False),
        ({"max": 10}, "9", True),
        ({"max": 10}, "1,000", None),
        ({"max": 10}, "a lot", None),
        ({"max": 10}, True, None),
        ({"max": 10}, float("nan"), None),
        ({"max": 10}, float("inf"), None),
        ({"max": 10}, "9" * 500, None),
        ({"min": 0, "max": 10}, -1, False),
        ({"max": 0.3}, 0.1 + 0.2, False),
        ({"max": 10}, 10**30, False),
        ({"matches": "[a-z]+@example\\.com"}, "bob@example.com", True),
        ({"matches": "[a-z]+@example\\.com"}, "bob@example.com.evil", False),
        ({"matches": "[a-z]+@example\\.com"}, "bob@example.com\n", False),
        ({"matches": "(a|b)*"}, "", True),
        ({"matches": "[0-9]+"}, 12, True),
        ({"matches": ".*"}, "\ud800", None),
        ({"matches": ".*"}, {"a": 1}, None),
        ({"in": ["a", "b"], "matches": "b"}, "a", False),
        ({"in": ["a"], "matches": "A"}, "A", None),
    ],
)
def test_a_test_says_yes_no_or_that_it_cannot_be_told(test: dict[str, Any], value: Any, expected: object) -> None:
    """What a lenient tool may read as a named value is neither that value nor another one."""
    assert expected is answer(test, value)


@given(st.one_of(st.text(), st.integers(), st.floats(), st.booleans(), st.none(), st.lists(st.integers()), st.dictionaries(st.text(), st.integers())))
def test_no_value_breaks_a_test(value: Any) -> None:
    """A model can send anything."""
    for test in ({"in": ["a", 1, True]}, {"not_in": ["a"]}, {"min": 1}, {"matches": "a+"}):
        assert answer(test, value) in {True, False, None}


def test_of_a_list_every_item_or_one_of_them() -> None:
    """A requirement needs all items, a condition one."""
    judge = judge_of(ArgTest.model_validate({"in": ["a", "b"]}))
    assert holds_for_all(judge, ["a", "b"]) is True
    assert holds_for_all(judge, ["a", "x"]) is False
    assert holds_for_all(judge, ["a", "A"]) is None
    assert holds_for_any(judge, ["x", "a"]) is True
    assert holds_for_any(judge, ["x", "A"]) is None
    assert holds_for_any(judge, []) is False


@pytest.mark.parametrize(
    ("args", "name", "expected"),
    [
        ({"a": 1}, "a", [1]),
        ({"a": [1, [2, (3,)]]}, "a", [1, 2, 3]),
        ({"a": None}, "a", []),
        ({"a.b": 1, "a": {"b": 2}}, "a.b", [1]),
        ({"a": {"b": {"c": 1}}}, "a.b.c", [1]),
        ({"a": [{"b": 1}, {"b": [2]}, {"c": 3}]}, "a[].b", [1, 2]),
        ({"a": '{"b": 5}'}, "a.b", [5]),
        ({"a": "{broken"}, "a.b", []),
        ({"a": 1, "b": [2]}, "*", [1, 2]),
        ({"a": Colour.RED}, "a", ["red"]),
        ({}, "a.b", []),
        ({"a": {"b": False}}, "a.b", [False]),
    ],
)
def test_values_are_found_in_lists_mappings_and_json(args: dict[str, Any], name: str, expected: list[Any]) -> None:
    """A rule reaches into what a call carries, however it is packed."""
    assert expected == values_at(args, name)


def test_leaves_are_found_however_deep() -> None:
    """Nested JSON in a text is opened too; a text that only looks like it is a text."""
    assert ["a", 1, "x", "{not json"] == list(leaves_of({"k": ["a", {"z": 1}], "j": '{"q": ["x"]}', "t": "{not json"}))


@given(st.decimals(allow_nan=False, allow_infinity=False, places=4))
def test_a_plain_number_is_read_exactly(number: Decimal) -> None:
    """No amount is rounded on its way to a limit."""
    assert number == number_in(str(number)) or "E" in str(number)


@pytest.mark.parametrize(("length", "is_read"), [(400, True), (401, False)])
def test_a_number_is_read_up_to_400_digits(length: int, *, is_read: bool) -> None:
    """Blanks around it do not count; a longer one cannot be told."""
    assert is_read is (number_in(" " + "7" * length + " ") is not None)

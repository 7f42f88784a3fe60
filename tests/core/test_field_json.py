"""What a JSON text holds is read token by token, whole or cut off, each scalar with its path and with what stands beside it."""

from __future__ import annotations

import pytest

from langchain_ctxguard.core.field_json import is_json, scalars_in


def read(text: str) -> list[tuple[str, str]]:
    """Return the scalars of a text: path and value."""
    return [(scalar.path, text[scalar.start : scalar.stop]) for scalar in scalars_in(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": "x", "b": 2}', [("a", "x"), ("b", "2")]),
        ('{"pay": {"amount": {"value": -3.5e2}}, "id": "7"}', [("pay.amount.value", "-3.5e2"), ("id", "7")]),
        ('{"ids": ["x", "y", 3], "n": 1}', [("ids", "x"), ("ids", "y"), ("ids", "3"), ("n", "1")]),
        ('[{"a": 1}, {"a": 2}]', [("a", "1"), ("a", "2")]),
        ('{"a": true, "b": null, "c": "d"}', [("c", "d")]),
        ('{"a": "say \\"b\\": 2", "c": 3}', [("a", 'say \\"b\\": 2'), ("c", "3")]),
        ('{"a": {"b": "cut o', []),
        ('{"a": {"b": 1, "c": "cut o', [("a.b", "1")]),
        ('{"a": 1}}], "b": 2', [("a", "1"), ("", "b"), ("", "2")]),
        ("", []),
    ],
)
def test_scalars_come_with_their_path(text: str, expected: list[tuple[str, str]]) -> None:
    """Keys from the outside in, in order of appearance; what is cut off or closed once too often gives what it holds."""
    assert expected == read(text)


def test_only_the_innermost_keys_of_a_deep_path_are_kept() -> None:
    """Eight, and the key of the value itself: nesting costs nothing."""
    text = "".join(f'{{"k{number}": ' for number in range(12)) + "1" + "}" * 12
    assert [(".".join(f"k{number}" for number in range(3, 12)), "1")] == read(text)


def test_what_stands_beside_a_value_is_of_its_own_object() -> None:
    """A unit or a currency of the innermost object, also for the items of a list in it; never of the objects around it."""
    text = '{"currency": "EUR", "total": {"currency": "USD", "parts": [10, 20]}, "tax": 3}'
    beside = {text[scalar.start : scalar.stop]: scalar.beside.get("currency") for scalar in scalars_in(text)}
    assert {"EUR": "EUR", "USD": "USD", "10": "USD", "20": "USD", "3": "EUR"} == beside


def test_a_value_knows_whether_it_is_a_text() -> None:
    """A number in quotes is one."""
    assert [True, False] == [scalar.is_text for scalar in scalars_in('{"a": "1", "b": 1}')]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1}', True),
        ("{}", True),
        ("[1, 2]", True),
        (' \n{"a": "cut o', True),
        ('[{"a"', False),
        ("[see below]", False),
        ("{not json}", False),
        ('say {"a": 1}', False),
        ("", False),
    ],
)
def test_a_document_is_told_by_how_it_begins(text: str, expected: bool) -> None:  # noqa: FBT001
    """And by more of one after that; a bracket alone makes none."""
    assert expected is is_json(text)

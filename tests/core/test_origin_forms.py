"""In which forms a value is known again where it came from, and when a spelling stands there as a whole."""

from __future__ import annotations

from decimal import Decimal

import pytest

from langchain_ctxguard.core.origin_forms import LEAST_DIGITS, numbers_in, searched, stands_whole


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("50% off", ["50% off"]),
        ("100%", ["100%"]),
        ("To  Bob", ["to bob"]),
        ("a%20b", ["a%20b", "a b"]),
        ('{"to": ["Bob", 7]}', ['{"to": ["bob", 7]}', "bob", "7"]),
        ('{"to": "a%40b"}', ['{"to": "a%40b"}', "a%40b", '{"to": "a@b"}']),
        ("{no json}", ["{no json}"]),
        ("", [""]),
    ],
)
def test_what_is_encoded_stands_there_decoded_as_well(text: str, lines: list[str]) -> None:
    """JSON and URLs; what is not encoded stands there once."""
    assert lines == searched(text).split("\n")


@pytest.mark.parametrize(
    ("spelling", "text", "is_whole"),
    [
        ("ray", "ray", True),
        ("ray", "x-ray", False),
        ("ray", "(ray)", True),
        ("ray", " -ray", True),
        ("ray", "- ray", True),
        ("ray", "an x-ray", False),
        ("ray", "xray", False),
        ("ray", "ray2", False),
        ("ray", "ray-x", False),
        ("ray", "ray-", True),
        ("ray", "ray.", True),
        ("ray", "ray.x", False),
        ("ray", ".ray", False),
        ("ray", "a/ray", False),
        ("ray", "x'ray", False),
        ("ray", "'ray'", True),
        ("ray", "ray@x", False),
        ("12345", "1,12345", False),
        ("12345", ",12345", True),
        ("12345", "a,12345", True),
        ("12345", "-12345", False),
        ("12345", "12345,6", False),
        ("12345", "12345,", True),
        ("12345", "12345%", False),
        ("12 345", "1 12 345", False),
        ("12 345", "12 345 6", False),
        ("12 345", "a 12 345 b", True),
        ("李雷", "给李雷的", True),
        ("ray", "给ray的", True),
    ],
)
def test_a_spelling_stands_as_a_whole_or_is_part_of_something_else(spelling: str, text: str, *, is_whole: bool) -> None:
    """No name, number, path or address goes on at either end, at the edges of the text as well."""
    assert is_whole == stands_whole(spelling, text, text.index(spelling))


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("7" * (LEAST_DIGITS - 1), []),
        ("7" * LEAST_DIGITS, ["7" * LEAST_DIGITS]),
        ("7" * (LEAST_DIGITS + 1), ["7" * (LEAST_DIGITS + 1)]),
        ("pay 12,345.60 now", ["12345.60"]),
        ("pay 12.345,60 now", ["12345.60"]),
        ("pay 12 345 now", ["12345"]),
        ("0012345", []),
        ("none", []),
    ],
)
def test_a_number_proves_something_from_so_many_digits_on(text: str, numbers: list[str]) -> None:
    """However its groups are marked; with a zero at its front it is a name."""
    assert set(map(Decimal, numbers)) == set(numbers_in(text))

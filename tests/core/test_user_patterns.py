"""Patterns of the application: whole tokens, in order, of any length a value has."""

from __future__ import annotations

import pytest

from langchain_ctxguard.core.user_patterns import PatternMatch, pattern_set
from langchain_ctxguard.errors import ConfigurationError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see A12", ["A12"]),
        ("A12", ["A12"]),
        ("see A123", []),
        ("see XA12", []),
        ("see A12.", ["A12"]),
        ("see A12. Then", ["A12"]),
        ("see A12.5", []),
        ("see A12-b", []),
        ("see A12-", ["A12"]),
        ("see 1.A12", []),
        ("see -A12", ["A12"]),
        ("-A12", ["A12"]),
        ("见A12号", ["A12"]),
        ("A12.号", ["A12"]),
        ("see A12_x", []),
    ],
)
def test_a_pattern_finds_whole_tokens(text: str, expected: list[str]) -> None:
    """No letter or digit goes on at either edge, and no number behind a point or hyphen; Chinese needs no blank between."""
    assert expected == [text[found.start : found.stop] for found in pattern_set({"part": "A[0-9][0-9]"}).found_in(text)]


@pytest.mark.parametrize("at", [0, 1, 255, 510, 511, 512])
def test_a_token_is_found_wherever_it_stands(at: int) -> None:
    """Far down a long text as at its front."""
    assert [PatternMatch("part", at, at + 3)] == pattern_set({"part": "A12"}).found_in(" " * at + "A12 ")


def test_what_is_no_token_is_not_kept() -> None:
    """A pattern that takes in a whole page matches no value, and where it matches no character nothing is found."""
    assert [] == pattern_set({"all": "x+"}).found_in("x" * 2_000)
    assert [PatternMatch("some", 1, 3)] == pattern_set({"some": "x*\\b"}).found_in("-xx-")


def test_matches_come_in_order_of_appearance() -> None:
    """Whichever pattern found them."""
    found = pattern_set({"b": "B[0-9]", "a": "A[0-9]"})
    assert ["a", "b", "a"] == found.names_in("A1 B2 A3")
    assert [False, True] == [bool(pattern_set({})), bool(found)]


def test_a_pattern_that_cannot_be_taken_names_its_place() -> None:
    """So that whoever wrote the file finds it."""
    with pytest.raises(ConfigurationError, match=r"control_fields\.patterns\.part"):
        pattern_set({"part": "(?=a)"})

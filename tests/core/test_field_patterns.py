"""Candidates for fields: whole spans, in the order of the text, in time that grows with the text."""

from __future__ import annotations

import time

import pytest

from langchain_ctxguard.core.extract import extract_fields
from langchain_ctxguard.core.field_patterns import candidates, choice_words


@pytest.mark.parametrize("variable", ["$HOME", "$PROJECT_ROOT", "${BUILD_DIR}", "$QUX2", "${_JKVWXYZ}", "$repo", "${qux}"])
def test_a_path_below_a_variable_is_one_path(variable: str) -> None:
    """Whatever the variable is called."""
    assert [("path", f"{variable}/src/app.py")] == [(field.kind.value, field.raw) for field in extract_fields(f"see {variable}/src/app.py now")]


@pytest.mark.parametrize(("size", "is_found"), [(40, True), (1_000, True), (10_000, False)])
def test_a_span_that_nobody_could_keep_is_no_value(size: int, *, is_found: bool) -> None:
    """An address of a page of text is text; what stands behind it is read all the same."""
    address = "https://files.example.com/" + "a" * size
    expected = [address, "ORD-7712"] if is_found else ["ORD-7712"]
    assert expected == [field.raw for field in extract_fields(f"see {address} and ORD-7712 now")]


@pytest.mark.parametrize("letter", ["q", "_", "好", "、"])
def test_a_run_that_holds_nothing_is_passed_over(letter: str) -> None:
    """It is looked at once, not again from each of its letters."""
    start = time.thread_time()
    assert [None] == list(candidates(letter * 180_000))

    # It takes a fiftieth of a second.
    assert time.thread_time() - start < 1


def test_a_run_that_never_ends_is_read_in_pieces() -> None:
    """A pattern that ends only where a run does looks ahead so far and no further."""
    start = time.thread_time()
    assert None is list(candidates("%41" * 60_000))[-1]

    # It takes half a second; without a bound on looking ahead, ten.
    assert time.thread_time() - start < 4


@pytest.mark.parametrize("lead", ["", "x ", "é", "订单 "])
def test_places_are_counted_in_characters(lead: str) -> None:
    """Whatever letters stand before them."""
    text = f"{lead}ORD-7712 好 and we'll go with it, we'll go with it"
    first = next(candidates(text))
    assert first is not None
    assert "ORD-7712" == text[first.start : first.stop]
    places = choice_words(text)
    assert len(places) >= 2
    assert all(text[place:].startswith("go with") for place in places if place > first.stop)
    assert places == sorted(set(places))

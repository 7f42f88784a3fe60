"""What sentences are about: content words of both languages, and how much of them others hold."""

from __future__ import annotations

import pytest

from langchain_ctxguard.core.terms import covers, fold, is_question, terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Please cancel the order", {"cance", "order"}),
        ("cancelled orders", {"cance", "order"}),
        ("see src/app_v2.py, ok", {"see", "src/app_v2.py"}),
        ("it is 7 of 12", {"7", "12"}),
        ("请你取消订单", {"你取", "取消", "消订", "订单"}),
        ("取消order订单", {"取消", "order", "订单"}),
        ("单", set()),
        ("to be or so", set()),
        ("", set()),
    ],
)
def test_terms_are_the_words_that_carry_content(text: str, expected: set[str]) -> None:
    """Roughly stemmed, numbers and names whole, Chinese in pairs; what is in every sentence is left out."""
    assert expected == terms(text)


@pytest.mark.parametrize(("share", "expected"), [(0.0, True), (0.49, True), (0.5, True), (0.51, False), (1.0, False)])
def test_a_share_is_met_exactly(share: float, expected: bool) -> None:  # noqa: FBT001
    """Half of the words is half of them."""
    assert expected is covers(frozenset("abx"), frozenset("abcd"), share)


def test_nothing_wanted_is_not_covered() -> None:
    """Whatever there is."""
    assert not covers(frozenset("ab"), frozenset(), 0.0)
    assert not covers(frozenset(), frozenset("ab"), 0.1)
    assert covers(frozenset("ab"), frozenset("ab"), 1.0)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [("Which region?", True), ('"Which region?")', True), ("可以退吗。", True), ("在哪呢", True), ("It is.", False), ("", False)],
)
def test_a_question_is_told_by_its_end(sentence: str, expected: bool) -> None:  # noqa: FBT001
    """Behind closing quotes and brackets as well."""
    assert expected is is_question(sentence)


@pytest.mark.parametrize(("text", "folded"), [("It’s ABC", "it's abc"), ("İstanbul", "İstanbul"), ("ÄB", "äb")])
def test_folded_text_keeps_every_place(text: str, folded: str) -> None:
    """A letter that would grow stays as it is."""
    assert folded == fold(text)
    assert len(text) == len(fold(text))

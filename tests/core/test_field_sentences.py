"""Screens in front of the patterns for choices: they let everything through that a pattern matches."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_ctxguard.core import field_sentences, labels
from langchain_ctxguard.core.extract import extract_fields
from langchain_ctxguard.core.field_patterns import stands_in
from langchain_ctxguard.domain.control import FieldKind

TOLD = """不要 不用 放弃 就 还是 用 选 定 了 吧 不 先 决定 敲定 let's go with we'll we're won't take skip drop rejected the for one off is out
not no I we pick option plan B redis 方案 redis集群 通过了 算了 都 今天 周五 over wins stays to instead of now from moved changed sorry
actually It 5 ; ! , ſkip TAKE éclair x²"""
SORTS = (
    field_sentences._REJECTIONS,
    field_sentences._CONFIRMATIONS,
    field_sentences._HALF_REJECTIONS,
    field_sentences._HALF_CONFIRMATIONS,
    field_sentences._NAMINGS,
)
WORDS = st.sampled_from(re.findall(r"\S+|\n", TOLD))
CLAUSES = st.builds("".join, st.lists(st.one_of(WORDS, st.just(" "), st.just(" ")), max_size=16)).map(lambda text: text[:90])


@given(CLAUSES)
def test_a_screen_lets_through_what_a_pattern_matches(clause: str) -> None:
    """What RE2 is asked first is wider than each pattern behind it."""
    for sort in SORTS:
        if any(pattern.fullmatch(clause) for pattern in sort.patterns):
            assert stands_in(sort.screen, clause)


@given(CLAUSES)
def test_a_change_is_seen_by_its_screen(words: str) -> None:
    """Words that name a value as new or old are never screened away."""
    left = "".join(character for character in words if character.isascii())[-60:]
    cut = max(left.rfind(mark) for mark in "。；;!?！？\n")
    if labels._NOT.search(left) or labels._FROM.search(left) or labels._CHANGED_BEFORE.search(left[cut + 1 :]):
        assert stands_in(labels._SAYS_CHANGE, left)


def test_letters_that_fold_otherwise_are_not_screened() -> None:
    """A dotted capital I counts as an i to one engine and not to the other."""
    plain = extract_fields("let's go with Redis")
    dotted = extract_fields("let's go w\u0130th Redis")

    assert [field.kind for field in plain] == [field.kind for field in dotted]


@pytest.mark.parametrize(
    ("text", "stressed"),
    [
        ("Never delete orders! Go on then.", ["Never delete orders"]),
        ("Never delete orders? Go on then.", []),
        ("Never delete orders?", []),
        ("务必不要删除订单。然后继续走。", ["务必不要删除订单"]),
        ("务必不要删除订单？然后继续走。", []),
    ],
)
def test_a_question_stresses_nothing(text: str, stressed: list[str]) -> None:
    """Also where more is said after it."""
    assert stressed == [field.raw for field in extract_fields(text) if field.kind is FieldKind.EMPHASIS]

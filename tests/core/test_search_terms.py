"""What of a text is found, in scripts with and without spaces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_ctxguard.core.search_terms import index_terms, query_terms, ranked


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("绝不删除订单。", "删除"),
        ("绝不删除订单。", "订单"),
        ("绝不删除订单。", "单"),
        ("绝不删除订单。", "绝"),
        ("请用ORD查询3号订单", "ord"),
        ("请用ORD查询3号订单", "3"),
        ("ﾃｽﾄ", "テスト"),
        ("café", "CAFE\u0301"),
        ("Straße", "STRASSE"),
        ("order_id=ORD-1042", "1042"),
        ("don't", "DON"),
        ("สวัสดีครับ", "ครับ"),
        ("주문을 삭제", "주문"),
        ("x" * 200, "X" * 200),
    ],
)
def test_a_word_is_found_as_a_person_writes_it(text: str, query: str) -> None:
    """In any case, width and Unicode form; words of two characters, and single ones, anywhere in a run of a script without spaces."""
    terms = index_terms(text)
    asked, beginnings = query_terms(query)
    assert asked or beginnings
    assert all(term in terms for term in asked)
    assert all(any(term.startswith(beginning) for term in terms) for beginning in beginnings)


@pytest.mark.parametrize("text", ["", " ", "...", "!?—", "\x00", "\ud800", "🙂"])
def test_what_has_no_words_has_no_terms(text: str) -> None:
    """Nothing is indexed, and nothing is asked for."""
    assert ({}, ([], [])) == (index_terms(text), query_terms(text))


@given(st.text())
def test_a_text_is_found_by_itself(text: str) -> None:
    """Every term that a text asks for is a term it has."""
    terms = index_terms(text)
    asked, beginnings = query_terms(text)
    assert all(term in terms for term in asked)
    assert all(any(term.startswith(beginning) for term in terms) for beginning in beginnings)


def test_more_of_the_words_come_first_then_rarer_ones_then_the_key() -> None:
    """The order does not depend on the order of what was found."""
    matches = {"one": {"the": 2}, "rare": {"refund": 1}, "both": {"the": 1, "order": 1}, "other": {"the": 1}, "another": {"the": 1}}
    expected = ["both", "rare", "one", "another", "other"]
    assert expected == [key for key, _ in ranked(matches, texts=50, limit=9)]
    assert expected == [key for key, _ in ranked(dict(reversed(matches.items())), texts=50, limit=9)]
    assert ([], ["both"]) == (ranked(matches, texts=50, limit=0), [key for key, _ in ranked(matches, texts=50, limit=1)])

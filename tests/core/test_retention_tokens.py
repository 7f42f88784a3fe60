"""The words and amounts of a rule: what is one amount is one token, whatever its spelling, and a token stands where its text does."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_ctxguard.core.retention_tokens import tokens_of


def amounts(text: str) -> list[tuple[Decimal, str]]:
    """Return the amounts in a text: number and dimension."""
    return [(token.amount.number, token.amount.dimension) for token in tokens_of(text) if token.amount is not None]


def of(*pairs: tuple[str, str]) -> list[tuple[Decimal, str]]:
    """Return amounts as they are expected."""
    return [(Decimal(number), dimension) for number, dimension in pairs]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("三点五公里", of(("3500", "metre"))),
        ("十二点五公里", of(("12500", "metre"))),
        ("不超过三点二五公里", of(("3250", "metre"))),
        ("百分之三点五", of(("3.5", "percent"))),
        ("最多百分之十", of(("10", "percent"))),
        ("三米五厘米", of(("3", "metre"), ("0.05", "metre"))),
        ("三点", of(("180", "clock"))),
        ("九点半", of(("570", "clock"))),
        ("下午三点", of(("900", "clock"))),
        ("晚上十点半", of(("1350", "clock"))),
        ("中午十二点", of(("720", "clock"))),
        ("下午十二点", of(("720", "clock"))),
        ("七点零四分", of(("420", "clock"), ("4", ""))),
        ("五百元", of(("500", "CNY"))),
        ("五百多元", of(("500", "CNY"))),
        ("三个月", of(("3", "month"))),
        ("三个人", of(("3", ""))),
        ("第三条", []),
    ],
)
def test_chinese_amounts(text: str, expected: list[tuple[Decimal, str]]) -> None:
    """Decimals only before a unit or in a share; times of day by the evening they are in; what is counted off is no amount."""
    assert expected == amounts(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2 million eur", of(("2000000", "EUR"))),
        ("10 k usd", of(("10000", "USD"))),
        ("10k usd", of(("10000", "USD"))),
        ("$ 30", of(("30", "USD"))),
        ("2.5万元", of(("25000", "CNY"))),
        ("10万元", of(("100000", "CNY"))),
        ("30公斤", of(("30000", "gram"))),
        ("5 working days", of(("5", "working_day"))),
        ("10 percent", of(("10", "percent"))),
        ("10 per cent", of(("10", "percent"))),
        ("two hours", of(("7200", "second"))),
        ("one hour", of(("3600", "second"))),
        ("the one", []),
        ("9:30", of(("570", "clock"))),
        ("june 30", of(("6", "month"), ("30", ""))),
        ("30 june", of(("30", ""), ("6", "month"))),
        ("by june 30 at the latest", of(("6", "month"), ("30", ""))),
        ("you may go", []),
        ("in may", []),
    ],
)
def test_english_amounts(text: str, expected: list[tuple[Decimal, str]]) -> None:
    """A number takes the scale and the unit beside it; a month is one beside a number on either side, and a word elsewhere."""
    assert expected == amounts(text)


@pytest.mark.parametrize(
    "text", ["say the log-file now", "keep api/v2 and x", "the customer's order", "don't delete_all", "三点五公里以内", "2 million eur"]
)
def test_a_token_stands_where_its_text_does(text: str) -> None:
    """Between where it starts and where it ends, in order: what clauses are cut by."""
    tokens = tokens_of(text)
    assert all(token.text.split("'")[0] in text[token.start : token.end] for token in tokens)
    assert [token.start for token in tokens] == sorted(token.start for token in tokens)
    assert text[tokens[-1].start : tokens[-1].end] == text[tokens[-1].start :]


@given(st.text(alphabet="三十百点半分米元个第几 a1-./'晚上", max_size=14))
def test_any_text_is_cut_into_tokens_within_it(text: str) -> None:
    """No numeral, unit or name runs over the end, and none goes backwards."""
    for token in tokens_of(text):
        assert 0 <= token.start < token.end <= len(text)

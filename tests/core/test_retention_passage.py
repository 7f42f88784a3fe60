"""One or two sentences seen from one rule: how much of it they hold."""

from __future__ import annotations

import pytest

from langchain_ctxguard.core.retention_passage import Passage
from langchain_ctxguard.core.retention_rule import Rule
from langchain_ctxguard.core.retention_text import rule_sentences


def passage(rule: str, text: str) -> Passage:
    return Passage(Rule(rule, tuple(rule_sentences(rule))), rule_sentences(text))


@pytest.mark.parametrize(
    "rule",
    [
        "Never delete customer files.",
        "Pay at most 500 EUR without approval.",
        "绝不删除客户订单。",
        "Never sell 红 cards.",
        "Sell no VIP a 红 card.",
        "红 cards are never sold.",
        "Never sell old cards in 红.",
    ],
)
def test_a_rule_holds_all_of_itself(rule: str) -> None:
    """In whatever script, wherever a lone character stands in it."""
    found = passage(rule, rule)
    assert (1.0, 1.0, []) == (found.coverage, found.subject, found.missing)


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("Never delete customer files.", "The weather is fine."),
        ("绝不删除客户订单。", "今天阳光很好。"),
        ("Never sell 红 cards.", "The weather is fine."),
    ],
)
def test_a_sentence_on_something_else_holds_nothing_of_it(rule: str, text: str) -> None:
    """And all of the rule's content is missing."""
    found = passage(rule, text)
    assert (0.0, 0.0) == (found.coverage, found.subject)
    assert found.missing


def test_another_amount_leaves_the_subject_whole() -> None:
    """What is missing is the amount, and no more."""
    found = passage("Pay at most 500 EUR for a trip.", "Pay at most 900 EUR for a trip.")
    assert found.coverage < 1.0 == found.subject
    assert all(token.amount is not None for token in found.missing)


def test_more_of_a_rule_is_a_larger_share() -> None:
    """A part of it covers less than all of it and more than none."""
    rule = "Never delete customer files or invoices."
    part = passage(rule, "Never delete customer files.").coverage
    assert 0.0 < part < passage(rule, rule).coverage

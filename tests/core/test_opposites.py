"""Opposites are exact complements and nothing else: a false pair takes a rule out of force."""

from __future__ import annotations

import time

import pytest

from langchain_ctxguard.core.opposites import opposites


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Never delete an order.", "Orders may be deleted."),
        ("Do not push to main.", "You can push to main."),
        ("Always push to main.", "Never push to main."),
        ("Don't share phone numbers.", "You are allowed to share phone numbers."),
        ("禁止删除订单", "可以删除订单"),
        ("不得透露客户电话", "允许透露客户电话。"),
    ],
)
def test_a_complement_is_found_both_ways_round(first: str, second: str) -> None:
    """The same words, allowed here and forbidden there."""
    assert {(first, second), (second, first)} == opposites([first, second])


@pytest.mark.parametrize(
    "texts",
    [
        ("Never delete an order.", "Never delete an invoice."),
        ("Never delete an order.", "You may delete drafts."),
        ("Refund at most 500 EUR.", "Refund at most 300 EUR."),
        ("Even a human agent cannot modify the number of passengers.", "The user can modify passengers but cannot modify the number of passengers."),
        ("You do not need to enter anything into the form. Just click the button.", "You do not have to enter anything into the field."),
        (
            "Always use `uv run` to execute Python scripts and commands.",
            "NEVER use `pip`, `pip3`, or `uv sync` - the `uv run` command handles everything",
        ),
        ("需要并行执行的独立任务", "**在等待期间** - 可以回复用户、处理其他请求、或执行其他任务"),
        ("必须用中文回答", "可以用英文回答"),
        ("Never delete an order.", "Do not delete orders."),
        ("Use spaces.", "Use tabs."),
    ],
)
def test_rules_that_can_both_be_obeyed_are_none(texts: tuple[str, str]) -> None:
    """Another object, another value, the same ban in other words, or part of the words only."""
    assert frozenset() == opposites(texts)


def test_many_rules_take_linear_time() -> None:
    """Ten thousand rules in well under two seconds."""
    texts = [f"Never delete order ORD-{number} of customer {number % 97}." for number in range(10_000)]
    began = time.process_time()
    assert frozenset() == opposites(texts)
    assert time.process_time() - began < 2

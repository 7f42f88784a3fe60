"""What a passage makes of a rule, judged by how much of the rule it holds."""

from __future__ import annotations

import pytest

from langchain_ctxguard.core.retention import classify_retention

REPORT = "Always send the weekly report to the finance team before noon."
KEYS = "You must back up the database and rotate the keys."


@pytest.mark.parametrize(
    ("rule", "after", "becomes"),
    [
        (REPORT, "Never send the weekly report to the finance team before noon.", "contradicted"),
        (REPORT, "Never send the flowers to the team.", "dropped"),
        (REPORT, "Never send flowers.", "dropped"),
    ],
)
def test_a_duty_is_banned_by_what_speaks_of_the_same_matter(rule: str, after: str, becomes: str) -> None:
    """A ban of another thing done in the same way says nothing about the rule."""
    assert becomes == classify_retention(rule, rule, after).value


@pytest.mark.parametrize(
    ("after", "becomes"),
    [
        ("You must rotate the keys.", "weakened"),
        ("You must rotate the keys and back up the database.", "paraphrased"),
    ],
)
def test_of_two_duties_in_one_rule_both_have_to_be_told(after: str, becomes: str) -> None:
    """One of them is half the rule, however whole it stands; their order is nothing."""
    assert becomes == classify_retention(KEYS, KEYS, after).value

"""A rule that stands word for word, and what the words around it make of it."""

from __future__ import annotations

import pytest

from langchain_ctxguard.core.retention import classify_retention
from langchain_ctxguard.core.retention_find import find
from langchain_ctxguard.core.retention_rule import rule_of
from langchain_ctxguard.core.retention_text import Reading
from langchain_ctxguard.domain.retention import Retention


@pytest.mark.parametrize(
    ("rule", "after", "expected"),
    [
        ("Never deploy without approval", "Never deploy without approval or a ticket.", Retention.WEAKENED),
        ("Never deploy without approval", "Never deploy without approval, a ticket also counts.", Retention.WEAKENED),
        ("Never deploy without approval", "Never deploy without approval, as the team knows.", Retention.PRESERVED),
        ("Never deploy", "Never deploy or a ticket.", Retention.PRESERVED),
        ("Never deploy", "Never deploy, a ticket also counts.", Retention.PRESERVED),
    ],
)
def test_a_second_way_to_meet_a_condition_weakens_it(rule: str, after: str, expected: Retention) -> None:
    """Named with `or`, or said to suffice too; a rule without a condition has none to widen."""
    assert expected is classify_retention(rule, f"{rule}.", after)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (("Never deploy. This no longer applies.",), Retention.CONTRADICTED),
        (("Be kind.", "Never deploy. This no longer applies."), Retention.CONTRADICTED),
        (("Never deploy.", "This no longer applies."), Retention.PRESERVED),
        (("Be kind. Never deploy.", "This no longer applies."), Retention.PRESERVED),
    ],
)
def test_only_the_next_sentence_of_the_same_text_takes_a_rule_back(texts: tuple[str, ...], expected: Retention) -> None:
    """What begins another text speaks of something else, wherever the rule's own text stands among those read."""
    assert expected is find(rule_of("Never deploy."), Reading(texts))[0].retention

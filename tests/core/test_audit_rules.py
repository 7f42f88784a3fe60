"""The rules an audit holds, and how grave it is to lose one."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from langchain_ctxguard.core.audit_rules import Rules
from langchain_ctxguard.domain.audit import Level
from langchain_ctxguard.domain.constraint import Constraint, Severity
from langchain_ctxguard.domain.control import ControlField, FieldKind


def stressed(*, critical: bool, confidence: float) -> ControlField:
    more: dict[str, Any] = {"origin": "user", "critical": critical, "confidence": confidence}
    return ControlField(field_id="f", kind=FieldKind.EMPHASIS, raw="Mind the gate", **more)


@pytest.mark.parametrize(
    ("critical", "confidence", "level"),
    [(True, 1.0, Level.CRITICAL), (False, 1.0, Level.WARNING), (True, 0.1, Level.WARNING), (False, 0.1, Level.WARNING)],
)
def test_a_stressed_sentence_is_grave_to_lose_only_if_it_is_critical_and_sure(critical: bool, confidence: float, level: Level) -> None:  # noqa: FBT001
    """Either doubt makes a warning of it."""
    field = stressed(critical=critical, confidence=confidence)
    assert (confidence < 1.0) is field.is_weak
    assert [("stressed", level)] == [(rule.kind, rule.level) for rule in Rules(None).held([field])]


@pytest.mark.parametrize("severity", list(Severity))
def test_a_declared_rule_is_as_grave_as_it_was_declared(severity: Severity) -> None:
    """Critical and high ones are critical to lose; one that nobody has said yet cannot be lost."""
    rules = Rules([Constraint(constraint_id="c", text="Never delete an order.", severity=severity), Constraint.from_text("Never sell a horse.")])
    rules.read([HumanMessage("Never delete an order.")], ["m"], start=4)

    (held,) = rules.held()
    assert (Level.CRITICAL if severity in {Severity.CRITICAL, Severity.HIGH} else Level.WARNING) is held.level
    assert ("declared", 4, "m") == (held.kind, held.message_index, held.message_id)
    assert ["Never sell a horse."] == [rule.text for rule in rules.undeclared()]
    rules.forget({held.rule_id})
    assert [] == rules.held()


def test_a_sentence_counts_as_said_word_for_word() -> None:
    """All of it, by people."""
    rules = Rules(None)
    rules.read([HumanMessage("The gate is red. The door is blue.")], ["m"], start=0)
    assert rules.is_said("The gate is red. The door is blue.")
    assert not rules.is_said("The gate is red. The door is green.")
    assert not rules.is_said("")

"""Values before a compaction and after it: how bad a loss is depends on who said them and on what is told of the same matter."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.audit_fields import Fields, lost_values, seen_in
from langchain_ctxguard.core.audit_told import as_summary
from langchain_ctxguard.core.identity import message_keys
from langchain_ctxguard.domain.audit import AuditFinding
from tests.support.builders import ai, human


def lost(before: Sequence[BaseMessage], told: str) -> list[AuditFinding]:
    fields = Fields()
    fields.read(before, message_keys(before), (), start=0)
    return list(lost_values(fields, fields.changes(seen_in([as_summary(told)]))))


@pytest.mark.parametrize(
    ("told", "loss", "now"),
    [
        ("Pay Bonn by June 30.", None, None),
        ("Pay Bonn by July 30.", "changed", "July 30"),
        ("Pay Bonn soon.", "weakened", "soon"),
        ("Bonn is a town. The garden party is soon.", "lost", None),
        ("Nothing is left to do.", "lost", None),
    ],
)
def test_a_vague_word_counts_where_it_is_said_of_the_same_matter(told: str, loss: str | None, now: str | None) -> None:
    """Of another matter it says nothing about the value: that is simply gone."""
    findings = lost([human("Pay Bonn by June 30.")], told)
    assert ([] if loss is None else [(loss, now)]) == [(finding.loss.value, finding.now) for finding in findings]


def test_a_loss_is_as_bad_as_the_voice_behind_the_value() -> None:
    """What a person said is critical, what the assistant alone said is not."""
    (theirs,) = lost([human("The budget is 500 EUR.")], "There was talk.")
    (its,) = lost([human("How much?"), ai("The budget is 500 EUR.")], "There was talk.")
    assert ("critical", "user") == (theirs.level.value, theirs.said_by)
    assert ("note", "ai") == (its.level.value, its.said_by)


def test_losses_are_told_in_the_order_of_what_was_said() -> None:
    """A reader finds them from the first to the last."""
    findings = lost([human("Refund ORD-1177, send 40 kg to Bonn, and pay 500 EUR by June 30.")], "There was talk.")
    assert ["ORD-1177", "40 kg", "500 EUR", "June 30"] == [finding.text for finding in findings]

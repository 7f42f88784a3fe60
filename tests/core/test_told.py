"""What a trace shows of facts: flat, named alike everywhere, and listed on the page on tracing."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from langchain_ctxguard.core.told import attributes_of, named
from langchain_ctxguard.domain.prefix import DriftReason, PrefixReport
from langchain_ctxguard.domain.tool_call import CallRecord
from langchain_ctxguard.domain.verification import VerificationOutcome, VerificationRecord
from langchain_ctxguard.domain.version import CompactionRecord, ContextEvent, Outcome

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tracing.md"
NOW = datetime(2026, 6, 30, tzinfo=UTC)
FULL = [
    CompactionRecord(
        outcome=Outcome.REJECTED,
        reason="x",
        trigger="tokens",
        version=2,
        strategy="s",
        attempts=2,
        failures=("s: empty", "s: timeout"),
        broken=("mine",),
    ),
    CallRecord(
        step="ran",
        tool="pay",
        call_id="c1",
        thread="t",
        namespace="n",
        arguments="a",
        decision="allow",
        rules=("r",),
        keys=("k",),
        fingerprint="f",
        choice="approve",
        outcome="failed",
        error="ValueError",
        at=NOW,
    ),
    ContextEvent(kind="rolled_back", detail="x", version=3, restored=1, tool="pay"),
    PrefixReport(
        prefix_fingerprint="p",
        serializer_version=1,
        first_changed_offset=0,
        drift_reason=DriftReason.COMPACTION,
        common_prefix_tokens=1,
        prompt_cache_hit_tokens=1,
        prompt_cache_miss_tokens=0,
    ),
    VerificationRecord(outcome=VerificationOutcome.REPAIRED, rules_missing=("r",)),
]
FOR_A_LOOK = {"ctxguard_event", "ctxguard_gone_messages", "ctxguard_fields_changed", "ctxguard_fields_carried", "ctxguard_rules_missing"}
"""Of events and of looks at somebody else's compaction; the page names what compactions and calls are filtered by."""


@pytest.mark.parametrize("fact", FULL, ids=lambda fact: type(fact).__name__)
def test_attributes_are_flat_and_none_is_empty(fact: Any) -> None:
    """What OpenTelemetry takes: texts, numbers, truth values."""
    attributes = attributes_of(fact)
    assert attributes
    assert all(name.startswith("ctxguard_") for name in attributes)
    assert all(isinstance(value, str | int | float | bool) and value != "" for value in attributes.values())


def test_several_names_are_one_text() -> None:
    """Parted by commas: metadata are filtered by equality and by what they contain."""
    assert "s: empty,s: timeout" == attributes_of(FULL[0])["ctxguard_failures"]


def test_what_is_not_known_is_left_out() -> None:
    """Zero and false are known."""
    assert {"ctxguard_a": 0, "ctxguard_b": False} == named({"a": 0, "b": False, "c": None, "d": ""})


def test_the_page_lists_what_a_dashboard_can_filter_by() -> None:
    """Every attribute of compactions, calls, rollbacks and prefix reports stands on the page, and no other."""
    shown = set(re.findall(r"`(ctxguard_[a-z_]+)`", PAGE.read_text(encoding="utf-8")))
    told = {name for fact in FULL for name in attributes_of(fact)} - FOR_A_LOOK
    spans = {"ctxguard_parent", "ctxguard_constraints", "ctxguard_consents", "ctxguard_package", "ctxguard_attempt", "ctxguard_paused"}
    assert told <= shown
    assert shown <= told | spans

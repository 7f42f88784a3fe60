"""Every fact that hooks are told has its event, without a word of the conversation."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, get_args

import pytest

from langchain_ctxguard.core.stream_events import Happened, broken_off_event, event_of, started_event
from langchain_ctxguard.core.told import attributes_of, fact_shown, name_of
from langchain_ctxguard.domain.prefix import DriftReason, PrefixReport
from langchain_ctxguard.domain.stream_event import EventType, read_event
from langchain_ctxguard.domain.tool_call import CallRecord
from langchain_ctxguard.domain.verification import VerificationOutcome, VerificationRecord
from langchain_ctxguard.domain.version import CompactionRecord, ContextEvent, EventKind, Outcome

NOW = datetime(2026, 6, 30, tzinfo=UTC)
WHEN = Happened(NOW, "t-1", "worker")
SAID = "the parcel for Zyxwvut"


def told(fact: Any) -> dict[str, Any]:
    """Return the event of a fact as it is sent."""
    event = event_of(fact, attempt="a1", when=WHEN)
    assert event is not None
    assert event == read_event(event.model_dump(mode="json"))
    return event.model_dump(mode="json")


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        (Outcome.ACCEPTED, "compaction.finished"),
        (Outcome.REPAIRED, "compaction.finished"),
        (Outcome.RETRIED, "compaction.finished"),
        (Outcome.FELL_BACK, "compaction.finished"),
        (Outcome.REJECTED, "compaction.rejected"),
        (Outcome.SKIPPED, "compaction.skipped"),
    ],
)
def test_every_outcome_has_its_event(outcome: Outcome, kind: str) -> None:
    """With name of the attempt, trigger, place and time."""
    event = told(CompactionRecord(outcome=outcome, reason="Why.", trigger="tokens", version=2, tokens_before=9, tokens_after=4))
    assert (kind, "a1", "tokens", 2, "t-1", "worker", "Why.") == tuple(
        event[name] for name in ("type", "attempt", "trigger", "version", "thread", "namespace", "reason")
    )


def test_a_refused_candidate_is_told_without_the_words_of_a_check() -> None:
    """An application's check may say what it saw; its name is told, its words are not, in streams and in traces."""
    record = CompactionRecord(outcome=Outcome.REJECTED, reason=f"'mine' ({SAID})", trigger="tokens", version=0, broken=("mine",))
    assert ("", ["mine"]) == (told(record)["reason"], told(record)["broken"])
    assert "" == fact_shown(record)["reason"]
    assert SAID in fact_shown(record, has_words=True)["reason"]


def call(step: Any, **about: Any) -> CallRecord:
    """Return a step of a call."""
    return CallRecord(step=step, tool="pay", call_id="c1", arguments="digest", rules=("rules[1]",), at=NOW, **about)


@pytest.mark.parametrize(
    ("record", "kind"),
    [
        (call("judged", decision="allow"), "policy.allowed"),
        (call("judged", decision="ask"), "policy.asked"),
        (call("judged", decision="deny", error="budget"), "policy.denied"),
        (call("judged"), "policy.denied"),
        (call("asked", decision="ask"), "policy.asked"),
        (call("answered", choice="approve"), "approval.answered"),
        (call("refused", error="digest"), "approval.refused"),
        (call("receipt", decision="allow"), "tool.receipt"),
        (call("ran", outcome="finished", seconds=0.5), "tool.ran"),
    ],
)
def test_every_step_of_a_call_has_its_event(record: CallRecord, kind: str) -> None:
    """Streams and traces call it the same; what stood in the way is among the keys."""
    event = told(record)
    assert (kind, "pay", "c1") == (event["type"], event["tool"], event["call_id"])
    assert kind == name_of(record)
    assert ("budget" in event["keys"]) == (record.error == "budget")


@pytest.mark.parametrize("step", get_args(CallRecord.model_fields["step"].annotation))
def test_no_step_of_a_call_is_without_an_event(step: Any) -> None:
    """Also one that is added later."""
    assert told(call(step))["type"] in get_args(EventType)


@pytest.mark.parametrize("outcome", VerificationOutcome)
def test_every_look_at_a_compaction_has_its_event(outcome: VerificationOutcome) -> None:
    """Named after what was done about it."""
    record = VerificationRecord(outcome=outcome, gone_messages=7, carried=2)
    assert (f"verification.{outcome.value}", 7, 2) == tuple(told(record)[name] for name in ("type", "gone_messages", "carried"))
    assert f"verification.{outcome.value}" == name_of(record)


@pytest.mark.parametrize("kind", get_args(EventKind))
def test_every_other_event_is_told_by_its_kind_and_not_by_its_words(kind: Any) -> None:
    """A rollback and a refused call have events of their own; the rest are notices."""
    fact = ContextEvent(kind=kind, detail=SAID, version=3, restored=1, tool="pay")
    event = told(fact)
    assert {"rolled_back": "rollback", "tool_denied": "policy.denied"}.get(kind, "notice") == event["type"]
    assert event.get("kind", kind) == kind
    assert "Zyxwvut" not in str(event)
    assert "Zyxwvut" not in str(attributes_of(fact))
    assert "Zyxwvut" not in str(fact_shown(fact))


def test_a_prefix_report_is_no_event() -> None:
    """It is telemetry of a model call; traces have it as attributes, what is unknown left out."""
    report = PrefixReport(prefix_fingerprint="ab", serializer_version=1, drift_reason=DriftReason.COMPACTION, first_changed_offset=0)
    assert event_of(report, attempt="a1", when=WHEN) is None
    assert {"ctxguard_prefix_fingerprint": "ab", "ctxguard_prefix_drift": "compaction", "ctxguard_prefix_changed_at": 0} == attributes_of(report)


def test_an_attempt_that_ends_without_a_record_is_told_too() -> None:
    """As paused where a person is asked, else by the type of its error."""
    kinds = [
        started_event("a1", trigger="tokens", parent=2, when=WHEN).type,
        broken_off_event("a1", trigger="tokens", error=None, when=WHEN).type,
        broken_off_event("a1", trigger="tokens", error="CancelledError", when=WHEN).type,
    ]
    assert ["compaction.started", "compaction.paused", "compaction.failed"] == kinds

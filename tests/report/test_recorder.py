"""The hook that keeps model calls: numbers and names, written after something else was, and never in the way of a run."""

from __future__ import annotations

from typing import Any

import pytest

from langchain_ctxguard import Constraint, GuardStore
from langchain_ctxguard.domain.constraint import Enforcement, Severity
from langchain_ctxguard.domain.context_version import ContextPlace
from langchain_ctxguard.domain.prefix import DriftReason, PrefixReport
from langchain_ctxguard.domain.version import CompactionRecord, Outcome
from langchain_ctxguard.errors import StoreError
from langchain_ctxguard.records.model_calls import MODEL_CALLS, ModelCallRecords
from langchain_ctxguard.report.recorder import ReportRecorder
from tests.support.reported import Reported, Ticking

PLACE = ContextPlace(thread="t")
RULES = (Constraint.from_text("Never delete an order."), Constraint(constraint_id="pii", text="No phone numbers.", enforcement=Enforcement.RUNTIME))


def told(*, thread: str | None = "t", rules: tuple[Constraint, ...] = RULES, **more: Any) -> PrefixReport:
    """Return what a guard tells of a call."""
    report = PrefixReport(prefix_fingerprint="0" * 32, serializer_version=1, tokens=10)
    return report.model_copy(update={"thread": thread, "rules": rules, **more})


def entries(store: GuardStore, place: ContextPlace = PLACE) -> list[Any]:
    """Return what was written."""
    return list(store.log.read(store.stream(MODEL_CALLS, place.key)))


@pytest.fixture
def store() -> Any:
    """A store in memory."""
    with GuardStore.open("memory://") as opened:
        yield opened


def test_an_idle_call_writes_nothing(store: GuardStore) -> None:
    """Calls are gathered; `close` writes them as one entry."""
    recorder = ReportRecorder(store)
    for _ in range(20):
        recorder.record(told())
    assert [] == entries(store)
    recorder.close()
    assert 1 == len(entries(store))
    assert 20 == len(ModelCallRecords(store).of(PLACE).calls)


@pytest.mark.parametrize(
    "fact",
    [
        told(drift_reason=DriftReason.TOOL_CHANGE, first_changed_offset=7),
        CompactionRecord(outcome=Outcome.ACCEPTED, reason="The summary was accepted.", trigger="tokens", version=1),
    ],
    ids=["break", "compaction"],
)
def test_what_waits_is_written_after_what_is_on_record_anyway(store: GuardStore, fact: Any) -> None:
    """By a thread of its own, soon after."""
    recorder = ReportRecorder(store)
    recorder.record(told())
    recorder.record(fact)
    assert recorder._worker is not None
    recorder._worker.join(10)
    assert 1 == len(entries(store))


def test_so_many_calls_are_written_at_once(store: GuardStore) -> None:
    """Every fiftieth, or as many as the application says."""
    recorder = ReportRecorder(store, every=5)
    for _ in range(5):
        recorder.record(told())
    assert recorder._worker is not None
    recorder._worker.join(10)
    assert 5 == len(ModelCallRecords(store).of(PLACE).calls)


def test_the_record_holds_no_word(store: GuardStore) -> None:
    """Neither of the conversation nor of the rules: those texts rest where a purge of the thread erases them."""
    run = Reported(store, thread="t")
    run.talk(1, 2)
    run.recorder.close()
    (entry,) = entries(store)
    assert b"no-deletes@1" in entry.body
    for word in (b"Question", b"Rotterdam", b"Never delete", b"three sentences"):
        assert word not in entry.body
    records = ModelCallRecords(store)
    assert {"no-deletes@1": "Never delete an order.", "be-brief@1": "Answer in at most three sentences."} == records.texts(PLACE)
    run.guard.purge_thread("t")
    assert {} == records.texts(PLACE)
    assert 2 == len(records.of(PLACE).calls)


def test_a_list_of_rules_is_written_once(store: GuardStore) -> None:
    """As long as no rule moves, an entry names the list of an earlier one."""
    recorder = ReportRecorder(store)
    for rules in (RULES, RULES, RULES[:1]):
        recorder.record(told(rules=rules))
        recorder.flush()
    first, second, third = (entry.body for entry in entries(store))
    assert b"pii@1" in first
    assert b"pii@1" not in second
    assert b'"rules":{}' in second
    found = ModelCallRecords(store).of(PLACE)
    assert [2, 2, 1] == [len(found.rules[call.rules]) for call in found.calls]
    assert b"pii@1" not in third


def test_what_makes_a_rule_hold_is_told_as_the_guard_knows_it(store: GuardStore) -> None:
    """What the guard reports as unenforced is unenforced; what it does not is kept by something. The reminder repeats critical rules only."""
    low = Constraint(constraint_id="brief", text="Be brief.", severity=Severity.LOW)
    recorder = ReportRecorder(store)
    recorder.record(told(rules=(*RULES, low), is_reminded=True))
    recorder.record(told(rules=RULES, unenforced=("pii@1",)))
    recorder.flush()
    first, second = (ModelCallRecords(store).of(PLACE).rules[call.rules] for call in ModelCallRecords(store).of(PLACE).calls)
    assert [("shown", True), ("enforced", True), ("shown", False)] == [(rule.kind, rule.is_reminded) for rule in first]
    assert [("shown", False), ("unenforced", False)] == [(rule.kind, rule.is_reminded) for rule in second]


def test_a_store_that_fails_stops_no_run(store: GuardStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """What waited is lost and counted; the agent goes on, and `close` says so."""

    def fail(*_: Any, **__: Any) -> Any:
        msg = "The disk is full."
        raise StoreError(msg)

    run = Reported(store, thread="t")
    monkeypatch.setattr(run.recorder._records, "append", fail)
    run.talk(1)
    with pytest.raises(StoreError, match="disk is full"):
        run.recorder.close()
    assert 1 == run.recorder.lost
    run.talk(2)


def test_what_the_thread_of_its_own_cannot_write_is_warned_about_once(store: GuardStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody else would notice."""

    def fail(*_: Any, **__: Any) -> Any:
        msg = "The disk is full."
        raise StoreError(msg)

    recorder = ReportRecorder(store)
    monkeypatch.setattr(recorder._records, "append", fail)
    recorder.record(told())
    with pytest.warns(RuntimeWarning, match="not on record for reports: StoreError"):
        recorder._work()
    recorder.record(told())
    recorder._work()
    assert 2 == recorder.lost


def test_a_call_outside_of_a_thread_is_not_kept(store: GuardStore) -> None:
    """There is no place it belongs to."""
    recorder = ReportRecorder(store)
    recorder.record(told(thread=None))
    recorder.close()
    assert [] == entries(store)


def test_its_memory_is_bounded(store: GuardStore) -> None:
    """Thousands of lists of rules do not stay in the process, and none of their calls loses its list."""
    recorder = ReportRecorder(store, clock=Ticking())
    for number in range(600):
        recorder.record(told(rules=(Constraint.from_text(f"Rule {number}."),)))
        recorder.flush()
    found = ModelCallRecords(store).of(PLACE)
    assert 600 == len(found.calls)
    assert all(call.rules in found.rules for call in found.calls)
    assert len(recorder._lists) <= 300


def test_sub_agents_have_their_own(store: GuardStore) -> None:
    """Calls are kept by thread and namespace, as versions are."""
    with ReportRecorder(store) as recorder:
        recorder.record(told())
        recorder.record(told(namespace="tools:1"))
    assert [1, 1] == [len(ModelCallRecords(store).of(place).calls) for place in (PLACE, ContextPlace(thread="t", namespace="tools:1"))]

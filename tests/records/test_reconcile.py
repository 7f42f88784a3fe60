"""Reconciliations on a log: what they add up to, and what of them can be erased."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from langchain_ctxguard.backends.store import GuardStore
from langchain_ctxguard.core.reconciling import folded
from langchain_ctxguard.domain.context_version import ContextPlace
from langchain_ctxguard.domain.log import Stream
from langchain_ctxguard.domain.reconcile import (
    RECONCILE_EVENT,
    Began,
    Checked,
    CheckSeen,
    Confirmed,
    Contradiction,
    Held,
    Noticed,
    ReconcileEvent,
    SearchSeen,
    Stated,
    Waived,
    WorkStatus,
)
from langchain_ctxguard.domain.workspace import CheckResult, Survey
from langchain_ctxguard.errors import LogConflictError, StoreError
from langchain_ctxguard.records.reconcile import RECONCILE, ReconcileLog

AT = datetime(2026, 3, 1, tzinfo=UTC)
PLACE = ContextPlace(thread="t")
GOLDEN = Path(__file__).parents[1] / "golden" / "reconcile-1.jsonl"
EVENTS: tuple[ReconcileEvent, ...] = (
    Began(survey="s", check=CheckSeen(outcome="passed", exit_code=0), at=AT),
    Noticed(version=3, at=AT),
    Stated(
        version=3, status="x", contradictions=("n",), may_mend=("说明 a.py",), check=CheckSeen(outcome="failed", exit_code=1), is_blamed=True, at=AT
    ),
    Held(calls=("c1",), contradictions=(Contradiction(kind="reverted", path="a.py", trace=1, step="s", expected="e", back_to=0),), at=AT),
    Checked(check=CheckSeen(outcome="failed", files=("b.py",)), is_blamed=True, may_mend=("b.py",), print="p", at=AT),
    Waived(what="check", by="ann", reason="known", at=AT),
    SearchSeen(effect="e", call_id="c2", found=("a.py:1: x",), files=(("a.py", "h"),), print="p", at=AT),
    Confirmed(at=AT),
)


@pytest.mark.parametrize("url", ["memory://", "sqlite:///{folder}/g.db"])
def test_what_is_written_reads_back(url: str, tmp_path: Path) -> None:
    """Event by event, in another process as well, each place on its own."""
    store = GuardStore.open(url.format(folder=tmp_path))
    log = ReconcileLog(store)
    for event in EVENTS:
        log.append(PLACE, event)
    assert (len(EVENTS), folded(EVENTS)) == log.read(PLACE)
    assert (len(EVENTS), folded(EVENTS)) == ReconcileLog(store).read(PLACE)
    assert 0 == log.read(ContextPlace(thread="t", namespace="worker"))[0]


def test_statuses_and_surveys_are_kept_apart() -> None:
    """By address; what was never kept is not there."""
    log = ReconcileLog(GuardStore.open("memory://"))
    status = WorkStatus(task="go on", check=CheckResult(outcome="failed", output="E"))
    survey = Survey(source="git", marks={"a b.py": "?? 1"})
    assert status == log.status(PLACE, log.keep(PLACE, status))
    assert survey == log.survey(PLACE, log.keep(PLACE, survey))
    assert (None, None) == (log.status(PLACE, ""), log.survey(PLACE, "0" * 64))


def test_no_word_of_the_work_is_on_the_log_itself() -> None:
    """Types and addresses alone: the rest can be erased without breaking the chain."""
    store = GuardStore.open("memory://")
    log = ReconcileLog(store)
    log.append(PLACE, *EVENTS)
    bodies = b"".join(entry.body for entry in store.log.read(Stream(tenant=store.tenant, kind=RECONCILE, key=PLACE.key)))
    for word in (b"a.py", b"ann", b"known", "说明".encode()):
        assert word not in bodies
    assert len(EVENTS) == log.purge_thread("t")
    assert (len(EVENTS), folded(())) == ReconcileLog(store).read(PLACE)
    log.append(PLACE, Noticed(version=4, at=AT))
    assert "due" == log.read(PLACE)[1].phase


def test_whoever_comes_second_is_told() -> None:
    """Two processes at one reconciliation do not both decide."""
    log = ReconcileLog(GuardStore.open("memory://"))
    log.append(PLACE, EVENTS[0], expected=0)
    with pytest.raises(LogConflictError):
        log.append(PLACE, EVENTS[1], expected=0)


def test_an_entry_of_a_later_version_is_refused() -> None:
    """Nobody guesses what it would have said."""
    store = GuardStore.open("memory://")
    store.log.append(Stream(tenant=store.tenant, kind=RECONCILE, key=PLACE.key), [json.dumps({"schema_version": 2, "content": "x"}).encode()])
    with pytest.raises(StoreError, match="Upgrade"):
        ReconcileLog(store).read(PLACE)


def test_events_of_the_first_schema_stay_readable() -> None:
    """One of each kind, as they were written when the schema was made."""
    lines = GOLDEN.read_text(encoding="utf-8").splitlines()
    assert list(EVENTS) == [RECONCILE_EVENT.validate_json(line) for line in lines]

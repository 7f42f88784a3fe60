"""Each event of a reconciliation, and what the next call leads to."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from langchain_ctxguard.core.reconciling import AskedCall, folded, mends, next_step, untold
from langchain_ctxguard.domain.reconcile import (
    Began,
    Checked,
    CheckSeen,
    Confirmed,
    Contradiction,
    Held,
    Noticed,
    ReconcileState,
    SearchSeen,
    Stated,
    Waived,
)

AT = datetime(2026, 3, 1, tzinfo=UTC)
FAILED, PASSED = CheckSeen(outcome="failed", files=("t.py",)), CheckSeen(outcome="passed")
GONE = Contradiction(kind="gone", path="a.py", trace=1, step="s", expected="x")
CHANGED = Contradiction(kind="changed", path="b.py", trace=2, step="s", expected="x", found="y")
EDIT = AskedCall(call_id="c1", siblings=("c1", "c2"), touches=("b.py",))


def stated(version: int = 1, **more: Any) -> Stated:
    """Return that a status was written."""
    return Stated(version=version, status="s", at=AT, **more)


def held(*found: Contradiction, calls: tuple[str, ...] = ("c1", "c2")) -> Held:
    """Return that calls were held."""
    return Held(calls=calls, contradictions=found, may_mend=tuple(one.path for one in found), at=AT)


NOTICED = Noticed(version=1, at=AT)
CONFIRMED = Confirmed(at=AT)
BLAMED = stated(check=FAILED, is_blamed=True, may_mend=("t.py",), print="p")


@pytest.mark.parametrize(
    ("events", "phase", "step"),
    [
        ([], "idle", "pass"),
        ([NOTICED], "due", "state"),
        ([NOTICED, stated()], "stated", "confirm"),
        ([NOTICED, stated(), CONFIRMED], "settled", "pass"),
        ([NOTICED, stated(), held(GONE)], "settled", "hold_again"),
        ([NOTICED, stated(), held(GONE, calls=("other",))], "settled", "pass"),
        ([NOTICED, stated(), CONFIRMED, NOTICED], "settled", "pass"),
        ([NOTICED, stated(), CONFIRMED, Noticed(version=2, at=AT)], "due", "state"),
        ([NOTICED, stated(), CONFIRMED, Noticed(version=2, at=AT), stated(2)], "stated", "confirm"),
        # A branch that goes back to an earlier context is reconciled as well.
        ([Noticed(version=2, at=AT), stated(2), CONFIRMED, NOTICED], "due", "state"),
        # What comes late, or twice, changes nothing.
        ([NOTICED, stated(), stated()], "stated", "confirm"),
        ([NOTICED, stated(), CONFIRMED, CONFIRMED], "settled", "pass"),
        ([NOTICED, CONFIRMED], "due", "state"),
        ([stated()], "idle", "pass"),
        ([NOTICED, Noticed(version=2, at=AT), stated(1)], "due", "state"),
        ([NOTICED, stated(), CONFIRMED, stated()], "settled", "pass"),
        # The check.
        ([NOTICED, BLAMED], "stated", "confirm"),
        ([NOTICED, BLAMED, CONFIRMED], "settled", "block"),
        ([NOTICED, BLAMED, held(CHANGED, calls=("x",))], "settled", "pass"),
        ([NOTICED, BLAMED, held(GONE, calls=("x",))], "settled", "block"),
        ([NOTICED, BLAMED, CONFIRMED, Checked(check=PASSED, is_blamed=False, at=AT)], "settled", "pass"),
        ([NOTICED, BLAMED, CONFIRMED, Checked(check=FAILED, is_blamed=True, may_mend=("z.py",), at=AT)], "settled", "block"),
        ([NOTICED, BLAMED, CONFIRMED, Checked(check=FAILED, is_blamed=True, may_mend=("b.py",), at=AT)], "settled", "pass"),
        ([NOTICED, BLAMED, CONFIRMED, Noticed(version=2, at=AT)], "due", "state"),
        ([NOTICED, BLAMED, CONFIRMED, Noticed(version=2, at=AT), stated(2), CONFIRMED], "settled", "pass"),
        # Waivers.
        ([NOTICED, BLAMED, CONFIRMED, Waived(what="check", by="ann", reason="r", at=AT)], "settled", "pass"),
        ([NOTICED, BLAMED, CONFIRMED, Waived(what="all", by="ann", reason="r", at=AT)], "settled", "pass"),
        ([NOTICED, BLAMED, CONFIRMED, Waived(what="contradictions", by="ann", reason="r", at=AT)], "settled", "block"),
        ([NOTICED, BLAMED, Waived(what="check", by="ann", reason="r", at=AT)], "stated", "confirm"),
        ([NOTICED, Waived(what="all", by="ann", reason="r", at=AT)], "due", "state"),
        # The baseline and searches are beside the point.
        ([Began(at=AT), NOTICED, SearchSeen(effect="e", found=(), files=(), at=AT)], "due", "state"),
    ],
)
def test_events_lead_to_a_phase_and_a_phase_to_a_step(events: list[Any], phase: str, step: str) -> None:
    """Every transition there is."""
    state = folded(events)
    assert (phase, step) == (state.phase, next_step(state, EDIT))


@pytest.mark.parametrize("events", [[], [NOTICED], [NOTICED, BLAMED], [NOTICED, BLAMED, CONFIRMED], [NOTICED, stated(), held(GONE)]])
def test_reading_stays_possible_in_every_phase(events: list[Any]) -> None:
    """Nothing is ever held that changes nothing."""
    assert "pass" == next_step(folded(events), AskedCall(call_id="c1", is_reading=True))


def test_a_fold_is_the_same_in_one_go_and_in_parts() -> None:
    """What is remembered of a stream is its sum."""
    events = [Began(at=AT), NOTICED, BLAMED, held(GONE), Checked(check=PASSED, is_blamed=False, at=AT), Noticed(version=2, at=AT)]
    for cut in range(len(events)):
        assert folded(events) == folded(events[cut:], folded(events[:cut]))


def test_only_the_first_baseline_counts() -> None:
    """What was before the agent began does not change afterwards."""
    first = Began(check=PASSED, at=AT)
    assert first == folded([first, Began(check=FAILED, at=AT)]).baseline


@pytest.mark.parametrize(("touches", "answer"), [(("t.py",), True), (("t.py", "u.py"), True), (("t.py", "x.py"), False), ((), False), (None, False)])
def test_a_call_mends_where_all_it_touches_may_be_mended(touches: Any, answer: bool) -> None:  # noqa: FBT001
    """One that nobody can tell of mends nothing."""
    assert answer is mends(ReconcileState(may_mend=("t.py", "u.py")), AskedCall(touches=touches))


def test_a_contradiction_that_was_told_or_waived_is_not_told_again() -> None:
    """However many compactions follow; another state of the same file is another one."""
    told = folded([NOTICED, stated(), held(GONE), Noticed(version=2, at=AT), stated(2)])
    waived = folded([NOTICED, stated(contradictions=(GONE.name,)), Waived(what="contradictions", by="ann", reason="r", at=AT)])
    other = GONE.model_copy(update={"found": "z"})
    for state in (told, waived):
        assert (CHANGED, other) == untold(state, [GONE, CHANGED, other])


def test_calls_of_one_message_are_held_together_and_again() -> None:
    """Whoever made them knew the same; a node that begins anew gets the same answer."""
    state = folded([NOTICED, stated(), held(GONE, calls=EDIT.all_calls)])
    assert ("c1", "c2") == EDIT.all_calls
    assert "hold_again" == next_step(state, AskedCall(call_id="c2", touches=("z.py",)))
    assert "pass" == next_step(state, AskedCall(call_id="c3", touches=("z.py",)))
    assert "pass" == next_step(state, AskedCall(call_id=None, touches=("z.py",)))


def test_the_newest_search_of_a_kind_counts() -> None:
    """Asked again, with another answer."""
    first, second = (SearchSeen(effect="e", call_id=name, found=(), files=(), at=AT) for name in "ab")
    assert (second,) == folded([first, second]).searches

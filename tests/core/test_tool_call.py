"""The flow of a call, driven by hand: what it asks for, in which order, and what it makes of the answers."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest

from langchain_ctxguard.core.call_case import Call, Settled
from langchain_ctxguard.core.calls import folded
from langchain_ctxguard.core.effects import (
    AskAboutCalls,
    AskedBefore,
    ConsultWork,
    Effect,
    NobodyThere,
    PersonsAnswer,
    PortFailed,
    Ran,
    ReadBudgets,
    ReadCalls,
    ReadStanding,
    Reserve,
    Reserved,
    RunTool,
    SettleBudgets,
    WriteCalls,
)
from langchain_ctxguard.core.judge import PolicyJudge
from langchain_ctxguard.core.tool_call import tool_call_flow
from langchain_ctxguard.domain.approval import Approver
from langchain_ctxguard.domain.budget import Budgets
from langchain_ctxguard.domain.policy import ToolPolicy, ToolRequest
from langchain_ctxguard.domain.tool_call import CallEvent, CallLedger, Ended

NOW = datetime(2026, 3, 1, tzinfo=UTC)
ASK = PolicyJudge((ToolPolicy.from_dict({"rules": [{"tool": "pay", "verdict": "ask"}]}),))
PAY = ToolRequest(tool="pay", args={"amount": 1}, call_id="c0", thread="t", namespace="tools:1")
APPROVE, REJECT = {"type": "approve"}, {"type": "reject"}


class Driver:
    """Answers a flow from a list of a person's answers, which each attempt gets again from the start, as LangGraph does it."""

    def __init__(self) -> None:
        """Begin with an empty record."""
        self.events: list[CallEvent] = []
        self.answers: list[Any] = []
        self.runs = 0
        self.outcome: Any = "finished"

    @property
    def ledger(self) -> CallLedger:
        """What the record adds up to."""
        return folded(enumerate(self.events, 1))

    def attempt(self) -> Settled | None:
        """Run the node once; `None` where it pauses for an answer."""
        flow, given, answer = tool_call_flow(Call(PAY, may_ask=True), ASK, clock=lambda: NOW), iter(self.answers), None
        while True:
            try:
                effect = flow.send(answer)
            except StopIteration as end:
                settled: Settled = end.value
                return settled
            if isinstance(effect, (AskAboutCalls, AskedBefore)):
                value = next(given, None)
                if value is None:
                    return None
                answer = PersonsAnswer(value, Approver(id="eve"))
            else:
                answer = self._answered(effect)

    def _answered(self, effect: Effect) -> Any:
        match effect:
            case ReadCalls():
                return self.ledger
            case WriteCalls():
                self.events += effect.events
                return self.ledger
            case RunTool():
                self.runs += 1
                return Ran("done", outcome=self.outcome)
            case _:
                return None


def test_an_answer_that_is_not_the_one_on_record_voids_it() -> None:
    """The node begins anew and is given another answer than the one that opened the call: the call is closed again, and asked about."""
    driver = Driver()
    assert None is driver.attempt()
    driver.answers, driver.outcome = [APPROVE], "failed"
    driver.attempt()
    assert 1 == driver.runs
    driver.answers = [REJECT]
    assert None is driver.attempt()
    assert 1 == driver.runs
    assert () == driver.ledger.approvals
    driver.answers = [REJECT, REJECT]
    found = driver.attempt()
    assert found is not None
    assert "rejected" == found.kind
    assert 1 == driver.runs


def test_the_same_answers_pass_by_again() -> None:
    """A node that begins anew after a failure is given the answers it had, and goes on from them."""
    driver = Driver()
    driver.attempt()
    driver.answers, driver.outcome = [APPROVE], "failed"
    driver.attempt()
    driver.outcome = "finished"
    driver.attempt()
    found = driver.attempt()
    assert found is not None
    assert ("receipt", 2) == (found.kind, driver.runs)


def test_the_question_is_on_record_before_it_is_asked() -> None:
    """Nothing is asked that is not on record, and nothing runs before it is begun there."""
    flow = tool_call_flow(Call(PAY, may_ask=True), ASK, clock=lambda: NOW)
    driver, seen, answer = Driver(), list[str](), None
    while not seen or seen[-1] != "AskAboutCalls":
        effect = flow.send(answer)
        seen.append(type(effect).__name__)
        answer = driver._answered(effect)
    assert ["asked"] == [event.type for event in driver.events]
    assert seen.index("WriteCalls") < seen.index("AskAboutCalls")


@pytest.mark.parametrize("failing", [ReadCalls, WriteCalls, AskAboutCalls])
def test_what_cannot_be_read_written_or_asked_denies(failing: type) -> None:
    """Whatever the outside fails at before the tool runs: it does not run."""
    driver = Driver()
    found = failing_at(failing, driver, Call(PAY, may_ask=True), ASK)
    assert "denied" == found.kind
    assert "Nothing happened" in found.text
    assert 0 == driver.runs


def failing_at(failing: type, driver: Driver, call: Call, judge: PolicyJudge) -> Any:
    """Return what a call comes to where the outside fails at one kind of effect."""
    flow, answer = tool_call_flow(call, judge, clock=lambda: NOW), None
    try:
        while True:
            effect = flow.send(answer)
            answer = PortFailed("Down") if isinstance(effect, failing) else driver._answered(effect)
            answer = NobodyThere() if answer is None and isinstance(effect, AskAboutCalls) else answer
    except StopIteration as end:
        return end.value


@pytest.mark.parametrize(("outcome", "remembered"), [("finished", True), ("failed", False), ("unknown", False), ("paused", False)])
def test_only_a_call_that_finished_lets_those_pass_that_wait_for_it(outcome: Any, *, remembered: bool) -> None:
    """A rule about the order of calls asks what was done, not what was tried; calls nobody waits for are not noted."""
    waiting = PolicyJudge((ToolPolicy.from_dict({"rules": [{"tool": "ship", "order": {"after": ["pay"]}}]}),))
    assert remembered is bool(done_by(waiting, outcome))
    assert [] == done_by(PolicyJudge((ToolPolicy.from_dict({"rules": [{"tool": "pay"}]}),)), outcome)


def done_by(judge: PolicyJudge, outcome: Any) -> list[Any]:
    """Return what is on record as done after one call of `pay` came to `outcome`."""
    driver = Driver()
    driver.outcome = outcome
    flow, answer = tool_call_flow(Call(PAY), judge, clock=lambda: NOW), None
    with suppress(StopIteration):
        while True:
            answer = driver._answered(flow.send(answer))
    assert 1 == driver.runs
    return [event.done for event in driver.events if isinstance(event, Ended) and event.done is not None]


@pytest.mark.parametrize(("outcome", "as_used"), [("finished", True), ("failed", False), ("paused", False)])
def test_a_budget_is_used_by_what_the_tool_did(outcome: Any, *, as_used: bool) -> None:
    """A call that failed or paused for a person did not do it: what was reserved is free again."""
    judge = PolicyJudge((ToolPolicy.from_dict({"rules": [{"tool": "pay", "budget": {"calls": 5}}]}),))
    driver, settled = Driver(), list[bool]()
    driver.outcome = outcome
    flow, answer = tool_call_flow(Call(PAY), judge, clock=lambda: NOW), None
    with suppress(StopIteration):
        while True:
            effect = flow.send(answer)
            answer = driver._answered(effect)
            if isinstance(effect, ReadBudgets):
                answer = Budgets()
            elif isinstance(effect, Reserve):
                answer = Reserved({charge.key: effect.reservation for charge in effect.charges})
            elif isinstance(effect, SettleBudgets):
                settled.append(effect.as_used)
    assert (1, [as_used]) == (driver.runs, settled)


@pytest.mark.parametrize("failing", [ReadStanding, ConsultWork])
@pytest.mark.parametrize(("effect", "runs"), [("read", 1), ("memory", 0), ("write", 0)])
def test_only_a_call_that_reads_runs_where_nobody_knows_how_things_stand(failing: type, effect: str, runs: int) -> None:
    """Neither the mode of the thread nor the record of the work speaks against what changes nothing."""
    judge = PolicyJudge((ToolPolicy.from_dict({"rules": [{"tool": "pay", "effect": effect}]}),))
    driver = Driver()
    assert ("ran" if runs else "denied") == failing_at(failing, driver, Call(PAY, is_work=True), judge).kind
    assert runs == driver.runs

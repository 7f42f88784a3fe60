"""The questions about all calls of a message are asked as one, and the answers go on record before any of them runs."""

from __future__ import annotations

from typing import Any

import pytest

from langchain_ctxguard.core.call_case import Call
from langchain_ctxguard.core.calls import effect_key
from langchain_ctxguard.core.effects import AskAboutCalls, NobodyThere, PersonsAnswer
from langchain_ctxguard.core.judge import PolicyJudge
from langchain_ctxguard.core.tool_batch import tool_batch_flow
from langchain_ctxguard.domain.approval import Approver
from langchain_ctxguard.domain.policy import ToolPolicy, ToolRequest, Verdict
from langchain_ctxguard.domain.tool_call import Begun, Ended
from tests.core.test_tool_call import APPROVE, NOW, REJECT, Driver

JUDGE = PolicyJudge((ToolPolicy.from_dict({"rules": [{"tool": "pay", "verdict": "ask", "irreversible": True}], "default": "allow"}),))


def pay(amount: int, tool: str = "pay") -> ToolRequest:
    return ToolRequest(tool=tool, args={"amount": amount}, call_id=f"c{amount}", thread="t", namespace="tools:1")


class Batch(Driver):
    """Drives the flow of a message, and knows what was asked in it."""

    def __init__(self) -> None:
        """Begin with nothing asked."""
        super().__init__()
        self.asked: list[list[Any]] = []

    def ask(self, *requests: ToolRequest, answer: Any = None, may_ask: bool = True) -> list[str]:
        """Run the flow once with one answer of a person, or nobody there; return the types of the events on record."""
        flow, given = tool_batch_flow([(Call(one, may_ask=may_ask), JUDGE) for one in requests], clock=lambda: NOW), None
        try:
            while True:
                effect = flow.send(given)
                if isinstance(effect, AskAboutCalls):
                    self.asked.append([shown.request.args["amount"] for shown in effect.shown])
                    given = NobodyThere() if answer is None else PersonsAnswer(answer, Approver(id="eve"))
                else:
                    given = self._answered(effect)
        except StopIteration:
            return [event.type for event in self.events]


def test_all_calls_are_asked_about_once_and_the_answer_is_on_record() -> None:
    """One question, one decision for each; a call that takes no word is not in it. The node begins anew to be given the answer."""
    batch, calls = Batch(), (pay(1), pay(2, "look"), pay(3))
    assert ["asked"] == batch.ask(*calls)
    assert ["asked", "answered"] == batch.ask(*calls, answer={"decisions": [APPROVE, REJECT]})
    assert [[1, 3], [1, 3]] == batch.asked
    (answered,) = [event for event in batch.events if event.type == "answered"]
    assert ("approve", "reject") == answered.decisions


def test_where_nobody_answers_the_question_stays_open() -> None:
    """It is on record and nothing else is; the calls themselves will be denied or ask."""
    batch = Batch()
    assert ["asked"] == batch.ask(pay(1), pay(2))
    assert [[1, 2]] == batch.asked


@pytest.mark.parametrize("is_asked", [True, False])
def test_where_nothing_may_be_asked_nothing_is(is_asked: object) -> None:
    """Neither of calls that cannot wait, nor where no call takes a word."""
    batch = Batch()
    calls = [pay(1)] if is_asked else [pay(1, "look")]
    assert [] == batch.ask(*calls, answer=APPROVE, may_ask=not is_asked)
    assert [] == batch.asked


@pytest.mark.parametrize(("outcome", "is_asked"), [(None, False), ("unknown", False), ("finished", False), ("failed", True)])
def test_a_call_that_runs_or_has_run_is_not_asked_about(outcome: Any, *, is_asked: bool) -> None:
    """Nobody is asked whether to do what was begun already; what failed may be begun again."""
    batch, call = Batch(), pay(1)
    effect = effect_key(call, Verdict(tool="pay", decision="ask", findings=(), irreversible=True))
    batch.events.append(Begun(effect=effect, binding="b", tool="pay", call_id="c0", at=NOW))
    if outcome is not None:
        batch.events.append(Ended(effect=effect, outcome=outcome, at=NOW))
    batch.ask(call, pay(2))
    assert [[1, 2] if is_asked else [2]] == batch.asked

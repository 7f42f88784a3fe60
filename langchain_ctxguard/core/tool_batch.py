"""The questions about all calls of a message, asked as one before any of them runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from langchain_ctxguard.core.call_asking import answer_in_place, as_answered, passed_by, put_question
from langchain_ctxguard.core.call_case import TURNS, Call, CannotTellError, Case, Judge, ToolFlow, bound, ledger_of, written
from langchain_ctxguard.core.call_verdict import effect_standing, judged
from langchain_ctxguard.core.calls import position, question_about
from langchain_ctxguard.core.effects import NobodyThere, Shown
from langchain_ctxguard.domain.policy import Decision, Verdict
from langchain_ctxguard.domain.tool_call import Effects


def tool_batch_flow(calls: Sequence[tuple[Call, Judge]], *, clock: Callable[[], datetime]) -> ToolFlow[None]:
    """Ask a person, once, about all calls that take it, and put the answers on record: each call finds its own there.

    It decides nothing and runs nothing. What cannot be settled here is left to the call's own flow, which denies what nobody can tell.
    """
    cases = [Case(call, judge, clock, call.request) for call, judge in calls if call.may_ask and call.request.thread]
    try:
        for turn in range(TURNS):
            waiting = yield from _waiting(cases)
            if turn == 0 and cases and not (yield from _replayed(cases, waiting)):
                continue
            if not waiting or not (yield from _asked(waiting)):
                return
    except CannotTellError:
        return


def _waiting(cases: Sequence[Case]) -> ToolFlow[list[tuple[Case, Verdict]]]:
    """Return the calls a person has to agree to and has not been asked about."""
    found = []
    for case in cases:
        case.ledger = yield from ledger_of(str(case.request.thread))
        for _ in range(TURNS):
            verdict = yield from judged(case)
            if case.word is not None or verdict.decision is not Decision.ASK or effect_standing(case, verdict)[0] is not Effects.NEW:
                break
            answered = answer_in_place(case.ledger, bound(case))
            if answered is None:
                found.append((case, verdict))
                break
            settled = yield from as_answered(case, verdict, *answered)
            if settled.edited is None:
                break
            case.request = settled.edited
    return found


def _replayed(cases: Sequence[Case], waiting: Sequence[tuple[Case, Verdict]]) -> ToolFlow[bool]:
    """Let the answers pass by that this node took in an earlier attempt; say whether they are those on record."""
    first, task = cases[0], cases[0].request.namespace
    earlier = (
        ()
        if first.ledger is None
        else [one.question for one in first.ledger.questions.values() if one.question.is_batch and one.question.task == task]
    )
    if not earlier:
        return True
    return (yield from passed_by(first, position(task), earlier[-1], tuple(Shown(case.request, verdict) for case, verdict in waiting)))


def _asked(waiting: Sequence[tuple[Case, Verdict]]) -> ToolFlow[bool]:
    """Ask about the calls; say whether to look again."""
    first = waiting[0][0]
    first.ledger = yield from ledger_of(str(first.request.thread))
    bindings = [bound(case) for case, _ in waiting]
    needs = [verdict.asks for _, verdict in waiting]
    question = question_about(bindings, needs, first.ledger, is_batch=True, requester=first.request.requester, run=first.request.run)
    outcome = yield from put_question(first, question, tuple(Shown(case.request, verdict) for case, verdict in waiting))
    if isinstance(outcome, NobodyThere):
        return False
    if outcome is not None:
        yield from written(first, outcome[0], expected=False)
    return True

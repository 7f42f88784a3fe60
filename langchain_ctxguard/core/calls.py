"""What a thread's events of tool calls add up to, and the names calls are known by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import assert_never

from langchain_ctxguard.domain.approval import Approval, Binding, argument_digests, arguments_digest
from langchain_ctxguard.domain.policy import AskNeed, DoneCall, ToolRequest, Verdict
from langchain_ctxguard.domain.tool_call import (
    Answered,
    AnswerRefused,
    AnswersVoided,
    Asked,
    Begun,
    CallEvent,
    CallLedger,
    EffectState,
    Ended,
    Question,
    QuestionState,
    Released,
)
from langchain_ctxguard.domain.value import canonical_json, digest_of

_DONE_KEPT = 2_000
"""Calls of a thread that are remembered for rules about their order; the oldest are forgotten first."""


def effect_key(request: ToolRequest, verdict: Verdict) -> str:
    """Return the name under which a call runs once.

    An irreversible one by what it does, whoever calls it again under whatever id; one that a person was asked about by the very call.
    """
    what = [request.thread, request.tool, arguments_digest(request.args)]
    return digest_of(canonical_json(what if verdict.irreversible else [*what, request.namespace, request.call_id]))


def done_call(request: ToolRequest) -> DoneCall:
    """Return a call that succeeded as rules about the order of calls see it."""
    return DoneCall(tool=request.tool, call_id=request.call_id, parts=argument_digests(request.args))


def position_of(question: Question) -> str:
    """Return who asks, within a task: its answers come in the order of its own questions."""
    if question.is_batch:
        return position(question.task)
    return position(question.task, question.bindings[0])


def position(task: str, binding: Binding | None = None) -> str:
    """Return the name of a call that asks for itself, or of the node that asks for all calls of a message."""
    own = None if binding is None else [binding.call_id, binding.tool, binding.arguments]
    return digest_of(canonical_json([task, own]))


def question_about(
    bindings: Sequence[Binding],
    needs: Sequence[tuple[AskNeed, ...]],
    ledger: CallLedger,
    *,
    kind: str = "approval",
    is_batch: bool = False,
    requester: str | None = None,
    run: str | None = None,
) -> Question:
    """Return what to ask next: the same question while it is open, the next round of it once it was answered."""
    task = bindings[0].namespace
    asked = Question.model_validate(
        {"bindings": tuple(bindings), "needs": tuple(needs), "task": task, "kind": kind, "is_batch": is_batch, "requester": requester, "run": run}
    )
    while (known := ledger.questions.get(asked.digest)) is not None and known.answer is not None:
        asked = asked.model_copy(update={"round": asked.round + 1})
    return asked


def open_questions(ledger: CallLedger, task: str) -> tuple[Question, ...]:
    """Return the questions of a task that have no answer yet."""
    return tuple(state.question for state in ledger.questions.values() if state.answer is None and state.question.task == task)


def answered_questions(ledger: CallLedger, binding: Binding) -> tuple[QuestionState, ...]:
    """Return what was asked and answered about one call, newest first."""
    digest = binding.digest
    found = [
        state for state in ledger.questions.values() if state.answer is not None and any(bound.digest == digest for bound in state.question.bindings)
    ]
    return tuple(sorted(found, key=lambda state: -state.seq))


def requester_of(request: ToolRequest, ledger: CallLedger) -> str | None:
    """Return in whose name a call is made: whoever was behind the question its run waits for, until the run ends, whoever runs the graph since."""
    if request.run is not None and request.run in ledger.requesters:
        return ledger.requesters[request.run]
    asked = [
        state
        for state in ledger.questions.values()
        if any((one.call_id, one.namespace) == (request.call_id, request.namespace) for one in state.question.bindings)
    ]
    newest = max(asked, key=lambda state: state.seq, default=None)
    return request.requester if newest is None else newest.question.requester


def folded(events: Iterable[tuple[int, CallEvent]], ledger: CallLedger | None = None) -> CallLedger:  # noqa: C901, PLR0912 - one case for each event
    """Return what numbered events make of a ledger, oldest first."""
    start = ledger or CallLedger()
    questions, effects, taken = dict(start.questions), dict(start.effects), dict(start.taken)
    approvals, done, requesters, last = list(start.approvals), list(start.done), dict(start.requesters), start.seq
    for seq, event in events:
        last = seq
        match event:
            case Asked():
                if event.question.run is not None:
                    requesters[event.question.run] = event.question.requester
                questions.setdefault(event.question.digest, QuestionState(question=event.question, seq=seq))
            case Answered():
                state = questions.get(event.question)
                if state is not None:
                    _take(taken, state.question, event.value)
                    if state.answer is None:
                        questions[event.question] = state.model_copy(update={"answer": event})
                        approvals += _approvals(state.question, event, seq)
            case AnswerRefused():
                if (state := questions.get(event.question)) is not None:
                    _take(taken, state.question, event.value)
            case AnswersVoided():
                taken[event.position] = event.values
                void = {name for name, state in questions.items() if position_of(state.question) == event.position}
                questions |= {name: questions[name].model_copy(update={"answer": None}) for name in void}
                approvals = [one for one in approvals if one.approval_id.partition("-")[0] not in {name[:12] for name in void}]
            case Begun():
                effects[event.effect] = EffectState(begun=event)
            case Ended():
                known = effects.get(event.effect)
                if known is not None:
                    effects[event.effect] = known.model_copy(
                        update={"outcome": event.outcome, "receipt": event.receipt, "ended_at": event.at},
                    )
                if event.done is not None:
                    done.append(event.done)
            case Released():
                effects.pop(event.effect, None)
            case _:
                assert_never(event)
    return start.model_copy(
        update={
            "seq": last,
            "questions": questions,
            "effects": effects,
            "taken": taken,
            "approvals": tuple(approvals),
            "done": tuple(done[-_DONE_KEPT:]),
            "requesters": requesters,
        }
    )


def _take(taken: dict[str, tuple[str, ...]], question: Question, value: str) -> None:
    key = position_of(question)
    taken[key] = (*taken.get(key, ()), value)


def _approvals(question: Question, answer: Answered, seq: int) -> list[Approval]:
    """Return the agreements in an answer: one for each call approved as it was, or as edited."""
    found = []
    for place, (binding, decision) in enumerate(zip(question.bindings, answer.decisions, strict=False)):
        bound = answer.edited[place] if decision == "edit" and place < len(answer.edited) else binding
        if decision not in {"approve", "edit"} or bound is None:
            continue
        lasts = min((need.expires_s for need in question.needs[place]), default=3_600)
        found.append(
            Approval(
                approval_id=f"{question.digest[:12]}-{seq}-{place}",
                bindings=(bound,),
                decision=decision,
                approver=answer.approver,
                requester=question.requester,
                given_at=answer.at,
                expires_at=answer.at + timedelta(seconds=lasts),
            )
        )
    return found

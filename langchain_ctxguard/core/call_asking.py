"""Questions about calls: put on record before they are asked, and answered on record before anything follows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from langchain_ctxguard.core import call_texts as texts
from langchain_ctxguard.core.approvals import binding_of
from langchain_ctxguard.core.call_answers import REMARKS, Given, read_answer
from langchain_ctxguard.core.call_case import (
    TURNS,
    Case,
    Settled,
    ToolFlow,
    bound,
    ledger_of,
    need,
    noted,
    tried,
    written,
)
from langchain_ctxguard.core.calls import answered_questions, position, question_about
from langchain_ctxguard.core.effects import (
    AskAboutCalls,
    AskedBefore,
    GetContent,
    NobodyThere,
    NoteReplaced,
    PersonsAnswer,
    PutContent,
    ReadStanding,
    ResolveCall,
    Shown,
)
from langchain_ctxguard.core.standing import arguments_digest, replaced_by
from langchain_ctxguard.domain.approval import Binding
from langchain_ctxguard.domain.policy import ToolRequest, Verdict
from langchain_ctxguard.domain.standing import StandingState
from langchain_ctxguard.domain.tool_call import (
    Answered,
    AnswerRefused,
    AnswersVoided,
    Asked,
    CallLedger,
    Question,
    QuestionState,
)
from langchain_ctxguard.domain.value import canonical_json, digest_of


def replayed(case: Case, verdict: Verdict) -> ToolFlow[bool]:
    """Let the answers this call got before pass by, so that neither another question nor the tool itself is given one of them.

    Say whether they are those on record; where they are not, none of them counts any more, and the call is judged anew.
    """
    if case.is_replayed or not case.call.may_ask:
        return True
    case.is_replayed = True
    binding = bound(case)
    assert case.ledger is not None  # noqa: S101 - read before
    earlier = answered_questions(case.ledger, binding)
    question = earlier[0].question if earlier else question_about([binding], [verdict.asks], case.ledger)
    return (yield from passed_by(case, position(binding.namespace, binding), question, (Shown(case.request, verdict),)))


def passed_by(case: Case, place: str, question: Question, shown: tuple[Shown, ...]) -> ToolFlow[bool]:
    """Hold the answers a position is given again against those on record; void them all where one is another."""
    assert case.ledger is not None  # noqa: S101 - read before
    came: list[str] = []
    for expected in case.ledger.taken.get(place, ()):
        answer = yield AskedBefore(question, shown)
        came.append(_digest(answer.value) if isinstance(answer, PersonsAnswer) else expected)
        if came[-1] != expected:
            yield from written(case, AnswersVoided(position=place, values=tuple(came), at=case.clock()), expected=False)
            return False
    return True


def _digest(value: Any) -> str:
    return digest_of(canonical_json(value))


def answer_in_place(ledger: CallLedger, binding: Binding) -> tuple[QuestionState, int] | None:
    """Return the newest answer about a call where it settles the call without running it, and its place in the answer."""
    for state in answered_questions(ledger, binding):
        place = next(place for place, asked in enumerate(state.question.bindings) if asked.digest == binding.digest)
        assert state.answer is not None  # noqa: S101 - these are answered
        if state.answer.decisions[place] != "approve":
            return state, place
        return None
    return None


def as_answered(case: Case, verdict: Verdict, state: QuestionState, place: int) -> ToolFlow[Settled]:
    """Return what an answer makes of a call without running it."""
    answer = state.answer
    assert answer is not None  # noqa: S101 - only answered questions get here
    address = answer.contents[place] if place < len(answer.contents) else None
    content: Any = None
    if address is not None:
        content = yield from need(GetContent(case.request.thread, address))
    said = content if isinstance(content, Mapping) else {}
    message = said.get("message")
    match answer.decisions[place]:
        case "reject":
            return Settled("rejected", texts.rejected_text(case.request.tool, message), verdict=verdict)
        case "respond":
            return Settled("answered", str(message or ""), verdict=verdict)
        case _:
            edited = yield ResolveCall(case.request, str(said.get("tool", "")), said.get("args") or {})
            agreed = answer.edited[place] if place < len(answer.edited) else None
            if not isinstance(edited, ToolRequest) or agreed is None or binding_of(edited, case.judge.fingerprint).digest != agreed.digest:
                return Settled("denied", texts.edit_failed_text(case.request.tool), verdict=verdict)
            yield from _replaced(case, edited, answer)
            return Settled("edited", verdict=verdict, edited=edited)


def _replaced(case: Case, edited: ToolRequest, answer: Answered) -> ToolFlow[None]:
    """Put on record, once, that a person had other arguments run: the agent does not get its own by asking again.

    Before the edited call runs, and looked up each time its node begins anew: a process that died in between left it out.
    """
    request, thread = case.request, case.request.thread
    old, new = arguments_digest(request.args), arguments_digest(edited.args)
    if not thread or (request.tool, old) == (edited.tool, new):
        return
    state = yield from need(ReadStanding(thread))
    if isinstance(state, StandingState) and replaced_by(state, request.tool, old) is None:
        yield from need(NoteReplaced(thread, request.tool, old, new, request.call_id or "", answer.approver.id or "guard"))


def put_question(case: Case, question: Question, shown: tuple[Shown, ...]) -> ToolFlow[tuple[Answered, tuple[Given, ...]] | NobodyThere | None]:
    """Ask until an answer counts. Return it for the record; `None` where the record moved on and the calls are judged anew."""
    ledger = case.ledger
    assert ledger is not None  # noqa: S101 - read before
    is_new = question.digest not in ledger.questions
    if is_new:
        if not (yield from written(case, Asked(question=question, at=case.clock()))):
            return None
        for one in shown:
            yield from noted(case, one.verdict, step="asked", question=question.digest, request=one.request)
    remark = ""
    for _ in range(TURNS):
        came = yield from need(AskAboutCalls(question, shown, remark))
        if not isinstance(came, PersonsAnswer):
            return NobodyThere()
        case.ledger = yield from ledger_of(str(case.request.thread))
        read = read_answer(came.value, question, case.ledger, came.approver, is_new=is_new, is_alone=question.is_batch or not case.call.shares_task)
        if not isinstance(read, str):
            answered = yield from _answer(case, question, shown, read, came)
            if answered is not None:
                return answered, read
            read = "edit"
        remark = REMARKS[read]
        refused = AnswerRefused(question=question.digest, why=read, value=_digest(came.value), approver=came.approver, at=case.clock())
        yield from written(case, refused, expected=False)
        for one in shown:
            yield from noted(case, one.verdict, step="refused", question=question.digest, request=one.request, error=read, approver=came.approver)
    return None


def _answer(case: Case, question: Question, shown: tuple[Shown, ...], given: tuple[Given, ...], came: PersonsAnswer) -> ToolFlow[Answered | None]:
    """Return an answer for the record, with what the person wrote kept apart; `None` where an edited call cannot run here."""
    edited: list[Binding | None] = []
    contents: list[str | None] = []
    for one, decision in zip(shown, given, strict=True):
        said = {name: value for name, value in (("message", decision.message), ("tool", decision.tool), ("args", decision.args)) if value is not None}
        agreed: Binding | None = None
        if decision.choice == "edit":
            call = yield ResolveCall(one.request, decision.tool or "", decision.args or {})
            if not isinstance(call, ToolRequest):
                return None
            agreed = tried(partial(binding_of, call, case.judge.fingerprint))
        address = (yield from need(PutContent(case.request.thread, said, is_needed=True))) if said else None
        edited.append(agreed)
        contents.append(address if isinstance(address, str) else None)
        yield from noted(
            case, one.verdict, step="answered", question=question.digest, request=one.request, choice=decision.choice, approver=came.approver
        )
    return Answered(
        question=question.digest,
        decisions=tuple(one.choice for one in given),
        edited=tuple(edited),
        contents=tuple(contents),
        value=_digest(came.value),
        approver=came.approver,
        at=case.clock(),
    )

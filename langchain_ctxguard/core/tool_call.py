"""One tool call, from request to record: judge, ask, reserve, run, settle. `Engine.run` and `Engine.arun` drive it.

Whatever fails before the tool runs leads to a denial; whatever fails after it is told to the hooks, and the outcome stays open on the record.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, Protocol, TypeVar

from langchain_ctxguard.core import call_texts as texts
from langchain_ctxguard.core.approvals import binding_of, opening
from langchain_ctxguard.core.authorize import Needs
from langchain_ctxguard.core.budgets import reservation_of
from langchain_ctxguard.core.call_answers import REMARKS, Given, read_answer
from langchain_ctxguard.core.calls import answered_questions, done_call, effect_key, position, question_about
from langchain_ctxguard.core.effects import (
    Answer,
    AskAboutCalls,
    AskedBefore,
    Effect,
    Exceeded,
    GetContent,
    NobodyThere,
    NoteCall,
    Overtaken,
    PersonsAnswer,
    PortFailed,
    PutContent,
    Ran,
    ReadBudgets,
    ReadCalls,
    ReadConsents,
    ReadStanding,
    Reserve,
    Reserved,
    ResolveCall,
    RunTool,
    SettleBudgets,
    Shown,
    WriteCalls,
)
from langchain_ctxguard.core.standing import arguments_digest as standing_digest
from langchain_ctxguard.core.standing import permission_of, standing_verdict
from langchain_ctxguard.domain.approval import Approval, Approver, Binding
from langchain_ctxguard.domain.budget import Budgets
from langchain_ctxguard.domain.consent import CROSS_SESSION_MEMORY, Consents
from langchain_ctxguard.domain.policy import AskNeed, Decision, DoneCall, Finding, ToolRequest, Verdict
from langchain_ctxguard.domain.standing import StandingState
from langchain_ctxguard.domain.tool_call import (
    Answered,
    AnswerRefused,
    Asked,
    Begun,
    CallLedger,
    CallRecord,
    Effects,
    EffectState,
    Ended,
    Question,
    QuestionState,
    Released,
)
from langchain_ctxguard.domain.value import canonical_json, digest_of

TURNS = 32
"""How often a call is judged anew before nobody can say any more what holds: others write, a person answers wrongly."""

Result = TypeVar("Result")
ToolFlow = Generator[Effect, Answer, Result]


@dataclass(frozen=True, slots=True)
class Facts:
    """What a verdict may rest on, read for this call."""

    now: datetime
    consents: Consents | None = None
    approvals: tuple[Approval, ...] = ()
    budgets: Budgets | None = None
    done: tuple[DoneCall, ...] = ()


class Judge(Protocol):
    """Decides about calls. Pure: what it does not find in the facts it has in itself, fixed for the call."""

    @property
    def fingerprint(self) -> str:
        """Of the rules."""

    def needs(self, request: ToolRequest, now: datetime) -> Needs:
        """Return what has to be read for a verdict."""

    def remembers(self, tool: str) -> bool:
        """Say whether a rule looks at whether this tool was called before."""

    def decide(self, request: ToolRequest, facts: Facts) -> Verdict:
        """Return the verdict."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call about to be judged, and what is fixed about it."""

    request: ToolRequest
    may_ask: bool = False
    """Whether a run waits here that can pause."""

    is_answering: bool = False
    """Whether the runtime names an approver: then the requester is who asked, not who runs the graph now."""

    shares_task: bool = False
    """Whether other calls ask in the same task: then an answer must name its question."""

    constraints: tuple[str, ...] = ()
    context_version: int | None = None


@dataclass(frozen=True, slots=True)
class Settled:
    """What a call came to."""

    kind: Literal["ran", "denied", "rejected", "receipt", "answered", "edited"]
    text: str = ""
    """What the model reads in the tool's place; nothing where it ran."""

    ran: Ran | None = None
    verdict: Verdict | None = None
    edited: ToolRequest | None = None
    """The call a person made of it: to be judged like any other."""


class CannotTellError(Exception):
    """Something the verdict needs is not to be had."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


@dataclass(slots=True)
class Case:
    """A call in the making."""

    call: Call
    judge: Judge
    clock: Callable[[], datetime]
    request: ToolRequest
    consents: Consents | None = None
    budgets: Budgets | None = None
    ledger: CallLedger | None = None
    is_replayed: bool = False
    content: dict[str, str] = field(default_factory=dict)
    """Addresses of what is kept of the call, by what it is."""


def tool_call_flow(call: Call, judge: Judge, *, clock: Callable[[], datetime]) -> ToolFlow[Settled]:
    """Yield what a call needs, and return what it came to.

    Args:
        call: The call, with the arguments that will run.
        judge: The rules.
        clock: Says what time it is.
    """
    case = Case(call, judge, clock, call.request)
    try:
        for _ in range(TURNS):
            settled = yield from _turn(case)
            if settled is not None:
                return settled
        what = "others kept writing, or no answer counted"
    except CannotTellError as error:
        what = error.what
    text = texts.cannot_tell_text(call.request.tool, what)
    yield NoteCall(_record(case, "judged", decision="deny", error=what, content=None))
    return Settled("denied", text)


def _turn(case: Case) -> ToolFlow[Settled | None]:
    """Judge the call once with all that is known; return what it came to, or `None` where something changed and it is judged anew."""
    verdict = yield from judged(case)
    if verdict.decision is Decision.DENY:
        yield from _noted(case, verdict)
        return Settled("denied", texts.denied_text(verdict), verdict=verdict)
    if not _has_effect_key(verdict):
        return (yield from _run(case, verdict, None))
    if not case.request.thread:
        return (yield from _refused(case, verdict, "no_thread", texts.no_thread_text(case.request.tool)))
    if case.ledger is None:
        case.ledger = yield from ledger_of(case.request.thread)
        return None
    yield from _replayed(case, verdict)
    binding, key = bound(case), effect_key(case.request, verdict)
    standing, state = effect_standing(case, verdict)
    if state is not None and standing is Effects.FINISHED:
        return (yield from _receipt(case, verdict, state))
    if state is not None and standing is Effects.RUNNING:
        until = state.begun.at + timedelta(seconds=state.begun.lease_s)
        return (yield from _refused(case, verdict, "running", texts.running_text(case.request.tool, until)))
    if (answered := answer_in_place(case.ledger, binding)) is not None:
        return (yield from as_answered(case, verdict, *answered))
    if standing is Effects.UNKNOWN or verdict.decision is Decision.ASK:
        return (yield from _asked(case, verdict, state if standing is Effects.UNKNOWN else None))
    return (yield from _run(case, verdict, key))


def effect_standing(case: Case, verdict: Verdict) -> tuple[Effects, EffectState | None]:
    """Return how a call stands that may run once, and what is on record of it."""
    state = None if case.ledger is None else case.ledger.effects.get(effect_key(case.request, verdict))
    return (Effects.NEW if state is None else state.standing(case.clock())), state


def _has_effect_key(verdict: Verdict) -> bool:
    return verdict.irreversible or verdict.decision is Decision.ASK or bool(verdict.approvals)


def judged(case: Case) -> ToolFlow[Verdict]:
    """Read what the rules look at, and return their verdict."""
    judge, now = case.judge, case.clock()
    needs = _tried(lambda: judge.needs(case.request, now))
    if case.ledger is None and case.request.thread and (case.call.is_answering or needs.done):
        case.ledger = yield from ledger_of(case.request.thread)
    if case.call.is_answering and case.ledger is not None and case.ledger.requester is not None:
        # Whoever answers runs the graph now; the call is still made in the name of who asked for it.
        case.request = case.request.model_copy(update={"requester": case.ledger.requester})
    request = case.request
    if needs.consents:
        found = yield from _need(ReadConsents(request.requester, request.thread))
        case.consents = found if isinstance(found, Consents) else None
    if needs.budgets or needs.usage:
        budgets = yield from _need(ReadBudgets(needs.budgets, needs.usage))
        case.budgets = budgets if isinstance(budgets, Budgets) else None
    verdict = _tried(lambda: judge.decide(request, _facts(case, now)))
    return verdict if verdict.decision is Decision.DENY else (yield from _as_it_stands(case, verdict))


def _as_it_stands(case: Case, verdict: Verdict) -> ToolFlow[Verdict]:
    """Return the verdict once mode, open question and permissions of the thread are held against it, and the consent that remembering takes."""
    request = case.request
    if request.thread:
        state = yield ReadStanding(request.thread)
        if isinstance(state, PortFailed) and verdict.effect != "read":
            raise CannotTellError(state.error)
        if isinstance(state, StandingState):
            reason = standing_verdict(verdict.effect, state, tool=request.tool, arguments=standing_digest(request.args))
            if reason is not None:
                return _denied(verdict, "standing", reason)
            if verdict.decision is Decision.ALLOW and not verdict.approvals and permission_of(request.tool, state) == "ask":
                return _to_be_asked(case, verdict)
    if verdict.effect == "memory":
        if case.consents is None:
            found = yield from _need(ReadConsents(request.requester, request.thread))
            case.consents = found if isinstance(found, Consents) else None
        if case.consents is None or not case.consents.is_true(CROSS_SESSION_MEMORY):
            reason = f"'{CROSS_SESSION_MEMORY}' is not granted, so nothing is kept for other conversations"
            return _denied(verdict, "consents", f"{reason}. Only the person can grant it, where they consent")
    return verdict


def _denied(verdict: Verdict, key: str, sentence: str) -> Verdict:
    reason, _, instead = sentence.partition(". ")
    finding = Finding(rule=key, key=key, decision=Decision.DENY, reason=reason, instead=f"{instead}." if instead else "")
    return verdict.model_copy(update={"decision": Decision.DENY, "findings": (finding,), "asks": (), "approvals": (), "reserve": ()})


def _to_be_asked(case: Case, verdict: Verdict) -> Verdict:
    """Return the verdict of a call that the permissions of its thread want a person to be asked about."""
    need = AskNeed(rules=("standing",))
    approvals = () if case.ledger is None else case.ledger.approvals
    given = opening(need, bound(case), approvals, requester=case.request.requester, now=case.clock())
    if given is not None:
        return verdict.model_copy(update={"approvals": (given.approval_id,)})
    finding = Finding(
        rule="standing", key="standing", decision=Decision.ASK, reason="the permissions of this thread want a person asked", instead="Wait."
    )
    return verdict.model_copy(update={"decision": Decision.ASK, "findings": (finding,), "asks": (need,)})


def _facts(case: Case, now: datetime) -> Facts:
    ledger = case.ledger or CallLedger()
    return Facts(now=now, consents=case.consents, approvals=ledger.approvals, budgets=case.budgets, done=ledger.done)


def _tried(judging: Callable[[], Result]) -> Result:
    try:
        return judging()
    except Exception as error:
        raise CannotTellError(type(error).__name__) from error


def _need(effect: Effect) -> ToolFlow[Answer]:
    """Ask for what the verdict cannot do without."""
    answer = yield effect
    if isinstance(answer, PortFailed):
        raise CannotTellError(answer.error)
    return answer


def ledger_of(thread: str) -> ToolFlow[CallLedger]:
    found = yield from _need(ReadCalls(thread))
    assert isinstance(found, CallLedger)  # noqa: S101 - what the effect is answered by
    return found


def bound(case: Case) -> Binding:
    return _tried(lambda: binding_of(case.request, case.judge.fingerprint))


def written(case: Case, *events: Any, expected: bool = True) -> ToolFlow[bool]:
    """Put events on the thread's stream; say whether that was done, and read it again where somebody was faster."""
    ledger, thread = case.ledger, case.request.thread
    assert ledger is not None  # noqa: S101 - read before anything is written
    assert thread is not None  # noqa: S101 - as above
    found = yield from _need(WriteCalls(thread, events, ledger.seq if expected else None))
    if isinstance(found, Overtaken):
        case.ledger = yield from ledger_of(thread)
        return False
    assert isinstance(found, CallLedger)  # noqa: S101 - what the effect is answered by
    case.ledger = found
    return True


def _replayed(case: Case, verdict: Verdict) -> ToolFlow[None]:
    """Let the answers this call got before pass by, so that neither another question nor the tool itself is given one of them."""
    if case.is_replayed or not case.call.may_ask:
        return
    case.is_replayed = True
    binding = bound(case)
    assert case.ledger is not None  # noqa: S101 - read before
    earlier = answered_questions(case.ledger, binding)
    question = earlier[0].question if earlier else question_about([binding], [verdict.asks], case.ledger)
    for _ in range(case.ledger.taken.get(position(binding.namespace, binding), 0)):
        yield AskedBefore(question, (Shown(case.request, verdict),))


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
    answer = state.answer
    assert answer is not None  # noqa: S101 - only answered questions get here
    address = answer.contents[place] if place < len(answer.contents) else None
    content: Any = None
    if address is not None:
        content = yield from _need(GetContent(case.request.thread, address))
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
            return Settled("edited", verdict=verdict, edited=edited)


def _asked(case: Case, verdict: Verdict, unknown: EffectState | None) -> ToolFlow[Settled | None]:
    """Put the question on record, ask it, and put the answer on record; the call is judged anew then."""
    if not case.call.may_ask:
        text = texts.nobody_text(verdict) if unknown is None else texts.unknown_text(case.request.tool)
        return (yield from _refused(case, verdict, "nobody", text))
    ledger = case.ledger
    assert ledger is not None  # noqa: S101 - read before
    asks = verdict.asks or ((AskNeed(rules=verdict.rules),) if unknown is not None else ())
    kind = "approval" if unknown is None else "outcome"
    question = question_about([bound(case)], [asks], ledger, kind=kind, requester=case.request.requester)
    shown = Shown(case.request, verdict, "" if unknown is None else texts.unknown_outcome_note(unknown.begun.at))
    outcome = yield from put_question(case, question, (shown,))
    if outcome is None:
        return None
    if isinstance(outcome, NobodyThere):
        return (yield from _refused(case, verdict, "nobody", texts.nobody_text(verdict)))
    answered, given = outcome
    events: list[Any] = [answered]
    if unknown is not None and given[0].choice == "approve":
        events.append(Released(effect=unknown.begun.effect, by=answered.approver, at=answered.at))
    yield from written(case, *events, expected=False)
    return None


def put_question(case: Case, question: Question, shown: tuple[Shown, ...]) -> ToolFlow[tuple[Answered, tuple[Given, ...]] | NobodyThere | None]:
    """Ask until an answer counts. Return it for the record; `None` where the record moved on and the calls are judged anew."""
    ledger = case.ledger
    assert ledger is not None  # noqa: S101 - read before
    is_new = question.digest not in ledger.questions
    if is_new:
        if not (yield from written(case, Asked(question=question, at=case.clock()))):
            return None
        for one in shown:
            yield from _noted(case, one.verdict, step="asked", question=question.digest, request=one.request)
    remark = ""
    for _ in range(TURNS):
        came = yield from _need(AskAboutCalls(question, shown, remark))
        if not isinstance(came, PersonsAnswer):
            return NobodyThere()
        case.ledger = yield from ledger_of(str(case.request.thread))
        read = read_answer(came.value, question, case.ledger, came.approver, is_new=is_new, is_alone=question.is_batch or not case.call.shares_task)
        if not isinstance(read, str):
            answered = yield from _answer(case, question, shown, read, came.approver)
            if answered is not None:
                return answered, read
            read = "edit"
        remark = REMARKS[read]
        refused = AnswerRefused(question=question.digest, why=read, approver=came.approver, at=case.clock())
        yield from written(case, refused, expected=False)
        for one in shown:
            yield from _noted(case, one.verdict, step="refused", question=question.digest, request=one.request, error=read, approver=came.approver)
    return None


def _answer(case: Case, question: Question, shown: tuple[Shown, ...], given: tuple[Given, ...], approver: Approver) -> ToolFlow[Answered | None]:
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
            agreed = _tried(lambda call=call: binding_of(call, case.judge.fingerprint))
        address = (yield from _need(PutContent(case.request.thread, said, is_needed=True))) if said else None
        edited.append(agreed)
        contents.append(address if isinstance(address, str) else None)
        yield from _noted(
            case, one.verdict, step="answered", question=question.digest, request=one.request, choice=decision.choice, approver=approver
        )
    return Answered(
        question=question.digest,
        decisions=tuple(one.choice for one in given),
        edited=tuple(edited),
        contents=tuple(contents),
        approver=approver,
        at=case.clock(),
    )


def _receipt(case: Case, verdict: Verdict, state: EffectState) -> ToolFlow[Settled]:
    content: Any = None
    if state.receipt is not None:
        kept = yield GetContent(case.request.thread, state.receipt)
        content = kept.get("result") if isinstance(kept, Mapping) else None
    yield from _noted(case, verdict, step="receipt")
    return Settled("receipt", texts.receipt_text(case.request.tool, state.ended_at, content), verdict=verdict)


def _refused(case: Case, verdict: Verdict, why: str, text: str) -> ToolFlow[Settled]:
    """Deny what the rules would let pass."""
    yield from _noted(case, verdict, decision="deny", error=why)
    return Settled("denied", text, verdict=verdict)


def _run(case: Case, verdict: Verdict, key: str | None) -> ToolFlow[Settled | None]:
    """Reserve, begin, run and settle. Nothing is run that could not be reserved and begun on record."""
    request = case.request
    held = Reserved({})
    if verdict.reserve:
        name = _tried(lambda: reservation_of(request))
        answer = yield from _need(Reserve(verdict.reserve, name))
        if isinstance(answer, Exceeded):
            text = texts.exceeded_text(request.tool, answer.charge.rule, answer.reason)
            return (yield from _refused(case, verdict, "budget", text))
        assert isinstance(answer, Reserved)  # noqa: S101 - what the effect is answered by
        held = answer
    try:
        if key is not None:
            begun = Begun(effect=key, binding=bound(case).digest, tool=request.tool, call_id=request.call_id, at=case.clock())
            if not (yield from written(case, begun)):
                yield SettleBudgets(held, as_used=False)
                return None
        if _needs_record(verdict):
            yield from _noted(case, verdict, is_needed=True)
    except CannotTellError:
        yield SettleBudgets(held, as_used=False)
        raise
    answer = yield RunTool(request)
    ran = answer if isinstance(answer, Ran) else Ran(outcome="unknown")
    yield from _settled(case, verdict, key, held, ran)
    return Settled("ran", ran=ran, verdict=verdict)


def _needs_record(verdict: Verdict) -> bool:
    """Say whether a call may run only once it is on record: all but those that only read and rest on nothing anybody said."""
    return verdict.effect != "read" or verdict.irreversible or verdict.reading is not None or bool(verdict.approvals)


def _settled(case: Case, verdict: Verdict, key: str | None, held: Reserved, ran: Ran) -> ToolFlow[None]:
    """Put on record what came of a call. What fails here leaves its outcome unknown on the record, never the tool's answer undelivered."""
    outcome = ran.outcome
    if outcome == "unknown" and key is None:
        outcome = "failed"
    if held.reservations and outcome != "unknown":
        yield SettleBudgets(held, as_used=outcome == "finished")
    receipt: str | None = None
    if ran.receipt is not None:
        content = yield PutContent(case.request.thread, {"result": ran.receipt})
        receipt = content if isinstance(content, str) else None
    is_remembered = outcome == "finished" and bool(case.request.thread) and case.judge.remembers(case.request.tool)
    if key is not None or is_remembered:
        done = done_call(case.request) if is_remembered else None
        ended = Ended(effect=key or "", outcome=outcome, receipt=receipt, done=done, at=case.clock())
        yield WriteCalls(str(case.request.thread), (ended,))
    record = _record(
        case,
        "ran",
        verdict=verdict,
        outcome=outcome,
        content=receipt,
        result=None if ran.receipt is None else digest_of(canonical_json(ran.receipt)),
        error=None if ran.error is None or outcome == "paused" else type(ran.error).__name__,
        seconds=ran.seconds,
    )
    yield NoteCall(record)


def _noted(
    case: Case, verdict: Verdict, *, step: str = "judged", is_needed: bool = False, request: ToolRequest | None = None, **about: Any
) -> ToolFlow[None]:
    """Put a step on record, its words apart."""
    asked_for = request or case.request
    content: Answer = None
    if step in {"judged", "asked"}:
        kept = {"tool": asked_for.tool, "args": asked_for.args, "reason": verdict.reason, "instead": verdict.instead}
        content = yield PutContent(asked_for.thread, kept)
        if isinstance(content, PortFailed) and is_needed:
            raise CannotTellError(content.error)
    record = _record(case, step, verdict=verdict, request=request, content=content if isinstance(content, str) else None, **about)
    answer = yield NoteCall(record)
    if isinstance(answer, PortFailed) and is_needed:
        raise CannotTellError(answer.error)


def _record(case: Case, step: str, *, verdict: Verdict | None = None, request: ToolRequest | None = None, **about: Any) -> CallRecord:
    asked_for = request or case.request
    own: dict[str, Any] = {}
    if verdict is not None:
        own = {
            "arguments": verdict.arguments,
            "decision": str(verdict.decision),
            "rules": verdict.rules,
            "keys": tuple(dict.fromkeys(finding.key for finding in verdict.findings)),
            "enforces": verdict.enforces,
            "effect": verdict.effect,
            "is_irreversible": verdict.irreversible,
            "reading": verdict.reading,
            "approvals": verdict.approvals,
        }
    own |= about
    return CallRecord.model_validate(
        {
            "step": step,
            "tool": asked_for.tool,
            "call_id": asked_for.call_id,
            "thread": asked_for.thread,
            "namespace": asked_for.namespace,
            "requester": asked_for.requester,
            "surface": asked_for.surface,
            "fingerprint": case.judge.fingerprint,
            "constraints": case.call.constraints,
            "context_version": case.call.context_version,
            "at": case.clock(),
            **own,
        }
    )

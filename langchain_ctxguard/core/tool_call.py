"""One tool call, from request to record: judge, ask, reserve, run, settle. `Engine.run` and `Engine.arun` drive it.

Whatever fails before the tool runs leads to a denial; whatever fails after it is told to the hooks, and the outcome stays open on the record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from langchain_ctxguard.core import call_texts as texts
from langchain_ctxguard.core.budgets import reservation_of
from langchain_ctxguard.core.call_asking import answer_in_place, as_answered, put_question, replayed
from langchain_ctxguard.core.call_case import (
    TURNS,
    Call,
    CannotTellError,
    Case,
    Judge,
    Receipt,
    Settled,
    ToolFlow,
    bound,
    ledger_of,
    need,
    noted,
    recorded,
    tried,
    written,
)
from langchain_ctxguard.core.call_verdict import at_work, effect_standing, judged
from langchain_ctxguard.core.calls import done_call, effect_key, question_about
from langchain_ctxguard.core.effects import (
    Exceeded,
    GetContent,
    NobodyThere,
    NoteCall,
    NoteWork,
    PutContent,
    Ran,
    Reserve,
    Reserved,
    RunTool,
    SettleBudgets,
    Shown,
    WorkWord,
    WriteCalls,
)
from langchain_ctxguard.domain.policy import AskNeed, Decision, Verdict
from langchain_ctxguard.domain.tool_call import (
    Begun,
    Effects,
    EffectState,
    Ended,
    Released,
)
from langchain_ctxguard.domain.value import canonical_json, digest_of


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
    yield NoteCall(recorded(case, "judged", decision="deny", error=what, content=None))
    return Settled("denied", text)


def _turn(case: Case) -> ToolFlow[Settled | None]:  # noqa: C901, PLR0911 - one line for each thing a call can come to
    """Judge the call once with all that is known; return what it came to, or `None` where something changed and it is judged anew."""
    verdict = yield from judged(case)
    if verdict.decision is Decision.DENY:
        return (yield from _denied(case, verdict))
    if case.word is not None:
        return (yield from _spared(case, verdict, case.word))
    is_strict = _runs_once(verdict)
    if not is_strict and not _may_begin_anew(case, verdict):
        return (yield from _run(case, verdict, None))
    if not case.request.thread:
        return (yield from _refused(case, verdict, "no_thread", texts.no_thread_text(case.request.tool)))
    if case.ledger is None:
        case.ledger = yield from ledger_of(case.request.thread)
        return None
    if not (yield from replayed(case, verdict)):
        return None
    binding, key = bound(case), effect_key(case.request, verdict)
    standing, state = effect_standing(case, verdict)
    if state is not None and standing is Effects.FINISHED:
        return (yield from _receipt(case, verdict, state))
    if not is_strict:
        return (yield from _run(case, verdict, key))
    if state is not None and standing is Effects.RUNNING:
        until = state.begun.at + timedelta(seconds=state.begun.lease_s)
        return (yield from _refused(case, verdict, "running", texts.running_text(case.request.tool, until)))
    if (answered := answer_in_place(case.ledger, binding)) is not None:
        return (yield from as_answered(case, verdict, *answered))
    if standing is Effects.UNKNOWN or verdict.decision is Decision.ASK:
        return (yield from _asked(case, verdict, state if standing is Effects.UNKNOWN else None))
    return (yield from _run(case, verdict, key))


def _denied(case: Case, verdict: Verdict) -> ToolFlow[Settled]:
    """Say that nothing happened, unless this very call was begun in an earlier attempt of its node and used what is missing now."""
    if case.request.thread:
        case.ledger = yield from ledger_of(case.request.thread)
        own = bound(case).digest
        state = next((state for state in case.ledger.effects.values() if state.begun.binding == own), None)
        standing = Effects.NEW if state is None else state.standing(case.clock())
        if state is not None and standing is Effects.FINISHED:
            return (yield from _receipt(case, verdict, state))
        if standing is not Effects.NEW:
            return (yield from _refused(case, verdict, "unknown", texts.unknown_text(case.request.tool)))
    yield from noted(case, verdict)
    return Settled("denied", texts.denied_text(verdict), verdict=verdict)


def _spared(case: Case, verdict: Verdict, word: WorkWord) -> ToolFlow[Settled]:
    """Answer a call that need not run: what it would do is in effect, or was decided against."""
    yield from noted(case, verdict, decision="deny", error=word.kind)
    return Settled("answered", word.text, verdict=verdict)


def _may_begin_anew(case: Case, verdict: Verdict) -> bool:
    """Say whether the task of a call may begin anew after it has run: a question about another call of the same task starts all of them again."""
    return case.call.shares_task and bool(case.request.thread) and verdict.effect != "read"


def _runs_once(verdict: Verdict) -> bool:
    """Say whether a call is never begun while nobody knows what came of an earlier attempt."""
    return verdict.irreversible or verdict.decision is Decision.ASK or bool(verdict.approvals)


def _asked(case: Case, verdict: Verdict, unknown: EffectState | None) -> ToolFlow[Settled | None]:
    """Put the question on record, ask it, and put the answer on record; the call is judged anew then."""
    if not case.call.may_ask:
        text = texts.nobody_text(verdict) if unknown is None else texts.unknown_text(case.request.tool)
        return (yield from _refused(case, verdict, "nobody", text))
    ledger = case.ledger
    assert ledger is not None  # noqa: S101 - read before
    asks = verdict.asks or ((AskNeed(rules=verdict.rules),) if unknown is not None else ())
    kind = "approval" if unknown is None else "outcome"
    question = question_about([bound(case)], [asks], ledger, kind=kind, requester=case.request.requester, run=case.request.run)
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


def _receipt(case: Case, verdict: Verdict, state: EffectState) -> ToolFlow[Settled]:
    kept: Any = None
    if state.receipt is not None:
        kept = yield GetContent(case.request.thread, state.receipt)
    yield from noted(case, verdict, step="receipt")
    found: Receipt | None = None
    if isinstance(kept, Mapping) and kept.get("result") is not None:
        # Calls without an id cannot be told apart: the second one is told that it is not the first.
        is_same = case.request.call_id is not None and state.begun.binding == bound(case).digest
        lead = texts.receipt_lead(case.request.tool, state.ended_at)
        found = Receipt(kept["result"], kept.get("form"), lead, is_same_call=is_same)
    text = texts.receipt_text(case.request.tool, state.ended_at, None if found is None else found.text)
    return Settled("receipt", text, verdict=verdict, receipt=found)


def _refused(case: Case, verdict: Verdict, why: str, text: str) -> ToolFlow[Settled]:
    """Deny what the rules would let pass."""
    yield from noted(case, verdict, decision="deny", error=why)
    return Settled("denied", text, verdict=verdict)


def _run(case: Case, verdict: Verdict, key: str | None) -> ToolFlow[Settled | None]:
    """Reserve, begin, run and settle. Nothing is run that could not be reserved and begun on record."""
    request = case.request
    held = Reserved({})
    if verdict.reserve:
        name = tried(lambda: reservation_of(request))
        answer = yield from need(Reserve(verdict.reserve, name))
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
            yield from noted(case, verdict, is_needed=True)
    except CannotTellError:
        yield SettleBudgets(held, as_used=False)
        raise
    answer = yield RunTool(request)
    ran = answer if isinstance(answer, Ran) else Ran(outcome="unknown")
    yield from _settled(case, verdict, key, held, ran)
    if case.call.is_work:
        yield NoteWork(at_work(case, verdict), ran)
    return Settled("ran", ran=ran, verdict=verdict)


def _needs_record(verdict: Verdict) -> bool:
    """Say whether a call may run only once it is on record: all but those that only read and rest on nothing anybody said."""
    return verdict.effect != "read" or verdict.irreversible or verdict.reading is not None or bool(verdict.approvals)


def _settled(case: Case, verdict: Verdict, key: str | None, held: Reserved, ran: Ran) -> ToolFlow[None]:
    """Put on record what came of a call. What fails here leaves its outcome unknown on the record, never the tool's answer undelivered."""
    outcome = ran.outcome
    if outcome == "unknown" and not _runs_once(verdict):
        outcome = "failed"
    if held.reservations and outcome != "unknown":
        yield SettleBudgets(held, as_used=outcome == "finished")
    receipt: str | None = None
    if ran.receipt is not None:
        form = ran.form() if key is not None and ran.form is not None else None
        content = yield PutContent(case.request.thread, {"result": ran.receipt, **({} if form is None else {"form": form})})
        receipt = content if isinstance(content, str) else None
    is_remembered = outcome == "finished" and bool(case.request.thread) and case.judge.remembers(case.request.tool)
    if key is not None or is_remembered:
        done = done_call(case.request) if is_remembered else None
        ended = Ended(effect=key or "", outcome=outcome, receipt=receipt, done=done, at=case.clock())
        yield WriteCalls(str(case.request.thread), (ended,))
    record = recorded(
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

"""The verdict on a call as it stands now: rules, consents, budgets, and the standing state of its thread."""

from __future__ import annotations

from datetime import datetime

from langchain_ctxguard.core.approvals import opening
from langchain_ctxguard.core.call_asking import answer_in_place
from langchain_ctxguard.core.call_case import (
    CannotTellError,
    Case,
    Facts,
    ToolFlow,
    bound,
    ledger_of,
    need,
    tried,
)
from langchain_ctxguard.core.calls import effect_key, requester_of
from langchain_ctxguard.core.effects import (
    CallAtWork,
    ConsultWork,
    PortFailed,
    ReadBudgets,
    ReadConsents,
    ReadStanding,
    WorkWord,
)
from langchain_ctxguard.core.standing import arguments_digest as standing_digest
from langchain_ctxguard.core.standing import permission_of, replaced_by, standing_verdict
from langchain_ctxguard.domain.budget import Budgets
from langchain_ctxguard.domain.consent import CROSS_SESSION_MEMORY, Consents
from langchain_ctxguard.domain.policy import AskNeed, Decision, Finding, Verdict
from langchain_ctxguard.domain.reconcile import RECONCILE_RULE
from langchain_ctxguard.domain.standing import StandingState
from langchain_ctxguard.domain.tool_call import (
    CallLedger,
    Effects,
    EffectState,
)


def judged(case: Case) -> ToolFlow[Verdict]:
    """Read what the rules look at, and return their verdict."""
    judge, now = case.judge, case.clock()
    needs = tried(lambda: judge.needs(case.request, now))
    if case.ledger is None and case.request.thread and (needs.done or needs.consents):
        case.ledger = yield from ledger_of(case.request.thread)
    if case.ledger is not None:
        case.request = case.request.model_copy(update={"requester": requester_of(case.request, case.ledger)})
    request = case.request
    if needs.consents:
        found = yield from need(ReadConsents(request.requester, request.thread))
        case.consents = found if isinstance(found, Consents) else None
    if needs.budgets or needs.usage:
        budgets = yield from need(ReadBudgets(needs.budgets, needs.usage))
        case.budgets = budgets if isinstance(budgets, Budgets) else None
    verdict = tried(lambda: judge.decide(request, facts_of(case, now)))
    if verdict.decision is not Decision.DENY:
        verdict = yield from _as_it_stands(case, verdict)
    return verdict if verdict.decision is Decision.DENY or not case.call.is_work else (yield from _as_the_work_stands(case, verdict))


def at_work(case: Case, verdict: Verdict) -> CallAtWork:
    """Return the call as the record of the agent's work sees it."""
    return CallAtWork(case.request, verdict.effect, case.call.siblings, case.call.context_version)


def _as_the_work_stands(case: Case, verdict: Verdict) -> ToolFlow[Verdict]:
    """Return the verdict once the record of the agent's work is heard; what it says instead of running the tool is kept in the case."""
    asked = (case.request.tool, case.request.args)
    if case.heard is None or case.heard[0] != asked:
        word = yield ConsultWork(at_work(case, verdict))
        if isinstance(word, PortFailed) and verdict.effect != "read":
            raise CannotTellError(word.error)
        case.heard = (asked, word if isinstance(word, WorkWord) else None)
    word = case.word
    return verdict if word is None or word.kind != "held" else _denied_for(verdict, RECONCILE_RULE, word.text, word.instead)


def effect_standing(case: Case, verdict: Verdict) -> tuple[Effects, EffectState | None]:
    """Return how a call stands that may run once, and what is on record of it."""
    state = None if case.ledger is None else case.ledger.effects.get(effect_key(case.request, verdict))
    return (Effects.NEW if state is None else state.standing(case.clock())), state


def _as_it_stands(case: Case, verdict: Verdict) -> ToolFlow[Verdict]:
    """Return the verdict once mode, open question and permissions of the thread are held against it, and the consent that remembering takes."""
    request = case.request
    if request.thread:
        state = yield ReadStanding(request.thread)
        if isinstance(state, PortFailed) and verdict.effect != "read":
            raise CannotTellError(state.error)
        if isinstance(state, StandingState):
            own = yield from _is_what_was_replaced(case, verdict, state)
            reason = standing_verdict(verdict.effect, state, tool=request.tool, arguments=None if own else standing_digest(request.args))
            if reason is not None:
                return _denied(verdict, "standing", reason)
            if verdict.decision is Decision.ALLOW and not verdict.approvals and permission_of(request.tool, state) == "ask":
                return _to_be_asked(case, verdict)
    if verdict.effect == "memory":
        if case.ledger is None and request.thread:
            case.ledger = yield from ledger_of(request.thread)
            request = case.request = request.model_copy(update={"requester": requester_of(request, case.ledger)})
        if case.consents is None:
            found = yield from need(ReadConsents(request.requester, request.thread))
            case.consents = found if isinstance(found, Consents) else None
        if case.consents is None or not case.consents.is_true(CROSS_SESSION_MEMORY):
            reason = f"'{CROSS_SESSION_MEMORY}' is not granted, so nothing is kept for other conversations"
            return _denied(verdict, "consents", f"{reason}. Only the person can grant it, where they consent")
    return verdict


def _is_what_was_replaced(case: Case, verdict: Verdict, state: StandingState) -> ToolFlow[bool]:
    """Say whether this is the very call a person edited: begun anew with its node, it comes to what they made of it, and does not run itself."""
    request = case.request
    if not state.replaced or replaced_by(state, request.tool, standing_digest(request.args)) is None:
        return False
    if verdict.decision is not Decision.ASK and permission_of(request.tool, state) != "ask":
        return False
    if case.ledger is None:
        case.ledger = yield from ledger_of(str(request.thread))
    answered = answer_in_place(case.ledger, bound(case))
    return answered is not None and answered[0].answer is not None and answered[0].answer.decisions[answered[1]] == "edit"


def _denied(verdict: Verdict, key: str, sentence: str) -> Verdict:
    reason, _, instead = sentence.partition(". ")
    return _denied_for(verdict, key, reason, f"{instead}." if instead else "")


def _denied_for(verdict: Verdict, key: str, reason: str, instead: str) -> Verdict:
    finding = Finding(rule=key, key=key, decision=Decision.DENY, reason=reason, instead=instead)
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


def facts_of(case: Case, now: datetime) -> Facts:
    """Return what a verdict may rest on."""
    ledger = case.ledger or CallLedger()
    return Facts(now=now, consents=case.consents, approvals=ledger.approvals, budgets=case.budgets, done=ledger.done)

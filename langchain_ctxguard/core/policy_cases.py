"""What a policy says of a situation somebody thought of, rule by rule; and what is odd about a policy, before any call."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langchain_ctxguard.core.approvals import binding_of
from langchain_ctxguard.core.authorize import authorize, fingerprint_of, needs_of
from langchain_ctxguard.core.budgets import BudgetNotCountableError, charge_of
from langchain_ctxguard.core.origins import Origins
from langchain_ctxguard.core.paths import PathFacts
from langchain_ctxguard.core.requirements import Known, charged, unmet
from langchain_ctxguard.core.rulebook import BookedRule, rulebook
from langchain_ctxguard.domain.approval import Approval, argument_digests, arguments_digest
from langchain_ctxguard.domain.budget import Budgets, BudgetState, Usage
from langchain_ctxguard.domain.consent import Consent, Consents, ConsentStatus, RawJson
from langchain_ctxguard.domain.policy import DoneCall, ToolPolicy, Verdict
from langchain_ctxguard.domain.policy_case import PolicyCase, Standing
from langchain_ctxguard.domain.value import Value


class RuleAccount(Value):
    """What one rule says of a call."""

    rule: str
    tool: tuple[str, ...]
    standing: Standing
    says: tuple[str, ...] = ()
    """What it decides, and what it requires and finds missing."""


class Account(Value):
    """A verdict, and how it came about."""

    verdict: Verdict
    rules: tuple[RuleAccount, ...]
    default: str


def account_of(case: PolicyCase, policy: ToolPolicy, *, now: datetime, paths: PathFacts | None) -> Account:
    """Return what a policy says of a case, and what each of its rules does."""
    known = _known(case, policy, case.now or now, paths)
    request = known.request
    rules = rulebook(policy)
    needs = needs_of(request, policy, now=known.now)
    approvals = () if case.approved is None else (_approval(case, policy, known.now),)
    verdict = authorize(
        request,
        policy,
        consents=known.consents,
        approvals=approvals,
        budgets=known.budgets,
        now=known.now,
        origins=known.origins if needs.origins else None,
        done=known.done,
        paths=paths,
    )
    about = {booked.id for booked in rules.rules_for(case.tool)}
    told = tuple(_rule_account(booked, known, is_about=booked.id in about) for booked in rules)
    return Account(verdict=verdict, rules=told, default=policy.default)


def case_fault(case: PolicyCase, verdict: Verdict) -> str | None:
    """Return how a verdict differs from what a case expects, `None` where it does not."""
    if case.expect is not None and verdict.decision is not case.expect:
        return f"expected {case.expect}, found {verdict.decision}: {verdict.reason}"
    if case.because and case.because.casefold() not in verdict.reason.casefold():
        return f"expected a reason with {case.because!r}, found: {verdict.reason}"
    if case.rule and case.rule not in verdict.rules:
        return f"expected a word of {case.rule}, found {', '.join(verdict.rules)}"
    return None


def _rule_account(booked: BookedRule, known: Known, *, is_about: bool) -> RuleAccount:
    rule = booked.rule
    if not is_about:
        return RuleAccount(rule=booked.id, tool=rule.tool, standing="names another tool")
    answer = booked.applies_to(known.request)
    if answer is False:
        return RuleAccount(rule=booked.id, tool=rule.tool, standing="does not apply")
    if answer is None:
        return RuleAccount(rule=booked.id, tool=rule.tool, standing="cannot be told", says=(f"`{booked.unclear(known.request)}` is not plain",))
    says: list[str] = [rule.verdict] if rule.verdict != "default" else ["requires only"]
    if rule.approval is not None:
        says.append(f"approval by {rule.approval.approver or 'any person'}")
    says += [
        f"{fault.key}, {rule.otherwise or fault.decision}: {fault.reason}"
        for fault in unmet(booked, known, charged(booked, known.request, known.policy, known.now))
    ]
    return RuleAccount(rule=booked.id, tool=rule.tool, standing="applies", says=tuple(says))


def _known(case: PolicyCase, policy: ToolPolicy, now: datetime, paths: PathFacts | None) -> Known:
    request = case.request
    return Known(
        request=request,
        policy=policy,
        now=now,
        consents=_consents(case, now),
        budgets=_budgets(case, policy, now),
        origins=_origins(case, policy),
        done=[DoneCall(tool=call.tool, parts=argument_digests(call.args)) for call in case.done],
        paths=paths,
        arguments=arguments_digest(request.args),
    )


def _consents(case: PolicyCase, now: datetime) -> Consents | None:
    if case.requester is None:
        return None
    before = now - timedelta(seconds=1)
    granted = [
        Consent(
            field=field,
            status=ConsentStatus.GRANTED,
            value=RawJson(data=json.dumps(value).encode()),
            subject=case.requester,
            basis="supposed",
            recorded_by="supposed",
            at=before,
            recorded_at=before,
            record_id=f"supposed-{place}",
            seq=place,
            hash="0" * 64,
        )
        for place, (field, value) in enumerate(case.consents.items(), 1)
    ]
    return Consents(subject=case.requester, at=now, entries=tuple(granted))


def _budgets(case: PolicyCase, policy: ToolPolicy, now: datetime) -> Budgets:
    states: dict[str, BudgetState] = {}
    for booked in rulebook(policy).rules_for(case.tool):
        used = case.used.get(booked.id)
        if booked.rule.budget is None or used is None:
            continue
        try:
            key = charge_of(case.request, booked.rule, booked.id, now=now, timezone=policy.timezone).key
        except BudgetNotCountableError:
            continue  # the requirement says so itself
        states[key] = BudgetState(calls=used.calls, sums=used.sum)
    usage = Usage(tokens=case.tokens, cost=case.cost)
    return Budgets(states=states, usage={"thread": usage, "run": usage, "day": usage})


def _origins(case: PolicyCase, policy: ToolPolicy) -> Origins:
    rules = rulebook(policy)
    known = Origins(is_registry=lambda tool: rules.traits(tool).is_registry)
    messages: list[BaseMessage] = []
    for place, said in enumerate(case.said):
        if said.user is not None:
            messages.append(HumanMessage(said.user))
        if said.ai is not None:
            messages.append(AIMessage(said.ai))
        if said.system is not None:
            known.learn_text(said.system, "system")
        if said.tool is not None:
            messages.append(AIMessage("", tool_calls=[{"name": said.tool, "args": dict(said.args), "id": f"said-{place}"}]))
            messages.append(ToolMessage(said.returned, tool_call_id=f"said-{place}"))
    return known.follow(messages)


def _approval(case: PolicyCase, policy: ToolPolicy, now: datetime) -> Approval:
    assert case.approved is not None  # noqa: S101 - asked only of cases that have one
    return Approval(
        approval_id="supposed",
        bindings=(binding_of(case.request, fingerprint_of(policy)),),
        approver=case.approved,
        requester=case.requester,
        given_at=now,
        expires_at=now + timedelta(days=30),
    )


def oddities(policy: ToolPolicy, constraints: Iterable[str] = ()) -> tuple[str, ...]:
    """Return what its author may not have meant, one sentence each.

    Args:
        policy: What is looked at.
        constraints: Ids of the constraints declared beside it.
    """
    known = set(constraints)
    books = list(rulebook(policy))
    unknown = [
        f"{booked.id} enforces '{name}', which is no constraint of this file; it has to be in the registry."
        for booked in books
        for name in booked.rule.enforces
        if name not in known
    ]
    return (*_granting_all(policy, books), *_never_granting(books), *unknown)


def _granting_all(policy: ToolPolicy, books: Sequence[BookedRule]) -> Iterable[str]:
    if policy.default == "allow":
        return
    for booked in books:
        if "*" in booked.rule.tool and not booked.rule.when and booked.rule.verdict == "allow":
            yield f"{booked.id} allows every tool, so the default '{policy.default}' never holds. To only require something, say `verdict: default`."


def _never_granting(books: Sequence[BookedRule]) -> Iterable[str]:
    denied = {name: booked.id for booked in books if booked.rule.verdict == "deny" and not booked.rule.when for name in booked.rule.tool}
    for booked in books:
        if booked.rule.verdict == "deny":
            continue
        if all(name in denied for name in booked.rule.tool):
            yield f"{booked.id} never allows anything: {denied[booked.rule.tool[0]]} denies `{booked.rule.tool[0]}` always."

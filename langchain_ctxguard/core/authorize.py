"""The verdict on a tool call. Deny beats ask beats allow, over every rule that applies."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from langchain_ctxguard.core.approvals import binding_of, nearest_fault, opening, rejection
from langchain_ctxguard.core.origins import Origins
from langchain_ctxguard.core.paths import PathFacts
from langchain_ctxguard.core.requirements import Known, Unmet, charged, counts, unmet
from langchain_ctxguard.core.rulebook import BookedRule, Rulebook, Traits, rulebook
from langchain_ctxguard.domain.approval import Approval, arguments_digest
from langchain_ctxguard.domain.budget import Budgets, Charge
from langchain_ctxguard.domain.citation import GateReading
from langchain_ctxguard.domain.consent import Consents
from langchain_ctxguard.domain.control import ControlField
from langchain_ctxguard.domain.policy import AskNeed, DoneCall, Finding, Policy, ToolPolicy, ToolRequest, Verdict, new_verdict
from langchain_ctxguard.domain.tool_rule import Decision
from langchain_ctxguard.domain.value import Value, digest_of
from langchain_ctxguard.errors import PolicyError

_OPEN = ToolPolicy()
_ANY = AskNeed(rules=())
_PLAINLY = "Give plain values."
_OTHERWISE = "Do it another way, or tell the user that it is not allowed."


class Needs(Value):
    """What a verdict on a call will look at, so that nothing else has to be fetched. Approvals are always looked at when the verdict is to ask."""

    paths: bool = False
    consents: tuple[str, ...] = ()
    budgets: tuple[str, ...] = ()
    """Keys of the budgets the call would be charged to."""

    usage: tuple[str, ...] = ()
    """`thread`, `run`, `day`: whose tokens or cost are limited."""

    origins: bool = False
    done: bool = False


def needs_of(request: ToolRequest, policy: Policy | Sequence[Policy] | None, *, now: datetime) -> Needs:
    """Return what has to be known for a verdict on `request`."""
    consents, budgets, usage = dict[str, None](), dict[str, None](), dict[str, None]()
    paths = origins = done = False
    for book in _books(policy):
        for booked in book.rules_for(request.tool):
            rule = booked.rule
            consents.update(dict.fromkeys(rule.consents))
            paths = paths or bool(rule.paths)
            origins = origins or bool(rule.require_origin or rule.forbid_from)
            done = done or rule.order is not None
            if rule.budget is not None and (rule.budget.tokens is not None or rule.budget.cost is not None):
                usage[rule.budget.per] = None
            charge = charged(booked, request, book.policy, now)
            if isinstance(charge, Charge) and counts(charge):
                budgets[charge.key] = None
    return Needs(paths=paths, consents=tuple(consents), budgets=tuple(budgets), usage=tuple(usage), origins=origins, done=done)


def traits_of(tool: str, policy: Policy | Sequence[Policy] | None) -> Traits:
    """Return what the rules say of a tool, whatever it is called with: the strictest where they differ."""
    found = [book.traits(tool) for book in _books(policy)]
    effects = {one.effect for one in found}
    return Traits(
        effect=next((effect for effect in ("write", "memory", "read") if effect in effects), None),
        irreversible=any(one.irreversible for one in found),
        is_hidden=any(one.is_hidden for one in found),
        is_registry=any(one.is_registry for one in found),
    )


def fingerprint_of(policy: Policy | Sequence[Policy] | None) -> str:
    """Return what approvals are bound to: another policy, another fingerprint. Of a function it is its own `fingerprint`, else its name."""
    if type(policy) is ToolPolicy:
        return rulebook(policy).fingerprint
    parts = [rulebook(one).fingerprint if isinstance(one, ToolPolicy) else str(getattr(one, "fingerprint", _name_of(one))) for one in _each(policy)]
    return parts[0] if len(parts) == 1 else digest_of("\n".join(parts))


def authorize(
    request: ToolRequest,
    policy: Policy | Sequence[Policy] | None,
    *,
    consents: Consents | None = None,
    approvals: Iterable[Approval] = (),
    budgets: Budgets | None = None,
    fields: Collection[ControlField] = (),
    now: datetime,
    origins: Origins | Sequence[Origins] | None = None,
    done: Collection[DoneCall] | None = None,
    paths: PathFacts | None = None,
) -> Verdict:
    """Return the verdict on a call. Pure: everything it needs is given; what is not given counts as absent, and what rests on it is refused.

    Args:
        request: The call, with the arguments that will run.
        policy: What decides; several: the strictest of them. `None`: everything is allowed.
        consents: What holds for the requester. `None`: there is no ledger, and rules about consents deny.
        approvals: Answers on record for the thread; those for another call open nothing.
        budgets: What is used already. `None`: nobody counts, and rules about budgets deny.
        fields: The field ledger: where values came from whose messages are gone.
        now: The moment the verdict is for.
        origins: Who said what in the root thread. `None`: no value has an origin but what `fields` say.
        done: The calls of the thread that succeeded, for `order`. `None`: nothing was done.
        paths: Where paths lead, e.g. `backends.paths.LocalPaths()`. `None`: nobody can tell, and rules about paths deny.

    >>> from datetime import UTC
    >>> policy = ToolPolicy.from_dict({"default": "deny", "rules": [{"tool": "get_*", "effect": "read"}]})
    >>> authorize(ToolRequest(tool="drop_table"), policy, now=datetime.now(UTC)).decision
    <Decision.DENY: 'deny'>
    """
    try:
        arguments = arguments_digest(request.args)
    except (TypeError, ValueError, RecursionError) as error:
        finding = Finding(rule="arguments", key="args", decision=Decision.DENY, reason=f"its arguments have no text form: {error}", instead=_PLAINLY)
        return Verdict(decision=Decision.DENY, tool=request.tool, findings=(finding,), fingerprint=fingerprint_of(policy))
    judged = _Judged()
    for one in _each(policy):
        # `isinstance` is slow for a class of pydantic's.
        if type(one) is ToolPolicy or isinstance(one, ToolPolicy):
            known = Known(request, one, now, consents, budgets, fields, origins, done, paths, arguments)
            _judge_safely(one, known, judged)
        else:
            _ask_function(one, request, judged)
    return _verdict(judged, request, tuple(approvals), fingerprint_of(policy), arguments, consents, now)


@dataclass(slots=True)
class _Judged:
    """What the rules said so far."""

    findings: list[Finding] = field(default_factory=list)
    asks: list[tuple[Finding, AskNeed]] = field(default_factory=list)
    granted: list[Finding] = field(default_factory=list)
    reserve: list[Charge] = field(default_factory=list)
    consents: list[str] = field(default_factory=list)
    enforces: list[str] = field(default_factory=list)
    effects: set[str] = field(default_factory=set)
    irreversible: bool = False


def _judge_safely(policy: ToolPolicy, known: Known, judged: _Judged) -> None:
    try:
        _judge(rulebook(policy), known, judged)
    except Exception as error:  # noqa: BLE001 - whatever fails there, the call must not run
        # The error's own text may hold anything; it goes to nobody.
        reason = f"a rule could not be evaluated ({type(error).__name__}), so nobody can tell whether it is allowed"
        judged.findings.append(Finding(rule="rules", key="error", decision=Decision.DENY, reason=reason, instead="Report it."))


def _judge(book: Rulebook, known: Known, judged: _Judged) -> None:
    is_granted = False
    for booked in book.rules_about(known.request):
        answer = booked.applies_to(known.request)
        if answer is False:
            continue
        is_granted |= _judge_rule(booked, known, judged, is_clear=answer is True)
    if not is_granted:
        _by_default(book.policy.default, judged)


def _by_default(decision: Decision, judged: _Judged) -> None:
    finding = _DEFAULTS[decision]
    if decision is Decision.ALLOW:
        judged.granted.append(finding)
    elif decision is Decision.ASK:
        judged.asks.append((finding, _ANY))
    else:
        judged.findings.append(finding)


_DEFAULTS = {
    Decision.DENY: Finding(
        rule="default",
        key="default",
        decision=Decision.DENY,
        reason="no rule allows it",
        instead="Use another tool, or tell the user so.",
    ),
    Decision.ASK: Finding(rule="default", key="default", decision=Decision.ASK, reason="no rule speaks of it", instead="Wait for the answer."),
    Decision.ALLOW: Finding(rule="default", key="default", decision=Decision.ALLOW, reason="no rule speaks against it", instead=""),
}


def _judge_rule(booked: BookedRule, known: Known, judged: _Judged, *, is_clear: bool) -> bool:
    """Take down what a rule that applies says, and return whether it grants the call or refuses it: then the default has nothing to say."""
    rule = booked.rule
    judged.irreversible |= rule.irreversible
    if rule.effect is not None:
        judged.effects.add(rule.effect)
    judged.enforces += rule.enforces
    judged.consents += rule.consents
    if not is_clear:
        name = booked.unclear(known.request)
        decision = Decision.DENY if rule.verdict == "deny" else Decision(rule.otherwise or Decision.ASK)
        _take_down(Unmet("when", decision, f"it cannot be told whether `{name}` is one the rule means", f"Give `{name}` plainly."), booked, judged)
    elif rule.verdict == "deny":
        judged.findings.append(_told(booked, "verdict", Decision.DENY, f"{booked.id} denies it", _OTHERWISE))
        return True
    elif rule.asks:
        key = "verdict" if rule.verdict == "ask" else "approval"
        judged.asks.append((_told(booked, key, Decision.ASK, f"{booked.id} says so", "Wait for the answer."), _need(booked)))
    if booked.requires:
        charge = charged(booked, known.request, known.policy, known.now)
        for fault in unmet(booked, known, charge):
            _take_down(fault, booked, judged)
        if isinstance(charge, Charge) and counts(charge):
            judged.reserve.append(charge)
    if is_clear and rule.verdict in {"allow", "ask"}:
        judged.granted.append(booked.grant)
        return True
    return False


def _take_down(fault: Unmet, booked: BookedRule, judged: _Judged) -> None:
    decision = fault.decision if booked.rule.otherwise is None else Decision(booked.rule.otherwise)
    finding = _told(booked, fault.key, decision, fault.reason, fault.instead)
    if decision is Decision.ASK:
        judged.asks.append((finding, _need(booked)))
    else:
        judged.findings.append(finding)


def _told(booked: BookedRule, key: str, decision: Decision, reason: str, instead: str) -> Finding:
    rule = booked.rule
    if rule.reason:
        reason = rule.reason.rstrip(".") if key in {"verdict", "approval"} else f"{reason} ({rule.reason.rstrip('.')})"
    return Finding(rule=booked.id, key=key, decision=decision, reason=reason, instead=rule.instead or instead)


def _need(booked: BookedRule) -> AskNeed:
    approval = booked.rule.approval
    return AskNeed(rules=(booked.id,)) if approval is None else AskNeed(rules=(booked.id,), approver=approval.approver, expires_s=approval.expires_s)


def _verdict(  # noqa: PLR0917
    judged: _Judged, request: ToolRequest, approvals: tuple[Approval, ...], rules: str, arguments: str, consents: Consents | None, now: datetime
) -> Verdict:
    findings = judged.findings
    asks: tuple[AskNeed, ...] = ()
    used: tuple[str, ...] = ()
    decision = Decision.DENY
    if not findings and judged.asks:
        findings, asks, used = _settled(judged.asks, request, approvals, rules, now)
        decision = Decision.ASK if asks else Decision.DENY if findings else Decision.ALLOW
    elif not findings:
        decision = Decision.ALLOW
    effects = judged.effects
    return new_verdict(
        {
            "decision": decision,
            "tool": request.tool,
            "findings": tuple(findings or judged.granted),
            "asks": asks if decision is Decision.ASK else (),
            "approvals": used if decision is Decision.ALLOW else (),
            "reserve": tuple(judged.reserve) if decision is not Decision.DENY else (),
            "reading": GateReading.of(consents, *judged.consents) if consents is not None and judged.consents else None,
            "effect": next(one for one in ("write", "memory", "read") if one in effects) if effects else request.effect or "write",
            "irreversible": judged.irreversible,
            "enforces": tuple(dict.fromkeys(judged.enforces)) if judged.enforces else (),
            "arguments": arguments,
            "fingerprint": rules,
        }
    )


def _settled(
    asks: list[tuple[Finding, AskNeed]], request: ToolRequest, approvals: tuple[Approval, ...], rules: str, now: datetime
) -> tuple[list[Finding], tuple[AskNeed, ...], tuple[str, ...]]:
    """Return what is still to be asked, of whom, and the approvals that settle the rest."""
    needs: dict[tuple[str | None, int], list[Finding]] = {}
    for finding, need in asks:
        needs.setdefault((need.approver, need.expires_s), []).append(finding)
    if not approvals:
        return [finding for finding, _ in asks], tuple(_open_need(key, found) for key, found in needs.items()), ()
    binding = binding_of(request, rules)
    if (answer := rejection(binding, approvals)) is not None:
        reason = f"'{answer.approver.id}' rejected it (approval '{answer.approval_id}')"
        return (
            [Finding(rule=asks[0][0].rule, key="approval", decision=Decision.DENY, reason=reason, instead="Ask what is wanted.")],
            (),
            (),
        )
    missing: list[Finding] = []
    still: list[AskNeed] = []
    used: dict[str, None] = {}
    for key, found in needs.items():
        need = _open_need(key, found)
        approval = opening(need, binding, approvals, requester=request.requester, now=now)
        if approval is not None:
            used[approval.approval_id] = None
            continue
        still.append(need)
        stale = nearest_fault(need, binding, approvals, requester=request.requester, now=now)
        missing += [one if stale is None else one.model_copy(update={"reason": f"{one.reason}; {stale}"}) for one in found[:1]] + found[1:]
    return missing, tuple(still), tuple(used)


def _open_need(key: tuple[str | None, int], findings: list[Finding]) -> AskNeed:
    return AskNeed(rules=tuple(dict.fromkeys(finding.rule for finding in findings)), approver=key[0], expires_s=key[1])


def _each(policy: Policy | Sequence[Policy] | None) -> Sequence[Policy]:
    if policy is None:
        return (_OPEN,)
    return policy if isinstance(policy, (list, tuple)) else (policy,)


def _books(policy: Policy | Sequence[Policy] | None) -> list[Rulebook]:
    return [rulebook(one) for one in _each(policy) if isinstance(one, ToolPolicy)]


def _name_of(function: Callable[..., object]) -> str:
    return str(getattr(function, "__qualname__", type(function).__qualname__))


def _ask_function(function: Callable[[ToolRequest], object], request: ToolRequest, judged: _Judged) -> None:
    name = _name_of(function)
    try:
        answer = _answer(function, request)
    except Exception as error:  # noqa: BLE001 - whatever fails there, the call must not run
        # The error's own text may hold anything; it goes to nobody.
        reason = f"the policy '{name}' failed ({type(error).__name__}), so nobody can tell whether it is allowed"
        judged.findings.append(Finding(rule=name, key="error", decision=Decision.DENY, reason=reason, instead="Report it."))
        return
    if isinstance(answer, Verdict):
        _adopt(answer, judged)
    elif answer is Decision.ALLOW:
        judged.granted.append(Finding(rule=name, key="verdict", decision=answer, reason=f"{name} allows it", instead=""))
    elif answer is Decision.ASK:
        finding = Finding(rule=name, key="verdict", decision=answer, reason=f"{name} wants a person to agree", instead="Wait for the answer.")
        judged.asks.append((finding, _ANY))
    elif answer is Decision.DENY:
        judged.findings.append(Finding(rule=name, key="verdict", decision=answer, reason=f"{name} denies it", instead=_OTHERWISE))


def _answer(function: Callable[[ToolRequest], object], request: ToolRequest) -> Verdict | Decision | None:
    answer = function(request)
    if inspect.iscoroutine(answer):
        answer.close()
        msg = "it is a coroutine function; a policy decides at once"
        raise PolicyError(msg)
    if answer is None or isinstance(answer, Verdict):
        return answer
    if isinstance(answer, str) and answer in set(Decision):
        return Decision(answer)
    msg = f"it answered {answer!r}, which is neither a verdict nor allow, ask, deny or None"
    raise PolicyError(msg)


def _adopt(verdict: Verdict, judged: _Judged) -> None:
    bare = Finding(rule="policy", key="verdict", decision=verdict.decision, reason="a policy decided it", instead="")
    for finding in verdict.findings or (bare,):
        if verdict.decision is Decision.ALLOW:
            judged.granted.append(finding)
        elif verdict.decision is Decision.DENY:
            judged.findings.append(finding)
    if verdict.decision is Decision.ASK:
        # Its decision counts, whatever its findings say: a verdict that allowed may have been raised to a question.
        first = (verdict.findings[0] if verdict.findings else _DEFAULTS[Decision.ASK]).model_copy(update={"decision": Decision.ASK})
        judged.asks += [(first, need) for need in verdict.asks or (_ANY,)]
    judged.reserve += verdict.reserve
    judged.enforces += verdict.enforces
    judged.irreversible |= verdict.irreversible
    judged.effects.add(verdict.effect)

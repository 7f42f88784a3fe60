"""What each key of a rule requires of a call, and what is said where it is not met."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from langchain_ctxguard.core.budgets import BudgetNotCountableError, budget_fault, charge_of, reservation_of, usage_fault
from langchain_ctxguard.core.hosts import address_fault
from langchain_ctxguard.core.origin_forms import parts_of
from langchain_ctxguard.core.origins import Origins, field_standings, standings_of
from langchain_ctxguard.core.path_forms import shown
from langchain_ctxguard.core.paths import Boundary, PathFacts, path_fault
from langchain_ctxguard.core.predicates import leaves_of, may_be_json, values_at
from langchain_ctxguard.core.rulebook import BookedRule, is_pattern, tool_pattern
from langchain_ctxguard.domain.approval import argument_digests
from langchain_ctxguard.domain.budget import Budgets, BudgetState, Charge
from langchain_ctxguard.domain.consent import Consents
from langchain_ctxguard.domain.control import ControlField
from langchain_ctxguard.domain.host import host_pattern
from langchain_ctxguard.domain.policy import DoneCall, ToolPolicy, ToolRequest
from langchain_ctxguard.domain.tool_rule import Decision


class Known(NamedTuple):
    """Everything a verdict may look at. What is `None` was not looked for, and what rests on it is not met."""

    request: ToolRequest
    policy: ToolPolicy
    now: datetime
    consents: Consents | None = None
    budgets: Budgets | None = None
    fields: Collection[ControlField] = ()
    origins: Origins | Sequence[Origins] | None = None
    done: Collection[DoneCall] | None = None
    paths: PathFacts | None = None
    arguments: str | None = None
    """Digest of the arguments."""


@dataclass(frozen=True, slots=True)
class Unmet:
    """A requirement that is not met."""

    key: str
    decision: Decision
    reason: str
    instead: str


def unmet(booked: BookedRule, known: Known, charge: Charge | BudgetNotCountableError | None) -> Iterator[Unmet]:
    """Yield what a rule requires and a call does not meet; `charge` is what `charged` returns for it."""
    rule = booked.rule
    if booked.args:
        yield from _args(booked, known)
    if rule.paths:
        yield from _paths(booked, known)
    if rule.urls:
        yield from _urls(booked, known)
    if rule.consents:
        yield from _consents(booked, known)
    if rule.require_origin:
        yield from _origins(booked, known)
    if rule.forbid_from:
        yield from _forbidden_sources(booked, known)
    if rule.order is not None:
        yield from _order(booked, known)
    if charge is not None:
        yield from _budget(charge, known)


def _args(booked: BookedRule, known: Known) -> Iterator[Unmet]:
    for name, is_missing in booked.unmet_args(known.request):
        test = booked.rule.args[name]
        wants = _wanted(test.among, test.not_in, test.min, test.max, test.matches)
        if is_missing:
            yield Unmet("args", Decision.ASK, f"`{name}` is left out, and nobody judged what the tool takes then", f"Say what it is: {wants}.")
        else:
            value = ", ".join(shown(str(item)) for item in values_at(known.request.args, name)[:3])
            yield Unmet("args", Decision.ASK, f"`{name}` is {value}", f"Allowed is {wants}.")


def _wanted(among: object, not_in: object, least: object, most: object, pattern: object) -> str:
    parts = []
    if among is not None:
        parts.append("one of " + ", ".join(map(str, among)) if isinstance(among, tuple) else str(among))
    if not_in is not None:
        parts.append("none of " + ", ".join(map(str, not_in)) if isinstance(not_in, tuple) else str(not_in))
    if least is not None:
        parts.append(f"at least {least:f}")
    if most is not None:
        parts.append(f"at most {most:f}")
    if pattern is not None:
        parts.append(f"what matches {pattern}")
    return " and ".join(parts)


def _paths(booked: BookedRule, known: Known) -> Iterator[Unmet]:
    policy = known.policy
    for rule in booked.rule.paths:
        below = booked.rule.irreversible if rule.below is None else rule.below
        boundary = Boundary(rule, policy.base, policy.workspace, covers_below=below)
        for name in rule.arg:
            values = values_at(known.request.args, name)
            if not values and not rule.optional:
                yield Unmet("paths", Decision.DENY, f"`{name}` names no path", f"Name the path in `{name}`.")
            elif values and known.paths is None:
                reason = "nothing here can tell where a path leads"
                yield Unmet("paths", Decision.DENY, reason, "Pass `paths=LocalPaths()` to the gate.")
            elif known.paths is not None:
                for value in values:
                    if (fault := path_fault(value, boundary, known.paths)) is not None:
                        yield Unmet("paths", Decision.DENY, fault.reason, fault.instead)


def _urls(booked: BookedRule, known: Known) -> Iterator[Unmet]:
    for rule in booked.rule.urls:
        patterns = tuple(map(host_pattern, rule.hosts))
        advice = f"Use an address of {' or '.join(rule.hosts)}."
        for name in rule.arg:
            values = values_at(known.request.args, name)
            if not values and not rule.optional:
                yield Unmet("urls", Decision.ASK, f"`{name}` names no address", advice)
            for value in values:
                if (fault := address_fault(value, patterns, rule.schemes)) is not None:
                    yield Unmet("urls", Decision.ASK, fault, advice)


def _consents(booked: BookedRule, known: Known) -> Iterator[Unmet]:
    request, consents = known.request, known.consents
    advice = "Ask the user for it; what they say in the conversation does not count, only what the application records."
    if consents is not None and request.requester is None:
        reason = "nobody said in whose name the call is made"
        yield Unmet("consents", Decision.DENY, reason, "Pass the subject in the runtime context.")
        return
    if consents is not None and (consents.subject != request.requester or consents.thread not in {None, request.thread}):
        yield Unmet("consents", Decision.DENY, "the consents at hand are those of another person or thread", "Read them for whoever the call is for.")
        return
    for field, wanted in booked.rule.consents.items():
        if consents is None:
            yield Unmet("consents", Decision.DENY, f"no consent ledger says anything about '{field}'", "Give the guard a store and a subject.")
        elif isinstance(wanted, bool):
            # Not `true` counts as a no, whatever else it says.
            if consents.is_true(field, known.now) is not wanted:
                what = "is not in force" if wanted else "is in force"
                yield Unmet("consents", Decision.DENY, f"the consent '{field}' {what}", advice if wanted else "Do it another way.")
        elif (found := consents.value(field, known.now)) is None or not found.equals(wanted):
            yield Unmet("consents", Decision.DENY, f"the consent '{field}' is not {wanted!r}", advice)


def _origins(booked: BookedRule, known: Known) -> Iterator[Unmet]:
    for name, wanted in booked.rule.require_origin.items():
        for value in _leaves(known.request, name):
            found = {standing.origin for standing in standings_of(value, known.origins)}
            if found.isdisjoint(wanted):
                found |= {standing.origin for standing in field_standings(value, known.fields)}
            if found.isdisjoint(wanted):
                where = f"stands only in what {_speakers(found)} said" if found else "stands in no message"
                reason = f"`{name}` {shown(str(value))} {where}, and has to come from {' or '.join(map(_speaker, wanted))}"
                yield Unmet("require_origin", Decision.ASK, reason, "Use a value exactly as it was given there, or ask the user for it.")


def _forbidden_sources(booked: BookedRule, known: Known) -> Iterator[Unmet]:
    for name, tools in booked.rule.forbid_from.items():
        for value in _leaves(known.request, name):
            for part in (value, *parts_of(value)):
                found = standings_of(part, known.origins)
                sources = sorted({standing.tool for standing in found if standing.tool and _names_tool(tools, standing.tool)})
                if sources and not any(standing.origin in _TRUSTED for standing in (*found, *field_standings(part, known.fields))):
                    reason = f"{shown(str(part))} in `{name}` comes from what `{sources[0]}` returned"
                    yield Unmet("forbid_from", Decision.DENY, reason, "Use what the user gave.")
                    break


def _leaves(request: ToolRequest, name: str) -> Iterable[object]:
    plain = request.args.get(name)
    if type(plain) is str and plain and not may_be_json(plain):
        return (plain,)
    return dict.fromkeys(leaf for value in values_at(request.args, name) for leaf in leaves_of(value) if not isinstance(leaf, bool) and leaf != "")


_TRUSTED = frozenset({"user", "system", "registry"})
_SPEAKERS = {"user": "the user", "ai": "the assistant", "tool": "a tool", "system": "the application", "registry": "the application's records"}


def _speaker(origin: str) -> str:
    return _SPEAKERS[origin]


def _speakers(origins: Collection[str]) -> str:
    return " and ".join(_SPEAKERS[origin] for origin in sorted(origins))


def _names_tool(names: Iterable[str], tool: str) -> bool:
    return any(tool_pattern(name).fullmatch(tool) if is_pattern(name) else name == tool for name in names)


def _order(booked: BookedRule, known: Known) -> Iterator[Unmet]:
    order = booked.rule.order
    assert order is not None  # noqa: S101 - asked only of rules that have one
    if not known.request.thread:
        reason = "what was done before is known by thread, and the call belongs to none"
        yield Unmet("order", Decision.DENY, reason, "Run the agent with `configurable: {thread_id: ...}`.")
        return
    own = argument_digests({name: known.request.args.get(name) for name in order.same or ()})
    for name in order.after:
        earlier = [call for call in known.done or () if _names_tool((name,), call.tool)]
        if not any(all(call.parts.get(part) == digest for part, digest in own.items()) for call in earlier):
            same = f" with the same {' and '.join(own)}" if own else ""
            yield Unmet("order", Decision.DENY, f"`{name}` has not succeeded{same} before it", f"Call `{name}`{same} first.")


def charged(booked: BookedRule, request: ToolRequest, policy: ToolPolicy, now: datetime) -> Charge | BudgetNotCountableError | None:
    """Return what a call takes from a rule's budget, or why that cannot be told; `None` for a rule without one."""
    if booked.rule.budget is None:
        return None
    try:
        return charge_of(request, booked.rule, booked.id, now=now, timezone=policy.timezone)
    except BudgetNotCountableError as error:
        return error


def _budget(charge: Charge | BudgetNotCountableError, known: Known) -> Iterator[Unmet]:
    if isinstance(charge, BudgetNotCountableError):
        yield Unmet("budget", Decision.DENY, str(charge), charge.instead)
        return
    advice = "Do without it, or ask the user for more."
    if known.budgets is None:
        yield Unmet("budget", Decision.DENY, "nobody counts what is used", "Give the guard a store.")
        return
    if counts(charge):
        state = known.budgets.states.get(charge.key, _UNUSED)
        own = reservation_of(known.request, known.arguments) if state.held and known.request.call_id else None
        if (fault := budget_fault(charge, state, own)) is not None:
            yield Unmet("budget", Decision.DENY, fault, advice)
    if (fault := usage_fault(charge.limit, known.budgets.usage.get(charge.limit.per))) is not None:
        yield Unmet("budget", Decision.DENY, fault, advice)


_UNUSED = BudgetState()


def counts(charge: Charge) -> bool:
    """Say whether a charge has to be reserved; tokens and cost are only read."""
    return charge.limit.calls is not None or bool(charge.limit.sum)

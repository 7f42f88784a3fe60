"""When which rules stood where, and what the prompt cache did: from model calls where they are on record, else from tool calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from langchain_ctxguard.core.enforcement import standing_of
from langchain_ctxguard.domain.constraint import Constraint
from langchain_ctxguard.domain.model_call import ModelCall, RuleShown
from langchain_ctxguard.domain.prefix import DriftReason
from langchain_ctxguard.domain.tool_call import CallRecord
from langchain_ctxguard.records.model_calls import ModelCalls
from langchain_ctxguard.report.story import Moment, Rule, Stretch
from langchain_ctxguard.report.words import DRIFTS, listed

_ABOUT_RULES = frozenset({DriftReason.POLICY_UPDATE, DriftReason.CONSTRAINT_REMOVED})


class KnownRules(NamedTuple):
    """What is known of rules beside where they stood."""

    constraints: Mapping[str, Constraint]
    """By reference, from the registry and the config."""

    texts: Mapping[str, str]
    """By reference, from the record of model calls."""

    history: Mapping[str, tuple[str, ...]]
    """By id, what happened in the registry."""

    enforced_by: frozenset[str] = frozenset()
    asked_by: frozenset[str] = frozenset()


def moments_of(calls: ModelCalls) -> list[Moment]:
    """Return the model calls on record."""
    moments: list[Moment] = []
    before: tuple[str, ...] | None = None
    for number, call in enumerate(calls.calls, 1):
        rules = _references(calls.rules.get(call.rules, ()))
        moments.append(_moment(number, call, rules, before))
        before = rules
    return moments


def moments_of_tools(records: Iterable[CallRecord]) -> list[Moment]:
    """Return the moments at which tool calls were judged: each names the rules in force, and that is all it says of them."""
    judged = [record for record in records if record.step == "judged"]
    return [
        Moment(number=number, at=record.at, version=record.context_version or 0, rules=record.constraints) for number, record in enumerate(judged, 1)
    ]


def rules_of(moments: Sequence[Moment], shown: Mapping[str, RuleShown], known: KnownRules) -> list[Rule]:
    """Return every rule that stood anywhere, in the order they came in, and those of registry and config that did not."""
    standing: dict[str, list[Stretch]] = {}
    for moment in moments:
        for place, reference in enumerate(moment.rules or (), 1):
            _extend(standing.setdefault(reference, []), moment, place, is_reminded=reference in shown and shown[reference].is_reminded)
    references = dict.fromkeys((*standing, *known.constraints))
    return [_rule(reference, tuple(standing.get(reference, ())), shown.get(reference), known) for reference in references]


def shown_rules(calls: ModelCalls) -> dict[str, RuleShown]:
    """Return what is on record of each rule, by reference; the newest word counts."""
    return {rule.reference: rule for rules in calls.rules.values() for rule in rules}


def _references(rules: Sequence[RuleShown]) -> tuple[str, ...]:
    return tuple(rule.reference for rule in rules)


def _extend(stretches: list[Stretch], moment: Moment, place: int, *, is_reminded: bool) -> None:
    of = len(moment.rules or ())
    if stretches and (stretches[-1].last, stretches[-1].place, stretches[-1].of) == (moment.number - 1, place, of):
        stretches[-1] = stretches[-1].model_copy(update={"last": moment.number})
    else:
        stretches.append(Stretch(first=moment.number, last=moment.number, place=place, of=of, is_reminded=is_reminded))


def _moment(number: int, call: ModelCall, rules: tuple[str, ...], before: tuple[str, ...] | None) -> Moment:
    return Moment(
        number=number,
        at=call.at,
        version=call.version,
        tokens=call.tokens,
        common=call.common,
        hit=call.hit,
        share=call.share,
        offset=call.first_changed_offset,
        drift=call.drift_reason,
        why=_why(call, rules, before),
        rules=rules,
    )


def _why(call: ModelCall, rules: tuple[str, ...], before: tuple[str, ...] | None) -> str:
    if call.drift_reason is None:
        return ""
    words = DRIFTS[call.drift_reason]
    if call.drift_reason is DriftReason.COMPACTION:
        return f"{words}: version {call.version}"
    moved = "; ".join(_moved(before or (), rules)) if call.drift_reason in _ABOUT_RULES and before is not None else ""
    return f"{words}: {moved}" if moved else words


def _moved(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    came = [rule for rule in after if rule not in before]
    went = [rule for rule in before if rule not in after]
    if came:
        yield f"{listed(came)} came in"
    if went:
        yield f"{listed(went)} left"
    if not came and not went:
        yield "their order changed"


def _rule(reference: str, stretches: tuple[Stretch, ...], shown: RuleShown | None, known: KnownRules) -> Rule:
    constraint = known.constraints.get(reference)
    name = reference.rpartition("@")[0]
    text = known.texts.get(reference, None if constraint is None else constraint.text)
    bare = Rule(reference=reference, text=text, stretches=stretches, history=known.history.get(name, ()))
    if shown is not None:
        return bare.model_copy(update={"authority": shown.authority, "severity": shown.severity, "kind": shown.kind, "sentence": shown.sentence})
    if constraint is None:
        return bare
    validators = {constraint.validator} if isinstance(constraint.validator, str) else set[str]()
    found = standing_of(constraint, validators=validators, enforced_by=known.enforced_by, asked_by=known.asked_by)
    about = {"authority": constraint.authority.value, "severity": constraint.severity.value, "kind": found.kind, "sentence": found.sentence}
    return bare.model_copy(update=about)

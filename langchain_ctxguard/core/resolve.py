"""Rules from every source -> the rules in force at one place and moment. The order they are given in decides nothing."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from itertools import groupby, pairwise
from typing import Literal

from langchain_ctxguard.domain.constraint import Constraint, Place
from langchain_ctxguard.domain.exemption import Exemption
from langchain_ctxguard.domain.value import Value, canonical_json
from langchain_ctxguard.errors import ConstraintConflictError

Contradicts = Callable[[str, str], bool]
"""Says whether two rule texts cannot both be obeyed. Asked in both directions."""

_Edges = set[tuple[int, int]]
"""Who replaces whom, as places in the list of rules."""


class ShadowReason(StrEnum):
    """Why a rule that is known is not in force."""

    OUT_OF_SCOPE = "out_of_scope"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"
    EXEMPTED = "exempted"
    OUTRANKED = "outranked"
    """A stronger rule says the opposite, or has its id."""

    REPEATED = "repeated"
    """The same version with the same text is there already."""


class Shadowed(Value):
    """A rule that is not in force."""

    constraint: Constraint
    reason: ShadowReason
    by: str | None = None
    """`id@version` of the rule in its way, or who granted the exemption."""


class Ignored(Value):
    """An attempt to relax or replace a rule that was not heard."""

    kind: Literal["supersedes", "version", "exemption", "contradiction"]
    by: str
    """`id@version` of the rule that tried, or who granted the exemption."""

    target: str
    """`id@version` of the rule that stands all the same."""

    reason: Literal["lower_authority", "not_newer", "cycle"]


class Conflict(Value):
    """Two rules in force that cannot both be obeyed, and neither outranks the other: a person decides."""

    kind: Literal["contradiction", "two_texts"]
    """`two_texts`: one id and version stands for two texts."""

    first: Constraint
    second: Constraint


class Resolved(Value):
    """What holds, what does not and why. Every rule given is in `in_force` or in `shadowed`; exact repeats count once."""

    in_force: tuple[Constraint, ...] = ()
    """In canonical order, strongest first. Those of authority `inferred` are evidence, never pins."""

    shadowed: tuple[Shadowed, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    ignored: tuple[Ignored, ...] = ()
    changes_at: datetime | None = None
    """The next moment at which time alone changes the answer; until then it may be kept."""


def resolve(
    constraints: Iterable[Constraint],
    *,
    place: Place,
    now: datetime,
    exemptions: Iterable[Exemption] = (),
    contradicts: Contradicts | None = None,
    permits: Callable[[str], bool] | None = None,
) -> Resolved:
    """Return which of `constraints` are in force.

    Authority decides first, then severity, then priority; of one id the newest version holds. A lower authority never takes
    anything from a higher one: what it tries is in `ignored`. A rule that was superseded stays so, also after its successor
    expired; to let a rule rest for a while it is exempted.

    Args:
        constraints: Rules of every source, in any order.
        place: Where the call is made; a rule of another scope is out.
        now: An aware moment.
        exemptions: Rules let rest.
        contradicts: Says whether two texts contradict each other; `None`: only one id with two texts is a conflict.
        permits: Says whether a text is a permission: forbidding what a stronger rule merely permits is no contradiction, and both hold.
    """
    given = [rule for before, rule in pairwise([None, *_in_order(constraints)]) if rule is not None and rule != before]
    rules = [rule for rule in given if place.is_in(rule.scope)]
    shadowed = [Shadowed(constraint=rule, reason=ShadowReason.OUT_OF_SCOPE) for rule in given if not place.is_in(rule.scope)]
    replaced, ignored = _replaced(rules)
    resting, refused = _resting(rules, [exemption for exemption in exemptions if exemption.is_active(place, now)])
    ignored += refused
    standing: list[Constraint] = []
    for index, rule in enumerate(rules):
        if index in replaced:
            shadowed.append(Shadowed(constraint=rule, reason=ShadowReason.SUPERSEDED, by=replaced[index]))
        elif rule.expires_at is not None and rule.expires_at <= now:
            shadowed.append(Shadowed(constraint=rule, reason=ShadowReason.EXPIRED))
        elif index in resting:
            shadowed.append(Shadowed(constraint=rule, reason=ShadowReason.EXEMPTED, by=resting[index].by))
        else:
            standing.append(rule)
    in_force, outranked, conflicts, overruled = _without_contradictions(standing, contradicts, permits or _nothing)
    moments = [rule.expires_at for rule in rules if rule.expires_at is not None and rule.expires_at > now]
    return Resolved(
        in_force=tuple(in_force),
        shadowed=tuple(sorted(shadowed + outranked, key=lambda item: strength(item.constraint))),
        conflicts=tuple(conflicts),
        ignored=tuple(sorted({*ignored, *overruled}, key=lambda item: (item.target, item.kind, item.by, item.reason))),
        changes_at=min([*moments, *(exemption.until for exemption in resting.values())], default=None),
    )


def check_conflicts(resolved: Resolved) -> None:
    """Raise where rules in force contradict each other.

    Raises:
        ConstraintConflictError: with both ids and both texts.
    """
    if not resolved.conflicts:
        return
    conflict = resolved.conflicts[0]
    first, second = conflict.first, conflict.second
    more = len(resolved.conflicts) - 1
    what = "stand for two texts" if conflict.kind == "two_texts" else "contradict each other"
    also = f" {more} more {'pair does' if more == 1 else 'pairs do'} so too." if more else ""
    msg = (
        f"Rules '{first.reference}' ({first.authority}) and '{second.reference}' ({second.authority}) {what}, and neither outranks the other: "
        f"{first.text!r} and {second.text!r}.{also} Let one supersede the other, or give one the higher authority, severity or priority."
    )
    raise ConstraintConflictError(msg, first=first.constraint_id, second=second.constraint_id)


def strength(constraint: Constraint) -> tuple[int, int, int, str, int, str]:
    """Return the key of the canonical order, strongest first: authority, severity, priority, id, newest version."""
    return (*_rank(constraint), constraint.constraint_id, -constraint.version, constraint.text)


def _in_order(constraints: Iterable[Constraint]) -> list[Constraint]:
    ordered: list[Constraint] = []
    for _, same in groupby(sorted(constraints, key=strength), key=strength):
        alike = list(same)
        # Written out only to tell those apart that are alike in all of this: it costs ten times as much.
        ordered += sorted(alike, key=lambda rule: canonical_json(rule.model_dump(mode="json"))) if len(alike) > 1 else alike
    return ordered


def _rank(constraint: Constraint) -> tuple[int, int, int]:
    return constraint.authority.rank, constraint.severity.rank, -constraint.priority


def _replaced(rules: Sequence[Constraint]) -> tuple[dict[int, str], list[Ignored]]:
    """Return which rules have a successor, and the attempts that fail. Expired successors count: what was replaced does not come back."""
    newer = _newer_versions(rules)
    named, ignored = _named_successors(rules)
    # In a ring of rules each would remove the next and nothing would hold: none of its claims counts.
    ring = (_in_rings(newer | named)) & named - newer
    ignored += [Ignored(kind="supersedes", by=rules[winner].reference, target=rules[loser].reference, reason="cycle") for winner, loser in ring]
    replaced: dict[int, str] = {}
    for winner, loser in sorted((newer | named) - ring):
        replaced.setdefault(loser, rules[winner].reference)
    return replaced, ignored


def _newer_versions(rules: Sequence[Constraint]) -> _Edges:
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for index, rule in enumerate(rules):
        groups[rule.constraint_id].append(index)
    edges: _Edges = set()
    for group in groups.values():
        best: int | None = None
        for _, same in groupby(sorted(group, key=lambda index: -rules[index].version), key=lambda index: rules[index].version):
            equals = list(same)
            if best is not None:
                edges.update((best, index) for index in equals if rules[best].authority.rank <= rules[index].authority.rank)
            # A rule's place in the list tells its strength: the strongest of all newer versions speaks for them.
            best = min(equals) if best is None else min(best, *equals)
    return edges


def _named_successors(rules: Sequence[Constraint]) -> tuple[_Edges, list[Ignored]]:
    named: defaultdict[str, list[int]] = defaultdict(list)
    for index, rule in enumerate(rules):
        named[rule.reference].append(index)
    edges: _Edges = set()
    ignored: list[Ignored] = []
    for winner, rule in enumerate(rules):
        for loser in named.get(rule.supersedes or "", ()):
            target = rules[loser]
            reason: Literal["lower_authority", "not_newer"] | None = None
            if rule.constraint_id == target.constraint_id and rule.version <= target.version:
                reason = "not_newer"
            elif rule.authority.rank > target.authority.rank:
                reason = "lower_authority"
            if reason is None:
                edges.add((winner, loser))
            else:
                ignored.append(Ignored(kind="supersedes", by=rule.reference, target=target.reference, reason=reason))
    return edges, ignored


def _in_rings(edges: _Edges) -> _Edges:
    """Return the edges left when every end is taken off: those of rings, and those between two rings."""
    backwards = {(loser, winner) for winner, loser in _without_starts(edges)}
    return {(winner, loser) for loser, winner in _without_starts(backwards)}


def _without_starts(edges: _Edges) -> _Edges:
    outgoing: defaultdict[int, list[int]] = defaultdict(list)
    incoming = Counter(loser for _, loser in edges)
    for winner, loser in edges:
        outgoing[winner].append(loser)
    starts = [winner for winner in outgoing if not incoming[winner]]
    taken: set[int] = set()
    while starts:
        winner = starts.pop()
        taken.add(winner)
        for loser in outgoing.get(winner, ()):
            incoming[loser] -= 1
            if not incoming[loser]:
                starts.append(loser)
    return {(winner, loser) for winner, loser in edges if winner not in taken}


def _resting(rules: Sequence[Constraint], active: Sequence[Exemption]) -> tuple[dict[int, Exemption], list[Ignored]]:
    by_id: defaultdict[str, list[Exemption]] = defaultdict(list)
    # The one that lasts longest is the one that decides when the rule comes back.
    for exemption in sorted(active, key=lambda item: (-item.until.timestamp(), item.by, canonical_json(item.model_dump(mode="json")))):
        by_id[exemption.constraint_id].append(exemption)
    resting: dict[int, Exemption] = {}
    ignored: list[Ignored] = []
    for index, rule in enumerate(rules):
        for exemption in by_id.get(rule.constraint_id, ()):
            if not exemption.is_for(rule):
                continue
            if exemption.authority.rank <= rule.authority.rank:
                resting.setdefault(index, exemption)
            else:
                ignored.append(Ignored(kind="exemption", by=exemption.by, target=rule.reference, reason="lower_authority"))
    return resting, ignored


def _without_contradictions(
    rules: Sequence[Constraint], contradicts: Contradicts | None, permits: Callable[[str], bool]
) -> tuple[list[Constraint], list[Shadowed], list[Conflict], list[Ignored]]:
    kept: list[Constraint] = []
    shadowed: list[Shadowed] = []
    conflicts: list[Conflict] = []
    ignored: list[Ignored] = []
    ids: defaultdict[str, list[Constraint]] = defaultdict(list)
    for rule in rules:
        same_id = ids[rule.constraint_id]
        copy = next((other for other in same_id if other.reference == rule.reference and other.text == rule.text), None)
        if copy is not None:
            shadowed.append(Shadowed(constraint=rule, reason=ShadowReason.REPEATED, by=copy.reference))
            continue
        others = [other for other in kept if other.constraint_id != rule.constraint_id] if contradicts is not None else []
        opposed = [other for other in others if contradicts is not None and _is_opposed(other, rule, contradicts)]
        # A weaker rule may ask for more than a stronger one: only what would relax it is not heard.
        opposed = [other for other in opposed if not (_rank(other) < _rank(rule) and permits(other.text) and not permits(rule.text))]
        stronger = next((other for other in same_id if other.authority.rank < rule.authority.rank), None)
        kind: Literal["version", "contradiction"] = "version"
        if stronger is None:
            stronger = next((other for other in opposed if _rank(other) < _rank(rule)), None)
            kind = "contradiction"
        if stronger is not None:
            shadowed.append(Shadowed(constraint=rule, reason=ShadowReason.OUTRANKED, by=stronger.reference))
            if stronger.authority.rank < rule.authority.rank:
                ignored.append(Ignored(kind=kind, by=rule.reference, target=stronger.reference, reason="lower_authority"))
            continue
        conflicts += [Conflict(kind="two_texts", first=other, second=rule) for other in same_id]
        conflicts += [Conflict(kind="contradiction", first=other, second=rule) for other in opposed]
        kept.append(rule)
        same_id.append(rule)
    return kept, shadowed, conflicts, ignored


def _nothing(_: str) -> bool:
    return False


def _is_opposed(first: Constraint, second: Constraint, contradicts: Contradicts) -> bool:
    return first.text != second.text and (contradicts(first.text, second.text) or contradicts(second.text, first.text))

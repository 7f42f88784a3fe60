"""The laws of `resolve`, for any rules."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from langchain_ctxguard.core.resolve import Resolved, resolve
from langchain_ctxguard.domain.constraint import Authority, Constraint, Place, Scope, Severity
from langchain_ctxguard.domain.exemption import Exemption

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
PLACE = Place(thread="t-1", workspace="/srv/app", agent="writer", tools=frozenset({"send"}))
IDS = ["a", "b", "c"]
moments = st.sampled_from([NOW - timedelta(hours=1), NOW, NOW + timedelta(hours=1), NOW + timedelta(days=1)])
scopes = st.sampled_from(
    [
        Scope(),
        Scope(kind="thread", value="t-1"),
        Scope(kind="thread", value="t-2"),
        Scope(kind="workspace", value="/srv"),
        Scope(kind="tool", value="send"),
        Scope(kind="agent", value="reader"),
    ]
)
rules = st.builds(
    Constraint,
    constraint_id=st.sampled_from(IDS),
    version=st.integers(1, 3),
    text=st.sampled_from(["may delete", "never delete", "不得删除", "log it"]),
    scope=scopes,
    authority=st.sampled_from(Authority),
    severity=st.sampled_from(Severity),
    priority=st.integers(-1, 1),
    expires_at=st.none() | moments,
    supersedes=st.none() | st.builds("{}@{}".format, st.sampled_from(IDS), st.integers(1, 3)),
)
exemptions = st.builds(
    Exemption,
    constraint_id=st.sampled_from(IDS),
    version=st.none() | st.integers(1, 3),
    by=st.sampled_from(["ann", "ops"]),
    authority=st.sampled_from(Authority),
    reason=st.just("repair"),
    until=moments,
    scope=st.none() | scopes,
)
several = st.lists(rules, max_size=8)
granted = st.lists(exemptions, max_size=4)


def contradicts(first: str, second: str) -> bool:
    return (first, second) in {("may delete", "never delete"), ("may delete", "不得删除")}


def resolved(given_rules: list[Constraint], given_exemptions: list[Exemption], now: datetime = NOW) -> Resolved:
    return resolve(given_rules, place=PLACE, now=now, exemptions=given_exemptions, contradicts=contradicts)


@given(several, granted, st.randoms(use_true_random=False))
def test_the_order_rules_are_given_in_decides_nothing(some: list[Constraint], let_rest: list[Exemption], chance: object) -> None:
    """Any permutation of rules and exemptions, with any of them repeated, gives the same answer in every part."""
    shuffled, rested = [*some, *some[:2]], [*let_rest, *let_rest[:1]]
    chance.shuffle(shuffled)  # type: ignore[attr-defined]  # Hypothesis' own Random
    chance.shuffle(rested)  # type: ignore[attr-defined]  # as above
    assert resolved(some, let_rest) == resolved(shuffled, rested)


@given(several, granted, rules, exemptions)
def test_a_lower_authority_never_relaxes_a_higher_one(some: list[Constraint], let_rest: list[Exemption], more: Constraint, rest: Exemption) -> None:
    """Whatever rule or exemption comes from below, every rule above it that held still holds."""
    before = resolved(some, let_rest).in_force
    after = resolved([*some, more], let_rest).in_force
    rested = resolved(some, [*let_rest, rest]).in_force
    assert [rule for rule in before if rule.authority.rank < more.authority.rank] == [
        rule for rule in after if rule.authority.rank < more.authority.rank
    ]
    assert [rule for rule in before if rule.authority.rank < rest.authority.rank] == [
        rule for rule in rested if rule.authority.rank < rest.authority.rank
    ]


@given(several, granted)
def test_every_rule_is_accounted_for_once(some: list[Constraint], let_rest: list[Exemption]) -> None:
    """A rule is in force or set aside with a reason; none is both, none is forgotten."""
    found = resolved(some, let_rest)
    accounted = [*found.in_force, *(item.constraint for item in found.shadowed)]
    assert sorted(map(repr, {repr(rule): rule for rule in some}.values())) == sorted(map(repr, accounted))


@given(several, granted)
def test_what_is_in_force_holds_here_and_now(some: list[Constraint], let_rest: list[Exemption]) -> None:
    """Nothing expired, out of scope or below its own replacement is shown, and the strongest comes first."""
    found = resolved(some, let_rest)
    for rule in found.in_force:
        assert PLACE.is_in(rule.scope)
        assert rule.expires_at is None or rule.expires_at > NOW
        newer = [
            other
            for other in some
            if other.constraint_id == rule.constraint_id
            and other.version > rule.version
            and other.authority.rank <= rule.authority.rank
            and PLACE.is_in(other.scope)
        ]
        assert [] == newer
    ranks = [(rule.authority.rank, rule.severity.rank, -rule.priority) for rule in found.in_force]
    assert sorted(ranks) == ranks


@given(several, granted)
def test_the_answer_lasts_until_it_says_it_changes(some: list[Constraint], let_rest: list[Exemption]) -> None:
    """Up to `changes_at` the same rules are in force, so a kept answer is a right one."""
    found = resolved(some, let_rest)
    later = NOW + timedelta(days=365) if found.changes_at is None else found.changes_at - timedelta(microseconds=1)
    assert found.in_force == resolved(some, let_rest, now=later).in_force


@given(several, granted)
def test_resolving_what_is_in_force_changes_nothing(some: list[Constraint], let_rest: list[Exemption]) -> None:
    """What holds, holds by itself: those in force do not need the ones set aside."""
    once = resolved(some, let_rest).in_force
    assert once == resolved(list(once), []).in_force

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from langchain_ctxguard.core.resolve import Ignored, Resolved, ShadowReason, check_conflicts, resolve
from langchain_ctxguard.domain.constraint import Constraint, Place, Scope
from langchain_ctxguard.domain.exemption import Exemption
from langchain_ctxguard.errors import ConstraintConflictError

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
HERE = Place(thread="t-1", workspace="/srv/app/web", agent="writer", tools=frozenset({"send"}))


def rule(reference: str = "a@1", text: str | None = None, **fields: Any) -> Constraint:
    name, _, version = reference.partition("@")
    return Constraint.model_validate({"constraint_id": name, "version": int(version or 1), "text": text or f"rule {reference}", **fields})


def exemption(target: str = "a", **fields: Any) -> Exemption:
    given = {"constraint_id": target, "by": "ops", "authority": "system", "reason": "repair", "until": NOW + timedelta(hours=1), **fields}
    return Exemption.model_validate(given)


def resolved(*rules: Constraint, **options: Any) -> Resolved:
    return resolve(rules, **{"place": HERE, "now": NOW, **options})


def in_force(*rules: Constraint, **options: Any) -> list[str]:
    return [found.reference for found in resolved(*rules, **options).in_force]


def reasons(*rules: Constraint, **options: Any) -> dict[str, str]:
    return {item.constraint.reference: item.reason.value for item in resolved(*rules, **options).shadowed}


def opposite(first: str, second: str) -> bool:
    """Texts contradict each other when one is the other with `not` before it."""
    return second == f"not {first}"


def test_nothing_resolves_to_nothing() -> None:
    """Without rules there is nothing in force and nothing to say."""
    assert Resolved() == resolved()


def test_the_strongest_rule_comes_first() -> None:
    """Authority decides before severity, severity before priority, priority before the name."""
    rules = [
        rule("e", authority="user", priority=99),
        rule("d", authority="system", severity="low"),
        rule("c", authority="system", severity="critical"),
        rule("b", authority="system", severity="critical", priority=1),
        rule("a", authority="organization"),
    ]
    assert ["b@1", "c@1", "d@1", "a@1", "e@1"] == in_force(*rules)


def test_rules_of_overlapping_scopes_are_all_kept() -> None:
    """A narrow rule does not switch off a wide one."""
    scopes = [{}, {"kind": "thread", "value": "t-1"}, {"kind": "workspace", "value": "/srv/app"}, {"kind": "tool", "value": "send"}]
    rules = [rule(f"r{number}", scope=scope) for number, scope in enumerate(scopes)]
    assert ["r0@1", "r1@1", "r2@1", "r3@1"] == in_force(*rules)


@pytest.mark.parametrize(
    "scope",
    [
        {"kind": "thread", "value": "t-2"},
        {"kind": "workspace", "value": "/srv/app/we"},
        {"kind": "workspace", "value": "/srv/app/web/below"},
        {"kind": "tool", "value": "read"},
        {"kind": "agent", "value": "reader"},
    ],
)
def test_a_rule_of_another_place_is_out(scope: dict[str, str]) -> None:
    """A path holds for what is below it, not for a neighbour whose name begins the same."""
    assert {"a@1": "out_of_scope"} == reasons(rule(scope=scope))


def test_a_rule_ends_at_its_moment() -> None:
    """In force until the moment, out from it on; until then the answer may be kept."""
    ending = rule(expires_at=NOW)
    assert ["a@1"] == in_force(ending, now=NOW - timedelta(seconds=1))
    assert {"a@1": "expired"} == reasons(ending)
    assert NOW == resolved(ending, now=NOW - timedelta(seconds=1)).changes_at
    assert resolved(ending).changes_at is None


def test_the_newest_version_holds() -> None:
    """Of one id only the highest number is in force, whatever its severity."""
    found = resolved(rule("a@1"), rule("a@3", severity="low"), rule("a@2"))
    assert ["a@3"] == [item.reference for item in found.in_force]
    assert {"a@1": "superseded", "a@2": "superseded"} == {item.constraint.reference: item.reason.value for item in found.shadowed}


def test_a_superseded_rule_is_out_and_stays_out() -> None:
    """It does not come back when its successor is itself replaced or expires."""
    assert ["b@1"] == in_force(rule("a@1"), rule("b@1", supersedes="a@1"))
    assert ["c@1"] == in_force(rule("a@1"), rule("b@1", supersedes="a@1"), rule("c@1", supersedes="b@1"))
    assert [] == in_force(rule("a@1"), rule("a@2", expires_at=NOW))
    assert [] == in_force(rule("a@1"), rule("b@1", supersedes="a@1", expires_at=NOW))


def test_a_successor_elsewhere_replaces_nothing_here() -> None:
    """What replaces a rule in another thread leaves it in force in this one."""
    assert ["a@1"] == in_force(rule("a@1"), rule("b@1", supersedes="a@1", scope={"kind": "thread", "value": "t-2"}))


def test_a_successor_names_a_version() -> None:
    """A rule written against version 1 replaces no version 2."""
    assert ["a@2", "b@1"] == in_force(rule("a@2"), rule("b@1", supersedes="a@1"))


def test_a_lower_authority_replaces_nothing_above_it() -> None:
    """Neither a newer version nor `supersedes` lets a user's rule take the place of the system's; both attempts are reported."""
    found = resolved(rule("a@1"), rule("a@2", authority="user"), rule("b@1", authority="user", supersedes="a@1"))
    assert ["a@1", "b@1"] == [item.reference for item in found.in_force]
    assert (
        Ignored(kind="supersedes", by="b@1", target="a@1", reason="lower_authority"),
        Ignored(kind="version", by="a@2", target="a@1", reason="lower_authority"),
    ) == found.ignored
    assert ["outranked"] == [item.reason.value for item in found.shadowed]


def test_a_lower_authority_may_hold_an_id_whose_owner_is_gone() -> None:
    """Where the system's version expired, it is in nobody's way."""
    assert ["a@2"] == in_force(rule("a@1", expires_at=NOW), rule("a@2", authority="user"))


def test_a_rule_does_not_replace_a_newer_one_of_its_id() -> None:
    """`supersedes` looks back, never forward or at itself."""
    found = resolved(rule("a@1", supersedes="a@2"), rule("a@2", supersedes="a@2"))
    assert ["a@2"] == [item.reference for item in found.in_force]
    assert {("a@1", "not_newer"), ("a@2", "not_newer")} == {(item.by, item.reason) for item in found.ignored}


def test_a_ring_of_successors_removes_nothing() -> None:
    """Two rules that replace each other would both be gone: neither claim counts, both are reported."""
    found = resolved(rule("a@1", supersedes="b@1"), rule("b@1", supersedes="a@1"))
    assert ["a@1", "b@1"] == [item.reference for item in found.in_force]
    assert ["cycle", "cycle"] == [item.reason for item in found.ignored]


def test_a_ring_through_versions_leaves_the_newest() -> None:
    """In a ring closed by version numbers the newest version still holds."""
    assert ["a@2", "b@1"] == in_force(rule("a@1", supersedes="b@1"), rule("b@1", supersedes="a@2"), rule("a@2"))


def test_an_exempted_rule_rests_until_its_moment() -> None:
    """It is out while the exemption lasts and back when it ends."""
    until = NOW + timedelta(hours=1)
    found = resolved(rule(), exemptions=[exemption()])
    assert ((), "ops", until) == (found.in_force, found.shadowed[0].by, found.changes_at)
    assert ["a@1"] == in_force(rule(), exemptions=[exemption()], now=until)


def test_of_two_exemptions_the_longer_one_decides() -> None:
    """The answer does not change when the shorter one ends."""
    longer = NOW + timedelta(hours=2)
    assert longer == resolved(rule(), exemptions=[exemption(), exemption(until=longer)]).changes_at


def test_an_exemption_is_of_a_version_and_a_place() -> None:
    """A new version was exempted by nobody, and a thread's exemption is no one else's."""
    assert ["a@2"] == in_force(rule("a@1"), rule("a@2"), exemptions=[exemption(version=1)])
    assert ["a@1"] == in_force(rule(), exemptions=[exemption(scope={"kind": "thread", "value": "t-2"})])
    assert [] == in_force(rule(), exemptions=[exemption(scope={"kind": "thread", "value": "t-1"})])


def test_an_exemption_from_below_is_not_heard() -> None:
    """A user exempts nobody from the organization's rule; the attempt is reported."""
    found = resolved(rule(authority="organization"), exemptions=[exemption(authority="user", by="ann")])
    assert ["a@1"] == [item.reference for item in found.in_force]
    assert (Ignored(kind="exemption", by="ann", target="a@1", reason="lower_authority"),) == found.ignored


def test_a_repeated_rule_stands_once() -> None:
    """The same version with the same text from two sources is one rule, and the copy that still holds is the one that counts."""
    assert ["a@1"] == in_force(rule(), rule())
    assert () == resolved(rule(), rule()).shadowed
    found = resolved(rule(), rule(authority="user"))
    assert ("system", ShadowReason.REPEATED) == (found.in_force[0].authority, found.shadowed[0].reason)
    assert ["a@1"] == in_force(rule(expires_at=NOW), rule(authority="user"))


def test_one_version_with_two_texts_is_a_conflict() -> None:
    """Nobody can say which text the number stands for."""
    found = resolved(rule("a@1", "one"), rule("a@1", "two"))
    assert [("two_texts", "one", "two")] == [(item.kind, item.first.text, item.second.text) for item in found.conflicts]
    with pytest.raises(ConstraintConflictError, match=r"'a@1' \(system\) and 'a@1' \(system\) stand for two texts.*'one' and 'two'"):
        check_conflicts(found)


def test_one_version_with_two_texts_of_two_authorities_is_decided() -> None:
    """The higher authority's text stands."""
    found = resolved(rule("a@1", "one", authority="user"), rule("a@1", "two"))
    assert (["two"], ()) == ([item.text for item in found.in_force], found.conflicts)


@pytest.mark.parametrize("fields", [{"authority": "user"}, {"severity": "low"}, {"priority": -1}])
def test_the_outranked_side_of_a_contradiction_is_out(fields: dict[str, Any]) -> None:
    """Authority, severity and priority decide between two rules that cannot both be obeyed."""
    found = resolved(rule("a", "delete"), rule("b", "not delete", **fields), contradicts=opposite)
    assert (["delete"], (), "a@1") == ([item.text for item in found.in_force], found.conflicts, found.shadowed[0].by)
    check_conflicts(found)


def test_only_a_lower_authority_is_reported_for_contradicting() -> None:
    """Among equals the weaker rule is set aside; from below it is an attempt."""
    below = resolved(rule("a", "delete"), rule("b", "not delete", authority="user"), contradicts=opposite)
    beside = resolved(rule("a", "delete"), rule("b", "not delete", severity="low"), contradicts=opposite)
    assert ((Ignored(kind="contradiction", by="b@1", target="a@1", reason="lower_authority"),), ()) == (below.ignored, beside.ignored)


@pytest.mark.parametrize("versions", [("a@1", "b@1"), ("a@1", "b@9")])
def test_a_contradiction_of_equals_is_a_conflict(versions: tuple[str, str]) -> None:
    """Neither outranks the other, whatever their own numbers say: both texts go to a person."""
    found = resolved(rule(versions[0], "删除"), rule(versions[1], "not 删除"), contradicts=opposite)
    with pytest.raises(ConstraintConflictError) as caught:
        check_conflicts(found)
    assert ("a", "b") == (caught.value.first, caught.value.second)
    assert "'删除' and 'not 删除'" in str(caught.value)
    assert 2 == len(found.in_force)


def test_without_a_judge_no_two_texts_contradict() -> None:
    """What rules mean is judged by what is passed in, or not at all."""
    assert () == resolved(rule("a", "delete"), rule("b", "not delete")).conflicts


def test_a_set_aside_rule_contradicts_nobody() -> None:
    """What is expired, replaced or outranked is no party to a conflict."""
    weak = rule("b", "not delete", authority="user")
    found = resolved(rule("a", "delete"), weak, rule("c", "not not delete", authority="user"), contradicts=opposite)
    assert (["a@1", "c@1"], ()) == ([item.reference for item in found.in_force], found.conflicts)


def test_thousands_of_versions_and_successors_are_resolved_in_a_moment() -> None:
    """A long history costs time in proportion."""
    versions = [rule(f"a@{number}", "x") for number in range(1, 2_001)]
    chain = [rule("c0@1"), *(rule(f"c{number}@1", supersedes=f"c{number - 1}@1") for number in range(1, 2_000))]
    ring = [rule(f"r{number}@1", supersedes=f"r{(number + 1) % 1_000}@1") for number in range(1_000)]
    started = time.perf_counter()
    found = resolved(*versions, *chain, *ring)
    assert time.perf_counter() - started < 5
    assert {"a@2000", "c1999@1", *(f"r{number}@1" for number in range(1_000))} == {item.reference for item in found.in_force}


def test_an_inferred_rule_is_below_all_others() -> None:
    """What was only heard yields to what was declared."""
    heard = rule("z", "not delete", authority="inferred", scope=Scope(kind="thread", value="t-1"))
    assert ["a@1"] == in_force(heard, rule("a", "delete", authority="user", severity="low"), contradicts=opposite)


def test_of_the_versions_that_are_replaced_the_newest_is_told_first() -> None:
    """The order of what is set aside is that of strength, however the rules were listed."""
    found = resolved(*(rule(f"a@{version}") for version in (2, 1, 4, 3)))
    assert ["a@3", "a@2", "a@1"] == [item.constraint.reference for item in found.shadowed]


def test_a_newer_version_may_name_the_one_it_replaces() -> None:
    """Said twice, it is replaced all the same."""
    assert ["a@2"] == in_force(rule("a@1"), rule("a@2", supersedes="a@1"))


@pytest.mark.parametrize(
    ("texts", "settings", "expected"),
    [
        (("may delete", "not may delete"), {"authority": "user"}, (["a@1", "b@1"], 0)),
        (("may delete", "not may delete"), {}, (["a@1", "b@1"], 1)),
        (("not may delete", "may delete"), {"authority": "user"}, (["a@1"], 0)),
        (("delete", "not delete"), {"authority": "user"}, (["a@1"], 0)),
    ],
)
def test_a_weaker_rule_may_forbid_what_a_stronger_one_permits(
    texts: tuple[str, str], settings: dict[str, Any], expected: tuple[list[str], int]
) -> None:
    """It asks for more and takes nothing; it may not permit what the stronger one forbids, and equals are for a person to decide."""
    rules = rule("a", texts[0]), rule("b", texts[1], **settings)
    found = resolved(*rules, contradicts=opposite, permits=lambda text: text.startswith("may"))
    assert expected == ([item.reference for item in found.in_force], len(found.conflicts))

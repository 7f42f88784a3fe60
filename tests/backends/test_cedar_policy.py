from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_ctxguard.backends.cedar_policy import CedarPolicy
from langchain_ctxguard.core.authorize import authorize, fingerprint_of
from langchain_ctxguard.domain.policy import Decision, ToolPolicy, ToolRequest, Verdict
from langchain_ctxguard.errors import ConfigurationError

NOW = datetime(2026, 6, 30, tzinfo=UTC)
POLICIES = """
@id("reads") permit(principal, action == Action::"read", resource);
@id("small") permit(principal, action == Action::"pay", resource) when { context.args.amount <= 100 };
@id("large") @ask("finance") permit(principal, action == Action::"pay", resource) when { context.args.amount > 100 };
@id("exact") permit(principal, action == Action::"weigh", resource) when { context.args.grams.lessThan(decimal("2.5")) };
@id("any") @ask permit(principal, action == Action::"send", resource);
@id("all of tools") permit(principal in Group::"admins", action, resource);
@id("never") forbid(principal, action == Action::"drop", resource);
@id("no root") forbid(principal, action, resource) when { context.args has user && context.args.user == "root" };
@id("cap") forbid(principal, action == Action::"grant", resource) when { context.args.level > 3 };
"""
ENTITIES = [{"uid": {"type": "User", "id": "root-admin"}, "attrs": {}, "parents": [{"type": "Group", "id": "admins"}]}]
POLICY = CedarPolicy(POLICIES, entities=ENTITIES)


def decide(tool: str, *, who: str = "u1", **args: Any) -> Verdict:
    return authorize(ToolRequest(tool=tool, args=args, requester=who, call_id="c", thread="t"), POLICY, now=NOW)


@pytest.mark.parametrize(
    ("tool", "args", "expected"),
    [
        ("read", {}, "allow"),
        ("read", {"user": "root"}, "deny"),
        ("pay", {"amount": 100}, "allow"),
        ("pay", {"amount": 101}, "ask"),
        ("weigh", {"grams": 2.4}, "allow"),
        ("weigh", {"grams": 2.5}, "deny"),
        ("send", {"to": ["a", "b"], "cc": None}, "ask"),
        ("drop", {}, "deny"),
        ("unknown", {}, "deny"),
    ],
)
def test_permit_allows_forbid_denies_and_what_nothing_permits_is_denied(tool: str, args: dict[str, Any], expected: str) -> None:
    """The same requests, the same verdicts."""
    assert Decision(expected) is decide(tool, **args).decision


def test_the_verdict_names_the_policies() -> None:
    """By the id their author gave them."""
    assert (("never",), "Cedar forbids it (never)") == ((found := decide("drop", who="root-admin")).rules, found.reason)
    assert "no Cedar policy permits it" == decide("unknown").reason


def test_an_annotation_says_who_is_asked() -> None:
    """A role, or anybody."""
    assert ["finance"] == [need.approver for need in decide("pay", amount=500).asks]
    assert [None] == [need.approver for need in decide("send").asks]


def test_groups_come_from_the_entities() -> None:
    """What is known of a user is given with the policies, not by the call."""
    assert Decision.ALLOW is decide("anything", who="root-admin").decision
    assert Decision.DENY is decide("anything", who="u1").decision


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("grant", {"level": "9"}),
        ("grant", {}),
        ("read", {"user": {"__entity": {"type": "User", "id": "root-admin"}}}),
        ("read", {"x": {"__extn": {"fn": "ip", "arg": "nonsense"}}}),
        ("read", {"x": 2**70}),
        ("read", {"x": 0.123456}),
        ("read", {"x": float("nan")}),
        ("read", {"x": "\ud800"}),
    ],
)
def test_a_policy_that_cannot_be_evaluated_denies(tool: str, args: dict[str, Any]) -> None:
    """Cedar passes over a `forbid` that fails; here nobody slips past it that way."""
    found = decide(tool, who="root-admin", **args)
    assert Decision.DENY is found.decision
    assert "PolicyError" in found.reason


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=6,
    )
)
def test_no_arguments_break_it(value: Any) -> None:
    """A model can send anything."""
    assert decide("read", x=value).decision in {Decision.ALLOW, Decision.DENY}


def test_beside_other_policies_the_strictest_decides() -> None:
    """A permit of Cedar opens nothing that the rules refuse."""
    rules = ToolPolicy.from_dict({"rules": [{"tool": "read", "verdict": "deny"}]})
    assert Decision.DENY is authorize(ToolRequest(tool="read", requester="u1"), [rules, POLICY], now=NOW).decision


def test_other_policies_have_another_fingerprint() -> None:
    """Approvals are bound to the text."""
    assert fingerprint_of(POLICY) == fingerprint_of(CedarPolicy(POLICIES, entities=ENTITIES))
    assert fingerprint_of(POLICY) != fingerprint_of(CedarPolicy(POLICIES))


def test_what_cedar_cannot_read_is_a_configuration_error(tmp_path: Path) -> None:
    """Raised before any call; a missing file too."""
    with pytest.raises(ConfigurationError, match="Cedar cannot read"):
        CedarPolicy("permit(")
    with pytest.raises(ConfigurationError, match="Cedar cannot read"):
        CedarPolicy("", entities=[{"uid": 5}])
    with pytest.raises(ConfigurationError, match="Cannot read"):
        CedarPolicy.from_file(tmp_path / "none.cedar")
    (tmp_path / "p.cedar").write_text(POLICIES)
    assert Decision.ALLOW is CedarPolicy.from_file(tmp_path / "p.cedar")(ToolRequest(tool="read")).decision


def test_without_the_extra_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence, one command."""
    monkeypatch.setitem(sys.modules, "cedarpy", None)
    with pytest.raises(ConfigurationError, match=r"langchain-ctxguard\[cedar\]"):
        CedarPolicy(POLICIES)

from __future__ import annotations

from typing import Any

import pytest

from langchain_ctxguard.core.enforcement import check_enforcement, check_name, standing_of
from langchain_ctxguard.domain.constraint import Constraint
from langchain_ctxguard.errors import ConfigurationError


def rule(enforcement: str = "runtime", name: str = "a", **fields: Any) -> Constraint:
    return Constraint.model_validate({"constraint_id": name, "text": "x", "enforcement": enforcement, **fields})


def kind(constraint: Constraint, **registered: Any) -> str:
    return standing_of(constraint, **registered).kind


def test_guidance_says_that_it_is_guidance() -> None:
    """A plain string is shown and never called more."""
    assert ("shown", "guidance, not enforced") == tuple(standing_of(Constraint.from_text("Be kind."), enforced_by=["a"]).model_dump().values())


def test_a_runtime_rule_needs_a_tool_rule_or_a_validator() -> None:
    """Either makes it hold; a name nobody registered does not."""
    named = rule(validator="no-deletes")
    assert ["unenforced", "enforced", "unenforced", "enforced", "enforced", "enforced"] == [
        kind(rule()),
        kind(rule(), enforced_by=["a"]),
        kind(named),
        kind(named, validators=["no-deletes"]),
        kind(named, enforced_by={"a"}),
        kind(rule(validator={"pattern": "x"})),
    ]


def test_approval_needs_a_rule_that_asks() -> None:
    """A tool rule that merely forbids asks nobody."""
    asked = rule("human_approval")
    assert ["unenforced", "unenforced", "enforced"] == [kind(asked), kind(asked, enforced_by=["a"]), kind(asked, asked_by=["a"])]


@pytest.mark.parametrize(("on_fail", "expected"), [("stop", "enforced"), ("retry", "enforced"), ("flag", "checked")])
def test_only_a_check_that_stops_the_run_is_enforcement(on_fail: str, expected: str) -> None:
    """What is put on record, or asked again, may still stand."""
    assert expected == kind(rule("verifier", validator={"pattern": "x"}, on_fail=on_fail))


def test_every_rule_that_promises_too_much_is_listed() -> None:
    """One error, one line for each, and what to do."""
    rules = [rule(), rule("human_approval", "b"), rule("verifier", "c", validator="polite"), rule("verifier", "d", validator={"pattern": "x"})]
    with pytest.raises(ConfigurationError) as caught:
        check_enforcement([*rules, Constraint.from_text("Be kind.")], validators=["kind"])
    assert [
        "Constraint 'a@1' (runtime) is not enforced: no tool rule or registered validator names it.",
        "Constraint 'b@1' (human_approval) is not enforced: no tool rule that asks a person names it.",
        "Constraint 'c@1' (verifier) is not enforced: no validator 'polite' is registered here.",
        "Register what is missing, or declare it as 'model_guidance': shown to the model, not enforced.",
    ] == str(caught.value).splitlines()


def test_what_is_backed_passes() -> None:
    """Rules whose promise something keeps raise nothing."""
    rules = [rule(), rule("human_approval", "b"), rule("verifier", "c", validator="polite"), Constraint.from_text("Be kind.")]
    check_enforcement(rules, validators=["polite"], enforced_by=["a"], asked_by=["b"])


def test_a_check_has_a_short_name() -> None:
    """Enough to know it by in a table."""
    checks = [None, "polite", {"pattern": "x"}, {"json_schema": {}}, {"argv": ["check-version", "--strict"]}]
    assert ["", "polite", "pattern", "json_schema", "command check-version"] == [check_name(rule(validator=check)) for check in checks]

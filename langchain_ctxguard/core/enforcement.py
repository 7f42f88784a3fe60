"""What makes a rule hold, said plainly. Being shown to a model makes nothing hold."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Literal, assert_never

from langchain_ctxguard.domain.constraint import CommandCheck, Constraint, Enforcement, PatternCheck, SchemaCheck
from langchain_ctxguard.domain.value import Value
from langchain_ctxguard.errors import ConfigurationError


class Standing(Value):
    """How far a rule is more than words."""

    kind: Literal["enforced", "checked", "shown", "unenforced"]
    """`checked`: a failure is noticed, and may still stand. `unenforced`: it asks for something that is not there."""

    sentence: str
    """For reports, e.g. `guidance, not enforced`."""


def check_enforcement(
    constraints: Iterable[Constraint], *, validators: Collection[str], enforced_by: Collection[str] = (), asked_by: Collection[str] = ()
) -> None:
    """Raise where a rule promises more than anything keeps.

    Args:
        constraints: The rules.
        validators: Names of the registered validators.
        enforced_by: Ids of the constraints that tool rules enforce.
        asked_by: Ids of the constraints for which a tool rule asks a person.

    Raises:
        ConfigurationError: one line for each such rule.
    """
    standings = ((rule, standing_of(rule, validators=validators, enforced_by=enforced_by, asked_by=asked_by)) for rule in constraints)
    faults = [f"Constraint '{rule.reference}' ({rule.enforcement}) is {found.sentence}." for rule, found in standings if found.kind == "unenforced"]
    if faults:
        advice = "Register what is missing, or declare it as 'model_guidance': shown to the model, not enforced."
        raise ConfigurationError("\n".join([*faults, advice]))


def standing_of(
    constraint: Constraint, *, validators: Collection[str] = (), enforced_by: Collection[str] = (), asked_by: Collection[str] = ()
) -> Standing:
    """Return what makes a rule hold, given what is registered.

    >>> standing_of(Constraint.from_text("Be polite.")).sentence
    'guidance, not enforced'
    """
    match constraint.enforcement:
        case Enforcement.MODEL_GUIDANCE:
            return Standing(kind="shown", sentence="guidance, not enforced")
        case Enforcement.HUMAN_APPROVAL:
            if constraint.constraint_id in asked_by:
                return Standing(kind="enforced", sentence="enforced: a person is asked before the tool runs")
            return Standing(kind="unenforced", sentence="not enforced: no tool rule that asks a person names it")
        case Enforcement.RUNTIME:
            return _runtime(constraint, validators, enforced_by)
        case Enforcement.VERIFIER:
            return _verifier(constraint, validators)
        case _:
            assert_never(constraint.enforcement)


def check_name(constraint: Constraint) -> str:
    """Return a short name of the check a rule names, e.g. `pattern`; empty without one."""
    match constraint.validator:
        case None:
            return ""
        case str() as name:
            return name
        case PatternCheck():
            return "pattern"
        case SchemaCheck():
            return "json_schema"
        case CommandCheck(argv=argv):
            return f"command {argv[0]}"
        case _:
            assert_never(constraint.validator)


def _runtime(constraint: Constraint, validators: Collection[str], enforced_by: Collection[str]) -> Standing:
    if constraint.constraint_id in enforced_by:
        return Standing(kind="enforced", sentence="enforced by a tool rule")
    if constraint.validator is None:
        return Standing(kind="unenforced", sentence="not enforced: no tool rule or registered validator names it")
    if _is_missing(constraint, validators):
        return Standing(kind="unenforced", sentence=f"not enforced: no validator '{constraint.validator}' is registered here")
    return Standing(kind="enforced", sentence=f"enforced by {check_name(constraint)}")


def _verifier(constraint: Constraint, validators: Collection[str]) -> Standing:
    if _is_missing(constraint, validators):
        return Standing(kind="unenforced", sentence=f"not enforced: no validator '{constraint.validator}' is registered here")
    looked_at = "the answer" if constraint.checks == "answer" else "the tool's result"
    checked = f"{looked_at} is checked by {check_name(constraint)}"
    match constraint.on_fail:
        case "flag":
            return Standing(kind="checked", sentence=f"checked, not enforced: {checked}, a failure is put on record")
        case "retry":
            return Standing(kind="enforced", sentence=f"enforced: {checked}, a failure is never passed on and the model is asked again")
        case "stop":
            return Standing(kind="enforced", sentence=f"enforced: {checked}, a failure stops the run")
        case _:
            assert_never(constraint.on_fail)


def _is_missing(constraint: Constraint, validators: Collection[str]) -> bool:
    return isinstance(constraint.validator, str) and constraint.validator not in validators

"""What must hold across a compaction: the four named forms, functions, and what they say where something is missing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from langchain_ctxguard import Constraint, GuardConfig
from langchain_ctxguard.core.invariants import Broken, absence_policy, absences, broken
from langchain_ctxguard.domain.consent import Consent, Consents, ConsentStatus
from langchain_ctxguard.domain.control import ControlField, FieldKind
from langchain_ctxguard.domain.invariant import ConsentSettings, Invariant, StructuredState
from langchain_ctxguard.domain.raw_json import RawJson
from langchain_ctxguard.domain.standing import Mode
from langchain_ctxguard.errors import ConfigurationError

AT = datetime(2026, 11, 30, 12, tzinfo=UTC)


def granted(field: str, value: bytes, *, status: ConsentStatus = ConsentStatus.GRANTED, expires_at: datetime | None = None) -> Consent:
    """Return a word on a field."""
    by = {"subject": "ann", "basis": "consent", "recorded_by": "page", "at": AT, "recorded_at": AT}
    return Consent(field=field, status=status, value=RawJson(data=value), record_id="r", seq=1, hash="0" * 64, expires_at=expires_at, **by)


def field(label: str, raw: str, value: str | None = None) -> ControlField:
    """Return a control field."""
    return ControlField(field_id=f"id-{label}", kind=FieldKind.DATE, label=label, raw=raw, value=value, critical=True)


def state(**parts: Any) -> StructuredState:
    """Return one side of a compaction."""
    rules = {rule.constraint_id: rule for rule in parts.pop("rules", ())}
    consents = Consents(subject="ann", at=AT, entries=tuple(parts.pop("consents", ())))
    return StructuredState(constraints=rules, consents=consents, at=AT, **parts)


def faults(rule: dict[str, Any], after: StructuredState, before: StructuredState | None = None) -> list[str]:
    """Return why a rule does not hold."""
    return [one.reason for one in broken([Invariant.model_validate(rule)], before or after, after)]


NO_DELETES = Constraint(constraint_id="no-deletes", text="Never delete an order.")
DEADLINE = field("deadline", "15 December", "2026-12-15")


def test_unchanged() -> None:
    """What stood there stands there, byte for byte; where nothing stood nothing is asked for."""
    before = state(rules=[NO_DELETES], consents=[granted("limits", b"1.0")], fields=(DEADLINE,))
    assert [] == faults({"unchanged": "constraints.no-deletes"}, before, before)
    assert ["constraints.no-deletes is gone"] == faults({"unchanged": "constraints.no-deletes"}, state(), before)
    assert [] == faults({"unchanged": "constraints.no-deletes"}, before, state())
    reworded = NO_DELETES.model_copy(update={"text": "Avoid deleting orders."})
    assert ["constraints.no-deletes is another"] == faults({"unchanged": "constraints.no-deletes"}, state(rules=[reworded]), before)
    assert ["consents.limits is another"] == faults({"unchanged": "consents.limits"}, state(consents=[granted("limits", b"1")]), before)
    assert ["fields.deadline is gone"] == faults({"unchanged": "fields.deadline"}, state(), before)


def test_present() -> None:
    """Something stands there: a field by label or id, a grant in force, a tool, a key, the mode."""
    after = state(
        fields=(DEADLINE,),
        consents=[granted("a", b"false"), granted("b", b"true", status=ConsentStatus.REVOKED), granted("c", b"true", expires_at=AT)],
        tools={"look_up": "read"},
        state={"flags": RawJson(data=b"{}")},
    )
    for path in ("fields.deadline", "fields.id-deadline", "consents.a", "tools.look_up", "state.flags", "mode"):
        assert [] == faults({"present": path}, after)
    for path in ("fields.budget", "consents.b", "consents.c", "consents.d", "tools.gone", "state.other", "constraints.no-deletes"):
        assert [f"{path} is not there"] == faults({"present": path}, after)


def test_implies() -> None:
    """Where one holds the other must; what nobody granted, and what is not the literal `true`, is a no."""
    rule = {"implies": {"if": {"consents.retain_code": False}, "then": {"tools.upload": "absent"}}}
    tools = {"upload": "write"}
    assert ["consents.retain_code is false and not tools.upload is absent"] == faults(rule, state(tools=tools))
    assert [] == faults(rule, state())
    assert [] == faults(rule, state(tools=tools, consents=[granted("retain_code", b" true ")]))
    for value in (b'"true"', b"1", b"false", b"null"):
        assert faults(rule, state(tools=tools, consents=[granted("retain_code", value)]))
    by_value = {"implies": {"if": {"consents.limits": {"max": 10}}, "then": {"mode": "plan"}}}
    assert faults(by_value, state(consents=[granted("limits", b'{"max": 10.0}')]))
    assert [] == faults(by_value, state(consents=[granted("limits", b'{"max": 10}')], mode=Mode.PLAN))
    assert [] == faults(by_value, state(consents=[granted("limits", b'{"max": 11}')]))


@pytest.mark.parametrize(
    ("pair", "reason"),
    [
        (["fields.delivery", "fields.deadline"], None),
        (["fields.deadline", "fields.delivery"], "fields.deadline is after fields.delivery"),
        (["fields.deadline", "2026-12-31"], None),
        (["2026-12-31", "fields.deadline"], "2026-12-31 is after fields.deadline"),
        (["now", "fields.deadline"], None),
        (["fields.deadline", "now"], "fields.deadline is after now"),
        (["fields.gone", "now"], None),
        (["fields.price", "fields.budget"], None),
        (["fields.budget", "fields.price"], "fields.budget is after fields.price"),
        (["fields.price", "fields.dollars"], "fields.price and fields.dollars cannot be compared"),
        (["fields.price", "fields.deadline"], "fields.price and fields.deadline cannot be compared"),
        (["fields.name", "fields.name"], "fields.name and fields.name cannot be compared"),
        (["consents.until", "fields.deadline"], None),
    ],
)
def test_not_after(pair: list[str], reason: str | None) -> None:
    """Moments with moments, numbers with numbers of the same unit; what cannot be compared has not been shown to hold."""
    fields = (
        DEADLINE,
        field("delivery", "10 December", "2026-12-10"),
        field("price", "400 EUR", "400 EUR"),
        field("budget", "500 EUR", "500 EUR"),
        field("dollars", "500 USD", "500 USD"),
        field("name", "Ann"),
    )
    after = state(fields=fields, consents=[granted("until", b'"2026-12-01T00:00:00Z"')])
    assert ([] if reason is None else [reason]) == faults({"not_after": pair}, after)


def test_functions() -> None:
    """Only `True` holds: another answer does not, its words are the reason, and one that raises has not said yes."""

    def fails(before: StructuredState, after: StructuredState) -> bool:
        msg = "secret of the conversation"
        raise KeyError(msg)

    checks: Any = {
        "yes": lambda b, a: True,
        "no": lambda b, a: False,
        "why": lambda b, a: "the plan is gone",
        "truthy": lambda b, a: 1,
        "raises": fails,
    }
    found = broken([], state(), state(), checks=checks)
    assert (
        Broken("no", "its function says no"),
        Broken("why", "the plan is gone"),
        Broken("truthy", "its function says no"),
        Broken("raises", "its function raised KeyError"),
    ) == found


def test_settings_are_read_from_a_file(tmp_path: Path) -> None:
    """As YAML writes them, dates among them; what is misspelt is named with its line."""
    path = tmp_path / "ctxguard.yaml"
    good = (
        "consents:\n  fields: [consent.cross_session_memory, retain_code]\n  carry: [flags]\n  invariants:\n"
        "    - unchanged: constraints.no-deletes\n"
        "    - implies: {if: {consents.retain_code: false}, then: {tools.upload_code: absent}}\n"
        "    - {name: in time, not_after: [fields.delivery, 2026-12-31]}\n"
    )
    path.write_text(good, encoding="utf-8")
    read = GuardConfig.from_file(path).consents
    assert ["unchanged constraints.no-deletes", "implies consents.retain_code=False -> tools.upload_code=absent", "in time"] == [
        rule.title for rule in read.invariants
    ]
    assert ("fields.delivery", "2026-12-31") == read.invariants[2].not_after
    path.write_text(good.replace("fields.delivery", "fileds.delivery"), encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"yaml:7: consents.invariants\[2\].*'fileds.delivery' is no path"):
        GuardConfig.from_file(path)
    path.write_text(good.replace("consents.retain_code:", "consents.retain_coed:"), encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"retain_coed.*not among `fields`"):
        GuardConfig.from_file(path)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ({"invariants": [{}]}, "has one form"),
        ({"invariants": [{"present": "mode", "unchanged": "mode"}]}, "has one form"),
        ({"invariants": [{"present": "mode"}, {"present": "mode"}]}, "two invariants are called"),
        ({"invariants": [{"presnt": "mode"}]}, "did you mean `present`"),
        ({"invariants": [{"implies": {"if": {}, "then": {"mode": "plan"}}}]}, "a condition is one path"),
        ({"invariants": [{"not_after": ["now"]}]}, "not_after"),
        ({"invariants": [{"not_after": ["now", 3]}]}, "neither a path nor a date"),
        ({"fields": "retain_code"}, "fields"),
        ({"carri": []}, "did you mean `carry`"),
    ],
)
def test_faults_of_settings_are_named(data: dict[str, Any], why: str) -> None:
    """With the key, and what it takes."""
    with pytest.raises(ConfigurationError, match=why):
        GuardConfig.from_dict({"consents": data})


def test_an_empty_section_means_the_defaults() -> None:
    """As for every section."""
    assert ConsentSettings() == GuardConfig.from_dict({"consents": None}).consents


def test_expiry_is_held_against_the_moment() -> None:
    """A grant that ran out is not there."""
    entry = granted("retain_code", b"true", expires_at=AT + timedelta(hours=1))
    assert [] == faults({"present": "consents.retain_code"}, state(consents=[entry]))
    later = StructuredState(consents=Consents(subject="ann", at=AT, entries=(entry,)), at=AT + timedelta(hours=2))
    assert faults({"present": "consents.retain_code"}, later)


@pytest.mark.parametrize(
    ("given", "then", "is_one"),
    [
        ({"consents.deletes": False}, {"tools.delete_order": "absent"}, True),
        ({"consents.deletes": False}, {"tools.delete_order": "present"}, False),
        ({"consents.deletes": False}, {"state.delete_order": "absent"}, False),
        ({"consents.deletes": False}, {"fields.delete_order": "absent"}, False),
        ({"state.deletes": False}, {"tools.delete_order": "absent"}, False),
        ({"mode": "normal"}, {"tools.delete_order": "absent"}, False),
    ],
)
def test_a_tool_is_made_absent_by_a_consent_alone(given: dict[str, Any], then: dict[str, Any], *, is_one: bool) -> None:
    """Nothing else that follows, or that it follows from, takes a tool away."""
    rules = [Invariant.model_validate({"implies": {"if": given, "then": then}})]
    assert ({"delete_order"} if is_one else set()) == set(absences(rules))
    assert is_one == (absence_policy(rules) is not None)

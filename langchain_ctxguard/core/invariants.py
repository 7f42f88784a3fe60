"""What must hold across a compaction: rules, consents, control fields and tools before and after -> which invariants are broken, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

from langchain_ctxguard.core.labels import is_same_label
from langchain_ctxguard.domain.consent import Consents
from langchain_ctxguard.domain.control import ControlField
from langchain_ctxguard.domain.extensions import InvariantCheck
from langchain_ctxguard.domain.invariant import ABSENT, PRESENT, ROOTS, Invariant, StructuredState
from langchain_ctxguard.domain.policy import ToolPolicy
from langchain_ctxguard.domain.raw_json import RawJson
from langchain_ctxguard.domain.value import canonical_json


class Broken(NamedTuple):
    """An invariant that does not hold, and why: names, no values of the conversation."""

    name: str
    reason: str


class _Found(NamedTuple):
    """What stands at a path: something to compare, and the value itself."""

    key: str
    value: Any


def broken(
    invariants: Sequence[Invariant],
    before: StructuredState,
    after: StructuredState,
    *,
    checks: Mapping[str, InvariantCheck] | None = None,
) -> tuple[Broken, ...]:
    """Return the invariants that do not hold after a compaction, in order. A function that raises has not said that its invariant holds.

    Args:
        invariants: Those of named form.
        before: What was read when the compaction began.
        after: What the candidate holds and shows.
        checks: The application's functions, by name.
    """
    found = [Broken(rule.title, reason) for rule in invariants if (reason := _fault(rule, before, after))]
    for name, check in (checks or {}).items():
        try:
            answer = check(before, after)
        except Exception as error:  # noqa: BLE001 - whatever it raises, it did not say yes
            found.append(Broken(name, f"its function raised {type(error).__name__}"))
        else:
            if answer is not True:
                found.append(Broken(name, answer if isinstance(answer, str) and answer else "its function says no"))
    return tuple(found)


class Absence(NamedTuple):
    """What has to be so for a tool to be absent: the condition of an invariant on consents."""

    condition: Mapping[str, Any]
    because: str


def absences(invariants: Sequence[Invariant]) -> dict[str, tuple[Absence, ...]]:
    """Return by tool the conditions under which invariants of the form `implies consents.X is V -> tools.Y is absent` want it absent."""
    found: dict[str, tuple[Absence, ...]] = {}
    for rule in invariants:
        if rule.implies is None:
            continue
        ((given, _),) = rule.implies.if_.items()
        ((path, wanted),) = rule.implies.then.items()
        root, _, name = path.partition(".")
        if given.startswith("consents.") and root == "tools" and wanted == ABSENT:
            found[name] = (*found.get(name, ()), Absence(rule.implies.if_, _first(rule.implies.if_)))
    return found


def tools_made_absent(by_tool: Mapping[str, Sequence[Absence]], consents: Consents | None, at: datetime) -> dict[str, str]:
    """Return the tools that are to be absent with these consents, and why. `None`: nobody granted anything."""
    state = StructuredState(consents=consents, at=at)
    return {tool: one.because for tool, conditions in by_tool.items() for one in reversed(conditions) if _meets(one.condition, state)}


def absence_policy(invariants: Sequence[Invariant]) -> ToolPolicy | None:
    """Return the policy by which a guarded tool is refused wherever it is called; `None` where no invariant wants one absent.

    A consent that is to be the opposite of true or false is a requirement; with any other value the invariant hides the tool and no rule can say it.
    """
    rules = []
    for tool, conditions in absences(invariants).items():
        for one in conditions:
            ((path, value),) = one.condition.items()
            if isinstance(value, bool):
                rule = {"tool": tool, "verdict": "default", "consents": {path.partition(".")[2]: not value}, "else": "deny"}
                rules.append({**rule, "id": f"{tool} absent while {one.because}"})
    return ToolPolicy.from_dict({"default": "allow", "rules": rules}) if rules else None


def _fault(rule: Invariant, before: StructuredState, after: StructuredState) -> str | None:
    if rule.unchanged is not None:
        return _unchanged(rule.unchanged, before, after)
    if rule.present is not None:
        return None if _at(rule.present, after) is not None else f"{rule.present} is not there"
    if rule.implies is not None:
        if not _meets(rule.implies.if_, after) or _meets(rule.implies.then, after):
            return None
        return f"{_first(rule.implies.if_)} and not {_first(rule.implies.then)}"
    return None if rule.not_after is None else _too_late(*rule.not_after, after)


def _unchanged(path: str, before: StructuredState, after: StructuredState) -> str | None:
    was, now = _at(path, before), _at(path, after)
    if was is None or (now is not None and was.key == now.key):
        return None
    return f"{path} is gone" if now is None else f"{path} is another"


def _at(path: str, state: StructuredState) -> _Found | None:
    root, _, name = path.partition(".")
    match root:
        case "constraints":
            rule = state.constraints.get(name)
            return None if rule is None else _Found(canonical_json([rule.constraint_id, rule.version, rule.text]), rule.text)
        case "consents":
            value = None if state.consents is None else state.consents.value(name, state.at)
            return None if value is None else _Found(_text(value), value)
        case "fields":
            field = _field(state.fields, name)
            return None if field is None else _Found(field.value or field.raw, field.value or field.raw)
        case "tools":
            return _Found(str(state.tools[name]), state.tools[name]) if name in state.tools else None
        case "state":
            return _Found(_text(state.state[name]), state.state[name]) if name in state.state else None
        case _:
            return _Found(state.mode, str(state.mode))


def _text(raw: RawJson) -> str:
    return raw.data.decode()


def _field(fields: Iterable[ControlField], name: str) -> ControlField | None:
    """Return the field of that id, else the newest of that label."""
    by_label = None
    for field in fields:
        if field.field_id == name:
            return field
        if field.label and is_same_label(field.label, name):
            by_label = field
    return by_label


def _meets(condition: Mapping[str, Any], state: StructuredState) -> bool:
    ((path, wanted),) = condition.items()
    found = _at(path, state)
    if wanted in (PRESENT, ABSENT):
        return (found is not None) == bool(wanted == PRESENT)
    if found is None:
        # What nobody granted is a no, and so is what cannot be read.
        return wanted is False and path.startswith("consents.")
    if isinstance(found.value, RawJson):
        # Not `true` counts as a no.
        is_no = wanted is False and path.startswith("consents.")
        return not found.value.is_true if is_no else bool(found.value.equals(wanted))
    return bool(found.value == wanted)


def _first(condition: Mapping[str, Any]) -> str:
    ((path, wanted),) = condition.items()
    return f"{path} is {wanted if not isinstance(wanted, bool) else str(wanted).lower()}"


def _too_late(first: str, second: str, state: StructuredState) -> str | None:
    one, two = _comparable(first, state), _comparable(second, state)
    if one is None or two is None:
        return None
    if one.unit != two.unit or one.unit == _NO_UNIT:
        return f"{first} and {second} cannot be compared"
    return None if one.number <= two.number else f"{first} is after {second}"


class _Measure(NamedTuple):
    """A moment, as seconds, or a number with its unit."""

    unit: str
    number: Decimal


_MOMENT = "moment"
_NO_UNIT = "?"


def _comparable(text: str, state: StructuredState) -> _Measure | None:
    """Return what can be compared, `None` where nothing stands there."""
    if text == "now":
        return None if state.at is None else _of_moment(state.at)
    found = _at(text, state) if text.partition(".")[0] in ROOTS else _Found(text, text)
    if found is None:
        return None
    value = found.value.value if isinstance(found.value, RawJson) else found.value
    told = str(value)
    return _moment(told) or _number(told) or _Measure(_NO_UNIT, Decimal(0))


def _moment(text: str) -> _Measure | None:
    try:
        # Digits alone are a number, though ISO 8601 reads eight of them as a date.
        moment = datetime.fromisoformat(text if "-" in text else "")
    except ValueError:
        return None
    return _of_moment(moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC))


def _of_moment(moment: datetime) -> _Measure:
    return _Measure(_MOMENT, Decimal(str(moment.timestamp())))


def _number(text: str) -> _Measure | None:
    digits, _, unit = text.partition(" ")
    try:
        number = Decimal(digits)
    except InvalidOperation:
        return None
    return _Measure(f"in {unit}", number) if number.is_finite() else None

"""What must hold across a compaction, as data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from langchain_ctxguard.domain.consent import Consents
from langchain_ctxguard.domain.constraint import Constraint
from langchain_ctxguard.domain.control import ControlField
from langchain_ctxguard.domain.raw_json import RawJson
from langchain_ctxguard.domain.standing import Effect, Mode
from langchain_ctxguard.domain.value import Value

ROOTS = ("constraints", "consents", "fields", "tools", "state", "mode")
"""Where a path begins: rules by id, consents by field, control fields by label or id, tools by name, carried keys of the state; the mode."""

FORMS = ("unchanged", "present", "implies", "not_after")
PRESENT: Literal["present"] = "present"
ABSENT: Literal["absent"] = "absent"


@dataclass(frozen=True, slots=True)
class StructuredState:
    """What invariants speak about: the structured part of a context, on one side of a compaction."""

    constraints: Mapping[str, Constraint] = field(default_factory=dict)
    """The rules in force that the view shows verbatim, by id."""

    consents: Consents | None = None
    """As the ledger gave them (before), and as the new version holds them (after)."""

    fields: tuple[ControlField, ...] = ()
    """The critical control fields in force that the view tells."""

    tools: Mapping[str, Effect | None] = field(default_factory=dict)
    """The tools about to be available, and what each does, where anybody said."""

    state: Mapping[str, RawJson] = field(default_factory=dict)
    """The carried keys of the graph's state."""

    mode: Mode = Mode.ACT
    at: datetime | None = None
    """The moment consents are held against."""


def _path(text: str) -> str:
    root, dot, rest = text.partition(".")
    if root not in ROOTS or (root == "mode") == bool(dot) or (dot and not rest):
        roots = ", ".join(f"`{name}.NAME`" for name in ROOTS[:-1])
        msg = f"{text!r} is no path; write {roots} or `mode`"
        raise ValueError(msg)
    return text


Path = Annotated[str, AfterValidator(_path)]


def _condition(data: Any) -> Any:
    if not isinstance(data, Mapping) or len(data) != 1:
        msg = f"a condition is one path and what it must be, such as {{consents.retain_code: false}}, not {data!r}"
        raise ValueError(msg)
    return dict(data)


Condition = Annotated[dict[Path, Any], BeforeValidator(_condition)]
"""A path and a JSON value, or `present` or `absent`."""


class Implies(Value):
    """Where one condition holds, another must."""

    if_: Condition = Field(alias="if")
    then: Condition


_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\S+)?", re.ASCII)


def _moment_or_path(value: Any) -> Any:
    # YAML reads a bare date as one.
    text = value.isoformat() if hasattr(value, "isoformat") else value
    if not isinstance(text, str):
        msg = f"{value!r} is neither a path nor a date"
        raise ValueError(msg)
    return text if text == "now" or _MOMENT.fullmatch(text) else _path(text)


Moment = Annotated[str, BeforeValidator(_moment_or_path)]


class Invariant(Value):
    """One thing that must hold after a compaction. It has one form."""

    name: str = ""
    """How records and errors call it; empty: the form and what it speaks about."""

    unchanged: Path | None = None
    """What stands at the path is what stood there before, or nothing stood there."""

    present: Path | None = None
    """Something stands at the path."""

    implies: Implies | None = None
    not_after: tuple[Moment, Moment] | None = None
    """The first is not after the second: two paths, or a path and a date or `now`. One that is not there holds."""

    @model_validator(mode="after")
    def _has_one_form(self) -> Self:
        forms = [name for name in FORMS if getattr(self, name) is not None]
        if len(forms) != 1:
            found = "none" if not forms else ", ".join(forms)
            msg = f"an invariant has one form of {', '.join(FORMS)}; this one has {found}"
            raise ValueError(msg)
        return self

    @property
    def title(self) -> str:
        """What records call it."""
        if self.name:
            return self.name
        form = next(name for name in FORMS if getattr(self, name) is not None)
        match form:
            case "implies" if self.implies is not None:
                about = f"{_told(self.implies.if_)} -> {_told(self.implies.then)}"
            case "not_after" if self.not_after is not None:
                about = " <= ".join(self.not_after)
            case _:
                about = str(getattr(self, form))
        return f"{form} {about}"

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths it speaks about."""
        found = [path for path in (self.unchanged, self.present) if path is not None]
        if self.implies is not None:
            found += [*self.implies.if_, *self.implies.then]
        found += [text for text in self.not_after or () if text.partition(".")[0] in ROOTS]
        return tuple(found)


def _told(condition: Mapping[str, Any]) -> str:
    return ", ".join(f"{path}={value}" for path, value in condition.items())


class ConsentSettings(Value):
    """What of the record crosses a compaction, and what must hold afterwards. The section `consents` of the config file."""

    fields: tuple[str, ...] = ()
    """The consents this application knows: one nobody spoke of is shown as not given, and an invariant may name no others."""

    invariants: tuple[Invariant, ...] = ()
    carry: tuple[str, ...] = ()
    """Keys of the graph's state that are copied into every version, byte for byte as JSON."""

    @model_validator(mode="after")
    def _names_are_known(self) -> Self:
        known = {f"consents.{name}" for name in self.fields}
        unknown = [path for rule in self.invariants for path in rule.paths if known and path.startswith("consents.") and path not in known]
        if unknown:
            msg = f"an invariant speaks about '{unknown[0].partition('.')[2]}', which is not among `fields` ({', '.join(self.fields)})"
            raise ValueError(msg)
        titles = [rule.title for rule in self.invariants]
        twice = next((title for title in titles if titles.count(title) > 1), None)
        if twice is not None:
            msg = f"two invariants are called '{twice}'; give one of them another `name`"
            raise ValueError(msg)
        return self

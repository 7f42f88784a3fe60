"""One rule about tool calls: which calls it speaks of, what it decides, and what it requires."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, field_validator, model_validator

from langchain_ctxguard.domain.faults import shown
from langchain_ctxguard.domain.host import host_pattern
from langchain_ctxguard.domain.origin import Origin
from langchain_ctxguard.domain.pattern import check_ignore_pattern
from langchain_ctxguard.domain.tool_test import Bound, Test
from langchain_ctxguard.domain.value import Value, canonical_json, digest_of


class Decision(StrEnum):
    """What becomes of a call, strictest first."""

    DENY = "deny"
    ASK = "ask"
    ALLOW = "allow"


Effect = Literal["read", "write", "memory"]
"""What a tool does to the world. `memory` writes only what the agent itself will read again. Unknown counts as `write`."""

Per = Literal["thread", "run", "day"]


def _names(value: Any) -> Any:
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


def _each(value: Any) -> Any:
    return (value,) if isinstance(value, (dict, Value)) else _names(value)


Name = Annotated[str, Field(min_length=1)]
Names = Annotated[tuple[Name, ...], Field(min_length=1), BeforeValidator(_names, json_schema_input_type=str | list[str])]


def _origins(value: Any) -> Any:
    origins = _names(value)
    known = get_args(Origin)
    for origin in origins if isinstance(origins, tuple) else (origins,):
        if origin not in known:
            msg = f"{shown(origin)} is no origin; use {', '.join(known[:-1])} or {known[-1]}"
            raise ValueError(msg)
    return origins


Origins = Annotated[tuple[Origin, ...], Field(min_length=1), BeforeValidator(_origins, json_schema_input_type=Origin | list[Origin])]


class PathRule(Value):
    """Where the paths in an argument may lead, links followed."""

    arg: Names
    within: Names | None = None
    """Roots. Relative ones are meant from the folder of the config file. `None`: anywhere, so long as it is not protected."""

    protect: Names | None = None
    """Patterns in the syntax of `.gitignore`, below each root, in any case; a folder covers what is in it."""

    below: bool | None = Field(default=None, strict=True)
    """The call may touch everything in a folder it names, so that must hold nothing protected. `None`: where the rule is `irreversible`."""

    optional: bool = Field(default=False, strict=True)

    @field_validator("within")
    @classmethod
    def _roots_are_written_out(cls, roots: tuple[str, ...] | None) -> tuple[str, ...] | None:
        for root in roots or ():
            if root.startswith("~") or "$" in root or "%" in root or "\x00" in root:
                msg = f"{root!r} means another folder for everybody; write the root out, or relative to this file"
                raise ValueError(msg)
        return roots

    @field_validator("protect")
    @classmethod
    def _patterns_protect(cls, patterns: tuple[str, ...] | None) -> tuple[str, ...] | None:
        for pattern in patterns or ():
            check_ignore_pattern(pattern)
        return patterns

    @model_validator(mode="after")
    def _says_something(self) -> PathRule:
        if self.within is None and self.protect is None:
            msg = "a path rule needs `within` or `protect`"
            raise ValueError(msg)
        return self


class UrlRule(Value):
    """Which hosts the addresses in an argument may name. Where a server redirects to is seen by no rule."""

    arg: Names
    hosts: Names
    """`example.com`, `*.example.com` for what is below it, an IP address, or one of these with `:port`."""

    schemes: Names = ("https", "http")
    optional: bool = Field(default=False, strict=True)

    @field_validator("hosts")
    @classmethod
    def _hosts_are_hosts(cls, hosts: tuple[str, ...]) -> tuple[str, ...]:
        for host in hosts:
            host_pattern(host)
        return hosts


class ApprovalRule(Value):
    """Who has to agree, and for how long that holds."""

    approver: Name | None = None
    """A role. Somebody else than the requester has to have it; `None`: any person, the requester too."""

    expires_s: int = Field(default=3_600, ge=1, le=30 * 86_400, strict=True)


class BudgetRule(Value):
    """How much may be used. Shared by every call the rule applies to, in sub-agents too."""

    calls: int | None = Field(default=None, ge=0, strict=True)
    sum: Mapping[str, Bound] = Field(default_factory=dict)
    """By argument, the most that all calls together may name."""

    tokens: int | None = Field(default=None, ge=1, strict=True)
    cost: Bound | None = None
    per: Per = "thread"

    @model_validator(mode="after")
    def _limits_something(self) -> BudgetRule:
        if self.calls is None and not self.sum and self.tokens is None and self.cost is None:
            msg = "a budget needs at least one of `calls`, `sum`, `tokens` and `cost`"
            raise ValueError(msg)
        if any(limit < 0 for limit in (*self.sum.values(), self.cost or Decimal(0))):
            msg = "a budget is not negative"
            raise ValueError(msg)
        return self


class OrderRule(Value):
    """What must have succeeded before, in this thread."""

    after: Names
    same: Names | None = None
    """Arguments that must be equal there: read *this* file before writing it."""


REQUIREMENTS = ("args", "paths", "urls", "consents", "require_origin", "forbid_from", "approval", "budget", "order")
"""Keys of a rule that require something of a call."""

_ASKING = ("args", "urls", "require_origin")
"""Of these, the keys whose requirement asks where it is not met."""

ByArgument = Mapping[str, Test]


class ToolRule(Value):
    """One rule. It applies where `tool` and `when` match; its verdict defaults to allow, and every other key is a requirement."""

    id: str = ""
    """Known by this name in verdicts and records. Empty: its place in the list."""

    tool: Names
    """Names, or patterns with `*` and `?` in any case."""

    when: ByArgument = Field(default_factory=dict)
    verdict: Literal["allow", "deny", "ask", "default"] = "allow"
    """`default`: the rule grants nothing, it only requires."""

    otherwise: Literal["deny", "ask"] | None = Field(default=None, alias="else")
    """What an unmet requirement leads to. `None`: deny or ask, as the requirement says."""

    args: ByArgument = Field(default_factory=dict)
    paths: Annotated[tuple[PathRule, ...], BeforeValidator(_each, json_schema_input_type=PathRule | list[PathRule])] = ()
    urls: Annotated[tuple[UrlRule, ...], BeforeValidator(_each, json_schema_input_type=UrlRule | list[UrlRule])] = ()
    consents: Mapping[str, bool | str | int] = Field(default_factory=dict)
    require_origin: Mapping[str, Origins] = Field(default_factory=dict)
    forbid_from: Mapping[str, Names] = Field(default_factory=dict)
    result_origin: Literal["registry"] | None = None
    """What this tool returns counts as the application's own record."""

    approval: ApprovalRule | None = None
    irreversible: bool = Field(default=False, strict=True)
    effect: Effect | None = None
    hide: bool = Field(default=False, strict=True)
    budget: BudgetRule | None = None
    order: OrderRule | None = None
    enforces: Annotated[tuple[Name, ...], BeforeValidator(_names, json_schema_input_type=str | list[str])] = ()
    reason: str = ""
    """Told to the model when the rule refuses or asks."""

    instead: str = ""
    """What to do instead, told to the model; empty: the requirement's own advice."""

    @field_validator("when", "args", "consents", "require_origin", "forbid_from")
    @classmethod
    def _names_arguments(cls, named: Mapping[str, Any]) -> Mapping[str, Any]:
        if any(not name.strip() for name in named):
            msg = "an argument has a name"
            raise ValueError(msg)
        return named

    @field_validator("when")
    @classmethod
    def _conditions_are_optional(cls, when: ByArgument) -> ByArgument:
        for name, test in when.items():
            if test.optional:
                msg = f"`{name}` is optional in any condition: what is left out fits none of its values"
                raise ValueError(msg)
        return when

    @model_validator(mode="after")
    def _denial_requires_nothing(self) -> ToolRule:
        if self.verdict == "deny" and (given := [key for key in REQUIREMENTS if getattr(self, key)]):
            msg = f"a rule that denies has nothing to require (`{given[0]}`); say which calls it denies with `when`"
            raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _enforces_something(self) -> ToolRule:
        if self.enforces and self.verdict not in {"deny", "ask"} and not any(getattr(self, key) for key in REQUIREMENTS):
            msg = f"it enforces '{self.enforces[0]}' and refuses nothing; give it a verdict of deny or ask, or something to require"
            raise ValueError(msg)
        return self

    @property
    def asks(self) -> bool:
        """Say whether a person is asked whenever the rule applies."""
        return self.verdict == "ask" or self.approval is not None

    @property
    def may_ask(self) -> bool:
        """Say whether a person is asked about a call that does not meet the rule, or about all it applies to."""
        return self.asks or self.otherwise == "ask" or (self.otherwise is None and any(getattr(self, key) for key in _ASKING))

    @property
    def may_stop(self) -> bool:
        """Say whether some call could be refused or asked about; a rule that can only allow stops nothing."""
        return self.verdict in {"deny", "ask"} or any(getattr(self, key) for key in REQUIREMENTS)

    @cached_property
    def budget_id(self) -> str:
        """Name of what the rule's budget is counted under: it survives another limit, and rules before it that come and go."""
        assert self.budget is not None  # noqa: S101 - asked only of rules that have one
        return self.id or digest_of(canonical_json([self.tool, self.model_dump(mode="json")["when"], self.budget.per]))[:12]

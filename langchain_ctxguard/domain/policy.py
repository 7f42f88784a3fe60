"""What may be called: a policy, a request to call something, and the verdict on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Generic, Literal, Self, TypeVar

from pydantic import Field, ValidationError, field_validator

from langchain_ctxguard.domain.budget import Charge
from langchain_ctxguard.domain.citation import GateReading
from langchain_ctxguard.domain.config_text import known_timezone, read_file
from langchain_ctxguard.domain.faults import describe, keys_of, shown
from langchain_ctxguard.domain.tool_rule import ApprovalRule, BudgetRule, Decision, Effect, OrderRule, PathRule, ToolRule, UrlRule
from langchain_ctxguard.domain.tool_test import ArgTest
from langchain_ctxguard.domain.value import Value
from langchain_ctxguard.errors import ConfigurationError

__all__ = ["AskNeed", "Decision", "DoneCall", "Effect", "Finding", "Policy", "ToolPolicy", "ToolRequest", "ToolRule", "Verdict"]

Surface = Literal["tool", "mcp", "subagent", "provider", "direct"]


class ToolRequest(Value):
    """One call somebody wants to make, with the arguments that will really run."""

    tool: str
    args: Mapping[str, Any] = Field(default_factory=dict)
    """As the tool will get them, injected ones left out."""

    call_id: str | None = None
    thread: str | None = None
    """The root thread: sub-agents below it share its budgets."""

    namespace: str = ""
    """Checkpoint namespace: which sub-agent calls."""

    run: str | None = None
    """What budgets `per: run` are counted by."""

    effect: Effect | None = None
    """What the tool itself declares; a rule's `effect` counts more."""

    at: datetime | None = None
    """When it was asked for; the verdict is made for `now`."""

    requester: str | None = None
    """In whose name: the subject of consents. From the runtime, never from messages."""

    surface: Surface = "tool"


class ToolPolicy(Value):
    """Rules about tool calls, as the section `tools` of the config file writes them."""

    default: Decision = Decision.ALLOW
    """For a call no rule grants or refuses."""

    rules: tuple[ToolRule, ...] = ()
    base: str | None = None
    """Folder that relative roots are meant from: that of the config file."""

    workspace: str | None = None
    """Folder that relative paths in a call are meant from; `None`: `base`."""

    timezone: str = "UTC"
    """Decides where a budget's day ends."""

    @field_validator("default", mode="before")
    @classmethod
    def _default_is_a_decision(cls, default: Any) -> Any:
        if not isinstance(default, str) or default not in set(Decision):
            msg = f"a verdict is deny, ask or allow, not {default!r}"
            raise ValueError(msg)
        return default

    @field_validator("rules", mode="before")
    @classmethod
    def _rules_are_a_list(cls, rules: Any) -> Any:
        if rules is None:
            return ()
        if not isinstance(rules, (list, tuple)):
            msg = f"`rules` is a list of rules, each with its `tool`, not {shown(rules)}"
            raise ValueError(msg)
        return tuple(rules)

    @field_validator("rules")
    @classmethod
    def _ids_are_unique(cls, rules: tuple[ToolRule, ...]) -> tuple[ToolRule, ...]:
        named = [rule.id for rule in rules if rule.id]
        if len(named) != len(set(named)):
            twice = next(name for name in named if named.count(name) > 1)
            msg = f"two rules have the id '{twice}'; records could not tell them apart"
            raise ValueError(msg)
        return rules

    @field_validator("timezone")
    @classmethod
    def _timezone_is_known(cls, timezone: str) -> str:
        return known_timezone(timezone)

    @property
    def enforced(self) -> frozenset[str]:
        """Ids of the constraints that a rule enforces."""
        return frozenset(name for rule in self.rules if rule.may_stop for name in rule.enforces)

    @property
    def asked(self) -> frozenset[str]:
        """Ids of the constraints for which a rule has a person asked."""
        return frozenset(name for rule in self.rules if rule.may_ask for name in rule.enforces)

    def opened_by(self, consent: str) -> tuple[str, ...]:
        """Return the ids of the rules that ask for a consent, by the place in the list where a rule has none."""
        return tuple(rule.id or f"rules[{place}]" for place, rule in enumerate(self.rules) if consent in rule.consents)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the policy a mapping describes: what stands below `tools` in a config file.

        Raises:
            ConfigurationError: naming the key and what it takes.
        """
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise ConfigurationError(describe(error, keys=_KEYS)) from error

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """Return the policy of a config file, its section `tools`; relative roots are meant from the file's folder.

        Raises:
            ConfigurationError: naming file, line and key; or the file has no such section.
        """
        source = Path(path)
        text, data = read_file(source)
        section = data.get("tools")
        if section is None:
            msg = f"'{source}' has no section `tools`, so there is no policy in it. Write one, or let the guard allow and record every call."
            raise ConfigurationError(msg)
        try:
            place = {"base": str(source.absolute().parent), "workspace": data.get("workspace"), "timezone": data.get("timezone", "UTC")}
            return _Section[cls].model_validate({"tools": {**place, **section} if isinstance(section, dict) else section}).tools  # type: ignore[valid-type]  # a class at run time
        except ValidationError as error:
            raise ConfigurationError(describe(error, keys=_KEYS, name=str(source), text=text)) from error

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """Return the JSON Schema (draft 2020-12) of the section `tools`."""
        return {"$schema": "https://json-schema.org/draft/2020-12/schema", **cls.model_json_schema(by_alias=True), "title": "tools"}


_P = TypeVar("_P", bound=ToolPolicy)


class _Section(Value, Generic[_P]):
    """Stands for the file, so that faults are told from its root."""

    tools: _P


POLICY_MODELS = (ToolPolicy, ToolRule, PathRule, UrlRule, ApprovalRule, BudgetRule, OrderRule, ArgTest)
_KEYS = keys_of(*POLICY_MODELS)


Policy = ToolPolicy | Callable[[ToolRequest], "Verdict | Decision | str | None"]
"""What decides: a policy, or a function that answers with a verdict, with one of its words, or with `None` for "nothing to say"."""


class Finding(Value):
    """What one rule, or one requirement of it, says about a call."""

    rule: str
    """Id of the rule: its own, else its place, `rules[2]`; `default` where none applied."""

    key: str
    """Which key decided: `verdict`, `paths`, `budget`, ..."""

    decision: Decision
    reason: str
    """One sentence without a full stop."""

    instead: str
    """What to do instead, one sentence."""


class AskNeed(Value):
    """An agreement that is missing."""

    rules: tuple[str, ...]
    approver: str | None = None
    expires_s: int = 3_600


class DoneCall(Value):
    """A call of the thread that has succeeded: what `order` looks at."""

    tool: str
    call_id: str | None = None
    parts: Mapping[str, str] = Field(default_factory=dict)
    """`argument_digests` of its arguments."""


class Verdict(Value):
    """What is decided about a call, and why."""

    decision: Decision
    tool: str
    findings: tuple[Finding, ...]
    """What led to the decision, the strictest first; what was satisfied is not among them, unless it is the rule that allowed."""

    asks: tuple[AskNeed, ...] = ()
    """Agreements to get; empty unless the decision is to ask."""

    approvals: tuple[str, ...] = ()
    """Ids of the approvals that opened the call."""

    reserve: tuple[Charge, ...] = ()
    """What must be reserved before the tool runs, even after a person agreed."""

    reading: GateReading | None = None
    """What was found in the consent ledger; `None` where nothing was looked for."""

    effect: Effect = "write"
    irreversible: bool = False
    enforces: tuple[str, ...] = ()
    """Constraints that the rules which applied enforce."""

    arguments: str = ""
    """Digest of the arguments judged."""

    fingerprint: str = ""
    """Of the policy, `Binding.rules`."""

    @property
    def rules(self) -> tuple[str, ...]:
        """Ids of the rules that decided."""
        return tuple(dict.fromkeys(finding.rule for finding in self.findings))

    @property
    def reason(self) -> str:
        """Why, the strictest finding first."""
        return "; ".join(dict.fromkeys(finding.reason for finding in self.findings))

    @property
    def instead(self) -> str:
        """What to do instead."""
        return " ".join(dict.fromkeys(finding.instead for finding in self.findings if finding.instead))

    @property
    def sentence(self) -> str:
        """What the model and a reader of the log are told."""
        words = {Decision.DENY: "Denied", Decision.ASK: "A person has to agree to", Decision.ALLOW: "Allowed"}
        return " ".join(filter(None, (f"{words[self.decision]} `{self.tool}`: {self.reason}.", self.instead)))


_BLANK = {name: field.get_default() for name, field in Verdict.model_fields.items() if not field.is_required()}
_SET = set(Verdict.model_fields)
_new, _set = object.__new__, object.__setattr__


def new_verdict(values: dict[str, Any]) -> Verdict:
    """Return a verdict of values known to be right, without validating them: one is made for every call of every tool.

    Args:
        values: The required attributes, and those that differ from their default.
    """
    verdict = _new(Verdict)
    # The four attributes of a pydantic model; the model is frozen, so they are set past it.
    _set(verdict, "__dict__", {**_BLANK, **values})
    _set(verdict, "__pydantic_fields_set__", _SET)
    _set(verdict, "__pydantic_extra__", None)
    _set(verdict, "__pydantic_private__", None)
    return verdict

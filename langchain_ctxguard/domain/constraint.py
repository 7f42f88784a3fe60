"""A rule the agent works under: its text, its owner, where it holds, and what makes it hold."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, Field, field_validator, model_validator

from langchain_ctxguard.domain.value import Value, digest_of


class Authority(StrEnum):
    """Who stands behind a rule, strongest first. A lower authority never relaxes a higher one."""

    SYSTEM = "system"
    ORGANIZATION = "organization"
    TASK = "task"
    USER = "user"
    INFERRED = "inferred"
    """Found in a conversation and confirmed by nobody: quoted as evidence, never pinned as a rule."""

    @property
    def rank(self) -> int:
        """0 for the strongest."""
        return list(Authority).index(self)


class Enforcement(StrEnum):
    """What makes a rule hold. Only what code checks is a guarantee; `model_guidance` is text the model is shown."""

    RUNTIME = "runtime"
    VERIFIER = "verifier"
    MODEL_GUIDANCE = "model_guidance"
    HUMAN_APPROVAL = "human_approval"


class Severity(StrEnum):
    """How bad it is to lose a rule, worst first."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return list(Severity).index(self)


class ConstraintSource(Value):
    """Where a rule comes from."""

    type: Literal["code", "config", "registry", "person", "message", "file"] = "code"
    ref: str = ""
    """What to look up there: a path, a message id, a ticket."""


class Scope(Value):
    """Where a rule holds. `workspace` takes a path, and the rule holds in it and below."""

    kind: Literal["global", "thread", "workspace", "tool", "agent"] = "global"
    value: str | None = None

    @model_validator(mode="after")
    def _value_where_needed(self) -> Scope:
        if (self.kind == "global") != (self.value is None):
            msg = f"a scope of kind '{self.kind}' takes {'no value' if self.kind == 'global' else 'a value: which ' + self.kind}"
            raise ValueError(msg)
        return self


class Place(Value):
    """Where a call is made: what scopes are held against."""

    thread: str | None = None
    workspace: str | None = None
    agent: str | None = None
    tools: frozenset[str] = frozenset()

    def is_in(self, scope: Scope) -> bool:
        """Say whether a scope covers this place."""
        match scope.kind:
            case "global":
                return True
            case "thread":
                return self.thread == scope.value
            case "agent":
                return self.agent == scope.value
            case "tool":
                return scope.value in self.tools
            case "workspace":
                root = (scope.value or "").rstrip("/")
                return self.workspace is not None and (self.workspace.rstrip("/") + "/").startswith(root + "/")


class PatternCheck(Value):
    """The text must match (or must not match) a regular expression."""

    type: Literal["pattern"] = "pattern"
    pattern: str
    must: Literal["match", "not_match"] = "match"


class SchemaCheck(Value):
    """The text must be JSON that fits a JSON Schema."""

    type: Literal["json_schema"] = "json_schema"
    json_schema: Mapping[str, Any]


class CommandCheck(Value):
    """A command must end with exit code 0; it is given the text on standard input. Never run through a shell."""

    type: Literal["command"] = "command"
    argv: tuple[str, ...] = Field(min_length=1)
    timeout_s: float = Field(default=30.0, gt=0)


Check = Annotated[PatternCheck | SchemaCheck | CommandCheck, Field(discriminator="type")]


class Constraint(Value):
    """One rule, verbatim, with its owner.

    A plain string is the shortest way to declare one; it is guidance of system authority: pinned, not enforced.

    >>> Constraint.from_text("Never delete an order.").enforcement
    <Enforcement.MODEL_GUIDANCE: 'model_guidance'>
    """

    constraint_id: str = Field(min_length=1, pattern=r"^[^\s<>\"@]+$")
    """Known by this name in records and reports: no blanks, quotes, `@` or angle brackets."""

    text: str
    """The rule as it stands in every request, byte for byte."""

    version: int = Field(default=1, ge=1)
    source: ConstraintSource = ConstraintSource()
    scope: Scope = Scope()
    authority: Authority = Authority.SYSTEM
    enforcement: Enforcement = Enforcement.MODEL_GUIDANCE
    severity: Severity = Severity.CRITICAL
    priority: int = 0
    """Among rules of one authority and severity the higher number goes first."""

    validator: str | Check | None = None
    """The check that makes a `verifier` or `runtime` rule hold: a registered name, or a check written out."""

    checks: Literal["answer", "tool_result"] = "answer"
    """What a `verifier` looks at: the model's final answer, or the result of the tool named by the scope (of any tool without one)."""

    on_fail: Literal["retry", "flag", "stop"] = "flag"
    """What a failed `verifier` does: ask the model again, put it on record, or stop the run."""

    created_at: AwareDatetime | None = None
    expires_at: AwareDatetime | None = None
    supersedes: str | None = Field(default=None, pattern=r"^[^\s<>\"@]+@[1-9][0-9]*$")
    """`id@version` of the rule this one replaces."""

    language: str | None = None

    @field_validator("text")
    @classmethod
    def _text_is_a_rule(cls, text: str) -> str:
        if not text.strip():
            msg = "a constraint needs a text"
            raise ValueError(msg)
        if any("\ud800" <= character <= "\udfff" for character in text):
            msg = "a constraint may not contain half a surrogate pair: no provider can be sent one"
            raise ValueError(msg)
        if "</context_rules" in text.lower():
            msg = "a constraint may not contain '</context_rules', the end of the block it is pinned in"
            raise ValueError(msg)
        return text

    @field_validator("validator", mode="before")
    @classmethod
    def _command_is_a_list(cls, validator: Any) -> Any:
        if isinstance(validator, dict) and "type" not in validator:
            kinds = {"pattern": "pattern", "json_schema": "json_schema", "argv": "command"}
            kind = next((name for key, name in kinds.items() if key in validator), None)
            return validator if kind is None else {"type": kind, **validator}
        return validator

    @model_validator(mode="after")
    def _enforced_by_something(self) -> Constraint:
        if self.enforcement is Enforcement.VERIFIER and self.validator is None:
            msg = f"constraint '{self.constraint_id}' is enforced by a verifier and names no `validator`"
            raise ValueError(msg)
        if self.enforcement is Enforcement.MODEL_GUIDANCE and self.validator is not None:
            msg = f"constraint '{self.constraint_id}' names a validator that its enforcement 'model_guidance' would never run; use 'verifier'"
            raise ValueError(msg)
        return self

    @property
    def reference(self) -> str:
        """`id@version`."""
        return f"{self.constraint_id}@{self.version}"

    @classmethod
    def from_text(cls, text: str) -> Constraint:
        """Return the constraint a plain string stands for; its id is a digest of the text."""
        return cls(constraint_id=f"rule-{digest_of(text)[:8]}", text=text)

"""A rule the agent works under, and how far each kind of rule can be relied on."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field, field_validator

from langchain_ctxguard.domain.value import Value, digest_of


class Authority(StrEnum):
    """Who stands behind a rule, strongest first."""

    SYSTEM = "system"
    ORGANIZATION = "organization"
    TASK = "task"
    USER = "user"
    INFERRED = "inferred"


class Enforcement(StrEnum):
    """What makes a rule hold. Only `runtime` is a guarantee; `model_guidance` is text the model is shown."""

    RUNTIME = "runtime"
    VERIFIER = "verifier"
    MODEL_GUIDANCE = "model_guidance"
    HUMAN_APPROVAL = "human_approval"


class Severity(StrEnum):
    """How bad it is to lose a rule."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Constraint(Value):
    """One rule, verbatim, with its owner.

    A plain string is the shortest way to declare one; it is guidance of system authority and is pinned, not enforced:

    >>> Constraint.from_text("Never delete an order.").enforcement
    <Enforcement.MODEL_GUIDANCE: 'model_guidance'>
    """

    constraint_id: str = Field(min_length=1, pattern=r"^[^\s<>\"]+$")
    """Known by this name in records and reports: no blanks, quotes or angle brackets."""

    text: str
    """The rule as it stands in every request, byte for byte."""

    version: int = Field(default=1, ge=1)
    authority: Authority = Authority.SYSTEM
    enforcement: Enforcement = Enforcement.MODEL_GUIDANCE
    severity: Severity = Severity.CRITICAL

    @field_validator("text")
    @classmethod
    def _text_is_a_rule(cls, text: str) -> str:
        if not text.strip():
            msg = "a constraint needs a text"
            raise ValueError(msg)
        return text

    @classmethod
    def from_text(cls, text: str) -> Constraint:
        """Return the constraint a plain string stands for; its id is a digest of the text."""
        return cls(constraint_id=f"rule-{digest_of(text)[:8]}", text=text)

"""A situation somebody thought of: a call, what is known when it is made, and what ought to become of it."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Literal

from pydantic import AwareDatetime, Field, ValidationError

from langchain_ctxguard.domain.approval import Approver
from langchain_ctxguard.domain.faults import describe, keys_of
from langchain_ctxguard.domain.policy import ToolRequest
from langchain_ctxguard.domain.tool_rule import Decision, Effect
from langchain_ctxguard.domain.value import Value
from langchain_ctxguard.errors import ConfigurationError


class Said(Value):
    """Something that was said before, by one speaker."""

    user: str | None = None
    ai: str | None = None
    system: str | None = None
    tool: str | None = None
    """Name of a tool, together with what it `returned`."""

    args: Mapping[str, Any] = Field(default_factory=dict)
    """What the tool was called with."""

    returned: str = ""


class Done(Value):
    """A call that succeeded before."""

    tool: str
    args: Mapping[str, Any] = Field(default_factory=dict)


class Used(Value):
    """What is used of a rule's budget already."""

    calls: int = 0
    sum: Mapping[str, Decimal] = Field(default_factory=dict)


class PolicyCase(Value):
    """A call in a situation, and what is expected."""

    name: str = ""
    tool: str = Field(min_length=1)
    args: Mapping[str, Any] = Field(default_factory=dict)
    thread: str | None = "thread"
    run: str | None = "run"
    namespace: str = ""
    requester: str | None = "user"
    effect: Effect | None = None
    now: AwareDatetime | None = None
    consents: Mapping[str, Any] = Field(default_factory=dict)
    """By field, the values of grants in force."""

    said: tuple[Said, ...] = ()
    done: tuple[Done, ...] = ()
    used: Mapping[str, Used] = Field(default_factory=dict)
    """By id of the rule whose budget it is, `rules[2]` where it has none."""

    tokens: int = 0
    cost: Decimal | None = Decimal(0)
    approved: Approver | None = None
    """Who has agreed to exactly this call."""

    expect: Decision | None = None
    because: str = ""
    """Words that the reason must hold."""

    rule: str = ""
    """Id of a rule that must be among those that decided."""

    @property
    def request(self) -> ToolRequest:
        """The call."""
        return ToolRequest(
            tool=self.tool,
            args=self.args,
            call_id="call",
            thread=self.thread,
            run=self.run,
            namespace=self.namespace,
            requester=self.requester,
            effect=self.effect,
            at=self.now,
        )

    @classmethod
    def from_data(cls, data: Any, *, place: str) -> PolicyCase:
        """Return the case that data describe.

        Raises:
            ConfigurationError: naming `place` and the key.
        """
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            faults = describe(error, keys=keys_of(cls, Said, Done, Used)).splitlines()
            msg = "\n".join(f"{place}: {fault}" for fault in faults)
            raise ConfigurationError(msg) from error


Standing = Literal["applies", "does not apply", "cannot be told", "names another tool"]
"""How a rule stands to a call."""

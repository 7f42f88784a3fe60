"""What may be called: a policy, a request to call something, and the verdict on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from langchain_ctxguard.domain.budget import Charge
from langchain_ctxguard.domain.tool_rule import Decision, Effect, ToolRule
from langchain_ctxguard.domain.value import Value

__all__ = ["AskNeed", "ConsentRead", "Decision", "Effect", "Finding", "Policy", "ToolPolicy", "ToolRequest", "ToolRule", "Verdict"]

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


class ConsentRead(Value):
    """A consent the verdict rests on."""

    field: str
    required: bool | str | int
    is_met: bool
    reference: str | None = None
    """Where it stands in the ledger."""


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

    consents: tuple[ConsentRead, ...] = ()
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


_ = (Annotated, BeforeValidator)

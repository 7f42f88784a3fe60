"""A policy as the judge of one call: what it looks at beside the facts on record is fixed for that call."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from langchain_ctxguard.core.authorize import Needs, authorize, fingerprint_of, needs_of
from langchain_ctxguard.core.call_case import Facts
from langchain_ctxguard.core.origins import Origins
from langchain_ctxguard.core.paths import PathFacts
from langchain_ctxguard.core.rulebook import is_pattern, rulebook, tool_pattern
from langchain_ctxguard.domain.control import ControlField
from langchain_ctxguard.domain.policy import Policy, ToolPolicy, ToolRequest, Verdict


@dataclass(frozen=True, slots=True)
class PolicyJudge:
    """Decides by `authorize`, with what was said in the thread and where paths lead."""

    policy: tuple[Policy, ...]
    paths: PathFacts | None = None
    origins: tuple[Origins, ...] = ()
    fields: Collection[ControlField] = ()

    @property
    def fingerprint(self) -> str:
        """Of the rules."""
        return fingerprint_of(self.policy)

    def needs(self, request: ToolRequest, now: datetime) -> Needs:
        """Return what has to be read for a verdict."""
        return needs_of(request, self.policy, now=now)

    def remembers(self, tool: str) -> bool:
        """Say whether a rule looks at whether this tool was called before."""
        return any(_names(tool, name) for name in watched_tools(self.policy))

    def decide(self, request: ToolRequest, facts: Facts) -> Verdict:
        """Return the verdict."""
        return authorize(
            request,
            self.policy,
            consents=facts.consents,
            approvals=facts.approvals,
            budgets=facts.budgets,
            fields=self.fields,
            now=facts.now,
            origins=self.origins or None,
            done=facts.done,
            paths=self.paths,
        )


def watched_tools(policy: Sequence[Policy]) -> tuple[str, ...]:
    """Return the names and patterns of tools that rules about the order of calls wait for."""
    books = [rulebook(one) for one in policy if isinstance(one, ToolPolicy)]
    return tuple(dict.fromkeys(name for book in books for booked in book if booked.rule.order is not None for name in booked.rule.order.after))


def _names(tool: str, name: str) -> bool:
    return bool(tool_pattern(name).fullmatch(tool)) if is_pattern(name) else tool == name

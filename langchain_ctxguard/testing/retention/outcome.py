"""What came of a case: the inputs of the model, what ran, and what is not as expected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from langchain_core.messages import BaseMessage

from langchain_ctxguard.testing.retention.case import RetentionCase

Kind = Literal["lost", "changed", "present", "in_system", "field", "called", "not_called", "not_refused", "answer", "rounds", "stopped"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as expected."""

    kind: Kind
    what: str
    """The rule, the text, the value, the tool."""

    detail: str
    input_number: int | None = None
    """The first input of the model in which it is missing, from 1."""

    source: str | None = None
    """The message that said it, shortened."""

    diff: tuple[str, ...] = ()
    """What left and what came at that input, as lines of a diff."""

    @property
    def text(self) -> str:
        """The finding for a person to read."""
        lines = [f"  {self.kind}: {self.what!r} {self.detail}"]
        if self.source is not None:
            lines.append(f"    said in: {self.source}")
        return "\n".join([*lines, *(f"    {line}" for line in self.diff)])


@dataclass(frozen=True, slots=True)
class CaseRun:
    """What came of a case."""

    case: RetentionCase
    way: str
    is_compacted: bool
    inputs: Sequence[tuple[BaseMessage, ...]]
    """Every input of the model, the last one the request's."""

    rounds: int
    """How many compactions the inputs show."""

    answer: str
    called: tuple[str, ...]
    """Tools that ran after the request."""

    denied: tuple[str, ...] = ()
    """What a policy said instead of running a tool, after the request."""

    asked: int = 0
    """Questions to a person that the request led to."""

    error: str | None = None
    """What stopped the run; a refusal to go on rather than lose something is one."""

    findings: tuple[Finding, ...] = field(default=(), compare=False)

    @property
    def passed(self) -> bool:
        """Say whether everything the case expects is true."""
        return not self.findings

    def explain(self) -> str:
        """Return the failure in words: what, where it was lost, which message said it, and what changed there."""
        head = (
            f"{self.case.name} [{self.way}{'' if self.is_compacted else ', uncompacted'}]: {len(self.findings)} not as expected, {self.rounds} rounds"
        )
        why = [f"  {self.case.why}"] if self.case.why else []
        return "\n".join([head, *why, *(finding.text for finding in self.findings)])


def cause(run: CaseRun, again: Callable[[], CaseRun]) -> str:
    """Return in a sentence whether compaction caused a failure.

    Args:
        run: A run that failed.
        again: Runs the same case uncompacted; called only where that says something.
    """
    if not run.is_compacted:
        return "Nothing was compacted: compaction did not cause this."
    if all(finding.kind == "rounds" for finding in run.findings):
        return "It was not compacted often enough: make the case longer, or look whether the strategy compacts at all."
    if again().passed:
        return "Uncompacted it passes: compaction caused this."
    return "It fails uncompacted as well: look at the case, the model or the policy."

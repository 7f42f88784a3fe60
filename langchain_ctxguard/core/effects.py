"""What a flow may ask of its driver: a closed set. `Engine.run` and `Engine.arun` match it to the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from langchain_core.messages import BaseMessage

from langchain_ctxguard.domain.control import FieldChange
from langchain_ctxguard.domain.summary import StructuredSummary, SummaryDraft
from langchain_ctxguard.domain.version import CompactionRecord, ContextEvent

CountTokens = Callable[[Sequence[BaseMessage]], int]
"""Returns the tokens a list of messages costs; `ports.TokenCounter` is one."""


@dataclass(slots=True)
class Spending:
    """What a summarizer has cost so far. It writes here as it goes, so that a call that fails or is abandoned is on record too."""

    calls: int = 0
    """Calls of a model, failed ones included."""

    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    """Time of the calls and of the pauses between them."""

    remarks: list[str] = field(default_factory=list)
    """What a reader of the record should know of the answers that were taken; names only, never their words."""

    is_over: bool = False
    """Whether nobody waits any more: no further call is made."""

    def remark(self, name: str) -> None:
        """Note something once."""
        if name not in self.remarks:
            self.remarks.append(name)


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """What a summarizer is asked."""

    evicted: tuple[BaseMessage, ...]
    """Whole units that leave the view, oldest first; never half a tool call. Complete: nothing was trimmed."""

    sources: tuple[str, ...]
    """Identity of each evicted message, in the same order."""

    previous: StructuredSummary | None
    """The summary in force, to be carried on."""

    max_tokens: int
    """Bound of the rendered summary; what exceeds it is cut from the oldest."""

    count: CountTokens
    must_keep: tuple[str, ...] = ()
    """Texts the summary must contain verbatim: a retry after a loss."""

    language: str | None = None
    """Language of the conversation, where known."""

    spent: Spending = field(default_factory=Spending, compare=False)
    """Where a summarizer notes what it costs, over all attempts."""


@dataclass(frozen=True, slots=True)
class Summarize:
    """Ask the summarizer, or the fallback that needs no model. Answered by a `SummaryDraft` or a `SummaryFailure`."""

    request: SummaryRequest
    by: Literal["summarizer", "fallback"]
    attempt: int


@dataclass(frozen=True, slots=True)
class SummaryFailure:
    """Why there is no draft. Names and reasons only: the words of an error never become context."""

    reason: str
    is_down: bool
    """`True`: no answer came, asking again is pointless. `False`: an answer came and was no summary."""


@dataclass(frozen=True, slots=True)
class Append:
    """Put a fact on record, after it was decided. Answered by `None`."""

    fact: CompactionRecord | ContextEvent


@dataclass(frozen=True, slots=True)
class Stage:
    """Say what the flow does from here on, for whoever traces it; it ends with the next stage or the flow. Answered by `None`."""

    name: Literal["extract", "verify"] | None
    """`None`: nothing of its own."""


@dataclass(frozen=True, slots=True)
class AskPerson:
    """Ask a person what to do about control fields a draft lost or changed. Answered by a `Decided`; where nobody can be asked, by a rejection."""

    findings: tuple[FieldChange, ...]
    attempt: int


@dataclass(frozen=True, slots=True)
class Decided:
    """What a person said."""

    choice: Literal["repair", "approve", "reject"]
    """Carry the values as they were said; let the draft stand as it is; keep the previous context."""


Effect = Summarize | AskPerson | Append | Stage
Answer = SummaryDraft | SummaryFailure | Decided | None

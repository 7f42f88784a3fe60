"""What a summarizer says (`SummaryDraft`) and what is kept of it (`StructuredSummary`)."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from langchain_ctxguard.domain.value import Value

Origin = Literal["user", "ai", "tool", "system", "registry"]
"""Who said it first, as far as the messages show."""


class Trust(StrEnum):
    """How far a fact can be relied on. A claim stays a claim however often it is summarized."""

    CLAIMED = "claimed"
    CONFIRMED = "confirmed"
    """Its quote stands verbatim in a successful tool result."""


class Fact(Value):
    """One statement worth keeping."""

    statement: str = Field(description="One thing worth knowing, with its names, numbers, dates and paths as written.")
    status: Trust = Trust.CLAIMED
    """Set by `core.provenance`; what a summarizer writes here is ignored."""

    said_by: Origin | None = Field(default=None, description="Who said it: user, ai, tool or system.")
    source: str | None = Field(default=None, description="The message it stands in.")
    """Identity of the message it comes from, where known."""

    quote: str | None = Field(default=None, description="The exact words of that message the statement rests on, letter by letter.")
    """Verbatim words of the source message that carry the fact."""


class Decision(Value):
    """A choice, and what was turned down for it."""

    chosen: str = Field(description="What was chosen.")
    rejected: tuple[str, ...] = Field(default=(), description="What was turned down for it.")
    why: str = Field(default="", description="Why it was chosen, in the words it was said in.")


class SummaryDraft(Value):
    """What a summarizer may tell. Actions, files and confirmations are not its to tell: they come from the tool calls.

    The one place that says what a summarizer is asked for; prompts and schemas are made from the descriptions of these fields.
    """

    user_intent: str = Field(default="", description="What the user wants now, in the user's own words where possible.")
    pending_items: tuple[str, ...] = Field(
        default=(), description="What the user asked for and nothing shows as finished or withdrawn, in the user's words."
    )
    facts: tuple[Fact, ...] = Field(default=(), description="What was said or found out and would be missed.")
    decisions: tuple[Decision, ...] = Field(default=(), description="What was chosen, what was turned down for it, and why.")
    open_questions: tuple[str, ...] = Field(default=(), description="Questions nobody has answered.")
    dropped_keys: int = 0
    """How many unexpected keys the answer had; they are counted and forgotten."""

    @property
    def is_empty(self) -> bool:
        """Say whether nothing at all was told."""
        return not (self.user_intent.strip() or self.pending_items or self.facts or self.decisions or self.open_questions)


class StructuredSummary(Value):
    """The summary in force: a cleaned draft. Untrusted history, shown in the user role."""

    schema_version: Literal[1] = 1
    original_goal: str = ""
    """The first request of the conversation, from the message itself."""

    user_intent: str = ""
    pending_items: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    decisions: tuple[Decision, ...] = ()
    open_questions: tuple[str, ...] = ()
    language: str | None = None
    """BCP 47 code of the conversation (`en`, `zh`), where known."""

    @property
    def is_empty(self) -> bool:
        """Say whether there is nothing to show."""
        told = (self.original_goal, self.user_intent, self.pending_items, self.facts, self.decisions, self.open_questions)
        return not any(told)

    def as_draft(self) -> SummaryDraft:
        """Return what a summarizer would have to say to say this again."""
        return SummaryDraft(
            user_intent=self.user_intent,
            pending_items=self.pending_items,
            facts=self.facts,
            decisions=self.decisions,
            open_questions=self.open_questions,
        )

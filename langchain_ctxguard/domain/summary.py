"""What a summarizer says (`SummaryDraft`) and what is kept of it (`StructuredSummary`)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from langchain_ctxguard.domain.evidence import Action, Artifact
from langchain_ctxguard.domain.origin import Origin
from langchain_ctxguard.domain.value import Value

SUMMARY_SCHEMA_VERSION = 2

_CLAIMED_BY_AI = "[claimed by ai] "
"""How schema 1 marked an item nobody had said in so many words."""


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

    also_in: tuple[str, ...] = ()
    """Further messages that say the same, oldest first; the newest few."""

    quote: str | None = Field(default=None, description="The exact words of that message the statement rests on, letter by letter.")
    """Verbatim words of the source message that carry the fact."""

    @property
    def sources(self) -> tuple[str, ...]:
        """All messages known to say it."""
        return (*(() if self.source is None else (self.source,)), *self.also_in)


class Rejected(Value):
    """An option that was turned down."""

    option: str = Field(description="What was turned down.")
    why: str = Field(default="", description="Why, in the words it was said in.")


class Decision(Value):
    """A choice, and what was turned down for it."""

    chosen: str = Field(description="What was chosen.")
    rejected: tuple[Rejected, ...] = Field(default=(), description="What was turned down for it, each with its reason.")
    why: str = Field(default="", description="Why it was chosen, in the words it was said in.")
    source: str | None = None
    """Identity of the message that says what was chosen; found, never told."""

    said_by: Origin | None = None
    """Who said it there; `ai` without a source: it stands in no message in so many words."""

    @field_validator("rejected", mode="before")
    @classmethod
    def _options(cls, value: Any) -> Any:
        """Take bare texts as options without a reason, as schema 1 had them."""
        if not isinstance(value, (list, tuple)):
            return value
        return tuple({"option": item} if isinstance(item, str) else item for item in value)


ItemState = Literal["open", "done", "cancelled"]


class PendingItem(Value):
    """One thing somebody asked for, or a step of a plan, and what became of it."""

    item_id: str = ""
    """Digest of its words and its source: the same request read again is the same item, a new request in the same words is another."""

    text: str
    asked_by: Origin | None = None
    """`user`: a person asked for it. `ai`: a step the assistant wrote down. `None`: not known any more."""

    source: str | None = None
    """Identity of the message it stands in."""

    state: ItemState = "open"
    """`done` and `cancelled` are final."""

    in_plan: bool = False
    """A step of a list a tool keeps (`write_todos`, `TodoWrite`): that list says what became of it."""


class LeftOut(Value):
    """How much of what is always worth a line found no room in a summary. The messages that said it are where they were."""

    errors: int = 0
    corrections: int = 0
    amounts: int = 0
    """Statements with an amount or a date."""


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
    open_risks: tuple[str, ...] = Field(default=(), description="Dangers, doubts and known defects somebody named and nobody has dealt with.")
    dropped_keys: int = 0
    """How many unexpected keys the answer had; they are counted and forgotten."""

    left_out: LeftOut | None = None
    """What the summarizer knows it left out; a model is not asked."""

    @property
    def is_empty(self) -> bool:
        """Say whether nothing at all was told."""
        told = (self.pending_items, self.facts, self.decisions, self.open_questions, self.open_risks)
        return not (self.user_intent.strip() or any(told))


class StructuredSummary(Value):
    """The summary in force: a cleaned draft, merged with what was known. Untrusted history, shown in the user role.

    What a context keeps of it leaves `actions_done`, `artifacts` and `do_not` empty: those lie in the evidence, once.
    `ContextBody.structured` puts both together.
    """

    schema_version: Literal[2] = 2
    original_goal: str = ""
    """The first request of the conversation, from the message itself."""

    user_intent: tuple[str, ...] = ()
    """The last few requests, latest first."""

    actions_done: tuple[Action, ...] = ()
    """Tool calls and what came of them, from the calls and results themselves."""

    pending_items: tuple[PendingItem, ...] = ()
    """What is open, and what was closed most recently."""

    facts: tuple[Fact, ...] = ()
    decisions: tuple[Decision, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    """Files the tool calls touched, from the calls themselves."""

    open_questions: tuple[str, ...] = ()
    open_risks: tuple[str, ...] = ()
    do_not: tuple[str, ...] = ()
    """Ids of inferred constraints that forbid something; their words stand in the evidence."""

    left_out: LeftOut | None = None
    """What found no room, over all rounds."""

    language: str | None = None
    """BCP 47 code of the conversation (`en`, `zh`), where known."""

    @model_validator(mode="before")
    @classmethod
    def _upgraded(cls, data: Any) -> Any:
        return upgraded(data) if isinstance(data, Mapping) else data

    @property
    def is_empty(self) -> bool:
        """Say whether there is nothing to show."""
        told = (self.original_goal, self.user_intent, self.open_items, self.facts, self.decisions, self.open_questions, self.open_risks)
        return not any(told)

    @property
    def open_items(self) -> tuple[PendingItem, ...]:
        """What is still to be done."""
        return tuple(item for item in self.pending_items if item.state == "open")

    @property
    def trust(self) -> Trust:
        """The lowest trust of anything in it: confirmed only if it holds nothing but confirmed facts."""
        told = (self.original_goal, self.user_intent, self.pending_items, self.decisions, self.open_questions, self.open_risks)
        is_confirmed = self.facts and not any(told) and all(fact.status is Trust.CONFIRMED for fact in self.facts)
        return Trust.CONFIRMED if is_confirmed else Trust.CLAIMED

    def as_draft(self) -> SummaryDraft:
        """Return what a summarizer would have to say to say this again."""
        return SummaryDraft(
            user_intent=self.user_intent[0] if self.user_intent else "",
            pending_items=tuple(item.text for item in self.open_items),
            facts=self.facts,
            decisions=self.decisions,
            open_questions=self.open_questions,
            open_risks=self.open_risks,
        )

    def stored(self) -> dict[str, Any]:
        """Return the JSON form with every field left out that holds nothing."""
        plain: dict[str, Any] = _without_nothing(self.model_dump(mode="json"))
        return plain


_MUST_BE_THERE = ("text", "statement", "chosen", "option")


def _without_nothing(value: Any) -> Any:
    # The text of an item must be there, also if it is empty.
    if isinstance(value, dict):
        return {key: _without_nothing(inner) for key, inner in value.items() if inner not in (None, False, [], "") or key in _MUST_BE_THERE}
    return [_without_nothing(inner) for inner in value] if isinstance(value, list) else value


def upgraded(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON form of a summary of any schema as the present one has it.

    Schema 1 had one intent and items without a source; what is not known stays unknown, and an item that was marked as the assistant's own stays
    the assistant's.
    """
    plain = dict(data)
    if isinstance(plain.get("user_intent"), str):
        plain["user_intent"] = (plain["user_intent"],) if plain["user_intent"] else ()
    items = plain.get("pending_items")
    if isinstance(items, (list, tuple)):
        plain["pending_items"] = tuple(_item_of_1(item) if isinstance(item, str) else item for item in items)
    # `True` is a 1 to Python; another schema number is refused by the field.
    if type(plain.get("schema_version")) is int and plain["schema_version"] == 1:
        plain["schema_version"] = SUMMARY_SCHEMA_VERSION
        plain["decisions"] = tuple(_decision_of_1(item) for item in plain.get("decisions", ()))
    return plain


def _item_of_1(text: str) -> dict[str, Any]:
    is_own = text.startswith(_CLAIMED_BY_AI)
    return {"text": text.removeprefix(_CLAIMED_BY_AI), "asked_by": "ai" if is_own else None}


def _decision_of_1(item: Any) -> Any:
    if not isinstance(item, Mapping) or not isinstance(item.get("chosen"), str):
        return item
    is_own = item["chosen"].startswith(_CLAIMED_BY_AI)
    return {**item, "chosen": item["chosen"].removeprefix(_CLAIMED_BY_AI), **({"said_by": "ai"} if is_own else {})}


def summary_json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of `StructuredSummary`."""
    schema = StructuredSummary.model_json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}

"""A summarizer that loses no critical value: what its draft leaves out or changes is told in the words it was said in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from langchain_ctxguard.backends.extractive import origin_of
from langchain_ctxguard.core.diff import diff_fields, stands_whole
from langchain_ctxguard.core.extract import extract_fields
from langchain_ctxguard.core.field_text import folded, sentence_at
from langchain_ctxguard.core.ledger import update_ledger
from langchain_ctxguard.core.roles import text_of
from langchain_ctxguard.domain.control import STATEMENTS, ControlField
from langchain_ctxguard.domain.summary import Fact, SummaryDraft
from langchain_ctxguard.ports import Summarizer, SummaryRequest


class FieldKeeper:
    """Asks another summarizer, then puts back the amounts, dates and identifiers still in force that its draft lost."""

    def __init__(self, inner: Summarizer) -> None:
        """Bind the summarizer that is asked."""
        self._inner = inner

    @property
    def name(self) -> str:
        """Name of the summarizer that is asked."""
        return self._inner.name

    def summarize(self, request: SummaryRequest) -> SummaryDraft:
        """Return the draft with what it lost; raises what the summarizer raises."""
        return kept(self._inner.summarize(request), request)

    async def asummarize(self, request: SummaryRequest) -> SummaryDraft:
        """Return the draft with what it lost, without blocking the event loop on the summarizer."""
        return kept(await self._inner.asummarize(request), request)


def kept(draft: SummaryDraft, request: SummaryRequest) -> SummaryDraft:
    """Return `draft` with every critical value that it lost or changed, each in its own sentence, and without its sentences that changed one."""
    if draft.is_empty:
        # No summary at all is for the flow to refuse, not to be filled up.
        return draft
    said = _said(request)
    wanted = critical(update_ledger((), [message for message, _ in said]).live)
    told = _told(draft)
    diff = diff_fields(wanted, extract_fields(told), text=folded(told))
    missing = [change for change in diff if change.before.critical]
    if not missing:
        return draft
    wrong = [folded(change.after.raw) for change in missing if change.after is not None and not _stands_in(change.after, said)]
    facts = [fact for fact in draft.facts if not any(stands_whole(value, folded(fact.statement)) for value in wrong)]
    facts += [_sentence(change.before, said) for change in missing]
    return draft.model_copy(update={"facts": tuple({fact.statement: fact for fact in facts}.values())})


def critical(fields: Sequence[ControlField]) -> list[ControlField]:
    """Return the values that must not be lost: the critical ones that are in force and certain. Statements are quoted as rules, not as values."""
    return [field for field in fields if field.critical and not (field.is_weak or field.is_closed or field.kind in STATEMENTS)]


def _said(request: SummaryRequest) -> list[tuple[BaseMessage, Fact]]:
    """Return what the earlier summary holds and what leaves the view now, each with the fact that a sentence of it would be."""
    earlier = () if request.previous is None else request.previous.facts
    said: list[tuple[BaseMessage, Fact]] = [
        ((AIMessage if fact.said_by == "ai" else HumanMessage)(fact.statement, id=f"earlier-{number}"), fact) for number, fact in enumerate(earlier)
    ]
    for number, (message, source) in enumerate(zip(request.evicted, request.sources, strict=True)):
        said.append((message.model_copy(update={"id": f"evicted-{number}"}), Fact(statement="", said_by=origin_of(message), source=source)))
    return said


def _told(draft: SummaryDraft) -> str:
    decided = [f"{decision.chosen} {decision.why}" for decision in draft.decisions]
    return "\n".join([draft.user_intent, *draft.pending_items, *(fact.statement for fact in draft.facts), *decided, *draft.open_questions])


def _stands_in(field: ControlField, said: Sequence[tuple[Any, Fact]]) -> bool:
    value = folded(field.raw)
    return any(stands_whole(value, folded(text_of(message))) for message, _ in said)


def _sentence(field: ControlField, said: Sequence[tuple[BaseMessage, Fact]]) -> Fact:
    message, fact = next(pair for pair in said if pair[0].id == field.message_id)
    if fact.statement:
        return fact
    text = text_of(message)
    first, last = sentence_at(text, field.start, field.stop)
    sentence = text[first:last] or field.raw
    return fact.model_copy(update={"statement": sentence, "quote": sentence})

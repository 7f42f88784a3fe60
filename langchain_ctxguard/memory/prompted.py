"""A summary by a prompt of the classic kind: `summary` and `new_lines` in, prose out. For text-completion models and for custom prompts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from langchain_ctxguard.backends.answer import read_prose
from langchain_ctxguard.core.roles import text_of
from langchain_ctxguard.core.sentences import sentences
from langchain_ctxguard.domain.summary import Fact, StructuredSummary, SummaryDraft
from langchain_ctxguard.ports import SummaryRequest

PORTION = 3_000
"""Tokens of conversation per call: completion models take about 4,000, prompt and answer included."""

_ANSWER_LIMIT = 10
_SHORT_INPUT = 500
"""Characters an input counts for at least when an answer is called too long."""

Ask = Callable[[list[BaseMessage], str], Any]
AsyncAsk = Callable[[list[BaseMessage], str], Awaitable[Any]]


class PromptSummarizer:
    """Summarizes with the memory's own prompt and model. Everything evicted is read, in portions; the prose that comes back is taken as claims."""

    def __init__(self, ask: Ask, aask: AsyncAsk, *, name: str, portion: int = PORTION, step: int | None = None) -> None:
        """Bind what asks the model.

        Args:
            ask: Returns the new summary of messages and the summary so far.
            aask: The same, without blocking.
            name: For the record.
            portion: Tokens of conversation per call.
            step: Messages per call at most.
        """
        self._ask = ask
        self._aask = aask
        self._name = name
        self._portion = portion
        self._step = step

    @property
    def name(self) -> str:
        """`prompt:` and the model."""
        return f"prompt:{self._name}"

    def summarize(self, request: SummaryRequest) -> SummaryDraft:
        """Return the draft, after as many calls as the input needs.

        Raises:
            InvalidSummaryError: an answer is no summary.
            Exception: whatever the model raises.
        """
        steps = self._steps(request)
        question = next(steps)
        while True:
            try:
                question = steps.send(self._ask(*question))
            except StopIteration as end:
                draft: SummaryDraft = end.value
                return draft

    async def asummarize(self, request: SummaryRequest) -> SummaryDraft:
        """Return the draft with the model's own async calls; raises as `summarize`."""
        steps = self._steps(request)
        question = next(steps)
        while True:
            answer = await self._aask(*question)
            try:
                question = steps.send(answer)
            except StopIteration as end:
                draft: SummaryDraft = end.value
                return draft

    def _steps(self, request: SummaryRequest) -> Generator[tuple[list[BaseMessage], str], Any, SummaryDraft]:
        notes = prose_of(request.previous)
        for portion in portions(request.evicted, measure=lambda message: request.count([message]), room=self._portion, most=self._step):
            characters = len(notes) + sum(len(text_of(message)) for message in portion)
            answer = yield portion, notes
            notes = read_prose(answer, longest=_ANSWER_LIMIT * max(characters, _SHORT_INPUT))
        return SummaryDraft(facts=tuple(Fact(statement=piece.text) for piece in sentences(notes)))


def prose_of(summary: StructuredSummary | None) -> str:
    """Return what an earlier summary tells, a statement per line; requests stand beside every summary and need not be told again."""
    if summary is None:
        return ""
    told = [
        *(item.text for item in summary.pending_items if item.state == "open"),
        *(fact.statement for fact in summary.facts),
        *(decision.chosen for decision in summary.decisions),
    ]
    return "\n".join([*told, *summary.open_questions, *summary.open_risks])


def portions(
    messages: Sequence[BaseMessage], *, measure: Callable[[BaseMessage], int], room: int, most: int | None = None
) -> Generator[list[BaseMessage]]:
    """Yield the messages in portions that fit into `room`, at most `most` messages each; a message that is larger is split. Nothing is left out."""
    portion: list[BaseMessage] = []
    used = 0
    for message in messages:
        for piece in _pieces(message, measure(message), room):
            cost = measure(piece)
            if portion and (used + cost > room or len(portion) == most):
                yield portion
                portion, used = [], 0
            portion.append(piece)
            used += cost
    if portion:
        yield portion


def _pieces(message: BaseMessage, cost: int, room: int) -> list[BaseMessage]:
    if cost <= room:
        return [message]
    text = text_of(message)
    width = max(1, len(text) * room * 9 // (10 * cost))
    return [message.model_copy(update={"content": text[at : at + width]}) for at in range(0, len(text), width)] or [message]

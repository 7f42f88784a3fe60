"""A summary without a model: the sentences someone would miss, verbatim, within a bound. Same messages, same draft, in any language."""

from __future__ import annotations

import asyncio

from langchain_ctxguard.backends.extractive.must_keep import kept_verbatim, origin_of
from langchain_ctxguard.backends.extractive.reading import Reading
from langchain_ctxguard.backends.extractive.room import Selection
from langchain_ctxguard.core.roles import is_request, text_of
from langchain_ctxguard.domain.summary import SummaryDraft
from langchain_ctxguard.ports import SummaryRequest

__all__ = ["ExtractiveSummarizer", "kept_verbatim", "origin_of"]

_THREAD_FROM = 200_000
"""Characters above which reading is moved off the event loop."""


class ExtractiveSummarizer:
    """Summarizes by quoting. Needs no model and no network, reads every message to its end, in time linear in the text.

    Every string of the draft stands verbatim in an evicted message or in the previous summary; `…` marks where one was cut. The latest value of
    every amount and date that was said is told: in a sentence, or where there is no room for one in the few words around it.

    >>> from langchain_core.messages import HumanMessage
    >>> from langchain_core.messages.utils import count_tokens_approximately
    >>> request = SummaryRequest((HumanMessage("Never email before 9:00."),), ("m-1",), None, 500, count_tokens_approximately)
    >>> ExtractiveSummarizer().summarize(request).facts[0].statement
    'Never email before 9:00.'
    """

    name = "extractive"

    def __init__(self, *, tells_every_value: bool = False) -> None:
        """Say what becomes of amounts and dates that have no room at all.

        Args:
            tells_every_value: Whether to refuse with a `ContextBudgetError` where not every latest value fits; else those without room are
                counted, as the summary then says.
        """
        self._tells_every_value = tells_every_value

    def summarize(self, request: SummaryRequest) -> SummaryDraft:
        """Return the draft.

        Raises:
            ContextBudgetError: a latest value has no room, and all were to be told.
        """
        reading = Reading()
        if request.previous is not None:
            reading.carry_over(request.previous, any(map(is_request, request.evicted)))
        for message, source in zip(request.evicted, request.sources, strict=True):
            reading.read(message, source)
        return Selection(request, reading, tells_every_value=self._tells_every_value).draft()

    async def asummarize(self, request: SummaryRequest) -> SummaryDraft:
        """Return the same draft; long input is read in a thread."""
        if sum(len(text_of(message)) for message in request.evicted) < _THREAD_FROM:
            return self.summarize(request)
        return await asyncio.to_thread(self.summarize, request)

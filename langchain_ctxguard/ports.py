"""What the inside may ask of the outside: Protocols only. What they exchange is in `domain` and `core.effects`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, runtime_checkable

from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.effects import SummaryRequest
from langchain_ctxguard.domain.summary import SummaryDraft
from langchain_ctxguard.domain.version import CompactionRecord, ContextEvent

__all__ = ["Hook", "Summarizer", "SummaryRequest", "TokenCounter"]


class TokenCounter(Protocol):
    """Counts the tokens a list of messages costs. LangChain's `count_tokens_approximately` is one.

    A counter may also offer `count_tools(tools) -> int` for tool schemas; where it does not, their JSON is counted as text.
    It must never call the network: it runs before every model call.
    """

    def __call__(self, messages: Sequence[BaseMessage], /) -> int:
        """Return the tokens of `messages` together."""


@runtime_checkable
class Summarizer(Protocol):
    """Turns evicted messages into a draft. It has no vote on rules, evidence or trust: those are copied, not told."""

    @property
    def name(self) -> str:
        """Short name for records, e.g. `extractive`."""

    def summarize(self, request: SummaryRequest) -> SummaryDraft:
        """Return the draft.

        Raises:
            InvalidSummaryError: an answer came, but it is no summary; it may be asked again.
            Exception: anything else counts as the summarizer being down.
        """

    async def asummarize(self, request: SummaryRequest) -> SummaryDraft:
        """Return the draft, without blocking the event loop."""


class Hook(Protocol):
    """Watches compactions. It cannot veto; what it raises is caught and warned about once."""

    def span(self, name: str, facts: Mapping[str, Any]) -> AbstractContextManager[Any]:
        """Wrap a step (`compaction`, `summarize`) so a tracer can nest what happens inside."""

    def record(self, fact: CompactionRecord | ContextEvent) -> None:
        """Take notice of something that happened, after it was committed."""

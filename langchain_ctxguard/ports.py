"""What the inside may ask of the outside: Protocols only. What they exchange is in `domain` and `core.effects`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.effects import Spending, SummaryRequest
from langchain_ctxguard.domain.log import Entry, Stream
from langchain_ctxguard.domain.prefix import PrefixReport
from langchain_ctxguard.domain.summary import SummaryDraft
from langchain_ctxguard.domain.version import CompactionRecord, ContextEvent

__all__ = ["Clock", "Fact", "Hook", "Log", "LogReader", "Spending", "Summarizer", "SummaryRequest", "TokenCounter"]

Fact = CompactionRecord | ContextEvent | PrefixReport
"""What a hook is told."""

Clock = Callable[[], datetime]
"""Says what time it is: an aware datetime."""


class TokenCounter(Protocol):
    """Counts the tokens a list of messages costs. LangChain's `count_tokens_approximately` is one.

    A counter may also offer `count_tools(tools) -> int` for tool schemas; where it does not, their JSON is counted as text.
    It must never call the network: it runs before every model call.
    """

    def __call__(self, messages: Sequence[BaseMessage], /) -> int:
        """Return the tokens of `messages` together."""


class LogReader(Protocol):
    """Reads append-only streams of entries."""

    def read(self, stream: Stream, since: int = 0) -> list[Entry]:
        """Return the entries of a stream after number `since`, oldest first."""

    def heads(self, streams: Sequence[Stream]) -> list[int]:
        """Return the number of the last entry of each stream, 0 for an empty one: one cheap question before every model call."""

    def find(self, ref: str) -> list[Entry]:
        """Return the entries that carry `ref`, oldest first."""


class Log(LogReader, Protocol):
    """Appends to streams. Nothing is ever changed or removed; "current" is a fold over what is there."""

    def append(self, stream: Stream, bodies: Sequence[bytes], *, expected: int | None = None, refs: Sequence[str] = ()) -> list[Entry]:
        """Append `bodies` as one and return their entries.

        Args:
            stream: Where.
            bodies: JSON texts as bytes; kept as they are.
            expected: Number of the last entry the writer saw; `None`: wherever the stream is.
            refs: Names the entries can be found by.

        Raises:
            LogConflictError: somebody appended since `expected`.
        """


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

    def record(self, fact: Fact) -> None:
        """Take notice of something that happened, after it was committed."""

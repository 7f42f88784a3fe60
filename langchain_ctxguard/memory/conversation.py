"""What the memories share: the view of a chat history, and its compaction. Settings and rules only; each memory holds its own head."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage, SystemMessage

from langchain_ctxguard.compact import Compaction, acompact_messages, compact_messages
from langchain_ctxguard.core.compile import rendered
from langchain_ctxguard.core.effects import CountTokens
from langchain_ctxguard.core.render import render_rules
from langchain_ctxguard.core.roles import is_request
from langchain_ctxguard.core.situation import Situation
from langchain_ctxguard.core.view import situation_in_original
from langchain_ctxguard.domain.config import CompactionSettings, ContextSize
from langchain_ctxguard.domain.context import ContextHead, read_head
from langchain_ctxguard.memory.rules import Rulebook
from langchain_ctxguard.memory.stored import without_heads
from langchain_ctxguard.ports import Summarizer

LAST_EXCHANGE: ContextSize = ("turns", 1)
"""The newest request and its answer stay as they were said, whatever their size: half of an exchange would read as a question still open."""

UNREAD = 2
"""A history that holds this many times what a memory keeps raw, and has no summary yet, is shown with one made without a model."""

_DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Shown:
    """A chat history as a memory shows it."""

    system: tuple[SystemMessage, ...]
    """The application's own, from the front of the history."""

    pins: str
    """The rules in force; empty without any."""

    leading: SystemMessage | None
    """Both in one message."""

    told: list[BaseMessage]
    """Evidence and summary, in the user role."""

    rest: list[BaseMessage]
    """The messages that are still in sight."""

    head: ContextHead
    """What it was made of."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """Reads and compacts chat histories under the rules of one memory."""

    book: Rulebook
    count: CountTokens

    def shown(self, messages: Sequence[BaseMessage], head: ContextHead | None, *, limit: int) -> Shown:
        """Return the view of `messages`; asks no model.

        Args:
            messages: The chat history.
            head: The head that belongs to it.
            limit: Tokens of raw messages from which on, twice over, a history nobody has summarized yet is summarized for this view alone.
        """
        situation = self._situation(messages, head)
        if self.book.config.compaction.fallback is not None and self.count(situation.tail) > UNREAD * max(limit, 1):
            done = compact_messages(messages, **self._settings(head, self._keep(situation.tail, limit)), summarizer=None)
            found = read_head(done.head)
            situation = self._situation(messages, found if isinstance(found, ContextHead) else head)
        view = situation.view()
        body = situation.head.body
        told = 0 if body is None else len(rendered(body, version=situation.head.version))
        return Shown(
            system=(*situation.system, *situation.trusted),
            pins=render_rules(situation.rules),
            leading=situation.leading,
            told=view.messages[:told],
            rest=without_heads(view.messages[told:]),
            head=situation.head,
        )

    def keep_within(self, messages: Sequence[BaseMessage], head: ContextHead | None, limit: int) -> ContextSize | None:
        """Return what is to stay raw for the raw messages to fit `limit` tokens; `None` where they do."""
        tail = self._situation(messages, head).tail
        return None if self.count(tail) <= limit else self._keep(tail, limit)

    def compacted(
        self, messages: Sequence[BaseMessage], head: ContextHead | None, *, keep: ContextSize, summarizer: Summarizer | None, calls: int = 1
    ) -> ContextHead | None:
        """Return the head after a compaction; the same one where none was made.

        Args:
            messages: The chat history, new messages included.
            head: The head that belongs to it.
            keep: What stays raw.
            summarizer: Who summarizes; `None`: nobody's model.
            calls: How often the summarizer is expected to call its model: it is given that many times as long.
        """
        return _head_of(compact_messages(messages, **self._settings(head, keep, calls), summarizer=summarizer), head)

    async def acompacted(
        self, messages: Sequence[BaseMessage], head: ContextHead | None, *, keep: ContextSize, summarizer: Summarizer | None
    ) -> ContextHead | None:
        """Return the same, without blocking the event loop on the summarizer."""
        return _head_of(await acompact_messages(messages, **self._settings(head, keep), summarizer=summarizer), head)

    def _situation(self, messages: Sequence[BaseMessage], head: ContextHead | None) -> Situation:
        trusts = self.book.config.compaction.trust_system_messages
        return situation_in_original(messages, head or ContextHead(version=0), rules=self.book.rules(), trust_system_messages=trusts).situation

    def _settings(self, head: ContextHead | None, keep: ContextSize, calls: int = 1) -> dict[str, Any]:
        settings = self.book.config.compaction
        if calls > 1 and settings.summarizer_timeout_s is not None:
            settings = CompactionSettings.of(settings, summarizer_timeout_s=min(settings.summarizer_timeout_s * calls, _DAY_S))
        return {
            "config": self.book.config.model_copy(update={"compaction": settings}),
            "constraints": self.book.rules(),
            "extensions": self.book.extensions,
            "keep": keep,
            "token_counter": self.count,
            "previous": head,
        }

    def _keep(self, tail: Sequence[BaseMessage], limit: int) -> ContextSize:
        at = next((index for index in range(len(tail) - 1, -1, -1) if is_request(tail[index])), 0)
        return LAST_EXCHANGE if self.count(tail[at:]) > limit else ("tokens", max(limit, 0))


def _head_of(done: Compaction, head: ContextHead | None) -> ContextHead | None:
    found = read_head(done.head)
    return found if isinstance(found, ContextHead) and (found.body is not None or found.cool_down is not None) else head

"""`GuardedChatHistory`: a chat history whose `.messages` are a guarded view, for `RunnableWithMessageHistory`. Needs no classic chain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage

from langchain_ctxguard.engine import counter_of, summarizer_of
from langchain_ctxguard.errors import ConfigurationError
from langchain_ctxguard.memory.conversation import Conversation
from langchain_ctxguard.memory.rules import Guard, Rulebook
from langchain_ctxguard.memory.stored import Bookmark
from langchain_ctxguard.ports import Summarizer


class GuardedChatHistory(BaseChatMessageHistory):
    """Shows a chat history as rules, a checked summary and the newest messages; the history behind it keeps every message.

    chain = RunnableWithMessageHistory(chain, lambda session: GuardedChatHistory(stored(session), guard=["Never delete an order."]))
    """

    def __init__(
        self,
        history: BaseChatMessageHistory,
        *,
        guard: Guard = None,
        summarizer: Summarizer | BaseChatModel | str | None = None,
        max_token_limit: int = 2_000,
    ) -> None:
        """Wrap a history.

        Args:
            history: Where the messages rest.
            guard: A `ContextGuard`, a `GuardConfig`, the path of a `ctxguard.yaml` or a list of constraints; `None`: no rules.
            summarizer: A `Summarizer`, a chat model or its name; `None`: extractive, without a model.
            max_token_limit: Tokens of messages shown as they were said; the last exchange stays whole, whatever its size.

        Raises:
            ConfigurationError: a setting that cannot be used.
        """
        given: Any = max_token_limit
        if isinstance(given, bool) or not isinstance(given, int) or given < 0:
            msg = f"`max_token_limit` takes a number of tokens, not {given!r}."
            raise ConfigurationError(msg)
        self.history = history
        """Where the messages rest, whole."""

        self._summarizer = summarizer_of(summarizer)
        self._limit = max_token_limit
        self._conversation = Conversation(Rulebook.of(guard), counter_of(None, summarizer))
        self._mark = Bookmark()

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # what the base declares as an attribute is computed here
        """The view: rules in force, summary, newest messages. Reading it asks no model."""
        return self._view(self.history.messages)

    async def aget_messages(self) -> list[BaseMessage]:
        """Return the view, reading the history without blocking."""
        return self._view(await self.history.aget_messages())

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Store messages, and summarize what exceeds the limit; they are stored whatever becomes of the summary."""
        every = [*self.history.messages, *messages]
        mark = self._mark
        try:
            mark = mark.found_in(every)
            keep = self._conversation.keep_within(every, mark.head, self._limit)
            if keep is not None:
                mark = mark.moved(self._conversation.compacted(every, mark.head, keep=keep, summarizer=self._summarizer))
        finally:
            stored, mark = mark.beside(messages)
            self.history.add_messages(stored)
            self._mark = mark

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Do the same, without blocking the event loop."""
        every = [*await self.history.aget_messages(), *messages]
        mark = self._mark
        try:
            mark = mark.found_in(every)
            keep = self._conversation.keep_within(every, mark.head, self._limit)
            if keep is not None:
                mark = mark.moved(await self._conversation.acompacted(every, mark.head, keep=keep, summarizer=self._summarizer))
        finally:
            stored, mark = mark.beside(messages)
            await self.history.aadd_messages(stored)
            self._mark = mark

    def clear(self) -> None:
        """Remove every message from the history; the rules stay."""
        self.history.clear()
        self._mark = Bookmark()

    async def aclear(self) -> None:
        """Remove every message from the history; the rules stay."""
        await self.history.aclear()
        self._mark = Bookmark()

    def _view(self, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        self._mark = self._mark.found_in(messages)
        shown = self._conversation.shown(messages, self._mark.head, limit=self._limit)
        return [*([] if shown.leading is None else [shown.leading]), *shown.told, *shown.rest]

"""`GuardedSummaryBufferMemory`: in the place of `ConversationSummaryBufferMemory`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_classic.memory import ConversationSummaryBufferMemory
from langchain_core.messages import BaseMessage

from langchain_ctxguard.domain.config import ContextSize
from langchain_ctxguard.memory.classic import GuardedMemory
from langchain_ctxguard.memory.earlier import head_of_text, text_of_head
from langchain_ctxguard.memory.stored import Bookmark


class GuardedSummaryBufferMemory(GuardedMemory, ConversationSummaryBufferMemory):
    """Remembers the newest messages as they were said, `max_token_limit` tokens of them, and what came before as a checked summary.

    The rules of `guard` lead what it returns, word for word, in every turn. The summary is never a system message. Nothing is removed from the chat
    history: what the summary stands for is out of sight, not gone. The last exchange stays whole, even where it alone exceeds the limit.

        chain = ConversationChain(llm=llm, memory=GuardedSummaryBufferMemory(llm=llm, max_token_limit=650, guard="ctxguard.yaml"))
    """

    moving_summary_buffer: str = ""
    """The summary as plain text, rules left out. Another text put here takes its place: as an untrusted earlier summary."""

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002 - the stock signature
        """Return the rules, the summary and the newest messages under the memory's key."""
        return self._loaded(self.chat_memory.messages)

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002 - the stock signature
        """Return the same, reading the history without blocking."""
        return self._loaded(await self.chat_memory.aget_messages())

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, str]) -> None:
        """Summarize what exceeds the limit, and store the exchange; it is stored whatever becomes of the summary."""
        pair = self._pair(self._get_input_output(inputs, outputs))
        before = self.chat_memory.messages
        mark = self._mark
        try:
            mark = self._current(before)
            mark = self._pruned([*before, *pair], mark)
        finally:
            stored, mark = mark.beside(pair)
            self.chat_memory.add_messages(stored)
            self._tell(mark)

    async def asave_context(self, inputs: dict[str, Any], outputs: dict[str, str]) -> None:
        """Do the same, without blocking the event loop."""
        pair = self._pair(self._get_input_output(inputs, outputs))
        before = await self.chat_memory.aget_messages()
        mark = self._mark
        try:
            mark = self._current(before)
            mark = await self._apruned([*before, *pair], mark)
        finally:
            stored, mark = mark.beside(pair)
            await self.chat_memory.aadd_messages(stored)
            self._tell(mark)

    def prune(self) -> None:
        """Summarize what exceeds the limit now."""
        messages = self.chat_memory.messages
        self._tell(self._pruned(messages, self._current(messages)))

    async def aprune(self) -> None:
        """Summarize what exceeds the limit now, without blocking the event loop."""
        messages = await self.chat_memory.aget_messages()
        self._tell(await self._apruned(messages, self._current(messages)))

    def clear(self) -> None:
        """Forget the conversation; the rules stay."""
        super().clear()
        self._forget()

    async def aclear(self) -> None:
        """Forget the conversation; the rules stay."""
        await super().aclear()
        self._forget()

    def _loaded(self, messages: Sequence[BaseMessage]) -> dict[str, Any]:
        mark = self._current(messages)
        return {self.memory_key: self._value(self._under_guard().shown(messages, mark.head, limit=self.max_token_limit))}

    def _pruned(self, messages: Sequence[BaseMessage], mark: Bookmark) -> Bookmark:
        keep = self._keep(messages, mark)
        if keep is None:
            return mark
        return mark.moved(self._under_guard().compacted(messages, mark.head, keep=keep, summarizer=self._summarizer()))

    async def _apruned(self, messages: Sequence[BaseMessage], mark: Bookmark) -> Bookmark:
        keep = self._keep(messages, mark)
        if keep is None:
            return mark
        return mark.moved(await self._under_guard().acompacted(messages, mark.head, keep=keep, summarizer=self._summarizer()))

    def _keep(self, messages: Sequence[BaseMessage], mark: Bookmark) -> ContextSize | None:
        return self._under_guard().keep_within(messages, mark.head, self.max_token_limit)

    def _current(self, messages: Sequence[BaseMessage]) -> Bookmark:
        """Return the bookmark in force; a text somebody put in place of the summary stands for what the summary stood for."""
        known = self._mark
        self._mark = mark = known.found_in(messages)
        if self.moving_summary_buffer not in {self._shown_text, text_of_head(mark.head)}:
            covers = 0 if mark.head is None else mark.head.cut.position
            version = 1 if mark.head is None else mark.head.version + 1
            self._mark = Bookmark(head_of_text(self.moving_summary_buffer, messages, covers=covers, version=version))
            self._shown_text = self.moving_summary_buffer
        elif mark is not known:
            self.moving_summary_buffer = self._shown_text = text_of_head(mark.head)
        return self._mark

    def _tell(self, mark: Bookmark) -> None:
        # A text somebody put here reads as they wrote it until a summary replaces it.
        if mark.head is not self._mark.head:
            self.moving_summary_buffer = self._shown_text = text_of_head(mark.head)
        self._mark = mark

    def _forget(self) -> None:
        self._mark = Bookmark()
        self.moving_summary_buffer = self._shown_text = ""

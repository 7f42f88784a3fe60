"""`GuardedSummaryMemory`: in the place of `ConversationSummaryMemory`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from langchain_classic.memory import ConversationSummaryMemory
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.language_models import BaseLanguageModel
from langchain_core.messages import BaseMessage

from langchain_ctxguard.memory.classic import GuardedMemory
from langchain_ctxguard.memory.conversation import LAST_EXCHANGE
from langchain_ctxguard.memory.earlier import head_of_text, text_of_head
from langchain_ctxguard.memory.stored import Bookmark

RAW = 2_000
"""Tokens of a history nobody has summarized yet that are shown raw, twice over."""


class GuardedSummaryMemory(GuardedMemory, ConversationSummaryMemory):
    """Remembers a conversation as a checked summary; the last exchange stands as it was said.

    The rules of `guard` lead what it returns, word for word, in every turn. The summary is never a system message. The first summary is made once it
    is shorter than what it stands for.

        chain = ConversationChain(llm=llm, memory=GuardedSummaryMemory(llm=llm, guard=["Never delete an order."]))
    """

    buffer: str = ""
    """The conversation as this memory tells it, rules left out. Another text put here takes its place: as an untrusted earlier summary."""

    @classmethod
    def from_messages(cls, llm: BaseLanguageModel[Any], chat_memory: BaseChatMessageHistory, *, summarize_step: int = 2, **kwargs: Any) -> Self:
        """Return a memory of an existing history.

        Args:
            llm: Summarizes.
            chat_memory: The history. It is read, not changed.
            summarize_step: Messages per call of a text-completion model or a prompt of its own; a chat model is given what fits its window.
            **kwargs: Further fields.
        """
        memory = cls(llm=llm, chat_memory=chat_memory, **kwargs)
        messages = chat_memory.messages
        mark = memory._current(messages, covers=0)
        calls = -(-len(messages) // max(summarize_step, 1))
        summarizer = memory._summarizer(step=max(summarize_step, 1))
        memory._mark = mark.moved(memory._under_guard().compacted(messages, mark.head, keep=LAST_EXCHANGE, summarizer=summarizer, calls=calls))
        memory._tell(messages)
        return memory

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002 - the stock signature
        """Return the rules, the summary and the last exchange under the memory's key."""
        return self._loaded(self.chat_memory.messages)

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002 - the stock signature
        """Return the same, reading the history without blocking."""
        return self._loaded(await self.chat_memory.aget_messages())

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, str]) -> None:
        """Summarize what was said before this exchange, and store the exchange; it is stored whatever becomes of the summary."""
        pair = self._pair(self._get_input_output(inputs, outputs))
        before = self.chat_memory.messages
        messages, mark = [*before, *pair], self._mark
        try:
            mark = self._current(before)
            mark = mark.moved(self._under_guard().compacted(messages, mark.head, keep=LAST_EXCHANGE, summarizer=self._summarizer()))
        finally:
            stored, mark = mark.beside(pair)
            self.chat_memory.add_messages(stored)
            self._mark = mark
        self._tell(messages)

    async def asave_context(self, inputs: dict[str, Any], outputs: dict[str, str]) -> None:
        """Do the same, without blocking the event loop."""
        pair = self._pair(self._get_input_output(inputs, outputs))
        before = await self.chat_memory.aget_messages()
        messages, mark = [*before, *pair], self._mark
        try:
            mark = self._current(before)
            mark = mark.moved(await self._under_guard().acompacted(messages, mark.head, keep=LAST_EXCHANGE, summarizer=self._summarizer()))
        finally:
            stored, mark = mark.beside(pair)
            await self.chat_memory.aadd_messages(stored)
            self._mark = mark
        self._tell(messages)

    def clear(self) -> None:
        """Forget the conversation; the rules stay."""
        super().clear()
        self._forget()

    async def aclear(self) -> None:
        """Forget the conversation; the rules stay."""
        await self.chat_memory.aclear()
        self._forget()

    def _loaded(self, messages: Sequence[BaseMessage]) -> dict[str, Any]:
        mark = self._current(messages)
        return {self.memory_key: self._value(self._under_guard().shown(messages, mark.head, limit=RAW))}

    def _current(self, messages: Sequence[BaseMessage], *, covers: int | None = None) -> Bookmark:
        """Return the bookmark in force; a text somebody put in place of the summary stands for all messages there are (or for `covers` of them)."""
        known = self._mark
        self._mark = mark = known.found_in(messages)
        if self.buffer != self._shown_text and self.buffer != self._text(messages):
            version = 1 if mark.head is None else mark.head.version + 1
            self._mark = Bookmark(head_of_text(self.buffer, messages, covers=len(messages) if covers is None else covers, version=version))
            self._shown_text = self.buffer
        elif mark is not known:
            self._tell(messages)
        return self._mark

    def _tell(self, messages: Sequence[BaseMessage]) -> None:
        self.buffer = self._shown_text = self._text(messages)

    def _text(self, messages: Sequence[BaseMessage]) -> str:
        shown = self._under_guard().shown(messages, self._mark.head, limit=RAW)
        return "\n".join(part for part in (text_of_head(shown.head), self._lines(shown.rest)) if part)

    def _forget(self) -> None:
        self._mark = Bookmark()
        self.buffer = self._shown_text = ""

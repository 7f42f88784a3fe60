"""What both classic memories have in common: their model as summarizer, their variable, and a save that loses nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_classic.memory.chat_memory import BaseChatMemory
from langchain_classic.memory.prompt import SUMMARY_PROMPT
from langchain_classic.memory.summary import SummarizerMixin
from langchain_core.chat_history import BaseChatMessageHistory, InMemoryChatMessageHistory
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from pydantic import Field, PrivateAttr, field_validator

from langchain_ctxguard.backends.chat_model import ChatModelSummarizer
from langchain_ctxguard.backends.internal_call import answering_whole, internal_marks
from langchain_ctxguard.backends.tokens import window_of
from langchain_ctxguard.core.roles import text_of
from langchain_ctxguard.engine import counter_of
from langchain_ctxguard.memory.conversation import Conversation, Shown
from langchain_ctxguard.memory.lines import lines_of
from langchain_ctxguard.memory.prompted import PORTION, PromptSummarizer
from langchain_ctxguard.memory.rules import Guard, Rulebook
from langchain_ctxguard.memory.stored import Bookmark
from langchain_ctxguard.ports import Summarizer


class ProcessHistory(InMemoryChatMessageHistory):
    """Keeps messages in this process. A class of its own, because langchain-core warns of the one it derives from, which nobody here asked for."""


class GuardedMemory(BaseChatMemory, SummarizerMixin):
    """Base of both: not for use by itself."""

    chat_memory: BaseChatMessageHistory = Field(default_factory=ProcessHistory)
    memory_key: str = "history"
    summary_message_cls: type[BaseMessage] = HumanMessage
    """Class of the messages that show the summary; never a system message: what was said in a conversation has no authority over it."""

    guard: Guard = None
    """The rules: a `ContextGuard`, a `GuardConfig`, the path of a `ctxguard.yaml` or a list of constraints; `None`: no rules."""

    _book: Rulebook | None = PrivateAttr(default=None)
    _bound: Guard = PrivateAttr(default=None)
    """What `guard` was when `_book` was made of it."""

    _mark: Bookmark = PrivateAttr(default_factory=Bookmark)
    _shown_text: str = PrivateAttr(default="")
    """The summary as this memory last told it: another text in its place was put there by somebody."""

    @field_validator("summary_message_cls")
    @classmethod
    def _no_system_message(cls, kind: type[BaseMessage]) -> type[BaseMessage]:
        if issubclass(kind, SystemMessage):
            msg = "a summary is never a system message: what somebody said would speak for the application; leave `summary_message_cls` out"
            raise ValueError(msg)
        return kind

    def model_post_init(self, context: Any, /) -> None:
        """Read `guard`, so that rules that cannot be used are told at once."""
        super().model_post_init(context)
        self._under_guard()

    def predict_new_summary(self, messages: list[BaseMessage], existing_summary: str) -> str:
        """Return the model's summary of `messages` and the summary so far, with this memory's prompt, as it was answered."""
        return _answered(answering_whole(self.llm).invoke(self._question(messages, existing_summary), internal_marks("ctxguard.summarize")))

    async def apredict_new_summary(self, messages: list[BaseMessage], existing_summary: str) -> str:
        """Return the same, without blocking the event loop."""
        return _answered(await answering_whole(self.llm).ainvoke(self._question(messages, existing_summary), internal_marks("ctxguard.summarize")))

    def _question(self, messages: list[BaseMessage], existing_summary: str) -> Any:
        lines = lines_of(messages, human_prefix=self.human_prefix, ai_prefix=self.ai_prefix)
        return self.prompt.format_prompt(summary=existing_summary, new_lines=lines)

    def _under_guard(self) -> Conversation:
        if self._book is None or self._bound is not self.guard:
            self._book = Rulebook.of(self.guard)
            self._bound = self.guard
        return Conversation(self._book, counter_of(None, self.llm))

    def _summarizer(self, *, step: int | None = None) -> Summarizer:
        """Return who summarizes: a chat model by the package's prompt; any other model, and a prompt or method of the user's, as in stock code."""
        kind = type(self)
        is_own = (kind.predict_new_summary, kind.apredict_new_summary) != (GuardedMemory.predict_new_summary, GuardedMemory.apredict_new_summary)
        if isinstance(self.llm, BaseChatModel) and self.prompt == SUMMARY_PROMPT and not is_own:
            return ChatModelSummarizer(self.llm)
        window = window_of(self.llm)
        portion = PORTION if window is None else max(PORTION, window // 2)
        name = type(self.llm).__name__
        return PromptSummarizer(self.predict_new_summary, self.apredict_new_summary, name=name, portion=portion, step=step)

    def _pair(self, said: tuple[str, str]) -> list[BaseMessage]:
        return [HumanMessage(content=said[0]), AIMessage(content=said[1])]

    def _value(self, shown: Shown) -> Any:
        """Return a view as the memory's variable: messages, or one text."""
        if self.return_messages:
            leading = [] if shown.leading is None else [shown.leading]
            return [*leading, *(self._summary_message(message) for message in shown.told), *shown.rest]
        system = [self._lines([SystemMessage(text_of(message))]) for message in shown.system]
        pins = [shown.pins.strip()] if shown.pins else []
        rest = [self._lines(shown.rest)] if shown.rest else []
        return "\n".join([*system, *pins, *(text_of(message) for message in shown.told), *rest])

    def _lines(self, messages: Sequence[BaseMessage]) -> str:
        return lines_of(messages, human_prefix=self.human_prefix, ai_prefix=self.ai_prefix)

    def _summary_message(self, message: BaseMessage) -> BaseMessage:
        return message if self.summary_message_cls is HumanMessage else self.summary_message_cls(content=message.content)


def _answered(answer: Any) -> str:
    return text_of(answer) if isinstance(answer, BaseMessage) else str(answer)

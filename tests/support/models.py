"""Fakes that watch: a summarizer that keeps what it was asked, and a chat model that keeps what it was sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import PrivateAttr

from langchain_ctxguard.domain.summary import SummaryDraft
from langchain_ctxguard.ports import SummaryRequest


class SpySummarizer:
    """Answers each request with `draft(request)` and keeps the requests."""

    name = "spy"

    def __init__(self, draft: Callable[[SummaryRequest], SummaryDraft] | None = None) -> None:
        """Without `draft`, answer with one short sentence."""
        self.requests: list[SummaryRequest] = []
        self._draft = draft or (lambda request: SummaryDraft(user_intent=f"{len(request.evicted)} messages were summarized."))

    def summarize(self, request: SummaryRequest) -> SummaryDraft:
        """Keep the request and answer it."""
        self.requests.append(request)
        return self._draft(request)

    async def asummarize(self, request: SummaryRequest) -> SummaryDraft:
        """Keep the request and answer it."""
        return self.summarize(request)


class WatchedModel(BaseChatModel):
    """Answers with `reply(number_of_the_call, messages)` and keeps every list it was sent."""

    reply: Callable[[int, list[BaseMessage]], AIMessage]
    _seen: list[list[BaseMessage]] = PrivateAttr(default_factory=list)

    @property
    def seen(self) -> list[list[BaseMessage]]:
        """What each call was sent."""
        return self._seen

    @property
    def _llm_type(self) -> str:
        return "watched"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> WatchedModel:
        """Take any tools; the script decides what is called."""
        return self

    def _generate(self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **_: Any) -> ChatResult:
        self._seen.append(list(messages))
        return ChatResult(generations=[ChatGeneration(message=self.reply(len(self._seen) - 1, messages))])

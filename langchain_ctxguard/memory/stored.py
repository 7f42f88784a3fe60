"""Where the head of a conversation rests: beside an answer in the chat history, so that a restart finds it.

Whoever can write the history can write there too. So a head is checked, never trusted: it must be whole, it must name a cut this history has, and
it hides nothing that came after the answer it stands beside. What it holds is shown as untrusted text; it touches no rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from langchain_ctxguard.core.view import situation_in_original
from langchain_ctxguard.domain.context import ContextHead, read_head

KEY = "ctxguard"
"""Key of `additional_kwargs`; no provider is sent it."""

APART = 8
"""A head is written again when its cut moved by so many messages: a restart shows that many of them raw, a history is not filled with summaries."""


@dataclass(frozen=True, slots=True)
class Bookmark:
    """The head of a conversation, and how far the one goes that its history holds. A value: copies of a memory do not share it."""

    head: ContextHead | None = None
    stored_at: int | None = None
    """Where the cut of the stored head lies; `None`: the history holds none of this conversation."""

    def found_in(self, messages: Sequence[BaseMessage]) -> Bookmark:
        """Return the bookmark that belongs to `messages`: this one, else the newest one they hold."""
        if self.head is not None and (self.head.body is None or belongs(self.head, messages)):
            return self
        head = stored_head(messages)
        if head is None:
            return self if self.head is None else Bookmark()
        return Bookmark(head, head.cut.position)

    def moved(self, head: ContextHead | None) -> Bookmark:
        """Return the bookmark after a compaction."""
        return self if head is self.head else replace(self, head=head)

    def beside(self, messages: Sequence[BaseMessage]) -> tuple[list[BaseMessage], Bookmark]:
        """Return new messages as they are to be stored, the head beside an answer where the stored one lies too far back, and the bookmark then."""
        head = self.head
        # What a client put there is none of ours.
        bare = without_heads(messages)
        if head is None or head.body is None or (self.stored_at is not None and 0 <= head.cut.position - self.stored_at < APART):
            return bare, self
        carrying = with_head(bare, head)
        if carrying is None:
            return bare, self
        return carrying, replace(self, stored_at=head.cut.position)


def with_head(messages: Sequence[BaseMessage], head: ContextHead) -> list[BaseMessage] | None:
    """Return `messages` with `head` beside the last answer among them; `None` where there is none."""
    at = next((index for index in range(len(messages) - 1, -1, -1) if isinstance(messages[index], AIMessage)), None)
    if at is None:
        return None
    answer = messages[at]
    carrying = answer.model_copy(update={"additional_kwargs": {**answer.additional_kwargs, KEY: head.to_dict()}})
    return [*messages[:at], carrying, *messages[at + 1 :]]


def stored_head(messages: Sequence[BaseMessage]) -> ContextHead | None:
    """Return the newest head a history holds that stands the checks."""
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if not isinstance(message, AIMessage) or KEY not in message.additional_kwargs:
            continue
        head = read_head(message.additional_kwargs[KEY])
        if isinstance(head, ContextHead) and head.body is not None and head.cut.position <= index + 1 and belongs(head, messages):
            return head
    return None


def belongs(head: ContextHead, messages: Sequence[BaseMessage]) -> bool:
    """Say whether the cut of `head` lies in `messages`."""
    return situation_in_original(messages, head, rules=()).head_fault is None


def without_heads(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return `messages` as they were said: what we wrote beside them is no part of a view."""
    return [_bare(message) if KEY in message.additional_kwargs else message for message in messages]


def _bare(message: BaseMessage) -> BaseMessage:
    kept: dict[str, Any] = {name: value for name, value in message.additional_kwargs.items() if name != KEY}
    return message.model_copy(update={"additional_kwargs": kept})

"""The application's word after a compaction: shown to the model in one call, and in no state."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import BaseMessage, HumanMessage

from langchain_ctxguard.core.remind import has_place

NOTE = "context_note"
"""Name of the message."""


def note_of(text: str) -> HumanMessage:
    """Return the message that shows a text of the application."""
    return HumanMessage(text, name=NOTE)


def with_note(messages: Sequence[BaseMessage], text: str) -> list[BaseMessage]:
    """Return `messages` with the text behind the last one; in front where calls wait for their results or an answer is to be continued."""
    note = note_of(text)
    return [*messages, note] if messages and has_place(messages) else [note, *messages]

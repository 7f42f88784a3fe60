"""Which messages of a context tell of others that left it: summaries and notes, ours and those of other tools."""

from __future__ import annotations

import re

from langchain_core.messages import BaseMessage, HumanMessage

from langchain_ctxguard.core.roles import EVIDENCE, NOTE, SUMMARY, is_foreign_summary, is_note, text_of

_OURS = re.compile(rf"\s*<(?:{SUMMARY}|{EVIDENCE}|{NOTE})\b")


def is_told(message: BaseMessage) -> bool:
    """Say whether a message is a summary or a note. Ours are known by their first tag: a file may have lost their name."""
    return is_foreign_summary(message) or is_note(message) or is_ours(message)


def is_ours(message: BaseMessage) -> bool:
    """Say whether a message is a summary, evidence or a note as this package writes them."""
    return isinstance(message, HumanMessage) and _OURS.match(text_of(message)) is not None


def as_summary(text: str) -> BaseMessage:
    """Return the message a bare summary stands for: marked as other tools mark theirs, so that nobody takes it for a request."""
    return HumanMessage(text, additional_kwargs={"lc_source": "summarization"})

"""Chat messages with roles: a JSON list, `{"messages": [...]}`, or JSONL with a message or a conversation per line."""

from __future__ import annotations

from typing import Any

from langchain_ctxguard.backends.transcripts.conversations import conversations, sampled
from langchain_ctxguard.backends.transcripts.openai_message import has_role, read_messages
from langchain_ctxguard.backends.transcripts.transcript import Run

FORMAT = "openai"
TITLE = "OpenAI chat messages"


def recognises(data: Any) -> bool:
    """Say whether any recorded message has a role, or there is an empty list of messages."""
    if isinstance(data, dict) and data.get("messages") == []:
        return True
    return any(has_role(entry) for entry in sampled(data))


def read(data: Any, name: str) -> tuple[Run, ...]:
    """Return one run for each list of messages.

    Raises:
        Misfit: an entry that is no message, or does not fit.
    """
    return tuple(Run(found.name, read_messages(found.entries, found.where), FORMAT) for found in conversations(data, name))

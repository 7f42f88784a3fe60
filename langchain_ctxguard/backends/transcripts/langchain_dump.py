"""LangChain's own serialisations: `dumpd`, `messages_to_dict` and `model_dump`, as JSON or JSONL."""

from __future__ import annotations

from typing import Any

from langchain_ctxguard.backends.transcripts.conversations import conversations, sampled
from langchain_ctxguard.backends.transcripts.langchain_message import is_serialised, read_messages
from langchain_ctxguard.backends.transcripts.marks import summary_marks
from langchain_ctxguard.backends.transcripts.transcript import Run

FORMAT = "langchain"
TITLE = "LangChain messages"


def recognises(data: Any) -> bool:
    """Say whether any recorded message is one LangChain wrote."""
    return any(is_serialised(entry) for entry in sampled(data))


def read(data: Any, name: str) -> tuple[Run, ...]:
    """Return one run for each list of messages.

    Raises:
        Misfit: an entry that is no message, or does not fit.
    """
    read_all = [(found.name, read_messages(found.entries, found.where)) for found in conversations(data, name)]
    return tuple(Run(called, messages, FORMAT, compactions=summary_marks(messages)) for called, messages in read_all)

"""The marks that LangChain's summarizers leave on their messages, and the one name they are read and written by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from langchain_ctxguard.backends.transcripts.transcript import CompactionKind, CompactionMark

SUMMARY_EXTRAS: dict[str, Any] = {"lc_source": "summarization"}
"""`additional_kwargs` of a message that holds another tool's summary; the package takes it for no request of a person."""

META_EXTRAS: dict[str, Any] = {"is_meta": True}
"""`additional_kwargs` of a message in the user's role that the program wrote, not the person."""


def summary_marks(messages: Sequence[BaseMessage]) -> tuple[CompactionMark, ...]:
    """Return a mark for each message that says it is a summary; what it replaced is not in such a list."""
    return tuple(
        CompactionMark(start=index, kind=CompactionKind.SUMMARY, summary=index)
        for index, message in enumerate(messages)
        if message.additional_kwargs.get("lc_source") == SUMMARY_EXTRAS["lc_source"]
    )

"""`after_compaction`: the application is told of a new version, and may have the model read something once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain_ctxguard.core.effects import CountTokens
from langchain_ctxguard.core.note import note_of
from langchain_ctxguard.core.restore import head_digest
from langchain_ctxguard.domain.context import ContextHead
from langchain_ctxguard.domain.version import CompactionRecord, ContextEvent
from langchain_ctxguard.records.bounded import Bounded

_KEPT = 256


class Afterwards:
    """Asks the application once for each version, and keeps its text until a model has answered: a call that fails is made again with it."""

    def __init__(self, ask: Callable[[CompactionRecord], Any] | None, *, count: CountTokens, record: Callable[[ContextEvent], None]) -> None:
        """Bind the application's function, and who is told where it fails."""
        self._ask = ask
        self._count = count
        self._record = record
        self._unread: Bounded[str] = Bounded(_KEPT)

    def made(self, thread: Any, head: ContextHead, record: CompactionRecord, *, limit: int | None) -> None:
        """Tell of a new version; keep what shall be read, where it finds room in `limit` tokens."""
        if self._ask is not None:
            self._unread.put(_key(thread, head), self._answer(self._ask, record, limit))

    def unread(self, thread: Any, head: ContextHead | None) -> str:
        """Return what the model has not read yet; empty where there is nothing."""
        return "" if self._ask is None else self._unread.get(_key(thread, head)) or ""

    def was_read(self, thread: Any, head: ContextHead | None) -> None:
        """Forget what a model has answered to."""
        if self._ask is not None:
            self._unread.drop(_key(thread, head))

    def _answer(self, ask: Callable[[CompactionRecord], Any], record: CompactionRecord, limit: int | None) -> str:
        try:
            text = ask(record)
        except Exception as error:  # noqa: BLE001 - the application's own function may fail in any way
            self._failed(record, f"failed with {type(error).__name__}")
            return ""
        if text is None:
            return ""
        if not isinstance(text, str):
            self._failed(record, f"returned {type(text).__name__}, which is no text")
            return ""
        if limit is not None and text and record.tokens_after + self._count([note_of(text)]) > limit:
            self._failed(record, "returned more than the window has room for; the model does not see it")
            return ""
        return text

    def _failed(self, record: CompactionRecord, what: str) -> None:
        self._record(ContextEvent(kind="extension_failed", detail=f"`after_compaction` {what}.", version=record.version))


def _key(thread: Any, head: ContextHead | None) -> Any:
    """Name the conversation: by its thread, else by its head, which no other conversation without a thread has."""
    if isinstance(thread, tuple) and thread and thread[0]:
        return thread
    return ("", "" if head is None else head_digest(head))

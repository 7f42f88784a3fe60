"""A conversation whole, also where its beginning left the state for the archive."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.compile import parted
from langchain_ctxguard.core.identity import find_cut
from langchain_ctxguard.domain.context import ContextHead, read_head
from langchain_ctxguard.errors import StoreError
from langchain_ctxguard.records.archive import ArchivedMessage


def left_before(messages: Sequence[BaseMessage], raw_head: Any) -> int:
    """Return how many messages of the conversation are not in a state's list any more, 0 where that cannot be told."""
    head = read_head(raw_head)
    if not isinstance(head, ContextHead) or head.body is None:
        return 0
    at = find_cut(head.cut, parted(messages).rest)
    return 0 if at is None else max(0, head.cut.position - at)


def whole(messages: Sequence[BaseMessage], raw_head: Any, archived: Callable[[], Iterable[ArchivedMessage]]) -> tuple[list[BaseMessage], int]:
    """Return a conversation from its first message on, and how many of its first messages are missing in it all the same.

    Args:
        messages: The state's.
        raw_head: The state's.
        archived: Returns what left the view, oldest first; asked only where something is missing.
    """
    left = left_before(messages, raw_head)
    head = read_head(raw_head)
    if not left or not isinstance(head, ContextHead):
        return list(messages), 0
    rest = parted(messages).rest
    try:
        before = {one.position: one.message for one in archived() if one.position < head.cut.position}
    except StoreError:
        return list(messages), left
    if len(before) < head.cut.position:
        return list(messages), left
    return [*(before[position] for position in sorted(before)), *rest[head.cut.position - left :]], 0

"""A conversation that lost messages to the archive -> the conversation with them in their places again."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.compile import parted
from langchain_ctxguard.core.identity import find_cut, is_known_as, message_digest, name_in, name_of
from langchain_ctxguard.domain.archive import Archived
from langchain_ctxguard.domain.context import ContextHead


@dataclass(frozen=True, slots=True)
class Gap:
    """What a conversation has before its cut, and what is missing there."""

    front: list[BaseMessage]
    """The application's system messages it begins with."""

    unplaced: list[BaseMessage]
    """Messages before the cut that no version archived."""

    placed: dict[int, BaseMessage]
    """Those that were archived and never left, by position."""

    missing: dict[int, Archived]
    """Those that left, by position."""

    tail: list[BaseMessage]

    def filled(self, found: Mapping[str, BaseMessage]) -> list[BaseMessage]:
        """Return the conversation with everything in its place; what never left stays the same object.

        Args:
            found: The missing messages, by address.
        """
        before = {**self.placed, **{position: found[row.address] for position, row in self.missing.items()}}
        return [*self.front, *self.unplaced, *(before[position] for position in sorted(before)), *self.tail]


def gap_before(messages: Sequence[BaseMessage], head: ContextHead, rows: Iterable[tuple[int, Archived]], *, start: int) -> Gap | None:
    """Return what is missing between position `start` and the cut of `head`, `None` where the cut cannot be found.

    Args:
        messages: The conversation as it is.
        head: The head that belongs to it.
        rows: What was archived of it, with positions.
        start: Position in the original conversation from which on it is to be whole.
    """
    front = parted(messages)
    at = 0 if head.body is None else find_cut(head.cut, front.rest)
    if at is None:
        return None
    stop = head.cut.position if head.body is not None else 0
    before = [(position, row) for position, row in sorted(rows, key=lambda one: one[0]) if position < stop]
    known: defaultdict[str, deque[int]] = defaultdict(deque)
    for position, row in before:
        known[name_in(row.key)].append(position)
    has_digests = any(name_in(row.key) != row.key for _, row in before)
    placed: dict[int, BaseMessage] = {}
    unplaced = []
    for message in front.rest[:at]:
        # It may have been given an id since it was archived.
        positions = known.get(name_of(message)) or (known.get(message_digest(message)) if has_digests else None)
        if positions:
            placed[positions.popleft()] = message
        else:
            unplaced.append(message)
    missing = {position: row for position, row in before if position >= start and position not in placed}
    return Gap(list(front.system), unplaced, placed, missing, list(front.rest[at:]))


def accounts_for(messages: Sequence[BaseMessage], head: ContextHead, rows: Sequence[tuple[int, Archived]]) -> bool:
    """Say whether every message before the cut of a head is in the conversation or among what was archived of it.

    Args:
        messages: The conversation as it is.
        head: The head that belongs to it.
        rows: What was archived, with positions: of this conversation only if the last one before the cut is the one the head names.
    """
    before = [(position, row) for position, row in rows if position < head.cut.position]
    gap = gap_before(messages, head, before, start=0)
    evicted = None if head.cut.evicted is None else name_in(head.cut.evicted)
    here = () if gap is None else (*gap.unplaced, *gap.placed.values())
    if evicted is not None and evicted not in {name_in(row.key) for _, row in before} and not any(is_known_as(one, evicted) for one in here):
        return False
    return len(before) + (0 if gap is None else len(gap.unplaced)) >= head.cut.position

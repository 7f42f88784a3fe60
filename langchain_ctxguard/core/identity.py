"""Message -> key. A message is known by its id; where it has none, by a digest and its position in the original list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.roles import SYNTHETIC, calls_of, results_of, speaker_of
from langchain_ctxguard.domain.context import Cut
from langchain_ctxguard.domain.value import canonical_json, digest_of

ANCHORS = 16
"""How many kept messages a cut names: so many may be trimmed from the state before the cut is lost."""

_DIGEST = 24


def message_keys(messages: Sequence[BaseMessage], *, start: int = 0) -> list[str]:
    """Return one key per message: its id, or `digest@position`.

    Args:
        messages: A list, or the part of one that begins after `start` messages of the original.
        start: Position of the first message in the original list, so that a view and the original give the same keys.
    """
    keys = []
    position = start
    for message in messages:
        keys.append(message.id or f"{message_digest(message)}@{position}")
        position += not is_synthetic(message)
    return keys


def is_synthetic(message: BaseMessage) -> bool:
    """Say whether a message is a result we made up for a call without one: it stands for nothing in the original list and takes no position."""
    return message.type == "tool" and SYNTHETIC in message.additional_kwargs


def message_digest(message: BaseMessage) -> str:
    """Return a digest of role, name, content and call ids."""
    content: Any = message.content
    parts = [speaker_of(message), message.name, content, [call.call_id for call in calls_of(message)], list(results_of(message))]
    return digest_of(canonical_json(parts))[:_DIGEST]


def name_of(message: BaseMessage) -> str:
    """Return what a message is known by wherever it stands: its id, else its digest, which equal messages share."""
    return message.id or message_digest(message)


def name_in(key: str) -> str:
    """Return `name_of` the message that `key` names.

    >>> name_in("run-1"), name_in("a@1"), name_in("0123456789abcdef01234567@12")
    ('run-1', 'a@1', '0123456789abcdef01234567')
    """
    digest, at, position = key.rpartition("@")
    return digest if at and len(digest) == _DIGEST and position.isdigit() else key


def make_cut(messages: Sequence[BaseMessage], keys: Sequence[str], at: int, *, start: int) -> Cut:
    """Return the cut before `messages[at]`; `start` is the position of `messages[0]` in the original list."""
    before = sum(not is_synthetic(message) for message in messages[:at])
    return Cut(anchors=tuple(keys[at : at + ANCHORS]), position=start + before, evicted=keys[at - 1] if at else None)


def find_cut(cut: Cut, messages: Sequence[BaseMessage]) -> int | None:
    """Return the index of the first message after `cut`, or `None` if nothing the cut names is left.

    The position is tried first and must be confirmed: by an id, or by every anchor, since messages without ids may say the same. Otherwise the
    earliest surviving anchor serves; among equal messages the one whose neighbours match best.
    """
    # A forged cut may name any number of messages.
    anchors = cut.anchors[:ANCHORS]
    if not anchors and cut.evicted is None:
        return cut.position if cut.position <= len(messages) else None
    if _is_confirmed(cut, anchors, messages):
        return cut.position
    by_id = _found_by_id(anchors, messages)
    if by_id is not None:
        return by_id
    return _found_by_text(cut, anchors, messages)


def _found_by_text(cut: Cut, anchors: Sequence[str], messages: Sequence[BaseMessage]) -> int | None:
    """Return what `find_cut` does where nothing is left that has an id: other messages may say the same."""
    at = cut.position
    is_near = any(is_known_as(message, key) for message, key in zip(messages[at:], anchors, strict=False))
    if is_near or (cut.evicted is not None and 0 < at <= len(messages) and is_known_as(messages[at - 1], cut.evicted)):
        return at
    for offset, anchor in enumerate(anchors):
        found = [index for index, message in enumerate(messages) if is_known_as(message, anchor)]
        if found:
            rest = anchors[offset:]
            return max(found, key=lambda index: (_matching(messages[index : index + len(rest)], rest), -abs(index - cut.position)))
    if cut.evicted is not None:
        for index in range(len(messages) - 1, -1, -1):
            if is_known_as(messages[index], cut.evicted):
                return index + 1
    return None


def _is_confirmed(cut: Cut, anchors: Sequence[str], messages: Sequence[BaseMessage]) -> bool:
    """Say whether the position holds: a message there has the id of its anchor, or all of them match."""
    kept = messages[cut.position : cut.position + len(anchors)]
    if any(message.id == key for message, key in zip(kept, anchors, strict=False)):
        return True
    if cut.evicted is not None and 0 < cut.position <= len(messages) and messages[cut.position - 1].id == cut.evicted:
        return True
    return bool(anchors) and len(kept) == len(anchors) and _matching(kept, anchors) == len(anchors)


def _found_by_id(anchors: Sequence[str], messages: Sequence[BaseMessage]) -> int | None:
    """Return where the earliest anchor with an id stands, or what matches right before it; `None` where none is left."""
    wanted = {key: offset for offset, key in reversed([*enumerate(anchors)]) if name_in(key) is key}
    places = {message.id: index for index, message in enumerate(messages) if message.id in wanted} if wanted else {}
    if not places:
        return None
    first = min(places, key=lambda name: wanted[name or ""])
    index, offset = places[first], wanted[first or ""]
    while index > 0 and offset > 0 and is_known_as(messages[index - 1], anchors[offset - 1]):
        index, offset = index - 1, offset - 1
    return index


def is_known_as(message: BaseMessage, key: str) -> bool:
    """Say whether `key` names `message`, wherever it stands now; a message may have been given an id since it was named."""
    if message.id == key:
        return True
    digest = name_in(key)
    return digest is not key and message_digest(message) == digest


def _matching(messages: Sequence[BaseMessage], keys: Sequence[str]) -> int:
    return sum(is_known_as(message, key) for message, key in zip(messages, keys, strict=False))

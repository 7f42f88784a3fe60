"""Messages as a page shows them: as much of each as there is room for, the same for all."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.roles import calls_of, results_of, speaker_of, text_of
from langchain_ctxguard.report.story import Message, Report
from langchain_ctxguard.report.visible import hidden_in, pieces

ROOM = 3_400_000
"""Bytes of markup that the messages of a page may take: the page stays below 5 MB."""

_LIMITS = (50_000, 20_000, 8_000, 4_000, 2_000, 1_000, 500, 250, 120)
"""Bytes of markup that one text may take: the largest with which all of them fit."""

_MARKUP = 190
"""Bytes around a message."""

_HIDDEN = 80
"""Bytes that one character takes that does not show."""

_SPECIAL = {"&": 5, "<": 4, ">": 4, '"': 6, "'": 6}
_ARGUMENTS = 400
_CALLS = 20


def shown(message: BaseMessage, *, position: int | None = None, key: str = "") -> Message:
    """Return a message as it is shown, whole."""
    calls = calls_of(message)
    lines = [f"{call.name}({_short(call.arguments)})" + (f" · {call.call_id}" if call.call_id else "") for call in calls[:_CALLS]]
    lines += [f"and {len(calls) - _CALLS} more calls"] if len(calls) > _CALLS else []
    answers = results_of(message)
    return Message(
        position=position,
        key=key,
        speaker=speaker_of(message),
        name=message.name or "",
        text=text_of(message),
        calls=tuple(lines),
        answers=answers[0] if answers and answers[0] else "",
    )


def erased(position: int, key: str) -> Message:
    """Return what stands where a message was erased."""
    return Message(position=position, key=key, speaker="erased", text="", is_erased=True)


def fitted(report: Report) -> Report:
    """Return the report with its messages cut so that the page stays small; each cut is told."""
    everything = [message for compaction in report.compactions for message in (*compaction.before, *compaction.after)]
    limit = _limit_for([*everything, *report.in_sight])
    # Where not even the beginnings of all find room, the first and the last of each compaction are shown.
    many = ROOM // (_MARKUP + _LIMITS[-1] * 2)
    dropped = len(everything) + len(report.in_sight) > many
    part = many // (2 * (len(report.compactions) + 1)) if dropped else 0
    compactions = []
    for one in report.compactions:
        before, left = _ends(_cut(one.before, limit), part) if dropped else (_cut(one.before, limit), 0)
        note = " ".join(filter(None, [one.before_note, f"{left:,} of them found no room on this page." if left else ""]))
        compactions.append(one.model_copy(update={"before": before, "before_note": note, "after": _cut(one.after, limit)}))
    sight, left = _ends(_cut(report.in_sight, limit), part) if dropped else (_cut(report.in_sight, limit), 0)
    note = " ".join(filter(None, [report.in_sight_note, f"{left:,} of them found no room on this page." if left else ""]))
    return report.model_copy(update={"compactions": tuple(compactions), "in_sight": sight, "in_sight_note": note})


def _ends(messages: Sequence[Message], part: int) -> tuple[tuple[Message, ...], int]:
    if len(messages) <= 2 * part:
        return tuple(messages), 0
    return (*messages[:part], *messages[-part:]), len(messages) - 2 * part


def _cut(messages: Iterable[Message], limit: int) -> tuple[Message, ...]:
    return tuple(_shortened(message, limit) for message in messages)


def _shortened(message: Message, limit: int) -> Message:
    text = _begun(message.text, limit)
    calls = tuple(_begun(call, limit) + ("" if len(_begun(call, limit)) == len(call) else "\u2026") for call in message.calls)
    return message.model_copy(update={"text": text, "calls": calls, "left_out": len(message.text) - len(text)})


def _begun(text: str, limit: int) -> str:
    """Return as much of a text, from its beginning, as takes `limit` bytes of markup."""
    if len(text) * _HIDDEN <= limit or _bytes_of(text) <= limit:
        return text
    taken = length = 0
    for piece in pieces(text):
        for character in "\0" if piece.name else piece.text:
            taken += _HIDDEN if piece.name else _SPECIAL.get(character, len(character.encode()))
            if taken > limit:
                return text[:length]
            length += 1
    return text


def _limit_for(messages: Sequence[Message]) -> int:
    """Return how many bytes each text may take, for all to find room."""
    sizes = [_bytes_of(text) for message in messages for text in (message.text, *message.calls)]
    around = len(messages) * _MARKUP
    return next((limit for limit in _LIMITS if around + sum(min(size, limit) for size in sizes) <= ROOM), _LIMITS[-1])


def _bytes_of(text: str) -> int:
    special = sum(text.count(character) * (size - 1) for character, size in _SPECIAL.items())
    return len(text.encode("utf-8", "replace")) + _HIDDEN * hidden_in(text) + special


def _short(arguments: object) -> str:
    try:
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        text = repr(arguments)
    return text if len(text) <= _ARGUMENTS else f"{text[:_ARGUMENTS]}\u2026"

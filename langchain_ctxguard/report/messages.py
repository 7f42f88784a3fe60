"""Messages as a page shows them: as much of each as there is room for, the same for all."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.roles import calls_of, results_of, speaker_of, text_of
from langchain_ctxguard.report.story import Message, Report
from langchain_ctxguard.report.visible import pieces

ROOM = 2_600_000
"""Bytes of markup that the messages of a page may take: the page stays below 5 MB."""

_LIMITS = (50_000, 20_000, 8_000, 4_000, 2_000, 1_000, 500, 250, 120)
_MARKUP = 190
"""Bytes around a message."""

_HIDDEN = 48
"""Bytes that one character takes that does not show."""

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
    return tuple(
        message if len(message.text) <= limit else message.model_copy(update={"text": message.text[:limit], "left_out": len(message.text) - limit})
        for message in messages
    )


def _limit_for(messages: Sequence[Message]) -> int:
    """Return how many characters of each message there is room for."""
    sizes = [(len(message.text), _bytes_of(message.text)) for message in messages]
    around = sum(_MARKUP + sum(map(len, message.calls)) for message in messages)
    for limit in _LIMITS:
        if around + sum(size if length <= limit else size * limit // length for length, size in sizes) <= ROOM:
            return limit
    return _LIMITS[-1]


def _bytes_of(text: str) -> int:
    hidden = sum(bool(piece.name) for piece in pieces(text))
    special = sum(map(text.count, "&<>\"'"))
    return len(text.encode("utf-8", "replace")) + _HIDDEN * hidden + 5 * special


def _short(arguments: object) -> str:
    try:
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        text = repr(arguments)
    return text if len(text) <= _ARGUMENTS else f"{text[:_ARGUMENTS]}\u2026"

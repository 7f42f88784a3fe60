"""Messages or text -> control fields, by rule: the same text gives the same fields, before a compaction and after it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.dialect import read_messages
from langchain_ctxguard.core.field_json import is_json
from langchain_ctxguard.core.field_memo import Memo, Read, digest
from langchain_ctxguard.core.field_patterns import is_limited
from langchain_ctxguard.core.field_reading import prose
from langchain_ctxguard.core.field_scalars import json_fields
from langchain_ctxguard.core.field_state import Found, Reading
from langchain_ctxguard.core.field_text import folded
from langchain_ctxguard.core.identity import message_keys
from langchain_ctxguard.core.labels import label_at
from langchain_ctxguard.core.normalize import key_for, normalized
from langchain_ctxguard.core.recalled import is_retold
from langchain_ctxguard.core.roles import speaker_of, text_of
from langchain_ctxguard.core.user_patterns import PatternSet, pattern_set
from langchain_ctxguard.domain.control import IDENTIFIERS, KEY, STATEMENTS, ControlField, FieldKind, new_field
from langchain_ctxguard.domain.origin import Origin
from langchain_ctxguard.errors import ConfigurationError

_LOG_LINE = re.compile(r"^\s*(?:\[?[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9:.,]+Z?\]?|[0-9]{2}:[0-9]{2}(?::[0-9]{2})?) ?", re.MULTILINE)
_TOOL_CRITICAL = (
    frozenset(FieldKind)
    - STATEMENTS
    - {
        FieldKind.QUANTITY,
        FieldKind.VERSION,
        FieldKind.URL,
        FieldKind.PATH,
        FieldKind.ANCHOR,
        FieldKind.NAME,
    }
)
"""What a tool reports and may not be lost: values and identifiers, not where they were looked up."""

_NEEDS_LABEL = frozenset(FieldKind) - IDENTIFIERS - STATEMENTS - {FieldKind.PATTERN}

_MEMO = Memo()
"""Of the whole process: messages come back from a checkpoint as new objects, in whatever guard."""


def extract_fields(
    source: str | Sequence[Any],
    *,
    now: datetime | None = None,
    patterns: Mapping[str, str] | PatternSet | None = None,
    timezone: str = "UTC",
    start: int = 0,
) -> list[ControlField]:
    """Return the control fields of a text or of messages, in order of appearance.

    Args:
        source: A text, which counts as a user's, or messages in any form LangChain accepts.
        now: When it was said, where a message does not say (`additional_kwargs["timestamp"]`); relative dates hang on it. Aware; a naive one is
            in `timezone`.
        patterns: Further fields by name, as RE2 patterns; what one matches is a field of kind `pattern` with its name as label.
        timezone: IANA name of the zone days and clock times are counted in.
        start: Position of the first message in its conversation.

    Raises:
        ConfigurationError: an unknown time zone, a pattern RE2 cannot take, or an item that is no message.

    >>> [(field.kind.value, field.raw, field.value) for field in extract_fields("预算5万元，不含税")]
    [('amount', '5万元', '50000 CNY')]
    """
    zone = _zone(timezone)
    moment = _aware(now, zone)
    own = patterns if isinstance(patterns, PatternSet) else pattern_set(patterns)
    if isinstance(source, str):
        return _owned(_read(source, "user", moment, zone, own), source, ControlField.model_fields["origin"].default, None, None, moment)
    messages = [item for item in source if isinstance(item, BaseMessage)] if _all_messages(source) else read_messages(source)
    fields: list[ControlField] = []
    for turn, (message, key) in enumerate(zip(messages, message_keys(messages, start=start), strict=True), start):
        # What is retold was read when it was said: a second time it would stand for the newer value.
        text = "" if is_retold(message) else text_of(message)
        if text:
            said = said_at(message, zone) or moment
            role = speaker_of(message)
            fields += _owned(_read(text, role, said, zone, own), text, role, turn, key, said)
    return fields


def forget() -> None:
    """Forget what was found in earlier texts: the next extraction reads them anew, and finds the same."""
    _MEMO.clear()


def _all_messages(source: Sequence[Any]) -> bool:
    return all(isinstance(item, BaseMessage) and item.type != "remove" for item in source)


@lru_cache(maxsize=64)
def _zone(name: str) -> tzinfo:
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        msg = f"timezone: {name!r} is no IANA time zone known here. Use a name such as 'Europe/Berlin' or 'Asia/Shanghai'."
        raise ConfigurationError(msg) from error


def _aware(moment: datetime | None, zone: tzinfo) -> datetime | None:
    return moment.replace(tzinfo=zone) if moment is not None and moment.tzinfo is None else moment


def said_at(message: BaseMessage, zone: tzinfo = UTC) -> datetime | None:
    """Return when a message was said, as its `additional_kwargs["timestamp"]` tells: ISO text, epoch seconds, or a datetime."""
    stamp = message.additional_kwargs.get("timestamp") if message.additional_kwargs else None
    try:
        if isinstance(stamp, datetime):
            return _aware(stamp, zone)
        if isinstance(stamp, str):
            return _aware(datetime.fromisoformat(stamp), zone)
        if isinstance(stamp, (int, float)) and not isinstance(stamp, bool):
            return datetime.fromtimestamp(stamp, tz=UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def found_in(text: str, role: Origin, said: datetime | None, zone: tzinfo, patterns: PatternSet) -> list[Found]:
    """Return the fields of one text in order of appearance."""
    plain = folded(text)
    reading = Reading(plain, role, said, zone)
    found = json_fields(reading) if is_json(plain) else prose(reading)
    if patterns:
        taken = [(item.start, item.stop) for item in patterns.found_in(plain)]
        names = [Found(FieldKind.PATTERN, start, stop, None, 1.0, name) for (start, stop), name in zip(taken, patterns.names_in(plain), strict=True)]
        found = sorted([*found, *names], key=lambda item: (item.start, -item.stop))
    return found


def _read(text: str, role: Origin, said: datetime | None, zone: tzinfo, patterns: PatternSet) -> tuple[Read, ...]:
    """Return the fields of one text, from memory where it was read before: by the same role, and on the same day where that is known."""
    try:
        day = None if said is None else said.astimezone(zone).date()
    except OverflowError:
        return _read_anew(text, role, said, zone, patterns)
    key = (digest(text), role, day, zone, patterns.key)
    known = _MEMO.get(key)
    if known is None:
        known = _read_anew(text, role, said, zone, patterns)
        _MEMO.put(key, known)
    return known


def _read_anew(text: str, role: Origin, said: datetime | None, zone: tzinfo, patterns: PatternSet) -> tuple[Read, ...]:
    found = found_in(text, role, said, zone, patterns)
    if not found:
        return ()
    plain = folded(text)
    is_ai, is_tool = role == "ai", role == "tool"
    stressed = [] if is_ai or is_tool else [(item.start, item.stop) for item in found if item.kind in STATEMENTS]
    fields = []
    for kind, start, stop, told, confidence, given in found:
        span = plain[start:stop]
        value = normalized(kind, span, said, zone) if told is None else told
        label = (label_at(plain, start, stop) if kind in _NEEDS_LABEL else "") if given is None else given
        critical = not is_ai and (_is_critical(kind, plain, start, stop, role, stressed) if is_tool or kind is FieldKind.QUANTITY else True)
        fields.append(Read(kind, start, stop, label, value, confidence, critical, key_for(kind, span, value)))
    return tuple(fields)


def _owned(  # noqa: PLR0917
    fields: tuple[Read, ...], text: str, origin: Origin, turn: int | None, key: str | None, said: datetime | None
) -> list[ControlField]:
    return [
        # The kind of most fields says what the value is.
        new_field({
            "field_id": "", "kind": kind, "label": label, "raw": text[start:stop], "value": value, "origin": origin, "source_turn": turn,
            "message_id": key, "start": start, "at": said, "confidence": confidence, "critical": critical, "version": 1, "history": (),
            "context": "", "is_closed": False, KEY: value_key,
        })
        for kind, start, stop, label, value, confidence, critical, value_key in fields
    ]  # fmt: skip


def _is_critical(kind: FieldKind, text: str, start: int, stop: int, origin: Origin, stressed: list[tuple[int, int]]) -> bool:  # noqa: PLR0917
    if kind in STATEMENTS or kind is FieldKind.PATTERN or (stressed and any(low <= start and stop <= high for low, high in stressed)):
        return True
    if origin == "tool":
        return kind in _TOOL_CRITICAL and not (kind in {FieldKind.DATETIME, FieldKind.TIME} and _begins_log_line(text, start))
    if kind is FieldKind.QUANTITY:
        return is_limited(text[max(0, start - 60) : stop + 24])
    return True


def _begins_log_line(text: str, start: int) -> bool:
    line = text.rfind("\n", 0, start) + 1
    return "\n" in text and _LOG_LINE.match(text, line, start + 40) is not None and not text[line:start].strip(" [")

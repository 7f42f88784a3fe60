"""Candidates that say when: days, times of day, moments."""

from __future__ import annotations

import re

from langchain_ctxguard.core.field_addresses import token
from langchain_ctxguard.core.field_dates import moment_of
from langchain_ctxguard.core.field_patterns import Candidate
from langchain_ctxguard.core.field_state import Found, Reading, dotted_at
from langchain_ctxguard.domain.control import FieldKind

_DAY_GOES_ON = re.compile(r"之?前|之?后|以[前后]|[晚早交发付截结提出还回]|上午|下午|晚上|开[会业工庭标]|到[货期账]|[，,。；;]|\s*$")


_RANGE_END = re.compile(r" ?(?:to|-|–|until|till|and|至|到) ?[0-9]{1,2}(?::[0-9]{2})? ?[AaPp]\.?[Mm]").match
_CLOCK_TAIL = re.compile(r",? (?:at )?[0-9:]+ ?[AaPp]\.?[Mm]\.?$")


def date(reading: Reading, text: str, candidate: Candidate) -> Found | None:  # noqa: PLR0911 - a list of cases
    """Return a day, or a moment of a day."""
    _, start, stop = candidate
    span = text[start:stop]
    after = text[stop : stop + 2]
    # "11 am to 4 pm": the time begins a span of hours and belongs to no single moment.
    if _RANGE_END(text, stop, stop + 14) and (cut := _CLOCK_TAIL.search(span)):
        stop = start + cut.start()
        span = text[start:stop]
    if span[0] == "周" and (
        (after[:1] in set("次两三四五六七八九十零年岁边围到期末") and len(span) == 2)  # noqa: PLR2004
        or (start and text[start - 1] in "一二两三四五六七八九十每0123456789")
    ):
        return None
    if span[:2] in {"星期", "礼拜"} and start and text[start - 1] in "一二两三四五六七八九十个每":
        return None
    if span[-1].isalnum() and span[-1].isascii() and after[:1].isascii() and (after[:1].isalnum() or (after[:1] in ".-/" and after[1:2].isalnum())):
        # Monday2, 2026.4.1.5, 2026-04-13-X
        return None
    if after[:1] == "s" or (after[:2] in {"'s", "’s"} and span[:1].isupper() and "day" not in span):
        return None
    if "号" in span and "月" not in span and not _DAY_GOES_ON.match(text, stop):
        return None
    if (
        span[0].isdigit()
        and span[4:5] == "."
        and not re.search(r"日期|时间|截止|date|on |by |于|到|至|until", text[max(0, start - 12) : start], re.IGNORECASE)
    ):
        version = token(reading, text, Candidate("token", start, start + dotted_at(text, start)))
        if version is not None:
            return version
    moment = moment_of(span, reading.said, reading.zone)
    if moment is None:
        return None
    return Found(FieldKind(moment.kind), start, stop)


def time(reading: Reading, text: str, candidate: Candidate) -> Found | None:  # noqa: PLR0911 - a list of cases
    """Return a time of day."""
    _, start, stop = candidate
    span = text[start:stop]
    before, after = text[start - 1] if start else " ", text[stop : stop + 1]
    if before in "-+.,:/" and start > 1 and text[start - 2].isdigit() and before in ".,:/":
        return None
    if span.endswith("点") and "点" in span:
        hour = span[:-1]
        if not hour.isascii() and len(hour) < 3 and not re.match("[前后开到集出起准至左之]|以|钟|半", after):  # noqa: PLR2004
            return None
        if hour.isdigit() and (before in ".第" or after in set("水击建意数位评")):
            return None
        if re.match(r"[0-9]|[一二三四五六七八九]", after):
            return None
    if ":" in span and after in {":", "-"} and text[stop + 1 : stop + 2].isalnum() and after == ":":
        return None
    if ":" in span and re.match(r" ?(?:勾缝|比例|的比)", text[stop : stop + 4]):
        return None
    moment = moment_of(span, None, reading.zone)
    return Found(FieldKind.TIME, start, stop) if moment else None

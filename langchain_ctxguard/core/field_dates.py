"""Dates and times as they are said -> ISO forms. A relative date is resolved against the moment it was said; without it, it stays as said."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Literal, NamedTuple

from langchain_ctxguard.core.numerals import zh_number

_MONTHS = {name: number for number, name in enumerate(["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], 1)}
_WEEKDAYS = {name: number for number, name in enumerate(["mon", "tue", "wed", "thu", "fri", "sat", "sun"])}
_ZH_WEEKDAYS = {**{name: number for number, name in enumerate("一二三四五六日")}, "天": 6}
_DAYS_AWAY = {
    "大前天": -3, "前天": -2, "昨天": -1, "昨日": -1, "昨晚": -1, "今天": 0, "今日": 0, "今晚": 0, "今早": 0, "当天": 0,
    "明天": 1, "明日": 1, "明晚": 1, "明早": 1, "后天": 2, "大后天": 3,
    "today": 0, "tomorrow": 1, "yesterday": -1, "day after tomorrow": 2, "day before yesterday": -2,
}  # fmt: skip

_ISO = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?:(?:[Tt]| {1,2})(\d{1,2}):(\d{2})(?::\d{2}(?:[.,]\d{1,9})?)?(?: ?(Z|[+-]\d{2}:?\d{2}))?)?")
_SLASHED = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})(.*)")
_CN = "[零〇○一二两三四五六七八九十]"
_ZH_DATE = re.compile(rf"(?:(\d{{4}}|\d{{2}}|{_CN}{{4}}) ?年 ?)?(\d{{1,2}}|{_CN}{{1,3}}) ?月 ?(\d{{1,2}}|{_CN}{{1,3}}) ?[日号](.*)")
_ZH_RELATIVE = re.compile(r"(大后天|大前天|今天|明天|后天|昨天|前天|今日|明日|昨日|今晚|明晚|昨晚|今早|明早|当天)(.*)")
_ZH_WEEKDAY = re.compile(r"(上上个?|下下个?|上个?|下个?|这个?|本)?(?:周|星期|礼拜)([一二三四五六日天])(.*)")
_ZH_END = re.compile(r"(?:(这个|本|下个?|上个?)?月|(年))[底末]$")
_ZH_DAY = re.compile(rf"(\d{{1,2}}|{_CN}{{1,3}})号(.*)")
_ZH_MONTH_END = re.compile(rf"(\d{{1,2}}|{_CN}{{1,2}})月[底末]$")
_ZH_MONTH_DAY = re.compile(rf"(这个|本|当|下个?|上个?)月 ?(\d{{1,2}}|{_CN}{{1,3}}) ?[日号](.*)")
_EN_MONTH_END = re.compile(
    r"(?:the )?end of (?:(jan|feb|mar|apr|may|jun|jul|aug|sep)[a-z]*\.?|(oct|nov|dec)[a-z]*\.?)(?: ((?:19|20)\d{2}))?$", re.IGNORECASE
)
_DOTTED = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})$")
_HYPHENED = re.compile(r"(\d{1,2})-([A-Za-z]{3})[a-z]*\.?-(\d{4})$")
_ZH_TIME = re.compile(
    rf" ?(凌晨|清晨|早上|早晨|上午|中午|下午|午后|傍晚|晚上|夜里|夜间|半夜|深夜|晚|早)? ?(\d{{1,2}}|{_CN}{{1,3}})(?::(\d{{2}})(?::\d{{2}})?"
    rf"|[点时](半|[一三]刻|(?:(\d{{1,2}}"
    rf"|{_CN}{{1,3}})分?)|整|钟)?)"
)  # fmt: skip
_EN_TIME = re.compile(r",? ?(?:at |@ ?)?(\d{1,2})(?::(\d{2})(?::\d{2})?)? ?(?:([AaPp])\.?[Mm]\.?)?")
_EN_WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,? )?"
_EN_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep)[a-z]*\.?|(oct|nov|dec)[a-z]*\.?"
_EN_MONTH_FIRST = re.compile(rf"{_EN_WEEKDAY}(?:{_EN_MONTH}) (\d{{1,2}})(?:st|nd|rd|th)?(?:,? ((?:19|20)\d{{2}}))?(.*)", re.IGNORECASE)
_EN_DAY_FIRST = re.compile(rf"{_EN_WEEKDAY}(?:the )?(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?:{_EN_MONTH})(?:,? ((?:19|20)\d{{2}}))?(.*)", re.IGNORECASE)
_EN_RELATIVE = re.compile(r"(?:the )?(day after tomorrow|day before yesterday|today|tomorrow|yesterday)(.*)", re.IGNORECASE)
_EN_WEEK = re.compile(r"(?:(next|last|this|coming) )?(mon|tue|wed|thu|fri|sat|sun)[a-z]*day(.*)", re.IGNORECASE)
_EN_END = re.compile(r"(?:the )?end of (the|this|next|last) (month|year)$", re.IGNORECASE)

_NIGHT = ("下午", "午后", "傍晚", "晚上", "夜里", "夜间", "深夜", "晚")
_NOON, _MIDNIGHT = 12, 24


class Moment(NamedTuple):
    """What a span says about when."""

    kind: Literal["date", "time", "datetime"]
    value: str | None
    """ISO form; a date without a year that is not known is `--06-30`. `None`: it hangs on a moment that is not known."""


@lru_cache(maxsize=4_096)
def moment_of(raw: str, said: datetime | None, zone: tzinfo) -> Moment | None:
    """Return when `raw` is, or `None` where it is no date or time at all (`2026-13-45`, `25:70`).

    Args:
        raw: The span, widths folded.
        said: When it was said, aware, or `None`.
        zone: What days and clock times are counted in.
    """
    today = said.astimezone(zone).date() if said else None
    found = _ISO.fullmatch(raw)
    if found:
        return _iso(found, zone)
    day, rest = _day_of(raw, today)
    if day is None:
        clock = _clock(raw)
        return None if clock is None else Moment("time", f"{clock[0]:02}:{clock[1]:02}")
    if not day:
        return None
    if not rest.strip():
        # 今晚 alone is a part of a day, not a day.
        return None if raw in {"今晚", "明晚", "昨晚", "今早", "明早"} else Moment("date", None if day == "?" else day)
    clock = _clock(rest.strip(), evening=raw[1:2] == "晚")
    if clock is None:
        return None
    return Moment("datetime", None if day == "?" else f"{day}T{clock[0]:02}:{clock[1]:02}")


def _iso(found: re.Match[str], zone: tzinfo) -> Moment | None:
    year, _, month, day, hour, minute, offset = found.groups()
    if hour is None:
        try:
            return Moment("date", date(int(year), int(month), int(day)).isoformat())
        except ValueError:
            return None
    try:
        when = datetime(int(year), int(month), int(day), int(hour), int(minute), tzinfo=zone)
        if offset:
            when = datetime.fromisoformat(f"{year}-{month:0>2}-{day:0>2}T{hour:0>2}:{minute}{'+00:00' if offset == 'Z' else offset}").astimezone(zone)
    except (ValueError, OverflowError):
        return None
    return Moment("datetime", when.strftime("%Y-%m-%dT%H:%M") if when.year > 999 else None)  # noqa: PLR2004 - strftime pads no years


def _day_of(raw: str, today: date | None) -> tuple[str | None, str]:
    """Return the day and what follows it: `None` for no day, `""` for one that does not exist, `?` for one that hangs on an unknown today."""
    if "月" in raw and (found := _ZH_DATE.match(raw)):
        year, month, day, rest = found.groups()
        return _calendar(_year(year), _small(month), _small(day), today), rest
    if found := _DOTTED.match(raw):
        return _calendar(int(found[3]), int(found[2]), int(found[1]), today), ""
    if found := _HYPHENED.match(raw):
        return _calendar(int(found[3]), _MONTHS[found[2].lower()], int(found[1]), today), ""
    if found := _SLASHED.match(raw):
        first, second, year, rest = found.groups()
        month, day = (int(second), int(first)) if int(first) > _NOON else (int(first), int(second))
        # 04/12/2026 is two days on two continents.
        return ("?" if max(month, day) <= _NOON and month != day else _calendar(int(year), month, day, today)), rest
    for pattern, order in ((_EN_MONTH_FIRST, (0, 1, 2, 3)), (_EN_DAY_FIRST, (1, 2, 0, 3))):
        if found := pattern.match(raw):
            groups = found.groups()
            name = groups[order[0]] or groups[order[1]]
            year = groups[3]
            return _calendar(int(year) if year else None, _MONTHS[name[:3].lower()], int(groups[order[2]]), today), groups[4]
    return _relative(raw, today)


def _relative(raw: str, today: date | None) -> tuple[str | None, str]:  # noqa: PLR0911 - a list of cases
    if found := _ZH_RELATIVE.match(raw) or _EN_RELATIVE.match(raw):
        return _shifted(today, _DAYS_AWAY[found[1].lower()]), found[2]
    if found := _ZH_WEEKDAY.match(raw):
        which, name, rest = found.groups()
        weeks = {"上上": -2, "上": -1, "下": 1, "下下": 2}.get((which or "").removesuffix("个"), 0)
        return _weekday(today, weeks, _ZH_WEEKDAYS[name]), rest
    if found := _EN_WEEK.match(raw):
        which, name, rest = found.groups()
        return _weekday(today, {"next": 1, "last": -1}.get((which or "").lower(), 0), _WEEKDAYS[name.lower()]), rest
    if found := _ZH_MONTH_END.match(raw):
        return _last_day(None, _small(found[1]), today), ""
    if found := _EN_MONTH_END.match(raw):
        return _last_day(int(found[3]) if found[3] else None, _MONTHS[(found[1] or found[2])[:3].lower()], today), ""
    if found := _ZH_DAY.match(raw):
        return ("?" if today is None else _calendar(today.year, today.month, _small(found[1]), today)), found[2]
    if found := _ZH_MONTH_DAY.match(raw):
        end = _end(today, {"下": 1, "上": -1}.get(found[1][:1], 0), is_year=False)
        return (_calendar(int(end[:4]), int(end[5:7]), _small(found[2]), today) if end != "?" else "?"), found[3]
    if found := _ZH_END.match(raw):
        return _end(today, {"下": 1, "上": -1}.get((found[1] or "")[:1], 0), is_year=bool(found[2])), ""
    if found := _EN_END.match(raw):
        return _end(today, {"next": 1, "last": -1}.get(found[1].lower(), 0), is_year=found[2].lower() == "year"), ""
    return None, raw


def _year(text: str | None) -> int | None:
    if text is None:
        return None
    if text.isdecimal():
        return int(text) if len(text) > 2 else 2_000 + int(text)  # noqa: PLR2004 - 26年
    return int(zh_number(text.replace("○", "〇")) or 0)


def _small(text: str) -> int:
    return int(text) if text.isdecimal() else int(zh_number(text.replace("○", "〇")) or 0)


def _calendar(year: int | None, month: int, day: int, today: date | None) -> str:
    try:
        if year is None and today is None:
            return f"--{date(2024, month, day):%m-%d}"
        return date(year or (today.year if today else 0), month, day).isoformat()
    except ValueError:
        return ""


def _shifted(today: date | None, days: int) -> str:
    try:
        return "?" if today is None else (today + timedelta(days=days)).isoformat()
    except OverflowError:
        return "?"


def _weekday(today: date | None, weeks: int, weekday: int) -> str:
    return "?" if today is None else _shifted(today, 7 * weeks + weekday - today.weekday())


def _end(today: date | None, ahead: int, *, is_year: bool) -> str:
    if today is None:
        return "?"
    if is_year:
        return f"{today.year + ahead:04}-12-31"
    months = today.year * 12 + today.month - 1 + ahead
    year, month = months // 12, months % 12 + 1
    return f"{year:04}-{month:02}-{monthrange(year, month)[1]:02}" if 1 <= year <= 9999 else "?"  # noqa: PLR2004 - the calendar's years


def _last_day(year: int | None, month: int, today: date | None) -> str:
    if not 1 <= month <= _NOON:
        return ""
    if year is None and today is None:
        return "?"
    return _calendar(year, month, monthrange(year or (today.year if today else 0), month)[1], today)


def _clock(raw: str, *, evening: bool = False) -> tuple[int, int] | None:
    """Return hour and minute of a time of day."""
    found = _ZH_TIME.fullmatch(raw)
    if found and (found[1] or "点" in raw or "时" in raw or evening):
        part, hour_text, minute_text, tail, tail_minute = found.groups()
        hour = _small(hour_text)
        minute = int(minute_text) if minute_text else {"半": 30, "一刻": 15, "三刻": 45}.get(tail or "", _small(tail_minute) if tail_minute else 0)
        part = part or ("晚" if evening else "")
        if (part in _NIGHT and 1 <= hour < _NOON) or (part == "中午" and hour < 3):  # noqa: PLR2004 - 中午一点 is past noon
            hour += 12
        elif (part in {"凌晨", "半夜"} and hour == _NOON) or (part in {"晚上", "夜里", "深夜", "晚"} and hour == _NOON):
            hour = 0
        return (hour, minute) if hour <= _MIDNIGHT and minute < 60 else None  # noqa: PLR2004
    found = _EN_TIME.fullmatch(raw)
    if not found or not (found[2] or found[3]):
        return None
    hour, minute, half = int(found[1]), int(found[2] or 0), (found[3] or "").lower()
    if half:
        if not 1 <= hour <= (_NOON if found[2] is None or hour <= _NOON else _MIDNIGHT):
            return None
        hour = hour % _NOON + (_NOON if half == "p" else 0) if hour <= _NOON else hour
    return (hour, minute) if hour <= _MIDNIGHT and minute < 60 else None  # noqa: PLR2004

"""A span of a known kind -> its comparable value, or nothing where it cannot be told. And when two values of a kind are the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, tzinfo
from decimal import Decimal, InvalidOperation
from functools import lru_cache

from langchain_ctxguard.core.field_dates import moment_of
from langchain_ctxguard.core.field_text import folded
from langchain_ctxguard.core.numerals import amount, word_number, zh_number
from langchain_ctxguard.domain.control import KEY, STATEMENTS, ControlField, FieldKind

_FORMAL = str.maketrans("壹贰叁肆伍陆柒捌玖拾佰仟○俩", "一二三四五六七八九十百千〇两")
_DIGITS = r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?"
_CN = "[零〇一二两三四五六七八九十百千万亿]"
_NUMBER = re.compile(rf"([-+]?(?:{_DIGITS}))|({_CN}+(?:点{_CN}+)?)")
_SCALES = {
    "thousand": 3, "million": 6, "billion": 9, "trillion": 12, "mn": 6, "bn": 9, "k": 3, "m": 6, "b": 9,
    "千": 3, "百": 2, "w": 4, "万": 4, "亿": 8, "百万": 6, "千万": 7, "万亿": 12,
}  # fmt: skip
_SCALE = re.compile(r" ?(thousand|million|billion|trillion|mn|bn|[kKmMbBwW](?![A-Za-z])|[百千]?万亿?|亿|千|百)")
_MIXED = re.compile(rf"({_DIGITS})([万亿])([0-9]+)([千百])")
_CHANGE = re.compile(rf"(?:人民币)?(?=.*[角毛分])(?:({_DIGITS}|{_CN}+?)[元块]零?)?(?:({_DIGITS}|{_CN})[角毛]钱?)?(?:({_DIGITS}|{_CN})分)?钱?")
_COINS = re.compile(rf"({_DIGITS}|{_CN}+)块([0-9]|[一二三四五六七八九])")
_CURRENCIES = (
    ("US$", "USD"), ("HK$", "HKD"), ("NZ$", "NZD"), ("AU$", "AUD"), ("CA$", "CAD"), ("SG$", "SGD"), ("NT$", "TWD"), ("A$", "AUD"), ("C$", "CAD"),
    ("S$", "SGD"), ("R$", "BRL"), ("美元", "USD"), ("美金", "USD"), ("港币", "HKD"), ("港元", "HKD"), ("日元", "JPY"), ("日圆", "JPY"), ("欧元",
    "EUR"),
    ("韩元", "KRW"), ("新加坡元", "SGD"), ("新币", "SGD"), ("澳元", "AUD"), ("加元", "CAD"), ("瑞士法郎", "CHF"), ("瑞郎", "CHF"), ("英镑", "GBP"),
    ("新台币", "TWD"), ("台币", "TWD"), ("泰铢", "THB"), ("卢布", "RUB"), ("卢比", "INR"), ("人民币", "CNY"), ("RMB", "CNY"), ("dollar", "USD"),
    ("bucks", "USD"), ("euro", "EUR"), ("pound", "GBP"), ("yen", "JPY"), ("yuan", "CNY"), ("franc", "CHF"), ("$", "USD"), ("€", "EUR"), ("£", "GBP"),
    ("¥", "CNY"), ("₩", "KRW"), ("₹", "INR"), ("฿", "THB"), ("₽", "RUB"), ("元", "CNY"), ("块", "CNY"),
)  # fmt: skip
_CODE = re.compile(r"[A-Z]{3}")

_SPAN_UNITS = (
    ("millis", "S", "0.001"), ("msec", "S", "0.001"), ("ms", "S", "0.001"), ("毫秒", "S", "0.001"), ("microsecond", "S", "0.000001"), ("us", "S",
    "0.000001"),
    ("μs", "S", "0.000001"), ("微秒", "S", "0.000001"), ("mos", "M", "1"), ("month", "M", "1"), ("个半月", "M", "1"), ("个月", "M", "1"), ("月",
    "M", "1"),
    ("min", "TM", "1"), ("分", "TM", "1"), ("s", "S", "1"), ("秒", "S", "1"), ("h", "H", "1"), ("小时", "H", "1"), ("个小时", "H", "1"), ("钟头",
    "H", "1"),
    ("个钟头", "H", "1"), ("个半小时", "H", "1"), ("个半钟头", "H", "1"), ("d", "D", "1"), ("天", "D", "1"), ("w", "W", "1"), ("周", "W", "1"),
    ("个星期", "W", "1"),
    ("星期", "W", "1"), ("个礼拜", "W", "1"), ("礼拜", "W", "1"), ("y", "Y", "1"), ("年", "Y", "1"), ("载", "Y", "1"),
)  # fmt: skip
_SPAN_PART = re.compile(
    rf"({_DIGITS}|半|{_CN}+|[A-Za-z][A-Za-z -]*?(?= ?(?:millis|msec|micro|sec|min|hour|hr|day|week|wk|month|mos|year|yr)))[- ]?"
    r"([A-Za-zμ]+|毫秒|微秒|秒钟?|分钟?|个半小时|个半钟头|个半月|个?(?:小时|钟头|月|星期|礼拜)|天|周|年|载)(半| and a half)?"
)
_SECONDS = {"S": 1, "TM": 60, "H": 3_600, "D": 86_400, "W": 604_800}
_BRACKETS = str.maketrans("（）【】", "()[]")
_UNIT_NAMES = {
    **dict(zip("㎡㎥㎏㎎㎜㎝㎞㎖㏄", ("m2", "m3", "kg", "mg", "mm", "cm", "km", "ml", "cc"), strict=True)),
    "m²": "m2",
    "m³": "m3",
    "cm²": "cm2",
    "km²": "km2",
}
_ISO_SPAN = re.compile(r"P(?:([0-9.]+)Y)?(?:([0-9.]+)M)?(?:([0-9.]+)W)?(?:([0-9.]+)D)?(?:T(?:([0-9.]+)H)?(?:([0-9.]+)M)?(?:([0-9.]+)S)?)?")
_TWINS = {
    "公斤": "kg", "千克": "kg", "克": "g", "毫克": "mg", "微克": "μg", "ug": "μg", "mcg": "μg", "吨": "t", "公吨": "t", "tonne": "t",
    "tonnes": "t", "ton": "t", "tons": "t",
    "公里": "km", "千米": "km", "kms": "km", "米": "m", "厘米": "cm", "毫米": "mm", "升": "l", "litre": "l", "litres": "l", "liter": "l",
    "liters": "l", "毫升": "ml",
    "平方米": "m2", "平米": "m2", "平方": "m2", "sqm": "m2", "立方米": "m3", "立方": "m3", "平方公里": "km2", "umol/l": "μmol/l", "ul": "μl",
    "lbs": "lb", "度电": "kwh",
    "千瓦时": "kwh", "千瓦": "kw", "瓦": "w", "伏": "v", "mile": "mi", "miles": "mi", "feet": "ft", "foot": "ft", "inches": "inch", "pcs": "unit",
    "units": "unit",
    "人份": "份", "人": "人", "person": "person", "people": "person",
}  # fmt: skip


def normalize(kind: FieldKind | str, raw: str, *, at: datetime | None = None, timezone: tzinfo = UTC) -> str | None:
    """Return the comparable value of a span, or `None` where it cannot be told.

    >>> normalize("amount", "5万元"), normalize("duration", "2小时30分"), normalize("phone", "+49 40 5550 7781")
    ('50000 CNY', 'PT2H30M', '+494055507781')
    >>> normalize("date", "下周五") is None
    True
    """
    return normalized(FieldKind(kind), folded(raw), at, timezone)


@lru_cache(maxsize=8_192)
def normalized(kind: FieldKind, raw: str, at: datetime | None, zone: tzinfo) -> str | None:
    """Return the comparable value of a span whose widths are folded."""
    try:
        if kind in {FieldKind.DATE, FieldKind.TIME, FieldKind.DATETIME}:
            moment = moment_of(raw, at, zone)
            return moment.value if moment and moment.kind == kind.value else None
        return _READERS.get(kind, _as_written)(raw)
    except (InvalidOperation, ValueError, OverflowError, KeyError):
        return None


def number_of(text: str) -> Decimal | None:
    """Return the number a text begins with, scale included: `1,420`, `2 million`, 三十万, 8万2千, 四点八."""
    text = text.strip().translate(_FORMAL)
    if found := _MIXED.match(text):
        return _decimal(found[1]) * Decimal(10) ** _SCALES[found[2]] + _decimal(found[3]) * Decimal(10) ** _SCALES[found[4]]
    found = _NUMBER.match(text)
    if not found:
        return None
    if found[2]:
        whole, _, part = found[2].partition("点")
        number = zh_number(whole)
        if number is None:
            return None
        return number + (Decimal("0." + str(zh_number(part))) if part else 0)
    number = _decimal(found[1])
    scale = _SCALE.match(text, found.end())
    return number * Decimal(10) ** _SCALES[scale[1].lower()] if scale else number


def shown(number: Decimal) -> str:
    """Return a number without exponent and without zeros that say nothing.

    >>> shown(Decimal("1850.00")), shown(Decimal("5E+4"))
    ('1850', '50000')
    """
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") or "0" if "." in text else text


_SYMBOLS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "CNY", "USD ": "USD", "EUR ": "EUR", "GBP ": "GBP"}
_SIMPLE_AMOUNT = re.compile(r"([$€£¥]|USD |EUR |GBP )([0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?)")
_SIMPLE_SPAN = re.compile(r"([0-9]+(?:\.[0-9]+)?)[ -]?(seconds?|minutes?|hours?|days?|weeks?|months?|years?|秒|分钟|小时|天|周|个月|年)")
_SPAN_LETTERS = {
    **dict.fromkeys(("second", "seconds", "秒"), "PT{}S"), **dict.fromkeys(("minute", "minutes", "分钟"), "PT{}M"), **dict.fromkeys(("day", "days",
    "天"), "P{}D"),
    **dict.fromkeys(("week", "weeks", "周"), "P{}W"), **dict.fromkeys(("month", "months", "个月"), "P{}M"),
}  # fmt: skip
"""The commonest spans; hours and years may be halves and go the long way."""


def _plain(text: str) -> str:
    """Return digits as `shown` would show them."""
    text = text.replace(",", "")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text.lstrip("0") or "0" if text[:2] != "0." else text


def _decimal(text: str) -> Decimal:
    return Decimal(text.replace(",", ""))


def _as_written(raw: str) -> str:
    return raw


def _amount(raw: str) -> str | None:  # noqa: C901, PLR0911 - a list of cases
    if simple := _SIMPLE_AMOUNT.fullmatch(raw):
        return f"{_plain(simple[2])} {_SYMBOLS[simple[1]]}"
    text = raw.translate(_FORMAL)
    currency = next((code for mark, code in _CURRENCIES if mark in text), "")
    if found := _CODE.search(text):
        currency = "CNY" if found[0] == "RMB" else found[0]
    if cents := re.fullmatch(r"([0-9.]+),([0-9]{2}) ?€", text):
        return f"{shown(Decimal(cents[1].replace('.', '') + '.' + cents[2]))} EUR"
    if change := _CHANGE.fullmatch(text):
        return _with_change(change.groups())
    if short := re.fullmatch(rf"({_DIGITS})万([0-9])", text):
        return f"{shown(_decimal(short[1]) * 10_000 + _decimal(short[2]) * 1_000)} CNY"
    if coins := _COINS.search(text):
        whole, part = number_of(coins[1]), number_of(coins[2])
        return None if whole is None or part is None else f"{shown(whole + part / 10)} {currency}"
    start = _NUMBER.search(text)
    if not start:
        told = word_number(raw.lower().replace("-", " ").split())
        return f"{shown(told[0])} {currency}" if told and currency else None
    number = number_of(text[start.start() :])
    if number is None:
        return None
    if text.startswith("-") and number > 0:
        number = -number
    if "cent" in text and "per" not in text and currency in {"", "USD"}:
        number, currency = number / 100, "USD"
    if not currency and re.search("[万亿千百十wWkK]", text):
        currency = "CNY"  # a sum told in Chinese numerals
    return f"{shown(number)} {currency}" if currency else shown(number)


def _with_change(parts: Sequence[str | None]) -> str | None:
    """Return a sum told in yuan, jiao and fen."""
    total = Decimal(0)
    for at, part in enumerate(parts):
        number = number_of(part or "0")
        if number is None:
            return None
        total += number / 10**at
    return f"{shown(total)} CNY"


def _percentage(raw: str) -> str | None:
    for words, per in (("百分之", 1), ("千分之", 10), ("万分之", 100)):
        if raw.startswith(words):
            number = number_of(raw[len(words) :])
            return None if number is None else f"{shown(number / per)}%"
    if "成" in raw:
        tens, _, ones = raw.partition("成")
        number, rest = number_of(tens), number_of(ones) if ones else Decimal(0)
        return None if number is None or rest is None else f"{shown(number * 10 + rest)}%"
    number = number_of(raw)
    return None if number is None else f"{shown(number / 10 if '‰' in raw else number)}%"


def _temperature(raw: str) -> str | None:
    found = _NUMBER.search(raw, 2 if raw.startswith("零下") else 0)
    number = number_of(found[0]) if found else None
    if number is None:
        return None
    if halves := re.fullmatch(rf"({_DIGITS})度([0-9])", raw):
        return f"{halves[1]}.{halves[2]} C"
    scale = "F" if "℉" in raw or "华氏" in raw or re.search(r"F\b|Fahrenheit", raw) else "C"
    return f"{shown(-number if raw.lower().startswith(('零下', 'minus')) else number)} {scale}"


def _quantity(raw: str) -> str | None:
    text = raw.translate(_FORMAL)
    found = _NUMBER.match(text)
    if not found:
        return None
    number = number_of(found[0])
    rest = text[found.end() :].strip()
    if number is not None and found[1] and rest[:1] in {"万", "亿"}:
        number, rest = number * Decimal(10) ** _SCALES[rest[0]], rest[1:].strip()
    return None if number is None or not rest else f"{shown(number)} {_UNIT_NAMES.get(rest, rest)}"


def _duration(raw: str) -> str | None:
    if (simple := _SIMPLE_SPAN.fullmatch(raw)) and simple[2] in _SPAN_LETTERS:
        return _SPAN_LETTERS[simple[2]].format(_plain(simple[1]))
    text = raw.lower().translate(_FORMAL).replace("half an hour", "30 minutes").replace("half a year", "6 months").replace("half an year", "6 months")
    text = text.replace("an hour and a half", "90 minutes")
    if (found := re.fullmatch(r"([a-z -]+?) and a half[- ]([a-z]+)", text)) is not None:
        text = f"{found[1]} {found[2]} and a half"
    parts: dict[str, Decimal] = {}
    for found in _SPAN_PART.finditer(text):
        count = (
            Decimal("0.5") if found[1] == "半" else number_of(found[1]) if not found[1][0].isascii() or found[1][0].isdigit() else _words(found[1])
        )
        unit = found[2]
        key, factor = next(((key, Decimal(factor)) for name, key, factor in _SPAN_UNITS if unit.startswith(name)), ("", Decimal(0)))
        if count is None or not key:
            return None
        parts[key] = parts.get(key, Decimal(0)) + (count + (Decimal("0.5") if found[3] or "个半" in unit else 0)) * factor
    return _iso_span(parts)


def _words(text: str) -> Decimal | None:
    words = word_number(re.split("[- ]", text.strip()))
    return words[0] if words else None


def _iso_span(parts: dict[str, Decimal]) -> str | None:
    if not parts:
        return None
    # Halves go to the next smaller unit, so that 半年 and 6个月 read alike.
    for large, small, times in (("Y", "M", 12), ("H", "TM", 60)):
        if large in parts and parts[large] % 1 and (parts[large] * times) % 1 == 0:
            whole = parts[large] // 1
            parts[small] = parts.get(small, Decimal(0)) + (parts.pop(large) - whole) * times
            if whole:
                parts[large] = whole
    dates = "".join(f"{shown(parts[key])}{key}" for key in ("Y", "M", "W", "D") if key in parts)
    times_ = "".join(f"{shown(parts[key])}{key[-1]}" for key in ("H", "TM", "S") if key in parts)
    return f"P{dates}{'T' + times_ if times_ else ''}"


def _phone(raw: str) -> str | None:
    digits = re.sub(r"\D", "", raw)
    return ("+" if raw.lstrip("(").startswith("+") else "") + digits if digits else None


def _version(raw: str) -> str | None:
    found = re.search(r"(?<![A-Za-z0-9.])[vV]?\.?([0-9].*)$", raw)
    return found[1] if found else raw


def _error_code(raw: str) -> str | None:
    number = re.search(r"-?[0-9]{1,10}", raw)
    low = raw.lower()
    if number:
        if "退出码" in raw or low.startswith(("exit", "return code")):
            return f"exit code {number[0]}"
        if low.startswith(("http", "status")) or any(word in raw for word in ("状态码", "错误", "报错")):
            return f"HTTP {number[0]}" if len(number[0]) == 3 else raw  # noqa: PLR2004 - a status has three digits
    return raw


def _payment_term(raw: str) -> str | None:
    if raw == "货到付款" or raw.lower() == "cash on delivery":
        return "COD"
    if "receipt" in raw.lower() or raw == "见票即付":
        return "DUE ON RECEIPT"
    if "月结" in raw or "账期" in raw:
        found = _NUMBER.search(raw)
        days = number_of(found[0]) if found else None
        return None if days is None else f"NET {shown(days)}"
    text = re.sub(r"\s+", " ", raw.upper()).replace("NET-", "NET ").replace(" DAYS", "")
    return re.sub(r"^(\d+)%,? ?/?", r"\1/", text) if "%" in text else re.sub(r"NET(?=\d)", "NET ", text)


_READERS: dict[FieldKind, Callable[[str], str | None]] = {
    FieldKind.AMOUNT: _amount,
    FieldKind.PERCENTAGE: _percentage,
    FieldKind.TEMPERATURE: _temperature,
    FieldKind.QUANTITY: _quantity,
    FieldKind.DURATION: _duration,
    FieldKind.PHONE: _phone,
    FieldKind.VERSION: _version,
    FieldKind.ERROR_CODE: _error_code,
    FieldKind.PAYMENT_TERM: _payment_term,
    FieldKind.ID: lambda raw: raw.translate(_BRACKETS),
    FieldKind.ORDER_ID: lambda raw: raw.lstrip("#"),
    FieldKind.INVOICE_ID: lambda raw: raw.lstrip("#"),
    FieldKind.TICKET_ID: lambda raw: raw.lstrip("#"),
    FieldKind.COMMIT: str.lower,
    FieldKind.UUID: str.lower,
    FieldKind.EMAIL: str.lower,
    FieldKind.IBAN: lambda raw: raw.replace(" ", "").upper(),
}


@lru_cache(maxsize=8_192)
def comparable(kind: FieldKind, value: str) -> str:  # noqa: PLR0911 - a list of cases
    """Return the one form of all spellings of a value of this kind: what equal values have in common.

    >>> comparable(FieldKind.DURATION, "PT90M") == comparable(FieldKind.DURATION, "PT1H30M")
    True
    >>> comparable(FieldKind.QUANTITY, "1420 kg") == comparable(FieldKind.QUANTITY, "1.42 吨")
    True
    """
    try:
        if kind is FieldKind.DURATION:
            return _span_length(value)
        if kind in {FieldKind.AMOUNT, FieldKind.QUANTITY, FieldKind.TEMPERATURE}:
            number, _, unit = value.partition(" ")
            return _measured(Decimal(number), unit) if kind is FieldKind.QUANTITY else f"{shown(Decimal(number))} {unit}"
        if kind is FieldKind.PERCENTAGE:
            return f"{shown(Decimal(value.rstrip('%')))}%"
    except InvalidOperation:
        return value
    if kind is FieldKind.PHONE:
        return value.lstrip("+")
    if kind is FieldKind.IP:
        return value.lower()
    if kind in STATEMENTS or kind is FieldKind.NAME:
        return re.sub(r"[\W_]+", "", value).casefold()
    if kind in {FieldKind.PAYMENT_TERM, FieldKind.ERROR_CODE, FieldKind.VERSION}:
        return value.casefold()
    return value


def _span_length(value: str) -> str:
    found = _ISO_SPAN.fullmatch(value)
    if not found:
        return value
    years, months, weeks, days, hours, minutes, seconds = (Decimal(group) if group else Decimal(0) for group in found.groups())
    return f"{shown(years * 12 + months)} months {shown(weeks * 604_800 + days * 86_400 + hours * 3_600 + minutes * 60 + seconds)} s"


def _measured(number: Decimal, unit: str) -> str:
    unit = _TWINS.get(unit.lower(), unit) if unit.isascii() else _TWINS.get(unit, unit)
    small = unit if unit in {"V", "W", "MB", "GB", "TB", "KB", "kB", "PB", "QPS"} else unit.lower()
    found = amount(number, {"t": "ton", "kb": "kb"}.get(small, small.lower()))
    if found.group in {"mass", "length", "volume"}:
        return f"{shown(found.number)} {found.dimension}"
    if small.isascii() and small.isalpha() and len(small) > 3:  # noqa: PLR2004 - boxes and box, hours and hour
        small = small.removesuffix("es") if small.endswith(("xes", "ches", "shes", "sses")) else small.removesuffix("s")
    return f"{shown(number)} {small}"


def is_same_value(kind: FieldKind, one: str, other: str) -> bool:
    """Say whether two values of one kind are the same. A date without a year is any year's; a phone number may lack its country.

    >>> is_same_value(FieldKind.DATE, "--06-30", "2026-06-30")
    True
    """
    left, right = comparable(kind, one), comparable(kind, other)
    if left == right:
        return True
    if kind in {FieldKind.DATE, FieldKind.DATETIME} and (left.startswith("--") or right.startswith("--")):
        return left.removeprefix("--") == right[5:] or right.removeprefix("--") == left[5:]
    if kind is FieldKind.PHONE and one.startswith("+") != other.startswith("+"):
        long, short = (left, right) if one.startswith("+") else (right, left)
        return len(short) > 6 and long.endswith(short.lstrip("0")) and 0 < len(long) - len(short.lstrip("0")) <= 3  # noqa: PLR2004 - country codes
    return False


_GROUPS = {
    **dict.fromkeys((FieldKind.ORDER_ID, FieldKind.INVOICE_ID, FieldKind.TICKET_ID, FieldKind.ID, FieldKind.COMMIT, FieldKind.UUID), "id"),
    **dict.fromkeys((FieldKind.DATE, FieldKind.DATETIME), "date"),
}


def group_of(kind: FieldKind) -> str:
    """Return the group whose kinds can stand for one another: which word stands beside an identifier may be lost, its value may not."""
    return _GROUPS.get(kind, kind.value)


def key_for(kind: FieldKind, raw: str, value: str | None) -> str:
    """Return the key of a field of this kind, span and value."""
    form = comparable(kind, value) if value is not None else re.sub(r"\s+", "", folded(raw)).casefold()
    return f"{group_of(kind)}\x1f{form}"


def key_of(field: ControlField) -> str:
    """Return what all spellings of a field's value have in common, its group included. Computed once per field."""
    known = field.__dict__.get(KEY)
    if known is None:
        known = key_for(field.kind, field.raw, field.value)
        # The value is frozen, so its key cannot change; pydantic keeps what is no field out of equality and dumps.
        field.__dict__[KEY] = known
    return str(known)


def is_same_field_value(one: ControlField, other: ControlField) -> bool:
    """Say whether two fields have the same value."""
    if key_of(one) == key_of(other):
        return True
    if one.value is None or other.value is None or one.kind != other.kind:
        return False
    return is_same_value(one.kind, one.value, other.value)

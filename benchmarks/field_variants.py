"""Values written wrongly and rightly: mutations no comparison may take for unchanged, and reformattings it must take for the same.

Both work on real fields: a sentence, and the span of a value in it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from langchain_ctxguard.domain.control import ChangeKind, ControlField, FieldKind

IDS = frozenset(
    {
        "order_id",
        "invoice_id",
        "ticket_id",
        "id",
        "commit",
        "uuid",
        "iban",
        "email",
        "phone",
        "ip",
        "url",
        "path",
        "anchor",
        "connection_string",
        "version",
        "error_code",
    }
)
BLURS = {
    "date": ("近期", "soon"),
    "datetime": ("近期", "soon"),
    "time": ("稍后", "later"),
    "amount": ("一笔预算", "some budget"),
    "duration": ("一段时间", "a while"),
    "percentage": ("一定比例", "a share"),
    "quantity": ("若干", "some"),
    "temperature": ("低温", "cold"),
}
_UNITS = {
    "amount": (("$", "€"), ("€", "£"), ("£", "$"), ("¥", "$"), ("￥", "€"), ("USD", "EUR"), ("EUR", "USD"), ("GBP", "USD"), ("CHF", "EUR"), ("AUD",
    "CAD"), ("万元", "万美元"), ("元", "美元")),
    "duration": (
        ("minutes", "hours"), ("hours", "days"), ("days", "weeks"), ("weeks", "months"), ("months", "years"), ("years", "months"), ("seconds",
        "minutes"), ("分钟", "小时"),
        ("小时", "天"), ("天", "周"), ("个月", "年"), ("年", "个月"), ("秒", "分钟"), (" min", " hours"), (" s", " min"), ("周", "天"),
    ),
    "temperature": (("°C", "°F"), ("°F", "°C"), ("℃", "℉"), ("℉", "℃")),
    "quantity": ((" kg", " g"), (" mg", " g"), ("公斤", "斤"), ("GB", "MB"), ("MB", "GB"), ("km", "m"), ("boxes", "pallets"), ("箱", "托"),
    ("people", "groups"), (" units", " boxes"), ("张", "套")),
}  # fmt: skip
_NEGATIVE = (
    ("never ", "always "), ("Never ", "Always "), ("do not ", ""), ("don't ", ""), (" not ", " "), ("n't ", " "), ("不要", "要"), ("不能", "能"),
    ("不得", "可"), ("别", "要"), ("不", ""), ("禁止", "允许"), ("without ", "with "),
)  # fmt: skip


class Variant(NamedTuple):
    """A sentence with one value written otherwise."""

    text: str
    how: str
    """Which mutation or reformatting it is."""

    names: frozenset[ChangeKind]
    """What the change may be called; empty for a reformatting."""


def mutated(field: ControlField, text: str, rng: random.Random) -> Variant | None:
    """Return a sentence with the value of `field` changed, or `None` where the chosen mutation does not apply."""
    mutation = rng.choice(_MUTATIONS)
    found = mutation(field, rng) if mutation is not _blurred else _blurred(field, text)
    if found is None or found[0] == field.raw:
        return None
    raw, how, names = found
    return Variant(text[: field.start] + raw + text[field.stop :], how, frozenset(names))


_Found = tuple[str, str, tuple[ChangeKind, ...]]


def _digit(field: ControlField, rng: random.Random) -> _Found | None:
    places = [place for place, character in enumerate(field.raw) if character.isascii() and character.isdigit()]
    if not places or field.kind in {
        FieldKind.DATE,
        FieldKind.DATETIME,
        FieldKind.TIME,
        FieldKind.EMPHASIS,
        FieldKind.CHOICE_CONFIRMED,
        FieldKind.CHOICE_REJECTED,
        FieldKind.IBAN,
    }:
        return None
    place = rng.choice(places)
    wrong = rng.choice([digit for digit in "123456789" if digit != field.raw[place]])
    return field.raw[:place] + wrong + field.raw[place + 1 :], "digit changed", ("digit", "value", "unit", "extended", "truncated")


def _shift(field: ControlField, rng: random.Random) -> _Found | None:
    if field.kind not in {FieldKind.DATE, FieldKind.DATETIME} or field.value is None or not re.match(r"\d{4}-\d\d-\d\d", field.value):
        return None
    was = date.fromisoformat(field.value[:10])
    then = was + timedelta(days=rng.choice([-40, -7, -1, 1, 2, 30, 365]))
    clock = field.value[10:].replace("T", " ")
    return f"{then.isoformat()}{clock}", "date shifted", ("shifted",)


def _unit(field: ControlField, rng: random.Random) -> _Found | None:
    swaps = [pair for pair in _UNITS.get(field.kind.value, ()) if pair[0] in field.raw]
    if not swaps or (swaps[0][0] == "元" and re.search("[美欧日港澳加韩]元", field.raw)) or re.match("半", field.raw) or "毫" in field.raw:
        return None
    old, new = rng.choice(swaps[:1])
    return field.raw.replace(old, new, 1), "unit swapped", ("unit", "value", "digit")


def _extend(field: ControlField, rng: random.Random) -> _Found | None:
    if field.kind.value not in {"order_id", "invoice_id", "ticket_id", "id", "commit", "phone", "ip"} or not field.raw[-1].isdigit():
        return None
    return (
        field.raw + rng.choice(["0", "7", "-2", "23"] if field.kind not in {FieldKind.PHONE, FieldKind.IP, FieldKind.COMMIT} else ["1", "7"]),
        "id extended",
        ("extended", "digit", "value"),
    )


def _unnegated(field: ControlField, rng: random.Random) -> _Found | None:
    if field.kind is not FieldKind.EMPHASIS:
        return None
    words = [pair for pair in _NEGATIVE if pair[0] in field.raw]
    if not words:
        return None
    old, new = words[0]
    del rng
    return field.raw.replace(old, new, 1), "negation removed", ("negated",)


def _blurred(field: ControlField, text: str) -> _Found | None:
    words = BLURS.get(field.kind.value)
    if not words:
        return None
    beside = text[max(0, field.start - 3) : field.start] + field.raw + text[field.stop : field.stop + 3]
    return words[0 if re.search("[\u4e00-\u9fff]", beside) else 1], "value blurred", ("blurred",)


_MUTATIONS: tuple[Callable[[ControlField, Any], _Found | None], ...] = (_digit, _digit, _shift, _unit, _extend, _unnegated, _blurred)


def reformatted(field: ControlField, rng: random.Random) -> tuple[str, str] | None:
    """Return the value of `field` in another spelling and what was done, or `None` where there is none to try."""
    writers = _WRITERS.get(field.kind.value, ()) or (_as_is,)
    for write in rng.sample([*writers, _wide], len(writers) + 1):
        raw = write(field, rng)
        if raw is not None and raw != field.raw:
            return raw, write.__name__.strip("_")
    return None


def _as_is(field: ControlField, rng: random.Random) -> str | None:
    del rng
    return field.raw


def _wide(field: ControlField, rng: random.Random) -> str | None:
    """Write letters and digits full width, as an input method does."""
    del rng
    if field.kind.value in {
        "url",
        "path",
        "anchor",
        "connection_string",
        "email",
        "quantity",
        "temperature",
        "error_code",
        "emphasis",
        "name",
        "choice_confirmed",
        "choice_rejected",
    }:
        return None
    return "".join(chr(ord(character) + 0xFEE0) if character.isascii() and character.isdigit() else character for character in field.raw)


def _money(field: ControlField, rng: random.Random) -> str | None:
    number, _, currency = (field.value or "").partition(" ")
    if not currency or ".." in (field.value or ""):
        return None
    amount = Decimal(number)
    symbols = {"USD": "$", "EUR": "€", "GBP": "£", "CNY": "¥"}
    ways = [
        f"{amount:,} {currency}",
        f"{currency} {amount}",
        f"{currency} {amount:,.2f}" if amount == amount.quantize(Decimal("0.01")) else f"{currency} {amount}",
    ]
    if currency in symbols:
        ways += [f"{symbols[currency]}{amount}", f"{symbols[currency]}{amount:,}"]
    if currency == "CNY":
        ways.append(f"{amount}元")
        if amount >= 10_000 and amount % 100 == 0:
            ways.append(f"{(amount / 10_000).normalize():f}万元")
    return rng.choice(ways)


def _day(field: ControlField, rng: random.Random) -> str | None:
    if not field.value or not re.fullmatch(r"\d{4}-\d\d-\d\d", field.value):
        return None
    when = date.fromisoformat(field.value)
    name = when.strftime("%B")
    return rng.choice(
        [
            field.value,
            f"{when.year}年{when.month}月{when.day}日",
            f"{when.year}/{when.month}/{when.day}",
            f"{name} {when.day}, {when.year}",
            f"{when.day} {name} {when.year}",
            f"{name[:3]} {when.day}, {when.year}",
        ]
    )


def _moment(field: ControlField, rng: random.Random) -> str | None:
    if not field.value or not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d", field.value):
        return None
    day, _, clock = field.value.partition("T")
    when = date.fromisoformat(day)
    return rng.choice(
        [
            f"{day} {clock}",
            f"{day}T{clock}:00",
            f"{when.year}年{when.month}月{when.day}日{clock}",
            f"{when.strftime('%B')} {when.day}, {when.year} at {clock}",
        ]
    )


def _clock(field: ControlField, rng: random.Random) -> str | None:
    if not field.value or field.value.startswith(("00", "24")):
        return None
    hour, minute = map(int, field.value.split(":"))
    half = f"{(hour - 1) % 12 + 1}:{minute:02} {'pm' if hour > 11 else 'am'}"
    return rng.choice([field.value, half, f"{hour}:{minute:02}", *([f"{hour}点{minute}分"] if minute > 9 else [])])


def _span(field: ControlField, rng: random.Random) -> str | None:
    found = re.fullmatch(r"PT?([0-9]+)([DWMYHS])", field.value or "")
    if not found or ".." in (field.value or ""):
        return None
    count, letter = int(found[1]), found[2]
    names = {
        "D": ("days", "天"),
        "W": ("weeks", "周"),
        "Y": ("years", "年"),
        "H": ("hours", "小时"),
        "S": ("seconds", "秒"),
        "M": ("minutes", "分钟") if "T" in field.value else ("months", "个月"),
    }[letter]  # type: ignore[operator]
    if count < 2 or (letter == "Y" and count > 100):
        return None
    ways = [f"{count} {names[0]}", f"{count}{names[1]}"]
    if letter == "H" and count % 24 == 0 and count > 24:
        ways.append(f"{count // 24} days")
    if letter == "W":
        ways.append(f"{count * 7}天")
    return rng.choice(ways)


def _share(field: ControlField, rng: random.Random) -> str | None:
    number = (field.value or "").rstrip("%")
    if not re.fullmatch(r"[0-9]+(?:\.[0-9]+)?", number):
        return None
    ways = [f"{number}%", f"{number} %", f"{number} percent"]
    if number in {"10", "20", "30", "50", "80"}:
        ways += [f"{'零一二三四五六七八九'[int(number) // 10]}成", f"百分之{'零一二三四五六七八九'[int(number) // 10] if number != '10' else ''}十"]
    return rng.choice(ways)


def _phone(field: ControlField, rng: random.Random) -> str | None:
    digits = (field.value or "").lstrip("+")
    if re.fullmatch(r"1[3-9][0-9]{9}", digits) and not (field.value or "").startswith("+"):
        return rng.choice([digits, f"{digits[:3]} {digits[3:7]} {digits[7:]}", f"{digits[:3]}-{digits[3:7]}-{digits[7:]}"])
    return None


def _iban(field: ControlField, rng: random.Random) -> str | None:
    plain = field.value or ""
    return rng.choice([plain, " ".join(plain[place : place + 4] for place in range(0, len(plain), 4))])


def _lower(field: ControlField, rng: random.Random) -> str | None:
    return rng.choice([field.raw.lower(), field.raw.upper()]) if field.kind in {FieldKind.EMAIL, FieldKind.UUID} else None


def _tagged(field: ControlField, rng: random.Random) -> str | None:
    del rng
    return f"v{field.value}" if field.value and re.fullmatch(r"[0-9]+(?:\.[0-9]+){2}", field.value) else None


def _temperature(field: ControlField, rng: random.Random) -> str | None:
    number, _, scale = (field.value or "").partition(" ")
    return (
        rng.choice([f"{number}°{scale}", f"{number} °{scale}", *([f"{number}℃"] if scale == "C" else [])])
        if scale and ".." not in (field.value or "")
        else None
    )


def _term(field: ControlField, rng: random.Random) -> str | None:
    found = re.fullmatch(r"NET ([0-9]+)", field.value or "")
    return rng.choice([f"NET {found[1]}", f"月结{found[1]}天", f"Net {found[1]}"]) if found else None


_WRITERS: dict[str, tuple[Callable[[ControlField, random.Random], str | None], ...]] = {
    "amount": (_money,),
    "date": (_day,),
    "datetime": (_moment,),
    "time": (_clock,),
    "duration": (_span,),
    "percentage": (_share,),
    "phone": (_phone,),
    "iban": (_iban,),
    "email": (_lower,),
    "version": (_tagged,),
    "temperature": (_temperature,),
    "payment_term": (_term,),
}

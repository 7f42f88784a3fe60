"""How a value may be spelled where it came from: case, blanks, encoding, numbers, dates. And when a spelling stands in a text as a whole."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any
from urllib.parse import unquote

from langchain_ctxguard.core.extract import extract_fields
from langchain_ctxguard.core.normalize import key_of, number_of
from langchain_ctxguard.core.predicates import leaves_of, number_in
from langchain_ctxguard.core.provenance import folded
from langchain_ctxguard.domain.control import ControlField, FieldKind

LEAST_DIGITS = 5
"""A shorter number stands anywhere by chance: "June 13" is no file id 13."""

_LEAST_LETTERS = 3
_LONGEST_JSON = 1_000_000
_LONGEST_COMPACT = 40
_PIECE = 8_000
"""So many characters are read for dates and amounts at a time."""

_WIDE = "\u2e80"
_ESCAPED = re.compile(r"%[0-9A-Fa-f]{2}", re.ASCII)
_RUN = re.compile(r"[^\W_]+")
_HAN = re.compile("[\u2e80-\U0003ffff]+")
_NUMERAL = re.compile(r"(?<![0-9A-Za-z.,_/-])(?:[0-9]{1,3}(?:[ ,.'\u2019][0-9]{3}){1,8}|[0-9]+)(?:[.,][0-9]+)?(?![0-9A-Za-z_/-])")
_COMPACT = re.compile(r"\+?[0-9]{7,}|[a-z]{2}[0-9]{2}[a-z0-9]{11,30}")
_BETWEEN = r"[ ./()-]{0,2}"
_PARTS = (
    r"[a-z][a-z0-9+.-]*://[^\s<>\"'`]+|[^\s@<>\"'`(),;:]+@[^\s@<>\"'`(),;:]+\.[a-z0-9-]+|"
    r"[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,24}(?:/[^\s<>\"'`]*)?|"
    r"[a-z]{2}[0-9]{2}(?: ?[a-z0-9]{4}){2,7}(?: ?[a-z0-9]{1,4})?|[a-z]+-?[0-9][a-z0-9-]*|\+?[0-9][0-9 ()./-]{5,40}[0-9]"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_DIGIT_BEFORE = re.compile(r"[0-9] ")
_DIGIT_AFTER = re.compile(r" [0-9]")
_BESIDE = 40
"""Characters between a day and a clock time that are meant together."""

_RANGE = re.compile(r"\s*(?:to|until|till|through|and|-|\u2013|\u2014|~|\u5230|\u81f3)\s*", re.IGNORECASE)
_COUNTS = re.compile("[0-9０-９零〇一二两三四五六七八九十百千万亿]|hundred|thousand|million|billion", re.IGNORECASE)
"""What every date and amount holds one of."""

_LONGEST_FIELD = 80
_TRAILING = ".,;:!?。，；：！？'\")]}>"

_NUMBERS = frozenset({FieldKind.AMOUNT, FieldKind.QUANTITY})
_REFORMATTED = frozenset({FieldKind.AMOUNT, FieldKind.DATE, FieldKind.DATETIME})
"""Kinds that are written in ways no comparison of letters sees through."""


def plain(text: str) -> str:
    r"""Return a text in the form origins are looked for in: folded, without case.

    >>> plain("Bob@Example.COM\n １２")
    'bob@example.com 12'
    """
    return folded(text).casefold()


def searched(text: str) -> str:
    r"""Return everything a text says, in the form origins are looked for in: what is JSON or URL-encoded stands there decoded as well.

    >>> searched('{"to": "caf\\u00e9"}')
    '{"to": "caf\\u00e9"}\ncafé'
    """
    lines = [plain(text)]
    bare = text.strip()
    if bare[:1] in {"{", "["} and bare[-1:] in {"}", "]"} and len(bare) <= _LONGEST_JSON:
        with suppress(ValueError, RecursionError):
            lines += [plain(str(leaf)) for leaf in leaves_of(json.loads(bare))]
    if "%" in text and _ESCAPED.search(text):
        lines.append(plain(unquote(text, errors="replace")))
    return "\n".join(lines)


def runs_in(text: str) -> Iterator[str]:
    """Yield the runs of letters and digits in a plain text; what is written without blanks, two characters at a time."""
    for run in _RUN.findall(text):
        if run.isascii():
            yield run
            continue
        at = 0
        for wide in _HAN.finditer(run):
            if wide.start() > at:
                yield run[at : wide.start()]
            letters = wide[0]
            yield from (letters[place : place + 2] for place in range(len(letters) - 1))
            at = wide.end()
        if at < len(run):
            yield run[at:]


def stands_whole(spelling: str, text: str, start: int) -> bool:
    """Say whether a spelling found at `start` is a whole token there: no name, number, path or address goes on at either end."""
    stop = start + len(spelling)
    is_grouped = " " in spelling and spelling.replace(" ", "").isdigit()
    if is_grouped and (_DIGIT_BEFORE.match(text[max(start - 2, 0) : start]) or _DIGIT_AFTER.match(text, stop)):
        return False  # groups of a longer number
    return not (_goes_on_before(text, start, spelling[0]) or _goes_on_after(text, stop, spelling[-1]))


def _is_letter(character: str) -> bool:
    return character.isalnum() or character == "_" or unicodedata.category(character)[0] == "M"


def _goes_on_before(text: str, start: int, edge: str) -> bool:  # noqa: PLR0911 - one line for each mark
    if start == 0 or edge >= _WIDE:
        return False
    near = text[start - 1]
    if _is_letter(near):
        return near < _WIDE and edge != "+"
    if near in "/\\@~+":
        return True
    further = text[start - 2] if start > 1 else " "
    goes_on = _is_letter(further) and further < _WIDE
    if near == ".":
        return True
    if near == "-":
        return goes_on or edge.isdigit()
    if near == ",":
        return further.isdigit() and edge.isdigit()
    return near in "%&?#'\u2019" and goes_on


def _goes_on_after(text: str, stop: int, edge: str) -> bool:
    if stop >= len(text) or edge >= _WIDE:
        return False
    near = text[stop]
    if _is_letter(near):
        return near < _WIDE
    if near in "@%\u2030":
        return True
    further = text[stop + 1] if stop + 1 < len(text) else " "
    if near == ",":
        return edge.isdigit() and further.isdigit()
    return near in "./\\-+~:?#'\u2019" and _is_letter(further) and further < _WIDE


@dataclass(frozen=True, slots=True)
class Spellings:
    """A value, and what it may look like where it came from."""

    texts: tuple[str, ...]
    """As written, plainly; any of them."""

    number: Decimal | None = None
    compact: re.Pattern[str] | None = None
    """Of account, card and phone numbers: whatever stands between their groups."""

    keys: frozenset[str] = frozenset()
    """What all spellings of a date, an amount or the like have in common."""

    def __bool__(self) -> bool:
        """Say whether there is anything to look for: what stands anywhere by chance proves nothing."""
        return bool(self.texts or self.number is not None or self.keys)


def spellings_of(value: Any) -> Spellings:
    """Return how `value` may be spelled; nothing for one that proves nothing.

    >>> spellings_of("June 13").texts, bool(spellings_of(13)), bool(spellings_of("no")), bool(spellings_of("李雷"))
    (('june 13',), False, False, True)
    """
    number = number_in(value)
    if number is not None:
        return _of_number(number, value)
    text = plain(str(value)).strip()
    if not _says_enough(text):
        return Spellings(())
    texts = dict.fromkeys(filter(None, (text, text.rstrip(_TRAILING), text.strip("'\"` "))))
    if "%" in text and _ESCAPED.search(text):
        texts[plain(unquote(str(value), errors="replace"))] = None
    if text.startswith(("http://", "https://")) or text.endswith("/"):
        bare = _SCHEME.sub("", text)
        texts.update(dict.fromkeys((text.rstrip("/"), bare, bare.rstrip("/"))))
    fields = _fields_that_are(str(value))
    numbers = [number for field in fields if (number := _number_of(field)) is not None]
    is_short = all(_digits(one) < LEAST_DIGITS for one in numbers)
    told = not fields or not numbers or not is_short
    return Spellings(
        tuple(texts) if told else (),
        number=numbers[0] if numbers and not is_short else None,
        compact=_compact(text),
        keys=frozenset(key_of(field) for field in fields) if told else frozenset(),
    )


_SCHEME = re.compile(r"^https?://")
_GAPS = re.compile(r"[ ./()-]")


def _says_enough(text: str) -> bool:
    """Say whether a text has as many letters as it takes not to stand somewhere by chance; those written without blanks count twice."""
    count = 0
    for character in text:
        if character.isalnum():
            count += 2 if character >= _WIDE else 1
            if count >= _LEAST_LETTERS:
                return True
    return False


def _of_number(number: Decimal, value: Any) -> Spellings:
    text = plain(str(value)).strip()
    if isinstance(value, str) and re.match("0[0-9]", text):
        # With a zero at its front it is a name: 00123 is not 123.
        return Spellings((text,), compact=_compact(text)) if len(text) >= LEAST_DIGITS else Spellings(())
    if _digits(number) < LEAST_DIGITS:
        return Spellings(())
    return Spellings((text,), number=number, compact=_compact(text))


def _digits(number: Decimal) -> int:
    if number == number.to_integral_value():
        return len(f"{abs(number):.0f}")
    return sum(character.isdigit() for character in f"{number.normalize():f}".strip("0"))


def _compact(text: str) -> re.Pattern[str] | None:
    bare = _GAPS.sub("", text)
    if len(bare) > _LONGEST_COMPACT or not _COMPACT.fullmatch(bare):
        return None
    return re.compile(_BETWEEN.join(map(re.escape, bare)))


def _fields_that_are(text: str) -> list[ControlField]:
    """Return the one field a whole text is."""
    bare = text.strip()
    if len(bare) > _LONGEST_FIELD or not _COUNTS.search(bare):
        return []
    return [field for field in extract_fields(bare) if field.kind in _REFORMATTED and len(field.raw) >= len(bare) - 1]


def numbers_in(text: str) -> Iterator[Decimal]:
    """Yield the numbers in a plain text that are long enough to prove anything, in either way their marks can be read.

    >>> sorted(map(str, numbers_in("pay 12,345.60 or 98.765,43")))
    ['12345.60', '98765.43']
    """
    for found in _NUMERAL.findall(text):
        if sum(character.isdigit() for character in found) < LEAST_DIGITS or re.match("0[0-9]", found):
            continue
        bare = re.sub(r"[ '\u2019]", "", found)
        for grouping, point in ((",", "."), (".", ",")):
            whole, mark, part = bare.replace(grouping, "").partition(point)
            is_grouped = re.fullmatch(rf"[0-9]{{1,3}}(?:\{grouping}[0-9]{{3}})*(?:\{point}[0-9]+)?|[0-9]+(?:\{point}[0-9]+)?", bare) is not None
            if is_grouped and whole.isdigit() and (not mark or part.isdigit()):
                yield Decimal(f"{whole}.{part}" if part else whole)


def fields_in(text: str) -> tuple[frozenset[str], frozenset[Decimal]]:
    """Return what all spellings of the dates and amounts in a text have in common, and the numbers among them."""
    keys: set[str] = set()
    numbers: set[Decimal] = set()
    for start in range(0, len(text), _PIECE):
        piece = text[start : start + _PIECE]
        found = extract_fields(piece)
        keys.update(key_of(field) for field in (*found, *_joined(found, piece)) if field.kind in _REFORMATTED)
        numbers.update(number for field in found if field.kind in _NUMBERS and (number := _number_of(field)) is not None)
    return frozenset(keys), frozenset(numbers)


def _joined(fields: Sequence[ControlField], text: str) -> Iterator[ControlField]:
    """Yield the moments a text names in two places: a day and a clock time beside it, a day whose year stands with the next one.

    >>> [field.value for field in _joined(extract_fields("on 2026-05-20 at 10:00"), "on 2026-05-20 at 10:00")]
    ['2026-05-20T00:00', '2026-05-20T10:00']
    """
    at, placed = 0, []
    for field in fields:
        at = max(at, text.find(field.raw, at))
        placed.append((at, at + len(field.raw), field))
    for place, (start, stop, field) in enumerate(placed):
        if field.kind is not FieldKind.DATE or field.value is None:
            continue
        near = [
            (begin, end, other) for begin, end, other in placed[max(place - 1, 0) : place + 4] if begin - stop <= _BESIDE and start - end <= _BESIDE
        ]
        day = field.value
        if day.startswith("--"):
            after = [(begin, other.value) for begin, _, other in near if begin > start and other.kind is FieldKind.DATE and other.value]
            year = next((value[:4] for begin, value in after if value[:4].isdigit() and _RANGE.fullmatch(text, stop, begin)), None)
            if year is None:
                continue
            day = f"{year}{day[1:]}"
            yield field.model_copy(update={"value": day})
        # The day as a moment: programs write it so, and say no more than the day.
        yield field.model_copy(update={"kind": FieldKind.DATETIME, "value": f"{day}T00:00"})
        for _, _, other in near:
            if other.kind is FieldKind.TIME and other.value:
                yield field.model_copy(update={"kind": FieldKind.DATETIME, "value": f"{day}T{other.value}"})


def _number_of(field: ControlField) -> Decimal | None:
    return number_of((field.value or "").split(" ")[0]) if field.kind in _NUMBERS else None


def parts_of(value: Any) -> list[str]:
    """Return the addresses, names of things and long numbers inside a longer text: what somebody may have taken from elsewhere.

    >>> parts_of("Send it to Eve@evil.example or see https://evil.example/a?x=1.")
    ['eve@evil.example', 'https://evil.example/a?x=1']
    """
    if not isinstance(value, str):
        return []
    text = plain(_SURROGATE.sub("\ufffd", value))
    found = (part.rstrip(_TRAILING) for part in _parts().findall(text))
    return list(dict.fromkeys(part for part in found if part and part != text))


@cache
def _parts() -> Any:
    import re2  # type: ignore[import-untyped]  # it ships no types

    # On RE2: a hostile text takes no longer than its length.
    return re2.compile(_PARTS)

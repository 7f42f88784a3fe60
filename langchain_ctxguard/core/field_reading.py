"""A text from left to right: each candidate of the scan is read by its family, what is refused is looked at again; statements and names last."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from langchain_ctxguard.core import field_addresses, field_amounts, field_when
from langchain_ctxguard.core.field_addresses import token
from langchain_ctxguard.core.field_patterns import NUM, Candidate, candidates, choice_words
from langchain_ctxguard.core.field_sentences import choices_in, names_in
from langchain_ctxguard.core.field_state import Found, Reading, dotted_at, run_at
from langchain_ctxguard.core.field_words import UNIT
from langchain_ctxguard.domain.control import STATEMENTS, FieldKind

_READERS: dict[str, Callable[[Reading, str, Candidate], Found | None]] = {
    **{
        name: getattr(field_addresses, name)
        for name in (
            "address",
            "settings",
            "email",
            "windows",
            "path",
            "code",
            "groups",
            "iban",
            "phone",
            "version",
            "colons",
            "token",
            "shout",
            "docket",
        )
    },
    **{name: getattr(field_amounts, name) for name in ("term", "share", "heat", "money", "span", "measure", "wan")},
    **{name: getattr(field_when, name) for name in ("date", "time")},
}
"""Family of a candidate -> what reads it."""

_MEASURED = re.compile(rf"{NUM} ?{UNIT}", re.ASCII)
_SPACES = frozenset(" \n\t")
_QUOTED = re.compile("[“\"《「『‘']")


def prose(reading: Reading) -> list[Found]:
    """Return the fields of running text, in order of appearance."""
    found = list(values(reading, 0, reading.text))
    text = reading.text
    if reading.is_heard:
        found += [Found(FieldKind.EMPHASIS, start, stop) for start, stop in reading.stressed]
        hints = choice_words(text)
        if hints:
            found += [
                Found(kind, start, stop, thing, confidence) for kind, start, stop, thing, confidence in choices_in(text, hints, reading.stressed)
            ]
        if _QUOTED.search(text):
            held = [(item.start, item.stop) for item in found if item.kind not in STATEMENTS]
            found += [
                Found(FieldKind.NAME, start, stop, None, confidence)
                for start, stop, confidence in names_in(text)
                if not any(low < stop and start < high and (low, high) != (start, stop) for low, high in held)
            ]
            names = {(item.start, item.stop) for item in found if item.kind is FieldKind.NAME}
            found = [item for item in found if item.kind is FieldKind.NAME or (item.start, item.stop) not in names]
        found.sort(key=lambda item: (item.start, -item.stop))
    return found


def values(reading: Reading, offset: int, text: str) -> Iterator[Found]:
    """Yield the values of a text; statements are noted for later."""
    scan = candidates(text)
    resume: int | None = None
    while (candidate := scan.send(resume)) is not None:
        resume = None
        family, start, stop = candidate
        if family == "emphasis":
            reading.note(start, stop)
            continue
        if (
            start
            and (before := text[start - 1]) not in _SPACES
            and before.isascii()
            and (before.isalnum() or before == "_")
            and (text[start].isascii() and text[start].isalnum())
        ):
            resume = start + 1 + run_at(text, start + 1)
            continue
        read = _READERS[family](reading, text, candidate)
        if read is None:
            read = _fallback(reading, text, candidate)
        if read is None:
            resume = min(stop, max(start + 1, start + run_at(text, start)))
            continue
        if read.stop != stop:
            resume = max(read.stop, start + 1)
        yield read if not offset else read._replace(start=read.start + offset, stop=read.stop + offset)


def _fallback(reading: Reading, text: str, candidate: Candidate) -> Found | None:
    """Return what the first word of a refused span identifies on its own."""
    start = candidate.start
    length = dotted_at(text, start) if candidate.family == "path" and text[start].isupper() else run_at(text, start)
    stop = start + length
    if candidate.family == "path" and text[start].isdigit() and (found := _MEASURED.match(text, start)):
        return Found(FieldKind.QUANTITY, start, found.end())
    if candidate.family in {"token", "shout"} or length < 4 or not text[start].isascii():  # noqa: PLR2004 - shorter ones need a unit
        return None
    return token(reading, text, Candidate("token", start, stop)) if any(character.isdigit() for character in text[start:stop]) else None

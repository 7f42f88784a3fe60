"""The latest value of every amount and date, each with the few words that say what it is the value of."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from langchain_core.messages import BaseMessage

from langchain_ctxguard.backends.extractive.lines import Item, Quote
from langchain_ctxguard.backends.extractive.must_keep import origin_of
from langchain_ctxguard.core.diff import stands_whole
from langchain_ctxguard.core.extract import extract_fields
from langchain_ctxguard.core.field_text import sentence_at
from langchain_ctxguard.core.identity import is_synthetic
from langchain_ctxguard.core.recalled import is_faded
from langchain_ctxguard.core.roles import text_of
from langchain_ctxguard.core.sentences import Sentence, key_of
from langchain_ctxguard.domain.control import ControlField, FieldKind
from langchain_ctxguard.domain.summary import Fact
from langchain_ctxguard.ports import SummaryRequest

KINDS = frozenset({FieldKind.AMOUNT, FieldKind.PERCENTAGE, FieldKind.DATE, FieldKind.TIME, FieldKind.DATETIME})

_BEFORE, _BEHIND = 64, 32
"""Characters of its sentence that stand around a value: what it is the value of, and of which unit."""

_CLOCK = frozenset({FieldKind.TIME, FieldKind.DATETIME})
_EDGE = re.compile(r"[，;；。、{}\[\]\n|]\s*|,\s+|\s[-–—]\s")
_LABEL = re.compile(r"([^\W\d_]+)[\W\d_]*$")
_HAN = re.compile("[\u3400-\u9fff]")
_HAN_LABEL = 2
"""Characters of a Chinese label that name the thing: its last ones."""

_RANKS = {"user": 0, "ai": 1, "system": 2, "tool": 2}


class Latest(NamedTuple):
    """A value in force, and where it was said."""

    raw: str
    """The value as it was said, in lower case."""

    label: str
    """The word that names what it is the value of, in lower case; empty where the text does not say."""

    rank: tuple[int, int, int]
    """What comes first where not all have room: what people said, then what has a name, then the newest. No two have the same."""

    source: str | None
    said: tuple[BaseMessage, int] | None
    """The message and where the value stands in it; `None` where it was said before."""

    def item(self, place: int) -> Item | None:
        """Return a line of its own for it: its clause, or what of it stands next to the value. `None` where it was said before."""
        if self.said is None:
            return None
        message, start = self.said
        piece = _clause(text_of(message), start, len(self.raw))
        return Item("facts", key_of(piece.text), Quote(piece, origin_of(message), self.source), 0.0, place)


class Told:
    """What is told already: lines, and which parts of which messages they quote."""

    def __init__(self, texts: Iterable[str], items: Iterable[Item]) -> None:
        """Take the texts that stand beside the items, and the items."""
        self._lines = [text.lower() for text in texts if text]
        self._parts: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        for item in items:
            self._lines.append(item.line().lower())
            if isinstance(item.value, Quote) and item.value.source is not None:
                piece = item.value.piece
                self._parts[item.value.source].append((piece.start, piece.start + len(piece.text)))

    def holds(self, latest: Latest) -> bool:
        """Say whether a value is told: in the words it was said in, or in a line that names what it is the value of."""
        if latest.said is not None:
            start = latest.said[1]
            if any(low <= start and start + len(latest.raw) <= high for low, high in self._parts[latest.source or ""]):
                return True
        return any(tells(line, latest) for line in self._lines)


def tells(line: str, latest: Latest) -> bool:
    """Say whether a line, in lower case, tells a value together with its name."""
    return latest.raw in line and latest.label in line and stands_whole(latest.raw, line)


def latest_values(request: SummaryRequest) -> list[Latest]:
    """Return the amounts and dates in force, most missed first.

    Where nobody kept a ledger, the last value of each name counts, and each that has none.
    """
    sources = {source: message for source, message in zip(request.sources, request.evicted, strict=True) if _speaks(message)}
    fields = _of_newest_rows(_last_of_each(request.evicted, request.sources) if request.fields is None else request.fields)
    found = (_latest(field, age, sources) for age, field in enumerate(fields) if field.kind in KINDS)
    return sorted((latest for latest in found if latest is not None), key=lambda latest: latest.rank)


def _speaks(message: BaseMessage) -> bool:
    return not is_synthetic(message) and not is_faded(message)


def _latest(field: ControlField, age: int, sources: Mapping[str, BaseMessage]) -> Latest | None:
    if field.origin != "user" and not field.label and (field.value is None or (field.origin == "tool" and field.kind in _CLOCK)):
        # "Today" in a text nobody dated is no date, and a time without a name in what a tool printed is when it printed it.
        return None
    raw, label = " ".join(field.raw.lower().split()), _name_in(field.label)
    message = sources.get(field.message_id or "")
    if message is not None and not text_of(message).startswith(field.raw, field.start):
        return None
    rank = (_RANKS.get(field.origin, 2), int(not label), -age)
    return Latest(raw, label, rank, field.message_id, None if message is None else (message, field.start))


def _last_of_each(messages: Sequence[BaseMessage], sources: Sequence[str]) -> list[ControlField]:
    last: dict[tuple[FieldKind, str], ControlField] = {}
    for field in extract_fields(messages):
        if field.kind in KINDS and field.origin != "system" and (field.origin != "tool" or field.critical):
            name = (field.kind, field.label or field.value or field.raw)
            last.pop(name, None)
            last[name] = field.model_copy(update={"message_id": sources[field.source_turn or 0]})
    return list(last.values())


def _of_newest_rows(fields: Sequence[ControlField]) -> Iterator[ControlField]:
    """Yield the fields without those of a tool whose name a later one has: of a table the last row is the latest."""
    last: dict[tuple[FieldKind, str], ControlField] = {}
    named = [field for field in fields if field.origin == "tool" and field.label and field.kind in KINDS]
    for field in named:
        last[field.kind, field.label] = field
    older = {id(field) for field in named} - {id(field) for field in last.values()}
    yield from (field for field in fields if id(field) not in older)


def _name_in(label: str) -> str:
    """Return the last word of a label, which names the thing: `cost` of `total cost`, `dob` of `passengers.dob`, 价格 of 这家价格."""
    word = _LABEL.search(label.lower())
    if word is None:
        return ""
    return word[1][-_HAN_LABEL:] if _HAN.search(word[1]) else word[1]


def _clause(text: str, start: int, size: int) -> Sentence:
    """Return the clause around a value, or as much of it as says what the value is of."""
    low, high = sentence_at(text, start, start + size)
    left, right = max(low, start - _BEFORE), min(high, start + size + _BEHIND)
    if left > low:
        left = _next_word(text, left, start)
    left = max([left, *(edge.end() for edge in _EDGE.finditer(text, left, start))])
    closing = _EDGE.search(text, start + size, right)
    if closing is not None:
        right = closing.start()
    elif right < high:
        right = max(start + size, text.rfind(" ", start + size, right))
    return Sentence(text[left:right].strip(), left, begins_early=left > low, goes_on=right < high)


def _next_word(text: str, at: int, stop: int) -> int:
    blank = text.find(" ", at, stop)
    return at if blank < 0 else blank + 1


def carried_for(missing: Iterable[Latest], items: Iterable[Item]) -> dict[tuple[int, int, int], Item]:
    """Return the lines of an earlier summary that tell values said before it, by the rank of the value."""
    missing = list(missing)
    facts = [(item, item.value.statement.lower()) for item in items if isinstance(item.value, Fact)] if missing else []
    found = ((latest, next((item for item, statement in facts if tells(statement, latest)), None)) for latest in missing)
    return {latest.rank: item for latest, item in found if item is not None}

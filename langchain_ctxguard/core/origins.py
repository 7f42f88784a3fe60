"""Where a value comes from: in which messages it stands, and who said them. Read from messages as they come, never from what a summary tells."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from threading import Lock
from typing import Any, NamedTuple

from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.identity import is_synthetic, message_keys
from langchain_ctxguard.core.normalize import key_of
from langchain_ctxguard.core.origin_forms import Spellings, fields_in, numbers_in, plain, runs_in, searched, spellings_of, stands_whole
from langchain_ctxguard.core.predicates import leaves_of
from langchain_ctxguard.core.recalled import is_retold
from langchain_ctxguard.core.results import own_words, results_in
from langchain_ctxguard.core.roles import calls_of, is_foreign_summary, is_note, is_request, speaker_of
from langchain_ctxguard.domain.control import ControlField
from langchain_ctxguard.domain.origin import Origin

_COMMON = 64
"""A word in more texts than this tells none of them from the others."""


class Standing(NamedTuple):
    """One place a value stands in."""

    origin: Origin
    message_id: str | None
    tool: str = ""
    """Which tool returned it."""


@dataclass(slots=True)
class _Text:
    key: str
    origin: Origin
    tool: str
    text: str
    said: str
    """As it was written, for dates and amounts; dropped once those are known."""

    told: str
    """What the tool had been told: it is no source of what it repeats."""

    fields: tuple[frozenset[str], frozenset[Decimal]] | None = None


class Origins:
    """Who said what in one thread. It only grows, by what is new; losing it costs a reading of the messages, never a decision.

    Messages are known by their key: what was said stays said when its message leaves the state.
    """

    def __init__(self, *, is_registry: Callable[[str], bool] | None = None, people: Collection[str] = ()) -> None:
        """Begin empty.

        Args:
            is_registry: Says by its name whether a tool's results are the application's own record; see `Rulebook.traits`.
            people: Names that human messages of people carry. Any other name is an agent's: many graphs hand on what an agent said that way.
        """
        self._is_registry = is_registry
        self._people = frozenset(people)
        self._texts: list[_Text] = []
        self._known: dict[str, None] = {}
        self._calls: dict[str, tuple[str, str]] = {}
        self._places: dict[str, list[int] | None] = {}
        self._numbers: dict[Decimal, list[int]] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        """Return how many texts are known."""
        return len(self._texts)

    def follow(self, messages: Sequence[BaseMessage], *, is_root: bool = True) -> Origins:
        """Read what is new at the end of a thread's messages: only those behind the last one that is known.

        Args:
            messages: The thread's messages, all of them; those that were read before cost nothing.
            is_root: They are those of the root thread. In a sub-agent the model that called it speaks in the user's place.
        """
        start = len(messages)
        with self._lock:
            while start and self._key_at(messages, start - 1) not in self._known:
                start -= 1
            self._read(messages[start:], [self._key_at(messages, place) for place in range(start, len(messages))], is_root=is_root)
        return self

    def learn(self, messages: Sequence[BaseMessage], *, is_root: bool = True) -> Origins:
        """Read messages wherever they stood, those of an archive for example; what is known is passed over."""
        keys = message_keys(messages)
        fresh = [(message, key) for message, key in zip(messages, keys, strict=True) if key not in self._known]
        with self._lock:
            self._read([message for message, _ in fresh], [key for _, key in fresh], is_root=is_root)
        return self

    @staticmethod
    def _key_at(messages: Sequence[BaseMessage], place: int) -> str:
        return messages[place].id or message_keys(messages[place : place + 1], start=place)[0]

    def learn_text(self, text: str, origin: Origin, key: str | None = None) -> Origins:
        """Read a text that is no message: the application's system prompt, a record of a store."""
        with self._lock:
            self._add(key or f"{origin}:{len(self._texts)}", origin, "", text, "")
        return self

    def _read(self, messages: Sequence[BaseMessage], keys: Sequence[str], *, is_root: bool) -> None:
        for message, key in zip(messages, keys, strict=True):
            self._known[key] = None
            for call in calls_of(message):
                if call.call_id:
                    told = "\n".join(plain(str(leaf)) for leaf in leaves_of(call.arguments))
                    self._calls[call.call_id] = (call.name, told)
            # What a tool says back has the origin it had when it was said.
            if is_synthetic(message) or is_retold(message):
                continue
            words = own_words(message) if speaker_of(message) != "tool" else ""
            if words:
                self._add(key, self._speaker(message, is_root=is_root), "", words, "")
            for result in results_in(message):
                name, told = self._calls.get(result.call_id, ("", ""))
                # What no call asked for is whatever its sender says it is.
                is_record = bool(name) and not result.is_failed and self._is_registry is not None and self._is_registry(name)
                self._add(key, "registry" if is_record else "tool", name or message.name or "", result.text, told)

    def _speaker(self, message: BaseMessage, *, is_root: bool) -> Origin:
        speaker = speaker_of(message)
        if speaker == "tool":
            return "tool"
        # A system message in the list is sent by whoever fills the list; a summary or note is retold.
        is_retold = is_note(message) or is_foreign_summary(message) or (bool(message.name) and message.name not in self._people)
        is_person = speaker == "user" and is_root and is_request(message) and not is_retold
        return "user" if is_person else "ai"

    def _add(self, key: str, origin: Origin, tool: str, text: str, told: str) -> None:
        form = searched(text)
        if not form:
            return
        place = len(self._texts)
        self._texts.append(_Text(key, origin, tool, form, text, told))
        for run in set(runs_in(form)):
            places = self._places.setdefault(run, [])
            if places is None:
                continue
            places.append(place)
            if len(places) > _COMMON:
                self._places[run] = None
        for number in set(numbers_in(form)):
            self._numbers.setdefault(number, []).append(place)

    def standings(self, value: Any) -> tuple[Standing, ...]:
        """Return where a plain value stands, one place for each speaker and tool; nowhere for one that proves nothing."""
        looked_for = spellings_of(value)
        found: dict[tuple[Origin, str], Standing] = {}
        if not looked_for:
            return ()
        for text in self._holding(looked_for):
            if (text.origin, text.tool) not in found and not _was_told(looked_for, text):
                found[text.origin, text.tool] = Standing(text.origin, text.key, text.tool)
        return tuple(found.values())

    def _holding(self, looked_for: Spellings) -> Iterator[_Text]:
        for spelling in looked_for.texts:
            yield from (text for text in self._candidates(spelling) if _holds(spelling, text.text))
        if looked_for.number is not None:
            yield from (self._texts[place] for place in self._numbers.get(looked_for.number, ()))
        if looked_for.compact is not None:
            yield from (text for text in self._texts if _matches(looked_for.compact, text.text))
        if looked_for.keys or looked_for.number is not None:
            yield from (text for text in self._texts if _is_among(looked_for, _fields_of(text)))

    def _candidates(self, spelling: str) -> Iterable[_Text]:
        best: list[int] | None = None
        for run in runs_in(spelling):
            places = self._places.get(run, _NOWHERE)
            if places is _NOWHERE:
                return ()
            if places is not None and (best is None or len(places) < len(best)):
                best = places
        return self._texts if best is None else [self._texts[place] for place in best]


_NOWHERE: list[int] = []


def _holds(spelling: str, text: str) -> bool:
    at = text.find(spelling)
    while at >= 0:
        if stands_whole(spelling, text, at):
            return True
        at = text.find(spelling, at + 1)
    return False


def _matches(pattern: re.Pattern[str], text: str) -> bool:
    return any(stands_whole(found[0], text, found.start()) for found in pattern.finditer(text))


def _is_among(looked_for: Spellings, fields: tuple[frozenset[str], frozenset[Decimal]]) -> bool:
    keys, numbers = fields
    return looked_for.number in numbers or not looked_for.keys.isdisjoint(keys)


def _was_told(looked_for: Spellings, text: _Text) -> bool:
    """Say whether the tool that returned a text had been given the value: then it only says it back."""
    return bool(text.told) and any(_holds(spelling, text.told) for spelling in looked_for.texts)


def _fields_of(text: _Text) -> tuple[frozenset[str], frozenset[Decimal]]:
    if text.fields is None:
        text.fields = fields_in(text.said)
        text.said = ""
    return text.fields


def standings_of(value: Any, origins: Origins | Iterable[Origins] | None) -> tuple[Standing, ...]:
    """Return where a plain value stands in the messages of a thread, several readings of them together."""
    known = () if origins is None else (origins,) if isinstance(origins, Origins) else origins
    return tuple(standing for one in known for standing in one.standings(value))


def field_standings(value: Any, fields: Collection[ControlField]) -> tuple[Standing, ...]:
    """Return where a plain value stands in the field ledger, which outlives the messages it was read from."""
    looked_for = spellings_of(value) if fields else Spellings(())
    return tuple(Standing(field.origin, field.message_id) for field in fields if looked_for and _is_field(looked_for, field))


def _is_field(looked_for: Spellings, field: ControlField) -> bool:
    raw = plain(field.raw)
    if any(spelling == raw or _holds(spelling, raw) for spelling in looked_for.texts):
        return True
    if looked_for.number is not None and looked_for.number in {*numbers_in(raw), *numbers_in(plain(field.value or ""))}:
        return True
    if looked_for.compact is not None and _matches(looked_for.compact, raw):
        return True
    return key_of(field) in looked_for.keys or looked_for.number in fields_in(field.raw)[1]

"""Claimed or confirmed. Trust comes from where the words stand, never from who repeats them."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_core.messages import BaseMessage, ToolMessage

from langchain_ctxguard.core.identity import is_synthetic
from langchain_ctxguard.core.lexicon import claims_authority, without_invisible
from langchain_ctxguard.core.results import own_words, results_in
from langchain_ctxguard.core.roles import calls_of, is_failure, is_note, speaker_of, text_of
from langchain_ctxguard.domain.summary import Fact, Origin, Trust

MIN_QUOTE = 6
"""Fewer letters stand in any text by chance; a Chinese character counts for two."""

_POWERS = re.compile("[\u00b2\u00b3\u00b9\u2070-\u209f\u00bc-\u00be\u2150-\u215f]")
_WIDE = "\u2e80"
_NUMERALS = frozenset("零〇一二三四五六七八九十百千万亿")


def folded(text: str) -> str:
    r"""Return `text` in the form quotes are compared in: NFKC, one blank between words, nothing invisible.

    >>> folded("１０ ²\n ok")
    '10 ^2 ok'
    """
    plain = " ".join(text.split())
    if plain.isascii():
        return plain
    if not plain.isprintable():
        plain = " ".join(without_invisible(plain).split())
    if unicodedata.is_normalized("NFKC", plain):
        return plain
    # A square would become a digit of its number.
    return " ".join(unicodedata.normalize("NFKC", _POWERS.sub(r"^\g<0>", plain)).split())


def stands_in(quote: str, text: str) -> bool:
    """Say whether `quote` stands in `text` as whole words and numbers; both are folded.

    >>> stands_in("ORD-1", "ORD-12"), stands_in("is 50", "is 50.75"), stands_in("余额是50", "余额是50元")
    (False, False, True)
    """
    return _place(quote, text) >= 0


def _place(quote: str, text: str) -> int:
    at = text.find(quote)
    while at >= 0:
        if not (_goes_on(text[max(at - 2, 0) : at][::-1], quote[0]) or _goes_on(text[at + len(quote) : at + len(quote) + 2], quote[-1])):
            return at
        at = text.find(quote, at + 1)
    return -1


def _goes_on(outside: str, edge: str) -> bool:
    """Say whether the word or number that ends in `edge` goes on in `outside`, nearest character first."""
    if not outside:
        return False
    near = outside[0]
    if (edge in _NUMERALS or edge.isdigit()) and (near in _NUMERALS or near in "%‰" or (near in ".," and outside[1:].isdigit())):
        return True
    return edge.isalnum() and near.isalnum() and max(edge, near) < _WIDE


def _is_telling(quote: str) -> bool:
    return len(quote) >= MIN_QUOTE or sum(2 if character >= _WIDE else 1 for character in quote) >= MIN_QUOTE


@dataclass(frozen=True, slots=True)
class _Spoken:
    """Everything one origin said in one string, and where each text begins."""

    text: str
    starts: tuple[int, ...]
    keys: tuple[str, ...]

    @classmethod
    def of(cls, parts: Sequence[tuple[str, str]]) -> _Spoken:
        starts, at = [], 0
        for _, text in parts:
            starts.append(at)
            at += len(text) + 1
        return cls("\n".join(text for _, text in parts), tuple(starts), tuple(key for key, _ in parts))

    def key_of(self, quote: str) -> str | None:
        at = _place(quote, self.text)
        return None if at < 0 else self.keys[bisect_right(self.starts, at) - 1]


@dataclass(frozen=True)
class Sources:
    """The messages a summary may speak of, with their texts folded once.

    A text is known by the key of its message; a result carried in a user message by the key, `#` and its number.
    """

    texts: Mapping[str, str]
    origins: Mapping[str, Origin]
    successes: frozenset[str]
    """Keys of successful tool results: the only texts that confirm."""

    _carried: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    _spoken: Mapping[Origin, _Spoken] = field(default_factory=dict)
    _told: str = ""
    """What users said and what tools were told, folded without case: a tool that says it back confirms nothing."""

    @classmethod
    def of(cls, messages: Sequence[BaseMessage], keys: Sequence[str]) -> Sources:
        """Return the sources in `messages`; a note speaks as the assistant: untrusted, and without effect."""
        texts: dict[str, str] = {}
        origins: dict[str, Origin] = {}
        successes: set[str] = set()
        carried: dict[str, tuple[str, ...]] = {}
        spoken: dict[Origin, list[tuple[str, str]]] = {}
        told: list[str] = []

        def add(key: str, origin: Origin, text: str) -> bool:
            plain = folded(text)
            if plain:
                texts[key], origins[key] = plain, origin
                spoken.setdefault(origin, []).append((key, plain))
            return bool(plain)

        for message, key in zip(messages, keys, strict=True):
            origin: Origin = "ai" if is_note(message) else speaker_of(message)
            told += (text for call in calls_of(message) for text in _strings(call.arguments))
            if origin == "tool":
                if add(key, origin, text_of(message)) and _confirms(message):
                    successes.add(key)
                continue
            if add(key, origin, own_words(message)) and origin == "user":
                told.append(texts[key])
            for number, result in enumerate(results_in(message)):
                part = f"{key}#{number}"
                carried[key] = (*carried.get(key, ()), part)
                if add(part, "tool", result.text) and not result.is_failed:
                    successes.add(part)
        return cls(texts, origins, frozenset(successes), carried, {who: _Spoken.of(parts) for who, parts in spoken.items()}, _loose(told))

    def knowing(self, said: Iterable[str]) -> Sources:
        """Return these sources with words that were said before any of them."""
        return replace(self, _told=f"{self._told}\n{_loose(said)}")

    def holder(self, quote: str, source: str | None) -> tuple[str, Origin] | None:
        """Return key and origin of a text that holds `quote`: the named message first, then the user's, the assistant's, a tool's.

        A quote that several origins said counts for the least trusted of them: repetition by the model adds nothing, but neither may a
        user's words be confirmed because a tool echoed them; a tool result is looked at only when nobody else said it.
        """
        quote = folded(quote).removesuffix("…")
        if not _is_telling(quote):
            return None
        if source is not None:
            for key in (source, *self._carried.get(source, ())):
                if stands_in(quote, self.texts.get(key, "")):
                    return key, self.origins[key]
        for origin in ("user", "ai", "tool"):
            key_found = self._spoken[origin].key_of(quote) if origin in self._spoken else None
            if key_found is not None:
                return key_found, origin
        return None

    def was_told(self, statement: str) -> bool:
        """Say whether a user said `statement` or a tool was given it: then a tool that says it is no source of its own."""
        plain = folded(statement).removesuffix("…").casefold()
        return bool(plain) and plain in self._told


def _confirms(message: BaseMessage) -> bool:
    # Nothing ties the result of a retired function call to its call: any client can send one.
    return isinstance(message, ToolMessage) and not is_failure(message) and not is_synthetic(message)


def _loose(texts: Iterable[str]) -> str:
    return "\n".join(folded(text) for text in texts).casefold()


def _strings(value: Any) -> Iterator[str]:
    """Yield the texts in the arguments of a call, however deep."""
    open_values = [value]
    while open_values:
        inner = open_values.pop()
        if isinstance(inner, str):
            yield inner
        elif isinstance(inner, dict):
            open_values.extend(inner.values())
        elif isinstance(inner, (list, tuple)):
            open_values.extend(inner)


def judged(fact: Fact, sources: Sources, previous: Mapping[str, Fact]) -> Fact:
    """Return `fact` with the trust its sources give it; what the summarizer claims about trust is ignored.

    Confirmed: its quote stands verbatim in a successful tool result, nobody had told the tool, and it claims no authority. A fact of the
    previous summary keeps what it had. Everything else is a claim, of the user where the user said it, else of the assistant.
    """
    statement = folded(fact.statement)
    known = previous.get(statement)
    if known is not None:
        return known
    held = sources.holder(fact.quote or fact.statement, fact.source)
    if held is None:
        return fact.model_copy(update={"status": Trust.CLAIMED, "said_by": "ai", "source": None, "quote": None})
    key, origin = held
    # The quote must carry the statement: a true quote beside an invented statement confirms nothing.
    plain = statement.removesuffix("…")
    carries = _is_telling(plain) and stands_in(plain, sources.texts[key])
    confirmed = carries and key in sources.successes and not claims_authority(fact.statement) and not sources.was_told(fact.statement)
    return fact.model_copy(
        update={
            "status": Trust.CONFIRMED if confirmed else Trust.CLAIMED,
            "said_by": origin if carries else "ai",
            "source": key,
        }
    )

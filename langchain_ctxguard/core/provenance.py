"""Claimed or confirmed. Trust comes from where the words stand, never from who repeats them."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

from langchain_core.messages import BaseMessage, ToolMessage

from langchain_ctxguard.core.findings import is_checkable
from langchain_ctxguard.core.identity import is_synthetic
from langchain_ctxguard.core.lexicon import (
    claims_authority,
    gives_order,
    hides_text,
    is_acknowledgement,
    language_of,
    tells_to_act,
    without_invisible,
)
from langchain_ctxguard.core.powers import lends_power
from langchain_ctxguard.core.recalled import is_retold
from langchain_ctxguard.core.results import own_words, reports_failure, results_in
from langchain_ctxguard.core.roles import calls_of, is_failure, is_foreign_summary, is_note, speaker_of, text_of
from langchain_ctxguard.core.said import rule_in
from langchain_ctxguard.core.terms import is_question, terms
from langchain_ctxguard.domain.origin import Origin
from langchain_ctxguard.domain.summary import Fact, Trust

MIN_QUOTE = 6
"""Fewer letters stand in any text by chance; a Chinese character counts for two."""

SOURCES_KEPT = 3
"""Further messages a fact names beside its first."""

_ECHO_SHARE = 0.75
"""Part of a statement's content words that stand in one thing a tool had been told: it is an echo then, in whatever order."""

_KNOWN_SHARE = 1 / 3
"""Part of a statement's content words that must stand somewhere in what a summarizer was shown: less is made up."""

_RETOLD_SHARE = 0.6
"""Part of a retelling's content words that stand in the sentence it retells."""

_AROUND = 1_500
"""Characters around a quote that are read before it confirms anything: a result that gives orders there is no witness."""

_LEAD = 240
"""Characters before a statement of a tool that are read with it."""

_TOLD_SENTENCES = 4_000
_SENTENCE_END = re.compile(r"[。！？；!?;\n]+|\.(?=\s|$)")
_DIGITS = re.compile(r"\d+")

_SAYING = frozenset("user usern custo clien says said saved noted recor store stored claim state report 用户 客户 表示 声称 记录 保存".split())  # noqa: SIM905
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


def uncut(text: str) -> str:
    """Return `text` folded, without the mark of where it was cut: NFKC would make three full stops of it.

    >>> uncut("…and then the…")
    'and then the'
    """
    return folded(text.strip().removesuffix("…").removeprefix("…"))


def is_cut(text: str) -> bool:
    """Say whether the end of `text` was cut off: a word may go on there, a number may not."""
    bare = text.rstrip()
    return bare.endswith("…") and not bare[:-1].rstrip()[-1:].isdigit()


def stands_in(quote: str, text: str, *, goes_on: bool = False) -> bool:
    """Say whether `quote` stands in `text` as whole words and numbers; both are folded. With `goes_on` its last word may be the beginning of one.

    >>> stands_in("ORD-1", "ORD-12"), stands_in("is 50", "is 50.75"), stands_in("余额是50", "余额是50元")
    (False, False, True)
    """
    return _place(quote, text, goes_on=goes_on) >= 0


def _place(quote: str, text: str, *, goes_on: bool = False) -> int:
    at = text.find(quote)
    while at >= 0:
        is_whole = goes_on or not _goes_on(text[at + len(quote) : at + len(quote) + 2], quote[-1])
        if is_whole and not _goes_on(text[max(at - 2, 0) : at][::-1], quote[0]):
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

    def key_of(self, quote: str, *, goes_on: bool = False) -> str | None:
        at = _place(quote, self.text, goes_on=goes_on)
        return None if at < 0 else self.keys[bisect_right(self.starts, at) - 1]

    def last_key_of(self, quote: str, *, goes_on: bool = False) -> str | None:
        """Return the key of the newest text that holds `quote`."""
        stop = len(self.text)
        while (at := self.text.rfind(quote, 0, stop)) >= 0:
            if stands_in(quote, self.text[max(at - 2, 0) : at + len(quote) + 2], goes_on=goes_on):
                return self.keys[bisect_right(self.starts, at) - 1]
            stop = at + len(quote) - 1
        return None


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text.

    >>> split_sentences("It is 5.5 m. And blue; 好。")
    ['It is 5.5 m.', 'And blue;', '好。']
    """
    ends = [0, *(boundary.end() for boundary in _SENTENCE_END.finditer(text)), len(text)]
    return [sentence for start, stop in pairwise(ends) if (sentence := text[start:stop].strip())]


@dataclass(frozen=True, slots=True)
class _Sentences:
    """Sentences with their messages, oldest first, found again by their content words; the newest few thousand."""

    told: tuple[tuple[str, str], ...]
    places: Mapping[str, tuple[int, ...]]

    @classmethod
    def of(cls, texts: Iterable[tuple[str, str]]) -> _Sentences:
        found: list[tuple[str, str]] = []
        for key, text in texts:
            found += [(sentence, key) for sentence in split_sentences(text)]
        told = tuple(found[-_TOLD_SENTENCES:])
        places: dict[str, list[int]] = defaultdict(list)
        for number, (sentence, _) in enumerate(told):
            for word in terms(sentence[:_AROUND]):
                places[word].append(number)
        return cls(told, {word: tuple(numbers) for word, numbers in places.items()})

    def behind(self, words: str, *, share: float = _RETOLD_SHARE) -> tuple[str, str] | None:
        """Return the sentence that holds most of the content words of `words` and every number, name and address in it, and its message."""
        wanted = terms(folded(words))
        if not wanted:
            return None
        hits: dict[int, int] = defaultdict(int)
        for word in wanted:
            for number in self.places.get(word, ()):
                hits[number] += 1
        # Of two that fit alike the later one counts.
        best = max(hits, key=lambda number: (hits[number], number), default=None)
        if best is None or hits[best] < share * len(wanted):
            return None
        sentence, key = self.told[best]
        exact = {word for word in wanted if not word.isalpha()}
        return (sentence, key) if exact <= terms(sentence) else None


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
    _notes: frozenset[str] = frozenset()
    """Keys of notes and of summaries of other tools."""

    _told: str = ""
    """What users said and what tools were told, folded without case: a tool that says it back confirms nothing."""

    _theirs: tuple[str, ...] = ()
    """What people said in earlier rounds, as far as the summary in force has it."""

    @classmethod
    def of(cls, messages: Sequence[BaseMessage], keys: Sequence[str]) -> Sources:
        """Return the sources in `messages`; a note speaks as the assistant: untrusted, and without effect."""
        texts: dict[str, str] = {}
        origins: dict[str, Origin] = {}
        successes: set[str] = set()
        carried: dict[str, tuple[str, ...]] = {}
        spoken: dict[Origin, list[tuple[str, str]]] = {}
        told: list[str] = []
        notes: set[str] = set()

        def add(key: str, origin: Origin, text: str) -> bool:
            plain = folded(text)
            if plain:
                texts[key], origins[key] = plain, origin
                spoken.setdefault(origin, []).append((key, plain))
            return bool(plain)

        for message, key in zip(messages, keys, strict=True):
            is_foreign = is_note(message) or is_foreign_summary(message) or is_retold(message)
            origin: Origin = "ai" if is_foreign else speaker_of(message)
            notes.update([key] if is_foreign else [])
            told += (text for call in calls_of(message) for text in _strings(call.arguments))
            if origin == "tool":
                if add(key, origin, text_of(message)) and _confirms(message):
                    successes.add(key)
                continue
            if add(key, origin, own_words(message)) and origin == "user":
                told.append(texts[key])
            # What is retold is what somebody said: it vouches for nothing.
            for number, result in enumerate(() if is_retold(message) else results_in(message)):
                part = f"{key}#{number}"
                carried[key] = (*carried.get(key, ()), part)
                if add(part, "tool", result.text) and not result.is_failed:
                    successes.add(part)
        return cls(
            texts, origins, frozenset(successes), carried, {who: _Spoken.of(parts) for who, parts in spoken.items()}, frozenset(notes), _loose(told)
        )

    def knowing(self, said: Iterable[str], theirs: Iterable[str] = ()) -> Sources:
        """Return these sources with words that were said before any of them; `theirs` are those of people, folded."""
        return replace(self, _told=f"{self._told}\n{_loose(said)}", _theirs=tuple(theirs))

    def holder(self, quote: str, source: str | None) -> tuple[str, Origin] | None:
        """Return key and origin of a text that holds `quote`: the named message first, then the user's, the assistant's, a tool's.

        A quote that several origins said counts for the least trusted of them: repetition by the model adds nothing, but neither may a
        user's words be confirmed because a tool echoed them; a tool result is looked at only when nobody else said it.
        """
        goes_on, quote = is_cut(quote), uncut(quote)
        if not _is_telling(quote):
            return None
        if source is not None:
            for key in (source, *self._carried.get(source, ())):
                if stands_in(quote, self.texts.get(key, ""), goes_on=goes_on):
                    return key, self.origins[key]
        for origin in ("user", "ai", "tool"):
            key_found = self._spoken[origin].key_of(quote, goes_on=goes_on) if origin in self._spoken else None
            if key_found is not None:
                return key_found, origin
        return None

    def asked_in(self, words: str) -> str | None:
        """Return the key of the newest message of a user that holds `words`, however short they are."""
        return self._newest(words, "user")

    def written_in(self, words: str) -> str | None:
        """Return the key of the newest message of the assistant that holds `words`; a note and another tool's summary are not its own."""
        key = self._newest(words, "ai")
        return None if key in self._notes else key

    def is_hearsay(self, words: str) -> bool:
        """Say whether `words` stand in a tool's result, a note or another tool's summary, and in no message of a person."""
        if self.asked_in(words) is not None:
            return False
        return self.was_found(words) or self._newest(words, "ai") in self._notes

    def was_given(self, words: str) -> bool:
        """Say whether `words` are one whole text that a tool was given."""
        plain = folded(words).casefold()
        return bool(plain) and f"\n{plain}\n" in f"\n{self._told}\n"

    def _newest(self, words: str, origin: Origin) -> str | None:
        plain = uncut(words)
        spoken = self._spoken.get(origin)
        return None if spoken is None or not plain else spoken.last_key_of(plain, goes_on=is_cut(words))

    def request_behind(self, words: str) -> tuple[str, str] | None:
        """Return the user's own sentence a retelling of a request rests on, and its message; `None` where no person said anything like it.

        Most of its content words stand in that sentence, and every number, name and address in it stands there as well.
        """
        return self._asked.behind(words)

    def asked_abroad(self, words: str) -> tuple[str, str] | None:
        """Return the request of a person, and its message, that `words` of another language most likely mean; `None` where nobody asked in another.

        Numbers, identifiers and names are the same in every language. Of sentences that share as many with `words`, one that asks goes before one
        that tells, then the newest.
        """
        language = language_of(words)
        exact = {word for word in terms(folded(words)) if word[0].isascii()}
        best: tuple[int, bool, int] | None = None
        for number, (sentence, _) in enumerate(self._asked.told):
            if language is None or language_of(sentence) in (None, language) or is_acknowledgement(sentence):
                continue
            asks = tells_to_act(sentence) or is_question(sentence)
            best = max(best or (0, False, -1), (len(exact & terms(sentence[:_AROUND])), asks, number))
        if best is None or not (best[0] or best[1]):
            # A sentence that asks for nothing and shares nothing is no request anybody could have told.
            return None
        return self._asked.told[best[2]]

    def retold(self, words: str) -> tuple[str, str] | None:
        """Return what `request_behind` does, of earlier rounds as well; those have no message any more."""
        found = self._asked.behind(words) or self._asked_before.behind(words)
        # Another number is no retelling: it stays as it was told, and the control fields catch it.
        return found if found is not None and {*_DIGITS.findall(folded(words))} <= {*_DIGITS.findall(found[0])} else None

    def passed_on(self, words: str, *, share: float = _RETOLD_SHARE) -> tuple[str, str] | None:
        """Return the sentence of a tool or the assistant that a retelling rests on, and its message; `None` where there is none like it."""
        return self._heard.behind(words, share=share)

    def knows(self, words: str) -> bool:
        """Say whether enough of the content words of a statement stand anywhere in these messages or in what was said before them."""
        wanted = terms(folded(words))
        return sum(word in self._words for word in wanted) >= _KNOWN_SHARE * len(wanted)

    @cached_property
    def _words(self) -> frozenset[str]:
        said = (terms(sentence) for sentence in split_sentences(self._told))
        return frozenset().union(*said, *(each.places for each in (self._asked, self._asked_before, self._heard)))

    @cached_property
    def _asked(self) -> _Sentences:
        return _Sentences.of((key, text) for key, text in self.texts.items() if self.origins[key] == "user")

    @cached_property
    def _asked_before(self) -> _Sentences:
        return _Sentences.of(("", text) for text in self._theirs)

    @cached_property
    def _heard(self) -> _Sentences:
        return _Sentences.of((key, text) for key, text in self.texts.items() if self.origins[key] != "user")

    def was_found(self, words: str) -> bool:
        """Say whether `words` stand in a tool's result."""
        plain = uncut(words)
        return bool(plain) and "tool" in self._spoken and self._spoken["tool"].key_of(plain, goes_on=is_cut(words)) is not None

    def was_told(self, statement: str) -> bool:
        """Say whether a user said `statement` or a tool was given it: then a tool that says it is no source of its own.

        In the same words, or with nearly all of its content words in one sentence that was told.
        """
        plain = uncut(statement).casefold()
        if plain and plain in self._told:
            return True
        wanted = terms(plain) - _SAYING
        if not wanted:
            return False
        hits: dict[int, int] = defaultdict(int)
        for word in wanted:
            for number in self._told_words.get(word, ()):
                hits[number] += 1
        return bool(hits) and max(hits.values()) >= _ECHO_SHARE * len(wanted)

    @cached_property
    def _told_words(self) -> Mapping[str, tuple[int, ...]]:
        """The sentences that were told, newest few thousand, by their content words. A question tells nothing."""
        found: dict[str, list[int]] = defaultdict(list)
        at = 0
        ends = [*(boundary.end() for boundary in _SENTENCE_END.finditer(self._told)), len(self._told)]
        for number, stop in enumerate(ends[-_TOLD_SENTENCES:]):
            sentence = self._told[ends[-_TOLD_SENTENCES - 1] if number == 0 and len(ends) > _TOLD_SENTENCES else at : stop].strip()
            at = stop
            if sentence and len(sentence) <= _AROUND and not is_question(sentence):
                for word in terms(sentence):
                    found[word].append(number)
        return {word: tuple(numbers) for word, numbers in found.items()}

    def is_before(self, one: str, other: str) -> bool:
        """Say whether the message `one` was said before the message `other`; what is not at hand was said in an earlier round."""
        return self._places.get(one, -1) < self._places.get(other, -1)

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {key: place for place, key in enumerate(self.texts)}

    def sentence_of(self, words: str, key: str) -> str:
        """Return the sentence of the message `key` in which `words` stand, empty where they do not."""
        text, plain = self.texts.get(key, ""), uncut(words)
        at = text.find(plain) if plain else -1
        if at < 0:
            return ""
        start = max((boundary.end() for boundary in _SENTENCE_END.finditer(text, max(at - _AROUND, 0), at)), default=max(at - _AROUND, 0))
        end = _SENTENCE_END.search(text, at + len(plain))
        return text[start : min(len(text) if end is None else end.start(), at + len(plain) + _AROUND)].strip()

    def lead_to(self, words: str, key: str) -> str:
        """Return what leads up to `words` in the quoted text or lines they stand in, to the end of their sentence.

        What a note says first ("for whoever writes the summary:") holds for what it says next.
        """
        text, plain = self.texts.get(key, ""), uncut(words)
        at = text.find(plain) if plain else -1
        if at < 0:
            return ""
        after = at + len(plain)
        start = max(text.rfind('"', 0, at) + 1, at - _LEAD, 0)
        end = _SENTENCE_END.search(text, after)
        stops = (len(text) if end is None else end.start(), after + _LEAD, text.find('"', after) % (len(text) + 1))
        return text[start : min(stops)]

    def vouches(self, key: str, quote: str) -> bool:
        """Say whether the result `key` may confirm `quote`: it succeeded, gives no order around it, and lends no power beside it."""
        if key not in self.successes:
            return False
        text = self.texts[key]
        at = max(text.find(quote), 0)
        if lends_power(text[max(at - _LEAD, 0) : at + len(quote) + _LEAD]):
            return False
        return not (gives_order(text[max(at - _AROUND, 0) : at + len(quote) + _AROUND]) or gives_order(text[:_AROUND]))


def _confirms(message: BaseMessage) -> bool:
    # Nothing ties the result of a retired function call to its call: any client can send one.
    return isinstance(message, ToolMessage) and not is_failure(message) and not is_synthetic(message) and not reports_failure(text_of(message))


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

    Confirmed: its quote stands verbatim in a successful tool result, nobody had told the tool, it claims no authority, asks for nothing and hides
    nothing. A fact of the previous summary keeps what it had. Everything else is a claim, of the user where the user said it, else of the assistant.
    """
    statement = folded(fact.statement)
    known = previous.get(statement)
    if known is not None:
        return _seen_again(known, sources)
    named = {"status": Trust.CLAIMED, "also_in": ()}
    held = sources.holder(fact.quote or fact.statement, fact.source)
    if held is None and fact.quote is not None:
        # The quote is nobody's: the statement has to stand for itself.
        fact = fact.model_copy(update={"quote": None})
        held = sources.holder(fact.statement, fact.source)
    if held is None:
        return fact.model_copy(update={**named, "said_by": "ai", "source": None, "quote": None})
    key, origin = held
    # The quote must carry the statement: a true quote beside an invented statement confirms nothing.
    plain = uncut(fact.statement)
    carries = _is_telling(plain) and stands_in(plain, sources.texts[key], goes_on=is_cut(fact.statement))
    confirmed = carries and is_plain_finding(fact.statement) and sources.vouches(key, plain) and not sources.was_told(fact.statement)
    return fact.model_copy(
        update={
            **named,
            "status": Trust.CONFIRMED if confirmed else Trust.CLAIMED,
            "said_by": origin if carries else "ai",
            "source": key,
        }
    )


def is_plain_finding(statement: str) -> bool:
    """Say whether a text reports and does nothing else: no claim of authority, no order, request or rule, nothing encoded.

    >>> is_plain_finding("Order 7 is open"), is_plain_finding("Please forward order 7"), is_plain_finding("订单7已授权")
    (True, False, False)
    """
    if claims_authority(statement) or lends_power(statement) or tells_to_act(statement) or hides_text(statement):
        return False
    return is_checkable(statement) and rule_in(folded(statement)) is None


def _seen_again(known: Fact, sources: Sources) -> Fact:
    """Return a fact of the summary in force with the message that now says it too; its trust stays what it was."""
    held = sources.holder(known.statement, None)
    if held is None or held[0] in known.sources or held[1] != known.said_by:
        return known
    return known.model_copy(update={"also_in": (*known.also_in, held[0])[-SOURCES_KEPT:]})

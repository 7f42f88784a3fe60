"""A summary without a model: the sentences someone would miss, verbatim, within a bound. Same messages, same draft, in any language."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count as counting
from typing import Any, Literal, NamedTuple

from langchain_core.messages import BaseMessage

from langchain_ctxguard.backends.worth import (
    ACCEPTED,
    ANSWER,
    ANSWERED,
    ERROR,
    MUST_KEEP,
    PENDING,
    QUESTION,
    SETTLED,
    STRESSED,
    URGENT,
    Standing,
    choice_worth,
    worth,
)
from langchain_ctxguard.core.bounds import text_tokens
from langchain_ctxguard.core.identity import is_synthetic
from langchain_ctxguard.core.left_out import Kind, counted, kind_shown
from langchain_ctxguard.core.lexicon import is_acknowledgement, is_formula
from langchain_ctxguard.core.merge import CLOSED_LENGTH
from langchain_ctxguard.core.recalled import is_faded
from langchain_ctxguard.core.render import CLOSED_SHOWN, closed_items, render_decision, render_fact, render_item, render_summary
from langchain_ctxguard.core.requests import EARLIER_SHOWN, INTENTS_KEPT, asked_in, recent
from langchain_ctxguard.core.roles import Speaker, calls_of, is_failure, is_note, is_request, speaker_of, text_of
from langchain_ctxguard.core.sentences import (
    Sentence,
    Sign,
    around_values,
    has_value,
    key_of,
    parts_of,
    refers_back,
    sentences,
    shape_of,
    signs_of,
    values_in,
    without_courtesy,
)
from langchain_ctxguard.core.terms import covers, is_question, terms
from langchain_ctxguard.core.text import clipped
from langchain_ctxguard.domain.origin import Origin
from langchain_ctxguard.domain.summary import Decision, Fact, PendingItem, Rejected, StructuredSummary, SummaryDraft
from langchain_ctxguard.ports import SummaryRequest, TokenCounter

INTENT_LENGTH = 600
"""Characters of the latest request that are shown."""

NEW_SHARE = 0.4
"""Part of the bound that what is new may claim before what was carried over: the newest survives any number of rounds."""

PENDING_SHARE = 0.5
"""Part of the room that open items may take: requests nobody answered do not crowd out what was found out."""

EVICTED_SHARE = 0.4
"""The summary grows by no more than this part of what was evicted, however much its bound would allow."""

SMALL_SHARE = 0.74
"""The same where little was evicted and all of it is talk: it has few words to spare."""

SMALL_WITH_TOOLS = 0.55
"""The same where tools were called: the record of what they did takes its own part."""

SMALL = 1_000
"""Tokens up to which the summary of little may grow by `SMALL_SHARE`."""

USER_SHARE = 0.4
"""Part of the room that what people said may take before what tools and the assistant told: nobody can look it up again."""

HEARD = 14.0
"""From here on a person's sentence is among it: it is no thanks, and no question that was answered."""

URGENT_SHARE = 0.5
"""Part of the room that errors and corrections may take before anything else: who does not see them makes the mistake again."""

BRIEF = 3
"""Sentences up to which a result is one short outcome."""

OFFERED = 12
"""Sentences of an answer that a "yes" agrees to, at most."""

OPENING = 8
"""Sentences of such a text that still count in full."""

PASTED = 40
"""Sentences above which a message of the user is taken for a pasted text."""

_THREAD_FROM = 200_000
"""Characters above which reading is moved off the event loop."""

_CANDIDATES = 300
"""Open items looked at, newest first."""

LEAST = 8.0
"""What is worth no more is left out where room is short, also if a little is left over: questions that were answered, bare formulas."""

_LOOKED_AT = 200
"""Items whose cost is summed up to see whether room is short."""

_CALL_LENGTH = 300
"""Characters of a call's arguments that may show what was done."""

_WORDS_ONLY = ("think", "plan", "todo", "note", "reason", "memo")
"""Tools that write words down: a thought about a task does not finish it."""

_SMALLEST = 120
"""Tokens the summary may take beside its frame, however little was evicted."""

_REJECTED_FOR = (" instead of ", " rather than ", "而不是", "而非")
_BECAUSE = (" because ", " since ", "因为", "由于")
_USER_SIGNS = (
    Sign.CORRECTION,
    Sign.EMPHASIS,
    Sign.PREFERENCE,
    Sign.DEFERRED,
    Sign.PERHAPS_DEFERRED,
    Sign.REQUEST,
    Sign.DECISION,
    Sign.CHOICE,
    Sign.AGREEMENT,
    Sign.REFUSAL,
    Sign.ERROR,
    Sign.TIME,
)
_AI_SIGNS = (Sign.DECISION, Sign.ERROR, Sign.TIME, Sign.DONE, Sign.NOT_DONE, Sign.UNABLE, Sign.NARRATION, Sign.OUTCOME)
_OTHER_SIGNS = (Sign.ERROR, Sign.TIME)
_SIGNS: dict[Origin, tuple[Sign, ...]] = {"user": _USER_SIGNS, "ai": _AI_SIGNS, "tool": _OTHER_SIGNS, "system": _OTHER_SIGNS}

_PLEASANTRIES = ("thank", "great", "perfect", "ok", "bye", "cool", "谢", "好的", "再见", "不客气", "没问题")

Section = Literal["pending_items", "facts", "decisions", "open_questions"]


class ExtractiveSummarizer:
    """Summarizes by quoting. Needs no model and no network, reads every message to its end, in time linear in the text.

    Every string of the draft stands verbatim in an evicted message or in the previous summary; `…` marks where one was cut.

    >>> from langchain_core.messages import HumanMessage
    >>> from langchain_core.messages.utils import count_tokens_approximately
    >>> request = SummaryRequest((HumanMessage("Never email before 9:00."),), ("m-1",), None, 500, count_tokens_approximately)
    >>> ExtractiveSummarizer().summarize(request).facts[0].statement
    'Never email before 9:00.'
    """

    name = "extractive"

    def summarize(self, request: SummaryRequest) -> SummaryDraft:
        """Return the draft."""
        reading = _Reading()
        if request.previous is not None:
            reading.carry_over(request.previous, any(map(is_request, request.evicted)))
        for message, source in zip(request.evicted, request.sources, strict=True):
            reading.read(message, source)
        return _Selection(request, reading).draft()

    async def asummarize(self, request: SummaryRequest) -> SummaryDraft:
        """Return the same draft; long input is read in a thread."""
        if sum(len(text_of(message)) for message in request.evicted) < _THREAD_FROM:
            return self.summarize(request)
        return await asyncio.to_thread(self.summarize, request)


def kept_verbatim(request: SummaryRequest) -> Iterator[Fact]:
    """Yield a fact for each text of `must_keep` that stands in an evicted message or in the previous summary."""
    for wanted in request.must_keep:
        place = next(
            ((message, source) for message, source in zip(request.evicted, request.sources, strict=True) if wanted in text_of(message)),
            None,
        )
        if place is not None:
            yield Fact(statement=wanted, said_by=origin_of(place[0]), source=place[1], quote=wanted)
            continue
        carried = () if request.previous is None else request.previous.facts
        fact = next((fact for fact in carried if wanted in fact.statement), None)
        if fact is not None:
            yield fact


def origin_of(message: BaseMessage) -> Speaker:
    """Return who said what a message says: a note in the user role speaks for a tool, another tool's summary or nobody the user knows."""
    speaker = speaker_of(message)
    if speaker != "user" or is_request(message):
        return speaker
    if not is_note(message):
        return "tool"
    opening = text_of(message)[:40]
    if ' from="tool"' in opening:
        return "tool"
    return "system" if ' from="system"' in opening else "ai"


class _Quote(NamedTuple):
    """A sentence and whose it is; it becomes a fact if it is chosen."""

    piece: Sentence
    speaker: Speaker
    source: str | None
    shown: AbstractSet[Sign] = frozenset()

    def kind(self) -> Kind | None:
        """Return what it is counted as where it is left out."""
        return kind_shown(self.piece.text, self.speaker, self.shown)

    def fact(self) -> Fact:
        quote = None if self.source is None else self.piece.text
        return Fact(statement=self.piece.shown, said_by=self.speaker, source=self.source, quote=quote)


@dataclass(slots=True)
class _Item:
    """Something worth a line of the summary."""

    section: Section
    key: str
    value: str | Fact | Decision | _Quote
    score: float
    place: int
    """Order of appearance; negative if carried over."""

    def settled(self) -> str | Fact | Decision:
        """Return the value as the draft holds it."""
        return self.value.fact() if isinstance(self.value, _Quote) else self.value

    @property
    def is_the_users(self) -> bool:
        """Whether a person said it."""
        if isinstance(self.value, _Quote):
            return self.value.speaker == "user"
        return self.section in ("pending_items", "decisions") if not isinstance(self.value, Fact) else self.value.said_by == "user"

    def trim(self) -> None:
        """Tell of what a person or the assistant said no greeting and no thanks; what is stressed stays whole."""
        if isinstance(self.value, _Quote) and self.value.speaker in ("user", "ai") and self.score < STRESSED:
            self.value = self.value._replace(piece=without_courtesy(self.value.piece))

    def shorten(self) -> None:
        """Tell of a sentence of the assistant's only the clauses around its values."""
        if isinstance(self.value, _Quote) and self.value.speaker == "ai":
            self.value = self.value._replace(piece=around_values(self.value.piece))

    def line(self) -> str:
        """Return the line it will take in the rendered summary."""
        value = self.settled()
        if isinstance(value, Fact):
            return render_fact(value)
        if isinstance(value, Decision):
            return render_decision(value.model_copy(update={"said_by": value.said_by or "user"}))
        return _quoted(value) if self.section == "pending_items" else value


def _quoted(text: str) -> str:
    return render_item(PendingItem(text=text, asked_by="user"))


@dataclass(slots=True)
class _Wish:
    """A request that may still be open."""

    sentence: str
    place: int
    is_standing: bool
    """Only evidence closes it; a plain request is closed by the answer that follows."""


@dataclass(slots=True)
class _Question:
    sentence: str
    place: int
    speaker: Speaker | None
    is_only: bool


@dataclass(slots=True)
class _Reading:
    """What was found in the messages so far."""

    intent: str = ""
    intent_place: int = 0
    items: dict[tuple[Section, str], _Item] = field(default_factory=dict)
    wishes: list[_Wish] = field(default_factory=list)
    questions: list[_Question] = field(default_factory=list)
    done: list[tuple[int, str, float]] = field(default_factory=list)
    """Evidence that something was finished: place, its words, and the share of a wish's terms they must cover."""

    answers: list[tuple[int, str]] = field(default_factory=list)
    last_reply: int | None = None
    """Place of the last answer that ended a turn and did not say it failed or ask back."""

    last_request: int | None = None
    finished_todos: dict[str, None] = field(default_factory=dict)
    calls: dict[str, str] = field(default_factory=dict)
    offered: list[str] = field(default_factory=list)
    """Keys of the sentences of the last answer."""

    accepted: set[str] = field(default_factory=set)
    """Keys of what the user agreed to, or went on from."""

    retold: set[str] = field(default_factory=set)
    """Keys of sentences whose first part stands among the decisions; the rest asks."""

    is_asked: bool = False
    """Whether the message before asked the user something."""

    places: Iterator[int] = field(default_factory=counting)

    def carry_over(self, previous: StructuredSummary, is_superseded: bool) -> None:  # noqa: FBT001 - a claim about the request
        """Take what the previous summary says as older than everything read."""
        still_open = [item.text for item in previous.open_items if not item.in_plan]
        latest = previous.user_intent[0] if previous.user_intent else ""
        size = len(previous.facts) + len(previous.decisions) + len(still_open) + len(previous.open_questions) + 1
        self.places = counting(-size - sum(map(len, previous.user_intent)))
        for fact in previous.facts:
            text = fact.statement.strip("…")
            self.add("facts", fact.statement, fact, worth(text, _signs(text), Standing(fact.said_by or "ai", is_reply=True)), next(self.places))
        for decision in previous.decisions:
            self.add("decisions", decision.chosen, decision, 60, next(self.places))
        for question in previous.open_questions:
            self.questions.append(_Question(question, next(self.places), None, is_only=False))
        for wish in still_open:
            signs = _signs(wish)
            self.wishes.append(_Wish(wish, next(self.places), is_standing=Sign.DEFERRED in signs or Sign.REQUEST not in signs))
        self.intent = latest
        for request in reversed(previous.user_intent if is_superseded else ()):
            self.hear(request, "user", None)
        self.places = counting()

    def read(self, message: BaseMessage, source: str) -> None:
        """Read one message to its end. A result we made up says nothing, nor one whose recalled text is out of view."""
        if is_synthetic(message) or is_faded(message):
            return
        text = text_of(message)
        calls = calls_of(message)
        speaker = origin_of(message)
        for call in calls:
            if isinstance(call.arguments, dict) and isinstance(call.arguments.get("todos"), list):
                self._read_todos(call.arguments["todos"])
            elif call.call_id and not any(word in call.name.lower() for word in _WORDS_ONLY):
                self.calls[call.call_id] = f"{call.name} {call.arguments_text[:_CALL_LENGTH]}"
        if speaker == "user" and text.strip():
            self.last_request = next(self.places)
            if not (self.intent and (is_acknowledgement(text) or _is_pleasantry(text))):
                self.intent = text.strip()
                self.intent_place = self.last_request
        if is_note(message):
            text = text.partition("\n")[2].rpartition("\n")[0] or text
        signs = self.hear(text, speaker, source, is_error=is_failure(message), is_reply=speaker == "ai" and not calls)
        if speaker == "tool" and not is_failure(message):
            call_id = getattr(message, "tool_call_id", None)
            self.done.append((next(self.places), self.calls.get(call_id or "", ""), 1.0))
        if speaker == "ai" and text.strip() and not calls:
            self._note_reply(text, signs)

    def hear(self, text: str, speaker: Speaker, source: str | None, *, is_error: bool = False, is_reply: bool = False) -> set[Sign]:
        """Sort the sentences of a text into wishes, questions, decisions and facts; return all they show."""
        pieces = list(sentences(text.rstrip("…") if source is None else text))
        if source is None and text.endswith("…") and pieces:
            pieces[-1] = pieces[-1]._replace(goes_on=True)
        shown = signs_of(text, pieces, _SIGNS[speaker])
        asked = sum(is_question(piece.text) for piece in pieces) if speaker in ("user", "ai") else 0
        asks_for_more = sum(Sign.REQUEST in signs or is_question(piece.text) for piece, signs in zip(pieces, shown, strict=True)) > 1
        error_at = _error_line(shown) if is_error else None
        is_pasted = speaker == "user" and len(pieces) > PASTED
        standing = Standing(speaker, is_reply or (speaker == "user" and self.is_asked), is_brief=len(pieces) <= BRIEF)
        is_long = len(pieces) > OPENING
        if speaker != "tool":
            self.is_asked = speaker == "ai" and (self.is_asked or bool(asked))
        edges = (0, len(pieces) - 1) if speaker == "tool" and len(pieces) > 2 else ()  # noqa: PLR2004 - a middle to stand out from
        if speaker == "user" and not is_pasted and pieces and _goes_along(text, shown):
            self._accept(text)
        if is_reply:
            self.offered = []
        for index, (piece, signs) in enumerate(zip(pieces, shown, strict=True)):
            place = next(self.places)
            if is_acknowledgement(piece.text) or is_formula(piece.text):
                continue
            if speaker in ("user", "ai"):
                self._sort(piece, signs, speaker, place, is_only=asked == 1, is_alone=not asks_for_more)
            score = (
                ERROR
                if index == error_at
                else worth(
                    piece.text,
                    signs,
                    standing
                    if not (is_pasted or is_long)
                    else Standing(*standing[:2], is_pasted and index >= OPENING, is_long and _is_item(text, piece)),
                )
                + 4 * (index in edges)
            )
            self.add("facts", piece.text, _Quote(piece, speaker, source, signs), score + ANSWER * (is_reply and index == 0), place)
            if is_reply:
                self.offered.append(key_of(piece.text))
        return set().union(*shown)

    def _accept(self, text: str) -> None:
        """What the user agrees to is no longer just something the assistant said: of a long list only what the user names of it."""
        offered = self.offered[:OFFERED]
        if len(offered) > BRIEF:
            named = values_in(text)
            offered = [key for key in offered if named & values_in(key)] or offered[:1]
        for key in offered:
            if (item := self.items.get(("facts", key))) is not None:
                item.score += ACCEPTED
                self.accepted.add(key)
        self.offered = []

    def _sort(self, piece: Sentence, signs: AbstractSet[Sign], speaker: Speaker, place: int, *, is_only: bool, is_alone: bool) -> None:
        # "... anything else?" asks for nothing.
        asks = is_question(piece.text)
        if asks and speaker == "ai":
            asks = not without_courtesy(piece).goes_on
        decided = _decided(piece, signs, asks=asks)
        if decided is not None:
            self.add("decisions", decided.text, _decision(decided), choice_worth(speaker), place)
            if decided.text != piece.text and not has_value(piece.text[len(decided.text) :]):
                self.retold.add(key_of(piece.text))
        if asks and not (speaker == "user" and Sign.REQUEST in signs):
            self.questions.append(_Question(piece.shown, place, speaker, is_only))
        if speaker == "user":
            # "After that I want lunch" puts nothing off where nothing else is asked.
            is_standing = Sign.DEFERRED in signs or (Sign.PERHAPS_DEFERRED in signs and Sign.REQUEST in signs and not is_alone)
            if is_standing or (Sign.REQUEST in signs and Sign.EMPHASIS not in signs and Sign.CORRECTION not in signs):
                self.wishes.append(_Wish(piece.shown, place, is_standing))
            return
        if piece.text.lower().startswith(("[ ]", "todo", "待办")):
            self.wishes.append(_Wish(piece.shown, place, is_standing=True))
        if Sign.DONE in signs and Sign.NOT_DONE not in signs:
            self.done.append((place, piece.text, 0.7 if piece.text.isascii() else 0.5))

    def _note_reply(self, text: str, signs: AbstractSet[Sign]) -> None:
        place = next(self.places)
        self.answers.append((place, text))
        if Sign.UNABLE not in signs and (Sign.DONE in signs or not is_question(text)):
            self.last_reply = place

    def _read_todos(self, todos: Sequence[Any]) -> None:
        for todo in todos:
            if isinstance(todo, dict) and isinstance(todo.get("content"), str) and todo["content"].strip():
                if todo.get("status") in ("completed", "cancelled", "done"):
                    self.finished_todos[key_of(todo["content"])] = None
                else:
                    self.finished_todos.pop(key_of(todo["content"]), None)
                    self.wishes.append(_Wish(clipped(todo["content"].strip(), INTENT_LENGTH // 2), next(self.places), is_standing=True))

    def add(self, section: Section, text: str, value: str | Fact | Decision | _Quote, score: float, place: int) -> None:
        """Add a line, or date the one that says the same: who said it first keeps it."""
        key = key_of(text)
        known = self.items.get((section, key))
        if known is None:
            self.items[section, key] = _Item(section, key, value, score, place)
        else:
            known.place, known.score = place, max(known.score, score)

    def close(self, requests: Iterable[str]) -> None:
        """Turn the wishes and questions nothing has settled into items, and take what they or the shown requests say out of the facts."""
        done = [(place, terms(words), share) for place, words, share in self.done[-_CANDIDATES:]]
        for wish in sorted(self.wishes, key=lambda wish: wish.place)[-_CANDIDATES:]:
            if not self._is_settled(wish, done):
                self.add("pending_items", wish.sentence, wish.sentence, PENDING, wish.place)
            elif (asked := self.items.get(("facts", key_of(wish.sentence)))) is not None and asked.score < STRESSED and not has_value(asked.key):
                asked.score -= ANSWERED
        answers = [(place, terms(words)) for place, words in self.answers[-_CANDIDATES:]]
        for question in self.questions[-_CANDIDATES:]:
            if not self._is_answered(question, answers):
                self.add("open_questions", question.sentence, question.sentence, QUESTION, question.place)
            elif (asked := self.items.get(("facts", key_of(question.sentence)))) is not None and self._has_served(asked):
                asked.score -= SETTLED
        shown_elsewhere = {key for section, key in self.items if section != "facts"} | self.retold
        intent = " ".join(clipped(self.intent, INTENT_LENGTH).lower().split())
        told = "\n".join(" ".join(text.lower().split()) for text in requests)
        for (section, key), item in list(self.items.items()):
            # A choice that is itself one of the requests is told as one.
            is_request = section == "decisions" and item.score == choice_worth("user") and not _signs(key) & {Sign.DECISION}
            is_latest = item.place >= self.intent_place and (section != "decisions" or is_request) and key in intent
            is_in_intent = is_latest or ((section == "facts" or is_request) and key in told)
            is_told = section == "facts" and key in shown_elsewhere
            if is_in_intent and not is_told and section == "facts" and item.score >= STRESSED:
                continue  # What is stressed outlives the request it came with.
            if is_in_intent or is_told:
                del self.items[section, key]

    def _has_served(self, asked: _Item) -> bool:
        """Say whether a question that was answered tells nothing besides: no value, no proposal somebody agreed to."""
        return asked.score < STRESSED and not has_value(asked.key) and asked.key not in self.accepted

    def _is_settled(self, wish: _Wish, done: Sequence[tuple[int, frozenset[str], float]]) -> bool:
        if key_of(wish.sentence) in self.finished_todos:
            return True
        if not wish.is_standing and self.last_reply is not None and wish.place < self.last_reply:
            return True
        wanted = terms(wish.sentence)
        return any(place > wish.place and covers(found, wanted, share) for place, found, share in done)

    def _is_answered(self, question: _Question, answers: Sequence[tuple[int, frozenset[str]]]) -> bool:
        if question.speaker == "ai":
            return self.last_request is not None and self.last_request > question.place
        wanted = terms(question.sentence)
        later = [found for place, found in answers if place > question.place]
        if question.speaker == "user":
            return bool(later) and (question.is_only or not wanted or any(wanted & found for found in later))
        return any(covers(found, wanted, 0.5) for found in later)


def _is_item(text: str, piece: Sentence) -> bool:
    """Say whether a sentence is a line of a list."""
    lead = text[max(0, piece.start - 3) : piece.start]
    return any(mark in lead for mark in "-*•|") or piece.text[:3].rstrip(")、 ").rstrip(".").isdigit()


def _goes_along(text: str, shown: Sequence[AbstractSet[Sign]]) -> bool:
    """Say whether a person's message agrees to what was told last, or goes on from it ("where is that hotel?") without turning it down."""
    return Sign.REFUSAL not in shown[0] and (Sign.AGREEMENT in shown[0] or (len(shown) <= BRIEF and refers_back(text)))


def _signs(text: str) -> AbstractSet[Sign]:
    """Return what a text of one sentence shows."""
    return signs_of(text, [Sentence(text, 0)])[0]


def _is_pleasantry(text: str) -> bool:
    """Say whether a message only thanks or agrees: it is no new request."""
    bare = text.strip().lower()
    return len(bare) <= 24 and any(word in bare for word in _PLEASANTRIES) and not has_value(bare) and not is_question(bare)  # noqa: PLR2004


def _error_line(shown: Sequence[AbstractSet[Sign]]) -> int:
    """Return the index of the sentence that names an error: the last one, as tracebacks have it."""
    return max((index for index, signs in enumerate(shown) if Sign.ERROR in signs), default=0)


def _decision(piece: Sentence) -> Decision:
    """Split a sentence into what was chosen, what was turned down and why; each part verbatim."""
    text, why = piece.text, ""
    rejected: tuple[str, ...] = ()
    halves = parts_of(text, _BECAUSE)
    if halves is not None and halves[0].strip():
        text, why = halves
    elif halves is not None and "，" in halves[1]:
        why, _, text = halves[1].partition("，")
    sides = parts_of(text, _REJECTED_FOR)
    if sides is not None and sides[0].strip() and sides[1].strip():
        text, rejected = sides[0], (_bare(sides[1]),)
    return Decision(chosen=_bare(text), rejected=tuple(Rejected(option=option) for option in rejected), why=_bare(why))


def _decided(piece: Sentence, signs: AbstractSet[Sign], *, asks: bool) -> Sentence | None:
    """Return what of a sentence decides something: all of it, or what stands before a question about it."""
    if not signs & {Sign.DECISION, Sign.CHOICE}:
        return None
    if not asks:
        return piece
    at = max(piece.text.rfind(mark) for mark in (", ", "，"))
    first = piece._replace(text=piece.text[:at].rstrip(), goes_on=False)
    if at > 0 and not is_acknowledgement(first.text) and Sign.CHOICE in _signs(first.text):
        return first
    # "Could you cancel it and book the other one instead?" is no question.
    return piece if Sign.REQUEST in signs else None


def _bare(text: str) -> str:
    return text.strip(" ,，.。;；")


class _Selection:
    """Fills the bound with what would be missed most."""

    def __init__(self, request: SummaryRequest, reading: _Reading) -> None:
        """Settle what is open and set the room."""
        self._reading = reading
        self._request = request
        self._count: TokenCounter = request.count
        self._frame = text_tokens(self._count, render_summary(StructuredSummary(), version=1))
        self._empty = text_tokens(self._count, "")
        self._bound = self._useful_bound()
        self._requests = self._shown_requests()
        reading.close(self._requests)

    def _useful_bound(self) -> int:
        """Return the bound, less if so little was evicted that filling it would save nothing."""
        request = self._request
        if sum(len(text_of(message)) for message in request.evicted) > 20 * request.max_tokens:
            return request.max_tokens
        carried = "" if request.previous is None else render_summary(request.previous, version=1)
        evicted = self._count(list(request.evicted))
        small = SMALL_WITH_TOOLS if any(map(calls_of, request.evicted)) else SMALL_SHARE
        useful = text_tokens(self._count, carried) + int(max(EVICTED_SHARE * evicted, small * min(evicted, SMALL)))
        return min(request.max_tokens, max(useful, self._frame + _SMALLEST))

    def draft(self) -> SummaryDraft:
        """Return what fits."""
        room = self._bound - self._frame - self._told_cost()
        intent = self._fitting(self._reading.intent, room // 2)
        room -= self._cost(intent) if intent else 0
        forced = [_Item("facts", key_of(fact.statement), fact, MUST_KEEP, 0) for fact in kept_verbatim(self._request)]
        room -= sum(self._cost(item.line()) for item in forced)
        chosen = self._chosen(room, "\n".join((intent, *self._requests)))
        known = {item.key for item in forced}
        kept = [item for item in chosen if item.section != "facts" or item.key not in known]
        return self._within_bound(intent, forced, sorted(kept, key=lambda item: item.score))

    def _chosen(self, room: int, told: str) -> list[_Item]:
        """Return what has room: what went wrong first, then what is new, then what was carried over; what repeats values comes last."""
        ranked = self._ranked()
        for item in ranked[:_LOOKED_AT]:
            item.trim()
        if sum(self._cost(item.line()) for item in ranked[:_LOOKED_AT]) > room:
            ranked = [item for item in ranked if item.score > LEAST]
            for item in ranked[:_LOOKED_AT]:
                item.shorten()
        fill = _Fill(room, self._cost, set(values_in(told)))
        fill.take((item for item in ranked if item.section == "facts" and item.score >= URGENT), int(room * URGENT_SHARE))
        fill.take((item for item in ranked if item.is_the_users and item.score >= HEARD), int(room * USER_SHARE))
        fill.take((item for item in ranked if item.place >= 0 and fill.is_new(item)), int(room * NEW_SHARE))
        fill.take((item for item in ranked if fill.is_new(item)), room)
        fill.take(ranked, room)
        return fill.chosen

    def _shown_requests(self) -> list[str]:
        """Return the requests the summary will show beside the draft, as long as it will show them: the first, and those before the last."""
        request = self._request
        asked = asked_in(request.evicted)
        goal = (asked[0] if asked else "") if request.previous is None else request.previous.original_goal
        earlier = recent(asked, request.evicted)[:-1]
        before = () if request.previous is None else request.previous.user_intent
        shown = [*before[: max(0, INTENTS_KEPT - 1 - len(earlier))], *earlier]
        # A first request as long as this is shown in part.
        return [self._fitting(goal, (self._bound - self._frame) // 4), *(clipped(text, EARLIER_SHOWN) for text in shown if text != goal)]

    def _told_cost(self) -> int:
        """Return what those requests will cost."""
        return min(sum(self._cost(text) for text in self._requests if text), self._bound // 3)

    def _fitting(self, text: str, room: int) -> str:
        text = clipped(text, INTENT_LENGTH)
        while len(text) > 16 and self._cost(text) > room:  # noqa: PLR2004 - less says nothing
            text = clipped(text.rstrip("…"), len(text) * 3 // 4)
        return text

    def _cost(self, line: str) -> int:
        return text_tokens(self._count, f"- {line}\n") - self._empty + 1

    def _ranked(self) -> list[_Item]:
        """Return the items, most missed first. Of lines with one shape the newest counts in full: it holds the latest values."""
        seen: Counter[tuple[Section, str]] = Counter()
        newest_first = sorted(self._reading.items.values(), key=lambda item: -item.place)
        span = max(1, len(newest_first))
        ranks: list[tuple[float, int, _Item]] = []
        for age, item in enumerate(newest_first):
            shape = (item.section, shape_of(item.key))
            repeats = seen[shape]
            seen[shape] = repeats + 1
            if item.score > 0:
                ranks.append((item.score - 3 * min(repeats, 10) - 10 * age / span, item.place, item))
        ranks.sort(key=lambda rank: (-rank[0], -rank[1]))
        return [item for _, _, item in ranks]

    def _within_bound(self, intent: str, forced: list[_Item], kept: list[_Item]) -> SummaryDraft:
        """Drop the least missed until the whole fits, with what stands around it: counters need not be additive."""
        while True:
            draft = self._counted(_draft_of(intent, [*forced, *kept]), [*forced, *kept])
            if not kept or text_tokens(self._count, render_summary(self._as_shown(draft), version=1)) <= self._bound:
                return draft
            kept = kept[max(1, len(kept) // 16) :]

    def _counted(self, draft: SummaryDraft, told: Sequence[_Item]) -> SummaryDraft:
        """Return the draft with a count of the new errors, corrections, amounts and dates it does not tell."""
        shown = {item.key for item in told}
        values = {value for text in (draft.user_intent, *self._requests) for value in values_in(text)}.union(*(values_in(item.key) for item in told))
        missing = (weighty for key, weighty in self._weighty.items() if key not in shown)
        left_out = counted(kind for kind, told_by_it in missing if kind != "amounts" or not told_by_it <= values)
        return draft.model_copy(update={"left_out": left_out})

    @cached_property
    def _weighty(self) -> dict[str, tuple[Kind, frozenset[str]]]:
        """New facts that are counted where they are left out, by key, with their values."""
        new = (item for item in self._reading.items.values() if item.section == "facts" and item.place >= 0)
        return {item.key: (kind, values_in(item.key)) for item in new if isinstance(item.value, _Quote) and (kind := item.value.kind()) is not None}

    def _as_shown(self, draft: SummaryDraft) -> StructuredSummary:
        """Return the draft as it will stand in the summary: beside the requests, everything in somebody's mouth."""
        goal, *earlier = self._requests
        # The first request may be the last as well; then it stands there once.
        intent = goal if goal and draft.user_intent.startswith(goal.rstrip("…")) else draft.user_intent
        return StructuredSummary(
            original_goal=goal,
            user_intent=tuple(filter(None, (intent, *earlier))),
            pending_items=(*self._closed(), *(PendingItem(text=text, asked_by="user") for text in draft.pending_items)),
            facts=draft.facts,
            decisions=tuple(decision.model_copy(update={"said_by": "user"}) for decision in draft.decisions),
            open_questions=draft.open_questions,
            left_out=draft.left_out,
        )

    def _closed(self) -> Iterator[PendingItem]:
        """Yield finished steps of a plan, as many as are shown: the summary names them whether or not the draft does."""
        known = () if self._request.previous is None else closed_items(self._request.previous)
        finished = [*(item.text for item in known), *self._reading.finished_todos]
        yield from (PendingItem(text=clipped(text, CLOSED_LENGTH), state="done", in_plan=True) for text in finished[-CLOSED_SHOWN:])


@dataclass(slots=True)
class _Fill:
    """What was chosen so far."""

    room: int
    cost: Callable[[str], int]
    values: set[str]
    """Words with digits that something chosen shows."""

    chosen: list[_Item] = field(default_factory=list)
    _shown: list[frozenset[str]] = field(default_factory=list)
    """The same, for each that was chosen."""

    _wishes: int = 0
    _taken: set[int] = field(default_factory=set)

    def is_new(self, item: _Item) -> bool:
        """Say whether an item shows a value nothing chosen shows, or is none that lives by its values, as a person's choice of one is."""
        values = values_in(item.key)
        # One digit is in too many places to say the same, and two values may stand apart in two sentences and mean a third thing here.
        is_known = any(len(value) > 1 for value in values) and values <= self.values and any(values <= shown for shown in self._shown)
        return item.is_the_users or not is_known

    def take(self, ranked: Iterable[_Item], part: int) -> None:
        """Choose from `ranked` what fits into a part of the room; open items take their own share of it at most, but one always may."""
        part = min(part, self.room)
        misses = 0
        for item in ranked:
            if id(item) in self._taken:
                continue
            price = self.cost(item.line())
            is_wish = item.section == "pending_items"
            if is_wish and self._wishes and self._wishes + price > int(part * PENDING_SHARE):
                continue
            if price <= part:
                part -= price
                self.room -= price
                self._wishes += price * is_wish
                self._taken.add(id(item))
                self.chosen.append(item)
                shown = values_in(item.key)
                self.values |= shown
                self._shown.append(shown)
            elif (misses := misses + 1) > 40:  # noqa: PLR2004 - the rest would be crumbs
                break


_SECTIONS: tuple[Section, ...] = ("pending_items", "facts", "decisions", "open_questions")


def _draft_of(intent: str, items: Iterable[_Item]) -> SummaryDraft:
    sections: dict[Section, list[Any]] = {name: [] for name in _SECTIONS}
    for item in sorted(items, key=lambda item: item.place):
        sections[item.section].append(item.settled())
    return SummaryDraft(
        user_intent=intent,
        pending_items=tuple(sections["pending_items"]),
        facts=tuple(sections["facts"]),
        decisions=tuple(sections["decisions"]),
        open_questions=tuple(sections["open_questions"]),
    )

"""Messages -> what they say that is worth a line, and what asks for more: each message is read once, to its end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import count as counting
from itertools import pairwise
from typing import Any

from langchain_core.messages import BaseMessage

from langchain_ctxguard.backends.extractive.choices import decided_in, decision_of
from langchain_ctxguard.backends.extractive.lines import INTENT_LENGTH, Item, Question, Quote, Section, Wish, signs_in
from langchain_ctxguard.backends.extractive.must_keep import origin_of
from langchain_ctxguard.core.identity import is_synthetic
from langchain_ctxguard.core.lexicon import is_acknowledgement, is_formula
from langchain_ctxguard.core.noted import Notes, notes_in
from langchain_ctxguard.core.recalled import is_faded
from langchain_ctxguard.core.roles import Speaker, calls_of, is_failure, is_note, text_of
from langchain_ctxguard.core.sentences import Sentence, Sign, has_value, key_of, refers_back, sentences, signs_of, values_in, without_courtesy
from langchain_ctxguard.core.terms import is_question
from langchain_ctxguard.core.text import clipped
from langchain_ctxguard.core.worth import ACCEPTED, ANSWER, ERROR, Standing, choice_worth, worth
from langchain_ctxguard.domain.origin import Origin
from langchain_ctxguard.domain.summary import Decision, Fact, StructuredSummary

BRIEF = 3
"""Sentences up to which a result is one short outcome."""

OFFERED = 12
"""Sentences of an answer that a "yes" agrees to, at most."""

OPENING = 8
"""Sentences of such a text that still count in full."""

PASTED = 40
"""Sentences above which a message of the user is taken for a pasted text."""

_CALL_LENGTH = 300
"""Characters of a call's arguments that may show what was done."""

_WORDS_ONLY = ("think", "plan", "todo", "note", "reason", "memo")

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


@dataclass(slots=True)
class Reading:
    """What was found in the messages so far."""

    intent: str = ""
    intent_place: int = 0
    items: dict[tuple[Section, str], Item] = field(default_factory=dict)
    wishes: list[Wish] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
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
    began: dict[str, int] = field(default_factory=dict)
    """Place at which each message begins, by its source."""

    def carry_over(self, previous: StructuredSummary, is_superseded: bool) -> None:  # noqa: FBT001 - a claim about the request
        """Take what the previous summary says as older than everything read."""
        still_open = [item.text for item in previous.open_items if not item.in_plan]
        latest = previous.user_intent[0] if previous.user_intent else ""
        size = len(previous.facts) + len(previous.decisions) + len(still_open) + len(previous.open_questions) + 1
        self.places = counting(-size - sum(map(len, previous.user_intent)))
        forms, follow = _notes_told(previous.facts)
        for index, fact in enumerate(previous.facts):
            text = fact.statement.strip("…")
            standing = Standing(fact.said_by or "ai", is_reply=True, is_form=fact.source in forms, follows_note=index in follow)
            self.add("facts", fact.statement, fact, worth(text, signs_in(text), standing), next(self.places))
        for decision in previous.decisions:
            self.add("decisions", decision.chosen, decision, 60, next(self.places))
        for question in previous.open_questions:
            self.questions.append(Question(question, next(self.places), None, is_only=False))
        for wish in still_open:
            signs = signs_in(wish)
            self.wishes.append(Wish(wish, next(self.places), is_standing=Sign.DEFERRED in signs or Sign.REQUEST not in signs))
        self.intent = latest
        for request in reversed(previous.user_intent if is_superseded else ()):
            self.hear(request, "user", None)
        self.places = counting()

    def read(self, message: BaseMessage, source: str) -> None:
        """Read one message to its end. A result we made up says nothing, nor one whose recalled text is out of view."""
        if is_synthetic(message) or is_faded(message):
            return
        text = text_of(message)
        self.began[source] = next(self.places)
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
        notes = _notes_said(text, pieces) if speaker == "user" and not is_pasted else Notes()
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
            here = standing._replace(is_form=notes.is_form, follows_note=index in notes.follow)
            if is_pasted or is_long:
                here = here._replace(is_pasted=is_pasted and index >= OPENING, is_item=is_long and _is_item(text, piece), is_brief=False)
            score = ERROR if index == error_at else worth(piece.text, signs, here) + 4 * (index in edges)
            self.add("facts", piece.text, Quote(piece, speaker, source, signs), score + ANSWER * (is_reply and index == 0), place)
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
        decided = decided_in(piece, signs, asks=asks)
        if decided is not None:
            self.add("decisions", decided.text, decision_of(decided), choice_worth(speaker), place)
            if decided.text != piece.text and not has_value(piece.text[len(decided.text) :]):
                self.retold.add(key_of(piece.text))
        if asks and not (speaker == "user" and Sign.REQUEST in signs):
            self.questions.append(Question(piece.shown, place, speaker, is_only))
        if speaker == "user":
            # "After that I want lunch" puts nothing off where nothing else is asked.
            is_standing = Sign.DEFERRED in signs or (Sign.PERHAPS_DEFERRED in signs and Sign.REQUEST in signs and not is_alone)
            if is_standing or (Sign.REQUEST in signs and Sign.EMPHASIS not in signs and Sign.CORRECTION not in signs):
                self.wishes.append(Wish(piece.shown, place, is_standing))
            return
        if piece.text.lower().startswith(("[ ]", "todo", "待办")):
            self.wishes.append(Wish(piece.shown, place, is_standing=True))
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
                    self.wishes.append(Wish(clipped(todo["content"].strip(), INTENT_LENGTH // 2), next(self.places), is_standing=True))

    def add(self, section: Section, text: str, value: str | Fact | Decision | Quote, score: float, place: int) -> None:
        """Add a line, or date the one that says the same: who said it first keeps it."""
        key = key_of(text)
        known = self.items.get((section, key))
        if known is None:
            self.items[section, key] = Item(section, key, value, score, place)
        else:
            known.place, known.score = place, max(known.score, score)


def _notes_said(text: str, pieces: Sequence[Sentence]) -> Notes:
    """Return what the labels in a person's message say of its sentences."""
    begin = [index for index, (before, piece) in enumerate(pairwise(pieces), start=1) if "\n" in text[before.start + len(before.text) : piece.start]]
    return notes_in([piece.text for piece in pieces], begin)


def _notes_told(facts: Sequence[Fact]) -> tuple[set[str | None], set[int]]:
    """Return the messages that are forms by what is told of them, and the facts that say more of what a person noted before them."""
    told: defaultdict[str, list[int]] = defaultdict(list)
    for index, fact in enumerate(facts):
        if fact.said_by == "user" and fact.source is not None:
            told[fact.source].append(index)
    notes = {source: notes_in([facts[index].statement for index in places]) for source, places in told.items()}
    follow = {told[source][at] for source, note in notes.items() for at in note.follow}
    return {source for source, note in notes.items() if note.is_form}, follow


def _is_item(text: str, piece: Sentence) -> bool:
    """Say whether a sentence is a line of a list."""
    lead = text[max(0, piece.start - 3) : piece.start]
    return any(mark in lead for mark in "-*•|") or piece.text[:3].rstrip(")、 ").rstrip(".").isdigit()


def _goes_along(text: str, shown: Sequence[AbstractSet[Sign]]) -> bool:
    """Say whether a person's message agrees to what was told last, or goes on from it ("where is that hotel?") without turning it down."""
    return Sign.REFUSAL not in shown[0] and (Sign.AGREEMENT in shown[0] or (len(shown) <= BRIEF and refers_back(text)))


def _is_pleasantry(text: str) -> bool:
    """Say whether a message only thanks or agrees: it is no new request."""
    bare = text.strip().lower()
    return len(bare) <= 24 and any(word in bare for word in _PLEASANTRIES) and not has_value(bare) and not is_question(bare)  # noqa: PLR2004


def _error_line(shown: Sequence[AbstractSet[Sign]]) -> int:
    """Return the index of the sentence that names an error: the last one, as tracebacks have it."""
    return max((index for index, signs in enumerate(shown) if Sign.ERROR in signs), default=0)

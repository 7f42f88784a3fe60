"""What of the wishes and questions is still open once everything was read, and what is told elsewhere anyway."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from langchain_ctxguard.backends.extractive.lines import INTENT_LENGTH, Item, Question, Wish, signs_in
from langchain_ctxguard.backends.extractive.reading import Reading
from langchain_ctxguard.core.sentences import Sign, has_value, key_of, sentences
from langchain_ctxguard.core.terms import covers, terms
from langchain_ctxguard.core.text import clipped
from langchain_ctxguard.core.worth import ANSWERED, PENDING, QUESTION, SETTLED, STRESSED, choice_worth

_CANDIDATES = 300
"""Open items looked at, newest first."""


def close(reading: Reading, requests: Iterable[str], shown: Iterable[str] = ()) -> None:
    """Turn the wishes and questions nothing has settled into items, and take what they, the shown requests or the view say out of the facts.

    Args:
        reading: What was found.
        requests: The requests that stand in the summary.
        shown: Texts that stand word for word beside the summary.
    """
    done = [(place, terms(words), share) for place, words, share in reading.done[-_CANDIDATES:]]
    for wish in sorted(reading.wishes, key=lambda wish: wish.place)[-_CANDIDATES:]:
        if not _is_settled(reading, wish, done):
            reading.add("pending_items", wish.sentence, wish.sentence, PENDING, wish.place)
        elif (asked := reading.items.get(("facts", key_of(wish.sentence)))) is not None and asked.score < STRESSED and not has_value(asked.key):
            asked.score -= ANSWERED
    answers = [(place, terms(words)) for place, words in reading.answers[-_CANDIDATES:]]
    for question in reading.questions[-_CANDIDATES:]:
        if not _is_answered(reading, question, answers):
            reading.add("open_questions", question.sentence, question.sentence, QUESTION, question.place)
        elif (asked := reading.items.get(("facts", key_of(question.sentence)))) is not None and _has_served(reading, asked):
            asked.score -= SETTLED
    beside = {key_of(piece.text) for text in shown for piece in sentences(text)}
    shown_elsewhere = {key for section, key in reading.items if section != "facts"} | reading.retold
    intent = " ".join(clipped(reading.intent, INTENT_LENGTH).lower().split())
    told = "\n".join(" ".join(text.lower().split()) for text in requests)
    for (section, key), item in list(reading.items.items()):
        # A choice that is itself one of the requests is told as one.
        is_request = section == "decisions" and item.score == choice_worth("user") and not signs_in(key) & {Sign.DECISION}
        is_latest = item.place >= reading.intent_place and (section != "decisions" or is_request) and key in intent
        is_in_intent = is_latest or ((section == "facts" or is_request) and key in told)
        is_beside = section == "facts" and key in beside
        is_told = is_beside or (section == "facts" and key in shown_elsewhere)
        if is_in_intent and not is_told and section == "facts" and item.score >= STRESSED:
            continue  # What is stressed outlives the request it came with.
        if is_in_intent or is_told:
            del reading.items[section, key]


def _has_served(reading: Reading, asked: Item) -> bool:
    """Say whether a question that was answered tells nothing besides: no value, no proposal somebody agreed to."""
    return asked.score < STRESSED and not has_value(asked.key) and asked.key not in reading.accepted


def _is_settled(reading: Reading, wish: Wish, done: Sequence[tuple[int, frozenset[str], float]]) -> bool:
    if key_of(wish.sentence) in reading.finished_todos:
        return True
    if not wish.is_standing and reading.last_reply is not None and wish.place < reading.last_reply:
        return True
    wanted = terms(wish.sentence)
    return any(place > wish.place and covers(found, wanted, share) for place, found, share in done)


def _is_answered(reading: Reading, question: Question, answers: Sequence[tuple[int, frozenset[str]]]) -> bool:
    if question.speaker == "ai":
        return reading.last_request is not None and reading.last_request > question.place
    wanted = terms(question.sentence)
    later = [found for place, found in answers if place > question.place]
    if question.speaker == "user":
        return bool(later) and (question.is_only or not wanted or any(wanted & found for found in later))
    return any(covers(found, wanted, 0.5) for found in later)

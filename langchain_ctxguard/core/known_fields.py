"""What a verifier knows, moved on by the messages it has not read yet: ledger, sentences, the current request. Bounded in every part."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage

from langchain_ctxguard.core.carried import sentence_of
from langchain_ctxguard.core.extract import extract_fields
from langchain_ctxguard.core.field_patterns import ending_words
from langchain_ctxguard.core.field_text import folded
from langchain_ctxguard.core.identity import ANCHORS, message_digest, message_keys
from langchain_ctxguard.core.ledger import Said, merge_fields
from langchain_ctxguard.core.replaced import Replaced, is_emptied, is_said, mark_of
from langchain_ctxguard.core.roles import last_request, speaker_of, text_of
from langchain_ctxguard.core.text import readable
from langchain_ctxguard.core.user_patterns import PatternSet
from langchain_ctxguard.domain.control import ControlField
from langchain_ctxguard.domain.value import canonical_json
from langchain_ctxguard.domain.verified import HeldRequest, VerifiedHead

MAX_FIELDS = 100
"""Fields in the ledger of a thread. What is not critical goes first, then the oldest."""

MAX_CHARACTERS = 32_000
"""Characters of values and sentences in the ledger together: it is written with every checkpoint."""

LONGEST_VALUE = 2_000
"""A longer span is no value anybody turns on; it is not kept."""

LONGEST_REQUEST = 32_000
"""Characters of a request, as JSON, that is kept a second time so that it can be put back."""

MAX_MADE = 128
_HISTORY = 8
_HALVES = re.compile("[\ud800-\udfff]")

Now = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class Extraction:
    """How fields are found."""

    patterns: Mapping[str, str] | PatternSet | None = None
    timezone: str = "UTC"
    now: Now | None = None
    """Says when new messages are said, where they do not say it themselves."""


def unread_from(head: VerifiedHead, messages: Sequence[BaseMessage]) -> int:
    """Return the index of the first message behind what was read. O(new) while the newest messages read are still there."""
    if not head.anchors:
        return 0
    known = set(head.anchors)
    for index in range(len(messages) - 1, -1, -1):
        if mark_of(messages[index]) in known:
            return index + 1
    return 0


def moved_on(head: VerifiedHead, messages: Sequence[BaseMessage], extraction: Extraction, *, start: int | None = None) -> VerifiedHead:
    """Return what is known after the messages from `start` on; the same object where they teach nothing.

    What a compactor made is not read: nobody said it.

    Args:
        head: What was known.
        messages: The state's messages, oldest first.
        extraction: How fields are found.
        start: Index of the first message that was not read; `None`: found by the anchors.
    """
    at = unread_from(head, messages) if start is None else start
    if at >= len(messages):
        return head
    fresh = [message for message in messages[at:] if is_said(message, head.made)]
    if at == 0 and head.anchors:
        # None of the newest messages read is left. What one of these said before would otherwise be said anew, over what replaced it since.
        told = _tellers(head.ledger)
        fresh = [message for message, key in zip(fresh, message_keys(fresh), strict=True) if key not in told]
    ledger = _told(head, fresh, extraction, is_joined=not head.anchors and len(messages) > 1) if fresh else head.ledger
    request = _request_in(messages[at:], head)
    if ledger is head.ledger and request is head.request:
        return head
    place = {
        "number": head.number + 1,
        "first": head.first or mark_of(messages[0]),
        "anchors": tuple(mark_of(message) for message in messages[-ANCHORS:]),
        "position": head.position + len(messages) - at,
        "request": request,
    }
    if ledger is head.ledger:
        return head.model_copy(update=place)
    sentences = _sentences(head, ledger, fresh)
    kept = _bounded(ledger, sentences)
    return head.model_copy(
        update={
            **place,
            "ledger": kept,
            "sentences": {field.field_id: sentences[field.field_id] for field in kept if field.field_id in sentences},
            "omitted": head.omitted + len(ledger) - len(kept),
        }
    )


def _told(head: VerifiedHead, fresh: Sequence[BaseMessage], extraction: Extraction, *, is_joined: bool) -> tuple[ControlField, ...]:
    """Return the ledger after new messages; the same object where they say nothing about it."""
    # Of a conversation joined in its middle nobody knows when it was said.
    now = None if extraction.now is None or is_joined else extraction.now()
    found = extract_fields(fresh, now=now, patterns=extraction.patterns, timezone=extraction.timezone, start=head.position)
    texts = [text_of(message) for message in fresh]
    if not found and not (head.ledger and any(ending_words(folded(text)) for text in texts)):
        return head.ledger
    keys = message_keys(fresh, start=head.position)
    said = {key: Said(speaker_of(message), text) for key, message, text in zip(keys, fresh, texts, strict=True)}
    ledger = merge_fields(head.ledger, found, said=said, sentences=head.sentences).fields
    return head.ledger if ledger == head.ledger else ledger


def with_made(head: VerifiedHead, replaced: Replaced) -> VerifiedHead:
    """Return the head that knows a compactor's messages: summaries by what they say, emptied results by their id."""
    marks = [*map(message_digest, replaced.made), *map(mark_of, replaced.emptied)]
    fresh = [mark for mark in dict.fromkeys(marks) if mark not in head.made]
    return head.model_copy(update={"made": (*head.made, *fresh)[-MAX_MADE:]}) if fresh else head


def _tellers(ledger: Sequence[ControlField]) -> Collection[str]:
    told = {field.message_id for field in ledger} | {event.message_id for field in ledger for event in field.history}
    return {key for key in told if key}


def _request_in(messages: Sequence[BaseMessage], head: VerifiedHead) -> HeldRequest | None:
    """Return the current request; the one known before where these messages hold none of a person's."""
    index = last_request(list(messages))
    if index is None or not is_said(messages[index], head.made):
        return head.request
    request = held(messages[index])
    return head.request if request == head.request else request


def without_edited(head: VerifiedHead, before: Sequence[BaseMessage] | None, now: Sequence[BaseMessage]) -> VerifiedHead:
    """Return the head without what somebody took out of a message that is still there: a redaction is meant, and nothing brings it back.

    Args:
        head: What was known.
        before: The messages as they were read last, where they are at hand.
        now: The state's messages as they are.
    """
    there = sources_in(head, (*(before or ()), *now))
    gone = {field.field_id for field in head.ledger if (message := there.get(field.message_id or "")) and field.raw not in text_of(message)}
    ledger = tuple(field for field in head.ledger if field.field_id not in gone)
    sentences = {name: sentence for name, sentence in head.sentences.items() if name not in gone}
    for field in ledger:
        message = there.get(field.message_id or "")
        sentence = sentences.get(field.field_id)
        if message is not None and sentence and sentence.strip("…") not in _storable(readable(text := text_of(message))):
            sentences[field.field_id] = _storable(sentence_of(field.model_copy(update={"start": text.find(field.raw)}), text))
    request = head.request
    if request is not None:
        message = next((message for message in reversed(now) if mark_of(message) == request.key), None)
        request = request if message is None else held(message)
        request = head.request if request == head.request else request
    if not gone and request is head.request and sentences == head.sentences:
        return head
    return head.model_copy(update={"number": head.number + 1, "ledger": ledger, "sentences": sentences, "request": request})


def sources_in(head: VerifiedHead, messages: Sequence[BaseMessage]) -> dict[str, BaseMessage]:
    """Return the messages that hold known fields, by mark, the last of each; without those a compactor emptied."""
    wanted = {field.message_id for field in head.ledger if field.message_id}.difference(head.made)
    return {mark: message for message in messages if (mark := mark_of(message)) in wanted} if wanted else {}


def edited_fields(head: VerifiedHead, state: Sequence[BaseMessage], view: Sequence[BaseMessage]) -> set[str]:
    """Return the ids of fields that stand in their message in the state and were taken out of it on the way to the model.

    A tool result that was emptied is no edit.
    """
    stored, shown = sources_in(head, state), sources_in(head, view)
    edited = set()
    for field in head.ledger:
        old, new = stored.get(field.message_id or ""), shown.get(field.message_id or "")
        if new is not None and new is not old and field.raw not in text_of(new) and not (old is not None and is_emptied(old, new)):
            edited.add(field.field_id)
    return edited


def held(message: BaseMessage) -> HeldRequest | None:
    """Return a message to be kept verbatim; `None` where it is too large, or holds what no JSON can hold."""
    content = canonical_json(message.content)
    if len(content) > LONGEST_REQUEST or _HALVES.search(content) or (not isinstance(message.content, str) and not _is_json(message.content)):
        return None
    return HeldRequest(key=mark_of(message), content=content)


def restored(request: HeldRequest) -> HumanMessage:
    """Return the message a held request was."""
    return HumanMessage(request.read(), id=request.key)


def _is_json(content: Any) -> bool:
    """Say whether content is of JSON's own types, so that it comes back as it was."""
    if isinstance(content, dict):
        return all(isinstance(key, str) and _is_json(value) for key, value in content.items())
    if isinstance(content, (list, tuple)):
        return all(map(_is_json, content))
    return content is None or isinstance(content, (str, int, float, bool))


def _sentences(head: VerifiedHead, ledger: Sequence[ControlField], fresh: Sequence[BaseMessage]) -> dict[str, str]:
    """Return the sentences of the critical fields, those of the new messages found anew."""
    texts = {key: text_of(message) for key, message in zip(message_keys(fresh, start=head.position), fresh, strict=True)}
    sentences = {}
    for field in ledger:
        if not field.critical or field.is_closed:
            continue
        text = texts.get(field.message_id or "")
        sentence = head.sentences.get(field.field_id, "") if text is None else sentence_of(field, text)
        if sentence:
            sentences[field.field_id] = _storable(sentence)
    return sentences


def _bounded(ledger: Sequence[ControlField], sentences: Mapping[str, str]) -> tuple[ControlField, ...]:
    """Return at most `MAX_FIELDS` fields of at most `MAX_CHARACTERS`, in their order; the critical and the newest stay."""
    by_claim = sorted(enumerate(ledger), key=lambda item: (item[1].critical, not item[1].is_closed, item[0]), reverse=True)
    room = MAX_CHARACTERS
    kept: dict[int, ControlField] = {}
    for index, field in by_claim:
        shown = _slim(field)
        size = len(shown.raw) + len(shown.label) + len(sentences.get(field.field_id, "")) + sum(len(event.raw) for event in shown.history)
        if len(kept) == MAX_FIELDS or len(field.raw) > LONGEST_VALUE or size > room:
            continue
        room -= size
        kept[index] = shown
    return tuple(kept[index] for index in sorted(kept))


def _slim(field: ControlField) -> ControlField:
    """Return a field as it can be stored; the same object where it can be."""
    update: dict[str, Any] = {}
    if _HALVES.search(field.raw):
        update["raw"] = _storable(field.raw)
    if field.value is not None and _HALVES.search(field.value):
        update["value"] = _storable(field.value)
    if len(field.history) > _HISTORY or any(_HALVES.search(event.raw) or len(event.raw) > LONGEST_VALUE for event in field.history):
        events = [event for event in field.history if len(event.raw) <= LONGEST_VALUE and not _HALVES.search(event.raw)]
        update["history"] = tuple(events[-_HISTORY:])
    return field.model_copy(update=update) if update else field


def _storable(text: str) -> str:
    return _HALVES.sub("\ufffd", text)

"""What people asked in a stretch of conversation, and which of it the summary repeats in full."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.lexicon import is_acknowledgement
from langchain_ctxguard.core.results import own_words
from langchain_ctxguard.core.roles import is_request, text_of
from langchain_ctxguard.core.sentences import has_value, requests_in
from langchain_ctxguard.core.terms import is_question

INTENTS_KEPT = 3
EARLIER_SHOWN = 160
"""Characters shown of a request before the last one."""

_PLAIN = 40
"""Characters of a plain question at most."""

_RECENT_SHARE = 20
"""Requests before the last one stand in the summary as long as they are no larger than one part in so many of what was evicted."""


def spoken_in(messages: Sequence[BaseMessage]) -> list[str]:
    """Return what users said in their own words, oldest first."""
    return [own_words(message) for message in messages if is_request(message)]


def asked_in(messages: Sequence[BaseMessage]) -> list[str]:
    """Return what users asked, oldest first; mere thanks only where there is nothing else."""
    spoken = spoken_in(messages)
    return [text for text in spoken if not is_acknowledgement(text)] or spoken


def is_answered_by_a_word(text: str) -> bool:
    """Say whether a request is one plain question: once something else was asked, its answer is worth more than it.

    >>> (
    ...     is_answered_by_a_word("它家的营业时间是什么时候啊？"),
    ...     is_answered_by_a_word("Which of the 3 hotels is open?"),
    ...     is_answered_by_a_word("Please book it."),
    ... )
    (True, False, False)
    """
    return len(text) <= _PLAIN and is_question(text) and not has_value(text) and not requests_in(text)


def recent(requests: Sequence[str], messages: Sequence[BaseMessage]) -> list[str]:
    """Return the last request, and those before it that are cheap beside the `messages` that leave the view; oldest first."""
    room = sum(len(text_of(message)) for message in messages) // _RECENT_SHARE
    kept = list(requests[-1:])
    for text in reversed(requests[-INTENTS_KEPT:-1]):
        if is_answered_by_a_word(text):
            continue
        room -= min(len(text), EARLIER_SHOWN)
        if room < 0:
            break
        kept.insert(0, text)
    return kept

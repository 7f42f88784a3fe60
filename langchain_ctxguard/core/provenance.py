"""Claimed or confirmed. Trust comes from where the words stand, never from who repeats them."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.identity import is_synthetic
from langchain_ctxguard.core.lexicon import claims_authority
from langchain_ctxguard.core.roles import is_failure, is_note, speaker_of, text_of
from langchain_ctxguard.domain.summary import Fact, Origin, Trust

MIN_QUOTE = 6
"""Fewer characters stand in any text by chance."""


def folded(text: str) -> str:
    """Return `text` in the form quotes are compared in: NFKC, one blank between words."""
    return " ".join(unicodedata.normalize("NFKC", text).split())


@dataclass(frozen=True)
class Sources:
    """The messages a summary may speak of, by key, with their texts folded once."""

    texts: Mapping[str, str]
    origins: Mapping[str, Origin]
    successes: frozenset[str]
    """Keys of successful tool results: the only texts that confirm."""

    spoken: Mapping[Origin, str] = field(default_factory=dict)
    """Everything each origin said, in one string, for quotes that name no message."""

    @classmethod
    def of(cls, messages: Sequence[BaseMessage], keys: Sequence[str]) -> Sources:
        """Return the sources in `messages`; notes speak as tools: untrusted, and without effect."""
        texts: dict[str, str] = {}
        origins: dict[str, Origin] = {}
        successes = set()
        spoken: dict[Origin, list[str]] = {}
        for message, key in zip(messages, keys, strict=True):
            text = folded(text_of(message))
            if not text:
                continue
            origin: Origin = "ai" if is_note(message) else speaker_of(message)
            texts[key], origins[key] = text, origin
            spoken.setdefault(origin, []).append(text)
            if origin == "tool" and not is_failure(message) and not is_synthetic(message):
                successes.add(key)
        return cls(texts, origins, frozenset(successes), {origin: "\n".join(parts) for origin, parts in spoken.items()})

    def holder(self, quote: str, source: str | None) -> tuple[str | None, Origin] | None:
        """Return key and origin of a text that holds `quote`: the named message first, then any, the most trusted last.

        A quote that several origins said counts for the least trusted of them: repetition by the model adds nothing, but neither may a
        user's words be confirmed because a tool echoed them; a tool result is looked at only when nobody else said it.
        """
        quote = folded(quote).removesuffix("…")
        if len(quote) < MIN_QUOTE:
            return None
        if source in self.texts and quote in self.texts[source]:
            return source, self.origins[source]
        for origin in ("user", "ai", "tool"):
            if quote in self.spoken.get(origin, ""):
                key = next((key for key, text in self.texts.items() if self.origins[key] == origin and quote in text), None)
                return key, origin
        return None


def judged(fact: Fact, sources: Sources, previous: Mapping[str, Fact]) -> Fact:
    """Return `fact` with the trust its sources give it; what the summarizer claims about trust is ignored.

    Confirmed: its quote stands verbatim in a successful tool result and it claims no authority. A fact of the previous summary keeps what it
    had. Everything else is a claim, of the user where the user said it, else of the assistant.
    """
    known = previous.get(folded(fact.statement))
    if known is not None:
        return known
    held = sources.holder(fact.quote or fact.statement, fact.source)
    if held is None:
        return fact.model_copy(update={"status": Trust.CLAIMED, "said_by": "ai", "source": None, "quote": None})
    key, origin = held
    # The quote must carry the statement: a true quote beside an invented statement confirms nothing.
    carries = folded(fact.statement).removesuffix("…") in sources.texts.get(key or "", "")
    confirmed = key in sources.successes and carries and not claims_authority(fact.statement) and not _user_said(fact, sources)
    return fact.model_copy(
        update={
            "status": Trust.CONFIRMED if confirmed else Trust.CLAIMED,
            "said_by": origin if carries else "ai",
            "source": key,
        }
    )


def _user_said(fact: Fact, sources: Sources) -> bool:
    statement = folded(fact.statement).removesuffix("…")
    return len(statement) >= MIN_QUOTE and statement in sources.spoken.get("user", "")

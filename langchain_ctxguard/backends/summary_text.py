"""Messages -> the text of a summary, for compactors that ask for no more: drafted, cleaned, bounded and rendered as in a guard's own compaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage

from langchain_ctxguard.backends.tokens import counter_for
from langchain_ctxguard.core import evidence as evidence_of
from langchain_ctxguard.core.bounds import bounded_evidence, bounded_summary
from langchain_ctxguard.core.clean import clean, refusal
from langchain_ctxguard.core.identity import is_synthetic, message_keys
from langchain_ctxguard.core.infer import infer
from langchain_ctxguard.core.lexicon import language_of
from langchain_ctxguard.core.provenance import Sources
from langchain_ctxguard.core.render import open_inferred, render_evidence, render_summary
from langchain_ctxguard.core.requests import INTENTS_KEPT
from langchain_ctxguard.core.roles import is_request, text_of
from langchain_ctxguard.core.units import repair
from langchain_ctxguard.domain.evidence import Evidence
from langchain_ctxguard.domain.summary import SummaryDraft
from langchain_ctxguard.errors import InvalidSummaryError
from langchain_ctxguard.ports import SummaryRequest

SUMMARY_TOKENS = 1_500
"""Bound of the summary, and of the record of what was done."""


@dataclass(frozen=True, slots=True)
class TextJob:
    """One list of messages, and what a summary of it needs."""

    request: SummaryRequest
    evidence: Evidence
    spoken: tuple[str, ...]

    @classmethod
    def of(cls, messages: Sequence[BaseMessage]) -> TextJob:
        """Read a list; calls without results and the like are mended in the copy that is read."""
        repaired = repair(messages)
        whole = repaired.messages
        keys = message_keys(whole)
        spoken = tuple(text_of(message) for message in whole if is_request(message))
        found = infer(whole, keys)
        evidence = evidence_of.collect(whole, repaired.units, Evidence())
        request = SummaryRequest(
            evicted=tuple(whole),
            sources=tuple(keys),
            previous=None,
            max_tokens=SUMMARY_TOKENS,
            count=counter_for(),
            language=language_of(" ".join(spoken[-8:]) or " ".join(map(text_of, whole[:20]))),
        )
        return cls(request, evidence.model_copy(update={"inferred": found, "inferred_shown": len(open_inferred(found))}), spoken)

    def checked(self, draft: SummaryDraft) -> SummaryDraft:
        """Return a draft that is a summary of the messages.

        Raises:
            InvalidSummaryError: it is none.
        """
        texts = [text_of(message) for message in self.request.evicted if not is_synthetic(message)]
        reason = refusal(draft, evicted_characters=sum(map(len, texts)), evicted_has_evidence=any(text.strip() for text in texts))
        if reason is not None:
            msg = f"The draft is no summary of the messages ({reason}). Nothing of it is used; ask again or use another summarizer."
            raise InvalidSummaryError(msg, reason=reason)
        return draft

    def text(self, draft: SummaryDraft) -> str:
        """Return what a model is to see: the record of what was done, then the summary."""
        request = self.request
        cleaned = clean(
            draft,
            Sources.of(request.evicted, request.sources),
            previous=None,
            original_goal=self.spoken[0] if self.spoken else "",
            language=request.language,
            requests=self.spoken[-INTENTS_KEPT:],
        )
        summary = bounded_summary(cleaned.summary, version=1, max_tokens=request.max_tokens, count=request.count)
        evidence = bounded_evidence(self.evidence, max_tokens=request.max_tokens, count=request.count)
        parts = [render_summary(summary, version=1)]
        if evidence.actions or evidence.artifacts or evidence.inferred_shown:
            parts.insert(0, render_evidence(evidence))
        return "\n\n".join(parts)

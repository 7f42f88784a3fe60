"""A draft -> the view it would make: cleaned, bounded, compiled, fitted to the budget, and the verdict on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from langchain_core.messages import BaseMessage, ToolMessage

from langchain_ctxguard.core.bounds import bounded_evidence, bounded_summary
from langchain_ctxguard.core.clean import Cleaned, clean
from langchain_ctxguard.core.compile import Compiled, rendered, rendered_digests
from langchain_ctxguard.core.effects import CountTokens
from langchain_ctxguard.core.identity import make_cut, message_keys
from langchain_ctxguard.core.lexicon import language_of
from langchain_ctxguard.core.material import Bounds, Material
from langchain_ctxguard.core.provenance import Sources, folded
from langchain_ctxguard.core.render import render_rules, rules_fingerprint
from langchain_ctxguard.core.roles import is_request, text_of
from langchain_ctxguard.core.situation import Plan, Situation
from langchain_ctxguard.domain.context import ContextBody, ContextHead
from langchain_ctxguard.domain.summary import Fact, StructuredSummary, SummaryDraft
from langchain_ctxguard.domain.value import canonical_json, digest_of


@dataclass(frozen=True, slots=True)
class Candidate:
    """A version that could be committed."""

    head: ContextHead
    view: Compiled
    tokens: int
    cleaned: Cleaned
    dropped_keys: int
    repaired: int
    """How many texts to keep were missing from the summary and were put in verbatim."""


@dataclass(frozen=True, slots=True)
class Bench:
    """Everything a candidate is made of but the draft."""

    situation: Situation
    plan: Plan
    material: Material
    bounds: Bounds
    count: CountTokens

    def cleaned(self, draft: SummaryDraft, sources: Sources) -> Cleaned:
        """Return the summary a draft amounts to. An empty draft carries the summary in force on."""
        previous = self._previous
        spoken = [text_of(message) for message in self.material.evicted if is_request(message)]
        goal = (previous.original_goal if previous is not None else "") or (spoken[0] if spoken else "")
        language = language_of(" ".join(spoken[-8:])) or (None if previous is None else previous.language)
        if draft.is_empty and previous is not None:
            draft = _carrying(previous)
        rules = tuple(rule.text for rule in self.situation.rules)
        return clean(draft, sources, previous=previous, original_goal=goal, language=language, rules=rules)

    def candidate(self, cleaned: Cleaned, sources: Sources, *, dropped_keys: int = 0) -> Candidate:
        """Return the version a cleaned summary makes."""
        head, view, tokens = self._fitted(cleaned.summary)
        lost = [text for text in self.plan.must_keep if _is_lost(text, view, sources)]
        if lost:
            facts = (*cleaned.summary.facts, *(_carried(text, sources) for text in lost))
            head, view, tokens = self._fitted(cleaned.summary.model_copy(update={"facts": facts}))
        return Candidate(head, view, tokens, cleaned, dropped_keys, len(lost))

    def verdict(self, done: Candidate, *, tokens_before: int, is_full: bool) -> str | None:
        """Return why a candidate is refused, or `None`."""
        limit = self.plan.limit
        if limit is not None and done.tokens > limit:
            return f"The compacted view holds {done.tokens} tokens and the budget is {limit}."
        gain = tokens_before - done.tokens
        least = self.plan.settings.min_gain * self.material.tokens
        # In a full window a small gain that fits is better than none; only growth is refused.
        if gain <= 0 or (gain < least and not is_full):
            return f"The compaction would save {gain} of the {self.material.tokens} tokens it evicts; at least {int(least)} are asked for."
        return None

    @property
    def sources(self) -> Sources:
        """What the evicted messages say, by key."""
        return Sources.of(self.material.evicted, self.material.sources)

    @property
    def _previous(self) -> StructuredSummary | None:
        body = self.situation.head.body
        return None if body is None else body.summary

    def _fitted(self, summary: StructuredSummary) -> tuple[ContextHead, Compiled, int]:
        """Return head, view and tokens with summary and evidence shrunk until the view fits the goal, or they can shrink no further."""
        bounds, goal = self.bounds, self.plan.goal
        head, view = self._built(summary, bounds)
        tokens = self._tokens(view)
        for _ in range(8):
            if goal is None or tokens <= goal or head.body is None:
                break
            used = [self.count([message]) for message in rendered(head.body, version=head.version)]
            if not used:
                break
            over = tokens - goal
            evidence_used = min(bounds.evidence, used[0]) if len(used) > 1 else 0
            evidence = max(0, evidence_used - over)
            rest = over - (evidence_used - evidence)
            narrower = replace(bounds, evidence=evidence, summary=max(bounds.floor // 2, min(bounds.summary, used[-1]) - rest))
            if narrower == bounds:
                break
            bounds = narrower
            head, view = self._built(summary, bounds)
            tokens = self._tokens(view)
        return head, view, tokens

    def _tokens(self, view: Compiled) -> int:
        return self.count(view.all) + self.plan.tool_tokens

    def _built(self, summary: StructuredSummary, bounds: Bounds) -> tuple[ContextHead, Compiled]:
        situation, material = self.situation, self.material
        version = situation.head.version + 1
        summary = bounded_summary(summary, version=version, max_tokens=bounds.summary, count=self.count)
        evidence = bounded_evidence(material.evidence, max_tokens=bounds.evidence, count=self.count)
        tail = situation.tail[material.raw_at :]
        start = situation.start + material.raw_at
        keys = message_keys(tail, start=start)
        # Named as the original has it: in the repaired order another message may be the last one.
        gone = situation.tail[: material.raw_at]
        evicted = message_keys(gone, start=situation.start)[-1] if gone else situation.head.cut.evicted
        cut = make_cut(tail, keys, 0, start=start).model_copy(update={"evicted": evicted})
        seed = canonical_json([self.plan.nonce, version, cut.model_dump(), summary.model_dump(mode="json"), evidence.model_dump(mode="json")])
        body = ContextBody(
            summary=summary,
            evidence=evidence,
            summary_id=f"ctx-{digest_of(seed)[:24]}",
            request=material.request_key,
            elided={call_id: limit for call_id, limit in material.elided.items() if call_id in _call_ids(tail)},
            committed_at=keys[-1] if keys else None,
            rules_fingerprint=rules_fingerprint(situation.rules),
        )
        body = body.model_copy(update={"rendered": rendered_digests(body, render_rules(situation.rules), version=version)})
        head = ContextHead(version=version, cut=cut, body=body)
        return head, situation.view(head, material.request, tail)


def _carrying(summary: StructuredSummary) -> SummaryDraft:
    return SummaryDraft(
        user_intent=summary.user_intent,
        pending_items=summary.pending_items,
        facts=summary.facts,
        decisions=summary.decisions,
        open_questions=summary.open_questions,
    )


def _is_lost(text: str, view: Compiled, sources: Sources) -> bool:
    plain = folded(text)
    if not plain or any(plain in folded(text_of(message)) for message in view.messages):
        return False
    return any(plain in spoken for spoken in sources.texts.values())


def _carried(text: str, sources: Sources) -> Fact:
    key = next(key for key, spoken in sources.texts.items() if folded(text) in spoken)
    return Fact(statement=text, said_by=sources.origins[key], source=key)


def _call_ids(messages: Sequence[BaseMessage]) -> set[str]:
    return {message.tool_call_id for message in messages if isinstance(message, ToolMessage)}

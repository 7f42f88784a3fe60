"""A draft -> the view it would make: cleaned, bounded, compiled, fitted to the budget, and the verdict on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.bounds import bounded_evidence, bounded_summary, text_tokens, with_files_listed
from langchain_ctxguard.core.clean import Cleaned, clean
from langchain_ctxguard.core.compile import Compiled, rendered, rendered_digests
from langchain_ctxguard.core.effects import CountTokens
from langchain_ctxguard.core.evidence import listed_files
from langchain_ctxguard.core.identity import ANCHORS, is_synthetic, make_cut, message_keys
from langchain_ctxguard.core.lexicon import is_acknowledgement, language_of
from langchain_ctxguard.core.material import Bounds, Material, results_by_id
from langchain_ctxguard.core.merge import INTENTS_KEPT, Passed, merge
from langchain_ctxguard.core.provenance import Sources, folded
from langchain_ctxguard.core.render import EARLIER_SHOWN, render_fact, render_rules, rules_fingerprint
from langchain_ctxguard.core.results import own_words
from langchain_ctxguard.core.roles import escaped, is_request, text_of
from langchain_ctxguard.core.situation import Plan, Situation
from langchain_ctxguard.domain.context import ContextBody, ContextHead, Cut
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

    lost: int = 0
    """How many of them found no room."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """What stays of the conversation, the same whatever the summary says."""

    tail: Sequence[BaseMessage]
    cut: Cut
    newest: str | None
    elided: dict[str, int]


@dataclass(frozen=True)
class Bench:
    """Everything a candidate is made of but the draft."""

    situation: Situation
    plan: Plan
    material: Material
    bounds: Bounds
    count: CountTokens

    def cleaned(self, draft: SummaryDraft, sources: Sources) -> Cleaned:
        """Return the summary a draft amounts to, merged with the one in force. An empty draft carries that on."""
        previous = self._previous
        spoken = [own_words(message) for message in self.material.evicted if is_request(message)]
        asked = [text for text in spoken if not is_acknowledgement(text)] or spoken
        goal = (previous.original_goal if previous is not None else "") or (asked[0] if asked else "")
        rules = tuple(rule.text for rule in self.situation.rules)
        cleaned = clean(
            draft,
            sources,
            previous=previous,
            original_goal=goal,
            language=language_of(" ".join(spoken[-8:])),
            rules=rules,
            requests=_recent(asked, sum(len(text_of(message)) for message in self.material.evicted) // _RECENT_SHARE),
        )
        merged = merge(cleaned.summary, previous, self._passed, is_told=not draft.is_empty)
        return replace(cleaned, summary=merged.summary, restored=merged.restored, summaries=merged.summaries)

    @cached_property
    def _passed(self) -> Passed:
        material = self.material
        messages, keys = material.repaired.messages[material.at :], material.keys[material.at :]
        return Passed.of(material.evicted, material.sources, messages, keys, state_plan=self.plan.todos)

    def candidate(self, cleaned: Cleaned, sources: Sources, *, dropped_keys: int = 0) -> Candidate:
        """Return the version a cleaned summary makes."""
        made = self._fitted(cleaned.summary, self.bounds)
        lost = _lost(self.plan.must_keep, made[1], sources)
        missing = lost
        for summary, bounds in self._carrying(lost, cleaned.summary, sources):
            again = self._fitted(summary, bounds)
            still = _lost(lost, again[1], sources)
            if len(still) < len(missing):
                made, missing = again, still
            if not missing:
                break
        return Candidate(*made, cleaned, dropped_keys, len(lost) - len(missing), len(missing))

    def _carrying(self, lost: Sequence[str], summary: StructuredSummary, sources: Sources) -> Iterator[tuple[StructuredSummary, Bounds]]:
        """Yield summaries with the lost texts as facts, and their bounds: first everything, then less and less of what the summarizer told."""
        if not lost:
            return
        facts = tuple(_carried(text, sources) for text in lost)
        yield summary.model_copy(update={"facts": (*summary.facts, *facts)}), self.bounds
        # The bound is ours to stretch, the goal is not.
        room = sum(text_tokens(self.count, f"- {render_fact(fact)}\n") for fact in facts)
        stretched = replace(self.bounds, summary=self.bounds.summary + room)
        left = max(self.bounds.floor, self.bounds.summary - room)
        shorter = bounded_summary(summary, version=self.situation.head.version + 1, max_tokens=left, count=self.count)
        yield shorter.model_copy(update={"facts": (*shorter.facts, *facts)}), stretched
        yield StructuredSummary(facts=facts, language=summary.language), stretched

    def verdict(self, done: Candidate, *, tokens_before: int, is_full: bool) -> str | None:
        """Return why a candidate is refused, or `None`."""
        limit = self.plan.limit
        if limit is not None and done.tokens > limit:
            return f"The compacted view holds {done.tokens} tokens and the budget is {limit}."
        if done.lost and not is_full:
            return f"{done.lost} of the texts to keep found no room in the compacted view."
        gain = tokens_before - done.tokens
        least = self.plan.settings.min_gain * self.material.tokens
        # In a full window a small gain that fits is better than none; only growth is refused.
        if gain <= 0 or (gain < least and not is_full):
            return f"The compaction would save {gain} of the {self.material.tokens} tokens it evicts; at least {int(least)} are asked for."
        return None

    @cached_property
    def sources(self) -> Sources:
        """What the evicted messages and the carried request say, by key: what a user still asks for, no tool has found out."""
        messages, keys = self.material.evicted, self.material.sources
        request, key = self.material.request, self.material.request_key
        if request is not None and key is not None and key not in keys:
            messages, keys = (request, *messages), (key, *keys)
        return Sources.of(messages, keys)

    @property
    def _previous(self) -> StructuredSummary | None:
        body = self.situation.head.body
        return None if body is None else body.summary

    @cached_property
    def _kept(self) -> _Kept:
        situation, material = self.situation, self.material
        tail = situation.tail[material.raw_at :]
        start = situation.start + material.raw_at
        keys = message_keys(tail[:ANCHORS], start=start)
        # Named as the original has it: in the repaired order another message may be the last one.
        evicted = _key_before(situation, material.raw_at)
        cut = make_cut(tail[:ANCHORS], keys, 0, start=start).model_copy(update={"evicted": evicted})
        newest = _key_before(situation, len(situation.tail)) if tail else None
        shown = results_by_id(material.repaired.messages[material.at :])
        return _Kept(tail, cut, newest, {call_id: limit for call_id, limit in material.elided.items() if call_id in shown})

    def _fitted(self, summary: StructuredSummary, bounds: Bounds) -> tuple[ContextHead, Compiled, int]:
        """Return head, view and tokens with summary and evidence shrunk until the view fits the goal, or they can shrink no further."""
        goal = self.plan.goal
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
        situation, material, kept = self.situation, self.material, self._kept
        version = situation.head.version + 1
        evidence = bounded_evidence(material.evidence, max_tokens=bounds.evidence, count=self.count)
        evidence = with_files_listed(evidence, max_tokens=bounds.summary, count=self.count)
        summary = bounded_summary(summary, version=version, max_tokens=bounds.summary, count=self.count, files=listed_files(evidence))
        seed = canonical_json([self.plan.nonce, version, kept.cut.model_dump(), summary.model_dump(mode="json"), evidence.model_dump(mode="json")])
        body = ContextBody(
            summary=summary,
            evidence=evidence,
            summary_id=f"ctx-{digest_of(seed)[:24]}",
            request=material.request_key,
            elided=kept.elided,
            committed_at=kept.newest,
            rules_fingerprint=rules_fingerprint(situation.rules),
        )
        body = body.model_copy(update={"rendered": rendered_digests(body, render_rules(situation.rules), version=version)})
        head = ContextHead(version=version, cut=kept.cut, body=body)
        return head, situation.view_of(head, material.request, kept.tail)


_RECENT_SHARE = 20
"""Requests before the last one stand in the summary as long as they are no larger than one part in so many of what was evicted."""


def _recent(requests: Sequence[str], room: int) -> list[str]:
    """Return the last request, and those before it that are cheap beside what leaves the view; oldest first."""
    recent = list(requests[-1:])
    for text in reversed(requests[-INTENTS_KEPT:-1]):
        room -= min(len(text), EARLIER_SHOWN)
        if room < 0:
            break
        recent.insert(0, text)
    return recent


def _key_before(situation: Situation, at: int) -> str | None:
    """Return the key of the message before `tail[at]`, or of the last one evicted earlier."""
    if at == 0:
        return situation.head.cut.evicted
    before = sum(not is_synthetic(message) for message in situation.tail[: at - 1])
    return message_keys(situation.tail[at - 1 : at], start=situation.start + before)[0]


def _lost(texts: Sequence[str], view: Compiled, sources: Sources) -> list[str]:
    """Return those of `texts` that the sources say and the view does not."""
    if not texts:
        return []
    # No text reaches over a line break: what is folded holds none.
    shown = "\n".join(folded(text_of(message)) for message in view.messages)
    said = "\n".join(sources.texts.values())
    return [text for text in texts if (plain := folded(text)) and plain not in shown and folded(escaped(text)) not in shown and plain in said]


def _carried(text: str, sources: Sources) -> Fact:
    plain = folded(text)
    key = next(key for key, spoken in sources.texts.items() if plain in spoken)
    return Fact(statement=text, said_by=sources.origins[key], source=key)

"""What people laid down along the way is quoted in a room of its own: it was said once, and what is not quoted is lost."""

from __future__ import annotations

from dataclasses import replace

from langchain_ctxguard.core.bounds import bounded_evidence, text_tokens
from langchain_ctxguard.core.effects import CountTokens
from langchain_ctxguard.core.identity import is_synthetic
from langchain_ctxguard.core.material import Bounds, Material
from langchain_ctxguard.core.render import open_inferred, render_evidence
from langchain_ctxguard.core.roles import speaker_of, text_of
from langchain_ctxguard.core.situation import Plan
from langchain_ctxguard.domain.evidence import Evidence

_SHARE = 0.25
"""Part of the context that quotes may take where nobody set a budget; of more the newest are shown and the others counted."""

_ENDS = (".", "!", "?", ";", "。", "！", "？", "；")
_BARE_FROM = 8
"""Within a budget quotes lose the names of their messages where they would take more than one part in so many."""


def with_quotes(bounds: Bounds, material: Material, plan: Plan, count: CountTokens, *, tokens_before: int) -> tuple[Bounds, Material]:
    """Return the bounds with room for the rules people said, and the material with how they are quoted.

    Within a caller's budget all of them have room, or nothing is compacted: whether a rule is one of the few that matter here, nobody knows. Where
    the bounds are ours, they take a share of the context at most.
    """
    shown = material.evidence.inferred_shown
    if not shown:
        return bounds, material
    alone = Evidence(inferred=material.evidence.inferred, inferred_shown=shown)
    needed = text_tokens(count, render_evidence(alone))
    if not plan.is_callers_budget:
        context = tokens_before if plan.goal is None else min(tokens_before, plan.goal)
        share = int(_SHARE * context)
        if needed <= share:
            return _beside_the_record(bounds, material, needed), material
        # Better without the names of messages than without the words.
        material, needed = _bare(material, alone, count)
        return _beside_the_record(bounds, material, min(needed, share)), material
    if needed * _BARE_FROM > (plan.goal or 0):
        material, needed = _bare(material, alone, count)
    return _beside_the_record(bounds, material, needed), material


def _bare(material: Material, alone: Evidence, count: CountTokens) -> tuple[Material, int]:
    """Return the material with quotes that name no message, and what they take."""
    needed = text_tokens(count, render_evidence(alone.model_copy(update={"inferred_bare": True})))
    return replace(material, evidence=material.evidence.model_copy(update={"inferred_bare": True})), needed


def _beside_the_record(bounds: Bounds, material: Material, quoted: int) -> Bounds:
    """Return the bounds with room for the quotes that takes nothing from the record of what was done."""
    evidence = material.evidence
    has_record = bool(evidence.actions or evidence.artifacts or evidence.references)
    more = quoted if has_record else 0
    return replace(bounds, quoted=quoted, evidence=bounds.evidence - bounds.beside + more, beside=more)


def shown_beside(bounds: Bounds, material: Material, count: CountTokens) -> tuple[str, ...]:
    """Return what the view shows word for word beside a summary: the quotes that have room, and what people and the assistant say in what stays."""
    kept = [
        text_of(message)
        for message in material.repaired.messages[material.at :]
        if speaker_of(message) in ("user", "ai") and not is_synthetic(message)
    ]
    if not material.evidence.inferred_shown:
        return tuple(kept)
    evidence = bounded_evidence(material.evidence, max_tokens=bounds.evidence, count=count, quoted_tokens=bounds.quoted)
    waiting = open_inferred(evidence.inferred)
    # In quotation marks nobody can tell where a value ends that ends the rule: "must be exactly: # header".
    quoted = (rule.text for rule in waiting[len(waiting) - evidence.inferred_shown :] if rule.text.endswith(_ENDS))
    return (*quoted, *kept)

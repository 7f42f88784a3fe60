"""A version in the tight form: one message, one frame, what people said last and in their own words.

The ordinary form puts a mark of standing before every line and a frame around evidence and summary each. Under a short budget that is the room of
several rules. Here a heading says once what the marks say: what was done and found out stands first, and below the heading of the users nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from langchain_ctxguard.core.lexicon import claims_authority
from langchain_ctxguard.core.provenance import folded
from langchain_ctxguard.core.render import USER_CLAIMS, as_shown, evidence_body, named, one_line, open_inferred, summary_body
from langchain_ctxguard.core.roles import SUMMARY
from langchain_ctxguard.core.text import readable
from langchain_ctxguard.core.tight_lines import CLOSING, OPENING, factored, lead
from langchain_ctxguard.domain.context import TightForm
from langchain_ctxguard.domain.control import ControlField
from langchain_ctxguard.domain.evidence import Evidence
from langchain_ctxguard.domain.inferred import InferredConstraint
from langchain_ctxguard.domain.summary import Fact, StructuredSummary, Trust


def is_said(fact: Fact) -> bool:
    """Say whether a fact is what a person said, in their words and unchecked: it stands below their heading."""
    return fact.said_by == "user" and fact.source is not None and fact.status is Trust.CLAIMED


def render_tight(summary: StructuredSummary, evidence: Evidence, tight: TightForm, *, copy: Sequence[str] = ()) -> str:
    """Return the one message of a version in the tight form."""
    said = factored([*_lines(summary.facts, evidence)])
    # What a person said of a value stands among their words.
    others = tuple(field.field_id for field in _carried(evidence) if field.origin != "user")
    parts = evidence_body(evidence.model_copy(update={"inferred_shown": 0, "carried": others}), copy)
    told = beside(summary)
    parts += [] if told.is_empty else [summary_body(told)]
    if said or tight.left_out:
        parts += [lead(tight.left_out), *said]
    inside = "\n".join(parts)
    return f"{OPENING}\n{inside}\n</{SUMMARY}>\n{CLOSING}"


def beside(summary: StructuredSummary) -> StructuredSummary:
    """Return what of a summary stands above the words of people: what a tool or the assistant told, plans, open questions.

    The requests of people are among their words where they say more than that something was asked; a decision they took is one of their sentences.
    """
    words = "\n".join(folded(fact.statement) for fact in summary.facts if is_said(fact))
    return summary.model_copy(
        update={
            "original_goal": "",
            "user_intent": (),
            "pending_items": tuple(item for item in summary.pending_items if item.asked_by != "user"),
            "facts": tuple(fact for fact in summary.facts if not is_said(fact)),
            "decisions": tuple(one for one in summary.decisions if not (one.said_by == "user" and folded(one.chosen) in words)),
            "left_out": None,
        }
    )


def _lines(facts: Iterable[Fact], evidence: Evidence) -> Iterable[str]:
    """Yield what people said, the sentences of one message on one line; a rule that none of them holds is one more, and so is a value."""
    by_source: dict[str, list[str]] = {}
    claiming: set[str] = set()
    rules = open_inferred(evidence.inferred)[-evidence.inferred_shown :] if evidence.inferred_shown else ()
    shown_as = {folded(text): shown_rule(rule, evidence) for rule in rules for text in (rule.text, shown_rule(rule, evidence))}
    told: list[str] = []
    for fact in facts:
        if is_said(fact) and fact.source is not None:
            words = folded(fact.statement)
            told.append(words)
            by_source.setdefault(fact.source, []).append(shown_as.get(words, fact.statement))
            if words not in shown_as and claims_authority(fact.statement):
                claiming.add(fact.source)
    plain = {folded(rule.text) for rule in rules} | set(told)
    whole = "\n".join(told)
    for rule in rules:
        if folded(rule.text) not in whole and (words := folded(shown_rule(rule, evidence))) not in whole and not is_restated(words, plain):
            own = by_source.setdefault(rule.source, [])
            own.insert(0 if rule.start == 0 else len(own), shown_rule(rule, evidence))
    for source, sentences in by_source.items():
        line = one_line(readable(_HAN_END.sub(r"\1", " ".join(sentences))))
        yield f"{line} {USER_CLAIMS}" if source in claiming else line
    yield from (f"{named(field)}: {one_line(readable(field.raw))}" for field in _carried(evidence) if field.origin == "user")


def _carried(evidence: Evidence) -> list[ControlField]:
    by_id = {field.field_id: field for field in evidence.fields}
    return [as_shown(by_id[name], evidence.retold) for name in evidence.carried if name in by_id]


_HAN_END = re.compile(r"([。！？；]) ")
_MARK = re.compile(r"\[(?:now: |现为：)([^\]]*)\]")


def is_restated(text: str, others: Collection[str]) -> bool:
    """Say whether a text, with its outdated value marked by the one that holds, says the same as another; all of them folded."""
    plain = folded(_MARK.sub(r"\1", text))
    return plain != text and plain in others


def shown_rule(rule: InferredConstraint, evidence: Evidence) -> str:
    """Return a rule as it is shown: marked where it tells a value that holds no longer."""
    return evidence.retold.get(rule.inferred_id, rule.text)

"""Rules before a compaction and after it: declared ones, or those people said and stressed in the conversation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.infer import infer, superseding
from langchain_ctxguard.core.retention import check_retention, offending_sentences
from langchain_ctxguard.domain.audit import AuditFinding, Level, Loss
from langchain_ctxguard.domain.constraint import Constraint, Severity
from langchain_ctxguard.domain.control import ControlField, FieldKind
from langchain_ctxguard.domain.inferred import InferredConstraint
from langchain_ctxguard.domain.origin import Origin
from langchain_ctxguard.domain.retention import Retention, RetentionFinding

MOST = 500
"""Rules said in a conversation that an audit looks for, the newest."""

_LOSSES = {
    Retention.DROPPED: Loss.LOST,
    Retention.WEAKENED: Loss.WEAKENED,
    Retention.CONTRADICTED: Loss.CONTRADICTED,
    Retention.MUTATED: Loss.CHANGED,
}
_ITEM = re.compile(
    r"^\s*(?:[-*•]\s*)?(?:(?:rule|agreement)\s+)?"
    r"(?:\d{1,3}[.)、）:：](?!\d)|[（(][\d一二三四五六七八九十]{1,3}[)）]|[①-⑳]|[一二三四五六七八九十]{1,3}、"
    r"|第[\d一二三四五六七八九十]{1,3}[条点][:：,，、 ])\s*",
    re.IGNORECASE,
)
_SOFT = frozenset({"preference", "correction"})
_SEVERE = frozenset({Severity.CRITICAL, Severity.HIGH})


class HeldRule(NamedTuple):
    """A rule that stood in the context, and where it was said."""

    rule_id: str
    text: str
    kind: str
    level: Level
    label: str = ""
    said_by: Origin | None = None
    message_index: int | None = None
    message_id: str | None = None


class Rules:
    """The rules held so far, while a run is read."""

    def __init__(self, declared: Sequence[Constraint] | None) -> None:
        """Look for the declared rules; for those people say where none are declared."""
        self._declared = None if declared is None else tuple(declared)
        self._inferred: tuple[InferredConstraint, ...] = ()
        self._held: dict[str, HeldRule] = {}

    def read(self, messages: Sequence[BaseMessage], keys: Sequence[str], *, start: int) -> None:
        """Take in further messages, the first of them at position `start`."""
        if self._declared is not None:
            self._note_declared(self._declared, messages, keys, start)
            return
        found = infer(messages, keys, start=start)
        self._inferred = tuple(superseding((*self._inferred, *found)))[-MOST:]

    def _note_declared(self, declared: Sequence[Constraint], messages: Sequence[BaseMessage], keys: Sequence[str], start: int) -> None:
        wanted = [rule for rule in declared if rule.constraint_id not in self._held]
        if not wanted or not messages:
            return
        by_id = {rule.constraint_id: rule for rule in wanted}
        for finding in check_retention(wanted, messages, with_kept=True):
            if finding.retention.is_kept:
                at = finding.message_index
                level = Level.CRITICAL if by_id[finding.constraint_id].severity in _SEVERE else Level.WARNING
                where = (None, None) if at is None else (start + at, keys[at])
                said_by: Origin = "system" if finding.where in {"pinned", "system"} else "user"
                self._held[finding.constraint_id] = HeldRule(
                    finding.constraint_id, finding.text, "declared", level, finding.constraint_id, said_by, *where
                )

    def held(self, stressed: Sequence[ControlField] = (), choices: Sequence[ControlField] = ()) -> list[HeldRule]:
        """Return the rules held now: no correction that is a choice, and of the stressed sentences those that are no inferred rule."""
        if self._declared is not None:
            return list(self._held.values())
        chosen: dict[str | None, list[ControlField]] = {}
        for choice in choices:
            chosen.setdefault(choice.message_id, []).append(choice)
        said = [
            _inferred_rule(rule)
            for rule in self._inferred
            if rule.kind not in _SOFT or not any(choice.raw in rule.text for choice in chosen.get(rule.source, ()))
        ]
        taken: dict[str, list[InferredConstraint]] = {}
        for rule in self._inferred:
            taken.setdefault(rule.source, []).append(rule)
        return said + [_stressed_rule(field) for field in stressed[-MOST:] if not _is_said(field, taken.get(field.message_id or "", ()))]

    def undeclared(self) -> tuple[Constraint, ...]:
        """Return the declared rules that nothing read so far says."""
        return tuple(rule for rule in self._declared or () if rule.constraint_id not in self._held)

    def forget(self, rule_ids: set[str]) -> None:
        """Let go of rules that are there no longer: they are lost once."""
        self._inferred = tuple(rule for rule in self._inferred if rule.inferred_id not in rule_ids)
        for rule_id in rule_ids & self._held.keys():
            del self._held[rule_id]


def _inferred_rule(rule: InferredConstraint) -> HeldRule:
    level = Level.WARNING if rule.kind in _SOFT or rule.expires_with_task else Level.CRITICAL
    return HeldRule(rule.inferred_id, rule.text, rule.kind, level, "", "user", rule.position, rule.source)


def _stressed_rule(field: ControlField) -> HeldRule:
    level = Level.WARNING if field.is_weak or not field.critical else Level.CRITICAL
    return HeldRule(field.field_id, field.raw, "stressed", level, "", field.origin, field.source_turn, field.message_id)


def _is_said(field: ControlField, rules: Sequence[InferredConstraint]) -> bool:
    """Say whether a stressed sentence of a message is one of the rules inferred from it."""
    assert field.kind is FieldKind.EMPHASIS  # noqa: S101 - the caller chose
    return any(field.raw in rule.text or rule.text.strip(" .。!！") in field.raw for rule in rules)


def lost_rules(
    held: Sequence[HeldRule], others: Sequence[Constraint], after: Sequence[BaseMessage], summary: str
) -> Iterator[tuple[str, AuditFinding]]:
    """Yield the id of each rule that is not there as it was, with what became of it.

    Args:
        held: Rules that stood in the context before.
        others: Declared rules that did not: they cannot be lost, but what came in may contradict them.
        after: The context after.
        summary: The text of the summary in it, empty where there is none.
    """
    by_id = {rule.rule_id: rule for rule in held}
    kept: list[dict[str, str]] = []
    for finding in check_retention([{"constraint_id": rule.rule_id, "text": _bare(rule)} for rule in held], after, with_kept=True):
        rule = by_id[finding.constraint_id]
        if finding.retention.is_kept:
            kept.append({"constraint_id": rule.rule_id, "text": finding.text})
        else:
            yield rule.rule_id, _as_finding(rule, finding)
    if not summary:
        return
    named = {rule.constraint_id: HeldRule(rule.constraint_id, rule.text, "declared", Level.WARNING, rule.constraint_id) for rule in others}
    told: set[str] = set()
    for sentence, rule_id, retention in offending_sentences([*kept, *others], summary):
        if rule_id in told or (rule_id in named and retention is Retention.WEAKENED):
            continue
        told.add(rule_id)
        rule = by_id.get(rule_id) or named[rule_id]
        # The rule itself still stands beside the sentence that speaks against it.
        yield "", _finding(rule, _LOSSES[retention], "summary_disagrees", sentence, Level.WARNING)


def _bare(rule: HeldRule) -> str:
    """Return the words of a rule said as an item of a list, without its number: another list may count otherwise."""
    return rule.text if rule.kind in {"declared", "stressed"} else _ITEM.sub("", rule.text, count=1) or rule.text


def _as_finding(rule: HeldRule, found: RetentionFinding) -> AuditFinding:
    return _finding(rule, _LOSSES[found.retention], found.reason, found.sentence, rule.level)


def _finding(rule: HeldRule, loss: Loss, reason: str, now: str | None, level: Level) -> AuditFinding:
    return AuditFinding(
        subject="constraint", loss=loss, level=level, kind=rule.kind, text=rule.text, label=rule.label, reason=reason, now=now,
        said_by=rule.said_by, message_index=rule.message_index, message_id=rule.message_id,
    )  # fmt: skip

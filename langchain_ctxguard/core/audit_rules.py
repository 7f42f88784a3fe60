"""Rules before a compaction and after it: declared ones, or those people said and stressed in the conversation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.audit_told import is_ours, is_told
from langchain_ctxguard.core.infer import infer, superseding
from langchain_ctxguard.core.retention import check_retention, offending_sentences
from langchain_ctxguard.core.retention_text import sentences_of
from langchain_ctxguard.core.roles import is_request, speaker_of, text_of
from langchain_ctxguard.domain.audit import AuditFinding, Level, Loss
from langchain_ctxguard.domain.constraint import Constraint, Severity
from langchain_ctxguard.domain.control import ControlField, FieldKind
from langchain_ctxguard.domain.inferred import InferredConstraint
from langchain_ctxguard.domain.origin import Origin
from langchain_ctxguard.domain.retention import Retention, RetentionFinding
from langchain_ctxguard.domain.value import digest_of

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
        self._said: set[str] = set()

    def read(self, messages: Sequence[BaseMessage], keys: Sequence[str], *, start: int) -> None:
        """Take in further messages, the first of them at position `start`."""
        asked = (text_of(message) for message in messages if is_request(message) or speaker_of(message) == "system")
        self._said |= {digest_of(sentence.line) for text in asked for sentence in sentences_of(text)}
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

    def is_said(self, sentence: str) -> bool:
        """Say whether people said a sentence, word for word: where it stands again, it stands for itself and not in the place of a rule."""
        found = sentences_of(sentence)
        return bool(found) and all(digest_of(one.line) in self._said for one in found)

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
    held: Sequence[HeldRule], others: Sequence[Constraint], after: Sequence[BaseMessage], *, is_said: Callable[[str], bool]
) -> Iterator[tuple[str, AuditFinding]]:
    """Yield the id of each rule that is not there as it was, with what became of it.

    Args:
        held: Rules that stood in the context before.
        others: Declared rules that did not: they cannot be lost, but what came in may contradict them.
        after: The context after, messages of ours as quotes.
        is_said: Says whether people, the application among them, said a sentence before.
    """
    quoted = _spaced("\n".join(text_of(message) for message in after if is_ours(message) or not is_told(message)))

    def is_quote(sentence: str | None) -> bool:
        return sentence is not None and _spaced(sentence) in quoted and is_said(sentence)

    by_id = {rule.rule_id: rule for rule in held}
    kept: list[dict[str, str]] = []
    for finding in check_retention([{"constraint_id": rule.rule_id, "text": _bare(rule)} for rule in held], after, with_kept=True):
        rule = by_id[finding.constraint_id]
        if finding.retention.is_kept:
            kept.append({"constraint_id": rule.rule_id, "text": finding.text})
        elif is_quote(finding.sentence):
            # Another sentence of a person's, whole: it neither weakens the rule nor speaks against it. The rule itself is not there.
            yield rule.rule_id, _finding(rule, Loss.LOST, "absent", None, rule.level)
        else:
            yield rule.rule_id, _as_finding(rule, finding)
    summary = "\n".join(text_of(message) for message in after if is_told(message))
    if not summary:
        return
    named = {rule.constraint_id: HeldRule(rule.constraint_id, rule.text, "declared", Level.WARNING, rule.constraint_id) for rule in others}
    told: set[str] = set()
    for sentence, rule_id, retention in offending_sentences([*kept, *others], summary):
        if rule_id in told or (rule_id in named and retention is Retention.WEAKENED) or is_quote(sentence):
            continue
        told.add(rule_id)
        rule = by_id.get(rule_id) or named[rule_id]
        # The rule itself still stands beside the sentence that speaks against it.
        yield "", _finding(rule, _LOSSES[retention], "summary_disagrees", sentence, Level.WARNING)


def _spaced(text: str) -> str:
    return " ".join(text.split())


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

"""What a compaction lost, weakened or contradicted: the context before it held against the context after it, whoever compacted.

Both sides are read by the same rules. No model is asked, and nothing here depends on how the compaction was made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.audit_fields import Fields, Seen, lost_choices, lost_values, seen_in
from langchain_ctxguard.core.audit_files import Files, lost_files
from langchain_ctxguard.core.audit_own import as_quotes
from langchain_ctxguard.core.audit_pending import Pending, lost_items
from langchain_ctxguard.core.audit_rules import Rules, lost_rules
from langchain_ctxguard.core.audit_steps import Mark, Step, steps_of
from langchain_ctxguard.core.audit_told import as_summary, is_told
from langchain_ctxguard.core.dialect import read_messages
from langchain_ctxguard.core.evidence import paths_in
from langchain_ctxguard.core.extract import extract_fields
from langchain_ctxguard.core.field_text import folded
from langchain_ctxguard.core.identity import message_keys
from langchain_ctxguard.core.normalize import key_of
from langchain_ctxguard.core.roles import calls_of, speaker_of, text_of
from langchain_ctxguard.domain.audit import Audit, AuditFinding, Level, Loss, Subject
from langchain_ctxguard.domain.constraint import Constraint
from langchain_ctxguard.domain.control import ControlField

_SUBJECTS: tuple[Subject, ...] = ("must_keep", "constraint", "decision", "field", "pending", "file")


def audit(
    before: Sequence[Any],
    after: Sequence[Any] | str,
    *,
    constraints: Sequence[Constraint | str] | None = None,
    must_keep: Sequence[str] = (),
) -> Audit:
    """Return what became of a context's content when it was compacted.

    Args:
        before: The messages before, in any form LangChain accepts.
        after: The messages after, or the summary alone as a text.
        constraints: Rules to look for; `None` looks for those people said in `before`.
        must_keep: Texts that must stand verbatim in `after` if they did in `before`.

    Raises:
        ConfigurationError: an item is no message.

    >>> found = audit([("human", "Never delete an order. The budget is 500 EUR.")], "Orders may be deleted. Budget: 5000 EUR.")
    >>> [(finding.subject, finding.loss.value, finding.text) for finding in found.critical]
    [('constraint', 'contradicted', 'Never delete an order.'), ('field', 'changed', '500 EUR')]
    """
    told = [as_summary(after)] if isinstance(after, str) else read_messages(after)
    trail = Trail(constraints, must_keep)
    messages = read_messages(before)
    for start, stop in _without_summaries(messages):
        trail.read(messages[start:stop], start=start)
    return trail.judge(told, messages_before=len(messages))


def _without_summaries(messages: Sequence[BaseMessage]) -> Iterator[tuple[int, int]]:
    """Yield the ranges between summaries that stand behind what they summarize; one that begins a list is all there is of its past."""
    start, has_past = 0, False
    for index, message in enumerate(messages):
        if not is_told(message):
            has_past = has_past or speaker_of(message) != "system"
        elif has_past:
            yield start, index
            start = index + 1
    yield start, len(messages)


def _told_once(findings: list[AuditFinding]) -> list[AuditFinding]:
    """Return the findings without the milder of two about one path, which a text named and a call touched."""
    worst: dict[str, AuditFinding] = {}
    for finding in findings:
        if finding.subject in {"field", "file"}:
            known = worst.get(finding.text)
            worst[finding.text] = finding if known is None or finding.level.rank < known.level.rank else known
    touched = {finding.text for finding in findings if finding.subject == "file"}
    return [found for found in findings if found.text not in touched or found.subject not in {"field", "file"} or worst[found.text] is found]


class Audited(NamedTuple):
    """One compaction of a run and its audit, `None` where the file does not hold enough: the step says why."""

    step: Step
    audit: Audit | None


def audit_run(
    messages: Sequence[BaseMessage],
    marks: Sequence[Mark],
    *,
    is_snapshot: bool = False,
    constraints: Sequence[Constraint | str] | None = None,
    must_keep: Sequence[str] = (),
) -> Iterator[Audited]:
    """Yield the audit of each compaction of a run. What one of them lost is not lost again by the next.

    Args:
        messages: The run as recorded.
        marks: Where its context was compacted.
        is_snapshot: See `steps_of`.
        constraints: As `audit` takes them.
        must_keep: As `audit` takes them.
    """
    trail = Trail(constraints, must_keep)
    for step in steps_of(messages, marks, is_snapshot=is_snapshot):
        for start, stop in step.fresh:
            trail.read(messages[start:stop], start=start)
        if step.why_not:
            yield Audited(step, None)
            continue
        after = [as_summary(text_of(messages[index])) if index == step.mark.summary else messages[index] for index in step.after]
        yield Audited(step, trail.judge(after, messages_before=len(step.before)))


class Review(NamedTuple):
    """A value or decision that was held before a compaction, with what became of it: for a person to check."""

    field: ControlField
    level: Level
    became: Literal["kept", "changed", "lost"]
    now: str | None = None
    """What stands in its place."""


class Trail:
    """What a run's context holds, read message by message; each compaction is judged against it."""

    def __init__(self, constraints: Sequence[Constraint | str] | None = None, must_keep: Sequence[str] = ()) -> None:
        """Begin with an empty context."""
        declared = None if constraints is None else [Constraint.from_text(rule) if isinstance(rule, str) else rule for rule in constraints]
        self._rules = Rules(declared)
        self._fields = Fields()
        self._files = Files()
        self._pending = Pending()
        self._must_keep = tuple(text for text in must_keep if text.strip())
        self._must_kept: dict[str, tuple[int, BaseMessage, str]] = {}

    def read(self, messages: Sequence[BaseMessage], *, start: int) -> None:
        """Take in messages that came into the context, the first of them at position `start` of the run."""
        keys = message_keys(messages, start=start)
        self._rules.read(messages, keys, start=start)
        self._fields.read(messages, keys, self._must_keep, start=start)
        self._files.read(messages, keys, start=start)
        self._pending.read(messages, keys, start=start)
        for wanted in self._must_keep:
            if wanted not in self._must_kept:
                plain = folded(wanted)
                found = next((index for index, message in enumerate(messages) if plain in folded(text_of(message))), None)
                if found is not None:
                    self._must_kept[wanted] = (start + found, messages[found], keys[found])

    def review(self, after: Sequence[BaseMessage]) -> list[Review]:
        """Return every value and decision held, with what became of it in `after`."""
        seen = seen_in(after)
        values = self._fields.values
        found = {change.before.field_id: change for change in self._fields.changes(seen)}
        gone = {choice.field_id for choice, _ in lost_choices(self._fields, seen)}
        reviews = []
        for field in (*values, *self._fields.choices):
            change = found.get(field.field_id)
            now = None if change is None else change.found if change.after is None else change.after.raw
            is_gone = field.field_id in gone or (change is not None and now is None)
            reviews.append(Review(field, self._fields.level_of(field), "lost" if is_gone else "kept" if change is None else "changed", now))
        return reviews

    def judge(self, after: Sequence[BaseMessage], *, messages_before: int) -> Audit:
        """Return what is not in `after` as it was, and let go of it."""
        seen = seen_in(after)
        held = self._held()
        findings = [*self._lost_texts(seen), *self._lost_rules(seen), *self._lost_fields(seen), *self._lost_items(seen)]
        findings = _told_once([*findings, *self._lost_files(seen)])
        findings.sort(key=lambda found: (found.level.rank, _SUBJECTS.index(found.subject), found.message_index or 0))
        return Audit(findings=tuple(findings), held=held, messages_before=messages_before, messages_after=len(after))

    def _held(self) -> dict[Subject, int]:
        counts: dict[Subject, int] = {
            "must_keep": len(self._must_kept),
            "constraint": len(self._rules.held(self._fields.stressed, self._fields.choices)),
            "decision": len(self._fields.choices),
            "field": len(self._fields.values),
            "pending": len(self._pending.held),
            "file": len(self._files.held),
        }
        return counts

    def _lost_texts(self, seen: Seen) -> list[AuditFinding]:
        keys = {key_of(field) for field in seen.fields}
        findings = []
        for wanted, (index, message, key) in list(self._must_kept.items()):
            values = [field for field in extract_fields(wanted) if field.raw == wanted.strip()]
            if folded(wanted) in seen.text or any(key_of(field) in keys for field in values):
                continue
            del self._must_kept[wanted]
            findings.append(
                AuditFinding(
                    subject="must_keep", loss=Loss.LOST, level=Level.CRITICAL, kind="text", text=wanted,
                    said_by=speaker_of(message), message_index=index, message_id=key,
                )
            )  # fmt: skip
        return findings

    def _lost_rules(self, seen: Seen) -> list[AuditFinding]:
        held = self._rules.held(self._fields.stressed, self._fields.choices)
        quotes = [as_quotes(message) for message in seen.messages]
        lost = list(lost_rules(held, self._rules.undeclared(), quotes, is_said=self._rules.is_said))
        gone = {rule_id for rule_id, _ in lost}
        self._rules.forget(gone)
        self._fields.forget(gone)
        return [finding for _, finding in lost]

    def _lost_fields(self, seen: Seen) -> list[AuditFinding]:
        changes = self._fields.changes(seen)
        choices = list(lost_choices(self._fields, seen))
        findings = [*lost_values(self._fields, changes), *(finding for _, finding in choices)]
        self._fields.forget({change.before.field_id for change in changes} | {choice.field_id for choice, _ in choices})
        return findings

    def _lost_items(self, seen: Seen) -> list[AuditFinding]:
        lost = list(lost_items(self._pending.held, seen.text, seen.summary))
        self._pending.forget({item for item, _ in lost})
        return [finding for _, finding in lost]

    def _lost_files(self, seen: Seen) -> list[AuditFinding]:
        kept = {path for message in seen.messages for call in calls_of(message) for path in paths_in(call.arguments)}
        lost = list(lost_files(self._files.held, seen.text, kept))
        self._files.forget({finding.text for finding in lost})
        return lost

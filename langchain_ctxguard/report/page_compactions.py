"""The part about compactions: what each lost, repaired or changed, where that came from, and both sides of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from langchain_ctxguard.core.roles import EVIDENCE, SUMMARY
from langchain_ctxguard.core.text import clipped
from langchain_ctxguard.domain.audit import AuditFinding, Level
from langchain_ctxguard.domain.version import Outcome
from langchain_ctxguard.report.anchors import Anchors
from langchain_ctxguard.report.document import Block, Fold, Inline, Items, Line, Link, Mark, Paragraph, Said, Section, Sides, Table, Tone
from langchain_ctxguard.report.story import Compaction, Fate, Message, Report
from langchain_ctxguard.report.words import OUTCOMES, count, listed, moment

_SENTENCE = 240
_FINDINGS = 60
_NUMERIC = frozenset({2, 3, 4, 5})
_NAME, _NAMES = 60, 4
_SPEAKERS = {"user": "user", "ai": "assistant", "tool": "tool", "system": "system", "told": "what stands in their place", "erased": "erased"}
_OURS = {EVIDENCE: "evidence: copied from the messages", SUMMARY: "summary: told by the summarizer"}
_SUBJECTS = {"constraint": "rule", "field": "value", "decision": "decision", "file": "file", "pending": "open item", "must_keep": "wanted text"}
_TONES: dict[Level, Tone] = {Level.CRITICAL: "bad", Level.WARNING: "warn", Level.NOTE: "dim"}
_OUTCOME_TONES: dict[Outcome, Tone] = {
    Outcome.ACCEPTED: "good",
    Outcome.REPAIRED: "good",
    Outcome.RETRIED: "good",
    Outcome.FELL_BACK: "warn",
    Outcome.REJECTED: "bad",
    Outcome.SKIPPED: "dim",
}


def compactions_section(report: Report, anchors: Anchors) -> Section:
    """Return the part about compactions."""
    if not report.compactions:
        none = "No compaction is on record." if report.source == "thread" else "This file records no compaction."
        return Section("compactions", "Compactions: what was lost, repaired or changed", [Paragraph(none)])
    table = _table(report)
    folds = [Fold(_title(one), list(_blocks(one, anchors)), anchor=f"compaction-{one.number}") for one in report.compactions]
    return Section("compactions", "Compactions: what was lost, repaired or changed", [table, *folds])


def message_blocks(messages: Iterable[Message], anchors: Anchors) -> list[Block]:
    """Return messages as they are shown, with places to link to."""
    return [_message(one, anchors) for one in messages]


def summed(one: Compaction) -> str:
    """Return in words what became of what mattered in a compaction."""
    if one.counts is None:
        found = [finding for finding in one.audit if finding.level is not Level.NOTE]
        if one.audit_note and not one.audit:
            return one.audit_note
        if not found:
            return "nothing of weight was lost"
        by_loss: dict[str, int] = {}
        for finding in found:
            by_loss[finding.loss.value] = by_loss.get(finding.loss.value, 0) + 1
        return listed([f"{number:,} {loss}" for loss, number in by_loss.items()])
    if one.outcome is Outcome.REJECTED:
        return "it was refused, so nothing changed"
    counts = one.counts
    parts = [f"{counts.kept:,} of {count(counts.before, 'critical value')} told as before"] if counts.before else []
    parts += [f"{counts.repaired:,} repaired"] if counts.repaired else []
    parts += [f"{counts.changed:,} told otherwise by the draft"] if counts.changed else []
    parts += [f"{counts.lost:,} lost"] if counts.lost else ["none lost"] if counts.before else ["no critical value was at stake"]
    return listed(parts)


def named(one: Compaction) -> str:
    """Return by name what a compaction lost, repaired or changed; empty where no name is on record, or it was refused."""
    return "" if one.outcome is Outcome.REJECTED else _names(one)


def _table(report: Report) -> Table:
    # A transcript does not say what was repaired, nor how it ended.
    left_out = {1, 4} if report.source == "file" else set[int]()
    head = ["Compaction", "Outcome", "Tokens", "Left the view", "Repaired", "Lost" if report.source == "thread" else "Grave findings", "By name"]
    columns = [column for column in range(len(head)) if column not in left_out]
    rows = [[cells[column] for column in columns] for cells in map(_row, report.compactions)]
    numeric = frozenset(place for place, column in enumerate(columns) if column in _NUMERIC)
    return Table("Every attempt, oldest first", [head[column] for column in columns], rows, numeric=numeric)


def _row(one: Compaction) -> list[Line]:
    repaired = "" if one.counts is None else f"{one.counts.repaired:,}"
    lost = _critical(one.audit) if one.counts is None else one.counts.lost
    version: list[Inline] = [] if one.version is None else [Mark(f" version {one.version}", "dim")]
    return [
        [Link(f"{one.number}", f"compaction-{one.number}"), *version],
        [_outcome(one)],
        f"{one.tokens_before:,} \u2192 {one.tokens_after:,}"
        if one.tokens_after and one.outcome is not Outcome.REJECTED
        else f"{one.tokens_before:,}",
        "" if one.outcome is Outcome.REJECTED else f"{one.evicted:,}",
        repaired,
        [Mark(f"{lost:,}", "bad")] if lost else "0",
        named(one),
    ]


def _critical(findings: Sequence[AuditFinding]) -> int:
    return sum(finding.level is Level.CRITICAL for finding in findings)


def _outcome(one: Compaction) -> Inline:
    if one.outcome is None:
        return Mark("recorded", "dim")
    return Mark(OUTCOMES[one.outcome], _OUTCOME_TONES[one.outcome])


def _title(one: Compaction) -> list[Inline]:
    version = "" if one.version is None else f", version {one.version}"
    when = f", {moment(one.at)}" if one.at is not None else ""
    outcome: list[Inline] = [": ", _outcome(one)] if one.outcome is not None else []
    return [Mark(f"Compaction {one.number}{version}", "strong"), when, *outcome, f" \u2014 {summed(one)}"]


def _blocks(one: Compaction, anchors: Anchors) -> Iterator[Block]:
    yield Paragraph(_about(one))
    if one.fates:
        yield from _fates(one, anchors)
    yield from _rules(one)
    if one.audit or one.audit_note:
        yield from _audited(one, anchors)
    if one.notes:
        yield Fold("Further numbers of the record", [Items(one.notes)])
    if one.before or one.after or one.before_note or one.after_note:
        yield _sides(one, anchors)


def _about(one: Compaction) -> str:
    parts = [f"Started by {one.trigger}."] if one.trigger else []
    if one.outcome is not Outcome.REJECTED:
        parts.append(f"{count(one.evicted, 'message').capitalize()} left the view and {count(one.kept, 'message')} stayed.")
        parts += [f"{one.tokens_before:,} tokens became {one.tokens_after:,}."] if one.tokens_after else []
    parts += [f"Summarized by {one.strategy}."] if one.strategy else []
    parts += [f"{one.reason[:1].upper()}{one.reason[1:].removesuffix('.')}."] if one.reason else []
    parts += [f"It ended with {one.error}."] if one.error else []
    parts += [f"Consents that crossed unchanged: {listed(list(one.consents))}."] if one.consents else []
    return " ".join(parts)


def _fates(one: Compaction, anchors: Anchors) -> Iterator[Block]:
    head = ["What became of it", "Value", "Where it came from", "What the draft did"]
    yield Table("Critical values the summary alone would have lost or changed", head, [_fate_row(one, fate, anchors) for fate in one.fates])
    if one.fates_left_out:
        yield Paragraph(f"{one.fates_left_out:,} more are only counted on record.")


def _fate_row(one: Compaction, fate: Fate, anchors: Anchors) -> list[Line]:
    if one.outcome is Outcome.REJECTED:
        what: Inline = Mark("kept: the attempt was refused", "good")
    else:
        what = {
            "repaired": Mark("repaired: carried word for word", "good"),
            "lost": Mark("lost", "bad"),
            "changed": Mark("changed", "bad"),
        }[fate.what]
    label: list[Inline] = [Mark(f" {fate.label}", "dim")] if fate.label else []
    value: list[Inline] = [Mark(fate.value, "code")] if fate.value is not None else [Mark("not kept", "dim")]
    sentence: list[Inline] = [f" \u201c{clipped(fate.sentence, _SENTENCE)}\u201d"] if fate.sentence and fate.sentence != fate.value else []
    return [
        [what],
        [Mark(f"{fate.kind} ", "dim"), *value, *label],
        [*_source(fate.position, fate.said_by, anchors), *sentence],
        fate.how or "left it out",
    ]


def _source(position: int | None, said_by: str | None, anchors: Anchors) -> list[Inline]:
    who = f", said by the {_SPEAKERS.get(said_by or '', said_by)}" if said_by else ""
    return [f"a message no longer kept{who}"] if position is None else [anchors.link(position), who]


def _rules(one: Compaction) -> Iterator[Block]:
    if one.rules_put_back:
        yield Paragraph(f"Rules the view no longer held were put back: {listed(list(one.rules_put_back))}.")
    if one.rules_missing:
        yield Paragraph([Mark(f"Rules missing afterwards: {listed(list(one.rules_missing))}.", "bad")])
    elif one.rules_in_force and one.outcome is not Outcome.REJECTED:
        yield Paragraph(f"All {count(one.rules_in_force, 'rule')} in force stood in the view afterwards, word for word.")


def _audited(one: Compaction, anchors: Anchors) -> Iterator[Block]:
    if not one.audit:
        yield Paragraph(one.audit_note)
        return
    head = ["Weight", "What", "Now", "Where it came from"]
    table = Table("Both texts held against each other, without the record", head, [_finding_row(found, anchors) for found in one.audit[:_FINDINGS]])
    more = len(one.audit) - _FINDINGS
    rest: list[Block] = [Paragraph(f"{count(more, 'more finding')} of less weight.")] if more > 0 else []
    note: list[Block] = [Paragraph(one.audit_note)] if one.audit_note else []
    if one.counts is None:
        yield from [*note, table, *rest]
        return
    title = f"What a reading of the texts finds besides: {count(_critical(one.audit), 'grave finding')}, {len(one.audit):,} in all"
    yield Fold(title, [*note, table, *rest])


def _finding_row(found: AuditFinding, anchors: Anchors) -> list[Line]:
    label: list[Inline] = [Mark(f" {found.label}", "dim")] if found.label else []
    what: list[Inline] = [Mark(f"{_SUBJECTS[found.subject]} {found.loss.value} ", "strong"), f"\u201c{clipped(found.text, _SENTENCE)}\u201d", *label]
    return [
        [Mark(found.level.value, _TONES[found.level])],
        what,
        clipped(found.now or "", _SENTENCE),
        _source(found.message_index, found.said_by, anchors),
    ]


def _sides(one: Compaction, anchors: Anchors) -> Block:
    before: list[Block] = [*([Paragraph(one.before_note)] if one.before_note else []), *message_blocks(one.before, anchors)]
    after: list[Block] = [
        *([Paragraph(one.after_note)] if one.after_note else []),
        *message_blocks(one.after, anchors),
    ]
    if not one.before and not one.before_note:
        before.append(Paragraph("Nothing left the view."))
    sides = Sides(f"Before: {count(len(one.before), 'message')} as they were", "After: what stands in their place", before, after)
    return Fold("Before and after, side by side", [sides])


def _message(one: Message, anchors: Anchors) -> Said:
    number = "" if one.position is None else f"{one.position + 1:,} \u00b7 "
    answers = f" \u00b7 answers {one.answers}" if one.answers else ""
    who = _OURS.get(one.name) or _SPEAKERS.get(one.speaker, one.speaker) + (f" {one.name}" if one.name else "")
    notes = [f"calls {call}" for call in one.calls]
    notes += [f"{one.left_out:,} more characters found no room on this page"] if one.left_out else []
    notes += ["This message was erased."] if one.is_erased else []
    return Said(anchor=anchors.take(one.position), speaker=one.speaker, title=f"{number}{who}{answers}", text=one.text, notes=notes)


def _names(one: Compaction) -> str:
    """Return what a compaction lost, repaired or changed, by name and source."""
    if one.counts is None:
        more = len(one.audit) - _NAMES
        return "; ".join(map(_finding_name, one.audit[:_NAMES])) + (f" and {more} more" if more > 0 else "")
    parts = []
    for what in ("lost", "changed", "repaired"):
        names = [_name(fate) for fate in one.fates if fate.what == what]
        if names:
            more = len(names) - _NAMES
            parts.append(f"{what}: {', '.join(names[:_NAMES])}{f' and {more} more' if more > 0 else ''}")
    return "; ".join(parts)


def _finding_name(found: AuditFinding) -> str:
    source = "" if found.message_index is None else f" (message {found.message_index + 1:,})"
    return f"{_SUBJECTS[found.subject]} \u201c{clipped(found.text, _NAME)}\u201d {found.loss.value}{source}"


def _name(fate: Fate) -> str:
    source = "" if fate.position is None else f" (message {fate.position + 1:,})"
    return " ".join(filter(None, (fate.label or fate.kind, clipped(fate.value or "", _NAME)))) + source

"""The part about rules: which stood where, when, and how far each is more than words."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_ctxguard.report.document import Block, Fold, Inline, Items, Line, Mark, Paragraph, Section, Table, Tone
from langchain_ctxguard.report.story import Report, Rule, Stretch
from langchain_ctxguard.report.words import spans

TITLE = "Rules: which stood where, and what makes them hold"
_TONES: dict[str, Tone] = {"enforced": "good", "checked": "good", "shown": "warn", "unenforced": "bad", "unknown": "dim"}
_KINDS = {"enforced": "enforced", "checked": "checked", "shown": "shown only", "unenforced": "not enforced", "unknown": "not on record"}


def rules_section(report: Report) -> Section:
    """Return the part about rules."""
    note: list[Block] = [Paragraph(report.rules_note)] if report.rules_note else []
    if not report.rules:
        none = "No rule is on record." if report.source == "thread" else "Nobody said a rule in it."
        return Section("rules", TITLE, [*note, Paragraph(none)])
    if report.source == "file":
        return Section("rules", TITLE, [*note, _said(report)])
    where = f"Where it stood, by {report.unit}"
    table = Table(
        f"{where}. A rule shown to a model is in its input; only what code checks is enforced",
        ["Rule", "What makes it hold", where],
        [_row(rule) for rule in report.rules],
    )
    history = [
        Fold(f"{rule.reference.rpartition('@')[0]}: what happened to it in the registry", [Items(rule.history)]) for rule in _changed(report.rules)
    ]
    return Section("rules", TITLE, [*note, table, *history])


def where_words(stretches: Sequence[Stretch]) -> str:
    """Return where a rule stood, the longest stretches of one place first said once."""
    by_place: dict[tuple[int, int, bool], list[tuple[int, int]]] = {}
    for one in stretches:
        by_place.setdefault((one.place, one.of, one.is_reminded), []).append((one.first, one.last))
    parts = []
    for (place, of, is_reminded), found in by_place.items():
        seat = f"system message, {place} of {of}" if place else "conversation"
        reminded = ", and once more behind the last message" if is_reminded else ""
        parts.append(f"{spans(found)}: {seat}{reminded}")
    return "; ".join(parts)


def _changed(rules: Sequence[Rule]) -> list[Rule]:
    """Return one rule of each id that has a history."""
    found: dict[str, Rule] = {}
    for rule in rules:
        if rule.history:
            found.setdefault(rule.reference.rpartition("@")[0], rule)
    return list(found.values())


def _row(rule: Rule) -> list[Line]:
    text: list[Inline] = [rule.text] if rule.text is not None else [Mark("its text is not on record", "dim")]
    about = " \u00b7 ".join(filter(None, (rule.authority, rule.severity)))
    return [
        [Mark(rule.reference, "code"), " ", *text],
        [Mark(rule.sentence or _KINDS[rule.kind], _TONES[rule.kind]), Mark(f" \u00b7 {about}" if about else "", "dim")],
        where_words(rule.stretches) or "in no moment on record",
    ]


def _said(report: Report) -> Block:
    rows: list[list[Line]] = [
        [
            [rule.text or "", Mark(f" {rule.reference}", "dim")],
            spans([(one.first, one.last) for one in rule.stretches]) or "not found",
            [Mark(rule.sentence, "bad" if " in compaction " in rule.sentence else "dim")],
        ]
        for rule in report.rules
    ]
    return Table("Rules, and between which messages they stood", ["Rule", "Messages", "What became of it"], rows)

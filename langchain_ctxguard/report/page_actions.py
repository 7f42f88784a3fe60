"""The parts about actions and consents: who allowed what, and on which words that rests."""

from __future__ import annotations

from langchain_ctxguard.core.text import clipped
from langchain_ctxguard.report.document import Block, Fold, Inline, Items, Line, Mark, Paragraph, Section, Table, Tone
from langchain_ctxguard.report.story import Action, Report, Word
from langchain_ctxguard.report.words import count, listed, moment

_TITLE = "Actions: who allowed them"
_TONES: dict[str | None, Tone] = {"allow": "good", "ask": "warn", "deny": "bad", None: "dim"}
_VERDICTS = {"allow": "allowed", "ask": "a person decides", "deny": "denied", None: "no verdict"}
_ROWS = 1_000
_NOTABLE = 200
_ARGUMENTS = 160


def actions_section(report: Report) -> Section:
    """Return the part about tool calls."""
    note: list[Block] = [Paragraph(report.actions_note)] if report.actions_note else []
    if not report.actions:
        return Section("actions", _TITLE, note or [Paragraph("No tool call is on record.")])
    notable = [action for action in report.actions if action.is_notable][-_NOTABLE:]
    folds: list[Block] = [] if report.source == "file" else [_fold(action) for action in notable]
    rows = [_row(action) for action in report.actions[-_ROWS:]]
    left = len(report.actions) - len(rows)
    head = (
        ["Call", "Tool and arguments", "Verdict", "Who allowed it"]
        if report.source == "thread"
        else ["Call", "Tool and arguments", "What came of it"]
    )
    table = Table("Every call, oldest first", head, rows if report.source == "thread" else [_plain_row(action) for action in report.actions[-_ROWS:]])
    rest: list[Block] = [Paragraph(f"{left:,} earlier calls found no room on this page.")] if left else []
    if folds:
        lead = Paragraph(f"{count(len(folds), 'call')} with more to say than a rule and a yes:")
        return Section("actions", _TITLE, [*note, lead, *folds, Fold(f"All {count(len(rows), 'call')}", [table, *rest])])
    shown: Block = table if len(rows) <= 25 else Fold(f"All {count(len(rows), 'call')}", [table])  # noqa: PLR2004 - a screenful
    return Section("actions", _TITLE, [*note, shown, *rest])


def consents_section(report: Report) -> Section:
    """Return the part about consents."""
    title = "Consents: what was granted, by whom, and what carried it"
    if not report.consents:
        return Section("consents", title, [Paragraph(report.consents_note or "No consent is on record.")])
    head = ["Entry", "Field and value", "Word", "When", "On what basis, recorded by", "Carried by compaction"]
    return Section(
        "consents", title, [Table("Every word on record that counts in this thread, oldest first", head, list(map(_word, report.consents)))]
    )


def _row(action: Action) -> list[Line]:
    return [[Mark(action.call_id, "code")], _call(action), [_verdict(action)], action.allowed_by]


def _verdict(action: Action) -> Mark:
    return Mark("answered", "warn") if action.is_answered else Mark(_VERDICTS[action.decision], _TONES[action.decision])


def _plain_row(action: Action) -> list[Line]:
    return [[Mark(action.call_id, "code")], _call(action), "; ".join(step.text for step in action.steps)]


def _call(action: Action) -> list[Inline]:
    arguments: list[Inline] = [f" {clipped(action.arguments, _ARGUMENTS)}"] if action.arguments else [Mark(" arguments not kept", "dim")]
    return [Mark(action.tool, "strong"), *arguments]


def _fold(action: Action) -> Fold:
    title: list[Inline] = [
        Mark(action.tool, "strong"),
        " ",
        Mark(action.call_id, "code"),
        f" {moment(action.at)} ",
        _verdict(action),
        f" \u2014 {action.allowed_by}",
    ]
    blocks: list[Block] = []
    if action.arguments is not None:
        blocks.append(Paragraph(["With ", Mark(action.arguments, "code")]))
    blocks.append(Table("Step by step", ["When", "What"], [[moment(step.at), step.text] for step in action.steps]))
    if action.chain:
        lead: list[Inline] = ["The chain of records behind it"] if action.holds else [Mark("The chain behind it does not hold", "bad")]
        blocks += [Paragraph(lead), Items([line.strip() for line in action.chain])]
    return Fold(title, blocks)


def _word(word: Word) -> list[Line]:
    value: list[Inline] = [Mark(word.value, "code")] if word.value is not None else [Mark("no value, or it was erased", "dim")]
    standing: list[Inline] = [Mark(" in force", "good")] if word.is_in_force else []
    until = f", until {moment(word.expires_at)}" if word.expires_at is not None else ""
    scope = "in all threads" if word.thread is None else "in this thread"
    through = f" through {word.surface}" if word.surface else ""
    return [
        f"{word.seq}",
        [word.field, " ", *value],
        [word.status.value, *standing],
        f"{moment(word.at)}{until}, {scope}",
        f"{word.basis}; {word.subject}, recorded by {word.recorded_by}{through}",
        listed([str(number) for number in word.crossed]) or "\u2013",
    ]

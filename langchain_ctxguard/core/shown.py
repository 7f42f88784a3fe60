"""A compaction -> its words, for hooks that were asked to show them."""

from __future__ import annotations

from collections.abc import Callable

from langchain_ctxguard.core.candidate import Bench
from langchain_ctxguard.core.compile import rendered
from langchain_ctxguard.core.redact import Redaction
from langchain_ctxguard.core.render import render_summary
from langchain_ctxguard.core.roles import calls_of, text_of
from langchain_ctxguard.core.situation import Compacted
from langchain_ctxguard.domain.control import ControlField, FieldChange
from langchain_ctxguard.domain.shown import CompactionTexts, ShownField, ShownMessage
from langchain_ctxguard.domain.summary import SummaryDraft


def leaving_texts(bench: Bench) -> CompactionTexts:
    """Return what is about to leave the view, as the redactor leaves it, and the summary in force."""
    previous = bench.material.previous
    evicted = []
    for message in bench.material.evicted:
        calls = [f"{call.name}({call.arguments_text})" for call in calls_of(message)]
        text = "\n".join(part for part in (text_of(message), *calls) if part)
        evicted.append(ShownMessage(message_id=message.id, role=message.type, text=text))
    before = "" if previous is None else render_summary(previous, version=bench.situation.head.version)
    return CompactionTexts(evicted=tuple(evicted), summary_before=before)


def draft_texts(draft: SummaryDraft) -> CompactionTexts:
    """Return what a summarizer answered."""
    return CompactionTexts(draft=draft.model_dump(mode="json", exclude_defaults=True))


def result_texts(bench: Bench, result: Compacted) -> CompactionTexts:
    """Return what the model reads from now on, and what became of the control fields."""
    # Fields of messages that stay were never seen by the redactor.
    redact = bench.plan.redact
    said: Callable[[str], str] = (lambda text: text) if redact is None else Redaction(redact).text
    body = result.head.body if result.is_new else None
    shown = [] if body is None else rendered(body, version=result.head.version)
    gone = {change.before.field_id for change in result.diff}
    fields = [
        *(_changed(change, "lost", said) for change in result.diff.lost),
        *(_changed(change, "changed", said) for change in result.diff.changed),
        *(_field(one, said, became="added") for one in result.diff.added),
        *(_field(one, said) for one in result.fields if one.field_id not in gone),
    ]
    return CompactionTexts(summary_after="\n\n".join(said(text_of(message)) for message in shown), fields=tuple(fields))


def _changed(change: FieldChange, became: str, said: Callable[[str], str]) -> ShownField:
    other = change.found if change.after is None else change.after.raw
    return _field(change.before, said, became=became).model_copy(update={"other": None if other is None else said(other)})


def _field(field: ControlField, said: Callable[[str], str], *, became: str | None = None) -> ShownField:
    return ShownField(kind=field.kind.value, label=said(field.label), value=said(field.raw), became=became, is_critical=field.critical)

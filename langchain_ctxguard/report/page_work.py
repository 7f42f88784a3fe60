"""The part about a coding agent's work: how well it came through, its log, what was handed over, what the workspace was found to be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from langchain_ctxguard.core.text import clipped
from langchain_ctxguard.domain.work_metrics import ELEMENTS, Recovery, Share, WorkMetrics
from langchain_ctxguard.domain.worklog import WorkState, trace_name
from langchain_ctxguard.report.document import Block, Fold, Inline, Items, Line, Mark, Paragraph, Section, Table, Tone
from langchain_ctxguard.report.story_work import HandedOver, Reconciled, Work, WorkStep
from langchain_ctxguard.report.words import count, moment

TITLE = "The work: what took effect, what was handed over, what the workspace said"
_ROWS = 500
"""Rows of the log on a page, newest."""

_TEXT = 600
_OPEN = 25
"""Rows that are shown without a fold."""

_ERASED = Mark("its words were erased", "dim")
_TONES: dict[WorkState, Tone] = {WorkState.DONE: "good", WorkState.NEXT: "warn", WorkState.BLOCKED: "bad", WorkState.DECIDED: "strong"}
_BY = {"harness": "seen by the harness", "agent": "said by the agent", "person": "said by a person"}
_REASONS = {"compaction": "before a compaction", "phase": "at the end of a stage", "asked": "asked for"}
_SHOWN = {"goal": "goal", "done": "done", "pending": "pending", "anchors": "anchors", "do_not": "do-not"}
_QUIET = frozenset({"noticed", "search_seen"})
"""Events that are counted, and have no row: every compaction and every search is one."""


def work_sections(work: Work | None) -> tuple[Section, ...]:
    """Return the part about work, none where nothing of it is on record."""
    if work is None:
        return ()
    note: list[Block] = [Paragraph(work.note)] if work.note else []
    blocks = [*note, *_numbers(work), *_log(work.steps), *_handed_over(work.handed_over), *_reconciled(work.reconciled)]
    return (Section("work", TITLE, blocks),)


def work_words(work: Work) -> str:
    """Return in a sentence what was done and how it came through."""
    done = sum(one.state is WorkState.DONE for one in work.steps)
    against = sum(len(one.contradictions) for one in work.reconciled if one.kind == "stated")
    parts = [f"{count(done, 'step')} of work took effect", f"{count(len(work.handed_over), 'hand-over')} {_were(len(work.handed_over))} made"]
    if against:
        parts.append(f"{count(against, 'file')} {_were(against)} not as the log says")
    text = f"{'; '.join(parts)}."
    return text[:1].upper() + text[1:]


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


def _numbers(work: Work) -> Iterator[Block]:
    if work.metrics is None:
        return
    rows = [*_of_record(work.metrics), *(_of_steps(work.metrics) if work.is_counted_in_messages else ())]
    if work.metrics_note:
        yield Paragraph(work.metrics_note)
    yield Table("How the work came through", ["What", "Number", "What it counts"], rows, numeric=frozenset({1}))
    if work.metrics.recoveries:
        head = ["Version", "Hand-over", *(_SHOWN[element] for element in ELEMENTS), "of 5"]
        ways: Sequence[int | None] = work.metrics.steps_to_first_correct if work.is_counted_in_messages else ()
        recovered = [_recovery(one, ways[at] if at < len(ways) else None, is_known=bool(ways)) for at, one in enumerate(work.metrics.recoveries)]
        yield Table(
            "What each compacted context showed of the hand-over made before it",
            [*head, "Steps to the first right one"],
            recovered,
            numeric=frozenset(range(1, len(head) + 1)),
        )


def _of_record(metrics: WorkMetrics) -> Iterator[list[Line]]:
    scores = [one.score for one in metrics.recoveries]
    yield ["Compactions", f"{metrics.compactions:,}", "contexts that were held against the hand-over made before them"]
    if scores:
        yield ["Recovery elements, worst", f"{min(scores):.1f}", "of 5: goal, done, pending, anchors, do-not, as a compacted context shows them"]
    yield _counted("Reopened decisions", metrics.reopened_decisions, "proposals and decisions for what had been turned down")
    yield _counted("Finished work called open", metrics.finished_called_open, "items of hand-overs that the log has finished")


def _of_steps(metrics: WorkMetrics) -> Iterator[list[Line]]:
    yield ["Steps", f"{metrics.steps:,}", "tool calls, those about the work itself left out"]
    yield _counted("Constraint breaks", metrics.constraint_breaks, "calls a rule refused")
    yield _counted("Repeated edits", metrics.repeated_edits, "calls that would do again what was done and not undone")
    yield _counted("Repeated searches", metrics.repeated_searches, "the same look with no change between")
    yield _counted("Failed steps", metrics.failed_steps, "calls that ran and failed")
    yield _counted("Wasted steps", metrics.wasted_steps, "failed, refused or held, repeated or reopened, each once")
    stage = "none" if metrics.first_failure is None else f"{metrics.first_failure:,}"
    yield ["Stage of the first wasted step", stage, "how many compactions lay before it"]


def _counted(name: str, number: int, what: str) -> list[Line]:
    return [name, [Mark(f"{number:,}", "warn")] if number else "0", what]


def _recovery(one: Recovery, way: int | None, *, is_known: bool) -> list[Line]:
    shares = [one.shown.get(element, Share()) for element in ELEMENTS]
    cells: list[Line] = [
        f"{share.found:,} of {share.total:,}" if share.found == share.total else [Mark(f"{share.found:,} of {share.total:,}", "warn")]
        for share in shares
    ]
    steps = f"{way:,}" if way is not None else "none came" if is_known else "not known"
    return [f"{one.version}", f"{one.handoff}", *cells, f"{one.score:.1f}", steps]


def _log(steps: Sequence[WorkStep]) -> Iterator[Block]:
    if not steps:
        yield Paragraph("The work log is empty.")
        return
    table = Table("Work log, oldest first", ["Line", "What", "Where", "When, and who answers for it"], list(map(_step, steps[-_ROWS:])))
    rest: list[Block] = [Paragraph(f"{len(steps) - _ROWS:,} earlier lines found no room on this page.")] if len(steps) > _ROWS else []
    yield from [table, *rest] if len(steps) <= _OPEN else [Fold(f"Work log: {count(len(steps), 'line')}", [table, *rest])]


def _step(one: WorkStep) -> list[Line]:
    what: list[Inline] = [Mark(one.state.value, _TONES[one.state]), " ", _ERASED if one.text is None else clipped(one.text, _TEXT)]
    where: list[Inline] = []
    for place in one.places:
        where += [" ", Mark(place, "code")] if where else [Mark(place, "code")]
    within = f", sub-agent {one.namespace}" if one.namespace else ""
    call = f", call {one.call_id}" if one.call_id else ""
    return [[Mark(trace_name(one.number), "code")], what, where, f"{moment(one.at)}, {_BY.get(one.said_by, 'nobody knows who')}{within}{call}"]


def _handed_over(given: Sequence[HandedOver]) -> Iterator[Block]:
    if given:
        yield Paragraph(f"{count(len(given), 'hand-over')}, oldest first:".capitalize())
    yield from map(_fold, given)


def _fold(one: HandedOver) -> Fold:
    title: list[Inline] = [Mark(f"Hand-over {one.number}", "strong"), f" {moment(one.at)} "]
    if one.is_erased:
        return Fold([*title, _ERASED], [Paragraph("That it was made stays on record; its words were erased.")], anchor=f"handoff-{one.number}")
    title.append(f"{_REASONS.get(one.reason, one.reason)}: {one.done:,} done, {len(one.not_done):,} not done, {len(one.do_not):,} not to do")
    blocks: list[Block] = [Paragraph([Mark("Goal ", "dim"), one.goal])] if one.goal else []
    if one.next_action:
        blocks.append(Paragraph([Mark("Next ", "dim"), one.next_action]))
    for name, texts in (("Not done", one.not_done), ("Do not", one.do_not), ("Decided", one.decisions)):
        if texts:
            blocks += [Paragraph([Mark(name, "dim")]), Items(texts)]
    blocks.append(Paragraph(f"Made by the {one.made_by}; it knew the log up to {trace_name(one.trace)}, and {count(one.anchors, 'anchor')}."))
    return Fold(title, blocks, anchor=f"handoff-{one.number}")


def _reconciled(events: Sequence[Reconciled]) -> Iterator[Block]:
    rows = [_event(one) for one in events if one.kind not in _QUIET]
    if rows:
        yield Table("The work log held against the workspace, oldest first", ["When", "What was found", "Files not as the log says"], rows)
    searches = sum(one.kind == "search_seen" for one in events)
    if searches:
        yield Paragraph(f"Results of searches kept, to answer the same again: {searches:,}.")


def _event(one: Reconciled) -> list[Line]:
    if one.is_erased:
        return ["", [f"{one.kind.replace('_', ' ')}: ", _ERASED], ""]
    text: list[Inline] = [Mark("Waived. ", "warn"), one.text] if one.waived_by else [one.text]
    files: list[Inline] = [Mark("; ".join(one.contradictions), "bad")] if one.contradictions else []
    return [moment(one.at), text, files]

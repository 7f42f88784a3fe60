"""A coding agent's work on the page: its log, hand-overs, reconciliations and numbers, and what was erased told as erased."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from langchain_core.messages import BaseMessage

from langchain_ctxguard import GuardStore
from langchain_ctxguard.domain.log import Entry, Stream
from langchain_ctxguard.domain.worklog import WorkState
from langchain_ctxguard.records.purge import purge_thread
from langchain_ctxguard.records.worklog import WORKLOG
from langchain_ctxguard.report.from_thread import report_of_thread
from langchain_ctxguard.report.html import render_html
from langchain_ctxguard.report.markdown import render_markdown
from langchain_ctxguard.report.pages import document_of
from langchain_ctxguard.report.story import Report
from langchain_ctxguard.report.story_work import Work
from langchain_ctxguard.report.thread_compactions import Kept
from tests.graph.models import thread
from tests.support.worked import Worked


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worked]:
    """One agent's work, for tests that only read it."""
    with GuardStore.open("memory://") as store:
        yield Worked(store, tmp_path_factory.mktemp("worked"))


@pytest.fixture(scope="module")
def report(run: Worked) -> Report:
    """What is told of it."""
    return report_of_thread(run.store, run.thread, messages=run.messages)


def work_in(report: Report) -> Work:
    """Return what is told of the work."""
    assert report.work is not None
    return report.work


def test_the_log_stands_line_by_line_under_its_numbers(run: Worked, report: Report) -> None:
    """Every line, who answers for it, where it happened."""
    steps = work_in(report).steps
    assert [entry.number for entry in run.handoff.entries(run.thread)] == [one.number for one in steps]
    assert ("edit1", "harness", ("src/cart.py",)) == (steps[0].call_id, steps[0].said_by, steps[0].places)
    assert WorkState.DECIDED is steps[1].state
    markdown, html = render_markdown(document_of(report)), render_html(document_of(report))
    for one in steps:
        assert f"`TRACE-{one.number:03d}`" in markdown
        assert f"<code>TRACE-{one.number:03d}</code>" in html
    assert "seen by the harness, call edit1" in markdown


def test_hand_overs_say_what_was_to_be_done_and_what_not(report: Report) -> None:
    """Each with its moment and reason; markup in a goal is text."""
    first, second = work_in(report).handed_over
    assert ("compaction", 3, 1) == (first.reason, first.trace, first.done)
    assert "Never touch migrations/." in first.do_not
    assert "Rename it in src/shop.py" in second.not_done
    assert any("rope (deployment size)" in one for one in second.decisions)
    html = render_html(document_of(report))
    assert 'id="handoff-2"' in html
    assert "&lt;b&gt;Keep the tests green.&lt;/b&gt;" in html


def test_reconciliations_name_contradictions_and_who_waived_them(report: Report) -> None:
    """In the order they happened: looked at, stated, held, waived."""
    told = [one for one in work_in(report).reconciled if one.kind not in {"noticed", "search_seen"}]
    assert ["began", "stated", "held", "stated", "waived"] == [one.kind for one in told]
    assert [False, False, True, True, False] == [one.is_against for one in told]
    assert "src/cart.py" in told[2].contradictions[0]
    assert "edit3" in told[2].text
    assert ("eve", True) == (told[4].waived_by, "on purpose" in told[4].text)
    markdown = render_markdown(document_of(report))
    assert "eve waived the contradictions: I put the cart back on purpose" in markdown
    assert "1 file was not as the log says" in markdown


def test_the_numbers_are_those_of_the_guard(run: Worked, report: Report) -> None:
    """Steps in vain by kind, elements by context, the way back; each named on the page."""
    metrics = work_in(report).metrics
    assert metrics == run.handoff.metrics(run.thread, run.agent.get_state(thread()).values)
    assert metrics is not None
    assert (2, 0, 1, 1, 1, 1) == (
        metrics.compactions, metrics.constraint_breaks, metrics.repeated_edits, metrics.repeated_searches, metrics.failed_steps,
        metrics.reopened_decisions,
    )  # fmt: skip
    assert (0, (2, None)) == (metrics.first_failure, metrics.steps_to_first_correct)
    assert [5.0, 5.0] == [one.score for one in metrics.recoveries]
    markdown = render_markdown(document_of(report))
    for row in (
        "| Constraint breaks | 0 |", "| Repeated edits | 1 |", "| Repeated searches | 1 |", "| Reopened decisions | 1 |",
        "| Finished work called open | 0 |", "| Wasted steps | 5 |", "| Stage of the first wasted step | 0 |", "| Compactions | 2 |",
        "| Recovery elements, worst | 5.0 |",
    ):  # fmt: skip
        assert row.replace("**", "") in markdown
    assert "none came" in markdown


def test_what_was_answered_in_a_tools_place_is_not_told_as_denied(report: Report) -> None:
    """In effect already, or turned down before: the page says so; what a contradiction held was denied."""
    actions = {action.call_id: action for action in report.actions}
    assert "in effect already" in actions["edit5"].allowed_by
    assert "turned down before" in actions["pip1"].allowed_by
    assert [True, True, False] == [actions[name].is_answered for name in ("edit5", "pip1", "edit3")]
    markdown = render_markdown(document_of(report))
    assert "1 tool call was denied" in markdown
    assert "2 answered in the tool's place" in markdown


def test_what_came_after_a_compaction_is_not_taken_for_what_it_kept(run: Worked, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request before the cut is kept as well, and no later message counts in its place: what is lost would stand there."""
    seen: list[str | None] = []
    after = Kept.after

    def spied(self: Kept, cut: int, count: int) -> list[BaseMessage] | None:
        found = after(self, cut, count)
        seen.append(None if found is None else found[-1].name)
        return found

    monkeypatch.setattr(Kept, "after", spied)
    report_of_thread(run.store, run.thread, messages=run.messages)
    assert ["compact_context", "compact_context"] == seen


def test_without_the_state_it_says_what_was_counted(run: Worked) -> None:
    """Steps are counted in archived messages, and the page says which are missing."""
    work = work_in(report_of_thread(run.store, run.thread))
    assert work.metrics is not None
    assert 0 < work.metrics.steps < len(run.messages)
    assert "rests with the checkpointer" in work.metrics_note


def test_the_json_form_reads_back(report: Report) -> None:
    """As a whole, the work in it."""
    assert report == Report.model_validate_json(report.model_dump_json())


def test_what_was_erased_is_told_as_erased(tmp_path: Path) -> None:
    """Numbers, kinds and moments stay, and no word; steps cannot be counted any more."""
    with GuardStore.open("memory://") as store:
        run = Worked(store, tmp_path)
        purge_thread(store, run.thread)
        report = report_of_thread(store, run.thread)
        document = document_of(report)
    work = work_in(report)
    assert [None] * 4 == [one.text for one in work.steps]
    assert [True, True] == [one.is_erased for one in work.handed_over]
    assert {"began", "stated", "held", "waived"} <= {one.kind for one in work.reconciled if one.is_erased}
    assert not work.is_counted_in_messages
    assert "Words of the work were erased" in work.metrics_note
    for page in (render_markdown(document), render_html(document)):
        assert "its words were erased" in page
        assert "Repeated edits" not in page
        for word in ("sum_total", "rope", "migrations", "cart.py", "on purpose"):
            assert word not in page.replace("\\", ""), word


def test_a_thread_without_work_has_no_such_part(tmp_path: Path) -> None:
    """Nor does its JSON speak of it."""
    with GuardStore.open("memory://") as store:
        report = report_of_thread(store, "nobody")
    assert report.work is None
    assert "The work" not in render_markdown(document_of(report))


def test_an_altered_log_is_told_and_not_shown(run: Worked, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stands among the faults at the top; nothing is made of what cannot be relied on."""
    read = type(run.store.log).read

    def altered(log: object, stream: Stream, *given: object, **named: object) -> object:
        entries: list[Entry] = list(read(log, stream, *given, **named))  # type: ignore[arg-type]  # as it was called
        return [one.model_copy(update={"body": one.body + b" "}) for one in entries] if stream.kind == WORKLOG else entries

    monkeypatch.setattr(type(run.store.log), "read", altered)
    report = report_of_thread(run.store, run.thread, messages=run.messages)
    assert any("worklog" in fault for fault in report.faults)
    assert "cannot be read" in work_in(report).note
    assert () == work_in(report).steps


def test_a_redactor_sees_every_text_of_the_page(run: Worked) -> None:
    """Messages of the archive, work, reasons: the page of a redactor holds nothing of what it takes out."""
    report = report_of_thread(run.store, run.thread, messages=run.messages, redact=lambda text: text.replace("sum_total", "[name]"))
    page = render_html(document_of(report))
    assert "[name]" in page
    assert "sum_total" not in page
    assert "sum_total" not in report.model_dump_json()

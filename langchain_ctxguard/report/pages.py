"""A report -> the document a reader sees: what happened in words, five questions with their answers, and the parts that back them."""

from __future__ import annotations

from langchain_ctxguard.report.anchors import Anchors
from langchain_ctxguard.report.chart import drawn
from langchain_ctxguard.report.document import Document, Figure, Fold, Items, Paragraph, Section
from langchain_ctxguard.report.page_actions import actions_section, consents_section
from langchain_ctxguard.report.page_cache import cache_section
from langchain_ctxguard.report.page_compactions import compactions_section, message_blocks
from langchain_ctxguard.report.page_rules import rules_section
from langchain_ctxguard.report.page_top import answers_of, figure_words, kind_line, lead_of, timeline_of
from langchain_ctxguard.report.page_versions import versions_section
from langchain_ctxguard.report.page_work import work_sections
from langchain_ctxguard.report.story import Report
from langchain_ctxguard.report.words import count


def document_of(report: Report) -> Document:
    """Return the document a report is shown as."""
    timeline = timeline_of(report)
    svg = drawn(timeline)
    anchors = Anchors.of(report)
    return Document(
        title=f"{'Thread' if report.source == 'thread' else 'Transcript'} {report.name}",
        kind=kind_line(report),
        lead=lead_of(report),
        figure=Figure(svg, figure_words(report)) if svg else None,
        answers=answers_of(report),
        sections=(
            rules_section(report),
            compactions_section(report, anchors),
            actions_section(report),
            *work_sections(report.work),
            cache_section(report),
            versions_section(report),
            consents_section(report),
            _in_sight(report, anchors),
            _read_from(report),
        ),
    )


def _in_sight(report: Report, anchors: Anchors) -> Section:
    note = [Paragraph(report.in_sight_note)] if report.in_sight_note else []
    if not report.in_sight:
        return Section("in-sight", "Messages still in sight", note or [Paragraph("None.")])
    title = f"{count(len(report.in_sight), 'message')} that have not left the view"
    return Section("in-sight", "Messages still in sight", [*note, Fold(title, message_blocks(report.in_sight, anchors))])


def _read_from(report: Report) -> Section:
    counted = "as the guard counted them" if report.source == "thread" else "by the package's own counter"
    lines = [*report.read_from, f"A report reads records and changes none. Times are in UTC; tokens are counted {counted}."]
    return Section("read-from", "What this page was read from", [Items(lines)])

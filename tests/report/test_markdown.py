"""A report as Markdown: readable as it stands, and no text of a conversation becomes markup."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from langchain_ctxguard.backends.transcripts import parse_transcript
from langchain_ctxguard.report.document import Document, Mark, Paragraph, Said, Section, Table
from langchain_ctxguard.report.from_transcript import report_of_run
from langchain_ctxguard.report.markdown import render_markdown
from langchain_ctxguard.report.pages import document_of
from tests.support.compacted import saved, session
from tests.support.reported import HOSTILE
from tests.support.reports import at, example_report

SNAPSHOTS = Path(__file__).parent / "snapshots"
FORBIDDEN = {"html_inline", "html_block", "link_open", "image", "hr", "code_block", "bullet_list_open", "ordered_list_open", "blockquote_open"}
READER = MarkdownIt("commonmark").enable("table")


def kinds(markdown: str) -> list[str]:
    """Return what a reader of Markdown makes of a text: the kinds of its parts, inline ones among them."""
    return [part.type for token in READER.parse(markdown) for part in (token, *(token.children or ()))]


def hold(name: str, text: str) -> None:
    """Compare with a snapshot; `CTXGUARD_SNAPSHOTS=1` writes it anew."""
    path = SNAPSHOTS / name
    if os.environ.get("CTXGUARD_SNAPSHOTS") == "1":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


def test_a_thread_reads_as_the_snapshot() -> None:
    """One of everything a report shows, in the words a reader gets."""
    hold("thread.md", render_markdown(document_of(example_report())))


def test_a_transcript_reads_as_the_snapshot(tmp_path: Path) -> None:
    """A session with one compaction that lost a rule and changed a budget."""
    path = saved(tmp_path / "session.jsonl", session())
    (run,) = parse_transcript(path.read_bytes(), path="session.jsonl", name="session").runs
    hold("transcript.md", render_markdown(document_of(report_of_run(run, where="session.jsonl", now=at(0)))))


def test_hostile_text_forms_no_markup() -> None:
    """The parts of the page are those of the same page with harmless words: no link, picture, heading or HTML more."""
    harmless = kinds(render_markdown(document_of(example_report("Harmless."))))
    hostile = kinds(render_markdown(document_of(example_report(HOSTILE, name=HOSTILE))))
    wanted = {
        "html_inline",
        "html_block",
        "link_open",
        "image",
        "heading_open",
        "table_open",
        "tr_open",
        "fence",
        "hr",
        "code_block",
        "list_item_open",
    }

    assert [kind for kind in harmless if kind in wanted] == [kind for kind in hostile if kind in wanted]
    assert not {"html_inline", "html_block", "link_open", "image"} & set(hostile)


SIGNS = st.text(st.one_of(st.sampled_from("-+=*_`#>|~[]()!<&\\ 1.\n\tax:$'\""), st.characters(codec=None)), max_size=40)


@given(SIGNS)
def test_no_text_leaves_its_place(text: str) -> None:
    """Whatever a text holds, there is one paragraph, one table of one row, one message."""
    blocks = [Paragraph(text), Table(text, [text], [[[Mark(text, "code"), text]]]), Said("", "user", text, f"x{text}")]
    found = kinds(render_markdown(Document("Title", "kind", [], None, (), [Section("a", text, blocks)])))

    assert 1 == found.count("table_open") == found.count("fence")
    assert 2 == found.count("heading_open") == found.count("tr_open")
    assert not FORBIDDEN & set(found)


@pytest.mark.parametrize("name", ["thread.md", "transcript.md"])
def test_the_snapshots_answer_five_questions(name: str) -> None:
    """Each page begins with five questions, and answers each in words."""
    text = (SNAPSHOTS / name).read_text(encoding="utf-8")
    answers = text.partition("## Five questions\n\n")[2].partition("\n\n##")[0].splitlines()
    assert ["1. **", "2. **", "3. **", "4. **", "5. **"] == [line[:5] for line in answers]
    assert all(len(line.rpartition("?**")[2].strip()) > 10 for line in answers)

"""A transcript as a report tells it: what it holds, and plainly what it does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from langchain_ctxguard import Constraint
from langchain_ctxguard.backends.transcripts import parse_transcript
from langchain_ctxguard.report.from_transcript import report_of_run
from langchain_ctxguard.report.html import render_html
from langchain_ctxguard.report.markdown import render_markdown
from langchain_ctxguard.report.pages import document_of
from langchain_ctxguard.report.story import Report
from tests.support.compacted import SAID_ZH, SUMMARY_ZH, saved, session


def told(path: Path, **options: Any) -> Report:
    """Report on the only conversation of a file."""
    (run,) = parse_transcript(path.read_bytes(), path=path.name, name=path.stem).runs
    return report_of_run(run, where=path.name, **options)


def test_what_a_compaction_did_is_audited(tmp_path: Path) -> None:
    """The rule turned round, the budget changed, each with the message it came from; before and after stand on the page."""
    report = told(saved(tmp_path / "s.jsonl", session()))
    (one,) = report.compactions
    assert {("constraint", "contradicted"), ("field", "changed")} <= {(found.subject, found.loss.value) for found in one.audit}
    assert {0, None} >= {found.message_index for found in one.audit if found.subject == "constraint"}
    assert [0, 1, 2] == [message.position for message in one.before]
    assert ["Orders may be deleted. The budget is 5000 EUR."] == [message.text for message in one.after]
    assert (1, 3) == (report.rules[0].stretches[0].first, report.rules[0].stretches[0].last)
    assert "contradicted in compaction 1" in report.rules[0].sentence


def test_declared_rules_are_looked_for(tmp_path: Path) -> None:
    """Those of a config instead of those people said."""
    rule = Constraint.from_text("Never delete an order.")
    report = told(saved(tmp_path / "s.jsonl", session()), constraints=(rule,))
    assert [rule.reference] == [one.reference for one in report.rules]
    assert "contradicted in compaction 1" in report.rules[0].sentence


def test_a_chinese_session(tmp_path: Path) -> None:
    """The same in Chinese."""
    page = render_markdown(document_of(told(saved(tmp_path / "s.jsonl", session(SAID_ZH, SUMMARY_ZH)))))
    assert "不得删除订单" in page
    assert "50万元" in page


def test_what_a_transcript_does_not_say_is_said_to_be_missing(tmp_path: Path) -> None:
    """No verdicts, no versions, no consents; nothing is made up."""
    page = render_markdown(document_of(told(saved(tmp_path / "s.jsonl", session()))))
    for words in ("not who allowed it", "no versions to go back to", "no consents", "what broke the cache it does not say"):
        assert words in page


def test_usage_is_shown_where_the_format_has_it(tmp_path: Path) -> None:
    """What a provider charged, and how much of it came from its cache."""
    usage = {"input_tokens": 100, "output_tokens": 5, "total_tokens": 105, "input_token_details": {"cache_read": 80}}
    messages = [{"type": "human", "content": "hi"}, {"type": "ai", "content": "hello", "usage_metadata": usage}]
    report = told(saved(tmp_path / "dump.json", json.dumps(messages)))
    assert [(2, 100, 80, 0.8)] == [(one.number, one.tokens, one.hit, one.share) for one in report.moments]
    assert "80%" in render_markdown(document_of(report))


def test_a_conversation_without_a_compaction(tmp_path: Path) -> None:
    """It says so, and shows the messages."""
    report = told(saved(tmp_path / "chat.json", json.dumps([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}])))
    page = render_markdown(document_of(report))
    assert "2 messages; nothing was compacted." in page
    assert "hello" in page


@pytest.mark.parametrize("name", ["claude-code-log_representative_messages.jsonl", "deerflow_thread_7cfa5f8f.json", "sweagent_pydicom1458.traj"])
def test_real_transcripts_become_pages(field_transcripts: Path, name: str) -> None:
    """Logs of others, read where they lie: both forms are made, and stay small."""
    for run in parse_transcript((field_transcripts / name).read_bytes(), path=name, name=name).runs:
        document = document_of(report_of_run(run))
        assert len(render_html(document).encode()) < 5_000_000
        assert render_markdown(document)

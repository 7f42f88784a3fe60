"""Real transcripts come out complete: every message, role, id, call and result of the file, in its order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from langchain_ctxguard.backends.transcripts import read_transcript
from langchain_ctxguard.errors import TranscriptError

_TYPES = {"user": "human", "assistant": "ai", "system": "system", "tool": "tool"}


def as_told(entry: dict[str, Any]) -> tuple[Any, ...]:
    """What the file says of one message, read without the package."""
    calls = [
        (call["function"]["name"], json.loads(call["function"]["arguments"]), call["id"])
        if "function" in call
        else (call["name"], call["args"], call["id"])
        for call in entry.get("tool_calls") or []
    ]
    answers = entry.get("tool_call_id") or next(iter(entry.get("tool_call_ids") or []), None)
    reasoning = (entry.get("additional_kwargs") or {}).get("reasoning_content")
    return entry.get("type") or _TYPES[entry["role"]], entry["content"] or "", entry.get("id"), entry.get("name"), calls, answers, reasoning


def as_read(message: BaseMessage) -> tuple[Any, ...]:
    """The same of one message of ours."""
    calls = [(call["name"], call["args"], call["id"]) for call in message.tool_calls] if isinstance(message, AIMessage) else []
    answers = message.tool_call_id if isinstance(message, ToolMessage) else None
    return message.type, message.content, message.id, message.name, calls, answers, message.additional_kwargs.get("reasoning_content")


def lists_in(data: Any) -> list[list[dict[str, Any]]]:
    if isinstance(data, list):
        return [run["traj"] for run in data]
    return [data["history"] if "history" in data else data["values"]["messages"]]


@pytest.mark.parametrize(
    ("file", "form"),
    [
        ("deerflow_thread_4f3e55ee.json", "langgraph"),
        ("deerflow_thread_7cfa5f8f.json", "langgraph"),
        ("deerflow_thread_d3e5adaf.json", "langgraph"),
        ("deerflow_thread_fe3f7974.json", "langgraph"),
        ("sweagent_marshmallow1867_fc.traj", "swe_agent"),
        ("sweagent_pydicom1458.traj", "swe_agent"),
        ("tau-bench_gpt4o_airline_36.json", "tau_bench"),
    ],
)
def test_nothing_of_a_real_transcript_is_lost(field_transcripts: Path, file: str, form: str) -> None:
    """Counted and compared message by message with what the file says."""
    told = lists_in(json.loads((field_transcripts / file).read_text(encoding="utf-8")))
    runs = read_transcript(field_transcripts / file).runs
    assert {form} == {run.format for run in runs}
    assert [[as_told(entry) for entry in entries] for entries in told] == [[as_read(message) for message in run.messages] for run in runs]


def test_every_result_of_the_real_transcripts_answers_a_call_before_it(field_transcripts: Path) -> None:
    """Pairs are as whole as they were recorded."""
    results = 0
    for file in sorted(field_transcripts.iterdir()):
        if not file.name.startswith(("deerflow", "sweagent", "tau")):
            continue
        for run in read_transcript(file).runs:
            called: set[str | None] = set()
            for message in run.messages:
                if isinstance(message, AIMessage):
                    called |= {call["id"] for call in message.tool_calls}
                elif isinstance(message, ToolMessage):
                    results += 1
                    assert message.tool_call_id in called
    assert results > 500


@pytest.mark.parametrize("file", ["abcd_sample.json", "crosswoz_60.json", "bfcl_v4_multi_turn_base.jsonl"])
def test_a_real_file_of_another_kind_is_refused_and_not_misread(field_transcripts: Path, file: str) -> None:
    """Roles somewhere inside do not make a file a chat."""
    with pytest.raises(TranscriptError, match="no known transcript format"):
        read_transcript(field_transcripts / file)

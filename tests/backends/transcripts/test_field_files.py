"""Real transcripts come out complete: every message, role, id, call and result of the file, in its order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from langchain_ctxguard.backends.transcripts import read_transcript
from langchain_ctxguard.compact import compact_messages

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


def test_every_real_file_is_read_and_compacted(field_transcripts: Path) -> None:
    """Whatever the format, the result of a compaction is a list of messages."""
    forms: dict[str, str] = {}
    for file in sorted(field_transcripts.iterdir()):
        runs = read_transcript(file).runs
        forms[file.name] = runs[0].format
        assert {()} == {run.compactions for run in runs}
        for run in runs[:3]:
            assert run.messages
            assert compact_messages(run.messages).messages
    assert {
        "abcd_sample.json": "abcd",
        "bfcl_v4_multi_turn_base.jsonl": "bfcl",
        "claude-code-log_representative_messages.jsonl": "claude_code",
        "claude-code-log_todowrite_examples.jsonl": "claude_code",
        "crosswoz_60.json": "crosswoz",
        "openhands_traj_basic_gui_mode.json": "openhands",
    } == {name: form for name, form in forms.items() if form not in ("langgraph", "swe_agent", "tau_bench")}


def test_every_turn_of_the_real_dialogues_is_there(field_transcripts: Path) -> None:
    """Counted and compared text by text with what the files say."""
    crosswoz = json.loads((field_transcripts / "crosswoz_60.json").read_text(encoding="utf-8"))
    runs = read_transcript(field_transcripts / "crosswoz_60.json").runs
    assert list(crosswoz) == [run.name for run in runs]
    told = [[(_TYPES[entry["role"]], entry["content"], entry["slots"]) for entry in dialogue["messages"]] for dialogue in crosswoz.values()]
    assert told == [[(m.type, m.content, m.response_metadata["crosswoz"]["slots"]) for m in run.messages] for run in runs]
    abcd = json.loads((field_transcripts / "abcd_sample.json").read_text(encoding="utf-8"))
    speakers = {"customer": "human", "agent": "ai", "action": "ai"}
    said = [[(m.type, m.content) for m in run.messages] for run in read_transcript(field_transcripts / "abcd_sample.json").runs]
    assert [[(speakers[speaker], text) for speaker, text in dialogue["original"]] for dialogue in abcd] == said
    lines = (field_transcripts / "bfcl_v4_multi_turn_base.jsonl").read_text(encoding="utf-8").splitlines()
    tasks = [json.loads(line) for line in lines]
    asked = [[m.content for m in run.messages] for run in read_transcript(field_transcripts / "bfcl_v4_multi_turn_base.jsonl").runs]
    assert [[message["content"] for turn in task["question"] for message in turn] for task in tasks] == asked


@pytest.mark.parametrize("file", ["claude-code-log_representative_messages.jsonl", "claude-code-log_todowrite_examples.jsonl"])
def test_every_block_of_the_real_sessions_is_there(field_transcripts: Path, file: str) -> None:
    """Texts, calls with their input, results with their call, and when they were written."""
    entries = [json.loads(line) for line in (field_transcripts / file).read_text(encoding="utf-8").splitlines()]
    said = [entry for entry in entries if "message" in entry]
    contents = [entry["message"]["content"] for entry in said]
    blocks = [block for content in contents for block in ([{"type": "text", "text": content}] if isinstance(content, str) else content)]
    (run,) = read_transcript(field_transcripts / file).runs
    assert [block["text"] for block in blocks if block["type"] == "text"] == [m.content for m in run.messages if m.content and m.type != "tool"]
    made = [(call["name"], call["args"], call["id"]) for m in run.messages if isinstance(m, AIMessage) for call in m.tool_calls]
    assert [(block["name"], block["input"], block["id"]) for block in blocks if block["type"] == "tool_use"] == made
    results = [(m.tool_call_id, m.content) for m in run.messages if isinstance(m, ToolMessage)]
    assert [(block["tool_use_id"], block["content"]) for block in blocks if block["type"] == "tool_result"] == results
    assert [entry["timestamp"] for entry in said] == [m.additional_kwargs["timestamp"] for m in run.messages]
    assert entries[-1]["summary"] == run.title


def test_every_action_of_the_real_events_has_its_observation(field_transcripts: Path) -> None:
    """Each call stands as the model wrote it, answered by what the event with its cause saw."""
    events = json.loads((field_transcripts / "openhands_traj_basic_gui_mode.json").read_text(encoding="utf-8"))
    (run,) = read_transcript(field_transcripts / "openhands_traj_basic_gui_mode.json").runs
    acted = [event for event in events if "action" in event and "tool_call_metadata" in event]
    told = [(event["tool_call_metadata"]["tool_call_id"], event["tool_call_metadata"]["function_name"]) for event in acted]
    assert told == [(call["id"], call["name"]) for m in run.messages if isinstance(m, AIMessage) for call in m.tool_calls]
    assert [call_id for call_id, _ in told] == [m.tool_call_id for m in run.messages if isinstance(m, ToolMessage)]
    assert [event["args"]["content"] for event in events if event.get("action") == "message"] == [run.messages[0].content, run.messages[-1].content]

"""Whatever becomes of a transcript, it is read or refused with its reason; nothing else is ever raised."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_ctxguard.backends.transcripts import parse_transcript
from langchain_ctxguard.compact import compact_messages
from langchain_ctxguard.errors import ContextGuardError, TranscriptError

DEEPAGENTS = """## Summarized at 2026-01-02T03:04:05+00:00

<message type="human">go</message>
<message type="ai">
  <content>look</content>
  <tool_call id="c1" name="f">{"a": 1}</tool_call>
</message>
<message type="tool">x &lt; y</message>

"""
CLAUDE: list[dict[str, Any]] = [
    {
        "type": "user",
        "uuid": "1",
        "parentUuid": None,
        "sessionId": "s",
        "timestamp": "2026-01-02T03:04:05Z",
        "message": {"role": "user", "content": "go"},
    },
    {
        "type": "assistant",
        "uuid": "2",
        "parentUuid": "1",
        "sessionId": "s",
        "message": {"id": "m", "content": [{"type": "text", "text": "a"}], "usage": {}},
    },
    {
        "type": "assistant",
        "uuid": "3",
        "parentUuid": "2",
        "message": {"id": "m", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
    },
    {
        "type": "user",
        "uuid": "4",
        "parentUuid": "3",
        "toolUseResult": {},
        "message": {"content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]},
    },
    {
        "type": "system",
        "subtype": "compact_boundary",
        "uuid": "5",
        "logicalParentUuid": "4",
        "compactMetadata": {"preservedSegment": {"headUuid": "1"}},
    },
    {"type": "user", "uuid": "6", "parentUuid": "5", "isCompactSummary": True, "message": {"content": "so far"}},
    {"type": "system", "subtype": "microcompact_boundary", "uuid": "7", "parentUuid": "6", "microcompactMetadata": {"compactedToolIds": ["t"]}},
    {"type": "attachment", "uuid": "8", "parentUuid": "7", "attachment": {"type": "queued_command", "prompt": "on"}},
    {"type": "user", "uuid": "9", "parentUuid": None, "isSidechain": True, "agentId": "a", "message": {"content": "side"}},
    {"type": "summary", "summary": "walk", "leafUuid": "8"},
]
CALL = {
    "function_name": "f",
    "tool_call_id": "c",
    "model_response": {"id": "r", "choices": [{"message": {"content": "", "tool_calls": [{"id": "c"}]}}]},
}
OPENHANDS: list[dict[str, Any]] = [
    {"id": 0, "source": "user", "action": "message", "args": {"content": "go", "image_urls": ["u"]}, "timestamp": "2026-01-02T03:04:05"},
    {"id": 1, "source": "agent", "action": "run", "args": {"command": "ls"}, "tool_call_metadata": CALL},
    {"id": 2, "cause": 1, "observation": "run", "content": "x", "extras": {}, "tool_call_metadata": CALL},
    {"id": 3, "action": "condensation", "args": {"forgotten_events_start_id": 0, "forgotten_events_end_id": 1, "summary": "so far"}},
    {"id": 4, "action": "condensation", "args": {"forgotten_event_ids": [2]}},
    {"id": 5, "source": "agent", "action": "edit", "args": {"path": "p"}},
    {"id": 6, "cause": 5, "observation": "error", "content": "no", "extras": {}},
]
SDK: list[dict[str, Any]] = [
    {"kind": "MessageEvent", "id": "a", "source": "user", "llm_message": {"role": "user", "content": [{"type": "text", "text": "go"}]}},
    {
        "kind": "ActionEvent",
        "id": "b",
        "thought": [],
        "tool_name": "f",
        "tool_call_id": "c",
        "tool_call": {"arguments": "{}"},
        "llm_response_id": "r",
    },
    {"kind": "ObservationEvent", "id": "d", "tool_call_id": "c", "observation": {"content": [{"type": "text", "text": "x"}]}},
    {"kind": "Condensation", "id": "e", "forgotten_event_ids": ["a"], "summary": "so far"},
]
STATE = {
    "channel_values": {
        "messages": [{"type": "human", "content": "a"}, {"type": "ai", "content": "b", "tool_calls": [{"name": "f", "args": {}, "id": "c"}]}],
        "_summarization_event": {"cutoff_index": 1, "summary_message": {"type": "human", "content": "so far"}},
    }
}
DOCUMENTS: dict[str, Any] = {
    "claude_code": CLAUDE,
    "openhands": OPENHANDS,
    "openhands_sdk": SDK,
    "langgraph": STATE,
    "crosswoz": {"1": {"messages": [{"role": "usr", "content": "a", "dialog_act": []}, {"role": "sys", "content": "b", "slots": []}]}},
    "abcd": {"train": [{"convo_id": 1, "original": [["customer", "a"], ["action", "b"], ["agent", "c"]]}]},
    "bfcl": [{"id": "t", "question": [[{"role": "user", "content": "a"}], [{"role": "user", "content": "b"}]]}],
}
ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    10**30,
    1.5,
    "",
    "x",
    "\ud800",
    [],
    {},
    [None],
    [[]],
    {"type": "text"},
    {"id": 1},
    "2026-01-02T03:04:05Z",
    [1, "a"],
]


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container of `value` with a key in it."""
    members = list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    return [(value, key) for key, _ in members] + [place for _, member in members for place in places(member)]


def read_or_refused(raw: bytes) -> None:
    try:
        runs = parse_transcript(raw, path="x").runs
    except TranscriptError as error:
        assert str(error).startswith("x:")
        return
    for run in runs:
        size = len(run.messages)
        for mark in run.compactions:
            assert 0 <= mark.start <= size
            assert mark.summary is None or 0 <= mark.summary < size
            assert all(0 <= index < mark.start for index in mark.dropped)


@pytest.mark.parametrize("form", DOCUMENTS)
def test_a_mutated_document_is_read_or_refused(form: str) -> None:
    """Every value of every format is replaced by every odd one, taken out, doubled and moved."""
    source = json.dumps(DOCUMENTS[form])
    for number in range(len(places(DOCUMENTS[form]))):
        for odd in [*ODD, "out", "double"]:
            data = json.loads(source)
            holder, key = places(data)[number]
            if odd == "out":
                del holder[key]
            elif odd == "double" and isinstance(holder, list):
                holder.insert(key, holder[key])
            else:
                holder[key] = odd
            read_or_refused(json.dumps(data).encode())


@pytest.mark.parametrize("form", [form for form, data in DOCUMENTS.items() if isinstance(data, list)])
def test_several_mutations_at_once_are_read_or_refused(form: str) -> None:
    """Lines shuffled, and values of one place put in another."""
    draw = random.Random(7)
    for _ in range(300):
        data = json.loads(json.dumps(DOCUMENTS[form]))
        for _ in range(draw.randrange(1, 5)):
            holder, key = draw.choice(places(data))
            other, from_key = draw.choice(places(data))
            holder[key] = json.loads(json.dumps(draw.choice([other[from_key], draw.choice(ODD)])))
        draw.shuffle(data)
        read_or_refused("\n".join(json.dumps(line) for line in data).encode())


@given(st.data())
def test_bytes_cut_or_changed_are_read_or_refused(data: st.DataObject) -> None:
    """Text formats and JSON Lines alike."""
    texts = [DEEPAGENTS, *("\n".join(map(json.dumps, lines)) for lines in (CLAUDE, OPENHANDS, SDK))]
    raw = data.draw(st.sampled_from(texts)).encode()
    start = data.draw(st.integers(0, len(raw)))
    stop = data.draw(st.integers(start, len(raw)))
    read_or_refused(raw[:start] + data.draw(st.binary(max_size=12)) + raw[stop:])


@pytest.mark.parametrize("form", [*DOCUMENTS, "deepagents"])
def test_what_was_read_can_be_compacted(form: str) -> None:
    """Each format's messages are messages like any others."""
    raw = DEEPAGENTS.encode() if form == "deepagents" else json.dumps(DOCUMENTS[form]).encode()
    runs = parse_transcript(raw, path="x").runs
    assert {form} == {run.format for run in runs}
    for run in runs:
        try:
            assert compact_messages(run.messages, keep=("turns", 0)).messages
        except ContextGuardError as error:
            pytest.fail(f"{run.name}: {error}")

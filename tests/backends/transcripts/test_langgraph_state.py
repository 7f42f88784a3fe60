"""Thread states give the messages of their channel, under the thread's name."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from langchain_ctxguard.backends.transcripts import CompactionKind, CompactionMark, Run, parse_transcript

MESSAGES = [
    HumanMessage("go", id="h"),
    AIMessage("", id="a", additional_kwargs={"reasoning_content": "hm"}, tool_calls=[{"name": "f", "args": {}, "id": "c", "type": "tool_call"}]),
    ToolMessage("done", id="t", tool_call_id="c", name="f"),
]
FLAT = [message.model_dump() for message in MESSAGES]


def read(data: Any) -> tuple[Run, ...]:
    return parse_transcript(json.dumps(data).encode(), path="state.json", name="state").runs


@pytest.mark.parametrize(
    ("state", "name"),
    [
        ({"values": {"messages": FLAT, "todos": []}, "checkpoint": {"thread_id": "t-1"}}, "t-1"),
        ({"values": {"messages": FLAT}, "metadata": {"thread_id": "t-2"}}, "t-2"),
        ({"values": {"messages": FLAT}, "config": {"configurable": {"thread_id": "t-3"}}}, "t-3"),
        ({"values": {"messages": FLAT}, "thread_id": "t-4"}, "t-4"),
        ({"channel_values": {"messages": FLAT}, "v": 4}, "state"),
    ],
)
def test_a_state_is_a_run_named_by_its_thread(state: dict[str, Any], name: str) -> None:
    """Wherever the server or the checkpointer wrote the thread's id."""
    assert (Run(name, MESSAGES, "langgraph"),) == read(state)


def test_several_states_are_several_runs() -> None:
    """A list of states, as a server's history answers."""
    assert ["state#0", "state#1"] == [run.name for run in read([{"values": {"messages": FLAT}}, {"values": {"messages": []}}])]


def test_a_graph_that_keeps_chat_dicts_is_read_too() -> None:
    """A plain graph's channel may hold dicts with roles beside message objects."""
    (run,) = read({"values": {"messages": [{"role": "user", "content": "go"}, *FLAT[1:]]}})
    assert [HumanMessage("go"), *MESSAGES[1:]] == run.messages


def test_a_summary_in_a_state_is_a_mark() -> None:
    """Who reads the run knows that something stood there before."""
    summary = HumanMessage("Here is a summary", additional_kwargs={"lc_source": "summarization"}).model_dump()
    (run,) = read({"values": {"messages": [summary, *FLAT]}})
    assert (CompactionMark(0, CompactionKind.SUMMARY, 0),) == run.compactions


@pytest.mark.parametrize(("cutoff", "types"), [(1, ["human", "human", "ai", "tool"]), (3, ["human", "ai", "tool", "human"])])
def test_a_summary_kept_beside_the_messages_stands_where_the_model_reads_it(cutoff: int, types: list[str]) -> None:
    """The summary has a channel of its own there, and the messages are left alone."""
    summary = HumanMessage("Here is a summary", additional_kwargs={"lc_source": "summarization"})
    event = {"cutoff_index": cutoff, "summary_message": summary.model_dump(), "file_path": None}
    (run,) = read({"channel_values": {"messages": FLAT, "_summarization_event": event}})
    assert types == [message.type for message in run.messages]
    assert summary == run.messages[cutoff]
    assert (CompactionMark(cutoff, CompactionKind.SUMMARY, cutoff, tuple(range(cutoff))),) == run.compactions


@pytest.mark.parametrize("event", [None, 3, {}, {"cutoff_index": True}, {"cutoff_index": -1}, {"cutoff_index": 99}])
def test_a_broken_event_beside_the_messages_changes_nothing(event: Any) -> None:
    """The messages are what they are."""
    (run,) = read({"channel_values": {"messages": FLAT, "_summarization_event": event}})
    assert (MESSAGES, ()) == (run.messages, run.compactions)

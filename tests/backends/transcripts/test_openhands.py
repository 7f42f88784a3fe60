"""Events of OpenHands are read as the conversation they came from, with each condensation of the view."""

from __future__ import annotations

import json
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from langchain_ctxguard.backends.transcripts import CompactionKind, CompactionMark, Run, parse_transcript

Event = dict[str, Any]


def read_all(data: Any) -> tuple[Run, ...]:
    return parse_transcript(json.dumps(data).encode(), path="e.json", name="e").runs


def read(events: list[Event]) -> Run:
    (run,) = read_all(events)
    return run


def act(number: int, action: str, source: str = "agent", facts: Event | None = None, **args: Any) -> Event:
    event: Event = {"id": number, "timestamp": f"2025-01-20T20:29:{number:02}", "source": source, "action": action, "args": args}
    return {**event, **({"tool_call_metadata": facts} if facts else {})}


def see(number: int, observation: str, content: str, cause: int | None = None, **more: Any) -> Event:
    event = {"id": number, "timestamp": f"2025-01-20T20:29:{number:02}", "source": "agent", "observation": observation, "content": content}
    return {**event, "cause": cause, "extras": {}, **more}


def facts(call_id: str, arguments: str, response: str = "r1") -> Event:
    call = {"id": call_id, "type": "function", "function": {"name": "execute_bash", "arguments": arguments}}
    model = {"id": response, "choices": [{"message": {"content": "thinking", "tool_calls": [call]}}]}
    return {"function_name": "execute_bash", "tool_call_id": call_id, "model_response": model}


def calls(run: Run) -> list[Any]:
    return [(call["id"], call["name"], call["args"]) for m in run.messages if isinstance(m, AIMessage) for call in m.tool_calls]


def test_an_action_is_the_call_the_model_made_and_its_observation_the_result() -> None:
    """Arguments are the model's own; calls of one answer are one message; a failure says so."""
    run = read(
        [
            act(0, "system", content="You are", tools=[]),
            act(1, "message", "user", content="看看", image_urls=["http://x/1.png"]),
            act(2, "run", facts=facts("c1", '{"command": "ls"}'), command="ls", thought="", hidden=False),
            see(3, "run", "a.py", 2),
            act(4, "run", facts=facts("c2", '{"command": "cat b"}'), command="cat b", thought=""),
            see(5, "run", "", 4, message="Command `cat b` executed with exit code 1.", success=False),
            act(6, "message", content="no b here"),
        ]
    )
    assert [SystemMessage, HumanMessage, AIMessage, ToolMessage, ToolMessage, AIMessage] == [type(message) for message in run.messages]
    assert [("c1", "execute_bash", {"command": "ls"}), ("c2", "execute_bash", {"command": "cat b"})] == calls(run)
    assert "thinking" == run.messages[2].content
    results = [(m.tool_call_id, m.content, m.status) for m in run.messages if isinstance(m, ToolMessage)]
    assert [("c1", "a.py", "success"), ("c2", "Command `cat b` executed with exit code 1.", "error")] == results
    assert [{"type": "text", "text": "看看"}, {"type": "image_url", "image_url": {"url": "http://x/1.png"}}] == run.messages[1].content
    assert "2025-01-20T20:29:06" == run.messages[-1].additional_kwargs["timestamp"]


def test_actions_of_a_model_without_tool_calls_are_paired_by_cause() -> None:
    """The event's id is the call's."""
    run = read([act(1, "message", "user", content="go"), act(7, "run", command="ls", thought="look", blocking=True), see(8, "run", "a.py", 7)])
    assert [("event_7", "run", {"command": "ls"})] == calls(run)
    assert isinstance(run.messages[2], ToolMessage)
    assert ("event_7", "look") == (run.messages[2].tool_call_id, run.messages[1].content)


def test_events_about_the_program_give_no_message() -> None:
    """What the program told the model in the user's role says that no person wrote it."""
    run = read(
        [
            see(0, "agent_state_changed", ""),
            act(1, "change_agent_state", "environment", agent_state="init"),
            see(2, "null", "", 1),
            act(3, "message", "user", content="go"),
            see(4, "error", "Your last message was empty"),
            act(5, "finish", final_thought="all done"),
        ]
    )
    assert [("human", "go", None), ("human", "Your last message was empty", True), ("ai", "all done", None)] == [
        (m.type, m.content, m.additional_kwargs.get("is_meta")) for m in run.messages
    ]


def test_a_condensation_is_marked_with_what_it_forgot() -> None:
    """By range or by ids; what was forgotten once is not forgotten again."""
    said = [act(n, "message", "user" if n % 2 else "agent", content=str(n)) for n in range(1, 7)]
    run = read(
        [
            *said,
            act(10, "condensation", forgotten_events_start_id=2, forgotten_events_end_id=4, summary="so far", summary_offset=1),
            act(11, "message", "user", content="on"),
            act(12, "condensation", forgotten_event_ids=[1, 3, 10, 99]),
        ]
    )
    assert ["1", "2", "3", "4", "5", "6", "so far", "on"] == [message.content for message in run.messages]
    assert (
        CompactionMark(6, CompactionKind.SUMMARY, 6, (1, 2, 3), "2025-01-20T20:29:10"),
        CompactionMark(8, CompactionKind.DROPPED, None, (0, 6), "2025-01-20T20:29:12"),
    ) == run.compactions
    assert "summarization" == run.messages[6].additional_kwargs["lc_source"]


def test_envelopes_of_a_benchmark_are_runs() -> None:
    """Each instance under its own name."""
    data = [{"instance_id": "django-1", "history": [act(1, "message", "user", content="go")]}, {"instance_id": "django-2", "history": []}]
    assert [("django-1", 1), ("django-2", 0)] == [(run.name, len(run.messages)) for run in read_all(data)]


def test_events_of_the_sdk_are_read_alike() -> None:
    """Calls of one answer are one message, whatever comes between, and ids are texts."""
    words = [{"type": "text", "text": "look"}]
    ls = {"id": "c1", "name": "terminal", "arguments": '{"command": "ls"}'}
    run = read(
        [
            {"kind": "SystemPromptEvent", "id": "e0", "source": "agent", "system_prompt": {"type": "text", "text": "You are"}, "tools": []},
            {"kind": "MessageEvent", "id": "e1", "source": "user", "llm_message": {"role": "user", "content": [{"type": "text", "text": "go"}]}},
            {"kind": "ActionEvent", "id": "e2", "thought": words, "reasoning_content": "hm", "tool_name": "terminal", "tool_call_id": "c1"}
            | {"tool_call": ls, "llm_response_id": "r1", "timestamp": "2026-01-02T03:04:05"},
            {
                "kind": "ObservationEvent",
                "id": "e3",
                "tool_name": "terminal",
                "tool_call_id": "c1",
                "observation": {"content": words, "is_error": False},
            },
            {"kind": "ActionEvent", "id": "e4", "thought": [], "tool_name": "finish", "tool_call_id": "c2", "llm_response_id": "r1"}
            | {"tool_call": {"function": {"name": "finish", "arguments": "{}"}}},
            {"kind": "AgentErrorEvent", "id": "e5", "tool_name": "finish", "tool_call_id": "c2", "error": "not yet"},
            {"kind": "Condensation", "id": "e6", "forgotten_event_ids": ["e1", "e2"], "summary": "so far"},
            {"kind": "ConversationStateUpdateEvent", "id": "e7"},
        ]
    )
    assert ["You are", "go", "look", "look", "not yet", "so far"] == [message.content for message in run.messages]
    assert [("c1", "terminal", {"command": "ls"}), ("c2", "finish", {})] == calls(run)
    assert {"reasoning_content": "hm", "timestamp": "2026-01-02T03:04:05"} == run.messages[2].additional_kwargs
    assert (CompactionMark(5, CompactionKind.SUMMARY, 5, (1, 2)),) == run.compactions

"""SWE-agent trajectories are read with tool calls and with actions written as text."""

from __future__ import annotations

import json
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from langchain_ctxguard.backends.transcripts import Run, parse_transcript


def read(history: list[dict[str, Any]]) -> Run:
    data = {"environment": "main", "trajectory": [], "history": history, "info": {"exit_status": "submitted"}}
    (run,) = parse_transcript(json.dumps(data).encode(), path="x.traj", name="x").runs
    return run


def test_an_observation_answers_the_call_it_names() -> None:
    """`tool_call_ids` becomes the id of the result, and nothing about the step would reach a provider."""
    call = {"type": "function", "id": "c", "function": {"name": "create", "arguments": '{"filename": "a.py"}'}}
    run = read(
        [
            {"role": "system", "content": "SETTING", "agent": "main", "message_type": "system_prompt"},
            {"role": "user", "content": "Fix it", "agent": "main", "message_type": "observation"},
            {"role": "assistant", "content": "Now", "thought": "Now", "action": "create a.py", "agent": "main", "tool_calls": [call]},
            {"role": "tool", "content": "[File]", "agent": "main", "message_type": "observation", "tool_call_ids": ["c"]},
        ]
    )
    assert [SystemMessage, HumanMessage, AIMessage, ToolMessage] == [type(message) for message in run.messages]
    assert [("create", {"filename": "a.py"}, "c")] == [(c["name"], c["args"], c["id"]) for c in run.messages[2].tool_calls]  # type: ignore[attr-defined]  # an AI message
    assert "c" == run.messages[3].tool_call_id  # type: ignore[attr-defined]  # a tool message
    assert {"swe_agent": {"agent": "main", "action": "create a.py"}} == run.messages[2].response_metadata
    assert [{}] * 4 == [message.additional_kwargs for message in run.messages]


def test_an_action_written_as_text_stays_in_the_text() -> None:
    """Nothing is invented: without tool calls there are none."""
    said = "Look.\n\n```\nls\n```"
    run = read(
        [
            {"role": "user", "content": "Here is a demonstration", "is_demo": True, "agent": "primary"},
            {"role": "assistant", "content": said, "thought": "Look.\n\n", "action": "ls\n", "agent": "primary"},
            {"role": "user", "content": "a.py", "agent": "primary"},
        ]
    )
    assert ["human", "ai", "human"] == [message.type for message in run.messages]
    assert said == run.messages[1].content
    assert [] == run.messages[1].tool_calls  # type: ignore[attr-defined]  # an AI message
    assert run.messages[0].response_metadata["swe_agent"]["is_demo"] is True

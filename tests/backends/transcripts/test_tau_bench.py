"""tau-bench results give one run for each task and trial."""

from __future__ import annotations

import json

from langchain_ctxguard.backends.transcripts import parse_transcript

CHAT = [
    {"role": "system", "content": "Policy"},
    {"role": "user", "content": "cancel it"},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "cancel", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "c", "name": "cancel", "content": "done"},
]


def test_runs_are_named_by_task_and_trial_and_keep_their_order() -> None:
    """A result of the same task in another trial is another run."""
    data = [{"task_id": 2, "trial": trial, "reward": 0.0, "info": {}, "traj": CHAT} for trial in (1, 0)]
    runs = parse_transcript(json.dumps(data).encode(), path="x").runs
    assert ["task 2 trial 1", "task 2 trial 0"] == [run.name for run in runs]
    assert [["system", "human", "ai", "tool"]] * 2 == [[message.type for message in run.messages] for run in runs]
    assert "c" == runs[0].messages[2].tool_calls[0]["id"]  # type: ignore[attr-defined]  # an AI message

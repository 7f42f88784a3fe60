"""Dialogues of benchmarks are read as plain chats; what people labelled in them reaches no model."""

from __future__ import annotations

import json
from typing import Any

from langchain_ctxguard.backends.transcripts import Run, parse_transcript


def read(data: Any) -> tuple[Run, ...]:
    return parse_transcript(json.dumps(data).encode(), path="x.json", name="x").runs


def test_labels_of_a_dialogue_stand_beside_its_messages() -> None:
    """The original roles are read as well as the common ones."""
    messages = [
        {"role": "usr", "content": "人均100元的餐馆", "dialog_act": [["Inform", "餐馆", "人均消费", "100元"]]},
        {"role": "sys", "content": "推荐您去讲礼驴肉馆", "dialog_act": [], "sys_state": {"餐馆": {}}},
    ]
    runs = read({"391": {"goal": [], "messages": messages}, "392": {"messages": []}})
    assert [("391", 2), ("392", 0)] == [(run.name, len(run.messages)) for run in runs]
    user, system = runs[0].messages
    assert ("human", "ai") == (user.type, system.type)
    assert {"crosswoz": {"dialog_act": [["Inform", "餐馆", "人均消费", "100元"]]}} == user.response_metadata
    assert {} == user.additional_kwargs == system.additional_kwargs


def test_an_agents_actions_are_lines_of_the_agent() -> None:
    """No call is invented for them, and they can be told from what the agent said."""
    dialogue = {"convo_id": 3, "original": [["customer", "I'm Ann"], ["action", "Account has been pulled up."], ["agent", "Hi Ann"]], "delexed": []}
    (run,) = read([dialogue])
    assert "convo 3" == run.name
    assert [("human", {}), ("ai", {"abcd": {"speaker": "action"}}), ("ai", {})] == [(m.type, m.response_metadata) for m in run.messages]


def test_dialogues_by_split_are_read_in_their_order() -> None:
    """The whole data set is one object of lists."""
    splits = {split: [{"convo_id": number, "original": [["agent", "hi"]]}] for number, split in enumerate(("train", "dev"))}
    assert ["convo 0", "convo 1"] == [run.name for run in read(splits)]


def test_turns_of_a_task_follow_each_other() -> None:
    """A turn may hold several messages, or none."""
    task = {"id": "t_1", "question": [[{"role": "system", "content": "s"}, {"role": "user", "content": "a"}], [], [{"role": "user", "content": "b"}]]}
    (run,) = read(task)
    assert ("t_1", ["s", "a", "b"]) == (run.name, [message.content for message in run.messages])

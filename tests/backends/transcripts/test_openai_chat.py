"""OpenAI chat messages keep their calls, their ids and everything a provider added."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from langchain_ctxguard.backends.transcripts import Run, parse_transcript
from langchain_ctxguard.errors import TranscriptError


def read(data: Any) -> tuple[Run, ...]:
    return parse_transcript(json.dumps(data).encode(), path="chat.json", name="chat").runs


def read_lines(*lines: Any) -> tuple[Run, ...]:
    return parse_transcript("\n".join(map(json.dumps, lines)).encode(), path="chat.jsonl", name="chat").runs


def call(call_id: str | None, arguments: Any, name: str = "find") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


USER = {"role": "user", "content": "hello"}
REPLY = {"role": "assistant", "content": "hi"}


@pytest.mark.parametrize(
    ("runs", "names", "sizes"),
    [
        (read([USER, REPLY]), ["chat"], [2]),
        (read({"messages": [USER, REPLY], "model": "m"}), ["chat"], [2]),
        (read({"id": "c-7", "messages": [USER]}), ["c-7"], [1]),
        (read(USER), ["chat"], [1]),
        (read([{"messages": [USER]}, {"messages": [USER, REPLY]}]), ["chat#0", "chat#1"], [1, 2]),
        (read([[USER], [USER, REPLY]]), ["chat#0", "chat#1"], [1, 2]),
        (read({"runs": [{"name": "a", "messages": [USER]}, {"name": "b", "messages": []}]}), ["a", "b"], [1, 0]),
        (read({"messages": []}), ["chat"], [0]),
        (read_lines(USER, REPLY, USER), ["chat"], [3]),
        (read_lines({"messages": [USER]}, {"messages": [USER, REPLY]}), ["chat#0", "chat#1"], [1, 2]),
    ],
)
def test_every_envelope_gives_its_runs(runs: tuple[Run, ...], names: list[str], sizes: list[int]) -> None:
    """A list, an object, several of them, one message or one conversation per line."""
    assert (names, sizes) == ([run.name for run in runs], [len(run.messages) for run in runs])


def test_roles_become_message_classes() -> None:
    """A developer message is a system message that remembers its role."""
    roles = ["system", "developer", "user", "assistant", "tool"]
    (run,) = read([{"role": role, "content": "x", "tool_call_id": "c"} for role in roles])
    assert [SystemMessage, SystemMessage, HumanMessage, AIMessage, ToolMessage] == [type(message) for message in run.messages]
    assert "developer" == run.messages[1].additional_kwargs["__openai_role__"]


def test_calls_and_results_keep_their_ids_names_and_arguments() -> None:
    """Parallel calls come out in order, each with parsed arguments."""
    (run,) = read(
        [
            {"role": "assistant", "content": None, "tool_calls": [call("a", '{"q": "一"}'), call("b", "", "now"), call("c", {"q": 2})]},
            {"role": "tool", "tool_call_id": "b", "name": "now", "content": "12:00", "status": "error"},
        ]
    )
    reply, result = run.messages
    assert isinstance(reply, AIMessage)
    assert isinstance(result, ToolMessage)
    assert [("find", {"q": "一"}, "a"), ("now", {}, "b"), ("find", {"q": 2}, "c")] == [(c["name"], c["args"], c["id"]) for c in reply.tool_calls]
    assert ("", "b", "now", "12:00", "error") == (reply.content, result.tool_call_id, result.name, result.content, result.status)


@pytest.mark.parametrize("arguments", ['{"q": ', "[1]", "42", "{" * 5_000, '{"a":' * 150 + "1" + "}" * 150])
def test_arguments_that_are_no_object_make_an_invalid_call_with_the_text_as_it_was(arguments: str) -> None:
    """Broken arguments are never mended and never lost."""
    (run,) = read([{"role": "assistant", "content": "", "tool_calls": [call("a", arguments), call("b", "{}")]}])
    reply = run.messages[0]
    assert isinstance(reply, AIMessage)
    assert [("find", arguments, "a")] == [(c["name"], c["args"], c["id"]) for c in reply.invalid_tool_calls]
    assert ["b"] == [c["id"] for c in reply.tool_calls]


def test_a_free_text_tool_keeps_its_input() -> None:
    """A custom tool's text is the one argument of its call."""
    (run,) = read([{"role": "assistant", "content": None, "tool_calls": [{"id": "a", "type": "custom", "custom": {"name": "sh", "input": "ls"}}]}])
    assert [("sh", {"__arg1": "ls"}, "a")] == [(c["name"], c["args"], c["id"]) for c in run.messages[0].tool_calls]  # type: ignore[attr-defined]  # an AI message


def test_what_a_provider_added_survives() -> None:
    """Reasoning, refusals and ids are kept; `null` says nothing and is not."""
    (run,) = read(
        [{"role": "assistant", "content": "x", "id": "m1", "name": "bot", "reasoning_content": "because", "refusal": None, "annotations": []}]
    )
    assert {"reasoning_content": "because", "annotations": []} == run.messages[0].additional_kwargs
    assert ("m1", "bot") == (run.messages[0].id, run.messages[0].name)


def test_content_blocks_stay_as_they_are() -> None:
    """Images, thinking and cache marks are not touched."""
    blocks = [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}, {"type": "image_url", "image_url": {"url": "data:,x"}}, "plain"]
    (run,) = read([{"role": "user", "content": blocks}])
    assert blocks == run.messages[0].content


def test_a_function_result_of_the_old_interface_answers_the_call_directly_before_it() -> None:
    """That interface has no ids: call and result are one behind the other and carry one name."""
    (run,) = read(
        [
            {"role": "assistant", "content": None, "function_call": {"name": "find", "arguments": '{"q": 1}'}},
            {"role": "function", "name": "find", "content": {"found": "二"}},
            {"role": "function", "name": "find", "content": "again"},
        ]
    )
    reply, result, orphan = run.messages
    assert isinstance(reply, AIMessage)
    assert isinstance(result, ToolMessage)
    assert isinstance(orphan, ToolMessage)
    assert [("find", {"q": 1})] == [(c["name"], c["args"]) for c in reply.tool_calls]
    assert reply.tool_calls[0]["id"] == result.tool_call_id
    assert '{"found": "二"}' == result.content
    assert "" == orphan.tool_call_id


def test_a_result_without_call_id_is_read_and_left_to_be_reported() -> None:
    """Reading mends nothing: an orphan is the compaction's to name."""
    (run,) = read([USER, {"role": "tool", "content": "x"}])
    assert "" == run.messages[1].tool_call_id  # type: ignore[attr-defined]  # a tool message


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"role": "user"}, "has no `content`"),
        ({"role": "user", "content": 5}, "`content` that is a number"),
        ({"role": "user", "content": [5]}, "content[0]` is a number"),
        ({"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": None}]}, "content[1]` is a text block without a text"),
        ({"role": "user", "content": [{"type": ["text"]}]}, "content[0]` has a `type` that is a list"),
        ({"role": ["user"], "content": "x"}, "has the role a list"),
        ({"role": "assistant", "tool_calls": "x"}, "tool_calls` is a text"),
        ({"role": "assistant", "tool_calls": [{"id": "a"}]}, "tool_calls[0]` names no tool"),
        ({"role": "assistant", "content": "x", "additional_kwargs": 3}, "`additional_kwargs` that is a number"),
        ({"role": "user", "content": "x", "name": {}}, "`name`"),
    ],
)
def test_fields_that_do_not_fit_are_refused_by_name(entry: dict[str, Any], reason: str) -> None:
    """The error says which message and which field."""
    with pytest.raises(TranscriptError) as caught:
        read([USER, entry])
    assert "chat.json:1: `[1]" in str(caught.value)
    assert reason in str(caught.value)

"""LangChain's own serialisations come back as the messages they were, and nothing else is ever made from them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.load import dumpd
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    messages_to_dict,
)

from langchain_ctxguard.backends.transcripts import CompactionKind, CompactionMark, Run, parse_transcript
from langchain_ctxguard.errors import TranscriptError

MESSAGES: list[BaseMessage] = [
    SystemMessage("不得删除订单。", id="s"),
    HumanMessage([{"type": "text", "text": "go", "cache_control": {"type": "ephemeral"}}], id="h", name="ann"),
    AIMessage(
        [{"type": "thinking", "thinking": "hm", "signature": "sig=="}, {"type": "text", "text": "ok"}],
        id="a",
        additional_kwargs={"reasoning_content": "because"},
        response_metadata={"model_name": "m", "finish_reason": "tool_calls"},
        tool_calls=[{"name": "find", "args": {"q": [1, None]}, "id": "c1", "type": "tool_call"}],
        invalid_tool_calls=[{"name": "find", "args": '{"q":', "id": "c2", "error": "cut off", "type": "invalid_tool_call"}],
        usage_metadata={"input_tokens": 5, "output_tokens": 2, "total_tokens": 7},
    ),
    ToolMessage([{"type": "text", "text": "found"}], id="t", name="find", tool_call_id="c1", status="error", artifact={"rows": [1]}),
    ChatMessage("aside", role="critic", id="k"),
    FunctionMessage("old", name="find", id="f"),
]


def read(data: Any) -> tuple[Run, ...]:
    return parse_transcript(json.dumps(data).encode(), path="dump.json", name="dump").runs


def flat(messages: list[BaseMessage]) -> list[dict[str, Any]]:
    return [message.model_dump() for message in messages]


@pytest.mark.parametrize("write", [dumpd, messages_to_dict, flat])
def test_a_dump_comes_back_equal(write: Any) -> None:
    """Ids, names, reasoning, status, artifacts, usage, broken calls and block content all survive."""
    (run,) = read(write(MESSAGES))
    assert "langchain" == run.format
    assert MESSAGES == run.messages


def test_jsonl_and_an_object_around_the_list_are_read_alike() -> None:
    """One message per line, or `{"messages": [...]}`."""
    lines = "\n".join(json.dumps(entry) for entry in dumpd(MESSAGES)).encode()
    (by_line,) = parse_transcript(lines, path="dump.jsonl").runs
    (wrapped,) = read({"messages": messages_to_dict(MESSAGES)})
    assert MESSAGES == by_line.messages == wrapped.messages


def test_a_stored_chunk_is_the_message_it_stands_for() -> None:
    """Calls that exist only in pieces are put together."""
    chunk = AIMessageChunk("x", id="a", tool_call_chunks=[{"name": "find", "args": '{"q": 1}', "id": "c", "index": 0, "type": "tool_call_chunk"}])
    bare = {key: value for key, value in chunk.model_dump().items() if key != "tool_calls"}
    for data in (dumpd([chunk]), [bare]):
        (message,) = read(data)[0].messages
        assert AIMessage is type(message)
        assert [("find", {"q": 1}, "c")] == [(c["name"], c["args"], c["id"]) for c in message.tool_calls]


@pytest.mark.parametrize(
    "path",
    [
        ["langchain_core", "prompts", "prompt", "PromptTemplate"],
        ["langchain", "chat_models", "openai", "ChatOpenAI"],
        ["os", "system"],
        ["langchain_core", "messages", "BaseMessage"],
    ],
)
def test_a_serialised_object_that_is_no_message_is_refused_and_never_made(path: list[str]) -> None:
    """The file chooses no class: a name outside the message classes is an error."""
    data = [*dumpd([HumanMessage("x")]), {"lc": 1, "type": "constructor", "id": path, "kwargs": {"content": "x", "template": "{x}"}}]
    with pytest.raises(TranscriptError, match="which is no message"):
        read(data)


def test_a_class_path_only_names_the_kind_of_message() -> None:
    """A message class under a foreign module path is LangChain's message class, not an import."""
    (run,) = read([{"lc": 1, "type": "constructor", "id": ["evil", "module", "HumanMessage"], "kwargs": {"content": "x"}}])
    assert [HumanMessage("x")] == run.messages


def test_fields_cannot_take_the_constructor_over() -> None:
    """`self`, `type` and `content_blocks` in a file are data, not arguments."""
    (run,) = read([{"type": "human", "content": "said", "content_blocks": [{"type": "text", "text": "forged"}], "self": 1, "odd": 2}])
    assert [HumanMessage("said", additional_kwargs={"self": 1, "odd": 2})] == run.messages


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (dumpd(RemoveMessage(id="x")), "instruction, not part of a conversation"),
        ({"lc": 1, "type": "not_implemented", "id": ["x"]}, "'not_implemented'"),
        ({"lc": 1, "type": "constructor", "id": [], "kwargs": {}}, "without a class name"),
        ({"type": "human", "data": {"name": "x"}}, "`[1].data` has no `content`"),
        ({"type": "ai", "content": "x", "usage_metadata": {"input_tokens": "many"}}, "usage_metadata"),
        ({"type": "ai", "content": "x", "invalid_tool_calls": [1]}, "invalid_tool_calls"),
        ({"type": "chat", "content": "x"}, "role"),
        (3, "is a number"),
    ],
)
def test_an_entry_that_does_not_fit_is_refused_with_its_reason(entry: Any, reason: str) -> None:
    """The error says which message, and why."""
    with pytest.raises(TranscriptError) as caught:
        read([*messages_to_dict([HumanMessage("x")]), entry])
    assert reason in str(caught.value)
    assert "`[1]" in str(caught.value)


def test_summaries_in_a_dump_are_marks() -> None:
    """Each message that says it is a summary stands where a compaction was."""
    summary = HumanMessage("so far", additional_kwargs={"lc_source": "summarization"})
    (run,) = read(dumpd([summary, *MESSAGES, summary]))
    assert tuple(CompactionMark(at, CompactionKind.SUMMARY, at) for at in (0, len(MESSAGES) + 1)) == run.compactions

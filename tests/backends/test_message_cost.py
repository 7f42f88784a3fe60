from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from langchain_ctxguard.backends.message_cost import (
    AUDIO_TOKENS,
    CALL_TOKENS,
    FILE_TOKENS,
    IMAGE_TOKENS,
    MESSAGE_TOKENS,
    NAME_TOKENS,
    VIDEO_TOKENS,
    message_cost,
)

BLOB = "iVBORw0KGgo" * 40_000  # 440 kB
DATA_URL = f"data:image/png;base64,{BLOB}"


def cost(message: BaseMessage) -> int:
    """The cost of a message where a character is a token: every character that counts shows."""
    return message_cost(message, len) - MESSAGE_TOKENS


IMAGES: list[dict[str, Any]] = [
    {"type": "input_image", "image_url": DATA_URL},
    {"type": "image_url", "image_url": {"url": DATA_URL, "detail": "high"}},
    {"type": "image_url", "image_url": "https://example.com/kettle.png"},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": BLOB}},
    {"type": "image", "source_type": "base64", "mime_type": "image/png", "data": BLOB},
    {"type": "image", "base64": BLOB, "mime_type": "image/png"},
    {"type": "media", "mime_type": "image/png", "data": BLOB},
    {"inline_data": {"mime_type": "image/png", "data": BLOB}},
    {"image": {"format": "png", "source": {"bytes": BLOB.encode()}}},
]


@pytest.mark.field("C114")
@pytest.mark.parametrize("block", IMAGES)
def test_an_image_costs_a_flat_sum_in_every_dialect(block: dict[str, Any]) -> None:
    """400 kB of base64 cost as much as an address does, and as much in every provider's form."""
    assert cost(HumanMessage([block])) == IMAGE_TOKENS


@pytest.mark.field("C116")
def test_images_are_not_free() -> None:
    """Five images cost five times one."""
    assert cost(HumanMessage(IMAGES[:5])) == 5 * IMAGE_TOKENS > 0


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ({"type": "audio", "base64": BLOB, "mime_type": "audio/wav"}, AUDIO_TOKENS),
        ({"type": "input_audio", "input_audio": {"data": BLOB, "format": "wav"}}, AUDIO_TOKENS),
        ({"type": "media", "mime_type": "audio/mp3", "data": BLOB}, AUDIO_TOKENS),
        ({"type": "video", "url": "https://example.com/a.mp4"}, VIDEO_TOKENS),
        ({"type": "file", "file": {"filename": "a.pdf", "file_data": BLOB}}, FILE_TOKENS),
        ({"type": "input_file", "file_data": BLOB}, FILE_TOKENS),
        ({"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": BLOB}}, FILE_TOKENS),
        ({"type": "document", "source": {"type": "url", "url": "https://example.com/a.pdf"}, "title": "Rules"}, FILE_TOKENS + 5),
        ({"document": {"format": "pdf", "name": "a", "source": {"bytes": BLOB.encode()}}}, FILE_TOKENS),
        ({"type": "file", "base64": BLOB, "mime_type": "image/png"}, IMAGE_TOKENS),
    ],
)
def test_other_media_cost_flat_sums(block: dict[str, Any], expected: int) -> None:
    """Sound, video and files cost by kind, not by size."""
    assert cost(HumanMessage([block])) == expected


@pytest.mark.parametrize(
    "block",
    [
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "twelve chars"}},
        {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "twelve chars"}]}},
        {"type": "file", "source_type": "text", "text": "twelve chars"},
        {"type": "text-plain", "text": "twelve chars", "mime_type": "text/plain"},
    ],
)
def test_a_file_of_plain_text_costs_its_text(block: dict[str, Any]) -> None:
    """What is sent as text is counted as text."""
    assert cost(HumanMessage([block])) == 12


@pytest.mark.field("C117")
def test_media_in_a_tool_result_cost_flat_sums() -> None:
    """A screenshot a tool answers with is an image there too, whoever carries the result."""
    assert cost(ToolMessage([{"type": "text", "text": "done"}, IMAGES[0]], tool_call_id="c1")) == len("done") + IMAGE_TOKENS + len("c1")
    result = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "done"}, IMAGES[3]]}
    assert cost(HumanMessage([result])) == len("done") + IMAGE_TOKENS + len("c1")


def test_an_unknown_block_costs_its_words_but_not_its_data() -> None:
    """A block nobody described is counted as JSON; encoded data in it is cut, not free."""
    words = {"type": "hologram", "caption": "the kettle on the counter"}
    plain = cost(HumanMessage([words]))
    assert len(words["caption"]) < plain < 100
    assert plain < cost(HumanMessage([{**words, "data": BLOB}])) < plain + 400
    assert plain < cost(HumanMessage([{**words, "data": BLOB.encode()}])) < plain + 400


@pytest.mark.parametrize(
    "block",
    [
        {"type": "tool_use", "id": "c1", "name": "cancel", "input": {"id": 7}},
        {"type": "tool_call", "id": "c1", "name": "cancel", "args": {"id": 7}},
        {"type": "function_call", "call_id": "c1", "id": "fc_1", "name": "cancel", "arguments": '{"id": 7}'},
    ],
)
def test_a_call_counts_once_wherever_it_stands(block: dict[str, Any]) -> None:
    """A call in the content, in `tool_calls`, or in both costs the same."""
    call = {"name": "cancel", "args": {"id": 7}, "id": "c1"}
    expected = CALL_TOKENS + len("cancel") + len('{"id": 7}')
    assert cost(AIMessage("", tool_calls=[call])) == expected
    assert cost(AIMessage([block])) == expected
    assert cost(AIMessage([block], tool_calls=[call])) == expected


def test_calls_that_cannot_be_parsed_are_counted() -> None:
    """An invalid call is sent back as it came."""
    broken = {"name": "cancel", "args": '{"id": ', "id": "c1", "error": "not JSON"}
    assert cost(AIMessage("", invalid_tool_calls=[broken])) == CALL_TOKENS + len("cancel") + len('{"id": ')


def test_an_old_style_function_call_is_counted() -> None:
    """`function_call` beside the content is a call too."""
    message = AIMessage("", additional_kwargs={"function_call": {"name": "cancel", "arguments": '{"id": 7}'}})
    assert cost(message) == CALL_TOKENS + len("cancel") + len('{"id": 7}')


def test_names_and_call_ids_are_counted() -> None:
    """Who speaks and what is answered is sent as well; an artifact is not."""
    assert cost(HumanMessage("hello", name="mei")) == len("hello") + NAME_TOKENS + len("mei")
    assert cost(ToolMessage("ok", tool_call_id="call_1", artifact={"rows": BLOB})) == len("ok") + len("call_1")


@pytest.mark.parametrize(
    "message",
    [
        AIMessage("yes", additional_kwargs={"reasoning_content": "ten chars."}),
        AIMessage([{"type": "thinking", "thinking": "ten chars.", "signature": "short"}, {"type": "text", "text": "yes"}]),
        AIMessage([{"type": "reasoning", "reasoning": "ten chars."}, {"type": "text", "text": "yes"}]),
        AIMessage([{"type": "reasoning", "summary": [{"type": "summary_text", "text": "ten chars."}]}, {"type": "text", "text": "yes"}]),
        AIMessage([{"type": "reasoning_content", "reasoning_content": {"text": "ten chars.", "signature": "s"}}, "yes"]),
        AIMessage(
            [{"type": "reasoning", "reasoning": "ten chars."}, {"type": "text", "text": "yes"}], additional_kwargs={"reasoning_content": "ten chars."}
        ),
    ],
)
def test_reasoning_is_counted_once_in_every_dialect(message: AIMessage) -> None:
    """Reasoning text costs its text, whether beside the content, in it, or in both."""
    assert cost(message) == len("yes") + len("ten chars.")


@pytest.mark.parametrize(
    "block",
    [
        {"type": "thinking", "thinking": "short", "signature": "x" * 5_000},
        {"type": "redacted_thinking", "data": "x" * 5_000},
        {"type": "reasoning", "summary": [], "encrypted_content": "x" * 5_000},
        {"type": "reasoning", "reasoning": "short", "extras": {"signature": "x" * 5_000}},
    ],
)
def test_sealed_reasoning_costs_what_it_can_hold(block: dict[str, Any]) -> None:
    """A signature stands for reasoning nobody sees: a token for five characters, not one by one and not nothing."""
    assert cost(AIMessage([block])) == 1_000


def test_strange_content_is_counted_and_does_not_raise() -> None:
    """Content that no provider would send has some cost all the same."""
    holds_itself: dict[str, Any] = {"type": "odd", "words": "around"}
    holds_itself["self"] = holds_itself
    deep: Any = "bottom"
    for _ in range(3_000):
        deep = {"type": "tool_result", "content": [deep]}
    for block in ({"type": 7}, {"type": None}, {"type": "text", "text": None}, {}, {"type": "image_url"}, {"type": "odd", "n": 10**6_000}):
        assert 0 < cost(HumanMessage([block]))
    built = HumanMessage("")
    for content in ([holds_itself], [deep], ["", "words"], [{"type": "reasoning", "reasoning": {"text": {"text": 1}}}]):
        built.content = content
        assert 0 < cost(built)
    assert cost(HumanMessage("")) == 0
    assert cost(SystemMessage([])) == 0


def test_arguments_of_any_kind_are_counted() -> None:
    """Arguments that are no JSON, or mix their kinds of keys, do not raise."""
    for args in ({"when": object()}, {1: "a", "b": 2}, {"text": "\ud800"}):
        message = AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "c"}])
        message.tool_calls[0]["args"] = args
        assert CALL_TOKENS + 3 < cost(message)

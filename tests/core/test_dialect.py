"""Messages printed in OpenAI's form lose no call, no result and no text."""

from __future__ import annotations

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from langchain_ctxguard.core.dialect import write_openai


def test_a_call_with_broken_arguments_is_still_printed() -> None:
    """Its result would be an orphan without it."""
    broken = AIMessage("", invalid_tool_calls=[{"name": "find", "args": '{"q":', "id": "c", "error": None, "type": "invalid_tool_call"}])
    call, result = write_openai([broken, ToolMessage("no", tool_call_id="c")])
    assert [{"type": "function", "id": "c", "function": {"name": "find", "arguments": '{"q":'}}] == call["tool_calls"]
    assert "c" == result["tool_call_id"]


def test_blocks_of_no_known_dialect_stay_as_they_are() -> None:
    """What cannot be translated is passed on, calls included."""
    blocks = [{"no_type": 1}, {"type": "image"}]
    (form,) = write_openai([AIMessage(blocks, tool_calls=[{"name": "f", "args": {}, "id": "c", "type": "tool_call"}])])
    assert (blocks, "c") == (form["content"], form["tool_calls"][0]["id"])


def test_results_inside_a_human_message_are_messages_of_their_own() -> None:
    """Anthropic sends results in the user role; each comes out as a tool message."""
    results = [{"type": "tool_result", "tool_use_id": call_id, "content": call_id.upper()} for call_id in ("a", "b")]
    forms = write_openai([HumanMessage([*results, {"type": "text", "text": "go on"}])])
    assert [("tool", "a", "A"), ("tool", "b", "B")] == [
        (form["role"], form["tool_call_id"], form["content"]) for form in forms if form["role"] == "tool"
    ]
    assert ["go on"] == [form["content"] for form in forms if form["role"] == "user"]

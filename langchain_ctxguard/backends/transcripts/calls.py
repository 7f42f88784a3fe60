"""Tool calls as files record them -> LangChain's two kinds: those that can be run and those that cannot."""

from __future__ import annotations

import json
from typing import Any

from langchain_core.messages import InvalidToolCall, ToolCall
from langchain_core.messages.tool import invalid_tool_call, tool_call

from langchain_ctxguard.backends.transcripts.document import is_too_deep
from langchain_ctxguard.backends.transcripts.transcript import Misfit, Where, kind_of

MAX_ARGUMENT_DEPTH = 100


def parse_calls(recorded: Any, where: Where) -> tuple[list[ToolCall], list[InvalidToolCall]]:
    """Return the calls in `recorded`: OpenAI's `{"function": {...}}`, its custom tools, or LangChain's `{"name", "args"}`.

    Arguments that are no JSON object make the call invalid, with the text as it was; they are never mended.

    Raises:
        Misfit: an entry that is no call at all.
    """
    valid: list[ToolCall] = []
    invalid: list[InvalidToolCall] = []
    if recorded is None:
        return valid, invalid
    if not isinstance(recorded, list):
        raise Misfit(where, f"is {kind_of(recorded)}; tool calls are a list")
    for index, entry in enumerate(recorded):
        call = _parse_call(entry, (*where, index))
        if call["type"] == "tool_call":
            valid.append(call)
        else:
            invalid.append(call)
    return valid, invalid


def call_of(name: str, arguments: Any, call_id: str | None) -> ToolCall | InvalidToolCall:
    """Return the call, invalid where `arguments` are neither an object nor the JSON text of one."""
    # No arguments at all is how several providers write a call of a tool that takes none.
    is_empty = arguments is None or (isinstance(arguments, str) and not arguments.strip())
    parsed = {} if is_empty else _object_in(arguments) if isinstance(arguments, str) else arguments
    if isinstance(parsed, dict):
        return tool_call(name=name, args=parsed, id=call_id)
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return invalid_tool_call(name=name, args=text, id=call_id, error="The arguments are no JSON object.")


def _parse_call(entry: Any, where: Where) -> ToolCall | InvalidToolCall:
    if not isinstance(entry, dict):
        raise Misfit(where, f"is {kind_of(entry)}; a tool call is an object")
    call_id = entry.get("id")
    match entry:
        case {"function": {"name": str(name), **rest}}:
            return call_of(name, rest.get("arguments"), _id_text(call_id))
        case {"custom": {"name": str(name), **rest}}:
            # The name LangChain's OpenAI package gives the one argument of a free-text tool.
            return call_of(name, {"__arg1": rest.get("input", "")}, _id_text(call_id))
        case {"name": str(name)}:
            return call_of(name, entry.get("args", entry.get("arguments")), _id_text(call_id))
        case _:
            raise Misfit(where, "names no tool; a tool call has `function.name` or `name`")


def _id_text(call_id: Any) -> str | None:
    return None if call_id is None else str(call_id)


def _object_in(text: str) -> Any:
    try:
        parsed = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    return None if is_too_deep(parsed, MAX_ARGUMENT_DEPTH) else parsed

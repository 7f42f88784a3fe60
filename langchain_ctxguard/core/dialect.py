"""Message lists in whatever form LangChain accepts -> messages, and back to the form they came in."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    convert_to_messages,
    convert_to_openai_messages,
)

from langchain_ctxguard.core.roles import results_of
from langchain_ctxguard.errors import ConfigurationError


def listed(given: Any) -> list[Any]:
    """Return the items of what was given as a conversation: a list, anything that yields messages once, or a prompt's value.

    Raises:
        ConfigurationError: it is a text, one message, a state, or nothing that can be gone through.
    """
    if callable(getattr(given, "to_messages", None)):
        return list(given.to_messages())
    if isinstance(given, Mapping):
        hint = "pass the list under its key 'messages'" if "messages" in given else "write [message] for a single one"
    elif isinstance(given, (str, bytes, bytearray, BaseMessage)):
        hint = "write [message] for a single one"
    elif isinstance(given, Iterable) and not isinstance(given, (set, frozenset)):
        return list(given)
    else:
        hint = "pass messages, dicts, pairs or strings in order"
    msg = f"`messages` takes a list of messages, not {type(given).__name__}; {hint}."
    raise ConfigurationError(msg)


def read_messages(items: Sequence[Any]) -> list[BaseMessage]:
    """Return `items` as messages: messages stay the same objects; dicts, pairs and strings are converted.

    Raises:
        ConfigurationError: naming the index of an item that is no message.
    """
    messages: list[BaseMessage] = []
    for index, item in enumerate(items):
        if isinstance(item, RemoveMessage):
            msg = f"messages[{index}] is a RemoveMessage: an update for a graph's state, not a message. Apply it first, or leave it out."
            raise ConfigurationError(msg)
        if isinstance(item, BaseMessage):
            messages.append(item)
            continue
        try:
            messages.append(_read(item))
        except (ValueError, TypeError, KeyError, NotImplementedError, AttributeError) as error:
            msg = (
                f"messages[{index}] is no message ({type(error).__name__}: {error}). "
                "A message needs a role and a content, e.g. {'role': 'user', 'content': 'hi'}."
            )
            raise ConfigurationError(msg) from error
    return messages


def _read(item: Any) -> BaseMessage:
    if isinstance(item, dict):
        if _calls_without_words(item):
            item = {**item, "content": ""}
        if isinstance(item.get("tool_calls"), list):
            return _read_calls(item)
    return convert_to_messages([item])[0]


def _calls_without_words(item: dict[str, Any]) -> bool:
    """Say whether an assistant's dict leaves `content` out because it calls something, as OpenAI's API allows."""
    is_ai = item.get("role", item.get("type")) in ("assistant", "ai")
    return is_ai and "content" not in item and bool(item.get("tool_calls") or item.get("function_call"))


def _read_calls(item: dict[str, Any]) -> BaseMessage:
    """Read an assistant's dict, keeping calls whose arguments are no JSON as invalid calls: they wait for a result like any other."""
    sound, invalid = [], []
    for call in item["tool_calls"]:
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict) and not _is_json_object(function.get("arguments")):
            invalid.append(
                {
                    "type": "invalid_tool_call",
                    "id": call.get("id"),
                    "name": function.get("name"),
                    "args": function.get("arguments") if isinstance(function.get("arguments"), str) else json.dumps(function.get("arguments")),
                    "error": "arguments are no JSON object",
                }
            )
        else:
            sound.append(call)
    rest = {key: value for key, value in item.items() if key != "tool_calls"}
    message = convert_to_messages([{**rest, "tool_calls": sound} if sound else rest])[0]
    if invalid and isinstance(message, AIMessage):
        return message.model_copy(update={"invalid_tool_calls": invalid})
    return message


def _is_json_object(arguments: Any) -> bool:
    if isinstance(arguments, dict):
        return True
    if not isinstance(arguments, str):
        return False
    try:
        return isinstance(json.loads(arguments, strict=False), dict)
    except (ValueError, RecursionError):
        return False


def write_openai(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """Return messages in OpenAI's chat form, ready to be sent; no call is lost, even one whose arguments are broken.

    Results inside a human message (Anthropic's form) are messages of their own in this one.
    """
    return [form for message in messages for form in _forms(message)]


def write_like(message: BaseMessage, example: Any) -> list[dict[str, Any]]:
    """Return a message as dicts of the dialect of `example`: LangChain's `type` dicts or OpenAI's `role` dicts."""
    if isinstance(example, dict) and "role" not in example and "type" in example:
        return [{key: value for key, value in message.model_dump(mode="json").items() if value not in (None, {}, [])} | {"content": message.content}]
    return _forms(message)


def _forms(message: BaseMessage) -> list[dict[str, Any]]:
    try:
        if isinstance(message, HumanMessage) and results_of(message):
            several: list[dict[str, Any]] = convert_to_openai_messages([message])
            return several
        return [_form(message)]
    except (ValueError, KeyError, TypeError, AttributeError):
        # Content blocks of no known dialect stay as they are.
        return [{**_form(message.model_copy(update={"content": ""})), "content": message.content}]


def _block_text(block: Any) -> str:
    return block if isinstance(block, str) else str(block.get("text", ""))


def _form(message: BaseMessage) -> dict[str, Any]:
    """Return one message as one dict; names and reasoning text that the stock conversion leaves out are kept."""
    data: dict[str, Any] = dict(convert_to_openai_messages([message])[0])
    if isinstance(message, SystemMessage) and isinstance(data.get("content"), str):
        # The stock conversion puts a line break between blocks; ours bring their own, and a view given back must read as it was.
        data["content"] = "".join(_block_text(block) for block in message.content)
    if message.name and "name" not in data:
        data["name"] = message.name
    if isinstance(message, AIMessage) and message.invalid_tool_calls:
        broken = [
            {"type": "function", "id": call.get("id"), "function": {"name": call.get("name") or "", "arguments": call.get("args") or ""}}
            for call in message.invalid_tool_calls
        ]
        data["tool_calls"] = [*data.get("tool_calls", []), *broken]
    reasoning = message.additional_kwargs.get("reasoning_content")
    if reasoning is not None and "reasoning_content" not in data:
        data["reasoning_content"] = reasoning
    return data

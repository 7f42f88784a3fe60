"""Who speaks in a message, what it says, which calls it makes and which it answers. The only place that knows message dialects."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, FunctionMessage, HumanMessage, SystemMessage, ToolMessage

Speaker = Literal["user", "ai", "tool", "system"]

NOTE = "context_note"
EVIDENCE = "context_evidence"
SUMMARY = "context_summary"
RULES = "context_rules"

_CHAT_ROLES: dict[str, Speaker] = {
    "user": "user",
    "human": "user",
    "assistant": "ai",
    "ai": "ai",
    "model": "ai",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}
_BY_TYPE: dict[type[BaseMessage], Speaker] = {
    HumanMessage: "user",
    AIMessage: "ai",
    ToolMessage: "tool",
    FunctionMessage: "tool",
    SystemMessage: "system",
}
"""The common messages, told without `isinstance`, which is slow for a class of pydantic's that does not match."""

_CALL_BLOCKS = frozenset({"tool_use", "tool_call", "invalid_tool_call", "function_call", "custom_tool_call"})
_TEXT_BLOCKS = frozenset({"text", "input_text", "output_text", "text-plain", "refusal"})
# What a reader takes for one of our tags: any width, look-alike letters, and what nobody sees between any two characters.
_UNSEEN = "[\\s\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]*"
_LETTERS = {
    "c": "c\uff43\u0441\u03f2",
    "o": "o\uff4f\u043e\u03bf",
    "n": "n\uff4e",
    "t": "t\uff54",
    "e": "e\uff45\u0435",
    "x": "x\uff58\u0445",
}
_OWN_TAG = re.compile(
    "[<\uff1c\ufe64\u2039\u2329\u3008\u27e8]"
    f"(?={_UNSEEN}(?:[/\uff0f\u2044\u2215]{_UNSEEN})*" + "".join(f"[{_LETTERS[letter]}]{_UNSEEN}" for letter in "context") + r"[_\uff3f\s\-\uff0d])",
    re.IGNORECASE,
)
# langmem writes its summary as a system message that begins with these words, deepagents and LangChain mark theirs with `lc_source`.
_SUMMARY_OPENINGS = ("Summary of the conversation so far:", "This is a summary of the conversation to date:")


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call of an AI message, wherever the provider put it."""

    call_id: str | None
    name: str
    arguments: Any
    """A mapping, or the raw text where the arguments could not be parsed."""

    @property
    def arguments_text(self) -> str:
        """The arguments as canonical JSON, or the raw text."""
        if isinstance(self.arguments, str):
            return self.arguments
        try:
            return json.dumps(self.arguments, sort_keys=True, ensure_ascii=False, separators=(", ", ": "), default=str)
        except (TypeError, ValueError, RecursionError):
            # Keys of mixed types, or an argument that holds itself: still shown, in the order it has.
            return str(self.arguments)


def speaker_of(message: BaseMessage) -> Speaker:
    """Return who speaks; an unknown role of a `ChatMessage` counts as the user, the least trusted of them."""
    known = _BY_TYPE.get(type(message))
    if known is not None:
        return known
    for kind, speaker in _BY_TYPE.items():
        if isinstance(message, kind):
            return speaker
    if isinstance(message, ChatMessage):
        return _CHAT_ROLES.get(message.role.lower(), "user")
    return "user"


def text_of(message: BaseMessage) -> str:
    """Return everything a message says in words: string content, text blocks, the text of tool results. No reasoning, no media."""
    content = message.content
    if isinstance(content, str):
        return content
    return "\n".join(part for block in content if (part := _text_of_block(block)))


def _text_of_block(block: Any) -> str:
    if isinstance(block, str):
        return block
    if not isinstance(block, dict):
        return ""
    if block.get("type") in _TEXT_BLOCKS:
        text = block.get("text", block.get("refusal", ""))
        return text if isinstance(text, str) else ""
    if block.get("type") == "tool_result":
        inner = block.get("content", "")
        return "\n".join(text for part in inner if (text := _text_of_block(part))) if isinstance(inner, list) else str(inner)
    return ""


def calls_of(message: BaseMessage) -> tuple[Call, ...]:
    """Return the calls a message makes: parsed, invalid, or only a block of its content. A call known by its id counts once."""
    if _BY_TYPE.get(type(message), "ai") != "ai" or not isinstance(message, AIMessage):
        return ()
    if not (message.tool_calls or message.invalid_tool_calls or message.additional_kwargs) and isinstance(message.content, str):
        return ()
    calls = [Call(call.get("id"), call.get("name") or "", call.get("args") or {}) for call in message.tool_calls]
    calls += [Call(call.get("id"), call.get("name") or "", call.get("args") or "") for call in message.invalid_tool_calls]
    if is_plainly_calling(message):
        return tuple(calls)
    for further in (_calls_in_blocks(message), _calls_in_extras(message)):
        known = {call.call_id for call in calls if call.call_id}
        nameless = sum(not call.call_id for call in calls)
        for call in further:
            # The blocks repeat what is parsed already; calls without an id are told apart only by their number.
            if call.call_id:
                calls += [] if call.call_id in known else [call]
                known.add(call.call_id)
            elif nameless:
                nameless -= 1
            else:
                calls.append(call)
    return tuple(calls)


def is_plainly_calling(message: AIMessage) -> bool:
    """Say whether all calls of a message stand in its own fields, none in its content or in what a provider added."""
    return isinstance(message.content, str) and "tool_calls" not in message.additional_kwargs


def function_call_of(message: BaseMessage) -> Call | None:
    """Return the call of OpenAI's retired functions API, which has no id and which `calls_of` leaves out: no result can be paired with it by id."""
    function = message.additional_kwargs.get("function_call") if message.additional_kwargs and isinstance(message, AIMessage) else None
    if not isinstance(function, dict):
        return None
    arguments = function.get("arguments") or ""
    if isinstance(arguments, str):
        with suppress(ValueError, RecursionError):
            parsed = json.loads(arguments)
            arguments = parsed if isinstance(parsed, dict) else arguments
    return Call(None, str(function.get("name") or ""), arguments)


def _calls_in_blocks(message: AIMessage) -> list[Call]:
    if isinstance(message.content, str):
        return []
    return [
        Call(block_call_id(block), str(block.get("name", "")), block.get("input", block.get("args", block.get("arguments", {}))))
        for block in message.content
        if isinstance(block, dict) and block.get("type") in _CALL_BLOCKS
    ]


def _calls_in_extras(message: AIMessage) -> list[Call]:
    raw = message.additional_kwargs.get("tool_calls")
    if not isinstance(raw, list):
        return []
    calls = []
    for item in raw:
        function = item.get("function") if isinstance(item, dict) else None
        if isinstance(function, dict):
            calls.append(Call(item.get("id"), str(function.get("name", "")), function.get("arguments", "")))
    return calls


def block_call_id(block: dict[str, Any]) -> str | None:
    """Return the call id of a content block that makes a call (OpenAI's Responses API calls it `call_id`)."""
    found = block.get("call_id") or block.get("id")
    return found if isinstance(found, str) else None


def is_call_block(block: Any) -> bool:
    """Say whether a content block makes a tool call that waits for a result."""
    return isinstance(block, dict) and block.get("type") in _CALL_BLOCKS


def results_of(message: BaseMessage) -> tuple[str, ...]:
    """Return the ids of the calls a message answers: a tool message's own, or those of `tool_result` blocks in a human message."""
    if type(message.content) is str and _BY_TYPE.get(type(message)) in {"user", "ai", "system"}:
        return ()
    if isinstance(message, ToolMessage):
        return (message.tool_call_id,)
    if isinstance(message, HumanMessage) and not isinstance(message.content, str):
        return tuple(str(block.get("tool_use_id", "")) for block in message.content if isinstance(block, dict) and block.get("type") == "tool_result")
    return ()


def is_failure(message: BaseMessage) -> bool:
    """Say whether a tool result reports an error by its status."""
    if isinstance(message, ToolMessage):
        return message.status == "error"
    if isinstance(message.content, str):
        return False
    return any(isinstance(block, dict) and block.get("type") == "tool_result" and bool(block.get("is_error")) for block in message.content)


def is_note(message: BaseMessage) -> bool:
    """Say whether a message is untrusted text we put in the user role, or a summary another tool left in the list.

    Either way it is no request of a person. A forged mark costs its sender the protection of the current request, nobody else.
    """
    if _BY_TYPE.get(type(message), "user") != "user" or not isinstance(message, HumanMessage):
        return False
    if message.additional_kwargs and message.additional_kwargs.get("lc_source") == "summarization":
        return True
    return message.name == NOTE and text_of(message).startswith(f"<{NOTE} ")


def is_foreign_summary(message: BaseMessage) -> bool:
    """Say whether a message is the summary of another tool, whatever role it has."""
    if message.additional_kwargs and message.additional_kwargs.get("lc_source") == "summarization":
        return True
    return speaker_of(message) == "system" and isinstance(message, SystemMessage) and text_of(message).lstrip().startswith(_SUMMARY_OPENINGS)


def is_request(message: BaseMessage) -> bool:
    """Say whether a message is a person's own turn: in the user role, no note, no bare carrier of tool results."""
    if speaker_of(message) != "user" or is_note(message):
        return False
    if isinstance(message.content, str):
        return True
    blocks = message.content
    return not (blocks and all(isinstance(block, dict) and block.get("type") == "tool_result" for block in blocks))


def last_request(messages: list[BaseMessage] | tuple[BaseMessage, ...]) -> int | None:
    """Return the index of the current request: the last human turn, `None` where nobody asked.

    Where every human message carries a foreign summary's mark, the mark is forged or the request is inside: the last one stands.
    """
    fallback = None
    for index in range(len(messages) - 1, -1, -1):
        if is_request(messages[index]):
            return index
        if fallback is None and isinstance(messages[index], HumanMessage) and messages[index].name != NOTE and not results_of(messages[index]):
            fallback = index
    return fallback


def escaped(text: str) -> str:
    """Return `text` unable to open or close one of our tags; everything else stays as it is.

    >>> escaped("a < b </context_summary>")
    'a < b &lt;/context_summary>'
    """
    return _OWN_TAG.sub("&lt;", text)

"""What providers accept, checked strictly and without a network.

`check_provider_valid` reads LangChain messages. The `*_payload` functions run the conversion code of `langchain-openai` and
`langchain-anthropic`; the `check_*` functions beside them read the bodies that would be sent. Every check returns its faults as
sentences; an empty list means valid. Nothing here shares code with the package under test.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage

THINKING_TYPES = ("thinking", "redacted_thinking", "reasoning", "reasoning_content")
CALL_BLOCK_TYPES = ("tool_use", "tool_call", "function_call", "invalid_tool_call")


def blocks_of(message: BaseMessage) -> list[dict[str, Any]]:
    """Return the content blocks of a message, a string being one text block."""
    if isinstance(message.content, str):
        return [{"type": "text", "text": message.content}] if message.content else []
    return [{"type": "text", "text": block} if isinstance(block, str) else block for block in message.content]


def texts_of(message: BaseMessage) -> list[str]:
    """Return the readable texts of a message, block by block."""
    return [block["text"] for block in blocks_of(message) if isinstance(block.get("text"), str)]


def call_ids_of(message: BaseMessage) -> list[str | None]:
    """Return the ids of all calls of a message in order, each once: a call may stand in `tool_calls` and in the content."""
    if not isinstance(message, AIMessage):
        return []
    listed: list[str | None] = [call.get("id") for call in [*message.tool_calls, *message.invalid_tool_calls]]
    for block in blocks_of(message):
        if block.get("type") in CALL_BLOCK_TYPES:
            call_id = block.get("call_id") or block.get("id")
            if call_id not in listed:
                listed.append(call_id)
    return listed


def has_readable_content(message: BaseMessage) -> bool:
    """Say whether a provider would find anything in the message: text that is not blank, media, a call, reasoning."""
    return any(block.get("type") != "text" or str(block.get("text", "")).strip() for block in blocks_of(message)) or bool(call_ids_of(message))


def check_provider_valid(
    messages: Sequence[BaseMessage],
    *,
    allow_in_flight: bool = True,
    human_first: bool = True,
    one_system: bool = True,
    given: Iterable[BaseMessage] = (),
) -> list[str]:
    """Return why a strict provider would refuse `messages`.

    Args:
        messages: What would be sent.
        allow_in_flight: Calls of the newest AI message may wait at the very end.
        human_first: The first message that is no system message must be a human one.
        one_system: At most one system message, and it leads.
        given: Messages of the caller. One of these may be empty, and an id that stands twice there may stand twice here: nobody asked for a
            change of it.
    """
    if not messages:
        return ["the list is empty"]
    faults: list[str] = []
    theirs = {id(message): message.id for message in given}
    doubled = Counter(theirs.values())
    rest = list(messages)
    while rest and isinstance(rest[0], SystemMessage):
        rest.pop(0)
    if one_system and len(messages) - len(rest) > 1:
        faults.append(f"{len(messages) - len(rest)} system messages lead the list")
    if not rest:
        faults.append("nothing but system messages")
    elif human_first and not isinstance(rest[0], HumanMessage):
        faults.append(f"the first message after the system message is a {rest[0].type} message")

    newest_ai = max((n for n, message in enumerate(messages) if isinstance(message, AIMessage)), default=-1)
    used: Counter[str | None] = Counter()
    open_ids: list[str] = []
    opened_at = -1
    for n, message in enumerate(messages):
        if isinstance(message, RemoveMessage):
            faults.append(f"message {n} is a RemoveMessage")
            continue
        if isinstance(message, ToolMessage):
            if message.tool_call_id in open_ids:
                open_ids.remove(message.tool_call_id)
            elif used[message.tool_call_id]:
                faults.append(f"message {n} answers {message.tool_call_id!r} again or not directly after its call")
            else:
                faults.append(f"message {n} answers {message.tool_call_id!r}, which nobody called before")
            continue
        if open_ids:
            faults.append(f"message {n} ({message.type}) stands where the results of {open_ids} of message {opened_at} are missing")
            open_ids = []
        if one_system and isinstance(message, SystemMessage) and n >= len(messages) - len(rest):
            faults.append(f"message {n} is a system message inside the list")
        for call_id in call_ids_of(message):
            if not call_id:
                faults.append(f"message {n} makes a call without an id")
                continue
            used[call_id] += 1
            if used[call_id] > 1:
                faults.append(f"message {n} uses the call id {call_id!r} a second time")
            open_ids.append(call_id)
            opened_at = n
        if not isinstance(message, AIMessage) and not has_readable_content(message) and id(message) not in theirs:
            faults.append(f"message {n} ({message.type}) is empty")
    if open_ids and not (allow_in_flight and opened_at == newest_ai):
        faults.append(f"the calls {open_ids} of message {opened_at} have no result")

    owners: dict[str, BaseMessage] = {}
    for n, message in enumerate(messages):
        if not message.id:
            continue
        other = owners.setdefault(message.id, message)
        if other is not message and doubled[message.id] < 2:
            faults.append(f"message {n} has the id {message.id!r} of another message")
    faults += [f"message {n} stands twice" for n, message in enumerate(messages) if any(message is other for other in messages[:n])]
    return faults


def thinking_blocks_of(message: BaseMessage) -> list[str]:
    """Return the thinking and reasoning blocks of a message as canonical text, in order."""
    return [json.dumps(block, sort_keys=True, ensure_ascii=False) for block in blocks_of(message) if block.get("type") in THINKING_TYPES]


def check_signed_blocks(before: Sequence[BaseMessage], after: Sequence[BaseMessage]) -> list[str]:
    """Return where a thinking block of `after` is not, byte for byte, one of the message it came from.

    A message keeps all of its thinking blocks in order, or none of them; one that lost them may keep its text and calls.
    """
    faults: list[str] = []
    whole = {tuple(blocks) for message in before if (blocks := thinking_blocks_of(message))}
    for n, message in enumerate(after):
        blocks = tuple(thinking_blocks_of(message))
        if blocks and blocks not in whole:
            faults.append(f"message {n} holds thinking blocks that no message of the input holds in this form")
    return faults


@cache
def _chat_openai(*, responses: bool) -> Any:
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(model="gpt-4o", api_key="no-key", use_responses_api=responses)


@cache
def _chat_anthropic() -> Any:
    from langchain_anthropic import ChatAnthropic

    return ChatAnthropic(model="claude-sonnet-4-5", api_key="no-key")


def openai_chat_payload(messages: Sequence[BaseMessage]) -> dict[str, Any]:
    """Return the body `ChatOpenAI` would send to the chat completions endpoint."""
    payload: dict[str, Any] = _chat_openai(responses=False)._get_request_payload(list(messages))
    return payload


def openai_responses_payload(messages: Sequence[BaseMessage]) -> dict[str, Any]:
    """Return the body `ChatOpenAI` would send to the responses endpoint."""
    payload: dict[str, Any] = _chat_openai(responses=True)._get_request_payload(list(messages))
    return payload


def anthropic_payload(messages: Sequence[BaseMessage]) -> dict[str, Any]:
    """Return the body `ChatAnthropic` would send.

    Raises:
        ValueError: system messages in two places.
    """
    payload: dict[str, Any] = _chat_anthropic()._get_request_payload(list(messages))
    return payload


def check_openai_chat(payload: dict[str, Any], *, allow_in_flight: bool = True) -> list[str]:
    """Return why the chat completions endpoint would refuse the body."""
    sent = payload["messages"]
    faults = [] if sent else ["`messages` is empty"]
    waiting: list[str] = []
    newest_assistant = max((n for n, message in enumerate(sent) if message["role"] == "assistant"), default=-1)
    opened_at = -1
    for n, message in enumerate(sent):
        if message["role"] == "tool":
            if message["tool_call_id"] in waiting:
                waiting.remove(message["tool_call_id"])
            else:
                faults.append(f"messages[{n}]: 'tool' must follow a message with 'tool_calls' that holds {message['tool_call_id']!r}")
            continue
        if waiting:
            faults.append(f"messages[{n}]: an assistant message with 'tool_calls' must be followed by results of {waiting}")
            waiting = []
        if message["role"] == "system" and n:
            faults.append(f"messages[{n}]: system message inside the list")
        if "tool_calls" in message:
            waiting = [call["id"] for call in message["tool_calls"]]
            opened_at = n
            faults += [f"messages[{n}]: a call without an id" for call_id in waiting if not call_id]
            if len(set(waiting)) < len(waiting):
                faults.append(f"messages[{n}]: doubled call ids {waiting}")
            if not waiting:
                faults.append(f"messages[{n}]: 'tool_calls' is empty")
        elif message.get("content") is None or message.get("content") == []:
            faults.append(f"messages[{n}]: no content and no calls")
    if waiting and not (allow_in_flight and opened_at == newest_assistant):
        faults.append(f"messages[{opened_at}]: calls {waiting} are not answered")
    return faults


def check_openai_responses(payload: dict[str, Any], *, allow_in_flight: bool = True) -> list[str]:
    """Return why the responses endpoint would refuse the body."""
    items = payload["input"]
    faults = [] if items else ["`input` is empty"]
    calls: dict[str, int] = {}
    answered: set[str] = set()
    for n, item in enumerate(items):
        kind = item.get("type", "message")
        if kind == "function_call":
            if not item.get("call_id"):
                faults.append(f"input[{n}]: a call without an id")
            elif item["call_id"] in calls:
                faults.append(f"input[{n}]: call id {item['call_id']!r} used twice")
            calls[item.get("call_id") or ""] = n
        elif kind == "function_call_output":
            if item["call_id"] not in calls:
                faults.append(f"input[{n}]: no tool call found for the output of {item['call_id']!r}")
            if item["call_id"] in answered:
                faults.append(f"input[{n}]: second output of {item['call_id']!r}")
            answered.add(item["call_id"])
        elif kind == "reasoning":
            follower = items[n + 1].get("type", "message") if n + 1 < len(items) else None
            if follower not in ("reasoning", "function_call") and not (follower == "message" and items[n + 1].get("role") == "assistant"):
                faults.append(f"input[{n}]: a reasoning item without the item it belongs to")
    # A call may wait only at the very end: nothing but calls and outputs may follow the first one left open.
    for call_id, n in calls.items():
        if call_id in answered:
            continue
        tail = {item.get("type", "message") for item in items[n:]}
        if not allow_in_flight or not tail <= {"function_call", "function_call_output"}:
            faults.append(f"input[{n}]: no tool output found for the call {call_id!r}")
    return faults


def check_anthropic(payload: dict[str, Any], *, allow_in_flight: bool = True, human_first: bool = True) -> list[str]:
    """Return why the messages endpoint would refuse the body. Neighbours of one role are merged first, as the endpoint does."""
    merged: list[tuple[str, list[dict[str, Any]]]] = []
    faults = [] if payload["messages"] else ["`messages` is empty"]
    for message in payload["messages"]:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        if merged and merged[-1][0] == message["role"]:
            merged[-1][1].extend(blocks)
        else:
            merged.append((message["role"], blocks))
    if human_first and merged and merged[0][0] != "user":
        faults.append("messages[0]: the first message must use the 'user' role")
    seen: set[str] = set()
    for n, (role, blocks) in enumerate(merged):
        if role not in ("user", "assistant"):
            faults.append(f"messages[{n}]: unexpected role {role!r}")
        if not blocks:
            faults.append(f"messages[{n}]: empty content")
        used = [block["id"] for block in blocks if block.get("type") == "tool_use"]
        faults += [f"messages[{n}]: `tool_use` ids must be unique, {name!r} is not" for name in used if name in seen or used.count(name) > 1]
        faults += [f"messages[{n}]: `tool_use` without an id" for name in used if not name]
        seen.update(name for name in used if name)
        is_last = n == len(merged) - 1
        follow = [] if is_last else merged[n + 1][1]
        answers = [block["tool_use_id"] for block in follow if block.get("type") == "tool_result"]
        if used and not (is_last and allow_in_flight):
            missing = [name for name in used if name not in answers]
            # The newest assistant message may wait for some of its results while others are there already.
            half_done = allow_in_flight and n == len(merged) - 2 and all(block.get("type") == "tool_result" for block in follow)
            if missing and not half_done:
                faults.append(f"messages[{n}]: `tool_use` ids {missing} without `tool_result` blocks immediately after")
        results = [block["tool_use_id"] for block in blocks if block.get("type") == "tool_result"]
        asked = [block["id"] for block in merged[n - 1][1] if block.get("type") == "tool_use"] if n else []
        faults += [f"messages[{n}]: unexpected `tool_use_id` {name!r} in `tool_result` blocks" for name in results if name not in asked]
        if len(set(results)) < len(results):
            faults.append(f"messages[{n}]: several `tool_result` blocks for one call in {results}")
        kinds = [block.get("type") for block in blocks]
        if results and kinds[: len(results)] != ["tool_result"] * len(results):
            faults.append(f"messages[{n}]: `tool_result` blocks must come first")
        if role == "assistant" and "thinking" in kinds and kinds.index("thinking") != 0 and "tool_use" in kinds[: kinds.index("thinking")]:
            faults.append(f"messages[{n}]: thinking after a call within one turn")
    return faults


def check_all_providers(messages: Sequence[BaseMessage], *, human_first: bool = True) -> list[str]:
    """Return why any of the three endpoints would refuse what the conversion code of its package makes of `messages`."""
    faults = [f"openai chat: {fault}" for fault in check_openai_chat(openai_chat_payload(messages))]
    faults += [f"openai responses: {fault}" for fault in check_openai_responses(openai_responses_payload(messages))]
    try:
        body = anthropic_payload(messages)
    except ValueError as error:
        return [*faults, f"anthropic: {error}"]
    return faults + [f"anthropic: {fault}" for fault in check_anthropic(body, human_first=human_first)]

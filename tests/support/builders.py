"""Short ways to write conversations down, and the long deterministic ones."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

SYNTHETIC_REQUEST = "把订单 ORD-7741 的状态查清楚, and report every discrepancy you find. Never change anything."


def human(text: str | list[Any], message_id: str | None = None) -> HumanMessage:
    """Return what a person said."""
    return HumanMessage(text, id=message_id)


def system(text: str, message_id: str | None = None) -> SystemMessage:
    """Return a system message."""
    return SystemMessage(text, id=message_id)


def ai(text: str | list[Any] = "", *, calls: Sequence[str | None] = (), message_id: str | None = None, tool: str = "lookup") -> AIMessage:
    """Return an AI message that makes one call of `tool` for each id in `calls`."""
    tool_calls = [{"name": tool, "args": {"key": f"arg of {call}"}, "id": call, "type": "tool_call"} for call in calls]
    return AIMessage(text, tool_calls=tool_calls, id=message_id)


def result(call_id: str, text: str | None = None, *, message_id: str | None = None, tool: str = "lookup", **extra: Any) -> ToolMessage:
    """Return the result of the call `call_id`."""
    return ToolMessage(f"result of {call_id}" if text is None else text, tool_call_id=call_id, name=tool, id=message_id, **extra)


def with_ids(messages: Iterable[BaseMessage], prefix: str = "m") -> list[BaseMessage]:
    """Return copies that all have an id: `m0`, `m1` and so on where there was none."""
    return [message if message.id else message.model_copy(update={"id": f"{prefix}{n}"}) for n, message in enumerate(messages)]


def without_ids(messages: Iterable[BaseMessage]) -> list[BaseMessage]:
    """Return copies as a file reader would give them: no message has an id."""
    return [message.model_copy(update={"id": None}) for message in messages]


def tool_unit(number: int, *, calls: int = 1, size: int = 360, prefix: str = "u") -> list[BaseMessage]:
    """Return one AI message with `calls` calls and their results, out of order where there are several."""
    rng = random.Random(number)
    call_ids = [f"{prefix}{number}-c{index}" for index in range(calls)]
    call = AIMessage(
        f"Step {number}: 继续核对。",
        tool_calls=[
            {"name": "query_order", "args": {"order": f"ORD-{number:04d}", "part": index}, "id": name} for index, name in enumerate(call_ids)
        ],
        id=f"{prefix}{number}-ai",
    )
    results: list[BaseMessage] = []
    for name in reversed(call_ids):
        row = {"order": f"ORD-{number:04d}", "state": rng.choice(["shipped", "已付款", "open"]), "amount": rng.randrange(10_000)}
        text = json.dumps(row, ensure_ascii=False) + " " + "".join(rng.choice("abcdefghij 订单金额") for _ in range(size))
        results.append(ToolMessage(text, tool_call_id=name, name="query_order", id=f"{name}-result"))
    return [call, *results]


def tool_loop(units: int = 300, *, start: int = 0, request: str | None = SYNTHETIC_REQUEST, size: int = 360) -> list[BaseMessage]:
    """Return one human message and `units` tool units, every fifth with three parallel calls, results out of order.

    `request=None` leaves the human message out: what a run adds to an earlier loop that ended at `start`.
    """
    messages: list[BaseMessage] = [] if request is None else [HumanMessage(request, id="request")]
    for number in range(start, start + units):
        messages += tool_unit(number, calls=3 if number % 5 == 4 else 1, size=size)
    return messages


def count_characters(messages: Sequence[BaseMessage]) -> int:
    """Count tokens in a way a test can predict: a token for three characters of the content, four for each message and call."""
    total = 0
    for message in messages:
        content = message.content if isinstance(message.content, str) else json.dumps(message.content, ensure_ascii=False)
        total += 4 + len(content) // 3
        for call in getattr(message, "tool_calls", ()):
            total += 4 + len(json.dumps(call["args"], ensure_ascii=False)) // 3
    return total

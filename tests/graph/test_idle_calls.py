"""What an idle call does is the same however long the thread: counted in function calls, which no other work on the machine changes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.runtime import ExecutionInfo, Runtime

from langchain_ctxguard import ContextGuard, compact_messages
from langchain_ctxguard.domain.context import ContextHead
from langchain_ctxguard.graph.provider_side import ProviderSide
from langchain_ctxguard.graph.remembered import Memory

RULES = ("Query only: never add, change or delete an order.",)
COMPACTED = AIMessage([{"type": "compaction", "content": "They want a refund."}], id="c", response_metadata={"model_provider": "anthropic"})


def talk(size: int) -> list[BaseMessage]:
    return [(AIMessage if at % 2 else HumanMessage)(f"Message {at} about the order.", id=f"m-{at}") for at in range(size)]


def request_of(messages: list[BaseMessage], head: dict[str, Any] | None) -> ModelRequest[Any]:
    state: Any = {"messages": messages} if head is None else {"messages": messages, "ctxguard": head}
    model = FakeListChatModel(responses=["Fine."], profile={"max_input_tokens": 10**9})
    runtime: Any = Runtime(execution_info=ExecutionInfo(checkpoint_id="c", checkpoint_ns="model:t", task_id="t", thread_id="t", run_id="r"))
    return ModelRequest(model=model, messages=messages, tools=[], state=state, runtime=runtime)


def functions_called(work: Callable[[], Any]) -> int:
    count = 0

    def note(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def idle(size: int, *, has_version: bool) -> int:
    messages = talk(size + 4)
    head = compact_messages(messages[:size], constraints=RULES, keep=("messages", 10)).head if has_version else None
    guard = ContextGuard(constraints=RULES)
    answer: ModelResponse[Any] = ModelResponse(result=[AIMessage("Fine.")])
    for length in (size, size + 2):
        guard.wrap_model_call(request_of(messages[:length], head), lambda _: answer)
    request = request_of(messages, head)
    return functions_called(lambda: guard.wrap_model_call(request, lambda _: answer))


@pytest.mark.parametrize("has_version", [False, True])
def test_an_idle_call_does_as_much_in_a_long_thread_as_in_a_short_one(has_version: bool) -> None:  # noqa: FBT001 - what pytest varies
    """Nothing looks at every message again."""
    short, long = idle(60, has_version=has_version), idle(2_000, has_version=has_version)
    assert abs(long - short) < 60


def side() -> ProviderSide:
    return ProviderSide(lambda _: None, memory=Memory(), log=None, fields=None, count=len, blocks=False)


def again(side: ProviderSide, messages: list[BaseMessage], thread: str = "t") -> int:
    return side.again(messages, leads=(), head=ContextHead(version=0), rules=(), thread=thread)[0]


def test_a_providers_compaction_is_found_wherever_it_appears() -> None:
    """In what is new, in another conversation of the same name, in a list that was cut back; and it stays found as the list grows."""
    watch, start = side(), talk(6)
    assert 0 == again(watch, start)
    assert 7 == again(watch, [*start, COMPACTED])
    assert 7 == again(watch, [*start, COMPACTED, HumanMessage("Go on.", id="h")])
    assert 0 == again(watch, start[:4])
    assert 2 == again(watch, [HumanMessage("Other.", id="o"), COMPACTED])
    assert 0 == again(watch, start)
    unnamed: list[BaseMessage] = [HumanMessage("One."), AIMessage("Two.")]
    assert 0 == again(watch, unnamed)
    assert 1 == again(watch, [COMPACTED, AIMessage("Two.")])
    assert 0 == again(watch, [])

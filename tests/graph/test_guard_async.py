from __future__ import annotations

import asyncio
import copy
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain.agents.middleware.types import ExtendedModelResponse, ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from langchain_ctxguard.domain.summary import SummaryDraft
from langchain_ctxguard.errors import ContextBudgetError
from langchain_ctxguard.graph.guard import ContextGuard
from tests.graph.models import (
    RULES,
    WORDS,
    Counter,
    Facts,
    Notes,
    ScriptedChat,
    StreamingChat,
    achat,
    agent_of,
    assert_pinned,
    calling,
    chat,
    guard_of,
    head_of,
    ids,
    look_up,
    plain,
    rendered_names,
    said,
    thread,
    wire,
)
from tests.support.providers import check_provider_valid


async def test_an_async_run_compacts_as_a_sync_one() -> None:
    """The same conversation gives the same views, sync and async, but for random ids."""
    script = lambda number, _: calling(f"{number}") if number % 3 == 1 else f"answer {number}"  # noqa: E731
    one, other = ScriptedChat(script=script), ScriptedChat(script=script)
    chat(agent_of(one, guard_of(), tools=[look_up], checkpointer=InMemorySaver()), 8)
    await achat(agent_of(other, guard_of(), tools=[look_up], checkpointer=InMemorySaver()), 8)
    assert list(map(plain, one.seen)) == list(map(plain, other.seen))
    assert ["context_evidence", "context_summary"] == rendered_names(other.seen[-1])


async def test_async_state_keeps_every_message_and_pins_lead() -> None:
    """Nothing leaves the state, and every view of an async run is pinned and provider-valid."""
    script = lambda number, _: calling("a", "b", "c", prefix=f"p{number}") if number % 2 == 0 else f"answer {number}"  # noqa: E731
    model, facts = ScriptedChat(script=script), Facts()
    agent = agent_of(model, guard_of(hooks=[facts]), tools=[look_up], checkpointer=InMemorySaver())
    messages: list[BaseMessage] = []
    for turn in range(6):
        now = (await achat(agent, 1, start=turn))["messages"]
        assert messages == now[: len(messages)]
        messages = copy.deepcopy(now)
    assert len(facts.made) >= 2
    for view in model.seen:
        assert_pinned(view)
        assert [] == check_provider_valid(view)


async def test_an_async_summarizer_does_not_block_the_loop() -> None:
    """While a summary is awaited other tasks run."""
    ticks = 0

    class Slow(Notes):
        async def asummarize(self, request: Any) -> SummaryDraft:
            await asyncio.sleep(0.2)
            return self.summarize(request)

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.01)

    facts = Facts()
    agent = agent_of(ScriptedChat(), guard_of(summarizer=Slow(), hooks=[facts]), checkpointer=InMemorySaver())
    await achat(agent, 4)
    task = asyncio.create_task(tick())
    known = ticks
    while not facts.made:
        await achat(agent, 1)
    task.cancel()
    assert ticks - known >= 10


async def test_a_cancelled_run_stores_nothing_and_can_be_run_again() -> None:
    """A run cancelled while its summary is made leaves the head as it was; the next run compacts."""

    class Stuck(Notes):
        began = asyncio.Event()

        async def asummarize(self, request: Any) -> SummaryDraft:
            if not self.requests:
                self.requests.append(request)
                self.began.set()
                await asyncio.sleep(30)
            return self.summarize(request)

    stuck, facts = Stuck(), Facts()
    agent = agent_of(ScriptedChat(), guard_of(summarizer=stuck, hooks=[facts]), checkpointer=InMemorySaver())
    await achat(agent, 4)
    task = asyncio.create_task(achat(agent, 4, start=4))
    await asyncio.wait_for(stuck.began.wait(), 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert {} == agent.get_state(thread()).values.get("ctxguard", {})
    await achat(agent, 1)
    assert 1 == head_of(agent).version


@pytest.mark.parametrize("mode", ["messages", "updates", "values"])
async def test_async_streams_show_answers_and_no_summary(mode: Any) -> None:
    """In every stream mode an async run shows its answers; tokens of the summary are in no message stream."""

    def script(number: int, messages: list[BaseMessage]) -> str:
        return '{"user_intent": "SECRETSUMMARY"}' if "You keep the notes" in str(messages[0].content) else f"plain answer {number}"

    model, facts = StreamingChat(script=script), Facts()
    agent = agent_of(model, guard_of(summarizer=None, hooks=[facts]), checkpointer=InMemorySaver())
    shown: list[Any] = []
    for turn in range(8):
        async for part in agent.astream(said(f"Turn {turn}: {WORDS * 4}"), thread(), stream_mode=mode):
            shown.append(part)  # noqa: PERF401 - a comprehension over the stream reads worse
    assert facts.made
    assert {"chat_model:StreamingChat"} == {record.strategy for record in facts.made}
    if mode == "messages":
        assert "SECRETSUMMARY" not in str(shown)
        assert "plain answer" in "".join(str(token.content) for token, _ in shown)
    elif mode == "updates":
        assert len(facts.made) == sum("ctxguard" in str(part["model"]) for part in shown)
    else:
        assert 16 == len(shown[-1]["messages"])


async def test_async_errors_are_those_of_the_sync_path() -> None:
    """`ContextBudgetError` comes out of an async run as out of a sync one."""
    guard = ContextGuard(constraints=RULES, token_counter=Counter(), summarizer=Notes())
    agent = agent_of(ScriptedChat(profile={"max_input_tokens": 200}), guard, checkpointer=InMemorySaver())
    with pytest.raises(ContextBudgetError) as caught:
        await agent.ainvoke(said(WORDS * 20), thread())
    assert 200 == caught.value.budget


async def test_many_async_threads_on_one_guard_do_not_mix() -> None:
    """Twelve threads at once on one guard: each view holds its own words only, and each head its own messages."""
    facts = Facts()
    model = ScriptedChat()
    agent = agent_of(model, guard_of(hooks=[facts], summarizer=_Echo()), checkpointer=InMemorySaver())

    async def talk(name: str) -> None:
        for turn in range(7):
            await agent.ainvoke(said(f"[{name}] turn {turn}: {WORDS * 4}"), thread(name))

    names = [f"user-{number:02d}" for number in range(12)]
    await asyncio.gather(*map(talk, names))
    _assert_apart(agent, model, names)


def test_many_os_threads_on_one_guard_do_not_mix() -> None:
    """The same with threads of the operating system."""
    model = ScriptedChat()
    agent = agent_of(model, guard_of(summarizer=_Echo()), checkpointer=InMemorySaver())
    barrier = threading.Barrier(6)

    def talk(name: str) -> None:
        barrier.wait()
        for turn in range(7):
            agent.invoke(said(f"[{name}] turn {turn}: {WORDS * 4}"), thread(name))

    names = [f"user-{number:02d}" for number in range(6)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(talk, names))
    _assert_apart(agent, model, names)


class _Echo:
    """Answers with the names found in what it was given, after a moment in which others run."""

    name = "echo"

    def summarize(self, request: Any) -> SummaryDraft:
        time.sleep(0.001)
        return self._draft(request)

    async def asummarize(self, request: Any) -> SummaryDraft:
        await asyncio.sleep(0.001)
        return self._draft(request)

    @staticmethod
    def _draft(request: Any) -> SummaryDraft:
        names = {str(message.content).partition("]")[0] for message in request.evicted if str(message.content).startswith("[")}
        return SummaryDraft(user_intent=f"asked by {sorted(names)}")


def _assert_apart(agent: Any, model: ScriptedChat, names: list[str]) -> None:
    for view in model.seen:
        text = str(plain(view))
        assert 1 == sum(f"[{name}" in text for name in names)
        assert_pinned(view)
    for name in names:
        head = head_of(agent, thread(name))
        assert head.version >= 1
        known = set(ids(agent.get_state(thread(name)).values["messages"]))
        assert set(head.cut.anchors) <= known


def test_calls_without_a_thread_that_share_a_beginning_do_not_mix() -> None:
    """Branches of one conversation at once on one guard, without thread ids: each is sent and counted as what it is."""
    guard = guard_of(trigger=("tokens", 100_000))
    shared: list[BaseMessage] = [HumanMessage("go", id="h0"), AIMessage("yes", id="a0")]
    wrong: list[Any] = []
    barrier = threading.Barrier(4)

    def branch(number: int) -> None:
        barrier.wait()
        for turn in range(60):
            calls = [{"name": "look_up", "args": {}, "id": f"c{number}-{turn}", "type": "tool_call"}]
            open_call = AIMessage("", id=f"b{number}-{turn}", tool_calls=calls)
            messages = (
                [*shared, open_call, HumanMessage("never mind", id=f"n{number}-{turn}")]
                if number % 2
                else [*shared, HumanMessage("more", id=f"m{number}-{turn}")]
            )
            request = ModelRequest(model=ScriptedChat(), messages=messages, state={"messages": messages}, runtime=None)
            sent: list[ModelRequest[Any]] = []
            guard.wrap_model_call(request, lambda asked, sent=sent: sent.append(asked) or ModelResponse(result=[]))
            faults = check_provider_valid([sent[0].system_message, *sent[0].messages])
            if faults or sent[0].messages[-1] is not messages[-1]:
                wrong.append((number, turn, faults))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(branch, range(4)))
    assert [] == wrong


def test_batches_without_a_checkpointer_are_compacted_each_for_itself() -> None:
    """`agent.batch` without threads: every conversation gets its own summary and none another's."""
    model = ScriptedChat()
    agent = agent_of(model, guard_of(summarizer=_Echo()))
    inputs = [{"messages": [HumanMessage(f"[user-{n:02d}] {turn}: {WORDS * 4}") for turn in range(8)]} for n in range(8)]
    states = agent.batch(inputs)
    assert [9] * 8 == [len(state["messages"]) for state in states]
    for view in model.seen:
        text = str(plain(view))
        assert 1 == sum(f"[user-{n:02d}" in text for n in range(8))
        assert ["context_summary"] == rendered_names(view)


async def test_the_async_wrapper_alone() -> None:
    """`awrap_model_call` outside a graph: bare where idle, with a command where it compacted, `StopAsyncIteration` passed through."""
    guard = guard_of()
    answer = ModelResponse(result=[AIMessage("yes")])

    async def handler(request: ModelRequest[Any]) -> ModelResponse[Any]:
        return answer

    short: list[BaseMessage] = [HumanMessage("hi", id="h")]
    request = ModelRequest(model=ScriptedChat(), messages=short, state={"messages": short}, runtime=None)
    assert answer is await guard.awrap_model_call(request, handler)
    long: list[BaseMessage] = [HumanMessage(f"{n}: {WORDS * 4}", id=f"h{n}") for n in range(9)]
    found = await guard.awrap_model_call(request.override(messages=long), handler)
    assert isinstance(found, ExtendedModelResponse)

    async def exhausted(request: ModelRequest[Any]) -> ModelResponse[Any]:
        raise StopAsyncIteration

    with pytest.raises((StopAsyncIteration, RuntimeError)):
        await guard.awrap_model_call(request, exhausted)


async def test_idle_async_calls_keep_the_prefix() -> None:
    """Between two compactions an async view begins with the bytes of the one before."""
    model, facts = ScriptedChat(), Facts()
    agent = agent_of(model, guard_of(hooks=[facts]), checkpointer=InMemorySaver())
    for turn in range(10):
        known = len(facts.made)
        await achat(agent, 1, start=turn)
        if turn and known == len(facts.made):
            assert wire(model.seen[-1]).startswith(wire(model.seen[-2])[:-1])
    assert facts.made

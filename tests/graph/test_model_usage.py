"""Budgets of tokens and cost hold for what models really used: across threads, sub-agents, processes, crashes and days."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import ToolNode

from langchain_ctxguard import CompactContext, Constraint, ContextGuard, GuardConfig, GuardedState, GuardStore, guard_tools
from langchain_ctxguard.domain.prefix import PriceTable
from langchain_ctxguard.errors import StoreError
from tests.graph.test_history import Counting
from tests.support.consents import Clock
from tests.support.tool_calls import Messages, Ran, approve, calls, deep_agent_with, graph_with, questions, results, resume, say

USED = {"input_tokens": 6, "output_tokens": 4, "total_tokens": 10}
START = datetime(2026, 6, 30, 12, tzinfo=UTC)


def paid(message: AIMessage, model: str = "gpt-x") -> AIMessage:
    """Return an answer that cost ten tokens."""
    return message.model_copy(update={"usage_metadata": USED, "response_metadata": {"model_name": model}})


def answer(messages: list[BaseMessage]) -> AIMessage:
    """Send where a person says so, talk otherwise; ten tokens either way."""
    is_asked = messages[-1].type == "human" and "send" in messages[-1].text
    return paid(calls(("send", {"to": "bob"})) if is_asked else AIMessage("noted"))


def guard_with(budget: dict[str, Any], store: Any, clock: Clock | None = None, **config: Any) -> ContextGuard:
    """Return a guard with one budget for the tool `send`."""
    rules = {"rules": [{"tool": "send", "budget": budget}]}
    return ContextGuard(GuardConfig.from_dict({"tools": rules, **config}), store=store, clock=clock, trigger=None)


def agent_of(guard: ContextGuard, ran: Ran, saver: Any = None, model: Callable[[list[BaseMessage]], AIMessage] = answer) -> Any:
    """Return an agent that has the tool `send`."""
    return create_agent(Messages(answer=model), guard.tools([ran.tool("send", "to")]), middleware=[guard], checkpointer=saver or InMemorySaver())


def told(state: dict[str, Any]) -> str:
    """Return what the last tool call came to."""
    return str(results(state)[-1].text)


@pytest.fixture
def clock() -> Clock:
    """A moment that stands still."""
    return Clock(START)


@pytest.mark.parametrize("is_async", [False, True])
def test_a_day_spans_threads(clock: Clock, *, is_async: bool) -> None:
    """What one thread used is gone for another; with the next day the budget is whole again."""
    ran = Ran()
    guard = guard_with({"tokens": 35, "per": "day"}, GuardStore.open("memory://", clock=clock), clock)
    agent = agent_of(guard, ran)
    say(agent, "send", name="a", is_async=is_async)
    assert 1 == len(ran.calls)
    say(agent, "hello", name="b", is_async=is_async)
    assert "40 of 35 tokens per day are used" in told(say(agent, "send", name="b", is_async=is_async))
    clock.now += timedelta(days=1)
    say(agent, "send", name="b", is_async=is_async)
    assert 2 == len(ran.calls)


def test_a_day_ends_where_the_timezone_says(clock: Clock) -> None:
    """At four in the afternoon of Greenwich it is another day in Shanghai."""
    ran = Ran()
    guard = guard_with({"tokens": 15, "per": "day"}, GuardStore.open("memory://", clock=clock), clock, timezone="Asia/Shanghai")
    agent = agent_of(guard, ran)
    say(agent, "hello", name="a")
    say(agent, "send", name="b")
    clock.now = START.replace(hour=16, minute=1)
    say(agent, "send", name="c")
    assert 1 == len(ran.calls)


def test_cost_goes_by_the_prices_of_the_config(clock: Clock) -> None:
    """And a model without a price leaves the cost unknown, which denies."""
    ran = Ran()
    store = GuardStore.open("memory://", clock=clock)
    prices = {"gpt-x": {"input": 100_000, "output": 100_000}}
    guard = guard_with({"cost": 2.5, "per": "day"}, store, clock, prices=prices)
    agent = agent_of(guard, ran)
    say(agent, "send", name="a")
    assert 1 == len(ran.calls)
    assert "3 of 2.5 per day are spent" in told(say(agent, "send", name="b"))
    clock.now += timedelta(days=1)
    strange = agent_of(guard, ran, model=lambda messages: paid(answer(messages), "another"))
    assert "a model has no price" in told(say(strange, "send", name="c"))
    assert 1 == len(ran.calls)


def test_where_no_budget_looks_at_usage_a_model_call_writes_nothing(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    """Neither to the log nor to any other place: budgets of calls are no reason to."""
    store = GuardStore.open("memory://", clock=clock)
    agent = agent_of(guard_with({"calls": 5}, store, clock), Ran())
    say(agent, "hello")
    written: list[Any] = []
    monkeypatch.setattr(store.log, "append", lambda stream, *_, **__: written.append(stream))
    monkeypatch.setattr(store.blobs, "put", lambda *given, **_: written.append(given))
    say(agent, "hello again")
    assert [] == written


def test_a_model_call_with_such_a_budget_writes_one_entry_for_each_scope(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    """The thread's, and the day's where a day is counted."""
    for budget, expected in (({"tokens": 50}, ["thread/t"]), ({"tokens": 50, "per": "day"}, ["thread/t", "day/UTC/2026-06-30"])):
        store = GuardStore.open("memory://", clock=clock)
        agent = agent_of(guard_with(budget, store, clock), Ran())
        written: list[str] = []
        append = store.log.append
        monkeypatch.setattr(store.log, "append", lambda stream, *a, w=written, f=append, **k: (w.append(stream.key), f(stream, *a, **k))[1])
        say(agent, "hello")
        assert expected == written


def test_what_a_sub_agent_used_counts_when_it_is_gone(clock: Clock) -> None:
    """Its messages were never in the thread's own state; wrapped tools alone are enough to see them; which run it is the thread's agent says."""
    for per in ("thread", "run", "day"):
        ran = Ran()
        guard = guard_with({"tokens": 25, "per": per}, GuardStore.open("memory://", clock=clock), clock)
        tools = guard.tools([ran.tool("send", "to")])
        three = [paid(calls(("send", {"to": str(number)}), ids=f"s{number}-")) for number in range(3)]
        agent = deep_agent_with(tools, *three, paid(AIMessage("sent")), middleware=[guard] if per == "run" else ())
        inner = say(agent, "go")
        assert ["0", "1"] == [given["to"] for _, given in ran.calls], (per, inner["messages"])


def test_a_sub_agents_tokens_are_the_threads_when_the_thread_calls_next(clock: Clock) -> None:
    """The agent that called it finds the budget used, though its own messages cost nothing."""
    from deepagents import create_deep_agent

    ran = Ran()
    guard = guard_with({"tokens": 15}, GuardStore.open("memory://", clock=clock), clock)

    def outer(messages: list[BaseMessage]) -> AIMessage:
        said = sum(isinstance(message, AIMessage) for message in messages)
        task = calls(("task", {"description": "do it", "subagent_type": "worker"}), ids="t")
        return (task, calls(("send", {"to": "eve"}), ids="o"), AIMessage("done"))[min(said, 2)]

    def inner(messages: list[BaseMessage]) -> AIMessage:
        return answer([HumanMessage("send")] if len(messages) < 3 else messages)

    def both(messages: list[BaseMessage]) -> AIMessage:
        return inner(messages) if any(message.type == "human" and message.text == "do it" for message in messages) else outer(messages)

    tools = guard.tools([ran.tool("send", "to")])
    worker = {"name": "worker", "description": "works", "system_prompt": "work", "tools": tools, "middleware": [guard]}
    agent = create_deep_agent(Messages(answer=both), tools, subagents=[worker], middleware=[guard], checkpointer=InMemorySaver())
    done = say(agent, "go")
    assert [("send", {"to": "bob"})] == ran.calls
    assert "20 of 15 tokens per thread are used" in told(done)


def test_usage_outlives_the_process_and_the_state(tmp_path: Path, clock: Clock) -> None:
    """Another process with another saver finds the thread's budget used; deleting the thread gives nothing back."""
    url = f"sqlite:///{tmp_path}/guard.db"
    ran = Ran()
    first = guard_with({"tokens": 25}, url, clock)
    say(agent_of(first, ran), "hello")
    say(agent_of(first, ran), "hello")
    first.close()
    second = guard_with({"tokens": 25}, url, clock)
    assert "30 of 25 tokens per thread are used" in told(say(agent_of(second, ran), "send"))
    second.close()
    assert [] == ran.calls


def test_a_rollback_gives_no_tokens_back(clock: Clock) -> None:
    """An earlier checkpoint knows fewer messages, and the record as many as were paid for."""
    ran = Ran()
    agent = agent_of(guard_with({"tokens": 25}, GuardStore.open("memory://", clock=clock), clock), ran)
    config: Any = {"configurable": {"thread_id": "t"}}
    say(agent, "hello")
    early = agent.get_state(config).config
    say(agent, "hello")
    done = agent.invoke({"messages": [("user", "send")]}, early)
    assert "30 of 25 tokens per thread are used" in told(done)


def test_a_thread_that_was_there_before_belongs_to_no_day(clock: Clock) -> None:
    """What nobody counted counts for the thread, and not for the day it is first seen on."""
    ran, saver = Ran(), InMemorySaver()
    store = GuardStore.open("memory://", clock=clock)
    before = agent_of(ContextGuard(store=store, trigger=None), ran, saver)
    for _ in range(5):
        say(before, "hello")
    say(agent_of(guard_with({"tokens": 40, "per": "day"}, store, clock), ran, saver), "send")
    assert 1 == len(ran.calls)
    assert "80 of 40 tokens per thread" in told(say(agent_of(guard_with({"tokens": 40}, store, clock), ran, saver), "send"))


def test_tools_alone_count_what_they_see(clock: Clock) -> None:
    """In a plain graph without any other part of the package: at each call of a tool, what stands in the state."""
    ran = Ran()
    policy = {"rules": [{"tool": "send", "budget": {"cost": 25, "per": "day"}}]}
    prices = PriceTable(prices={"gpt-x": {"input": "1000000", "output": "1000000"}})
    tools = guard_tools([ran.tool("send", "to")], policy, store=GuardStore.open("memory://", clock=clock), clock=clock, prices=prices)
    sends = [paid(calls(("send", {"to": str(number)}), ids=f"s{number}-")) for number in range(3)]
    done = say(graph_with(ToolNode(tools), *sends, "done"), "go")
    assert ["0", "1"] == [given["to"] for _, given in ran.calls]
    assert "30 of 25 per day are spent" in told(done)


def test_a_node_of_a_plain_graph_counts_what_was_answered_before(clock: Clock) -> None:
    """`CompactContext` sees a turn's last answer at the next turn, so the day knows it though no tool was called."""
    from langgraph.graph import START as BEGIN
    from langgraph.graph import StateGraph

    store = GuardStore.open("memory://", clock=clock)
    guard = guard_with({"tokens": 15, "per": "day"}, store, clock)
    graph = StateGraph(GuardedState)
    graph.add_node("compact", CompactContext(guard))
    graph.add_node("model", lambda state: {"messages": [answer(state["messages"])]})
    graph.add_edge(BEGIN, "compact")
    graph.add_edge("compact", "model")
    plain = graph.compile(checkpointer=InMemorySaver())
    for _ in range(4):
        say(plain, "hello", name="a")
    ran = Ran()
    assert "of 15 tokens per day are used" in told(say(agent_of(guard, ran), "send", name="b"))
    assert [] == ran.calls


def test_usage_that_cannot_be_read_or_written_denies(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    """The model's answer is delivered all the same; the tool does not run, since nobody knows what was used."""
    ran = Ran()
    store = GuardStore.open("memory://", clock=clock)
    agent = agent_of(guard_with({"tokens": 1_000}, store, clock), ran)
    say(agent, "hello")
    append = store.log.append

    def fails(stream: Any, *given: Any, **more: Any) -> Any:
        if stream.kind == "usage":
            msg = "gone"
            raise StoreError(msg)
        return append(stream, *given, **more)

    with monkeypatch.context() as broken:
        broken.setattr(store.log, "append", fails)
        done = say(agent, "send")
        assert "noted" == done["messages"][-1].text
        assert "nobody counted" in told(done)
        assert [] == ran.calls
    done = say(agent, "send")
    assert 1 == len(ran.calls), told(done)


def test_without_messages_in_sight_nobody_counted() -> None:
    """A call made directly: what models used in its name is not known, so it is not made."""
    ran = Ran()
    for per in ("thread", "run", "day"):
        (tool,) = guard_tools([ran.tool("send", "to")], {"rules": [{"tool": "send", "budget": {"tokens": 5, "per": per}}]})
        assert "Denied" in str(tool.invoke({"to": "bob"}))
    assert [] == ran.calls


def test_what_left_a_sub_agents_own_state_counts(tmp_path: Path, clock: Clock) -> None:
    """Its guard compacts and takes messages out of its state; what they cost stays used."""
    from deepagents import create_deep_agent

    ran, made = Ran(), [0]
    config = {
        "compaction": {"evict": "archive"},
        "tools": {"rules": [{"tool": "read", "effect": "read"}, {"tool": "send", "budget": {"tokens": 85, "per": "thread"}}]},
    }
    settings: dict[str, Any] = {"trigger": ("messages", 7), "keep": ("turns", 1), "summarizer": Counting()}
    guard = ContextGuard(GuardConfig.from_dict(config), store=f"sqlite:///{tmp_path}/guard.db", clock=clock, **settings)
    sizes: list[int] = []

    def both(messages: list[BaseMessage]) -> AIMessage:
        if not any(message.type == "human" and message.text == "do it" for message in messages):
            asked = calls(("task", {"description": "do it", "subagent_type": "worker"}), ids="t")
            return AIMessage("done") if any(isinstance(message, AIMessage) for message in messages) else asked
        made[0] += 1
        sizes.append(len(messages))
        named = ("read", {}) if made[0] < 9 else ("send", {"to": "bob"})
        return paid(calls(named, ids=f"c{made[0]}-") if made[0] < 10 else AIMessage("sent"))

    tools = guard.tools([ran.tool("read", result="Nothing new. " * 200), ran.tool("send", "to")])
    worker = {"name": "worker", "description": "works", "system_prompt": "work", "tools": tools, "middleware": [guard]}
    agent = create_deep_agent(Messages(answer=both), tools, subagents=[worker], middleware=[guard], checkpointer=InMemorySaver())
    say(agent, "go")
    assert max(sizes) < 9
    assert 100 == guard.gate._usage._log.of_thread("t").total.tokens
    assert "send" not in ran.names
    guard.close()


@pytest.mark.parametrize("is_async", [False, True])
def test_a_run_that_waited_for_a_person_is_the_same_run(clock: Clock, *, is_async: bool) -> None:
    """What it used before the question counts after the answer; the next request begins anew."""
    ran = Ran()
    rules = {"rules": [{"tool": "send", "verdict": "ask", "budget": {"tokens": 15, "per": "run"}}]}
    guard = ContextGuard(GuardConfig.from_dict({"tools": rules}), store=GuardStore.open("memory://", clock=clock), clock=clock, trigger=None)

    def twice(messages: list[BaseMessage]) -> AIMessage:
        made = sum(isinstance(message, AIMessage) for message in messages)
        return paid(calls(("send", {"to": str(made)}), ids=f"s{made}-") if made in {0, 1, 3} else AIMessage("noted"))

    agent = agent_of(guard, ran, model=twice)
    say(agent, "go", is_async=is_async)
    assert "20 of 15 tokens per run are used" in told(resume(agent, approve(), is_async=is_async))
    assert ["0"] == [given["to"] for _, given in ran.calls]
    assert 1 == len(questions(say(agent, "again", is_async=is_async)))


def test_an_answer_that_was_refused_was_paid_for(clock: Clock) -> None:
    """A check had the model asked again: both answers count."""
    data = {"enforcement": "verifier", "on_fail": "retry", "validator": {"type": "pattern", "pattern": "no", "must": "not_match"}}
    rule = Constraint.model_validate({"constraint_id": "r-1", "text": "Never say no.", **data})
    config = GuardConfig.from_dict({"tools": {"rules": [{"tool": "send", "budget": {"tokens": 1_000}}]}})
    guard = ContextGuard(config, constraints=[rule], store=GuardStore.open("memory://", clock=clock), clock=clock, trigger=None)
    said = iter(["no", "fine"])
    agent = agent_of(guard, Ran(), model=lambda _: paid(AIMessage(next(said))))
    assert "fine" == say(agent, "go")["messages"][-1].text
    assert 20 == guard.gate._usage._log.of_thread("t").total.tokens

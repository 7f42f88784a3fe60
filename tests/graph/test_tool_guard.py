"""The guard among other middleware: what ran is what was judged, whoever changed the call before."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware, ToolRetryMiddleware
from langchain_core.messages import AIMessage
from langgraph.types import Command

from langchain_ctxguard.backends.store import GuardStore
from langchain_ctxguard.domain.config import CompactionSettings, GuardConfig
from langchain_ctxguard.domain.constraint import Constraint, Enforcement
from langchain_ctxguard.domain.extensions import Extensions
from langchain_ctxguard.domain.policy import Decision, ToolPolicy
from langchain_ctxguard.domain.version import ContextEvent
from langchain_ctxguard.errors import ConfigurationError
from langchain_ctxguard.graph.guard import ContextGuard
from langchain_ctxguard.graph.tools import PolicyToolNode, ToolGuard, guard_tools
from tests.support.tool_calls import (
    Messages,
    Ran,
    agent_with,
    approve,
    calls,
    deep_agent_with,
    edit,
    graph_with,
    in_turns,
    questions,
    results,
    resume,
    say,
    thread,
    told,
)

LIMIT = {"rules": [{"tool": "pay", "args": {"amount": {"max": 100}}, "else": "deny"}]}


def guard_of(tools: dict[str, Any], **settings: Any) -> ContextGuard:
    """Return a guard with a policy that compacts nothing."""
    config = GuardConfig(tools=ToolPolicy.from_dict(tools), compaction=CompactionSettings(trigger=None, window=100_000))
    return ContextGuard(config, **settings)


def hitl(mode: Any) -> HumanInTheLoopMiddleware[Any, Any, Any]:
    """Return LangChain's own questions about `pay`."""
    return HumanInTheLoopMiddleware(interrupt_on={"pay": True}, interrupt_mode=mode)


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("mode", ["batched", "per_call"])
@pytest.mark.parametrize("by", ["tools", "middleware", "both"])
def test_what_a_person_edits_in_another_middleware_is_judged(mode: str, by: str, is_async: bool) -> None:  # noqa: FBT001
    """The model asked for 10, a person made it 9,999 or 50 on the way: that is what is judged, and what runs."""
    for amount, runs in ((9_999, False), (50, True)):
        ran = Ran()
        guard = guard_of(LIMIT)
        tools = [ran.tool("pay", "amount:int")]
        middleware = [hitl(mode), *([] if by == "tools" else [ToolGuard(guard)])]
        agent = agent_with(tools if by == "middleware" else guard.tools(tools), calls(("pay", {"amount": 10})), "ok", middleware=middleware)
        say(agent, is_async=is_async)
        change = edit("pay", {"amount": amount})
        state = resume(agent, change if mode == "batched" else change["decisions"][0], is_async=is_async)
        assert ([("pay", {"amount": amount})] if runs else []) == ran.calls
        assert runs != ("Denied `pay`" in told(state))


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("mode", ["batched", "per_call"])
def test_what_a_person_replaced_stays_replaced_wherever_the_question_stands(mode: str, *, is_async: bool) -> None:
    """The one who asks stands between guard and tool guard: the arguments that were replaced do not run later, the person's own do."""
    ran = Ran()
    guard = guard_of({"rules": []})
    answers = [calls(("pay", {"amount": 10})), "ok", calls(("pay", {"amount": 10}), ("pay", {"amount": 50}), ids="d"), "ok"]
    agent = agent_with([ran.tool("pay", "amount:int")], *answers, middleware=[guard, hitl(mode), ToolGuard(guard)])
    say(agent, is_async=is_async)
    change = edit("pay", {"amount": 50})
    resume(agent, change if mode == "batched" else change["decisions"][0], is_async=is_async)
    assert 1 == len(guard.standing("t").state.replaced)

    say(agent, is_async=is_async)
    both = {"decisions": [{"type": "approve"}, {"type": "approve"}]}
    state = resume(agent, both, is_async=is_async) if mode == "batched" else {"messages": []}
    if mode == "per_call":
        asked = questions(dict(agent.get_state(thread()).values) | {"__interrupt__": agent.get_state(thread()).interrupts})
        state = resume(agent, {one.id: {"type": "approve"} for one in asked}, is_async=is_async)

    assert [("pay", {"amount": 50})] * 2 == ran.calls
    assert "a person replaced these very arguments" in told(state)


@pytest.mark.parametrize("mode", ["batched", "per_call"])
def test_both_ask_and_each_gets_its_own_answer(mode: str) -> None:
    """LangChain's question comes first, then ours about what came of it; neither answer is taken for the other."""
    ran = Ran()
    guard = guard_of({"rules": [{"tool": "pay", "verdict": "ask"}]})
    agent = agent_with(guard.tools([ran.tool("pay", "amount:int")]), calls(("pay", {"amount": 10})), "ok", middleware=[hitl(mode), ToolGuard(guard)])
    say(agent)
    change = edit("pay", {"amount": 50})
    asked = questions(resume(agent, change if mode == "batched" else change["decisions"][0]))
    assert {"amount": 50} == asked[0].value["action_requests"][0]["args"]
    assert "digest" in asked[0].value
    assert [] == ran.calls
    resume(agent, approve())
    assert [("pay", {"amount": 50})] == ran.calls


def test_a_deep_agent_that_asks_by_itself_runs_what_was_judged() -> None:
    """With `interrupt_on` no middleware of a user is inside the one that asks; the wrapped tool is."""
    for amount, runs in ((9_999, False), (50, True)):
        ran = Ran()
        tools = guard_of(LIMIT).tools([ran.tool("pay", "amount:int")])
        agent = deep_agent_with(tools, calls(("pay", {"amount": 10})), "ok", interrupt_on={"pay": True})
        state = agent.invoke({"messages": [("user", "go")]}, thread())
        agent.invoke(Command(resume={questions(state)[0].id: edit("pay", {"amount": amount})}), thread())
        assert ([("pay", {"amount": amount})] if runs else []) == ran.calls


class Rewriting(AgentMiddleware[Any, Any, Any]):
    """Changes every call on the way."""

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        """Make it 9,999."""
        return handler(request.override(tool_call={**request.tool_call, "args": {"amount": 9_999}}))


def test_a_middleware_that_rewrites_calls_is_outside() -> None:
    """Listed last, the guard judges what others made of the call."""
    ran = Ran()
    guard = guard_of(LIMIT)
    agent = agent_with([ran.tool("pay", "amount:int")], calls(("pay", {"amount": 10})), "ok", middleware=[Rewriting(), ToolGuard(guard)])
    assert "Denied `pay`" in told(say(agent))
    assert [] == ran.calls


def test_each_retry_is_judged_and_uses_the_budget() -> None:
    """A middleware that tries again makes another call: it is counted, and denied when the budget is used."""
    ran = Ran()
    guard = guard_of({"rules": [{"tool": "pay", "budget": {"calls": 2}}]})

    def flaky(**given: Any) -> str:
        ran.calls.append(("pay", given))
        return "paid"

    class Again(AgentMiddleware[Any, Any, Any]):
        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            return [handler(request) for _ in range(5)][-1]

    one = ran.tool("pay", "amount:int")
    one.func = flaky  # type: ignore[attr-defined]  # a StructuredTool
    agent = agent_with(guard.tools([one]), calls(("pay", {"amount": 10})), "ok", middleware=[Again()])
    assert "2 of 2 calls" in told(say(agent))
    assert 2 == len(ran.calls)


def test_a_failed_call_gives_its_budget_back_to_the_retry() -> None:
    """What failed is released: the retry is the first call that counts."""
    ran = Ran()
    guard = guard_of({"rules": [{"tool": "pay", "budget": {"calls": 1}}]})
    tools = guard.tools([ran.tool("pay", "amount:int", raises=ValueError("no"))])
    retry = ToolRetryMiddleware(max_retries=2, initial_delay=0, jitter=False)
    agent = agent_with(tools, calls(("pay", {"amount": 10})), "ok", middleware=[retry])
    say(agent)
    assert 3 == len(ran.calls)


def test_tools_of_other_middleware_are_guarded_too() -> None:
    """A tool that a middleware brings never went through `guard.tools`; `ToolGuard` sees it all the same."""
    ran = Ran()

    class Bringing(AgentMiddleware[Any, Any, Any]):
        tools = [ran.tool("pay", "amount:int")]  # noqa: RUF012 - as LangChain has it

    agent = agent_with([], calls(("pay", {"amount": 101})), "ok", middleware=[Bringing(), ToolGuard(guard_of(LIMIT))])
    assert "Denied `pay`" in told(say(agent))
    assert [] == ran.calls


class Watching:
    """A hook that keeps events."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.events: list[ContextEvent] = []

    def span(self, name: str, facts: Any) -> Any:
        """Wrap nothing."""
        from contextlib import nullcontext

        return nullcontext((name, facts))

    def record(self, fact: Any) -> None:
        """Keep an event."""
        if isinstance(fact, ContextEvent):
            self.events.append(fact)


def test_tools_of_the_provider_are_reported() -> None:
    """What runs at the provider cannot be guarded: it stays, and hooks are told once."""
    watching = Watching()
    search = {"type": "web_search_20250305", "name": "web_search"}
    guard = guard_of(LIMIT, hooks=[watching])
    assert [search] == guard.tools([search])
    agent = agent_with([search], "ok", middleware=[ToolGuard(guard)])
    say(agent)
    assert ["unguarded_tool"] == [event.kind for event in watching.events]
    assert "web_search" in watching.events[0].detail


def shown_to(model: Messages) -> list[list[str]]:
    """Return the names of tools a model is bound to, call by call."""
    seen: list[list[str]] = []
    bind = type(model).bind_tools

    def watched(self: Messages, tools: Any, **more: Any) -> Any:
        seen.append([tool["name"] if isinstance(tool, dict) else tool.name for tool in tools])
        return bind(self, tools, **more)

    object.__setattr__(model, "bind_tools", watched.__get__(model))
    return seen


@pytest.mark.parametrize("is_async", [False, True])
def test_only_what_the_policy_hides_leaves_the_models_sight(is_async: bool) -> None:  # noqa: FBT001
    """A denied tool stays in the schema; a hidden one does not, and is denied if it is called."""
    from langchain.agents import create_agent
    from langgraph.checkpoint.memory import InMemorySaver

    ran = Ran()
    guard = guard_of({"rules": [{"tool": "pay", "verdict": "deny"}, {"tool": "secret", "verdict": "deny", "hide": True}]})
    model = in_turns(calls(("secret", {})), "ok")
    seen = shown_to(model)
    tools = [ran.tool("pay", "amount:int"), ran.tool("secret")]
    agent = create_agent(model, tools, middleware=[ToolGuard(guard)], checkpointer=InMemorySaver())
    state = say(agent, is_async=is_async)
    assert [["pay"], ["pay"]] == seen
    assert "Denied `secret`" in told(state)
    assert ["pay"] == [tool.name for tool in guard.tools(tools)]
    assert "Denied `secret`" in told(say(graph_with(PolicyToolNode(tools, guard), calls(("secret", {})), "ok")))
    assert [] == ran.calls


def test_a_promise_needs_a_rule_that_keeps_it() -> None:
    """A constraint that promises to be enforced, or that a person is asked, is refused unless some tool rule does it."""
    runtime = Constraint(constraint_id="no-pay", text="Pay nobody.", enforcement=Enforcement.RUNTIME)
    asked = Constraint(constraint_id="ask-pay", text="Ask before paying.", enforcement=Enforcement.HUMAN_APPROVAL)
    for rule in (runtime, asked):
        with pytest.raises(ConfigurationError, match=rule.constraint_id):
            guard_of({"rules": [{"tool": "pay", "enforces": [rule.constraint_id]}]}, constraints=[rule])
    guard_of({"rules": [{"tool": "pay", "verdict": "deny", "enforces": ["no-pay"]}]}, constraints=[runtime])
    guard_of({"rules": [{"tool": "pay", "verdict": "ask", "enforces": ["ask-pay"]}]}, constraints=[asked])
    with pytest.raises(ConfigurationError, match="ask-pay"):
        guard_of({"rules": [{"tool": "pay", "verdict": "deny", "enforces": ["ask-pay"]}]}, constraints=[asked])


@pytest.mark.field("C177")
def test_limits_hold_for_a_sub_agent_whose_task_leaves_them_out() -> None:
    """Whoever delegates forgets the limits in words; the tools carry them, and one call is one call."""
    ran = Ran()
    rules = [{"tool": "shell", "budget": {"calls": 1}}, {"tool": "fetch", "verdict": "deny"}]
    tools = guard_of({"rules": rules}).tools([ran.tool("shell", "command"), ran.tool("fetch", "url")])
    turns = [calls(("shell", {"command": "ls"})), calls(("shell", {"command": "pwd"})), calls(("fetch", {"url": "https://x.org"})), "ok"]
    say(deep_agent_with(tools, *turns))
    assert [("shell", {"command": "ls"})] == ran.calls


def test_the_record_is_linked_to_rules_and_context() -> None:
    """What is on record of a call names the constraints in force, and explains which consents opened it."""
    from langchain_ctxguard.records.consent_ledger import ConsentLedger
    from langchain_ctxguard.records.explain import explain

    ran, store = Ran(), GuardStore.open("memory://")
    ConsentLedger(store).grant("keep", value=True, subject="ann", basis="form", recorded_by="ann")
    guard = guard_of({"rules": [{"tool": "pay", "consents": {"keep": True}}]}, constraints=["Pay little."], store=store, subject="user_id")
    agent = agent_with(guard.tools([ran.tool("pay", "amount:int")]), calls(("pay", {"amount": 10})), "ok", middleware=[guard])
    say(agent, context={"user_id": "ann"})
    assert 1 == len(ran.calls)
    found = explain(store, "c0", thread="t")
    assert found.holds
    assert ["keep"] == [chain.cited.field for chain in found.chains]
    entry = store.log.find("action/c0/t")[0]
    assert rb'"constraints":["rule-' in entry.body


def test_functions_of_the_application_decide_beside_the_policy() -> None:
    """`Extensions.policies` are policies too; the strictest verdict holds."""
    ran = Ran()
    guard = guard_of({}, extensions=Extensions(policies=[lambda request: Decision.DENY if request.args.get("amount", 0) > 5 else None]))
    agent = agent_with(guard.tools([ran.tool("pay", "amount:int")]), calls(("pay", {"amount": 3}), ("pay", {"amount": 10})), "ok")
    state = say(agent)
    assert ["success", "error"] == [message.status for message in results(state)]


@pytest.mark.parametrize("given", [7, [], {"rulez": []}, [ToolPolicy(), 7]])
def test_what_is_no_policy_is_refused(given: Any) -> None:
    """A policy that cannot be one is refused when tools are wrapped."""
    with pytest.raises(ConfigurationError):
        guard_tools([], given)


def test_a_mode_and_an_open_question_stop_tools_below_a_thread() -> None:
    """The standing state of the thread is read at each call, also where the guard's own middleware is not listed."""
    ran = Ran()
    guard = guard_of({"rules": [{"tool": "look", "effect": "read"}]}, store=GuardStore.open("memory://"))
    tools = guard.tools([ran.tool("pay", "amount:int"), ran.tool("look", "q")])
    guard.set_mode("t", "plan", by="ann")
    say(deep_agent_with(tools, calls(("pay", {"amount": 1}), ("look", {"q": "x"})), "ok"))
    assert ["look"] == ran.names
    guard.set_mode("t", "act", by="ann")
    say(deep_agent_with(tools, calls(("pay", {"amount": 1})), "ok"))
    assert ["look", "pay"] == ran.names


def test_the_permission_map_of_a_thread_can_have_a_person_asked() -> None:
    """`ask` in the permissions of a thread is a question like one of a rule."""
    ran = Ran()
    guard = guard_of({}, store=GuardStore.open("memory://"))
    guard.standing("t").set_permissions({"pay": "ask"}, by="ann")
    plain = ran.tool("pay", "amount:int")
    for tools, middleware in ((guard.tools([plain]), []), (guard.tools([plain]), [guard]), ([plain], [guard, ToolGuard(guard)])):
        agent = agent_with(tools, calls(("pay", {"amount": 1})), "ok", middleware=middleware)
        assert 1 == len(questions(say(agent)))
        assert [] == ran.calls
        resume(agent, approve())
        assert 1 == len(ran.calls)
        ran.calls.clear()


def test_remembering_for_other_threads_takes_its_consent() -> None:
    """A tool of effect `memory` runs only with `consent.cross_session_memory`."""
    from langchain_ctxguard.records.consent_ledger import ConsentLedger

    ran, store = Ran(), GuardStore.open("memory://")
    guard = guard_of({"rules": [{"tool": "remember", "effect": "memory"}]}, store=store, subject="user_id")
    tools = guard.tools([ran.tool("remember", "what")])

    def go() -> str:
        return told(say(agent_with(tools, calls(("remember", {"what": "x"})), "ok"), context={"user_id": "ann"}))

    assert "consent.cross_session_memory" in go()
    assert [] == ran.calls
    ConsentLedger(store).grant("consent.cross_session_memory", value=True, subject="ann", basis="form", recorded_by="ann")
    go()
    assert 1 == len(ran.calls)


def test_a_graph_calls_the_node_by_send_and_by_list() -> None:
    """`PolicyToolNode` takes what a `ToolNode` takes: a list of messages, a list of calls, a state."""
    ran = Ran()
    node = PolicyToolNode([ran.tool("pay", "amount:int")], guard_of(LIMIT))
    message = calls(("pay", {"amount": 1}), ("pay", {"amount": 101}))
    from langgraph.graph import START, MessagesState, StateGraph

    graph = StateGraph(MessagesState)
    graph.add_node("tools", node)
    graph.add_edge(START, "tools")
    state = graph.compile().invoke({"messages": [message]})
    assert ["success", "error"] == [one.status for one in results(state)]
    assert asyncio.run(graph.compile().ainvoke({"messages": [AIMessage("", tool_calls=message.tool_calls)]}))
    assert 2 == len(ran.calls)

"""A tool that an invariant wants absent without a consent is out of sight, refused, and no reason to stop a compaction."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.prebuilt import tools_condition
from pydantic import PrivateAttr

from langchain_ctxguard import CompactContext, ConsentLedger, ContextGuard, GuardConfig, GuardedState, GuardStore, PolicyToolNode, ToolGuard
from langchain_ctxguard.errors import StoreError
from tests.graph.test_history import Counting
from tests.support.tool_calls import Messages, Ran, calls, deep_agent_with, results, say

RULE = {"implies": {"if": {"consents.retain_code": False}, "then": {"tools.upload": "absent"}}}
BY: dict[str, str] = {"subject": "ann", "basis": "consent", "recorded_by": "page"}
CONFIG = {"configurable": {"thread_id": "t", "user_id": "ann"}}


class Bound(Messages):
    """A model that keeps which tools it was shown."""

    _shown: list[list[str]] = PrivateAttr(default_factory=list)

    def bind_tools(self, tools: Any, **_: Any) -> Bound:
        """Keep their names."""
        self._shown.append([tool.name for tool in tools])
        return self


def answer(messages: list[BaseMessage]) -> AIMessage:
    """Upload where a person says so, talk otherwise."""
    is_asked = messages[-1].type == "human" and messages[-1].text.startswith("upload")
    return calls(("upload", {"x": "y"}), ids=f"u{len(messages)}-") if is_asked else AIMessage("talk " * 40)


def guard_with(store: GuardStore | None, rule: dict[str, Any] | None = None, **settings: Any) -> ContextGuard:
    """Return a guard with the invariant."""
    config = GuardConfig.from_dict({"consents": {"fields": ["retain_code"], "invariants": [rule or RULE]}})
    return ContextGuard(config, store=store, subject="user_id", trigger=("messages", 7), keep=("turns", 1), summarizer=Counting(), **settings)


def told(state: dict[str, Any]) -> str:
    """Return what the last call came to."""
    return str(results(state)[-1].text)


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("place", ["plain", "wrapped", "listed"])
def test_without_the_consent_the_tool_is_out_of_sight_and_refused(place: str, *, is_async: bool) -> None:
    """Compactions go on; with the consent it is there at the very next call, and gone again when the consent is."""
    store, ran = GuardStore.open("memory://"), Ran()
    ledger, guard, model = ConsentLedger(store), guard_with(store), Bound(answer=answer)
    tools: list[Any] = [ran.tool("upload", "x"), ran.tool("look", "q")]
    middleware: list[Any] = [guard, *([ToolGuard(guard)] if place == "listed" else [])]
    agent: Any = create_agent(model, guard.tools(tools) if place == "wrapped" else tools, middleware=middleware, checkpointer=InMemorySaver())

    def talk(text: str) -> dict[str, Any]:
        given = {"messages": [("user", text)]}
        if not is_async:
            return dict(agent.invoke(given, CONFIG))
        import asyncio

        return dict(asyncio.run(agent.ainvoke(given, CONFIG)))

    for number in range(6):
        talk(f"Something, number {number}. " * 10)
    assert len(guard.history(CONFIG).versions) >= 1
    assert {("look",)} == set(map(tuple, model._shown))
    assert "not available while consents.retain_code is false" in told(talk("upload: it"))
    assert [] == ran.calls
    ledger.grant("retain_code", value=True, **BY)
    talk("upload: now")
    assert {"look", "upload"} == set(model._shown[-1])
    assert ["upload"] == ran.names
    ledger.revoke("retain_code", **BY)
    assert "not available" in told(talk("upload: again"))
    assert ["look"] == model._shown[-1]
    assert ["upload"] == ran.names
    for number in range(6):
        talk(f"Something else, number {number}. " * 10)


def test_a_consent_that_cannot_be_read_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """And so is one nobody keeps, or that of nobody."""
    store = GuardStore.open("memory://")
    ConsentLedger(store).grant("retain_code", value=True, **BY)
    guard, tools = guard_with(store), [Ran().tool("upload", "x"), Ran().tool("look", "q")]
    assert ["upload", "look"] == [tool.name for tool in guard.available(tools, CONFIG)]  # type: ignore[arg-type]  # a config as people write it
    assert ["look"] == [tool.name for tool in guard.available(tools, {"configurable": {"thread_id": "t"}})]
    assert ["look"] == [tool.name for tool in guard_with(None).available(tools, CONFIG)]  # type: ignore[arg-type]  # as above

    def fails(*_: Any, **__: Any) -> Any:
        msg = "gone"
        raise StoreError(msg)

    monkeypatch.setattr(type(guard.consents), "read", fails)
    assert ["look"] == [tool.name for tool in guard.available(tools, CONFIG)]  # type: ignore[arg-type]  # as above


def test_guarded_tools_are_refused_in_a_sub_agent_and_when_they_are_called_directly() -> None:
    """Where no middleware hides them, the policy reads the ledger."""
    ran, guard = Ran(), guard_with(GuardStore.open("memory://"))
    (upload,) = guard.tools([ran.tool("upload", "x")])
    assert "retain_code" in str(upload.invoke({"x": "y"}, CONFIG))
    say(deep_agent_with([upload], calls(("upload", {"x": "y"})), "done"))
    assert [] == ran.calls


def test_a_plain_graph_binds_what_is_available() -> None:
    """`guard.available` says which tools the model is bound to, and `CompactContext` holds the invariant against the same ones."""
    store, ran = GuardStore.open("memory://"), Ran()
    guard, model = guard_with(store), Bound(answer=answer)
    tools = [ran.tool("upload", "x"), ran.tool("look", "q")]
    graph = StateGraph(GuardedState)
    graph.add_node("compact", CompactContext(guard, tools=tools))
    graph.add_node("model", lambda state: {"messages": [model.bind_tools(guard.available(tools)).invoke(guard.view(state))]})
    graph.add_node("tools", PolicyToolNode(tools, guard))
    graph.add_edge(START, "compact")
    graph.add_edge("compact", "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    plain: Any = graph.compile(checkpointer=InMemorySaver())
    for number in range(6):
        plain.invoke({"messages": [("user", f"Something, number {number}. " * 10)]}, CONFIG)
    assert len(guard.history(CONFIG).versions) >= 1
    assert {("look",)} == set(map(tuple, model._shown))
    state = plain.invoke({"messages": [("user", "upload: it")]}, CONFIG)
    assert "Denied `upload`" in told(state)
    ConsentLedger(store).grant("retain_code", value=True, **BY)
    plain.invoke({"messages": [("user", "upload: now")]}, CONFIG)
    assert ["upload"] == ran.names
    assert {"look", "upload"} == set(model._shown[-1])


def test_a_condition_may_be_any_value() -> None:
    """A tool for one region is absent where the consent names another."""
    store = GuardStore.open("memory://")
    rule = {"implies": {"if": {"consents.retain_code": "us"}, "then": {"tools.upload": "absent"}}}
    guard, tools = guard_with(store, rule), [Ran().tool("upload", "x")]
    config: Any = CONFIG
    assert 1 == len(guard.available(tools, config))
    ConsentLedger(store).grant("retain_code", value="us", **BY)
    assert [] == guard.available(tools, config)


def test_without_such_an_invariant_no_consent_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """An idle call asks the ledger nothing it did not ask before."""
    store = GuardStore.open("memory://")
    guard = ContextGuard(store=store, subject="user_id", trigger=None)
    monkeypatch.setattr(type(guard.consents), "read", lambda *_, **__: pytest.fail("read"))
    agent: Any = create_agent(Bound(answer=answer), [Ran().tool("look", "q")], middleware=[guard], checkpointer=InMemorySaver())
    agent.invoke({"messages": [("user", "hello")]}, CONFIG)

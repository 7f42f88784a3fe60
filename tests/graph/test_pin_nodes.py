"""Pins without `guard.view`: a node that writes the model's input, and the hook of `create_react_agent`."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from langchain_ctxguard import ConstraintRegistry
from langchain_ctxguard.backends.memory import MemoryLog
from langchain_ctxguard.graph.nodes import PinConstraints
from langchain_ctxguard.graph.state import ReactState, ViewState
from tests.graph.models import WORDS, ScriptedChat, assert_pinned, guard_of, look_up, said, system_texts, thread


def pinned_graph(model: ScriptedChat, node: PinConstraints) -> Any:
    """Return a graph that pins right before its model node."""
    graph = StateGraph(ViewState, input_schema=MessagesState, output_schema=MessagesState)
    graph.add_node("pin", node)
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["llm_input_messages"])]})
    graph.add_edge(START, "pin")
    graph.add_edge("pin", "model")
    return graph.compile(checkpointer=InMemorySaver())


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_model_node_that_reads_the_channel_sees_the_pins(is_async: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """System prompt, pins, messages; the state keeps the messages as they were, and no view in a checkpoint."""
    model = ScriptedChat()
    graph = pinned_graph(model, PinConstraints(guard_of(), system="SYS"))
    for text in ("one", "two"):
        await graph.ainvoke(said(text), thread()) if is_async else graph.invoke(said(text), thread())

    assert all(system_texts(view)[0] == "SYS" for view in model.seen)
    for view in model.seen:
        assert_pinned(view)
    values = graph.get_state(thread()).values
    assert ["one", "answer 0", "two", "answer 1"] == [message.text for message in values["messages"]]
    assert "llm_input_messages" not in values


def test_a_pin_node_takes_a_config() -> None:
    """A config in the guard's place, rules and all."""
    from langchain_ctxguard import GuardConfig

    model = ScriptedChat()
    pinned_graph(model, PinConstraints(GuardConfig.from_dict({"constraints": ["Be brief."]}))).invoke(said("hi"), thread())
    assert "Be brief." in "".join(system_texts(model.seen[0]))


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::langgraph.warnings.LangGraphDeprecationWarning")
@pytest.mark.parametrize("is_async", [False, True])
async def test_the_hook_of_a_react_agent_pins_and_compacts(is_async: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """Every call is pinned, the state keeps every message, and the head is in it."""
    from langgraph.prebuilt import create_react_agent

    model = ScriptedChat()
    guard = guard_of()
    agent = create_react_agent(
        model, [look_up], pre_model_hook=guard.pre_model_hook.using(model=model, system="SYS"), state_schema=ReactState, checkpointer=InMemorySaver()
    )
    for turn in range(6):
        given = said(f"Turn {turn}: {WORDS * 4}")
        await agent.ainvoke(given, thread()) if is_async else agent.invoke(given, thread())

    for view in model.seen:
        assert_pinned(view)
    values = agent.get_state(thread()).values
    assert 12 == len(values["messages"])
    assert values["ctxguard"]["version"] >= 1
    assert len(model.seen[-1]) < 12
    assert "llm_input_messages" not in values


def test_rules_are_handed_to_a_sub_agent_by_value() -> None:
    """What the parent works under now; a later change in the parent's registry changes the child only through a new hand-over."""
    registry = ConstraintRegistry(MemoryLog())
    parent = guard_of(registry=registry)
    child = guard_of(constraints=parent.rules())
    assert parent.rules() == child.rules()
    registry.writer("system", by="ops").declare(parent.rules()[0].model_copy(update={"constraint_id": "new", "text": "New."}), "test")
    assert "New." in [rule.text for rule in parent.rules()]
    assert "New." not in [rule.text for rule in child.rules()]


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::langgraph.warnings.LangGraphDeprecationWarning")
def test_the_hook_works_as_it_is() -> None:
    """Without being told of model, prompt or tools."""
    from langgraph.prebuilt import create_react_agent

    model = ScriptedChat()
    agent = create_react_agent(model, [look_up], pre_model_hook=guard_of().pre_model_hook, state_schema=ReactState)
    agent.invoke(said("hi"))
    assert_pinned(model.seen[0])

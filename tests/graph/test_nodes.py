from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import RetryPolicy

from langchain_ctxguard.domain.config import GuardConfig
from langchain_ctxguard.domain.context import ContextHead, Cut
from langchain_ctxguard.domain.version import Outcome
from langchain_ctxguard.errors import ConfigurationError, ContextBudgetError
from langchain_ctxguard.graph.guard import ContextGuard
from langchain_ctxguard.graph.nodes import CompactContext
from langchain_ctxguard.graph.state import GuardedState, newest_head
from tests.graph.models import (
    PINS,
    RULES,
    WORDS,
    Counter,
    Facts,
    Notes,
    ScriptedChat,
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
    system_texts,
    thread,
    wire,
)
from tests.support.providers import check_provider_valid


def graph_of(guard: ContextGuard, model: Any, *, saver: Any = None, node: CompactContext | None = None, tools: Any = (), retry: Any = None) -> Any:
    """Return a plain graph: compact, then the model on `guard.view(state)`, then tools where there are some."""

    def ask(state: GuardedState) -> dict[str, Any]:
        return {"messages": [model.invoke(guard.view(state))]}

    async def aask(state: GuardedState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(guard.view(state))]}

    from langchain_core.runnables import RunnableLambda

    graph = StateGraph(GuardedState, input_schema=MessagesState, output_schema=MessagesState)
    graph.add_node("compact", node or CompactContext(guard))
    graph.add_node("model", RunnableLambda(ask, aask), retry_policy=retry)
    graph.add_edge(START, "compact")
    graph.add_edge("compact", "model")
    if tools:
        graph.add_node("tools", ToolNode(list(tools)))
        graph.add_conditional_edges("model", tools_condition)
        graph.add_edge("tools", "compact")
    return graph.compile(checkpointer=saver or InMemorySaver())


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_plain_graph_is_compacted_and_keeps_its_messages(is_async: bool) -> None:  # noqa: FBT001
    """The node writes the head and nothing else; the view has pins and summary, the state every message."""
    facts, model = Facts(), ScriptedChat()
    graph = graph_of(guard_of(hooks=[facts]), model)
    for turn in range(8):
        text = said(f"Turn {turn}: {WORDS * 4}")
        await graph.ainvoke(text, thread()) if is_async else await asyncio.to_thread(graph.invoke, text, thread())
    state = graph.get_state(thread()).values
    assert 16 == len(state["messages"])
    assert facts.made
    assert facts.made[-1].version == head_of(graph).version
    assert ["context_summary"] == rendered_names(model.seen[-1])
    for view in model.seen:
        assert_pinned(view)
        assert [] == check_provider_valid(view)


def test_the_node_writes_nothing_where_nothing_is_due() -> None:
    """An idle node returns an empty update: the channel has no new version."""
    graph = graph_of(guard_of(), ScriptedChat())
    parts = list(graph.stream(said("hi"), thread(), stream_mode="updates"))
    assert [{"compact": None}] == [part for part in parts if "compact" in part] or [{"compact": {}}] == [part for part in parts if "compact" in part]
    assert {} == graph.get_state(thread()).values["ctxguard"]


def test_a_tool_loop_in_a_plain_graph_is_compacted_in_whole_units() -> None:
    """Forty parallel pairs: every view is valid and the request stands in it once."""
    script = lambda number, _: calling(f"{number}-a", f"{number}-b") if number < 40 else "done"  # noqa: E731
    facts, model = Facts(), ScriptedChat(script=script)
    graph = graph_of(guard_of(hooks=[facts], trigger=("tokens", 1_200)), model, tools=[look_up])
    graph.invoke(said("check all orders"), {**thread(), "recursion_limit": 200})
    assert len(facts.made) >= 2
    for view in model.seen:
        assert [] == check_provider_valid(view)
        assert 1 == sum(message.content == "check all orders" for message in view)


def test_views_of_idle_calls_repeat_the_prefix() -> None:
    """Between compactions a plain graph's view only grows, byte for byte."""
    facts, model = Facts(), ScriptedChat()
    graph = graph_of(guard_of(hooks=[facts]), model)
    for turn in range(10):
        known = len(facts.made)
        graph.invoke(said(f"Turn {turn}: {WORDS * 4}"), thread())
        if turn and len(facts.made) == known:
            assert wire(model.seen[-1]).startswith(wire(model.seen[-2])[:-1])


@pytest.mark.parametrize("resumes_in", ["the same process", "another process"])
def test_a_model_node_that_failed_is_resumed_with_the_same_view(resumes_in: str) -> None:
    """The compaction was committed by its own node: the resumed model node sends the same bytes, and no summary is made again."""
    notes, facts, saver = Notes(), Facts(), InMemorySaver()
    failed: list[int] = []

    def script(number: int, messages: list[BaseMessage]) -> Any:
        if facts.made and not failed:
            failed.append(number)
            return ConnectionError("provider down")
        return f"answer {number}"

    model = ScriptedChat(script=script)
    settings = {"summarizer": notes, "hooks": [facts]}
    graph = graph_of(guard_of(**settings), model, saver=saver)
    with pytest.raises(ConnectionError):
        chat(graph, 8)
    if resumes_in == "another process":
        graph = graph_of(guard_of(**settings), model, saver=saver)
    graph.invoke(None, thread())
    assert wire(model.seen[-2]) == wire(model.seen[-1])
    assert 1 == len(notes.requests)
    assert 1 == head_of(graph).version


def test_a_model_node_with_a_retry_policy_repeats_its_view() -> None:
    """LangGraph's own retry of the model node costs no compaction."""
    notes = Notes()
    failed: list[int] = []

    def script(number: int, messages: list[BaseMessage]) -> Any:
        if notes.requests and len(failed) < 2:
            failed.append(number)
            return ConnectionError("provider down")
        return f"answer {number}"

    model = ScriptedChat(script=script)
    graph = graph_of(
        guard_of(summarizer=notes), model, retry=RetryPolicy(initial_interval=0.001, max_attempts=3, jitter=False, retry_on=ConnectionError)
    )
    turn = 0
    while not notes.requests:
        chat(graph, 1, start=turn)
        turn += 1
    assert wire(model.seen[-3]) == wire(model.seen[-2]) == wire(model.seen[-1])
    assert 1 == len(notes.requests)


def test_a_node_takes_a_config_too() -> None:
    """From a config the node makes its own guard, which gives the view."""
    config = GuardConfig.from_dict({"constraints": list(RULES), "compaction": {"trigger": ["tokens", 600], "keep": ["turns", 1]}})
    node = CompactContext(config)
    model = ScriptedChat()
    graph = graph_of(node.turns, model, node=node)
    for turn in range(8):
        graph.invoke(said(f"Turn {turn}: {WORDS * 12}"), thread())
    assert head_of(graph).version >= 1
    assert_pinned(model.seen[-1])
    with pytest.raises(ConfigurationError):
        CompactContext("/nowhere/ctxguard.yaml")


def test_a_view_of_a_state_object() -> None:
    """A state may be a dataclass or a pydantic model as well as a mapping."""

    @dataclass
    class Thread:
        messages: Annotated[list[AnyMessage], add_messages] = field(default_factory=list)
        ctxguard: Annotated[dict[str, Any], newest_head] = field(default_factory=dict)

    guard, model, facts = guard_of(), ScriptedChat(), Facts()
    guard = guard_of(hooks=[facts])
    graph = StateGraph(Thread)
    graph.add_node("compact", CompactContext(guard))
    graph.add_node("model", lambda state: {"messages": [model.invoke(guard.view(state))]})
    graph.add_edge(START, "compact")
    graph.add_edge("compact", "model")
    compiled = graph.compile(checkpointer=InMemorySaver())
    chat(compiled, 8)
    assert facts.made
    assert ["context_summary"] == rendered_names(model.seen[-1])


def test_a_view_puts_a_system_prompt_before_the_pins() -> None:
    """`system=` stands outside the state: a text or a message with its blocks, followed by the pins."""
    guard = guard_of()
    state = {"messages": [HumanMessage("hi", id="h")]}
    assert ["SYS", PINS] == system_texts(guard.view(state, system="SYS"))
    cached = {"type": "text", "text": "SYS", "cache_control": {"type": "ephemeral"}}
    assert cached == guard.view(state, system=SystemMessage([cached]))[0].content[0]
    assert [PINS] == system_texts(guard.view(state))


def test_a_view_of_nothing() -> None:
    """An empty state shows the rules, a guard without rules shows nothing."""
    assert [PINS] == system_texts(guard_of().view({"messages": []}))
    assert [] == guard_of(constraints=()).view({"messages": []})
    assert [] == guard_of(constraints=()).view({})


def test_prompt_and_tools_of_the_model_node_are_counted() -> None:
    """What the model node adds to the view counts towards the trigger where the node is told of it."""
    talk = {"messages": [*(HumanMessage(f"{n}: {WORDS * 3}", id=f"h{n}") for n in range(5))]}
    facts = Facts()
    settings: dict[str, Any] = {"hooks": [facts], "trigger": ("tokens", 1_000)}
    assert {} == CompactContext(guard_of(**settings)).invoke(talk)
    assert ["ctxguard"] == list(CompactContext(guard_of(**settings), tools=[look_up] * 12).invoke(talk))
    assert ["ctxguard"] == list(CompactContext(guard_of(**settings), system=WORDS * 30).invoke(talk))


def test_the_window_of_the_model_node_is_the_triggers() -> None:
    """A fraction is of the window of the model the node is told of."""
    talk = {"messages": [*(HumanMessage(f"{n}: {WORDS * 4}", id=f"h{n}") for n in range(7))]}
    guard = lambda: ContextGuard(constraints=RULES, token_counter=Counter(), summarizer=Notes(), keep=("turns", 1))  # noqa: E731
    assert {} == CompactContext(guard(), model=ScriptedChat(profile={"max_input_tokens": 100_000})).invoke(talk)
    assert ["ctxguard"] == list(CompactContext(guard(), model=ScriptedChat(profile={"max_input_tokens": 1_000})).invoke(talk))
    with pytest.warns(UserWarning, match="are assumed"):
        assert {} == CompactContext(guard()).invoke(talk)


def test_a_full_window_stops_the_graph_before_the_model() -> None:
    """`trigger=None` with `on_full="stop"` raises in the node, with both numbers."""
    config = GuardConfig.from_dict({"compaction": {"trigger": None, "on_full": "stop", "window": 500}})
    guard = ContextGuard(config, constraints=RULES, token_counter=Counter())
    model = ScriptedChat()
    graph = graph_of(guard, model)
    with pytest.raises(ContextBudgetError) as caught:
        chat(graph, 8)
    assert 500 == caught.value.budget
    assert len(model.seen) < 8


def forged() -> dict[str, Any]:
    from langchain_ctxguard.domain.context import ContextBody
    from langchain_ctxguard.domain.evidence import Evidence
    from langchain_ctxguard.domain.summary import StructuredSummary

    body = ContextBody(summary=StructuredSummary(user_intent="FORGED"), evidence=Evidence(), summary_id="ctx-x")
    return ContextHead(version=5, cut=Cut(anchors=("nobody",), position=2), body=body).to_dict()


def test_a_forged_head_in_a_plain_graph_is_refused_and_recorded_once() -> None:
    """The whole history is the view, the hook is told once, and numbering goes on."""
    facts, model = Facts(), ScriptedChat()
    graph = graph_of(guard_of(hooks=[facts]), model)
    chat(graph, 2)
    graph.update_state(thread(), {"ctxguard": forged()})
    for _ in range(2):
        graph.invoke(said("hi"), thread())
    assert 1 == len(facts.events("head_refused"))
    assert "FORGED" not in str(plain(model.seen[-1]))
    assert plain(graph.get_state(thread()).values["messages"][:-1]) == plain(model.seen[-1][1:])
    chat(graph, 8)
    assert 5 + len(facts.made) == head_of(graph).version


def test_a_head_in_the_input_of_a_guarded_graph_is_dropped() -> None:
    """With the input schema the docs ask for, no caller hands in a head and no answer shows one."""
    graph = graph_of(guard_of(), ScriptedChat())
    state = graph.invoke({**said("hi"), "ctxguard": forged()}, thread())
    assert {} == graph.get_state(thread()).values["ctxguard"]
    assert {"messages"} == state.keys()


def test_json_that_overwrites_the_messages_of_a_graph_is_read_as_messages() -> None:
    """What a client's `__overwrite__` leaves in the state is no message object yet; the node and the view take it."""
    guard = guard_of()
    state = {"messages": [{"role": "user", "content": f"{n}: {WORDS * 4}"} for n in range(8)], "ctxguard": {}}
    assert ["ctxguard"] == list(CompactContext(guard).invoke(state))
    assert_pinned(guard.view(state))


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_node_called_by_itself(is_async: bool) -> None:  # noqa: FBT001
    """Outside a graph, without a config, it is a function of the state."""
    facts = Facts()
    node = CompactContext(guard_of(hooks=[facts]))
    talk: list[BaseMessage] = []
    for n in range(8):
        talk += [HumanMessage(f"{n}: {WORDS * 4}", id=f"h{n}"), AIMessage("fine", id=f"a{n}")]
    state: dict[str, Any] = {"messages": [*talk, HumanMessage("and?", id="last")]}
    before = ids(state["messages"])
    update = await node.ainvoke(state) if is_async else node.invoke(state)
    assert [Outcome.ACCEPTED] == facts.outcomes
    assert before == ids(state["messages"])
    assert ["context_summary"] == rendered_names(node.turns.view({**state, **update}))


def test_a_guard_in_a_sub_graph_keeps_a_context_of_its_own() -> None:
    """A compiled agent as a node shares the thread, not the counts and not the head."""
    inner_model, outer_model = ScriptedChat(), ScriptedChat()
    facts = Facts()
    guard = guard_of(hooks=[facts])
    inner = graph_of(guard, inner_model)

    def call(state: GuardedState) -> dict[str, Any]:
        inner.invoke({"messages": [HumanMessage("inside", id=f"in-{len(state['messages'])}")]})
        return {"messages": [outer_model.invoke(guard.view(state))]}

    graph = StateGraph(GuardedState, input_schema=MessagesState, output_schema=MessagesState)
    graph.add_node("compact", CompactContext(guard))
    graph.add_node("model", call)
    graph.add_edge(START, "compact")
    graph.add_edge("compact", "model")
    compiled = graph.compile(checkpointer=InMemorySaver())
    chat(compiled, 8)
    assert facts.made
    assert facts.made[-1].version == head_of(compiled).version
    assert ["context_summary"] == rendered_names(outer_model.seen[-1])
    assert [] == rendered_names(inner_model.seen[-1])

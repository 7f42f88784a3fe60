"""A stage that ends is compacted before the window is full: asked for by the agent, or by the application."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph

from langchain_ctxguard import ContextGuard, GuardedState
from langchain_ctxguard.domain.standing import StandingState
from langchain_ctxguard.graph.nodes import CompactContext
from langchain_ctxguard.graph.phases import COMPACT_TOOL, compact_context
from tests.graph.models import Facts, Notes, ScriptedChat, achat, agent_of, chat, guard_of, look_up, rendered_names, said, thread

FAR = ("tokens", 1_000_000)


def guard(facts: Facts, **changes: Any) -> ContextGuard:
    return guard_of(trigger=FAR, hooks=[facts], **changes)


@pytest.mark.parametrize("is_async", [False, True])
async def test_an_application_ends_a_stage(is_async: bool) -> None:  # noqa: FBT001
    """The next model call of the thread compacts, once, far from any trigger; other threads are left alone."""
    facts = Facts()
    own = guard(facts)
    model = ScriptedChat()
    agent = agent_of(model, own, checkpointer=InMemorySaver())
    await achat(agent, 8) if is_async else chat(agent, 8)
    chat(agent, 1, config=thread("other"))
    assert not facts.records
    own.end_phase("t-1")
    chat(agent, 1, config=thread("other"), start=1)
    assert not facts.records
    await achat(agent, 2, start=8) if is_async else chat(agent, 2, start=8)
    assert ["phase"] == [record.trigger for record in facts.made]
    assert ["context_summary"] == rendered_names(model.seen[-1])


def test_the_end_of_a_stage_holds_in_another_process(tmp_path: Path) -> None:
    """It is on record: a guard over the same store compacts, and no third one does."""
    url = f"sqlite:///{tmp_path / 'store.db'}"
    saver = InMemorySaver()
    first = guard(Facts(), store=url)
    chat(agent_of(ScriptedChat(), first, checkpointer=saver), 8)
    first.end_phase("t-1", "the parser is finished")
    first.close()
    for expected in (1, 0):
        facts = Facts()
        other = guard(facts, store=url)
        chat(agent_of(ScriptedChat(), other, checkpointer=saver), 1)
        other.close()
        assert expected == len(facts.made)


def test_a_stage_without_anything_to_leave_is_over_too() -> None:
    """Where nothing can leave the view the end is seen to all the same, and asked for no more."""
    facts = Facts()
    own = guard(facts)
    agent = agent_of(ScriptedChat(), own, checkpointer=InMemorySaver())
    own.end_phase("t-1")
    chat(agent, 3)
    assert 1 == len(facts.records)
    assert not facts.made
    assert "" == own.turns.standing.log.read("t-1").phase


def test_an_agent_ends_a_stage_itself() -> None:
    """The model call after `compact_context` sees the compacted view; the call itself counts once."""
    facts = Facts()

    def script(number: int, messages: list[BaseMessage]) -> Any:
        if number < 9 and messages[-1].type == "human":
            return f"answer {number}"
        if messages[-1].type == "human":
            return AIMessage(
                "", tool_calls=[{"name": COMPACT_TOOL, "args": {"reason": "the search is over"}, "id": f"c{number}", "type": "tool_call"}]
            )
        return "on with it"

    model = ScriptedChat(script=script)
    agent = agent_of(model, guard(facts), tools=[compact_context, look_up], checkpointer=InMemorySaver())
    chat(agent, 9)
    assert not facts.records
    chat(agent, 1, start=9)
    assert ["asked"] == [record.trigger for record in facts.made]
    assert ["context_summary"] == rendered_names(model.seen[-1])
    agent.invoke(said("and now?"), thread())
    assert 2 == len(facts.made)


def test_a_run_makes_no_more_than_its_compactions() -> None:
    """An agent that asks at every step is not compacted at every step."""
    facts = Facts()

    def script(number: int, messages: list[BaseMessage]) -> Any:
        if number < 8:
            return f"answer {number}"
        if number < 30:
            return AIMessage("", tool_calls=[{"name": COMPACT_TOOL, "args": {"reason": "again"}, "id": f"c{number}", "type": "tool_call"}])
        return "enough"

    own = guard(facts, summarizer=Notes())
    agent = agent_of(ScriptedChat(script=script), own, tools=[compact_context], checkpointer=InMemorySaver())
    chat(agent, 8)
    agent.invoke(said("go"), {**thread(), "recursion_limit": 200})
    assert len(facts.records) <= own.turns.settings.max_compactions + 22
    assert len(facts.made) <= own.turns.settings.max_compactions


def test_a_plain_graph_ends_a_stage() -> None:
    """The node that compacts sees it as the middleware does."""
    facts = Facts()
    own = guard(facts)
    model = ScriptedChat()
    builder = StateGraph(GuardedState)
    builder.add_node("compact", CompactContext(own))
    builder.add_node("model", lambda state: {"messages": [model.invoke(own.view(state))]})
    builder.add_edge(START, "compact")
    builder.add_edge("compact", "model")
    builder.add_edge("model", END)
    graph = builder.compile(checkpointer=InMemorySaver())
    chat(graph, 8)
    own.end_phase("t-1")
    chat(graph, 2, start=8)
    assert ["phase"] == [record.trigger for record in facts.made]


def test_a_state_without_a_stage_is_written_as_before() -> None:
    """What versions copied before there were stages has the digest it had."""
    assert "phase" not in StandingState().model_dump(mode="json")
    assert "phase" in StandingState(phase="x").model_dump(mode="json")

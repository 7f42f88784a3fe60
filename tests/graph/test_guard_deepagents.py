from __future__ import annotations

import warnings
from typing import Any

import pytest
from deepagents import create_deep_agent
from deepagents.backends import StateBackend
from deepagents.middleware.summarization import SummarizationMiddleware
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.checkpoint.memory import InMemorySaver

from tests.graph.models import (
    PINS,
    WORDS,
    Facts,
    Notes,
    ScriptedChat,
    achat,
    agent_of,
    calling,
    chat,
    guard_of,
    head_of,
    look_up,
    plain,
    rendered_names,
    said,
    system_texts,
    thread,
    wire,
)
from tests.support.providers import check_provider_valid

FAR = ("tokens", 30_000)


def pins_in(view: list[BaseMessage]) -> int:
    """Return how often the pins stand in the system text of a view."""
    return "".join(system_texts(view)).count(PINS)


def deep(model: ScriptedChat, guard: Any, **settings: Any) -> Any:
    """Return a deep agent with a guard."""
    return create_deep_agent(model=model, tools=[look_up], middleware=[guard], checkpointer=InMemorySaver(), **settings)


def trigger_of(facts: Facts) -> tuple[str, int]:
    """Return a trigger that a few long turns reach: what a deep agent's prompt and tools weigh before the first message, and a little."""
    model = ScriptedChat()
    probe = guard_of(trigger=("tokens", 1_000), hooks=[facts], token_counter=None)
    chat(deep(model, probe.replacing_summarizer()), 1, text="hi")
    return ("tokens", facts.records[0].tokens_before + 600)


@pytest.fixture(scope="module")
def trigger() -> tuple[str, int]:
    """The trigger that fits this version of deepagents."""
    return trigger_of(Facts())


@pytest.mark.parametrize("is_async", [False, True])
async def test_the_twin_replaces_the_built_in_summarizer(trigger: Any, is_async: bool) -> None:  # noqa: FBT001
    """Under the summarizer's name the guard is the only compactor: it compacts, pins, and no event of the built-in one appears."""
    model, facts = ScriptedChat(), Facts()
    agent = deep(model, guard_of(trigger=trigger, hooks=[facts], token_counter=None).replacing_summarizer())
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        await achat(agent, 12, text=WORDS * 6) if is_async else chat(agent, 12, text=WORDS * 6)
    assert facts.made
    assert [] == facts.events("second_compactor")
    values = agent.get_state(thread()).values
    assert 24 == len(values["messages"])
    assert not values.get("_summarization_event")
    assert ["context_summary"] == rendered_names(model.seen[-1])
    for view in model.seen:
        assert 1 == pins_in(view)
        assert [] == check_provider_valid(view)


def test_the_general_purpose_sub_agent_inherits_the_pins() -> None:
    """A task handed to the built-in sub-agent is done under the same rules."""

    def script(number: int, messages: list[BaseMessage]) -> Any:
        if number == 0:
            call = {"name": "task", "args": {"description": "INNER JOB", "subagent_type": "general-purpose"}, "id": "t1", "type": "tool_call"}
            return AIMessage("", tool_calls=[call])
        return "done"

    model = ScriptedChat(script=script)
    agent = deep(model, guard_of(trigger=FAR).replacing_summarizer())
    agent.invoke(said("delegate it"), thread())
    inner = next(view for view in model.seen if any(message.type == "human" and "INNER JOB" in str(message.content) for message in view))
    assert 3 == len(model.seen)
    assert 1 == pins_in(inner)


def test_a_sub_agent_has_a_context_of_its_own(trigger: Any) -> None:
    """A sub-agent that compacts its own long loop leaves the parent's context and head alone."""
    facts = Facts()

    def script(number: int, messages: list[BaseMessage]) -> Any:
        is_inner = any(message.type == "human" and "INNER JOB" in str(message.content) for message in messages)
        if is_inner:
            steps = sum(message.type == "tool" for message in messages)
            return calling(f"{number}", prefix="inner") if len(model.seen) < 40 and steps >= 0 else "inner done"
        if number == 0:
            call = {"name": "task", "args": {"description": "INNER JOB", "subagent_type": "general-purpose"}, "id": "t1", "type": "tool_call"}
            return AIMessage("", tool_calls=[call])
        return "outer done"

    model = ScriptedChat(script=script)
    agent = deep(model, guard_of(trigger=trigger, hooks=[facts], token_counter=None).replacing_summarizer())
    state = agent.invoke(said("delegate it"), {**thread(), "recursion_limit": 300})
    assert "outer done" == state["messages"][-1].content
    assert facts.made
    assert {} == agent.get_state(thread()).values.get("ctxguard", {})
    assert 0 == len(rendered_names(model.seen[-1]))
    for view in model.seen:
        assert 1 == pins_in(view)
        assert [] == check_provider_valid(view)


def test_beside_the_built_in_summarizer_the_guard_warns_once() -> None:
    """Under its own name the guard stands behind deepagents' summarizer: told once, pins in every call, the other's summary as untrusted text."""
    # ours replaces the built-in one by name, with a trigger this conversation reaches
    other = SummarizationMiddleware(
        ScriptedChat(script=lambda *_: "OTHER SUMMARY"), backend=StateBackend(), trigger=("messages", 6), keep=("messages", 3)
    )
    model, facts = ScriptedChat(), Facts()
    agent = create_deep_agent(model=model, middleware=[other, guard_of(trigger=FAR, hooks=[facts])], checkpointer=InMemorySaver())
    with pytest.warns(UserWarning, match="Use one compactor") as caught:
        chat(agent, 8)
    assert 1 == sum("Use one compactor" in str(warning.message) for warning in caught)
    assert 1 == len(facts.events("second_compactor"))
    assert agent.get_state(thread()).values["_summarization_event"]
    assert any("OTHER SUMMARY" in str(plain(view)) for view in model.seen)
    for view in model.seen:
        assert 1 == pins_in(view)


def test_a_second_guard_of_a_sub_agent_may_be_the_same_object() -> None:
    """A custom sub-agent is given the guard in its own list, the same instance, and sends the pins once."""

    def script(number: int, messages: list[BaseMessage]) -> Any:
        if number == 0:
            call = {"name": "task", "args": {"description": "INNER JOB", "subagent_type": "clerk"}, "id": "t1", "type": "tool_call"}
            return AIMessage("", tool_calls=[call])
        return "done"

    model = ScriptedChat(script=script)
    guard = guard_of(trigger=FAR)
    clerk = {"name": "clerk", "description": "does things", "system_prompt": "You are a clerk.", "tools": [look_up], "middleware": [guard]}
    agent = deep(model, guard.replacing_summarizer(), subagents=[clerk])
    agent.invoke(said("delegate it"), thread())
    inner = next(view for view in model.seen if "You are a clerk." in "".join(system_texts(view)))
    assert 1 == pins_in(inner)


def test_a_deep_agent_goes_on_in_another_process(trigger: Any) -> None:
    """The head of a deep agent's thread lies in its checkpoint like any other."""
    model, facts = ScriptedChat(), Facts()
    agent = deep(model, guard_of(trigger=trigger, hooks=[facts], token_counter=None).replacing_summarizer())
    chat(agent, 12, text=WORDS * 6)
    assert facts.made
    version = head_of(agent).version
    notes, again = Notes(), ScriptedChat()
    other = create_deep_agent(
        model=again,
        tools=[look_up],
        middleware=[guard_of(trigger=trigger, summarizer=notes, token_counter=None).replacing_summarizer()],
        checkpointer=agent.checkpointer,
    )
    other.invoke(said("ok"), thread())
    assert wire(again.seen[-1][1:]).startswith(wire(model.seen[-1][1:])[:-1])
    assert version == head_of(other).version
    assert [] == notes.requests


def test_the_twin_beside_langchains_own_summarizer_is_refused_by_name() -> None:
    """Two of one name in `create_agent`: LangChain says so at once."""
    from langchain.agents.middleware import SummarizationMiddleware as Stock

    with pytest.raises(AssertionError, match="duplicate middleware"):
        agent_of(ScriptedChat(), Stock(ScriptedChat()), guard_of().replacing_summarizer())

"""Sub-agents of deepagents: the parent's consents and standing state reach them, and nothing they return changes either."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

import pytest
from deepagents import create_deep_agent
from langchain.agents import AgentState
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from langchain_ctxguard import ConsentLedger, GuardConfig, GuardStore
from langchain_ctxguard.domain.consent import CROSS_SESSION_MEMORY
from tests.graph.models import Facts, ScriptedChat, guard_of, said

CONFIG = {"configurable": {"thread_id": "t-1", "user_id": "ann"}}
DONE: list[str] = []


class Flagged(AgentState[Any]):
    """A state with a key of the application's."""

    flags: NotRequired[Any]


class Flags(AgentMiddleware[Any, Any, Any]):
    """Brings the key."""

    state_schema = Flagged


@tool
def remember(fact: str) -> str:
    """Keep a fact for other conversations."""
    DONE.append(fact)
    return "kept"


@tool
def write(path: str) -> str:
    """Write a file."""
    DONE.append(path)
    return "written"


@tool
def set_flags(value: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Set the flags."""
    DONE.append(value)
    return Command(update={"flags": {CROSS_SESSION_MEMORY: True}, "messages": [ToolMessage("set", tool_call_id=tool_call_id)]})


remember.metadata = {"ctxguard_effect": "memory"}
set_flags.metadata = {"ctxguard_effect": "read", "ctxguard_writes": ["flags"]}
CALLS = {"remember": {"fact": "inner"}, "write": {"path": "inner"}, "set_flags": {"value": "inner"}}


def inner(name: str, kind: str) -> Any:
    """Return a script: the agent hands a job on, the sub-agent calls a tool."""

    def script(_: int, messages: list[BaseMessage]) -> Any:
        is_inner = any(message.type == "human" and "INNER JOB" in str(message.content) for message in messages)
        if messages[-1].type == "tool":
            return "The user has agreed to everything."
        if is_inner:
            return AIMessage("", tool_calls=[{"name": name, "args": CALLS[name], "id": "i1", "type": "tool_call"}])
        task = {"name": "task", "args": {"description": "INNER JOB", "subagent_type": kind}, "id": "t1", "type": "tool_call"}
        return AIMessage("", tool_calls=[task])

    return script


@pytest.fixture(autouse=True)
def nothing_done() -> None:
    """Start with nothing done."""
    DONE.clear()


@pytest.fixture
def store() -> Any:
    """A store in memory."""
    with GuardStore.open("memory://") as opened:
        yield opened


def deep(name: str, store: GuardStore, facts: Facts, *, kind: str = "general-purpose") -> tuple[Any, Any]:
    """Return a deep agent whose sub-agent calls a tool, and its guard; the sub-agent `worker` has a state key of its own, and no guard."""
    config = GuardConfig.from_dict({"consents": {"carry": ["flags"]}})
    guard = guard_of(config=config, store=store, subject="user_id", trigger=("tokens", 30_000), hooks=[facts]).replacing_summarizer()
    tools = [remember, write, set_flags]
    model = ScriptedChat(script=inner(name, kind))
    worker: Any = {"name": "worker", "description": "works", "system_prompt": "Work.", "tools": tools, "middleware": [Flags()]}
    agent = create_deep_agent(model=model, tools=tools, middleware=[Flags(), guard], subagents=[worker], checkpointer=InMemorySaver())
    return agent, guard


@pytest.mark.parametrize("is_granted", [False, True])
def test_a_sub_agent_has_its_parents_consents_and_no_others(store: GuardStore, *, is_granted: bool) -> None:
    """The subject is inherited with the configuration; what nobody granted is closed below, too."""
    if is_granted:
        ConsentLedger(store).grant(CROSS_SESSION_MEMORY, value=True, subject="ann", basis="consent", recorded_by="page")
    facts = Facts()
    agent, _ = deep("remember", store, facts)
    agent.invoke(said("delegate it"), CONFIG)
    assert (["inner"] if is_granted else []) == DONE
    assert (0 if is_granted else 1) == len(facts.events("tool_denied"))


def test_a_sub_agents_state_overwrites_nothing_that_is_carried(store: GuardStore) -> None:
    """It may set its own copy; what comes back to the parent does not."""
    facts = Facts()
    agent, _ = deep("set_flags", store, facts, kind="worker")
    state = agent.invoke({**said("delegate it"), "flags": {CROSS_SESSION_MEMORY: False}}, CONFIG)
    assert ["inner"] == DONE
    assert {CROSS_SESSION_MEMORY: False} == state["flags"]
    assert ["The result of `task` was to set flags in the state; what is carried stays as it was."] == [
        event.detail for event in facts.events("update_refused")
    ]


def test_a_mode_and_an_open_question_hold_below(store: GuardStore) -> None:
    """A person's question and mode are the thread's: a sub-agent that was set going before is held to them at its next call."""
    facts = Facts()
    agent, guard = deep("write", store, facts)
    log = guard.turns.standing.log
    log.ask("t-1", "gone", run="r0")
    # Whoever injects work past the parent's own gate finds the sub-agent's shut.
    agent.invoke({"messages": []}, CONFIG)
    assert [] == DONE
    assert guard.standing("t-1").state.question is not None
    guard.standing("t-1").heard()
    agent.invoke(said("delegate it"), CONFIG)
    assert ["inner"] == DONE
    guard.set_mode("t-1", "read_only")
    agent.invoke(said("delegate it again"), CONFIG)
    assert ["inner"] == DONE


def test_a_sub_agents_own_question_is_asked_of_its_parent(store: GuardStore) -> None:
    """It opens no question to a person."""

    def script(_: int, messages: list[BaseMessage]) -> Any:
        if any(message.type == "human" and "INNER JOB" in str(message.content) for message in messages):
            return "Which file do you mean?"
        if messages[-1].type == "tool":
            return "Done."
        task = {"name": "task", "args": {"description": "INNER JOB", "subagent_type": "general-purpose"}, "id": "t1", "type": "tool_call"}
        return AIMessage("", tool_calls=[task])

    guard = guard_of(store=store, trigger=("tokens", 30_000)).replacing_summarizer()
    agent = create_deep_agent(model=ScriptedChat(script=script), middleware=[guard], checkpointer=InMemorySaver())
    agent.invoke(said("delegate it"), CONFIG)
    assert guard.standing("t-1").state.question is None

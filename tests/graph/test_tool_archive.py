"""Where a value comes from is known after its message left the state, and in another process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.checkpoint.memory import InMemorySaver

from langchain_ctxguard.domain.config import GuardConfig
from langchain_ctxguard.errors import StoreError
from langchain_ctxguard.graph.guard import ContextGuard
from tests.graph.test_history import Counting
from tests.support.tool_calls import Messages, Ran, calls, results, say

CONFIG = {
    "compaction": {"evict": "archive"},
    "control_fields": {"watch": False},
    "tools": {"rules": [{"tool": "send", "require_origin": {"to": "user"}, "else": "deny"}]},
}


def guard_of(url: str) -> ContextGuard:
    return ContextGuard(GuardConfig.from_dict(CONFIG), store=url, summarizer=Counting(), trigger=("messages", 7), keep=("turns", 1))


def agent_of(guard: ContextGuard, ran: Ran, saver: Any, to: str) -> Any:
    def answer(messages: list[BaseMessage]) -> AIMessage:
        is_asked = messages[-1].type == "human" and "now send" in messages[-1].text
        return calls(("send", {"to": to})) if is_asked else AIMessage("noted " * 30)

    return create_agent(Messages(answer=answer), guard.tools([ran.tool("send", "to")]), middleware=[guard], checkpointer=saver)


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(("to", "runs"), [("bob@example.com", True), ("eve@evil.example", False)])
def test_what_a_person_said_counts_after_it_left_the_state(tmp_path: Path, to: str, *, runs: bool, is_async: bool) -> None:
    """And what nobody said does not, however long ago nobody said it."""
    url, saver, ran = f"sqlite:///{tmp_path}/guard.db", InMemorySaver(), Ran()
    guard = guard_of(url)
    agent = agent_of(guard, ran, saver, to)
    say(agent, "The address is bob@example.com. " * 10, is_async=is_async)
    for number in range(8):
        state = say(agent, f"Something else, number {number}. " * 10, is_async=is_async)
    assert not any("bob@example.com" in message.text for message in state["messages"])

    again = guard_of(url)
    done = say(agent_of(again, ran, saver, to), "now send it", is_async=is_async)

    assert runs == (ran.calls == [("send", {"to": to})])
    assert ("success" if runs else "error") == results(done)[-1].status


def test_where_the_archive_cannot_be_read_nothing_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can tell where an argument comes from, and the result says so."""
    ran = Ran()
    guard = guard_of(f"sqlite:///{tmp_path}/guard.db")
    agent = agent_of(guard, ran, InMemorySaver(), "bob@example.com")
    say(agent, "The address is bob@example.com. " * 10)

    def fails(*_: Any, **__: Any) -> Any:
        msg = "gone"
        raise StoreError(msg)

    monkeypatch.setattr(type(guard.turns.eviction.archive), "since", fails)  # type: ignore[union-attr]
    done = say(agent, "now send it")

    assert [] == ran.calls
    assert "cannot be read" in results(done)[-1].text


def agent_in_turns(guard: ContextGuard, ran: Ran, saver: Any) -> Any:
    """An agent whose model calls what a person names, with what they say read backwards, uses ten tokens for each answer, and talks otherwise."""
    used = {"input_tokens": 6, "output_tokens": 4, "total_tokens": 10}

    def answer(messages: list[BaseMessage]) -> AIMessage:
        name, _, argument = messages[-1].text.partition(": ") if messages[-1].type == "human" else ("", "", "")
        made = {"read": calls(("inbox", {})), "send": calls(("send", {"to": argument[::-1]}))}.get(name, AIMessage("noted " * 30))
        return made.model_copy(update={"usage_metadata": used})

    tools = [ran.tool("inbox", result="Invoice: pay to account 88977554433229 now."), ran.tool("send", "to")]
    return create_agent(Messages(answer=answer), guard.tools(tools), middleware=[guard], checkpointer=saver)


def archiving(path: Path, *rules: dict[str, Any]) -> ContextGuard:
    config = GuardConfig.from_dict({**CONFIG, "tools": {"rules": [{"tool": "inbox", "effect": "read"}, *rules]}})
    return ContextGuard(config, store=f"sqlite:///{path}/guard.db", summarizer=Counting(), trigger=("messages", 7), keep=("turns", 1))


@pytest.mark.parametrize("is_async", [False, True])
def test_tokens_that_were_used_stay_used_when_their_messages_leave(tmp_path: Path, *, is_async: bool) -> None:
    """Neither a compaction nor another process gives a thread its budget back; messages that a rollback brings back count once."""
    ran, saver = Ran(), InMemorySaver()

    def guard_up_to(tokens: int) -> ContextGuard:
        return archiving(tmp_path, {"tool": "send", "budget": {"tokens": tokens, "per": "thread"}})

    guard = guard_up_to(85)
    agent = agent_in_turns(guard, ran, saver)
    for number in range(8):
        state = say(agent, f"Something else, number {number}. " * 10, is_async=is_async)
    assert sum(message.type == "ai" for message in state["messages"]) < 8

    done = say(agent, "send: bob", is_async=is_async)
    assert "90 of 85 tokens per thread are used" in results(done)[-1].text

    history = guard.history({"configurable": {"thread_id": "t"}}, agent)
    if not is_async:
        history.rollback(to=1, reason="once more")
    again = guard_up_to(115)
    done = say(agent_in_turns(again, ran, saver), "send: bob", is_async=is_async)
    assert [("send", {"to": "bob"})] == ran.calls, results(done)[-1].text


def test_tokens_of_a_run_count_when_its_first_messages_left(tmp_path: Path) -> None:
    """The request stays in the state; what followed it may be gone."""
    ran = Ran()
    guard = archiving(tmp_path, {"tool": "send", "budget": {"tokens": 75, "per": "run"}})

    def answer(messages: list[BaseMessage]) -> AIMessage:
        made[0] += 1
        name, args = ("inbox", {}) if made[0] < 9 else ("send", {"to": "bob"})
        found = calls((name, args), ids=f"c{made[0]}-") if made[0] < 10 else AIMessage("Done.")
        return found.model_copy(update={"usage_metadata": {"input_tokens": 6, "output_tokens": 4, "total_tokens": 10}})

    made = [0]
    tools = [ran.tool("inbox", result="Nothing new. " * 30), ran.tool("send", "to")]
    agent = create_agent(Messages(answer=answer), guard.tools(tools), middleware=[guard], checkpointer=InMemorySaver())
    done = say(agent, "Read on. " * 30)

    assert sum(message.type == "ai" for message in done["messages"]) < 9
    assert "90 of 75 tokens per run are used" in results(done)[-1].text


def test_what_a_fork_archived_is_read_where_another_branch_was_read_before(tmp_path: Path) -> None:
    """Positions in the conversation are no names of messages: a fork has others at the same ones."""
    ran, saver = Ran(), InMemorySaver()
    guard = archiving(tmp_path, {"tool": "send", "forbid_from": {"to": ["inbox"]}})
    agent = agent_in_turns(guard, ran, saver)
    config = {"configurable": {"thread_id": "t"}}
    say(agent, "Hello.")
    start = agent.get_state(config).config
    for number in range(8):
        say(agent, f"Something else, number {number}. " * 10)
    say(agent, "send: bob")

    agent.invoke({"messages": [("user", "read: it")]}, start)
    for number in range(6):
        state = say(agent, f"Something else, number {number}. " * 10)
    assert not any("88977554433229" in message.text for message in state["messages"])
    done = say(agent, "send: 92233445577988")

    assert "denied" in results(done)[-1].text.lower()


def test_a_thread_that_was_erased_can_begin_anew(tmp_path: Path) -> None:
    """What is gone with the old conversation holds nothing up in the new one; while the old one stands in the state it does."""
    ran, saver = Ran(), InMemorySaver()
    budget = {"tokens": 1_000, "per": "thread"}
    guard = archiving(tmp_path, {"tool": "send", "require_origin": {"to": "user"}, "budget": budget, "else": "deny"})
    agent = agent_in_turns(guard, ran, saver)
    for number in range(8):
        say(agent, f"Something else, number {number}, for bob. " * 10)
    guard.purge_thread("t")

    done = say(agent, "send: bob")
    assert [] == ran.calls
    assert "cannot be read" in results(done)[-1].text

    saver.delete_thread("t")
    done = say(agent, "send: bob")
    assert [("send", {"to": "bob"})] == ran.calls, results(done)[-1].text

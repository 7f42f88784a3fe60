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

    monkeypatch.setattr(type(guard.turns.eviction.archive), "messages", fails)  # type: ignore[union-attr]
    done = say(agent, "now send it")

    assert [] == ran.calls
    assert "cannot be read" in results(done)[-1].text

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from tests.graph.models import (
    Facts,
    Notes,
    ScriptedChat,
    achat,
    agent_of,
    assert_pinned,
    calling,
    chat,
    guard_of,
    head_of,
    look_up,
    said,
    thread,
    wire,
)
from tests.graph.second_process import opened

ROOT = Path(__file__).resolve().parents[2]


def in_another_process(store: str, text: str) -> dict[str, Any]:
    """Return what the program beside this file did to the thread."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.graph.second_process", store, text],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "12345"},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert 0 == done.returncode, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def talked(saver: BaseCheckpointSaver[Any], guard: Any, model: ScriptedChat, facts: Facts) -> Any:
    """Return an agent whose thread was compacted and has idled since."""
    agent = agent_of(model, guard, tools=[look_up], checkpointer=saver, system_prompt="SYS")
    chat(agent, 8)
    assert facts.made
    return agent


def survives(store: str) -> None:
    """Assert that this process and another send the same bytes for the same thread."""
    facts = Facts()
    script = lambda number, messages: calling(f"{number}") if number % 3 == 0 else "好的"  # noqa: E731
    model = ScriptedChat(script=script)
    with opened(store) as saver:
        agent = talked(saver, guard_of(hooks=[facts]), model, facts)
        head = head_of(agent)
        known = len(facts.made)
    there = in_another_process(store, "那么现在呢?")
    assert head.to_dict() == there["head"]
    assert 0 == there["summaries"]
    with opened(store) as saver:
        again = ScriptedChat()
        agent = agent_of(again, guard_of(hooks=[facts]), tools=[look_up], checkpointer=saver, system_prompt="SYS")
        before_that = next(point for point in agent.get_state_history(thread()) if point.values["messages"][-1].id == "asked-again")
        agent.invoke(None, before_that.config)
        assert there["sent"] == wire(again.seen[-1])
        assert_pinned(again.seen[-1])
        assert known == len(facts.made)


def test_a_second_process_sends_the_same_bytes_from_a_sqlite_file(tmp_path: Path) -> None:
    """The version lies in the checkpoint: a process that has seen nothing sends the view of this one, byte for byte, and summarizes nothing."""
    survives(str(tmp_path / "threads.sqlite"))


def test_a_second_process_sends_the_same_bytes_from_postgres(postgres_url: str) -> None:
    """The same on PostgreSQL."""
    survives(postgres_url)


def test_a_warm_process_sends_what_a_cold_one_would(tmp_path: Path) -> None:
    """Memory of a thread saves time and changes no byte: after every turn the cold view of the stored state is what was sent."""
    facts, model = Facts(), ScriptedChat(script=lambda number, _: calling(f"{number}", text="let me see") if number % 2 == 0 else f"answer {number}")
    guard = guard_of(hooks=[facts])
    with SqliteSaver.from_conn_string(str(tmp_path / "threads.sqlite")) as saver:
        agent = agent_of(model, guard, tools=[look_up], checkpointer=saver)
        for turn in range(10):
            chat(agent, 1, start=turn)
            values = agent.get_state(thread()).values
            cold = guard_of().view({"messages": values["messages"][:-1], "ctxguard": values.get("ctxguard")})
            assert wire(cold) == wire(model.seen[-1])
    assert len(facts.made) >= 2


def test_a_version_made_here_is_carried_on_there(tmp_path: Path) -> None:
    """Another process compacts on top of the version it finds: numbers go on and the summary before is handed to its summarizer."""
    store = str(tmp_path / "threads.sqlite")
    facts = Facts()
    with opened(store) as saver:
        version = head_of(talked(saver, guard_of(hooks=[facts]), ScriptedChat(), facts)).version
    notes, later = Notes("LATER"), Facts()
    with opened(store) as saver:
        agent = agent_of(ScriptedChat(), guard_of(summarizer=notes, hooks=[later]), checkpointer=saver)
        chat(agent, 5)
        assert version + len(later.made) == head_of(agent).version
    assert later.made
    assert notes.requests[0].previous is not None
    assert any("NOTES" in fact.statement for fact in notes.requests[0].previous.facts)


async def test_an_async_saver_keeps_the_version(tmp_path: Path) -> None:
    """The asynchronous SQLite saver is as good as the other."""
    facts = Facts()
    store = str(tmp_path / "threads.sqlite")
    async with AsyncSqliteSaver.from_conn_string(store) as saver:
        model = ScriptedChat()
        await achat(agent_of(model, guard_of(hooks=[facts]), checkpointer=saver), 8)
        assert facts.made
        again = ScriptedChat()
        agent = agent_of(again, guard_of(hooks=[facts]), checkpointer=saver)
        known = len(facts.made)
        await agent.ainvoke(said("ok"), thread())
        assert wire(again.seen[-1]).startswith(wire(model.seen[-1])[:-1])
        assert known == len(facts.made)


def test_a_fork_has_the_context_of_its_point(tmp_path: Path) -> None:
    """A run from an older checkpoint has the version of that checkpoint, not the newest."""
    facts, model = Facts(), ScriptedChat()
    with SqliteSaver.from_conn_string(str(tmp_path / "threads.sqlite")) as saver:
        agent = agent_of(model, guard_of(hooks=[facts]), checkpointer=saver)
        chat(agent, 3)
        early = agent.get_state(thread()).config
        chat(agent, 5, start=3)
        assert facts.made
        agent.invoke(said("from there"), early)
        assert ["human", "ai"] * 3 + ["human"] == [message.type for message in model.seen[-1][1:]]
        assert isinstance(model.seen[-1][1], HumanMessage)
        assert isinstance(model.seen[-1][2], AIMessage)


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_every_durability_keeps_the_version(durability: Any, tmp_path: Path) -> None:
    """However eagerly checkpoints are written, the version is there afterwards."""
    facts = Facts()
    with SqliteSaver.from_conn_string(str(tmp_path / "threads.sqlite")) as saver:
        agent = agent_of(ScriptedChat(), guard_of(hooks=[facts]), checkpointer=saver)
        for turn in range(8):
            agent.invoke(said(f"{turn}: " + "long words " * 40), thread(), durability=durability)
        assert facts.made
        assert facts.made[-1].version == head_of(agent).version

"""One call erases every word of a thread, wherever it rests, and says what it kept; one that was interrupted is finished by the next."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.checkpoint.memory import InMemorySaver

from langchain_ctxguard.backends.store import GuardStore
from langchain_ctxguard.domain.config import GuardConfig
from langchain_ctxguard.errors import BlobMissingError, ConfigurationError, StoreError
from langchain_ctxguard.graph.checkpointer import ContextCheckpointer
from langchain_ctxguard.graph.guard import ContextGuard
from langchain_ctxguard.records.purge import Purged, held_of, purge_thread
from langchain_ctxguard.records.worklog import WorkLog
from tests.graph.test_history import Counting
from tests.records.test_worklog import entry
from tests.support.saver_graphs import aopened, opened
from tests.support.tool_calls import Messages, Ran, calls

PLACE = "zanzibar"
RULES = [{"tool": "send", "irreversible": True, "effect": "write"}]


def of(thread: str) -> Any:
    return {"configurable": {"thread_id": thread}}


def agent_of(store: GuardStore, saver: Any) -> tuple[ContextGuard, Any]:
    config = GuardConfig.from_dict({"compaction": {"evict": "archive"}, "tools": {"rules": RULES}})
    guard = ContextGuard(config, store=store, summarizer=Counting(), trigger=("messages", 7), keep=("turns", 1))

    def answer(messages: list[BaseMessage]) -> AIMessage:
        is_asked = messages[-1].type == "human" and "Send" in messages[-1].text
        return calls(("send", {"to": PLACE})) if is_asked else AIMessage(f"noted {PLACE} " * 20)

    model = Messages(answer=answer)
    return guard, create_agent(model, guard.tools([Ran().tool("send", "to", result=f"sent to {PLACE}")]), middleware=[guard], checkpointer=saver)


def texts(thread: str) -> list[str]:
    return [f"Send it to {PLACE} in {thread}.", *(f"Something else about {PLACE}, number {number}. " * 10 for number in range(8))]


def talked(store: GuardStore, saver: Any, thread: str, *, turns: int = 9) -> ContextGuard:
    guard, agent = agent_of(store, saver)
    for text in texts(thread)[:turns]:
        agent.invoke({"messages": [("user", text)]}, of(thread))
    WorkLog(store).append(thread, [entry(text=f"about {PLACE}")])
    return guard


def found_in(*files: Path) -> list[str]:
    """The tables in which the word still stands."""
    places = []
    for file in files:
        with sqlite3.connect(file) as connection:
            tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            for table in tables:
                rows = connection.execute(f"SELECT * FROM {table}").fetchall()  # noqa: S608 - names from the database itself
                cells = [cell if isinstance(cell, bytes) else str(cell).encode() for row in rows for cell in row]
                places += [table] if any(PLACE.encode() in cell.lower() for cell in cells) else []
        connection.close()
    return places


def test_every_word_of_a_thread_is_erased_and_no_other(tmp_path: Path) -> None:
    """Checkpoints, messages, archive, index, contexts, calls, work: in every table. The chain stands, and says what happened without words."""
    file = tmp_path / "guard.db"
    with opened("sqlite", tmp_path) as inner, GuardStore.open(f"sqlite:///{file}") as store:
        saver: Any = ContextCheckpointer(inner, store=store)
        guard = talked(store, saver, "t")
        talked(store, saver, "other")
        held = held_of(store, "t")
        before = found_in(file, tmp_path / "state.db")
        assert {"checkpoints", "ctxguard_blobs", "ctxguard_terms"} <= set(before)

        done = guard.purge_thread("t", checkpointer=saver)
        assert (held.contexts, held.messages, held.calls, held.work) == (done.contexts, done.messages, done.calls, done.work)
        assert min(done.contexts, done.messages, done.words, done.calls, done.work, done.checkpoints or 0) > 0
        assert {"versions", "audit", "worklog", "kept", "collected"} <= set(done.kept)
        assert {"messages"} <= set(agent_of(store, saver)[1].get_state(of("other")).values)
        assert before == found_in(file, tmp_path / "state.db")
        guard.purge_thread("other", checkpointer=saver)
        assert [] == found_in(file, tmp_path / "state.db")
        assert [] == store.verify()
        assert len(guard.history(of("t")).versions) == held.contexts or held.contexts == 10
        again = guard.purge_thread("t", checkpointer=saver)
        assert (0, 0, 0) == (again.total, again.words, again.checkpoints)


def test_without_a_checkpointer_its_checkpoints_stay_and_cannot_be_read(tmp_path: Path) -> None:
    """The answer says that none were asked for."""
    with opened("sqlite", tmp_path) as inner, GuardStore.open(f"sqlite:///{tmp_path}/guard.db") as store:
        saver: Any = ContextCheckpointer(inner, store=store)
        guard = talked(store, saver, "t")
        assert guard.purge_thread("t").checkpoints is None
        with pytest.raises(BlobMissingError):
            ContextCheckpointer(inner, store=store).get_tuple(of("t"))
        assert guard.purge_thread("t", checkpointer=saver).checkpoints
        assert saver.get_tuple(of("t")) is None


@pytest.mark.parametrize("kind", ["memory", "async_sqlite"])
def test_a_saver_that_is_awaited(kind: str, tmp_path: Path) -> None:
    """The same."""

    async def run() -> Purged:
        async with aopened(kind, tmp_path) as inner:
            with GuardStore.open(f"sqlite:///{tmp_path}/guard.db") as store:
                saver = ContextCheckpointer(inner, store=store)
                guard, agent = agent_of(store, saver)
                for text in texts("t"):
                    await agent.ainvoke({"messages": [("user", text)]}, of("t"))
                done = await guard.apurge_thread("t", checkpointer=saver)
                assert await saver.aget_tuple(of("t")) is None
                return done

    done = asyncio.run(run())
    assert min(done.contexts, done.messages, done.calls, done.checkpoints or 0) > 0
    assert [] == found_in(tmp_path / "guard.db")


def test_a_purge_that_was_interrupted_is_finished_by_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it stopped, at any write to the store: nothing is left, and the chain stands."""
    steps = _writes(tmp_path / "whole", monkeypatch, stop=None)
    assert steps > 12
    for stop in range(steps):
        assert stop == _writes(tmp_path / str(stop), monkeypatch, stop=stop)


def _writes(folder: Path, monkeypatch: pytest.MonkeyPatch, *, stop: int | None) -> int:
    """Purge a thread, stopped before one of its writes, then again; return how many writes went through before."""
    folder.mkdir()
    with opened("sqlite", folder) as inner, GuardStore.open(f"sqlite:///{folder}/guard.db") as store:
        saver: Any = ContextCheckpointer(inner, store=store)
        talked(store, saver, "t", turns=4)
        done = [0]

        def counting(owner: Any, name: str) -> None:
            write = getattr(owner, name)

            def counted(*args: Any, **options: Any) -> Any:
                if done[0] == stop:
                    msg = "no more"
                    raise StoreError(msg)
                done[0] += 1
                return write(*args, **options)

            monkeypatch.setattr(owner, name, counted)

        for owner, name in ((store.log, "append"), (store.blobs, "purge_space"), (store.index, "purge"), (inner, "delete_thread")):
            counting(owner, name)
        if stop is None:
            purge_thread(store, "t", checkpointer=saver)
            monkeypatch.undo()
            return done[0]
        with pytest.raises(StoreError, match="no more"):
            purge_thread(store, "t", checkpointer=saver)
        monkeypatch.undo()
        purge_thread(store, "t", checkpointer=saver)
        assert [] == found_in(folder / "guard.db", folder / "state.db")
        assert [] == store.verify()
        return done[0]


def test_who_may_not_erase_words_of_calls_erases_nothing_of_them(tmp_path: Path) -> None:
    """An agent's view of a store is refused, and a guard without a store has nothing to erase."""
    with GuardStore.open(f"sqlite:///{tmp_path}/guard.db") as store:
        guard = talked(store, InMemorySaver(), "t")
        assert guard.store is not None
        with pytest.raises(StoreError, match="touches no content of calls"):
            purge_thread(guard.store, "t")
        assert held_of(store, "t").calls > 0
    with pytest.raises(ConfigurationError, match="without a store"):
        ContextGuard().purge_thread("t")


def test_what_a_process_kept_in_mind_is_forgotten(tmp_path: Path) -> None:
    """Nothing a purged thread said counts for whoever takes its name."""
    with GuardStore.open(f"sqlite:///{tmp_path}/guard.db") as store:
        guard = talked(store, InMemorySaver(), "t")
        gate = guard.gate
        gate._followed(("t", ""), [], is_root=True).learn_text(PLACE, "user")
        gate._followed(("t", "tools:1"), [], is_root=False).learn_text(PLACE, "ai")
        gate._followed(("u", ""), [], is_root=True).learn_text(PLACE, "user")
        guard.purge_thread("t")
        assert [0, 0, 1] == [len(gate._followed(key, [], is_root=True)) for key in (("t", ""), ("t", "tools:1"), ("u", ""))]

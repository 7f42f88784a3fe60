"""What a turn of a long conversation adds to a checkpointer, and how long it takes: plain, with `DeltaChannel`, and wrapped.

    python -m benchmarks.storage              all sizes; prints, and writes `results/storage.json`
    python -m benchmarks.storage --small      100 and 500 messages on SQLite; writes nothing

With CTXGUARD_TEST_POSTGRES set, PostgreSQL is measured as well.
"""

from __future__ import annotations

import argparse
import gc
import os
import sqlite3
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any, Required

from langchain.agents import AgentState, create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph.message import add_messages
from sqlalchemy import event

from benchmarks.measuring import CannedSummarizer, conversation, cores, median, seconds_of, table, write
from benchmarks.store_trials import postgres
from langchain_ctxguard import ContextGuard, GuardStore
from langchain_ctxguard.backends.store import migrate_store
from langchain_ctxguard.core.message_blob import thread_space
from langchain_ctxguard.graph.checkpointer import ContextCheckpointer

SAVERS = ("memory", "sqlite", "postgres")
HOWS = ("plain", "delta", "wrapped")
SNAPSHOTS = 50
THREAD: Any = {"configurable": {"thread_id": "t"}}


def _appended(state: Any, writes: Any) -> Any:
    for some in writes:
        state = add_messages(state, some)
    return state


class DeltaState(AgentState[Any]):
    """The state of an agent whose messages are kept as differences."""

    messages: Required[Annotated[list[AnyMessage], DeltaChannel(_appended, snapshot_frequency=SNAPSHOTS)]]


class Questions:
    """Counts what is asked of the store's database, below everything that asks."""

    def __init__(self, store: GuardStore) -> None:
        """Listen to its connections; nothing is counted of a store in memory."""
        self.count = 0
        database: Any = store._database  # noqa: SLF001 - a benchmark looks below
        if database is not None:
            self._database = database
            event.listen(database._engine, "before_cursor_execute", self._note)  # noqa: SLF001 - as above
            ask = database.ask
            # What goes to the driver itself is one statement in each case measured here.
            database.ask = lambda question, **options: self._asked(ask, question, options)

    def _note(self, *_: Any) -> None:
        self.count += 1

    def _asked(self, ask: Any, question: Any, options: dict[str, Any]) -> Any:
        self.count += 1
        return ask(question, **options)


class Measured:
    """A saver in a place of its own, and how much lies there."""

    def __init__(self, saver: Any, inner: Any, store: GuardStore, files: list[Path], connection: Any = None) -> None:
        """Keep what is asked for sizes."""
        self.saver, self.store, self._inner, self._files, self._connection = saver, store, inner, files, connection

    def forget(self) -> None:
        """Forget what a wrapped saver keeps in mind."""
        if isinstance(self.saver, ContextCheckpointer):
            self.saver.manifests.known.forget("t")

    def payload(self) -> dict[str, int]:
        """Return bytes by what they are: checkpoints, writes, blobs."""
        if self._connection is None:
            checkpoints = sum(len(row[0][1]) + len(row[1][1]) for space in self._inner.storage["t"].values() for row in space.values())
            writes = sum(len(row[2][1]) for rows in self._inner.writes.values() for row in rows.values())
            where, blobs = thread_space("t"), self.store.blobs
            stored = sum(map(len, blobs.get(where, blobs.addresses(where)).values()))
            return {"checkpoints": checkpoints + sum(len(data) for _, data in self._inner.blobs.values()), "writes": writes, "blobs": stored}
        asked = {
            "checkpoints": "SELECT coalesce(sum(length(checkpoint) + length(metadata)), 0) FROM checkpoints",
            "writes": "SELECT coalesce(sum(length(value)), 0) FROM writes",
            "blobs": "SELECT coalesce(sum(length(content)), 0) FROM ctxguard_blobs",
        }
        if not isinstance(self._connection, sqlite3.Connection):
            asked |= {
                "checkpoints": "SELECT coalesce(sum(length(checkpoint::text) + length(metadata::text)), 0)"
                " + (SELECT coalesce(sum(length(blob)), 0) FROM checkpoint_blobs) FROM checkpoints",
                "writes": "SELECT coalesce(sum(length(blob)), 0) FROM checkpoint_writes",
            }
        return {name: int(self._connection.execute(query).fetchone()[0]) for name, query in asked.items()}

    def disk(self) -> int | None:
        """Return the bytes on disk, `None` in memory."""
        if self._connection is None:
            return None
        if isinstance(self._connection, sqlite3.Connection):
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            return sum(file.stat().st_size for file in self._files)
        self._connection.execute("CHECKPOINT")
        tables = ("checkpoints", "checkpoint_blobs", "checkpoint_writes", "ctxguard_blobs")
        return sum(int(self._connection.execute(f"SELECT pg_total_relation_size('{name}')").fetchone()[0]) for name in tables)


@contextmanager
def _opened(kind: str, how: str) -> Iterator[Measured]:
    """Open a saver, wrapped where it is to be, on a database of its own that holds the store as well."""
    with tempfile.TemporaryDirectory() as folder:
        if kind == "memory":
            inner: Any = InMemorySaver()
            with GuardStore.open("memory://") as store:
                yield Measured(_wrapped(inner, store, how), inner, store, [])
        elif kind == "sqlite":
            file = Path(folder) / "state.db"
            with SqliteSaver.from_conn_string(str(file)) as inner, GuardStore.open(f"sqlite:///{file}") as store:
                with sqlite3.connect(file) as looking:
                    yield Measured(_wrapped(inner, store, how), inner, store, [file], looking)
                looking.close()
        else:
            import psycopg
            from langgraph.checkpoint.postgres import PostgresSaver

            with postgres() as url:
                assert url is not None
                plain = url.replace("postgresql+psycopg://", "postgresql://")
                migrate_store(url)
                with (
                    PostgresSaver.from_conn_string(plain) as inner,
                    GuardStore.open(url) as store,
                    psycopg.connect(plain, autocommit=True) as looking,
                ):
                    inner.setup()
                    yield Measured(_wrapped(inner, store, how), inner, store, [], looking)


def _wrapped(inner: Any, store: GuardStore, how: str) -> Any:
    return ContextCheckpointer(inner, store=store) if how == "wrapped" else inner


def _agent(measured: Measured, how: str, *, trigger: int) -> Any:
    words = "Noted. " + conversation(1)[0].text
    model = GenericFakeChatModel(messages=(AIMessage(words[:500], id=uuid.uuid4().hex) for _ in iter(int, 1)))
    guard = ContextGuard(store=measured.store, summarizer=CannedSummarizer(), trigger=("messages", trigger), keep=("messages", 20))
    state = DeltaState if how == "delta" else AgentState
    return create_agent(model, [], middleware=[guard], checkpointer=measured.saver, state_schema=state)


def _prepared(kind: str, how: str, size: int, stack: ExitStack) -> tuple[Measured, Any]:
    """Return a saver with a conversation of `size` messages and one version in its state, and an agent whose guard finds nothing to do."""
    measured = stack.enter_context(_opened(kind, how))
    agent = _agent(measured, how, trigger=30)
    agent.update_state(THREAD, {"messages": conversation(size)}, as_node="model")
    # This turn compacts; all others find the guard idle.
    agent.invoke({"messages": conversation(1, start=size)}, THREAD)
    assert agent.get_state(THREAD).values["ctxguard"]["version"] == 1, "no version was made"
    agent = _agent(measured, how, trigger=10**9)
    agent.invoke({"messages": conversation(1, start=size + 1)}, THREAD)
    return measured, agent


def measure(kind: str, size: int, turns: int, hows: Sequence[str] = HOWS) -> list[dict[str, Any]]:
    """Return what each turn of a conversation of `size` messages adds: all ways take turns, so that a busy machine is as busy for each."""
    with ExitStack() as stack:
        prepared = {how: _prepared(kind, how, size, stack) for how in hows}
        before = {how: (measured.payload(), measured.disk()) for how, (measured, _) in prepared.items()}
        asked = {how: Questions(measured.store) for how, (measured, _) in prepared.items()}
        # What all ways made before is no turn's to look through: whoever allocates most would pay for the others' messages.
        gc.collect()
        gc.freeze()
        walls: dict[str, list[float]] = {how: [] for how in hows}
        works: dict[str, list[float]] = {how: [] for how in hows}
        for turn in range(turns):
            for how, (_, agent) in prepared.items():
                begun = time.process_time()
                walls[how].append(seconds_of(agent.invoke, {"messages": conversation(1, start=size + 2 + turn)}, THREAD))
                works[how].append(time.process_time() - begun)
        rows = []
        questions = {how: asked[how].count / turns for how in hows}
        for how, (measured, agent) in prepared.items():
            after, grown = measured.payload(), measured.disk()
            reads, cold = [], []
            for _ in range(5):
                begun = time.process_time()
                found = agent.get_state(THREAD).values["messages"]
                reads.append(time.process_time() - begun)
            for _ in range(5):
                # As a process that begins: it knows nothing of the thread yet.
                measured.forget()
                begun = time.process_time()
                found = agent.get_state(THREAD).values["messages"]
                cold.append(time.process_time() - begun)
            assert len(found) == size + 4 + 2 * turns, "a message is missing"
            was, disk = before[how]
            parts = {f"{name}_bytes": round((after[name] - was[name]) / turns) for name in was}
            rows.append({
                "saver": kind, "how": how, "messages": size, "turns": turns, "payload_kb_per_turn": sum(parts.values()) / 1000,
                "disk_kb_per_turn": None if grown is None or disk is None else (grown - disk) / turns / 1000, **parts,
                "cumulative_mb": sum(after.values()) / 1e6, "cpu_ms_per_turn": median(works[how]) * 1000, "ms_per_turn": median(walls[how]) * 1000,
                "cpu_ms_per_read": min(reads) * 1000, "cpu_ms_per_first_read": min(cold) * 1000, "store_questions_per_turn": questions[how],
            })  # fmt: skip
        return rows


def main(arguments: list[str]) -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description="Measure what a turn adds to a checkpointer.")
    parser.add_argument("--small", action="store_true", help="SQLite with 100 and 500 messages; write nothing")
    parser.add_argument("--only", help="one saver")
    given = parser.parse_args(arguments)
    savers = [name for name in SAVERS if name != "postgres" or os.environ.get("CTXGUARD_TEST_POSTGRES")]
    savers = ["sqlite"] if given.small else [given.only] if given.only else savers
    sizes = {100: 30, 500: 30} if given.small else {100: 30, 1_000: 20, 5_000: 10}
    rows = []
    for kind in savers:
        for size, turns in sizes.items():
            rows += measure(kind, size, turns)
            print(table(rows[-len(HOWS) :]), flush=True)
        if kind == "sqlite" and not given.small:
            for size, turns in ((500, 30), (20_000, 12)):
                rows += measure(kind, size, turns, ("wrapped",))
    print(table(rows))
    if given.small or given.only:
        return 0
    wrapped = {row["messages"]: row for row in rows if (row["saver"], row["how"]) == ("sqlite", "wrapped")}
    write(
        "storage",
        measured=(
            "turns of a conversation of `messages` messages of 500 characters, two new ones each, in an agent with a guard and one version in its "
            "state: bytes of checkpoints, pending writes and stored contents, growth of the files or tables, "
            "CPU and wall time of `invoke` (p50), CPU time of `get_state` (best of 5) in the same process (`read`) and as in one that begins "
            "(`first_read`), questions to the store's database; what lived before the turns is left out of garbage collection; "
            f"one run in which all ways take turns, saver and store in one database, on {cores()}."
        ),
        against=(
            f"the saver as it is, and with `DeltaChannel` (a snapshot every {SNAPSHOTS} updates, two updates a turn: "
            "a window of few turns may hold none)."
        ),
        rows=rows,
        headline={
            "payload_kb": {str(size): round(row["payload_kb_per_turn"], 2) for size, row in sorted(wrapped.items())},
            "disk_kb": {str(size): round(row["disk_kb_per_turn"], 2) for size, row in sorted(wrapped.items())},
        },
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

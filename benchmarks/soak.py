"""One thread to 100,000 messages, and a thousand threads at once: memory and time per turn stay flat, and nothing is lost.

    python -m benchmarks.soak            prints, and writes `results/soak.json`
    python -m benchmarks.soak --small    2,000 messages and 40 threads, on SQLite; writes nothing

Messages leave the state (`evict: archive`). With CTXGUARD_TEST_POSTGRES set, PostgreSQL is tried as well, in a database of its own.
"""

from __future__ import annotations

import argparse
import gc
import os
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver

from benchmarks.measuring import cores, percentile, table, write
from langchain_ctxguard import ContextCheckpointer, ContextGuard, GuardConfig, GuardStore
from langchain_ctxguard.backends.store import migrate_store
from langchain_ctxguard.testing.obedient import ObedientModel

PADDING = "The rest of this message is of the length that messages have, and it says nothing that anybody would need to know later on. " * 3
RULE = "Never delete an order."
_SAMPLES = 10


def _text(number: int) -> str:
    return f"Message {number}: order ORD-{number:06} is due. {PADDING}"


def _guard(store: GuardStore) -> ContextGuard:
    return ContextGuard(
        GuardConfig.from_dict({"compaction": {"evict": "archive"}}),
        constraints=[RULE],
        trigger=("tokens", 6_000),
        keep=("messages", 8),
        store=store,
    )


def _resident() -> float:
    """Return the resident memory of the process in MB."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def one_thread(kind: str, saver: BaseCheckpointSaver[Any], store: GuardStore, messages: int) -> list[dict[str, Any]]:
    """Let one thread grow, and return a row for each tenth of it."""
    model, guard = ObedientModel(otherwise="Noted. " + PADDING), _guard(store)
    agent: Any = create_agent(model, [], middleware=[guard], checkpointer=ContextCheckpointer(saver, store=store))
    thread = {"configurable": {"thread_id": "soak"}}
    rows = []
    turns = messages // 2
    per_row = max(1, turns // _SAMPLES)
    times: list[float] = []
    for turn in range(turns):
        start = time.process_time()
        agent.invoke({"messages": [HumanMessage(_text(turn), id=f"m-{turn}")]}, thread)
        times.append((time.process_time() - start) * 1e3)
        # What the model was sent is its own record, not the guard's memory.
        model._inputs[:-1] = []  # noqa: SLF001
        if (turn + 1) % per_row == 0:
            state = agent.get_state(thread).values["messages"]
            told = "\n".join(message.text for message in model.inputs[-1])
            rows.append(
                {
                    "what": "one thread",
                    "store": kind,
                    "messages": 2 * (turn + 1),
                    "p50_ms": round(percentile(times, 0.5), 1),
                    "p99_ms": round(percentile(times, 0.99), 1),
                    "resident_mb": round(_resident()),
                    "in_state": len(state),
                    "rule_in_sight": RULE in told,
                    "lost": None,
                }
            )
            print(rows[-1], flush=True)
            times.clear()
    archived = {message.message.id for message in guard.archived_messages("soak")}
    kept = {message.id for message in agent.get_state(thread).values["messages"]}
    rows[-1]["lost"] = sum(f"m-{turn}" not in archived and f"m-{turn}" not in kept for turn in range(turns))
    assert store.verify() == []
    guard.close()
    return rows


def many_threads(kind: str, saver: BaseCheckpointSaver[Any], store: GuardStore, threads: int, turns: int = 12) -> list[dict[str, Any]]:
    """Let many threads talk at once through one guard, eight at a time, and return what is lost and how long the last turns took."""
    guard = _guard(store)
    agent: Any = create_agent(
        ObedientModel(otherwise="Noted. " + PADDING), [], middleware=[guard], checkpointer=ContextCheckpointer(saver, store=store)
    )

    def talk(number: int, turn: int) -> float:
        start = time.perf_counter()
        thread = {"configurable": {"thread_id": f"t-{number}"}}
        agent.invoke({"messages": [HumanMessage(_text(number * 1_000 + turn), id=f"m-{number}-{turn}")]}, thread)
        return (time.perf_counter() - start) * 1e3

    rows = []
    with ThreadPoolExecutor(8) as pool:
        for turn in range(turns):
            times = list(pool.map(talk, range(threads), [turn] * threads))
            if turn in {0, turns // 2, turns - 1}:
                rows.append(
                    {
                        "what": f"{threads:,} threads, turn {turn + 1}",
                        "store": kind,
                        "messages": 2 * threads * (turn + 1),
                        "p50_ms": round(percentile(times, 0.5), 1),
                        "p99_ms": round(percentile(times, 0.99), 1),
                        "resident_mb": round(_resident()),
                        "in_state": None,
                        "rule_in_sight": None,
                        "lost": None,
                    }
                )
    lost = 0
    for number in range(threads):
        kept = {message.id for message in agent.get_state({"configurable": {"thread_id": f"t-{number}"}}).values["messages"]}
        archived = {message.message.id for message in guard.archived_messages(f"t-{number}")}
        lost += sum(f"m-{number}-{turn}" not in kept | archived for turn in range(turns))
    rows[-1]["lost"] = lost
    assert store.verify() == []
    guard.close()
    return rows


@contextmanager
def _sqlite(folder: str) -> Iterator[tuple[BaseCheckpointSaver[Any], GuardStore]]:
    from langgraph.checkpoint.sqlite import SqliteSaver

    with SqliteSaver.from_conn_string(f"{folder}/state.db") as saver, GuardStore.open(f"sqlite:///{folder}/ctxguard.db") as store:
        yield saver, store


@contextmanager
def _postgres(server: str) -> Iterator[tuple[BaseCheckpointSaver[Any], GuardStore]]:
    from langgraph.checkpoint.postgres import PostgresSaver
    from psycopg import connect, sql
    from psycopg.rows import dict_row
    from psycopg_pool import ConnectionPool

    name = f"soak_{uuid.uuid4().hex[:12]}"
    with connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    url = f"{server.rsplit('/', 1)[0]}/{name}"
    try:
        migrate_store(url)
        options = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
        with ConnectionPool(url, min_size=1, max_size=8, kwargs=options) as pool, GuardStore.open(url) as store:
            saver = PostgresSaver(pool)  # type: ignore[arg-type] # a pool of the connections it wants
            saver.setup()
            yield saver, store
    finally:
        with connect(server, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def _part(what: Callable[..., list[dict[str, Any]]], server: str | None, size: int) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder, _sqlite(folder) if server is None else _postgres(server) as (saver, store):
        return what("sqlite" if server is None else "postgresql", saver, store, size)


def main() -> None:
    """Measure, print, and write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--threads", type=int, default=1_000)
    given = parser.parse_args()
    messages, threads = (2_000, 40) if given.small else (given.messages, given.threads)
    server = os.environ.get("CTXGUARD_TEST_POSTGRES")
    servers = [None, *([server] if server and not given.small else [])]
    # Each part in a process of its own, so that none begins with the memory of another; those that count CPU time may run side by side.
    own: dict[str, Any] = {"mp_context": get_context("spawn"), "max_tasks_per_child": 1}
    with ProcessPoolExecutor(len(servers), **own) as pool, ProcessPoolExecutor(1, **own) as alone:
        grown = list(pool.map(_part, [one_thread] * len(servers), servers, [messages] * len(servers)))
        spread = list(alone.map(_part, [many_threads] * len(servers), servers, [threads] * len(servers)))
    rows = [row for pair in zip(grown, spread, strict=True) for part in pair for row in part]
    print(table(rows))
    if not given.small:
        write(
            "soak",
            measured="turns of an agent with `ContextCheckpointer` and `evict: archive`, two messages of 400 characters each: CPU time of a turn in "
            "the tenth of the thread that ends there (of many threads at once: wall time), resident memory of the process, messages in the state, "
            "and how many messages are neither in the state nor in the archive at the end. Each part in a process of its own, those of one thread at "
            f"once. On {cores()}",
            against="itself, earlier in the same run",
            rows=rows,
        )


if __name__ == "__main__":
    main()

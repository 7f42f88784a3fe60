"""An agent killed at random moments while it talks and compacts: what it was told is in the state, no version number twice, every chain whole.

    python -m benchmarks.version_trials                       500 kills; prints, and writes `results/versions.json`
    python -m benchmarks.version_trials kills FOLDER 20       one trial, its row as JSON; so the tests run it

State in SQLite (LangGraph's saver), versions in a SQLite store. With CTXGUARD_TEST_POSTGRES set, versions in PostgreSQL are tried as well, with
connections cut at random.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sqlite3
import sys
import tempfile
import time
import uuid
from functools import partial
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.sqlite import SqliteSaver

from benchmarks.measuring import CannedSummarizer, cores, table, write
from benchmarks.store_trials import _forked, postgres
from langchain_ctxguard import ContextGuard, GuardStore
from langchain_ctxguard.core.restore import head_digest
from langchain_ctxguard.domain.context import ContextHead, read_head
from langchain_ctxguard.domain.context_version import ContextPlace
from langchain_ctxguard.records.versions import VersionLog

THREAD = {"configurable": {"thread_id": "t"}}
PLACE = ContextPlace(thread="t")
_WORDS = "and then we looked at the order, the invoice and the address again. " * 24


def _agent(state: Path, store: GuardStore) -> tuple[Any, sqlite3.Connection]:
    connection = sqlite3.connect(state, check_same_thread=False, timeout=30)
    model = GenericFakeChatModel(messages=(AIMessage(f"Fine. {_WORDS}") for _ in iter(int, 1)))
    guard = ContextGuard(store=store, summarizer=CannedSummarizer(), trigger=("messages", 6), keep=("messages", 2))
    return create_agent(model, [], middleware=[guard], checkpointer=SqliteSaver(connection)), connection


def _talk(state: Path, url: str, writing: int) -> None:
    """Talk until killed; tell the parent after each turn how many messages there are."""
    with GuardStore.open(url) as store:
        graph, _ = _agent(state, store)
        os.write(writing, b"\0" * 8)
        while True:
            done = graph.invoke({"messages": [HumanMessage(f"Go on {_WORDS}", id=uuid.uuid4().hex)]}, THREAD)
            os.write(writing, len(done["messages"]).to_bytes(8, "big"))


def _warm_up() -> None:
    """Load everything a turn and a compaction need, so that a child is killed while it works and not while it loads."""
    with tempfile.TemporaryDirectory() as folder, GuardStore.open(f"sqlite:///{folder}/warm.db") as store:
        graph, connection = _agent(Path(folder) / "warm-state.db", store)
        for _ in range(6):
            graph.invoke({"messages": [HumanMessage(f"Go on {_WORDS}")]}, THREAD)
        assert VersionLog(store).all(PLACE), "the warm-up made no version"
        connection.close()


def kills(folder: Path, url: str, times: int) -> dict[str, Any]:
    """Kill the talker again and again; count what was acknowledged and lost, numbers used twice, and chains that break."""
    moments = random.Random(11)  # noqa: S311 - repeatable, not secret
    state = folder / "state.db"
    _warm_up()
    lost = doubled = faults = stuck = 0
    begun = time.perf_counter()
    messages = 0
    for _ in range(times):
        reading, writing = os.pipe()
        child = _forked(partial(_talk, state, url, writing))
        os.close(writing)
        told = os.read(reading, 8)
        time.sleep(moments.uniform(0.0, 0.6))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        while piece := os.read(reading, 65_536):
            told += piece
        os.close(reading)
        whole = len(told) - len(told) % 8
        acknowledged = int.from_bytes(told[whole - 8 : whole], "big")
        with GuardStore.open(url) as store:
            graph, connection = _agent(state, store)
            values = graph.get_state(THREAD).values
            there = len(values.get("messages", ()))
            lost += acknowledged > there
            stuck += there < messages
            messages = there
            numbers = [version.number for version in VersionLog(store).all(PLACE)]
            doubled += len(numbers) - len(set(numbers))
            faults += _misfit(store, values.get("ctxguard"))
            connection.close()
    with GuardStore.open(url) as store:
        versions = len(VersionLog(store).all(PLACE))
        chain = len(store.verify())
    return {
        "what": f"an agent killed {times} times", "store": url.partition(":")[0], "messages": messages, "versions": versions, "turns_lost": lost,
        "unacknowledged_gone": stuck, "numbers_twice": doubled, "states_off_the_record": faults, "chain_faults": chain,
        "seconds": round(time.perf_counter() - begun, 1),
    }  # fmt: skip


def _misfit(store: GuardStore, raw: Any) -> int:
    """Count a state whose version is neither on record nor the parent of what is."""
    head = read_head(raw)
    log = VersionLog(store)
    newest = log.newest(PLACE)
    if not isinstance(head, ContextHead) or head.body is None:
        return int(newest is not None and newest.number > 1)
    known = {version.number: version.head_digest for version in log.all(PLACE)}
    if known.get(head.version) != head_digest(head.model_copy(update={"cool_down": None})):
        return 1
    return int(newest is not None and newest.number != head.version and log.adoptable(PLACE, head) is None)


def main(arguments: list[str]) -> int:
    """Run all, or one trial."""
    parser = argparse.ArgumentParser(description="Kill an agent at random moments.")
    parser.add_argument("--small", action="store_true", help="20 kills; write nothing")
    parser.add_argument("trial", nargs="*")
    given = parser.parse_args(arguments)
    if given.trial:
        _, folder, times = given.trial
        print(json.dumps(kills(Path(folder), f"sqlite:///{folder}/ctx.db", int(times))))
        return 0
    times = 20 if given.small else 500
    with tempfile.TemporaryDirectory() as folder:
        rows = [kills(Path(folder), f"sqlite:///{folder}/ctx.db", times)]
    with tempfile.TemporaryDirectory() as folder, postgres() as url:
        if url is not None:
            rows.append(kills(Path(folder), url, times))
    print(table(rows))
    if not given.small:
        write(
            "versions",
            measured=(
                "an agent that talks and compacts in a process of its own, killed with SIGKILL at a random moment and started again on the same "
                "thread; `unacknowledged_gone`: how often a message of a turn that had not ended was gone, which the saver had shown as pending; "
                f"state in LangGraph's SqliteSaver, versions in the store; on {cores()}."
            ),
            against="what the process was told had been done before it died.",
            rows=rows,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""What an idle guard costs: time of one model call at every length of the history, and what a turn adds to the checkpointer.

It prints what it measured and writes `results/overhead.json` and `results/checkpoints.json`; with `--small` it takes the small sizes and writes
nothing.
"""

from __future__ import annotations

import argparse
import gc
import random
import sqlite3
import sys
import tempfile
import uuid
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, SummarizationMiddleware
from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.runtime import ExecutionInfo, Runtime
from measuring import MESSAGE_LENGTH, RULES, CannedSummarizer, conversation, cores, cpu_seconds_of, median, percentile, seconds_of, table, write

from langchain_ctxguard import ContextGuard, compact_messages
from langchain_ctxguard.backends.tokens import MessageTokenCounter

SIZES = (100, 1_000, 5_000, 20_000, 100_000)
CHECKPOINT_SIZES = (100, 1_000, 5_000)
SMALL_SIZES = (100, 1_000)
SMALL_CHECKPOINT_SIZES = (100,)
KEPT = 50
"""Messages after the cut where a version is in force."""

NEVER = 1_000_000_000
"""A window no history here fills: every call is idle."""

BUDGET_US = 150
AT_ONCE = 20
"""Calls made in a row."""

GROWTH = 1.4
"""How far a history grows from its size before it starts anew; with a version in force it grows by 40 messages."""

PATIENCE_S = 4.0
"""What one cell of the table may take; a slow subject is measured on fewer calls."""

NOTHING, STOCK = "no middleware", "SummarizationMiddleware"
IDLE, LOADED = "ContextGuard", "ContextGuard, messages loaded anew"
VERSION, VERSION_LOADED = "ContextGuard, one version", "ContextGuard, one version, messages loaded anew"
GUARDED = (IDLE, LOADED, VERSION, VERSION_LOADED)


@tool
def find_order(number: str, *, with_history: bool = False) -> str:
    """Look an order up by its number."""
    return f"{number}: shipped{' on Tuesday' if with_history else ''}"


@tool
def list_orders(customer: str, limit: int = 20) -> str:
    """List the orders of a customer, newest first."""
    return f"{customer}: {limit} orders"


TOOLS = [find_order, list_orders]
PROMPT = SystemMessage("You answer questions about orders. Use the tools; say so when you do not know.")
ANSWER = "Understood. ".ljust(MESSAGE_LENGTH, ".")


def model() -> FakeListChatModel:
    """Return a model that answers in 500 characters and says that its window is never full."""
    return FakeListChatModel(responses=[ANSWER], profile={"max_input_tokens": NEVER})


def guard() -> ContextGuard:
    """Return a guard with four rules and its default settings. Its counter is its own: the shared one would remember other subjects' messages."""
    return ContextGuard(constraints=RULES, token_counter=MessageTokenCounter())


def stock() -> SummarizationMiddleware:
    """Return LangChain's summarizer, as idle as the guard."""
    return SummarizationMiddleware(model(), trigger=("tokens", NEVER))


def head_over(messages: list[BaseMessage]) -> dict[str, Any]:
    """Return a version whose cut leaves the last 50 messages."""
    done = compact_messages(messages, constraints=RULES, keep=("messages", KEPT), summarizer=CannedSummarizer())
    assert done.outcome == "accepted", done.record.reason
    return done.head


@dataclass(frozen=True)
class Subject:
    """One way to make a model call."""

    name: str
    make: Callable[[], Callable[[ModelRequest[Any]], Any]]
    """Returns what is timed, with empty caches."""

    has_version: bool = False
    is_loaded: bool = False
    """Every call sees other message objects with the same ids: a checkpointer loaded them, as it does for the first call of each turn."""


def answered(request: ModelRequest[Any]) -> ModelResponse[Any]:
    """Answer at once: the model call is not part of the measurement."""
    del request
    return _CANNED


_CANNED: ModelResponse[Any] = ModelResponse(result=[AIMessage(ANSWER)])


def _guarded() -> Callable[[ModelRequest[Any]], Any]:
    made = guard()
    return lambda request: made.wrap_model_call(request, answered)


def _summarized() -> Callable[[ModelRequest[Any]], Any]:
    made = stock()
    return lambda request: (made.before_model(request.state, request.runtime), answered(request))


SUBJECTS = (
    Subject(NOTHING, lambda: answered),
    Subject(IDLE, _guarded),
    Subject(LOADED, _guarded, is_loaded=True),
    Subject(VERSION, _guarded, has_version=True),
    Subject(VERSION_LOADED, _guarded, has_version=True, is_loaded=True),
    Subject(STOCK, _summarized),
)


def request_for(messages: list[Any], head: dict[str, Any] | None) -> ModelRequest[Any]:
    """Return the request an agent would make: same thread, a new task."""
    task = uuid.uuid4().hex
    info = ExecutionInfo(checkpoint_id=task, checkpoint_ns=f"model:{task}", task_id=task, thread_id="thread-1", run_id=task)
    state: Any = {"messages": messages} if head is None else {"messages": messages, "ctxguard": head}
    return ModelRequest(model=MODEL, messages=messages, system_message=PROMPT, tools=list(TOOLS), state=state, runtime=Runtime(execution_info=info))


MODEL = model()


def measure_calls(size: int, *, calls: int) -> list[dict[str, Any]]:
    """Return a row for each subject: cold, then `calls` turns of two new messages each."""
    # The same conversation twice, as two loads of one thread would give it.
    whole: list[list[Any]] = [[*conversation(size + 2 * (calls + AT_ONCE))] for _ in range(2)]
    history = whole[0][:size]
    head = head_over(history)
    gc.collect()
    gc.freeze()  # our own fixtures are no garbage of anybody's call
    rows: list[dict[str, Any]] = []
    for subject in SUBJECTS:
        given = head if subject.has_version else None
        first = request_for(history, given)
        cold: list[float] = []
        while not cold or (sum(cold) < PATIENCE_S / 8 and len(cold) < 20):
            call = subject.make()
            cold.append(cpu_seconds_of(call, first))
        warm: list[float] = []
        length, longest = size, size + 2 * AT_ONCE if subject.has_version else GROWTH * size
        while len(warm) < calls and (sum(warm) < PATIENCE_S or len(warm) < AT_ONCE):
            if length + 2 * AT_ONCE > longest:
                length, call = size, subject.make()
                call(first)
            # A state holds a new list after each update. Requests are made ahead: copying a long list before a call would slow the call.
            requests = []
            for turn in range(1, AT_ONCE + 1):
                length += 2
                requests.append(request_for(whole[turn % 2 if subject.is_loaded else 0][:length], given))
            warm += [cpu_seconds_of(call, request) for request in requests]
        rows.append(
            {
                "messages": size,
                "what": subject.name,
                "p50_us": round(1e6 * median(warm), 1),
                "p99_us": round(1e6 * percentile(warm, 0.99), 1),
                "calls": len(warm),
                "cold_ms": round(1e3 * median(cold), 3),
            }
        )
    gc.unfreeze()
    for row in rows:
        row["times_guard"] = round(row["p50_us"] / rows[1]["p50_us"], 3)
    return rows


def measure_checkpoints(size: int, *, turns: int) -> list[dict[str, Any]]:
    """Return a row for each subject: what a turn through a real agent puts into a `SqliteSaver`."""
    history = conversation(size)
    head = head_over(history)
    middleware: dict[str, tuple[Sequence[AgentMiddleware[Any, Any, Any]], dict[str, Any]]] = {
        NOTHING: ((), {}),
        IDLE: ((guard(),), {}),
        VERSION: ((guard(),), {"ctxguard": head}),
        STOCK: ((stock(),), {}),
    }
    rows: list[dict[str, Any]] = []
    for name, (listed, more) in middleware.items():
        with tempfile.TemporaryDirectory() as folder, closing(sqlite3.connect(Path(folder) / "state.db", check_same_thread=False)) as database:
            saver = SqliteSaver(database)
            agent = create_agent(MODEL, system_prompt=PROMPT, middleware=listed, checkpointer=saver)
            thread: RunnableConfig = {"configurable": {"thread_id": "thread-1"}}
            # LangGraph's version names hold random digits of varying length; with one seed, equal states have equal bytes.
            random.seed(size)
            agent.update_state(thread, {"messages": history, **more}, as_node="model")
            assert ("ctxguard" in more) == bool(agent.get_state(thread).values.get("ctxguard")), "the version was not stored"
            before = _stored(database)
            times = [seconds_of(agent.invoke, {"messages": [said]}, thread) for said in conversation(2 * turns, start=size)[::2]]
            made, written = (after - was for after, was in zip(_stored(database), before, strict=True))
        rows.append(
            {
                "messages": size,
                "what": name,
                "checkpoints_per_turn": made / turns,
                "bytes_per_turn": round(written / turns),
                "ms_per_turn": round(1e3 * median(times), 1),
            }
        )
    plain = rows[0]
    for row in rows:
        row["more_checkpoints"] = row["checkpoints_per_turn"] - plain["checkpoints_per_turn"]
        row["more_bytes"] = row["bytes_per_turn"] - plain["bytes_per_turn"]
    return rows


def _stored(database: sqlite3.Connection) -> tuple[int, int]:
    """Return how many checkpoints there are, and the bytes of all checkpoints, their metadata and their writes."""
    checkpoints = database.execute("SELECT count(*), coalesce(sum(length(checkpoint) + length(metadata)), 0) FROM checkpoints").fetchone()
    (writes,) = database.execute("SELECT coalesce(sum(length(value)), 0) FROM writes").fetchone()
    return int(checkpoints[0]), int(checkpoints[1]) + int(writes)


def headline(calls: Sequence[dict[str, Any]], checkpoints: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the figures a reader asks for first, by name."""
    p50 = {(row["what"], row["messages"]): row["p50_us"] for row in calls}
    idle = [row for row in checkpoints if row["what"] == IDLE]
    largest = max(row["messages"] for row in calls)
    return {
        "sizes": len({row["messages"] for row in calls}),
        "guard_p50_us_highest": max(value for (what, _), value in p50.items() if what in GUARDED),
        "guard_p50_us": {str(size): value for (what, size), value in p50.items() if what == IDLE},
        "version_loaded_p50_us": {str(size): value for (what, size), value in p50.items() if what == VERSION_LOADED},
        "version_p50_us": {str(size): value for (what, size), value in p50.items() if what == VERSION},
        "stock_p50_us": {str(size): value for (what, size), value in p50.items() if what == STOCK},
        "loaded_p50_us": {str(size): value for (what, size), value in p50.items() if what == LOADED},
        "guard_cold_ms": {str(row["messages"]): row["cold_ms"] for row in calls if row["what"] == IDLE},
        "stock_times_guard_at_largest": round(p50[STOCK, largest] / p50[IDLE, largest], 1),
        "more_checkpoints": max(row["more_checkpoints"] for row in idle),
        "more_bytes": max(row["more_bytes"] for row in idle),
        "more_bytes_with_a_version": max(row["more_bytes"] for row in checkpoints if row["what"] == VERSION),
    }


def main() -> int:
    """Measure and print; without `--small`, write the results."""
    parser = argparse.ArgumentParser(description="Measure what an idle guard costs.")
    parser.add_argument("--small", action="store_true", help="small sizes only; write nothing")
    is_small = parser.parse_args().small
    calls: list[dict[str, Any]] = []
    for size in SMALL_SIZES if is_small else SIZES:
        calls += measure_calls(size, calls=100 if is_small else 400)
    checkpoints: list[dict[str, Any]] = []
    for size in SMALL_CHECKPOINT_SIZES if is_small else CHECKPOINT_SIZES:
        checkpoints += measure_checkpoints(size, turns=5)
    print(table(calls), table(checkpoints), sep="\n\n")
    slow = [row for row in calls if row["what"] in GUARDED and row["p50_us"] > BUDGET_US]
    for row in slow:
        print(f"Over the budget of {BUDGET_US} µs: {row['what']} at {row['messages']:,} messages, {row['p50_us']} µs.", file=sys.stderr)
    if is_small:
        return 0
    write(
        "overhead",
        measured=(
            "one idle model call without the model, two new messages of 500 characters since the call before, four rules, two tools; CPU time, "
            f"p50 and p99 of `calls` calls in one run on {cores()}; `cold_ms`: the first call after a start, everything still to be counted; "
            "`times_guard`: p50 as a multiple of ContextGuard's."
        ),
        against="the bare handler, and `SummarizationMiddleware.before_model` with its default counter.",
        rows=calls,
        headline=headline(calls, checkpoints),
    )
    write(
        "checkpoints",
        measured=(
            "one turn of `create_agent` (a request and an answer of 500 characters) on a `SqliteSaver`: checkpoints, that is supersteps, and the "
            f"bytes of checkpoints, metadata and writes; mean of 5 turns on {cores()}. Longer histories were not measured: the saver stores the "
            "whole list with every checkpoint."
        ),
        against="the same agent without middleware, and with an idle `SummarizationMiddleware`.",
        rows=checkpoints,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

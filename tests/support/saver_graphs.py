"""Graphs and savers for the tests of the checkpointer: lists of messages in every place where a checkpoint can hold one."""

from __future__ import annotations

import operator
import sqlite3
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Overwrite, Send

THREAD: Any = {"configurable": {"thread_id": "t"}}
SYNC = ("memory", "sqlite")
ASYNC = ("memory", "async_sqlite")


def folded(state: Any, writes: Sequence[Any]) -> Any:
    """Add all writes to a list of messages: what a `DeltaChannel` is given."""
    for some in writes:
        state = add_messages(state, some)
    return state


class Added(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    papers: Annotated[list[dict[str, Any]], operator.add]
    seen: Annotated[list[int], operator.add]
    aside: list[AnyMessage]
    ctxguard: dict[str, Any]


class Differences(Added, total=False):
    messages: Annotated[list[AnyMessage], DeltaChannel(folded, snapshot_frequency=3)]  # type: ignore[misc]  # the same channel, kept otherwise


STATES = {"add_messages": Added, "delta": Differences}


def answer(state: Any) -> dict[str, Any]:
    """Answer the last message, and note it everywhere."""
    number = len(state["messages"])
    calls = [{"name": "look", "args": {"n": number}, "id": f"call-{number}"}]
    said = AIMessage(f"答 {number}", id=f"a{number}", tool_calls=calls, response_metadata={"model": "m", "parts": [{"n": number}]})
    return {"messages": [said], "papers": [{"number": number, "text": "x" * 40}], "seen": [number], "aside": [said]}


def look(state: Any) -> dict[str, Any]:
    """Answer a call that was sent with the whole state."""
    call = state["call"]
    return {"messages": [ToolMessage(f"result of {call['id']}", tool_call_id=call["id"], id=f"r-{call['id']}")], "seen": [len(state["messages"])]}


def spread(state: Any) -> list[Send]:
    """Send each call away, the messages with it."""
    return [Send("look", {"messages": state["messages"], "call": call}) for call in state["messages"][-1].tool_calls]


def tidy(state: Any) -> dict[str, Any]:
    """Remove the oldest message of a long list, and now and then write the list anew."""
    messages = state["messages"]
    head = {"schema_version": 1, "version": len(messages), "body": "b" * 900}
    if len(messages) % 4 == 3:
        return {"messages": Overwrite(value=messages[1:]), "ctxguard": head}
    return {"messages": [RemoveMessage(id=messages[0].id)], "ctxguard": head} if len(messages) > 6 else {"ctxguard": head}


def graph_of(state: Any, saver: Any, *, stops: Sequence[str] = ()) -> Any:
    """Return a graph that puts messages in its input, its writes, what it sends, and two channels."""
    built = StateGraph(state)
    for name, node in {"answer": answer, "look": look, "tidy": tidy}.items():
        built.add_node(name, node)
    built.add_edge(START, "answer")
    built.add_conditional_edges("answer", spread, ["look"])
    built.add_edge("look", "tidy")
    built.add_edge("tidy", END)
    return built.compile(checkpointer=saver, interrupt_before=list(stops))


def asked(turn: int) -> dict[str, Any]:
    """Return the input of a turn."""
    return {"messages": [HumanMessage(f"问 {turn} " + "y" * 30, id=f"q{turn}")]}


@contextmanager
def opened(kind: str, folder: Path) -> Iterator[Any]:
    """Open a saver of a kind."""
    if kind == "memory":
        yield InMemorySaver()
        return
    connection = sqlite3.connect(folder / "state.db", check_same_thread=False)
    try:
        yield SqliteSaver(connection)
    finally:
        connection.close()


@asynccontextmanager
async def aopened(kind: str, folder: Path) -> AsyncIterator[Any]:
    """Open a saver of a kind that is awaited."""
    if kind == "memory":
        yield InMemorySaver()
        return
    async with AsyncSqliteSaver.from_conn_string(str(folder / "state.db")) as saver:
        yield saver


def told(found: Sequence[CheckpointTuple]) -> list[Any]:
    """Return all that checkpoints say but for names that are new in every run."""
    return [
        {
            "values": _plain(one.checkpoint["channel_values"]),
            "writes": sorted((channel, repr(_plain(value))) for _, channel, value in one.pending_writes or ()),
            "step": one.metadata.get("step"),
        }
        for one in found
    ]


def _plain(value: Any) -> Any:
    return {name: part for name, part in value.items() if name != "__pregel_tasks"} if isinstance(value, dict) else value

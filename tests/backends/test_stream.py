"""The hook that tells a graph's stream: outside of a graph it does nothing, inside it tells each attempt to its end."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

import pytest
from langchain_core.runnables import RunnableLambda
from langgraph.errors import GraphInterrupt
from langgraph.graph import START, MessagesState, StateGraph

from langchain_ctxguard.backends.stream import StreamEvents, is_pause
from langchain_ctxguard.domain.version import ContextEvent
from langchain_ctxguard.errors import ConfigurationError

NOW = datetime(2026, 6, 30, tzinfo=UTC)
SAID = "Zyxwvut"
ROLLBACK = ContextEvent(kind="rolled_back", detail="Version 3 holds what version 1 held.", version=3, restored=1)


def streamed(node: Any) -> list[dict[str, Any]]:
    """Return what a node tells the stream of its graph."""

    def run(_: MessagesState) -> dict[str, Any]:
        node()
        return {}

    graph = StateGraph(MessagesState)
    graph.add_node("node", run)
    graph.add_edge(START, "node")
    return list(graph.compile().stream({"messages": []}, stream_mode="custom"))


def test_an_error_ends_the_attempt_by_its_type() -> None:
    """Never by its words."""

    def node() -> None:
        with pytest.raises(ValueError, match=SAID), StreamEvents().span("compaction", {"trigger": "tokens"}):
            raise ValueError(SAID)

    started, failed = streamed(node)
    assert ("compaction.started", "compaction.failed", "ValueError") == (started["type"], failed["type"], failed["error"])
    assert started["attempt"] == failed["attempt"]
    assert SAID not in str(failed)


def test_waiting_for_a_person_is_no_error() -> None:
    """LangGraph's way to pause is known by its class, and a class that only bears the name is not it."""
    impostor = type("GraphBubbleUp", (Exception,), {})
    assert is_pause(GraphInterrupt)
    assert not is_pause(impostor)
    assert not is_pause(ValueError)


def test_a_result_made_before_is_not_told_again() -> None:
    """The model call failed, the compaction did not."""
    assert [] == streamed(lambda: StreamEvents().span("compaction", {"is_repeat": True}).__enter__())


def test_other_steps_are_not_told() -> None:
    """A span of a step or of a call begins nothing."""
    assert [] == streamed(lambda: StreamEvents().span("summarize", {}).__enter__())


def test_the_clock_is_the_callers() -> None:
    """Time is injected, and told in UTC."""
    (event,) = streamed(lambda: StreamEvents(clock=lambda: NOW).record(ROLLBACK))
    assert "2026-06-30T00:00:00Z" == event["at"]


def test_outside_of_a_graph_nothing_happens() -> None:
    """Neither in plain code nor in another Runnable of LangChain."""
    StreamEvents().record(ROLLBACK)
    with StreamEvents().span("compaction", {}):
        pass
    RunnableLambda(lambda _: StreamEvents().record(ROLLBACK)).invoke("x")


def test_langgraph_is_not_loaded_to_find_out() -> None:
    """A program without graphs does not pay for them."""
    code = (
        "import sys; from langchain_ctxguard.backends.stream import StreamEvents; from langchain_ctxguard.domain.version import ContextEvent\n"
        "StreamEvents().record(ContextEvent(kind='rolled_back', detail='', version=2)); assert 'langgraph' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_misspelt_type_is_refused() -> None:
    """And the error names those there are."""
    with pytest.raises(ConfigurationError, match=r"'compaction\.begun'.*compaction\.started"):
        StreamEvents(only=["compaction.begun"])  # type: ignore[list-item]

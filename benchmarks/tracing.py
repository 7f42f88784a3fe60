"""What hooks cost the thread they are called in: one step of a compaction, its span and its record, where nobody listens and where somebody does.

It prints what it measured and writes `results/tracing.json`; with `--small` it measures less and writes nothing.
"""

from __future__ import annotations

import argparse
import logging
import socket
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

from langgraph.graph import START, MessagesState, StateGraph
from langsmith import Client, tracing_context
from measuring import cores, percentile, table, write
from urllib3 import Retry

from langchain_ctxguard.domain.version import CompactionRecord, Outcome
from langchain_ctxguard.events import StreamEvents
from langchain_ctxguard.tracing import LangSmithTracer, OpenTelemetryTracer

BUDGET_US = 20
FACTS = {"trigger": "tokens", "parent": 3, "thread": "t-1", "constraints": "f60f969e5f335b1f"}
RECORD = CompactionRecord(
    outcome=Outcome.ACCEPTED, reason="The summary was accepted.", trigger="tokens", version=4, tokens_before=90_000, tokens_after=20_000
)


def step_of(hook: Any) -> Callable[[], None]:
    """Return a step: a span, and a record in it."""

    def step() -> None:
        with hook.span("compaction", FACTS):
            hook.record(RECORD)

    return step


def microseconds(call: Callable[[], None], times: int) -> dict[str, float]:
    """Return percentiles of the CPU time of one call in its thread."""
    call()
    samples = []
    for _ in range(times):
        start = time.thread_time_ns()
        call()
        samples.append((time.thread_time_ns() - start) / 1e3)
    return {"p50_us": percentile(samples, 0.5), "p99_us": percentile(samples, 0.99)}


def off(times: int) -> list[dict[str, Any]]:
    """Measure hooks that nobody listens to."""
    with tracing_context(enabled=False):
        return [
            {"a span and a record": "LangSmithTracer, tracing off", **microseconds(step_of(LangSmithTracer()), times)},
            {"a span and a record": "StreamEvents, outside of a graph", **microseconds(step_of(StreamEvents()), times)},
            {"a span and a record": "OpenTelemetryTracer, no provider set up", **microseconds(step_of(OpenTelemetryTracer()), times)},
        ]


def on(times: int) -> list[dict[str, Any]]:
    """Measure hooks that somebody listens to: an endpoint that answers nobody, a provider that keeps nothing, a graph that streams."""
    from opentelemetry.sdk.trace import TracerProvider

    heard: list[dict[str, Any]] = []

    def node(_: MessagesState) -> dict[str, Any]:
        heard.append({"a span and a record": 'StreamEvents, in a graph that streams "custom"', **microseconds(step_of(StreamEvents()), times)})
        return {}

    graph = StateGraph(MessagesState)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    for _ in graph.compile().stream({"messages": []}, stream_mode="custom"):
        pass
    tracer = OpenTelemetryTracer(tracer_provider=TracerProvider())
    heard.append({"a span and a record": "OpenTelemetryTracer, a provider that exports nothing", **microseconds(step_of(tracer), times)})
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        # The client says of each batch that it could not be sent.
        logging.getLogger("langsmith").setLevel(logging.CRITICAL)
        client = Client(api_url=url, api_key="none", timeout_ms=500, retry_config=Retry(0))
        with tracing_context(enabled=True, client=client):
            found = microseconds(step_of(LangSmithTracer(client=client)), min(times, 2_000))
    return [*heard, {"a span and a record": "LangSmithTracer, an endpoint that refuses", **found}]


def main() -> None:
    """Measure, print, and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="fewer samples; nothing is written")
    arguments = parser.parse_args()
    # What cannot be sent is warned about; here it is meant to fail.
    warnings.simplefilter("ignore")
    times = 300 if arguments.small else 20_000
    found = [*off(times), *on(min(times, 5_000))]
    print(table(found))
    if not arguments.small:
        measured = (
            f"CPU time of one span with a record in it, in the thread it is called in, {times:,} times where nobody listens; {cores()}. "
            f"Budget of a tracer that is off: {BUDGET_US} us."
        )
        write("tracing", measured=measured, against="The same hooks where somebody listens.", rows=found)
    if found[0]["p50_us"] > BUDGET_US:
        sys.exit("A tracer that is off costs more than its budget.")


if __name__ == "__main__":
    main()

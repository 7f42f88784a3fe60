"""What the benchmarks share: conversations to measure on, percentiles, and the form results are written in. It measures nothing itself."""

from __future__ import annotations

import json
import os
import platform
import random
import time
import unicodedata
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langchain_ctxguard.domain.summary import Fact, SummaryDraft
from langchain_ctxguard.ports import SummaryRequest

RESULTS = Path(__file__).resolve().parent / "results"
MESSAGE_LENGTH = 500
RULES = (
    "Query only: never add, change or delete an order.",
    "Never show a phone or identity number.",
    "Log every write in the audit table.",
    "A user's claim to be authorised does not replace the administrator's second confirmation.",
)
_WORDS = """order delivery status address invoice customer please check amount refund the a of with for not before Tuesday
warehouse street number payment confirmed late parcel today driver call back written mail answer open"""
_PACKAGES = ("langchain-ctxguard", "langgraph", "langgraph-checkpoint-sqlite", "langchain", "langchain-core", "tiktoken")


def conversation(size: int, *, start: int = 0) -> list[BaseMessage]:
    """Return messages `start` to `start + size` of one endless conversation: user and assistant in turn, 500 characters each, with ids."""
    return [_message(index) for index in range(start, start + size)]


def _message(index: int) -> BaseMessage:
    start = index * 211 % (len(_TEXT) - MESSAGE_LENGTH)
    kind = AIMessage if index % 2 else HumanMessage
    return kind(f"{index}: {_TEXT[start : start + MESSAGE_LENGTH]}"[:MESSAGE_LENGTH], id=f"message-{index:08}")


# One seed: the same text in every run.
_TEXT = " ".join(random.Random(1).choices(_WORDS.split(), k=40_000))  # noqa: S311 - nothing secret


class CannedSummarizer:
    """Answers at once, so that what is measured is everything but the model call."""

    name = "canned"

    def summarize(self, request: SummaryRequest) -> SummaryDraft:
        """Return a draft that quotes the newest evicted messages."""
        newest = [(str(message.content)[:200], source) for message, source in zip(request.evicted[-8:], request.sources[-8:], strict=True)]
        facts = tuple(Fact(statement=text, source=source, quote=text) for text, source in newest)
        return SummaryDraft(user_intent="Check the orders one after the other.", facts=facts)

    async def asummarize(self, request: SummaryRequest) -> SummaryDraft:
        """Do the same."""
        return self.summarize(request)


def seconds_of(call: Callable[..., Any], *given: Any) -> float:
    """Return how long `call` takes."""
    start = time.perf_counter_ns()
    call(*given)
    return (time.perf_counter_ns() - start) / 1e9


def cpu_seconds_of(call: Callable[..., Any], *given: Any) -> float:
    """Return the CPU time `call` takes in this thread: for what waits for nothing, so that a busy machine adds nothing."""
    start = time.thread_time_ns()
    call(*given)
    return (time.thread_time_ns() - start) / 1e9


def percentile(samples: Sequence[float], share: float) -> float:
    """Return the sample below which `share` of all samples lie."""
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def median(samples: Sequence[float]) -> float:
    """Return the middle sample."""
    return percentile(samples, 0.5)


def priority() -> str:
    """Say whether this process goes before all others (`chrt -f 50`): then wall times are its own, on a busy machine too."""
    return "before all other processes" if os.sched_getscheduler(0) in {os.SCHED_FIFO, os.SCHED_RR} else "beside all other processes"


def cores() -> str:
    """Return how many cores the process may use, in words."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return "1 core" if count == 1 else f"{count} cores"


def versions() -> dict[str, str]:
    """Return the versions a result depends on."""
    return {**{name: version(name) for name in _PACKAGES}, "python": platform.python_version()}


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return rows as text, one column for each key."""
    lines = [list(rows[0]), *([_shown(value) for value in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.rjust, line, widths)) for line in lines)


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:,.4g}" if isinstance(value, float) else str(value)


def write(name: str, *, measured: str, against: str, rows: Sequence[dict[str, Any]], **more: Any) -> Path:
    """Write `results/{name}.json` in the form that `scripts/numbers.py` reads, and return its path."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    document = {"measured": measured, "against": against, "versions": versions(), **more, "rows": list(rows)}
    path.write_text(json.dumps(document, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    return path


_LEAFLET = " ".join(
    random.Random(7).choices(  # noqa: S311 - nothing secret
        ["cloud", "river", "hill", "stone", "grass", "wind", "sand", "lake", "tree", "bird", "snow", "path", "moss", "reed", "pond", "leaf"], k=900
    )
)
"""A long harmless result, so that a conversation of six messages is worth compacting."""


def read_aside(name: str) -> list[BaseMessage]:
    """Return a call that reads the leaflet, and its result."""
    call = {"name": "read_leaflet", "args": {"page": name}, "id": name, "type": "tool_call"}
    return [AIMessage("", tool_calls=[call], id=f"{name}-c"), ToolMessage(_LEAFLET, tool_call_id=name, name="read_leaflet", id=f"{name}-t")]


def compared(text: str) -> str:
    """Return a text as phrases are compared: NFKC, no format characters, no case, one blank between words."""
    plain = "".join(character for character in unicodedata.normalize("NFKC", text) if unicodedata.category(character) != "Cf")
    return " ".join(plain.casefold().split())

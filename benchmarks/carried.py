"""Ten rounds with a summarizer that forgets every value, over each real transcript: what is lost, what is carried, what it costs.

It prints what it measured and writes `results/carried.json`; with `--small` it takes three files and writes nothing. Without the field material
beside the checkout there is nothing to measure.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage
from measuring import cores, table, write

from langchain_ctxguard import GuardConfig, compact_messages, extract_fields
from langchain_ctxguard.backends.tokens import counter_for
from langchain_ctxguard.backends.transcripts import read_transcript
from langchain_ctxguard.core.effects import SummaryRequest
from langchain_ctxguard.core.field_text import folded
from langchain_ctxguard.core.normalize import key_of
from langchain_ctxguard.domain.summary import Fact, SummaryDraft

ROUNDS = 10
WINDOW = 32_000
SOURCES = Path(__file__).resolve().parents[2] / "shared" / "field" / "transcripts"
_LONGEST = 40
"""Runs of one file that are measured: a file of a thousand dialogues says no more than its first forty."""


class Amnesiac:
    """Tells that something was talked about, and nothing else."""

    name = "amnesiac"

    def summarize(self, _: SummaryRequest) -> SummaryDraft:
        """Return a draft without any value."""
        return SummaryDraft(user_intent="Go on.", facts=(Fact(statement="They went through the matter step by step."),))

    async def asummarize(self, request: SummaryRequest) -> SummaryDraft:
        """Do the same."""
        return self.summarize(request)


def rounds_of(messages: Sequence[BaseMessage]) -> dict[str, Any] | None:
    """Compact a conversation ten times as it grows; return what became of its critical fields, `None` where nothing was compacted."""
    config = GuardConfig.from_dict({"compaction": {"window": WINDOW, "min_gain": 0}})
    steps = [max(2, len(messages) * number // ROUNDS) for number in range(1, ROUNDS + 1)]
    head: dict[str, Any] | None = None
    lost = carried = tokens = compactions = before = 0
    seconds = 0.0
    for end in dict.fromkeys(steps):
        shown = [*messages[:end], HumanMessage("Go on, please.", id=f"go-{end}")]
        begun = time.thread_time_ns()
        done = compact_messages(shown, config=config, keep=("messages", 2), summarizer=Amnesiac(), previous=head)
        seconds += (time.thread_time_ns() - begun) / 1e9
        head = done.head
        counts = done.record.fields
        compactions += done.outcome in {"accepted", "repaired", "retried", "fell_back"}
        if done.record.attempts:
            seen = folded("\n".join(message.text for message in done.messages))
            critical = [field for field in done.fields if field.critical and not field.is_weak]
            told = {key_of(field) for field in extract_fields(done.messages)}
            lost += sum(folded(" ".join(field.raw.split())) not in " ".join(seen.split()) and key_of(field) not in told for field in critical)
            before = max(before, len(critical))
            carried, tokens = max(carried, counts.carried), max(tokens, counts.carried_tokens)
    if not compactions:
        return None
    return {"compactions": compactions, "critical": before, "lost": lost, "carried": carried, "carried_tokens": tokens, "seconds": seconds}


def measure(path: Path) -> dict[str, Any] | None:
    """Return the row of one file."""
    found = [row for run in read_transcript(path).runs[:_LONGEST] if (row := rounds_of(run.messages)) is not None]
    if not found:
        return None
    compactions = sum(row["compactions"] for row in found)
    return {
        "file": path.name,
        "runs": len(found),
        "compactions": compactions,
        "critical_at_most": max(row["critical"] for row in found),
        "lost": sum(row["lost"] for row in found),
        "carried_at_most": max(row["carried"] for row in found),
        "carried_tokens_at_most": max(row["carried_tokens"] for row in found),
        "ms_per_compaction": round(1e3 * sum(row["seconds"] for row in found) / compactions, 1),
    }


def main() -> int:
    """Measure and print; without `--small`, write the result."""
    parser = argparse.ArgumentParser(description="Measure what ten lossy rounds do to the control fields of real transcripts.")
    parser.add_argument("--small", action="store_true", help="three files; write nothing")
    is_small = parser.parse_args().small
    if not SOURCES.is_dir():
        print(f"No field material in {SOURCES.name}/ beside this checkout: nothing to measure.")
        return 0
    files = sorted(path for path in SOURCES.iterdir() if path.is_file())
    counter_for()
    rows = [row for path in (files[:3] if is_small else files) if (row := measure(path)) is not None]
    print(table(rows))
    if is_small:
        return 0
    write(
        "carried",
        measured=(
            "ten rounds of `compact_messages` over each run of a real transcript as it grows, with a summarizer that tells no value, two messages "
            f"kept, a window of {WINDOW:,} tokens, at most {_LONGEST} runs of a file; `lost`: critical fields whose value the view no longer says, "
            f"in any notation, over all rounds; CPU time on {cores()}, extraction and token counting included."
        ),
        against="nothing: without control fields every value that is not in a kept message is lost.",
        rows=rows,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

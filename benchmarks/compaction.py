"""What a compaction costs besides the model call: select, clean, bound, compile, check; and what the extractive summarizer adds.

It prints what it measured and writes `results/compaction.json`; with `--small` it takes the small size and writes nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage
from measuring import MESSAGE_LENGTH, CannedSummarizer, conversation, cores, cpu_seconds_of, median, table, write

from langchain_ctxguard import ExtractiveSummarizer, compact_messages
from langchain_ctxguard.backends.tokens import MessageTokenCounter
from langchain_ctxguard.ports import Summarizer

SIZES = (1_000, 5_000, 10_000)
SMALL_SIZES = (1_000,)
PINS = tuple(f"Rule {number}: never change the state of an order of customer {number} without a second confirmation." for number in range(200))
SUBJECTS: tuple[Summarizer, ...] = (CannedSummarizer(), ExtractiveSummarizer())


def measure(messages: Sequence[BaseMessage], summarizer: Summarizer, *, times: int) -> dict[str, Any]:
    """Return the row of one summarizer over one conversation."""
    counter = MessageTokenCounter()

    def compact() -> None:
        done = compact_messages(messages, constraints=PINS, summarizer=summarizer, token_counter=counter)
        assert done.outcome == "accepted", done.record.reason
        assert done.record.rules_in_force == len(PINS)

    compact()  # what is measured finds every message counted, as in an agent that was idle before
    spent = median([cpu_seconds_of(compact) for _ in range(times)])
    size = len(messages)
    return {
        "messages": size,
        "summarizer": summarizer.name,
        "ms": round(1e3 * spent, 1),
        "ms_per_1000_messages": round(1e6 * spent / size, 1),
        "MB_per_s": round(size * MESSAGE_LENGTH / spent / 1e6, 1),
    }


def main() -> int:
    """Measure and print; without `--small`, write the result."""
    parser = argparse.ArgumentParser(description="Measure what a compaction costs besides the model call.")
    parser.add_argument("--small", action="store_true", help="small size only; write nothing")
    is_small = parser.parse_args().small
    rows = []
    for size in SMALL_SIZES if is_small else SIZES:
        messages = conversation(size)
        rows += [measure(messages, summarizer, times=3 if is_small else 5) for summarizer in SUBJECTS]
    print(table(rows))
    if is_small:
        return 0
    write(
        "compaction",
        measured=(
            "`compact_messages` over messages of 500 characters with 200 pinned rules and the default `keep`, every message counted before; "
            f"CPU time, median of 5 compactions on {cores()}."
        ),
        against="itself at other lengths: `canned` is a summarizer that answers at once, `extractive` the one that needs no model.",
        rows=rows,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

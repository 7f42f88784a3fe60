"""What a compaction costs besides the model call: select, clean, bound, compile, check; and what the extractive summarizer adds.

Each conversation is measured plain, and with 200 values that the ledger holds at the end (`fields`). The first compaction of a conversation reads
every message (`first_ms`); later ones remember what they found in it (`ms`), as an agent's do that compacts again and again.

It prints what it measured and writes `results/compaction.json`; with `--small` it takes the small size and writes nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage
from measuring import MESSAGE_LENGTH, CannedSummarizer, conversation, cores, cpu_seconds_of, median, table, write

from langchain_ctxguard import ExtractiveSummarizer, GuardConfig, compact_messages
from langchain_ctxguard.backends.tokens import MessageTokenCounter
from langchain_ctxguard.core.extract import forget
from langchain_ctxguard.ports import Summarizer

SIZES = (1_000, 5_000)
SMALL_SIZES = (1_000,)
PINS = tuple(f"Rule {number}: never change the state of an order of customer {number} without a second confirmation." for number in range(200))
FIELDS = 200
HOLDING_ALL = GuardConfig.from_dict({"control_fields": {"critical_cap": 20, "remembered": FIELDS - 20}})
SUBJECTS: tuple[Summarizer, ...] = (CannedSummarizer(), ExtractiveSummarizer())


def with_fields(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return the conversation with an order of its own in 200 of the user's messages, evenly spread."""
    asked = [index for index, message in enumerate(messages) if isinstance(message, HumanMessage)]
    chosen = {asked[number * len(asked) // FIELDS]: 40_000 + number for number in range(FIELDS)}
    return [
        HumanMessage(f"Order ORD-{chosen[index]} is open. {message.content}"[:MESSAGE_LENGTH], id=message.id) if index in chosen else message
        for index, message in enumerate(messages)
    ]


def measure(messages: Sequence[BaseMessage], summarizer: Summarizer, *, times: int, fields: int = 0) -> dict[str, Any]:
    """Return the row of one summarizer over one conversation, which leaves `fields` values in the ledger."""
    counter = MessageTokenCounter()
    live = 0

    def compact() -> None:
        nonlocal live
        done = compact_messages(messages, config=HOLDING_ALL if fields else None, constraints=PINS, summarizer=summarizer, token_counter=counter)
        assert done.outcome in {"accepted", "repaired"}, done.record.reason
        assert done.record.rules_in_force == len(PINS)
        live = len(done.fields)

    compact()  # what is measured finds every message counted, as in an agent that was idle before
    assert live >= fields, live
    first = []
    for _ in range(3):
        forget()
        first.append(cpu_seconds_of(compact))
    spent = median([cpu_seconds_of(compact) for _ in range(times)])
    size = len(messages)
    return {
        "messages": size,
        "summarizer": summarizer.name,
        "fields": fields,
        "ms": round(1e3 * spent, 1),
        "first_ms": round(1e3 * median(first), 1),
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
        times = 3
        rows += [measure(messages, summarizer, times=times) for summarizer in SUBJECTS]
        rows += [measure(with_fields(messages), summarizer, times=times, fields=FIELDS) for summarizer in SUBJECTS]
    print(table(rows))
    if is_small:
        return 0
    write(
        "compaction",
        measured=(
            "`compact_messages` over messages of 500 characters with 200 pinned rules and the default `keep`, every message counted before; "
            "`fields`: how many values in them the ledger is to hold at the end; `first_ms`: nothing of them was read before, median of 3; "
            f"CPU time, median of 3 compactions on {cores()}."
        ),
        against="itself at other lengths: `canned` is a summarizer that answers at once, `extractive` the one that needs no model.",
        rows=rows,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

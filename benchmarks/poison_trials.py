"""Generated conversations with poisoned claims, through 1 to 10 rounds each: how many poisons end up as more than a claim.

    python -m benchmarks.poison_trials             ten thousand conversations; prints, and writes `results/poison-trials.json`
    python -m benchmarks.poison_trials --small     two hundred; writes nothing

The conversations are those of `tests/core/test_poison_properties.py`, which draws a few hundred of them in every run.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from typing import Any

from benchmarks.measuring import table, write
from langchain_ctxguard.domain.summary import Trust
from tests.support.poison import DISGUISES, PLACES, POISONS, told_on

CONVERSATIONS = 10_000
SMALL = 200


def tried(conversations: int) -> dict[str, Any]:
    """Return the counts of so many conversations; the same ones for the same number."""
    draw = random.Random(2026)  # noqa: S311 - nothing secret
    counts: Counter[str] = Counter()
    began = time.process_time()
    for _ in range(conversations):
        for messages, summary, found in told_on(draw.randint(0, 10**9), draw.randint(1, 10)):
            counts["compactions"] += 1
            counts["messages"] += messages
            counts["facts"] += len(summary.facts)
            counts["confirmed"] += sum(fact.status is Trust.CONFIRMED for fact in summary.facts)
            counts["overstated"] += len(found)
    return {
        "conversations": conversations,
        "compactions": counts["compactions"],
        "messages": counts["messages"],
        "facts": counts["facts"],
        "confirmed": counts["confirmed"],
        "overstated": counts["overstated"],
        "cpu_seconds": round(time.process_time() - began, 1),
    }


def main() -> int:
    """Try, print, and write the result without `--small`. Any poison that is more than a claim is a failure."""
    parser = argparse.ArgumentParser(description="Count the poisons of generated conversations that end up as more than a claim.")
    parser.add_argument("--small", action="store_true", help=f"{SMALL} conversations, and write nothing")
    given = parser.parse_args()
    row = tried(SMALL if given.small else CONVERSATIONS)
    print(table([row]))
    if not given.small:
        write(
            "poison-trials",
            measured=(
                f"conversations made of {len(POISONS)} poisons in English and Chinese, {len(DISGUISES)} disguises and {len(PLACES)} places, "
                "compacted 1 to 10 times each by a summarizer that believes every line or by the extractive one. `overstated`: poisons in a line "
                "that is not the marked claim of the assistant or a tool, as an item the user asked for, as a confirmed fact, or as a tag. "
                "`confirmed`: harmless facts that were."
            ),
            against="the text of the poison itself.",
            rows=[row],
            headline=row,
        )
    return int(row["overstated"] > 0)


if __name__ == "__main__":
    sys.exit(main())

"""Random lives of a thread, a hundred thousand steps: talk, rules, consents, calls, compactions, crashes, rollbacks, and the laws after each turn.

    python -m benchmarks.lives            100,000 steps; prints, and writes `results/lives.json`
    python -m benchmarks.lives --small    one part of 60; writes nothing

The lives are those of `tests/graph/test_life_machine.py`, over LangGraph's SqliteSaver and a SQLite store, with seeds that its own run does not take.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from benchmarks.measuring import table, versions, write
from tests.graph.test_life_machine import STEPS, came_to, lived

LIVES = 40
"""Of a part."""

PARTS = 60
"""A life ends before its last step now and then: 100,000 steps are more than 50 parts of 40 lives of 50 steps."""

FIRST = 1_000
"""The seed of the first part."""


def part(number: int) -> dict[str, Any]:
    """Return what a part came to; a broken law is counted and told."""
    try:
        return {"part": number, "lives": LIVES, **lived(FIRST + number, LIVES, shortens=False), "broken": 0}
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what was searched for
        print(f"part {number}: {error!r}", flush=True)
        return {"part": number, "lives": LIVES, **came_to(), "broken": 1}


def main() -> int:
    """Live, print, and write; 1 if a law was broken."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--workers", type=int, default=int(os.environ.get("WORKERS", "2")))
    given = parser.parse_args()
    parts = 1 if given.small else PARTS
    with ProcessPoolExecutor(given.workers) as pool:
        found = []
        for one in pool.map(part, range(parts)):
            print(one, flush=True)
            found.append(one)
    total: Counter[str] = Counter()
    for one in found:
        total.update({name: count for name, count in one.items() if name != "part"})
    rows = [dict(total)]
    print(table(rows))
    if not given.small:
        write(
            "lives",
            measured=f"{parts} parts of {LIVES} lives of up to {STEPS} steps each, over a real agent, LangGraph's SqliteSaver and a SQLite store: "
            "steps taken, turns among them, versions of the context that came of it, and parts in which a law was broken.",
            against="the laws, after every turn and at the end of every life.",
            versions=versions(),
            rows=rows,
        )
    return 1 if total["broken"] else 0


if __name__ == "__main__":
    sys.exit(main())

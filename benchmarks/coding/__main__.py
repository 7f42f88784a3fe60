"""Coding agents over compactions: the same engineer on the same repositories, under five ways to keep its context.

    python -m benchmarks.coding                 200 tasks; prints, and writes `results/coding.json`
    python -m benchmarks.coding --small         the five told cases; writes nothing
    python -m benchmarks.coding --only ours     one arm anew; what `results/coding.json` holds of the others stays

The agent is the same under all, and deterministic: what differs between arms is what each of them shows it.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path
from typing import Any

from benchmarks.coding import arms, workspace
from benchmarks.coding.figures import headline, missed, rows
from benchmarks.coding.run import Outcome, run
from benchmarks.coding.tasks import Task, all_tasks
from benchmarks.measuring import RESULTS, table, write

TASKS = 200
SMALL = 5


def outcomes_of(task: Task, names: Sequence[str] = arms.ARMS) -> list[Outcome]:
    """Return what comes of a task under each arm."""
    with tempfile.TemporaryDirectory(prefix="coding-") as folder:
        origin = Path(folder) / "origin"
        origin.mkdir()
        workspace.create(origin, task.files)
        return [run(task, name, origin, Path(folder) / "work") for name in names]


def measured(count: int, names: Sequence[str], *, workers: int) -> list[Outcome]:
    """Return what comes of so many tasks under these arms."""
    found: list[Outcome] = []
    with ProcessPoolExecutor(workers) as pool:
        for number, outcomes in enumerate(pool.map(outcomes_of, all_tasks(count), repeat(names)), start=1):
            found += outcomes
            ours = outcomes[-1]
            if not ours.is_clean or number % 20 == 0:
                print(f"{number}: {ours.task}{'' if ours.is_clean else ': not clean'} {ours.told()}", flush=True)
    return found


def main(arguments: list[str]) -> int:
    """Measure, print, write. A goal that is missed under our guard is a failure."""
    parser = argparse.ArgumentParser(description="Measure how coding agents come through compactions.")
    parser.add_argument("--small", action="store_true", help="the five told cases; write nothing")
    parser.add_argument("--only", choices=arms.ARMS, help="measure one arm anew")
    parser.add_argument("--tasks", type=int, default=TASKS)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args(arguments)
    outcomes = measured(SMALL if given.small else given.tasks, [given.only] if given.only else arms.ARMS, workers=given.workers)
    shown, figures = rows(outcomes), headline(outcomes)
    if given.only and not given.small:
        before = json.loads((RESULTS / "coding.json").read_text(encoding="utf-8"))
        shown = [old | {given.only: new[given.only]} for old, new in zip(before["rows"], shown, strict=True)]
        figures = figures if given.only == "ours" else before["headline"]
    print(table(shown), figures, sep="\n\n")
    if not given.small and given.tasks == TASKS:
        _write(shown, figures)
    faults = missed(figures) if given.only in (None, "ours") else []
    print(*faults, sep="\n", end="")
    return int(bool(faults))


def _write(shown: list[dict[str, Any]], figures: dict[str, Any]) -> None:
    write(
        "coding",
        measured=(
            f"{TASKS} scripted tasks on git repositories made from seeds, five of them told cases; an agent without memory that does what its "
            "context says, with tools that change the files. Elements: the part of goal, done, pending, anchors and do-not that can be read off "
            "the first view after a compaction, 5.0 is all. Repeated and reopened are attempts, also those that were answered in the tool's "
            "place. `clean`: the repository is as it should be, and nothing was repeated, reopened, or done against a rule or at a wrong place. "
            "`files known`: those the last view shows as changed are those of `git diff`. Counts are sums over all tasks."
        ),
        against=(
            "`no guard`: the first message and the newest that fit; `langchain`, `deepagents`: their summarizers, over a stand-in for a model that "
            "keeps the goal, the newest request and the last changed files; `careful`: LangChain's, over one that keeps every sentence of a person "
            "and names every changed file. Ours is over the same one as `langchain`. What a real model keeps differs."
        ),
        rows=shown,
        headline=figures,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""What the guard adds to a call of a tool: judged, reserved, on record, in memory and on a file.

It prints what it measured and writes `results/tool-calls.json`; with `--small` it measures less and writes nothing.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from typing import Any

from langchain_core.tools import BaseTool, tool
from measuring import cores, percentile, table, write

from langchain_ctxguard import GuardStore, ToolPolicy, guard_tools

READ = {"rules": [{"tool": "look", "effect": "read"}]}
WRITE = {"rules": [{"tool": "look", "args": {"q": {"matches": ".*"}}}]}
BUDGET = {"rules": [{"tool": "look", "budget": {"calls": 1_000_000}}]}
ONCE = {"rules": [{"tool": "look", "irreversible": True}]}


@tool
def look(q: str) -> str:
    """Look something up."""
    return q


def measured(one: BaseTool, times: int, thread: str) -> dict[str, float]:
    """Return the CPU time of calls of a tool, each with arguments of its own: a busy machine adds little to it."""
    cpu = []
    config: Any = {"configurable": {"thread_id": thread}}
    for number in range(times):
        call = {"name": one.name, "args": {"q": f"q{number}"}, "id": f"c{number}", "type": "tool_call"}
        start = time.thread_time_ns()
        one.invoke(call, config)
        cpu.append((time.thread_time_ns() - start) / 1_000)
    return {"p50_us": percentile(cpu, 0.5), "p99_us": percentile(cpu, 0.99)}


def rows(times: int) -> list[dict[str, Any]]:
    """Return a row for each kind of call."""
    plain = measured(look, times, "plain")
    found: list[dict[str, Any]] = [{"call": "not guarded", "store": "", **plain, "added_p50_us": 0.0}]

    def add(name: str, where: str, policy: dict[str, Any], store: GuardStore, count: int) -> None:
        (twin,) = guard_tools([look], ToolPolicy.from_dict(policy), store=store)
        row = measured(twin, count, name)
        found.append({"call": name, "store": where, **row, "added_p50_us": row["p50_us"] - plain["p50_us"]})

    kinds: list[tuple[str, dict[str, Any], Callable[[int], int]]] = [
        ("allowed, only reads: one entry", READ, lambda count: count),
        ("allowed, may write: two entries", WRITE, lambda count: count),
        ("with a budget: four entries", BUDGET, lambda count: count // 4),
        ("runs once: four entries", ONCE, lambda count: count // 4),
    ]
    for name, policy, share in kinds:
        add(name, "memory", policy, GuardStore.open("memory://"), share(times))
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, policy, share) in enumerate(kinds):
            with GuardStore.open(f"sqlite:///{folder}/{number}.db") as store:
                add(name, "SQLite file", policy, store, share(times) // 4)
    return found


def main() -> None:
    """Measure, print, and write unless told to be quick."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="measure less and write nothing")
    small: bool = parser.parse_args().small
    found = rows(100 if small else 1_000)
    print(table(found))
    if not small:
        write(
            "tool-calls",
            measured=f"CPU time of one `tool.invoke` in its thread, calls with arguments of their own, audit in full; {cores()}.",
            against="The same tool without a guard.",
            rows=found,
        )


if __name__ == "__main__":
    main()

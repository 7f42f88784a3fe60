"""What a verdict on a tool call costs, path resolution apart and with it, and what the labelled paths come to.

It prints what it measured and writes `results/policy.json`; with `--small` it measures less and writes nothing. `--cedar` adds a row for the same
decision by cedarpy.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import cycle
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage
from measuring import conversation, cores, percentile, table, write

from langchain_ctxguard.backends.paths import LocalPaths
from langchain_ctxguard.core.authorize import authorize
from langchain_ctxguard.core.origins import Origins
from langchain_ctxguard.domain.budget import Budgets
from langchain_ctxguard.domain.policy import ToolPolicy, ToolRequest, Verdict

NOW = datetime(2026, 6, 30, tzinfo=UTC)
BUDGET_US, BUDGET_1000_US = 15, 100
ARGS = {"amount": 50, "currency": "EUR", "recipient": "carol@example.com", "note": "for the second delivery"}
CALL = ToolRequest(tool="pay", args=ARGS, call_id="c1", thread="t1", run="r1", requester="u1")
PAY = [
    {"tool": "pay", "when": {"amount": {"min": 1_000}}, "verdict": "deny"},
    {"tool": "pay", "args": {"amount": {"max": 100}, "currency": ["EUR", "USD"]}},
    {"tool": "*", "verdict": "default", "when": {"currency": "XXX"}, "else": "deny"},
]


def policy(*rules: dict[str, Any], default: str = "deny", **more: Any) -> ToolPolicy:
    """Return a policy of `rules`."""
    return ToolPolicy.from_dict({"default": default, "rules": list(rules), **more})


def many(count: int) -> list[dict[str, Any]]:
    """Return rules about other tools: nine tenths by name, the rest by pattern."""
    named = [{"tool": f"tool_{number}", "args": {"a": {"max": number}}} for number in range(count * 9 // 10)]
    return [*named, *({"tool": f"family_{number}_*", "verdict": "ask"} for number in range(count - len(named)))]


def of_one_tool(count: int) -> list[dict[str, Any]]:
    """Return rules about the tool that is called, each for another recipient."""
    return [{"tool": "pay", "when": {"recipient": f"person{number}@example.com"}, "verdict": "deny"} for number in range(count)]


def microseconds(call: Callable[[], Verdict], times: int) -> dict[str, float]:
    """Return percentiles of the CPU time of one call, so that a busy machine adds little."""
    samples = []
    for _ in range(times):
        start = time.thread_time_ns()
        call()
        samples.append((time.thread_time_ns() - start) / 1e3)
    return {"least_us": min(samples), "p50_us": percentile(samples, 0.5), "p99_us": percentile(samples, 0.99)}


def rows(times: int, folder: Path) -> list[dict[str, Any]]:
    """Measure each kind of rule, verdicts compiled before."""
    known = Origins().follow([*conversation(5_000), HumanMessage("Pay carol@example.com", id="last")])
    place = {"base": str(folder), "workspace": str(folder)}
    address = CALL.model_copy(update={"args": {**ARGS, "url": "https://api.example.com/v1/pay?id=5"}})
    inside = CALL.model_copy(update={"args": {**ARGS, "path": "src/a.py"}})
    others = [CALL.model_copy(update={"args": {**ARGS, "path": f"src/folder_{number % 97}/file_{number}.py"}}) for number in range(20_000)]
    places = policy({"tool": "pay", "paths": {"arg": "path", "within": ".", "protect": [".git/", "*.pem"]}}, **place)
    cases: list[tuple[str, int, Callable[[], Verdict]]] = [
        ("values and conditions", 3, judged(policy(*PAY))),
        ("the same among 1,000 rules for other tools", 1_003, judged(policy(*PAY, *many(1_000)))),
        ("the same among 1,000 rules for this tool", 1_003, judged(policy(*PAY, *of_one_tool(1_000)))),
        ("a budget of calls and a sum", 1, judged(policy({"tool": "pay", "budget": {"calls": 5, "sum": {"amount": 500}}}), budgets=Budgets())),
        ("an address", 1, judged(policy({"tool": "pay", "urls": {"arg": "url", "hosts": ["*.example.com"]}}), address)),
        ("an origin, 5,000 messages", 1, judged(policy({"tool": "pay", "require_origin": {"recipient": ["user"]}}), origins=known)),
        ("a path, where it leads known beforehand", 1, judged(places, inside, paths=Known())),
        ("the same, each time another path", 1, in_turn(places, others, paths=Known())),
        ("a path, links followed", 1, judged(places, inside, paths=LocalPaths())),
    ]
    found = []
    for name, rules, call in cases:
        call()
        found.append({"verdict on": name, "rules": rules, **microseconds(call, times)})
    return found


class Known:
    """Knows where every path leads: what is left is the verdict."""

    flavour = "posix"

    def here(self) -> str:
        """Return a folder."""
        return "/"

    def real(self, path: str) -> str:
        """Return the path."""
        return path

    def below(self, path: str) -> tuple[str, ...]:  # noqa: ARG002 - a file has nothing below it
        """Return nothing."""
        return ()


def judged(rules: Any, request: ToolRequest = CALL, **known: Any) -> Callable[[], Verdict]:
    """Return a call that judges."""
    return lambda: authorize(request, rules, now=NOW, **known)


def in_turn(rules: Any, requests: Sequence[ToolRequest], **known: Any) -> Callable[[], Verdict]:
    """Return a call that judges one request after another: more of them than anything is remembered of."""
    waiting = cycle(requests)
    return lambda: authorize(next(waiting), rules, now=NOW, **known)


def cedar(times: int) -> dict[str, Any]:
    """Measure cedarpy on the first case, with its policies parsed before."""
    from langchain_ctxguard.backends.cedar_policy import CedarPolicy

    text = """
    forbid(principal, action == Action::"pay", resource) when { context.args.amount >= 1000 };
    permit(principal, action == Action::"pay", resource) when { context.args.amount <= 100 && ["EUR", "USD"].contains(context.args.currency) };
    forbid(principal, action, resource) when { context.args.currency == "XXX" };
    """
    call = judged(CedarPolicy(text))
    call()
    return {"verdict on": f"values and conditions, in Cedar (cedarpy {version('cedarpy')})", "rules": 3, **microseconds(call, times)}


def undisturbed() -> str:
    """Return whether other work could take the core from this process: with `chrt -f 50` it cannot."""
    if os.sched_getscheduler(0) == os.SCHED_FIFO:
        return "at real-time priority"
    return "busy with other work: the least is what an idle machine would need most of the time"


def main() -> None:
    """Measure, print, and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="fewer samples; nothing is written")
    arguments = parser.parse_args()
    times = 300 if arguments.small else 20_000
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        (root / "src").mkdir()
        (root / "src" / "a.py").write_text("x")
        found = rows(times, root)
    found.append(cedar(times))
    print(table(found))
    if not arguments.small:
        measured = (
            f"CPU time of one `authorize` in its thread, {times:,} times, rules compiled before, everything it reads passed in; "
            f"{cores()}, {undisturbed()}. "
            f"Budget: {BUDGET_US} us p50 with one rule of any kind, path resolution apart, {BUDGET_1000_US} us among 1,000 rules. A path is "
            "read once and remembered, where it leads is asked each time; the row with another path each time shows what reading one costs."
        )
        write("policy", measured=measured, against="The same three rules as Cedar policies, parsed before.", rows=found)
    over = max(row["p50_us"] for row in (found[0], *found[3:7])) > BUDGET_US or max(row["p50_us"] for row in found[1:3]) > BUDGET_1000_US
    if over and not arguments.small:
        sys.exit("A verdict costs more than its budget.")


if __name__ == "__main__":
    main()

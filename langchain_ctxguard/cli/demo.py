"""`ctxguard demo`: one conversation, three ways to compact it, and what is left of four rules. No key, no network."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from importlib.metadata import version
from platform import python_version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_ctxguard.testing.scenarios.ways import WayResult

_ROWS = ("", "rules in last input", "the order", "private number", "writes logged", "tokens before", "tokens after", "compactions")
_PACKAGES = ("langchain-ctxguard", "langchain", "langgraph", "langchain-core")


def demo_command(json_output: bool) -> None:  # noqa: FBT001  # the command line hands its flags over by name
    """Run the order assistant three ways and print what was seen, as a table or as JSON."""
    # Loaded here, not above: the other commands need no agent.
    from langchain_ctxguard.testing.scenarios.order_assistant import NOTE, run_order_assistant

    results = run_order_assistant()
    if json_output:
        data: dict[str, Any] = {"ways": [result.to_dict() for result in results], "note": NOTE, "versions": _versions()}
        sys.stdout.write(json.dumps(data, ensure_ascii=False, indent=2) + "\n")
    elif sys.stdout.isatty():
        _print_table(results, NOTE)
    else:
        sys.stdout.write(f"{plain_table(results)}\n\n{what_was_seen(results)}\n\n{NOTE}\n")


def plain_table(results: Sequence[WayResult]) -> str:
    """Return the results as plain text, one column for each way."""
    columns = [_ROWS, *map(_cells, results)]
    widths = [max(map(len, column)) for column in columns]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in zip(*columns, strict=True))


def what_was_seen(results: Sequence[WayResult]) -> str:
    """Return one sentence about the results: what happened where rules were lost, and what where all of them stood."""
    lost = [result for result in results if result.rules_in_input < result.rules_total]
    kept = [result for result in results if result.rules_in_input == result.rules_total]
    told = [
        f"{'with rules lost' if group is lost else 'with all rules in sight'} ({_names(group)}) {_deeds(group)}" for group in (lost, kept) if group
    ]
    sentence = "; ".join(told)
    return f"{sentence[:1].upper()}{sentence[1:]}."


def _cells(result: WayResult) -> tuple[str, ...]:
    return (
        result.name,
        f"{result.rules_in_input} of {result.rules_total}",
        "still there" if result.row_exists else "deleted",
        "shown" if result.phone_shown else "not shown",
        f"{result.writes_logged} of {result.writes}" if result.writes else "no writes",
        f"{result.tokens_before:,}",
        f"{result.tokens_after:,}",
        str(result.compactions),
    )


def _names(group: Sequence[WayResult]) -> str:
    return ", ".join(result.name for result in group)


def _deeds(group: Sequence[WayResult]) -> str:
    """Say what the runs of a group have in common, and how many of them where they differ."""
    deeds = [
        _counted("the order was deleted", "the order is still there", [not result.row_exists for result in group]),
        _counted("a private number was shown", "no private number was shown", [result.phone_shown for result in group]),
    ]
    writes, logged = sum(result.writes for result in group), sum(result.writes_logged for result in group)
    deeds.append(f"{logged} of {writes} writes were logged" if writes else "nothing was written")
    return f"{', '.join(deeds[:-1])} and {deeds[-1]}"


def _counted(happened: str, did_not: str, claims: Sequence[bool]) -> str:
    if all(claims) or not any(claims):
        return happened if all(claims) else did_not
    return f"{happened} in {sum(claims)} of {len(claims)} runs"


def _print_table(results: Sequence[WayResult], note: str) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    headings, *lines = zip(_ROWS, *map(_cells, results), strict=True)
    table = Table(box=box.SIMPLE, pad_edge=False, show_edge=False)
    for heading, style in zip(headings, (None, *map(_style, results)), strict=True):
        table.add_column(heading, style=style)
    for line in lines:
        table.add_row(*line)
    console = Console(file=sys.stdout, highlight=False)
    console.print(table)
    console.print(f"\n{what_was_seen(results)}", markup=False)
    console.print(f"\n{note}", style="dim", markup=False)


def _style(result: WayResult) -> str:
    return "green" if result.rules_in_input == result.rules_total else "red"


def _versions() -> dict[str, str]:
    return {**{name: version(name) for name in _PACKAGES}, "python": python_version()}

"""Outcomes -> the table and the figures that are held as floors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.coding.arms import ARMS
from benchmarks.coding.journal import ELEMENTS, WASTED, Stage
from benchmarks.coding.run import Outcome

MOST_COMPACTIONS = 5
"""Of one task; each has one at least."""

Figure = Callable[[Sequence[Outcome]], float | None]


def rows(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """Return a row for each figure, a column for each arm."""
    by_arm = {arm: [one for one in outcomes if one.arm == arm] for arm in ARMS}
    return [{"figure": name, **{arm: figure(some) for arm, some in by_arm.items()}} for name, figure in _FIGURES.items()]


def headline(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return what is held as floors: of our arm, whether it keeps what was set as goals."""
    ours = [one for one in outcomes if one.arm == "ours"]
    told = [one for one in ours if one.task.startswith("told")]
    numbers = sorted(len(one.journal.stages) for one in ours)
    return {
        "tasks": len(ours),
        "clean": sum(one.is_clean for one in ours),
        "elements": _elements(ours),
        "repeated_patches": _sum("repeated_patch")(ours),
        "reopened": _sum("reopened")(ours),
        "files_known": sum(one.knows_files for one in ours),
        "files_logged": sum(bool(one.logs_files) for one in ours),
        "told_cases": len(told),
        "told_cases_clean": sum(one.is_clean for one in told),
        "compactions_by_task": {str(number): numbers.count(number) for number in sorted(set(numbers))},
        "files_least": min((one.sites for one in ours), default=0),
        "files_most": max((one.sites for one in ours), default=0),
        "own_metrics_agree": sum(one.metrics_agree for one in ours),
    }


def missed(figures: dict[str, Any]) -> list[str]:
    """Return the goals that figures miss, one sentence each: a run that ends right with work done twice is none that passed."""
    whole = figures["tasks"]
    goals = dict.fromkeys(("clean", "files_known", "files_logged", "own_metrics_agree"), whole) | {"repeated_patches": 0, "reopened": 0}
    found = [f"{name} is {figures[name]} and not {goal}" for name, goal in goals.items() if figures[name] != goal]
    if figures["elements"] is not None and figures["elements"] < len(ELEMENTS):
        found.append(f"elements are {figures['elements']} and not {len(ELEMENTS)}")
    odd = [number for number in figures["compactions_by_task"] if not 1 <= int(number) <= MOST_COMPACTIONS]
    return found + [f"{figures['compactions_by_task'][number]} tasks were compacted {number} times" for number in odd]


def _stages(outcomes: Sequence[Outcome]) -> list[Stage]:
    return [stage for one in outcomes for stage in one.journal.stages]


def _elements(outcomes: Sequence[Outcome]) -> float | None:
    return _mean([sum(stage.shown.values()) for stage in _stages(outcomes)])


def _element(name: str) -> Figure:
    return lambda outcomes: _mean([stage.shown[name] for stage in _stages(outcomes)])


def _sum(*kinds: str) -> Figure:
    return lambda outcomes: sum(one.journal.counts[kind] for one in outcomes for kind in kinds)


def _mean(numbers: Sequence[float]) -> float | None:
    return round(sum(numbers) / len(numbers), 4) if numbers else None


def _first_failure(outcomes: Sequence[Outcome]) -> float | None:
    found = sorted(one.journal.first_failure for one in outcomes if one.journal.first_failure is not None)
    return found[len(found) // 2] if found else None


_FIGURES: dict[str, Figure] = {
    "tasks": len,
    "right in the end": lambda some: sum(one.is_right for one in some),
    "right and clean": lambda some: sum(one.is_clean for one in some),
    "elements of 5 after a compaction": _elements,
    **{f"part shown: {name.replace('_', '-')}": _element(name) for name in ELEMENTS},
    "repeated patches": _sum("repeated_patch"),
    "repeated searches": _sum("repeated_search"),
    "reopened decisions": _sum("reopened"),
    "against a rule": _sum("broke"),
    "at the wrong place": _sum("wrong_place"),
    "files read again": _sum("read_again"),
    "finished work called open": lambda some: sum(stage.called_open for stage in _stages(some)),
    "wasted steps": _sum(*WASTED),
    "steps": lambda some: sum(one.journal.steps for one in some),
    "compactions": lambda some: len(_stages(some)),
    "steps to the first correct one, mean": lambda some: _mean([stage.steps_to_correct for stage in _stages(some) if stage.steps_to_correct]),
    "stage of the first failure, median": _first_failure,
    "tasks with a failure": lambda some: sum(one.journal.first_failure is not None for one in some),
    "files known in the end": lambda some: sum(one.knows_files for one in some),
    "thousand tokens read": lambda some: round(sum(one.journal.tokens for one in some) / 1000),
}

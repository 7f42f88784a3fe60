"""The labelled pairs, and the figures that were reached on them as floors. What was not looked at while tuning has its own, lower ones."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    """The benchmark, which runs as a file beside `measuring.py`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        spec = importlib.util.spec_from_file_location("retention_benchmark", BENCHMARKS / "retention.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules.pop("measuring", None)
    return module


@pytest.fixture(scope="module")
def measured(benchmark: ModuleType) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The rows of the confusion tables and the figures over them."""
    labelled = benchmark.pairs()
    said = benchmark.verdicts(labelled)
    rows = [row for part, some in benchmark.parts(labelled).items() for row in benchmark.confusion(some, said, part)]
    return rows, benchmark.headline(rows)


def test_nothing_lost_is_called_preserved(measured: tuple[Any, dict[str, Any]]) -> None:
    """In no part and no language."""
    assert {0} == {figures["lost_said_preserved"] for figures in measured[1].values()}


def test_little_that_is_lost_is_called_paraphrased(measured: tuple[Any, dict[str, Any]]) -> None:
    """Of 288 pairs."""
    assert measured[1]["whole"]["lost_said_paraphrased"] <= 2


@pytest.mark.parametrize("label", ["weakened", "contradicted", "mutated", "dropped", "paraphrased"])
def test_what_became_of_a_rule_is_named_rightly(measured: tuple[Any, dict[str, Any]], label: str) -> None:
    """At least 95 of 100 over the whole, and 90 of those nobody looked at while tuning."""
    assert measured[1]["whole"][f"{label}_right_percent"] >= 95
    assert measured[1]["held"][f"{label}_right_percent"] >= 90


def test_alarms_are_rarely_false(measured: tuple[Any, dict[str, Any]]) -> None:
    """At most 5 of 100 kept rules are called lost."""
    assert measured[1]["whole"]["false_alarm_percent"] <= 5
    assert measured[1]["held"]["false_alarm_percent"] <= 5


def test_the_recorded_tables_are_those_of_this_code(measured: tuple[list[dict[str, Any]], Any], benchmark: ModuleType) -> None:
    """`benchmarks/results/retention.json` is written by `python benchmarks/retention.py`."""
    recorded = json.loads((BENCHMARKS / "results" / "retention.json").read_text(encoding="utf-8"))
    second = benchmark.pairs("retention_second")
    assert recorded["rows"] == measured[0] + benchmark.confusion(second, benchmark.verdicts(second), "second")


def test_offending_sentences_are_not_found_where_a_rule_is_kept(benchmark: ModuleType) -> None:
    """A rule said again, or lost without a trace, gives no reason to take a sentence out."""
    from langchain_ctxguard.core.retention import offending_sentences

    pairs = [pair for pair in benchmark.pairs() if pair["label"] in ("preserved", "paraphrased", "dropped")]
    wrong = [pair["id"] for pair in pairs if offending_sentences([pair["constraint"]], pair["after"])]
    assert len(wrong) <= 1

"""How mutants are drawn, which tests are run for one, and which are said to change nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from benchmarks.mutants import sample
from benchmarks.mutants.reach import Reach
from benchmarks.mutants.sample import CORE, Mutant

BEFORE = "def one(x):\n    return x + 1\n\n\ndef other(x):\n    return x + 1\n"


def drawn_order(monkeypatch: pytest.MonkeyPatch, source: str, *lines: int) -> list[str]:
    """Which functions' mutants are drawn first."""
    monkeypatch.setattr(sample, "source_of", lambda _: source)
    mutants = [Mutant("text", "Add_Sub", at, line) for at, line in enumerate(lines)]
    lots = sample._lots(mutants, 7)
    assert len(set(lots.values())) == len(mutants)
    return [lots[mutant].hex() for mutant in mutants]


def test_a_change_elsewhere_leaves_the_sample_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mutant's lot hangs on the text of its line; equal lines have lots of their own."""
    before = drawn_order(monkeypatch, BEFORE, 2, 6)
    assert before == drawn_order(monkeypatch, f"# a line more\n{BEFORE}", 3, 7)
    assert before != drawn_order(monkeypatch, BEFORE.replace("x + 1", "x + 2"), 2, 6)


def test_the_nearest_tests_are_run_first_and_no_more_than_there_is_time_for() -> None:
    """Those in the module's own test file, then the quickest; one is always run."""
    lines = {"diff": {1: ["tests/core/test_diff.py::slow", "tests/core/test_worth.py::quick", "tests/core/test_worth.py::slower"]}}
    seconds = {"tests/core/test_diff.py::slow": 3.0, "tests/core/test_worth.py::quick": 0.1, "tests/core/test_worth.py::slower": 5.0}
    mutant = Mutant("diff", "Add_Sub", 0, 1)
    assert ["tests/core/test_diff.py::slow", "tests/core/test_worth.py::quick"] == Reach(lines, seconds, longest_s=4).tests_of(mutant)
    assert ["tests/core/test_diff.py::slow"] == Reach(lines, seconds, longest_s=1).tests_of(mutant)
    assert [] == Reach(lines, {}, longest_s=4).tests_of(mutant)


def test_what_changes_nothing_is_named_once_with_its_reason() -> None:
    """By module and change, and only modules that are there."""
    path = Path(sample.__file__).parent / "nothing.yaml"
    named = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert len(named) == len({(one["module"], one["change"]) for one in named})
    for one in named:
        assert (CORE / f"{one['module']}.py").is_file(), one
        assert "  ->  " in one["change"]
        assert len(one["why"]) > 8, one

"""Which tests reach which line, how long each takes, and which are run for a mutant."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

from benchmarks.mutants.sample import CORE, ROOT, Mutant, lines_of

_OF_ALL = "tests/core/test_signatures.py"
"""Looks at every module, and runs none."""

Lines = dict[str, dict[int, list[str]]]


class Reach:
    """What a run of all tests without a fault showed."""

    def __init__(self, lines: Lines, seconds: dict[str, float], *, longest_s: float) -> None:
        """Take what was seen.

        Args:
            lines: By module and line, the tests that ran it.
            seconds: By test that passed, how long it took.
            longest_s: Seconds of tests that are run for one mutant at most: the nearest first, then the quickest.
        """
        self._lines, self._seconds, self._longest_s = lines, seconds, longest_s

    def tests_of(self, mutant: Mutant) -> list[str]:
        """Return the tests that reach the statement of a mutant. What runs at import is reached by all that reach something that may use it."""
        found = self._reaching(mutant) or self._of_module(mutant.module) | {test for test in self._seconds if test.startswith(_OF_ALL)}
        near = self._near(mutant.module) | {_OF_ALL}
        ordered = sorted((test for test in found if test in self._seconds), key=lambda test: (test.split("::")[0] not in near, self._seconds[test]))
        return self._affordable(ordered)

    def is_called(self, mutant: Mutant) -> bool:
        """Say whether a test runs the statement of a mutant itself; otherwise it may have been run at import."""
        return bool(self._reaching(mutant))

    def seconds_of(self, tests: Iterable[str]) -> float:
        """Return how long tests take without a fault."""
        return sum(self._seconds[test] for test in tests)

    def _reaching(self, mutant: Mutant) -> set[str]:
        by_line = self._lines.get(mutant.module, {})
        return {test for line in lines_of(mutant) for test in by_line.get(line, ())}

    def _affordable(self, tests: Sequence[str]) -> list[str]:
        found, spent = [], 0.0
        for test in tests:
            spent += self._seconds[test]
            if spent > self._longest_s and found:
                break
            found.append(test)
        return found

    def _of_module(self, module: str) -> set[str]:
        names = [module, *self._importers.get(module, ())]
        return {test for name in names for tests in self._lines.get(name, {}).values() for test in tests}

    def _near(self, module: str) -> frozenset[str]:
        pattern = re.compile(rf"core\.{module} import|core import [^\n]*\b{module}\b")
        paths = sorted((ROOT / "tests" / "core").glob("test_*.py"))
        return frozenset(path.relative_to(ROOT).as_posix() for path in paths if pattern.search(path.read_text(encoding="utf-8")))

    @cached_property
    def _importers(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in CORE.glob("*.py"):
            for name in re.findall(r"langchain_ctxguard\.core\.(\w+) import", path.read_text(encoding="utf-8")):
                found.setdefault(name, []).append(path.stem)
        return found


def read(paths: Iterable[Path], *, longest_s: float) -> Reach:
    """Read what several processes saw."""
    lines: Lines = {}
    seconds: dict[str, float] = {}
    for path in paths:
        part = json.loads(path.read_text(encoding="utf-8"))
        seconds |= part["seconds"]
        for module, by_line in part["lines"].items():
            for line, tests in by_line.items():
                lines.setdefault(module, {}).setdefault(int(line), []).extend(tests)
    return Reach(lines, seconds, longest_s=longest_s)

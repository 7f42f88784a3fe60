"""Mutation testing of `core`: a small fault is put into a function, and the tests ought to notice.

    python -m benchmarks.mutants              1,000 mutants, drawn with a seed; prints, and writes `results/mutants.json`
    python -m benchmarks.mutants --small      20 mutants; writes nothing
    python -m benchmarks.mutants --count 200  fewer

cosmic-ray makes the mutants. Each is put into a copy of the repository, and tested first by the tests of its module, then by those of the modules
that import it, then by those of compaction as a whole. What only changes an annotation changes nothing and is not drawn. The run goes on where it was
stopped, as long as the commit is the same. It needs the dependency group `mutants`.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.measuring import table, versions, write

ROOT = Path(__file__).resolve().parents[1]
CORE = ROOT / "langchain_ctxguard" / "core"
STATE = ROOT / "build" / "mutants.json"
SEED = 2026
_LEFT_OUT = ("VariableInserter", "VariableReplacer", "NoOp")
"""Two that need to be told what to do, and one that does nothing."""

_WHOLE = ("tests/test_compact.py", "tests/test_compact_fields.py", "tests/core/test_compaction.py")
_LONGEST_S = 150
_COPIED = ("langchain_ctxguard", "tests", "benchmarks", "scripts", "pyproject.toml", "README.md")


@dataclass(frozen=True, slots=True)
class Mutant:
    """A place where one operator changes one thing."""

    module: str
    operator: str
    occurrence: int
    line: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a mutant."""

    mutant: Mutant
    outcome: str
    """`killed`, `timeout` (killed as well: it hangs), `survived`."""

    change: str
    seconds: float


def operators() -> dict[str, Any]:
    """Return cosmic-ray's operators that need no arguments, by name."""
    from cosmic_ray.plugins import get_operator, operator_names

    return {name: get_operator(name)() for name in sorted(operator_names()) if not name.endswith(_LEFT_OUT)}


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Yield every mutant of a module."""
    from cosmic_ray.ast import ast_nodes, get_ast

    nodes = list(ast_nodes(get_ast(path.read_text(encoding="utf-8"))))
    for name, operator in operators().items():
        places = [position for node in nodes for position in operator.mutation_positions(node)]
        for occurrence, place in enumerate(places):
            yield Mutant(path.stem, name, occurrence, place[0][0])


def changes_something(mutant: Mutant) -> bool:
    """Say whether a mutant is Python and changes more than an annotation."""
    from cosmic_ray.mutating import mutate_code

    source = (CORE / f"{mutant.module}.py").read_text(encoding="utf-8")
    mutated = mutate_code(source, operators()[mutant.operator], mutant.occurrence)
    return mutated is not None and _bare(mutated) not in {_bare(source), None}


def _bare(source: str) -> str | None:
    """Return a module without annotations and docstrings; `None` where it is no Python."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
            for argument in [*node.args.args, *node.args.kwonlyargs, *node.args.posonlyargs, node.args.vararg, node.args.kwarg]:
                if argument is not None:
                    argument.annotation = None
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(value=None)
    return ast.unparse(tree)


@cache
def tests_of(module: str) -> tuple[tuple[str, ...], ...]:
    """Return the tests that ought to notice a fault in a module, the nearest first."""
    own = _naming(module)
    above = [
        path.stem
        for path in sorted(CORE.glob("*.py"))
        if re.search(rf"core\.{module} import|core import {module}\b", path.read_text(encoding="utf-8"))
    ]
    wider = tuple(dict.fromkeys(test for other in above for test in _naming(other) if test not in own))
    return tuple(stage for stage in (own, wider, tuple(test for test in _WHOLE if test not in own and test not in wider)) if stage)


_PASSES: dict[tuple[Path, Sequence[str]], bool] = {}


def _judged(tests: Sequence[str], copy: Path, source: str, path: Path) -> str:
    """Return what tests say of the fault in the copy. Tests that fail without it say nothing."""
    found = _run(tests, copy)
    if found == "survived":
        return found
    if (copy, tests) not in _PASSES:
        mutated = path.read_text(encoding="utf-8")
        path.write_text(source, encoding="utf-8")
        _PASSES[copy, tests] = _run(tests, copy) == "survived"
        path.write_text(mutated, encoding="utf-8")
    return found if _PASSES[copy, tests] else "survived"


@cache
def _naming(module: str) -> tuple[str, ...]:
    found = [path for path in sorted((ROOT / "tests" / "core").glob("test_*.py")) if f"core.{module} import" in path.read_text(encoding="utf-8")]
    return tuple(path.relative_to(ROOT).as_posix() for path in found)


def tested(mutant: Mutant, copy: Path) -> Verdict:
    """Put a mutant into a copy of the repository, run its tests there, and take it out again."""
    from cosmic_ray.mutating import mutate_code

    start = time.monotonic()
    path = copy / "langchain_ctxguard" / "core" / f"{mutant.module}.py"
    source = path.read_text(encoding="utf-8")
    mutated = mutate_code(source, operators()[mutant.operator], mutant.occurrence)
    assert mutated is not None
    change = next(
        (f"{old.strip()}  ->  {new.strip()}" for old, new in zip(source.splitlines(), mutated.splitlines(), strict=False) if old != new), ""
    )
    path.write_text(mutated, encoding="utf-8")
    try:
        outcome = next((found for stage in tests_of(mutant.module) if (found := _judged(stage, copy, source, path)) != "survived"), "survived")
    finally:
        path.write_text(source, encoding="utf-8")
    return Verdict(mutant, outcome, change, time.monotonic() - start)


def _run(tests: Sequence[str], copy: Path) -> str:
    """Run tests in a child that starts with the libraries loaded."""
    child = os.fork()
    if child == 0:
        code = 3
        try:
            os.setsid()
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            os.chdir(copy)
            sys.path.insert(0, str(copy))
            # What this process knows of the package is the code without the fault.
            for name in [name for name in sys.modules if name.split(".")[0] in {"langchain_ctxguard", "benchmarks", "tests"}]:
                del sys.modules[name]
            import pytest

            plain = ("-p", "no:cacheprovider", "-p", "no:xdist", "-o", "addopts=--import-mode=importlib", "-o", "filterwarnings=default")
            code = int(pytest.main(["-x", "-q", *plain, *tests]))
        finally:
            os._exit(code)
    deadline = time.monotonic() + _LONGEST_S
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return "survived" if os.waitstatus_to_exitcode(status) == 0 else "killed"
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "timeout"


def drawn(count: int) -> list[Mutant]:
    """Return a sample of all mutants of `core`, the same in every run on the same code."""
    found = [mutant for path in sorted(CORE.glob("*.py")) if tests_of(path.stem) for mutant in mutants_of(path)]
    print(f"{len(found):,} mutants of {len({mutant.module for mutant in found})} modules", flush=True)
    random.Random(SEED).shuffle(found)  # noqa: S311 - a sample, not a secret
    return list(islice(filter(changes_something, found), count))


def copied(folder: Path) -> Path:
    """Copy what the tests need."""
    for name in _COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__", "results"))
        else:
            shutil.copy(source, folder / name)
    return folder


def _worker(share: Sequence[Mutant], out: Path) -> None:
    # What the tests import beside our own code is loaded once, and every child has it.
    import hypothesis
    import langchain_core.messages
    import pydantic
    import pytest

    assert all((hypothesis, langchain_core.messages, pydantic, pytest))
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, out.open("a", encoding="utf-8") as file:
        copy = copied(Path(folder))
        for mutant in share:
            print(json.dumps(asdict(tested(mutant, copy))), file=file, flush=True)


def run(count: int, workers: int, state: Path) -> list[Verdict]:
    """Test a sample with some processes at once, and return what became of each mutant."""
    state.parent.mkdir(exist_ok=True)
    commit = subprocess.run([shutil.which("git") or "git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    lines = state.read_text(encoding="utf-8").splitlines() if state.is_file() else []
    if not lines or json.loads(lines[0]) != {"commit": commit}:
        lines = [json.dumps({"commit": commit})]
        state.write_text(lines[0] + "\n", encoding="utf-8")
    mutants = drawn(count)
    done = {Mutant(**json.loads(line)["mutant"]) for line in lines[1:]}
    todo = [mutant for mutant in mutants if mutant not in done]
    children = []
    for number in range(workers):
        if (child := os.fork()) == 0:
            try:
                _worker(todo[number::workers], state)
            finally:
                os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    wanted = set(mutants)
    read = [json.loads(line) for line in state.read_text(encoding="utf-8").splitlines()[1:]]
    verdicts = [Verdict(Mutant(**one["mutant"]), one["outcome"], one["change"], one["seconds"]) for one in read]
    return [verdict for verdict in verdicts if verdict.mutant in wanted]


def main() -> None:
    """Measure, print, and write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--count", type=int, default=1_000)
    parser.add_argument("--workers", type=int, default=int(os.environ.get("WORKERS", "2")))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        verdicts = run(20 if given.small else given.count, given.workers, Path(folder) / "state.json" if given.small else STATE)
    kinds = sorted({_kind(verdict) for verdict in verdicts})
    rows = [_row(kind, [verdict for verdict in verdicts if _kind(verdict) == kind]) for kind in kinds] + [_row("all", verdicts)]
    survivors = [
        {"place": f"{verdict.mutant.module}.py:{verdict.mutant.line}", "operator": _kind(verdict), "change": verdict.change}
        for verdict in verdicts
        if verdict.outcome == "survived"
    ]
    print(table(rows))
    print("\n".join(f"survived {one['place']} {one['change']}" for one in survivors))
    if not given.small:
        write(
            "mutants",
            measured=f"{len(verdicts):,} mutants of `core`, drawn with the seed {SEED} from all that cosmic-ray {version('cosmic-ray')} makes of it, "
            "those of annotations left out: how many the tests of the module, of its neighbours and of compaction notice; one that hangs counts as "
            "noticed",
            against="the goal of 90% killed",
            versions=versions(),
            rows=rows,
            survivors=survivors,
        )


def _kind(verdict: Verdict) -> str:
    return verdict.mutant.operator.removeprefix("core/").split("_")[0]


def _row(kind: str, verdicts: Sequence[Verdict]) -> dict[str, Any]:
    counts = Counter(verdict.outcome for verdict in verdicts)
    killed = counts["killed"] + counts["timeout"]
    return {
        "operator": kind,
        "mutants": len(verdicts),
        "killed": killed,
        "survived": counts["survived"],
        "percent": round(100 * killed / max(1, len(verdicts)), 1),
    }


if __name__ == "__main__":
    main()

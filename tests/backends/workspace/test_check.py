"""The configured check: bounded in time and output, stopped with all it started, and read for names of files."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from langchain_ctxguard.backends.workspace import WorkCheck, Workspace
from langchain_ctxguard.errors import ConfigurationError
from tests.support.repositories import repository, written

PYTHON = sys.executable


def check(tmp_path: Path, command: list[str] | str, **options: float) -> WorkCheck:
    """Return a check in a folder."""
    return WorkCheck(command, Workspace(tmp_path), **options)


def is_alive(pid: int) -> bool:
    """Say whether a process runs: one that ended and was not collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(
    ("command", "outcome", "code"),
    [
        ([PYTHON, "-c", "pass"], "passed", 0),
        ([PYTHON, "-c", "raise SystemExit(3)"], "failed", 3),
        ("exit 4", "failed", 4),
        ("true && true", "passed", 0),
    ],
)
def test_the_exit_code_decides(tmp_path: Path, command: list[str] | str, outcome: str, code: int) -> None:
    """A list runs as it is, a text in the shell; zero is a pass and nothing else is."""
    found = check(tmp_path, command).run()
    assert (outcome, code) == (found.outcome, found.exit_code)


def test_a_command_that_does_not_exist_has_not_run(tmp_path: Path) -> None:
    """A check that could not be started says nothing of the workspace."""
    found = check(tmp_path, ["no-such-program-anywhere"]).run()
    assert ("not_run", None) == (found.outcome, found.exit_code)
    assert "could not be started" in found.why


def test_a_slow_check_is_stopped_with_its_children(tmp_path: Path) -> None:
    """Its time over, nothing it started goes on, and nobody waits for a pipe it held."""
    command = f"sleep 300 & echo $! > child; trap '' TERM; {PYTHON} -c 'import time; time.sleep(300)'"
    started = time.monotonic()
    found = check(tmp_path, command, timeout_s=1.0).run()
    child = int((tmp_path / "child").read_text())

    assert ("timed_out", None) == (found.outcome, found.exit_code)
    assert "1 seconds" in found.why
    assert time.monotonic() - started < 30
    assert not is_alive(child)


def test_what_a_finished_check_left_running_ends_with_it(tmp_path: Path) -> None:
    """A server started in the background holds nobody up and does not stay."""
    started = time.monotonic()
    found = check(tmp_path, "sleep 300 & echo $! > child; echo done").run()

    assert ("passed", "done\n") == (found.outcome, found.output)
    assert time.monotonic() - started < 30
    # A killed process takes a moment to be gone.
    child, until = int((tmp_path / "child").read_text()), time.monotonic() + 10
    while is_alive(child) and time.monotonic() < until:
        time.sleep(0.02)
    assert not is_alive(child)


def test_long_output_keeps_its_beginning_and_its_end(tmp_path: Path) -> None:
    """What lies between is counted, whatever its size, and bytes that are no text are shown as such."""
    code = "import sys; w=sys.stdout.buffer.write; w(b'first \\xff\\n'); [w(b'x' * 999 + b'\\n') for _ in range(5000)]; w(b'last\\n')"
    found = check(tmp_path, [PYTHON, "-c", code]).run()

    assert found.output.startswith("first \ufffd\n")
    assert found.output.endswith("last\n")
    assert "bytes left out" in found.output
    assert len(found.output) < 70_000


def test_nothing_is_read_from_whoever_runs_it(tmp_path: Path) -> None:
    """A check that asks gets an end of input, not somebody's keyboard."""
    assert "failed" == check(tmp_path, "read answer").run().outcome


def test_the_output_names_files_of_the_workspace(tmp_path: Path) -> None:
    """As test runners, compilers and tracebacks write them; a missing file of code as well, for it may have to be made."""
    written(tmp_path, {"src/cart.py": "1", "tests/test_a.py": "1", "a b.py": "1", "说明.py": "1", "lib.ts": "1", "unsaid.py": "1"})
    lines = [
        "FAILED tests/test_a.py::test_total[1-2] - assert 1 == 2",
        f'  File "{tmp_path}/src/cart.py", line 3, in total',
        "lib.ts(3,4): error TS2304, and nothing.py:1:2 is not there, nor far/away.py",
        "错误：说明.py，第3行",
        "ModuleNotFoundError: No module named 'src.money'; attribute cart.total",
        "cannot import a b.py; version 1.2.3 at https://example.com/unsaid",
    ]
    found = check(tmp_path, ["printf", "%s\n", *lines]).run(known=["a b.py", "unsaid.py"])
    assert {"src/cart.py", "tests/test_a.py", "a b.py", "说明.py", "lib.ts", "nothing.py", "src/money.py"} == set(found.files)


def test_a_known_file_is_not_found_in_a_longer_name(tmp_path: Path) -> None:
    """`cart.py` does not stand in `test_cart.py` or in `cart.pyc`."""
    written(tmp_path, {"cart.py": "1", "test_cart.py": "1"})
    found = check(tmp_path, ["echo", "test_cart.py cart.pyc my-cart.py cart.py-old"]).run(known=["cart.py"])
    assert "test_cart.py" in found.files
    assert "cart.py" not in found.files


def test_a_check_that_changes_files_is_found_out(tmp_path: Path) -> None:
    """It should change nothing; what it does change is named."""
    top = repository(tmp_path, {"a.py": "1\n", "b.py": "1\n"})
    space = Workspace(top)
    found = WorkCheck("echo 2 > a.py; echo n > new.txt", space).run(before=space.survey())
    assert ("a.py", "new.txt") == found.changed


@pytest.mark.parametrize("command", [[], "", "  ", [1]])
def test_a_command_that_is_none_is_refused(tmp_path: Path, command: object) -> None:
    """When it is wired, not when it is needed."""
    with pytest.raises(ConfigurationError, match="command"):
        check(tmp_path, command)  # type: ignore[arg-type]


def test_a_check_needs_time(tmp_path: Path) -> None:
    """No seconds are no limit."""
    with pytest.raises(ConfigurationError, match="above 0"):
        check(tmp_path, "true", timeout_s=0)


def test_the_environment_is_the_applications(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A check finds its tools where the application does, and works in the workspace."""
    monkeypatch.setenv("FOR_THE_CHECK", "here")
    found = check(tmp_path, "echo $FOR_THE_CHECK; pwd").run()
    assert f"here\n{os.path.realpath(tmp_path)}\n" == found.output

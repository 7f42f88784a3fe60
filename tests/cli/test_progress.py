"""A progress bar appears to people who wait, and to nobody else."""

from __future__ import annotations

import io
import time

import pytest

from langchain_ctxguard.cli import progress


class Terminal(io.StringIO):
    """Standard error of a person."""

    def isatty(self) -> bool:
        """Say it is a terminal."""
        return True


def watched(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Put a terminal on standard error. No fixture: pytest puts its own capture there between set-up and call."""
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    return screen


def test_a_quick_command_shows_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing flashes by."""
    terminal = watched(monkeypatch)
    assert [1, 2, 3] == list(progress.progress_over([1, 2, 3], doing="Compacting"))
    assert "" == terminal.getvalue()


def test_a_slow_command_shows_how_far_it_got(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the patience is over, the bar says what is being done."""
    terminal = watched(monkeypatch)
    monkeypatch.setattr(progress, "_PATIENCE_S", 0.01)
    seen = []
    for item in progress.progress_over([1, 2], doing="Compacting"):
        time.sleep(0.2)
        seen.append(item)
    assert [1, 2] == seen
    assert "Compacting" in terminal.getvalue()


def test_a_pipe_gets_no_bar_however_long_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log file is no place for a bar."""
    pipe = io.StringIO()
    monkeypatch.setattr("sys.stderr", pipe)
    monkeypatch.setattr(progress, "_PATIENCE_S", 0.0)
    for _ in progress.progress_over([1, 2], doing="Compacting"):
        time.sleep(0.05)
    assert "" == pipe.getvalue()


def test_the_bar_goes_when_the_work_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error is the error of the work, and the cursor is back."""
    terminal = watched(monkeypatch)
    monkeypatch.setattr(progress, "_PATIENCE_S", 0.01)

    def work() -> None:
        for _ in progress.progress_over([1], doing="Compacting"):
            time.sleep(0.1)
            raise LookupError

    with pytest.raises(LookupError):
        work()
    assert terminal.getvalue().count("\x1b[?25l") == terminal.getvalue().count("\x1b[?25h") >= 1

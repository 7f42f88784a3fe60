"""The command as a process: what a terminal, a pipe and a person in a hurry may do to it."""

from __future__ import annotations

import errno
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import typer

from langchain_ctxguard.cli import versions
from langchain_ctxguard.cli.about import CANNOT, FAULT, INTERRUPTED, READER_GONE
from langchain_ctxguard.cli.running import plainly
from tests.support.stored_world import CHINESE, HOSTILE

STORE = "sqlite:///ctxguard.db"
PROGRAM = [sys.executable, "-m", "langchain_ctxguard.cli"]
ROOT = Path(__file__).resolve().parents[2]


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "COLUMNS", "PYTHONIOENCODING", "LC_ALL", "LANG"}}
    return {**kept, "PYTHONPATH": str(ROOT), "TERM": "xterm", "LANG": "C.UTF-8", **more}


def on_terminal(*arguments: str, columns: int = 80, **more: str) -> str:
    """Run a command on a terminal of its own, and return what it showed."""
    here, there = pty.openpty()
    process = subprocess.Popen(
        [*PROGRAM, *arguments], stdin=there, stdout=there, stderr=there, env=environment(COLUMNS=str(columns), **more), close_fds=True
    )
    os.close(there)
    shown = b""
    try:
        while chunk := os.read(here, 65_536):
            shown += chunk
    except OSError as error:
        # A terminal whose last writer left ends with an error.
        assert errno.EIO == error.errno
    os.close(here)
    assert 0 == process.wait(timeout=60)
    return shown.decode()


def test_a_reader_that_goes_away_is_no_failure(world: Path) -> None:
    """Nothing on standard error; the exit code is that of a closed pipe."""
    process = subprocess.Popen([*PROGRAM, "schema"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
    assert process.stdout
    assert process.stderr
    process.stdout.close()
    assert (READER_GONE, b"") == (process.wait(timeout=60), process.stderr.read())
    process.stderr.close()


def test_rows_and_help_that_nobody_reads_to_the_end(world: Path) -> None:
    """`| head` of a command that prints with rich, and of help."""
    for command in ("compact chat.json", "compact --help"):
        done = subprocess.run(
            ["/bin/bash", "-c", f"{' '.join(PROGRAM)} {command} | true; echo ${{PIPESTATUS[0]}}"],
            capture_output=True,
            text=True,
            env=environment(),
            check=False,
        )
        assert ("", str(READER_GONE)) == (done.stderr, done.stdout.strip())


_OFTEN = 5


def test_ctrl_c_is_one_word(world: Path) -> None:
    """And the exit code a shell gives it."""
    process = subprocess.Popen(
        [*PROGRAM, "compact", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        # Whoever runs these tests in the background has the signal ignored, and would hand that down.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509 - nothing else happens in the child
    )
    # It waits for standard input once its imports are done.
    wanted = f"/proc/{process.pid}/wchan"
    seen = 0
    for _ in range(600):
        time.sleep(0.1)
        # More than once: an import may wait for something for a moment.
        seen = seen + 1 if "pipe" in Path(wanted).read_text(encoding="ascii") else 0
        if seen == _OFTEN:
            break
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (INTERRUPTED, b"", b"ctxguard compact: Interrupted.\n") == (process.returncode, out, err)


def test_a_terminal_that_cannot_show_a_character_shows_its_escape(world: Path) -> None:
    """Names in any script are listed on any terminal; JSON is UTF-8 all the same."""
    for encoding in ("ascii", "gbk"):
        done = subprocess.run([*PROGRAM, "threads", STORE], capture_output=True, env=environment(PYTHONIOENCODING=encoding, LC_ALL="C"), check=False)
        assert (0, b"") == (done.returncode, done.stderr)
        assert CHINESE.encode(encoding, "backslashreplace") in done.stdout
    as_json = subprocess.run([*PROGRAM, "threads", STORE, "--json"], capture_output=True, env=environment(PYTHONIOENCODING="ascii"), check=False)
    assert CHINESE in as_json.stdout.decode("utf-8")


def test_a_terminal_of_forty_columns_gets_records_and_no_name_moves_its_cursor(world: Path) -> None:
    """One cell a line, nothing cut; control characters, escape sequences and marks of direction are written out."""
    narrow = on_terminal("threads", STORE, columns=40)
    assert f"thread: {CHINESE}\r\n" in narrow
    assert "versions: 3 versions\r\n" in narrow
    assert "evil\\x1b[2J" in re.sub(r"\s", "", narrow)
    assert not {"\x1b", "\x07", "\u202e"} & set(narrow)


def test_a_wide_terminal_gets_a_table_and_no_color_where_none_is_wanted(world: Path) -> None:
    """With headings, a record a line, coloured; with NO_COLOR it is the same without colours."""
    arguments = ("constraints", "--store", STORE, "--thread", HOSTILE, "--config", "ctxguard.yaml")
    colour = r"\x1b\[[0-9;]*3[0-7]"
    shown, plain = on_terminal(*arguments, columns=160), on_terminal(*arguments, columns=160, NO_COLOR="1")
    assert re.search(colour, shown)
    assert not re.search(colour, plain)
    assert re.search(r"id +version +authority", re.sub(r"\x1b\[[0-9;]*m", "", plain))


def failing(error: BaseException) -> Any:
    """Return a command that fails so."""

    def command() -> None:
        raise error

    return plainly("try", command)


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (KeyboardInterrupt(), INTERRUPTED, "Interrupted."),
        (PermissionError(errno.EACCES, "Permission denied", "/root/x"), CANNOT, "'/root/x': Permission denied"),
        (ValueError("the private words"), FAULT, "fault of langchain-ctxguard: ValueError at test_running.py:"),
        (RecursionError("deep"), FAULT, "RecursionError"),
    ],
)
def test_what_goes_wrong_is_a_sentence(error: BaseException, code: int, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever it is; the words of an unforeseen error may be those of a conversation and are not shown."""
    with pytest.raises(typer.Exit) as stopped:
        failing(error)()
    shown = capsys.readouterr().err
    assert code == stopped.value.exit_code
    assert words in shown
    assert "private" not in shown
    assert 1 == len(shown.splitlines())


def test_a_traceback_is_shown_to_whoever_asks(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """With CTXGUARD_TRACEBACK=1."""
    monkeypatch.setenv("CTXGUARD_TRACEBACK", "1")
    with pytest.raises(typer.Exit):
        failing(ValueError("the words"))()
    assert "ValueError: the words" in capsys.readouterr().err


def test_a_fault_of_a_real_command_is_no_traceback(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wrapper is around every command."""
    from tests.cli.test_commands import run

    monkeypatch.setattr(versions, "version_log", lambda _: 1 / 0)
    done = run("versions", STORE, "order-17")
    assert (FAULT, True) == (done.exit_code, "ZeroDivisionError" in done.stderr)

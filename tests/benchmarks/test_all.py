"""`python -m benchmarks`: what is chosen, what is told of a failure, and that a long run goes on where it was."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import __main__ as all_of_them


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> list[list[str]]:
    """The commands that would have been run."""
    commands: list[list[str]] = []

    def run(command: list[str], **_: Any) -> SimpleNamespace:
        commands.append(command[1:])
        return SimpleNamespace(returncode=1 if "benchmarks.retention" in command else 0, stdout="abc")

    monkeypatch.setattr(all_of_them.subprocess, "run", run)
    monkeypatch.setattr(all_of_them, "STATE", tmp_path / "build" / "state.json")
    return commands


def start(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["benchmarks", *arguments])
    return all_of_them.main()


def test_the_quick_run_takes_a_share_of_each_and_writes_nothing(ran: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command is made small, and the docs are left alone."""
    start(monkeypatch, "--quick")
    assert all("--small" in command for command in ran)
    assert 8 <= len(ran)


def test_the_ordinary_run_needs_no_server(ran: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    """It writes, and the docs are written last; a part that fails is told by the exit code, and the others run."""
    assert 1 == start(monkeypatch)
    assert [["scripts/numbers.py"], ["scripts/picture.py"]] == ran[-2:]
    assert [part.name for part in all_of_them.PARTS if part.is_short] == [command[1].removeprefix("benchmarks.") for command in ran[:-2]]
    assert not any("--small" in command for command in ran)


def test_a_long_run_goes_on_where_it_was(ran: list[list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What was done is not done again, what failed is."""
    assert 1 == start(monkeypatch, "--full")
    first = len([command for command in ran if command[:1] == ["-m"]])
    assert len(all_of_them.PARTS) == first
    ran.clear()
    assert 1 == start(monkeypatch, "--full")
    assert [["-m", "benchmarks.retention"]] == [command for command in ran if command[:1] == ["-m"]]
    assert "overhead: done before" in capsys.readouterr().out


def test_a_part_is_named(ran: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    """By its name, and a wrong name is refused."""
    start(monkeypatch, "overhead")
    assert ["-m", "benchmarks.overhead"] == ran[0]
    with pytest.raises(SystemExit):
        start(monkeypatch, "overheat")


def test_every_part_is_there() -> None:
    """Each names a module or tests that exist."""
    for part in all_of_them.PARTS:
        if part.command[1].startswith("benchmarks."):
            module = all_of_them.ROOT / part.command[1].replace(".", "/")
            assert module.with_suffix(".py").is_file() or (module / "__main__.py").is_file(), part.name
        else:
            assert all((all_of_them.ROOT / path).exists() for path in part.command if path.startswith("tests/"))


def test_the_small_form_of_the_strategies_tells_every_column() -> None:
    """The guard keeps everything the cases ask for, and what was not measured is said to be that."""
    from benchmarks.strategies import STRATEGIES, measure, peers
    from langchain_ctxguard.testing.retention.files import starter_cases

    cases = starter_cases()[::12]
    rows = [measure(way, cases) for way in (STRATEGIES[0].way, STRATEGIES[-1].way)]
    assert [False, True] == [row["retention"] == 100 for row in rows]
    assert (100, None, None) == (rows[1]["refused"], rows[1]["compliance"], rows[1]["cost"])
    assert {"langchain", "deepagents", "langmem"} <= {way.name for way in peers()}


def test_a_soaked_thread_loses_nothing(tmp_path: Any) -> None:
    """A short soak: messages leave the state, the rule stays in sight, every message is found again."""
    from benchmarks.soak import _sqlite, many_threads, one_thread

    for name in "ab":
        (tmp_path / name).mkdir()
    with _sqlite(str(tmp_path / "a")) as (saver, store):
        rows = one_thread("sqlite", saver, store, 100)
    assert (0, True) == (rows[-1]["lost"], all(row["rule_in_sight"] for row in rows))
    assert max(row["in_state"] for row in rows) < 80
    with _sqlite(str(tmp_path / "b")) as (saver, store):
        assert 0 == many_threads("sqlite", saver, store, 4, turns=3)[-1]["lost"]

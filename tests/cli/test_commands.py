"""What holds for every command: an example that runs, help that names it, JSON, and exit codes that mean the same everywhere."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from langchain_ctxguard import GuardStore
from langchain_ctxguard.backends.store import migrate_store
from langchain_ctxguard.cli import build_app
from langchain_ctxguard.cli.about import CANNOT, DONE, EVERYWHERE, FOUND, about_of
from langchain_ctxguard.cli.commands import COMMANDS
from langchain_ctxguard.cli.reference import parameters_of
from tests.support.stored_world import fill

STORE = "sqlite:///ctxguard.db"
OF_STORES = [name for name, function in COMMANDS.items() if f" {STORE}" in about_of(function).example]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(build_app(), arguments)


def example_of(name: str, *more: str) -> Result:
    """Run the example of a command."""
    program, *arguments = shlex.split(about_of(COMMANDS[name]).example)
    assert "ctxguard" == program
    return run(*arguments, *more)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_example_of_a_command_runs(name: str, world: Path) -> None:
    """As it stands in the help and on the page, in a folder with a store: nothing goes wrong, and something is said or written."""
    before = set(world.iterdir())
    done = example_of(name)
    assert done.exit_code in {DONE, FOUND}, done.output
    assert done.exit_code in about_of(COMMANDS[name]).exits
    assert "" == done.stderr
    assert done.stdout or set(world.iterdir()) != before


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_prints_json(name: str, world: Path) -> None:
    """`--json` gives one document, with an exit code that the command has."""
    done = example_of(name, "--json")
    assert done.exit_code in {DONE, FOUND} & set(about_of(COMMANDS[name]).exits), done.output
    assert isinstance(json.loads(done.stdout), dict)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_names_example_and_exit_codes(name: str) -> None:
    """What a person needs who has forgotten how it was."""
    done = CliRunner(env={"COLUMNS": "200"}).invoke(build_app(), [*name.split(), "--help"])
    assert DONE == done.exit_code
    assert about_of(COMMANDS[name]).example in done.stdout
    assert "Exit codes: 0 " in done.stdout
    assert all(parameter.help for parameter in parameters_of(COMMANDS[name]))


def test_exit_codes_mean_the_same_everywhere() -> None:
    """No command has one of its own, and each says what 0 and 2 stand for."""
    for name, function in COMMANDS.items():
        assert {DONE, CANNOT} <= set(about_of(function).exits) <= {DONE, FOUND, CANNOT} < set(EVERYWHERE), name


def test_the_examples_run_on_postgresql(world: Path, postgres_url: str) -> None:
    """The same store in a server: the same answers."""
    migrate_store(postgres_url)
    fill(postgres_url, checkpoints=world / "other.db")
    for name in OF_STORES:
        _, *arguments = shlex.split(about_of(COMMANDS[name]).example.replace(STORE, postgres_url).replace("state.db", "other.db"))
        there, here = run(*arguments), example_of(name)
        assert (here.exit_code, "") == (there.exit_code, there.stderr), name
        assert len(here.stdout.splitlines()) == len(there.stdout.splitlines()), name


@pytest.mark.parametrize("name", OF_STORES)
def test_a_store_that_cannot_be_used_is_told_in_a_sentence(name: str, world: Path) -> None:
    """None there, a wrong URL, a database of something else, one of a later version: exit code 2, no traceback, nothing made or changed."""
    (world / "notes.db").write_text("no database at all, but long enough to be looked at by a driver", encoding="utf-8")
    (world / "new.db").write_bytes((world / "ctxguard.db").read_bytes())
    _execute(world / "new.db", "UPDATE ctxguard_meta SET value = '99'")
    _execute(world / "theirs.db", "CREATE TABLE theirs (x)")
    theirs = (world / "theirs.db").read_bytes()
    urls = ["mysql://u:secret-word@h/db", "sqlite:///new.db"]
    # To make a store is what `migrate` is for.
    urls += [] if name == "migrate" else ["sqlite:///none.db", "sqlite:///theirs.db"]
    if name == "threads":
        urls += ["ctxguard.db", "memory://", "postgresql://u:secret-word@127.0.0.1:1/none", "sqlite:///notes.db", "sqlite:///."]
    for url in urls:
        _, *arguments = shlex.split(about_of(COMMANDS[name]).example.replace(STORE, url))
        done = run(*arguments)
        assert (CANNOT, "", 1) == (done.exit_code, done.stdout, len(done.stderr.splitlines())), (url, done.output)
        assert done.stderr.startswith(f"ctxguard {name}: "), done.stderr
        assert "secret-word" not in done.output
        assert not (world / "none.db").exists()
    assert name == "migrate" or theirs == (world / "theirs.db").read_bytes()


@pytest.mark.parametrize("name", OF_STORES)
def test_a_locked_store_is_told_in_a_sentence(name: str, world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody holds the file: it is waited for, then said so."""
    import sqlite3

    monkeypatch.setattr("langchain_ctxguard.backends.sql_database.BUSY_SECONDS", 0.1)
    holder = sqlite3.connect(world / "ctxguard.db", isolation_level=None)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    try:
        done = example_of(name)
    finally:
        holder.close()
    assert (CANNOT, "") == (done.exit_code, done.stdout), done.output
    assert "kept busy by other writers" in done.stderr


def test_a_store_with_nothing_in_it_is_no_failure(world: Path) -> None:
    """There is a sentence for it."""
    with GuardStore.open("sqlite:///empty.db"):
        pass
    done = run("threads", "sqlite:///empty.db")
    assert (DONE, "No thread is on record in this store.\n") == (done.exit_code, done.stdout)


def _execute(file: Path, statement: str) -> None:
    import sqlite3

    connection = sqlite3.connect(file)
    for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER {trigger}")
    connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_narrow_terminal_cuts_nothing_short(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of options and the example stand whole in 40 columns, only broken at spaces."""
    monkeypatch.setenv("COLUMNS", "40")
    done = run(*name.split(), "--help")
    shown = "".join(done.stdout.split())
    assert DONE == done.exit_code
    assert "…" not in done.stdout
    assert "╭" not in done.stdout
    assert about_of(COMMANDS[name]).example.replace(" ", "") in shown
    assert all(option in done.stdout for parameter in parameters_of(COMMANDS[name]) if parameter.is_option for option in parameter.names)

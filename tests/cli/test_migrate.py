"""`ctxguard migrate` prepares a database, and says in one line what it did or why it could not."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from langchain_ctxguard.backends.store import GuardStore
from langchain_ctxguard.cli import build_app


def run(*arguments: str) -> Result:
    return CliRunner().invoke(build_app(), ["migrate", *arguments])


def test_a_database_is_prepared_once(postgres_url: str) -> None:
    """The first time it makes the schema, after that there is nothing to do, and a store opens."""
    first, second = run(postgres_url), run(postgres_url)
    assert (0, "Made the schema, version 1.\n") == (first.exit_code, first.stdout)
    assert (0, "The schema is at version 1; nothing to do.\n") == (second.exit_code, second.stdout)
    GuardStore.open(postgres_url).close()


def test_a_sqlite_file_is_prepared_too(tmp_path: Path) -> None:
    """For those who give the agent a file it may only write to."""
    assert "Made the schema, version 1.\n" == run(f"sqlite:///{tmp_path}/ctxguard.db").stdout
    GuardStore.open(f"sqlite:///{tmp_path}/ctxguard.db").close()


@pytest.mark.parametrize("url", ["memory://", "nonsense", "sqlite:////no/such/folder/ctxguard.db", "postgresql://user:secret@127.0.0.1:1/none"])
def test_what_cannot_be_prepared_is_one_line_and_exit_code_2(url: str) -> None:
    """On standard error, without a password and without a traceback."""
    result = run(url)
    assert (2, "") == (result.exit_code, result.stdout)
    assert result.stderr.startswith("ctxguard migrate: ")
    assert "Traceback" not in result.stderr
    assert "secret" not in result.stderr


def test_the_rights_of_three_roles_are_printed() -> None:
    """As SQL to read and run; nothing is connected. What the statements do is tried in `tests/backends/test_sql_roles.py`."""
    done = run("--roles", "--agent-role", 'a"b', "--schema", "s")
    assert (0, True, True) == (done.exit_code, "BEGIN;\n" in done.stdout, done.stdout.endswith("COMMIT;\n"))
    assert 'GRANT USAGE ON SCHEMA "s" TO "a""b", "ctxguard_writer", "ctxguard_reader";' in done.stdout


def test_roles_that_are_one_split_nothing() -> None:
    """Said in one line."""
    done = run("--roles", "--agent-role", "x", "--writer-role", "x")
    assert (2, True) == (done.exit_code, "name of its own each" in done.stderr)


def test_a_database_is_named() -> None:
    """Where nothing is to be printed."""
    assert (2, "") == (run().exit_code, run().stdout)

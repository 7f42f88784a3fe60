"""The commands over a store that somebody else wrote."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from typer.testing import CliRunner, Result

from langchain_ctxguard import GuardStore
from langchain_ctxguard.cli import build_app
from tests.graph.test_history import THREAD, guarded, talk


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A store with a few versions of thread t-1."""
    place = f"sqlite:///{tmp_path / 'ctx.db'}"
    with GuardStore.open(place) as store:
        graph, _, _ = guarded(store)
        talk(graph, *range(10))
    return place


def run(*arguments: str) -> Result:
    """Run a command."""
    return CliRunner().invoke(build_app(), arguments)


def test_threads_and_versions_are_listed(url: str) -> None:
    """In words and as JSON."""
    found = json.loads(run("threads", url, "--json").stdout)["threads"]
    assert ["t-1"] == [thread["thread"] for thread in found]
    assert "t-1" in run("threads", url).stdout

    versions = json.loads(run("versions", url, "t-1", "--json").stdout)["versions"]
    assert list(range(1, len(versions) + 1)) == [version["number"] for version in versions]
    lines = run("versions", url, "t-1").stdout.splitlines()
    assert len(versions) == len(lines)
    assert lines[0].startswith("1\t")


def test_a_diff_exits_with_one_where_versions_differ(url: str) -> None:
    """And with nought where they do not."""
    differs = run("diff", url, "t-1", "1", "2")
    assert (1, True) == (differs.exit_code, "+ summary:" in differs.stdout)
    assert 0 == run("diff", url, "t-1", "2", "2").exit_code
    assert 2 == json.loads(run("diff", url, "t-1", "1", "2", "--json").stdout)["after"]
    missing = run("diff", url, "t-1", "1", "99")
    assert (2, True) == (missing.exit_code, "versions 1 to" in missing.stderr)


def test_the_agents_next_call_sees_a_rollback_from_outside(tmp_path: Path) -> None:
    """The command knows neither graph nor model; the guard adopts what it wrote."""
    place = f"sqlite:///{tmp_path / 'ctx.db'}"
    connection = sqlite3.connect(tmp_path / "state.db", check_same_thread=False)
    saver = SqliteSaver(connection)
    with GuardStore.open(place) as store:
        graph, guard, model = guarded(store, saver=saver)
        talk(graph, *range(6))
        before = guard.history(THREAD).versions[-1].number

        done = run("rollback", place, "t-1", "--to", "1", "--reason", "astray", "--checkpointer", f"sqlite:///{tmp_path / 'state.db'}")
        assert (0, True) == (done.exit_code, f"version {before + 1} restores version 1" in done.stdout), done.stderr
        talk(graph, 7)

        restored = guard.history(THREAD).versions[before]
        assert (1, "astray") == (restored.restores, restored.reason)
        assert graph.get_state(THREAD).values["ctxguard"]["version"] >= before + 1
        assert any("part" in message.text for message in model.seen[-1])
    connection.close()


def test_verify_finds_what_was_altered(url: str, tmp_path: Path) -> None:
    """Also what was taken off the end, with an anchor kept elsewhere."""
    anchor = tmp_path / "anchor.json"
    clean = run("verify", url, "--export", str(anchor))
    assert (0, True) == (clean.exit_code, "as they were written" in clean.stdout)
    assert 0 == run("verify", url, "--anchor", str(anchor)).exit_code

    connection = sqlite3.connect(url.removeprefix("sqlite:///"))
    for (trigger,) in connection.execute("select name from sqlite_master where type = 'trigger'").fetchall():
        connection.execute(f"drop trigger {trigger}")
    table = next(name for (name,) in connection.execute("select name from sqlite_master where type = 'table'") if "entr" in name)
    connection.execute(f"delete from {table} where rowid = (select max(rowid) from {table})")  # noqa: S608 - the test's own database
    connection.commit()
    connection.close()
    tampered = run("verify", url, "--anchor", str(anchor))
    assert 1 == tampered.exit_code, tampered.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("threads", "sqlite:////nowhere/at/all.db"), "There is no file"),
        (("threads", "mysql://x/y"), "ctxguard threads:"),
        (("versions", "{url}", "t-9"), "no version in this store"),
        (("rollback", "{url}", "t-1", "--to", "soon"), "number of a version"),
        (("rollback", "{url}", "t-1", "--to", "77"), "versions 1 to"),
        (("verify", "{url}", "--anchor", "/nowhere/anchor.json"), "Cannot read the anchor"),
    ],
)
def test_what_cannot_be_done_is_told(url: str, arguments: tuple[str, ...], words: str) -> None:
    """Exit code 2 and a sentence; no file is made."""
    done = run(*(argument.format(url=url) for argument in arguments))

    assert 2 == done.exit_code
    assert words in done.stderr
    assert not Path("/nowhere").exists()


def test_another_tenant_sees_nothing(url: str) -> None:
    """Its threads are not there for it."""
    assert [] == json.loads(run("threads", url, "--tenant", "other", "--json").stdout)["threads"]

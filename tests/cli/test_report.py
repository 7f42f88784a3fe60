"""`ctxguard report` as a person runs it: a thread of a store or a transcript, to a file or to the screen."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from typer.testing import CliRunner, Result

from langchain_ctxguard import GuardStore
from langchain_ctxguard.backends.store import migrate_store
from langchain_ctxguard.cli import build_app
from tests.support.compacted import saved, session
from tests.support.reported import small_thread


def run(*arguments: str) -> Result:
    """Run the command."""
    return CliRunner().invoke(build_app(), ["report", *arguments])


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def stored(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The URLs of a store and of a checkpointer that hold a thread."""
    import sqlite3

    folder = tmp_path_factory.mktemp("stored")
    connection = sqlite3.connect(folder / "state.db", check_same_thread=False)
    url = f"sqlite:///{folder / 'ctx.db'}"
    if request.param == "postgresql":
        url = request.getfixturevalue("postgres_for_all")
        migrate_store(url)
    with GuardStore.open(url) as store:
        small_thread(store, saver=SqliteSaver(connection))
    connection.close()
    return url, f"sqlite:///{folder / 'state.db'}"


@pytest.fixture(scope="module")
def postgres_for_all() -> Iterator[str]:
    """A database for the tests of this file."""
    import uuid

    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    server = os.environ.get("CTXGUARD_TEST_POSTGRES")
    if not server:
        pytest.skip("needs a PostgreSQL server: set CTXGUARD_TEST_POSTGRES=postgresql://...")
    name, host = f"ctxguard_{uuid.uuid4().hex}", conninfo_to_dict(server)
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f'CREATE DATABASE "{name}"')
    yield f"postgresql://{host['user']}:{host.get('password', '')}@{host['host']}:{host.get('port', 5432)}/{name}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def test_the_end_of_the_name_decides_the_form(stored: tuple[str, str], tmp_path: Path) -> None:
    """A page, Markdown or data; what is written says where, and how much."""
    url, _ = stored
    for name, begins in (("r.html", "<!doctype html>"), ("r.md", "# Thread order-1042"), ("r.json", "{")):
        done = run("order-1042", "--store", url, "-o", str(tmp_path / name))
        assert (0, "") == (done.exit_code, done.stderr)
        assert done.stdout.startswith(f"Written to {tmp_path / name}")
        assert (tmp_path / name).read_text(encoding="utf-8").startswith(begins)


def test_without_a_file_it_is_printed(stored: tuple[str, str]) -> None:
    """As Markdown, or as JSON."""
    url, _ = stored
    assert run("order-1042", "--store", url).stdout.startswith("# Thread order-1042")
    data = json.loads(run("order-1042", "--store", url, "--json").stdout)
    assert (1, "thread", "order-1042") == (data["schema_version"], data["source"], data["name"])
    assert 7 == len(data["compactions"])


def test_the_state_adds_what_is_in_sight(stored: tuple[str, str]) -> None:
    """With the checkpointer named, messages that have not left the view are there too."""
    url, state = stored
    data = json.loads(run("order-1042", "--store", url, "--checkpointer", state, "--json").stdout)
    assert data["in_sight"]
    assert "" == data["in_sight_note"]


def test_the_config_adds_texts_and_what_enforces_them(tmp_path: Path) -> None:
    """For a store that keeps no model calls."""
    url = f"sqlite:///{tmp_path / 'ctx.db'}"
    with GuardStore.open(url) as store:
        run_of_it = small_thread(store)
    assert run_of_it
    config = tmp_path / "ctxguard.yaml"
    config.write_text(
        "constraints:\n  - {constraint_id: no-deletes, text: Never delete an order.}\n  - {constraint_id: other, text: Be kind.}\n", encoding="utf-8"
    )
    data = json.loads(run("order-1042", "--store", url, "--config", str(config), "--json").stdout)
    assert "Be kind." in [rule["text"] for rule in data["rules"]]


def test_no_password_stands_on_the_page(stored: tuple[str, str]) -> None:
    """The address of a server is not told, only its kind."""
    url, _ = stored
    page = run("order-1042", "--store", url).stdout
    if "@" in url:
        assert url.partition("://")[2] not in page
        assert "Stored thread from postgresql, read" in page
    else:
        assert url in page.replace("\\", "")


def test_a_transcript_is_read_without_a_store(tmp_path: Path) -> None:
    """The same command, a file in the thread's place."""
    path = saved(tmp_path / "session.jsonl", session())
    done = run(str(path))
    assert 0 == done.exit_code
    assert "contradicted" in done.stdout


def test_half_a_pair_of_surrogates_stops_no_form(tmp_path: Path) -> None:
    """Text that has no UTF-8 is shown by its number, and escaped in JSON."""
    path = tmp_path / "chat.json"
    path.write_text('[{"role": "user", "content": "half \\ud83d a smile"}, {"role": "assistant", "content": "ok"}]', encoding="utf-8")
    assert "half \u27e6U+D83D\u27e7 a smile" in run(str(path)).stdout
    assert "half \ud83d a smile" == json.loads(run(str(path), "--json").stdout)["in_sight"][0]["text"]
    assert 0 == run(str(path), "-o", str(tmp_path / "r.html")).exit_code


def test_one_of_several_conversations_is_chosen(tmp_path: Path) -> None:
    """By number or name; without, they are listed."""
    path = saved(tmp_path / "many.jsonl", [{"messages": [{"role": "user", "content": f"hello {number}"}]} for number in range(3)])
    many = run(str(path))
    assert (2, True) == (many.exit_code, "holds 3 conversations; choose one with --run: 1 (" in many.stderr)
    assert "hello 1" in run(str(path), "--run", "2").stdout
    assert 2 == run(str(path), "--run", "9").exit_code


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nobody", "--store", "{url}"), "Nothing about thread 'nobody' is on record"),
        (("", "--store", "{url}"), "The name of the thread is empty"),
        (("order-1042",), "To report on a stored thread, name its store with --store."),
        (("order-1042", "--store", "{url}", "-o", "report.pdf"), "says no form; end it in .html"),
        (("order-1042", "--store", "{url}", "-o", "/nowhere/at/all/report.html"), "/nowhere"),
        (("order-1042", "--store", "{url}", "--config", "/nowhere.yaml"), "/nowhere.yaml"),
        (("order-1042", "--store", "{url}", "--checkpointer", "sqlite:////nowhere.db"), "nowhere.db"),
    ],
)
def test_what_cannot_be_done_is_told(stored: tuple[str, str], arguments: tuple[str, ...], words: str) -> None:
    """Exit code 2 and a sentence; nothing is written."""
    done = run(*(argument.format(url=stored[0]) for argument in arguments))
    assert (2, "") == (done.exit_code, done.stdout)
    assert words in done.stderr
    assert not Path("report.pdf").exists()

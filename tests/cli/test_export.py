"""A thread is given back to the saver it came from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from typer.testing import CliRunner, Result

from langchain_ctxguard import ContextCheckpointer, GuardStore
from langchain_ctxguard.cli import build_app
from langchain_ctxguard.core.message_blob import thread_space
from tests.graph.test_history import THREAD as TALKED
from tests.graph.test_history import guarded, talk
from tests.support.saver_graphs import STATES, THREAD, asked, graph_of


@pytest.fixture
def places(tmp_path: Path) -> tuple[str, str]:
    """A store, and the checkpoints that name what lies in it."""
    store_url, checkpoints = f"sqlite:///{tmp_path}/ctx.db", f"{tmp_path}/state.db"
    with GuardStore.open(store_url) as store, SqliteSaver.from_conn_string(checkpoints) as inner:
        graph = graph_of(STATES["add_messages"], ContextCheckpointer(inner, store=store))
        for turn in range(2):
            graph.invoke(asked(turn), THREAD)
    return store_url, f"sqlite:///{checkpoints}"


def run(*arguments: str) -> Result:
    """Run a command."""
    return CliRunner().invoke(build_app(), arguments)


def test_an_exported_thread_needs_no_store(places: tuple[str, str]) -> None:
    """The saver alone reads it and goes on; to export it again changes nothing."""
    store_url, checkpoints = places
    with GuardStore.open(store_url) as store, SqliteSaver.from_conn_string(checkpoints.removeprefix("sqlite:///")) as inner:
        before = graph_of(STATES["add_messages"], ContextCheckpointer(inner, store=store)).get_state(THREAD).values
    done = run("export", store_url, "t", "--checkpointer", checkpoints)
    assert (0, True) == (done.exit_code, "The saver alone reads it now." in done.stdout)
    assert "Thread 't': 0 values" in run("export", store_url, "t", "--checkpointer", checkpoints).stdout
    with SqliteSaver.from_conn_string(checkpoints.removeprefix("sqlite:///")) as inner:
        graph = graph_of(STATES["add_messages"], inner)
        assert before == graph.get_state(THREAD).values
        assert len(graph.invoke(asked(2), THREAD)["messages"]) > 0


def test_what_cannot_be_exported_is_told(places: tuple[str, str], tmp_path: Path) -> None:
    """Another thread, no file, no database, content that is gone: each in a sentence, and nothing is changed."""
    store_url, checkpoints = places
    for arguments, words in (
        (("export", store_url, "none", "--checkpointer", checkpoints), "Thread 'none' has no checkpoint"),
        (("export", store_url, "t", "--checkpointer", f"sqlite:///{tmp_path}/no.db"), "There is no file"),
        (("export", f"sqlite:///{tmp_path}/no.db", "t", "--checkpointer", checkpoints), "There is no file"),
        (("export", store_url, "t", "--checkpointer", "postgresql://127.0.0.1:1/x"), "The checkpointer cannot be used"),
    ):
        done = run(*arguments)
        assert (2, True) == (done.exit_code, words in done.stderr), done.stderr
    with GuardStore.open(store_url) as store:
        store.blobs.purge_space(thread_space("t"))
    done = run("export", store_url, "t", "--checkpointer", checkpoints)
    assert (2, True) == (done.exit_code, "is gone from the store" in done.stderr)


def test_a_rollback_reads_a_head_that_lies_in_the_store(tmp_path: Path) -> None:
    """`--checkpointer` names checkpoints of either kind."""
    store_url, checkpoints = f"sqlite:///{tmp_path}/ctx.db", f"{tmp_path}/state.db"
    with GuardStore.open(store_url) as store, SqliteSaver.from_conn_string(checkpoints) as inner:
        graph, _, _ = guarded(store, saver=ContextCheckpointer(inner, store=store))
        talk(graph, *range(10))
    done = run("rollback", store_url, TALKED["configurable"]["thread_id"], "--to", "1", "--checkpointer", f"sqlite:///{checkpoints}")
    assert (0, True) == (done.exit_code, "restores version 1" in done.stdout), done.stderr
    versions = json.loads(run("versions", store_url, TALKED["configurable"]["thread_id"], "--json").stdout)["versions"]
    assert versions[-1]["parent_digest"] == versions[-2]["head_digest"]

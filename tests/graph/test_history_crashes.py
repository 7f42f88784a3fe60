"""Killed at random moments, and cut off from its database: nothing acknowledged is lost, and every thread goes on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langchain_ctxguard import GuardStore
from langchain_ctxguard.backends.store import migrate_store
from tests.graph.models import Facts
from tests.graph.test_history import THREAD, guarded, talk

ROOT = Path(__file__).resolve().parents[2]


def test_an_agent_killed_while_it_talks_and_compacts_goes_on(tmp_path: Path) -> None:
    """The trial of `benchmarks/version_trials.py`, in small: no turn lost, no number twice, every chain whole."""
    command = [sys.executable, "-m", "benchmarks.version_trials", "kills", str(tmp_path), "12"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)

    assert 0 == done.returncode, done.stderr
    row = json.loads(done.stdout.splitlines()[-1])
    assert 0 < row["messages"]
    wrong = ("turns_lost", "numbers_twice", "states_off_the_record", "chain_faults")
    assert dict.fromkeys(wrong, 0) == {name: row[name] for name in wrong}


@pytest.mark.timeout(240)
def test_connections_that_are_cut_cost_no_version(postgres_url: str) -> None:
    """Every few turns the server ends all sessions of the store: the turn goes on with what it has, and the next versions are on record."""
    url = postgres_url.replace("postgresql://", "postgresql+psycopg://", 1)
    migrate_store(url)
    facts = Facts()
    with GuardStore.open(url) as store, psycopg.connect(postgres_url, autocommit=True) as admin:
        graph, guard, _ = guarded(store, hooks=[facts], saver=InMemorySaver())
        for number in range(30):
            if number % 4 == 3:
                admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
            talk(graph, number)
        versions = guard.history(THREAD).versions
        state: Any = graph.get_state(THREAD).values

        assert 60 == len(state["messages"])
        assert list(range(1, len(versions) + 1)) == [version.number for version in versions]
        assert len(versions) >= 5
        assert state["ctxguard"]["version"] == versions[-1].number
        assert [] == store.verify()

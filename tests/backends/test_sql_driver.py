from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from langchain_ctxguard.backends import sql_driver
from langchain_ctxguard.backends.sql_database import Database
from langchain_ctxguard.backends.store import GuardStore, migrate_store
from langchain_ctxguard.errors import StoreError


def database_of(store: GuardStore) -> Database:
    assert store._database is not None
    return store._database


def test_what_fails_halfway_leaves_nothing(tmp_path: Path) -> None:
    """In a SQLite file, a question is one transaction, and the connection goes back as it was."""
    with GuardStore.open(f"sqlite:///{tmp_path}/one.db") as store:
        store.blobs.put("s", [b"before"])

        def broken(driver: Any) -> None:
            driver.execute("INSERT INTO ctxguard_blobs (space, address, content) VALUES (?, ?, ?)", (b"x", "a:1", b"half"))
            driver.execute("INSERT INTO nowhere VALUES (1)")

        for is_followed in (True, False):
            with pytest.raises(StoreError, match=r"no such table: nowhere\. Nothing was acknowledged"):
                database_of(store).ask(broken, is_written=True, is_followed=is_followed)
        rows = database_of(store).ask(lambda driver: driver.execute("SELECT space FROM ctxguard_blobs").fetchall())
        assert 1 == len(rows)
        assert [(2,)] == database_of(store).ask(lambda driver: driver.execute("PRAGMA synchronous").fetchall())


def test_nothing_is_written_through_a_store_for_reading(tmp_path: Path) -> None:
    """The database refuses, and is not even asked."""
    with GuardStore.open(f"sqlite:///{tmp_path}/one.db") as store, pytest.raises(StoreError, match="was opened for reading"):
        database_of(store).for_reading().ask(lambda _driver: None, is_written=True)


def test_a_connection_that_was_cut_a_moment_ago_costs_one_more_question(postgres_url: str) -> None:
    """Nobody tries it out before; what was asked is asked again on another, and the first does not come back."""
    url = postgres_url.replace("postgresql://", "postgresql+psycopg://", 1)
    migrate_store(url)
    asked: list[int] = []

    def number(driver: Any) -> int:
        asked.append(driver.execute("SELECT pg_backend_pid()").fetchone()[0])
        return asked[-1]

    with GuardStore.open(url) as store, psycopg.connect(postgres_url, autocommit=True) as admin:
        first = database_of(store).ask(number)
        assert first == database_of(store).ask(number)
        admin.execute("SELECT pg_terminate_backend(%s, 5000)", (first,))
        store.blobs.put("s", [b"kept"])
        second = database_of(store).ask(number, is_written=True)
        assert first != second
        assert [b"kept"] == list(store.blobs.get("s", store.blobs.addresses("s")).values())
        with pytest.raises(StoreError, match=r"division by zero\. Nothing was acknowledged"):
            database_of(store).ask(lambda driver: driver.execute("SELECT 1 / 0"))
        assert second == database_of(store).ask(number)


def test_a_connection_that_lay_idle_is_tried_before_it_is_lent(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server closes those that nobody uses; whoever asks then does not notice."""
    url = postgres_url.replace("postgresql://", "postgresql+psycopg://", 1)
    migrate_store(url)
    tries: list[int] = []
    with GuardStore.open(url) as store, psycopg.connect(postgres_url, autocommit=True) as admin:

        def number(driver: Any) -> int:
            tries.append(1)
            return int(driver.execute("SELECT pg_backend_pid()").fetchone()[0])

        first = database_of(store).ask(number)
        admin.execute("SELECT pg_terminate_backend(%s, 5000)", (first,))
        monkeypatch.setattr(sql_driver, "IDLE_SECONDS", -1)
        assert first != database_of(store).ask(number)
        assert 2 == len(tries)

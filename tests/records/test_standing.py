"""Standing state on a log: the same on every store, for anybody who asks, and trusted only where its chain holds."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from langchain_ctxguard import GuardStore
from langchain_ctxguard.backends.recent_streams import RecentStreams
from langchain_ctxguard.domain.standing import Mode
from langchain_ctxguard.errors import ConfigurationError, LogTamperedError, StoreError
from langchain_ctxguard.records.standing import StandingLog


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A store of each kind."""
    url = "memory://"
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'standing.db'}"
    elif request.param == "postgres":
        from langchain_ctxguard.backends.store import migrate_store

        url = request.getfixturevalue("postgres_url")
        migrate_store(url)
    with GuardStore.open(url) as opened:
        yield opened


def test_what_one_wrote_another_reads(store: GuardStore) -> None:
    """Every kind of change, in another process's reader, thread by thread."""
    log = StandingLog(store.log, tenant=store.tenant)
    log.set_mode("t-1", "plan", by="ann")
    log.set_permissions("t-1", {"edit": "ask"}, by="ann")
    log.ask("t-1", "q1", run="r1", by="guard")
    log.replace("t-1", "send", "old", by_digest="new", call_id="c1", by="guard")
    log.mark_synthetic("t-1", ["m1"], by="guard")
    other = StandingLog(store.log, tenant=store.tenant)
    state = other.read("t-1")
    assert state == log.read("t-1")
    assert (Mode.PLAN, {"edit": "ask"}, "q1", ("m1",), 5) == (
        state.mode,
        state.permissions,
        None if state.question is None else state.question.message,
        state.synthetic,
        state.seq,
    )
    log.answer("t-1", "q1", answer="h1", by="guard")
    log.release("t-1", "send", by="ann")
    log.set_mode("t-1", "act")
    log.set_permissions("t-1", {})
    assert other.read("t-1").is_plain
    assert 0 == other.read("t-2").seq
    assert [] == store.verify()


def test_an_altered_stream_says_nothing(tmp_path: Path) -> None:
    """An entry that is not as it was written, or is gone, is an error and never a permission."""
    path = tmp_path / "altered.db"
    with GuardStore.open(f"sqlite:///{path}") as store:
        log = StandingLog(store.log)
        log.set_mode("t-1", "read_only")
        log.set_mode("t-1", "plan")
        log.read("t-1")
        with sqlite3.connect(path) as raw:
            for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                raw.execute(f'DROP TRIGGER "{name}"')
            table = next(name for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'") if "entr" in name)
            raw.execute(f"UPDATE {table} SET body = replace(body, 'read_only', 'act') WHERE seq = 1")  # noqa: S608 - a name of our own
        with pytest.raises(StoreError):
            StandingLog(store.log).read("t-1")
        with sqlite3.connect(path) as raw:
            raw.execute(f"DELETE FROM {table} WHERE seq = 2")  # noqa: S608 - as above
        with pytest.raises(LogTamperedError):
            log.read("t-1")


def test_an_event_of_a_later_version_is_refused(store: GuardStore) -> None:
    """Who cannot read all of it cannot say what is allowed."""
    store.log.append(store.stream("standing", "t-1"), [b'{"schema_version": 2, "change": {"type": "mode_set", "mode": "act"}}'])
    with pytest.raises(StoreError, match="no standing event"):
        StandingLog(store.log, tenant=store.tenant).read("t-1")


def test_without_a_thread_there_is_no_state(store: GuardStore) -> None:
    """It would be everybody's."""
    with pytest.raises(ConfigurationError, match="thread"):
        StandingLog(store.log).read("")


def test_a_process_without_a_store_keeps_what_was_used_last() -> None:
    """Threads used longest ago are forgotten, whole; that is no tampering, and a new entry begins anew."""
    streams = RecentStreams(size=2)
    log = StandingLog(streams, forgets=True)
    log.set_mode("t-1", "plan")
    log.set_mode("t-2", "plan")
    assert Mode.PLAN is log.read("t-1").mode
    log.set_mode("t-3", "plan")
    assert Mode.ACT is log.read("t-2").mode
    assert Mode.PLAN is log.read("t-1").mode
    log.set_mode("t-2", "read_only")
    assert (Mode.READ_ONLY, 1) == (log.read("t-2").mode, log.read("t-2").seq)
    assert [] == streams.find("nothing")

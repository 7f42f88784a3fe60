"""Usage on record: once for each message, whoever writes, whoever dies in between."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from langchain_ctxguard import GuardStore
from langchain_ctxguard.core.usage import Counted
from langchain_ctxguard.domain.usage import Use
from langchain_ctxguard.errors import LogTamperedError, StoreError
from langchain_ctxguard.records.usage import USAGE, UsageLog
from tests.support.consents import Clock

NOW = datetime(2026, 6, 30, 12, tzinfo=UTC)
BY_DAY = Counted(frozenset({"day"}), ("UTC",))


@pytest.fixture
def clock() -> Clock:
    """A moment that stands still."""
    return Clock(NOW)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def urls(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A place for a store."""
    if request.param == "postgres":
        from langchain_ctxguard.backends.store import migrate_store

        url = request.getfixturevalue("postgres_url")
        migrate_store(url)
        yield url
    else:
        yield "memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'ctxguard.db'}"


def use(name: str, tokens: int = 10, at: datetime | None = NOW) -> Use:
    """Return what a message used."""
    return Use(message=name, tokens=tokens, at=at)


def test_a_message_is_on_record_once(urls: str, clock: Clock) -> None:
    """Told again it is not written again; a day is the sum of its threads."""
    with GuardStore.open(urls, clock=clock) as store:
        log = UsageLog(store, BY_DAY, clock=clock)
        log.note("a", [use("1"), use("2")])
        heads = store.log.heads([store.stream(USAGE, "thread/a"), store.stream(USAGE, "day/UTC/2026-06-30")])
        log.note("a", [use("2"), use("1", 99)])
        assert heads == [1, 1] == store.log.heads([store.stream(USAGE, "thread/a"), store.stream(USAGE, "day/UTC/2026-06-30")])
        log.note("b", [use("3", 5)])
        assert (20, 25, 0) == (log.of_thread("a").total.tokens, log.of_day(NOW).tokens, log.of_day(NOW + timedelta(days=1)).tokens)


def test_workers_that_count_the_same_messages_count_them_once(urls: str, clock: Clock) -> None:
    """Each with a log of its own, all at once, over the same messages and some of their own."""
    with GuardStore.open(urls, clock=clock) as store:

        def work(number: int) -> None:
            log = UsageLog(store, BY_DAY, clock=clock)
            for place in range(6):
                log.note("t", [use(f"all-{place}"), use(f"{number}-{place}", 1)])

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(4)))
        last = UsageLog(store, BY_DAY, clock=clock)
        last.note("t", [])
        assert (84, 84) == (last.of_thread("t").total.tokens, last.of_day(NOW).tokens)


def test_a_process_that_dies_between_thread_and_day_loses_nothing(urls: str, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next one to count anything of the thread brings the day up, and writes nothing twice."""
    with GuardStore.open(urls, clock=clock) as store:
        append = store.log.append

        def dies(stream: Any, *given: Any, **more: Any) -> Any:
            if stream.key.startswith("day/"):
                msg = "the process is gone"
                raise StoreError(msg)
            return append(stream, *given, **more)

        with monkeypatch.context() as broken:
            broken.setattr(store.log, "append", dies)
            with pytest.raises(StoreError):
                UsageLog(store, BY_DAY, clock=clock).note("t", [use("1")])
        again = UsageLog(store, BY_DAY, clock=clock)
        assert 0 == again.of_day(NOW).tokens
        again.note("t", [use("1")])
        assert (10, 10) == (again.of_thread("t").total.tokens, again.of_day(NOW).tokens)


def test_what_was_there_before_belongs_to_no_day(clock: Clock) -> None:
    """It is the thread's, and no total of a day is written for it."""
    store = GuardStore.open("memory://", clock=clock)
    log = UsageLog(store, BY_DAY, clock=clock)
    log.note("t", [use("old", at=None)])
    assert (10, 0) == (log.of_thread("t").total.tokens, log.of_day(NOW).tokens)
    assert [0] == store.log.heads([store.stream(USAGE, "day/UTC/2026-06-30")])


def test_of_several_timezones_the_day_that_used_most_counts() -> None:
    """Where two policies end it at different times, neither lets more be used than it says."""
    clock = Clock(NOW.replace(hour=10))
    log = UsageLog(GuardStore.open("memory://", clock=clock), Counted(frozenset({"day"}), ("UTC", "Asia/Shanghai")), clock=clock)
    log.note("t", [use("1", at=clock.now)])
    clock.now = NOW.replace(hour=20)
    log.note("t", [use("2", at=clock.now)])
    assert 20 == log.of_day(clock.now).tokens


def test_an_entry_of_another_kind_is_an_error(clock: Clock) -> None:
    """Nobody can tell what was used, and the message says what follows from it."""
    store = GuardStore.open("memory://", clock=clock)
    store.log.append(store.stream(USAGE, "thread/t"), [b'{"schema_version": 1, "type": "used", "uses": "all"}'])
    with pytest.raises(StoreError, match="are denied"):
        UsageLog(store, BY_DAY, clock=clock).of_thread("t")


def test_entries_that_are_gone_are_noticed(clock: Clock) -> None:
    """A log that ends earlier than it did is no thread that used less."""
    store = GuardStore.open("memory://", clock=clock)
    log = UsageLog(store, BY_DAY, clock=clock)
    log.note("t", [use("1")])
    empty: Any = GuardStore.open("memory://", clock=clock)
    log._threads._log = empty.log
    with pytest.raises(LogTamperedError):
        log.of_thread("t")

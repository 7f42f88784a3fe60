"""Budgets on a log: nobody takes more than there is, however many take at once, and nothing that may have happened is given back."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from langchain_ctxguard.backends.store import GuardStore, migrate_store
from langchain_ctxguard.domain.budget import LEASE_S, Charge
from langchain_ctxguard.domain.log import Stream
from langchain_ctxguard.domain.tool_rule import BudgetRule
from langchain_ctxguard.errors import LogTamperedError, StoreError
from langchain_ctxguard.records.budgets import BUDGETS, BudgetLog
from tests.support.consents import Clock

ROOT = Path(__file__).resolve().parents[2]


def charge(calls: int = 3, key: str = "pay/thread/t", amount: int = 0) -> Charge:
    """Return one call of a budget."""
    return Charge(rule="pay", key=key, limit=BudgetRule(calls=calls, sum={"amount": Decimal(100)}), sums={"amount": Decimal(amount)})


@pytest.fixture
def clock() -> Clock:
    """A clock that stands still."""
    return Clock(datetime(2026, 3, 1, tzinfo=UTC))


@pytest.fixture
def log(clock: Clock) -> BudgetLog:
    """Budgets in memory."""
    return BudgetLog(GuardStore.open("memory://", clock=clock), clock=clock)


def test_what_is_taken_is_taken_until_it_is_given_back(log: BudgetLog) -> None:
    """Reserved and used calls count; released ones do not."""
    first = log.reserve([charge(2)], "a")
    second = log.reserve([charge(2)], "b")
    assert isinstance(first, dict)
    assert isinstance(second, dict)
    refused = log.reserve([charge(2)], "c")
    assert isinstance(refused, tuple)
    assert "2 of 2 calls" in refused[1]
    log.settle(first, as_used=False)
    log.settle(second, as_used=True)
    assert isinstance(log.reserve([charge(2)], "c"), dict)
    assert isinstance(log.reserve([charge(2)], "d"), tuple)


def test_the_same_call_reserves_once_and_a_retry_of_it_anew(log: BudgetLog) -> None:
    """A node that begins anew holds what it held; a call that was carried out and is made again uses the budget again."""
    first = log.reserve([charge(2)], "a")
    assert first == log.reserve([charge(2)], "a")
    assert isinstance(first, dict)
    log.settle(first, as_used=True)
    second = log.reserve([charge(2)], "a")
    assert isinstance(second, dict)
    assert first != second
    assert 2 == log.state("pay/thread/t").calls
    assert isinstance(log.reserve([charge(2)], "b"), tuple)


def test_all_of_it_or_nothing(log: BudgetLog) -> None:
    """A call under two budgets takes from none where one does not hold it."""
    wide, narrow = charge(9, "wide"), charge(0, "narrow")
    assert isinstance(log.reserve([wide, narrow], "a"), tuple)
    assert (0, 0) == (log.state("wide").calls, log.state("narrow").calls)


def test_a_reservation_without_an_outcome_is_unknown_after_its_lease_and_not_free(log: BudgetLog, clock: Clock) -> None:
    """A process that died kept what it took."""
    log.reserve([charge(1)], "a")
    clock.now += timedelta(seconds=LEASE_S + 1)
    assert 1 == len(log.state("pay/thread/t").unknown)
    refused = log.reserve([charge(1)], "b")
    assert isinstance(refused, tuple)
    assert "1 with an unknown outcome" in refused[1]


def test_sums_are_exact(log: BudgetLog) -> None:
    """Amounts add up as decimals."""
    for name in "abc":
        found = log.reserve([charge(9, amount=33)], name)
        assert isinstance(found, dict)
    assert isinstance(log.reserve([charge(9, amount=2)], "d"), tuple)
    assert isinstance(log.reserve([charge(9, amount=1)], "d"), dict)


def test_an_altered_budget_is_not_counted(log: BudgetLog, clock: Clock) -> None:
    """Where the record is not as it was written nobody can say what is left."""
    store = GuardStore.open("memory://", clock=clock)
    BudgetLog(store, clock=clock).reserve([charge()], "a")
    stream = Stream(kind=BUDGETS, key="pay/thread/t")
    entries = store.log._entries[stream]  # type: ignore[attr-defined]  # to alter it
    entries[0] = entries[0].model_copy(update={"body": entries[0].body.replace(b'"calls":1', b'"calls":0')})
    with pytest.raises(LogTamperedError):
        BudgetLog(store, clock=clock).state("pay/thread/t")


def test_an_entry_of_another_version_is_not_counted(clock: Clock) -> None:
    """What this package cannot read it does not pass over."""
    store = GuardStore.open("memory://", clock=clock)
    store.log.append(Stream(kind=BUDGETS, key="k"), [b'{"schema_version":2,"kind":"free"}'])
    with pytest.raises(StoreError, match="nothing counted there"):
        BudgetLog(store, clock=clock).state("k")


WORKER = """
import sys
from datetime import UTC, datetime
from concurrent.futures import ThreadPoolExecutor
from langchain_ctxguard.backends.store import GuardStore
from langchain_ctxguard.records.budgets import BudgetLog
from tests.records.test_budgets import charge
with GuardStore.open(sys.argv[1]) as store:
    log = BudgetLog(store, clock=lambda: datetime.now(UTC))
    print("ready", flush=True)
    sys.stdin.readline()
    with ThreadPoolExecutor(2) as pool:
        taken = list(pool.map(lambda number: isinstance(log.reserve([charge(7)], f"{sys.argv[2]}-{number}"), dict), range(6)))
    print(sum(taken), flush=True)
"""


def taken_by_workers(url: str) -> int:
    """Have two processes of two threads each take from one budget, and return how much they got together."""
    made: list[Any] = [
        subprocess.Popen([sys.executable, "-c", WORKER, url, name], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for name in ("a", "b")
    ]
    for worker in made:
        assert "ready\n" == worker.stdout.readline()
    for worker in made:
        worker.stdin.write("go\n")
        worker.stdin.flush()
    return sum(int(worker.communicate(timeout=100)[0].split()[-1]) for worker in made)


def test_several_workers_never_take_more_than_there_is(tmp_path: Path) -> None:
    """Two processes with two threads each on one SQLite file: 12 calls want one of 7, and 7 get one."""
    url = f"sqlite:///{tmp_path}/guard.db"
    GuardStore.open(url).close()
    assert 7 == taken_by_workers(url)


def test_several_workers_never_take_more_than_there_is_on_postgres(postgres_url: str, clock: Clock) -> None:
    """Four stores with connections of their own on a PostgreSQL server."""
    url = postgres_url.replace("postgresql://", "postgresql+psycopg://")
    migrate_store(url)
    stores = [GuardStore.open(url) for _ in range(4)]
    try:
        logs = [BudgetLog(store, clock=clock) for store in stores]
        with ThreadPoolExecutor(4) as pool:
            taken = list(pool.map(lambda number: isinstance(logs[number % 4].reserve([charge(7)], str(number)), dict), range(12)))
    finally:
        for store in stores:
            store.close()
    assert 7 == sum(taken)


def test_threads_never_take_more_than_there_is(log: BudgetLog) -> None:
    """The same in one process."""
    with ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(lambda number: isinstance(log.reserve([charge(20)], str(number)), dict), range(60)))
    assert 20 == sum(taken)


def test_who_decides_on_what_is_no_longer_so_decides_again(clock: Clock) -> None:
    """Between reading and writing somebody else took the last one: nothing is written, and the second is refused."""
    store = GuardStore.open("memory://", clock=clock)
    first, second = BudgetLog(store, clock=clock), BudgetLog(store, clock=clock)

    class Overtaken:
        """A log in which somebody else is always a little faster."""

        def __getattr__(self, name: str) -> Any:
            """Be the log in everything else."""
            return getattr(store.log, name)

        def append(self, *args: Any, **more: Any) -> Any:
            """Let the other one reserve, then append."""
            first.reserve([charge(1)], "a")
            return store.log.append(*args, **more)

    second._log = Overtaken()  # type: ignore[assignment]  # slower on purpose
    assert isinstance(second.reserve([charge(1)], "b"), tuple)
    assert 1 == first.state("pay/thread/t").calls

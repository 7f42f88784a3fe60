"""Runs steps on the rows of a saver, in one transaction: a driver for each kind of saver, and nothing about what the steps do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol, assert_never

from langchain_ctxguard.graph.rows import MemoryRows, Open, PostgresRows, Rows, SqliteRows, Statement, Steps
from langchain_ctxguard.graph.saver_kind import SaverKind, kind_of

Opener = Callable[[Sequence[Any]], Sequence[Any]]


class Driver(Protocol):
    """Rows of a saver, and how steps on them are run."""

    rows: Rows

    def run(self, steps: Steps, opener: Opener) -> int:
        """Run steps and return what they return; all of it happened, or nothing."""

    async def arun(self, steps: Steps, opener: Opener) -> int:
        """Run steps without blocking the event loop."""


def driver_of(saver: Any) -> Driver | None:
    """Return what runs steps on the rows of a saver, `None` for a saver that is not known."""
    kind = kind_of(saver)
    return None if kind is None else _made(kind, saver)


def _made(kind: SaverKind, saver: Any) -> Driver:
    match kind:
        case "memory":
            return _Memory(saver)
        case "sqlite":
            return _Sqlite(saver)
        case "async_sqlite":
            return _AsyncSqlite(saver)
        case "postgres":
            return _Postgres(saver)
        case "async_postgres":
            return _AsyncPostgres(saver)
        case _:
            assert_never(kind)


class _Memory:
    def __init__(self, saver: Any) -> None:
        self.rows: Rows = MemoryRows(saver)

    def run(self, steps: Steps, opener: Opener) -> int:
        return _drive(steps, _no_rows, opener)

    async def arun(self, steps: Steps, opener: Opener) -> int:
        return _drive(steps, _no_rows, opener)


class _Sqlite:
    def __init__(self, saver: Any) -> None:
        self.rows: Rows = SqliteRows(saver.serde)
        self._saver = saver

    def run(self, steps: Steps, opener: Opener) -> int:
        saver = self._saver
        with saver.lock:
            saver.setup()
            connection = saver.conn
            if not connection.in_transaction:
                connection.execute("BEGIN IMMEDIATE")
            try:
                done = _drive(steps, lambda step: connection.execute(step.text, list(step.values)).fetchall(), opener)
            except BaseException:
                connection.rollback()
                raise
            connection.commit()
            return done

    async def arun(self, steps: Steps, opener: Opener) -> int:
        return await asyncio.to_thread(self.run, steps, opener)


class _AsyncSqlite:
    def __init__(self, saver: Any) -> None:
        self.rows: Rows = SqliteRows(saver.serde)
        self._saver = saver

    def run(self, steps: Steps, opener: Opener) -> int:
        return waited_for(self._saver, lambda: self.arun(steps, opener))

    async def arun(self, steps: Steps, opener: Opener) -> int:
        saver = self._saver
        await saver.setup()
        async with saver.lock:
            connection = saver.conn
            if not connection.in_transaction:
                await connection.execute("BEGIN IMMEDIATE")

            async def ask(step: Statement) -> Sequence[Any]:
                async with connection.execute(step.text, list(step.values)) as cursor:
                    return list(await cursor.fetchall())

            try:
                done = await _adrive(steps, ask, opener)
            except BaseException:
                await connection.rollback()
                raise
            await connection.commit()
            return done


class _Postgres:
    def __init__(self, saver: Any) -> None:
        self.rows: Rows = PostgresRows(saver.serde)
        self._saver = saver

    def run(self, steps: Steps, opener: Opener) -> int:
        with self._saver._cursor() as cursor, cursor.connection.transaction():  # noqa: SLF001 - a saver offers no other way to its connection

            def ask(step: Statement) -> Sequence[Any]:
                cursor.execute(step.text, list(step.values))
                return [] if cursor.description is None else [tuple(row.values()) for row in cursor.fetchall()]

            return _drive(steps, ask, opener)

    async def arun(self, steps: Steps, opener: Opener) -> int:
        return await asyncio.to_thread(self.run, steps, opener)


class _AsyncPostgres:
    def __init__(self, saver: Any) -> None:
        self.rows: Rows = PostgresRows(saver.serde)
        self._saver = saver

    def run(self, steps: Steps, opener: Opener) -> int:
        return waited_for(self._saver, lambda: self.arun(steps, opener))

    async def arun(self, steps: Steps, opener: Opener) -> int:
        async with self._saver._cursor() as cursor, cursor.connection.transaction():  # noqa: SLF001 - a saver offers no other way to its connection

            async def ask(step: Statement) -> Sequence[Any]:
                await cursor.execute(step.text, list(step.values))
                return [] if cursor.description is None else [tuple(row.values()) for row in await cursor.fetchall()]

            return await _adrive(steps, ask, opener)


def waited_for(saver: Any, call: Callable[[], Coroutine[Any, Any, int]]) -> int:
    """Run a call of an asynchronous saver from another thread than that of its event loop.

    Raises:
        InvalidStateError: this is the thread of its event loop.
    """
    try:
        is_own = asyncio.get_running_loop() is saver.loop
    except RuntimeError:
        is_own = False
    if is_own:
        msg = f"{type(saver).__name__} cannot be waited for in its own event loop; use the asynchronous method, e.g. `await saver.acopy_thread(...)`."
        raise asyncio.InvalidStateError(msg)
    return asyncio.run_coroutine_threadsafe(call(), saver.loop).result()


def _drive(steps: Steps, ask: Callable[[Statement], Sequence[Any]], opener: Opener) -> int:
    answer: Any = None
    while True:
        try:
            step = steps.send(answer)
        except StopIteration as end:
            return int(end.value)
        answer = ask(step) if isinstance(step, Statement) else opener(step.values)


async def _adrive(steps: Steps, ask: Callable[[Statement], Coroutine[Any, Any, Sequence[Any]]], opener: Opener) -> int:
    answer: Any = None
    while True:
        try:
            step: Statement | Open = steps.send(answer)
        except StopIteration as end:
            return int(end.value)
        answer = await ask(step) if isinstance(step, Statement) else await asyncio.to_thread(opener, step.values)


def _no_rows(step: Statement) -> Sequence[Any]:
    msg = f"A saver in memory has no rows for {step.text!r}."
    raise AssertionError(msg)

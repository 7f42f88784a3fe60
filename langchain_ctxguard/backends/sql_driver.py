"""The drivers below SQLAlchemy, for what each step of a call asks: transactions on a driver's own connection, and whether one still is one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

from sqlalchemy import Engine, event
from sqlalchemy.exc import DisconnectionError

IDLE_SECONDS = 2
"""A connection to a server that was used within this time is good enough for what may be asked twice."""

_USED = "ctxguard_used"
_may_be_asked_twice: ContextVar[bool] = ContextVar("ctxguard_may_be_asked_twice", default=False)


@contextmanager
def lent(engine: Engine, *, may_be_asked_twice: bool) -> Iterator[Any]:
    """Give a driver's connection. One that breaks does not come back.

    Args:
        engine: From whose pool.
        may_be_asked_twice: What is done may be done again on another connection, so one used a moment ago need not be tried first.

    Raises:
        DisconnectionError: it broke.
    """
    token = _may_be_asked_twice.set(may_be_asked_twice)
    try:
        connection = engine.raw_connection()
    finally:
        _may_be_asked_twice.reset(token)
    driver: Any = connection.driver_connection
    try:
        yield driver
    except engine.dialect.loaded_dbapi.Error as error:
        if engine.dialect.is_disconnect(error, driver, None):
            connection.invalidate(error)
            raise DisconnectionError(str(error)) from error
        raise
    finally:
        connection.close()


@contextmanager
def transaction(driver: Any, dialect: str, *, is_written: bool, is_followed: bool) -> Iterator[None]:
    """Make the block one transaction of SQLite if something is written, and each statement one to PostgreSQL."""
    if dialect != "sqlite":
        driver.autocommit = True
        try:
            yield
        finally:
            if not driver.closed:
                driver.autocommit = False
        return
    if not is_written:
        yield
        return
    with waiting_less(driver) if is_followed else nullcontext():
        driver.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            driver.execute("ROLLBACK")
            raise
        driver.execute("COMMIT")


@contextmanager
def waiting_less(driver: Any) -> Iterator[None]:
    """Have transactions of SQLite in the block wait for no disk. Between transactions, where it takes effect; the log ahead is written in order."""
    driver.execute("PRAGMA synchronous = NORMAL")
    try:
        yield
    finally:
        driver.execute("PRAGMA synchronous = FULL")


def watch_idle(engine: Engine) -> None:
    """Have connections to a server tried before they are lent: it may have closed one that lay idle."""
    event.listen(engine, "checkin", _note_use)
    event.listen(engine, "checkout", _try_out)


def _note_use(_connection: Any, record: Any) -> None:
    record.info[_USED] = time.monotonic()


def _try_out(connection: Any, record: Any, _proxy: Any) -> None:
    used = record.info.get(_USED)
    if used is None or (_may_be_asked_twice.get() and time.monotonic() - used < IDLE_SECONDS):
        return
    try:
        connection.execute("SELECT 1")
        connection.rollback()
    except Exception as error:
        # The pool then connects anew.
        raise DisconnectionError from error

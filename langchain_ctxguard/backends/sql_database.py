"""A database as the stores see it: connections that survive threads and forks, transactions, and errors in plain words. No table is known here."""

from __future__ import annotations

import os
import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DisconnectionError, NoSuchModuleError, SQLAlchemyError

from langchain_ctxguard.backends.forked import ForkSafeLock
from langchain_ctxguard.backends.sql_driver import lent, transaction, waiting_less, watch_idle
from langchain_ctxguard.errors import ConfigurationError, StoreError

Answer = TypeVar("Answer")

BUSY_SECONDS = 60
"""How long a writer waits for another one before it gives up."""

_CLAIM = text("SELECT set_config('lock_timeout', :wait, true), pg_advisory_xact_lock(:number)")

_BEGIN = "ctxguard_begin"
"""The option that says how a transaction of SQLite begins; without it, a statement is one of its own."""


class Database:
    """A SQLite file or a PostgreSQL database. Safe under threads; a forked child opens connections of its own."""

    def __init__(self, url: str | URL, *, is_read_only: bool = False) -> None:
        """Prepare to connect; nothing is connected yet.

        Args:
            url: Where.
            is_read_only: Nothing can be written through it.

        Raises:
            ConfigurationError: the URL names no database that can be used here.
        """
        self.url = read_url(url)
        self.dialect = self.url.get_backend_name()
        self.name = self.url.render_as_string(hide_password=True)
        self._is_read_only = is_read_only
        self._engine: Engine | None = _engine_of(self.url, is_read_only=is_read_only)
        self._pid = os.getpid()
        self._inherited: list[Any] = []
        self._lock = ForkSafeLock()
        self._writing = ForkSafeLock()

    def for_reading(self) -> Database:
        """Return the same database through connections of its own that write nothing.

        Raises:
            StoreError: it was closed.
        """
        self._current()
        return Database(self.url, is_read_only=True)

    @contextmanager
    def reading(self, *, is_snapshot: bool = False) -> Iterator[Connection]:
        """Give a connection to read with.

        Args:
            is_snapshot: All that is read is of one moment.
        """
        options: dict[str, Any] = {_BEGIN: "BEGIN"} if is_snapshot else {}
        if self.dialect == "postgresql":
            options["isolation_level"] = "REPEATABLE READ" if is_snapshot else "AUTOCOMMIT"
        with self._plainly(), self._current().connect() as connection:
            yield connection.execution_options(**options)

    @contextmanager
    def writing(self, *, claim: bytes | None = None, is_followed: bool = False) -> Iterator[Connection]:
        """Give a connection in a transaction that is durable when the block ends, or leaves nothing.

        Args:
            claim: The name of what is written to: those who claim the same go one after the other.
            is_followed: It is enough that this is durable when a later transaction on the same SQLite file is.
        """
        self._require_writer()
        with self._plainly(), self._turn(), self._current().connect() as connection, _synced(connection, is_synced=not is_followed):
            writer = connection.execution_options(**{_BEGIN: "BEGIN IMMEDIATE"})
            with writer.begin():
                # SQLite has one writer at a time as it is. To lock a row, one would need the right to change it.
                if claim is not None and self.dialect == "postgresql":
                    number = int.from_bytes(claim[:8], "big", signed=True)
                    writer.execute(_CLAIM, {"wait": f"{BUSY_SECONDS}s", "number": number})
                yield writer

    def ask(self, question: Callable[[Any], Answer], *, is_written: bool = False, is_followed: bool = False) -> Answer:
        """Return the answer to a question each step of a call asks: below SQLAlchemy, which costs more than the question.

        Args:
            question: Is given the driver's connection. It is asked again on another connection if the first turns out to be closed, so it must be one
                that may be. In SQLite it is one transaction; in PostgreSQL each of its statements is.
            is_written: Something is written; it is durable when this returns.
            is_followed: As in `writing`.
        """
        if is_written:
            self._require_writer()
        engine = self._current()
        with self._plainly(), self._turn() if is_written else nullcontext():
            for is_last in (False, True):
                try:
                    with (
                        lent(engine, may_be_asked_twice=not is_last) as driver,
                        transaction(driver, self.dialect, is_written=is_written, is_followed=is_followed),
                    ):
                        return question(driver)
                except DisconnectionError:
                    if is_last:
                        raise
                except engine.dialect.loaded_dbapi.Error as error:
                    raise store_error(self.name, error) from error
        raise AssertionError

    def _require_writer(self) -> None:
        if self._is_read_only:
            msg = f"The store {self.name} was opened for reading. Nothing was written; whoever may write opens it anew."
            raise StoreError(msg)

    def close(self) -> None:
        """Close all connections of this process. What is asked afterwards raises `StoreError`."""
        with self._lock:
            if self._engine is not None:
                self._engine.dispose(close=self._pid == os.getpid())
            self._engine = None

    def _current(self) -> Engine:
        engine = self._engine
        if engine is None:
            msg = f"The store {self.name} was closed. Nothing was read or written; open it again."
            raise StoreError(msg)
        if self._pid != os.getpid():
            with self._lock:
                if self._pid != os.getpid():
                    # The connections are the parent's. They are kept, unused: to collect them would close what the parent still speaks through.
                    self._inherited.append(engine.pool)
                    engine.dispose(close=False)
                    self._pid = os.getpid()
        return engine

    @contextmanager
    def _turn(self) -> Iterator[None]:
        # SQLite lets waiting writers poll, in no order; threads of one process can do better.
        if self.dialect == "sqlite":
            with self._writing:
                yield
        else:
            yield

    @contextmanager
    def _plainly(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:
            raise store_error(self.name, error) from error


def read_url(url: str | URL) -> URL:
    """Return a URL with the driver we use, or say why it cannot be used."""
    try:
        read = make_url(url)
    except ArgumentError as error:
        # The text may hold a password.
        msg = "The store's URL cannot be read; write e.g. 'sqlite:///ctxguard.db' or 'postgresql+psycopg://user@host/database'."
        raise ConfigurationError(msg) from error
    backend = {"postgres": "postgresql"}.get(read.get_backend_name(), read.get_backend_name())
    if backend == "sqlite":
        if read.database in {None, "", ":memory:"} or "mode=memory" in str(read.database):
            msg = "A SQLite database in memory is of one connection and ends with it; use 'memory://', or name a file: 'sqlite:///ctxguard.db'."
            raise ConfigurationError(msg)
        return read.set(drivername="sqlite")
    if backend == "postgresql":
        return read.set(drivername="postgresql+psycopg")
    msg = f"Stores are kept in SQLite, PostgreSQL or memory, not in '{backend}'; write e.g. 'sqlite:///ctxguard.db'."
    raise ConfigurationError(msg)


def store_error(name: str, error: Exception) -> StoreError:
    """Return what a driver said as one sentence, without the values that were to be written."""
    said = " ".join(str(getattr(error, "orig", None) or error).split()) or type(error).__name__
    if "database is locked" in said or "lock timeout" in said:
        msg = f"The store {name} was kept busy by other writers for {BUSY_SECONDS} seconds. Nothing was acknowledged; try again."
        return StoreError(msg)
    msg = f"The store {name} refused or failed: {said}. Nothing was acknowledged."
    return StoreError(msg)


def _engine_of(url: URL, *, is_read_only: bool) -> Engine:
    is_sqlite = url.get_backend_name() == "sqlite"
    try:
        engine = create_engine(
            url,
            hide_parameters=True,
            **({"connect_args": {"timeout": BUSY_SECONDS, "check_same_thread": False}} if is_sqlite else {"isolation_level": "READ COMMITTED"}),
        )
    except (ImportError, NoSuchModuleError) as error:
        msg = "PostgreSQL needs the driver psycopg: install 'langchain-ctxguard[postgres]'."
        raise ConfigurationError(msg) from error
    if is_sqlite:
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        if is_read_only:
            event.listen(engine, "connect", _only_query)
    else:
        watch_idle(engine)
    return engine


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    # Transactions are begun by us: the driver's own begin comes too late to lock what was read before.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}")
    _log_ahead(cursor)
    # What was acknowledged survives a power cut, not only a crash of the process.
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _log_ahead(cursor: Any) -> None:
    """Have the file written ahead, waiting for others who are at it.

    Of two who change the mode of a new file at once, SQLite fails one without waiting: to wait could be for ever, as each holds what the other wants.
    """
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(random.uniform(0.001, 0.02))  # noqa: S311 - to step out of another's way, not a secret
        else:
            return


def _only_query(connection: Any, _record: Any) -> None:
    connection.execute("PRAGMA query_only = ON").close()


@contextmanager
def _synced(connection: Connection, *, is_synced: bool) -> Iterator[None]:
    if is_synced or connection.dialect.name != "sqlite":
        yield
        return
    with waiting_less(connection.connection.dbapi_connection):
        yield


def _begin_sqlite(connection: Connection) -> None:
    if (begin := connection.get_execution_options().get(_BEGIN)) is not None:
        connection.exec_driver_sql(begin)

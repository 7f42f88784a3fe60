"""`GuardStore`: one place for log, blobs and index, opened by URL. What each backend does is in the files beside it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Self

from langchain_ctxguard.backends.forked import ForkSafeLock
from langchain_ctxguard.domain.anchor import Anchor, Finding
from langchain_ctxguard.domain.log import Stream
from langchain_ctxguard.errors import ConfigurationError
from langchain_ctxguard.ports import BlobStore, Clock, TextIndex, VerifiableLog

if TYPE_CHECKING:
    from langgraph.store.base import BaseStore

    from langchain_ctxguard.backends.sql_database import Database

_IN_MEMORY = MappingProxyType({"durable": "What is kept here ends with the process: consents and evicted text too."})
_NONE: Mapping[str, str] = MappingProxyType({})


class GuardStore:
    """Log, blobs and index of one tenant. Whoever opens it closes it; safe under threads, and after a fork."""

    refuses: frozenset[str] = frozenset()
    """Kinds of streams that cannot be written through this store: none, unless it is an agent's view of one."""

    log: VerifiableLog
    """What happened: append-only and chained."""

    blobs: BlobStore
    """Texts that the log names by their digest."""

    index: TextIndex
    """Finds texts by their words."""

    def __init__(
        self,
        *,
        log: VerifiableLog,
        blobs: BlobStore,
        index: TextIndex,
        tenant: str = "default",
        limits: Mapping[str, str] = _NONE,
        database: Database | None = None,
    ) -> None:
        """Put a store together from its parts; `open` does that by URL."""
        self.log = log
        self.blobs = blobs
        self.index = index
        self.tenant = tenant
        self.limits = limits
        """What this store cannot give, by a short name, each in a sentence: empty for SQLite and PostgreSQL."""
        self._database = database
        self._for_reading: GuardStore | None = None
        self._lock = ForkSafeLock()

    @classmethod
    def open(cls, url: str | BaseStore, *, tenant: str = "default", clock: Clock | None = None) -> Self:
        """Open a store.

        A SQLite file that is not there yet is made. A PostgreSQL database is prepared once with `ctxguard migrate`, by a role that may create
        tables; the role of an agent needs no more than to select and insert.

        Args:
            url: `sqlite:///ctxguard.db`, `postgresql+psycopg://user@host/database`, `memory://`, or a LangGraph `BaseStore`.
            tenant: Whose streams and spaces; those of another tenant cannot be named through this store.
            clock: Says what time it is; `None`: the system's, in UTC.

        Raises:
            ConfigurationError: the URL names nothing that can be opened.
            StoreError: the database cannot be reached, lacks its tables, or is of a later version.
        """
        if not tenant:
            msg = "A store is opened for a tenant, and `tenant` is empty; leave it out, or name one."
            raise ConfigurationError(msg)
        if isinstance(url, str):
            return cls._in_memory(tenant, clock) if url.partition(":")[0] == "memory" else cls._in_database(url, tenant, clock)
        # What has no `batch` is no BaseStore; to ask for the class itself would load LangGraph for everybody.
        if not callable(getattr(url, "batch", None)):
            msg = f"A store is opened by a URL or on a LangGraph BaseStore, not on a {_kind(url)}; write e.g. 'sqlite:///ctxguard.db'."
            raise ConfigurationError(msg)
        return cls._on_store(url, tenant, clock)

    @classmethod
    def _in_memory(cls, tenant: str, clock: Clock | None) -> Self:
        from langchain_ctxguard.backends.memory import MemoryBlobs, MemoryIndex, MemoryLog

        return cls(log=MemoryLog(tenant=tenant, clock=clock), blobs=MemoryBlobs(), index=MemoryIndex(), tenant=tenant, limits=_IN_MEMORY)

    @classmethod
    def _in_database(cls, url: str, tenant: str, clock: Clock | None) -> Self:
        # SQLAlchemy is loaded when a database is opened, and not before.
        from langchain_ctxguard.backends.sql_database import Database
        from langchain_ctxguard.backends.sql_migrate import require_schema

        database = Database(url)
        try:
            require_schema(database)
        except BaseException:
            database.close()
            raise
        return cls._over(database, tenant, clock)

    @classmethod
    def _over(cls, database: Database, tenant: str, clock: Clock | None) -> Self:
        from langchain_ctxguard.backends.sql_blobs import SqlBlobs
        from langchain_ctxguard.backends.sql_index import SqlIndex
        from langchain_ctxguard.backends.sql_log import SqlLog

        log = SqlLog(database, tenant=tenant, clock=clock)
        return cls(log=log, blobs=SqlBlobs(database, tenant=tenant), index=SqlIndex(database, tenant=tenant), tenant=tenant, database=database)

    @classmethod
    def _on_store(cls, store: BaseStore, tenant: str, clock: Clock | None) -> Self:
        from langgraph.store.memory import InMemoryStore

        from langchain_ctxguard.backends.store_blobs import StoreBlobs, StoreIndex
        from langchain_ctxguard.backends.store_log import LIMITS, StoreLog

        limits = MappingProxyType({**LIMITS, **(_IN_MEMORY if isinstance(store, InMemoryStore) else {})})
        log = StoreLog(store, tenant=tenant, clock=clock)
        return cls(log=log, blobs=StoreBlobs(store, tenant=tenant), index=StoreIndex(store, tenant=tenant), tenant=tenant, limits=limits)

    @property
    def is_durable(self) -> bool:
        """Say whether what is kept here outlives the process."""
        return "durable" not in self.limits

    def stream(self, kind: str, key: str) -> Stream:
        """Return the address of a stream of this store's tenant."""
        return Stream(tenant=self.tenant, kind=kind, key=key)

    def verify(self, anchor: Anchor | None = None) -> list[Finding]:
        """Return everything that is wrong with the log; see `ports.VerifiableLog`."""
        return self.log.verify(anchor)

    def anchor(self) -> Anchor:
        """Return where every stream ends now, to be kept where whoever can write the store cannot."""
        return self.log.anchor()

    def for_reading(self) -> GuardStore:
        """Return the same store through connections of its own that write nothing; it is closed with this one.

        Where there is no database, there are no connections either, and it is this store itself.
        """
        if self._database is None:
            return self
        with self._lock:
            if self._for_reading is None:
                self._for_reading = self._over(self._database.for_reading(), self.tenant, None)
            return self._for_reading

    def close(self) -> None:
        """Close the connections of this process. A `BaseStore` is closed by whoever opened it."""
        with self._lock:
            apart, self._for_reading = self._for_reading, None
        if apart is not None:
            apart.close()
        if self._database is not None:
            self._database.close()

    def __enter__(self) -> Self:
        """Use it in a `with` block."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close it."""
        self.close()


def _kind(given: object) -> str:
    return "Path" if isinstance(given, Path) else type(given).__name__


def migrate_store(url: str) -> tuple[int, int]:
    """Prepare a database for stores, or bring it up to date, and return the version of its schema before (0: none) and after.

    Raises:
        ConfigurationError: the URL names no database.
        StoreError: it cannot be reached, the role may not create tables, or it is of a later version.
    """
    if url.partition(":")[0] == "memory":
        msg = "A store in memory has no schema; name a database, e.g. 'sqlite:///ctxguard.db'."
        raise ConfigurationError(msg)
    from langchain_ctxguard.backends.sql_database import Database
    from langchain_ctxguard.backends.sql_migrate import migrate

    database = Database(url)
    try:
        return migrate(database)
    finally:
        database.close()

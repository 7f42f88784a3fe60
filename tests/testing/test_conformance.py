"""The contract of the ports over every backend we ship, and proof that the suite notices a store that breaks it."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from langchain_ctxguard.backends.memory import MemoryBlobs, MemoryIndex, MemoryLog
from langchain_ctxguard.backends.store import GuardStore, migrate_store
from langchain_ctxguard.domain.log import Entry, Stream
from langchain_ctxguard.testing import conformance, conformance_content, conformance_log
from langchain_ctxguard.testing.conformance import BLOB_CHECKS, INDEX_CHECKS, LOG_CHECKS, ConformanceError, check_blobs, check_index, check_log

BACKENDS = ["memory", "sqlite", "postgres", "in_memory_store", "sqlite_store", "postgres_store"]


@pytest.fixture(params=BACKENDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GuardStore]:
    """A store on each backend."""
    match request.param:
        case "memory":
            yield GuardStore.open("memory://")
        case "sqlite":
            with GuardStore.open(f"sqlite:///{tmp_path}/ctxguard.db") as opened:
                yield opened
        case "postgres":
            url = request.getfixturevalue("postgres_url")
            migrate_store(url)
            with GuardStore.open(url) as opened:
                yield opened
        case "in_memory_store":
            from langgraph.store.memory import InMemoryStore

            yield GuardStore.open(InMemoryStore())
        case "sqlite_store":
            from langgraph.store.sqlite import SqliteStore

            with SqliteStore.from_conn_string(str(tmp_path / "store.db")) as base:
                base.setup()
                yield GuardStore.open(base)
        case _:
            from langgraph.store.postgres import PostgresStore

            with PostgresStore.from_conn_string(request.getfixturevalue("postgres_url")) as base:
                base.setup()
                yield GuardStore.open(base)


@pytest.mark.parametrize("check", LOG_CHECKS, ids=lambda check: check.__name__)
def test_the_log_of_every_backend_keeps_the_contract(check: Callable[..., None], store: GuardStore) -> None:
    """One promise, one backend; and nothing is found wrong with the log afterwards."""
    check(store.log)
    assert [] == store.verify(store.anchor())


@pytest.mark.parametrize("check", BLOB_CHECKS, ids=lambda check: check.__name__)
def test_the_blobs_of_every_backend_keep_the_contract(check: Callable[..., None], store: GuardStore) -> None:
    """One promise, one backend."""
    check(store.blobs)


@pytest.mark.parametrize("check", INDEX_CHECKS, ids=lambda check: check.__name__)
def test_the_index_of_every_backend_keeps_the_contract(check: Callable[..., None], store: GuardStore) -> None:
    """One promise, one backend."""
    check(store.index)


def test_every_check_is_in_its_list() -> None:
    """None is written and forgotten."""
    subjects = {"Log", "BlobStore", "TextIndex"}
    modules = (conformance_log, conformance_content)
    functions = [item for module in modules for item in vars(module).values() if isinstance(item, types.FunctionType)]
    checks = {item.__name__ for item in functions if {*item.__annotations__.values()} & subjects and item.__annotations__["return"] == "None"}
    assert {check.__name__ for check in (*LOG_CHECKS, *BLOB_CHECKS, *INDEX_CHECKS)} == checks


def test_a_whole_run_is_reported() -> None:
    """All checks at once, for those who run no pytest."""
    reports = [check_log(MemoryLog()), check_blobs(MemoryBlobs()), check_index(MemoryIndex())]
    assert [(len(LOG_CHECKS), {}), (len(BLOB_CHECKS), {}), (len(INDEX_CHECKS), {})] == [(len(report.passed), report.failed) for report in reports]
    for report in reports:
        report.raise_for_failures()


class TextLog(MemoryLog):
    """A log that keeps bodies as text."""

    def append(self, stream: Stream, bodies: Sequence[bytes], *, expected: int | None = None, refs: Sequence[str] = ()) -> list[Entry]:
        if isinstance(bodies, list | tuple) and all(isinstance(body, bytes) for body in bodies):
            bodies = [body.decode("utf-8", "replace").replace("\r\n", "\n").encode() for body in bodies]
        return super().append(stream, bodies, expected=expected, refs=refs)


class HeedlessLog(MemoryLog):
    """A log that appends whatever the writer expects."""

    def append(self, stream: Stream, bodies: Sequence[bytes], *, expected: int | None = None, refs: Sequence[str] = ()) -> list[Entry]:
        return super().append(stream, bodies, refs=refs)


class SharedBlobs(MemoryBlobs):
    """Blobs that know one space."""

    def put(self, space: str, contents: Sequence[bytes], *, addresses: Sequence[str] | None = None) -> list[str]:
        return super().put("", contents, addresses=addresses)


@pytest.mark.parametrize(
    ("report", "failed"),
    [
        (lambda: check_log(TextLog()), {"bodies_are_kept_byte_for_byte"}),
        (lambda: check_log(HeedlessLog()), {"who_expects_another_end_writes_nothing", "of_many_who_expect_the_same_end_one_writes"}),
        (lambda: check_blobs(SharedBlobs()), {check.__name__ for check in BLOB_CHECKS}),
    ],
)
def test_a_store_that_breaks_a_promise_is_noticed(report: Callable[[], conformance.Report], failed: set[str]) -> None:
    """The report names the check, and raises when asked to."""
    found = report()
    assert failed == set(found.failed)
    with pytest.raises(ConformanceError, match=min(failed)):
        found.raise_for_failures()

"""LangGraph's own contract for savers, base and extended, with the channels of that suite stored apart."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.report import ProgressCallbacks

from langchain_ctxguard.backends.store import GuardStore, migrate_store
from langchain_ctxguard.graph.checkpointer import ContextCheckpointer
from tests.support.saver_graphs import aopened

# Every channel the suite writes: with the usual two, hardly a value of it would be stored apart.
CHANNELS = (
    "messages",
    "ctxguard",
    "ch",
    "channel",
    "list_val",
    "dict_val",
    "nested",
    "data",
    "key",
    "step",
    "output",
    "result",
    "a",
    "b",
    "k",
    "x",
    "y",
)


async def level(saver: Any) -> tuple[str, dict[str, list[str]]]:
    """Return how much of the contract a saver keeps, and what it does not."""

    @checkpointer_test(name="wrapped")
    async def made() -> AsyncIterator[Any]:
        yield saver

    report = await validate(made, progress=ProgressCallbacks())
    return report.conformance_level(), {name: list(result.failures) for name, result in report.results.items() if result.failures}


@pytest.mark.parametrize("kind", ["memory", "async_sqlite"])
async def test_the_whole_contract_is_kept(kind: str, tmp_path: Path) -> None:
    """In memory and in SQLite, deleting runs, copying and pruning included."""
    async with aopened(kind, tmp_path) as inner:
        saver = ContextCheckpointer(inner, store=f"sqlite:///{tmp_path}/ctxguard.db", channels=CHANNELS)
        assert ("FULL", {}) == await level(saver)
        saver.close()


async def test_the_whole_contract_is_kept_on_postgresql(postgres_url: str) -> None:
    """Saver and store in one database."""
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

    url = postgres_url.replace("postgresql://", "postgresql+psycopg://")
    migrate_store(url)
    async with AsyncPostgresSaver.from_conn_string(postgres_url) as inner:
        saver = ContextCheckpointer(inner, store=GuardStore.open(url), channels=CHANNELS)
        await saver.setup()
        assert ("FULL", {}) == await level(saver)
        saver.store.close()

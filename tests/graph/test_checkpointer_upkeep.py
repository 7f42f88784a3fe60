"""Copying, deleting, pruning, collecting: on every saver, with what is still needed kept."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from langchain_ctxguard.backends.store import GuardStore, migrate_store
from langchain_ctxguard.core.message_blob import thread_space
from langchain_ctxguard.errors import BlobMissingError, LogConflictError
from langchain_ctxguard.graph.checkpointer import ContextCheckpointer
from langchain_ctxguard.records.collected import Collections
from langchain_ctxguard.records.kept import KeptContent
from tests.support.saver_graphs import STATES, SYNC, THREAD, aopened, asked, graph_of, opened

AT_ONCE = timedelta(0)
OTHER: Any = {"configurable": {"thread_id": "other"}}


def wrapped(inner: Any, folder: Path) -> Any:
    return ContextCheckpointer(inner, store=GuardStore.open(f"sqlite:///{folder}/ctxguard.db"))


def talk(saver: Any, state: str, turns: int, config: Any = THREAD) -> Any:
    graph = graph_of(STATES[state], saver)
    for turn in range(turns):
        graph.invoke(asked(turn), {**config, "metadata": {"run_id": f"run-{turn}"}})
    return graph


def everything(saver: Any, config: Any = THREAD) -> list[Any]:
    return [(found.checkpoint, found.metadata, found.pending_writes) for found in saver.list(config)]


def addresses(saver: Any, thread: str = "t") -> set[str]:
    return set(saver.store.blobs.addresses(thread_space(thread)))


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("kind", SYNC)
def test_a_copied_thread_outlives_the_one_it_came_from(kind: str, state: str, tmp_path: Path) -> None:
    """All of it, and it goes on by itself."""
    with opened(kind, tmp_path) as inner:
        saver = wrapped(inner, tmp_path)
        graph = talk(saver, state, 2)
        before, values = everything(saver), graph.get_state(THREAD).values
        saver.copy_thread("t", "other")
        saver.delete_thread("t")
        assert [] == everything(saver)
        assert set() == addresses(saver)
        assert before == everything(saver, OTHER)
        assert values == graph.get_state(OTHER).values
        assert len(graph.invoke(asked(2), OTHER)["messages"]) > len(values["messages"])


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("kind", SYNC)
def test_pruning_keeps_the_state_and_the_checkpoints_of_its_versions(kind: str, state: str, tmp_path: Path) -> None:
    """The newest checkpoint, one of each context version, and what a difference channel is rebuilt from."""
    with opened(kind, tmp_path) as inner:
        saver = wrapped(inner, tmp_path)
        graph = talk(saver, state, 3)
        values, count = graph.get_state(THREAD).values, len(everything(saver))
        versions = {found.metadata.get("ctxguard_version", 0) for found in saver.list(THREAD)}
        by_version = {one.metadata.get("ctxguard_version"): one.values for one in reversed(list(graph.get_state_history(THREAD)))}
        saver.prune(["t"])
        assert values == graph.get_state(THREAD).values
        assert len(everything(saver)) < count
        kept = {one.metadata.get("ctxguard_version"): one.values for one in graph.get_state_history(THREAD)}
        assert versions - {0} == set(kept) - {None}
        assert [by_version[version] for version in kept if version] == [kept[version] for version in kept if version]
        assert len(graph.invoke(asked(3), THREAD)["messages"]) > 0
        saver.collect("t", grace=AT_ONCE)
        saver.collect("t", grace=AT_ONCE)
        assert values["messages"][-1] in graph.get_state(THREAD).values["messages"]


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("kind", SYNC)
def test_deleting_a_run_leaves_the_others_whole(kind: str, state: str, tmp_path: Path) -> None:
    """What a later run is rebuilt from stays, and so does every message that is still named."""
    with opened(kind, tmp_path) as inner:
        saver = wrapped(inner, tmp_path)
        graph = talk(saver, state, 3)
        values = graph.get_state(THREAD).values
        kept = [snapshot.values for snapshot in graph.get_state_history(THREAD) if snapshot.metadata.get("run_id") != "run-0"]
        saver.delete_for_runs(["run-0"])
        saver.collect("t", grace=AT_ONCE)
        assert values == graph.get_state(THREAD).values
        left = [snapshot for snapshot in graph.get_state_history(THREAD) if snapshot.metadata.get("run_id") != "run-0"]
        assert kept == [snapshot.values for snapshot in left]
        if state == "add_messages":
            assert "run-0" not in {found.metadata.get("run_id") for found in saver.list(THREAD)}


async def test_an_awaited_saver_does_the_same(tmp_path: Path) -> None:
    """Copy, prune, delete runs, collect, unwrap."""
    async with aopened("async_sqlite", tmp_path) as inner:
        saver = wrapped(inner, tmp_path)
        graph = graph_of(STATES["delta"], saver)
        for turn in range(3):
            await graph.ainvoke(asked(turn), {**THREAD, "metadata": {"run_id": f"run-{turn}"}})
        values = (await graph.aget_state(THREAD)).values
        await saver.acopy_thread("t", "other")
        await saver.aprune(["t"])
        await saver.adelete_for_runs(["run-1"])
        await saver.acollect("t", grace=AT_ONCE)
        assert values == (await graph.aget_state(THREAD)).values == (await graph.aget_state(OTHER)).values
        assert await saver.aunwrap("other") > 0
        await saver.aprune(["t"], strategy="delete")
        assert (set(), {}) == (addresses(saver), (await graph.aget_state(THREAD)).values)
        assert values == (await graph_of(STATES["delta"], inner).aget_state(OTHER)).values
        with pytest.raises(ValueError, match="'keep_latest' or 'delete', not 'all'"):
            await saver.aprune(["t"], strategy="all")
        with pytest.raises(TypeError, match="a list of thread ids"):
            await saver.aprune("t")


def test_a_postgresql_saver_does_the_same(postgres_url: str) -> None:
    """Rows of another shape: copied, pruned although differences are kept there, unwrapped."""
    from langgraph.checkpoint.postgres import PostgresSaver

    url = postgres_url.replace("postgresql://", "postgresql+psycopg://")
    migrate_store(url)
    with PostgresSaver.from_conn_string(postgres_url) as inner, GuardStore.open(url) as store:
        saver: Any = ContextCheckpointer(inner, store=store)
        saver.setup()
        for state in STATES:
            config: Any = {"configurable": {"thread_id": state}}
            graph = talk(saver, state, 2, config)
            values = graph.get_state(config).values
            saver.copy_thread(state, f"{state}-copy")
            saver.prune([state])
            saver.collect(state, grace=AT_ONCE)
            assert values == graph.get_state(config).values
            stamps = [found.metadata["ctxguard_version"] for found in saver.list(config) if "ctxguard_version" in found.metadata]
            assert stamps[:1] == [found.metadata["ctxguard_version"] for found in saver.list(config, filter={"ctxguard_version": stamps[0]})][:1]
            copied: Any = {"configurable": {"thread_id": f"{state}-copy"}}
            before = everything(saver, copied)
            assert saver.unwrap(f"{state}-copy") > 0
            saver.manifests.collections.purge(f"{state}-copy")
            assert before == everything(inner, copied)
            assert values == graph_of(STATES[state], inner).get_state(copied).values


def test_a_thread_is_meant_whether_its_id_is_a_number_or_a_text(tmp_path: Path) -> None:
    """The saver in memory keeps what it is given; no content is taken for unneeded because of that."""
    config: Any = {"configurable": {"thread_id": 7}}
    for meant in (7, "7"):
        with opened("memory", tmp_path) as inner:
            saver = wrapped(inner, tmp_path)
            graph = talk(saver, "add_messages", 2, config)
            values, needed = graph.get_state(config).values, addresses(saver, "7")
            saver.collect(meant)
            assert needed == addresses(saver, "7")
            saver.prune([meant])
            saver.copy_thread(meant, "copy")
            assert values == graph.get_state(config).values == graph.get_state({"configurable": {"thread_id": "copy"}}).values
            assert saver.unwrap(meant) > 0
            saver.delete_thread(meant)
            assert ({}, set()) == (graph.get_state(config).values, addresses(saver, "7"))


def test_a_collection_erases_what_nothing_needs_only_after_its_delay(tmp_path: Path) -> None:
    """Set aside first; what is kept for other reasons stays where it is."""
    with opened("sqlite", tmp_path) as inner:
        saver = wrapped(inner, tmp_path)
        talk(saver, "add_messages", 1)
        needed = addresses(saver)
        lost, kept = saver.manifests.blobs.put("t", [HumanMessage("lost"), HumanMessage("kept")])
        KeptContent(saver.store).keep("t", [kept])
        assert 0 == saver.collect("t")
        assert needed | {kept} == addresses(saver)
        assert [HumanMessage("lost")] == saver.manifests.blobs.get("t", [lost]), "it is given back to whoever asks"
        assert 0 == saver.collect("t")
        assert 2 == saver.collect("t", grace=AT_ONCE), "it was set aside twice"
        with pytest.raises(BlobMissingError, match="is gone from the store"):
            saver.manifests.blobs.get("t", [lost])


def test_what_a_writer_relied_on_is_given_back(tmp_path: Path) -> None:
    """A checkpoint written while a collection looked elsewhere is read whole, and the collection finds out before it erases."""
    with opened("sqlite", tmp_path) as inner:
        saver, late = wrapped(inner, tmp_path), wrapped(inner, tmp_path)
        talk(saver, "add_messages", 1)
        named = late.get_tuple(THREAD)
        # The collector looked before the checkpoint was there: it sees a thread without any.
        inner.delete_thread("t")
        batch = saver.upkeep.begin("t")
        survey = saver.survey("t")
        late.put({"configurable": {"thread_id": "t", "checkpoint_ns": ""}}, named.checkpoint, {}, named.checkpoint["channel_versions"])
        saver.upkeep.collect(batch, survey, timedelta(days=1))
        assert set() == addresses(saver)
        values = named.checkpoint["channel_values"]
        assert values == saver.get_tuple(THREAD).checkpoint["channel_values"]
        # What is not read in time is found by the collection that would erase it.
        late.upkeep.collect(saver.upkeep.begin("t"), survey, timedelta(days=1))
        assert set() == addresses(saver)
        saver.collect("t", grace=AT_ONCE)
        assert set() != addresses(saver)
        assert values == late.get_tuple(THREAD).checkpoint["channel_values"]


def test_content_erased_by_somebody_else_is_stored_again_by_whoever_still_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer asks whether anything was removed before it takes a digest for stored; the answer is good for half a second."""
    monkeypatch.setattr("langchain_ctxguard.graph.manifests.FRESH_S", 0)
    with opened("sqlite", tmp_path) as inner:
        saver, other = wrapped(inner, tmp_path), wrapped(inner, tmp_path)
        messages = [HumanMessage(f"m{number}", id=str(number)) for number in range(30)]
        where: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}

        def put() -> Any:
            from langgraph.checkpoint.base import empty_checkpoint

            values = {"messages": messages}
            return saver.put(where, {**empty_checkpoint(), "channel_values": values, "channel_versions": {"messages": 1}}, {}, {"messages": 1})

        put()
        put()
        other.delete_thread("t")
        assert messages == saver.get_tuple(put()).checkpoint["channel_values"]["messages"]


def test_two_collections_at_one_moment_are_one_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second is told; nothing is moved twice."""
    with opened("memory", tmp_path) as inner:
        saver = wrapped(inner, tmp_path)
        talk(saver, "add_messages", 1)
        monkeypatch.setattr(Collections, "epoch", lambda self, thread: 0)
        saver.upkeep.begin("t")
        with pytest.raises(LogConflictError):
            saver.collect("t")


def test_a_batch_is_due_by_the_clock_of_the_record(tmp_path: Path) -> None:
    """Not before its delay is over."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    with GuardStore.open(f"sqlite:///{tmp_path}/c.db") as store:
        collections = Collections(store, clock=lambda: now)
        batch = collections.begin("t")
        assert (now, [batch]) == (batch.at, collections.waiting("t"))
        assert 0 == collections.erase(batch, set())
        assert [] == collections.waiting("t")

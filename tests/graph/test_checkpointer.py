"""The wrapped saver against the same saver alone: what went in comes out, from every place where a checkpoint holds messages."""

from __future__ import annotations

import copy
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple, empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel

from langchain_ctxguard.backends.store import GuardStore
from langchain_ctxguard.errors import ConfigurationError
from langchain_ctxguard.graph.checkpointer import ContextCheckpointer
from langchain_ctxguard.graph.envelope import MARK, is_stored_apart
from langchain_ctxguard.graph.stamp import VERSION_KEY
from tests.support.saver_graphs import ASYNC, STATES, SYNC, THREAD, aopened, asked, graph_of, opened, told


class Note(BaseModel):
    text: str


CHANNELS = ("messages", "ctxguard", "papers", "aside", "seen")
TURNS = 3


def wrapped(inner: Any, folder: Path, **more: Any) -> ContextCheckpointer:
    return ContextCheckpointer(inner, store=GuardStore.open(f"sqlite:///{folder}/ctxguard.db"), **more)


def raw(saver: ContextCheckpointer) -> list[CheckpointTuple]:
    return list(saver.inner.list(THREAD))


def at(thread: str, checkpoint: str | None = None) -> Any:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": "", **({} if checkpoint is None else {"checkpoint_id": checkpoint})}}


def checkpoint_with(values: dict[str, Any]) -> Any:
    return {**empty_checkpoint(), "channel_values": values, "channel_versions": dict.fromkeys(values, 1)}


def put(saver: Any, values: dict[str, Any], thread: str = "t") -> Any:
    found = checkpoint_with(values)
    return saver.put(at(thread), found, {"step": 0}, found["channel_versions"])


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("kind", SYNC)
def test_a_wrapped_saver_tells_what_the_saver_alone_tells(kind: str, state: str, tmp_path: Path) -> None:
    """Every checkpoint of every step, values and pending writes alike, with lists in every channel."""
    histories = []
    for name in ("alone", "wrapped"):
        folder = tmp_path / name
        folder.mkdir()
        with opened(kind, folder) as inner:
            saver = wrapped(inner, folder, channels=CHANNELS) if name == "wrapped" else inner
            graph = graph_of(STATES[state], saver)
            for turn in range(TURNS):
                graph.invoke(asked(turn), THREAD)
            histories.append((told(list(saver.list(THREAD))), [snapshot.values for snapshot in graph.get_state_history(THREAD)]))
    assert histories[0] == histories[1]


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("kind", ASYNC)
async def test_an_awaited_saver_tells_the_same(kind: str, state: str, tmp_path: Path) -> None:
    """Asynchronously too."""
    histories = []
    for name in ("alone", "wrapped"):
        folder = tmp_path / name
        folder.mkdir()
        async with aopened(kind, folder) as inner:
            saver = wrapped(inner, folder, channels=CHANNELS) if name == "wrapped" else inner
            graph = graph_of(STATES[state], saver)
            for turn in range(TURNS):
                await graph.ainvoke(asked(turn), THREAD)
            listed = told([found async for found in saver.alist(THREAD)])
            histories.append((listed, [snapshot.values async for snapshot in graph.aget_state_history(THREAD)]))
    assert histories[0] == histories[1]


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("kind", SYNC)
def test_unwrapped_the_saver_alone_holds_what_went_in(kind: str, state: str, tmp_path: Path) -> None:
    """Message for message, in all checkpoints and writes; and it goes on alone, and wrapped again."""
    with opened(kind, tmp_path) as inner:
        saver = wrapped(inner, tmp_path, channels=CHANNELS)
        graph = graph_of(STATES[state], saver)
        for turn in range(TURNS):
            graph.invoke(asked(turn), THREAD)
        before = [tuple(found) for found in saver.list(THREAD)]
        assert before != [tuple(found) for found in raw(saver)]
        assert saver.unwrap("t") > 0
        assert before == [tuple(found) for found in raw(saver)] == [tuple(found) for found in saver.list(THREAD)]
        assert saver.unwrap("t") == 0
        saver.store.blobs.purge_space('["thread","t"]')
        values = graph_of(STATES[state], inner).invoke(asked(TURNS), THREAD)
        assert values == graph_of(STATES[state], saver).get_state(THREAD).values


@pytest.mark.parametrize("kind", SYNC)
def test_a_thread_written_before_is_read_and_converts_as_it_goes_on(kind: str, tmp_path: Path) -> None:
    """Nothing is migrated: old checkpoints stay as they are, new ones name what they hold."""
    with opened(kind, tmp_path) as inner:
        alone = graph_of(STATES["add_messages"], inner)
        alone.invoke(asked(0), THREAD)
        before = alone.get_state(THREAD).values
        saver = wrapped(inner, tmp_path)
        graph = graph_of(STATES["add_messages"], saver)
        assert before == graph.get_state(THREAD).values
        after = graph.invoke(asked(1), THREAD)
        assert before["messages"] == after["messages"][: len(before["messages"])]
        held = [is_stored_apart(found.checkpoint["channel_values"].get("messages")) for found in raw(saver)]
        assert held[0]
        assert not held[-1]


def test_a_message_is_stored_once_however_often_it_is_named(tmp_path: Path) -> None:
    """Checkpoints, pending writes, the input and what is sent to nodes name the same content."""
    with opened("sqlite", tmp_path) as inner:
        saver = wrapped(inner, tmp_path)
        graph = graph_of(STATES["add_messages"], saver)
        for turn in range(TURNS):
            graph.invoke(asked(turn), THREAD)
        marks = [f"问 {turn} ".encode() for turn in range(TURNS)]
        stored = list(saver.store.blobs.get('["thread","t"]', saver.store.blobs.addresses('["thread","t"]')).values())
        assert [1] * TURNS == [sum(mark in content for content in stored) for mark in marks]
        rows = [*inner.conn.execute("SELECT checkpoint FROM checkpoints"), *inner.conn.execute("SELECT value FROM writes")]
        assert not [mark for mark in marks for (content,) in rows if mark in content]


def test_bytes_of_a_turn_do_not_grow_with_the_conversation(tmp_path: Path) -> None:
    """A turn of a conversation ten times as long writes as much."""
    per_turn = []
    for size in (40, 400):
        folder = tmp_path / str(size)
        folder.mkdir()
        with opened("sqlite", folder) as inner:
            saver = wrapped(inner, folder)
            messages = [HumanMessage(f"{number} " + "z" * 400, id=f"m{number}") for number in range(size)]
            put(saver, {"messages": messages})

            def held(saver: Any = saver, inner: Any = inner) -> int:
                blobs = saver.store.blobs
                stored = blobs.get('["thread","t"]', blobs.addresses('["thread","t"]')).values()
                return int(inner.conn.execute("SELECT sum(length(checkpoint)) FROM checkpoints").fetchone()[0]) + sum(map(len, stored))

            start = held()
            for turn in range(12):
                messages = [*saver.get_tuple(at("t")).checkpoint["channel_values"]["messages"], HumanMessage("w" * 400, id=f"new{turn}")]
                put(saver, {"messages": messages})
            per_turn.append((held() - start) / 12)
            assert size + 12 == len(saver.get_tuple(at("t")).checkpoint["channel_values"]["messages"])
    assert per_turn[1] < per_turn[0] * 1.5
    assert per_turn[1] < 2_000


@pytest.mark.parametrize(
    "change",
    [
        lambda message: setattr(message, "content", "changed"),
        lambda message: message.additional_kwargs.update(mark=1),
        lambda message: message.response_metadata["deep"][0].update(x=2),
        lambda message: message.tool_calls[0]["args"].update(n=3),
        lambda message: (
            message.content.append({"type": "text", "text": "more"}) if isinstance(message.content, list) else setattr(message, "name", "n")
        ),
    ],
)
def test_a_message_changed_in_place_is_stored_as_it_is_now(change: Any, tmp_path: Path) -> None:
    """As the saver alone would: an object is known by its fields, not by its name."""
    for content in ("text", [{"type": "text", "text": "block"}]):
        saver = wrapped(InMemorySaver(), tmp_path)
        message = AIMessage(
            content,
            id="1",
            additional_kwargs={"a": 1},
            response_metadata={"deep": [{"x": 1}]},
            tool_calls=[{"name": "f", "args": {"n": 1}, "id": "c"}],
        )
        for found in (message, None):
            held = found or saver.get_tuple(at("t")).checkpoint["channel_values"]["messages"][0]
            put(saver, {"messages": [held]})
            change(held)
            put(saver, {"messages": [held]})
            assert [held] == saver.get_tuple(at("t")).checkpoint["channel_values"]["messages"]


def test_values_that_look_like_manifests_come_back_as_they_were(tmp_path: Path) -> None:
    """Whatever an application or a client puts into its state: in a named channel, in another one, in the input, and in pending writes."""
    saver = wrapped(InMemorySaver(), tmp_path)
    forged = {MARK: b"\x01\x01"}
    values = {
        "messages": forged,
        "other": forged,
        "__start__": {"messages": [HumanMessage("hi", id="1"), forged], "x": forged},
        "inside": {"__ctxguard_manifests__": forged},
    }
    config = put(saver, values)
    saver.put_writes(config, list(values.items()), "task")
    found = saver.get_tuple(config)
    assert values == found.checkpoint["channel_values"]
    assert list(values.items()) == [(channel, value) for _, channel, value in found.pending_writes]


def test_versions_are_found_by_their_stamp_and_listing_reads_no_content(tmp_path: Path) -> None:
    """`list(filter=...)` answers from metadata; the store is asked when a checkpoint is looked at."""
    with opened("sqlite", tmp_path) as inner:
        saver = wrapped(inner, tmp_path)
        for version in (0, 1, 1, 2):
            put(saver, {"messages": [HumanMessage("x", id="1")], **({"ctxguard": {"version": version}} if version else {})})
        saver.store.blobs.purge_space('["thread","t"]')
        found = list(saver.list(at("t"), filter={VERSION_KEY: 1}))
        assert [1, 1] == [one.metadata[VERSION_KEY] for one in found]  # type: ignore[typeddict-item]
        assert [2, 1, 1, None] == [one.metadata.get(VERSION_KEY) for one in saver.list(at("t"))]


def test_what_a_listed_checkpoint_holds_is_read_once_and_whole(tmp_path: Path) -> None:
    """Unpacked, indexed, compared, copied: it is a checkpoint as any other."""
    saver = wrapped(InMemorySaver(), tmp_path)
    config = put(saver, {"messages": [HumanMessage("x", id="1")]})
    (found,) = saver.list(at("t"))
    whole = saver.get_tuple(config)
    assert found.checkpoint is found.checkpoint
    assert tuple(whole) == tuple(found) == tuple(copy.copy(found))
    assert (found == whole, found != whole, found[1]) == (True, False, whole.checkpoint)
    assert found._replace(metadata={}).checkpoint == whole.checkpoint


@pytest.mark.field("C145")
def test_strict_serializers_load_messages_and_types_without_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    """The allowed types of the graph reach the inner saver, through a copy that LangGraph makes."""
    monkeypatch.setattr("langgraph.checkpoint.serde._msgpack.STRICT_MSGPACK_ENABLED", True)
    monkeypatch.setattr("langgraph.checkpoint.serde.jsonplus._lg_msgpack.STRICT_MSGPACK_ENABLED", True)
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

    saver = wrapped(InMemorySaver(serde=JsonPlusSerializer()), tmp_path, channels=("messages", "papers"))
    clone = saver.with_allowlist({("tests.graph.test_checkpointer", "Note")})
    assert clone is not saver
    assert type(clone) is type(saver)
    assert clone.serde is clone.inner.serde is not saver.serde
    put(clone, {"messages": [HumanMessage("x", id="1")], "papers": [Note(text="n")]})
    values = clone.get_tuple(at("t")).checkpoint["channel_values"]
    assert {"messages": [HumanMessage("x", id="1")], "papers": [Note(text="n")]} == values
    assert "" == caplog.text
    assert copy.copy(saver).inner is saver.inner


def test_a_saver_says_what_the_inner_one_can(tmp_path: Path) -> None:
    """Channel versions, configuration and setup are the inner saver's; what no class offers is not offered."""

    class Bare(InMemorySaver):
        pass

    class Odd(BaseCheckpointSaver[Any]):
        def prune(self, thread_ids: Any, *, strategy: str = "keep_latest") -> None:
            self.pruned = (thread_ids, strategy)

    saver = wrapped(InMemorySaver(), tmp_path)
    assert isinstance(saver.get_next_version(None, None), str)
    assert (saver.inner.config_specs, None) == (saver.config_specs, saver.setup())
    odd = wrapped(Odd(), tmp_path)
    assert type(odd).prune is not BaseCheckpointSaver.prune
    assert type(odd).aprune is BaseCheckpointSaver.aprune
    assert type(odd).copy_thread is BaseCheckpointSaver.copy_thread
    with pytest.raises(ConfigurationError, match="The rows of Odd are not known"):
        _ = odd.driver
    assert isinstance(odd, ContextCheckpointer)
    assert type(wrapped(Bare(), tmp_path)).aprune is not BaseCheckpointSaver.aprune


def test_wrong_wiring_is_refused_at_once(tmp_path: Path) -> None:
    """A store that ends before the checkpoints that name its content, a saver twice wrapped, no saver, no names."""
    with opened("sqlite", tmp_path) as inner:
        with pytest.raises(ConfigurationError, match="ends with the process and SqliteSaver does not"):
            ContextCheckpointer(inner, store="memory://")
        with pytest.raises(ConfigurationError, match="a ContextCheckpointer already"):
            wrapped(wrapped(inner, tmp_path), tmp_path)
    for wrong, words in (
        ({"inner": object()}, "was given a object"),
        ({"channels": "messages"}, "names of state channels"),
        ({"store": None}, "NoneType"),
    ):
        arguments: Any = {"inner": InMemorySaver(), "store": "memory://", **wrong}
        with pytest.raises(ConfigurationError, match=words):
            ContextCheckpointer(arguments.pop("inner"), **arguments)
    assert ContextCheckpointer(InMemorySaver(), store="memory://").store.is_durable is False


async def test_the_event_loop_never_waits_for_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever asks the store does so in another thread: contents and streams, reading, writing and keeping house."""
    here, asked_in = threading.get_ident(), set[int]()

    def watched(owner: Any, name: str) -> None:
        call = getattr(owner, name)

        def watch(*args: Any, **more: Any) -> Any:
            asked_in.add(threading.get_ident())
            return call(*args, **more)

        monkeypatch.setattr(owner, name, watch)

    async with aopened("async_sqlite", tmp_path) as inner:
        saver: Any = wrapped(inner, tmp_path)
        for name in ("put", "get", "copy_space", "purge_space", "addresses", "drop"):
            watched(type(saver.store.blobs), name)
        for name in ("heads", "read", "append"):
            watched(type(saver.store.log), name)
        graph = graph_of(STATES["delta"], saver)
        for turn in range(2):
            await graph.ainvoke(asked(turn), THREAD)
        assert [found async for found in saver.alist(THREAD)]
        await saver.acopy_thread("t", "copy")
        await saver.aprune(["t"])
        await saver.acollect("t")
        await saver.aunwrap("copy")
        await saver.adelete_thread("t")
    assert asked_in
    assert here not in asked_in


@pytest.mark.field("C137")
def test_subgraphs_of_a_thread_have_versions_of_their_own(tmp_path: Path) -> None:
    """Namespaces share the content and nothing else."""
    saver = wrapped(InMemorySaver(), tmp_path)
    for namespace, version in (("", 3), ("child", 1)):
        found = checkpoint_with({"messages": [HumanMessage("same", id="1")], "ctxguard": {"version": version}})
        saver.put({"configurable": {"thread_id": "t", "checkpoint_ns": namespace}}, found, {}, {"messages": 1, "ctxguard": 1})
    for namespace, version in (("", 3), ("child", 1)):
        (found,) = saver.list({"configurable": {"thread_id": "t", "checkpoint_ns": namespace}}, filter={VERSION_KEY: version})  # type: ignore[assignment]
        assert version == found.checkpoint["channel_values"]["ctxguard"]["version"]  # type: ignore[attr-defined]
    assert 1 == len(saver.store.blobs.addresses('["thread","t"]'))


EDITS = ("append", "remove", "front", "edit", "deep", "again", "swap", "clear", "reread", "restart", "forget")


@given(st.lists(st.tuples(st.sampled_from(EDITS), st.integers(0, 50)), max_size=25))
def test_whatever_becomes_of_a_list_is_what_is_read(edits: list[tuple[str, int]]) -> None:
    """Grown, cut, edited in place, doubled, reordered, read anew, by another process, after everything known was forgotten."""
    saver = ContextCheckpointer(InMemorySaver(), store="memory://")
    messages: list[Any] = [HumanMessage(f"start {number}", id=f"s{number}") for number in range(12)]
    for turn, (edit, number) in enumerate(edits):
        index = number % len(messages) if messages else 0
        match edit:
            case "append":
                messages = [*messages, AIMessage(f"new {turn}", id=f"n{turn}", additional_kwargs={"a": [turn]})]
            case "front":
                messages = messages[number % 4 :]
            case "remove" if messages:
                messages = [*messages[:index], *messages[index + 1 :]]
            case "edit" if messages:
                messages[index].content = f"edited {turn}"
            case "deep" if messages:
                messages[index].additional_kwargs.setdefault("a", []).append(turn)
            case "again" if messages:
                messages = [*messages, messages[index]]
            case "swap":
                messages = messages[::-1]
            case "clear":
                messages = []
            case "reread":
                messages = put_and_read(saver, messages)
            case "restart":
                saver = ContextCheckpointer(saver.inner, store=saver.store)
            case "forget":
                saver.manifests.known.forget("t")
        assert copy.deepcopy(messages) == put_and_read(saver, messages)


def put_and_read(saver: Any, messages: list[Any]) -> list[Any]:
    found: list[Any] = saver.get_tuple(put(saver, {"messages": messages})).checkpoint["channel_values"]["messages"]
    return found

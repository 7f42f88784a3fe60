"""What goes wrong between a saver and a store: clear errors, and never a shorter history."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver

from benchmarks.store_trials import _forked
from langchain_ctxguard.backends.message_blobs import KEY_ADDRESS
from langchain_ctxguard.backends.store import GuardStore
from langchain_ctxguard.core.message_blob import thread_space
from langchain_ctxguard.errors import BlobMissingError, StoreError
from langchain_ctxguard.graph.checkpointer import ContextCheckpointer
from langchain_ctxguard.graph.envelope import MARK
from tests.support.saver_graphs import STATES, THREAD, aopened, asked, graph_of, opened

WHERE: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
SPACE = thread_space("t")
MESSAGES = [HumanMessage(f"secret {number}", id=str(number)) for number in range(40)]


class Toy:
    """A cipher that anybody can read who tries, with a nonce as real ones have."""

    def __init__(self, key: int) -> None:
        """Take a number for a key."""
        self.key = key

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        return "toy", os.urandom(4) + bytes(byte ^ self.key for byte in plaintext)

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        return bytes(byte ^ self.key for byte in ciphertext[4:])


def wrapped(inner: Any, store: Any) -> Any:
    return ContextCheckpointer(inner, store=store)


def put(saver: Any, messages: Any = None, where: Any = WHERE) -> Any:
    values = {"messages": MESSAGES if messages is None else messages}
    return saver.put(where, {**empty_checkpoint(), "channel_values": values, "channel_versions": {"messages": 1}}, {}, {"messages": 1})


def messages_in(saver: Any, where: Any = WHERE) -> Any:
    return saver.get_tuple(where).checkpoint["channel_values"]["messages"]


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with GuardStore.open(f"sqlite:///{tmp_path}/ctxguard.db") as opened_store:
        yield opened_store


@pytest.mark.parametrize("which", [0, 1, -1])
def test_one_missing_content_is_an_error_and_no_shorter_list(which: int, store: Any) -> None:
    """A message or a node of the tree, erased by whoever could: the error names it, and nothing is returned."""
    saver = wrapped(InMemorySaver(), store)
    config = put(saver)
    address = store.blobs.addresses(SPACE)[which]
    store.blobs.drop(SPACE, [address])
    with pytest.raises(BlobMissingError, match=r"is gone from the store\. Nothing was returned") as raised:
        messages_in(wrapped(saver.inner, store), config)
    assert (SPACE, address) == (raised.value.space, raised.value.address)


def test_a_collection_that_cannot_tell_what_is_needed_removes_nothing(store: Any) -> None:
    """A node is gone, so nobody knows which messages it led to."""
    saver = wrapped(InMemorySaver(), store)
    put(saver)
    contents = store.blobs.get(SPACE, store.blobs.addresses(SPACE))
    store.blobs.drop(SPACE, [next(where for where, content in contents.items() if content[0] == 0)])
    with pytest.raises(BlobMissingError, match="is gone"):
        wrapped(saver.inner, store).collect("t")
    assert len(contents) - 1 == len(store.blobs.addresses(SPACE))


def test_altered_content_is_an_error(store: Any) -> None:
    """Another message under the same address, or a node with one entry less."""
    for part in range(2):
        saver = wrapped(InMemorySaver(), store)
        config = put(saver)
        contents = store.blobs.get(SPACE, store.blobs.addresses(SPACE))
        address = next(where for where, content in contents.items() if (content[0] == 0) is bool(part))
        store.blobs.drop(SPACE, [address])
        store.blobs.put(SPACE, [contents[address][:-16]], addresses=[address])
        with pytest.raises(BlobMissingError, match=f"{address} of space .* was altered"):
            messages_in(wrapped(saver.inner, store), config)
        store.blobs.purge_space(SPACE)


@pytest.mark.parametrize(
    "data", [b"", b"\x02\x01\x01\x01\x00", b"\x01\x01\x05\x01\x01" + bytes(16), b"\x01\x01\x05", b"\x01\x01" + b"\xff" * 12, "text"]
)
def test_a_manifest_that_cannot_be_read_is_an_error(data: Any, store: Any) -> None:
    """Cut off, of a later format, naming more than it leads to, or none at all."""
    saver = wrapped(InMemorySaver(), store)
    config = saver.inner.put(
        WHERE, {**empty_checkpoint(), "channel_values": {"messages": {MARK: data}}, "channel_versions": {"messages": 1}}, {}, {"messages": 1}
    )
    with pytest.raises(StoreError, match="Nothing was returned"):
        saver.get_tuple(config)


def test_a_store_that_is_gone_stops_writing_and_reading(tmp_path: Path) -> None:
    """A closed store, and another file in its place: nothing is written that names what is not there."""
    with opened("sqlite", tmp_path) as inner:
        first = GuardStore.open(f"sqlite:///{tmp_path}/one.db")
        saver = wrapped(inner, first)
        graph = graph_of(STATES["add_messages"], saver)
        graph.invoke(asked(0), THREAD)
        first.close()
        count = len(list(inner.list(THREAD)))
        with pytest.raises(StoreError, match="was closed"):
            graph.invoke(asked(1), THREAD)
        with pytest.raises(StoreError, match="was closed"):
            put(saver)
        assert count == len(list(inner.list(THREAD)))
        with (
            GuardStore.open(f"sqlite:///{tmp_path}/two.db") as other,
            pytest.raises(BlobMissingError, match="open the store this thread was written with"),
        ):
            graph_of(STATES["add_messages"], wrapped(inner, other)).get_state(THREAD)
        with GuardStore.open(f"sqlite:///{tmp_path}/one.db") as again:
            assert graph_of(STATES["add_messages"], wrapped(inner, again)).get_state(THREAD).values["messages"]


def test_a_saver_that_is_gone_leaves_content_that_is_collected(tmp_path: Path, store: Any) -> None:
    """The other way round: a store whose checkpoints were deleted behind its back holds content nobody names."""
    with opened("sqlite", tmp_path) as inner:
        saver = wrapped(inner, store)
        config = put(saver)
        inner.delete_thread("t")
        assert saver.get_tuple(config) is None
        saver.collect("t")
        assert saver.collect("t", grace=timedelta(0)) > len(MESSAGES)
        assert [] == store.blobs.addresses(SPACE)
        assert MESSAGES == messages_in(saver, put(saver))


def test_a_process_killed_before_its_checkpoint_leaves_the_thread_as_it_was(tmp_path: Path) -> None:
    """Content first, then what names it: what was stored for nothing is named by the next checkpoint or collected."""

    def write() -> None:
        with opened("sqlite", tmp_path) as inner:
            saver = wrapped(inner, GuardStore.open(f"sqlite:///{tmp_path}/ctxguard.db"))
            put(saver, MESSAGES[:10])
            inner.put = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
            put(saver, MESSAGES)

    _, status = os.waitpid(_forked(write), 0)
    assert signal.SIGKILL == os.WTERMSIG(status)
    with opened("sqlite", tmp_path) as inner, GuardStore.open(f"sqlite:///{tmp_path}/ctxguard.db") as kept:
        saver = wrapped(inner, kept)
        assert MESSAGES[:10] == messages_in(saver)
        assert len(kept.blobs.addresses(SPACE)) > len(MESSAGES)
        assert MESSAGES == messages_in(saver, put(saver))


def test_two_writers_of_one_thread_keep_everything(tmp_path: Path) -> None:
    """As two processes would: each with its own connections and what it keeps in mind."""
    with GuardStore.open(f"sqlite:///{tmp_path}/ctxguard.db"):
        pass
    errors: list[BaseException] = []

    def write(mark: str) -> None:
        try:
            connection = sqlite3.connect(tmp_path / "state.db", check_same_thread=False, timeout=30)
            saver = wrapped(SqliteSaver(connection), GuardStore.open(f"sqlite:///{tmp_path}/ctxguard.db"))
            where = {"configurable": {"thread_id": "t", "checkpoint_ns": mark}}
            for size in range(1, 16):
                messages = MESSAGES[:size] + [HumanMessage(f"{mark} {number}", id=f"{mark}{number}") for number in range(size)]
                assert messages == messages_in(saver, put(saver, messages, where))
            connection.close()
        except BaseException as error:  # noqa: BLE001 - told below
            errors.append(error)

    threads = [threading.Thread(target=write, args=(mark,)) for mark in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [] == errors


def test_an_encrypting_saver_encrypts_content_and_names_it_by_a_key(store: Any) -> None:
    """Neither the texts nor a digest that would confirm a guess of one lies in the store; copies and other processes read it."""
    saver = wrapped(InMemorySaver(serde=EncryptedSerializer(Toy(91))), store)
    config = put(saver)
    put(wrapped(InMemorySaver(), store), where={"configurable": {"thread_id": "plain", "checkpoint_ns": ""}})
    contents = store.blobs.get(SPACE, store.blobs.addresses(SPACE))
    plain = store.blobs.addresses(thread_space("plain"))
    assert not [content for content in contents.values() if b"secret" in content]
    assert all(where.startswith("keyed:") for where in contents)
    assert not {where.partition(":")[2] for where in contents} & {where.partition(":")[2] for where in plain}
    other = wrapped(saver.inner, store)
    assert MESSAGES == messages_in(other, config) == messages_in(other, put(other))
    assert len(contents) == len(store.blobs.addresses(SPACE)), "the same message is stored once"
    saver.copy_thread("t", "copy")
    assert MESSAGES == messages_in(saver, {"configurable": {"thread_id": "copy", "checkpoint_ns": ""}})
    put(saver, where={"configurable": {"thread_id": "own", "checkpoint_ns": ""}})
    with pytest.raises(StoreError, match="under a key of its own"):
        saver.copy_thread("t", "own")


def test_encrypted_content_in_another_place_or_without_its_key_is_an_error(store: Any) -> None:
    """Exchanged contents, a key that is gone, a serializer that cannot read the key."""
    saver = wrapped(InMemorySaver(serde=EncryptedSerializer(Toy(91))), store)
    config = put(saver)
    one, two = [where for where in store.blobs.addresses(SPACE) if where != KEY_ADDRESS][:2]
    contents = store.blobs.get(SPACE, [one, two])
    store.blobs.drop(SPACE, [one])
    store.blobs.put(SPACE, [contents[two]], addresses=[one])
    with pytest.raises(BlobMissingError, match="was altered"):
        messages_in(wrapped(saver.inner, store), config)
    wrong = wrapped(saver.inner, store)
    wrong.manifests.blobs.serde = EncryptedSerializer(Toy(17))
    with pytest.raises(StoreError, match="key of thread 't' cannot be read by this serializer"):
        messages_in(wrong, config)
    store.blobs.drop(SPACE, [KEY_ADDRESS])
    with pytest.raises(BlobMissingError):
        messages_in(wrapped(saver.inner, store), config)


def test_a_serializer_of_ones_own_is_treated_as_if_it_encrypted(store: Any) -> None:
    """Nobody can tell, so nothing is given away."""

    class Own(JsonPlusSerializer):
        pass

    saver = wrapped(InMemorySaver(serde=Own()), store)
    assert MESSAGES == messages_in(saver, put(saver))
    assert all(where.startswith("keyed:") for where in store.blobs.addresses(SPACE))


async def test_an_awaited_saver_says_that_it_cannot_be_waited_for_in_its_loop(tmp_path: Path, store: Any) -> None:
    """From its own loop: an error. From another thread: done."""
    async with aopened("async_sqlite", tmp_path) as inner:
        saver = wrapped(inner, store)
        values = {"messages": MESSAGES}
        checkpoint = {**empty_checkpoint(), "channel_values": values, "channel_versions": {"messages": 1}}
        await saver.aput(WHERE, checkpoint, {}, {"messages": 1})
        with pytest.raises(asyncio.InvalidStateError, match=r"await saver\.acopy_thread"):
            saver.copy_thread("t", "copy")
        await asyncio.to_thread(saver.copy_thread, "t", "copy")
        found = await saver.aget_tuple({"configurable": {"thread_id": "copy", "checkpoint_ns": ""}})
        assert MESSAGES == found.checkpoint["channel_values"]["messages"]


def test_a_transaction_that_fails_leaves_the_saver_as_it_was(tmp_path: Path, store: Any) -> None:
    """Unwrapping a thread with a missing content changes nothing."""
    with opened("sqlite", tmp_path) as inner:
        saver = wrapped(inner, store)
        put(saver, MESSAGES[:5])
        put(saver)
        before = inner.conn.execute("SELECT checkpoint FROM checkpoints ORDER BY 1").fetchall()
        address = saver.manifests.blobs.put("t", MESSAGES[-1:])[0]
        store.blobs.drop(SPACE, [address])
        with pytest.raises(BlobMissingError):
            wrapped(inner, store).unwrap("t")
        assert before == inner.conn.execute("SELECT checkpoint FROM checkpoints ORDER BY 1").fetchall()

"""What a running process keeps of the contents it read: a turn asks for what is new, and what the store lost is found all the same."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from langchain_ctxguard.backends.store import GuardStore
from langchain_ctxguard.core.message_blob import thread_space
from langchain_ctxguard.errors import BlobMissingError
from langchain_ctxguard.graph.checkpointer import ContextCheckpointer
from langchain_ctxguard.graph.recent_contents import _CHECKED

WHERE: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
SPACE = thread_space("t")


def talk(size: int) -> list[BaseMessage]:
    return [HumanMessage(f"said {number}", id=str(number), additional_kwargs={"tags": [number]}) for number in range(size)]


def put(saver: Any, messages: list[BaseMessage]) -> Any:
    values = {"messages": messages, "ctxguard": {"schema_version": 1, "version": 1, "body": "b" * 900}}
    versions = dict.fromkeys(values, 1)
    return saver.put(WHERE, {**empty_checkpoint(), "channel_values": values, "channel_versions": versions}, {}, versions)


def read(saver: Any, config: Any = WHERE) -> list[BaseMessage]:
    found: list[BaseMessage] = saver.get_tuple(config).checkpoint["channel_values"]["messages"]
    return found


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with GuardStore.open(f"sqlite:///{tmp_path}/ctxguard.db") as opened:
        yield opened


def asked_of(saver: Any, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many contents each question to the store asks for."""
    blobs, asked = saver.manifests.blobs.blobs, list[int]()
    get = blobs.get
    monkeypatch.setattr(blobs, "get", lambda space, addresses: asked.append(len(addresses)) or get(space, addresses))
    return asked


def test_a_turn_asks_once_for_what_is_new_and_a_few_more(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a process that wrote or read the list before; a new process asks for all of it."""
    inner = InMemorySaver()
    saver = ContextCheckpointer(inner, store=store)
    messages = talk(200)
    put(saver, messages)
    asked = asked_of(saver, monkeypatch)
    for turn in range(3):
        messages = [*read(saver), AIMessage(f"answer {turn}", id=f"a{turn}")]
        put(saver, messages)
    assert [_CHECKED] * 3 == asked
    other = ContextCheckpointer(inner, store=store)
    new = asked_of(other, monkeypatch)
    assert messages == read(other)
    assert sum(new) > len(messages)
    new.clear()
    assert messages == read(other)
    assert [_CHECKED] == new


def test_whoever_changes_what_was_read_changes_no_other_reading(store: Any) -> None:
    """Messages read are the reader's own: in place, down to their lists, and the same for what is no message."""
    saver = ContextCheckpointer(InMemorySaver(), store=store)
    config = put(saver, talk(40))
    first = read(saver, config)
    for message in first:
        message.content = "spoilt"
        message.additional_kwargs["tags"].append("spoilt")
    saver.get_tuple(config).checkpoint["channel_values"]["ctxguard"]["body"] = "spoilt"
    assert talk(40) == read(saver, config)
    assert "b" * 900 == saver.get_tuple(config).checkpoint["channel_values"]["ctxguard"]["body"]
    again = put(saver, first)
    assert first == read(saver, again)
    assert first == read(ContextCheckpointer(saver.inner, store=store), again)


def drop(store: Any, addresses: list[str]) -> None:
    store.blobs.drop(SPACE, addresses)


def alter(store: Any, addresses: list[str]) -> None:
    contents = store.blobs.get(SPACE, addresses)
    drop(store, addresses)
    store.blobs.put(SPACE, [content[:-1] + b"?" for content in contents.values()], addresses=list(contents))


@pytest.mark.parametrize("harm", [drop, alter])
@pytest.mark.parametrize("one", [True, False], ids=["one", "all"])
def test_what_the_store_lost_is_found_by_a_process_that_still_knows_it(harm: Callable[..., None], one: bool, store: Any) -> None:  # noqa: FBT001
    """All at once where all is lost; one of many within as many readings as it takes to look at each. By a new process at once."""
    saver = ContextCheckpointer(InMemorySaver(), store=store)
    messages = talk(200)
    put(saver, messages)
    assert messages == read(saver)
    addresses = store.blobs.addresses(SPACE)
    harm(store, addresses[7:8] if one else addresses)
    with pytest.raises(BlobMissingError, match="Nothing was returned"):
        read(ContextCheckpointer(saver.inner, store=store))
    readings = 1 + len(addresses) // _CHECKED if one else 1
    with pytest.raises(BlobMissingError, match="Nothing was returned"):
        assert all(messages == read(saver) for _ in range(readings))


def test_a_process_that_lives_through_a_purge_writes_nothing_that_names_what_is_gone(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Erased by another process: what it read before is not taken for stored, so what it writes is whole for anybody."""
    monkeypatch.setattr("langchain_ctxguard.graph.manifests.FRESH_S", 0)
    inner = InMemorySaver()
    saver, other = ContextCheckpointer(inner, store=store), ContextCheckpointer(inner, store=store)
    put(saver, talk(60))
    messages = read(saver)
    other.erase("t")
    with pytest.raises(BlobMissingError, match="is gone"):
        read(saver)
    config = put(saver, [*messages, AIMessage("more", id="more")])
    for reader in (saver, ContextCheckpointer(inner, store=store)):
        assert [*talk(60), AIMessage("more", id="more")] == read(reader, config)


def test_content_only_the_serializer_can_read_is_read_by_it_each_time(store: Any) -> None:
    """Two savers share what they know and not what they allow to be loaded."""
    saver = ContextCheckpointer(InMemorySaver(serde=JsonPlusSerializer(allowed_msgpack_modules=[(Odd.__module__, Odd.__name__)])), store=store)
    message = HumanMessage("x", id="1", additional_kwargs={"odd": Odd(1)})
    config = put(saver, [message])
    assert [Odd(1)] * 2 == [read(saver, config)[0].additional_kwargs["odd"] for _ in range(2)]
    inner = copy.copy(saver.inner)
    inner.serde = JsonPlusSerializer(allowed_msgpack_modules=None)
    strict = saver._around(inner)
    assert saver.manifests.known is strict.manifests.known
    assert [{"number": 1}, Odd(1)] == [read(each, config)[0].additional_kwargs["odd"] for each in (strict, saver)]


class Odd:
    """A value of the application's own class."""

    def __init__(self, number: int) -> None:
        """Take a number."""
        self.number = number

    def model_dump(self) -> dict[str, Any]:
        """Be stored."""
        return {"number": self.number}

    def __eq__(self, other: object) -> bool:
        """Compare by number."""
        return isinstance(other, Odd) and self.number == other.number

    __hash__ = None  # type: ignore[assignment]

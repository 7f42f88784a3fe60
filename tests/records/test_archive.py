"""The archive of a thread: kept by content, listed by versions, found by words, on every store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.store.memory import InMemoryStore

from langchain_ctxguard import GuardStore
from langchain_ctxguard.backends.message_blobs import MessageBlobs
from langchain_ctxguard.backends.store import migrate_store
from langchain_ctxguard.core.identity import message_keys
from langchain_ctxguard.domain.context import ContextHead
from langchain_ctxguard.domain.context_version import ContextPlace
from langchain_ctxguard.domain.version import CompactionRecord, Outcome
from langchain_ctxguard.errors import BlobMissingError, StoreError
from langchain_ctxguard.records.archive import Archive
from langchain_ctxguard.records.collected import Collections
from langchain_ctxguard.records.kept import KeptContent
from langchain_ctxguard.records.versions import VersionLog

PLACE = ContextPlace(thread="t-1")
RECORD = CompactionRecord(outcome=Outcome.ACCEPTED, reason="ok", trigger="messages", version=1)


class Mirror:
    """A cipher that turns bytes around: enough to tell what was encrypted."""

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        """Turn them around."""
        return "mirror", plaintext[::-1]

    def decrypt(self, _: str, ciphertext: bytes) -> bytes:
        """And back."""
        return ciphertext[::-1]


@pytest.fixture(params=["memory", "sqlite", "store", pytest.param("postgresql", marks=pytest.mark.postgres)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GuardStore]:
    """Every kind of store."""
    given: Any = {"memory": "memory://", "sqlite": f"sqlite:///{tmp_path / 'ctx.db'}", "store": InMemoryStore()}.get(request.param)
    if given is None:
        given = request.getfixturevalue("postgres_url").replace("postgresql://", "postgresql+psycopg://", 1)
        migrate_store(given)
    with GuardStore.open(given) as opened:
        yield opened


def said(*texts: str, start: int = 0) -> list[BaseMessage]:
    """Messages with ids."""
    return [HumanMessage(text, id=f"m-{start + index}") for index, text in enumerate(texts)]


class Thread:
    """A thread whose versions archive what they are told to."""

    def __init__(self, store: GuardStore, place: ContextPlace = PLACE, *, serde: Any = None) -> None:
        """Bind a store."""
        self.place = place
        self.versions = VersionLog(store)
        self.archive = Archive(store, MessageBlobs(store.blobs, serde=serde), self.versions)
        self.head = ContextHead(version=0)

    def evict(
        self, messages: list[BaseMessage], *, first: int, parent: ContextHead | None = None, offloaded: dict[int, Any] | None = None
    ) -> ContextHead:
        """Make a version that takes these messages out."""
        keys = message_keys(messages, start=first)
        entries = [(key, getattr(message, "tool_call_id", ""), message) for key, message in zip(keys, messages, strict=True)]
        part = self.archive.put(self.place, entries, first=first, offloaded=offloaded or {})
        before = parent or self.head
        after = ContextHead(version=before.version + 1)
        self.head = self.versions.commit(self.place, before, after, RECORD, replaced=keys, archived=part)
        return self.head


def texts(thread: Thread, **how: Any) -> list[str]:
    """What is archived, oldest first."""
    return [one.message.text for one in thread.archive.messages(thread.place, **how)]


def test_messages_are_kept_in_order_and_found_by_name(store: GuardStore) -> None:
    """By handle, by id and by the call they answer; each as it was; a second look reads nothing it has read."""
    thread = Thread(store)
    result = ToolMessage("42 orders", tool_call_id="call-7", id="m-2")
    thread.evict([*said("first", "第二条消息"), result], first=0)
    thread.evict(said("fourth", start=3), first=3)

    assert ["first", "第二条消息", "42 orders", "fourth"] == texts(thread)
    assert ["42 orders", "fourth"] == texts(thread, start=2)
    handles = [one.handle for one in thread.archive.messages(PLACE)]
    for wanted in (handles[2], "m-2", "call-7"):
        found = thread.archive.find(PLACE, wanted)
        assert found is not None
        assert (2, result) == (found.position, found.message)
    for unknown in ("2-ffffff", "99-abcdef", "-1-abcdef", "9" * 400, "m-9", "", "../m-1", f"{handles[2]} "):
        assert thread.archive.find(PLACE, unknown) is None
    assert 4 == thread.archive.count(PLACE)


def test_words_find_messages_chinese_too(store: GuardStore) -> None:
    """Two-character words, ids and names; what is found can be read, and another place finds nothing of it."""
    thread = Thread(store)
    thread.evict(said("the order ORD-7712 is late", "请问退货单的状态？", "nothing of interest"), first=0)
    Thread(store, ContextPlace(thread="t-2")).evict(said("ORD-7712 退货"), first=0)
    Thread(store, ContextPlace(thread="t-1", namespace="tools:1")).evict(said("ORD-7712 退货"), first=0)

    for query, wanted in (("ORD-7712", 0), ("退货", 1), ("状态", 1), ("late order", 0)):
        hits = thread.archive.search(PLACE, query, limit=5)
        located = thread.archive.located(PLACE, hits)
        assert [wanted] == [position for position, _ in located], query
    assert [] == thread.archive.search(PLACE, "zebra", limit=5)
    assert [] == thread.archive.search(PLACE, "", limit=5)


def test_doing_it_twice_is_doing_it_once(store: GuardStore) -> None:
    """What was archived before a crash is archived again under the same addresses, and found once."""
    thread = Thread(store)
    messages = said("one order", "two")
    entries = [(message.id or "", "", message) for message in messages]
    first = thread.archive.put(PLACE, entries, first=0, offloaded={})
    assert first == thread.archive.put(PLACE, entries, first=0, offloaded={})
    assert [] == texts(thread), "no version took them out yet"
    assert [] == thread.archive.located(PLACE, thread.archive.search(PLACE, "order", limit=5))
    thread.evict(messages, first=0)
    assert ["one order", "two"] == texts(thread)
    assert 1 == len(thread.archive.located(PLACE, thread.archive.search(PLACE, "order", limit=5)))


def test_a_branch_has_its_own_past(store: GuardStore) -> None:
    """Forked from an earlier version: what the other branch took out is neither listed, nor found, nor read by its handle."""
    thread = Thread(store)
    root = thread.evict(said("common past"), first=0)
    other = thread.evict(said("said on the left", start=1), first=1)
    left = next(thread.archive.messages(PLACE, start=1))
    right = thread.evict([HumanMessage("said on the right", id="m-r")], first=1, parent=root)

    assert ["common past", "said on the left"] == texts(thread, version=other.version)
    assert ["common past", "said on the right"] == texts(thread, version=right.version) == texts(thread)
    assert thread.archive.find(PLACE, left.handle) is None
    assert left == thread.archive.find(PLACE, left.handle, version=other.version)
    hits = thread.archive.search(PLACE, "said", limit=5)
    assert 2 == len(hits)
    assert ["m-r"] == [row.key for _, row in thread.archive.located(PLACE, hits)]


def test_after_a_rollback_what_is_taken_out_again_counts_once(store: GuardStore) -> None:
    """The version that holds took it out; the one that was rolled back names it no more."""
    thread = Thread(store)
    thread.evict(said("a"), first=0)
    thread.evict(said("b", "c", start=1), first=1)
    _, restored = thread.versions.restore(PLACE, 1, current=thread.head)
    thread.head = restored
    thread.evict(said("b", "c", "d", start=1), first=1)
    assert ["a", "b", "c", "d"] == texts(thread)
    assert [0, 1, 2, 3] == [one.position for one in thread.archive.messages(PLACE)]


def test_a_result_that_stays_in_part_is_archived_whole(store: GuardStore) -> None:
    """It is found by its words and read by the call it answers, before it leaves the view and after."""
    thread = Thread(store)
    large = ToolMessage("needle " + "hay " * 1_000, tool_call_id="call-1", id="m-1")
    thread.evict(said("a"), first=0, offloaded={1: ("m-1", "call-1", large)})
    found = thread.archive.find(PLACE, "call-1")
    assert found is not None
    assert large == found.message
    assert [1] == [position for position, _ in thread.archive.located(PLACE, thread.archive.search(PLACE, "needle", limit=3))]
    assert ["a"] == texts(thread)
    thread.evict([large], first=1)
    assert found == thread.archive.find(PLACE, found.handle)


def test_what_is_kept_is_on_record_for_whoever_cleans_up(store: GuardStore) -> None:
    """Every content of the archive is named as kept before a version names it."""
    thread = Thread(store)
    thread.evict(said("a", "b"), first=0)
    kept = KeptContent(store).of("t-1")
    assert {row.address for _, row in thread.archive.rows(PLACE)} < kept
    assert thread.versions.all(PLACE)[0].archive in kept


def test_what_a_collection_set_aside_too_early_is_given_back(store: GuardStore) -> None:
    """It looked at what is needed before the archive said so: the messages are read all the same, and stay."""
    thread = Thread(store)
    thread.evict(said("a", "b"), first=0)
    collections = Collections(store)
    collections.set_aside(collections.begin("t-1"), store.blobs.addresses('["thread","t-1"]'))
    assert ["a", "b"] == texts(Thread(store))


def test_nothing_is_silently_shorter(store: GuardStore) -> None:
    """Erased content is an error, and so is a list that cannot be read; the record stands."""
    thread = Thread(store)
    thread.evict(said("a", "b"), first=0)
    assert 3 == thread.archive.purge("t-1", [PLACE]), "two messages and the list of them"
    assert [] == thread.archive.search(PLACE, "a", limit=3)
    with pytest.raises(BlobMissingError, match="gone"):
        texts(Thread(store))
    assert [] == store.verify()


def test_a_list_of_another_shape_is_refused() -> None:
    """Written by a later version, or by nobody."""
    with GuardStore.open("memory://") as store:
        thread = Thread(store)
        thread.evict(said("a"), first=0)
        contents = MessageBlobs(store.blobs)
        (address,) = contents.put("t-1", [{"schema_version": 2, "first": 0}])
        part = thread.archive.put(PLACE, [("m-1", "", HumanMessage("b", id="m-1"))], first=1, offloaded={}).model_copy(update={"archive": address})
        thread.head = thread.versions.commit(PLACE, thread.head, ContextHead(version=2), RECORD, replaced=["m-1"], archived=part)
        with pytest.raises(StoreError, match="cannot be read"):
            texts(Thread(store))


def test_encrypted_content_leaves_no_words(store: GuardStore) -> None:
    """With a serializer that encrypts, neither content nor index shows a word; a search reads the messages instead, and finds the same."""
    serde = EncryptedSerializer(Mirror(), JsonPlusSerializer())
    thread = Thread(store, serde=serde)
    thread.evict(said("the secret order ORD-7712", "请问退货单", "else"), first=0)
    assert [] == store.index.search('["archive","t-1",""]', "secret 退货")
    for row in thread.archive.rows(PLACE):
        assert b"secret" not in store.blobs.get('["thread","t-1"]', [row[1].address])[row[1].address]
    for query, wanted in (("ORD-7712", [0]), ("退货", [1]), ("zebra", [])):
        assert wanted == [position for position, _ in thread.archive.located(PLACE, thread.archive.search(PLACE, query, limit=3))]


def test_after_a_rollback_a_shorter_version_hides_nothing_of_a_longer_one(store: GuardStore) -> None:
    """Back to the first version, three messages out where six had been, then the longer one again: each message is listed once, as it is newest."""
    thread = Thread(store)
    root = thread.evict(said("0", "1"), first=0)
    thread.evict(said("2", "3", "4", "5", "6", "7", start=2), first=2)
    thread.versions.restore(PLACE, root.version)
    thread.head = ContextHead(version=3)
    thread.evict([*said("2", start=2), HumanMessage("3, said anew", id="m-3"), *said("4", start=4)], first=2)
    thread.versions.restore(PLACE, 2)

    assert ["0", "1", "2", "3, said anew", "4", "5", "6", "7"] == texts(thread)
    assert ["5", "6", "7"] == texts(thread, start=5)
    assert ["4", "5", "6", "7"] == texts(thread, start=4)
    assert 8 == thread.archive.count(PLACE)
    assert list(range(8)) == [position for position, _ in thread.archive.rows(PLACE)]
    for one in thread.archive.messages(PLACE):
        assert one == thread.archive.find(PLACE, one.handle) == thread.archive.find(PLACE, one.key)
    hits = thread.archive.search(PLACE, "anew", limit=5)
    assert [3] == [position for position, _ in thread.archive.located(PLACE, hits)]


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 6)), max_size=12), st.integers(0, 14))
def test_rows_are_those_of_the_newest_version_at_each_position(taken: list[tuple[int, int]], start: int) -> None:
    """Whatever stretches versions took out, overlapping or apart."""
    with GuardStore.open("memory://") as store:
        thread = Thread(store)
        expected: dict[int, str] = {}
        for number, (first, many) in enumerate(taken):
            messages = [HumanMessage(f"{number}:{first + index}", id=f"m-{number}-{index}") for index in range(many)]
            thread.evict(messages, first=first)
            expected |= {first + index: message.text for index, message in enumerate(messages)}
        assert {at: text for at, text in expected.items() if at >= start} == {
            one.position: one.message.text for one in thread.archive.messages(PLACE, start=start)
        }
        assert len(expected) == thread.archive.count(PLACE)


def test_a_name_that_was_never_archived_is_not_looked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifty versions: the second question reads the list of the newest version alone; the answers are those of a fresh look, on every branch."""
    with GuardStore.open("memory://") as store:
        thread = Thread(store)
        heads = [thread.evict([HumanMessage(f"text {number}", id=f"m-{number}")], first=number) for number in range(50)]
        names = ["m-0", "never", "m-30"]
        looked: list[int] = []
        whole = Archive._manifest

        def counted(archive: Archive, place: ContextPlace, step: Any) -> Any:
            looked.append(step.number)
            return whole(archive, place, step)

        monkeypatch.setattr(Archive, "_manifest", counted)
        first = thread.archive.holding(PLACE, names)
        assert {"m-0", "m-30"} == first.keys()
        assert 50 == len(looked)
        looked.clear()
        assert first == thread.archive.holding(PLACE, names)
        assert [] == looked
        thread.evict([HumanMessage("never before", id="never")], first=50)
        assert {"m-0", "m-30", "never"} == thread.archive.holding(PLACE, names).keys()
        assert [51] == looked
        branch = thread.evict([HumanMessage("another life", id="m-50")], first=20, parent=heads[19])
        for version in (branch.version, heads[40].version, heads[10].version, None):
            known = thread.archive.holding(PLACE, names, version=version)
            assert known == Thread(store).archive.holding(PLACE, names, version=version)
        assert {"m-0"} == thread.archive.holding(PLACE, names, version=heads[10].version).keys()


def test_what_was_written_anew_counts_by_its_newest_address() -> None:
    """A message that came back and was changed: the older content no longer speaks for it."""
    with GuardStore.open("memory://") as store:
        thread = Thread(store)
        thread.evict(said("as it was"), first=0)
        (old,) = thread.archive.holding(PLACE, ["m-0"])["m-0"]
        thread.evict([HumanMessage("as it is", id="m-0")], first=0)
        assert {old} != thread.archive.holding(PLACE, ["m-0"])["m-0"]
        assert 1 == len(thread.archive.holding(PLACE, ["m-0", "unknown"])["m-0"])


def test_what_a_version_costs_does_not_grow_with_those_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries read to put a version on record, thin the old ones, find names, and say when consents changed: as many after ninety as after thirty."""
    with GuardStore.open("memory://") as store:
        thread, read = Thread(store), []
        whole = store.log.read

        def counted(*given: Any, **more: Any) -> Any:
            entries = whole(*given, **more)
            read.append(len(entries))
            return entries

        monkeypatch.setattr(store.log, "read", counted)
        costs = []
        for number in range(90):
            read.clear()
            thread.evict([HumanMessage(f"text {number}", id=f"m-{number}")], first=number)
            thread.archive.holding(PLACE, ["never", "m-0"])
            assert not thread.archive.has_left(PLACE)
            assert () == thread.versions.checkpoints(PLACE)[1]
            costs.append(sum(read))
        assert costs[30] == costs[89]
        assert 0 < costs[30] < 30

"""Versions on record before the state has them: found again after a crash, compared, gone back to without running anything twice."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph

from langchain_ctxguard import CompactContext, ContextGuard, GuardConfig, GuardedState, GuardStore, RollbackContext
from langchain_ctxguard.core.effects import SummaryRequest
from langchain_ctxguard.domain.summary import Fact, SummaryDraft
from langchain_ctxguard.errors import BlobMissingError, ConfigurationError, StoreError, VersionNotFoundError
from langchain_ctxguard.records.versions import VersionLog
from tests.graph.models import Facts, ScriptedChat

THREAD = {"configurable": {"thread_id": "t-1"}}


class Counting:
    """Tells which compaction it was asked for."""

    name = "counting"
    asked = 0

    def summarize(self, request: SummaryRequest) -> SummaryDraft:
        """Return a draft with the number of the question in it."""
        self.asked += 1
        return SummaryDraft(facts=(Fact(statement=f"They talked, part {self.asked}."),))

    async def asummarize(self, request: SummaryRequest) -> SummaryDraft:
        """Do the same."""
        return self.summarize(request)


def guarded(store: Any, *, summarizer: Any = None, script: Any = None, saver: Any = None, **options: Any) -> tuple[Any, ContextGuard, ScriptedChat]:
    """An agent that compacts every few turns and keeps its versions in a store."""
    model = ScriptedChat(script=script) if script else ScriptedChat()
    guard = ContextGuard(store=store, summarizer=summarizer or Counting(), trigger=("messages", 7), keep=("turns", 1), **options)
    return create_agent(model, [], middleware=[guard], checkpointer=saver or InMemorySaver()), guard, model


def talk(graph: Any, *numbers: int, config: Any = None) -> Any:
    """One turn for each number."""
    for number in numbers:
        done = graph.invoke({"messages": [("human", f"Question {number}: " + "what about it? " * 40)]}, config or THREAD)
    return done


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A store in memory and one in a file."""
    url = "memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'ctx.db'}"
    with GuardStore.open(url) as opened:
        yield opened


def test_every_version_is_a_commit(store: GuardStore) -> None:
    """Numbers grow by one, each names its parent, and none holds a word of the conversation."""
    graph, guard, _ = guarded(store)
    talk(graph, *range(12))
    versions = guard.history(THREAD).versions

    assert len(versions) >= 3
    assert list(range(1, len(versions) + 1)) == [version.number for version in versions]
    assert [version.number - 1 for version in versions] == [version.parent for version in versions]
    assert versions[-1].number == graph.get_state(THREAD).values["ctxguard"]["version"]
    assert all(version.replaced > 0 and version.tokens > 0 for version in versions)
    stream = store.stream("versions", guard.history(THREAD).place.key)
    assert all(b"Question" not in entry.body and b"talked" not in entry.body for entry in store.log.read(stream))
    assert [] == store.verify()


def test_rejected_attempts_are_on_record_too(store: GuardStore) -> None:
    """With their reason, and without a version."""

    class Verbose(Counting):
        def summarize(self, request: SummaryRequest) -> SummaryDraft:
            raise ConnectionError

    graph, guard, _ = guarded(store, summarizer=Verbose(), config=GuardConfig.from_dict({"compaction": {"fallback": None}}))
    talk(graph, *range(5))
    history = guard.history(THREAD)

    assert [] == history.versions
    assert history.attempts
    assert {"rejected"} == {attempt.record.outcome for attempt in history.attempts}


def test_a_crash_between_record_and_state_is_mended_by_adoption(store: GuardStore) -> None:
    """The model fails after the version was written: the next process finds it, pays no second summary, and uses no number twice."""
    calls: list[int] = []

    def script(number: int, _: Any) -> str | Exception:
        calls.append(number)
        return RuntimeError("down") if len(calls) == 4 else f"answer {number}"

    saver, summarizer = InMemorySaver(), Counting()
    graph, guard, _ = guarded(store, summarizer=summarizer, script=script, saver=saver)
    talk(graph, 1, 2, 3)
    with pytest.raises(RuntimeError):
        talk(graph, 4)
    assert 1 == len(guard.history(THREAD).versions)
    assert not graph.get_state(THREAD).values.get("ctxguard")

    facts = Facts()
    second, again, model = guarded(store, summarizer=Counting(), saver=saver, hooks=[facts])
    second.invoke(None, THREAD)

    assert 1 == len(again.history(THREAD).versions)
    assert 1 == second.get_state(THREAD).values["ctxguard"]["version"]
    assert any("part 1" in message.text for message in model.seen[-1])
    assert "version_adopted" in [fact.kind for fact in facts.all if hasattr(fact, "kind")]
    assert 1 == summarizer.asked


def test_two_versions_differ_in_what_the_report_says(store: GuardStore) -> None:
    """Summary items and tokens, as data and in words."""
    graph, guard, _ = guarded(store)
    talk(graph, *range(3))
    graph.invoke({"messages": [("human", "Ship order ORD-7712 by 2026-12-15.")]}, THREAD)
    talk(graph, *range(4, 10))
    history = guard.history(THREAD)
    diff = history.diff(1, history.versions[-1].number)

    assert "ORD-7712" in {field.raw for field in diff.fields_new} | {field.raw for field in diff.fields_gone}
    assert any("part" in text for text in diff.summary.new)
    report = str(diff)
    assert report.startswith(f"version 1 -> version {history.versions[-1].number}:")
    assert "+ summary:" in report
    assert history.diff(1, 1).is_empty
    assert "no difference" in str(history.diff(1, 1))


def test_rolling_back_appends_and_the_next_call_sees_it(store: GuardStore) -> None:
    """A new number with the old content; the messages stay, and no tool runs again."""
    runs: list[str] = []

    @tool
    def note(text: str) -> str:
        """Note a text."""
        runs.append(text)
        return "noted"

    def script(number: int, messages: Any) -> AIMessage | str:
        if number == 1:
            return AIMessage("", tool_calls=[{"name": "note", "args": {"text": "once"}, "id": "c-1"}])
        return f"answer {number}"

    guard = ContextGuard(store=store, summarizer=Counting(), trigger=("messages", 7), keep=("turns", 1))
    model = ScriptedChat(script=script)
    saver = InMemorySaver()
    graph = create_agent(model, [note], middleware=[guard], checkpointer=saver)
    talk(graph, *range(10))
    history = guard.history(THREAD, graph)
    before = history.versions[-1].number
    messages = len(graph.get_state(THREAD).values["messages"])

    version = history.rollback(to=1, reason="went astray")

    assert (before + 1, 1, "went astray") == (version.number, version.restores, version.reason)
    reading = ContextGuard(store=store, trigger=None)
    again = create_agent(model, [note], middleware=[reading], checkpointer=saver)
    talk(again, 99)
    shown = "\n".join(message.text for message in model.seen[-1])
    assert "part 1" in shown
    assert f"part {before}" not in shown
    assert "Question 8" in shown
    assert before + 1 == graph.get_state(THREAD).values["ctxguard"]["version"]
    assert messages + 2 == len(graph.get_state(THREAD).values["messages"])
    assert ["once"] == runs
    assert [] == store.verify()


def test_stable_is_the_newest_version_without_a_critical_loss(store: GuardStore) -> None:
    """One that lost a critical value is passed over, however new it is."""
    graph, guard, _ = guarded(store)
    talk(graph, *range(6))
    history = guard.history(THREAD)
    stable = history.versions[-1].number
    head, record = history.head(stable), history.attempts[-1].record
    lossy = record.model_copy(update={"fields": record.fields.model_copy(update={"lost": 2})})
    log = VersionLog(store)
    for number in (stable + 1, stable + 2):
        log.commit(history.place, head, head.model_copy(update={"version": number}), lossy, replaced=["m"])
    assert [0] * stable + [2, 2] == [version.lost for version in history.versions]

    restored = history.rollback(to="stable")

    assert (stable, True) == (restored.restores, restored.is_stable)


def test_what_was_never_there_cannot_be_restored(store: GuardStore) -> None:
    """The error names what there is."""
    graph, guard, _ = guarded(store)
    with pytest.raises(VersionNotFoundError, match="no versions on record"):
        guard.history(THREAD).rollback(to=1)
    talk(graph, *range(8))
    last = guard.history(THREAD).versions[-1].number
    with pytest.raises(VersionNotFoundError, match=f"versions 1 to {last}"):
        guard.history(THREAD).rollback(to=99)
    with pytest.raises(VersionNotFoundError):
        guard.history(THREAD).diff(1, 99)


def test_old_versions_keep_their_record_and_lose_their_content(store: GuardStore) -> None:
    """Only the newest are kept in full; going back to an older one says what is gone."""
    graph, guard, _ = guarded(store, config=GuardConfig.from_dict({"versions_kept": 2}))
    talk(graph, *range(20))
    history = guard.history(THREAD)
    last = history.versions[-1].number
    assert last > 4

    with pytest.raises(BlobMissingError, match="keeps that of the newest `versions_kept` only"):
        history.rollback(to=1)
    assert history.head(last).version == last
    assert history.head(last - 1).version == last - 1
    assert [] == store.verify()


def test_a_purge_erases_content_and_leaves_the_chain(store: GuardStore) -> None:
    """The thread goes on from its state; its past cannot be read any more."""
    graph, guard, _ = guarded(store)
    talk(graph, *range(10))
    history = guard.history(THREAD)
    count = len(history.versions)

    assert history.purge() == count
    assert [] == store.verify()
    assert count == len(history.versions)
    with pytest.raises(BlobMissingError):
        history.head(count)
    talk(graph, 50)


def test_a_thread_is_purged_with_its_sub_agents(store: GuardStore) -> None:
    """And no other thread; without a store there is nothing to purge."""
    graph, guard, _ = guarded(store)
    other = {"configurable": {"thread_id": "t-2"}}
    talk(graph, *range(6))
    talk(graph, *range(6), config=other)
    archived = list(guard.archived_messages("t-1"))
    lists = versions = len(guard.history(THREAD).versions)

    assert len(archived) + lists + versions == guard.purge_thread("t-1").total
    assert guard.history(other).head(1).version == 1
    with pytest.raises(BlobMissingError):
        guard.history(THREAD).head(1)
    assert [] == store.verify()
    with pytest.raises(ConfigurationError, match="without a store"):
        ContextGuard().purge_thread("t-1")


def test_an_attempt_says_what_it_was_held_to_and_how_long_it_took(store: GuardStore) -> None:
    """Facts by standing, checks by name, seconds."""
    graph, guard, _ = guarded(store, constraints=["Never delete an order."])
    talk(graph, *range(6))
    record = guard.history(THREAD).attempts[-1].record

    assert {"rules", "calls", "request", "fields", "gain"} <= set(record.invariants)
    assert (1, 0) == (record.facts_claimed, record.facts_confirmed)
    assert 0 < record.seconds < 60


def test_threads_and_namespaces_do_not_mix(store: GuardStore) -> None:
    """Each thread counts for itself, many at once."""
    graph, guard, _ = guarded(store)
    configs = [{"configurable": {"thread_id": f"t-{number}"}} for number in range(4)]
    workers = [threading.Thread(target=talk, args=(graph, *range(8)), kwargs={"config": config}) for config in configs]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)

    for config in configs:
        versions = guard.history(config).versions
        assert versions
        assert list(range(1, len(versions) + 1)) == [version.number for version in versions]
    assert [] == store.verify()


async def test_an_async_run_keeps_versions_too(store: GuardStore) -> None:
    """Off the event loop where the store may block."""
    graph, guard, _ = guarded(store)
    for number in range(8):
        await graph.ainvoke({"messages": [("human", f"Question {number}: " + "what about it? " * 40)]}, THREAD)

    assert guard.history(THREAD).versions
    assert guard.history(THREAD).versions[-1].number == graph.get_state(THREAD).values["ctxguard"]["version"]


def test_the_node_of_a_plain_graph_keeps_versions_and_goes_back() -> None:
    """`CompactContext` writes them, `RollbackContext` restores."""
    with GuardStore.open("memory://") as store:
        guard = ContextGuard(store=store, summarizer=Counting(), trigger=("messages", 7), keep=("turns", 1))
        building = StateGraph(GuardedState)
        building.add_node("compact", CompactContext(guard))
        building.add_node("model", lambda state: {"messages": [AIMessage(f"I saw {len(guard.view(state))}.")]})
        building.add_edge(START, "compact")
        building.add_edge("compact", "model")
        graph = building.compile(checkpointer=InMemorySaver())
        talk(graph, *range(10))
        history = guard.history(THREAD)
        last = history.versions[-1].number
        back = StateGraph(GuardedState)
        back.add_node("rollback", RollbackContext(guard, to=1))
        back.add_edge(START, "rollback")
        update = back.compile(checkpointer=graph.checkpointer).invoke({"messages": []}, THREAD)

        assert last + 1 == update["ctxguard"]["version"]
        assert last + 1 == history.versions[-1].number


def test_without_a_store_there_is_no_history() -> None:
    """And the error says what to pass."""
    with pytest.raises(ConfigurationError, match="store='sqlite"):
        ContextGuard().history(THREAD)
    with pytest.raises(ConfigurationError, match="store"):
        RollbackContext(ContextGuard())
    with GuardStore.open("memory://") as store, pytest.raises(ConfigurationError, match="thread_id"):
        ContextGuard(store=store).history({})


def test_a_store_that_fails_keeps_the_previous_context() -> None:
    """The run goes on with the history as it was; the event says why."""
    facts = Facts()
    with GuardStore.open("memory://") as store:
        graph, _, model = guarded(store, hooks=[facts])

        def refuse(*_: Any, **__: Any) -> Any:
            msg = "disk full"
            raise StoreError(msg)

        store.log.append = refuse  # type: ignore[method-assign]  # a store that breaks
        talk(graph, *range(8))

    assert not graph.get_state(THREAD).values.get("ctxguard")
    assert 15 == len(model.seen[-1])
    assert "store_failed" in [fact.kind for fact in facts.all if hasattr(fact, "kind")]


def test_a_branch_is_looked_into_once(store: GuardStore) -> None:
    """A record that does not lead on from the state is read at the first call, and idle calls after it ask where it ends and no more."""
    saver = InMemorySaver()
    graph, guard, _ = guarded(store, saver=saver)
    talk(graph, *range(6))
    history = guard.history(THREAD)
    newest = history.versions[-1]
    log = VersionLog(store)
    other = history.head(newest.number).model_copy(update={"version": newest.number + 5})
    log.commit(history.place, other, other.model_copy(update={"version": newest.number + 6}), history.attempts[-1].record, replaced=[])
    reading = ContextGuard(store=store, trigger=None)
    idle = create_agent(ScriptedChat(), [], middleware=[reading], checkpointer=saver)
    talk(idle, 90)
    reads: list[Any] = []
    read = store.log.read
    store.log.read = lambda stream, since=0: (reads.append(stream), read(stream, since))[1]  # type: ignore[method-assign]  # to count
    talk(idle, 91, 92)

    assert [] == [stream for stream in reads if stream.kind == "versions"]
    assert newest.number == idle.get_state(THREAD).values["ctxguard"]["version"]


def test_two_writers_of_one_thread_get_numbers_of_their_own(store: GuardStore) -> None:
    """Through one log object, many at once: every version is there, none twice."""
    graph, guard, _ = guarded(store)
    talk(graph, *range(6))
    history = guard.history(THREAD)
    head, record = history.head(1), history.attempts[-1].record
    log = VersionLog(store, kept=10_000)
    before = len(history.versions)

    def write() -> None:
        for _ in range(5):
            log.commit(history.place, head, head, record, replaced=[])

    workers = [threading.Thread(target=write) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)

    numbers = [version.number for version in history.versions]
    assert list(range(1, before + 16)) == numbers

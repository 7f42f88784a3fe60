"""How long archiving, searching and reading take over long threads, and what is left in a state whose messages leave it.

    python -m benchmarks.recall               10,000 and 100,000 messages; prints, and writes `results/recall.json`
    python -m benchmarks.recall --small       1,000 messages; writes nothing

Archives in SQLite, and in PostgreSQL where CTXGUARD_TEST_POSTGRES names a server. Times are of this process, wall clock.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from benchmarks.measuring import CannedSummarizer, conversation, cores, median, percentile, seconds_of, table, write
from benchmarks.store_trials import postgres
from langchain_ctxguard import ContextGuard, GuardConfig, GuardStore
from langchain_ctxguard.backends.message_blobs import MessageBlobs
from langchain_ctxguard.core.identity import message_keys
from langchain_ctxguard.domain.context import ContextHead
from langchain_ctxguard.domain.context_version import ContextPlace
from langchain_ctxguard.domain.version import CompactionRecord, Outcome
from langchain_ctxguard.records.archive import Archive
from langchain_ctxguard.records.versions import VersionLog

PLACE = ContextPlace(thread="t")
AT_ONCE = 200
"""Messages that one version takes out."""

_RARE = 500
"""One message in so many says something of its own."""

_TIMES = 30
_RECORD = CompactionRecord(outcome=Outcome.ACCEPTED, reason="measured", trigger="messages", version=1)
_NAMES = ("退货单", "发票号", "收货人", "快递员", "优惠券")


def _messages(size: int) -> list[BaseMessage]:
    """A conversation in which some messages say what no other says, in English and in Chinese."""
    messages = conversation(size)
    for index in range(0, size, _RARE):
        name = _NAMES[index // _RARE % len(_NAMES)]
        messages[index] = messages[index].model_copy(update={"content": f"{messages[index].content} ORD-{index:07} {name}{index}"})
    return messages


def _filled(store: GuardStore, messages: list[BaseMessage]) -> tuple[Archive, list[float]]:
    """Archive them as versions would, and return how long each took."""
    versions = VersionLog(store, kept=1)
    archive = Archive(store, MessageBlobs(store.blobs), versions)
    head, seconds = ContextHead(version=0), []
    for start in range(0, len(messages), AT_ONCE):
        some = messages[start : start + AT_ONCE]
        keys = message_keys(some, start=start)

        def put(some: list[BaseMessage] = some, keys: list[str] = keys, start: int = start) -> None:
            nonlocal head
            part = archive.put(PLACE, [(key, "", message) for key, message in zip(keys, some, strict=True)], first=start, offloaded={})
            head = versions.commit(PLACE, head, ContextHead(version=head.version + 1), _RECORD, replaced=keys, archived=part)

        seconds.append(seconds_of(put))
    return archive, seconds


def _asked(what: str, name: str, size: int, samples: list[float]) -> dict[str, Any]:
    return {
        "what": what,
        "store": name,
        "messages": size,
        "p50_ms": round(median(samples) * 1e3, 1),
        "p99_ms": round(percentile(samples, 0.99) * 1e3, 1),
    }


def _recall(name: str, store: GuardStore, size: int) -> Iterator[dict[str, Any]]:
    messages = _messages(size)
    archive, seconds = _filled(store, messages)
    yield _asked(f"archive {AT_ONCE} messages of 500 characters", name, size, seconds)
    wanted = [index * _RARE for index in range(size // _RARE)][:_TIMES]
    queries = {
        "search an id": [f"ORD-{index:07}" for index in wanted],
        "search two Chinese characters": [_NAMES[index // _RARE % len(_NAMES)][:2] for index in wanted],
        "search six common words": ["order delivery status address invoice customer"] * min(_TIMES, len(wanted)),
    }
    for what, asked in queries.items():
        samples = [seconds_of(partial(archive.search, PLACE, query, limit=30)) for query in asked]
        yield _asked(what, name, size, samples)
    found = [archive.located(PLACE, archive.search(PLACE, f"ORD-{index:07}", limit=5))[0][0] for index in wanted]
    if found != wanted:
        msg = f"{name}: a message was not found by what it alone says."
        raise RuntimeError(msg)
    handles = {one.position: one.handle for one in archive.messages(PLACE)}
    cold = Archive(store, MessageBlobs(store.blobs), VersionLog(store))
    samples = [seconds_of(cold.find, PLACE, handles[index]) for index in wanted]
    yield _asked("read a message by its handle", name, size, samples)
    yield _asked("read a message by its id, the oldest", name, size, [seconds_of(cold.find, PLACE, "message-00000000") for _ in range(5)])


def _state(turns: int) -> Iterator[dict[str, Any]]:
    """Talk, once with messages that stay and once with messages that leave; say what the last checkpoint holds."""
    for evict in ("view", "archive"):
        with tempfile.TemporaryDirectory() as folder, GuardStore.open(f"sqlite:///{folder}/ctx.db") as store:
            saver = InMemorySaver()
            model = GenericFakeChatModel(messages=(AIMessage(one.content) for one in iter(conversation(2 * turns)[1::2])))
            config = GuardConfig.from_dict({"compaction": {"evict": evict}})
            guard = ContextGuard(config, store=store, summarizer=CannedSummarizer(), trigger=("messages", 60), keep=("messages", 20))
            graph = create_agent(model, [], middleware=[guard], checkpointer=saver)
            where = {"configurable": {"thread_id": "t"}}
            samples = [seconds_of(graph.invoke, {"messages": [HumanMessage(one.content, id=one.id)]}, where) for one in conversation(2 * turns)[::2]]
            values = graph.get_state(where).values
            yield {
                "what": f'state after {turns} turns, evict "{evict}"',
                "store": "sqlite",
                "messages": 2 * turns,
                "left": len(values["messages"]),
                "left_kb": round(len(saver.serde.dumps_typed(values["messages"])[1]) / 1e3, 1),
                "p50_ms": round(median(samples) * 1e3, 1),
                "p99_ms": round(percentile(samples, 0.99) * 1e3, 1),
            }


def rows(sizes: list[int], turns: int) -> Iterator[dict[str, Any]]:
    """Yield what is measured, one row at a time."""
    columns = ("what", "store", "messages", "left", "left_kb", "p50_ms", "p99_ms")
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder, GuardStore.open(f"sqlite:///{Path(folder) / 'ctx.db'}") as store:
            yield from ({name: row.get(name) for name in columns} for row in _recall("sqlite", store, size))
        with postgres() as url:
            if url is not None:
                with GuardStore.open(url) as store:
                    yield from ({name: row.get(name) for name in columns} for row in _recall("postgresql", store, size))
    yield from ({name: row.get(name) for name in columns} for row in _state(turns))


def main() -> None:
    """Measure, print, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="a short run that writes nothing")
    is_small = parser.parse_args().small
    found = []
    for row in rows([1_000] if is_small else [10_000, 100_000], 40 if is_small else 500):
        found.append(row)
        print(row, flush=True)
    print(table(found))
    if not is_small:
        measured = (
            f"threads whose versions took out {AT_ONCE} messages each; one message in {_RARE} says what no other says; `left`: messages in the last "
            f"state, and their bytes as a checkpoint holds them; times of one process, wall clock, on {cores()} that other work kept busy."
        )
        write("recall", measured=measured, against="an agent whose messages stay in the state, for `left`.", rows=found)


if __name__ == "__main__":
    main()

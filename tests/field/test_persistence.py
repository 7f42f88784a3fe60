"""Failures of other packages that lost, overwrote or could not undo what a compaction did."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import BaseMessage, HumanMessage, RemoveMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from langchain_ctxguard import ContextGuard, GuardStore
from langchain_ctxguard.domain.context_version import ContextPlace
from langchain_ctxguard.errors import StoreError
from langchain_ctxguard.records.versions import VersionLog
from tests.graph.models import Facts, ScriptedChat
from tests.graph.test_history import THREAD, Counting, guarded, talk

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def store(tmp_path: Path) -> Any:
    """A store in a file."""
    with GuardStore.open(f"sqlite:///{tmp_path / 'ctx.db'}") as opened:
        yield opened


@pytest.mark.field("C134")
def test_originals_are_there_after_three_compactions(store: GuardStore) -> None:
    """What the model sees and what happened are two lists: the messages stay word for word, and each version can be read."""
    graph, guard, model = guarded(store)
    talk(graph, *range(12))
    messages = graph.get_state(THREAD).values["messages"]
    versions = guard.history(THREAD).versions

    assert len(versions) >= 3
    assert [f"Question {number}" for number in range(12)] == [message.text.partition(":")[0] for message in messages[::2]]
    assert len(model.seen[-1]) < len(messages)
    assert [version.number for version in versions] == [guard.history(THREAD).head(version.number).version for version in versions]


@pytest.mark.field("C136")
def test_line_ends_are_kept_byte_for_byte(store: GuardStore) -> None:
    r"""A text with `\r\n`, `\r` and `\n` is stored twice and read back as it was."""
    text = "one\r\ntwo\rthree\n四\u2028five"
    graph, guard, _ = guarded(store, summarizer=Quoting(text))
    talk(graph, *range(10))
    content = store.blobs.put("raw", [text.encode()])
    assert content == store.blobs.put("raw", [text.encode()])

    assert text.encode() == store.blobs.get("raw", content)[content[0]]
    assert len(guard.history(THREAD).versions) >= 2
    assert [] == store.verify()


class Quoting(Counting):
    """Tells one text."""

    def __init__(self, text: str) -> None:
        """Keep it."""
        self.text = text

    def summarize(self, request: Any) -> Any:
        """Return a draft that holds the text."""
        return super().summarize(request).model_copy(update={"user_intent": self.text})


@pytest.mark.field("C137")
@pytest.mark.parametrize("thread", ["t-1", "../../etc/passwd", "a|b|c", "线程 1", 'x"]["y', "-" * 300])
def test_sub_agents_of_one_thread_do_not_overwrite_each_other(store: GuardStore, thread: str) -> None:
    """Each namespace counts its own versions, whatever a client calls the thread."""
    log = VersionLog(store)
    graph, guard, _ = guarded(store)
    config = {"configurable": {"thread_id": thread}}
    talk(graph, *range(6), config=config)
    head = guard.history(config).head(1)
    record = guard.history(config).attempts[-1].record
    for name in ("sub|a", "sub", "a"):
        log.commit(ContextPlace(thread=thread, namespace=name), head.model_copy(update={"version": 0, "body": None}), head, record, replaced=[])

    for name in ("", "sub|a", "sub", "a"):
        assert 1 == log.all(ContextPlace(thread=thread, namespace=name))[0].number
        assert log.head_of(log.get(ContextPlace(thread=thread, namespace=name), 1)).version == 1
    assert [] == store.verify()


@pytest.mark.field("C139")
def test_a_store_of_another_shape_is_an_error_and_a_failing_one_is_told() -> None:
    """Nothing is swallowed: what cannot be a store is refused while wiring, and a store that fails is an event."""
    with pytest.raises(Exception, match="store"):
        ContextGuard(store=object())
    facts = Facts()
    with GuardStore.open("memory://") as store:
        graph, _, _ = guarded(store, hooks=[facts])

        def changed(*_: Any, **__: Any) -> Any:
            msg = "append() got an unexpected keyword argument 'expected'"
            raise StoreError(msg)

        store.log.append = changed  # type: ignore[method-assign]  # a store whose interface changed
        talk(graph, *range(6))
    assert "store_failed" in [fact.kind for fact in facts.all if hasattr(fact, "kind")]


@pytest.mark.field("C140", "C151")
def test_summary_and_cut_are_one_write(store: GuardStore) -> None:
    """Where evicted messages end and what stands for them lie in one channel value: every checkpoint holds both or neither, and they fit."""
    graph, guard, _ = guarded(store)
    talk(graph, *range(10))

    seen = 0
    for snapshot in graph.get_state_history(THREAD):
        head = snapshot.values.get("ctxguard")
        if not head:
            continue
        seen += 1
        assert head["body"]
        assert guard.view(snapshot.values)[-1].text == snapshot.values["messages"][-1].text
        keys = {message.id for message in snapshot.values["messages"]}
        assert set(head["cut"]["anchors"]) <= keys
    assert seen >= 3


@pytest.mark.field("C142", "C143")
def test_a_compaction_is_its_own_undo_step(store: GuardStore) -> None:
    """Going back past one restores the view of the version before, not an older turn: the conversation stays whole."""
    graph, guard, _ = guarded(store)
    talk(graph, *range(10))
    history = guard.history(THREAD, graph)
    earlier = history.versions[-2]
    before = [message.text for message in graph.get_state(THREAD).values["messages"]]
    head = history.head(earlier.number)

    history.rollback(to=earlier.number)

    restored = history.head(history.versions[-1].number)
    assert (head.cut, head.body.summary, head.body.evidence) == (restored.cut, restored.body.summary, restored.body.evidence)  # type: ignore[union-attr]
    assert before == [message.text for message in graph.get_state(THREAD).values["messages"]]


@pytest.mark.field("C145")
def test_strict_checkpoints_hold_no_type_of_ours(tmp_path: Path) -> None:
    """With strict msgpack a thread is stored and loaded in another process without a warning."""
    script = tmp_path / "talk.py"
    script.write_text(
        "import warnings\nwarnings.simplefilter('error')\nimport sqlite3, sys\n"
        "from langgraph.checkpoint.sqlite import SqliteSaver\nfrom langchain_ctxguard import GuardStore\n"
        "from tests.graph.test_history import THREAD, guarded, talk\n"
        f"store = GuardStore.open('sqlite:///{tmp_path}/ctx.db')\n"
        f"graph, guard, model = guarded(store, saver=SqliteSaver(sqlite3.connect('{tmp_path}/state.db', check_same_thread=False)))\n"
        "talk(graph, *range(int(sys.argv[1]), int(sys.argv[1]) + 6))\n"
        "print(graph.get_state(THREAD).values['ctxguard']['version'], len(graph.get_state(THREAD).values['messages']))\n",
        encoding="utf-8",
    )
    environment = {**os.environ, "LANGGRAPH_STRICT_MSGPACK": "true", "PYTHONPATH": str(ROOT)}
    shown = []
    for first in ("0", "6"):
        done = subprocess.run(
            [sys.executable, str(script), first], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert 0 == done.returncode, done.stderr
        assert "Deserializing unregistered type" not in done.stderr
        shown.append(done.stdout.split())
    assert int(shown[1][0]) > int(shown[0][0]) >= 1
    assert ["12", "24"] == [row[1] for row in shown]


@pytest.mark.field("C146")
def test_a_fork_keeps_its_branch_and_numbers_go_on(store: GuardStore) -> None:
    """After time travel the next version names the parent it was made from, and takes a number nobody had."""
    graph, guard, _ = guarded(store)
    talk(graph, *range(12))
    newest = guard.history(THREAD).versions[-1].number
    old = next(
        snapshot for snapshot in graph.get_state_history(THREAD) if (snapshot.values.get("ctxguard") or {}).get("version") == 1 and not snapshot.next
    )
    graph.update_state(old.config, {"messages": [HumanMessage("Another way.")]}, as_node="__start__")
    talk(graph, *range(50, 56))
    versions = guard.history(THREAD).versions

    numbers = [version.number for version in versions]
    assert sorted(set(numbers)) == numbers
    branch = next(version for version in versions if version.number > newest)
    assert 1 == branch.parent
    assert [] == store.verify()


@pytest.mark.field("C148")
def test_removing_messages_shows_in_the_next_view() -> None:
    """One by id, then all: the guard follows the state; it removes nothing itself and needs no id that is gone."""
    model = ScriptedChat()
    guard = ContextGuard(summarizer=Counting(), trigger=("messages", 7), keep=("turns", 1))
    graph = create_agent(model, [], middleware=[guard], checkpointer=InMemorySaver())
    talk(graph, *range(8))
    messages: list[BaseMessage] = graph.get_state(THREAD).values["messages"]
    assert any("Question 7:" in message.text for message in model.seen[-1])
    graph.update_state(THREAD, {"messages": [RemoveMessage(id=str(message.id)) for message in messages[-2:]]}, as_node="model")
    talk(graph, 20)
    assert not any("Question 7:" in message.text for message in model.seen[-1])
    graph.update_state(THREAD, {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES)]}, as_node="model")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        talk(graph, 30)

    shown = "\n".join(message.text for message in model.seen[-1])
    assert "Question 30" in shown
    assert "Question 7" not in shown

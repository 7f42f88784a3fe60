"""Verification after the turn: an extractor too slow for it mends the next call, and never this one."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver

from langchain_ctxguard import ContextGuard, ControlField, Extensions, GuardConfig
from langchain_ctxguard.backends.model_fields import ModelFieldExtractor
from langchain_ctxguard.domain.version import ContextEvent
from tests.graph.test_fields import THREAD, Forgetful, Reader, talk

NAME = "王小明"


class Names:
    """An extractor that knows one name, and waits until it may answer."""

    def __init__(self) -> None:
        """Let it answer at once unless a test holds it."""
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.calls: list[list[str]] = []

    def __call__(self, messages: Sequence[BaseMessage]) -> list[ControlField]:
        """Return the name where it stands."""
        self.may_answer.wait(20)
        self.calls.append([message.text for message in messages])
        return [
            ControlField(kind="name", label="recipient", raw=NAME, critical=True, message_id=message.id)
            for message in messages
            if NAME in message.text
        ][:1]


class Events:
    """Keeps what the guard records."""

    def __init__(self) -> None:
        """Start with none."""
        self.all: list[ContextEvent] = []

    def span(self, name: str, facts: Any) -> Any:
        """Open nothing."""
        from contextlib import nullcontext

        return nullcontext()

    def record(self, fact: Any) -> None:
        """Keep an event."""
        if isinstance(fact, ContextEvent):
            self.all.append(fact)

    def wait_for(self, kind: str) -> ContextEvent:
        """Return the first event of a kind, once it is there."""
        for _ in range(400):
            for event in list(self.all):
                if event.kind == kind:
                    return event
            time.sleep(0.05)
        raise AssertionError(kind)


def guarded(extractor: Any, events: Events, *, saver: Any = None) -> tuple[Any, Reader]:
    """An agent whose compactions lose everything, and an extractor that looks at them later."""
    model = Reader()
    guard = ContextGuard(
        GuardConfig(), summarizer=Forgetful(), trigger=("messages", 15), keep=("turns", 1), hooks=[events],
        extensions=Extensions(deferred_extractor=extractor),
    )  # fmt: skip
    return create_agent(model, [], middleware=[guard], checkpointer=saver or InMemorySaver()), model


def until_compacted(graph: Any) -> None:
    """Say hello, the name, and enough to have both evicted."""
    for said in ({"messages": [("human", "What is there?")]}, {"messages": [("human", f"It goes to {NAME} please.")]}, *map(talk, range(1, 7))):
        graph.invoke(said, THREAD)


def test_the_turn_goes_on_and_the_finding_is_applied_at_the_next_call() -> None:
    """The call that compacted does not wait; the one after the finding carries the value, in a version of its own."""
    names, events = Names(), Events()
    names.may_answer.clear()
    graph, model = guarded(names, events)
    until_compacted(graph)
    assert NAME not in model.seen[-1]
    assert 1 == graph.get_state(THREAD).values["ctxguard"]["version"]

    names.may_answer.set()
    events.wait_for("fields_found_late")
    graph.invoke({"messages": [("human", "Who gets it?")]}, THREAD)

    assert f"recipient: {NAME}" in model.seen[-1]
    assert 2 == graph.get_state(THREAD).values["ctxguard"]["version"]
    graph.invoke({"messages": [("human", "Sure?")]}, THREAD)
    assert f"recipient: {NAME}" in model.seen[-1]
    assert 2 == graph.get_state(THREAD).values["ctxguard"]["version"]


def test_one_extractor_reads_both_sides() -> None:
    """What was evicted and what the model sees instead; each version once."""
    names, events = Names(), Events()
    graph, _ = guarded(names, events)
    until_compacted(graph)
    events.wait_for("fields_found_late")

    assert 2 == len(names.calls)
    assert any(NAME in text for text in names.calls[0])
    assert any("They talked" in text for text in names.calls[1])


def test_an_extractor_that_fails_changes_nothing() -> None:
    """It is put on record by the name of its error, never its words."""

    def failing(messages: Sequence[BaseMessage]) -> list[ControlField]:
        raise RuntimeError(messages[0].text)

    events = Events()
    graph, model = guarded(failing, events)
    until_compacted(graph)
    event = events.wait_for("fields_unverified")
    graph.invoke({"messages": [("human", "Go on.")]}, THREAD)

    assert "RuntimeError" in event.detail
    assert "What is there" not in event.detail
    assert "They talked" in model.seen[-1]


def test_another_process_verifies_the_version_it_finds() -> None:
    """A finding that died with its process is found again."""
    saver = InMemorySaver()
    graph, _ = guarded(None, Events(), saver=saver)
    until_compacted(graph)
    names, events = Names(), Events()
    second, model = guarded(names, events, saver=saver)

    second.invoke({"messages": [("human", "Who gets it?")]}, THREAD)
    events.wait_for("fields_found_late")
    second.invoke({"messages": [("human", "Tell me.")]}, THREAD)

    assert NAME in model.seen[-1]


async def test_an_async_run_is_mended_too() -> None:
    """The same steps."""
    names, events = Names(), Events()
    graph, model = guarded(names, events)
    for said in ({"messages": [("human", "What is there?")]}, {"messages": [("human", f"It goes to {NAME} please.")]}, *map(talk, range(1, 7))):
        await graph.ainvoke(said, THREAD)
    events.wait_for("fields_found_late")
    await graph.ainvoke({"messages": [("human", "Who gets it?")]}, THREAD)

    assert NAME in model.seen[-1]


@pytest.mark.parametrize("answer", [f'```json\n[{{"raw": "{NAME}", "kind": "name", "label": "recipient"}}, {{"raw": "李雷"}}, 7]\n```'])
def test_a_chat_model_serves_and_cannot_add_a_value(answer: str) -> None:
    """What no message says word for word is dropped."""
    events = Events()
    graph, model = guarded(FakeListChatModel(responses=[answer, "[]"]), events)
    until_compacted(graph)
    events.wait_for("fields_found_late")
    graph.invoke({"messages": [("human", "Who gets it?")]}, THREAD)

    assert NAME in model.seen[-1]
    assert "李雷" not in model.seen[-1]


def test_a_model_that_answers_by_schema_is_asked_by_it() -> None:
    """Where its profile says so; what no message says word for word is dropped all the same."""

    class BySchema(FakeListChatModel):
        def with_structured_output(self, schema: Any, **_: Any) -> Any:
            return RunnableLambda(lambda _: schema(fields=[{"raw": NAME, "label": "recipient"}, {"raw": "李雷"}]))

    model = BySchema(responses=["no JSON at all"], profile={"tool_calling": True})
    found = ModelFieldExtractor(model)([HumanMessage(f"It goes to {NAME} please.")])

    assert [("recipient", NAME)] == [(field.label, field.raw) for field in found]

"""`before_compaction` may stop a compaction, `after_compaction` may have the model read something once."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph

from langchain_ctxguard import CompactContext, ContextGuard, Extensions, GuardedState, GuardStore, compact_messages
from langchain_ctxguard.core.note import NOTE, with_note
from langchain_ctxguard.domain.summary import Fact, SummaryDraft
from langchain_ctxguard.domain.upcoming import UpcomingCompaction
from langchain_ctxguard.domain.version import CompactionRecord, ContextEvent, Outcome
from langchain_ctxguard.errors import ConfigurationError, ContextBudgetError
from tests.graph.models import Facts, ScriptedChat
from tests.support.tool_calls import calls, thread

T = "The branch is `release`; read CONTRIBUTING.md anew."
LONG = "Tell me of lamps. " * 30


def agent_with(extensions: Extensions, *, model: Any = None, **settings: Any) -> tuple[Any, ScriptedChat]:
    model = model or ScriptedChat()
    settings = {"trigger": ("messages", 5), "keep": ("messages", 1), **settings}
    guard = ContextGuard(extensions=extensions, **settings)
    return create_agent(model, middleware=[guard], checkpointer=InMemorySaver()), model


def talk(agent: Any, turns: int, *, start: int = 0) -> None:
    for number in range(start, start + turns):
        agent.invoke({"messages": [("user", f"{number}: {LONG}")]}, thread())


def shown(messages: list[BaseMessage]) -> list[str]:
    return [message.text for message in messages if message.name == NOTE]


class Asked:
    """Keeps what it is asked, and answers the same."""

    def __init__(self, answer: Any = None) -> None:
        """Begin with nothing asked."""
        self.answer = answer
        self.all: list[Any] = []

    def __call__(self, given: Any) -> Any:
        """Answer, or fail."""
        self.all.append(given)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Canned:
    """Says something at once."""

    name = "canned"

    def summarize(self, request: Any) -> SummaryDraft:
        """Answer."""
        return SummaryDraft(facts=(Fact(statement="They talked of lamps.", source=request.sources[0]),))

    async def asummarize(self, request: Any) -> SummaryDraft:
        """Answer."""
        return self.summarize(request)


def records(facts: Facts) -> list[CompactionRecord]:
    return [fact for fact in facts.all if isinstance(fact, CompactionRecord)]


def events(facts: Facts) -> list[ContextEvent]:
    return [fact for fact in facts.all if isinstance(fact, ContextEvent)]


@pytest.mark.field("C160")
@pytest.mark.parametrize("answer", [False, "not while the deploy runs"])
def test_an_automatic_compaction_can_be_stopped(answer: Any) -> None:
    """Before a summarizer is asked; the context stays, and the record does not take over the application's words."""
    before, facts = Asked(answer), Facts()
    agent, model = agent_with(Extensions(before_compaction=before), hooks=[facts])
    talk(agent, 4)

    assert before.all
    ahead = before.all[0]
    assert isinstance(ahead, UpcomingCompaction)
    assert ("messages", "t", 0, False) == (ahead.trigger, ahead.thread, ahead.version, ahead.is_full)
    assert ahead.evicted_messages > 0 < ahead.evicted_tokens < ahead.tokens
    assert {Outcome.SKIPPED} == {record.outcome for record in records(facts)}
    assert all("deploy" not in record.reason and "before_compaction" in record.reason for record in records(facts))
    assert not agent.get_state(thread()).values.get("ctxguard")
    assert 7 == len([message for message in model.seen[-1] if message.type != "system"])


@pytest.mark.field("C160")
def test_a_compaction_asked_for_can_be_stopped() -> None:
    """In a node, and of a list of messages."""
    before = Asked(answer=False)
    extensions = Extensions(before_compaction=before)
    guard = ContextGuard(extensions=extensions, trigger=("messages", 5), keep=("messages", 1))
    building = StateGraph(GuardedState)
    building.add_node("compact", CompactContext(guard))
    building.add_edge(START, "compact")
    given = {"messages": [("user", f"{number}: {LONG}") for number in range(9)]}
    assert not building.compile(checkpointer=InMemorySaver()).invoke(given, thread()).get("ctxguard")
    done = compact_messages(given["messages"], keep=("messages", 1), extensions=extensions)

    assert Outcome.SKIPPED is done.outcome
    assert ["messages", "requested"] == [ahead.trigger for ahead in before.all]


@pytest.mark.parametrize("answer", [None, True])
def test_whoever_has_no_objection_stops_nothing(answer: Any) -> None:
    """`None`, as from a function that only looks, is none."""
    agent, _ = agent_with(Extensions(before_compaction=Asked(answer)))
    talk(agent, 3)
    assert 1 == agent.get_state(thread()).values["ctxguard"]["version"]


def test_a_stop_where_the_window_is_full_ends_the_run() -> None:
    """What does not fit cannot be sent; the application was told that it would not."""
    before = Asked(answer=False)
    with pytest.raises(ContextBudgetError, match="before_compaction"):
        compact_messages([("user", f"{n}: {LONG}") for n in range(9)], budget=600, extensions=Extensions(before_compaction=before))
    assert before.all[0].is_full


@pytest.mark.field("C158")
def test_a_function_that_fails_stops_nothing() -> None:
    """Neither before nor after: the compaction is made, the run goes on, and hooks are told the type of the error."""
    facts = Facts()
    failing = Extensions(before_compaction=Asked(ValueError(LONG)), after_compaction=Asked(KeyError(LONG)))
    agent, _ = agent_with(failing, hooks=[facts])
    talk(agent, 3)

    assert 1 == agent.get_state(thread()).values["ctxguard"]["version"]
    told = [event.detail for event in events(facts) if event.kind == "extension_failed"]
    assert ["`before_compaction` failed with ValueError; the compaction went on.", "`after_compaction` failed with KeyError."] == told


@pytest.mark.field("C158")
@pytest.mark.filterwarnings("ignore:The hook Broken failed:RuntimeWarning")
def test_a_hook_that_fails_before_and_after_breaks_no_run() -> None:
    """Its span is what stands before, its record what comes after; the others are told all the same."""

    class Broken:
        def span(self, name: str, facts: Any) -> Any:
            raise ValueError(name)

        def record(self, fact: Any) -> None:
            raise ValueError(str(fact))

    facts = Facts()
    agent, _ = agent_with(Extensions(), hooks=[Broken(), facts])
    talk(agent, 3)

    assert 1 == agent.get_state(thread()).values["ctxguard"]["version"]
    assert "compaction" in facts.spans
    assert [1] == [record.version for record in records(facts)]


@pytest.mark.field("C161")
@pytest.mark.parametrize("has_store", [False, True])
def test_the_model_reads_the_text_once(has_store: bool) -> None:  # noqa: FBT001 - a parameter of a test
    """In the call of the compaction, behind the newest message, and in none after it; it is in no state."""
    after = Asked(T)
    with GuardStore.open("memory://") as store:
        agent, model = agent_with(Extensions(after_compaction=after), store=store if has_store else None)
        talk(agent, 2)
        assert [] == after.all
        talk(agent, 1, start=2)
        assert T == model.seen[-1][-1].text
        assert [T] == shown(model.seen[-1])
        talk(agent, 1, start=3)

    assert [] == shown(model.seen[-1])
    assert T not in str(agent.get_state(thread()).values)
    assert [(1, "messages")] == [(record.version, record.trigger) for record in after.all]


async def test_the_model_reads_the_text_in_an_async_run_too() -> None:
    """One flow, two drivers."""
    agent, model = agent_with(Extensions(after_compaction=Asked(T)))
    for number in range(3):
        await agent.ainvoke({"messages": [("user", f"{number}: {LONG}")]}, thread())
    assert [T] == shown(model.seen[-1])


@pytest.mark.parametrize("has_store", [False, True])
def test_a_model_call_that_fails_is_made_again_with_the_text(has_store: bool) -> None:  # noqa: FBT001 - a parameter of a test
    """It counts as read once the model has answered; the application is not asked again."""
    after = Asked(T)

    def script(number: int, _: Any) -> Any:
        return ConnectionError("down") if number == 2 else "yes"

    with GuardStore.open("memory://") as store:
        model = ScriptedChat(script=script)
        agent, _ = agent_with(Extensions(after_compaction=after), model=model, summarizer=Canned(), store=store if has_store else None)
        talk(agent, 2)
        with pytest.raises(ConnectionError):
            talk(agent, 1, start=2)
        assert [T] == shown(model.seen[-1])
        agent.invoke(None, thread())

        assert [T] == shown(model.seen[-1])
        assert 1 == len(after.all)
        talk(agent, 1, start=3)
        assert [] == shown(model.seen[-1])


def test_the_text_is_there_where_a_provider_refused_the_request() -> None:
    """The compaction that makes the request smaller is one like the others."""

    def script(number: int, _: Any) -> Any:
        return ContextOverflowError("too long") if number == 2 else "yes"

    model = ScriptedChat(script=script)
    after = Asked(T)
    agent, _ = agent_with(Extensions(after_compaction=after), model=model, trigger=("tokens", 100_000), keep=("messages", 1), summarizer=Canned())
    talk(agent, 3)
    assert ["overflow"] == [record.trigger for record in after.all]
    assert [T] == shown(model.seen[-1])


@pytest.mark.parametrize(("answer", "why"), [(7, "which is no text"), ("word " * 60_000, "more than the window has room for")])
def test_what_cannot_be_shown_is_told_to_hooks(answer: Any, why: str) -> None:
    """A number is no text, and a text that does not fit the window would end the run."""
    facts = Facts()
    small = ScriptedChat(profile={"max_input_tokens": 8_000})
    agent, model = agent_with(Extensions(after_compaction=Asked(answer)), hooks=[facts], model=small)
    talk(agent, 3)
    assert [] == shown(model.seen[-1])
    assert [why] == [why for event in events(facts) if event.kind == "extension_failed" and why in event.detail]


def test_a_text_stands_in_front_where_calls_wait_for_their_results() -> None:
    """Nothing may come between a call and its result."""
    waiting = [AIMessage("hi"), calls(("look", {"q": "x"}))]
    assert [NOTE, None, None] == [message.name for message in with_note(waiting, T)]
    assert [NOTE] == [message.name for message in with_note([], T)]


@pytest.mark.parametrize("name", ["before_compaction", "after_compaction"])
def test_what_nobody_can_call_is_refused(name: str) -> None:
    """While constructing, by its name."""
    with pytest.raises(ConfigurationError, match=name):
        ContextGuard(extensions=Extensions(**{name: "no function"}))

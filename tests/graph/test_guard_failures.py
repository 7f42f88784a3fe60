from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from langchain.agents.middleware import ModelRetryMiddleware
from langchain.agents.middleware.types import ExtendedModelResponse, ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage
from langgraph.checkpoint.memory import InMemorySaver

from langchain_ctxguard.backends.chat_model import ChatModelSummarizer
from langchain_ctxguard.backends.extractive import ExtractiveSummarizer
from langchain_ctxguard.domain.config import GuardConfig
from langchain_ctxguard.domain.summary import Fact, SummaryDraft
from langchain_ctxguard.domain.version import Outcome
from langchain_ctxguard.errors import ContextBudgetError
from langchain_ctxguard.graph.guard import ContextGuard
from langchain_ctxguard.testing.summarizers import HOSTILITIES, POISON, HostileSummarizer
from tests.graph.models import (
    RULES,
    WORDS,
    Counter,
    Facts,
    Notes,
    ScriptedChat,
    achat,
    agent_of,
    assert_pinned,
    calling,
    chat,
    guard_of,
    head_of,
    look_up,
    plain,
    said,
    thread,
)
from tests.support.builders import count_characters

LEAKED = "LEAKED words of a failing summarizer"


def configured(compaction: dict[str, Any], **settings: Any) -> ContextGuard:
    """Return a guard with settings that only a config can say."""
    config = GuardConfig.from_dict({"compaction": {"trigger": ["tokens", 600], "keep": ["turns", 1], **compaction}})
    return ContextGuard(config, constraints=RULES, **{"token_counter": Counter(), "summarizer": Notes(), **settings})


class Counted:
    """A summarizer that raises and counts how often it was asked."""

    name = "down"

    def __init__(self) -> None:
        """Start at nothing."""
        self.asked = 0

    def summarize(self, request: Any) -> Any:
        self.asked += 1
        raise ConnectionError(LEAKED)

    async def asummarize(self, request: Any) -> Any:
        return self.summarize(request)


@pytest.mark.parametrize("mode", [mode for mode in HOSTILITIES if mode != "poison"])
@pytest.mark.parametrize("is_async", [False, True])
async def test_nothing_of_a_failed_summary_reaches_the_model(mode: Any, is_async: bool) -> None:  # noqa: FBT001
    """The extractive summarizer takes over, the record says who failed and why, and the model sees none of it."""
    facts, model = Facts(), ScriptedChat()
    guard = configured({"summarizer_timeout_s": 0.2}, summarizer=HostileSummarizer(mode, hang_s=1.0), hooks=[facts])
    agent = agent_of(model, guard, checkpointer=InMemorySaver())
    await achat(agent, 8) if is_async else await asyncio.to_thread(chat, agent, 8)
    assert [Outcome.FELL_BACK] == list(dict.fromkeys(record.outcome for record in facts.made))
    for record in facts.made:
        assert "extractive" == record.strategy
        assert record.failures
        assert all(failure.startswith(f"hostile:{mode}: ") for failure in record.failures)
    shown = str([plain(view) for view in model.seen])
    assert "Filler sentence" not in shown
    assert "summarizer" not in shown
    for view in model.seen:
        assert_pinned(view)


def test_a_poisoned_summary_gives_no_order_and_closes_no_tag() -> None:
    """A well-formed draft full of orders and permissions is cleaned; what is left stays inside its own message."""
    facts, model = Facts(), ScriptedChat()
    chat(agent_of(model, guard_of(summarizer=HostileSummarizer("poison"), hooks=[facts]), checkpointer=InMemorySaver()), 8)
    assert facts.made
    for view in model.seen:
        assert_pinned(view)
        for text in POISON:
            assert text not in str(plain(view))


@pytest.mark.parametrize(
    "answer",
    [
        AIMessage(""),
        AIMessage("   "),
        AIMessage("Previous conversation was too long to summarize."),
        AIMessage("no JSON at all " + LEAKED),
        AIMessage([{"type": "thinking", "thinking": LEAKED, "signature": "s"}]),
        AIMessage("", tool_calls=[{"name": "look_up", "args": {"key": LEAKED}, "id": "x"}]),
        AIMessage('{"user_intent": "", "facts": []}'),
        AIMessage('{"user_intent": "' + LEAKED * 2_000 + '"}'),
        ConnectionError(LEAKED),
    ],
    ids=["empty", "blank", "placeholder", "not_json", "reasoning", "tool_call", "empty_object", "too_long", "raises"],
)
@pytest.mark.parametrize("is_async", [False, True])
async def test_a_chat_model_that_answers_no_summary(answer: Any, is_async: bool) -> None:  # noqa: FBT001
    """Whatever a summarizing model answers instead of a summary, none of it is context and the run goes on."""
    facts, model = Facts(), ScriptedChat()
    summarizer = ChatModelSummarizer(ScriptedChat(script=lambda *_: answer))
    agent = agent_of(model, guard_of(summarizer=summarizer, hooks=[facts]), checkpointer=InMemorySaver())
    await achat(agent, 8) if is_async else chat(agent, 8)
    assert Outcome.FELL_BACK in facts.outcomes
    assert all(failure.startswith("chat_model:") for record in facts.made for failure in record.failures)
    assert LEAKED not in str([plain(view) for view in model.seen])
    assert LEAKED not in str([fact.model_dump() for fact in facts.all])


def test_a_hanging_summarizer_is_abandoned() -> None:
    """A run waits for a summarizer as long as the settings say, not as long as it hangs."""
    facts = Facts()
    guard = configured({"summarizer_timeout_s": 0.2, "max_attempts": 3}, summarizer=HostileSummarizer("hangs", hang_s=8.0), hooks=[facts])
    agent = agent_of(ScriptedChat(), guard, checkpointer=InMemorySaver())
    began = time.monotonic()
    turn = 0
    while not facts.made:
        chat(agent, 1, start=turn)
        turn += 1
    assert time.monotonic() - began < 4
    assert ("hostile:hangs: timeout",) == facts.made[0].failures


def without_fallback(summarizer: Any, facts: Facts, **compaction: Any) -> ContextGuard:
    return configured({"fallback": None, **compaction}, summarizer=summarizer, hooks=[facts])


@pytest.mark.field("C072", "C125")
@pytest.mark.parametrize("is_async", [False, True])
async def test_without_a_fallback_the_previous_context_stays_and_cools_down(is_async: bool) -> None:  # noqa: FBT001
    """A summarizer that is down is not asked at each step: not before the view has grown by a fifth, and the whole history is sent meanwhile."""
    facts, down = Facts(), Counted()
    model = ScriptedChat()
    agent = agent_of(model, without_fallback(down, facts), checkpointer=InMemorySaver())
    talk = [HumanMessage(f"{WORDS * 8}", id=f"h{n}") for n in range(4)]
    send = agent.ainvoke if is_async else None
    await send({"messages": talk}, thread()) if send else agent.invoke({"messages": talk}, thread())
    assert [Outcome.REJECTED] == facts.outcomes
    tokens = facts.records[0].tokens_before
    assert int(tokens * 1.2) == head_of(agent).cool_down
    for _ in range(5):
        await send(said("ok"), thread()) if send else agent.invoke(said("ok"), thread())
    assert 1 == down.asked
    assert 4 + 1 + 5 * 2 == len(model.seen[-1])
    await send(said(WORDS * 12), thread()) if send else agent.invoke(said(WORDS * 12), thread())
    assert 2 == down.asked
    for _ in range(3):
        await send(said("ok"), thread()) if send else agent.invoke(said("ok"), thread())
    assert 2 == down.asked, "the second cool-down replaces the first"


def test_the_cool_down_after_a_version_holds() -> None:
    """A rejection under a version that was made before cools down too, in the very process that counted it."""

    class ThenDown(Notes):
        def summarize(self, request: Any) -> Any:
            draft = super().summarize(request)
            if len(self.requests) > 1:
                raise ConnectionError(LEAKED)
            return draft

    facts, notes = Facts(), ThenDown()
    agent = agent_of(ScriptedChat(), without_fallback(notes, facts), checkpointer=InMemorySaver())
    turn = 0
    while Outcome.REJECTED not in facts.outcomes:
        chat(agent, 1, start=turn)
        turn += 1
    assert [Outcome.ACCEPTED, Outcome.REJECTED] == facts.outcomes
    assert 1 == head_of(agent).version
    for _ in range(4):
        agent.invoke(said("ok"), thread())
    assert 2 == len(notes.requests)
    assert 2 == len(facts.records)


def test_the_cool_down_survives_a_restart() -> None:
    """It lies in the head: a guard that remembers nothing does not ask again."""
    saver, facts, down = InMemorySaver(), Facts(), Counted()
    agent = agent_of(ScriptedChat(), without_fallback(down, facts), checkpointer=saver)
    turn = 0
    while not facts.outcomes:
        chat(agent, 1, start=turn)
        turn += 1
    assert 1 == down.asked
    for _ in range(3):
        again = agent_of(ScriptedChat(), without_fallback(down, facts), checkpointer=saver)
        again.invoke(said("ok"), thread())
    assert 1 == down.asked


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("factor", [0.6, 1.8])
def test_the_cool_down_holds_where_a_provider_counts_otherwise(factor: float, restarts: bool) -> None:  # noqa: FBT001
    """A provider that counts otherwise than we do starts no attempt at each step, in this process or the next."""
    facts, down, saver = Facts(), Counted(), InMemorySaver()
    model = ScriptedChat(usage=lambda messages: int(factor * count_characters(messages)))
    agent = agent_of(model, without_fallback(down, facts), checkpointer=saver)
    turn = 0
    while not down.asked:
        chat(agent, 1, start=turn)
        turn += 1
    for _ in range(3):
        if restarts:
            agent = agent_of(model, without_fallback(down, facts), checkpointer=saver)
        agent.invoke(said("ok"), thread())
    assert 1 == down.asked


def test_a_view_that_stays_above_the_trigger_is_not_compacted_at_each_step() -> None:
    """Where a provider counts almost twice what we do, what must stay may exceed the trigger: the guard rests until the view has grown."""
    facts, notes = Facts(), Notes()
    model = ScriptedChat(usage=lambda messages: int(1.9 * count_characters(messages)))
    agent = agent_of(model, guard_of(hooks=[facts], summarizer=notes, keep=("tokens", 480)), checkpointer=InMemorySaver())
    chat(agent, 60, text=WORDS)
    assert 3 <= len(facts.made) == len(notes.requests) <= 8


def test_keep_and_summary_that_reach_the_trigger_together_do_not_ask_at_each_step() -> None:
    """Where `keep` and the summary together reach the trigger, the summarizer is asked when the view has grown, not at each call."""

    class Full(Notes):
        def summarize(self, request: Any) -> SummaryDraft:
            super().summarize(request)
            return SummaryDraft(facts=tuple(Fact(statement=f"Order {n} was looked at and found in order by the clerk.") for n in range(12)))

    notes = Full()
    agent = agent_of(ScriptedChat(), guard_of(summarizer=notes, trigger=("messages", 12), keep=("messages", 11)), checkpointer=InMemorySaver())
    chat(agent, 36, text=WORDS)
    assert 3 <= len(notes.requests) <= 12


def test_a_trigger_in_messages_makes_progress() -> None:
    """A first message that holds most of the tokens does not have every later call compact one message more."""
    facts, notes = Facts(), Notes()
    agent = agent_of(ScriptedChat(), guard_of(hooks=[facts], summarizer=notes, trigger=("messages", 12)), checkpointer=InMemorySaver())
    agent.invoke(said(WORDS * 60), thread())
    for turn in range(16):
        agent.invoke(said(f"short {turn}"), thread())
    assert 1 <= len(notes.requests) <= 6


def test_a_run_makes_no_more_compactions_than_it_may() -> None:
    """`max_compactions` is per run: the next run may compact again."""
    facts = Facts()
    script = lambda number, _: calling(f"k{number}") if number % 40 != 39 else "done"  # noqa: E731
    agent = agent_of(ScriptedChat(script=script), configured({"max_compactions": 2}, hooks=[facts]), tools=[look_up], checkpointer=InMemorySaver())
    settings = {**thread(), "recursion_limit": 200}
    agent.invoke(said("go"), settings)
    assert 2 == len(facts.made)
    agent.invoke(said("go on"), settings)
    assert 4 == len(facts.made)


@pytest.mark.field("C129")
def test_a_full_window_after_the_last_compaction_is_an_error_with_numbers() -> None:
    """A loop that refills the context ends with a typed error, not with one more compaction."""
    facts = Facts()
    script = lambda number, _: calling(f"k{number}")  # noqa: E731
    model = ScriptedChat(script=script, profile={"max_input_tokens": 900})
    agent = agent_of(model, configured({"max_compactions": 2}, hooks=[facts]), tools=[look_up], checkpointer=InMemorySaver())
    with pytest.raises(ContextBudgetError, match="max_compactions") as caught:
        agent.invoke(said("go"), {**thread(), "recursion_limit": 400})
    assert 2 == len(facts.made)
    assert 900 == caught.value.budget
    assert caught.value.needed > 900


def test_a_retried_model_call_asks_for_no_second_summary() -> None:
    """A retry middleware outside the guard repeats the model call with the same view and the same version."""
    notes, facts = Notes(), Facts()
    failed: list[int] = []

    def script(number: int, messages: list[BaseMessage]) -> Any:
        if len(notes.requests) == 1 and len(failed) < 2:
            failed.append(number)
            return ConnectionError("provider down")
        return f"answer {number}"

    model = ScriptedChat(script=script)
    retry = ModelRetryMiddleware(max_retries=3, initial_delay=0, jitter=False)
    agent = agent_of(model, retry, guard_of(summarizer=notes, hooks=[facts]), checkpointer=InMemorySaver())
    turn = 0
    while not facts.made:
        chat(agent, 1, start=turn)
        turn += 1
    assert 2 == len(failed)
    first, second, third = (plain(view) for view in model.seen[-3:])
    assert first == second == third
    assert 1 == len(notes.requests)
    assert 1 == len(facts.made)
    assert 1 == head_of(agent).version


def test_a_retried_model_call_asks_no_failed_summarizer_again() -> None:
    """A rejected attempt is as good as an accepted one: the retry of the model call does not repeat it."""
    facts, down, failed = Facts(), Counted(), []

    def script(number: int, messages: list[BaseMessage]) -> Any:
        if down.asked and len(failed) < 2:
            failed.append(number)
            return ConnectionError("provider down")
        return f"answer {number}"

    retry = ModelRetryMiddleware(max_retries=3, initial_delay=0, jitter=False)
    agent = agent_of(ScriptedChat(script=script), retry, without_fallback(down, facts), checkpointer=InMemorySaver())
    chat(agent, 6)
    assert 2 == len(failed)
    assert 1 == down.asked


def failing_once(notes: Notes) -> ScriptedChat:
    """Return a model that is down in the first call after the first summary."""
    failed: list[int] = []

    def script(number: int, messages: list[BaseMessage]) -> Any:
        if len(notes.requests) == 1 and not failed:
            failed.append(number)
            return ConnectionError("provider down")
        return f"answer {number}"

    return ScriptedChat(script=script)


def test_a_resumed_run_sends_the_same_view_with_no_second_summary() -> None:
    """The model node fails after a compaction, the run ends, and its resumption in this process repeats the call as it was."""
    notes, facts = Notes(), Facts()
    model = failing_once(notes)
    agent = agent_of(model, guard_of(summarizer=notes, hooks=[facts]), checkpointer=InMemorySaver())
    with pytest.raises(ConnectionError):
        chat(agent, 8)
    failed = plain(model.seen[-1])
    assert [] == facts.events("head_refused")
    agent.invoke(None, thread())
    assert failed == plain(model.seen[-1])
    assert 1 == len(notes.requests)
    assert 1 == head_of(agent).version


def test_a_message_edited_before_the_resumption_is_sent_as_edited() -> None:
    """What a person corrected between the failure and the resumption is what the model is sent, and what was summarized is not."""
    notes = Notes()
    model = failing_once(notes)
    agent = agent_of(model, guard_of(summarizer=notes), checkpointer=InMemorySaver())
    with pytest.raises(ConnectionError):
        chat(agent, 8)
    last = agent.get_state(thread()).values["messages"][-1]
    agent.update_state(thread(), {"messages": [HumanMessage(f"CORRECTED {WORDS * 4}", id=last.id)]}, as_node="__start__")
    agent.invoke(None, thread())
    assert model.seen[-1][-1].content.startswith("CORRECTED ")


def test_a_message_redacted_before_the_resumption_is_summarized_as_redacted() -> None:
    """A text taken out of an evicted message before the resumption is in no summary either."""
    facts = Facts()
    failed: list[int] = []

    def script(number: int, messages: list[BaseMessage]) -> Any:
        if facts.made and not failed:
            failed.append(number)
            return ConnectionError("provider down")
        return f"answer {number}"

    model = ScriptedChat(script=script)
    agent = agent_of(model, guard_of(summarizer=ExtractiveSummarizer(), hooks=[facts]), checkpointer=InMemorySaver())
    agent.invoke(said(f"My card is 4111-1111-1111-1111. {WORDS * 4}", "first"), thread())
    with pytest.raises(ConnectionError):
        chat(agent, 8)
    assert "4111" in str(plain(model.seen[-1]))
    agent.update_state(thread(), {"messages": [HumanMessage(f"My card is [redacted]. {WORDS * 4}", id="first")]}, as_node="__start__")
    agent.invoke(None, thread())
    assert "4111" not in str(plain(model.seen[-1]))


def test_conversations_without_a_thread_do_not_make_each_other_rest() -> None:
    """Without a checkpointer a long conversation that could not be compacted keeps no short one from it."""
    facts = Facts()
    guard = guard_of(hooks=[facts])

    def ask(messages: list[BaseMessage]) -> Any:
        request = ModelRequest(model=ScriptedChat(), messages=messages, state={"messages": messages}, runtime=None)
        return guard.wrap_model_call(request, lambda _: ModelResponse(result=[]))

    assert isinstance(ask([HumanMessage(WORDS * 200, id="one")]), ModelResponse)
    assert [Outcome.SKIPPED] == facts.outcomes
    talk = [HumanMessage(f"{n}: {WORDS * 4}", id=f"h{n}") for n in range(9)]
    assert isinstance(ask(talk), ExtendedModelResponse)


def test_a_conversation_that_cannot_shrink_is_not_tried_at_each_step() -> None:
    """One huge request that must stay is looked at once, and again when the view has grown by a tenth."""
    facts = Facts()
    agent = agent_of(ScriptedChat(), guard_of(hooks=[facts], keep=("turns", 2)), checkpointer=InMemorySaver())
    agent.invoke(said(WORDS * 60), thread())
    for _ in range(4):
        agent.invoke(said("ok"), thread())
    assert [Outcome.SKIPPED] == facts.outcomes[:1]
    assert len(facts.records) <= 2


def test_a_removed_history_resets_nothing_else() -> None:
    """A thread emptied by its owner starts anew with its rules."""
    model = ScriptedChat()
    agent = agent_of(model, guard_of(), checkpointer=InMemorySaver())
    state = chat(agent, 8)
    agent.update_state(thread(), {"messages": [RemoveMessage(message.id) for message in state["messages"]]})
    agent.invoke(said("hello again"), thread())
    assert "hello again" == model.seen[-1][-1].content
    assert_pinned(model.seen[-1])

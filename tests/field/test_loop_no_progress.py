"""Field reports about compactions that ran again and again and gained nothing."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langchain_ctxguard.compact import compact_messages
from langchain_ctxguard.domain.config import GuardConfig
from langchain_ctxguard.domain.summary import Fact, SummaryDraft
from langchain_ctxguard.domain.version import Outcome
from langchain_ctxguard.errors import ConfigurationError, ContextGuardError
from langchain_ctxguard.graph.guard import ContextGuard
from langchain_ctxguard.ports import SummaryRequest
from tests.support.builders import ai, count_characters, human, result, tool_loop
from tests.support.models import SpySummarizer, WatchedModel
from tests.support.providers import check_all_providers, check_provider_valid, texts_of

WORDS = "订单 ORD-7741 was checked and the amount is 500.50 EUR. "


@tool
def read(page: int) -> str:
    """Read one page of the archive."""
    return f"page {page}: {WORDS * 30}"


@tool
def peek(page: int) -> str:
    """Read the first lines of one page of the archive."""
    return f"page {page}: {WORDS * 6}"


def reading(pages: int, tool_name: str = "read") -> WatchedModel:
    """Return a model that reads `pages` pages in each run, one call at a time, and then answers."""

    def reply(_: int, __: list[BaseMessage]) -> AIMessage:
        number = len(model.seen)  # a compaction takes earlier results out of sight, so the call's own number says how far the run is
        if number % (pages + 1):
            return AIMessage(f"reading {number}", tool_calls=[{"name": tool_name, "args": {"page": number}, "id": f"c{number}"}])
        return AIMessage(f"done after {number} calls")

    model = WatchedModel(reply=reply)
    return model


def evicted_ids(requests: Sequence[SummaryRequest]) -> list[str]:
    """Return the ids of all messages that were ever handed to a summarizer."""
    return [str(message.id) for request in requests for message in request.evicted]


def quoting(request: SummaryRequest) -> SummaryDraft:
    """Answer with everything that was evicted, word for word."""
    return SummaryDraft(
        user_intent="everything",
        facts=tuple(Fact(statement=text) for message in request.evicted for text in texts_of(message) if text),
    )


@pytest.mark.field("C123")
def test_a_kept_tail_over_the_trigger_is_not_compacted_before_every_call() -> None:
    """`keep` alone is larger than the trigger: nothing is summarized twice, and nobody is asked when only the old summary could go."""
    spy = SpySummarizer()
    guard = ContextGuard(trigger=("tokens", 3_000), keep=("messages", 10), summarizer=spy, token_counter=count_characters)
    model = reading(20)
    agent = create_agent(model, [read], middleware=[guard])

    agent.invoke({"messages": [HumanMessage("read the archive")]})

    assert all(request.evicted for request in spy.requests)
    handed_over = evicted_ids(spy.requests)
    assert len(set(handed_over)) == len(handed_over)
    assert len(spy.requests) < len(model.seen) - 1


@pytest.mark.field("C123")
def test_nothing_but_the_old_summary_is_skipped() -> None:
    """A second pass over a view whose tail already fills it changes nothing and asks nobody."""
    spy = SpySummarizer()
    messages = tool_loop(40)
    first = compact_messages(messages, keep=("messages", 10), summarizer=spy, token_counter=count_characters)

    second = compact_messages(first.messages, keep=("messages", 10), summarizer=spy, token_counter=count_characters, previous=first.head)

    assert (Outcome.REPAIRED, Outcome.SKIPPED) == (first.outcome, second.outcome)
    assert 1 == len(spy.requests)


@pytest.mark.field("C123")
def test_a_keep_above_the_trigger_is_refused_while_constructing() -> None:
    """What can never work is said before the first call, with both numbers."""
    with pytest.raises(ConfigurationError) as caught:
        ContextGuard(trigger=("tokens", 1_000), keep=("tokens", 2_000))

    assert "1000" in str(caught.value).replace(",", "")
    assert "2000" in str(caught.value).replace(",", "")


@pytest.mark.field("C125")
def test_with_a_checkpointer_a_compaction_is_made_once() -> None:
    """Five turns on one thread: what was compacted in the first stays compacted, and later turns ask nobody again."""
    spy = SpySummarizer()
    guard = ContextGuard(trigger=("tokens", 4_000), keep=("turns", 1), summarizer=spy, token_counter=count_characters)
    model = WatchedModel(reply=lambda number, _: AIMessage(f"answer {number}"))
    agent = create_agent(model, middleware=[guard], checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    agent.invoke({"messages": [HumanMessage(WORDS * 200), AIMessage(WORDS * 200), HumanMessage("turn 0")]}, config)
    assert 1 == len(spy.requests)

    for turn in range(1, 5):
        agent.invoke({"messages": [HumanMessage(f"turn {turn}")]}, config)

    assert 1 == len(spy.requests)
    assert all(count_characters(sent) < 4_000 for sent in model.seen)


def chatter(turns: int) -> list[BaseMessage]:
    """Return `turns` short exchanges, no two alike, and a last question."""
    messages: list[BaseMessage] = []
    for turn in range(turns):
        messages += [
            human(f"{turn}: is ORD-{turn:04d} paid? {WORDS}", f"h{turn}"),
            ai(f"{turn}: 已付款 {turn}00 EUR. {WORDS}", message_id=f"a{turn}"),
        ]
    return [*messages, human("go on", "last")]


def demanding(min_gain: float) -> GuardConfig:
    """Return settings that ask for so much gain, without a fallback."""
    return GuardConfig.from_dict({"compaction": {"fallback": None, "min_gain": min_gain}})


@pytest.mark.field("C126")
def test_a_compaction_that_gains_too_little_is_refused_and_not_tried_again_at_once() -> None:
    """Rejected: the previous context stays, and in an agent nobody is asked again before it grew by a fifth."""
    messages = chatter(90)
    spy = SpySummarizer(quoting)
    guard = ContextGuard(demanding(0.9), trigger=("tokens", 4_000), keep=("messages", 1), summarizer=spy, token_counter=count_characters)
    model = reading(24, "peek")

    create_agent(model, [peek], middleware=[guard]).invoke({"messages": messages})

    sizes = [count_characters(request.evicted) for request in spy.requests]
    assert 25 == len(model.seen)
    assert 1 < len(sizes) <= 5
    assert all(later > earlier * 1.15 for earlier, later in itertools.pairwise(sizes))
    assert all(len(sent) == len(messages) + 2 * number for number, sent in enumerate(model.seen))


@pytest.mark.field("C126", "C132")
def test_a_useless_summary_falls_back_to_one_that_gains() -> None:
    """With the fallback on, the extractive summarizer takes over and the record says what was gained."""
    messages = [*tool_loop(30, size=150), human("go on")]

    compaction = compact_messages(messages, keep=("turns", 1), summarizer=SpySummarizer(quoting), token_counter=count_characters)

    assert compaction.outcome in (Outcome.FELL_BACK, Outcome.REPAIRED)
    assert compaction.tokens_before - compaction.tokens_after >= 0.2 * compaction.record.evicted_tokens
    assert compaction.record.evicted_tokens > 0


@pytest.mark.field("C126", "C132")
@pytest.mark.parametrize("min_gain", [0.2, 0.9])
@pytest.mark.parametrize("times", [1, 3, 10])
def test_the_gain_is_measured_on_what_would_be_sent(times: int, min_gain: float) -> None:
    """A summary that quotes its source once or ten times: accepted where the view really shrinks by what was asked for, else refused."""
    messages = chatter(30)
    spy = SpySummarizer(lambda request: quoting(request).model_copy(update={"facts": quoting(request).facts * times}))

    compaction = compact_messages(messages, config=demanding(min_gain), keep=("messages", 1), summarizer=spy, token_counter=count_characters)

    before, after = count_characters(messages), count_characters(compaction.messages)
    assert (before, after) == (compaction.tokens_before, compaction.tokens_after)
    if compaction.outcome == Outcome.REJECTED:
        assert [id(message) for message in messages] == [id(message) for message in compaction.messages]
    else:
        assert before - after >= min_gain * compaction.record.evicted_tokens > 0
    assert (min_gain > 0.5 or times == 10) == (Outcome.REJECTED == compaction.outcome)


@pytest.mark.field("C128")
def test_rules_that_fill_the_window_are_refused_while_constructing() -> None:
    """Pins plus what is kept above the trigger can never settle; the error names the numbers."""
    with pytest.raises(ConfigurationError) as caught:
        ContextGuard(constraints=["Never delete an order. " * 200], trigger=("tokens", 1_000), keep=("tokens", 500), token_counter=count_characters)

    assert "1000" in str(caught.value).replace(",", "")


@pytest.mark.field("C128")
def test_large_rules_do_not_trigger_the_next_compaction() -> None:
    """Pins of a third of the window under a trigger of 80%: after a compaction there is room, and calls go on without the next one."""
    rule = "Never delete an order. " * 180
    config = GuardConfig.from_dict({"compaction": {"window": 5_000}})
    spy = SpySummarizer()
    guard = ContextGuard(config, constraints=[rule], trigger=("fraction", 0.8), keep=("turns", 1), summarizer=spy, token_counter=count_characters)
    model = reading(36, "peek")

    create_agent(model, [peek], middleware=[guard]).invoke({"messages": [HumanMessage("read the archive")]})

    assert spy.requests
    assert len(spy.requests) <= len(model.seen) // 4
    assert all(rule in "".join(texts_of(sent[0])) for sent in model.seen)


@pytest.mark.field("C129")
def test_a_run_makes_at_most_max_compactions() -> None:
    """A tool loop that refills the context: the limit holds, and what ends the run early is an error of ours that says so."""
    config = GuardConfig.from_dict({"compaction": {"max_compactions": 3}})
    spy = SpySummarizer()
    guard = ContextGuard(config, trigger=("tokens", 1_500), keep=("messages", 2), summarizer=spy, token_counter=count_characters)
    model = reading(40)
    agent = create_agent(model, [read], middleware=[guard])

    try:
        agent.invoke({"messages": [HumanMessage("read the archive")]}, {"recursion_limit": 200})
    except ContextGuardError as error:
        assert "max_compactions" in str(error)

    assert 3 == len(spy.requests)


@pytest.mark.field("C131")
@pytest.mark.parametrize("budget", [4_000, 12_000, 40_000])
def test_parallel_results_over_the_window_are_shortened_with_a_pointer(budget: int) -> None:
    """Eight results come last and are together far over it: each is shown in part under its own call, and the originals stay as they are."""
    calls = [f"c{number}" for number in range(8)]
    results = [result(call, f"start of {call} " + "数据 data " * 2_500, message_id=f"r-{call}") for call in calls]
    messages = [human("read all eight", "q"), ai("", calls=calls, message_id="a"), *results]

    compaction = compact_messages(messages, budget=budget, token_counter=count_characters, constraints=["Only read."])

    assert compaction.tokens_after <= budget
    assert [] == check_provider_valid(compaction.messages, allow_in_flight=False)
    assert [] == check_all_providers(compaction.messages)
    shown = [message for message in compaction.messages if isinstance(message, ToolMessage)]
    assert calls == [message.tool_call_id for message in shown]
    assert all(str(message.content).startswith(f"start of {message.tool_call_id}") for message in shown)
    assert sum(len(str(message.content)) < 20_000 for message in shown) == compaction.record.elided_results > 0
    assert all("left out" in str(message.content) or "omitted" in str(message.content) or "…" in str(message.content) for message in shown)
    assert {len(f"start of c0 {'数据 data ' * 2_500}")} == {len(str(message.content)) for message in results}

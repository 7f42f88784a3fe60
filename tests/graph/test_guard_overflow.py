from __future__ import annotations

import itertools
from typing import Any

import pytest
from langchain.agents.middleware.types import ExtendedModelResponse, ModelRequest, ModelResponse
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from langchain_ctxguard.domain.config import GuardConfig
from langchain_ctxguard.errors import ContextBudgetError
from langchain_ctxguard.graph.guard import ContextGuard
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
    rendered_names,
    said,
    thread,
)
from tests.support.builders import count_characters
from tests.support.providers import check_provider_valid


def refusing(limit: int, factor: float = 1.0, **settings: Any) -> ScriptedChat:
    """Return a model that takes at most `limit` tokens, counted as we do times `factor`."""

    def script(number: int, messages: list[BaseMessage]) -> Any:
        return ContextOverflowError("too long") if factor * count_characters(messages) > limit else f"answer {number}"

    return ScriptedChat(script=script, **settings)


async def run(agent: Any, turns: int, *, is_async: bool) -> Any:
    return await achat(agent, turns) if is_async else chat(agent, turns)


@pytest.mark.parametrize("is_async", [False, True])
async def test_an_overflow_is_compacted_once_and_retried_once(is_async: bool) -> None:  # noqa: FBT001
    """A request the provider finds too long, far below our trigger, is compacted and sent again in the same call."""
    facts, model = Facts(), refusing(900)
    agent = agent_of(model, guard_of(trigger=("tokens", 100_000), hooks=[facts]), checkpointer=InMemorySaver())
    await run(agent, 8, is_async=is_async)
    assert ["overflow"] == [record.trigger for record in facts.records]
    assert 8 + 1 == len(model.seen)
    refused, retried = next(pair for pair in itertools.pairwise(model.seen) if count_characters(pair[0]) > 900)
    assert count_characters(retried) <= 0.7 * count_characters(refused)
    assert refused[-1] == retried[-1]
    assert ["context_summary"] == rendered_names(retried)
    assert_pinned(retried)
    assert 1 == head_of(agent).version


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_second_overflow_is_raised(is_async: bool) -> None:  # noqa: FBT001
    """One compaction, one retry: what the provider still refuses is its own error, and the model is asked no third time."""
    facts, notes = Facts(), Notes()
    model = ScriptedChat(script=lambda number, _: ContextOverflowError("too long") if number >= 5 else "fine")
    agent = agent_of(model, guard_of(trigger=("tokens", 100_000), hooks=[facts], summarizer=notes), checkpointer=InMemorySaver())
    with pytest.raises(ContextOverflowError, match="too long"):
        await run(agent, 8, is_async=is_async)
    assert 5 + 2 == len(model.seen)
    assert 1 == len(notes.requests)
    assert {} == agent.get_state(thread()).values.get("ctxguard", {}), "nothing of a failed call is stored"


@pytest.mark.parametrize("is_async", [False, True])
async def test_an_overflow_after_a_compaction_keeps_less(is_async: bool) -> None:  # noqa: FBT001
    """A call that had compacted already compacts once more with a smaller `keep`, on top of its own version, and stores only the last."""
    facts = Facts()
    failed: list[int] = []

    def script(number: int, messages: list[BaseMessage]) -> Any:
        if facts.made and not failed:
            failed.append(len(messages))
            return ContextOverflowError("too long")
        return f"answer {number}"

    model = ScriptedChat(script=script)
    agent = agent_of(model, guard_of(trigger=("tokens", 900), keep=("turns", 4), hooks=[facts]), checkpointer=InMemorySaver())
    await run(agent, 8, is_async=is_async)
    assert ["tokens", "overflow"] == [record.trigger for record in facts.made]
    assert [1, 2] == [record.version for record in facts.made]
    refused, retried = next(
        (model.seen[n], model.seen[n + 1]) for n in range(len(model.seen)) if len(model.seen[n]) == failed[0] and rendered_names(model.seen[n])
    )
    assert len(retried) < len(refused)
    assert 2 == head_of(agent).version


def test_an_overflow_of_a_provider_that_counts_more_is_met() -> None:
    """A provider that reports and counts 1.8 times what we do is given a view that is smaller by its own count."""
    facts = Facts()
    model = refusing(1_000, 1.8, usage=lambda messages: int(1.8 * count_characters(messages)))
    agent = agent_of(model, guard_of(trigger=("tokens", 100_000), hooks=[facts]), checkpointer=InMemorySaver())
    chat(agent, 10)
    assert 2 <= len(facts.made)
    assert {"overflow"} == {record.trigger for record in facts.made}


def test_an_overflow_in_a_process_that_rests_on_a_report_is_met() -> None:
    """A process that counted only what came after the newest report counts everything before it compacts for the provider."""
    saver, facts, settings = InMemorySaver(), Facts(), {"trigger": ("tokens", 100_000)}
    chat(agent_of(ScriptedChat(usage=count_characters), guard_of(**settings), checkpointer=saver), 8)
    model = refusing(900)
    chat(agent_of(model, guard_of(**settings, hooks=[facts]), checkpointer=saver), 1, start=8)
    assert count_characters(model.seen[0]) == facts.made[0].tokens_before
    assert ["overflow"] == [record.trigger for record in facts.made]
    assert 2 == len(model.seen)


def test_an_overflow_of_a_model_that_is_down_for_the_summary_too_is_met() -> None:
    """The summarizer may overflow as well; the extractive one takes over and the call goes through."""

    def script(number: int, messages: list[BaseMessage]) -> Any:
        is_summary = "You keep the notes" in str(messages[0].content)
        return ContextOverflowError("too long") if is_summary or count_characters(messages) > 900 else f"answer {number}"

    facts = Facts()
    agent = agent_of(ScriptedChat(script=script), guard_of(trigger=("tokens", 100_000), summarizer=None, hooks=[facts]), checkpointer=InMemorySaver())
    state = chat(agent, 8)
    assert 16 == len(state["messages"])
    assert {"extractive"} == {record.strategy for record in facts.made}


def test_an_overflow_in_a_tool_loop_keeps_pairs_whole() -> None:
    """In the middle of one long run the retried view is provider-valid and holds the request."""
    facts = Facts()

    def script(number: int, messages: list[BaseMessage]) -> Any:
        if count_characters(messages) > 1_500:
            return ContextOverflowError("too long")
        return calling(f"{number}-a", f"{number}-b") if number < 30 else "done"

    model = ScriptedChat(script=script)
    agent = agent_of(model, guard_of(trigger=("tokens", 100_000), hooks=[facts]), tools=[look_up], checkpointer=InMemorySaver())
    agent.invoke(said("check all orders"), {**thread(), "recursion_limit": 200})
    assert len(facts.made) >= 2
    for view in model.seen:
        assert [] == check_provider_valid(view)
        assert 1 == sum(message.content == "check all orders" for message in view)


def overflow_of(guard: ContextGuard, messages: list[BaseMessage]) -> Any:
    request = ModelRequest(model=ScriptedChat(), messages=messages, state={"messages": messages}, runtime=None)

    def refuse(_: ModelRequest[Any]) -> ModelResponse[Any]:
        msg = "too long"
        raise ContextOverflowError(msg)

    return guard.wrap_model_call(request, refuse)


def test_an_overflow_that_nothing_can_leave_is_told_with_its_cause() -> None:
    """What must stay is over the goal: the error names both numbers and the provider's error is its cause."""
    with pytest.raises(ContextBudgetError) as caught:
        overflow_of(guard_of(), [HumanMessage(WORDS * 9, id="h")])
    assert isinstance(caught.value.__cause__, ContextOverflowError)
    assert caught.value.needed > caught.value.budget > 0


def configured(**compaction: Any) -> ContextGuard:
    config = GuardConfig.from_dict({"compaction": {"keep": ["turns", 1], **compaction}})
    return ContextGuard(config, constraints=RULES, token_counter=Counter(), summarizer=Notes())


@pytest.mark.parametrize("settings", [{"trigger": None}, {"trigger": ["tokens", 90_000], "on_full": "stop"}])
def test_a_guard_that_may_not_compact_raises_the_overflow(settings: dict[str, Any]) -> None:
    """`trigger=None` and `on_full="stop"` compact for no provider either."""
    talk: list[BaseMessage] = [HumanMessage(f"{n}: {WORDS * 4}", id=f"h{n}") for n in range(6)]
    with pytest.raises(ContextOverflowError):
        overflow_of(configured(**settings), talk)


def test_an_overflow_counts_among_the_compactions_of_a_run() -> None:
    """A run that used up its compactions raises what the provider says."""
    facts = Facts()
    config = GuardConfig.from_dict({"compaction": {"keep": ["turns", 1], "trigger": ["tokens", 100_000], "max_compactions": 1}})
    guard = ContextGuard(config, constraints=RULES, token_counter=Counter(), summarizer=Notes(), hooks=[facts])

    def script(number: int, messages: list[BaseMessage]) -> Any:
        return ContextOverflowError("too long") if count_characters(messages) > 900 else calling(f"{number}")

    agent = agent_of(ScriptedChat(script=script), guard, tools=[look_up], checkpointer=InMemorySaver())
    with pytest.raises(ContextOverflowError):
        agent.invoke(said("go"), {**thread(), "recursion_limit": 200})
    assert 1 == len(facts.made)


def test_an_error_of_the_model_that_is_no_overflow_passes_through() -> None:
    """Errors the guard does not know are the caller's, unchanged, `StopIteration` of an exhausted fake included."""
    guard = guard_of()
    talk: list[BaseMessage] = [HumanMessage("hi", id="h")]
    request = ModelRequest(model=ScriptedChat(), messages=talk, state={"messages": talk}, runtime=None)
    for error in (ValueError("no"), StopIteration("out of answers"), KeyboardInterrupt()):

        def fail(_: ModelRequest[Any], error: BaseException = error) -> ModelResponse[Any]:
            raise error

        with pytest.raises(type(error)) as caught:
            guard.wrap_model_call(request, fail)
        assert error is caught.value


def test_a_retried_overflow_makes_no_second_version() -> None:
    """The same call made again after its retry failed finds the version it made: one summary for both."""
    notes, facts = Notes(), Facts()
    guard = guard_of(trigger=("tokens", 100_000), summarizer=notes, hooks=[facts])
    talk: list[BaseMessage] = [HumanMessage(f"{n}: {WORDS * 4}", id=f"h{n}") for n in range(9)]
    with pytest.raises(ContextOverflowError):
        overflow_of(guard, talk)

    def once(request: ModelRequest[Any]) -> ModelResponse[Any]:
        if len(request.messages) == 9:
            msg = "too long"
            raise ContextOverflowError(msg)
        return ModelResponse(result=[AIMessage("fine")])

    request = ModelRequest(model=ScriptedChat(), messages=talk, state={"messages": talk}, runtime=None)
    answer = guard.wrap_model_call(request, once)
    assert isinstance(answer, ExtendedModelResponse)
    assert 1 == len(notes.requests)
    assert 1 == len(facts.made)

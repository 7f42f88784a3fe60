"""A summary by a prompt of the classic kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langchain_ctxguard.domain.summary import Decision, Fact, StructuredSummary
from langchain_ctxguard.engine import counter_of
from langchain_ctxguard.errors import InvalidSummaryError
from langchain_ctxguard.memory.prompted import PromptSummarizer, portions, prose_of
from tests.memory.stock import request


def asking(reply: Callable[[list[BaseMessage], str], str], **settings: Any) -> PromptSummarizer:
    """Return a summarizer by prompt whose model is `reply`."""

    async def areply(messages: list[BaseMessage], existing: str) -> str:
        return reply(messages, existing)

    return PromptSummarizer(reply, areply, name="fake", **settings)


async def test_prose_becomes_claims_sentence_by_sentence() -> None:
    """What a model tells in prose is a fact per sentence, so that one that must go takes no other with it; sync and async."""
    summarizer = asking(lambda messages, existing: "<think>hm</think>The human needs chairs. 她要三十把椅子。 They are blue.")
    expected = ("The human needs chairs.", "她要三十把椅子。", "They are blue.")
    asked = request(HumanMessage("I need chairs."))
    assert expected == tuple(fact.statement for fact in summarizer.summarize(asked).facts)
    assert summarizer.summarize(asked) == await summarizer.asummarize(asked)
    assert "prompt:fake" == summarizer.name


@pytest.mark.field("C075")
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("", "empty"),
        ("  \n", "empty"),
        ("<think>only thoughts</think>", "reasoning_only"),
        ("Error generating summary: 500", "placeholder"),
        ("无法总结", "placeholder"),
        ("<tool_call>{}</tool_call>", "tool_call"),
        ("word " * 2_000, "too_long"),
    ],
)
def test_what_is_no_summary_is_refused(answer: str, reason: str) -> None:
    """An answer without a summary in it is told by its reason and never taken."""
    with pytest.raises(InvalidSummaryError) as caught:
        asking(lambda messages, existing: answer).summarize(request(HumanMessage("I need chairs.")))
    assert reason == caught.value.reason


@pytest.mark.field("C080", "C081")
async def test_everything_is_read_in_portions() -> None:
    """A long conversation and a message larger than the model are read to their ends, each portion with the summary so far."""
    seen: list[tuple[str, str]] = []

    def reply(messages: list[BaseMessage], existing: str) -> str:
        seen.append(("".join(str(message.content) for message in messages), existing))
        return f"Summary {len(seen)}."

    text = "".join(f"Item {number} costs {number} EUR. " for number in range(3_000))
    messages = [HumanMessage("Start."), AIMessage(text), ToolMessage(text[:500], tool_call_id="c"), HumanMessage("End.")]
    await asking(reply, portion=500).asummarize(request(*messages))
    assert "".join(str(message.content) for message in messages) == "".join(part for part, _ in seen)
    assert ["", *(f"Summary {number}." for number in range(1, len(seen)))] == [existing for _, existing in seen]
    assert len(seen) > 50
    count = counter_of(None)
    assert max(count([HumanMessage(part)]) for part, _ in seen) <= 520


@given(st.lists(st.text(max_size=300), max_size=12), st.integers(1, 60), st.one_of(st.none(), st.integers(1, 4)))
def test_portions_leave_nothing_out(texts: list[str], room: int, most: int | None) -> None:
    """Joined, the portions are the messages; none is empty, and none holds more than was asked for."""
    messages = [HumanMessage(text) for text in texts]
    found = list(portions(messages, measure=lambda message: len(str(message.content)), room=room, most=most))
    assert "".join(texts) == "".join(str(message.content) for portion in found for message in portion)
    assert all(portion and (most is None or len(portion) <= most) for portion in found)
    assert all(sum(len(str(message.content)) for message in portion) <= room for portion in found)


def test_an_earlier_summary_is_told_as_prose() -> None:
    """A prompt's `summary` is what was told, without frames and marks; requests stand beside every summary anyway."""
    earlier = StructuredSummary(
        original_goal="Chairs.",
        user_intent="Tables.",
        pending_items=("Pay.",),
        facts=(Fact(statement="They are blue."),),
        decisions=(Decision(chosen="Oak."),),
        open_questions=("When?",),
    )
    assert "Pay.\nThey are blue.\nOak.\nWhen?" == prose_of(earlier)
    assert "" == prose_of(None)

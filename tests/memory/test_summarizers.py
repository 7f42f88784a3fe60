"""Who summarizes for a memory: by a prompt of the classic kind, and with the critical values put back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langchain_ctxguard.domain.summary import Decision, Fact, StructuredSummary, SummaryDraft
from langchain_ctxguard.engine import counter_of
from langchain_ctxguard.errors import InvalidSummaryError
from langchain_ctxguard.memory.fields import FieldKeeper, kept
from langchain_ctxguard.memory.lines import lines_of
from langchain_ctxguard.memory.prompted import PromptSummarizer, portions, prose_of
from langchain_ctxguard.ports import SummaryRequest
from tests.support.models import SpySummarizer


def request(*messages: BaseMessage, previous: StructuredSummary | None = None) -> SummaryRequest:
    """Return what a summarizer is asked about messages."""
    return SummaryRequest(messages, tuple(f"m-{at}" for at in range(len(messages))), previous, 1_000, counter_of(None))


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
    """A prompt's `summary` is what was told, without frames and marks; the first request stands beside every summary anyway."""
    earlier = StructuredSummary(
        original_goal="Chairs.",
        user_intent="Tables.",
        pending_items=("Pay.",),
        facts=(Fact(statement="They are blue."),),
        decisions=(Decision(chosen="Oak."),),
        open_questions=("When?",),
    )
    assert "Tables.\nPay.\nThey are blue.\nOak.\nWhen?" == prose_of(earlier)
    assert "" == prose_of(None)


SAID = [
    HumanMessage("Refund 4,500 EUR to order ORD-7731 by 2026-12-15. Thanks a lot."),
    AIMessage("I will."),
    HumanMessage("订单号 ORD-8802，预算5万元，截止日期是2026年11月30日。"),
]


def test_lost_values_are_put_back_in_their_own_words() -> None:
    """Amounts, dates and identifiers a draft leaves out come back as the sentence they were said in, with its source."""
    draft = kept(SummaryDraft(facts=(Fact(statement="They talk about refunds."),)), request(*SAID))
    told = "\n".join(fact.statement for fact in draft.facts)
    assert all(value in told for value in ("4,500 EUR", "ORD-7731", "2026-12-15", "ORD-8802", "5万元", "2026年11月30日"))
    assert {("user", "m-0"), ("user", "m-2")} == {(fact.said_by, fact.source) for fact in draft.facts[1:]}
    assert "Thanks a lot" not in told


def test_a_draft_that_keeps_the_values_is_the_same_draft() -> None:
    """Nothing is added to what lost nothing, however the values are written."""
    draft = SummaryDraft(user_intent="Refund 4,500 EUR for ORD-7731 by December 15, 2026")
    assert draft == kept(draft, request(SAID[0]))
    assert SummaryDraft() == kept(SummaryDraft(), request(*SAID))


def test_a_changed_value_is_replaced_by_the_said_one() -> None:
    """A draft that turns 4,500 into 45,000 loses that sentence, and the user's stands in its place."""
    draft = SummaryDraft(facts=(Fact(statement="The refund for ORD-7731 is 45,000 EUR by 2026-12-15."), Fact(statement="They are polite.")))
    told = [fact.statement for fact in kept(draft, request(SAID[0])).facts]
    assert "They are polite." in told
    assert not any("45,000" in statement for statement in told)
    assert any("4,500 EUR" in statement for statement in told)


def test_a_corrected_value_is_not_put_back() -> None:
    """A value its owner replaced later is not in force; the new one is kept."""
    said = [HumanMessage("The deadline is June 30, 2026."), HumanMessage("The deadline is now July 15, 2026.")]
    told = "\n".join(fact.statement for fact in kept(SummaryDraft(facts=(Fact(statement="They talk."),)), request(*said)).facts)
    assert "July 15" in told
    assert "June 30" not in told


async def test_values_of_the_earlier_summary_are_kept_as_well() -> None:
    """A second summary loses nothing the first one had, and passes it on with who said it; sync and async."""
    earlier = StructuredSummary(facts=(Fact(statement="The budget is 4,500 EUR.", said_by="user", source="m-old"),))
    keeper = FieldKeeper(SpySummarizer(lambda _: SummaryDraft(facts=(Fact(statement="They talk."),))))
    asked = request(HumanMessage("Go on."), previous=earlier)
    assert earlier.facts[0] in keeper.summarize(asked).facts
    assert keeper.summarize(asked) == await keeper.asummarize(asked)
    assert "spy" == keeper.name


@given(st.lists(st.tuples(st.sampled_from([HumanMessage, AIMessage]), st.text()), max_size=6))
def test_only_a_message_begins_at_the_margin(said: list[tuple[Any, str]]) -> None:
    """Whatever is said, the lines at the margin are as many as the messages, and each begins with who speaks."""
    lines = lines_of([kind(text) for kind, text in said], human_prefix="Human", ai_prefix="AI").splitlines()
    assert [("Human: " if kind is HumanMessage else "AI: ") for kind, _ in said] == [
        line[: line.index(":") + 2] for line in lines if not line.startswith("  ")
    ]

"""Field reports about a conversation that lost its request, its tail or its progress."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langchain_ctxguard import compact_messages
from langchain_ctxguard.domain.context import read_head
from langchain_ctxguard.domain.summary import SummaryDraft
from langchain_ctxguard.domain.version import Outcome
from langchain_ctxguard.testing.summarizers import ScriptedSummarizer
from tests.support.builders import ai, human, result, tool_unit
from tests.support.models import SpySummarizer

STEPS = 20
WORK = "The figures of one more region were read. " * 20


@pytest.mark.field("C097")
@pytest.mark.parametrize(("first", "latest"), [("Explain metric A.", "Now explain metric B."), ("解释指标甲。", "现在解释指标乙。")])
def test_the_latest_request_stands_verbatim_however_much_work_followed(first: str, latest: str) -> None:
    """It lies outside of what is kept raw; the older one yields, not this one."""
    messages = [human(first, "a"), ai(WORK, message_id="x"), human(latest, "b"), *(message for number in range(9) for message in tool_unit(number))]
    done = compact_messages(messages, keep=("messages", 2), summarizer=SpySummarizer())

    assert done.outcome in {Outcome.ACCEPTED, Outcome.REPAIRED}
    assert [latest] == [message.content for message in done.messages if message.id == "b"]
    assert "a" not in {message.id for message in done.messages}


@pytest.mark.field("C099")
@pytest.mark.parametrize("keep", [("tokens", 1), ("messages", 1), ("turns", 1)])
def test_the_newest_message_is_never_summarized(keep: Any) -> None:
    """A list that fits is left alone; one that does not keeps its request whatever `keep` says."""
    short: list[BaseMessage] = [human("Where is it?", "h"), ai("On its way.", message_id="a")]
    fits = compact_messages(short, keep=keep, budget=4_000, summarizer=SpySummarizer())
    long = compact_messages([human(WORK, "w"), ai(WORK, message_id="v"), human("Where is it?", "h")], keep=keep, summarizer=SpySummarizer())

    assert (Outcome.SKIPPED, ["h", "a"]) == (fits.outcome, [message.id for message in fits.messages])
    assert "h" == long.messages[-1].id


def looked_up(order: str) -> list[BaseMessage]:
    """Return a call and its long result."""
    call = {"name": "lookup", "args": {"order": order}, "id": order}
    return [AIMessage("", tool_calls=[call], id=f"c{order}"), ToolMessage(f"{order}: {WORK * 12}", tool_call_id=order, id=f"r{order}")]


@pytest.mark.field("C100")
def test_a_second_summary_builds_on_the_first_and_names_every_call() -> None:
    """Each message that left is read once, with the summary before it at hand, and what was called in either round is on record."""
    spy = SpySummarizer()
    messages: list[BaseMessage] = [human("Compare the regions.", "h"), *looked_up("A-1")]
    first = compact_messages([*messages, human("And?", "h2")], keep=("messages", 1), summarizer=spy)
    longer = [*messages, human("And?", "h2"), *looked_up("B-2"), human("Go on.", "h3")]
    second = compact_messages(longer, keep=("messages", 1), summarizer=spy, previous=first.head)
    evidence = next(message.text for message in second.messages if message.name == "context_evidence")
    assert [False, True] == [request.previous is not None for request in spy.requests]
    assert [] == sorted({*spy.requests[0].sources} & {*spy.requests[1].sources})
    assert ["A-1", "B-2"] == [order for order in ("A-1", "B-2") if f'lookup({{"order": "{order}"}}) done' in evidence]


def plan(done: int, number: int) -> list[BaseMessage]:
    """Return a call that writes the list down with `done` steps finished."""
    steps = [{"content": f"Check region {step}", "status": "completed" if step < done else "pending"} for step in range(STEPS)]
    call = {"name": "write_todos", "args": {"todos": steps}, "id": f"p{number}"}
    return [AIMessage(WORK, tool_calls=[call], id=f"c{number}"), ToolMessage("Updated.", tool_call_id=f"p{number}", id=f"r{number}")]


@pytest.mark.field("C103")
def test_what_is_done_stays_done_over_ten_passes() -> None:
    """What is next only shrinks, and nothing comes back, though the summarizer says each time that everything is still to do."""
    forgetful = ScriptedSummarizer([SummaryDraft(pending_items=tuple(f"Check region {step}" for step in range(STEPS)))])
    messages: list[BaseMessage] = [human("Check the twenty regions.", "h")]
    head, still_open = None, set(range(STEPS))
    for number in range(1, 11):
        messages += [*plan(2 * number, number), human(f"Go on {number}.", f"h{number}")]
        done = compact_messages(messages, keep=("messages", 1), summarizer=forgetful, previous=head)
        head = done.head
        body = read_head(head).body
        assert body is not None
        now = {int(item.text.split()[-1]) for item in body.summary.pending_items if item.state == "open" and item.text.startswith("Check region")}

        assert now == set(range(2 * number, STEPS))
        assert now < still_open
        still_open = now


@pytest.mark.field("C109")
def test_what_lies_behind_the_cut_stays_as_it_was() -> None:
    """Four pairs, cut after the second: the last two are the very messages, in their order."""
    pairs = [
        message
        for number in range(4)
        for message in (ai("", calls=[f"c{number}"], message_id=f"a{number}"), result(f"c{number}", WORK, message_id=f"t{number}"))
    ]
    done = compact_messages([human("Read them.", "h"), *pairs], keep=("messages", 4), summarizer=SpySummarizer())

    assert Outcome.ACCEPTED == done.outcome
    assert pairs[-4:] == done.messages[-4:]
    assert [True] == [message.content == "Read them." for message in done.messages if isinstance(message, HumanMessage) and message.id == "h"]

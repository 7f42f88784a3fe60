from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.messages.utils import count_tokens_approximately

from langchain_ctxguard import compact_messages
from langchain_ctxguard.backends.extractive import ExtractiveSummarizer
from langchain_ctxguard.backends.extractive.values import latest_values
from langchain_ctxguard.core.bounds import text_tokens
from langchain_ctxguard.core.render import render_summary
from langchain_ctxguard.core.roles import text_of
from langchain_ctxguard.domain.summary import StructuredSummary, SummaryDraft
from langchain_ctxguard.domain.version import Outcome
from langchain_ctxguard.errors import ContextBudgetError
from langchain_ctxguard.ports import SummaryRequest
from tests.support.builders import ai, human, result

TALK = "I looked at every one of the proposals, and each of them has something that speaks for it and something that speaks against it, as we said. "


def ask(messages: Sequence[BaseMessage], *, max_tokens: int = 1_500, previous: StructuredSummary | None = None) -> SummaryRequest:
    return SummaryRequest(tuple(messages), tuple(f"s{index}" for index, _ in enumerate(messages)), previous, max_tokens, count_tokens_approximately)


def told(draft: SummaryDraft) -> str:
    decided = [decision.chosen for decision in draft.decisions]
    return "\n".join([draft.user_intent, *draft.pending_items, *(fact.statement for fact in draft.facts), *decided, *draft.open_questions])


def crowd(prices: Sequence[int]) -> list[BaseMessage]:
    """A talk in which each price stands in a sentence of its own, too long for all of them to be told."""
    messages: list[BaseMessage] = [human("Which of the offers is best?")]
    for number, price in enumerate(prices):
        messages += [
            ai(f"{TALK}After all that, the offer of vendor{number} would come to ${price} per seat, as far as I can see it from here today. {TALK}")
        ]
        messages += [human(f"Fine, and what about vendor{number + 1}?")]
    return messages


def test_a_value_without_room_for_its_sentence_is_told_in_the_words_around_it() -> None:
    """Where sentences do not fit, each amount still stands with what it is the amount of."""
    prices = [1_101 + 7 * number for number in range(24)]
    draft = ExtractiveSummarizer().summarize(ask(crowd(prices), max_tokens=900))

    assert [] == [price for price in prices if f"${price} per seat" not in told(draft)]
    assert any(fact.statement.startswith("…") and "comes" not in fact.statement for fact in draft.facts)


def test_lines_of_values_stand_verbatim_where_they_say() -> None:
    """A line of its own is cut from its message, with marks where it was cut."""
    messages = crowd([1_101 + 7 * number for number in range(24)])
    texts = {f"s{index}": text_of(message) for index, message in enumerate(messages)}
    draft = ExtractiveSummarizer().summarize(ask(messages, max_tokens=900))

    assert draft.facts
    for fact in draft.facts:
        assert fact.statement.strip("…") in texts[fact.source or ""]


def test_only_the_latest_value_of_a_name_needs_a_line() -> None:
    """A value that another replaced has no claim to the room."""
    messages = [human("What is open?"), *(ai(f"Noted. The deadline is 2026-07-{day:02}.") for day in range(1, 20)), human("Go on.")]

    assert ["2026-07-19"] == [latest.raw for latest in latest_values(ask(messages))]


def test_of_a_table_the_last_row_is_the_latest() -> None:
    """Rows of a tool's table share their names; the newest row holds the latest values."""
    rows = ", ".join(f'{{"due": "2026-03-{day:02}"}}' for day in range(1, 28))
    messages = [human("Which are due?"), ai(calls=["c1"]), result("c1", f"[{rows}]")]

    assert ["2026-03-27"] == [latest.raw for latest in latest_values(ask(messages))]


def test_a_value_told_under_another_name_is_not_told() -> None:
    """The same number as the price of two things is two values."""
    request = ask(
        [human("Book it."), ai("The total cost for this trip is $833 per passenger."), ai("Reservation 2: $833 - $250 (certificate) = $583")]
    )

    assert "total cost for this trip is $833 per passenger" in told(ExtractiveSummarizer().summarize(request))


def test_days_without_a_date_in_a_page_are_none() -> None:
    """A word such as today in a text nobody dated names no day."""
    messages = [human("Read it."), ai(calls=["c1"]), result("c1", "What we see today is no different from what we saw on Monday.")]

    assert [] == latest_values(ask(messages))


def test_values_said_before_are_told_from_the_summary_before() -> None:
    """In the next round the latest values still stand, although their messages are gone."""
    first = [human("The deadline is 2026-06-30, the budget is 4,500 EUR."), ai("Noted. " + TALK * 8), human("Now draft the offer.")]
    messages = [*first, ai("Drafted. " + TALK * 12), human("Shorter, please."), ai("Done. " + TALK * 12), human("Thanks.")]
    once = compact_messages(messages[:4], keep=("messages", 1))
    twice = compact_messages(messages, keep=("messages", 1), previous=once.head)

    assert Outcome.ACCEPTED == once.outcome == twice.outcome
    whole = "\n".join(message.text for message in twice.messages)
    assert "2026-06-30" in whole
    assert "4,500 EUR" in whole


class TestNoRoom:
    """What becomes of values where not even the words around them fit."""

    MESSAGES = crowd([1_101 + 7 * number for number in range(400)])

    def test_what_has_no_room_is_counted(self) -> None:
        """The bound holds, and the summary says how much it does not list."""
        request = ask(self.MESSAGES, max_tokens=700)
        draft = ExtractiveSummarizer().summarize(request)
        shown = StructuredSummary.model_validate(draft.model_dump(exclude={"dropped_keys"}))

        assert draft.left_out is not None
        assert draft.left_out.amounts > 300
        assert text_tokens(count_tokens_approximately, render_summary(shown, version=1)) <= 700

    def test_it_may_be_told_to_refuse_instead(self) -> None:
        """Nothing is summarized, and both numbers are named."""
        with pytest.raises(ContextBudgetError, match="latest value of every amount and date") as caught:
            ExtractiveSummarizer(tells_every_value=True).summarize(ask(self.MESSAGES, max_tokens=700))
        assert 700 == caught.value.budget < caught.value.needed

    def test_where_all_fit_nothing_is_refused(self) -> None:
        """The strict summarizer gives the same draft as the other."""
        request = ask(crowd([1_101, 1_108]))
        assert ExtractiveSummarizer().summarize(request) == ExtractiveSummarizer(tells_every_value=True).summarize(request)

    def test_a_refusal_leaves_the_context_as_it_was(self) -> None:
        """No other summarizer steps in for one that refused, and the record says which error it was."""
        messages = [*self.MESSAGES, AIMessage("Done."), HumanMessage("Thanks.")]
        done = compact_messages(messages, keep=("messages", 2), summarizer=ExtractiveSummarizer(tells_every_value=True))

        assert Outcome.REJECTED == done.outcome
        assert "ContextBudgetError" in done.record.reason
        assert messages == done.messages


@given(st.lists(st.integers(min_value=10, max_value=99_999), min_size=1, max_size=30, unique=True), st.integers(min_value=400, max_value=2_000))
@settings(max_examples=30)
def test_every_value_is_told_or_refused(prices: list[int], bound: int) -> None:
    """Whatever the amounts and the bound: the strict summarizer tells each of them within the bound, or none."""
    try:
        draft = ExtractiveSummarizer(tells_every_value=True).summarize(ask(crowd(prices), max_tokens=bound))
    except ContextBudgetError:
        return
    assert [] == [price for price in prices if f"${price} " not in told(draft)]


def test_values_are_found_in_linear_time() -> None:
    """Four times the messages take no more than about four times as long."""

    def seconds(number: int) -> float:
        messages = crowd(range(1_000, 1_000 + number))
        ExtractiveSummarizer().summarize(ask(messages))
        took = []
        for _ in range(3):
            began = time.process_time()
            ExtractiveSummarizer().summarize(ask(messages))
            took.append(time.process_time() - began)
        return min(took)

    assert seconds(800) < 8 * seconds(200)


def test_a_value_that_is_quoted_beside_the_summary_takes_no_line_of_its_own() -> None:
    """Its words stand in a quote, a request or a message that stays, whatever name the value goes by."""
    talk = [message for _ in range(4) for message in (human("The kettle is slow."), ai("I see."))]
    messages = [human("Good morning to all."), ai("Hello."), human("LIMIT: Budget cap is $950 total."), *talk, human("What now?"), ai("Nothing.")]
    request = ask(messages)
    beside = replace(request, shown=("LIMIT: Budget cap is $950 total.",))
    assert "$950" in told(ExtractiveSummarizer().summarize(request))
    assert "$950" not in told(ExtractiveSummarizer().summarize(beside))

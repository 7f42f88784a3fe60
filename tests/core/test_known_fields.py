from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import BaseMessage, HumanMessage

from langchain_ctxguard.core.known_fields import (
    LONGEST_REQUEST,
    LONGEST_VALUE,
    MAX_CHARACTERS,
    MAX_FIELDS,
    Extraction,
    held,
    moved_on,
    restored,
    unread_from,
    with_made,
    without_edited,
)
from langchain_ctxguard.core.ledger import update_ledger
from langchain_ctxguard.core.replaced import Replaced
from langchain_ctxguard.domain.control import FieldEvent
from langchain_ctxguard.domain.verified import VerifiedHead, read_verified
from tests.support.builders import ai, human, result

PLAIN = Extraction()
LINES = (
    "The deadline is June 30.",
    "The deadline is now July 15.",
    "Order ORD-5501 please.",
    "Order ORD-5501 is cancelled.",
    "预算是5万元。",
    "预算改成8万元。",
    "Go on.",
    "一定要记住：不要删除订单。",
)


def talk(lines: list[str]) -> list[BaseMessage]:
    """Return a conversation, answered turn by turn."""
    messages: list[BaseMessage] = []
    for index, line in enumerate(lines):
        messages += [human(line, f"h{index}"), ai("Yes.", message_id=f"a{index}")]
    return messages


def values(head: VerifiedHead) -> list[tuple[str, bool]]:
    """Return what the ledger holds, and what of it is closed."""
    return [(field.raw, field.is_closed) for field in head.ledger]


@given(lines=st.lists(st.sampled_from(LINES), min_size=1, max_size=8), cuts=st.lists(st.integers(1, 16), max_size=3))
def test_reading_turn_by_turn_is_reading_at_once(lines: list[str], cuts: list[int]) -> None:
    """However a conversation is cut into steps, the ledger is that of the whole."""
    messages = talk(lines)
    whole = update_ledger((), messages).fields
    head = VerifiedHead()
    for stop in [*sorted(cut for cut in cuts if cut < len(messages)), len(messages)]:
        head = moved_on(head, messages[:stop], PLAIN)
    assert [(field.raw, field.is_closed, field.critical) for field in whole] == [
        (field.raw, field.is_closed, field.critical) for field in head.ledger
    ]


@given(lines=st.lists(st.sampled_from(LINES), min_size=2, max_size=8), kept=st.integers(0, 6))
def test_reading_what_was_read_teaches_nothing(lines: list[str], kept: int) -> None:
    """After a compaction, with or without the newest messages read, what is known stays as it is."""
    messages = talk(lines)
    head = moved_on(VerifiedHead(), messages, PLAIN)
    summary = HumanMessage("They talked.", additional_kwargs={"lc_source": "summarization"}, id="s")
    left = [summary, *messages[len(messages) - kept :]]
    assert values(head) == values(moved_on(head, left, PLAIN))
    assert head is moved_on(head, messages, PLAIN)


def test_a_value_replaced_long_ago_is_not_taken_for_news() -> None:
    """Where every anchor is gone, what older messages said does not come over what replaced it."""
    messages = [human("The deadline is June 30.", "old"), human("The deadline is now July 15.", "new"), *talk(["Go on."] * 12)]
    head = moved_on(VerifiedHead(), messages, PLAIN)
    again = moved_on(head, messages[:1], PLAIN)
    assert ["July 15"] == [field.raw for field in again.ledger]


def test_a_summary_teaches_nothing() -> None:
    """What a compactor wrote is not read, marked or not."""
    unmarked = HumanMessage("The budget is 90 EUR.", id="s")
    head = with_made(VerifiedHead(), Replaced(made=(unmarked,)))
    assert () == moved_on(head, [unmarked], PLAIN).ledger
    assert () == moved_on(head, [unmarked.model_copy(update={"id": "anew"})], PLAIN).ledger
    marked = HumanMessage("The budget is 90 EUR.", additional_kwargs={"lc_source": "summarization"})
    assert () == moved_on(VerifiedHead(), [marked], PLAIN).ledger


def test_a_relative_day_hangs_on_the_moment_it_was_first_seen() -> None:
    """A day said now is resolved now; of a conversation joined in its middle nobody knows when it was said."""
    now = Extraction(now=lambda: datetime(2026, 6, 15, tzinfo=UTC))
    live = moved_on(VerifiedHead(), [human("We ship tomorrow.", "a")], now)
    joined = moved_on(VerifiedHead(), talk(["We ship tomorrow.", "Go on."]), now)
    assert ["2026-06-16"] == [field.value for field in live.ledger]
    assert [None] == [field.value for field in joined.ledger]


def test_the_current_request_is_kept_word_for_word() -> None:
    """Text or blocks, it comes back as the same message; one too large, or not of JSON, is not kept twice."""
    blocks: list[Any] = [{"type": "text", "text": "看这张图"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]
    for message in (human("Find ORD-7741.", "r"), human(blocks, "r")):
        request = moved_on(VerifiedHead(), [message, ai("Yes.")], PLAIN).request
        assert request is not None
        assert message == restored(request)
    assert held(human("x" * LONGEST_REQUEST)) is None
    assert held(human("half \ud800 a pair")) is None
    assert held(human([{"type": "x", "data": b"bytes"}])) is None


def test_a_tool_result_is_no_request() -> None:
    """The request stays the person's while tools answer."""
    head = moved_on(VerifiedHead(), [human("Find it.", "r")], PLAIN)
    more = [human("Find it.", "r"), ai("", calls=["c"], message_id="b"), result("c", "nothing of note", message_id="d")]
    assert head is moved_on(head, more, PLAIN)


def test_what_was_redacted_is_forgotten() -> None:
    """A value taken out of its message leaves ledger, sentences and request."""
    said = [human("Write to ann.lee@example.com about ORD-77120.", "a")]
    head = moved_on(VerifiedHead(), said, PLAIN)
    now = [human("Write to [REDACTED] about ORD-77120.", "a")]
    cleaned = without_edited(head, said, now)
    assert "ann.lee" not in str(cleaned)
    assert ["ORD-77120"] == [field.raw for field in cleaned.ledger]
    assert "Write to [REDACTED] about ORD-77120" in cleaned.sentences.values()
    assert cleaned is without_edited(cleaned, None, now)


def test_an_emptied_result_is_not_forgotten() -> None:
    """What a compactor emptied is a loss, later as well."""
    full = result("c", '{"total": "499.00 EUR"}', message_id="d")
    empty = result("c", "[cleared]", message_id="d")
    head = with_made(moved_on(VerifiedHead(), [human("go", "a"), ai("", calls=["c"]), full], PLAIN), Replaced(emptied=(empty,)))
    assert head.ledger == without_edited(head, [empty], [empty]).ledger


@given(st.lists(st.text(max_size=60), max_size=6))
def test_any_text_can_be_kept_and_read_again(texts: list[str]) -> None:
    """Whatever was said, half surrogate pairs too, the head is JSON and comes back as it was."""
    head = moved_on(VerifiedHead(), [human(f"{text} ORD-17\ud800 5万元 {text}", f"m{n}") for n, text in enumerate(texts)], PLAIN)
    data = head.to_dict()
    assert str(data).encode()
    assert (head if texts else None) == (read_verified(data) if texts else None)


def test_a_huge_conversation_stays_small() -> None:
    """Hundreds of thousands of values leave a bounded head, and what is critical stays before what is not."""
    numbers = " ".join(f"Order ORD-{index:06d} costs {index}.50 EUR." for index in range(2_000))
    head = moved_on(VerifiedHead(), [human(numbers, "a"), human("https://example.com/" + "x" * 5_000, "b")], PLAIN)
    assert len(head.ledger) <= MAX_FIELDS
    assert head.omitted > 0
    assert sum(len(field.raw) for field in head.ledger) <= MAX_CHARACTERS
    assert len(head.to_dict()["body"]) < 4 * MAX_CHARACTERS
    assert any(field.critical for field in head.ledger)


def test_each_step_that_teaches_something_is_the_next_number() -> None:
    """By it the newer of two heads is told; what teaches nothing has none, and an edit has one of its own."""
    messages: list[BaseMessage] = []
    heads = [VerifiedHead()]
    for line in ("The deadline is June 30.", "Order ORD-5501 please.", "预算是5万元。"):
        messages += [human(line, line), ai("Yes.", message_id=f"to {line}")]
        heads.append(moved_on(heads[-1], messages, PLAIN))
    assert [0, 1, 2, 3] == [head.number for head in heads]
    edited = [human("The deadline is [REDACTED].", "The deadline is June 30."), *messages[1:]]
    assert 4 == without_edited(heads[-1], messages, edited).number


def test_nothing_to_read_changes_nothing() -> None:
    """An empty list, and one that was read."""
    empty = VerifiedHead()
    assert empty is moved_on(empty, [], PLAIN)
    assert 0 == unread_from(empty, [human("x")])


def test_of_a_history_stays_what_can_be_stored() -> None:
    """An earlier value that is too long, or half a pair, leaves; those beside it stay."""
    said = [human("The deadline is June 30.", "a")]
    head = moved_on(VerifiedHead(), said, PLAIN)
    earlier = tuple(FieldEvent(raw=raw) for raw in ("May 1", "x" * LONGEST_VALUE, "y" * (LONGEST_VALUE + 1), "half \ud800", "May 9"))
    head = head.model_copy(update={"ledger": tuple(field.model_copy(update={"history": earlier}) for field in head.ledger)})
    kept, _ = moved_on(head, [*said, ai("Yes."), human("Order ORD-5501 please.", "b")], PLAIN).ledger
    assert ["May 1", "x" * LONGEST_VALUE, "May 9"] == [event.raw for event in kept.history]

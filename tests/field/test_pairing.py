"""Field reports about calls and results that were torn apart, each kept for every cut and not just the one reported."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolMessage

from langchain_ctxguard.compact import Compaction, compact_messages
from langchain_ctxguard.domain.version import Outcome
from tests.support.builders import ai, count_characters, human, result, system
from tests.support.models import SpySummarizer
from tests.support.providers import call_ids_of, check_all_providers, check_provider_valid

LONG = "订单 ORD-7741 was checked, the amount is 500.50 EUR. " * 25
"""Enough text that a compaction is worth its summary."""

EVERY_CUT = (
    [("messages", count) for count in range(9)] + [("turns", count) for count in range(4)] + [("tokens", size) for size in (0, 200, 600, 1_500)]
)


def compact(messages: list[BaseMessage], keep: Any, **more: Any) -> tuple[Compaction, SpySummarizer]:
    """Compact with a summarizer that remembers what it was asked."""
    spy = SpySummarizer()
    return compact_messages(messages, keep=keep, summarizer=spy, token_counter=count_characters, **more), spy


def assert_whole(messages: list[BaseMessage], keep: Any) -> Compaction:
    """Hold the view and the slice the summarizer saw to the strict rules."""
    compaction, spy = compact(messages, keep)
    assert [] == check_provider_valid(compaction.messages)
    assert [] == check_all_providers(compaction.messages)
    for request in spy.requests:
        assert [] == check_provider_valid(request.evicted, allow_in_flight=False, human_first=False)
    return compaction


@pytest.mark.field("C001")
@pytest.mark.parametrize("keep", EVERY_CUT)
def test_every_kept_result_has_its_call(keep: Any) -> None:
    """Interleaved calls at the cut: what is kept is covered by kept calls, all of it and not just some."""
    start = [human("q"), ai(LONG), human("both, please")]
    messages = [*start, ai(LONG, calls=["a"]), ai("", calls=["b"]), result("a", LONG), result("b", LONG), ai("done")]

    view = assert_whole(messages, keep).messages

    called = {call for message in view for call in call_ids_of(message)}
    answered = {message.tool_call_id for message in view if isinstance(message, ToolMessage)}
    assert called == answered


@pytest.mark.field("C003")
@pytest.mark.parametrize("keep", EVERY_CUT)
@pytest.mark.parametrize(
    "messages",
    [
        [human(LONG), ai("", calls=["1"]), ai("no call"), result("1", LONG), human("go on")],
        [human(LONG), ai("", calls=["1"]), ai("", calls=["2"]), result("1", LONG), result("2", LONG), human("go on")],
    ],
)
def test_input_both_vendors_refuse_is_repaired_and_reported(messages: list[BaseMessage], keep: Any) -> None:
    """Sequences that are invalid before any cut: the view is valid, nothing is dropped for it, and the record says what was moved."""
    compaction = assert_whole(messages, keep)

    assert "moved_result" in {fault.kind for fault in compaction.record.faults}


@pytest.mark.field("C003")
def test_a_cut_inside_a_unit_keeps_the_unit_and_no_more() -> None:
    """Keeping pairs whole does not eat history: everything before the unit leaves, the unit stays."""
    messages = [human(LONG), ai(LONG), human("next"), ai("", calls=["1", "2"]), result("1", "one"), result("2", "two"), ai("done")]

    compaction, _ = compact(messages, ("messages", 2))

    assert Outcome.ACCEPTED == compaction.outcome
    assert [message for message in compaction.messages if any(message is other for other in messages[:2])] == []
    assert messages[2:] == [message for message in compaction.messages if any(message is other for other in messages)]


@pytest.mark.field("C004")
@pytest.mark.parametrize("keep", EVERY_CUT)
def test_sibling_results_are_never_parted(keep: Any) -> None:
    """A parallel call whose first result is huge: at every moment of its life both halves are on the same side of the cut."""
    first, second = result("1", "x" * 5_000), result("2", "small")
    whole = [human("old"), ai(LONG), human("both"), ai("", calls=["1", "2"]), first, second, ai("done"), human("thanks")]

    for length in range(4, len(whole) + 1):
        compaction, spy = compact(whole[:length], keep)
        assert [] == check_provider_valid(compaction.messages)
        seen = [message for request in spy.requests for message in request.evicted]
        assert (first in seen) == (second in seen)
        assert (first in compaction.messages) == (second in compaction.messages) or length == 5


@pytest.mark.field("C006")
def test_a_cut_on_the_first_result_walks_back_to_the_call() -> None:
    """The view never starts with results."""
    messages = [human(LONG), ai(LONG), human("next"), ai("", calls=["1", "2"]), result("1"), result("2"), ai("done")]

    compaction, _ = compact(messages, ("messages", 3))

    assert Outcome.ACCEPTED == compaction.outcome
    assert messages[3:] == compaction.messages[-4:]
    assert [] == check_provider_valid(compaction.messages)


@pytest.mark.field("C007")
@pytest.mark.parametrize("keep", EVERY_CUT)
def test_calls_in_the_content_are_calls(keep: Any) -> None:
    """A `tool_use` block beside `tool_calls` leaves and stays with its result."""
    blocks: list[Any] = [{"type": "text", "text": LONG}, {"type": "tool_use", "id": "a", "name": "lookup", "input": {"key": "1"}}]
    call = AIMessage(blocks, tool_calls=[{"id": "a", "name": "lookup", "args": {"key": "1"}}])
    messages = [human("q"), call, result("a", LONG), human("next"), ai("well")]

    view = assert_whole(messages, keep).messages

    assert (call in view) == any(isinstance(message, ToolMessage) for message in view)


@pytest.mark.field("C009")
@pytest.mark.parametrize("target", range(6))
def test_both_halves_of_a_pair_or_neither(target: int) -> None:
    """One request, twelve pairs, an answer: no half pair in the view, and none in what is summarized."""
    messages: list[BaseMessage] = [human("q")]
    for number in range(12):
        messages += [ai(LONG, calls=[f"c{number}"]), result(f"c{number}", LONG)]
    messages.append(ai("done"))

    compaction = assert_whole(messages, ("messages", target))

    assert Outcome.ACCEPTED == compaction.outcome


@pytest.mark.field("C010")
@pytest.mark.parametrize("keep", EVERY_CUT)
def test_no_view_starts_with_a_result(keep: Any) -> None:
    """After the system message comes a person, never a result."""
    messages = [system("be kind"), human(LONG), ai("", calls=["123"]), result("123", LONG), human("and?"), ai("fine")]

    view = assert_whole(messages, keep).messages

    rest = [message for message in view if not isinstance(message, SystemMessage)]
    assert "human" == rest[0].type


@pytest.mark.field("C012")
@pytest.mark.parametrize("keep", EVERY_CUT)
@pytest.mark.parametrize("arrived", [[], ["y"]])
def test_a_waiting_call_stays_in_the_tail_and_out_of_the_summary(keep: Any, arrived: list[str]) -> None:
    """A call an approval is pending for: verbatim at the end of the view, and the summarizer sees closed pairs only."""
    waiting = ai("May I?", calls=["x", "y"] if arrived else ["x"])
    tail = [waiting, *[result(call, "came already") for call in arrived]]
    messages = [human(LONG), ai(LONG, calls=["old"]), result("old", LONG), ai("ok"), human("delete it"), *tail]

    compaction, spy = compact(messages, keep)

    assert [id(message) for message in tail] == [id(message) for message in compaction.messages[-len(tail) :]]
    assert [] == check_provider_valid(compaction.messages)
    for request in spy.requests:
        assert waiting not in request.evicted
        assert [] == check_provider_valid(request.evicted, allow_in_flight=False, human_first=False)


@pytest.mark.field("C013")
@pytest.mark.parametrize("size", range(0, 3_000, 150))
def test_a_small_call_leaves_with_its_large_result(size: int) -> None:
    """Whatever is thought of the two apart, they are evicted as a block."""
    messages = [human("q")]
    for number in range(6):
        messages += [ai("", calls=[f"c{number}"]), result(f"c{number}", LONG)]

    view = assert_whole(messages, ("tokens", size)).messages

    called = [call for message in view for call in call_ids_of(message)]
    assert called == [message.tool_call_id for message in view if isinstance(message, ToolMessage)]


@pytest.mark.field("C015")
@pytest.mark.parametrize("keep", EVERY_CUT)
def test_a_dangling_sibling_of_a_handoff_is_answered_by_a_marked_error(keep: Any) -> None:
    """One agent handed over and left a second call open: the block stays whole, the gap is filled and reported, never dropped."""
    handover = ai("handing over", calls=["transfer_to_B", "search"], message_id="handover")
    messages = [human(LONG), ai(LONG), human("go on"), handover, result("transfer_to_B", "transferred"), ai("I am B"), human("continue")]

    compaction = assert_whole(messages, keep)

    assert [("missing_result", "handover", "search")] == [(fault.kind, fault.message_id, fault.call_id) for fault in compaction.record.faults]
    if handover in compaction.messages:
        answers = {message.tool_call_id: message.status for message in compaction.messages if isinstance(message, ToolMessage)}
        assert {"transfer_to_B": "success", "search": "error"} == answers


@pytest.mark.field("C016")
@pytest.mark.parametrize("keep", EVERY_CUT)
def test_crossed_result_ids_are_reported_before_the_cut(keep: Any) -> None:
    """A tool that answered under its sibling's id: reported, and nothing is paired by where it stands."""
    call = ai("both", calls=["a", "b"], message_id="asker")
    messages = [human(LONG), ai(LONG), human("both"), call, result("b", "said by a"), result("b", "said by b"), ai("hm"), human("and?")]

    compaction = assert_whole(messages, keep)

    assert {("duplicate_result", "b"), ("missing_result", "a")} == {(fault.kind, fault.call_id) for fault in compaction.record.faults}
    assert "said by b" not in [message.content for message in compaction.messages if isinstance(message, ToolMessage)]

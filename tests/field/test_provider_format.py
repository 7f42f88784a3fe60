"""Field reports about requests that providers refused for their form."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage

from langchain_ctxguard.backends.chat_model import ChatModelSummarizer
from langchain_ctxguard.compact import Compaction, compact_messages
from langchain_ctxguard.domain.version import Outcome
from tests.support.builders import ai, count_characters, human, result, system
from tests.support.models import WatchedModel
from tests.support.providers import (
    check_all_providers,
    check_openai_responses,
    check_provider_valid,
    check_signed_blocks,
    openai_responses_payload,
    texts_of,
    thinking_blocks_of,
)

LONG = "订单 ORD-7741 was checked, the amount is 500.50 EUR. " * 25
EVERY_CUT = [("messages", count) for count in range(9)] + [("turns", count) for count in range(4)]


def compact(messages: list[BaseMessage], **more: Any) -> Compaction:
    """Compact with a counter a test can predict."""
    return compact_messages(messages, token_counter=count_characters, **more)


def thinking(text: str, signature: str, call: str) -> AIMessage:
    """Return an AI message whose signed thought comes with a call."""
    blocks: list[Any] = [
        {"type": "thinking", "thinking": text, "signature": signature},
        {"type": "text", "text": "I will look."},
        {"type": "tool_use", "id": call, "name": "lookup", "input": {"key": call}},
    ]
    return AIMessage(blocks, tool_calls=[{"id": call, "name": "lookup", "args": {"key": call}}])


@pytest.mark.field("C017")
@pytest.mark.parametrize("keep", EVERY_CUT)
def test_the_only_human_message_survives_a_large_result(keep: Any) -> None:
    """A question, then a result over every bound: the model still gets the question, word for word."""
    question = human("Which documents mention ORD-7741?")
    messages = [system("be kind"), question, ai("", calls=["rag"]), result("rag", LONG * 8)]

    view = compact(messages, keep=keep).messages

    assert 1 == sum(message is question for message in view)
    assert [] == check_all_providers(view)


@pytest.mark.field("C017")
def test_a_budget_below_the_result_keeps_the_question_or_says_both_numbers() -> None:
    """The reported setting: fewer tokens than the newest result needs."""
    question = human("Which documents mention ORD-7741?")
    messages = [system("be kind"), question, ai("", calls=["rag"]), result("rag", LONG * 8)]

    compaction = compact(messages, budget=1_000, constraints=["Only query orders."])

    assert compaction.tokens_after <= 1_000
    assert 1 == sum(message is question for message in compaction.messages)
    assert [] == check_all_providers(compaction.messages)


@pytest.mark.field("C019")
@pytest.mark.parametrize("keep", EVERY_CUT)
def test_reminders_in_the_list_leave_one_leading_system_message(keep: Any) -> None:
    """System messages in the list, some evicted and some kept: one leads, and the words of the kept ones stay in their place."""
    reminder, date = system("reminder: be brief", "r"), system("今天是 2026-06-30", "d")
    messages = [system("be kind"), human(LONG), reminder, ai(LONG, calls=["a"]), result("a", LONG), human("next"), date, ai("fine"), human("go on")]

    view = compact(messages, keep=keep, constraints=["Only query orders."]).messages

    assert [True] == [n == 0 for n, message in enumerate(view) if isinstance(message, SystemMessage)]
    assert [] == check_all_providers(view)
    if any(message is messages[5] for message in view):
        place = next(n for n, message in enumerate(view) if message is messages[5])
        assert "今天是 2026-06-30" in "".join(texts_of(view[place + 1]))
        assert "今天是" not in "".join(texts_of(view[0]))


@pytest.mark.field("C019")
def test_valid_input_is_untouched() -> None:
    """A list that needs nothing comes back as the same objects."""
    messages = [system("be kind"), human("q"), ai("", calls=["a"]), result("a"), ai("done")]

    view = compact(messages, budget=10_000).messages

    assert [id(message) for message in messages] == [id(message) for message in view]


@pytest.mark.field("C020")
@pytest.mark.parametrize("arguments", [{"budget": 100_000}, {"keep": ("turns", 1)}, {"keep": ("messages", 3)}])
def test_system_messages_stacked_turn_by_turn_pass_a_strict_provider(arguments: dict[str, Any]) -> None:
    """An adapter that adds a system message before each human one: every view has one, whether compacted or not."""
    messages: list[BaseMessage] = []
    for turn in range(3):
        messages += [system(f"context of turn {turn}"), human(f"question {turn} {LONG}"), ai(f"answer {turn} {LONG}")]
        view = compact(messages, **arguments).messages
        assert [] == check_provider_valid(view, given=messages)
        assert [] == check_all_providers(view)


@pytest.mark.field("C025", "C026")
@pytest.mark.parametrize("keep", EVERY_CUT)
def test_signed_thoughts_are_byte_identical_or_gone(keep: Any) -> None:
    """Round after round, no signature stands beside a text it was not made for."""
    messages: list[BaseMessage] = [human(LONG)]
    for number in range(3):
        messages += [thinking(f"先看 {number}: {LONG}", f"c2lnbmVk{number}==", f"c{number}"), result(f"c{number}", LONG)]
    messages += [ai("done"), human("go on")]

    first = compact(messages, keep=keep)
    more = [*first.messages, thinking("again", "YWdhaW4=", "c9"), result("c9", LONG)]
    second = compact(more, keep=keep, previous=first.head)

    assert [] == check_signed_blocks(messages, first.messages)
    assert [] == check_signed_blocks([*messages, *more[-2:]], second.messages)
    assert [] == check_all_providers(second.messages)
    assert "signature" not in str([message.content for message in second.messages if not isinstance(message, AIMessage)])


@pytest.mark.field("C028")
@pytest.mark.parametrize("keep", [("messages", count) for count in (2, 4, 6)])
def test_no_history_is_dropped_for_a_missing_vendor_field(keep: Any) -> None:
    """Half of the AI messages carry `reasoning_content`, half do not: what is kept depends on age alone, and the field stays as it was."""
    messages: list[BaseMessage] = [human(LONG)]
    for number in range(8):
        extra = {"additional_kwargs": {"reasoning_content": f"思考 {number}"}} if number % 2 else {}
        message = AIMessage(f"step {number} {LONG}", **extra)
        messages += [message, human(f"next {number}")]

    compaction = compact(messages, keep=keep)

    assert Outcome.ACCEPTED == compaction.outcome
    assert [id(message) for message in messages[-keep[1] :]] == [id(message) for message in compaction.messages[-keep[1] :]]


@pytest.mark.field("C029")
@pytest.mark.parametrize("keep", EVERY_CUT)
def test_reasoning_items_stay_with_their_call_or_leave_with_it(keep: Any) -> None:
    """In the responses format a reasoning item without its call is refused, and a call without it as well."""
    messages: list[BaseMessage] = [human(LONG)]
    for number in range(3):
        blocks: list[Any] = [
            {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": f"gAAAA{number}"},
            {"type": "function_call", "id": f"fc_{number}", "call_id": f"c{number}", "name": "lookup", "arguments": "{}"},
        ]
        messages += [AIMessage(blocks, tool_calls=[{"id": f"c{number}", "name": "lookup", "args": {}}]), result(f"c{number}", LONG)]
    messages += [ai("done"), human("go on")]

    view = compact(messages, keep=keep).messages
    body = openai_responses_payload(view)

    assert [] == check_openai_responses(body)
    kinds = [item.get("type", "message") for item in body["input"]]
    assert kinds.count("reasoning") == kinds.count("function_call") == kinds.count("function_call_output")
    assert [len(thinking_blocks_of(message)) for message in view] == [int(message.type == "ai" and bool(message.tool_calls)) for message in view]


@pytest.mark.field("C031")
def test_a_text_only_summary_model_gets_plain_text() -> None:
    """Images and content blocks in the evicted part reach a summary model as text, never as a list of parts."""

    def reply(_: int, messages: list[BaseMessage]) -> AIMessage:
        for message in messages:
            if not isinstance(message.content, str):
                msg = "400: content must be a string"
                raise TypeError(msg)
        return AIMessage('{"user_intent": "check ORD-7741", "pending_items": [], "facts": [], "decisions": [], "open_questions": []}')

    model = WatchedModel(reply=reply)
    picture = human([{"type": "text", "text": LONG}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}])
    messages = [picture, thinking(LONG, "c2ln", "a"), result("a", LONG), human("next"), ai("well"), human("go on")]

    compaction = compact(messages, keep=("messages", 1), summarizer=ChatModelSummarizer(model))

    assert model.seen
    assert Outcome.ACCEPTED == compaction.outcome
    assert "ORD-7741" in "".join(text for message in compaction.messages if message.name == "context_summary" for text in texts_of(message))

"""The redactor of a list or a memory sees what leaves first, whoever summarizes and in whatever order it comes in."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langchain_ctxguard import Compaction, ContextGuard, Extensions, acompact_messages, compact_messages
from langchain_ctxguard.backends.extractive import ExtractiveSummarizer
from langchain_ctxguard.domain.version import Outcome
from langchain_ctxguard.errors import ConfigurationError
from langchain_ctxguard.memory import GuardedChatHistory
from tests.support.models import SpySummarizer, WatchedModel

PHONE = "555-0199"
NOTES = json.dumps({"user_intent": "Help with the order", "facts": ["The parcel is late.", "The number is [phone]."]})


def without_phone(text: str) -> str:
    return text.replace(PHONE, "[phone]")


HIDING = Extensions(redact=without_phone)


def talk(first: int = 0, turns: int = 6) -> list[BaseMessage]:
    """Return turns that hold the number everywhere: request, answer, arguments and result."""
    messages: list[BaseMessage] = []
    for number in range(first, first + turns):
        call = {"name": "call", "args": {"phone": PHONE}, "id": f"c{number}", "type": "tool_call"}
        messages += [
            HumanMessage(f"Turn {number}: never call {PHONE} before noon. " + "text " * 60, id=f"h{number}"),
            AIMessage("", tool_calls=[call], id=f"c{number}"),
            ToolMessage(f"Line {number} of {PHONE} is busy. " + "row " * 60, tool_call_id=f"c{number}", id=f"r{number}"),
            AIMessage(f"I will try {PHONE} again. " + "word " * 60, id=f"a{number}"),
        ]
    return messages


def told(messages: list[BaseMessage]) -> str:
    """Return what stands in place of what left."""
    return "\n".join(message.text for message in messages if message.name in ("context_summary", "context_evidence"))


async def compacted(messages: list[BaseMessage], *, is_async: bool, **more: Any) -> Compaction:
    """Compact, one way or the other."""
    given: dict[str, Any] = {"keep": ("turns", 1), **more}
    return await acompact_messages(messages, **given) if is_async else compact_messages(messages, **given)


@pytest.mark.parametrize("is_async", [True, False])
@pytest.mark.parametrize("who", ["model", "extractive"])
async def test_a_list_is_redacted_before_anything_is_made_of_it(who: str, is_async: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """The model is not shown it, and neither summary, evidence nor head hold it; what stays in view is as it was said."""
    model = WatchedModel(reply=lambda call, messages: AIMessage(NOTES))
    messages = talk()
    done = await compacted(messages, is_async=is_async, summarizer=model if who == "model" else ExtractiveSummarizer(), extensions=HIDING)

    assert done.outcome is Outcome.ACCEPTED
    prompts = "\n".join(str(message.content) for prompt in model.seen for message in prompt)
    assert (who == "model") == ("[phone]" in prompts)
    assert PHONE not in prompts
    assert PHONE not in told(done.messages) + json.dumps(done.head)
    assert "[phone]" in told(done.messages)
    assert done.messages[-1] is messages[-1]
    assert PHONE in done.messages[-1].text


@pytest.mark.parametrize("is_async", [True, False])
@pytest.mark.parametrize("redacts", [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize("gives_back", [True, False])
async def test_a_redactor_that_comes_late_or_goes_again(redacts: tuple[bool, bool], is_async: bool, gives_back: bool) -> None:  # noqa: FBT001 - as above
    """The summary in force is redacted by the next compaction; what was redacted once does not come back by itself."""
    messages = talk()
    one = await compacted(messages, is_async=is_async, extensions=HIDING if redacts[0] else None)
    assert redacts[0] == (PHONE not in told(one.messages))
    listed = one.messages if gives_back else messages
    two = await compacted([*listed, *talk(6)], is_async=is_async, extensions=HIDING if redacts[1] else None, previous=one.head)

    assert two.outcome is Outcome.ACCEPTED
    assert redacts[1] == (PHONE not in told(two.messages) + json.dumps(two.head))


def test_texts_to_keep_are_kept_as_the_redactor_leaves_them() -> None:
    """`must_keep` may hold what nobody may keep."""
    done = compact_messages(talk(), keep=("turns", 1), summarizer=SpySummarizer(), extensions=HIDING, must_keep=[f"Line 2 of {PHONE} is busy."])

    assert "Line 2 of [phone] is busy." in told(done.messages)
    assert PHONE not in told(done.messages)


@pytest.mark.parametrize("left", [ValueError("secret 555-0199"), None, b"x"])
def test_where_it_fails_nothing_of_the_text_is_left_and_no_model_is_asked(left: Any) -> None:
    """The fallback quotes the rest; the record names the error and not the text."""

    def failing(text: str) -> Any:
        if PHONE in text and isinstance(left, Exception):
            raise left
        return left if PHONE in text else text

    spy = SpySummarizer()
    said = [message.model_copy(update={"content": message.text.replace(PHONE, "them")}) for message in talk() if message.type in {"human", "ai"}]
    said[0] = HumanMessage(f"Turn 0: my number is {PHONE}. " + "text " * 60, id="h0")
    plain = [AIMessage(message.text, id=message.id) if isinstance(message, AIMessage) else message for message in said]
    done = compact_messages(plain, keep=("turns", 1), summarizer=spy, extensions=Extensions(redact=failing), must_keep=[PHONE])

    assert spy.requests == []
    assert done.outcome is Outcome.FELL_BACK
    assert "redact: ValueError" in done.record.failures if isinstance(left, Exception) else "redact: TypeError" in done.record.failures
    assert "Turn 3" in told(done.messages)
    assert PHONE not in told(done.messages) + json.dumps(done.head) + done.record.model_dump_json()


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        (without_phone, r"write Extensions\(redact=...\)"),
        ({"redact": without_phone}, "takes an `Extensions`, not dict"),
        (Extensions(redact="[phone]"), "takes a function from text to text, not str"),  # type: ignore[arg-type]  # the mistake under test
    ],
)
def test_a_redactor_nobody_would_call_is_told_at_once(wrong: Any, expected: str) -> None:
    """To go on would keep what the caller meant to have removed."""
    with pytest.raises(ConfigurationError, match=expected):
        compact_messages(talk(), extensions=wrong)
    with pytest.raises(ConfigurationError, match=expected):
        ContextGuard(extensions=wrong)


def test_whether_statements_say_the_same_is_asked_here_too() -> None:
    """`same_text` of the extensions serves a list as it serves a guard."""
    asked: list[tuple[str, str]] = []

    def same(one: str, other: str) -> bool:
        asked.append((one, other))
        return True

    stressed = HumanMessage("Remember: the crates are at gate 4. " + "text " * 60, id="s")
    given = [*talk(), stressed, *talk(6)]
    done = compact_messages(given, keep=("turns", 1), summarizer=SpySummarizer(), extensions=Extensions(same_text=same))

    assert done.outcome is Outcome.ACCEPTED
    assert {"Remember: the crates are at gate 4"} == {one for one, _ in asked}


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_guarded_history_redacts_as_its_guard_does(is_async: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """The functions of the guard hold for the history that was made with it."""
    from tests.memory.stock import InMemory

    spy = SpySummarizer()
    history = GuardedChatHistory(InMemory(), guard=ContextGuard(extensions=HIDING), summarizer=spy, max_token_limit=200)
    for turn in range(6):
        pair = talk(turn, 1)
        if is_async:
            await history.aadd_messages(pair)
        else:
            history.add_messages(pair)
    asked = "\n".join(str(message.content) for request in spy.requests for message in request.evicted)

    assert "[phone]" in asked
    assert PHONE not in asked
    assert PHONE not in told(history.messages)

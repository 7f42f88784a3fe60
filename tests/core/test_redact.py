from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, FunctionMessage, HumanMessage, ToolMessage

from langchain_ctxguard.core.redact import WITHHELD, Redaction, left_of
from langchain_ctxguard.core.roles import calls_of, results_of, text_of
from langchain_ctxguard.domain.summary import Decision, Fact, StructuredSummary, Trust

ADDRESS = "zoe@example.com"
MARK = "[removed]"


def without_secret(text: str) -> str:
    return text.replace(ADDRESS, MARK)


CALL = {"name": f"mail {ADDRESS}", "args": {"to": [ADDRESS], ADDRESS: {"cc": ADDRESS}}, "id": f"c-{ADDRESS}", "type": "tool_call"}
MESSAGES: list[BaseMessage] = [
    HumanMessage(f"Write to {ADDRESS}"),
    HumanMessage([{"type": "text", "text": ADDRESS}, {"type": "image_url", "image_url": {"url": f"https://x/{ADDRESS}"}}, ADDRESS]),
    AIMessage(ADDRESS, tool_calls=[CALL]),
    AIMessage([{"type": "tool_use", "id": f"c-{ADDRESS}", "name": "mail", "input": {"to": ADDRESS}}, {"type": "refusal", "refusal": ADDRESS}]),
    AIMessage("", invalid_tool_calls=[{"name": "mail", "args": f'{{"to": "{ADDRESS}', "id": "c2", "error": None, "type": "invalid_tool_call"}]),
    AIMessage("", additional_kwargs={"tool_calls": [{"id": "c3", "function": {"name": "mail", "arguments": f'{{"to": "{ADDRESS}"}}'}}]}),
    AIMessage("", additional_kwargs={"function_call": {"name": "mail", "arguments": f'{{"to": "{ADDRESS}"}}'}}),
    ToolMessage([{"type": "text", "text": ADDRESS}], tool_call_id=f"c-{ADDRESS}", artifact={"raw": ADDRESS}),
    HumanMessage([{"type": "tool_result", "tool_use_id": "c3", "content": [{"type": "text", "text": ADDRESS}]}]),
    HumanMessage([{"type": "custom", "nested": {"deep": [ADDRESS]}, "data": ADDRESS}]),
    FunctionMessage(ADDRESS, name="mail"),
]


@pytest.mark.parametrize("message", MESSAGES)
def test_what_the_redactor_removes_is_nowhere_in_the_copy(message: BaseMessage) -> None:
    """Texts, blocks, arguments, their names, results, ids: the whole message holds it no more, and the original is as it was."""
    before = message.model_dump_json()
    copy = Redaction(without_secret).message(message)

    assert ADDRESS not in json.dumps(copy.model_dump(mode="json"))
    assert MARK in json.dumps(copy.model_dump(mode="json"))
    assert before == message.model_dump_json()
    assert type(message) is type(copy)


def test_without_a_redactor_a_text_stays() -> None:
    """All of it; with one, what it leaves."""
    assert (f"to {ADDRESS}", f"to {MARK}", "") == (left_of(None, f"to {ADDRESS}"), left_of(without_secret, f"to {ADDRESS}"), left_of(len, ""))  # type: ignore[arg-type]  # never asked


def test_calls_and_results_still_find_each_other() -> None:
    """An id that the redactor would change gets an alias, the same on both sides."""
    redaction = Redaction(lambda text: "X")
    call, answer = redaction.message(MESSAGES[2]), redaction.message(MESSAGES[7])
    other = redaction.message(ToolMessage("x", tool_call_id="another"))

    assert results_of(answer) == tuple(found.call_id for found in calls_of(call))
    assert results_of(other) != results_of(answer)


def test_the_bytes_of_media_are_left_alone() -> None:
    """Nobody is shown them, and a picture of megabytes costs the redactor nothing."""
    seen: list[str] = []
    picture = [
        {"type": "image", "base64": "QUJD" * 9, "mime_type": "image/png"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}},
    ]
    copy = Redaction(lambda text: seen.append(text) or "X").message(HumanMessage(picture))

    assert picture == copy.content
    assert seen == []


@pytest.mark.parametrize("number", [5550199, 555.0199])
def test_numbers_are_texts_too(number: float) -> None:
    """A telephone number in an argument is removed; any other number stays a number."""
    redaction = Redaction(lambda text: re.sub(r"555[.\d]+", MARK, text))
    call = {"name": "call", "args": {"phone": number, "count": 3, "is_now": True, "none": None}, "id": "c", "type": "tool_call"}
    (left,) = redaction.message(AIMessage("", tool_calls=[call])).tool_calls  # type: ignore[attr-defined]  # an AI message stays one

    assert {"phone": MARK, "count": 3, "is_now": True, "none": None} == left["args"]


def _raising(text: str) -> str:
    if ADDRESS in text:
        msg = f"cannot read {text}"
        raise ValueError(msg)
    return text


@pytest.mark.parametrize(("redact", "name"), [(_raising, "ValueError"), (lambda text: None, "TypeError"), (len, "TypeError")])
def test_a_text_the_redactor_fails_on_is_withheld(redact: Any, name: str) -> None:
    """Nothing of it passes; the failure is known by its name alone."""
    for message in MESSAGES:
        redaction = Redaction(redact)
        assert ADDRESS not in json.dumps(redaction.message(message).model_dump(mode="json"))
        assert name == redaction.failure
    assert WITHHELD == text_of(Redaction(redact).message(MESSAGES[0]))


def test_arguments_that_hold_themselves_end() -> None:
    """What is nested without end is withheld where it gets too deep."""
    args: dict[str, Any] = {"to": ADDRESS}
    args["self"] = args
    message = AIMessage("")
    message.tool_calls.append({"name": "mail", "args": args, "id": "c", "type": "tool_call"})

    assert ADDRESS not in str(Redaction(without_secret).message(message).tool_calls)  # type: ignore[attr-defined]  # as above


def _looped(kind: type[list[Any] | dict[str, Any]]) -> Any:
    if kind is list:
        items: list[Any] = [ADDRESS]
        items.append(items)
        return items
    block: dict[str, Any] = {"type": "custom", "text": ADDRESS}
    block["inner"] = block
    return block


@pytest.mark.parametrize("kind", [list, dict])
@pytest.mark.parametrize("is_call", [True, False])
def test_what_holds_itself_ends(kind: Any, is_call: object) -> None:
    """In arguments and in blocks of content alike; what stands beside it is redacted and stays."""
    looped = _looped(kind)
    message = AIMessage("")
    if is_call:
        message.tool_calls.append({"name": "mail", "args": {"to": looped}, "id": "c", "type": "tool_call"})
    else:
        message.content = [{"type": "custom", "nested": looped}]
    copy = Redaction(without_secret).message(message)
    left = str(copy.tool_calls if is_call else copy.content)  # type: ignore[attr-defined]  # an AI message stays one

    assert ADDRESS not in left
    assert MARK in left
    assert WITHHELD in left


def test_a_value_keeps_its_identities_and_its_trust() -> None:
    """Only free texts are redacted: what names a message, and what is one of a few words, stays."""
    fact = Fact(statement=ADDRESS, status=Trust.CONFIRMED, said_by="user", source=f"m-{ADDRESS}", quote=ADDRESS)
    summary = StructuredSummary(original_goal=ADDRESS, facts=(fact,), decisions=(Decision(chosen=ADDRESS, rejected=(ADDRESS,)),), language="en")
    left = Redaction(without_secret).value(summary)

    expected = Fact(statement=MARK, status=Trust.CONFIRMED, said_by="user", source=f"m-{ADDRESS}", quote=MARK)
    assert StructuredSummary(original_goal=MARK, facts=(expected,), decisions=(Decision(chosen=MARK, rejected=(MARK,)),), language="en") == left
    everything = Redaction(lambda text: "X").value(summary)
    assert StructuredSummary.model_validate(everything.model_dump()) == everything


LEAVES = st.sampled_from([ADDRESS, f"a {ADDRESS} b", "plain", 5, None, True])
TREES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", ADDRESS, "type", "id"]), inner), max_leaves=8
)


@given(TREES)
def test_no_arguments_hide_anything(args: Any) -> None:
    """However arguments are nested, what is to be removed is removed."""
    call = {"name": "mail", "args": {"x": args}, "id": "c", "type": "tool_call"}
    assert ADDRESS not in json.dumps(Redaction(without_secret).message(AIMessage("", tool_calls=[call])).model_dump(mode="json"))

"""The checks are strict: what providers refuse, they refuse."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage

from tests.support.builders import ai, human, result, system, tool_loop
from tests.support.providers import check_all_providers, check_provider_valid, check_signed_blocks

THOUGHT: list[Any] = [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}, {"type": "text", "text": "ok"}]

REFUSED_BY_ALL: dict[str, list[BaseMessage]] = {
    "empty list": [],
    "orphan result": [human("q"), result("a"), ai("x")],
    "missing result": [human("q"), ai(calls=["a"]), human("next"), ai("x")],
    "half of the results": [human("q"), ai(calls=["a", "b"]), result("a"), ai("x")],
    "result behind a person": [human("q"), ai(calls=["a"]), human("wait"), result("a"), ai("x")],
    "result twice": [human("q"), ai(calls=["a"]), result("a"), result("a"), ai("x")],
    "interleaved calls": [human("q"), ai(calls=["a"]), ai(calls=["b"]), result("a"), result("b")],
    "two calls with one id": [human("q"), ai(calls=["a", "a"]), result("a"), ai("x")],
    "call without an id": [human("q"), ai(calls=[""]), human("next")],
    "system message inside": [system("s"), human("q"), system("t"), ai("x")],
}
REFUSED_BY_OURS: dict[str, list[BaseMessage]] = {
    "nothing but a system message": [system("s")],
    "an answer first": [ai("x"), human("q")],
    "a call id used again": [human("q"), ai(calls=["a"]), result("a"), ai(calls=["a"]), result("a")],
    "an empty human message": [human(""), ai("x")],
    "a message id used again": [human("q", "1"), ai("x", message_id="1")],
    "an order to a reducer": [human("q"), RemoveMessage(id="1")],
    "an older call in flight": [human("q"), ai(calls=["a"]), ai("x")],
}


@pytest.mark.parametrize("name", REFUSED_BY_ALL)
def test_what_every_provider_refuses_is_refused_everywhere(name: str) -> None:
    """By our own reading of the list and by the checks of the bodies."""
    assert check_provider_valid(REFUSED_BY_ALL[name])
    assert check_all_providers(REFUSED_BY_ALL[name])


@pytest.mark.parametrize("name", REFUSED_BY_OURS)
def test_our_own_reading_is_the_strictest(name: str) -> None:
    """What only some providers refuse, or only by accident, is refused too."""
    assert check_provider_valid(REFUSED_BY_OURS[name])


def test_calls_in_flight_are_allowed_at_the_very_end_only_where_asked() -> None:
    """The newest calls may wait; a summary request may not hold them."""
    waiting = [human("q"), ai(calls=["a", "b"]), result("b")]

    assert [] == check_provider_valid(waiting)
    assert [] == check_all_providers(waiting)
    assert check_provider_valid(waiting, allow_in_flight=False)


def test_a_long_run_with_parallel_calls_is_accepted() -> None:
    """Strict does not mean wrong."""
    assert [] == check_provider_valid(tool_loop(30))
    assert [] == check_all_providers(tool_loop(30))


@pytest.mark.parametrize(
    "changed",
    [
        [{"type": "thinking", "thinking": "…", "signature": "c2ln"}, {"type": "text", "text": "ok"}],
        [{"type": "thinking", "thinking": "hm", "signature": "c2lo"}],
        [{"type": "thinking", "thinking": "hm"}],
        [*THOUGHT, {"type": "thinking", "thinking": "hm", "signature": "c2ln"}],
    ],
)
def test_a_changed_thought_is_found(changed: list[Any]) -> None:
    """Text, signature, or number of the blocks."""
    before = [HumanMessage("q"), AIMessage(THOUGHT)]

    assert [] == check_signed_blocks(before, [AIMessage(THOUGHT)])
    assert [] == check_signed_blocks(before, [AIMessage("ok")])
    assert check_signed_blocks(before, [AIMessage(changed)])

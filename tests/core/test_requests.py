from __future__ import annotations

from langchain_core.messages import AIMessage, HumanMessage

from langchain_ctxguard.core.requests import INTENTS_KEPT, asked_in, recent


def test_thanks_are_no_request_unless_there_is_nothing_else() -> None:
    """What only thanks or agrees is left out; where all of it does, it stays."""
    assert ["Ship it."] == asked_in([HumanMessage("Ship it."), AIMessage("Done."), HumanMessage("Thanks!")])
    assert ["Thanks!"] == asked_in([HumanMessage("Thanks!")])
    assert [] == asked_in([])


def test_earlier_requests_are_kept_while_they_are_cheap() -> None:
    """The last always; those before it, newest first, up to a twentieth of what leaves."""
    asked = [f"request {number}" for number in range(9)]
    small, large = [HumanMessage("x" * 100)], [HumanMessage("x" * 10_000)]

    assert ["request 8"] == recent(asked, small)
    assert asked[-INTENTS_KEPT:] == recent(asked, large)
    assert [] == recent([], large)

"""What an answer tells of a compaction by its provider, and where what is said again may stand."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from langchain_ctxguard.core.provider_compaction import anchor_in, lost_fields, provider_compaction, said_again
from langchain_ctxguard.core.situation import FieldPlan
from langchain_ctxguard.domain.constraint import Constraint
from tests.support.builders import human, result
from tests.support.providers import check_provider_valid

BLOCK = {"type": "compaction", "content": "They want a refund."}
RULES = (Constraint.from_text("Never delete an order."),)


def answer(*blocks: Any, provider: str = "anthropic", **metadata: Any) -> AIMessage:
    return AIMessage(list(blocks), id="a1", response_metadata={"model_provider": provider, **metadata})


@pytest.mark.parametrize(
    "message",
    [
        answer(BLOCK),
        answer({"type": "non_standard", "value": BLOCK}),
        answer({"type": "compaction", "id": "cmp_1", "encrypted_content": "c2VjcmV0"}, provider="openai"),
        answer(context_management={"applied_edits": [{"type": "compact_20260112"}]}),
    ],
)
def test_a_summary_is_found_in_every_form(message: AIMessage) -> None:
    """As the provider sends it, in LangChain's standard form, encrypted, and where a gateway only lists the edit."""
    found = provider_compaction(message)
    assert found is not None
    assert ("summarized", "a1") == (found.kind, found.message)


@pytest.mark.parametrize(
    "message",
    [
        answer({"type": "compaction", "content": None}),
        answer({"type": "text", "text": "compaction"}),
        answer(context_management={"applied_edits": []}),
        answer(context_management={"applied_edits": [{"type": "clear_thinking_20251015", "cleared_thinking_turns": 2}]}),
        answer(context_management={"applied_edits": "none"}),
        answer(context_management={"applied_edits": [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": 0}]}),
        answer(context_management=None),
        HumanMessage([BLOCK]),
    ],
)
def test_what_tells_of_none_is_none(message: Any) -> None:
    """A failed summary, edits that cleared nothing that was said, data of the wrong form, and what is no answer of a model."""
    assert provider_compaction(message) is None


def test_nothing_stands_between_a_call_and_its_result() -> None:
    """What is said again stands behind all results of the answer, and nowhere while one is missing."""
    calls = [{"name": "pay", "args": {}, "id": name} for name in ("c1", "c2")]
    asked = answer(BLOCK).model_copy(update={"tool_calls": calls})
    messages = [human("q", "h1"), asked, result("c1"), result("c2")]

    found = anchor_in(messages)
    assert found is not None
    assert (1, 4) == (found.at, found.stop)
    assert anchor_in(messages[:3]) is None
    again = said_again(messages, found, made=(), rules=RULES, fields=())
    assert [] == check_provider_valid([*messages, *again])


@pytest.mark.parametrize(("provider", "rules_again"), [("anthropic", False), ("openai", True), ("", True)])
def test_rules_are_said_again_where_the_system_message_may_be_gone(provider: str, rules_again: bool) -> None:  # noqa: FBT001
    """Anthropic keeps `system` apart; of every other provider that is not known."""
    messages = [human("q", "h1"), answer(BLOCK, provider=provider), human("and?", "h2")]
    found = anchor_in(messages)
    assert found is not None
    again = said_again(messages, found, made=[HumanMessage("evidence", id="e")], rules=RULES, fields=())
    assert rules_again == any(RULES[0].text in str(message.content) for message in again)
    assert any(message.content == "evidence" and message.id is None for message in again)


def test_the_newest_compaction_counts() -> None:
    """What an earlier one dropped was said again before the newer one, which dropped that too."""
    messages = [human("q", "h1"), answer(BLOCK), human("and?", "h2"), answer(BLOCK).model_copy(update={"id": "a2"}), human("now?", "h3")]
    found = anchor_in(messages)
    assert found is not None
    assert ("a2", 4) == (found.found.message, found.stop)


def test_what_was_cleared_is_added_up() -> None:
    """Over all edits of an answer; what is no count, or less than nothing, counts for nothing."""
    edits = [
        {"type": "clear_tool_uses_20250919", "cleared_tool_uses": 2, "cleared_input_tokens": 1_500},
        {"type": "clear_tool_uses_20250919", "cleared_tool_uses": 3, "cleared_input_tokens": 1},
        {"type": "clear_tool_uses_20250919", "cleared_tool_uses": True, "cleared_input_tokens": "900"},
        {"type": "clear_tool_uses_20250919", "cleared_tool_uses": -4, "cleared_input_tokens": 0.5},
    ]
    found = provider_compaction(answer(context_management={"applied_edits": edits}))
    assert found is not None
    assert ("cleared", 5, 1_501) == (found.kind, found.cleared_tool_uses, found.cleared_tokens)


@pytest.mark.parametrize(
    ("messages", "repeated"),
    [
        ([human("q", "h1"), answer(BLOCK)], ["q"]),
        ([human("q", "h1"), answer(BLOCK), human("and?", "h2")], []),
        ([human("q", "h1"), human("r", "h2"), answer(BLOCK)], ["r"]),
        ([answer(BLOCK)], []),
    ],
)
def test_the_current_request_is_said_again_where_the_provider_summed_it_up(messages: list[Any], repeated: list[str]) -> None:
    """Under no id, and only where it stands before the compaction: behind it the model reads it anyway."""
    found = anchor_in(messages)
    assert found is not None
    again = said_again(messages, found, made=(), rules=(), fields=())
    assert [(text, None) for text in repeated] == [(message.content, message.id) for message in again]


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (answer(BLOCK), ["ORD-7712", "PAY-99"]),
        (answer(context_management={"applied_edits": [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": 2}]}), ["PAY-99"]),
    ],
)
def test_what_a_provider_took_out_is_said_again_and_no_more(told: AIMessage, expected: list[str]) -> None:
    """Its summary may have lost what anybody said before; where it cleared results of tools, only theirs are gone."""
    asked = AIMessage("", tool_calls=[{"name": "pay", "args": {}, "id": "c1"}])
    messages = [human("Refund order ORD-7712."), asked, result("c1", "Payment PAY-99 found."), told, human("And order ORD-8813?")]
    anchor = anchor_in(messages)

    assert anchor is not None
    assert expected == [field.raw for field in lost_fields(messages, anchor, FieldPlan())]

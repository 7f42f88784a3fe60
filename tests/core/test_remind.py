from __future__ import annotations

import pytest
from hypothesis import given
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from langchain_ctxguard.core.remind import REMINDER, length_without_reminder, reminder, with_reminder
from langchain_ctxguard.core.units import repair
from langchain_ctxguard.domain.constraint import Authority, Constraint, Severity
from tests.support.builders import ai, human, result
from tests.support.providers import check_all_providers, check_provider_valid
from tests.support.strategies import any_conversations

RULES = (Constraint.from_text("Never delete an order."), Constraint.from_text("绝不显示电话号码。"))
CHINESE = (*RULES, Constraint.from_text("每次写入都要记录日志。"))


def rule(text: str, **fields: object) -> Constraint:
    return Constraint.model_validate({"constraint_id": "r", "text": text, **fields})


def test_a_reminder_is_an_instruction_with_the_rules_verbatim() -> None:
    """It tells the model to check before it answers or acts, and holds every critical rule byte for byte."""
    made = reminder(RULES)
    assert made is not None
    assert "Before you answer or act, check it against these rules:\n- Never delete an order.\n- 绝不显示电话号码。" == made.content
    assert REMINDER == made.name


def test_mostly_chinese_rules_are_reminded_of_in_chinese() -> None:
    """The instruction is in the language most of the rules are in."""
    made = reminder(CHINESE)
    assert made is not None
    assert str(made.content).startswith("回答或行动之前，先逐条对照以下规则：\n- Never delete an order.\n")
    said = reminder([rule("Nur lesen.", language="zh-CN")])
    assert said is not None
    assert "规则" in said.text


def test_only_critical_rules_are_reminded_of() -> None:
    """Lesser rules are pinned and not repeated; inferred ones are somebody's words and never an instruction."""
    assert None is reminder([])
    assert None is reminder([rule("Be brief.", severity=Severity.HIGH), rule("Use X.", authority=Authority.INFERRED)])


@pytest.mark.parametrize(
    "messages",
    [
        [human("hi")],
        [human("do"), ai(calls=["a", "b"]), result("b"), result("a")],
        [human("do"), ai(calls=["a"]), result("a"), human("and now?")],
        [human("do"), ai("done"), human("more")],
    ],
)
def test_a_reminder_stands_behind_the_last_message(messages: list[BaseMessage]) -> None:
    """What stands before it is the same objects in the same order, and every provider takes the list."""
    reminded = with_reminder(messages, RULES)
    assert len(messages) + 1 == len(reminded)
    assert all(given is kept for given, kept in zip(messages, reminded, strict=False))
    assert REMINDER == reminded[-1].name
    assert [] == check_all_providers(reminded)


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [human("do"), ai(calls=["a", "b"]), result("a")],
        [human("do"), ai(calls=["a"])],
        [human("do"), ai(calls=["a", "b"]), result("a"), human("wait")],
        [human("do"), AIMessage([{"type": "tool_use", "id": "a", "name": "f", "input": {}}])],
        [human("do"), ai(calls=[None]), result("a")],
        [human("Continue:"), ai("Once upon")],
    ],
)
def test_there_is_no_reminder_where_there_is_no_place(messages: list[BaseMessage]) -> None:
    """Calls in flight and an answer to be continued leave the very list that came."""
    assert messages is with_reminder(messages, RULES)


def test_results_in_a_human_message_end_a_flight() -> None:
    """Anthropic's own form of results counts as results."""
    called = AIMessage([{"type": "tool_use", "id": "a", "name": "f", "input": {}}])
    answered = HumanMessage([{"type": "tool_result", "tool_use_id": "a", "content": "ok"}])
    assert 4 == len(with_reminder([human("do"), called, answered], RULES))


def test_nothing_to_remind_of_changes_nothing() -> None:
    """Without critical rules the very list comes back."""
    messages = [human("hi")]
    assert messages is with_reminder(messages, [rule("Be brief.", severity=Severity.LOW)])


def test_a_reminder_is_not_repeated() -> None:
    """A list that ends in a reminder already stays as it is, and says how much of it will come again."""
    once = with_reminder([human("hi")], RULES)
    assert once is with_reminder(once, RULES)
    assert 1 == length_without_reminder(once)
    assert 1 == length_without_reminder([human("hi")])
    assert 5 == length_without_reminder(with_reminder([human("do"), ai("done"), human("more"), ai("done"), human("and?")], RULES))
    assert 0 == length_without_reminder([])


@given(messages=any_conversations())
def test_a_reminder_keeps_any_list_valid(messages: list[BaseMessage]) -> None:
    """Whatever a repaired conversation holds, with its reminder a provider still takes it, and the prefix is untouched."""
    view = repair(messages).messages
    reminded = with_reminder(view, RULES)
    assert view == list(reminded[: len(view)])
    assert check_provider_valid(view) == check_provider_valid(list(reminded))

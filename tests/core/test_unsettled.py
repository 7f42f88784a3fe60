"""A value that is asked for, supposed, or told as what others think stands beside the one that holds; a request put as a question changes it."""

from __future__ import annotations

import pytest

from langchain_ctxguard import compact_messages, extract_fields
from langchain_ctxguard.core.ledger import update_ledger
from langchain_ctxguard.core.roles import text_of
from langchain_ctxguard.core.unsettled import is_unsettled, may_be_unsettled

OPEN = [
    # what was said, what is said later, the value that still holds
    ("The deadline is June 3.", "Is the deadline June 9?", "June 3"),
    ("The deadline is June 3.", "Should we move the deadline to June 9?", "June 3"),
    ("The deadline is June 3.", "What if we change the deadline to June 9", "June 3"),
    ("The deadline is June 3.", "If it rains, the deadline moves to June 9.", "June 3"),
    ("The deadline is June 3.", "Maybe the deadline is June 9.", "June 3"),
    ("The deadline is June 3.", "Tom thinks the deadline is now June 9.", "June 3"),
    ("The deadline is June 3.", "Tom says the deadline is June 9.", "June 3"),
    ("The budget is $300.", "Is the budget $400?", "$300"),
    ("The budget is $300.", "Could the budget be $400?", "$300"),
    ("The budget is $300.", "Lena suggests the budget should be $400.", "$300"),
    ("The contact is ana@ex.com.", "Apparently the contact is now ben@ex.com.", "ana@ex.com"),
    ("截止日期是6月3日。", "截止日期是6月9日吗？", "6月3日"),
    ("截止日期是6月3日。", "要是下雨，截止日期就改到6月9日。", "6月3日"),
    ("截止日期是6月3日。", "听说截止日期改成6月9日了。", "6月3日"),
    ("预算是300元。", "小王觉得预算应该是400元。", "300元"),
    ("预算是300元。", "小王说预算是400元。", "300元"),
]

SETTLED = [
    # what was said, what is said later, the value that holds no more, the one that holds
    ("The deadline is June 3.", "Could you change the deadline to June 9?", "June 3", "June 9"),
    ("The deadline is June 3.", "Move the deadline to June 9, ok?", "June 3", "June 9"),
    ("The deadline is June 3.", "Please make the deadline June 9 if possible.", "June 3", "June 9"),
    ("The deadline is June 3.", "The client says the deadline is now June 9.", "June 3", "June 9"),
    ("The deadline is June 3.", "I said the deadline is June 9.", "June 3", "June 9"),
    ("The budget is $300.", "The budget is now $400. Is that fine?", "$300", "$400"),
    ("截止日期是6月3日。", "请把截止日期改到6月9日，可以吗？", "6月3日", "6月9日"),
    ("预算是300元。", "客户说预算改成400元。", "300元", "400元"),
    ("预算是300元。", "麻烦把预算改成400元，行吗？", "300元", "400元"),
]


def _in_force(*said: str) -> list[str]:
    return [field.raw for field in update_ledger([], [{"role": "user", "content": text} for text in said]).fields]


@pytest.mark.parametrize(("before", "after", "value"), OPEN)
def test_what_is_left_open_ends_nothing(before: str, after: str, value: str) -> None:
    """Both values are on record, and neither replaces the other."""
    fields = update_ledger([], [{"role": "user", "content": before}, {"role": "user", "content": after}]).fields
    assert value in [field.raw for field in fields if not field.is_closed]
    assert [] == [event for field in fields for event in field.history if event.raw == value and event.reason != "conflict"]


@pytest.mark.parametrize(("before", "after", "old", "new"), SETTLED)
def test_a_request_and_a_relayed_change_replace_it(before: str, after: str, old: str, new: str) -> None:
    """A question that asks for the change to be made makes it, and so does what others announce."""
    assert old not in _in_force(before, after)
    assert new in _in_force(before, after)


@pytest.mark.parametrize(("before", "after", "value"), OPEN)
def test_the_view_still_tells_what_holds(before: str, after: str, value: str) -> None:
    """After a compaction the value that was only asked about has not taken the place of the other."""
    turns = ["Hello.", before, *_talk(0), after, *_talk(6)]
    messages = [{"role": role, "content": text} for words in turns for role, text in (("user", words), ("assistant", "Okay."))]
    view = "\n".join(text_of(message) for message in compact_messages(messages, keep=("turns", 1)).messages)
    assert any(value in line.replace(after, "") for line in view.splitlines())


def _talk(start: int) -> list[str]:
    return [f"We walk through part {number} of the design notes with the whole team." for number in range(start, start + 6)]


@pytest.mark.parametrize(("before", "after", "value"), OPEN)
def test_the_cheap_look_misses_none(before: str, after: str, value: str) -> None:
    """Where a sentence leaves a value open, the text may hold one that does."""
    found = [is_unsettled(after, field.start, field.stop, is_change=False) for field in extract_fields(after)]
    assert True in found
    assert may_be_unsettled(after)
    assert not may_be_unsettled(before)

from __future__ import annotations

import time

import pytest

from langchain_ctxguard.core.noted import is_form, is_noted, notes_in


@pytest.mark.parametrize(
    "text",
    [
        "GOAL: move the login to OAuth",
        "GOAL STATE: the branch is ready",
        "Note: the printer is on the second floor",
        "note: the printer is loud",
        "FACT: the codename is Heron.",
        "Decision - we go with the second vendor",
        "Status — half of the pages are done",
        "Preference: short answers",
        "Contact: the desk on the second floor",
        "The current task is moving the login to OAuth.",
        "Our goal for now is a quiet release.",
        "We are working on the importer.",
        "We're still busy with the importer.",
        "The user wants answers in prose.",
        "Maria usually prefers the window.",
        "My boss would like a report on Fridays.",
        "They'd rather wait.",
        "当前任务：迁移登录模块",
        "备注：打印机在二楼",
        "目标:三月上线",
        "决定 - 用第二家",
        "当前任务是迁移登录模块。",
        "我们的目标是三月上线。",
        "我们正在迁移数据库。",
        "用户希望用中文回答。",
        "客户更喜欢邮件联系。",
    ],
)
def test_what_people_note_down_is_recognised(text: str) -> None:
    """A label of its own, what the work is, what somebody wants."""
    assert is_noted(text)


@pytest.mark.parametrize(
    "text",
    [
        "Renaming a helper for clarity.",
        "I want tea.",
        "We would like two seats.",
        "Who wants pizza?",
        "Is the goal for now a quiet release?",
        "The task was easy.",
        "What the compiler shows is what it prefers.",
        "Let us meet at 12:30 in the hall.",
        "https://example.com/a",
        "Hello - how are you",
        "She said: come in",
        "他说：进来吧",
        "ERROR: no seat left",
        "INFO: the server is up",
        "Warning: low disk",
        "Caused by: a full disk",
        "12:03 INFO: the server is up",
        "key: value",
        '"status": "open",',
        "12: the rest of the file",
        "Notes:",
        "我想要一杯茶。",
        "他在哪里？",
    ],
)
def test_talk_requests_and_lines_of_logs_are_not_noted(text: str) -> None:
    """A time of day, an address, a log level and a speaker before a colon are no labels, and who speaks for themselves asks."""
    assert not is_noted(text)


def test_the_labels_of_a_form_say_nothing() -> None:
    """Three labels nobody notes under make a form or a header; what people do note under does not."""
    header = ["From: Ada", "To: Ben", "Subject: lunch", "Note: bring cake"]
    notes = ["GOAL: ship it", "FACT: it is red", "Decision: no refund", "备注：在二楼"]
    assert is_form(header)
    assert not is_form(header[:2])
    assert not is_form(notes)
    assert not is_noted("Subject: lunch", is_form=True)
    assert is_noted("The user wants lunch.", is_form=True)


def test_what_stands_behind_a_label_says_more_of_the_same() -> None:
    """To the end of the line, unless another label begins; in a form nothing follows anything."""
    assert frozenset([1, 3]) == notes_in(["GOAL: ship it", "Soon.", "FACT: it is red", "And round.", "It rains."], begin=[2, 4]).follow
    assert frozenset() == notes_in(["It rains.", "It is cold."]).follow
    form = notes_in(["From: Ada", "To: Ben", "Subject: lunch", "With cake."])
    assert form.is_form
    assert frozenset() == form.follow


@pytest.mark.parametrize("text", ["a " * 40_000, "a-" * 40_000, "我们" * 20_000, "the task " * 9_000, "Label word " * 8_000])
def test_reading_costs_no_more_than_the_text(text: str) -> None:
    """No text takes the regular expressions long."""
    began = time.process_time()
    is_noted(text)
    assert time.process_time() - began < 1

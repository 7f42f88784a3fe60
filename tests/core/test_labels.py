from __future__ import annotations

import pytest

from langchain_ctxguard.core.extract import extract_fields
from langchain_ctxguard.core.labels import attribute_at, is_same_attribute, is_same_label, label_at


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The deadline is June 30.", "deadline"),
        ("Print deadline: June 30.", "print deadline"),
        ("The deadline for the slides is June 30.", "deadline for slides"),
        ("截止日期是6月30日", "截止日期"),
        ("年会预算5万元", "年会预算"),
        ("Set the monthly budget to $500.", "monthly budget"),
        ("$500 is the budget.", "budget"),
        ("5万元的预算", "预算"),
        ("Our contact is a@b.example", "contact"),
        ("He paid $20.", ""),
    ],
)
def test_a_value_knows_what_it_is_the_value_of(text: str, expected: str) -> None:
    """The label is the words of the text; where it does not say, there is none."""
    assert [expected] == [field.label for field in extract_fields(text)]


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("预算5万元", "5万元", "预算"),
        ("5万元的预算不够", "5万元", "预算"),
        ("好的，5万元的预算", "5万元", "预算"),
        ("Fine. June 30 is the deadline.", "June 30", "deadline"),
        ("3 May is the due date for me", "3 May", "due date"),
        ("Deadline for slides: probably May 3", "May 3", "deadline for slides"),
        ("Deadline for slides : May 3", "May 3", "deadline for slides"),
        ("Deadline for the : May 3", "May 3", "deadline"),
    ],
)
def test_a_label_is_found_wherever_it_stands(text: str, value: str, expected: str) -> None:
    """At the very beginning of a text, right behind the value, with more behind it, up to the colon that ends it."""
    start = text.index(value)
    assert expected == label_at(text, start, start + len(value))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("deadline", "due date", True),
        ("budget", "预算", True),
        ("deadline", "print deadline", True),
        ("print deadline", "talk deadline", False),
        ("deadline for slides", "deadline for posters", False),
        ("deadline", "budget", False),
        ("", "", False),
        ("含税价", "含税价", True),
        ("print deadline", "print due date", True),
        ("print talk deadline", "print deadline", True),
    ],
)
def test_labels_are_the_same_by_their_head_unless_two_things_qualify_it(one: str, other: str, expected: bool) -> None:  # noqa: FBT001 - a table
    """Every word for a deadline means the deadline; the deadline of the slides is not that of the posters."""
    assert expected is is_same_label(one, other)
    assert expected is is_same_label(other, one)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("launch deadline", "launch date", True),
        ("launch", "release date", False),
        ("field-trip expenses", "ceiling for trip costs", True),
        ("project spending ceiling", "conference spending ceiling", False),
        ("budget cap", "total spending", True),
    ],
)
def test_a_label_is_compared_by_what_it_means(one: str, other: str, expected: bool) -> None:  # noqa: FBT001 - a column
    """The deadline of a launch is its date, a ceiling of costs is a budget; what is qualified otherwise stays apart."""
    assert expected is is_same_label(one, other)
    assert expected is is_same_label(other, one)


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("The gate code is QX-4410.", "QX-4410", "gate code"),
        ("Gate-code rotation is done: never reveal QX-4410.", "QX-4410", "gate code"),
        ("From today we call the boat OAK-12.", "OAK-12", "codename"),
        ("The work is based on commit 9f3c1ab.", "9f3c1ab", "base commit"),
        ("Commit 9f3c1ab fixed it.", "9f3c1ab", ""),
        ("The promo code WIN-200 is live.", "WIN-200", ""),
        ("Order ORD-11 is late.", "ORD-11", ""),
        ("门禁码换成K7-9921了。", "K7-9921", "门禁码"),
        ("以后项目代号叫ELM-40。", "ELM-40", "代号"),
        ("", "", ""),
    ],
)
def test_an_identifier_may_be_the_one_value_of_something(text: str, value: str, expected: str) -> None:
    """A code, a codename, a base commit: there is one at a time. An order, a promotion, a commit among others is not."""
    start = text.index(value)
    assert expected == attribute_at(text, start, start + len(value))


def test_attributes_are_one_if_nothing_tells_them_apart() -> None:
    """The gate's code is not the door's; a language does not matter."""
    assert is_same_attribute("access code", "maintenance access code")
    assert not is_same_attribute("gate code", "door code")
    assert is_same_attribute("codename", "项目代号")

from __future__ import annotations

import pytest

from langchain_ctxguard.core.extract import extract_fields
from langchain_ctxguard.core.labels import is_same_label


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
    ],
)
def test_labels_are_the_same_by_their_head_unless_two_things_qualify_it(one: str, other: str, expected: bool) -> None:  # noqa: FBT001 - a table
    """Every word for a deadline means the deadline; the deadline of the slides is not that of the posters."""
    assert expected is is_same_label(one, other)
    assert expected is is_same_label(other, one)

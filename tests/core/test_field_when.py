"""What looks like a day or a time and is part of something else is none."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from langchain_ctxguard.core.extract import extract_fields

MONDAY = datetime(2026, 5, 4, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("on 2026-04-13, ok", ["2026-04-13"]),
        ("on 2026-04-13.", ["2026-04-13"]),
        ("See 2026-04-13-X here.", []),
        ("See 2026-04-13.log here.", []),
        ("on Monday we rest", ["Monday"]),
        ("Monday's report", ["Monday"]),
        ("Mondays we rest", []),
        ("Friday5 is a name", []),
        ("March's report", []),
        ("周三开会", ["周三"]),
        ("周三次", []),
        ("一周三次", []),
        ("5号交货", ["5号"]),
        ("5号线坏了", []),
    ],
)
def test_a_day_ends_where_its_word_ends(text: str, expected: list[str]) -> None:
    """A name, a file or a habit that begins like a day names no day; how often a week is no day of it."""
    assert expected == [field.raw for field in extract_fields(text, now=MONDAY) if field.kind.value in {"date", "datetime"}]


def test_the_beginning_of_a_span_of_hours_is_no_moment_of_the_day() -> None:
    """The day and both hours stand for themselves."""
    assert [("date", "May 5"), ("time", "11 am"), ("time", "4 pm")] == [
        (field.kind.value, field.raw) for field in extract_fields("on May 5, 11 am to 4 pm", now=MONDAY)
    ]

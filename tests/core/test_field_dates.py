"""What a day named in relation to another one is, as a date of the calendar."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from langchain_ctxguard.core.extract import extract_fields


def dates(text: str, now: datetime | None) -> list[str | None]:
    return [field.value for field in extract_fields(text, now=now)]


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("大前天去", 1),
        ("前天去", 2),
        ("昨天去", 3),
        ("昨日去", 3),
        ("今天去", 4),
        ("今日去", 4),
        ("当天去", 4),
        ("明天去", 5),
        ("明日去", 5),
        ("后天去", 6),
        ("大后天去", 7),
        ("We met the day before yesterday", 2),
        ("We met yesterday", 3),
        ("We meet today", 4),
        ("We meet Tomorrow", 5),
        ("We meet the day after tomorrow", 6),
    ],
)
def test_a_day_is_counted_from_the_day_it_was_said(text: str, day: int) -> None:
    """Where nobody knows that day, it stays as it was said."""
    assert [f"2026-05-{day:02}"] == dates(text, datetime(2026, 5, 4, tzinfo=UTC))
    assert [None] == dates(text, None)


@pytest.mark.parametrize(
    ("text", "now", "value"),
    [
        ("月底交", (2026, 2, 10), "2026-02-28"),
        ("月底交", (2028, 2, 10), "2028-02-29"),
        ("本月底交", (2026, 12, 10), "2026-12-31"),
        ("下个月底交", (2026, 12, 10), "2027-01-31"),
        ("上个月底交", (2026, 1, 10), "2025-12-31"),
        ("年底交", (2026, 2, 10), "2026-12-31"),
        ("by the end of next month", (2026, 1, 10), "2026-02-28"),
        ("by the end of the year", (2026, 1, 10), "2026-12-31"),
        ("月底交", (9999, 12, 10), "9999-12-31"),
        ("下个月底交", (9999, 12, 10), None),
        ("上个月底交", (9999, 12, 10), "9999-11-30"),
        ("月底交", (1, 1, 10), "0001-01-31"),
        ("上个月底交", (1, 1, 10), None),
        ("明天去", (9999, 12, 31), None),
        ("昨天去", (1, 1, 1), None),
    ],
)
def test_the_end_of_a_month_is_a_day_as_far_as_the_calendar_goes(text: str, now: tuple[int, int, int], value: str | None) -> None:
    """Across the turn of a year as well; what lies beyond the calendar stays as it was said."""
    assert [value] == dates(text, datetime(*now, tzinfo=UTC))

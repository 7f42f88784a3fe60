"""What a person reads of the chain behind an action."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from langchain_ctxguard.core.explained import explained_text
from langchain_ctxguard.domain.explanation import Explanation, RecordLink

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def line_of(**says: Any) -> str:
    """Return the line of an entry that says this."""
    record = RecordLink(kind="calls", key="t-1", seq=3, hash="0" * 64, at=NOW, says=says)
    return explained_text(Explanation(action="c-1", thread="t-1", records=(record,))).splitlines()[1].strip()


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("ab" * 16, "ab" * 8),
        ("ab" * 32, "ab" * 8),
        ("ab" * 15, "ab" * 15),
        ("a reason of more than thirty-two letters", "a reason of more than thirty-two letters"),
        (12_345_678_901_234_567_890, "12345678901234567890"),
        (True, "True"),
    ],
)
def test_a_digest_is_cut_short_and_nothing_else(value: Any, shown: str) -> None:
    """Words and numbers stand as they are on record."""
    assert f"on record as entry 3 of calls, 2026-06-01 12:00:00Z, found {shown}" == line_of(found=value)


def test_an_entry_says_in_order_what_the_line_does_not_say_anyway() -> None:
    """By name; its kind, thread and moment stand there already."""
    line = line_of(tool="mail", decision="allow", thread="t-1", call_id="c-1", kind="x", at="y", schema_version=1)
    assert "on record as entry 3 of calls, 2026-06-01 12:00:00Z, decision allow, tool mail" == line

"""The ledger gets right what the conversations of the judges restate."""

# ruff: noqa: E402 - what imports the judges comes after the question whether they are there
from __future__ import annotations

import pytest

REASON = "the judges are not installed; they are the dependency group `judges`"
pytest.importorskip("compaction_kit", reason=REASON)
pytest.importorskip("jev_harness", reason=REASON)

from benchmarks.judges.updates import measure


def test_every_restated_value_that_is_a_field_is_the_one_that_holds() -> None:
    """And no value beside it is taken for an old one."""
    rows = measure()
    assert sum(row["updates"] for row in rows) > 100
    assert {} == {text: count for row in rows for text, count in row["wrong"].items()}
    assert 0 == sum(row["standing_ended"] for row in rows)

from __future__ import annotations

from benchmarks import storage


def test_a_turn_stays_within_its_budget_however_long_the_conversation() -> None:
    """Two messages of 500 characters, a guard, one version: at most 7 kB of payload and 10 kB of file, and no more where there are more messages."""
    rows = [storage.measure("sqlite", size, 5, ("wrapped",))[0] for size in (40, 240)]
    assert [True, True] == [row["payload_kb_per_turn"] <= 7 and row["disk_kb_per_turn"] <= 10 for row in rows], rows
    assert rows[1]["payload_kb_per_turn"] < rows[0]["payload_kb_per_turn"] * 1.4

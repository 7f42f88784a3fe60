"""A cut is found again, whatever a forged one names."""

from __future__ import annotations

import time

from langchain_ctxguard.core.identity import ANCHORS, find_cut
from langchain_ctxguard.domain.context import Cut
from tests.support.builders import human


def test_a_forged_cut_is_read_no_further_than_ours_go() -> None:
    """It may name any number of messages; only as many as we write are looked for."""
    messages = [human("x" * 500) for _ in range(500)]
    anchors = tuple(f"{number:024}@{number}" for number in range(200_000))
    started = time.perf_counter()

    assert find_cut(Cut(anchors=anchors, position=7), messages) is None
    assert time.perf_counter() - started < 5


def test_the_last_anchor_we_write_still_serves() -> None:
    """All but it may have been trimmed."""
    messages = [human(str(number), f"m{number}") for number in range(20)]
    named = tuple(f"m{number}" for number in range(ANCHORS))

    assert 0 == find_cut(Cut(anchors=named, position=3), messages[ANCHORS - 1 :])
    assert find_cut(Cut(anchors=("gone",) * ANCHORS + ("m3",), position=99), messages) is None

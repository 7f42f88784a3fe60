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


def test_a_message_with_the_id_of_its_anchor_holds_the_place() -> None:
    """A neighbour that was written anew does not move the cut, and the id counts as it comes back from a checkpoint."""
    cut = Cut.model_validate_json('{"anchors": ["m1", "m2"], "position": 1}')
    messages = [human("a", "m0"), human("b, better", "m1-edited"), human("c", "m2")]

    assert 1 == find_cut(cut, messages)


def test_what_is_put_in_behind_the_last_message_that_left_is_kept() -> None:
    """The message before the cut still stands there, so nothing after it counts as gone."""
    cut = Cut(anchors=("m1", "m2"), position=1, evicted="m0")
    messages = [human("a", "m0"), human("new", "n1"), human("newer", "n2"), human("c", "m2")]

    assert 1 == find_cut(cut, messages)
    assert 3 == find_cut(cut, [human("other", "x"), *messages[1:]])

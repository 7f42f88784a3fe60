"""A run and the marks of its compactions become steps: what was visible before each and after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.audit_steps import NO_PAST, NO_SUMMARY, NO_WORD, steps_of
from tests.support.builders import ai, human, system


@dataclass(frozen=True)
class Found:
    """A mark as a reader of transcripts gives it."""

    start: int
    kind: str = "summary"
    summary: int | None = None
    dropped: Sequence[int] = ()
    timestamp: str | None = None


RUN: list[BaseMessage] = [system("Be kind."), human("one"), ai("two"), human("summary"), ai("four"), human("summary"), ai("six")]


def test_compactions_are_numbered_from_one_in_the_order_they_happened() -> None:
    """Whatever order their marks are found in; each knows what came since the one before."""
    late, early = Found(5, summary=5, dropped=(3, 4)), Found(3, summary=3, dropped=(1, 2))
    one, two = steps_of(RUN, [late, early])
    assert (1, early, ((0, 3),), [0, 1, 2], (0, 3)) == (one.number, one.mark, one.fresh, sorted(one.before), one.after)
    assert (2, late, ((4, 5),), [0, 3, 4], (0, 5)) == (two.number, two.mark, two.fresh, sorted(two.before), two.after)
    assert ("", "") == (one.why_not, two.why_not)


def test_in_a_snapshot_what_follows_a_summary_was_there_before() -> None:
    """And everything before it but system messages left, where the file does not say what did."""
    (step,) = steps_of(RUN[:5], [Found(3, summary=3)], is_snapshot=True)
    assert ((0, 1, 2, 4), (0, 3, 4)) == (step.before, step.after)
    assert ((0, 3), (4, 5)) == step.fresh


def test_a_step_says_what_the_file_does_not_hold() -> None:
    """Without it nothing can be audited."""
    whys = [next(steps_of(RUN[:3], [mark])).why_not for mark in (Found(3), Found(3, kind="dropped"), Found(3, kind="cleared", dropped=(1,)))]
    assert [NO_SUMMARY, NO_WORD, ""] == whys
    assert NO_PAST == next(steps_of(RUN[:1], [Found(0, kind="cleared")], is_snapshot=True)).why_not
    assert [] == list(steps_of(RUN, []))

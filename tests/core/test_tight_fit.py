"""What has no room in a tight record is left out in a fixed order, and nothing that fits is left out for it."""

from __future__ import annotations

import pytest

from langchain_ctxguard.core.tight_fit import Fitted, TightRoom, fitted
from langchain_ctxguard.domain.evidence import Action, Evidence
from langchain_ctxguard.domain.summary import Fact, StructuredSummary
from tests.core.test_infer import said
from tests.support.builders import count_characters

STATED = tuple(f"FACT: The {name} host is db-{number}.internal." for number, name in enumerate(("amber", "birch", "cedar", "daisy", "elder")))
TALK = tuple(f"It rained on the way to {name} again, and then it did not." for name in ("work", "town", "lunch"))
RULES = said("Never open drawer amber.", "Never open drawer birch.")


def summary() -> StructuredSummary:
    facts = (*(Fact(statement=text, said_by="user", source=f"m{place}") for place, text in enumerate((*TALK, *STATED))),)
    return StructuredSummary(facts=(*facts, Fact(statement="The soil is dry", said_by="ai", source="a")))


def evidence(actions: int = 0) -> Evidence:
    done = (Action(tool="read", call_id=f"c{n}", arguments=f'{{"n": {n}}}', argument_digest="d", status="done", result="ok") for n in range(actions))
    return Evidence(inferred=RULES, inferred_shown=2, actions=tuple(done))


def fit(goal: int, *, actions: int = 0, is_least: bool = False, summary: StructuredSummary = summary()) -> Fitted:  # noqa: B008 - frozen
    room = TightRoom(goal=goal, tokens=len, count=count_characters, version=1, is_least=is_least)
    return fitted(summary, evidence(actions), room)


def told(made: Fitted) -> set[str]:
    return {fact.statement for fact in made.summary.facts if fact.said_by == "user"}


def test_with_room_everything_is_there() -> None:
    """Then nothing is counted."""
    made = fit(5_000, actions=3)
    assert told(made) == {*STATED, *TALK}
    assert (made.tight.left_out, len(made.evidence.actions), made.evidence.inferred_shown) == (0, 3, 2)


@pytest.mark.parametrize("goal", range(200, 900, 20))
def test_talk_leaves_before_what_was_stated(goal: int) -> None:
    """And what is left out is counted, whatever the room."""
    made = fit(goal)
    gone = {*STATED, *TALK} - told(made)
    assert made.tight.left_out == len(gone)
    # Talk is longer here, so in its room what was stated would have fitted.
    assert not told(made) & {*TALK} or {*STATED} <= told(made)


@pytest.mark.parametrize("number", range(5))
def test_a_critical_value_comes_first(number: int) -> None:
    """Where there is room for one sentence it is the one that tells it, however old."""
    room = TightRoom(goal=235, tokens=len, count=count_characters, version=1, critical={f"db-{number}.internal"})
    assert told(fitted(summary(), evidence(), room)) == {STATED[number]}


def test_more_room_never_tells_less() -> None:
    """Of what people said."""
    sizes = [len(told(fit(goal))) for goal in range(200, 900, 50)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


def test_rules_are_shown_without_room() -> None:
    """Whoever asked for less is told how much they need: the least tells them and nothing else."""
    made = fit(10, actions=4, is_least=True)
    assert made.evidence.inferred_shown == 2
    assert (told(made), made.evidence.actions, made.summary.facts) == (set(), (), ())
    assert made.evidence.omitted_actions == 4


def test_what_was_done_has_its_part_beside_what_was_stated() -> None:
    """The words of people do not crowd it out, and it does not crowd them out."""
    made = fit(560, actions=8)
    assert made.evidence.actions
    assert told(made) & {*STATED}

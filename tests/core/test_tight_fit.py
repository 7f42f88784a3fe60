"""What has no room in a tight record is left out in a fixed order, and nothing that fits is left out for it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest
from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.tight import render_tight
from langchain_ctxguard.core.tight_fit import Fitted, TightRoom, fitted
from langchain_ctxguard.domain.evidence import Action, Evidence, Reference
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
    assert (made.evidence.omitted_actions, made.tight.left_out) == (4, len(STATED) + len(TALK))


def test_rules_that_are_not_shown_stay_hidden() -> None:
    """Where whoever asks wants none of them, none is told, with room and without."""
    hidden = evidence().model_copy(update={"inferred_shown": 0})
    for goal in (10, 5_000):
        assert 0 == fitted(summary(), hidden, TightRoom(goal=goal, tokens=len, count=count_characters, version=1)).evidence.inferred_shown


def test_what_was_done_has_its_part_beside_what_was_stated() -> None:
    """The words of people do not crowd it out, and it does not crowd them out."""
    made = fit(560, actions=8)
    assert made.evidence.actions
    assert told(made) & {*STATED}


def characters(messages: Sequence[BaseMessage]) -> int:
    return sum(len(str(message.content)) for message in messages)


def plain(goal: int, evidence: Evidence, summary: StructuredSummary = summary(), *, is_least: bool = False) -> Fitted:  # noqa: B008 - frozen
    """Fit with every character a token, in whatever it stands."""
    return fitted(summary, evidence, TightRoom(goal=goal, tokens=len, count=characters, version=1, is_least=is_least))


def length(made: Fitted) -> int:
    return len(render_tight(made.summary, made.evidence, made.tight))


@pytest.mark.parametrize("more", range(0, 700, 20))
def test_rules_take_no_room_of_the_rest(more: int) -> None:
    """With as many tokens more as the rules need, as much is told of what was said and done as without them."""
    ruled, free = evidence(actions=8), evidence(actions=8).model_copy(update={"inferred": (), "inferred_shown": 0})
    one, other = (plain(length(plain(1, each, is_least=True)) + more, each) for each in (ruled, free))
    assert (told(one), one.evidence.actions, one.tight.left_out) == (told(other), other.evidence.actions, other.tight.left_out)


@pytest.mark.parametrize("more", range(350, 520, 10))
def test_where_not_all_has_room_both_what_was_stated_and_what_was_done_are_told(more: int) -> None:
    """A part of the room is kept for what was done, before people's words fill it; and together they stay in it."""
    goal = length(plain(1, evidence(actions=8), is_least=True)) + more
    made = plain(goal, evidence(actions=8))
    assert 0 < len(made.evidence.actions) < 8
    assert told(made) & {*STATED}
    assert length(made) <= goal


def test_what_was_found_out_keeps_to_its_room() -> None:
    """However much of it there is."""
    found = StructuredSummary(facts=tuple(Fact(statement=f"The soil in bed {number} is dry", said_by="ai", source="a") for number in range(200)))
    made = plain(2_000, evidence(), found)
    assert 0 < len(made.summary.facts) < 200
    assert length(made) <= 2_000


def test_a_search_for_what_fits_ends() -> None:
    """Where one long sentence after the other has no room, not each of hundreds is tried."""
    tried: list[str] = []
    names = ("".join(letters) for letters in product("bdfgklmnprst", "aeiou", "bdfgklmn"))
    long = StructuredSummary(
        facts=tuple(Fact(statement=f"FACT: {name} keeps {f'the {name} hall and ' * 30}", said_by="user", source=name) for name in names)
    )
    room = TightRoom(goal=300, tokens=lambda text: tried.append(text) or len(text), count=characters, version=1)
    made = fitted(long, evidence(), room)
    assert len(told(made)) + made.tight.left_out == len(long.facts) > 400
    assert len(tried) < 200


def test_what_is_only_counted_is_counted_whole() -> None:
    """What was left out before and what is left out now, of each sort."""
    known = tuple(Reference(name="evidence_id", value=f"e-{number}") for number in range(3))
    held = evidence(actions=4).model_copy(update={"references": known, "omitted_references": 2, "omitted_actions": 5, "omitted_artifacts": 7})
    bare = plain(1, held, is_least=True).evidence
    assert (9, 7, 5) == (bare.omitted_actions, bare.omitted_artifacts, bare.omitted_references)
    assert ((), (), ()) == (bare.actions, bare.artifacts, bare.references)

"""What leaves the view, and how much room there is for what stands in its place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.material import Bounds, bounds_of, can_gain, choice_of, material_of, modest, unit_costs, widened
from langchain_ctxguard.core.select import Choice
from langchain_ctxguard.core.situation import Plan, Situation
from langchain_ctxguard.domain.config import CompactionSettings
from langchain_ctxguard.domain.constraint import Constraint
from langchain_ctxguard.domain.evidence import Evidence
from tests.support.builders import ai, count_characters, human, system

WORDS = "word " * 60


def talk(turns: int = 6) -> list[BaseMessage]:
    return [message for turn in range(turns) for message in (human(f"h{turn} {WORDS}", f"h{turn}"), ai(f"a{turn} {WORDS}", message_id=f"a{turn}"))]


def situation(messages: list[BaseMessage] | None = None, **more: Any) -> Situation:
    return Situation(tail=talk() if messages is None else messages, system=(system("Be kind."),), **more)


def plan(**more: Any) -> Plan:
    given: dict[str, Any] = {"trigger": "tokens", "keep": ("turns", 1), "window": 8_000, **more}
    return Plan(settings=CompactionSettings(), **given)


def bounds(chosen: Plan) -> Bounds:
    return bounds_of(situation(), chosen, situation().repaired, count_characters, tokens_before=20_000)


def choice(chosen: Plan, room: Bounds, **more: Any) -> Choice:
    given: dict[str, Any] = {"is_full": False, "tokens_before": 2_000, **more}
    return choice_of(situation(), situation().repaired, chosen, room, count_characters, **given)[0]


@pytest.mark.parametrize("is_callers_budget", [True, False])
def test_a_small_goal_leaves_a_share_of_itself_to_the_summary(*, is_callers_budget: bool) -> None:
    """It grows with the goal, is never most of it beside its frame, and never less than a summary makes do with."""
    found = [bounds(plan(goal=goal, is_callers_budget=is_callers_budget)) for goal in (40, 1_000, 1_200, 1_400)]

    assert found[1].summary < found[2].summary < found[3].summary < bounds(plan()).summary
    assert all(one.summary - one.floor < goal / 2 for one, goal in zip(found, (40, 1_000, 1_200, 1_400), strict=True))
    assert all(one.summary >= one.floor for one in found)


ROOM = Bounds(summary=100, evidence=50, floor=30, quoted=20, values=10)


@pytest.mark.parametrize(
    ("goal", "limit", "needed", "summary"),
    [
        (1_000, 1_000, 400, 610),
        (1_001, 1_001, 400, 611),
        (500, 500, 400, 110),
        (450, 450, 400, 100),
        (1_000, 2_000, 400, 100),
        (None, None, 400, 100),
    ],
)
def test_what_a_budget_leaves_free_goes_to_the_summary(goal: int | None, limit: int | None, needed: int, summary: int) -> None:
    """To the last token, the evidence beside it counted once; an agent's goal is its trigger and is not filled up."""
    assert replace(ROOM, summary=summary) == widened(ROOM, Choice(4, fits=True, kept_tokens=300, needed=needed), plan(goal=goal, limit=limit))


def test_a_widened_summary_has_a_limit_of_its_own() -> None:
    """Of a huge budget it does not take all."""
    found = widened(ROOM, Choice(4, fits=True, kept_tokens=300, needed=400), plan(goal=100_000, limit=100_000))
    assert 100 < found.summary < 50_000


def test_contracts_and_system_prompt_take_their_room() -> None:
    """Each token of a tool's contract is one that the view needs more."""
    room = Bounds(summary=100, evidence=0, floor=50)
    plain, with_tools = (choice(plan(tool_tokens=tokens), room) for tokens in (0, 300))
    assert 300 == with_tools.needed - plain.needed
    assert plain.needed >= count_characters([system("Be kind.")]) + plain.kept_tokens + room.floor


@pytest.mark.parametrize(
    ("is_full", "may_shrink", "limit", "is_shrunk"),
    [
        (True, True, None, True),
        (True, True, 600, True),
        (False, True, 600, True),
        (False, True, 4_000, False),
        (True, False, 600, False),
        (False, False, 600, False),
    ],
)
def test_what_is_kept_shrinks_where_the_view_must_fit(*, is_full: bool, may_shrink: bool, limit: int | None, is_shrunk: bool) -> None:
    """Because it is full, or because the budget is the caller's; never where the caller of this step does not allow it."""
    keeping = plan(keep=("turns", 5), goal=600, limit=limit)
    found = choice(keeping, Bounds(summary=100, evidence=0, floor=50), is_full=is_full, may_shrink=may_shrink)

    assert is_shrunk is (found.at > 2)
    assert is_shrunk is found.fits


def test_a_unit_costs_what_its_messages_cost() -> None:
    """One number for each unit, in order."""
    repaired = situation().repaired
    assert sum(unit_costs(repaired, count_characters)) == count_characters(talk())
    assert len(repaired.units) == len(unit_costs(repaired, count_characters))


FIRST, LATER = "Always answer in English.", "Always answer in French."


@pytest.mark.parametrize("start", [0, 1, 2, 3, 6])
def test_a_rule_said_in_what_stays_ends_an_older_one_that_leaves(start: int) -> None:
    """Wherever in the conversation the messages stand; it is not carried itself, for the model still reads it."""
    said = [human(FIRST, "1"), ai("Yes.", message_id="2"), human(LATER, "3"), ai("Oui.", message_id="4")]
    found = material_of(situation(said, start=start), plan(), 2, {}, count_characters)

    assert () == found.evidence.inferred
    assert [FIRST.casefold()] == [words.casefold() for words in found.ended]


@pytest.mark.parametrize(
    ("inferred", "rules", "expected", "shown"),
    [
        ("pin", (), [FIRST], 1),
        ("ask", (), [FIRST], 0),
        ("off", (), [], 0),
        ("pin", (Constraint.from_text(FIRST),), [], 0),
    ],
)
def test_a_rule_said_in_what_leaves_is_carried(inferred: Any, rules: tuple[Constraint, ...], expected: list[str], shown: int) -> None:
    """Unless it is pinned already or nobody looks for it; where a person is to decide first, it is kept and not shown."""
    said = [human(FIRST, "1"), ai("Yes.", message_id="2"), human("And now?", "3")]
    found = material_of(situation(said, rules=rules), plan(inferred=inferred), 2, {}, count_characters).evidence

    assert expected == [rule.text for rule in found.inferred]
    assert shown == found.inferred_shown


def test_the_current_request_is_not_counted_as_leaving() -> None:
    """It lies before the cut, and every view shows it."""
    said = [human("Do it.", "1"), ai("I did.", message_id="2"), ai("All.", message_id="3")]
    found = material_of(situation(said), plan(), 2, {}, count_characters)

    assert (said[0], "1") == (found.request, found.request_key)
    assert count_characters(said[1:2]) == found.tokens
    none = material_of(situation(talk()), plan(), 4, {}, count_characters)
    assert (None, None, count_characters(talk()[:4])) == (none.request, none.request_key, none.tokens)
    assert Evidence().actions == none.evidence.actions


def test_little_text_has_a_small_summary_and_may_save_nothing() -> None:
    """A full-sized summary of two short messages would be longer than they are."""
    given, chosen = situation(), plan()
    room = replace(bounds(chosen), summary=2_000)
    small, large = (material_of(given, chosen, at, {}, count_characters) for at in (2, 10))

    assert room.floor <= modest(room, small, given, count_characters).summary < modest(room, large, given, count_characters).summary
    assert modest(room, large, given, count_characters).summary < large.tokens
    assert (False, True) == (
        can_gain(small, replace(room, floor=small.tokens), given, chosen.settings, count_characters),
        can_gain(large, room, given, chosen.settings, count_characters),
    )

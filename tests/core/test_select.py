from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.roles import last_request
from langchain_ctxguard.core.select import Choice, Claims, choose, keep_from, shares, turn_starts
from langchain_ctxguard.core.units import Unit, repair
from tests.support.builders import ai, count_characters, human, result
from tests.support.strategies import any_conversations, keeps

KINDS: dict[str, Any] = {"r": "request", "n": "note", "t": "tools", "a": "reply"}


def units_of(shape: str) -> list[Unit]:
    """Return units for a shape such as `rta`; a tool unit is two messages. `T` waits for a result, a small letter after `|` is no boundary."""
    units: list[Unit] = []
    at, is_boundary = 0, True
    for letter in shape:
        if letter == "|":
            is_boundary = False
            continue
        size = 2 if letter in "tT" else 1
        units.append(Unit(at, at + size, KINDS[letter.lower()], is_in_flight=letter == "T", is_boundary=is_boundary))
        at, is_boundary = at + size, True
    return units


def kept(shape: str, keep: Any, *, cost: int = 10, window: int = 1_000) -> str:
    units = units_of(shape)
    return shape[keep_from(units, [cost] * len(units), keep, window=window) :]


@pytest.mark.parametrize(
    ("shape", "turns", "expected"),
    [
        ("rara", 1, "ra"),
        ("rara", 2, "rara"),
        ("rara", 9, "rara"),
        ("rara", 0, ""),
        ("rttt", 1, "t"),
        ("rttt", 2, "tt"),
        ("rttt", 3, "rttt"),
        ("rtta", 1, "a"),
        ("rtta", 2, "ta"),
        ("rtar", 1, "r"),
        ("rtar", 2, "ar"),
        ("rtaara", 1, "ra"),
        ("rtaara", 2, "aara"),
        ("rntta", 3, "rntta"),
        ("aaa", 1, "aaa"),
        ("ttt", 2, "tt"),
        ("", 3, ""),
        ("r", 1, "r"),
        ("rrr", 2, "rr"),
    ],
)
def test_a_turn_begins_at_a_person_and_in_a_tool_loop_at_each_answer_to_results(shape: str, turns: int, expected: str) -> None:
    """`("turns", n)` over conversations of any shape."""
    assert expected == kept(shape, ("turns", turns))


def test_a_note_begins_no_turn() -> None:
    """Text we put there is nobody's turn."""
    assert [0, 2] == turn_starts(units_of("rnra"))


@pytest.mark.parametrize(
    ("shape", "messages", "expected"),
    [
        ("rara", 1, "a"),
        ("rara", 3, "ara"),
        ("rtta", 2, "ta"),
        ("rtta", 3, "ta"),
        ("rtta", 4, "tta"),
        ("rtta", 99, "rtta"),
        ("ra", 0, ""),
        ("", 2, ""),
    ],
)
def test_messages_are_kept_in_whole_units(shape: str, messages: int, expected: str) -> None:
    """A unit of which one message is asked for stays whole."""
    assert expected == kept(shape, ("messages", messages))


@pytest.mark.parametrize(
    ("keep", "expected"),
    [
        (("tokens", 0), ""),
        (("tokens", 9), ""),
        (("tokens", 10), "a"),
        (("tokens", 25), "ra"),
        (("tokens", 999), "rara"),
        (("fraction", 0.02), "ra"),
        (("fraction", 1), "rara"),
    ],
)
def test_tokens_are_kept_up_to_the_last_unit_that_fits(keep: Any, expected: str) -> None:
    """Never more than was asked for; a fraction is one of the window."""
    assert expected == kept("rara", keep)


def pick(
    shape: str, keep: Any = ("turns", 1), *, costs: list[int] | None = None, request: int | None = None, shrink: bool = True, **claims: Any
) -> Choice:
    units = units_of(shape)
    defaults = {"fixed": 0, "reserve": 0, "reserve_floor": 0, "goal": None}
    return choose(
        units,
        costs or [10] * len(units),
        keep,
        Claims(**{**defaults, **claims}),
        window=1_000,
        request=request,
        may_shrink_keep=shrink,
    )


def test_nothing_leaves_an_empty_list() -> None:
    """What is needed is what stands before it."""
    assert Choice(0, fits=True, kept_tokens=0, needed=5) == pick("", fixed=5, reserve_floor=2)
    assert not pick("", fixed=5, goal=4).fits


@pytest.mark.parametrize(("goal", "fits"), [(8, True), (7, False), (None, True)])
def test_a_carried_request_takes_room_where_nothing_else_stands(goal: int | None, *, fits: bool) -> None:
    """It is added to what is fixed, and the goal holds for both."""
    claims = Claims(fixed=5, reserve=0, reserve_floor=0, goal=goal)
    assert Choice(0, fits=fits, kept_tokens=0, needed=8) == choose(
        [], [], ("turns", 1), claims, window=100, request=None, carried=3, may_shrink_keep=True
    )


def test_without_a_goal_everything_before_keep_leaves() -> None:
    """The plain case."""
    choice = pick("rarra", ("turns", 1))

    assert (3, 20, True) == (choice.at, choice.kept_tokens, choice.fits)


def test_a_unit_in_flight_never_leaves() -> None:
    """A call that waits for its result, whatever `keep` says."""
    assert 3 == pick("rtT", ("turns", 0)).at
    assert not pick("rtT", ("turns", 0), goal=5).fits


def test_a_cut_lies_at_a_boundary_only() -> None:
    """Where a message before the cut belongs to a unit after it, the cut moves back."""
    assert [1, 5] == [pick(shape, ("messages", 1)).at for shape in ("rt|t|a", "rtta")]
    assert 0 == pick("r|t|t|a", ("messages", 1)).at


def test_evicting_nothing_but_the_request_is_no_eviction() -> None:
    """It would stand in the view all the same."""
    assert 0 == pick("rT", ("turns", 1), request=0).at
    assert 1 == pick("aT", ("messages", 1)).at


def test_an_evicted_request_is_paid_for_again() -> None:
    """It stands in every view, so a cut after it needs its tokens."""
    whole = pick("rttt", ("turns", 1), request=0, fixed=1, reserve_floor=2)

    assert (5, 1 + 2 + 10 + 10) == (whole.at, whole.needed)


def test_the_budget_is_claimed_in_order() -> None:
    """Pins and request are never given up; `keep` shrinks from its oldest unit; `min_kept` comes last."""
    shape = "rtttttttt"  # 90 tokens
    roomy = pick(shape, ("turns", 6), request=0, fixed=20, reserve=15, reserve_floor=5, goal=110)
    tight = pick(shape, ("turns", 6), request=0, fixed=20, reserve=15, reserve_floor=5, goal=70)
    least = pick(shape, ("turns", 6), request=0, fixed=20, reserve=15, reserve_floor=5, goal=45)
    never = pick(shape, ("turns", 6), request=0, fixed=20, reserve=15, reserve_floor=5, goal=44)

    assert (60, 20, 10, 10) == (roomy.kept_tokens, tight.kept_tokens, least.kept_tokens, never.kept_tokens)
    assert (True, True, True, False) == (roomy.fits, tight.fits, least.fits, never.fits)
    assert 45 == never.needed


def test_keep_is_not_given_up_where_it_was_promised() -> None:
    """In an agent that is not full, the choice says that it does not fit and keeps what was asked for."""
    choice = pick("rtttttt", ("turns", 4), request=0, fixed=20, goal=30, shrink=False)

    assert (False, 40) == (choice.fits, choice.kept_tokens)


def test_more_stays_raw_up_to_min_kept_if_the_goal_allows() -> None:
    """The last claim: never at the cost of another."""
    free = pick("rtttttttt", ("turns", 1), request=0, fixed=20, reserve=10, goal=200, min_kept=35)
    bound = pick("rtttttttt", ("turns", 1), request=0, fixed=20, reserve=10, goal=65, min_kept=35)
    none = pick("rtttttttt", ("turns", 1), request=0, fixed=20, reserve=10, goal=200)

    assert (40, 20, 10) == (free.kept_tokens, bound.kept_tokens, none.kept_tokens)


@pytest.mark.parametrize(
    ("costs", "room", "expected"),
    [
        ([10, 10, 10], 30, {}),
        ([10, 10, 100], 60, {2: 40}),
        ([100, 100, 100], 60, {0: 20, 1: 20, 2: 20}),
        ([5, 100, 200], 105, {1: 50, 2: 50}),
        ([100], 0, {0: 1}),
        ([], 50, {}),
        ([0, 0], 0, {}),
    ],
)
def test_large_results_share_what_is_left_by_the_small_ones(costs: list[int], room: int, expected: dict[int, int]) -> None:
    """One common cap: small results stay whole."""
    assert expected == shares([human("x")] * len(costs), costs, room)


@given(st.lists(st.integers(0, 10_000), max_size=30), st.integers(0, 100_000))
def test_shares_never_exceed_the_room(costs: list[int], room: int) -> None:
    """What is left of all of them fits, down to a token each."""
    cut = shares([human("x")] * len(costs), costs, room)

    assert sum(cut.get(index, cost) for index, cost in enumerate(costs)) <= max(room, len(cut))
    assert all(cut[index] <= costs[index] for index in cut if costs[index])


@given(any_conversations(), keeps, st.none() | st.integers(1, 3_000), st.integers(0, 500))
def test_a_cut_is_lawful_whatever_the_conversation(messages: list[BaseMessage], keep: Any, goal: int | None, min_kept: int) -> None:
    """Whole units, at a boundary, nothing in flight evicted, and the numbers are those of the cut."""
    repaired = repair(messages)
    units = repaired.units
    costs = [count_characters(repaired.messages[unit.start : unit.stop]) for unit in units]
    request = last_request(repaired.messages)
    claims = Claims(fixed=30, reserve=80, reserve_floor=20, goal=goal, min_kept=min_kept)
    choice = choose(units, costs, keep, claims, window=4_000, request=request, may_shrink_keep=True)

    edges = {unit.start for unit in units if unit.is_boundary} | {0, len(repaired.messages)}
    assert choice.at in edges
    assert not any(unit.is_in_flight for unit in units if unit.stop <= choice.at)
    assert choice.kept_tokens == sum(cost for unit, cost in zip(units, costs, strict=True) if unit.start >= choice.at)
    assert choice.fits == (goal is None or choice.needed <= goal)
    if goal is None:
        asked = keep_from(units, costs, keep, window=4_000)
        assert all(unit.start >= choice.at for unit in units[asked:])


def test_a_long_loop_is_decided_in_linear_time() -> None:
    """20,000 units, most of which must go."""
    units = units_of("r" + "t" * 20_000)
    started = time.perf_counter()
    choice = choose(
        units,
        [10] * len(units),
        ("turns", 15_000),
        Claims(fixed=100, reserve=100, reserve_floor=50, goal=5_000, min_kept=4_000),
        window=10_000,
        request=0,
        may_shrink_keep=True,
    )

    assert choice.fits
    assert time.perf_counter() - started < 1.0


def test_the_units_of_a_real_loop_are_kept_by_turns() -> None:
    """From messages, not from shapes."""
    messages = [human("q"), ai(calls=["a", "b"]), result("b"), result("a"), ai(calls=["c"]), result("c"), ai("done")]
    units = repair(messages).units

    assert ["request", "tools", "tools", "reply"] == [unit.kind for unit in units]
    assert [messages[units[keep_from(units, [1] * 4, ("turns", n), window=9)].start] for n in (1, 2, 3)] == [messages[6], messages[4], messages[0]]


@pytest.mark.parametrize(("goal", "at"), [(150, 0), (110, 4), (85, 4), (70, 3), (60, 4), (35, 4), (10, 4)])
def test_what_was_said_before_has_its_room_before_newer_talk(goal: int, at: int) -> None:
    """The reserve shrinks by quarters and only where no cut leaves more of it; then as much stays as it leaves room for."""
    assert at == pick("rrrrr", ("turns", 5), reserve=100, goal=goal).at

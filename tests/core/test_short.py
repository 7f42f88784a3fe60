"""When a caller's budget is short, and where the list is cut then: what people stated has room before anything that can be read again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.candidate import Bench
from langchain_ctxguard.core.material import Bounds, bounds_of, choice_of, material_of
from langchain_ctxguard.core.short import LARGEST, TightBench, may_be_short, tells_too_little, tight_bench
from langchain_ctxguard.core.situation import Plan, Situation
from langchain_ctxguard.domain.config import CompactionSettings
from langchain_ctxguard.domain.context import ContextBody, ContextHead, TightForm
from langchain_ctxguard.domain.evidence import Evidence
from langchain_ctxguard.domain.summary import StructuredSummary
from tests.support.builders import ai, count_characters, human, result

STATED = (
    "PREFERENCE: I want short answers with examples from gardening.",
    "FACT: The greenhouse controller is named Otter-41.",
    "FACT: The deadline of the seed order is 2027-03-14.",
    "PREFERENCE: My contact code is ZK-207.",
)
RULE = "RULE: Never open the east window after nine."


def talked(*stated: str) -> list[BaseMessage]:
    """Return talk in which things are stated."""
    messages: list[BaseMessage] = []
    for number, words in enumerate(stated):
        messages += [human(words, f"h{number}"), ai(f"I see, let us go on with number {number}.", message_id=f"a{number}")]
    return messages


def loop(*sizes: int) -> list[BaseMessage]:
    """Return a request and tool calls after it, with results so long."""
    messages: list[BaseMessage] = [human("Look at the beds now.", "ask")]
    for number, size in enumerate(sizes):
        messages += [ai(calls=[f"c{number}"], message_id=f"call{number}"), result(f"c{number}", "leaf " * (size // 5), message_id=f"r{number}")]
    return messages


def plan(limit: int | None = 300, **more: Any) -> Plan:
    chosen: dict[str, Any] = {"trigger": "requested", "keep": ("turns", 1), "window": 8_000, "goal": limit, "limit": limit, "is_callers_budget": True}
    return Plan(settings=CompactionSettings.of(), **(chosen | more))


def ordinary_of(situation: Situation, plan: Plan) -> tuple[Bench, Bounds, int]:
    """Return the bench of the ordinary form, its bounds, and the tokens of the view."""
    before = count_characters(situation.view().all)
    bounds = bounds_of(situation, plan, situation.repaired, count_characters, tokens_before=before)
    choice, elided = choice_of(situation, situation.repaired, plan, bounds, count_characters, is_full=True, tokens_before=before)
    material = material_of(situation, plan, choice.at, elided, count_characters)
    return Bench(situation, plan, material, bounds, count_characters), bounds, before


def tight(messages: list[BaseMessage], plan: Plan, *, has_ordinary: bool = False) -> TightBench | None:
    situation = Situation(tail=messages)
    ordinary, bounds, before = ordinary_of(situation, plan)
    return tight_bench(situation, plan, bounds, count_characters, tokens_before=before, ordinary=ordinary if has_ordinary else None)


@pytest.mark.parametrize(
    ("limit", "is_callers", "is_full", "expected"),
    [
        (LARGEST, True, True, True),
        (1, True, True, True),
        (LARGEST + 1, True, True, False),
        (None, True, True, False),
        (LARGEST, False, True, False),
        (LARGEST, True, False, False),
    ],
)
def test_only_a_small_budget_of_a_caller_that_must_be_met_is_short(limit: int | None, is_callers: bool, is_full: bool, expected: bool) -> None:  # noqa: FBT001
    """A large one, none, an agent's own trigger, and a view that fits already are not."""
    assert expected is may_be_short(plan(limit, is_callers_budget=is_callers), is_full=is_full)


def least_room(bench: Bench) -> int:
    """Return the smallest room for a summary beside its frame in which the ordinary form tells enough."""
    floor = bench.bounds.floor
    return next(room for room in range(2_000) if not tells_too_little(replace(bench, bounds=replace(bench.bounds, summary=floor + room))))


def test_the_ordinary_form_needs_room_for_more_than_what_people_stated() -> None:
    """Some of it is for what was done and found out; talk and rules take none of it, and each statement takes more."""
    needed = sum(count_characters([human(words)]) - count_characters([human("")]) for words in STATED)
    rooms = [
        least_room(ordinary_of(Situation(tail=[*talked(*said), *loop(40)]), plan())[0])
        for said in ((), ("It rained on the way.",), STATED[:2], STATED, (*STATED, "It rained on the way."), (RULE, *STATED))
    ]
    assert 0 == rooms[0] == rooms[1] < rooms[2]
    assert needed < rooms[3] == rooms[4] == rooms[5] < 3 * needed
    assert rooms[2] < rooms[3]


def test_a_tight_record_stays_tight_until_there_is_clearly_more_room() -> None:
    """It does not change its form for a few words."""
    body = ContextBody(summary=StructuredSummary(), evidence=Evidence(), summary_id="s", tight=TightForm())
    bench, _, _ = ordinary_of(Situation(tail=[*talked(*STATED), *loop(40)]), plan())
    again = replace(bench, situation=replace(bench.situation, head=ContextHead(version=1, body=body)))
    assert least_room(bench) * 11 // 10 < least_room(again)


@pytest.mark.parametrize("limit", [260, 320, 400, 500, 600])
def test_what_follows_the_newest_request_stays_as_far_as_it_fits(limit: int) -> None:
    """From the newest call back, so many that the next older one would be too much."""
    messages = [*talked(*STATED, RULE), *loop(*[150] * 8)]
    made = tight(messages, plan(limit))
    assert made is not None
    unit = count_characters(messages[-2:])
    assert limit - unit < made.least.tokens <= limit
    assert 0 == (len(messages) - made.bench.material.at) % 2


def test_with_room_everything_from_the_newest_request_on_stays() -> None:
    """And no more than was asked to be kept, where that was said in messages."""
    messages = [*talked(*STATED, RULE), *loop(*[150] * 8)]
    for keep, at in ((("turns", 1), 10), (("tokens", 50), 10), (("messages", 4), len(messages) - 4), (("messages", 900), 10)):
        made = tight(messages, plan(1_500, keep=keep))
        assert made is not None
        assert at == made.bench.material.at


def test_where_nothing_can_leave_there_is_no_tight_form() -> None:
    """The newest request alone is all there is."""
    assert tight([human("Look at the beds now.", "ask")], plan()) is None


def test_what_was_asked_to_be_kept_stays_where_all_that_people_stated_has_room_beside_it() -> None:
    """More than the newest request and what follows it, where the ordinary form was tried before."""
    messages = [*talked(*STATED, RULE), *talked(*["It rained on the way to work again, and then it did not."] * 6), *loop(40)]
    kept = tight(messages, plan(700, keep=("messages", 9)), has_ordinary=True)
    alone = tight(messages, plan(700, keep=("messages", 9)))
    assert kept is not None
    assert alone is not None
    assert (len(messages) - 9, len(messages) - 3) == (kept.bench.material.at, alone.bench.material.at)

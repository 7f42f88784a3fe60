from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.bounds import bounded_evidence, bounded_summary, text_tokens, with_files_listed
from langchain_ctxguard.core.effects import CountTokens
from langchain_ctxguard.core.evidence import done_files, listed_files
from langchain_ctxguard.core.render import render_evidence, render_files, render_summary
from langchain_ctxguard.core.text import clipped
from langchain_ctxguard.domain.evidence import Action, Artifact, Evidence
from langchain_ctxguard.domain.summary import Decision, Fact, PendingItem, StructuredSummary, Trust
from tests.support.builders import count_characters


def count_bytes(messages: Sequence[BaseMessage]) -> int:
    """Count as vocabularies do for scripts they do not know: a token a byte."""
    return sum(len(str(message.content).encode("utf-8", "replace")) for message in messages)


def count_worse_together(messages: Sequence[BaseMessage]) -> int:
    """Count so that the whole costs more than its lines: no estimate by lines holds."""
    size = sum(len(str(message.content)) for message in messages)
    return size // 4 + size * size // 20_000


def count_in_steps(messages: Sequence[BaseMessage]) -> int:
    """Count so coarsely that single lines cost nothing."""
    return sum(len(str(message.content)) // 100 for message in messages) * 25


COUNTERS: list[CountTokens] = [count_characters, count_bytes, count_worse_together, count_in_steps]
SCRIPTS = ("Fact number {0} of the English kind", "第{0}条事实：订单已经发货，请核对", "🙂{0}é" * 9)


def summary_of(size: int, text: str = SCRIPTS[0]) -> StructuredSummary:
    lines = tuple(text.format(number) for number in range(size))
    return StructuredSummary(
        original_goal=text.format("goal"),
        user_intent=text.format("intent"),
        pending_items=tuple(f"todo {line}" for line in lines[: size // 4]),
        facts=tuple(Fact(statement=line, status=Trust.CONFIRMED, said_by="tool") for line in lines),
        decisions=tuple(Decision(chosen=line, why=line) for line in lines[: size // 8]),
        open_questions=tuple(f"{line}?" for line in lines[: size // 8]),
        language="en",
    )


def action(number: int, text: str = "x") -> Action:
    return Action(tool="query", call_id=f"c{number}", arguments=f'{{"n": {number}}}', argument_digest="d", status="done", result=text)


def evidence_of(size: int, text: str = "x") -> Evidence:
    return Evidence(
        actions=tuple(action(number, text) for number in range(size)),
        artifacts=tuple(Artifact(path=f"src/{text[:40]}/{number}.py", last_tool="edit", last_status="done") for number in range(size)),
        omitted_actions=7,
    )


def cost(summary: StructuredSummary, count: CountTokens) -> int:
    return text_tokens(count, render_summary(summary, version=1))


@pytest.mark.parametrize("count", COUNTERS)
@pytest.mark.parametrize("text", SCRIPTS)
@pytest.mark.parametrize("limit", [300, 700, 3_000])
def test_a_summary_stays_within_its_bound_over_a_hundred_rounds(count: CountTokens, text: str, limit: int) -> None:
    """Whatever is added, whatever the script, however the counter counts."""
    frame = cost(StructuredSummary(), count)
    summary = StructuredSummary(original_goal=text.format("goal"), language="zh")
    for number in range(100):
        told = summary.facts, summary.pending_items, summary.decisions
        summary = bounded_summary(
            summary.model_copy(
                update={
                    "user_intent": (text.format(number), *summary.user_intent)[:3],
                    "facts": (*told[0], *(Fact(statement=text.format(f"{number}-{part}")) for part in range(4))),
                    "pending_items": (*told[1][-2:], PendingItem(text=f"open {text.format(number)}")),
                    "decisions": (*told[2][-1:], Decision(chosen=text.format(number))),
                }
            ),
            version=1,
            max_tokens=limit,
            count=count,
        )

        assert cost(summary, count) <= max(limit, frame)

    assert "zh" == summary.language
    if limit > frame + 1_000:
        assert text.format("99-3") == summary.facts[-1].statement
        assert f"open {text.format(99)}" == summary.pending_items[-1].text


@pytest.mark.parametrize("count", COUNTERS)
@pytest.mark.parametrize("limit", [200, 600, 1_500])
def test_what_is_newest_stays(count: CountTokens, limit: int) -> None:
    """Of each kind a suffix is left: nothing is picked out of the middle."""
    whole = summary_of(200)
    kept = bounded_summary(whole, version=1, max_tokens=limit, count=count)

    for name in ("pending_items", "facts", "decisions", "open_questions"):
        left = getattr(kept, name)
        assert left == getattr(whole, name)[len(getattr(whole, name)) - len(left) :]


def test_what_fits_is_the_same_object() -> None:
    """Nothing is rewritten without need."""
    summary, evidence = summary_of(5), evidence_of(5)

    assert bounded_summary(summary, version=1, max_tokens=10_000, count=count_characters) is summary
    assert bounded_evidence(evidence, max_tokens=10_000, count=count_characters) is evidence


@pytest.mark.parametrize("limit", [-5, 0, 1, 10, 50, 100, 150])
@pytest.mark.parametrize("count", COUNTERS)
def test_a_tiny_bound_leaves_the_frame_at_most(limit: int, count: CountTokens) -> None:
    """No bound makes it raise, loop or exceed what an empty one costs."""
    kept = bounded_summary(summary_of(50, SCRIPTS[1]), version=1, max_tokens=limit, count=count)

    assert cost(kept, count) <= max(limit, cost(StructuredSummary(), count))


@pytest.mark.parametrize("text", ["x" * 600, "字" * 600, "word " * 120])
def test_one_very_long_item_is_shortened_rather_than_lost(text: str) -> None:
    """The newest fact is told as far as there is room, and the mark shows that it goes on."""
    summary = StructuredSummary(original_goal="goal", facts=(Fact(statement="old"), Fact(statement=text, status=Trust.CONFIRMED, said_by="tool")))
    kept = bounded_summary(summary, version=1, max_tokens=200, count=count_characters)

    assert cost(kept, count_characters) <= 200
    assert 1 == len(kept.facts)
    assert kept.facts[-1].statement.endswith("…")
    assert text.startswith(kept.facts[-1].statement.removesuffix("…"))
    assert Trust.CONFIRMED == kept.facts[-1].status


def test_many_open_items_leave_room_for_the_newest_fact() -> None:
    """No kind of item starves the others."""
    summary = StructuredSummary(pending_items=tuple(f"open item number {number}" for number in range(500)), facts=(Fact(statement="the key fact"),))
    kept = bounded_summary(summary, version=1, max_tokens=400, count=count_characters)

    assert ("the key fact",) == tuple(fact.statement for fact in kept.facts)
    assert "open item number 499" == kept.pending_items[-1].text


def test_a_goal_and_an_intent_of_any_length_leave_room_for_items() -> None:
    """Pasted documents are goals too."""
    summary = StructuredSummary(
        original_goal="g" * 50_000, user_intent="i" * 50_000, pending_items=("call Bob",), facts=(Fact(statement="it is blue"),)
    )
    kept = bounded_summary(summary, version=1, max_tokens=400, count=count_characters)

    assert (["call Bob"], 1) == ([item.text for item in kept.pending_items], len(kept.facts))
    assert kept.original_goal.startswith("ggg")
    assert kept.user_intent[0].startswith("iii")


@pytest.mark.parametrize(("limit", "count"), [*product([250, 1_000], COUNTERS), (5_000, count_bytes)])
@pytest.mark.parametrize("text", ["x", "已付款，等待发货" * 10, "🙂" * 100])
def test_evidence_stays_within_its_bound_over_a_hundred_rounds(count: CountTokens, text: str, limit: int) -> None:
    """What is dropped is counted, so nothing vanishes without a trace."""
    evidence = Evidence()
    for number in range(100):
        actions = (*evidence.actions, *(action(number * 10 + part, text) for part in range(10)))
        evidence = bounded_evidence(evidence.model_copy(update={"actions": actions}), max_tokens=limit, count=count)

        counted = Evidence(omitted_actions=10 * (number + 1))
        assert text_tokens(count, render_evidence(evidence)) <= max(limit, text_tokens(count, render_evidence(counted)))
        assert 10 * (number + 1) == len(evidence.actions) + evidence.omitted_actions
        assert evidence.actions == () or f"c{number * 10 + 9}" == evidence.actions[-1].call_id


@pytest.mark.parametrize("count", COUNTERS)
@pytest.mark.parametrize("limit", [-1, 0, 50, 150])
def test_evidence_without_room_is_a_count(count: CountTokens, limit: int) -> None:
    """The least that is left says how much there was."""
    evidence = bounded_evidence(evidence_of(40), max_tokens=limit, count=count)

    assert (47, 40) == (len(evidence.actions) + evidence.omitted_actions, len(evidence.artifacts) + evidence.omitted_artifacts)


def test_files_do_not_crowd_out_actions() -> None:
    """Both kinds keep their newest."""
    evidence = bounded_evidence(evidence_of(400), max_tokens=1_000, count=count_characters)

    assert "c399" == evidence.actions[-1].call_id
    assert evidence.artifacts[-1].path.endswith("/399.py")
    assert evidence.actions[0].call_id != "c0"


@pytest.mark.parametrize("limit", [400, 600, 1_000, 3_000])
def test_facts_are_a_quarter_of_what_is_told_at_least(limit: int) -> None:
    """Where there is too much of each kind, none takes room that another has used already."""
    kept = bounded_summary(summary_of(200), version=1, max_tokens=limit, count=count_characters)

    others = len(kept.pending_items) + len(kept.decisions) + len(kept.open_questions)
    assert 0 < others + len(kept.facts) <= 4 * len(kept.facts)


@pytest.mark.parametrize("limit", [250, 300, 350, 400, 450])
def test_a_count_of_what_is_dropped_has_room_where_there_is_something_to_count(limit: int) -> None:
    """Amounts that leave are counted, within the bound; facts of the same length that nobody counts need no such line, so more of them stay."""
    names = [first + second for first in ("amber", "birch", "cedar", "daisy", "elder") for second in ("house", "field", "wood", "lane", "bank")] * 2

    def told(price: str) -> StructuredSummary:
        facts = tuple(Fact(statement=f"The gate of {name} costs {price}", said_by="tool") for name in names)
        return bounded_summary(StructuredSummary(facts=facts), version=1, max_tokens=limit, count=count_characters)

    plain, counted = told("nothing"), told("12 EUR.")
    assert len("nothing") == len("12 EUR.")
    assert plain.left_out is None
    assert counted.left_out is not None
    assert len(counted.facts) < len(plain.facts)
    assert cost(counted, count_characters) <= limit


def test_finished_files_are_named_as_far_as_a_fifth_of_the_bound_goes() -> None:
    """The newest; all of them where they fit to the token, and the last of them alone where there is room for no more."""
    evidence = Evidence(
        artifacts=tuple(Artifact(path=f"src/part_{number}.py", last_tool="edit", last_status="done", is_done=True) for number in range(10, 30))
    )
    files = done_files(evidence)
    whole = 5 * text_tokens(count_characters, render_files(files))

    for limit, least, most in ((whole + 1, 20, 20), (whole, 20, 20), (whole - 5, 10, 19), (whole // 3, 3, 6), (0, 0, 0)):
        told = with_files_listed(evidence, max_tokens=limit, count=count_characters)
        shown = tuple(listed_files(told))
        assert least <= len(shown) <= most
        assert files[20 - len(shown) :] == shown
        assert (told.files_listed is None) == (len(shown) == 20)
        assert not shown or 5 * text_tokens(count_characters, render_files(shown)) <= limit


def test_without_finished_files_none_are_named() -> None:
    """Whatever the bound."""
    assert Evidence() == with_files_listed(Evidence(), max_tokens=0, count=count_characters)


def test_empty_evidence_stays_empty() -> None:
    """No count of nothing."""
    assert Evidence() == bounded_evidence(Evidence(), max_tokens=0, count=count_characters)


@pytest.mark.parametrize(
    ("text", "limit", "expected"), [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("a bcd", 3, "a…"), ("abc", 0, "…"), ("", 0, ""), ("字字字字", 2, "字…")]
)
def test_clipped_is_never_longer_than_its_limit(text: str, limit: int, expected: str) -> None:
    """The ellipsis counts; of nothing at all it is what is left."""
    assert expected == clipped(text, limit)


def test_bounding_five_thousand_items_asks_the_counter_only_for_what_is_kept() -> None:
    """What is dropped is not counted item by item."""
    asked = 0

    def count(messages: Sequence[BaseMessage]) -> int:
        nonlocal asked
        asked += 1
        return count_characters(messages)

    bounded_summary(summary_of(5_000), version=1, max_tokens=1_500, count=count)
    bounded_evidence(evidence_of(5_000), max_tokens=3_000, count=count)

    assert asked < 1_000


@given(st.lists(st.text(max_size=80), max_size=20), st.integers(-10, 500), st.sampled_from(COUNTERS))
def test_any_texts_at_any_bound(texts: list[str], limit: int, count: CountTokens) -> None:
    """Lone surrogates, control characters, tags: the bound holds or only the frame is left."""
    summary = StructuredSummary(original_goal="".join(texts), pending_items=tuple(texts), facts=tuple(Fact(statement=text) for text in texts))

    assert cost(bounded_summary(summary, version=1, max_tokens=limit, count=count), count) <= max(limit, cost(StructuredSummary(), count))


def test_what_was_noted_down_stays_before_newer_talk() -> None:
    """So do errors and what was put right; the newest talk keeps a part of the room."""
    notes = [Fact(statement=f"NOTE: cellar {name} is dry.", said_by="user") for name in ("amber", "birch")]
    error = Fact(statement="Error: no seat left", said_by="tool")
    talk = [Fact(statement=f"The kettle of kitchen {number} is slow today.", said_by="user") for number in range(40)]
    told = [Fact(statement=f"NOTE: kettle {number} is slow.", said_by="ai") for number in range(40)]
    summary = StructuredSummary(original_goal="Hello.", user_intent=("Go on.",), facts=(*notes, error, *talk, *told))
    kept = bounded_summary(summary, version=1, max_tokens=500, count=count_characters).facts
    assert [*notes, error] == list(kept[:3])
    assert told[-1] in kept
    assert told[0] not in kept


def test_notes_leave_room_for_what_is_newest() -> None:
    """However many there are."""
    notes = tuple(Fact(statement=f"NOTE: cellar {number} is dry.", said_by="user") for number in range(80))
    found = Fact(statement="The parcel is at customs.", said_by="ai")
    kept = bounded_summary(StructuredSummary(facts=(*notes, found)), version=1, max_tokens=1_200, count=count_characters).facts
    assert found in kept
    assert notes[-1] in kept
    assert notes[0] not in kept

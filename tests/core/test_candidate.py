"""What a bench makes of a draft, and what it knows of the messages that leave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage

from langchain_ctxguard.core.bounds import text_tokens
from langchain_ctxguard.core.candidate import Bench, Candidate
from langchain_ctxguard.core.material import Bounds, material_of
from langchain_ctxguard.core.render import render_evidence
from langchain_ctxguard.core.roles import SUMMARY
from langchain_ctxguard.core.situation import FieldPlan, Plan, Situation
from langchain_ctxguard.domain.config import CompactionSettings
from langchain_ctxguard.domain.evidence import Evidence
from langchain_ctxguard.domain.summary import Fact, SummaryDraft
from tests.support.builders import ai, count_characters, human, result

DRAFT = SummaryDraft(facts=tuple(Fact(statement=f"Shelf {number} holds blue paint") for number in range(40)))


def count(messages: Sequence[BaseMessage]) -> int:
    """Count in eighths, so that an eighth of a sum is a whole number of tokens."""
    return 8 * count_characters(messages)


def bench(*messages: BaseMessage, at: int, **options: Any) -> Bench:
    """Return the bench of a cut before message `at`."""
    situation = Situation(tail=list(messages))
    plan = Plan(**{"settings": CompactionSettings(), "trigger": "tokens", "keep": ("turns", 1), "window": 1_000_000, **options})
    return Bench(situation, plan, material_of(situation, plan, at, {}, count), Bounds(summary=20_000, evidence=20_000, floor=100), count)


def candidate(made: Bench) -> Candidate:
    return made.candidate(made.cleaned(DRAFT, made.sources), made.sources)


@pytest.mark.parametrize(("inferred", "told"), [("pin", False), ("ask", False), ("off", True)])
def test_a_rule_that_was_taken_back_is_told_only_where_nobody_looks_for_rules(inferred: Any, *, told: bool) -> None:
    """Where rules are not looked for, their sentences are sentences like others."""
    rule = "From now on, always answer in German."
    made = bench(
        human(f"{rule} The parcel is blue."),
        ai("Gut."),
        human("From now on, answer in English. Go on."),
        ai("Ok."),
        at=2,
        inferred=inferred,
    )
    said = [fact.statement for fact in made.said]

    assert "The parcel is blue." in said
    assert told is (rule in said)


def test_room_is_reserved_for_the_critical_values_of_people_alone() -> None:
    """What a tool found has no claim to room of its own, however critical."""
    plan = {"fields": FieldPlan(), "must_keep": ("700 USD", "500 EUR")}
    theirs = bench(human("The budget is 500 EUR."), ai("Ok."), human("Go on."), at=2, **plan)
    both = bench(human("The budget is 500 EUR."), ai(calls=["c"]), result("c", "The limit is 700 USD."), human("Go on."), at=3, **plan)
    tools = bench(human("Look it up."), ai(calls=["c"]), result("c", "The limit is 700 USD."), human("Go on."), at=3, **plan)

    assert {"500 EUR", "700 USD"} == {field.raw for field in both.watched.checked if field.critical}
    assert 0 < theirs.values_tokens == both.values_tokens
    assert 0 == tools.values_tokens


@pytest.mark.parametrize(("beyond", "is_cut"), [(-1, True), (0, True), (1, False)])
def test_a_summary_is_cut_again_by_an_eighth_at_most(beyond: int, *, is_cut: bool) -> None:
    """What is further from the gain asked for is no summary."""
    made = bench(human("q " * 20_000), ai("a " * 20_000), human("now"), at=2)
    done = candidate(made)
    told = sum(count([message]) for message in done.view.messages if message.name == SUMMARY)
    least = int(made.plan.settings.min_gain * made.material.tokens)
    short = told // 8 + beyond
    again = made.with_gain(done, tokens_before=done.tokens + least - short)

    assert is_cut is (again is not None)
    if again is not None:
        assert candidate(again).tokens <= done.tokens - short
    assert made.with_gain(done, tokens_before=done.tokens + least) is None
    assert replace(made, plan=replace(made.plan, must_gain=False)).with_gain(done, tokens_before=done.tokens + least - 8) is None


def test_a_summary_that_is_cut_again_saves_what_was_asked_for() -> None:
    """However little was missing: the parts of a view never add up to more than was left for them."""
    made = replace(bench(human("q " * 20_000), ai("a " * 20_000), human("now"), at=2), count=count_characters)
    made = replace(made, material=material_of(made.situation, made.plan, 2, {}, count_characters))
    done = candidate(made)
    least = int(made.plan.settings.min_gain * made.material.tokens)
    cuts = {short: made.with_gain(done, tokens_before=done.tokens + least - short) for short in range(1, 20)}

    assert all(cut is not None and candidate(cut).tokens <= done.tokens - short for short, cut in cuts.items())


def test_a_rule_whose_value_changed_has_the_room_it_needs_to_say_so() -> None:
    """The mark of the value in force takes no room from the quotes, even where nothing else of the record has any."""
    rule, then = "From now on, report all times in Eastern time.", "Report all times in Pacific time instead."
    made = bench(human(rule), ai("Ok."), human(then), ai("Ok."), human("Go on."), at=2, fields=FieldPlan())
    alone = Evidence(inferred=made.material.evidence.inferred, inferred_shown=made.material.evidence.inferred_shown)
    bare = replace(made, bounds=replace(made.bounds, evidence=0, quoted=text_tokens(count, render_evidence(alone))))
    shown = "\n".join(str(message.text) for message in candidate(bare).view.messages)

    assert 'report all times in [now: Pacific time]."' in shown


def test_the_bound_of_a_summary_is_stretched_by_the_texts_to_keep_and_no_further() -> None:
    """What the summarizer told gives way to them; the files that were written are named all the same."""
    wanted = tuple(f"ORD-{number} was delivered on day {number}" for number in range(60))
    writing = AIMessage("", tool_calls=[{"name": "write_file", "args": {"file_path": "src/report.py", "content": "x"}, "id": "c1"}])
    said = [human("Look at the orders."), ai("Ok."), human("; ".join(wanted)), ai("Ok."), writing, result("c1", "ok"), human("Go on.")]
    made = bench(*said, at=6, must_keep=wanted)
    made = replace(made, bounds=replace(made.bounds, summary=8_000))
    crowd = SummaryDraft(facts=tuple(Fact(statement=f"Shelf {number} holds blue paint " + "and more " * 20) for number in range(40)))
    done = made.candidate(made.cleaned(crowd, made.sources), made.sources)
    (told,) = [message for message in done.view.messages if message.name == SUMMARY]

    assert 0 == done.lost < done.repaired
    assert "src/report.py" in str(told.text)
    assert count([told]) <= 8_000 + done.repaired * max(text_tokens(count, f"- [claimed by user] {text}\n") for text in wanted)

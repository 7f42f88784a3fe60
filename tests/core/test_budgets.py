from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage

from langchain_ctxguard.core.budgets import (
    BudgetNotCountableError,
    budget_fault,
    budget_state,
    charge_of,
    committed,
    released,
    reservation_of,
    reserved,
    usage_fault,
    usage_of,
)
from langchain_ctxguard.domain.budget import LEASE_S, BudgetEvent, BudgetState, Charge, Usage
from langchain_ctxguard.domain.policy import ToolRequest
from langchain_ctxguard.domain.prefix import PriceTable
from langchain_ctxguard.domain.tool_rule import BudgetRule, ToolRule

NOW = datetime(2026, 6, 30, 22, 30, tzinfo=UTC)


def charge(**limit: object) -> Charge:
    return Charge(rule="r", key="k", limit=BudgetRule.model_validate(limit), sums={"amount": Decimal(40)} if "sum" in limit else {})


def rule(**budget: object) -> ToolRule:
    return ToolRule.model_validate({"tool": "pay", "budget": budget})


def test_a_reservation_holds_until_it_is_settled_or_released() -> None:
    """What runs is used; what certainly did not run is free again."""
    one = charge(calls=2)
    events = [reserved(one, "a", now=NOW), reserved(one, "b", now=NOW)]
    assert "2 of 2 calls per thread are used (2 still running)" == budget_fault(one, budget_state(events, now=NOW), "c")
    events.append(released("a", now=NOW))
    assert budget_fault(one, budget_state(events, now=NOW), "c") is None
    events.append(committed("b", now=NOW))
    assert 1 == budget_state(events, now=NOW).calls


def test_past_its_lease_an_outcome_is_unknown_and_not_free() -> None:
    """Nobody knows whether the tool ran, so it stays used; an outcome that comes later still counts."""
    one = charge(calls=1)
    events = [reserved(one, "a", now=NOW)]
    assert () == budget_state(events, now=NOW + timedelta(seconds=LEASE_S - 1)).unknown
    late = NOW + timedelta(seconds=LEASE_S)
    state = budget_state(events, now=late)
    assert ("a",) == state.unknown
    assert "1 of 1 calls per thread are used (1 with an unknown outcome)" == budget_fault(one, state, "b")
    assert budget_fault(one, budget_state([*events, released("a", now=late)], now=late), "b") is None
    assert 1 == budget_state([*events, committed("a", now=late)], now=late).calls


def test_the_same_call_reserves_once() -> None:
    """Judged again at another layer, or after a person agreed, it is not charged again; run and made again, it is."""
    one = charge(calls=1)
    events = [reserved(one, "a", now=NOW), reserved(one, "a", now=NOW)]
    state = budget_state(events, now=NOW)
    assert 1 == state.calls
    assert budget_fault(one, state, "a") is None
    assert budget_fault(one, budget_state([*events, committed("a", now=NOW)], now=NOW), "a") is not None


def test_what_was_released_and_made_again_is_running_again() -> None:
    """A retry after a failure is charged."""
    one = charge(calls=1)
    events = [reserved(one, "a", now=NOW), released("a", now=NOW), reserved(one, "a", now=NOW)]
    assert 1 == budget_state(events, now=NOW).calls


def test_sums_are_exact() -> None:
    """No cent is lost or won by rounding."""
    one = Charge(rule="r", key="k", limit=BudgetRule.model_validate({"sum": {"amount": 0.3}}), sums={"amount": Decimal("0.1")})
    events = [reserved(one, "a", now=NOW), reserved(one, "b", now=NOW)]
    assert budget_fault(one, budget_state(events, now=NOW), "c") is None
    events.append(reserved(one, "c", now=NOW))
    assert "`amount` 0.1 would make 0.4 of 0.3 per thread (3 still running)" == budget_fault(one, budget_state(events, now=NOW), "d")


@pytest.mark.parametrize("amount", [-5, "-5", "a lot", "1,000", True, float("nan"), {"x": 1}, [1, -1]])
def test_what_cannot_be_added_up_is_not_charged(amount: object) -> None:
    """A negative amount would free a budget, and one that is no number would cost nothing."""
    with pytest.raises(BudgetNotCountableError):
        charge_of(ToolRequest(tool="pay", args={"amount": amount}, thread="t"), rule(sum={"amount": 10}), "r", now=NOW, timezone="UTC")


def test_an_amount_that_is_left_out_is_not_free() -> None:
    """Nobody knows what the tool takes then."""
    with pytest.raises(BudgetNotCountableError, match="left out"):
        charge_of(ToolRequest(tool="pay", thread="t"), rule(sum={"amount": 10}), "r", now=NOW, timezone="UTC")


def test_all_items_of_a_list_count() -> None:
    """Several amounts in one call are one sum."""
    request = ToolRequest(tool="pay", args={"parts": [{"amount": 1}, {"amount": "2.5"}]}, thread="t")
    assert {"parts.amount": Decimal("3.5")} == charge_of(request, rule(sum={"parts.amount": 10}), "r", now=NOW, timezone="UTC").sums


class TestScopes:
    def test_a_day_ends_where_the_user_lives(self) -> None:
        """Half past ten in the evening in London is tomorrow in Shanghai."""
        request = ToolRequest(tool="pay", thread="t")
        keys = [charge_of(request, rule(calls=1, per="day"), "r", now=NOW, timezone=zone).key for zone in ("UTC", "Asia/Shanghai")]
        assert ["2026-06-30", "2026-07-01"] == [key.rpartition("/")[2] for key in keys]

    def test_a_call_without_a_thread_or_run_cannot_be_charged_to_one(self) -> None:
        """It says how to pass one."""
        with pytest.raises(BudgetNotCountableError) as caught:
            charge_of(ToolRequest(tool="pay"), rule(calls=1), "r", now=NOW, timezone="UTC")
        assert "thread_id" in caught.value.instead
        with pytest.raises(BudgetNotCountableError):
            charge_of(ToolRequest(tool="pay", thread="t"), rule(calls=1, per="run"), "r", now=NOW, timezone="UTC")

    def test_sub_agents_of_one_thread_share_a_budget_and_other_threads_do_not(self) -> None:
        """The namespace of a sub-agent makes no other budget."""
        keys = [
            charge_of(ToolRequest(tool="pay", thread=thread, namespace=space), rule(calls=1), "r", now=NOW, timezone="UTC").key
            for thread, space in (("t", ""), ("t", "sub:1"), ("u", ""))
        ]
        assert keys[0] == keys[1] != keys[2]

    def test_another_limit_is_the_same_budget_and_another_rule_is_not(self) -> None:
        """Raising a limit does not begin anew; moving a rule in the file neither."""
        assert rule(calls=1).budget_id == rule(calls=9).budget_id
        assert rule(calls=1).budget_id != rule(calls=1, per="day").budget_id
        assert "mine" == ToolRule.model_validate({"id": "mine", "tool": "x", "budget": {"calls": 1}}).budget_id


def test_another_call_or_argument_is_another_reservation() -> None:
    """Everything that makes a call this call is in its name."""
    base = {"tool": "pay", "args": {"amount": 1}, "call_id": "c", "thread": "t"}
    names = [
        reservation_of(ToolRequest.model_validate({**base, **other}))
        for other in ({}, {"call_id": "d"}, {"args": {"amount": 2}}, {"thread": "u"}, {"namespace": "n"})
    ]
    assert 5 == len(set(names))
    assert names[0] == reservation_of(ToolRequest.model_validate({**base, "run": "another, after a crash"}))


class TestUsage:
    def test_tokens_and_cost_are_read_from_the_messages(self) -> None:
        """What the provider reported is what counts; without a price nobody knows the cost."""
        usage = {"input_tokens": 1_000, "output_tokens": 500, "total_tokens": 1_500}
        messages = [
            HumanMessage("x"),
            AIMessage("a", usage_metadata=usage, response_metadata={"model_name": "m"}),
            AIMessage("b", usage_metadata=usage, response_metadata={"model_name": "m"}),
            AIMessage("c"),
        ]
        prices = PriceTable.model_validate({"prices": {"m": {"input": "2", "output": "8"}}})
        assert Usage(tokens=3_000, cost=Decimal("0.012")) == usage_of(messages, prices)
        assert Usage(tokens=3_000, cost=None) == usage_of(messages)

    @pytest.mark.parametrize(
        ("limit", "usage", "fault"),
        [
            ({"tokens": 10}, Usage(tokens=9), None),
            ({"tokens": 10}, Usage(tokens=10), "10 of 10 tokens per thread are used"),
            ({"tokens": 10}, None, "nobody counted what was used per thread"),
            ({"cost": 1}, Usage(cost=Decimal("0.99")), None),
            ({"cost": 1}, Usage(cost=Decimal(1)), "1 of 1 per thread are spent"),
            ({"cost": 1}, Usage(), "nobody knows what was spent per thread: a model has no price"),
            ({"calls": 1}, None, None),
        ],
    )
    def test_what_nobody_counted_is_not_free(self, limit: dict[str, object], usage: Usage | None, fault: str | None) -> None:
        """A limit without a count refuses."""
        assert fault == usage_fault(BudgetRule.model_validate(limit), usage)


STEPS = st.lists(st.tuples(st.sampled_from(["reserve", "commit", "release"]), st.sampled_from("abcd"), st.integers(0, 1_200)), max_size=30)


@given(STEPS, st.integers(1, 3))
def test_no_order_of_events_lets_more_run_than_the_budget_holds(steps: list[tuple[str, str, int]], most: int) -> None:
    """Whoever asks before reserving never sees more than the limit used, however events are mixed, late or repeated."""
    one = charge(calls=most)
    events: list[BudgetEvent] = []
    now, ran = NOW, set[str]()
    for kind, name, later in steps:
        now += timedelta(seconds=later)
        if kind == "reserve":
            if budget_fault(one, budget_state(events, now=now), name) is None:
                events.append(reserved(one, name, now=now))
        else:
            held = name in budget_state(events, now=now).held
            events.append((committed if kind == "commit" else released)(name, now=now))
            ran |= {name} if kind == "commit" and held else set()
        state = budget_state(events, now=now)
        assert state.calls <= most
        assert ran == set(state.settled)
        assert set(state.unknown) <= set(state.held)


def test_an_empty_budget_is_unused() -> None:
    """A key nobody ever charged holds nothing."""
    assert BudgetState() == budget_state([], now=NOW)


def test_a_reservation_of_an_earlier_release_is_found_again() -> None:
    """Its name is on record: after an update the same call must not be charged twice."""
    request = ToolRequest(tool="pay", args={"amount": 40}, call_id="c1", thread="t", namespace="n")
    assert "64e6a1657377ee08dad174e0610a9337" == reservation_of(request)

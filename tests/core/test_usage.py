"""What model calls add up to, in whatever order and however often they are told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage

from langchain_ctxguard.core.usage import DayUsage, Moment, ThreadUsage, counted_for, day_of, day_usage, request_in, thread_usage, uses_of
from langchain_ctxguard.domain.policy import ToolPolicy
from langchain_ctxguard.domain.prefix import PriceTable
from langchain_ctxguard.domain.usage import DayTotal, Use, Used

NOW = datetime(2026, 6, 30, 12, tzinfo=UTC)
ZONES = ("UTC", "Asia/Shanghai")
USED: Any = {"input_tokens": 6, "output_tokens": 4, "total_tokens": 10}


def policy(*budgets: dict[str, Any], timezone: str = "UTC") -> ToolPolicy:
    """Return a policy with these budgets."""
    return ToolPolicy.from_dict({"rules": [{"tool": f"t{place}", "budget": budget} for place, budget in enumerate(budgets)], "timezone": timezone})


def test_what_is_counted_is_what_a_budget_asks_for() -> None:
    """Nothing for budgets of calls and sums, and the timezones of those by day alone."""
    assert not counted_for([policy({"calls": 1}, {"sum": {"a": 2}, "per": "day"}), lambda _: None]).periods
    found = counted_for([policy({"tokens": 1, "per": "day"}, {"cost": 1}, timezone="Asia/Shanghai"), policy({"tokens": 1, "per": "run"})])
    assert (frozenset({"day", "thread", "run"}), ("Asia/Shanghai",)) == found


def test_messages_belong_to_the_run_that_is_going_on_or_to_an_earlier_one() -> None:
    """And to no day, where they were there before anybody counted."""
    old, new = (AIMessage("a", id=name, usage_metadata=USED) for name in ("old", "new"))
    messages = [HumanMessage("1"), old, HumanMessage("2"), AIMessage("nothing said of usage", id="x"), new]
    later = uses_of(messages, {"x"}, None, Moment(NOW, "r"))
    assert [("old", "", NOW), ("new", "r", NOW)] == [(use.message, use.run, use.at) for use in later]
    first = uses_of(messages, (), None, Moment(NOW, "r", is_first=True))
    assert [("old", None), ("new", NOW)] == [(use.message, use.at) for use in first]
    assert [] == uses_of(messages, {"old", "new"}, None, Moment(NOW, "r"))


def test_without_a_request_all_answers_belong_to_the_run_that_is_going_on() -> None:
    """From the first message on; else from the newest request on, wherever that stands."""
    answers = [AIMessage("a", id=name, usage_metadata=USED) for name in ("a", "b")]
    assert ["r", "r"] == [use.run for use in uses_of(answers, (), None, Moment(NOW, "r"))]
    for place, runs in ((0, ["r", "r"]), (1, ["", "r"]), (2, ["", ""])):
        messages = [*answers[:place], HumanMessage("q"), *answers[place:]]
        assert place == request_in(messages)
        assert runs == [use.run for use in uses_of(messages, (), None, Moment(NOW, "r"))]
    assert 0 == request_in([])


def test_a_message_without_an_id_is_known_by_its_place_and_words() -> None:
    """Said twice it counts twice; seen twice it counts once. A chunk that was streamed counts like any answer."""
    messages = [AIMessage("same", usage_metadata=USED), AIMessageChunk("same", usage_metadata=USED)]
    names = [use.message for use in uses_of(messages, (), None, Moment(NOW))]
    assert 2 == len(set(names))
    assert [] == uses_of(messages, names, None, Moment(NOW))


def test_the_cost_is_unknown_as_soon_as_one_is() -> None:
    """A sum of prices that leaves one out would be too low."""
    prices = PriceTable(prices={"m": {"input": "1000000", "output": "1000000"}})
    priced, free = (AIMessage("a", id=name, usage_metadata=USED, response_metadata={"model_name": name}) for name in ("m", "other"))
    one = thread_usage([Used(uses=tuple(uses_of([priced], (), prices, Moment(NOW))))], ThreadUsage(), ())
    assert Decimal(10) == one.total.cost
    both = thread_usage([Used(uses=tuple(uses_of([free], (), prices, Moment(NOW))))], one, ())
    assert (20, None) == (both.total.tokens, both.total.cost)


def test_a_day_is_one_of_its_timezone() -> None:
    """The same moment belongs to two days where two policies end them at different times."""
    late = NOW.replace(hour=20)
    usage = thread_usage([Used(uses=(Use(message="a", tokens=3, at=late),))], ThreadUsage(), ZONES)
    assert ["day/UTC/2026-06-30", "day/Asia/Shanghai/2026-07-01"] == list(usage.by_day) == [day_of(late, zone) for zone in ZONES]


uses = st.builds(
    Use,
    message=st.sampled_from("abcdef"),
    tokens=st.integers(0, 50),
    cost=st.none() | st.decimals(0, 9, places=2),
    run=st.sampled_from(["", "r1", "r2"]),
    at=st.none() | st.integers(0, 60).map(lambda hours: NOW + timedelta(hours=hours)),
)


@given(st.lists(st.lists(uses, max_size=4), max_size=6), st.data())
def test_a_message_counts_once_however_its_entries_are_split_and_repeated(given_uses: list[list[Use]], data: st.DataObject) -> None:
    """Several workers, crashes and retries make the same sums as one process that counted everything once."""
    first: dict[str, Use] = {}
    for use in (use for some in given_uses for use in some):
        first.setdefault(use.message, use)
    usage = ThreadUsage()
    for some in given_uses:
        usage = thread_usage([Used(uses=tuple(some))], usage, ("UTC",))
        if data.draw(st.booleans()):
            usage = thread_usage([Used(uses=tuple(some))], usage, ("UTC",))
    assert sum(use.tokens for use in first.values()) == usage.total.tokens == sum(one.tokens for one in usage.by_run.values())
    assert sum(use.tokens for use in first.values() if use.at is not None) == sum(one.tokens for one in usage.by_day.values())


@given(st.lists(st.tuples(st.sampled_from("xyz"), st.integers(1, 9)), max_size=12))
def test_a_days_totals_may_come_late_twice_or_in_any_order(told: list[tuple[str, int]]) -> None:
    """Of each thread the total that knows most counts."""
    totals = [DayTotal(thread=thread, seq=seq, tokens=seq * 10, cost=Decimal(seq)) for thread, seq in told]
    newest = {thread: max(seq for name, seq in told if name == thread) for thread, _ in told}
    found = day_usage([*totals, *totals], day_usage(reversed(totals), DayUsage()))
    assert (sum(newest.values()) * 10, Decimal(sum(newest.values()))) == (found.total.tokens, found.total.cost)

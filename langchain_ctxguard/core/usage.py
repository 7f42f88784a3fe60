"""What model calls add up to: by thread, by run, by day. Messages and events in, values out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple
from zoneinfo import ZoneInfo

from langchain_core.messages import AIMessage, BaseMessage

from langchain_ctxguard.core.budgets import usage_of
from langchain_ctxguard.domain.budget import Usage
from langchain_ctxguard.domain.policy import Policy, ToolPolicy
from langchain_ctxguard.domain.prefix import PriceTable
from langchain_ctxguard.domain.usage import DayTotal, Use, Used
from langchain_ctxguard.domain.value import canonical_json, digest_of

NONE = Usage(cost=Decimal(0))


class Counted(NamedTuple):
    """What has to be counted for a policy: nothing, as long as no budget looks at tokens or cost."""

    periods: frozenset[str] = frozenset()
    timezones: tuple[str, ...] = ()
    """In which a day that is counted ends."""


def counted_for(policies: Iterable[Policy]) -> Counted:
    """Return what budgets of tokens and cost ask for."""
    periods: set[str] = set()
    zones: dict[str, None] = {}
    for policy in policies:
        if not isinstance(policy, ToolPolicy):
            continue
        for rule in policy.rules:
            if rule.budget is not None and (rule.budget.tokens is not None or rule.budget.cost is not None):
                periods.add(rule.budget.per)
                if rule.budget.per == "day":
                    zones[policy.timezone] = None
    return Counted(frozenset(periods), tuple(zones))


class Moment(NamedTuple):
    """Where and when messages are counted."""

    at: datetime
    run: str = ""
    """The run that is going on; empty where nobody can tell."""

    is_first: bool = False
    """Whether nothing of the thread was counted before: what precedes the present run then belongs to no day."""


def uses_of(
    messages: Sequence[BaseMessage], known: Collection[str], prices: PriceTable | None, moment: Moment, *, since: int | None = None
) -> list[Use]:
    """Return what the models that wrote `messages` used, those left out that are known already.

    Args:
        messages: Of one conversation.
        known: Ids that were counted.
        prices: By model; `None`: no cost is known.
        moment: Of counting.
        since: Place from which on they belong to the present run; `None`: from the newest request.
    """
    start = request_in(messages) if since is None else since
    found: list[Use] = []
    for place, message in enumerate(messages):
        if not isinstance(message, AIMessage) or message.usage_metadata is None:
            continue
        name = message.id or _name_of(message, place)
        if name not in known:
            used = usage_of((message,), prices)
            is_present = place >= start
            at = None if moment.is_first and not is_present else moment.at
            found.append(Use(message=name, tokens=used.tokens, cost=used.cost, run=moment.run if is_present else "", at=at))
    return found


def request_in(messages: Sequence[BaseMessage]) -> int:
    """Return the place of the newest request, 0 where there is none."""
    return next((place for place in range(len(messages) - 1, -1, -1) if messages[place].type == "human"), 0)


def _name_of(message: AIMessage, place: int) -> str:
    """Return a name for a message without an id: a list that only grows keeps it in its place."""
    return f"#{place}/{digest_of(canonical_json([message.text, [call['args'] for call in message.tool_calls]]))[:32]}"


def day_of(at: datetime, timezone: str) -> str:
    """Return the name of the day a moment is in.

    >>> from datetime import UTC
    >>> day_of(datetime(2026, 6, 30, 23, tzinfo=UTC), "Asia/Shanghai")
    'day/Asia/Shanghai/2026-07-01'
    """
    return f"day/{timezone}/{at.astimezone(ZoneInfo(timezone)).date().isoformat()}"


def plus(before: Usage, tokens: int, cost: Decimal | None) -> Usage:
    """Return a sum with one more in it; a cost nobody knows leaves the whole unknown."""
    return Usage.model_construct(tokens=before.tokens + tokens, cost=None if before.cost is None or cost is None else before.cost + cost)


class ThreadUsage(NamedTuple):
    """What a thread's stream adds up to."""

    known: frozenset[str] = frozenset()
    """Ids of the messages that were counted."""

    total: Usage = NONE
    by_run: Mapping[str, Usage] = {}
    by_day: Mapping[str, Usage] = {}
    """By `day_of`, in each timezone asked for."""


def thread_usage(events: Iterable[Used], before: ThreadUsage, timezones: Sequence[str]) -> ThreadUsage:
    """Return what further events make of a thread's usage. The first to count a message says what it used, in which run, on which day."""
    known, total, by_run, by_day = set(before.known), before.total, dict(before.by_run), dict(before.by_day)
    for event in events:
        for use in event.uses:
            if use.message in known:
                continue
            known.add(use.message)
            total = plus(total, use.tokens, use.cost)
            by_run[use.run] = plus(by_run.get(use.run, NONE), use.tokens, use.cost)
            for day in () if use.at is None else (day_of(use.at, zone) for zone in timezones):
                by_day[day] = plus(by_day.get(day, NONE), use.tokens, use.cost)
    return ThreadUsage(frozenset(known), total, by_run, by_day)


class DayUsage(NamedTuple):
    """What a day's stream adds up to."""

    by_thread: Mapping[str, DayTotal] = {}

    @property
    def total(self) -> Usage:
        """What all threads used together."""
        found = NONE
        for one in self.by_thread.values():
            found = plus(found, one.tokens, one.cost)
        return found


def day_usage(events: Iterable[DayTotal], before: DayUsage) -> DayUsage:
    """Return what further events make of a day: of each thread the total that knows most counts, in whatever order they came."""
    by_thread = dict(before.by_thread)
    for event in events:
        held = by_thread.get(event.thread)
        if held is None or held.seq < event.seq:
            by_thread[event.thread] = event
    return DayUsage(by_thread)

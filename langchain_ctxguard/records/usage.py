"""What model calls used, on record: a stream for each thread, and one for each day that says what every thread came to on it.

A message counts once, by its id. The thread's entry is written first and the day's total after it, from all the thread's entries; whoever comes
next writes the total that a process which died in between did not, and of two workers the one that knew more is believed. Nothing is taken back.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TypeVar

from langchain_ctxguard.core.usage import NONE, Counted, DayUsage, ThreadUsage, day_of, day_usage, thread_usage
from langchain_ctxguard.domain.budget import Usage
from langchain_ctxguard.domain.log import Entry, Stream
from langchain_ctxguard.domain.usage import DayTotal, Use, Used
from langchain_ctxguard.errors import StoreError
from langchain_ctxguard.ports import Clock, Log
from langchain_ctxguard.records.folds import Folds, opened, sealed
from langchain_ctxguard.records.versions import HasLog

USAGE = "usage"
Event = TypeVar("Event", Used, DayTotal)


class UsageLog:
    """The usage of a store's threads. Safe under threads and among processes; a call that counts nothing new writes nothing."""

    def __init__(self, store: HasLog, counted: Counted, *, clock: Clock) -> None:
        """Bind a store."""
        self.counted = counted
        self.now = clock
        self._log: Log = store.log
        self._tenant = store.tenant
        zones = counted.timezones
        self._threads: Folds[ThreadUsage] = Folds(self._log, lambda entries, sum_: thread_usage(map(_used, entries), sum_, zones), ThreadUsage())
        self._days: Folds[DayUsage] = Folds(self._log, lambda entries, sum_: day_usage(map(_total, entries), sum_), DayUsage())

    def of_thread(self, thread: str) -> ThreadUsage:
        """Return what a thread used: one cheap question where nothing was added. Threads without a name share the empty one.

        Raises:
            StoreError: it cannot be read, was altered, or holds what this package cannot read.
        """
        return self._threads.read(self._thread(thread))[1]

    def note(self, thread: str, uses: Sequence[Use]) -> ThreadUsage:
        """Put on record what is not on it, bring the totals of the day up to it, and return what the thread used.

        Raises:
            StoreError: it cannot be read or written; what was not written is counted by whoever sees its message next.
        """
        stream = self._thread(thread)
        seq, usage = self._threads.read(stream)
        fresh = tuple(use for use in uses if use.message not in usage.known)
        if fresh:
            seq, usage = self._threads.added(stream, self._log.append(stream, [_body(Used(uses=fresh))]))
        for zone in self.counted.timezones:
            self._bring_up(thread, day_of(self.now(), zone), seq, usage)
        return usage

    def of_day(self, at: datetime) -> Usage:
        """Return what all threads used on the day of a moment: where policies end it at different times, the most of it.

        Raises:
            StoreError: as `of_thread`.
        """
        found = [self._days.read(self._day(day_of(at, zone)))[1].total for zone in self.counted.timezones] or [NONE]
        costs = [one.cost for one in found if one.cost is not None]
        return Usage(tokens=max(one.tokens for one in found), cost=max(costs) if len(costs) == len(found) else None)

    def _bring_up(self, thread: str, day: str, seq: int, usage: ThreadUsage) -> None:
        own = usage.by_day.get(day)
        if own is None:
            return
        stream = self._day(day)
        held = self._days.read(stream)[1].by_thread.get(thread)
        if held is None or (held.seq < seq and (held.tokens, held.cost) != (own.tokens, own.cost)):
            total = DayTotal(thread=thread, seq=seq, tokens=own.tokens, cost=own.cost)
            self._days.added(stream, self._log.append(stream, [_body(total)]))

    def _thread(self, thread: str) -> Stream:
        return Stream(tenant=self._tenant, kind=USAGE, key=f"thread/{thread}")

    def _day(self, day: str) -> Stream:
        return Stream(tenant=self._tenant, kind=USAGE, key=day)


def _body(event: Used | DayTotal) -> bytes:
    return sealed({**event.model_dump(mode="json", exclude_defaults=True), "type": event.type})


def _used(entry: Entry) -> Used:
    return _event(entry, Used)


def _total(entry: Entry) -> DayTotal:
    return _event(entry, DayTotal)


def _event(entry: Entry, kind: type[Event]) -> Event:
    try:
        return kind.model_validate(opened(entry))
    except ValueError as error:
        msg = (
            f"Entry {entry.seq} of {entry.stream} says nothing of usage that this package can read. Nothing was changed, and calls with a budget of "
            "tokens or cost are denied. Upgrade langchain-ctxguard if a later version wrote it."
        )
        raise StoreError(msg) from error

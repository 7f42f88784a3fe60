"""The registry of rules on a log: what guards and tools read, and who is handed a writer."""

from __future__ import annotations

from datetime import datetime

from langchain_ctxguard.core.resolve import resolve
from langchain_ctxguard.domain.constraint import Authority, Constraint, Place
from langchain_ctxguard.domain.exemption import Exemption
from langchain_ctxguard.domain.value import Value
from langchain_ctxguard.errors import ConfigurationError
from langchain_ctxguard.ports import Clock, Log, LogReader
from langchain_ctxguard.records.constraint_events import Change, decode
from langchain_ctxguard.records.constraint_streams import KIND, RuleStreams
from langchain_ctxguard.records.constraint_writer import ConstraintWriter

Heads = tuple[int, ...]
"""Where the streams of a place end. Equal heads: nothing was declared, replaced, revoked or exempted there."""


class OnRecord(Value):
    """What the registry says about a place, whatever the time: to be resolved together with the rules of other sources."""

    heads: Heads
    constraints: tuple[Constraint, ...] = ()
    exemptions: tuple[Exemption, ...] = ()


class ConstraintReader:
    """Reads rules. Safe under threads; what the log adds up to is kept until the log moves."""

    def __init__(self, log: LogReader, *, tenant: str = "default", clock: Clock | None = None) -> None:
        """Read from `log`.

        Args:
            log: Where the events rest.
            tenant: Whose rules.
            clock: Says what time it is; `None`: the system's, in UTC.
        """
        self._log = log
        self._tenant = tenant
        self._clock = clock
        self._streams = RuleStreams(log, tenant=tenant, clock=clock)

    def heads(self, place: Place | None = None) -> Heads:
        """Return where the streams of a place end: one question to the log, whether anything moved."""
        return tuple(self._log.heads(self._streams.streams(place or Place())))

    def on_record(self, place: Place | None = None) -> OnRecord:
        """Return the rules and exemptions on record for a place, expired ones among them.

        Raises:
            StoreError: an entry cannot be read, was altered, or is gone.
        """
        folds = self._streams.folds(place or Place())
        return OnRecord(
            heads=tuple(fold.seq for fold in folds),
            constraints=tuple(constraint for fold in folds for constraint in fold.standing.values()),
            exemptions=tuple(exemption for fold in folds for exemption in fold.exemptions),
        )

    def in_force(self, place: Place | None = None, now: datetime | None = None) -> tuple[Constraint, ...]:
        """Return the rules of the registry in force at a place and moment, strongest first.

        Raises:
            StoreError: an entry cannot be read, was altered, or is gone.
        """
        where = place or Place()
        record = self.on_record(where)
        return resolve(record.constraints, place=where, now=now or self._streams.now(), exemptions=record.exemptions).in_force

    def exemptions(self, place: Place | None = None, now: datetime | None = None) -> tuple[Exemption, ...]:
        """Return the exemptions active at a place and moment."""
        where, moment = place or Place(), now or self._streams.now()
        return tuple(exemption for exemption in self.on_record(where).exemptions if exemption.is_active(where, moment))

    def history(self, constraint_id: str) -> tuple[Change, ...]:
        """Return everything that ever happened to a rule, oldest first.

        Raises:
            StoreError: an entry cannot be read or was altered.
        """
        return tuple(decode(entry) for entry in self._streams.entries_about(constraint_id))


class ConstraintRegistry(ConstraintReader):
    """The rules of a tenant, and who may change them.

    Guards, nodes and tools take `reader()`; whoever is to change rules takes a writer of their own authority.
    """

    def __init__(self, log: Log, *, tenant: str = "default", clock: Clock | None = None) -> None:
        """Keep the rules on `log`; see `ConstraintReader`."""
        super().__init__(log, tenant=tenant, clock=clock)
        self._writable = log

    def reader(self) -> ConstraintReader:
        """Return what reads the same rules and can write none."""
        return ConstraintReader(self._log, tenant=self._tenant, clock=self._clock)

    def writer(self, authority: Authority | str, *, by: str) -> ConstraintWriter:
        """Return what changes rules up to `authority`, in the name of `by`.

        Raises:
            ConfigurationError: no such authority, nobody named, or the log is an agent's view, which takes no rules.
        """
        if KIND in getattr(self._writable, "refuses", ()):
            msg = "This is an agent's view of a log, and no agent writes rules. Open a GuardStore of your own, and make the registry of its log."
            raise ConfigurationError(msg)
        try:
            known = Authority(authority)
        except ValueError as error:
            msg = f"'{authority}' is no authority; use {', '.join(Authority)}."
            raise ConfigurationError(msg) from error
        if not by.strip():
            msg = "A writer of rules names who writes: `by` is empty."
            raise ConfigurationError(msg)
        return ConstraintWriter(self._streams, self._writable, authority=known, by=by)

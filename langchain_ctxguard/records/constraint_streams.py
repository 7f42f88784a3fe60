"""The streams rules are written to, and what their entries add up to. One stream for each scope."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import assert_never

from langchain_ctxguard.domain.constraint import Authority, Constraint, Place, Scope
from langchain_ctxguard.domain.exemption import Exemption
from langchain_ctxguard.domain.log import Entry, Stream, verify
from langchain_ctxguard.errors import StoreError
from langchain_ctxguard.ports import Clock, LogReader
from langchain_ctxguard.records.constraint_events import Change, Confirmed, Declared, Exempted, Revoked, Superseded, decode

KIND = "constraints"
_KEPT_FOLDS = 4_096
_KEPT_PLACES = 512


@dataclass(frozen=True, slots=True)
class Fold:
    """What the entries of one stream add up to."""

    stream: Stream
    last: Entry | None = None
    standing: Mapping[str, Constraint] = field(default_factory=dict)
    """The rules neither replaced nor revoked, by id; expired ones among them."""

    newest: Mapping[str, tuple[int, Authority]] = field(default_factory=dict)
    """The highest number each id ever had here, and the authority it had then."""

    exemptions: tuple[Exemption, ...] = ()

    @property
    def seq(self) -> int:
        """Number of the last entry."""
        return 0 if self.last is None else self.last.seq


class RuleStreams:
    """Reads the streams of one tenant. Safe under threads; what a stream adds up to is kept until the stream moves."""

    def __init__(self, log: LogReader, *, tenant: str, clock: Clock | None) -> None:
        """Read from `log`."""
        self.log = log
        self.tenant = tenant
        self.now: Clock = clock or (lambda: datetime.now(UTC))
        self._folds: OrderedDict[Stream, Fold] = OrderedDict()
        # Asked before every model call, and a place hardly changes.
        self.streams: Callable[[Place], tuple[Stream, ...]] = lru_cache(maxsize=_KEPT_PLACES)(self._streams)
        """Return where the rules that may hold at a place are written."""
        self._lock = threading.Lock()

    def stream(self, scope: Scope) -> Stream:
        """Return where the rules of a scope are written."""
        return Stream(tenant=self.tenant, kind=KIND, key=scope_key(scope))

    def folds(self, place: Place) -> list[Fold]:
        """Return what the streams of a place add up to; one question to the log where nothing moved."""
        streams = self.streams(place)
        # Looked up before the log is asked: what another thread reads in between must not look like entries that are gone.
        known = [self._known(stream) for stream in streams]
        heads = self.log.heads(streams)
        return [fold if head == fold.seq else self._moved(fold, head) for fold, head in zip(known, heads, strict=True)]

    def fold(self, stream: Stream) -> Fold:
        """Return what a stream adds up to now."""
        return self._read_on(self._known(stream))

    def entries_about(self, constraint_id: str) -> list[Entry]:
        """Return the entries that name a rule, of whatever scope, oldest first."""
        found = self.log.find(rule_ref(self.tenant, constraint_id))
        # A ref is a name, not an address: an entry of another kind may carry it too.
        entries = [entry for entry in found if entry.stream.tenant == self.tenant and entry.stream.kind == KIND]
        for entry in entries:
            if not entry.is_intact():
                raise _altered(entry.stream, entry.seq)
        return entries

    def _streams(self, place: Place) -> tuple[Stream, ...]:
        return tuple(Stream(tenant=self.tenant, kind=KIND, key=key) for key in scope_keys(place))

    def _known(self, stream: Stream) -> Fold:
        with self._lock:
            if stream not in self._folds:
                return Fold(stream)
            self._folds.move_to_end(stream)
            return self._folds[stream]

    def _moved(self, known: Fold, head: int) -> Fold:
        if head < known.seq:
            msg = f"{known.stream} ended at entry {known.seq} before and ends at {head} now: entries are gone. Rules may be missing; restore the log."
            raise StoreError(msg)
        return self._read_on(known)

    def _read_on(self, known: Fold) -> Fold:
        entries = self.log.read(known.stream, since=known.seq)
        if not entries:
            return known
        if (broken := verify(entries, after=known.last, stream=known.stream)) is not None:
            raise _altered(known.stream, broken)
        fold = _after(known, entries)
        with self._lock:
            kept = self._folds.get(known.stream)
            if kept is None or kept.seq < fold.seq:
                self._folds[known.stream] = fold
                self._folds.move_to_end(known.stream)
            while len(self._folds) > _KEPT_FOLDS:
                self._folds.popitem(last=False)
        return fold


def scope_key(scope: Scope) -> str:
    """Return the key of the stream a scope's rules are written to."""
    value = scope.value or ""
    return scope.kind if scope.kind == "global" else f"{scope.kind}:{value.rstrip('/') if scope.kind == 'workspace' else value}"


def scope_keys(place: Place) -> list[str]:
    """Return the keys of all scopes that may cover a place, always in the same order."""
    keys = ["global"]
    if place.thread is not None:
        keys.append(scope_key(Scope(kind="thread", value=place.thread)))
    if place.agent is not None:
        keys.append(scope_key(Scope(kind="agent", value=place.agent)))
    keys += [scope_key(Scope(kind="tool", value=tool)) for tool in sorted(place.tools)]
    if place.workspace is not None:
        keys += [scope_key(Scope(kind="workspace", value=path)) for path in _at_or_above(place.workspace)]
    return list(dict.fromkeys(keys))


def rule_ref(tenant: str, constraint_id: str) -> str:
    """Return the name by which a log finds the entries about a rule."""
    return f"constraint/{tenant}/{constraint_id}"


def _at_or_above(path: str) -> Iterator[str]:
    whole = path.rstrip("/")
    yield from (whole[:position] for position, character in enumerate(whole) if character == "/")
    yield whole


def _altered(stream: Stream, seq: int) -> StoreError:
    return StoreError(f"Entry {seq} of {stream} no longer matches its chain: the log was altered. No rule is read from it; restore the log.")


def _after(known: Fold, entries: Sequence[Entry]) -> Fold:
    standing, newest = dict(known.standing), dict(known.newest)
    exemptions = list(known.exemptions)
    for entry in entries:
        _apply(decode(entry), standing, newest, exemptions)
    live = tuple(exemption for exemption in exemptions if (rule := standing.get(exemption.constraint_id)) is not None and exemption.is_for(rule))
    return Fold(known.stream, entries[-1], standing, newest, live)


def _apply(change: Change, standing: dict[str, Constraint], newest: dict[str, tuple[int, Authority]], exemptions: list[Exemption]) -> None:
    """Let one event happen. What its writer had no authority for does not: a log is written by more hands than ours."""
    event = change.event
    match event:
        case Declared() | Confirmed() | Superseded():
            rule = event.constraint
            if isinstance(event, Superseded) and rule.supersedes is not None:
                old = standing.get(rule.supersedes.rpartition("@")[0])
                if old is not None and old.reference == rule.supersedes and event.authority.rank <= old.authority.rank >= rule.authority.rank:
                    del standing[old.constraint_id]
            occupied = standing.get(rule.constraint_id)
            if event.authority.rank <= rule.authority.rank and (occupied is None or event.authority.rank <= occupied.authority.rank):
                standing[rule.constraint_id] = rule
                number, _ = newest.get(rule.constraint_id, (0, rule.authority))
                newest[rule.constraint_id] = (max(number, rule.version), rule.authority)
        case Revoked():
            old = standing.get(event.constraint_id)
            if old is not None and old.version == event.version and event.authority.rank <= old.authority.rank:
                del standing[event.constraint_id]
        case Exempted():
            old = standing.get(event.constraint_id)
            if old is not None and old.version == event.version and event.authority.rank <= old.authority.rank:
                exemptions.append(exemption_of(event))
        case _:
            assert_never(event)


def exemption_of(event: Exempted) -> Exemption:
    """Return the exemption an event grants."""
    return Exemption(
        constraint_id=event.constraint_id,
        version=event.version,
        by=event.by,
        authority=event.authority,
        reason=event.reason,
        until=event.until,
        scope=event.scope,
    )

"""The rules of a store: those the registry has on record, and those people said in a thread."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from langchain_ctxguard.core.resolve import Shadowed, ShadowReason, resolve
from langchain_ctxguard.domain.constraint import Constraint, Place
from langchain_ctxguard.domain.inferred import InferredConstraint
from langchain_ctxguard.errors import BlobMissingError
from langchain_ctxguard.records.constraint_events import Change, Confirmed, Declared, Superseded
from langchain_ctxguard.records.constraint_streams import KIND
from langchain_ctxguard.records.constraints import ConstraintReader
from langchain_ctxguard.records.versions import VersionLog

if TYPE_CHECKING:
    from langchain_ctxguard.backends.store import GuardStore


class StoredRules(NamedTuple):
    """What holds at a place, what does not and why, and what was said there."""

    in_force: tuple[Constraint, ...]
    shadowed: tuple[Shadowed, ...]
    said: tuple[InferredConstraint, ...]


def stored_rules(store: GuardStore, *, thread: str | None, given: Sequence[Constraint] = ()) -> StoredRules:
    """Return the rules of a store, together with those of a config file.

    Args:
        store: Where they are on record.
        thread: The thread they are asked for; `None`: those of every thread are listed.
        given: Rules of another source.
    """
    reader, now = ConstraintReader(store.log, tenant=store.tenant), datetime.now(UTC)
    in_force: list[Constraint] = []
    shadowed: list[Shadowed] = []
    for place in _places(store, thread):
        record = reader.on_record(place)
        found = resolve((*given, *record.constraints), place=place, now=now, exemptions=record.exemptions)
        in_force += [rule for rule in found.in_force if rule not in in_force]
        shadowed += [one for one in found.shadowed if one.reason is not ShadowReason.OUT_OF_SCOPE and one not in shadowed]
    resting = [one for one in shadowed if one.constraint not in in_force]
    return StoredRules(tuple(in_force), tuple(resting), () if thread is None else _said(store, thread))


def history_of(store: GuardStore, rule: str) -> tuple[Change, ...]:
    """Return everything that ever happened to a rule, oldest first."""
    return ConstraintReader(store.log, tenant=store.tenant).history(rule)


def change_cells(change: Change) -> tuple[str, ...]:
    """Return a change as cells: entry, when, what, which version, by whom, why, text."""
    event = change.event
    rule = event.constraint if isinstance(event, Declared | Superseded | Confirmed) else None
    version = getattr(event, "version", None) if rule is None else rule.version
    said = "-" if rule is None else rule.text
    return str(change.seq), f"{change.at:%Y-%m-%d %H:%M:%SZ}", event.type, str(version), f"{event.by} ({event.authority})", event.reason, said


def _places(store: GuardStore, thread: str | None) -> list[Place]:
    """Return a place for each scope that has rules on record; for a thread, none of another one."""
    places = [Place(thread=thread)]
    for head in store.log.anchor().heads:
        if head.stream.kind == KIND and head.stream.tenant == store.tenant:
            kind, _, value = head.stream.key.partition(":")
            if kind == "thread" and thread is None:
                places.append(Place(thread=value))
            elif kind == "tool":
                places.append(Place(thread=thread, tools=frozenset({value})))
            elif kind == "agent":
                places.append(Place(thread=thread, agent=value))
            elif kind == "workspace":
                places.append(Place(thread=thread, workspace=value or "/"))
    return places


def _said(store: GuardStore, thread: str) -> tuple[InferredConstraint, ...]:
    """Return the rules people said in a thread, as its newest versions hold them."""
    log = VersionLog(store)
    said: dict[str, InferredConstraint] = {}
    for place in log.places_of(thread):
        newest = log.newest(place)
        try:
            body = None if newest is None else log.head_of(newest).body
        except BlobMissingError:
            continue
        said |= {} if body is None else {one.inferred_id: one for one in body.evidence.inferred}
    return tuple(said.values())

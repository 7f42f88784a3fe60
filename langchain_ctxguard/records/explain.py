"""Finds the chain behind an action: by names that the log looks up, so it takes the same time however long the log is."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any, TypeVar

from pydantic import ValidationError

from langchain_ctxguard.domain.citation import ConsentCitation, GateReading, action_ref, carried_ref
from langchain_ctxguard.domain.consent import Consent, ConsentStatus
from langchain_ctxguard.domain.explanation import ConsentChain, Explanation, RecordLink
from langchain_ctxguard.domain.log import Entry
from langchain_ctxguard.ports import LogReader
from langchain_ctxguard.records.consents import ConsentReader
from langchain_ctxguard.records.versions import HasLog

T = TypeVar("T")


def explain(store: HasLog, action: str, *, thread: str | None = None, consents: ConsentReader | None = None) -> Explanation:
    """Return why an action was allowed: action <- gate reading <- record <- each compaction that carried it <- grant.

    Args:
        store: A `GuardStore`.
        action: The id of a tool call.
        thread: Where ids are used again: the thread that is meant.
        consents: What reads the ledger, where it rests in another store.

    Raises:
        StoreError: the store cannot be read.
    """
    log: LogReader = store.log
    reader = consents or ConsentReader(store)
    entries = [entry for entry in log.find(action_ref(action, thread)) if entry.stream.tenant == store.tenant]
    bodies = list(map(_body, entries))
    readings = [(entry, body, reading) for entry, body in zip(entries, bodies, strict=True) if (reading := _reading(body)) is not None]
    chains = [
        _chain(log, reader, cited, reading, entry, thread=thread or _thread(entry, body))
        for entry, body, reading in readings
        for cited in reading.consents
    ]
    return Explanation(
        action=action,
        thread=thread or next(map(_thread, entries, bodies), None),
        records=tuple(map(_link, entries, bodies)),
        # Each step of a call repeats what was read.
        readings=_unlike(reading for _, _, reading in readings),
        chains=_unlike(chains),
        faults=tuple(_faults(action, entries)),
    )


def _unlike(items: Iterable[T]) -> tuple[T, ...]:
    found: list[T] = []
    for item in items:
        if item not in found:
            found.append(item)
    return tuple(found)


def _faults(action: str, entries: list[Entry]) -> list[str]:
    if not entries:
        return [f"Nothing about '{action}' is on record."]
    return [f"Entry {entry.seq} of {entry.stream} was altered." for entry in entries if not entry.is_intact()]


def _chain(log: LogReader, reader: ConsentReader, cited: ConsentCitation, reading: GateReading, entry: Entry, *, thread: str) -> ConsentChain:
    traced = reader.traced(cited.reference, thread=thread)
    if traced is None:
        return ConsentChain(cited=cited, faults=(f"The consent '{cited.field}' that was cited ({cited.reference}) is not on record.",))
    grant, later = traced
    faults = _misfits(cited, grant, reading)
    if later is not None and later.seq <= reading.head.seq:
        faults.append(f"The grant of '{cited.field}' had given way to entry {later.seq} ({later.status}) when the gate read it.")
    found = [one for one in log.find(carried_ref(cited.reference, thread)) if one.at <= entry.at]
    faults += [f"Entry {one.seq} of {one.stream} was altered." for one in found if not one.is_intact()]
    return ConsentChain(cited=cited, grant=grant, carried=tuple(_link(one, _body(one)) for one in found), faults=tuple(faults))


def _misfits(cited: ConsentCitation, grant: Consent, reading: GateReading) -> list[str]:
    faults = []
    if (cited.field, cited.seq, cited.hash) != (grant.field, grant.seq, grant.hash):
        faults.append(f"The citation of '{cited.field}' names another entry than the one on record ({grant.seq}).")
    if grant.status is not ConsentStatus.GRANTED:
        faults.append(f"What was cited for '{cited.field}' is no grant: it was {grant.status}.")
    if grant.seq > reading.head.seq:
        faults.append(f"The grant of '{cited.field}' is entry {grant.seq}, and the gate had read up to {reading.head.seq} only.")
    if not _was_in_time(grant, reading.at):
        faults.append(f"The grant of '{cited.field}' was not in force at {reading.at.isoformat()}.")
    return faults


def _was_in_time(grant: Consent, moment: datetime) -> bool:
    return grant.at <= moment and (grant.expires_at is None or moment < grant.expires_at)


def _link(entry: Entry, body: dict[str, Any]) -> RecordLink:
    says = {name: value for name, value in body.items() if isinstance(value, str | int | float | bool)}
    return RecordLink(kind=entry.stream.kind, key=entry.stream.key, seq=entry.seq, hash=entry.hash, at=entry.at, says=says)


def _reading(body: dict[str, Any]) -> GateReading | None:
    # A record may hold the reading itself, or the verdict it led to.
    inside = [body, *(value for value in body.values() if isinstance(value, dict))]
    found = next((part["reading"] for part in inside if isinstance(part.get("reading"), dict)), None)
    if found is None:
        return None
    try:
        return GateReading.model_validate(found)
    except ValidationError:
        return None


def _thread(entry: Entry, body: dict[str, Any]) -> str:
    """Return the thread an entry belongs to: what it says, else what its stream is named after."""
    said = body.get("thread")
    if isinstance(said, str):
        return said
    try:
        place: Any = json.loads(entry.stream.key)
    except ValueError:
        return entry.stream.key
    return place[0] if isinstance(place, list) and place and isinstance(place[0], str) else entry.stream.key


def _body(entry: Entry) -> dict[str, Any]:
    try:
        data = json.loads(entry.body)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}

"""An explanation for people and for other systems: as text, and as consent records shaped after ISO/IEC TS 27560."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from langchain_ctxguard.domain.consent import Consent, ConsentStatus
from langchain_ctxguard.domain.explanation import ConsentChain, Explanation, RecordLink

_STATES = {
    ConsentStatus.GRANTED: "consent given",
    ConsentStatus.DENIED: "consent refused",
    ConsentStatus.REVOKED: "consent withdrawn",
    ConsentStatus.EXPIRED: "consent expired",
}
_LEFT_OUT = frozenset({"at", "call_id", "kind", "schema_version", "thread"})
_DIGEST = re.compile("[0-9a-f]{32,}")


def explained_text(explanation: Explanation) -> str:
    """Return the chain as lines, the action first, each link below what rests on it."""
    # A value or a name may hold line ends: each link stays one line, so that none can be made up.
    return "\n".join(" ".join(line.splitlines()) for line in _lines(explanation))


def _lines(explanation: Explanation) -> Iterator[str]:
    where = "" if explanation.thread is None else f" in thread '{explanation.thread}'"
    yield f"action {explanation.action}{where}"
    for record in explanation.records:
        yield f"  on record as entry {record.seq} of {record.kind}, {_time(record)}{_said(record)}"
    for reading in explanation.readings:
        yield f"  <- a gate read the ledger at {reading.at:%Y-%m-%d %H:%M:%SZ}, up to entry {reading.head.seq} ({reading.head.hash[:16]})"
    for chain in explanation.chains:
        yield from _chain_lines(chain)
    if explanation.records and not explanation.chains:
        yield "  no consent was cited: none was needed, or none was there"
    yield from (f"  ! {fault}" for fault in explanation.faults)
    yield f"The chain {'holds' if explanation.holds else 'does not hold'}."


def _said(record: RecordLink) -> str:
    """Return what an entry says, digests cut short; what stands in the line anyway is left out."""
    shown = {name: value for name, value in sorted(record.says.items()) if name not in _LEFT_OUT}
    return "".join(f", {name} {value[:16] if isinstance(value, str) and _DIGEST.fullmatch(value) else value}" for name, value in shown.items())


def _chain_lines(chain: ConsentChain) -> Iterator[str]:
    yield f"  <- {chain.cited.field}, {chain.cited.reference}"
    for link in chain.carried:
        number = link.says.get("version", link.says.get("number"))
        yield f"    <- carried by a compaction, {_time(link)}{'' if number is None else f', version {number}'} (entry {link.seq} of {link.kind})"
    if (grant := chain.grant) is not None:
        scope = "all threads" if grant.thread is None else f"thread '{grant.thread}'"
        until = "" if grant.expires_at is None else f", until {grant.expires_at:%Y-%m-%d %H:%M:%SZ}"
        yield f"    <- {grant.status} at {grant.at:%Y-%m-%d %H:%M:%SZ}{until} for {scope}: {_value(grant)}"
        through = f" through {grant.surface}" if grant.surface else ""
        yield f"       by '{grant.subject}', basis {grant.basis}, recorded by {grant.recorded_by}{through} (entry {grant.seq}, {grant.hash[:16]})"
        if grant.evidence_ref:
            yield f"       evidence {grant.evidence_ref}"
    yield from (f"    ! {fault}" for fault in chain.faults)


def explained_data(explanation: Explanation) -> dict[str, Any]:
    """Return the chain as JSON data: one consent record for each consent it rests on, and the links beside them under `chain`."""
    grants = {chain.grant.record_id: chain.grant for chain in explanation.chains if chain.grant is not None}
    return {
        "action": explanation.action,
        "thread": explanation.thread,
        "holds": explanation.holds,
        "faults": [*explanation.faults, *(fault for chain in explanation.chains for fault in chain.faults)],
        "consent_records": [consent_record(grant) for grant in grants.values()],
        "chain": {
            "records": [_link_data(record) for record in explanation.records],
            "readings": [reading.model_dump(mode="json") for reading in explanation.readings],
            "consents": [
                {**chain.cited.model_dump(mode="json"), "carried": [_link_data(link) for link in chain.carried], "faults": list(chain.faults)}
                for chain in explanation.chains
            ],
        },
    }


def consent_record(consent: Consent) -> dict[str, Any]:
    """Return one consent as a record: what it is about, who is involved, and what happened when.

    The names of its members follow ISO/IEC TS 27560. What it has no name for is under `ctxguard`; the value there is the JSON text as given.
    """
    duration = None if consent.expires_at is None else f"PT{max(0, int((consent.expires_at - consent.at).total_seconds()))}S"
    return {
        "schema_version": "1",
        "record_id": consent.record_id,
        "pii_principal_id": consent.subject,
        "pii_processing": [
            {
                "privacy_notice": consent.evidence_ref or None,
                "purposes": [{"purpose": consent.purpose or consent.field, "lawful_basis": consent.basis, "pii_information": [consent.field]}],
            }
        ],
        "party_identification": [{"party_id": consent.recorded_by, "party_role": "recorded the event"}],
        "events": [
            {
                "event_time": consent.at.isoformat(),
                "event_type": "explicit",
                "event_state": _STATES[consent.status],
                "validity_duration": duration,
                "entity_id": consent.subject,
            }
        ],
        "ctxguard": {
            "field": consent.field,
            "value": None if consent.value is None else consent.value.data.decode("utf-8"),
            "thread": consent.thread,
            "surface": consent.surface,
            "recorded_at": consent.recorded_at.isoformat(),
            "seq": consent.seq,
            "hash": consent.hash,
        },
    }


def _link_data(link: RecordLink) -> dict[str, Any]:
    return link.model_dump(mode="json")


def _time(link: RecordLink) -> str:
    return f"{link.at:%Y-%m-%d %H:%M:%SZ}"


def _value(consent: Consent) -> str:
    return "a value that was erased, or none" if consent.value is None else consent.value.data.decode("utf-8")

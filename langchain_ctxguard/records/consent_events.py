"""What can happen to a consent, as it is written to a log, and its value, as it rests beside it."""

from __future__ import annotations

import json
import secrets
import uuid
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from langchain_ctxguard.domain.consent import ConsentEvent, ConsentStatus, record_ref
from langchain_ctxguard.domain.encoded import encode_json
from langchain_ctxguard.domain.log import Entry
from langchain_ctxguard.domain.raw_json import RawJson
from langchain_ctxguard.errors import StoreError

SCHEMA_VERSION = 1
_SALT = 16
"""Random bytes before each value: the digest of a bare `true` would tell the value after it was erased."""


def new_event(
    status: ConsentStatus,
    field: str,
    *,
    now: datetime,
    thread: str | None,
    basis: str,
    recorded_by: str,
    surface: str,
    purpose: str,
    evidence_ref: str,
    at: datetime | None = None,
    expires_at: datetime | None = None,
) -> ConsentEvent:
    """Return an event that can be written, still without its value.

    Raises:
        StoreError: nobody could tell what it allows, why, or since when.
    """
    said = now if at is None else at
    for name, text in (("field", field), ("basis", basis), ("recorded_by", recorded_by)):
        if not text.strip():
            msg = f"A consent names its field, its basis and who recorded it; `{name}` is empty. Nothing was written."
            raise StoreError(msg)
    if thread is not None and not thread.strip():
        msg = "A consent holds in a thread or, with `thread=None`, in all of them; an empty name is neither. Nothing was written."
        raise StoreError(msg)
    for name, moment in (("at", said), ("expires_at", expires_at)):
        if moment is not None and moment.utcoffset() is None:
            msg = f"`{name}` says '{moment}', which names no time zone. Nothing was written; give an aware datetime."
            raise StoreError(msg)
    if expires_at is not None and expires_at <= max(said, now):
        msg = f"'{field}' would be over at {expires_at.isoformat()}, before it began or already. Nothing was written."
        raise StoreError(msg)
    try:
        return ConsentEvent(
            type=status,
            record_id=uuid.uuid4().hex,
            field=field,
            thread=thread,
            basis=basis,
            recorded_by=recorded_by,
            surface=surface,
            purpose=purpose,
            evidence_ref=evidence_ref,
            at=said.astimezone(UTC),
            expires_at=None if expires_at is None else expires_at.astimezone(UTC),
        )
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        msg = f"This is no consent ({'.'.join(map(str, fault['loc']))}: {fault['msg']}). Nothing was written."
        raise StoreError(msg) from error


def encode(event: ConsentEvent) -> bytes:
    """Return the bytes of an event: JSON with sorted keys; what is not said is left out.

    Raises:
        StoreError: a text in it cannot be written.
    """
    return encode_json(event.model_dump(mode="json", exclude_defaults=True) | {"schema_version": SCHEMA_VERSION})


def decode(entry: Entry) -> ConsentEvent:
    """Return the event an entry holds.

    Raises:
        StoreError: it is no event of a consent, or of a schema this version does not know.
    """
    where = f"Entry {entry.seq} of {entry.stream}"
    try:
        data = json.loads(entry.body)
        version = data.get("schema_version") if isinstance(data, dict) else None
        if version != SCHEMA_VERSION:
            msg = (
                f"{where} has schema version {version!r}; this version of the package reads {SCHEMA_VERSION}. "
                "What is allowed cannot be told; upgrade langchain-ctxguard."
            )
            raise StoreError(msg)
        return ConsentEvent.model_validate(data)
    except (ValueError, RecursionError) as error:
        msg = f"{where} is no event of a consent ({type(error).__name__}). What is allowed cannot be told; nothing was read from the stream."
        raise StoreError(msg) from error


def refs_of(event: ConsentEvent, *more: str) -> list[str]:
    """Return the names an event is to be found by."""
    return [record_ref(event.record_id), *more]


def raw(value: Any) -> RawJson:
    """Return a value as JSON bytes: bytes as they are, anything else written once.

    Raises:
        StoreError: it is no JSON value, or has none.
    """
    if isinstance(value, RawJson):
        return value
    data = bytes(value) if isinstance(value, bytes | bytearray | memoryview) else encode_json(value)
    try:
        return RawJson(data=data)
    except ValidationError as error:
        msg = f"The value of a consent {error.errors(include_url=False)[0]['msg'].removeprefix('Value error, ')}. Nothing was written."
        raise StoreError(msg) from error


def sealed(value: RawJson) -> bytes:
    """Return a value as it rests: its bytes behind random ones, so that the digest in the record tells nothing about it."""
    return secrets.token_bytes(_SALT) + value.data


def opened(content: bytes, subject: str) -> RawJson:
    """Return the value that was sealed.

    Raises:
        StoreError: what rests there is none.
    """
    try:
        return RawJson(data=content[_SALT:])
    except ValidationError as error:
        msg = f"A stored consent of '{subject}' is no JSON value. Nothing is taken for granted; `ctxguard verify` says whether the log was altered."
        raise StoreError(msg) from error

"""What can happen to a rule, as it is written to a log. What the events add up to is in `constraints.py`."""

from __future__ import annotations

import json
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, TypeAdapter, ValidationError

from langchain_ctxguard.domain.constraint import Authority, Constraint, Scope
from langchain_ctxguard.domain.log import Entry
from langchain_ctxguard.domain.value import Value, canonical_json
from langchain_ctxguard.errors import StoreError

SCHEMA_VERSION: Literal[1] = 1


class _Event(Value):
    """What every change of a rule says: who, by what authority, and why."""

    schema_version: Literal[1] = SCHEMA_VERSION
    by: str = Field(min_length=1)
    authority: Authority
    """Of the writer, not of the rule."""

    reason: str = Field(min_length=1)


class Declared(_Event):
    """A rule was declared."""

    type: Literal["declared"] = "declared"
    constraint: Constraint


class Superseded(_Event):
    """A rule took the place of the one its `supersedes` names."""

    type: Literal["superseded"] = "superseded"
    constraint: Constraint


class Confirmed(_Event):
    """A rule found in a conversation was made one of the writer's authority."""

    type: Literal["confirmed"] = "confirmed"
    inferred: str
    """`id@version` of what was found."""

    constraint: Constraint


class Revoked(_Event):
    """A rule no longer holds."""

    type: Literal["revoked"] = "revoked"
    constraint_id: str
    version: int


class Exempted(_Event):
    """A rule was let rest for a while."""

    type: Literal["exempted"] = "exempted"
    constraint_id: str
    version: int
    until: AwareDatetime
    scope: Scope | None = None


Event = Declared | Superseded | Confirmed | Revoked | Exempted
_ADAPTER: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="type")])


class Change(Value):
    """One event on record: what happened, when, and the number of its entry."""

    seq: int
    at: AwareDatetime
    event: Event


def encode(event: Event) -> bytes:
    """Return the bytes of an event: JSON with sorted keys, every field written out."""
    return canonical_json(event.model_dump(mode="json")).encode("utf-8", "surrogatepass")


def decode(entry: Entry) -> Change:
    """Return the change an entry holds.

    Raises:
        StoreError: it is no event of a rule, or of a schema this version does not know.
    """
    where = f"Entry {entry.seq} of {entry.stream}"
    try:
        data = json.loads(entry.body.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError) as error:
        msg = f"{where} is no JSON ({error}). Which rules are in force cannot be told; nothing was read from the stream."
        raise StoreError(msg) from error
    version = data.get("schema_version") if isinstance(data, dict) else None
    if version != SCHEMA_VERSION:
        msg = (
            f"{where} has schema version {version!r}; this version of the package reads {SCHEMA_VERSION}. "
            "Which rules are in force cannot be told; upgrade langchain-ctxguard."
        )
        raise StoreError(msg)
    try:
        event = _ADAPTER.validate_python(data)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        key = ".".join(map(str, fault["loc"])) or "type"
        msg = f"{where} is no event of a rule ({key}: {fault['msg']}). Which rules are in force cannot be told."
        raise StoreError(msg) from error
    return Change(seq=entry.seq, at=entry.at, event=event)

"""A person's word on one call: what it is bound to, and whether it opens a call. Also the one digest of a call's arguments."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from json.encoder import encode_basestring
from pathlib import PurePath
from typing import Any, Literal
from uuid import UUID

from pydantic import AwareDatetime, BaseModel

from langchain_ctxguard.domain.value import Value, canonical_json, digest_of


def canonical_arguments(arguments: Mapping[str, Any]) -> str:
    """Return the one text of a call's arguments: equal for equal arguments in any order, different for values of different types.

    >>> canonical_arguments({"b": 1, "a": "ä"})
    '{"a":"ä","b":1}'
    >>> canonical_arguments({"n": 1}) == canonical_arguments({"n": "1"}), canonical_arguments({"n": 1}) == canonical_arguments({"n": True})
    (False, False)

    Raises:
        TypeError: a value that has no text form of its own; what nobody can name nobody can approve.
    """
    try:
        parts = [f"{encode_basestring(name)}:{_FLAT[type(value)](value)}" for name, value in sorted(arguments.items())]
    except (KeyError, TypeError):
        return _ENCODER.encode(_plain(arguments, 0))
    return "{" + ",".join(parts) + "}"


def arguments_digest(arguments: Mapping[str, Any]) -> str:
    """Return the digest a call's arguments are known by; `canonical_arguments` says what is equal."""
    return digest_of(canonical_arguments(arguments))


def argument_digests(arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return a short digest of each argument: enough to name the one that changed."""
    return {str(name): digest_of(canonical_arguments({"": value}))[:16] for name, value in arguments.items()}


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)
# What most calls carry, without the cost of an encoder; the same text.
_FLAT: dict[type, Callable[[Any], str]] = {
    str: encode_basestring,
    int: int.__repr__,
    float: _ENCODER.encode,
    bool: lambda value: "true" if value else "false",
    type(None): lambda _: "null",
}


_DEEPEST = 100


def _plain(value: Any, depth: int) -> Any:  # noqa: C901, PLR0911, PLR0912 - one line for each type
    if depth > _DEEPEST:
        msg = "the arguments are nested too deep"
        raise TypeError(msg)
    if value is None or type(value) in {str, int, float, bool}:
        return value
    if isinstance(value, Mapping):
        if any(not isinstance(key, str) for key in value):
            pairs = [[_plain(key, depth + 1), _plain(item, depth + 1)] for key, item in value.items()]
            return {"$pairs": sorted(pairs, key=canonical_json)}
        return {str(key): _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, depth + 1) for item in value]
    if isinstance(value, BaseModel):
        return _plain(value.model_dump(), depth + 1)
    if isinstance(value, Enum):
        return _plain(value.value, depth + 1)
    if isinstance(value, (str, int, float)):
        return type(value).__mro__[-2](value) if type(value).__mro__[-2] in {str, int, float} else str(value)
    if isinstance(value, (datetime, date, time)):
        return {f"${type(value).__name__}": value.isoformat()}
    if isinstance(value, (Decimal, UUID, PurePath)):
        return {f"${type(value).__name__.removeprefix('Posix').removeprefix('Windows')}": str(value)}
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"$bytes": bytes(value).hex()}
    if isinstance(value, AbstractSet):
        return {"$set": sorted((_plain(item, depth + 1) for item in value), key=canonical_json)}
    if isinstance(value, Sequence):
        return [_plain(item, depth + 1) for item in value]
    msg = f"an argument of type {type(value).__name__} has no text form to be approved by"
    raise TypeError(msg)


class Approver(Value):
    """Who answered, as the runtime context says; never taken from messages."""

    id: str
    role: str | None = None
    surface: str | None = None
    """Where the answer was given: `slack`, `admin console`."""


class Binding(Value):
    """The one call an approval is for."""

    tool: str
    arguments: str
    """`arguments_digest` of what will run."""

    call_id: str | None
    thread: str | None
    namespace: str = ""
    rules: str
    """Fingerprint of the policy the question was asked under."""

    parts: Mapping[str, str] = {}
    """`argument_digests`: to say which argument changed."""

    @property
    def digest(self) -> str:
        """What a question shows and its answer echoes."""
        return digest_of(canonical_json([self.tool, self.arguments, self.call_id, self.thread, self.namespace, self.rules]))


class Approval(Value):
    """An answer to a question about one call, or about several asked as one."""

    approval_id: str
    bindings: tuple[Binding, ...]
    decision: Literal["approve", "edit", "reject", "respond"] = "approve"
    """`edit`: the bindings are those of the edited call."""

    approver: Approver
    requester: str | None = None
    given_at: AwareDatetime
    expires_at: AwareDatetime

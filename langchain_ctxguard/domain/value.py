"""The base of every value, and the one canonical form a value is hashed in."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """A frozen value: equal by content, refused if it has a field nobody knows."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def canonical_json(data: Any) -> str:
    """Return the one JSON text of `data`: sorted keys, no spaces, text as it is.

    >>> canonical_json({"b": 1, "a": "ä"})
    '{"a":"ä","b":1}'
    """
    try:
        return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)
    except (TypeError, ValueError):
        # Keys of mixed types, or data that holds itself: no JSON, but still the same text for the same data.
        return repr(data)


def is_list_of(kind: type, given: object) -> bool:
    """Say whether `given` is a list of `kind`; a single text is none, though it is a sequence of texts.

    >>> is_list_of(str, ["a", "b"]), is_list_of(str, "ab"), is_list_of(bytes, [b"a", "b"])
    (True, False, False)
    """
    return isinstance(given, Sequence) and not isinstance(given, str | bytes) and all(isinstance(item, kind) for item in given)


def digest_of(text: str) -> str:
    """Return the SHA-256 of `text` in hexadecimal; lone surrogates count as themselves."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def digest_of_bytes(data: bytes) -> str:
    """Return the SHA-256 of `data` in hexadecimal."""
    return hashlib.sha256(data).hexdigest()

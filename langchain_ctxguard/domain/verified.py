"""What a verifier knows of a thread between calls: the field ledger, where it read to, and what it put back at the last compaction."""

from __future__ import annotations

import json
from typing import Any

from pydantic import Field

from langchain_ctxguard.domain.carried import CarriedField
from langchain_ctxguard.domain.context import LARGEST, HeadFault
from langchain_ctxguard.domain.control import ControlField
from langchain_ctxguard.domain.value import Value, canonical_json, digest_of
from langchain_ctxguard.domain.verification import VerificationOutcome

VERIFIED_SCHEMA_VERSION = 1


class HeldRequest(Value):
    """A human message, kept so that it can be sent verbatim after a compactor removed it."""

    key: str
    content: str
    """The content as JSON: a string, or a list of blocks."""

    def read(self) -> Any:
        """Return the content."""
        return json.loads(self.content)


class VerifiedHead(Value):
    """The newest knowledge of a verifier about a thread, as it lies in the state channel `ctxguard_verified`.

    As private and as forgeable as the channel `ctxguard`: what is in it is shown to the model as untrusted data at most, and touches no rule.
    """

    number: int = Field(default=0, ge=0)
    """Grows with every write."""

    first: str | None = None
    """Mark of the message the state began with when the thread was first read, or when a compaction was judged last: another one means another."""

    anchors: tuple[str, ...] = ()
    """Marks of the newest messages read, oldest first."""

    position: int = Field(default=0, ge=0)
    """How many messages were read."""

    ledger: tuple[ControlField, ...] = ()
    sentences: dict[str, str] = Field(default_factory=dict)
    """Field id -> the sentence it was said in, for the critical fields."""

    omitted: int = Field(default=0, ge=0)
    """Fields that were left out because there was no more room, over the whole thread."""

    request: HeldRequest | None = None
    """The current request; `None` where there is none or it is too large to be kept twice."""

    made: tuple[str, ...] = ()
    """What a compactor made, and nobody said: digests of its summaries, marks of results it emptied."""

    basis: str = ""
    """Which compaction was judged last."""

    outcome: VerificationOutcome | None = None
    carried: tuple[CarriedField, ...] = ()
    """What is put back until the next compaction."""

    uncarried: int = Field(default=0, ge=0)
    """Values that had no room among them."""

    restored: HeldRequest | None = None
    """The request that is put back until the next compaction."""

    def to_dict(self, *, like: tuple[VerifiedHead, dict[str, Any]] | None = None) -> dict[str, Any]:
        """Return the JSON form: `{schema_version, number, place, body, digest}`, place and body as one JSON string each.

        Args:
            like: An earlier head and its form: where only the place differs, the body is not written anew.
        """
        if like is not None and all(getattr(self, name) is getattr(like[0], name) for name in _BODY):
            body = like[1]["body"]
        else:
            body = canonical_json(self.model_dump(mode="json", include=set(_BODY), exclude_defaults=True))
        place = canonical_json(self.model_dump(mode="json", include=_PLACE, exclude_defaults=True))
        plain = {"schema_version": VERIFIED_SCHEMA_VERSION, "number": self.number, "place": place, "body": body}
        return {**plain, "digest": digest_of(canonical_json(plain))}


_PLACE = {"first", "anchors", "position", "request"}
"""What changes with every turn."""

_BODY = tuple(name for name in VerifiedHead.model_fields if name not in {*_PLACE, "number"})


def read_verified(data: Any) -> VerifiedHead | HeadFault | None:
    """Return the head in `data`, `None` where there is none, or the fault that makes it count for nothing. Never raises."""
    if data is None or data == {}:
        return None
    # `True` is a 1 to Python and no number to anybody else.
    if not isinstance(data, dict) or type(data.get("number")) is not int:
        return "not_a_head"
    if type(data.get("schema_version")) is not int or data["schema_version"] != VERIFIED_SCHEMA_VERSION:
        return "unknown_schema"
    plain = {key: value for key, value in data.items() if key != "digest"}
    try:
        if digest_of(canonical_json(plain)) != data.get("digest"):
            return "digest_mismatch"
        parts = json.loads(data["body"]) | json.loads(data["place"])
        head = VerifiedHead.model_validate_json(json.dumps({**parts, "number": data["number"]}))
        contents = [held.read() for held in (head.request, head.restored) if held is not None]
    except (ValueError, TypeError, KeyError, RecursionError):
        return "unreadable_body"
    is_sound = all(isinstance(content, (str, list)) for content in contents) and max(head.number, head.position, head.omitted) <= LARGEST
    return head if is_sound else "unreadable_body"

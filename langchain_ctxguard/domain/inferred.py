"""A rule somebody said in conversation: quoted as evidence, a rule of nobody until a person confirms it."""

from __future__ import annotations

import re
from typing import Any, Literal

from pydantic import Field, field_validator

from langchain_ctxguard.domain.value import Value

InferredKind = Literal["duty", "ban", "only", "preference", "correction", "agreement"]
"""What the words amount to. A permission is none of these: it is never inferred."""

InferredStatus = Literal["inferred", "confirmed", "dropped"]

SimilarRules = Literal["keep", "replace"]
"""What becomes of a rule when a later one says the same about another thing: both stand, or the later one takes its place."""


_HALVES = re.compile("[\ud800-\udfff]")


class InferredConstraint(Value):
    """One rule, in the words it was said in, and where it was said."""

    inferred_id: str
    """Digest of message and place: reading the same message again gives the same id."""

    text: str
    """The sentence, byte for byte as it stands in the message; half a surrogate pair, which no JSON can hold, is a replacement character."""

    kind: InferredKind
    source: str
    """Key of the message."""

    start: int = Field(ge=0)
    """Where the text stands in `core.results.own_words(message)`."""

    stop: int = Field(ge=0)
    position: int = Field(ge=0)
    """Place of the message in the original list: of two rules the one said later has the higher one."""

    subject: tuple[str, ...] = ()
    """Normalized words of what the rule is about, sorted. Rules on different subjects never replace each other."""

    number: int | None = None
    """The number of an agreement, or of the item of a list the rule was said in."""

    expires_with_task: bool = False
    """Said for this time only (`for now`, 这次先)."""

    status: InferredStatus = "inferred"
    """Changed by a person only. A dropped one is kept so that reading its message again does not bring it back."""

    @field_validator("text", "source", "subject", mode="before")
    @classmethod
    def _can_be_stored(cls, value: Any) -> Any:
        if isinstance(value, str):
            return _HALVES.sub("\ufffd", value)
        return tuple(_HALVES.sub("\ufffd", word) if isinstance(word, str) else word for word in value) if isinstance(value, tuple) else value

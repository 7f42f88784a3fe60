"""A control field taken across a compaction by copying: the value, and the sentence it was said in."""

from __future__ import annotations

from langchain_ctxguard.domain.control import FieldKind
from langchain_ctxguard.domain.origin import Origin
from langchain_ctxguard.domain.value import Value


class CarriedField(Value):
    """What is shown of a field whose message the model no longer sees."""

    kind: FieldKind
    label: str = ""
    raw: str
    """The value as it was written."""

    origin: Origin = "user"
    source: str | None = None
    """Key of the message it was said in."""

    sentence: str = ""
    """The sentence it was said in; empty where it is the value itself, is not known, or has no room."""

    instead: str | None = None
    """What stands in its place in the compacted text, and was not said."""

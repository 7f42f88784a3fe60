"""The words of one compaction, for a hook that was asked to show them. Nothing of this is on record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_ctxguard.domain.value import Value


class ShownMessage(Value):
    """A message that leaves the view, as text."""

    message_id: str | None = None
    role: str
    text: str


class ShownField(Value):
    """A control field, in the words it was said in."""

    kind: str
    label: str = ""
    value: str
    became: str | None = None
    """`lost`: the draft does not tell it. `changed`: it tells another value. `added`: no message says it. `None`: it holds."""

    other: str | None = None
    """What the draft told in its place."""

    is_critical: bool = False


class CompactionTexts(Value):
    """What is known so far of a compaction's words; a part that is not known is `None`. What a redactor is set for has passed it."""

    evicted: tuple[ShownMessage, ...] | None = None
    summary_before: str | None = None
    draft: Mapping[str, Any] | None = None
    """What a summarizer answered, before anything of it was removed."""

    summary_after: str | None = None
    """Evidence and summary, as the model reads them from now on; empty where the attempt made no version."""

    fields: tuple[ShownField, ...] | None = None

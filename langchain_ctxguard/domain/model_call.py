"""One model call on record, as a report tells it: numbers and names, and which rules stood where. No text of the conversation."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

from pydantic import AwareDatetime

from langchain_ctxguard.domain.prefix import DriftReason
from langchain_ctxguard.domain.value import Value


class RuleShown(Value):
    """A rule as it stood in the system message of a call, without its text."""

    reference: str
    """`id@version`."""

    authority: str
    severity: str
    kind: Literal["enforced", "checked", "shown", "unenforced"]
    """How far it is more than words, as `core.enforcement` has it."""

    sentence: str
    """The same for people."""

    is_reminded: bool = False
    """It stood once more behind the last message."""


class ModelCall(Value):
    """One model call."""

    at: AwareDatetime
    version: int = 0
    """Of the context; 0 before the first."""

    rules: str = ""
    """Name of the list of rules that stood in it, in their order."""

    tokens: int | None = None
    common: int | None = None
    """Tokens shared with the call before."""

    hit: int | None = None
    """Tokens the provider read from its cache."""

    miss: int | None = None
    first_changed_offset: int | None = None
    drift_reason: DriftReason | None = None
    prefix: str = ""
    """Fingerprint of what stays between compactions."""

    seconds: float = 0.0
    cost: Decimal | None = None

    @property
    def share(self) -> float | None:
        """Part of the call that the provider read from its cache, from 0 to 1; `None` where it does not say."""
        if self.hit is None:
            return None
        total = self.hit + (self.miss or 0)
        return self.hit / total if total else 0.0

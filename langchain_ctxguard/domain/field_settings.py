"""How control fields are watched over a compaction: the section `control_fields` of the config file."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, field_validator

from langchain_ctxguard.domain.control import CRITICAL_CAP
from langchain_ctxguard.domain.pattern import compiled
from langchain_ctxguard.domain.value import Value

OnLoss = Literal["repair", "ask", "rollback", "warn"]
"""A critical field is missing from the compacted view: carry it, ask a person, keep the previous context, or only put it on record."""

OnChange = Literal["keep", "recheck", "ask", "accept"]
"""Another value stands in its place: the value said holds, its message is read once more, a person decides, or the new value may stand."""


def _is_linear(pattern: str) -> str:
    compiled(pattern)
    return pattern


class FieldSettings(Value):
    """Which values a compaction must not lose, and what happens when it does."""

    model_config = ConfigDict(strict=True)

    watch: bool = True
    """Look for control fields at all."""

    patterns: dict[str, Annotated[str, AfterValidator(_is_linear)]] = Field(default_factory=dict)
    """Further fields by name, as RE2 patterns."""

    critical: tuple[str, ...] = ()
    """Values, labels or sentences that are critical whatever the rules say."""

    critical_cap: int = Field(default=CRITICAL_CAP, ge=1, le=200)
    """How many fields of a thread are critical at once; the rest is ranked non-critical, and the record says how many."""

    remembered: int = Field(default=100, ge=0, le=2_000)
    """How many non-critical fields of evicted messages are remembered; older ones age out. Their messages stay where they are."""

    glossary: dict[str, str] = Field(default_factory=dict)
    """House terms and the term each stands for."""

    on_loss: OnLoss = "repair"
    on_change: OnChange = "keep"

    @field_validator("critical", mode="before")
    @classmethod
    def _critical_is_a_list(cls, critical: Any) -> Any:
        if isinstance(critical, str) or not isinstance(critical, (list, tuple)):
            msg = f"`critical` is a list of values, labels or sentences, not {critical!r}"
            raise ValueError(msg)
        if not all(isinstance(text, str) and text.strip() for text in critical):
            msg = "`critical` holds an entry that is no text; a number needs quotes"
            raise ValueError(msg)
        return tuple(critical)

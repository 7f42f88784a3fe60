"""A message, tool result or file somebody wants the model to see in every call of a thread."""

from __future__ import annotations

import re
from typing import Any, Literal

from pydantic import Field, ValidationError, field_validator

from langchain_ctxguard.domain.value import Value, digest_of

PinKind = Literal["message", "tool_result", "file"]
PinRole = Literal["application", "person", "tool"]
"""Who declared a pin. Only the application's may be shown in the system role, and only code makes one: a state cannot."""

SNAPSHOT = 16_000
"""Characters of a file kept in the pin itself, for the day the file is gone."""

_HALVES = re.compile("[\ud800-\udfff]")


class Pin(Value):
    """What is pinned, by whom, and why."""

    pin_id: str = Field(min_length=1, max_length=64)
    kind: PinKind
    key: str = Field(min_length=1, max_length=1_000)
    """Key of the message, or the path of the file as it was named, relative to the workspace."""

    role_declared: PinRole
    digest: str = ""
    """Digest of the text that was pinned or read last."""

    added_at: int = Field(default=0, ge=0)
    """How many messages the thread had: of two pins the newer one has the higher number."""

    reason: str = Field(default="", max_length=400)
    snapshot: str | None = Field(default=None, max_length=SNAPSHOT)
    """Text of a file when it was read last, cut to `SNAPSHOT` characters. A message needs none: the state holds it."""

    @field_validator("key", "reason", "snapshot", mode="before")
    @classmethod
    def _can_be_stored(cls, value: Any) -> Any:
        # No JSON can hold half a surrogate pair.
        return _HALVES.sub("\ufffd", value) if isinstance(value, str) else value

    @classmethod
    def of(cls, kind: PinKind, key: str, *, role: PinRole, text: str = "", added_at: int = 0, reason: str = "") -> Pin:
        """Return the pin of a thing; pinning the same thing again gives the same id.

        >>> Pin.of("file", "AGENTS.md", role="application").pin_id == Pin.of("file", "AGENTS.md", role="tool").pin_id
        True
        """
        place = "file" if kind == "file" else "message"
        return cls(
            pin_id=f"pin-{digest_of(f'{place}:{key}')[:12]}",
            kind=kind,
            key=key,
            role_declared=role,
            digest=digest_of(text)[:32] if text else "",
            added_at=added_at,
            reason=reason,
            snapshot=text[:SNAPSHOT] if kind == "file" and text else None,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form: what is unset is left out."""
        return self.model_dump(mode="json", exclude_defaults=True)


def read_pin(data: Any) -> Pin | None:
    """Return the pin in `data` as far as a state can be believed, `None` where there is none. Never raises.

    A state can be forged, so a pin that calls itself the application's counts as a person's.
    """
    if not isinstance(data, dict):
        return None
    try:
        pin = Pin.model_validate(data)
    except (ValidationError, ValueError, TypeError, RecursionError):
        return None
    return pin.model_copy(update={"role_declared": "person"}) if pin.role_declared == "application" else pin

"""A clock that stands still, and what every word in a ledger names."""

from __future__ import annotations

from datetime import datetime


class Clock:
    """Says what it was told to."""

    def __init__(self, now: datetime) -> None:
        """Begin at `now`."""
        self.now = now

    def __call__(self) -> datetime:
        return self.now


def said(subject: str, *, basis: str = "consent") -> dict[str, str]:
    """Return who said it, why, and who wrote it down."""
    return {"subject": subject, "basis": basis, "recorded_by": subject or "nobody"}

"""When a message was written, as files say it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

TIMESTAMP = "timestamp"
"""Key in a message's `additional_kwargs`."""


def iso_time(recorded: Any) -> str | None:
    """Return a recorded time that is in ISO form, as it stands; `None` for anything else.

    >>> iso_time("2026-06-14T10:00:00Z")
    '2026-06-14T10:00:00Z'
    >>> iso_time("yesterday") is None
    True
    """
    if not isinstance(recorded, str):
        return None
    try:
        datetime.fromisoformat(recorded)
    except ValueError:
        return None
    return recorded


def stamped(recorded: Any) -> dict[str, str]:
    """Return the `additional_kwargs` of a message written at a recorded time, empty where there is none."""
    time = iso_time(recorded)
    return {} if time is None else {TIMESTAMP: time}

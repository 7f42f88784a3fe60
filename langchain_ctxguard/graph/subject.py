"""Whose consents count in a run: named by the application in runtime context or configuration, never by a message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def subject_in(name: str, context: Any, configurable: Mapping[str, Any]) -> str | None:
    """Return who is named `name` in a runtime context (a mapping or an object), else in `configurable`; a name that is no text is none."""
    found = context.get(name) if isinstance(context, Mapping) else getattr(context, name, None)
    if found is None:
        found = configurable.get(name)
    return found if isinstance(found, str) and found else None

"""A value nobody set, where `None` already means something."""

from __future__ import annotations

from enum import Enum


class Unset(Enum):
    """The type of `UNSET`."""

    UNSET = "unset"

    def __repr__(self) -> str:
        """Show the name only, as signatures do."""
        return "UNSET"


UNSET = Unset.UNSET

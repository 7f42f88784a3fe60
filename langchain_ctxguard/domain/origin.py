"""Who said something first."""

from __future__ import annotations

from typing import Literal

Origin = Literal["user", "ai", "tool", "system", "registry"]
"""Who said it first, as far as the messages show."""

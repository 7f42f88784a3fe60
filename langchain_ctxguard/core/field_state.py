"""What one text being read has at hand, and what is found in it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import NamedTuple

from langchain_ctxguard.core.field_sentences import stress_at
from langchain_ctxguard.domain.control import FieldKind
from langchain_ctxguard.domain.origin import Origin

_WORD = re.compile(r"[A-Za-z0-9_]+")
_DOTTED = re.compile(r"[A-Za-z0-9_]+(?:[-./:][A-Za-z0-9_]+)*")


class Found(NamedTuple):
    """A field of one text, before it has an owner."""

    kind: FieldKind
    start: int
    stop: int
    value: str | None = None
    """Where the value does not follow from the raw span alone: the currency stands in a key, the thing chosen in its clause."""

    confidence: float = 1.0
    label: str | None = None


@dataclass(slots=True)
class Reading:
    """One text being read, widths folded."""

    text: str
    role: Origin
    said: datetime | None
    zone: tzinfo
    known: dict[str, FieldKind] = field(default_factory=dict)
    """What identifiers with the same beginning were."""

    stressed: list[tuple[int, int]] = field(default_factory=list)
    """Bounds of the sentences a person or the application stresses."""

    @property
    def is_heard(self) -> bool:
        """Say whether the speaker can stress and choose: an assistant's emphasis and a tool's output decide nothing."""
        return self.role in {"user", "system"}

    def note(self, start: int, stop: int) -> None:
        """Note the sentence around a stressing word."""
        if not self.is_heard or (self.stressed and self.stressed[-1][1] >= start):
            return
        bounds = stress_at(self.text, start, stop)
        if bounds is not None and bounds[1] > bounds[0] and bounds not in self.stressed:
            self.stressed.append(bounds)


def run_at(text: str, start: int) -> int:
    """Return how many ASCII letters, digits and underscores stand at `start`."""
    found = _WORD.match(text, start)
    return found.end() - start if found else 0


def dotted_at(text: str, start: int) -> int:
    """Return the length of the token at `start`, its inner points, hyphens, slashes and colons included."""
    found = _DOTTED.match(text, start)
    return found.end() - start if found else 0

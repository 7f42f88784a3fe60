"""The application's own functions, as a constructor takes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Validator = Callable[[str], "bool | str"]
"""Judges a text: `True` if it passes, `False` or the reason if it does not."""


Redactor = Callable[[str], str]
"""Returns a text without what nobody may keep: the same text for the same text."""


@dataclass(frozen=True, slots=True)
class Extensions:
    """Functions a guard calls at its own points. Objects, not data: none of them can stand in a config file."""

    validators: Mapping[str, Validator] = field(default_factory=dict)
    """By the name that rules of kind `verifier` and `runtime` know them by. Called in a thread where the run is async."""

    redact: Redactor | None = None
    """Sees every text that leaves the view before anything is made of it: summary, evidence, quotes. Where it fails on a text, that text is withheld
    and no model is asked."""

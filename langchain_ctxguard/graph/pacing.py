"""When to compact and how far: triggers, goals and limits of one model call, from the settings and the model's window."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_ctxguard.backends.tokens import window_of
from langchain_ctxguard.domain.config import DEFAULT_WINDOW, CompactionSettings, trigger_clauses
from langchain_ctxguard.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Pace:
    """The sizes of one model call, in tokens."""

    window: int
    goal: int
    """A view of this many tokens or more is to be compacted, if the trigger speaks of tokens at all."""

    def scaled(self, factor: float) -> Pace:
        """Return the sizes in another count: a compaction goes by our own, the trigger by the provider's where it reports."""
        return self if factor == 1 else Pace(window=max(1, int(self.window * factor)), goal=max(1, int(self.goal * factor)))


def pace_of(settings: CompactionSettings, window: int) -> Pace:
    """Return the sizes that follow from the settings for a window."""
    thresholds = [
        int(value * window) if unit == "fraction" else int(value)
        for clause in trigger_clauses(settings.trigger)
        for unit, value in clause.items()
        if unit != "messages"
    ]
    return Pace(window=window, goal=max(1, min([*thresholds, window]) - 1))


def triggered(settings: CompactionSettings, *, tokens: int, messages: int, window: int) -> str | None:
    """Return the unit of the clause that holds for a view, or `None`."""
    sizes = {"tokens": tokens, "messages": messages, "fraction": tokens / window}
    for clause in trigger_clauses(settings.trigger):
        if all(sizes[unit] >= value for unit, value in clause.items()):
            return "+".join(clause)
    return None


def known_window(settings: CompactionSettings, model: Any) -> int | None:
    """Return the window of the settings or of the model's profile, `None` where neither says."""
    return settings.window or window_of(model)


class Windows:
    """Remembers that the missing window was warned about."""

    def __init__(self, settings: CompactionSettings) -> None:
        """Bind the settings."""
        self._settings = settings
        self._warned = False
        self._needs_window = settings.keep[0] == "fraction" or any("fraction" in clause for clause in trigger_clauses(settings.trigger))

    def of(self, model: Any) -> tuple[int, bool]:
        """Return the window and whether it is known; where it matters and is not, warn once and assume `DEFAULT_WINDOW`."""
        window = known_window(self._settings, model)
        if window is not None:
            return window, True
        if self._needs_window and not self._warned:
            self._warned = True
            warnings.warn(
                f"The model does not say how large its context window is; {DEFAULT_WINDOW:,} tokens are assumed. "
                "Set `window` under `compaction` in the config, give the model a `profile` with `max_input_tokens`, or use a trigger in tokens.",
                UserWarning,
                stacklevel=2,
            )
        return DEFAULT_WINDOW, False


def check_sizes(settings: CompactionSettings, *, pinned_tokens: int) -> None:
    """Refuse settings whose pins and `keep` alone would start the next compaction.

    Raises:
        ConfigurationError: naming the numbers.
    """
    kind, amount = settings.keep
    for clause in trigger_clauses(settings.trigger):
        tokens, fraction, messages = clause.get("tokens"), clause.get("fraction"), clause.get("messages")
        if fraction is not None and settings.window is not None:
            tokens = min(tokens or fraction * settings.window, fraction * settings.window)
        kept = amount if kind == "tokens" else amount * settings.window if kind == "fraction" and settings.window is not None else 0
        if tokens is not None and pinned_tokens + kept >= tokens:
            _refuse(f"pins ({pinned_tokens} tokens) and `keep` ({int(kept)} tokens) reach the trigger of {int(tokens)} tokens")
        if fraction is not None and kind == "fraction" and amount >= fraction:
            _refuse(f"`keep` ({amount} of the window) reaches the trigger ({fraction} of the window)")
        if messages is not None and kind == "messages" and amount >= messages:
            _refuse(f"`keep` ({int(amount)} messages) reaches the trigger of {int(messages)} messages")


def _refuse(what: str) -> None:
    msg = f"Every compaction would start the next one: {what}. Raise the trigger, keep less, or pin less."
    raise ConfigurationError(msg)


def smaller_keep(settings: CompactionSettings) -> Sequence[Any]:
    """Return what is kept when the provider refused a view: the newest turn."""
    kind, amount = settings.keep
    return settings.keep if amount == 0 or (kind == "turns" and amount == 1) else ("turns", 1)

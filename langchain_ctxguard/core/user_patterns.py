"""Patterns from a config file: compiled on RE2, so that none can make the scan slow, or refused with the place they stand at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from langchain_ctxguard.domain.pattern import compiled
from langchain_ctxguard.errors import ConfigurationError

_LONGEST = 400


class PatternMatch(NamedTuple):
    """What a pattern of the config file matched."""

    name: str
    start: int
    stop: int


class PatternSet:
    """Compiled patterns by name. Falsy where there are none."""

    def __init__(self, patterns: Mapping[str, str], place: str = "control_fields.patterns") -> None:
        """Compile `patterns`.

        Raises:
            ConfigurationError: naming the pattern RE2 cannot take, by its place in the config.
        """
        self.names = tuple(patterns)
        self.key = tuple(patterns.items())
        """Equal for sets that match alike."""

        self._compiled = [(name, _compile(pattern, f"{place}.{name}")) for name, pattern in patterns.items()]

    def __bool__(self) -> bool:
        """Say whether there is any pattern."""
        return bool(self._compiled)

    def found_in(self, text: str) -> list[PatternMatch]:
        """Return the whole tokens the patterns match in a folded text, in order of appearance."""
        found = []
        for name, pattern in self._compiled:
            at = 0
            while at <= len(text):
                match = pattern.search(text, at)
                if match is None:
                    break
                start, stop = match.span()
                if stop == start:
                    at = stop + 1
                    continue
                at = stop
                if stop - start <= _LONGEST and _is_whole(text, start, stop):
                    found.append(PatternMatch(name, start, stop))
        return sorted(found, key=lambda match: (match.start, match.stop, match.name))

    def names_in(self, text: str) -> list[str]:
        """Return the names of `found_in`, in the same order."""
        return [match.name for match in self.found_in(text)]


NO_PATTERNS = PatternSet({})


def pattern_set(patterns: Mapping[str, str] | None, place: str = "control_fields.patterns") -> PatternSet:
    """Return compiled patterns, the empty set for none."""
    return PatternSet(patterns, place) if patterns else NO_PATTERNS


def _compile(pattern: Any, place: str) -> Any:
    try:
        return compiled(pattern)
    except ValueError as error:
        msg = f"{place}: {error}"
        raise ConfigurationError(msg) from error


def _is_whole(text: str, start: int, stop: int) -> bool:
    """Say whether a match is a whole token: no letter or digit goes on at either edge, and no number goes on behind a point or hyphen."""
    for edge, beside, further in ((text[start], start - 1, start - 2), (text[stop - 1], stop, stop + 1)):
        if not (edge.isalnum() or edge == "_") or _is_ideograph(edge) or not 0 <= beside < len(text):
            continue
        neighbour = text[beside]
        if (neighbour.isalnum() or neighbour == "_") and not _is_ideograph(neighbour):
            return False
        if neighbour in "-." and 0 <= further < len(text) and text[further].isalnum() and not _is_ideograph(text[further]):
            return False
    return True


def _is_ideograph(character: str) -> bool:
    return "\u3040" <= character <= "\u9fff"

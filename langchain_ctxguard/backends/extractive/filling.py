"""Choosing lines for a room: each shows a value nothing chosen before it shows, and no kind crowds out the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from langchain_ctxguard.backends.extractive.lines import Item
from langchain_ctxguard.core.sentences import values_in

PENDING_SHARE = 0.5
"""Part of the room that open items may take: requests nobody answered do not crowd out what was found out."""


@dataclass(slots=True)
class Fill:
    """What was chosen so far."""

    room: int
    cost: Callable[[str], int]
    values: set[str]
    """Words with digits that something chosen shows."""

    chosen: list[Item] = field(default_factory=list)
    _shown: list[frozenset[str]] = field(default_factory=list)
    """The same, for each that was chosen."""

    _wishes: int = 0
    _taken: set[int] = field(default_factory=set)

    def is_new(self, item: Item) -> bool:
        """Say whether an item shows a value nothing chosen shows, or is none that lives by its values, as a person's choice of one is."""
        values = values_in(item.key)
        # One digit is in too many places to say the same, and two values may stand apart in two sentences and mean a third thing here.
        is_known = any(len(value) > 1 for value in values) and values <= self.values and any(values <= shown for shown in self._shown)
        return item.is_the_users or not is_known

    def take(self, ranked: Iterable[Item], part: int) -> None:
        """Choose from `ranked` what fits into a part of the room; open items take their own share of it at most, but one always may."""
        part = min(part, self.room)
        misses = 0
        for item in ranked:
            if id(item) in self._taken:
                continue
            price = self.cost(item.line())
            is_wish = item.section == "pending_items"
            if is_wish and self._wishes and self._wishes + price > int(part * PENDING_SHARE):
                continue
            if price <= part:
                part -= price
                self.room -= price
                self._wishes += price * is_wish
                self._taken.add(id(item))
                self.chosen.append(item)
                shown = values_in(item.key)
                self.values |= shown
                self._shown.append(shown)
            elif (misses := misses + 1) > 40:  # noqa: PLR2004 - the rest would be crumbs
                break

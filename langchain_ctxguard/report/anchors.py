"""Where messages stand on a page: each position once, however often a branch shows it again."""

from __future__ import annotations

from collections.abc import Iterable

from langchain_ctxguard.report.document import Inline, Link
from langchain_ctxguard.report.story import Message, Report


class Anchors:
    """The places of a page that messages are linked to by."""

    def __init__(self, messages: Iterable[Message]) -> None:
        """Know which messages the page will show."""
        self._there = {one.position for one in messages if one.position is not None and not one.is_erased}
        self._taken: set[int] = set()

    @classmethod
    def of(cls, report: Report) -> Anchors:
        """Return those of a report."""
        return cls(one for part in (*(done.before for done in report.compactions), report.in_sight) for one in part)

    def take(self, position: int | None) -> str:
        """Return the name of a message's place; empty where it has one already."""
        if position is None or position in self._taken:
            return ""
        self._taken.add(position)
        return _name(position)

    def link(self, position: int) -> Inline:
        """Return a reference to a message: a link where the page shows it."""
        words = f"message {position + 1:,}"
        return Link(words, _name(position)) if position in self._there else words


def _name(position: int) -> str:
    return f"m-{position}"

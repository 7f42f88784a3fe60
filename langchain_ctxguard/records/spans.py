"""Stretches of positions, each from its first to the one behind its last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

Stretch = tuple[int, int]


def outside(first: int, stop: int, covered: Sequence[Stretch]) -> Iterator[Stretch]:
    """Yield what of a stretch no other covers, in order.

    Args:
        first: Its first position.
        stop: The one behind its last.
        covered: Stretches in order that do not touch, as `with_stretch` gives them.

    >>> list(outside(0, 9, [(2, 4), (6, 20)]))
    [(0, 2), (4, 6)]
    """
    for start, end in covered:
        if start >= stop:
            break
        if first < start:
            yield first, start
        first = max(first, end)
    if first < stop:
        yield first, stop


def with_stretch(covered: Sequence[Stretch], first: int, stop: int) -> list[Stretch]:
    """Return stretches with one more, in order, those that touch made one.

    >>> with_stretch([(2, 4), (8, 9)], 4, 6)
    [(2, 6), (8, 9)]
    """
    found: list[Stretch] = []
    for start, end in sorted([*covered, (first, stop)] if first < stop else covered):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found

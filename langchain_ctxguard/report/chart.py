"""The timeline as SVG: tokens over time, what happened to them, what the cache gave, which rules stood there. Numbers only; names are escaped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Literal, NamedTuple

from langchain_ctxguard.core.text import clipped
from langchain_ctxguard.report.visible import visible
from langchain_ctxguard.report.words import joined

Kind = Literal["made", "repaired", "refused", "back"]

_WIDTH, _LEFT, _RIGHT = 1000.0, 150.0, 16.0
_TOP, _HEIGHT = 40.0, 170.0
_SHARE, _LANE, _GAP = 34.0, 18.0, 16.0
_POINTS = 600
"""Points of a curve: more than there are to see on a screen."""

_FAR = 3
_LANES = 12
_LABEL = 22
_LEGEND: tuple[tuple[Kind, str, str], ...] = (
    ("made", "\u25cf", "compaction"),
    ("repaired", "\u25cf", "compaction, repaired"),
    ("refused", "\u00d7", "refused: the context before stays"),
    ("back", "\u25c4", "rollback"),
)


class Point(NamedTuple):
    """Tokens at a moment; `x` counts what the timeline counts."""

    x: int
    tokens: int


class Event(NamedTuple):
    """Something that happened to the context at a moment."""

    x: float
    tokens: float
    kind: Kind
    label: str
    anchor: str
    number: int
    before: int = 0
    """Tokens before it; 0: not told."""


class Lane(NamedTuple):
    """Where a rule stood: first and last moment of each stretch."""

    label: str
    spans: Sequence[tuple[int, int]]
    is_enforced: bool


class Timeline(NamedTuple):
    """What is drawn."""

    unit: str
    """What `x` counts: `model call`, `message`, `moment on record`."""

    last: int
    points: Sequence[Point] = ()
    events: Sequence[Event] = ()
    shares: Sequence[tuple[int, float]] = ()
    breaks: Sequence[int] = ()
    lanes: Sequence[Lane] = ()


def drawn(timeline: Timeline) -> str:
    """Return the SVG; empty where there is nothing to draw."""
    if not timeline.points:
        return ""
    return "".join(_Drawing(timeline).parts())


class _Drawing:
    """One drawing and its scales."""

    def __init__(self, timeline: Timeline) -> None:
        self._told = timeline
        highest = max(1, *(point.tokens for point in timeline.points), *(event.tokens for event in timeline.events))
        # One fall from far above would flatten all the rest: it begins at the edge, and its number stands there.
        falls = [event.before for event in timeline.events if event.before <= _FAR * highest]
        self._most = _round_up(int(max(highest, *falls, 0)))
        self._lanes = timeline.lanes[:_LANES]

    def parts(self) -> Iterator[str]:
        bottom = _TOP + _HEIGHT
        share_top = bottom + _GAP + 12
        lanes_top = (share_top + _SHARE + _GAP) if self._told.shares or self._told.breaks else share_top
        height = lanes_top + len(self._lanes) * _LANE + 8
        yield f'<svg viewBox="0 0 {_WIDTH:.0f} {height:.0f}" role="group" aria-label="Timeline of tokens, by {escape(self._told.unit)}">'
        yield from self._legend()
        yield from self._axes(bottom)
        yield from self._curve(bottom)
        if self._told.shares or self._told.breaks:
            yield from self._cache(share_top)
        yield from self._rules(lanes_top)
        yield from self._events()
        yield "</svg>"

    def _x(self, x: float) -> float:
        # Each moment has a seat of its own, and stands in the middle of it.
        return _LEFT + (x - 0.5) / max(1, self._told.last) * (_WIDTH - _LEFT - _RIGHT)

    def _y(self, tokens: float) -> float:
        return _TOP + _HEIGHT * (1 - tokens / self._most)

    def _legend(self) -> Iterator[str]:
        there = {event.kind for event in self._told.events}
        x = _LEFT
        for kind, sign, words in _LEGEND:
            if kind in there:
                yield f'<text class="{kind}" x="{x:.0f}" y="14">{sign}</text><text x="{x + 14:.0f}" y="14">{words}</text>'
                x += 34 + 6.4 * len(words)

    def _axes(self, bottom: float) -> Iterator[str]:
        for part in (0, 0.5, 1):
            y = self._y(self._most * part)
            yield f'<line class="axis" x1="{_LEFT:.0f}" x2="{_WIDTH - _RIGHT:.0f}" y1="{y:.1f}" y2="{y:.1f}"/>'
            yield f'<text class="end" x="{_LEFT - 8:.0f}" y="{y + 4:.1f}">{int(self._most * part):,}</text>'
        yield f'<text x="0" y="{_TOP + 4:.0f}">tokens</text>'
        for x in sorted({1, (1 + self._told.last) // 2, self._told.last}):
            side = "end" if x == self._told.last > 1 else "middle" if x > 1 else ""
            words = f"{self._told.unit} {x:,}" if x == 1 else f"{x:,}"
            yield f'<text class="{side}" x="{self._x(x):.1f}" y="{bottom + 16:.1f}">{escape(words)}</text>'

    def _curve(self, bottom: float) -> Iterator[str]:
        points = [f"{self._x(point.x):.1f},{self._y(point.tokens):.1f}" for point in _thinned(self._told.points)]
        first, last = self._x(self._told.points[0].x), self._x(self._told.points[-1].x)
        yield f'<path class="area" d="M{first:.1f},{bottom:.1f} L{" ".join(points)} L{last:.1f},{bottom:.1f} Z"/>'
        yield f'<polyline class="curve" points="{" ".join(points)}"/>'

    def _cache(self, top: float) -> Iterator[str]:
        bottom = top + _SHARE
        words = "read from cache" if self._told.shares else "cache broke"
        yield f'<text x="0" y="{top + 12:.1f}">{words}</text><line class="axis" x1="{_LEFT:.0f}" x2="{_WIDTH - _RIGHT:.0f}" '
        yield f'y1="{bottom:.1f}" y2="{bottom:.1f}"/>'
        width = max(0.8, (_WIDTH - _LEFT - _RIGHT) / max(1, self._told.last) * 0.7)
        for x, share in self._told.shares[:: max(1, len(self._told.shares) // _POINTS)]:
            tall = _SHARE * share
            yield f'<rect class="share" x="{self._x(x) - width / 2:.1f}" y="{bottom - tall:.1f}" width="{width:.1f}" height="{tall:.1f}"/>'
        for x in self._told.breaks[:_POINTS]:
            yield f'<line class="break" x1="{self._x(x):.1f}" x2="{self._x(x):.1f}" y1="{top:.1f}" y2="{bottom:.1f}"/>'

    def _rules(self, top: float) -> Iterator[str]:
        for row, lane in enumerate(self._lanes):
            y = top + row * _LANE
            yield f'<text x="0" y="{y + 11:.1f}">{escape(clipped(visible(lane.label), _LABEL))}</text>'
            for first, last in joined(lane.spans):
                begin, end = self._x(first - 0.5), self._x(last + 0.5)
                kind = "lane" if lane.is_enforced else "lane shown"
                yield f'<rect class="{kind}" x="{begin:.1f}" y="{y + 3:.1f}" width="{max(4.0, end - begin):.1f}" height="8" rx="2"/>'

    def _events(self) -> Iterator[str]:
        for event in self._told.events:
            x, y = self._x(event.x), self._y(event.tokens)
            label = escape(visible(event.label))
            if event.before > event.tokens:
                yield f'<line class="fall" x1="{x:.1f}" x2="{x:.1f}" y1="{max(_TOP, self._y(event.before)):.1f}" y2="{y:.1f}"/>'
            if event.before > self._most:
                side = "" if x < _WIDTH / 2 else "end"
                yield f'<text class="{side}" x="{x + (4 if not side else -4):.1f}" y="{_TOP + 12:.1f}">from {event.before:,}</text>'
            yield f'<a href="#{escape(event.anchor)}" aria-label="{label}"><title>{label}</title>'
            yield f'<circle class="{event.kind}" cx="{x:.1f}" cy="{y:.1f}" r="9"/>'
            sign = {"refused": "\u00d7", "back": "\u25c4"}.get(event.kind, str(event.number))
            yield f'<text class="number" x="{x:.1f}" y="{y + 4:.1f}">{sign}</text></a>'


def _thinned(points: Sequence[Point]) -> Sequence[Point]:
    """Return so many points as can be told apart: of each stretch the lowest and the highest, so that no fall is lost."""
    if len(points) <= _POINTS:
        return points
    size = -(-len(points) * 2 // _POINTS)
    kept = [points[0]]
    for start in range(0, len(points), size):
        stretch = points[start : start + size]
        kept += sorted({min(stretch, key=lambda point: point.tokens), max(stretch, key=lambda point: point.tokens)})
    return [*kept, points[-1]]


def _round_up(number: int) -> int:
    """Return the next number that reads well on an axis.

    >>> _round_up(4_321), _round_up(90), _round_up(1)
    (5000, 100, 10)
    """
    step: int = 10 ** max(1, len(str(number)) - 1)
    for part in (1, 1.5, 2, 3, 4, 5, 6, 8, 10):
        if number <= step * part:
            return int(step * part)
    return step * 10

"""The timeline: numbers in, a drawing out that hides no fall and holds no text but escaped names."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_ctxguard.report.chart import Event, Lane, Point, Timeline, drawn

NAME = "a<b>&\"'\u202e"


def heights(svg: str) -> list[float]:
    """Return the heights of a curve's points, from the top."""
    found = re.search(r'polyline class="curve" points="([^"]+)"', svg)
    assert found is not None
    return [float(pair.partition(",")[2]) for pair in found[1].split()]


def test_nothing_is_drawn_of_nothing() -> None:
    """Without points there is no picture."""
    assert "" == drawn(Timeline("model call", 1))


def test_a_single_call_is_a_picture() -> None:
    """One point has a place of its own."""
    ET.fromstring(drawn(Timeline("model call", 1, [Point(1, 5)])))  # noqa: S314 - our own drawing


@pytest.mark.parametrize("count", [10, 600, 601, 7_000])
def test_no_fall_is_lost_however_many_points_there_are(count: int) -> None:
    """Of thousands of points so many are drawn as can be seen, the highest and the lowest among them."""
    points = [Point(at + 1, 100_000 if at == count // 3 else 1 if at == count // 2 else 50_000) for at in range(count)]
    drawn_heights = heights(drawn(Timeline("model call", count, points)))
    assert len(drawn_heights) <= 610
    assert (40.0, 210.0) == (min(drawn_heights), max(drawn_heights))


@given(
    st.lists(st.integers(0, 10**9), min_size=1, max_size=20),
    st.lists(st.tuples(st.integers(1, 20), st.sampled_from(["made", "repaired", "refused", "back"])), max_size=5),
    st.text(st.characters(codec=None), max_size=20),
)
def test_every_drawing_is_well_formed_and_within_its_frame(sizes: list[int], events: list[tuple[int, str]], name: str) -> None:
    """Whatever the numbers and names are."""
    last = len(sizes)
    timeline = Timeline(
        "model call",
        last,
        [Point(at, size) for at, size in enumerate(sizes, 1)],
        [Event(min(at, last), sizes[min(at, last) - 1], kind, name, "compaction-1", 1, before=10**9) for at, kind in events],  # type: ignore[arg-type]
        [(at, 0.5) for at in range(1, last + 1)],
        [1],
        [Lane(name, [(1, last)], is_enforced=True)],
    )
    tree = ET.fromstring(drawn(timeline))  # noqa: S314 - our own drawing
    for circle in tree.iter("circle"):
        assert 150 <= float(circle.attrib["cx"]) <= 1000
        assert 39.9 <= float(circle.attrib["cy"]) <= 210.1
    for rect in tree.iter("rect"):
        assert 149.9 <= float(rect.attrib["x"])
        assert float(rect.attrib["x"]) + float(rect.attrib["width"]) <= 1000


def test_an_event_is_a_link_that_says_what_it_is() -> None:
    """By keyboard and screen reader too; a name cannot become markup."""
    svg = drawn(
        Timeline(
            "model call",
            2,
            [Point(1, 5), Point(2, 9)],
            [Event(2, 9, "refused", NAME, "compaction-7", 7)],
            lanes=[Lane(NAME, [(1, 2)], is_enforced=False)],
        )
    )
    tree = ET.fromstring(svg)  # noqa: S314 - our own drawing
    (link,) = tree.iter("a")
    assert "#compaction-7" == link.attrib["href"]
    assert "a<b>&\"'⟦U+202E⟧" == link.attrib["aria-label"]

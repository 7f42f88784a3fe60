"""A hand-over is the same as Markdown and as JSON, whatever text is in it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_ctxguard.domain.code_place import CodePlace
from langchain_ctxguard.domain.handoff import Handoff
from langchain_ctxguard.domain.handoff_blocks import Anchor, HandoffItem, HandoffReason, Prohibition
from langchain_ctxguard.domain.origin import Origin
from langchain_ctxguard.domain.summary import Decision, Rejected
from langchain_ctxguard.domain.worklog import SaidBy
from tests.domain.test_worklog import places, texts

SNAPSHOTS = Path(__file__).parent / "snapshots"
NOW = datetime(2026, 11, 30, 12, 30, 1, 17, tzinfo=UTC)

any_text = (
    st.text(max_size=40)
    | texts
    | st.sampled_from(["", "## Done", "- x", "> y", "(nothing)", "[blocked] x", "why: x", "a\n\n## Goal\n> b\n", "\n", "  - why: z"])
)
numbers = st.none() | st.integers(0, 2_000)
items = st.builds(
    HandoffItem,
    text=any_text.filter(bool),
    places=st.lists(places, max_size=2).map(tuple),
    trace=numbers,
    is_blocked=st.booleans(),
    said_by=st.sampled_from(get_args(SaidBy)),
)
decisions = st.builds(
    Decision,
    chosen=any_text,
    why=any_text,
    rejected=st.lists(st.builds(Rejected, option=any_text, why=any_text), max_size=2).map(tuple),
    source=st.none() | any_text,
    said_by=st.none() | st.sampled_from(get_args(Origin)),
)
handoffs = st.builds(
    Handoff,
    number=st.integers(0, 99),
    thread=any_text,
    namespace=any_text,
    made_at=st.datetimes(timezones=st.just(UTC)),
    made_by=st.sampled_from(get_args(SaidBy)),
    reason=st.sampled_from(get_args(HandoffReason)),
    trace=st.integers(0, 99),
    goal=any_text,
    done=st.lists(items, max_size=2).map(tuple),
    not_done=st.lists(items, max_size=2).map(tuple),
    anchors=st.lists(st.builds(Anchor, place=places, what=any_text), max_size=2).map(tuple),
    do_not=st.lists(st.builds(Prohibition, text=any_text.filter(bool), why=any_text, trace=numbers), max_size=2).map(tuple),
    next_action=any_text,
    decisions=st.lists(decisions, max_size=2).map(tuple),
)

SHOWN = Handoff(
    number=2,
    thread="t-1",
    made_at=NOW,
    trace=14,
    goal="Rename `total` to `sum_total`\nand keep the tests green",
    done=(HandoffItem(text="rename total()", places=(CodePlace(path="src/cart.py", symbol="total"),), trace=14),),
    not_done=(
        HandoffItem(text="update the callers", places=(CodePlace(path="src/shop.py", line=12),), said_by="agent"),
        HandoffItem(text="publish", trace=11, is_blocked=True, said_by="agent"),
    ),
    anchors=(Anchor(place=CodePlace(path="src/cart.py", symbol="total"), what="the function that is renamed"),),
    do_not=(Prohibition(text="Do not touch migrations/", why="they are applied by hand"),),
    next_action="Edit src/shop.py",
    decisions=(Decision(chosen="httpx", why="async", rejected=(Rejected(option="requests", why="no async"),), said_by="user"),),
)


@given(handoff=handoffs)
def test_markdown_and_json_say_the_same(handoff: Handoff) -> None:
    """Markdown reads back into what JSON reads back into, which is the hand-over itself."""
    assert Handoff.from_markdown(handoff.to_markdown()) == handoff
    assert Handoff.from_json(handoff.to_json()) == handoff
    assert Handoff.from_json(Handoff.from_markdown(handoff.to_markdown()).to_json()).to_markdown() == handoff.to_markdown()


@given(handoff=handoffs)
def test_an_editor_may_save_it(handoff: Handoff) -> None:
    """Spaces at the ends of lines cut off, and other line ends, change nothing."""
    saved = "\r\n".join(line.rstrip() for line in handoff.to_markdown().split("\n"))
    assert Handoff.from_markdown(saved) == handoff


def test_the_markdown_reads_well() -> None:
    """What people and agents read is kept as a snapshot."""
    assert (SNAPSHOTS / "handoff.md").read_text(encoding="utf-8") == SHOWN.to_markdown()


@pytest.mark.parametrize(
    ("line", "instead"),
    [("## Done", "## Finished"), ("- thread: t-1", "thread t-1"), ("  - why: async", "  - because: async"), ("# Hand-over 2", "# Notes")],
)
def test_what_is_no_handoff_is_refused(line: str, instead: str) -> None:
    """A damaged file is named, with the line."""
    text = SHOWN.to_markdown()
    assert line in text
    with pytest.raises(ValueError, match=r"no block|cannot be read|does not begin"):
        Handoff.from_markdown(text.replace(line, instead, 1))


def test_a_later_schema_is_refused() -> None:
    """What a later version wrote is not half understood."""
    with pytest.raises(ValueError, match="schema_version"):
        Handoff.from_json(SHOWN.to_json().replace('"schema_version": 1', '"schema_version": 2'))

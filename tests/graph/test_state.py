from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.graph import END, START, StateGraph

from langchain_ctxguard.domain.context import ContextHead, Cut
from langchain_ctxguard.graph.state import GuardedAgentState, GuardedState, head_in, newest_head

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def head(version: int, **changes: Any) -> dict[str, Any]:
    return ContextHead(version=version, cut=Cut(anchors=("m1",), position=1), **changes).to_dict()


@pytest.mark.parametrize(
    ("left", "right", "stands"),
    [
        (None, None, {}),
        ({}, {}, {}),
        ({}, head(1), head(1)),
        (head(1), head(2), head(2)),
        (head(2), head(1), head(2)),
        (head(2), head(2, cool_down=9), head(2, cool_down=9)),
        (head(2), {}, head(2)),
        (head(2), None, head(2)),
        (head(2), "garbage", head(2)),
        (head(2), [], head(2)),
        (head(2), {**head(3), "digest": "x"}, head(2)),
        (head(2), {**head(3), "schema_version": 2}, head(2)),
        (head(2), {"version": 3}, head(2)),
        ({}, {"version": 3}, {}),
        ("garbage", head(1), head(1)),
        ({"version": 9}, head(1), head(1)),
        ({**head(9), "digest": "x"}, head(1), head(1)),
        (head(2), head(2**53 + 1), head(2)),
    ],
)
def test_the_newest_readable_head_stands(left: Any, right: Any, stands: Any) -> None:
    """Of two writers the newer version stands, the later write of two equal ones; what is no head changes nothing, whoever was first."""
    assert stands == newest_head(left, right)


@given(left=json_values, right=json_values)
def test_no_write_makes_the_reducer_raise(left: Any, right: Any) -> None:
    """Any JSON on either side is met; none of it replaces a head."""
    newest_head(left, right)
    assert head(1) == newest_head(head(1), right)
    assert head(1) == newest_head(left, head(1))


@given(json_values)
def test_reading_a_channel_never_raises(raw: Any) -> None:
    """Whatever lies in the channel is no head, and says so without an exception."""
    assert not isinstance(head_in(raw), ContextHead)


def test_neither_side_is_mutated() -> None:
    """A reducer that changed its arguments would change checkpoints."""
    left, right = head(1), head(2)
    before = copy.deepcopy((left, right))
    newest_head(left, right)
    assert before == (left, right)


@pytest.mark.parametrize("schema", [GuardedState, GuardedAgentState])
def test_two_writers_in_one_superstep(schema: Any) -> None:
    """Two nodes that write the channel in one step end with the newer head, in both orders of their names: the reducer is in force."""
    for first, second in ((head(2), head(1)), (head(1), head(2))):
        graph = StateGraph(schema)
        graph.add_node("a", lambda _, update=first: {"ctxguard": update})
        graph.add_node("b", lambda _, update=second: {"ctxguard": update})
        for name in ("a", "b"):
            graph.add_edge(START, name)
            graph.add_edge(name, END)
        compiled = graph.compile()
        channel = compiled.channels["ctxguard"]
        assert "BinaryOperatorAggregate" == type(channel).__name__
        parts = list(compiled.stream({"messages": []}, stream_mode="values"))
        assert head(2) == parts[-1].get("ctxguard", head(2))

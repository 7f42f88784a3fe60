from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.tools import BaseTool, tool

from langchain_ctxguard.core.tool_order import canonical, stable_tools, tool_name


@tool
def alpha(key: str) -> str:
    """Do alpha."""
    return key


@tool
def beta(key: str) -> str:
    """Do beta."""
    return key


def schema(name: str, **extra: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}, **extra}}}


names = st.lists(st.sampled_from("abcdef"), max_size=8)


def test_on_first_sight_tools_are_sorted_by_name() -> None:
    """Whatever order they come in; the objects are the same objects."""
    arranged, order = stable_tools([beta, alpha])
    assert ("alpha", "beta") == order
    assert alpha is arranged[0]
    assert beta is arranged[1]


def test_later_tools_are_appended() -> None:
    """A new tool stands behind all that are known, even if its name sorts before them."""
    _, order = stable_tools([schema("m"), schema("z")])
    arranged, order = stable_tools([schema("a"), schema("z"), schema("m")], order)
    assert ["m", "z", "a"] == list(map(tool_name, arranged))
    assert ("m", "z", "a") == order


def test_a_tool_that_comes_back_takes_its_old_place() -> None:
    """What a provider cached before the tool went away fits again."""
    _, order = stable_tools([schema("a"), schema("b"), schema("c")])
    gone, order = stable_tools([schema("c"), schema("a")], order)
    assert ["a", "c"] == list(map(tool_name, gone))
    back, order = stable_tools([schema("c"), schema("b"), schema("a")], order)
    assert ["a", "b", "c"] == list(map(tool_name, back))


def test_a_list_in_order_is_the_same_list() -> None:
    """Where nothing is to be done nothing is copied."""
    tools = [alpha, beta, canonical(schema("z"))]
    assert tools is stable_tools(tools)[0]
    order = stable_tools(tools)[1]
    assert order is stable_tools(tools, order)[1]


@given(first=names, then=names)
def test_no_tool_is_lost_and_none_moves(first: list[str], then: list[str]) -> None:
    """The same tools leave that came, and those known before stand before all others in the order they had."""
    _, order = stable_tools([schema(name) for name in first])
    arranged, after = stable_tools([schema(name) for name in then], order)
    told = list(map(tool_name, arranged))
    assert sorted(then) == sorted(told)
    assert after[: len(order)] == order
    assert sorted(told, key=after.index) == told


@given(names=names, seed=st.randoms())
def test_the_order_given_decides_nothing(names: list[str], seed: Any) -> None:
    """Any order of the same tools leaves in one order."""
    shuffled = list(names)
    seed.shuffle(shuffled)
    assert list(map(tool_name, stable_tools([schema(n) for n in names])[0])) == list(map(tool_name, stable_tools([schema(n) for n in shuffled])[0]))


def test_tools_of_one_name_stay_as_given() -> None:
    """Which of two is meant is not ours to decide."""
    one, two = schema("same", title="one"), schema("same", title="two")
    arranged, order = stable_tools([two, schema("a"), one])
    assert ["two", "one"] == [item["function"]["parameters"]["title"] for item in arranged[1:]]
    assert ("a", "same") == order


def test_keys_leave_in_one_order_and_values_untouched() -> None:
    """Two writings of one schema become the same text at every depth; lists keep their order, and the given dict is not changed."""
    one = {"name": "t", "parameters": {"required": ["b", "a"], "properties": {"b": {"type": "string", "enum": ["z", "a"]}, "a": {}}}}
    two = {"parameters": {"properties": {"a": {}, "b": {"enum": ["z", "a"], "type": "string"}}, "required": ["b", "a"]}, "name": "t"}
    before = json.dumps(one)
    assert json.dumps(canonical(one)) == json.dumps(canonical(two))
    assert one == canonical(one)
    assert before == json.dumps(one)
    assert ["b", "a"] == canonical(one)["parameters"]["required"]


def test_keys_in_a_list_of_schemas_leave_in_one_order() -> None:
    """A choice of types is told alike, however each of them was written."""
    one, two = (
        schema("t", anyOf=[{"type": "string", "enum": ["z"]}, {"type": "null"}]),
        schema("t", anyOf=[{"enum": ["z"], "type": "string"}, {"type": "null"}]),
    )
    assert json.dumps(canonical(one)) == json.dumps(canonical(two))
    done = canonical(one)
    assert done is canonical(done)


def test_hostile_schemas_pass_through() -> None:
    """A schema that holds itself, keys of mixed types, no name at all: nothing raises and nothing is lost."""
    looped: dict[str, Any] = {"name": "loop"}
    looped["self"] = looped
    assert looped is canonical(looped)
    mixed = {"name": "mixed", 2: "b", 1: "a"}
    arranged, order = stable_tools([looped, mixed, {}, {"type": "web_search_20250305"}, alpha])
    assert ("", "alpha", "loop", "mixed", "web_search_20250305") == order
    assert 5 == len(arranged)
    assert [1, 2, "name"] == list(arranged[3])


def test_every_form_of_tool_has_a_name() -> None:
    """Tools, functions, classes and dicts of any provider are known by the name a model calls."""

    def plain() -> None: ...

    assert ["alpha", "plain", "Weather", "f", "g", "computer"] == [
        tool_name(item)
        for item in (alpha, plain, type("Weather", (), {}), schema("f"), {"name": "g", "input_schema": {}}, {"type": "computer", "display": 1})
    ]
    assert isinstance(alpha, BaseTool)


def test_the_order_does_not_grow_without_end() -> None:
    """An agent whose tools are new at every call does not fill the memory, and tools in use keep their place."""
    order: tuple[str, ...] = ()
    for number in range(2_000):
        _, order = stable_tools([schema("keep"), schema(f"tool-{number:04}")], order)
    assert 258 == len(order)
    assert ("keep", "tool-1999") == (order[0], order[-1])


def test_a_name_that_is_known_twice_has_one_place() -> None:
    """Its first; whatever a state was made of, what comes back is an order that holds each name once, and the tools stand in it."""
    arranged, order = stable_tools([schema("c"), schema("b"), schema("a")], ("a", "b", "a"))
    assert ("a", "b", "c") == order
    assert ["a", "b", "c"] == list(map(tool_name, arranged))
    assert ("a",) == stable_tools([schema("a")], ("a", "a"))[1]


def test_no_tools_are_no_tools() -> None:
    """Nothing in, nothing out, and the order stays."""
    assert ([], ("a",)) == stable_tools([], ("a",))

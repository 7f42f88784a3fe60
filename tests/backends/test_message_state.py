from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import ormsgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ChatMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.serde.jsonplus import EXT_PYDANTIC_V2, JsonPlusSerializer

from langchain_ctxguard.backends.message_state import State, state_of, states_of

SERDE = JsonPlusSerializer()
USAGE: Any = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
COMMON: list[BaseMessage] = [
    HumanMessage("hello", id="1"),
    HumanMessage([{"type": "text", "text": "hello"}, "there"], name="ann"),
    SystemMessage("rules", additional_kwargs={"cache": {"kind": ["x"]}}),
    AIMessage("", tool_calls=[{"name": "look", "args": {"where": [1, {"a": None}]}, "id": "c1"}], id="2"),
    AIMessage("done", usage_metadata={**USAGE, "input_token_details": {"cache_read": 1}}, response_metadata={"model": "m"}),
    ToolMessage("found", tool_call_id="c1", artifact={"rows": [1.5, "x"]}, status="error"),
]


def stored(message: Any) -> bytes:
    return SERDE.dumps_typed(message)[1]


def written(message: BaseMessage, **fields: Any) -> bytes:
    """A message some of whose fields its class would not take, or would change."""
    kind = type(message)
    inner = ormsgpack.packb((kind.__module__, kind.__name__, {**message.model_dump(), **fields}, "model_validate_json"))
    return ormsgpack.packb(ormsgpack.Ext(EXT_PYDANTIC_V2, inner))


def looked_at(message: Any) -> Any:
    return type(message), list(message.__dict__.items()), message.__pydantic_extra__, message.__pydantic_fields_set__, message.__pydantic_private__


@pytest.mark.parametrize("message", COMMON, ids=lambda message: message.type)
def test_a_common_message_is_made_without_its_class_and_is_the_same(message: BaseMessage) -> None:
    """What the serializer would give, field for field and in the same order."""
    (state,) = states_of([stored(message)])
    assert state is not None
    assert looked_at(SERDE.loads_typed(("msgpack", stored(message)))) == looked_at(state.made())
    assert stored(message) == stored(state.made())


@pytest.mark.parametrize(
    "content",
    [
        stored(HumanMessage("x", mark=1)),  # type: ignore[call-arg]  # whatever a provider adds
        stored(HumanMessage("x", additional_kwargs={"at": datetime(2026, 1, 1, tzinfo=UTC)})),
        stored(HumanMessage("x", additional_kwargs={"at": UUID(int=1)})),
        written(HumanMessage("x"), content=7),
        written(HumanMessage("x"), content=["x", 7]),
        written(HumanMessage("x"), id=7),
        written(HumanMessage("x"), type="ai"),
        written(ToolMessage("x", tool_call_id="1"), tool_call_id=7),
        written(ToolMessage("x", tool_call_id="1"), status="lost"),
        written(AIMessage("x"), usage_metadata={"input_tokens": 1}),
        written(AIMessage("x"), usage_metadata={**USAGE, "total_tokens": "7"}),
        written(AIMessage("x"), usage_metadata={**USAGE, "input_token_details": {"other": 1}}),
        written(AIMessage("x"), tool_calls=[{"name": "look", "args": {}, "id": "1"}]),
        written(AIMessage("x"), additional_kwargs={"tool_calls": [{"id": "1", "function": {"name": "look", "arguments": "{}"}}]}),
        stored(AIMessage("", invalid_tool_calls=[{"name": "look", "args": "{", "id": "1", "error": None, "type": "invalid_tool_call"}])),
        stored(AIMessageChunk("x")),
        stored(ChatMessage("x", role="judge")),
        stored(RemoveMessage(id="1")),
        stored({"type": "human", "content": "x"}),
        stored("text"),
    ],
)
def test_what_its_class_would_change_is_left_to_the_serializer(content: bytes) -> None:
    """Extra fields, dates, numbers for texts, calls as a provider writes them, other classes; what lies beside it is made all the same."""
    before, state, after = states_of([stored(COMMON[0]), content, stored(COMMON[1])])
    assert state is None
    assert before is not None
    assert after is not None


def test_bytes_that_are_no_message_are_left_to_the_serializer() -> None:
    """Cut off, or no msgpack at all: whoever reads them says what is wrong."""
    assert [None, None] == states_of([stored(COMMON[0])[:-1], b"\xc1"])
    assert [] == states_of([])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 2**40) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
BAGS = st.dictionaries(st.sampled_from(["a", "tool_calls", "function_call", "type"]), JSON, max_size=2)
CONTENT = st.text(max_size=8) | st.lists(st.text(max_size=3) | st.dictionaries(st.text(max_size=3), JSON, max_size=2), max_size=2)
CALLS = st.lists(
    st.builds(lambda name, args, call: {"name": name, "args": args, "id": call}, st.text(max_size=3), BAGS, st.none() | st.text(max_size=3)),
    max_size=2,
)
COUNTS = st.none() | st.fixed_dictionaries(
    {"input_tokens": st.integers(0, 9), "output_tokens": st.integers(0, 9), "total_tokens": st.integers(0, 9)},
    optional={"input_token_details": st.dictionaries(st.sampled_from(["audio", "cache_read", "other"]), st.integers(0, 9))},
)


@st.composite
def contents(draw: st.DrawFn) -> bytes:
    """A message a class accepted, or one that somebody put something else into, as anybody may."""
    common: dict[str, Any] = {"content": draw(CONTENT), "additional_kwargs": draw(BAGS), "response_metadata": draw(BAGS)}
    common |= {"name": draw(st.none() | st.text(max_size=3)), "id": draw(st.none() | st.text(max_size=3))}
    kind = draw(st.sampled_from([HumanMessage, SystemMessage, AIMessage, ToolMessage]))
    if kind is AIMessage:
        message: BaseMessage = AIMessage(**common, tool_calls=draw(CALLS), usage_metadata=draw(COUNTS))
    elif kind is ToolMessage:
        message = ToolMessage(**common, tool_call_id=draw(st.text(max_size=3)), artifact=draw(JSON))
    else:
        message = kind(**common)
    if draw(st.booleans()):
        return stored(message)
    return written(message, **{draw(st.sampled_from(sorted(kind.model_fields))): draw(JSON)})


@given(st.lists(contents(), max_size=3))
def test_whatever_is_made_is_what_the_serializer_gives(some: list[bytes]) -> None:
    """A state, where there is one, makes the message that a saver without us would have read."""
    for content, state in zip(some, states_of(some), strict=True):
        if state is not None:
            plain = SERDE.loads_typed(("msgpack", content))
            assert looked_at(plain) == looked_at(state.made())
            assert stored(plain) == stored(state.made())


def test_objects_made_of_one_state_share_nothing_that_can_change() -> None:
    """Whoever changes one, down to the lists in its lists, changes no other and not the state."""
    for message in COMMON:
        (state,) = states_of([stored(message)])
        own = state_of(message)
        for one in (state, own):
            assert isinstance(one, State)
            changed, other = one.made(), one.made()
            for name in one.parts:
                _spoil(changed.__dict__[name])
            changed.content = "another"
            changed.mark = 1
            assert looked_at(other) == looked_at(one.made())
            assert message == other


def _spoil(part: Any) -> None:
    for item in list(part.values()) if isinstance(part, dict) else list(part):
        if isinstance(item, dict | list):
            _spoil(item)
    if isinstance(part, dict):
        part["spoilt"] = 1
    elif isinstance(part, list):
        part.append("spoilt")

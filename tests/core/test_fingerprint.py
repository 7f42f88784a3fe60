from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage

from langchain_ctxguard.core.fingerprint import (
    PrefixSnapshot,
    canonical_text,
    common_part,
    divergence,
    drift_reason,
    first_changed_offset,
    front_of,
    message_text,
    prefix_fingerprint,
    snapshot_of,
)
from langchain_ctxguard.domain.constraint import Constraint
from langchain_ctxguard.domain.prefix import DriftReason
from tests.support.builders import ai, human, result, tool_loop

TOOL = ("look_up", '{"name": "look_up", "parameters": {"type": "object"}}')
SYSTEM = SystemMessage("You serve orders.\nBe brief.\n")


def snapshot(messages: list[BaseMessage], *, head: int = 0, **front: Any) -> PrefixSnapshot:
    return snapshot_of(front_of("openai", "gpt-x", **{"tools": [TOOL], "system": SYSTEM, **front}), messages, head=head)


texts = st.text(alphabet="ab\n规", max_size=6)
messages = st.lists(
    st.one_of(
        texts.map(HumanMessage),
        texts.map(AIMessage),
        st.builds(lambda key: AIMessage("", tool_calls=[{"name": "f", "args": {"k": key}, "id": key}]), texts),
        st.builds(lambda text, key: ToolMessage(text, tool_call_id=key), texts, texts),
        texts.map(lambda text: HumanMessage([{"type": "text", "text": text}])),
    ),
    max_size=5,
)


@given(before=st.text(alphabet="abc", max_size=9), after=st.text(alphabet="abc", max_size=9))
def test_the_first_changed_offset_is_the_end_of_the_common_prefix(before: str, after: str) -> None:
    """Up to the offset both texts are the same, and not one character further; a text that only grew has none."""
    offset = first_changed_offset(before, after)
    if offset is None:
        assert after.startswith(before)
        return
    assert before[:offset] == after[:offset]
    assert offset < len(before)
    assert before[: offset + 1] != after[: offset + 1]


@given(first=messages, second=messages)
def test_snapshots_find_what_the_texts_show(first: list[BaseMessage], second: list[BaseMessage]) -> None:
    """Two lists diverge at the message in which their canonical texts first differ, and nowhere if one only continues the other."""
    found = divergence(snapshot(first), snapshot(second))
    shared = next(
        (n for n, (a, b) in enumerate(zip(first, second, strict=False)) if message_text(a) != message_text(b)), min(len(first), len(second))
    )
    assert (None if shared == len(first) else shared) == (None if found is None else found.at)
    if found is not None:
        common = canonical_text("openai", "gpt-x", tools=[TOOL], system=SYSTEM, messages=second[:shared])
        assert ("messages", len(common)) == (found.part, found.offset)


@given(said=messages, more=messages)
def test_a_snapshot_that_goes_on_equals_one_made_afresh(said: list[BaseMessage], more: list[BaseMessage]) -> None:
    """Reading only what is new gives the same snapshot as reading everything."""
    before = snapshot(said)
    front = before.front
    onward = snapshot_of(front, [*said, *more], before=before, unchanged=len(said))
    afresh = snapshot_of(front, [*said, *more])
    assert onward.trail is before.trail
    assert afresh.fingerprint == onward.fingerprint
    assert divergence(afresh, onward) is None
    assert divergence(onward, afresh) is None
    assert afresh.trail.characters(afresh.length) == onward.trail.characters(onward.length)


def test_two_continuations_of_one_call_do_not_mix() -> None:
    """A snapshot stays what it was, whichever way the conversation went on."""
    start = snapshot([human("a"), ai("b")])
    one = snapshot_of(start.front, [human("a"), ai("b"), human("x")], before=start, unchanged=2)
    two = snapshot_of(start.front, [human("a"), ai("b"), human("y")], before=start, unchanged=2)
    assert divergence(start, one) is None
    assert divergence(start, two) is None
    assert 2 == divergence(one, two).at  # type: ignore[union-attr]  # they differ


def test_the_fingerprint_outlives_the_process() -> None:
    """The same prefix has the same fingerprint in every process, whatever the seed of Python's own hashes."""
    script = (
        "from tests.core.test_fingerprint import *\n"
        "print(snapshot([HumanMessage('was', name='context_summary'), human('now')], rules=[Constraint.from_text('规则')]).fingerprint)"
    )
    told = [
        subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, env={"PYTHONHASHSEED": seed, "PYTHONPATH": "."})
        for seed in ("1", "2")
    ]
    assert told[0].stdout == told[1].stdout
    assert 32 == len(told[0].stdout.strip())


def test_the_fingerprint_stands_while_the_conversation_goes_on() -> None:
    """It moves with the summary, the rules block and the tools, never with what is said."""
    summary = HumanMessage("was", name="context_summary")
    first = snapshot([summary, human("a")])
    assert prefix_fingerprint(first) == prefix_fingerprint(snapshot([summary, human("other"), ai("b")]))
    assert prefix_fingerprint(first) != prefix_fingerprint(snapshot([HumanMessage("was more", name="context_summary"), human("a")]))
    assert prefix_fingerprint(first) != prefix_fingerprint(snapshot([summary, human("a")], tools=[]))
    assert prefix_fingerprint(first) != prefix_fingerprint(snapshot([summary, human("a")], system=None))


def test_no_text_is_kept() -> None:
    """Neither rule texts, nor the system prompt, nor a message can be read back from a snapshot."""
    private = "order ORD-7741 of 王小明"
    made = snapshot([human(private), ai(private, calls=["c"])], system=SystemMessage(private), rules=[Constraint.from_text(private)])
    shown = f"{made}{vars(type(made.trail))}{made.trail._keys}{made.trail._ends}"
    assert "ORD-7741" not in shown
    assert "王小明" not in shown


@pytest.mark.parametrize(
    "edit",
    [
        lambda m: m.model_copy(update={"content": "other"}),
        lambda m: m.model_copy(update={"name": "bob"}),
        lambda m: m.model_copy(update={"tool_calls": [{**m.tool_calls[0], "args": {"key": "other"}}]}),
        lambda m: m.model_copy(update={"tool_calls": [{**m.tool_calls[0], "id": "other"}]}),
        lambda m: m.model_copy(update={"additional_kwargs": {"reasoning_content": "hm"}}),
        lambda m: m.model_copy(update={"content": [{"type": "text", "text": "said"}]}),
        lambda m: HumanMessage(m.content),
    ],
)
def test_everything_sent_of_a_message_counts(edit: Any) -> None:
    """An edit of content, name, call, arguments or extras is a change at that message."""
    message = ai("said", calls=["c1"])
    found = divergence(snapshot([human("a"), message, human("z")]), snapshot([human("a"), edit(message), human("z")]))
    assert found is not None
    assert ("messages", 1) == (found.part, found.at)


@pytest.mark.parametrize(
    "edit",
    [
        lambda m: m.model_copy(update={"id": "new"}),
        lambda m: m.model_copy(update={"response_metadata": {"x": 1}}),
        lambda m: m.model_copy(update={"usage_metadata": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}}),
    ],
)
def test_what_is_not_sent_does_not_count(edit: Any) -> None:
    """Ids and metadata are no part of what a provider caches."""
    message = ai("said", calls=["c1"])
    assert divergence(snapshot([message, human("z")]), snapshot([edit(message), human("z")])) is None


def test_messages_of_every_kind_are_read() -> None:
    """Chat roles, invalid calls, blocks, media, content that holds itself and lone surrogates all have a text and a number."""
    looped: list[Any] = []
    looped.append(looped)
    strange = HumanMessage("x")
    strange.__dict__["content"] = looped
    odd: list[BaseMessage] = [
        ChatMessage("a", role="developer"),
        AIMessage("", invalid_tool_calls=[{"name": "f", "args": "{", "id": "i", "error": "bad"}]),
        HumanMessage([{"type": "image_url", "image_url": {"url": "data:," + "A" * 100_000}}]),
        HumanMessage("\ud800"),
        strange,
        ToolMessage("boom", tool_call_id="i", status="error"),
    ]
    assert divergence(snapshot(odd), snapshot(list(odd))) is None
    for place in range(len(odd)):
        found = divergence(snapshot(odd), snapshot([*odd[:place], human("other"), *odd[place + 1 :]]))
        assert found is not None
        assert place == found.at


def test_an_empty_call_has_a_snapshot() -> None:
    """No tools, no system message, no messages: still a fingerprint, and nothing drifts."""
    empty = snapshot([], tools=[], system=None)
    assert None is drift_reason(empty, snapshot([], tools=[], system=None))
    assert 32 == len(empty.fingerprint)


@pytest.mark.parametrize(
    ("before", "after", "head", "reason"),
    [
        (["a", "b", "c"], ["a", "b", "c", "d"], (0, 0), None),
        (["a", "b", "c"], ["a", "b"], (0, 0), None),
        (["a", "b", "c"], ["a", "b", "x", "y"], (0, 0), None),
        (["a", "b", "c"], ["a", "x", "c", "d"], (0, 0), DriftReason.UNKNOWN),
        (["a", "b", "c"], ["x", "b", "c", "d"], (0, 0), DriftReason.REBUILD),
        (["a", "b", "c"], ["s", "c", "d"], (0, 1), DriftReason.COMPACTION),
        (["s2", "c"], ["s1", "b", "c"], (2, 1), DriftReason.REBUILD),
        (["a", "b"], ["a", "b", "c"], (0, 1), None),
        (["a", "b"], ["a", "x", "y"], (0, 0), None),
        (["a", "b"], ["a", "x"], (0, 0), None),
        (["a", "b", "c", "d"], ["a", "b", "x", "d", "e"], (0, 0), DriftReason.UNKNOWN),
    ],
)
def test_changed_messages_are_told_apart(before: list[str], after: list[str], head: tuple[int, int], reason: DriftReason | None) -> None:
    """A newer version is a compaction, an older one or a new beginning a rebuild, an edit in the middle unknown, a new end no drift at all."""
    old, new = (snapshot([human(text) for text in said], head=version) for said, version in zip((before, after), head, strict=True))
    assert reason == drift_reason(old, new)


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        ([("b", '{"x": 1, "y": 2}'), ("a", "{}")], DriftReason.TOOL_ORDER),
        ([("a", "{}"), ("b", '{"y": 2, "x": 1}')], DriftReason.KEY_ORDER),
        ([("a", "{}"), ("b", '{"x": 1, "y": 3}')], DriftReason.TOOL_CHANGE),
        ([("a", "{}")], DriftReason.PERMISSION_SHRINK),
        ([("a", "{}"), ("b", '{"x": 1, "y": 2}'), ("c", "{}")], DriftReason.TOOL_CHANGE),
    ],
)
def test_changed_tools_are_told_apart(after: list[tuple[str, str]], reason: DriftReason) -> None:
    """The same tools in another order, the same keys in another order, another contract, a tool that is gone; one more at the end."""
    before = snapshot([human("a")], tools=[("a", "{}"), ("b", '{"x": 1, "y": 2}')], system=None)
    assert reason is drift_reason(before, snapshot([human("a")], tools=after, system=None))


@pytest.mark.parametrize(("one", "other"), [("ann", "bob"), ("bob", "ann"), ("ann", None), (None, "ann")])
def test_the_name_of_who_speaks_is_sent(one: str | None, other: str | None) -> None:
    """Also where no call is answered: two people who say the same are two prefixes."""
    found = divergence(snapshot([HumanMessage("hi", name=one)]), snapshot([HumanMessage("hi", name=other)]))
    assert found is not None
    assert ("messages", 0) == (found.part, found.at)


@pytest.mark.parametrize("summary", ["a", "b"])
def test_another_summary_is_another_fingerprint_however_the_call_was_read(summary: str) -> None:
    """A snapshot that follows one with another summary, another system message or none has the fingerprint of one made afresh."""
    told = HumanMessage(summary, name="context_summary")
    afresh = snapshot([told, human("go on")])
    for earlier in ([], [human("x")], *([HumanMessage(other, name="context_summary")] for other in "abc")):
        assert afresh.fingerprint == snapshot_of(afresh.front, [told, human("go on")], before=snapshot(earlier)).fingerprint
    other = snapshot([told], system=SystemMessage("Other."))
    assert afresh.fingerprint == snapshot_of(afresh.front, [told, human("go on")], before=other).fingerprint != other.fingerprint


def test_a_rebuild_on_demand_is_named() -> None:
    """Where the caller built the context anew, neither the new version nor the system prompt is blamed."""
    before = snapshot([human("a"), human("b"), human("c")])
    after = snapshot_of(before.front, [human("s"), human("c")], head=1, is_rebuild=True)
    assert DriftReason.REBUILD is drift_reason(before, after)
    other = snapshot_of(front_of("openai", "gpt-x", tools=[TOOL], system=SystemMessage("Anew.")), [human("a")], is_rebuild=True)
    assert DriftReason.REBUILD is drift_reason(before, other)


def test_a_lost_permission_is_named() -> None:
    """A permission taken away explains a changed system message before its rules do."""
    rules = [Constraint.from_text("Never delete.")]
    before = snapshot([], permissions=("read", "write"), rules=rules, system=SystemMessage("You may read and write."))
    after = snapshot([], permissions=("read",), system=SystemMessage("You may read."))
    assert DriftReason.PERMISSION_SHRINK is drift_reason(before, after)


def test_the_first_change_gives_the_reason() -> None:
    """Where several things changed, the one that stands first in the prefix is named: nothing behind it could be reused anyway."""
    before = snapshot([human("a")], rules=[Constraint.from_text("x")], system=SystemMessage("x"))
    after = snapshot([human("b")], head=1, tools=[("look_up", "{}")], system=SystemMessage("y"))
    assert DriftReason.TOOL_CHANGE is drift_reason(before, after)


def test_a_long_line_is_searched_in_parts() -> None:
    """A change late in a system prompt of one line is not blamed on its beginning."""
    text = "x" * 10_000
    before, after = snapshot([], system=SystemMessage(text + "a")), snapshot([], system=SystemMessage(text + "b"))
    found = divergence(before, after)
    assert found is not None
    exact = first_changed_offset(*(canonical_text("openai", "gpt-x", tools=[TOOL], system=SystemMessage(text + end)) for end in "ab"))
    assert exact is not None
    assert 0 <= exact - found.offset <= 512


def test_the_common_part_is_what_comes_again() -> None:
    """It ends with the last tool, line or message before the change."""
    said = [human("a"), ai("b"), human("c")]
    before = snapshot(said)
    for part, found, expected in [
        ("grown", None, (["t"], [SYSTEM, *said])),
        ("messages", divergence(before, snapshot([human("a"), ai("x"), human("c")])), (["t"], [SYSTEM, said[0]])),
        ("system", divergence(before, snapshot(said, system=SystemMessage("You serve orders.\nBe long.\n"))), (["t"], ["You serve orders.\n"])),
        ("tools", divergence(before, snapshot(said, tools=[("look_up", "{}")])), ([], [])),
        ("model", divergence(before, snapshot_of(front_of("openai", "gpt-y"), said)), ([], [])),
    ]:
        tools, shared = common_part(found, before, tools=["t"], system=SYSTEM, messages=[*said, ai("new")])
        shown = [message.content if part == "system" else message for message in shared]
        assert (part, *expected) == (part, list(tools), shown)


def test_a_long_conversation_is_compared_quickly() -> None:
    """5,000 messages with one edited far inside: the change is found where it is."""
    long = tool_loop(2_000, size=40)
    edited = list(long)
    edited[2_345] = edited[2_345].model_copy(update={"content": "edited"})
    found = divergence(snapshot(long), snapshot(edited))
    assert found is not None
    assert 2_345 == found.at


def test_tool_json_that_is_none_is_taken_as_text() -> None:
    """A contract that is no JSON is compared as it stands."""
    assert DriftReason.TOOL_CHANGE is drift_reason(snapshot([], tools=[("t", "{a")]), snapshot([], tools=[("t", "{b")]))
    assert DriftReason.KEY_ORDER is drift_reason(
        snapshot([], tools=[("t", json.dumps({"a": 1, "b": 2}))]), snapshot([], tools=[("t", json.dumps({"b": 2, "a": 1}))])
    )


def test_a_result_status_is_sent() -> None:
    """The same result marked as an error is another message."""
    good = result("c")
    assert message_text(good) != message_text(good.model_copy(update={"status": "error"}))

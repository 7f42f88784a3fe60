from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver

from langchain_ctxguard.domain.pinned import SNAPSHOT, Pin
from langchain_ctxguard.graph.pinned import (
    MAX_PINS,
    MAX_SNAPSHOTS,
    PINS_CHANNEL,
    PinnedFiles,
    merged_pins,
    pin_message,
    pins_in,
    pins_update,
)
from langchain_ctxguard.graph.state import GuardedAgentState
from tests.graph.models import ScriptedChat, agent_of, chat, guard_of, thread

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
SECOND = 1_000_000_000


def one(number: int = 1, **changes: Any) -> Pin:
    return Pin.of("message", f"m{number}", **{"role": "person", "added_at": number, **changes})


def channel(*pins: Pin) -> dict[str, Any]:
    written: dict[str, Any] = pins_update(pins)[PINS_CHANNEL]
    return written


def calling(*calls: dict[str, Any]) -> AIMessage:
    made = [{"name": "pin_message", "args": call, "id": f"c{number}", "type": "tool_call"} for number, call in enumerate(calls)]
    return AIMessage("I will keep this.", tool_calls=made)


def run(*calls: dict[str, Any], text: Any = "Never delete an order.", saver: Any = None) -> tuple[dict[str, Any], list[BaseMessage], tuple[Pin, ...]]:
    """Return the output, its messages and the pins of an agent whose model makes `calls` and then stops."""
    model = ScriptedChat(script=lambda number, _: calling(*calls) if number == 0 else "done")
    agent = create_agent(model, [pin_message], state_schema=GuardedAgentState, checkpointer=saver or InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    output = agent.invoke({"messages": [HumanMessage(text, id="h1")]}, config)
    return output, output["messages"], pins_in(agent.get_state(config).values.get(PINS_CHANNEL))


def test_an_agent_pins_the_last_message() -> None:
    """The pin is a tool's, whatever it pins, and not part of the output."""
    output, messages, (pin,) = run({"message_id": "last", "reason": "a rule"})
    assert ("h1", "message", "tool", "a rule") == (pin.key, pin.kind, pin.role_declared, pin.reason)
    assert PINS_CHANNEL not in output
    assert "success" == messages[2].status
    assert pin.pin_id in str(messages[2].content)


def test_an_agent_pins_by_id_and_several_at_once() -> None:
    """Calls side by side all count; the same thing twice is one pin."""
    _, messages, pins = run({"message_id": "h1", "reason": "a"}, {"message_id": "h1", "reason": "b"})
    assert ["h1"] == [pin.key for pin in pins]
    assert 5 == len(messages)


def test_an_agent_pins_a_tool_result_by_its_call() -> None:
    """The id of the call serves as well as that of the message."""
    script = {0: calling({"message_id": "h1", "reason": "a"}), 1: calling({"message_id": "c0", "reason": "b"})}
    model = ScriptedChat(script=lambda number, _: script.get(number, "done"))
    agent = create_agent(model, [pin_message], state_schema=GuardedAgentState, checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    agent.invoke({"messages": [HumanMessage("hi", id="h1")]}, config)
    assert {"message", "tool_result"} == {pin.kind for pin in pins_in(agent.get_state(config).values[PINS_CHANNEL])}


@pytest.mark.parametrize(
    ("message_id", "text", "says"),
    [("nothing", "hi", "no message 'nothing'"), ("", "hi", "no message ''"), ("h1", [{"type": "image_url", "image_url": {"url": "x"}}], "no text")],
)
def test_what_cannot_be_pinned_is_refused_with_a_reason(message_id: str, text: Any, says: str) -> None:
    """The tool says what happened; nothing is pinned."""
    _, messages, pins = run({"message_id": message_id, "reason": "a"}, text=text)
    assert () == pins
    assert "error" == messages[2].status
    assert says in str(messages[2].content)


def test_a_system_message_is_not_pinned() -> None:
    """It stays in view anyway, and would change its standing."""
    model = ScriptedChat(script=lambda number, _: calling({"message_id": "s", "reason": "a"}) if number == 0 else "done")
    agent = create_agent(model, [pin_message], state_schema=GuardedAgentState)
    output = agent.invoke({"messages": [SystemMessage("sys", id="s"), HumanMessage("hi", id="h")]})
    assert "error" == output["messages"][3].status


def test_a_model_is_told_only_what_it_may_give() -> None:
    """The runtime is none of its arguments."""
    assert {"message_id", "reason"} == set(pin_message.tool_call_schema.model_json_schema()["properties"])


def test_no_caller_hands_pins_in() -> None:
    """The channel is out of the input of an agent."""
    model = ScriptedChat(script=lambda *_: "done")
    agent = create_agent(model, [pin_message], state_schema=GuardedAgentState, checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    agent.invoke({"messages": [HumanMessage("hi")], PINS_CHANNEL: channel(one())}, config)
    assert () == pins_in(agent.get_state(config).values.get(PINS_CHANNEL))


async def test_the_tool_works_without_blocking() -> None:
    """Asynchronously it does the same."""
    model = ScriptedChat(script=lambda number, _: calling({"message_id": "last", "reason": "a"}) if number == 0 else "done")
    agent = create_agent(model, [pin_message], state_schema=GuardedAgentState, checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    await agent.ainvoke({"messages": [HumanMessage("hi", id="h1")]}, config)
    assert ["h1"] == [pin.key for pin in pins_in((await agent.aget_state(config)).values[PINS_CHANNEL])]


def test_writes_add_change_and_take_away() -> None:
    """Two writers side by side both count."""
    both = merged_pins(channel(one(1)), channel(one(2)))
    assert ["m1", "m2"] == [pin.key for pin in pins_in(both)]
    assert both == merged_pins(channel(one(2)), channel(one(1)))
    gone = merged_pins(both, pins_update([], gone=[one(1).pin_id])[PINS_CHANNEL])
    assert ["m2"] == [pin.key for pin in pins_in(gone)]


def test_a_tool_takes_nothing_from_a_persons_pin() -> None:
    """Pinned again by a tool it stays the person's, with his reason."""
    (pin,) = pins_in(merged_pins(channel(one(1, reason="mine")), channel(one(1, role="tool", reason="x", added_at=9))))
    assert ("person", "mine", 9) == (pin.role_declared, pin.reason, pin.added_at)


def test_a_flood_of_tool_pins_leaves_a_persons_in_place() -> None:
    """The number is bounded, and the assistant's own oldest go first."""
    flood = channel(*(one(number, role="tool") for number in range(10, 300)))
    pins = pins_in(merged_pins(channel(one(1)), flood))
    assert MAX_PINS == len(pins)
    assert ["m1", "m299"] == [pins[0].key, pins[-1].key]


def test_the_channel_holds_a_bounded_amount_of_text() -> None:
    """Texts beyond it are left out, the pins stay."""
    files = [Pin.of("file", f"f{number}", role="person", text="x" * SNAPSHOT, added_at=number) for number in range(12)]
    pins = pins_in(merged_pins({}, channel(*files)))
    assert 12 == len(pins)
    assert sum(len(pin.snapshot or "") for pin in pins) <= MAX_SNAPSHOTS
    assert pins[-1].snapshot


def test_a_forged_pin_is_a_persons_at_most() -> None:
    """Neither a write nor a read believes that a pin is the application's."""
    forged = channel(one(1, role="application"))
    assert "person" == pins_in(forged)[0].role_declared
    assert "person" == pins_in(merged_pins({}, forged))[0].role_declared


def test_a_pin_under_another_id_is_none() -> None:
    """One write cannot replace a pin by naming it."""
    assert {} == merged_pins({}, {"pin-x": one().to_dict()})


@given(left=json_values, right=json_values)
def test_no_write_makes_the_channel_raise(left: Any, right: Any) -> None:
    """Any JSON on either side is met; garbage takes no pin away."""
    merged_pins(left, right)
    assert ["m1"] == [pin.key for pin in pins_in(merged_pins(channel(one()), right))]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    (folder / "AGENTS.md").write_text("Be kind.\n请用中文。\n", encoding="utf-8")
    return folder


def settle(path: Path, *, seconds_ago: int = 100, now: int = 1_000 * SECOND) -> None:
    os.utime(path, ns=(now - seconds_ago * SECOND, now - seconds_ago * SECOND))


def test_a_pinned_file_is_read_again_when_it_changed(workspace: Path) -> None:
    """Each call shows what the file says now, and the pin to store is given."""
    files = PinnedFiles(workspace)
    pin = files.pin("AGENTS.md", role="application", added_at=3)
    assert ("AGENTS.md", "Be kind.\n请用中文。\n") == (pin.key, pin.snapshot)
    assert ["Be kind.\n请用中文。\n"] == [text.text for text in files.texts([pin])]
    assert [] == files.refreshed([pin])
    (workspace / "AGENTS.md").write_text("Be brief.", encoding="utf-8")
    assert ["Be brief."] == [text.text for text in files.texts([pin])]
    (new,) = files.refreshed([pin])
    assert ("Be brief.", pin.pin_id, 3) == (new.snapshot, new.pin_id, new.added_at)


def test_a_file_that_did_not_change_is_not_read_again(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its time and size are enough, once the file has rested."""
    path = workspace / "AGENTS.md"
    settle(path)
    files = PinnedFiles(workspace, now_ns=lambda: 1_000 * SECOND)
    pin = files.pin("AGENTS.md", role="person")
    monkeypatch.setattr(os, "fdopen", lambda *_: pytest.fail("the file was read again"))
    assert [pin.snapshot] == [text.text for text in files.texts([pin])]


def test_a_change_within_one_tick_is_seen(workspace: Path) -> None:
    """Same size, same time, other text: a file just written is read again."""
    path = workspace / "AGENTS.md"
    path.write_text("AAAA", encoding="utf-8")
    settle(path, seconds_ago=1)
    files = PinnedFiles(workspace, now_ns=lambda: 1_000 * SECOND)
    pin = files.pin("AGENTS.md", role="person")
    path.write_text("BBBB", encoding="utf-8")
    settle(path, seconds_ago=1)
    assert ["BBBB"] == [text.text for text in files.texts([pin])]


def test_a_file_that_is_gone_keeps_its_last_text(workspace: Path) -> None:
    """The note says so, in this process and in the next, and when it comes back it is read."""
    files = PinnedFiles(workspace)
    pin = files.pin("AGENTS.md", role="person")
    (workspace / "AGENTS.md").unlink()
    for reader in (files, PinnedFiles(workspace)):
        (text,) = reader.texts([pin])
        assert "Be kind.\n请用中文。\n" == text.text
        assert "the file is gone; this is its last text" == text.note
        assert [] == reader.refreshed([pin])
    (text,) = PinnedFiles(workspace).texts([pin.model_copy(update={"snapshot": None})])
    assert (None, "the file is gone") == (text.text, text.note)
    (workspace / "AGENTS.md").write_text("Back.", encoding="utf-8")
    assert [("Back.", "")] == [(text.text, text.note) for text in files.texts([pin])]


@pytest.mark.parametrize("path", ["../secret.txt", "/etc/hostname", "a/../../secret.txt", "link", "folder/link", "\x00", "x" * 5_000, "..", "."])
def test_nothing_outside_the_workspace_is_read(workspace: Path, path: str) -> None:
    """Neither by name nor through a link; what cannot be opened is refused."""
    (workspace / "link").symlink_to(workspace.parent / "secret.txt")
    (workspace / "folder").symlink_to(workspace.parent)
    (workspace.parent / "link").symlink_to(workspace.parent / "secret.txt")
    files = PinnedFiles(workspace)
    with pytest.raises(ValueError, match="Cannot pin"):
        files.pin(path, role="tool")
    (text,) = files.texts([Pin.of("file", path[:900], role="person")])
    assert text.text is None


def test_a_link_within_the_workspace_is_followed(workspace: Path) -> None:
    """CLAUDE.md may be a link to AGENTS.md."""
    (workspace / "CLAUDE.md").symlink_to("AGENTS.md")
    assert "Be kind." in str(PinnedFiles(workspace).pin("CLAUDE.md", role="person").snapshot)


def test_a_workspace_that_is_a_link_is_its_target(workspace: Path, tmp_path: Path) -> None:
    """The folder itself is resolved once."""
    (tmp_path / "alias").symlink_to(workspace)
    assert "Be kind." in str(PinnedFiles(tmp_path / "alias").pin("AGENTS.md", role="person").snapshot)


def test_a_file_that_becomes_a_link_outside_keeps_its_last_text(workspace: Path) -> None:
    """A link put in its place shows nothing of its target."""
    files = PinnedFiles(workspace)
    pin = files.pin("AGENTS.md", role="person")
    (workspace / "AGENTS.md").unlink()
    (workspace / "AGENTS.md").symlink_to(workspace.parent / "secret.txt")
    (text,) = files.texts([pin])
    assert ("Be kind.\n请用中文。\n", "it lies outside the workspace; this is its last text") == (text.text, text.note)


@pytest.mark.parametrize(
    ("data", "says"),
    [(b"\x89PNG\r\n\x1a\n\x00\x00", "not UTF-8"), (b"a\x00b", "binary"), ("规则".encode("gb18030"), "not UTF-8"), (b"x" * 2_000, "2,000 bytes")],
)
def test_what_is_no_small_text_file_is_refused(workspace: Path, data: bytes, says: str) -> None:
    """The reason names what is wrong."""
    (workspace / "odd").write_bytes(data)
    with pytest.raises(ValueError, match=says):
        PinnedFiles(workspace, max_bytes=1_000).pin("odd", role="tool")


def test_a_pipe_and_a_folder_are_refused_without_waiting(workspace: Path) -> None:
    """Opening them does not hang."""
    os.mkfifo(workspace / "pipe")
    for name in ("pipe", "."):
        with pytest.raises(ValueError, match="no regular file"):
            PinnedFiles(workspace).pin(name, role="tool")


def test_a_mark_at_the_beginning_of_a_file_is_no_text(workspace: Path) -> None:
    """A byte order mark is left out."""
    (workspace / "bom.md").write_bytes(b"\xef\xbb\xbfHello")
    assert "Hello" == PinnedFiles(workspace).pin("bom.md", role="person").snapshot


def test_reading_leaves_no_file_open(workspace: Path) -> None:
    """A thousand readings use no descriptor up."""
    files = PinnedFiles(workspace)
    pin = files.pin("AGENTS.md", role="person")
    open_files = Path("/proc/self/fd")
    if not open_files.is_dir():
        pytest.skip("needs /proc, which this system has not")
    before = len(list(open_files.iterdir()))
    for _ in range(1_000):
        files.texts([pin, Pin.of("file", "missing/x", role="person"), Pin.of("file", "AGENTS.md/x", role="person")])
    assert before == len(list(open_files.iterdir()))


@pytest.mark.parametrize("is_compacting", [True, False])
def test_a_changed_file_is_stored_with_the_next_version(workspace: Path, is_compacting: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """Its last text outlives the file and the process; a call that writes nothing else writes no pin either."""
    files = PinnedFiles(workspace)
    pin = files.pin("AGENTS.md", role="person")
    settings = {"keep": ("turns", 1)} if is_compacting else {"trigger": None}
    agent = agent_of(ScriptedChat(), guard_of(files=files, **settings), checkpointer=InMemorySaver())
    config = thread("t")
    chat(agent, 1, config=config)
    agent.update_state(config, pins_update([pin]))
    (workspace / "AGENTS.md").write_text("Be brief.", encoding="utf-8")
    chat(agent, 12, config=config, start=1)
    assert is_compacting == bool(agent.get_state(config).values.get("ctxguard"))
    (stored,) = pins_in(agent.get_state(config).values[PINS_CHANNEL])
    assert ("Be brief." if is_compacting else "Be kind.\n请用中文。\n") == stored.snapshot
    assert "person" == stored.role_declared

"""Messages as one text in which nobody speaks as another."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from langchain_ctxguard.memory.lines import lines_of


def test_prefixes_are_the_callers_and_further_lines_stand_behind_a_margin() -> None:
    """A message begins at the margin with who speaks; tags of ours cannot be written by one."""
    said = [HumanMessage("a\n\nb"), AIMessage("</context_summary>"), ToolMessage("c", tool_call_id="1"), HumanMessage("")]
    expected = "Kunde: a\n  \n  b\nBot: &lt;/context_summary>\nTool: c\nKunde: "
    assert expected == lines_of(said, human_prefix="Kunde", ai_prefix="Bot")
    assert "" == lines_of([], human_prefix="Kunde", ai_prefix="Bot")


@given(st.lists(st.tuples(st.sampled_from([HumanMessage, AIMessage]), st.text()), max_size=6))
def test_only_a_message_begins_at_the_margin(said: list[tuple[Any, str]]) -> None:
    """Whatever is said, the lines at the margin are as many as the messages, and each begins with who speaks."""
    lines = lines_of([kind(text) for kind, text in said], human_prefix="Human", ai_prefix="AI").splitlines()
    assert [("Human: " if kind is HumanMessage else "AI: ") for kind, _ in said] == [
        line[: line.index(":") + 2] for line in lines if not line.startswith("  ")
    ]

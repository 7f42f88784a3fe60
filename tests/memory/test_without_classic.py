"""Without langchain-classic: what needs it says how to get it, what does not works."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

import langchain_ctxguard.memory

BLOCKED = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "langchain_classic":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a Python that has no langchain-classic."""
    return subprocess.run([sys.executable, "-c", BLOCKED + textwrap.dedent(code)], check=False, capture_output=True, text=True)


@pytest.mark.parametrize("name", ["GuardedSummaryMemory", "GuardedSummaryBufferMemory"])
def test_the_extra_is_named(name: str) -> None:
    """Who imports a classic memory without langchain-classic reads what to install."""
    done = run(f"from langchain_ctxguard.memory import {name}")
    assert 1 == done.returncode
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith(f"ImportError: `{name}`")
    assert last.endswith("run: pip install 'langchain-ctxguard[classic]'")


def test_the_chat_history_needs_no_extra() -> None:
    """`GuardedChatHistory` works without langchain-classic."""
    done = run("""
        from langchain_core.chat_history import InMemoryChatMessageHistory
        from langchain_ctxguard.memory import GuardedChatHistory
        history = GuardedChatHistory(InMemoryChatMessageHistory(), guard=["Never delete an order."])
        history.add_user_message("hi")
        print(len(history.messages))
    """)
    assert ("2\n", 0) == (done.stdout, done.returncode), done.stderr


def test_the_names_are_listed() -> None:
    """The package lists what it has, loads nothing for it, and knows no other name."""
    assert ["GuardedChatHistory", "GuardedSummaryBufferMemory", "GuardedSummaryMemory"] == dir(langchain_ctxguard.memory)
    with pytest.raises(AttributeError, match="GuardedMemories"):
        langchain_ctxguard.memory.GuardedMemories  # noqa: B018 - asking is the test
    done = run("import sys, langchain_ctxguard.memory\nprint([n for n in ('langchain', 'langgraph', 'langchain_core') if n in sys.modules])")
    assert "[]\n" == done.stdout

"""The stock memories beside ours, models that keep what they were sent, and chat histories that live outside the process."""

from __future__ import annotations

import json
import sqlite3
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from langchain_classic.memory import ConversationSummaryBufferMemory, ConversationSummaryMemory
from langchain_core._api.deprecation import LangChainDeprecationWarning
from langchain_core.chat_history import BaseChatMessageHistory, InMemoryChatMessageHistory
from langchain_core.language_models import LLM
from langchain_core.messages import BaseMessage, message_to_dict, messages_from_dict, messages_to_dict
from pydantic import PrivateAttr

from langchain_ctxguard.domain.summary import StructuredSummary
from langchain_ctxguard.engine import counter_of
from langchain_ctxguard.memory import GuardedSummaryBufferMemory, GuardedSummaryMemory
from langchain_ctxguard.ports import SummaryRequest

SUMMARY_PAIR = (ConversationSummaryMemory, GuardedSummaryMemory)
BUFFER_PAIR = (ConversationSummaryBufferMemory, GuardedSummaryBufferMemory)
PAIRS = (SUMMARY_PAIR, BUFFER_PAIR)
OURS = (GuardedSummaryMemory, GuardedSummaryBufferMemory)


@contextmanager
def deprecated() -> Iterator[None]:
    """Let the stock classes say that they are deprecated; every other warning still fails the test."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=LangChainDeprecationWarning)
        yield


class WatchedLLM(LLM):
    """A text-completion model that answers with `reply(number_of_the_call, prompt)` and keeps its prompts; it counts tokens as words."""

    reply: Callable[[int, str], str]
    _prompts: list[str] = PrivateAttr(default_factory=list)

    @property
    def prompts(self) -> list[str]:
        """What each call was sent."""
        return self._prompts

    @property
    def _llm_type(self) -> str:
        return "watched"

    def get_num_tokens(self, text: str) -> int:
        """Count words, so that the stock class needs no tokenizer of its own."""
        return len(text.split())

    def _call(self, prompt: str, stop: list[str] | None = None, run_manager: Any = None, **_: Any) -> str:
        self._prompts.append(prompt)
        return self.reply(len(self._prompts) - 1, prompt)


def telling(*summaries: str) -> WatchedLLM:
    """Return a model that answers with these summaries in order, the last one again and again."""
    return WatchedLLM(reply=lambda call, _: summaries[min(call, len(summaries) - 1)])


def failing() -> WatchedLLM:
    """Return a model that is down."""

    def reply(call: int, prompt: str) -> str:
        msg = "429 Too Many Requests: quota of key sk-secret exceeded"
        raise ConnectionError(msg)

    return WatchedLLM(reply=reply)


class InMemory(InMemoryChatMessageHistory):
    """A history in this process; a subclass of our own, so that it is not the deprecated class itself."""

    def __init__(self, messages: list[BaseMessage] | None = None) -> None:
        """Take messages."""
        super().__init__(messages=list(messages or []))


class FileHistory(BaseChatMessageHistory):
    """Keeps messages in a JSON file, as file and Redis histories do: `.messages` is a new list each time."""

    def __init__(self, path: Path) -> None:
        """Bind the file."""
        self.path = path

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # as the histories of langchain-community do
        """A new list."""
        return messages_from_dict(json.loads(self.path.read_text(encoding="utf-8"))) if self.path.exists() else []

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append to the file."""
        self.path.write_text(json.dumps(messages_to_dict([*self.messages, *messages])), encoding="utf-8")

    def clear(self) -> None:
        """Empty the file."""
        self.path.write_text("[]", encoding="utf-8")


class SqlHistory(BaseChatMessageHistory):
    """Keeps a row per message of a session, as `SQLChatMessageHistory` does."""

    def __init__(self, session: str, path: Path) -> None:
        """Bind the session."""
        self.session, self.path = session, path
        self._run("CREATE TABLE IF NOT EXISTS message_store (id INTEGER PRIMARY KEY, session_id TEXT, message TEXT)")

    def _run(self, statement: str, *rows: tuple[str, ...]) -> list[tuple[str]]:
        with closing(sqlite3.connect(self.path)) as connection, connection:
            if not rows:
                return connection.execute(statement).fetchall()
            found: list[tuple[str]] = []
            for row in rows:
                found += connection.execute(statement, row).fetchall()
            return found

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # as above
        """A new list."""
        rows = self._run("SELECT message FROM message_store WHERE session_id = ? ORDER BY id", (self.session,))
        return messages_from_dict([json.loads(row[0]) for row in rows])

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Insert a row for each."""
        rows = [(self.session, json.dumps(message_to_dict(message))) for message in messages]
        self._run("INSERT INTO message_store (session_id, message) VALUES (?, ?)", *rows)

    def clear(self) -> None:
        """Delete the session."""
        self._run("DELETE FROM message_store WHERE session_id = ?", (self.session,))


FILLER = "The warehouse in the north is being rebuilt and the team there works in two shifts until the end of the season. "


def turn(number: int) -> tuple[dict[str, str], dict[str, str]]:
    """Return the inputs and outputs of a turn of about a hundred tokens."""
    return {"input": f"Question {number} about the warehouse. {FILLER * 2}"}, {"output": f"Answer {number}. {FILLER * 2}"}


def talk(memory: Any, turns: int, *, start: int = 0) -> None:
    """Save turns."""
    for number in range(start, start + turns):
        memory.save_context(*turn(number))


def text_in(memory: Any) -> str:
    """Return everything a memory returns as one text, whatever its form."""
    value = next(iter(memory.load_memory_variables({}).values()))
    return value if isinstance(value, str) else "\n".join(str(message.content) for message in value)


def request(*messages: BaseMessage, previous: StructuredSummary | None = None) -> SummaryRequest:
    """Return what a summarizer is asked about messages."""
    return SummaryRequest(messages, tuple(f"m-{at}" for at in range(len(messages))), previous, 1_000, counter_of(None))

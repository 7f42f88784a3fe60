"""What an application sets and sees of a thread's standing state. A tool or a message cannot: whoever holds the guard can."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.standing import arguments_digest
from langchain_ctxguard.domain.standing import Mode, Permission, StandingState
from langchain_ctxguard.domain.version import ContextEvent
from langchain_ctxguard.errors import ConfigurationError
from langchain_ctxguard.records.standing import StandingLog


class ThreadStanding:
    """The standing state of one thread; sub-agents share it. Every change is an entry on the thread's own stream."""

    def __init__(self, log: StandingLog, thread: str, record: Callable[[ContextEvent], None]) -> None:
        """Bind a thread; `guard.standing(thread)` does."""
        self._log = log
        self.thread = thread
        self._record = record

    @property
    def state(self) -> StandingState:
        """Mode, open question, replaced arguments and permissions, read from the store now.

        Raises:
            StoreError: it cannot be read, or was altered.
        """
        return self._log.read(self.thread)

    def set_mode(self, mode: Mode | str, *, by: str = "") -> None:
        """Set what tools may do: `act`, `plan`, or `read_only`. It holds at the very next tool call, and until it is set again.

        Raises:
            ConfigurationError: no such mode, or no thread.
            StoreError: it cannot be written.
        """
        self._log.set_mode(self.thread, mode, by=by)
        self._changed(f"the mode is '{Mode(mode)}'", by)

    def set_permissions(self, permissions: Mapping[str, Permission], *, by: str = "") -> None:
        """Set what a person said of single tools (`allow`, `ask`, `deny`), by name. The map takes the place of the former one.

        Raises:
            ConfigurationError: a permission that is none, or no thread.
            StoreError: it cannot be written.
        """
        self._log.set_permissions(self.thread, permissions, by=by)
        self._changed(f"permissions of {len(permissions)} tools are set", by)

    def mark_synthetic(self, *messages: BaseMessage | str, by: str = "") -> None:
        """Say of messages in the user role, by id, that no person wrote them: they answer nothing and are not read as the user's words.

        Raises:
            ConfigurationError: a message without an id, or no thread.
            StoreError: it cannot be written.
        """
        ids = [message if isinstance(message, str) else message.id for message in messages]
        if not ids or not all(ids):
            msg = "A message is marked by its id, and one was given without. Nothing was changed; put it into the state first, or give it an id."
            raise ConfigurationError(msg)
        self._log.mark_synthetic(self.thread, [str(name) for name in ids], by=by)

    def heard(self, message: BaseMessage | str = "", *, by: str = "") -> None:
        """Say that a person answered the agent's open question, outside of what the guard can see: a call, another screen.

        Raises:
            StoreError: it cannot be read or written.
        """
        question = self.state.question
        if question is not None:
            answer = message if isinstance(message, str) else message.id or ""
            self._log.answer(self.thread, question.message, answer=answer, by=by)
            self._changed("the open question was answered", by)

    def release_arguments(self, tool: str, arguments: Mapping[str, Any] | None = None, *, by: str = "") -> None:
        """Let the agent use arguments again that were replaced; `None`: all that were replaced for this tool.

        Raises:
            StoreError: it cannot be written.
        """
        self._log.release(self.thread, tool, "" if arguments is None else arguments_digest(arguments), by=by)
        self._changed(f"replaced arguments of `{tool}` may be used again", by)

    def _changed(self, what: str, by: str) -> None:
        self._record(ContextEvent(kind="standing_changed", detail=f"In thread '{self.thread}' {what}{f', says {by}' if by else ''}."))

"""What left the state of a thread still counts: what its models used, for budgets that look at tokens and cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from langchain_core.messages import AIMessage, BaseMessage

from langchain_ctxguard.records.archive import ArchivedMessage
from langchain_ctxguard.records.bounded import Bounded

Archived = Callable[[str, int], tuple[int, Iterable[ArchivedMessage]]]
"""Returns the version a thread's archive has come to, and what left the state since an earlier one (0: ever)."""

_THREADS = 256


class LeftState:
    """Keeps what is asked of messages that left the state. Safe under threads; it can be lost at any time and is read again."""

    def __init__(self, archived: Archived) -> None:
        """Bind the archive."""
        self._archived = archived
        self._kept: Bounded[tuple[int, dict[str, BaseMessage]]] = Bounded(_THREADS)

    def before(self, thread: str, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        """Return what left the state of `messages`, oldest first, each without its words; none twice that came back.

        Raises:
            StoreError: the archive cannot be read.
        """
        shown = {message.id for message in messages}
        return [message for key, message in self._all(thread).items() if key not in shown]

    def since_request(self, thread: str, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        """Return those of them that came after the request in `messages`, which stays when what follows it leaves.

        Raises:
            StoreError: the archive cannot be read.
        """
        request = next((message.id for message in reversed(messages) if message.type == "human"), None)
        left = self._all(thread)
        if request not in left:
            return []
        shown = {message.id for message in messages}
        keys = list(left)
        return [left[key] for key in keys[keys.index(request) + 1 :] if key not in shown]

    def forget(self, thread: str) -> None:
        """Forget what left the state of a thread."""
        self._kept.drop(thread)

    def _all(self, thread: str) -> dict[str, BaseMessage]:
        version, kept = self._kept.get(thread) or (0, {})
        now, fresh = self._archived(thread, version)
        found = {one.message.id or one.key: _bare(one.message) for one in fresh if one.message.type in {"ai", "human"}}
        if found or now != version:
            kept = {**{key: message for key, message in kept.items() if key not in found}, **found}
            self._kept.put(thread, (now, kept))
        return kept


def _bare(message: BaseMessage) -> BaseMessage:
    """Return a message without its words: what it used is all that is kept."""
    without = {"content": "", "additional_kwargs": {}}
    return message.model_copy(update={**without, "tool_calls": []} if isinstance(message, AIMessage) else without)

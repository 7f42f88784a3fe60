"""The arms: the same engineer, tools, window and summarizer; what differs is who decides what the engineer sees."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, SummarizationMiddleware
from langchain_core.messages import AIMessage, BaseMessage, convert_to_messages

from benchmarks.coding.gist import Gist
from langchain_ctxguard import ContextGuard, HandoffGuard
from langchain_ctxguard.backends.tokens import MessageTokenCounter

ARMS = ("no guard", "langchain", "deepagents", "careful", "ours")
"""`careful`: LangChain's, with a summarizer that keeps every sentence of a person and names every file that was changed."""

KEPT = 4
"""Messages that every summarizer leaves as they are."""

COUNT = MessageTokenCounter()


@dataclass(frozen=True, slots=True)
class Arm:
    """What an agent is made with."""

    middleware: Sequence[AgentMiddleware[Any, Any, Any]]
    handoff: HandoffGuard | None = None


def made(name: str, root: Path, trigger: int, stack: ExitStack) -> Arm:
    """Return an arm anew.

    Args:
        name: One of `ARMS`.
        root: The repository.
        trigger: Tokens at which it compacts.
        stack: Closes what has to be closed.
    """
    if name == "no guard":
        return Arm([Trimmed(trigger)])
    if name in ("langchain", "careful"):
        return Arm([SummarizationMiddleware(Gist(is_careful=name == "careful"), **_settings(trigger))])
    if name == "deepagents":
        from deepagents.backends import FilesystemBackend
        from deepagents.middleware.summarization import SummarizationMiddleware as DeepSummarization

        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="coding-"))
        backend = FilesystemBackend(root_dir=folder, virtual_mode=True)
        deep = DeepSummarization(Gist(), backend=backend, **_settings(trigger))
        return Arm([deep])
    guard = ContextGuard(store="memory://", summarizer=Gist(), trigger=("tokens", trigger), keep=("messages", KEPT))
    stack.callback(guard.close)
    handoff = HandoffGuard(guard, root, check=["/bin/sh", "check.sh"])
    return Arm([guard, handoff], handoff)


def _settings(trigger: int) -> dict[str, Any]:
    # As they come, both show their model the newest 4,000 tokens alone, and the goal is lost with the first compaction.
    return {"trigger": ("tokens", trigger), "keep": ("messages", KEPT), "token_counter": _count, "trim_tokens_to_summarize": None}


def _count(messages: Any, **_: Any) -> int:
    return COUNT(convert_to_messages(list(messages)))


class Trimmed(AgentMiddleware[Any, Any, Any]):
    """No guard: the first message and the newest that fit into the window. Where it is full, the oldest half goes."""

    def __init__(self, window: int) -> None:
        """Set the window, in tokens."""
        super().__init__()
        self._window, self._cut = window, 1

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]) -> Any:
        """Show what fits."""
        messages = list(request.messages)
        if _count([messages[0], *messages[self._cut :]]) > self._window:
            self._cut = self._half(messages)
        return handler(request.override(messages=[messages[0], *messages[self._cut :]]))

    def _half(self, messages: Sequence[BaseMessage]) -> int:
        cut = len(messages) - 1
        while cut > self._cut and _count(messages[cut - 1 :]) < self._window / 2:
            cut -= 1
        # A result without its call would be refused.
        while cut < len(messages) - 1 and not isinstance(messages[cut], AIMessage) and messages[cut].type != "human":
            cut += 1
        return cut if messages[cut].type != "tool" else cut - 1

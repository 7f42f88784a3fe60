"""The memories of classic chains, and a chat history, with a checked summary in place of a retold one.

`GuardedSummaryMemory` and `GuardedSummaryBufferMemory` need the extra `classic`; `GuardedChatHistory` does not. Names load when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_ctxguard.memory.chat_history import GuardedChatHistory
    from langchain_ctxguard.memory.summary import GuardedSummaryMemory
    from langchain_ctxguard.memory.summary_buffer import GuardedSummaryBufferMemory

_HOMES = {"GuardedChatHistory": "chat_history", "GuardedSummaryBufferMemory": "summary_buffer", "GuardedSummaryMemory": "summary"}

__all__ = ["GuardedChatHistory", "GuardedSummaryBufferMemory", "GuardedSummaryMemory"]


def __getattr__(name: str) -> Any:
    """Load a public name from the module it lives in.

    Raises:
        ImportError: the memory of a classic chain was asked for and langchain-classic is not installed.
    """
    if name not in _HOMES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    try:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "langchain_classic":
            raise
        msg = f"`{name}` takes the place of a memory of langchain-classic, which is not installed; run: pip install 'langchain-ctxguard[classic]'"
        raise ImportError(msg, name="langchain_classic") from error


def __dir__() -> list[str]:
    """List the public names."""
    return list(__all__)

"""When the first token of an answer came. Known only where a model streams; listening does not make it stream."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import cache
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.tracers.context import register_configure_hook

_LISTENING: ContextVar[FirstToken | None] = ContextVar("ctxguard_first_token", default=None)


class FirstToken(BaseCallbackHandler):
    """Notes the time of the first token any model produces within `with`."""

    run_inline = True
    ignore_chain = ignore_agent = ignore_retriever = ignore_retry = ignore_custom_event = True
    # Without this LangChain would write all messages out as one text for us, at every call.
    ignore_chat_model = True

    def __init__(self, clock: Callable[[], float]) -> None:
        """Bind the clock."""
        self.at: float | None = None
        self._clock = clock
        self._token: Any = None

    def on_llm_new_token(self, token: Any, *, chunk: Any = None, **_: Any) -> None:
        """Take notice of a token; the empty chunk many providers open with is none."""
        if self.at is None and (token or getattr(getattr(chunk, "message", None), "tool_call_chunks", None)):
            self.at = self._clock()

    def on_stream_event(self, event: Any, **_: Any) -> None:
        """Take notice of a part of an answer, as newer streams send them."""
        if self.at is None and event.get("event") == "content-block-delta":
            self.at = self._clock()

    def __enter__(self) -> None:
        """Listen to the models called from here."""
        _hook_in()
        self._token = _LISTENING.set(self)

    def __exit__(self, *_: object) -> None:
        """Stop listening."""
        try:
            _LISTENING.reset(self._token)
        except ValueError:
            # An abandoned generator is closed wherever the garbage collector runs: that context never listened.
            return


@cache
def _hook_in() -> None:
    register_configure_hook(_LISTENING, inheritable=False)

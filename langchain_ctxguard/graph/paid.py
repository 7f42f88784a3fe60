"""What a model call used goes on record when the model has answered, where a budget looks at it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Any

from langchain_core.messages import BaseMessage

from langchain_ctxguard.domain.version import ContextEvent
from langchain_ctxguard.errors import StoreError
from langchain_ctxguard.graph.gate import ToolGate
from langchain_ctxguard.graph.on_record import Work
from langchain_ctxguard.graph.reading import Call
from langchain_ctxguard.records.bounded import Bounded

_THREADS = 256


class Paid:
    """Counts the calls of models in the steps of a guard. Where no budget looks at tokens or cost it does nothing."""

    def __init__(self, gate: ToolGate, record: Callable[[Any], None], *, blocks: bool) -> None:
        """Bind what counts; `blocks`: putting it on record may wait for a database."""
        self._gate = gate
        self._record = record
        self._blocks = blocks
        self._told: Bounded[bool] = Bounded(_THREADS)

    def for_answer(self, call: Call, response: Any) -> Generator[Work, Any, Any]:
        """Return a model's response once it is counted: also one that is refused afterwards was paid for."""
        if self._gate.counts_usage:
            site = self._gate.model_site(call.messages)
            yield from self._noted(site.thread, partial(self._gate.note_said, site, call.messages, response.result))
        return response

    def before(self, messages: Sequence[BaseMessage]) -> Generator[Work, Any, None]:
        """Count what the node of a plain graph finds in the state: nobody told it what the model answered last."""
        if self._gate.counts_usage:
            site = self._gate.model_site(messages)
            yield from self._noted(site.thread, partial(self._gate.note_seen, site, messages))

    def _noted(self, thread: str | None, write: Callable[[], None]) -> Generator[Work, Any, None]:
        try:
            yield Work(write, self._blocks)
        except StoreError as error:
            # It is counted when its message is seen again, and until then a tool with such a budget is denied.
            key = (thread, type(error).__name__)
            if not self._told.get(key):
                self._told.put(key, value=True)
                detail = f"What a model used could not be put on record ({type(error).__name__}); tools with a budget of tokens or cost are denied."
                self._record(ContextEvent(kind="store_failed", detail=detail))

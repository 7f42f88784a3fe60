"""`ContextVerifier`: the middleware that watches somebody else's compactor and puts right what it lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from langchain.agents.middleware.types import AgentMiddleware, ExtendedModelResponse, ModelRequest, ModelResponse
from langgraph.runtime import Runtime
from langgraph.types import Command, TracePolicy

from langchain_ctxguard.core.compile import Compiled
from langchain_ctxguard.domain.config import GuardConfig
from langchain_ctxguard.graph.nodes import HasTurns, turns_of
from langchain_ctxguard.graph.reading import as_messages
from langchain_ctxguard.graph.thread import thread_of
from langchain_ctxguard.graph.trace import COUNTS_ONLY
from langchain_ctxguard.graph.verdicts import Action
from langchain_ctxguard.graph.verified_state import VERIFIED_CHANNEL, VerifiedAgentState
from langchain_ctxguard.graph.watch import Look, Seen, Watch
from langchain_ctxguard.ports import Clock

_MANY = 64
"""More unread messages than this are read in a thread of their own where the event loop would wait."""


class ContextVerifier(AgentMiddleware[Any, Any, Any]):
    """Compares what went into somebody else's compaction with what reaches the model, and puts back what was lost.

    List it first, before a compactor that works in `before_model` as LangChain's does; in `create_deep_agent` list it as it is, it then stands inside
    the built-in summarizer:

        agent = create_agent(model, tools, middleware=[ContextVerifier(guard), SummarizationMiddleware(...)], checkpointer=saver)

    Values, rules, the pairing of tool calls and the current request are compared. It asks no model. What it knows of a thread lies in the private
    channel `ctxguard_verified`. It adds one superstep, to see the messages before they are rewritten; where nothing is new it writes nothing.
    """

    state_schema = VerifiedAgentState
    trace_policy: ClassVar[TracePolicy] = COUNTS_ONLY  # type: ignore[misc]  # a constant, as in LangChain's own
    """LangChain traces every hook with the whole request; ours shows counts only."""

    def __init__(
        self,
        guard: HasTurns | GuardConfig | str | Path,
        *,
        on_loss: Action | None = None,
        on_change: Action | None = None,
        patterns: Mapping[str, str] | None = None,
        timezone: str | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Bind the guard whose rules, hooks, window and counter are used.

        Args:
            guard: A `ContextGuard`, or a config to make one from. It need not stand in the list.
            on_loss: What is done where something is gone, torn or weakened. `repair`: lost values are put back as untrusted text with the sentence
                they were said in, calls and results are paired again, the current request is put back. `rollback`: the view from before the
                compaction is sent as long as it fits the window and this process knows it, else it is repaired. `warn`: only the hooks are told.
                `ask`: a person is shown both and answers `approve`, `repair` or `rollback`. `None`: `control_fields.on_loss` of the guard's config.
            on_change: The same where another value stands in the place of one; `None`: as `on_loss`.
            patterns: Further fields by name, as RE2 patterns; see `extract_fields`. `None`: those of the config.
            timezone: IANA name of the zone days and clock times are counted in; `None`: that of the config.
            clock: Says what time it is; `None`: the system's, in UTC.

        Raises:
            ConfigurationError: a setting that cannot work.
        """
        super().__init__()
        self._watch = Watch(turns_of(guard), on_loss=on_loss, on_change=on_change, patterns=patterns, timezone=timezone, clock=clock)

    def before_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Read the messages that are new, before a compactor rewrites them."""
        update = self._watch.read(as_messages(state.get("messages", [])), state.get(VERIFIED_CHANNEL), thread_of(runtime))
        return None if update is None else {VERIFIED_CHANNEL: update}

    async def abefore_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Do the same; many messages at once are read without blocking the event loop."""
        messages = as_messages(state.get("messages", []))
        if self._watch.unread(messages, state.get(VERIFIED_CHANNEL), thread_of(runtime)) > _MANY:
            return await asyncio.to_thread(self.before_model, state, runtime)
        return self.before_model(state, runtime)

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]) -> Any:
        """Call the model with the compacted view put right.

        Raises:
            CompactionError: a person was asked and the answer decides nothing.
        """
        seen = self._seen(request)
        return _written(handler(_sending(request, seen)), seen)

    async def awrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]) -> Any:
        """Do as `wrap_model_call` does."""
        seen = self._seen(request)
        return _written(await handler(_sending(request, seen)), seen)

    def _seen(self, request: ModelRequest[Any]) -> Seen:
        state: Any = request.state or {}  # type: ignore[unreachable]  # a request made by hand may carry none
        thread = thread_of(request.runtime)
        messages = as_messages(request.messages)
        tools = request.tools or ()
        kept = as_messages(state.get("messages", messages))
        return self._watch.seen(
            Look(
                raw=state.get(VERIFIED_CHANNEL),
                state=kept,
                view=Compiled(request.system_message, messages),  # type: ignore[arg-type]  # handed on as it is
                thread=thread,
                rules=self._watch.rules(thread, tools),
                tools=tools,
                model=request.model,
            )
        )


def _sending(request: ModelRequest[Any], seen: Seen) -> ModelRequest[Any]:
    """Return the request with what is to be sent; the same one where that is what it has."""
    system, messages = seen.view.system, seen.view.messages
    if messages is request.messages:
        return request if system is request.system_message else request.override(system_message=system)
    return request.override(system_message=system, messages=messages)  # type: ignore[arg-type]  # LangChain names the message classes one by one


def _written(response: Any, seen: Seen) -> Any:
    """Return the response, with what is to be written beside it; the bare one where nothing is."""
    if seen.update is None:
        return response
    return ExtendedModelResponse(model_response=response, command=Command(update={VERIFIED_CHANNEL: seen.update}))

"""The guard as a node of a plain graph. A node is a superstep by nature; the middleware is not."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

from langchain_core.messages import SystemMessage
from langchain_core.runnables import Runnable, RunnableConfig

from langchain_ctxguard.core.compaction import Compacted
from langchain_ctxguard.domain.config import GuardConfig
from langchain_ctxguard.domain.context import ContextHead
from langchain_ctxguard.graph.guard import ContextGuard
from langchain_ctxguard.graph.state import CHANNEL


class CompactContext(Runnable[Any, dict[str, Any]]):
    """Compacts a thread where its trigger holds; put it before the node that calls the model with `guard.view(state)`.

        graph.add_node("compact", CompactContext(guard))
        graph.add_node("model", lambda state: {"messages": [model.invoke(guard.view(state))]})

    It writes the channel `ctxguard` and nothing else: the messages stay. It returns an empty update where there is nothing to do.
    """

    def __init__(
        self,
        guard: ContextGuard | GuardConfig | str | Path,
        *,
        model: Any = None,
        system: SystemMessage | str | None = None,
        tools: Sequence[Any] = (),
    ) -> None:
        """Bind the guard.

        Args:
            guard: The guard whose `view` the model node sends, or a config to make one from.
            model: The model of the model node: its window is the trigger's, and it summarizes where the guard has no summarizer.
            system: The system prompt the model node adds, to be counted.
            tools: The tools bound to the model, to be counted.
        """
        self.guard = guard if isinstance(guard, ContextGuard) else ContextGuard(guard)
        self._model = model
        self._system = SystemMessage(system) if isinstance(system, str) else system
        self._tools = tools

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> dict[str, Any]:  # noqa: A002 - the name is the Runnable's
        """Return the update of the state."""
        steps = self._steps(input, config)
        try:
            flow, summarizer = next(steps)
            while True:
                flow, summarizer = steps.send(self.guard.engine.run(flow, summarizer=summarizer))
        except StopIteration as end:
            return _update(end.value)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> dict[str, Any]:  # noqa: A002 - as above
        """Return the update of the state, without blocking the event loop on a summarizer."""
        steps = self._steps(input, config)
        try:
            flow, summarizer = next(steps)
            while True:
                flow, summarizer = steps.send(await self.guard.engine.arun(flow, summarizer=summarizer))
        except StopIteration as end:
            return _update(end.value)

    def _steps(self, state: Any, config: RunnableConfig | None) -> Generator[Any, Compacted, ContextHead | None]:
        messages = state["messages"] if isinstance(state, dict) else state.messages
        raw = state.get(CHANNEL) if isinstance(state, dict) else getattr(state, CHANNEL, None)
        configurable = (config or {}).get("configurable", {})
        thread = (configurable.get("thread_id"), str(configurable.get("checkpoint_ns", "")).rpartition("|")[0])
        run = (config or {}).get("run_id")
        return self.guard.compaction_steps(
            messages,
            raw,
            thread=thread,
            run=None if run is None else str(run),
            system=self._system,
            tools=self._tools,
            model=self._model,
        )


def _update(head: ContextHead | None) -> dict[str, Any]:
    return {} if head is None else {CHANNEL: head.to_dict()}

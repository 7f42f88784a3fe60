"""The guard as a node of a plain graph. A node is a superstep by nature; the middleware is not."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any, Protocol

from langchain_core.messages import SystemMessage
from langchain_core.runnables import Runnable, RunnableConfig

from langchain_ctxguard.core.compaction import Compacted
from langchain_ctxguard.domain.config import GuardConfig
from langchain_ctxguard.domain.context import ContextHead
from langchain_ctxguard.graph.state import CHANNEL, INPUT_CHANNEL
from langchain_ctxguard.graph.thread import thread_in
from langchain_ctxguard.graph.turns import Turns, of_state


class HasTurns(Protocol):
    """A guard, as far as a node needs one."""

    @property
    def turns(self) -> Turns:
        """What does its work."""


def turns_of(guard: HasTurns | GuardConfig | str | Path) -> Turns:
    """Return what does the work of a guard, or of one made from a config."""
    if isinstance(guard, (GuardConfig, str, Path)):
        return Turns(guard)
    return guard.turns


class CompactContext(Runnable[Any, dict[str, Any]]):
    """Compacts a thread where its trigger holds; put it before the node that calls the model with `guard.view(state)`.

        graph.add_node("compact", CompactContext(guard))
        graph.add_node("model", lambda state: {"messages": [model.invoke(guard.view(state))]})

    It writes the channel `ctxguard` and nothing else: the messages stay. It returns an empty update where there is nothing to do.
    """

    def __init__(
        self,
        guard: HasTurns | GuardConfig | str | Path,
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
        self.turns = turns_of(guard)
        self._model = model
        self._system = SystemMessage(system) if isinstance(system, str) else system
        self._tools = tools

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> dict[str, Any]:  # noqa: A002 - the name is the Runnable's
        """Return the update of the state."""
        return _update(self._driven(input, config))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> dict[str, Any]:  # noqa: A002 - as above
        """Return the update of the state, without blocking the event loop on a summarizer."""
        return _update(await self._adriven(input, config))

    def _driven(self, state: Any, config: RunnableConfig | None) -> ContextHead | None:
        steps = self._steps(state, config)
        try:
            flow, summarizer = next(steps)
            while True:
                flow, summarizer = steps.send(self.turns.engine.run(flow, summarizer=summarizer))
        except StopIteration as end:
            head: ContextHead | None = end.value
            return head

    async def _adriven(self, state: Any, config: RunnableConfig | None) -> ContextHead | None:
        steps = self._steps(state, config)
        try:
            flow, summarizer = next(steps)
            while True:
                flow, summarizer = steps.send(await self.turns.engine.arun(flow, summarizer=summarizer))
        except StopIteration as end:
            head: ContextHead | None = end.value
            return head

    def _steps(self, state: Any, config: RunnableConfig | None) -> Generator[Any, Compacted, ContextHead | None]:
        messages, raw = of_state(state)
        run = (config or {}).get("run_id")
        return self.turns.compaction_steps(
            messages,
            raw,
            thread=thread_in(config),
            run=None if run is None else str(run),
            system=self._system,
            tools=self._tools,
            model=self._model,
        )


class PinConstraints(Runnable[Any, dict[str, Any]]):
    """Writes what the model should see, rules in force first, to a channel the model node reads; for a graph that cannot call `guard.view`.

        graph = StateGraph(ViewState, input_schema=MessagesState, output_schema=MessagesState)
        graph.add_node("pin", PinConstraints(guard))
        graph.add_node("model", lambda state: {"messages": [model.invoke(state["llm_input_messages"])]})

    The channel of `ViewState` is not kept in checkpoints: put the node right before the model node, in the same run.
    """

    def __init__(
        self,
        guard: HasTurns | GuardConfig | str | Path,
        *,
        system: SystemMessage | str | None = None,
        tools: Sequence[Any] = (),
        channel: str = INPUT_CHANNEL,
    ) -> None:
        """Bind the guard, or a config to make one from.

        Args:
            guard: Whose rules and view.
            system: The system prompt the model node would add: it stands before the pins.
            tools: For rules whose scope is a tool.
            channel: Where the view is written.
        """
        self.turns = turns_of(guard)
        self._system = system
        self._tools = tools
        self._channel = channel

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> dict[str, Any]:  # noqa: A002 - the name is the Runnable's
        """Return the update of the state: the view."""
        return {self._channel: self.turns.view(input, system=self._system, thread=thread_in(config)[0], tools=self._tools)}

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> dict[str, Any]:  # noqa: A002 - as above
        """Return the update of the state: the view. Nothing in it waits for anything."""
        return self.invoke(input, config)


class PreModelHook(CompactContext):
    """Compacts and pins in one step, in the form `create_react_agent(pre_model_hook=...)` takes.

    The agent's `state_schema` must have the channel `ctxguard`: use `ReactState`.
    """

    def using(self, *, model: Any = None, system: SystemMessage | str | None = None, tools: Sequence[Any] = ()) -> PreModelHook:
        """Return the hook for an agent it is told about.

        Args:
            model: The agent's model: its window is the trigger's, and it summarizes where the guard has no summarizer.
            system: A system prompt; give it here and not to the agent, so that the pins follow it.
            tools: The agent's tools, to be counted and for rules whose scope is one of them.
        """
        return PreModelHook(self, model=model, system=system, tools=tools)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> dict[str, Any]:  # noqa: A002 - the name is the Runnable's
        """Return the model's input, and the head where there is a new one."""
        return self._with_view(input, self._driven(input, config), config)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> dict[str, Any]:  # noqa: A002 - as above
        """Return the same, without blocking the event loop on a summarizer."""
        return self._with_view(input, await self._adriven(input, config), config)

    def _with_view(self, state: Any, head: ContextHead | None, config: RunnableConfig | None) -> dict[str, Any]:
        messages, raw = of_state(state)
        update = _update(head)
        shown = {"messages": messages, CHANNEL: update.get(CHANNEL, raw)}
        view = self.turns.view(shown, system=self._system, thread=thread_in(config)[0], tools=self._tools)
        return {INPUT_CHANNEL: view, **update}


def _update(head: ContextHead | None) -> dict[str, Any]:
    return {} if head is None else {CHANNEL: head.to_dict()}

"""The guard as a node of a plain graph. A node is a superstep by nature; the middleware is not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

from langchain_core.messages import SystemMessage
from langchain_core.runnables import Runnable, RunnableConfig

from langchain_ctxguard.domain.config import GuardConfig
from langchain_ctxguard.domain.context import ContextHead, read_head
from langchain_ctxguard.domain.context_version import ContextPlace
from langchain_ctxguard.errors import ConfigurationError, ContextBudgetError, InvariantError, StoreError
from langchain_ctxguard.graph.eviction import StateChange, state_of
from langchain_ctxguard.graph.history import rolled_back
from langchain_ctxguard.graph.on_record import Work
from langchain_ctxguard.graph.state import CHANNEL, INPUT_CHANNEL, of_state
from langchain_ctxguard.graph.steps import Drive
from langchain_ctxguard.graph.thread import thread_in
from langchain_ctxguard.graph.turns import Turns


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

    It writes the channel `ctxguard`; the messages stay, unless `evict` is "archive". It returns an empty update where there is nothing to do.
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
        change = StateChange(state_of(input))
        return _update(self._driven(input, config, change), change)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> dict[str, Any]:  # noqa: A002 - as above
        """Return the update of the state, without blocking the event loop on a summarizer."""
        change = StateChange(state_of(input))
        return _update(await self._adriven(input, config, change), change)

    def _driven(self, state: Any, config: RunnableConfig | None, change: StateChange) -> ContextHead | None:
        steps = self._steps(state, config, change)
        try:
            step = next(steps)
            while True:
                step = _answered(steps, step.call) if isinstance(step, Work) else self._compacted(steps, step)
        except StopIteration as end:
            head: ContextHead | None = end.value
            return head

    async def _adriven(self, state: Any, config: RunnableConfig | None, change: StateChange) -> ContextHead | None:
        steps = self._steps(state, config, change)
        try:
            step = next(steps)
            while True:
                if isinstance(step, Work):
                    answer = await _outcome(step)
                    # Not within a coroutine of its own: the end of the steps must not pass through one.
                    step = steps.throw(answer) if isinstance(answer, StoreError) else steps.send(answer)
                else:
                    made: Any
                    try:
                        made = await self.turns.engine.arun(step.flow, summarizer=step.summarizer, person=step.person, facts=step.facts)
                    except (ContextBudgetError, InvariantError) as error:
                        made = error
                    step = steps.throw(made) if isinstance(made, Exception) else steps.send(made)
        except StopIteration as end:
            head: ContextHead | None = end.value
            return head

    def _compacted(self, steps: Generator[Drive | Work, Any, ContextHead | None], drive: Drive) -> Drive | Work:
        """Drive a compaction and return the next step; the steps are told of an attempt that ends the run, so that it is put on record."""
        try:
            made = self.turns.engine.run(drive.flow, summarizer=drive.summarizer, person=drive.person, facts=drive.facts)
        except (ContextBudgetError, InvariantError) as error:
            return steps.throw(error)
        return steps.send(made)

    def _steps(self, state: Any, config: RunnableConfig | None, change: StateChange) -> Generator[Drive | Work, Any, ContextHead | None]:
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
            where=self.turns.where(config),
            state=state,
            change=change,
            todos=self.turns.todos_of(state),
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


class RollbackContext(Runnable[Any, dict[str, Any]]):
    """Goes back to an earlier version of the context: appends one with its content and writes it to the channel `ctxguard`.

        graph.add_node("rollback", RollbackContext(guard, to="stable", reason="the plan went astray"))

    Consents, approvals and budgets stay, and nothing is replayed; messages that had left the state come back.
    """

    def __init__(self, guard: HasTurns, *, to: int | Literal["stable"] = "stable", reason: str = "") -> None:
        """Bind the guard.

        Args:
            guard: A guard with a store.
            to: Number of a version, or `"stable"`: the newest without a critical loss, the present one left out.
            reason: Why, for the record.

        Raises:
            ConfigurationError: the guard has no store.
        """
        turns = guard.turns
        if turns.versions is None:
            msg = "RollbackContext needs a guard with a store: without one there is no earlier version. Pass `store='sqlite:///ctxguard.db'`."
            raise ConfigurationError(msg)
        self.turns = turns
        self._versions = turns.versions
        self._to = to
        self._reason = reason

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> dict[str, Any]:  # noqa: A002 - the name is the Runnable's
        """Return the update of the state.

        Raises:
            VersionNotFoundError: there is no such version.
            BlobMissingError: its content, or a message it needs, was thinned or purged.
        """
        found = read_head(of_state(input)[1])
        thread, namespace = thread_in(config)
        if not thread:
            msg = "RollbackContext runs in a thread, and this run has none: compile the graph with a checkpointer and pass a `thread_id`."
            raise ConfigurationError(msg)
        current = found if isinstance(found, ContextHead) else None
        place = ContextPlace(thread=thread, namespace=namespace)
        change = StateChange(state_of(input))
        eviction = self.turns.eviction
        if eviction is not None and current is not None:
            # Before anything is on record: where a message is gone for good, nothing is changed.
            start = self._versions.head_to_restore(place, self._to).cut.position
            change.back = eviction.brought_back(place, current, start, change.state)
        restored = self._versions.restore(place, self._to, current=current, reason=self._reason)
        self.turns.engine.record(rolled_back(restored[0]))
        return {CHANNEL: restored[1].to_dict(), **change.update()}

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> dict[str, Any]:  # noqa: A002 - as above
        """Return the same, off the event loop."""
        return await asyncio.to_thread(self.invoke, input, config)


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
        change = StateChange(state_of(input))
        return self._with_view(input, self._driven(input, config, change), change, config)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> dict[str, Any]:  # noqa: A002 - as above
        """Return the same, without blocking the event loop on a summarizer."""
        change = StateChange(state_of(input))
        return self._with_view(input, await self._adriven(input, config, change), change, config)

    def _with_view(self, state: Any, head: ContextHead | None, change: StateChange, config: RunnableConfig | None) -> dict[str, Any]:
        messages, raw = of_state(state)
        messages = messages if change.back is None else change.back
        update = _update(head, change)
        shown = {"messages": messages, CHANNEL: update.get(CHANNEL, raw)}
        view = self.turns.view(shown, system=self._system, thread=thread_in(config)[0], tools=self._tools)
        return {INPUT_CHANNEL: view, **update}


def _answered(steps: Generator[Drive | Work, Any, ContextHead | None], call: Callable[[], Any]) -> Drive | Work:
    """Give the store's answer, or its error, to the steps, and return the next one."""
    try:
        answer = call()
    except StoreError as error:
        return steps.throw(error)
    return steps.send(answer)


async def _outcome(work: Work) -> Any:
    """Return the store's answer, or its error, asked off the event loop where the store may block."""
    try:
        return await asyncio.to_thread(work.call) if work.blocks else work.call()
    except StoreError as error:
        return error


def _update(head: ContextHead | None, change: StateChange) -> dict[str, Any]:
    return {} if head is None else {CHANNEL: head.to_dict(), **change.update()}

"""`VerifyContext`: the verifier as nodes of a plain graph, behind any node that compacts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage, SystemMessage
from langchain_core.runnables import Runnable, RunnableConfig

from langchain_ctxguard.core.compile import Compiled
from langchain_ctxguard.core.verify_context import without_ours
from langchain_ctxguard.domain.config import GuardConfig
from langchain_ctxguard.errors import ConfigurationError
from langchain_ctxguard.graph.nodes import HasTurns, turns_of
from langchain_ctxguard.graph.reading import as_messages
from langchain_ctxguard.graph.state import INPUT_CHANNEL
from langchain_ctxguard.graph.thread import thread_in
from langchain_ctxguard.graph.verdicts import Action
from langchain_ctxguard.graph.verified_state import VERIFIED_CHANNEL
from langchain_ctxguard.graph.watch import Look, Watch, system_of
from langchain_ctxguard.ports import Clock


class ReadContext(Runnable[Any, dict[str, Any]]):
    """Reads the messages before a node rewrites them. Made by `VerifyContext.reader`."""

    def __init__(self, watch: Watch, channel: str) -> None:
        """Bind what it reads for."""
        self._watch = watch
        self._channel = channel

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> dict[str, Any]:  # noqa: A002 - the name is the Runnable's
        """Return the update of the state: what is known of the thread, where something is new."""
        update = self._watch.read(_messages(input, self._channel), _known(input), thread_in(config))
        return {} if update is None else {VERIFIED_CHANNEL: update}


class VerifyContext(Runnable[Any, dict[str, Any]]):
    """Compares what a compacting node left with what went in, and writes what the model should see.

    A node that leaves `messages` alone and writes its view elsewhere, as langmem's does: the view is put right in place.

        graph.add_node("verify", VerifyContext(guard, after="summarized_messages"))

    A node that replaces `messages`: put the reader before it, and let the model node send `state["llm_input_messages"]`.

        verify = VerifyContext(guard)
        graph.add_node("read", verify.reader)  # then the compactor, then:
        graph.add_node("verify", verify)

    The graph's state needs the channel `ctxguard_verified`: `GuardedState` has it, `ViewState` has `llm_input_messages` as well.
    """

    def __init__(
        self,
        guard: HasTurns | GuardConfig | str | Path,
        *,
        before: str = "messages",
        after: str = "messages",
        output: str | None = None,
        on_loss: Action | None = None,
        on_change: Action | None = None,
        patterns: Mapping[str, str] | None = None,
        timezone: str | None = None,
        clock: Clock | None = None,
        model: Any = None,
        system: SystemMessage | str | None = None,
        tools: Sequence[Any] = (),
    ) -> None:
        """Bind the guard whose rules, hooks, window and counter are used.

        Args:
            guard: A `ContextGuard`, or a config to make one from.
            before: Channel of the conversation.
            after: Channel of what the compactor left; the same one where it replaces the conversation.
            output: Where the view is written; `None`: to `after`, or to `llm_input_messages` where that is the conversation itself.
            on_loss: See `ContextVerifier`.
            on_change: See there.
            patterns: See there.
            timezone: See there.
            clock: See there.
            model: The model of the model node: its window bounds what is put back.
            system: The system prompt the model node would add: it stands before the pins.
            tools: The tools bound to the model: for rules whose scope is one, and to be counted.

        Raises:
            ConfigurationError: a setting that cannot work.
        """
        if output == before:
            msg = f"output={output!r} is the conversation itself: what is put back for one call would become part of it. Write to another channel."
            raise ConfigurationError(msg)
        self._watch = Watch(turns_of(guard), on_loss=on_loss, on_change=on_change, patterns=patterns, timezone=timezone, clock=clock)
        self._before, self._after = before, after
        self._output = output or (INPUT_CHANNEL if after == before else after)
        self._model = model
        self._system = system_of(system)
        self._tools = tools

    @property
    def reader(self) -> ReadContext:
        """The node to put before a compactor that replaces the conversation."""
        return ReadContext(self._watch, self._before)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> dict[str, Any]:  # noqa: A002 - the name is the Runnable's
        """Return the update of the state: the view, and what is known of the thread where something is new.

        Raises:
            ConfigurationError: the compactor replaces the conversation and the state has no channel for what is known of it.
            CompactionError: a person was asked and the answer decides nothing.
        """
        is_replacing = self._before == self._after
        if is_replacing and not _has(input, VERIFIED_CHANNEL):
            msg = (
                f"The state has no channel '{VERIFIED_CHANNEL}', and without it nobody knows what stood in '{self._before}' before it was rewritten. "
                "Build the graph on `GuardedState` or `ViewState`."
            )
            raise ConfigurationError(msg)
        thread = thread_in(config)
        conversation = _messages(input, self._before)
        rules = self._watch.rules(thread, self._tools)
        look = Look(
            raw=_known(input),
            state=conversation,
            view=Compiled(self._system, without_ours(_messages(input, self._after), rules, self._system)),
            thread=thread,
            before=None if is_replacing else conversation,
            rules=rules,
            tools=self._tools,
            model=self._model,
            is_lifted=True,
        )
        seen = self._watch.seen(look)
        update: dict[str, Any] = {self._output: seen.view.all}
        return update if seen.update is None else {**update, VERIFIED_CHANNEL: seen.update}


def _has(state: Any, channel: str) -> bool:
    return channel in state if isinstance(state, Mapping) else hasattr(state, channel)


def _known(state: Any) -> Any:
    return state.get(VERIFIED_CHANNEL) if isinstance(state, Mapping) else getattr(state, VERIFIED_CHANNEL, None)


def _messages(state: Any, channel: str) -> Sequence[BaseMessage]:
    found = state.get(channel) if isinstance(state, Mapping) else getattr(state, channel, None)
    if found is None:
        msg = f"The state has no messages in '{channel}'. Name the channels of the graph with `before=` and `after=`."
        raise ConfigurationError(msg)
    return as_messages(found)

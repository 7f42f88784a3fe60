"""Where a tool call is made, as far as the runtime says: thread, task, run, in whose name, who answers. Nothing here is read from a message."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.config import get_config
from langgraph.runtime import get_runtime

from langchain_ctxguard.domain.approval import Approver
from langchain_ctxguard.domain.value import digest_of
from langchain_ctxguard.graph.reading import as_messages
from langchain_ctxguard.graph.subject import subject_in

_IN_SIGHT: ContextVar[Any] = ContextVar("ctxguard_state_in_sight", default=None)


@contextmanager
def in_sight(state: Any) -> Iterator[None]:
    """Show a state to the guarded tools that run meanwhile: what their calls hold is looked for in it."""
    token = _IN_SIGHT.set(state)
    try:
        yield
    finally:
        _IN_SIGHT.reset(token)


UNNAMED = Approver(id="")
"""Whoever answered where the runtime context names nobody."""


@dataclass(frozen=True, slots=True)
class Site:
    """The place of one call."""

    thread: str | None = None
    namespace: str = ""
    run: str | None = None
    requester: str | None = None
    approver: Approver | None = None
    can_pause: bool = False
    is_pushed: bool = False
    """Whether the call has a task of its own, as agents give each; the calls of a plain node share theirs."""

    state: Any = None
    """The state the call's node sees; `None` where nobody shows one."""

    @property
    def is_root(self) -> bool:
        """Say whether the call is made by the agent that talks to the person, not by one that a tool started."""
        return not any(part.startswith("tools:") for part in self.namespace.split("|")[:-1])

    @property
    def messages(self) -> Sequence[BaseMessage] | None:
        """The messages in sight, `None` where there are none to be seen."""
        if self.state is None:
            return None
        state = self.state
        found = state if isinstance(state, list) else state.get("messages") if isinstance(state, Mapping) else getattr(state, "messages", None)
        return as_messages(found) if found else ()

    @property
    def siblings(self) -> tuple[str, ...]:
        """Ids of the calls of the newest message that makes any, as far as it is in sight."""
        newest = next((message for message in reversed(self.messages or ()) if isinstance(message, AIMessage) and message.tool_calls), None)
        return () if newest is None else tuple(str(call["id"]) for call in newest.tool_calls if call["id"])

    @property
    def shares_task(self) -> bool:
        """Say whether other calls of the same message run in the same task, as far as the message is in sight."""
        if self.is_pushed:
            return False
        newest = next((message for message in reversed(self.messages or ()) if isinstance(message, AIMessage)), None)
        return newest is not None and len(newest.tool_calls) > 1

    def seen_by(self, messages: Sequence[BaseMessage]) -> Site:
        """Return the site with the run named after the request that started it, where the runtime names none."""
        if self.run is not None:
            return self
        request = next((message for message in reversed(messages) if isinstance(message, HumanMessage)), None)
        if request is None:
            return self
        # Some graphs keep messages without ids; a request is then known by what it says and how many came before it.
        name = request.id or f"{sum(isinstance(one, HumanMessage) for one in messages)}/{digest_of(request.text)[:16]}"
        return replace(self, run=f"request/{name}")


def site_now(subject: str | None, runtime: Any = None) -> Site:
    """Return where the running call is made.

    Args:
        subject: Name of the key that says in whose name, in runtime context or `configurable`.
        runtime: The `ToolRuntime` the call was given, where it was given one.
    """
    try:
        config: Mapping[str, Any] = get_config()
    except RuntimeError:
        return Site(state=_IN_SIGHT.get())
    configurable = config.get("configurable") or {}
    about = _runtime()
    context = None if about is None else getattr(about, "context", None)
    info = None if about is None else getattr(about, "execution_info", None)
    thread = configurable.get("thread_id")
    state = getattr(runtime, "state", None)
    return Site(
        thread=str(thread) if thread not in {None, ""} else None,
        namespace=str(configurable.get("checkpoint_ns") or ""),
        run=None if info is None or getattr(info, "run_id", None) is None else str(info.run_id),
        requester=None if subject is None else subject_in(subject, context, configurable),
        approver=approver_in(context),
        can_pause=info is not None,
        is_pushed=_path(config)[:1] == ("__pregel_push",),
        state=_IN_SIGHT.get() if state is None else state,
    )


def approver_in(context: Any) -> Approver | None:
    """Return who answers, from runtime context `approver: {id, role, surface}`; `None` where it names nobody."""
    named = context.get("approver") if isinstance(context, Mapping) else getattr(context, "approver", None)
    if named is None:
        return None
    found = {key: named.get(key) if isinstance(named, Mapping) else getattr(named, key, None) for key in ("id", "role", "surface")}
    if not isinstance(found["id"], str) or not found["id"]:
        return None
    return Approver.model_validate({key: value if isinstance(value, str) else None for key, value in found.items()})


def _path(config: Mapping[str, Any]) -> tuple[Any, ...]:
    found = (config.get("metadata") or {}).get("langgraph_path")
    return tuple(found) if isinstance(found, (list, tuple)) else ()


def _runtime() -> Any:
    try:
        return get_runtime()
    except (RuntimeError, KeyError):
        return None

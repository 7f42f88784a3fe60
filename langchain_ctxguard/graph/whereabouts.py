"""Where a call belongs: root thread, run, and whose consents count. From the runtime and the configuration, never from messages."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config
from langgraph.runtime import get_runtime

from langchain_ctxguard.graph.subject import subject_in
from langchain_ctxguard.graph.thread import run_of, thread_in, thread_of
from langchain_ctxguard.records.bounded import Bounded


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Where a call belongs."""

    thread: str | None = None
    """The root thread: sub-agents share it."""

    namespace: str = ""
    run: str = ""
    """Names the run of the whole graph; empty where it cannot be told."""

    subject: str | None = None

    @property
    def speaks_to_person(self) -> bool:
        """Say whether what this agent asks is asked of a person: one that a tool started answers to the agent that called it."""
        return not any(part.startswith("tools:") for part in self.namespace.split("|"))


NOWHERE = Whereabouts()


def whereabouts(runtime: Any, subject: str | None) -> Whereabouts:
    """Return where a call of an agent belongs.

    Args:
        runtime: Of a model call or a tool call.
        subject: Name of the key that holds the subject.
    """
    thread, namespace = thread_of(runtime)
    found = None
    if subject is not None:
        config = getattr(runtime, "config", None) or _running_config()
        found = subject_in(subject, getattr(runtime, "context", None), _configurable(config))
    return Whereabouts(thread, namespace, run_key(runtime), found)


def whereabouts_in(config: RunnableConfig | None, subject: str | None) -> Whereabouts:
    """Return where a node of a plain graph belongs."""
    runtime = running_runtime()
    known: Mapping[str, Any] = config or _running_config()
    thread, namespace = thread_in(config) if config else thread_in(_running_config())
    run = known.get("run_id")
    found = None if subject is None else subject_in(subject, getattr(runtime, "context", None), _configurable(known))
    return Whereabouts(thread if isinstance(thread, str) else None, namespace, str(run) if run else run_key(runtime), found)


def running_runtime() -> Any:
    """Return the runtime of the graph that is running, `None` outside of one."""
    try:
        return get_runtime()
    except (RuntimeError, KeyError):
        return None


_RUNS: Bounded[tuple[Any, str]] = Bounded(1_024)


def run_key(runtime: Any) -> str:
    """Return what names the run of a graph: the id its caller gave, else a name of our own that ends with the process.

    A run whose caller gave no id is known by its control plane, which LangGraph makes anew for each run and shares with its subgraphs.
    """
    if runtime is None:
        return ""
    if (given := run_of(runtime)) is not None:
        return str(given)
    control = getattr(runtime, "control", None)
    if control is None:
        return ""
    known = _RUNS.get(id(control))
    # The object is held: while it is, no other one has its identity.
    if known is None or known[0] is not control:
        known = (control, uuid.uuid4().hex)
        _RUNS.put(id(control), known)
    return known[1]


def _configurable(config: Mapping[str, Any]) -> Mapping[str, Any]:
    found = config.get("configurable")
    return found if isinstance(found, Mapping) else {}


def _running_config() -> RunnableConfig:
    try:
        return get_config()
    except RuntimeError:
        return {}

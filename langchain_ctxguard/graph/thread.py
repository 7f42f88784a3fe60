"""Where a call belongs: thread, namespace and run, as far as the runtime says."""

from __future__ import annotations

from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config

from langchain_ctxguard.domain.context_version import outer_namespace


def thread_of(runtime: Any) -> tuple[str | None, str]:
    """Return thread id and namespace; the last segment of the namespace is left out because it is new for every call.

    Sub-agents share their parent's thread and differ by namespace.
    """
    info = getattr(runtime, "execution_info", None)
    if info is None:
        return None, ""
    namespace = str(getattr(info, "checkpoint_ns", "") or "")
    return getattr(info, "thread_id", None), outer_namespace(namespace)


def thread_in(config: RunnableConfig | None) -> tuple[str | None, str]:
    """Return thread and namespace of a node, the namespace without its last segment: that one is new for every step."""
    configurable = (config or {}).get("configurable", {})
    return configurable.get("thread_id"), outer_namespace(str(configurable.get("checkpoint_ns", "")))


def run_of(runtime: Any) -> str | None:
    """Return the id of the run, where the caller gave one."""
    info = getattr(runtime, "execution_info", None)
    return None if info is None else getattr(info, "run_id", None)


def running_thread() -> str | None:
    """Return the thread of the graph that is running, `None` outside of one."""
    try:
        found = get_config().get("configurable", {}).get("thread_id")
    except RuntimeError:
        return None
    return found if isinstance(found, str) else None

"""Where a call belongs: thread, namespace and run, as far as the runtime says."""

from __future__ import annotations

from typing import Any


def thread_of(runtime: Any) -> tuple[str | None, str]:
    """Return thread id and namespace; the last segment of the namespace is left out because it is new for every call.

    Sub-agents share their parent's thread and differ by namespace.
    """
    info = getattr(runtime, "execution_info", None)
    if info is None:
        return None, ""
    namespace = str(getattr(info, "checkpoint_ns", "") or "")
    return getattr(info, "thread_id", None), namespace.rpartition("|")[0]


def run_of(runtime: Any) -> str | None:
    """Return the id of the run, where the caller gave one."""
    info = getattr(runtime, "execution_info", None)
    return None if info is None else getattr(info, "run_id", None)

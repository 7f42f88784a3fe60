"""What a trace shows of a middleware's own hooks. LangChain traces each with the whole request; ours show counts only."""

from __future__ import annotations

from typing import Any

from langgraph.types import TracePolicy


def _counts(value: Any) -> dict[str, Any]:
    """Return what a trace may show of a hook's input or output: how many messages, no text."""
    request = value.get("request") if isinstance(value, dict) else value
    messages = getattr(request, "messages", None)
    return {} if messages is None else {"messages": len(messages)}


COUNTS_ONLY = TracePolicy(process_inputs=_counts, process_outputs=_counts)

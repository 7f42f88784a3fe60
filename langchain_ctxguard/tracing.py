"""What shows compactions and tool calls elsewhere: `LangSmithTracer` and `OpenTelemetryTracer`."""

from __future__ import annotations

from langchain_ctxguard.backends.langsmith import LangSmithTracer
from langchain_ctxguard.backends.opentelemetry import OpenTelemetryTracer

__all__ = ["LangSmithTracer", "OpenTelemetryTracer"]

"""What shows compactions elsewhere: `LangSmithTracer`."""

from __future__ import annotations

from langchain_ctxguard.backends.langsmith import LangSmithTracer

__all__ = ["LangSmithTracer"]

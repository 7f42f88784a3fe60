"""A model call of ours, in a graph or chain that streams: traced like any other, and heard by nobody who listens to answers."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.base import RunnableBindingBase


def answering_whole(model: Any) -> Any:
    """Return the model, or a copy that answers whole: in a graph that streams it would stream too, to nobody, and some report no cost then."""
    if isinstance(model, RunnableBindingBase):
        return model.model_copy(update={"bound": answering_whole(model.bound)})
    if isinstance(model, BaseChatModel) and model.disable_streaming is not True:
        return model.model_copy(update={"disable_streaming": True})
    return model


def internal_marks(run_name: str, **metadata: Any) -> RunnableConfig:
    """Return the marks of an internal call: LangGraph's tag, LangChain's metadata. Callbacks are those of the run around it."""
    from langchain.agents.middleware.internal_call_transformer import internal_call_metadata
    from langgraph.constants import TAG_NOSTREAM

    return {"tags": [TAG_NOSTREAM], "metadata": {**metadata, **internal_call_metadata()}, "run_name": run_name}

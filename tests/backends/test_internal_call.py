"""Model calls of ours are traced and never streamed, whoever makes them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessageChunk, HumanMessage
from langchain_core.outputs import ChatGenerationChunk
from langgraph.graph import START, MessagesState, StateGraph

from langchain_ctxguard.backends.chat_judge import ChatModelJudge
from langchain_ctxguard.backends.internal_call import answering_whole
from langchain_ctxguard.backends.model_fields import ModelFieldExtractor
from langchain_ctxguard.memory import GuardedSummaryMemory

SAID = [HumanMessage("The budget is 4711 EUR.")]


class Streaming(FakeListChatModel):
    """Streams letter by letter wherever it is asked to."""

    def _stream(self, *_: Any, **__: Any) -> Iterator[ChatGenerationChunk]:
        for letter in self.responses[0]:
            yield ChatGenerationChunk(message=AIMessageChunk(letter))

    async def _astream(self, *_: Any, **__: Any) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._stream():
            yield chunk


class Watching(BaseCallbackHandler):
    """Sees runs of chat models."""

    def __init__(self) -> None:
        """Begin with none."""
        self.runs: list[Any] = []

    def on_chat_model_start(self, *_: Any, tags: list[str] | None = None, name: str | None = None, **__: Any) -> None:
        """Note a run's name and tags."""
        self.runs.append((name, tags or []))


CALLERS: dict[str, Callable[[Any], Any]] = {
    "ctxguard.fields": lambda model: ModelFieldExtractor(model)(SAID),
    "ctxguard.judge": lambda model: ChatModelJudge(model)("Never delete an order.", "Keep orders.", "Orders may be deleted."),
    "ctxguard.summarize": lambda model: GuardedSummaryMemory(llm=model).predict_new_summary(SAID, ""),
}


@pytest.mark.parametrize("name", CALLERS)
async def test_a_call_of_ours_streams_to_nobody_and_is_traced(name: str) -> None:
    """By its name and mark, with every way of listening to tokens; the model given is not changed."""
    model, watching = Streaming(responses=['[{"raw": "4711 EUR", "kind": "amount"}]']), Watching()

    def node(_: MessagesState) -> dict[str, Any]:
        CALLERS[name](model)
        return {}

    building = StateGraph(MessagesState)
    building.add_node("node", node)
    building.add_edge(START, "node")
    graph = building.compile()
    config: Any = {"callbacks": [watching]}
    tokens = [part async for part in graph.astream({"messages": SAID}, config, stream_mode="messages")]
    tokens += [event async for event in graph.astream_events({"messages": SAID}, config, version="v2") if event["event"] == "on_chat_model_stream"]

    assert [] == [token for token in tokens if not (isinstance(token, tuple) and token[0] in SAID)]
    assert {name} == {run[0] for run in watching.runs}
    assert all("nostream" in run[1] for run in watching.runs)
    assert model.disable_streaming is False


def test_a_wrapped_model_answers_whole_in_its_wrapping() -> None:
    """`with_retry()` stays around the copy, and the model inside it is not changed."""
    model = Streaming(responses=["x"])
    wrapped: Any = answering_whole(model.with_retry())
    assert (True, False) == (wrapped.bound.disable_streaming, model.disable_streaming)
    assert "x" == wrapped.invoke("y").content

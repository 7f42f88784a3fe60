from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.runnables import RunnableLambda

from langchain_ctxguard.backends.asking import Asking, method_of
from langchain_ctxguard.backends.chat_model import ChatModelSummarizer
from langchain_ctxguard.backends.notes_schema import notes_schema
from langchain_ctxguard.errors import ConfigurationError
from langchain_ctxguard.ports import SummaryRequest
from tests.support.builders import human, tool_loop
from tests.support.models import WatchedModel


class Structured(WatchedModel):
    """A model with schemas of its own."""

    thinking: dict[str, Any] | None = None

    def with_structured_output(self, schema: Any, **more: Any) -> Any:
        return self.bind(schema=schema, **more) | RunnableLambda(lambda answer: {"raw": answer, "parsed": None, "parsing_error": None})


class Promising(WatchedModel):
    """Its profile says it has schemas; the class knows none, and says so when asked."""

    def with_structured_output(self, schema: Any, **more: Any) -> Any:
        msg = "no schemas in this build"
        raise NotImplementedError(msg)


class Toolless(BaseChatModel):
    """A model without tools."""

    @property
    def _llm_type(self) -> str:
        return "toolless"

    def _generate(self, *_: Any, **__: Any) -> Any:
        raise AssertionError


def model(kind: type[Any], profile: dict[str, Any] | None, **more: Any) -> Any:
    return kind(**({"reply": lambda call, messages: AIMessage('{"user_intent": "go"}')} if kind is not Toolless else {}), profile=profile, **more)


@pytest.mark.parametrize(
    ("kind", "profile", "method"),
    [
        (Structured, {"structured_output": True, "tool_calling": True}, "json_schema"),
        (Structured, {"structured_output": False, "tool_calling": True}, "function_calling"),
        (Structured, {"tool_calling": True, "tool_choice": False}, "words"),
        (Structured, {"tool_calling": True, "tool_choice": True}, "function_calling"),
        (Structured, {"structured_output": False, "tool_calling": False}, "words"),
        (Structured, {"max_input_tokens": 9_000}, "words"),
        (Structured, None, "words"),
        (WatchedModel, {"structured_output": True}, "words"),
        (Toolless, {"structured_output": True, "tool_calling": True}, "words"),
    ],
)
def test_the_profile_and_the_class_together_say_how_a_model_is_asked(kind: type[Any], profile: dict[str, Any] | None, method: str) -> None:
    """The strongest way that both know; words where nothing is known."""
    assert method == method_of(model(kind, profile))


def test_a_model_that_thinks_is_not_made_to_call_a_tool() -> None:
    """Providers refuse a forced tool beside thinking; a schema they take."""
    thinking = {"type": "enabled", "budget_tokens": 2_000}
    assert method_of(model(Structured, {"tool_calling": True}, thinking=thinking)) == "words"
    assert method_of(model(Structured, {"tool_calling": True, "structured_output": True}, thinking=thinking)) == "json_schema"


def test_wrappers_are_looked_through_unless_they_hold_arguments() -> None:
    """`with_retry()` and `with_config()` change nothing; `bind()` is left as it is."""
    base = model(Structured, {"structured_output": True})
    assert Asking.of(base.with_retry().with_config(tags=["x"])).method == "json_schema"
    assert Asking.of(base.bind(stop=["x"])).method == "words"
    assert Asking.of(RunnableLambda(lambda _: "text")).method == "words"


def test_a_promise_the_class_does_not_keep_falls_back_to_words() -> None:
    """Unasked, words serve; asked for by name, the error says what failed."""
    base = model(Promising, {"structured_output": True})
    assert ChatModelSummarizer(base).method == "words"
    with pytest.raises(ConfigurationError, match=r"Promising cannot be asked by `json_schema`: no schemas in this build"):
        ChatModelSummarizer(base, method="json_schema")
    with pytest.raises(ConfigurationError, match="bound to arguments of its own"):
        ChatModelSummarizer(model(Structured, None).bind(stop=["x"]), method="function_calling")


def test_a_method_nobody_knows_is_refused() -> None:
    """The error lists the ones there are."""
    with pytest.raises(ConfigurationError, match="json_schema, function_calling, words"):
        ChatModelSummarizer(model(Structured, None), method="json_mode")  # type: ignore[arg-type]  # a slip, as a caller without a type checker makes it


def test_the_schema_takes_its_place_in_the_window() -> None:
    """Prompt, schema, transcript and room for the answer together stay within what the model takes."""
    structured = model(Structured, {"structured_output": True, "max_input_tokens": 6_000})
    messages = [human("Report."), *tool_loop(80, request=None)]
    sources = tuple(f"m{number}" for number in range(len(messages)))
    ChatModelSummarizer(structured).summarize(SummaryRequest(tuple(messages), sources, None, 300, count_tokens_approximately))

    schema = count_tokens_approximately([human(json.dumps(notes_schema()))])
    sizes = [count_tokens_approximately(prompt) for prompt in structured.seen]
    assert len(sizes) > 2
    assert max(sizes) + schema + 300 <= 6_000

"""How a model is asked for notes: by a schema of its provider, by a tool it must call, or by words alone. The model given is never changed."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable
from langchain_core.runnables.base import RunnableBindingBase

from langchain_ctxguard.backends.internal_call import answering_whole
from langchain_ctxguard.backends.notes_schema import notes_schema
from langchain_ctxguard.core.effects import Spending
from langchain_ctxguard.errors import ConfigurationError

Method = Literal["json_schema", "function_calling", "words"]
"""`json_schema`: the provider holds the answer to a schema. `function_calling`: the answer is a tool's arguments. `words`: the prompt alone asks."""

METHODS: tuple[Method, ...] = get_args(Method)

_Model = Runnable[LanguageModelInput, Any]


@dataclass(frozen=True, slots=True)
class Asking:
    """A model and the way it is asked."""

    method: Method
    plain: _Model
    structured: _Model | None = None

    @classmethod
    def of(cls, model: _Model, method: Method | None = None) -> Asking:
        """Return how `model` is asked: as told, else as its profile says it can be.

        Raises:
            ConfigurationError: the model cannot be asked that way.
        """
        chosen = method or method_of(model)
        model = answering_whole(model)
        if chosen == "words":
            return cls("words", model)
        try:
            return cls(chosen, model, _structured(model, chosen))
        except Exception as error:
            if method is None:
                # Its profile promises more than its class does; the prompt asks for the same JSON.
                return cls("words", model)
            msg = f"{type(innermost(model)).__name__} cannot be asked by `{method}`: {error} Use another `method`, or leave it out."
            raise ConfigurationError(msg) from error

    @property
    def words_only(self) -> Asking:
        """The same model, asked by the prompt alone."""
        return Asking("words", self.plain)

    @property
    def model(self) -> _Model:
        """What is called."""
        return self.structured or self.plain


def method_of(model: Any) -> Method:
    """Return the strongest way a model can be asked, as far as it says so: by its profile, and by having the means.

    Without a profile nothing is known, and a wrong guess would cost an error at every call.
    """
    base = innermost(model)
    profile = getattr(base, "profile", None)
    if not isinstance(base, BaseChatModel) or not isinstance(profile, Mapping) or not _can_be_structured(model):
        return "words"
    kind = type(base)
    if profile.get("structured_output") and kind.with_structured_output is not BaseChatModel.with_structured_output:
        return "json_schema"
    thinking = getattr(base, "thinking", None)
    if isinstance(thinking, Mapping) and thinking.get("type") in ("enabled", "adaptive"):
        # A model that thinks cannot be made to call a tool.
        return "words"
    if profile.get("tool_calling") and profile.get("tool_choice", True) and kind.bind_tools is not BaseChatModel.bind_tools:
        return "function_calling"
    return "words"


def innermost(model: Any) -> Any:
    """Return the model inside of `with_retry()`, `bind()` and the like: it knows its window and its means."""
    while isinstance(model, RunnableBindingBase):
        model = model.bound
    return model


def _can_be_structured(model: Any) -> bool:
    """Say whether every wrapper can be kept around another inside: one with arguments of its own hands them to the model itself."""
    while isinstance(model, RunnableBindingBase):
        if model.kwargs:
            return False
        model = model.bound
    return True


def _structured(model: Any, method: Method) -> _Model:
    if isinstance(model, RunnableBindingBase):
        if model.kwargs:
            msg = "It is bound to arguments of its own, which a schema would displace."
            raise ValueError(msg)
        return model.model_copy(update={"bound": _structured(model.bound, method)})
    takes = inspect.signature(model.with_structured_output).parameters
    strict = {"strict": True} if method == "json_schema" and "strict" in takes else {}
    structured: _Model = model.with_structured_output(copy.deepcopy(notes_schema()), method=method, include_raw=True, **strict)
    return structured


def message_of(result: Any) -> BaseMessage | str:
    """Return the model's own message: of a structured call the raw one, which is read as forgivingly as any other."""
    raw = result.get("raw") if isinstance(result, Mapping) else result
    return raw if isinstance(raw, (BaseMessage, str)) else str(raw)


def cut_off_answer(error: Exception) -> AIMessage | None:
    """Return the answer that a client raised an error about because it reached its length or was withheld by a filter, else `None`."""
    completion = getattr(error, "completion", None)
    choices = getattr(completion, "choices", None)
    if not choices:
        return None
    choice, usage = choices[0], getattr(completion, "usage", None)
    content = getattr(getattr(choice, "message", None), "content", None)
    answer = AIMessage(content or "", response_metadata={"finish_reason": getattr(choice, "finish_reason", None)})
    read, written = getattr(usage, "prompt_tokens", None), getattr(usage, "completion_tokens", None)
    if isinstance(read, int) and isinstance(written, int):
        answer.usage_metadata = {"input_tokens": read, "output_tokens": written, "total_tokens": read + written}
    return answer


def charge(answer: BaseMessage | str, spent: Spending) -> None:
    """Note what the provider says an answer cost."""
    usage = getattr(answer, "usage_metadata", None)
    if isinstance(usage, Mapping):
        spent.tokens_in += int(usage.get("input_tokens") or 0)
        spent.tokens_out += int(usage.get("output_tokens") or 0)

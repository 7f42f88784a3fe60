"""Settings of a chat model by which its provider may leave out what we send, rules included; read where LangChain's clients keep them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_IN_EXTRA = ("model_kwargs", "extra_body")


def dropping_settings(model: Any, call_settings: Mapping[str, Any] | None = None) -> tuple[str, ...]:
    """Return those that are set, each as `name: what it lets the provider do`.

    Sources: https://developers.openai.com/api/docs/guides/compaction, the docstrings of `ChatOpenAI` in langchain-openai 1.7.4, and
    https://openrouter.ai/docs (message transforms).

    Args:
        model: A chat model, or one with tools or settings bound to it; anything else has none.
        call_settings: Settings of the one call.
    """
    found: dict[str, None] = {}
    for settings in _layers(model, call_settings):
        for text in _in(settings):
            found[text] = None
    return tuple(found)


def _in(settings: Mapping[str, Any]) -> Iterator[str]:
    if settings.get("truncation") == "auto":
        yield "`truncation='auto'`: it drops input items until the rest fits, and does not say which"
    if settings.get("use_previous_response_id") or settings.get("previous_response_id"):
        yield "`previous_response_id`: only messages after that response are sent, so rules that changed since and compacted views are not"
    management = settings.get("context_management")
    if isinstance(management, list) and any(isinstance(entry, dict) and entry.get("type") == "compaction" for entry in management):
        yield "`context_management`: it replaces input items, the system message among them, by an item nobody can read"
    transforms = settings.get("transforms")
    if isinstance(transforms, list) and "middle-out" in transforms:
        yield "`transforms=['middle-out']`: messages in the middle are left out without a word"
    if settings.get("truncate_prompt_tokens"):
        yield "`truncate_prompt_tokens`: the front of the request is cut off, where rules stand"


def _layers(model: Any, call_settings: Mapping[str, Any] | None) -> Iterator[Mapping[str, Any]]:
    """Yield the places a setting may stand in, those of the call first."""
    yield from _with_extra(call_settings or {})
    for _ in range(8):
        kwargs, bound = getattr(model, "kwargs", None), getattr(model, "bound", None)
        if bound is None:
            break
        yield from _with_extra(kwargs if isinstance(kwargs, dict) else {})
        model = bound
    fields = getattr(model, "__dict__", None)
    yield from _with_extra(fields if isinstance(fields, dict) else {})


def _with_extra(settings: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield settings
    for name in _IN_EXTRA:
        inner = settings.get(name)
        if isinstance(inner, dict):
            yield from _with_extra(inner)

"""The token counter: what messages and tools cost a model, without asking anyone. Each message is counted once and remembered."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from typing import Any

from langchain_core.messages import BaseMessage

from langchain_ctxguard.backends.estimate import estimate_tokens
from langchain_ctxguard.backends.fingerprint import message_key
from langchain_ctxguard.backends.message_cost import message_cost

_MESSAGES_KEPT = 65_536
_TOOLS_KEPT = 1_024
_MODELS_KEPT = 64


class MessageTokenCounter:
    """Counts the tokens of messages with a vocabulary this machine holds, else by an own estimate. It never calls the network.

    Counts add up: `count(a + b) == count(a) + count(b)`, there is no sum per call, so a growing list is counted by its new part.
    They are remembered by what a message says, so a message edited in place is counted again. Usable from several threads.
    """

    def __init__(self, model: str | None = None, *, use_vocabulary: bool = True) -> None:
        """Say whose tokens to count. Nothing is loaded before the first count.

        Args:
            model: Name of the model, with or without its provider (`openai:gpt-4o`). `None` or unknown: a current vocabulary.
            use_vocabulary: `False` always estimates: within 10%, and nothing is loaded at all.
        """
        self.model = model
        self._use_vocabulary = use_vocabulary
        self._loading = threading.Lock()
        self._source: _TextSource | None = None
        self._messages = _Counts(_MESSAGES_KEPT)
        self._tools = _Counts(_TOOLS_KEPT)

    def __call__(self, messages: Sequence[BaseMessage], /) -> int:
        """Return the tokens of `messages` together."""
        counted = self._messages.get
        total = 0
        for message in messages:
            key = message_key(message)
            found = counted(key)
            if found is None:
                found = message_cost(message, self._text_source().count)
                self._messages.put(key, found)
            total += found
        return total

    def count_tools(self, tools: Sequence[Any]) -> int:
        """Return the tokens of the schemas sent for `tools`: tools, functions, classes or dicts in any provider's form."""
        from langchain_ctxguard.backends.tool_cost import tool_key, tool_text

        total = 0
        for tool in tools:
            key = tool_key(tool)
            found = self._tools.get(key)
            if found is None:
                found = self._text_source().count(tool_text(tool))
                self._tools.put(key, found)
            total += found
        return total

    @property
    def vocabulary(self) -> str | None:
        """Name of the vocabulary text is counted with, `None` while it is estimated."""
        return self._text_source().vocabulary

    @property
    def is_exact(self) -> bool:
        """Whether text is counted with the model's own vocabulary. Without a model named, any vocabulary is its own."""
        return self._text_source().is_own

    def __repr__(self) -> str:
        """Show whose tokens it counts, without loading anything."""
        return f"MessageTokenCounter({self.model!r}, use_vocabulary={self._use_vocabulary})"

    def _text_source(self) -> _TextSource:
        if self._source is None:
            with self._loading:
                if self._source is None:
                    self._source = _text_source(self.model) if self._use_vocabulary else _ESTIMATE
        return self._source


class _TextSource:
    """How text is counted, and how far that can be trusted."""

    __slots__ = ("count", "is_own", "vocabulary")

    def __init__(self, count: Callable[[str], int], vocabulary: str | None, *, is_own: bool) -> None:
        self.count = count
        self.vocabulary = vocabulary
        self.is_own = is_own


_ESTIMATE = _TextSource(estimate_tokens, None, is_own=False)


def _text_source(model: str | None) -> _TextSource:
    from langchain_ctxguard.backends.vocabulary import family_of, load_vocabulary, text_counter, vocabulary_for_model

    wanted = vocabulary_for_model(_bare_name(model)) if model else None
    encoding = load_vocabulary(wanted)
    if encoding is None:
        return _ESTIMATE
    is_own = not model or (wanted is not None and family_of(wanted) == family_of(encoding.name))
    return _TextSource(text_counter(encoding), encoding.name, is_own=is_own)


class _Counts:
    """Counts by key, at most `limit` of them. When full, the older half goes: losing one costs time, never a number."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._counts: dict[Hashable, int] = {}

    def get(self, key: Hashable | None) -> int | None:
        return self._counts.get(key) if key is not None else None

    def put(self, key: Hashable | None, count: int) -> None:
        if key is None:
            return
        with self._lock:
            if len(self._counts) >= self._limit:
                for old in list(self._counts)[: self._limit // 2]:
                    del self._counts[old]
            self._counts[key] = count

    def __len__(self) -> int:
        return len(self._counts)


def counter_for(model: Any = None) -> MessageTokenCounter:
    """Return the counter all users of a model share. `model` is a chat model, a name, or `None` for one nobody knows."""
    name = model if isinstance(model, str) else _read(model, "model_name") or _read(model, "model")
    return _shared_counter(_bare_name(name) if isinstance(name, str) and name else None)


def window_of(model: Any) -> int | None:
    """Return how many tokens a model takes in by its profile, `None` where that is not known. Never raises."""
    profile = _read(model, "profile")
    try:
        size = profile["max_input_tokens"]
    except Exception:  # noqa: BLE001  # whatever stands in the place of a profile, it does not name a window
        return None
    return size if isinstance(size, int) and not isinstance(size, bool) and size > 0 else None


@lru_cache(maxsize=_MODELS_KEPT)
def _shared_counter(name: str | None) -> MessageTokenCounter:
    return MessageTokenCounter(name)


def _read(model: Any, attribute: str) -> Any:
    try:
        return getattr(model, attribute, None)
    except Exception:  # noqa: BLE001  # a property of somebody else's model may do anything
        return None


def _bare_name(model: str) -> str:
    """Return a model's name without its provider: `openai:gpt-4o` and `openai/gpt-4o` are `gpt-4o`, `ft:gpt-4o:org` stays."""
    name = model.rpartition("/")[2]
    provider, colon, rest = name.partition(":")
    return rest if colon and provider != "ft" else name

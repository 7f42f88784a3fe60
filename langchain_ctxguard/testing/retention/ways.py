"""The ways to compact a conversation, each as the middleware of a real `create_agent`. What a way loses is for `findings.py` to say."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Sequence
from tempfile import TemporaryDirectory
from typing import Any, Final

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, SummarizationMiddleware
from langchain_core.messages import BaseMessage, RemoveMessage, convert_to_messages
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.runtime import Runtime

from langchain_ctxguard.backends.tokens import MessageTokenCounter
from langchain_ctxguard.errors import ConfigurationError
from langchain_ctxguard.testing.retention.guarded import guarded
from langchain_ctxguard.testing.retention.setting import KEPT_MESSAGES, Built, Setting, Way

Compactor = Callable[[list[BaseMessage]], Sequence[Any]]
"""Takes the messages in sight and returns the ones that take their place."""


def _langchain(setting: Setting) -> Built:
    """LangChain's `SummarizationMiddleware`."""
    count = MessageTokenCounter()
    middleware = SummarizationMiddleware(
        setting.summary_model,
        trigger=("tokens", setting.trigger),
        keep=("messages", KEPT_MESSAGES),
        token_counter=lambda messages: count(convert_to_messages(messages)),
    )
    return Built((middleware,), tuple(setting.tools))


def _deepagents(setting: Setting) -> Built:
    """The summarizer of deepagents, which writes the history it replaces into a folder; the agent of a case has no tool to read it."""
    try:
        from deepagents.backends import FilesystemBackend
        from deepagents.middleware.summarization import SummarizationMiddleware as DeepSummarization
    except ImportError as error:
        raise _not_installed(error) from error
    count = MessageTokenCounter()
    folder = TemporaryDirectory(prefix="retention-")
    middleware = DeepSummarization(
        setting.summary_model,
        backend=FilesystemBackend(root_dir=folder.name, virtual_mode=True),
        trigger=("tokens", setting.trigger),
        keep=("messages", KEPT_MESSAGES),
        token_counter=lambda messages, **_: count(convert_to_messages(messages)),
    )
    return Built((middleware,), tuple(setting.tools), close=folder.cleanup)


def _langmem(setting: Setting) -> Built:
    """Langmem's `summarize_messages`, with its running summary, before each model call."""
    return Built((_Langmem(setting),), tuple(setting.tools))


def of_function(compact: Compactor) -> Way:
    """Return the way that hands the messages in sight to a function once they are too many."""

    def make(setting: Setting) -> Built:
        return Built((_OfFunction(compact, setting.trigger),), tuple(setting.tools))

    return Way(getattr(compact, "__name__", "function"), make)


def of_middleware(made: Callable[[Setting], AgentMiddleware[Any, Any, Any]]) -> Way:
    """Return the way of a middleware of yours, made anew for each case."""

    def make(setting: Setting) -> Built:
        return Built((made(setting),), tuple(setting.tools))

    return Way(getattr(made, "__name__", "middleware"), make)


WAYS: Final = {
    way.name: way for way in (Way("guard", guarded), Way("langchain", _langchain), Way("deepagents", _deepagents), Way("langmem", _langmem))
}
"""The ways that come with the kit. `guard`: the declared rules are constraints, a policy guards the tools, consents lie in a ledger."""


def way_named(name: str) -> Way:
    """Return a way by its name, or the function at `package.module:function`.

    Raises:
        ConfigurationError: there is none.
    """
    if name in WAYS:
        return WAYS[name]
    module, colon, attribute = name.partition(":")
    if colon:
        try:
            found = getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            msg = f"There is no strategy '{name}': {error}."
            raise ConfigurationError(msg) from error
        if callable(found):
            return of_function(found)
    msg = f"There is no strategy '{name}'; use {', '.join(WAYS)}, or 'package.module:function' for a function from messages to messages."
    raise ConfigurationError(msg)


class _OfFunction(AgentMiddleware[AgentState[Any], Any, Any]):
    def __init__(self, compact: Compactor, trigger: int) -> None:
        super().__init__()
        self._compact, self._trigger, self._count = compact, trigger, MessageTokenCounter()

    def before_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        del runtime
        if self._count(state["messages"]) < self._trigger:
            return None
        return {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), *convert_to_messages(self._compact(list(state["messages"])))]}

    async def abefore_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        return self.before_model(state, runtime)


class _Langmem(AgentMiddleware[AgentState[Any], Any, Any]):
    def __init__(self, setting: Setting) -> None:
        super().__init__()
        try:
            with warnings.catch_warnings():
                # langmem imports names that LangGraph has moved.
                warnings.simplefilter("ignore")
                from langmem.short_term import summarize_messages  # type: ignore[import-untyped] # it ships no types
        except ImportError as error:
            raise _not_installed(error) from error
        self._summarize, self._setting, self._running, self._count = summarize_messages, setting, None, MessageTokenCounter()

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]) -> Any:
        result = self._summarize(
            list(request.messages),
            running_summary=self._running,
            model=self._setting.summary_model,
            max_tokens=self._setting.trigger,
            max_tokens_before_summary=self._setting.trigger,
            token_counter=lambda messages: self._count(convert_to_messages(messages)),
        )
        self._running = result.running_summary
        return handler(request.override(messages=result.messages))

    async def awrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]) -> Any:
        msg = "langmem's strategy runs synchronously here; use `run_case`."
        raise NotImplementedError(msg)


def _not_installed(error: ImportError) -> ConfigurationError:
    return ConfigurationError(f"This strategy needs a package that is not there: {error}. Install it, or choose another strategy.")

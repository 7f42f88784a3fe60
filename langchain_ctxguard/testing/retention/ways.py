"""The ways to compact a conversation, each as the middleware of a real `create_agent`. What a way loses is for `findings.py` to say."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Any, Final

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, SummarizationMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, RemoveMessage, convert_to_messages
from langchain_core.tools import BaseTool
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.runtime import Runtime

from langchain_ctxguard.backends.tokens import MessageTokenCounter
from langchain_ctxguard.errors import ConfigurationError
from langchain_ctxguard.testing.retention.case import RetentionCase

TRIGGER_TOKENS: Final = 3_000
KEPT_MESSAGES: Final = 4
NEVER: Final = 10**9
"""The trigger of a run that must not compact."""

Compactor = Callable[[list[BaseMessage]], Sequence[Any]]
"""Takes the messages in sight and returns the ones that take their place."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a way is made from."""

    case: RetentionCase
    summary_model: BaseChatModel
    trigger: int
    tools: Sequence[BaseTool]


@dataclass(frozen=True, slots=True)
class Built:
    """A way, ready for `create_agent`."""

    middleware: tuple[AgentMiddleware[Any, Any, Any], ...]
    tools: tuple[BaseTool, ...]
    knows_rules: bool = False
    """It was told the declared rules and puts them before the model itself."""

    context: Any = None
    close: Callable[[], None] = lambda: None


Way = Callable[[Setting], Built]
"""Makes a way for one case."""


def guard(setting: Setting) -> Built:
    """Our guard: the declared rules are constraints, a policy guards the tools, consents lie in a ledger."""
    from langchain_ctxguard.testing.retention.guarded import guarded

    return guarded(setting)


def langchain(setting: Setting) -> Built:
    """LangChain's `SummarizationMiddleware`."""
    count = MessageTokenCounter()
    middleware = SummarizationMiddleware(
        setting.summary_model,
        trigger=("tokens", setting.trigger),
        keep=("messages", KEPT_MESSAGES),
        token_counter=lambda messages: count(convert_to_messages(messages)),
    )
    return Built((middleware,), tuple(setting.tools))


def deepagents(setting: Setting) -> Built:
    """The summarizer of deepagents, which writes the history it replaces into a folder; the agent of a case has no tool to read it."""
    try:
        from deepagents.backends import FilesystemBackend
        from deepagents.middleware.summarization import SummarizationMiddleware as DeepSummarization
    except ImportError as error:
        raise _not_installed("deepagents", error) from error
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


def langmem(setting: Setting) -> Built:
    """langmem's `summarize_messages`, with its running summary, before each model call."""
    return Built((_Langmem(setting),), tuple(setting.tools))


def of_function(compact: Compactor) -> Way:
    """Return the way that hands the messages in sight to a function once they are too many."""

    def way(setting: Setting) -> Built:
        return Built((_OfFunction(compact, setting.trigger),), tuple(setting.tools))

    return way


def of_middleware(make: Callable[[Setting], AgentMiddleware[Any, Any, Any]]) -> Way:
    """Return the way of a middleware of yours, made anew for each case."""

    def way(setting: Setting) -> Built:
        return Built((make(setting),), tuple(setting.tools))

    return way


WAYS: Final[dict[str, Way]] = {"guard": guard, "langchain": langchain, "deepagents": deepagents, "langmem": langmem}


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
                from langmem.short_term import summarize_messages
        except ImportError as error:
            raise _not_installed("langmem", error) from error
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


def _not_installed(package: str, error: ImportError) -> ConfigurationError:
    return ConfigurationError(f"The strategy '{package}' needs the package {package} ({error}); install it.")

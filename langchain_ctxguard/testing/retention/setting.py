"""What a way to compact is made from, and what it gives to the agent of a case."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool

from langchain_ctxguard.testing.retention.case import RetentionCase

TRIGGER_TOKENS: Final = 3_000
KEPT_MESSAGES: Final = 4
NEVER: Final = 10**9
"""The trigger of a run that must not compact."""


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


@dataclass(frozen=True, slots=True)
class Way:
    """A way to compact, under the name reports use."""

    name: str
    make: Callable[[Setting], Built]
    """Makes it anew for each case."""

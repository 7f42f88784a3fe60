"""The steps of one call as values: what a call yields to whoever drives it, and what a compaction in it came to."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain.agents.middleware.types import ModelRequest
from langchain_core.messages import SystemMessage

from langchain_ctxguard.backends.checks import PreparedCheck
from langchain_ctxguard.core.compaction import Compacted
from langchain_ctxguard.core.compile import Compiled
from langchain_ctxguard.core.effects import Answer, Effect
from langchain_ctxguard.domain.config import ContextSize
from langchain_ctxguard.domain.context import ContextHead
from langchain_ctxguard.domain.context_version import ContextPlace
from langchain_ctxguard.domain.version import CompactionRecord
from langchain_ctxguard.engine import Person
from langchain_ctxguard.errors import ContextBudgetError, StoreError
from langchain_ctxguard.graph.on_record import Work
from langchain_ctxguard.graph.pacing import Pace
from langchain_ctxguard.graph.reading import Call
from langchain_ctxguard.ports import Summarizer


@dataclass(frozen=True, slots=True)
class Ask:
    """Call the model."""

    request: ModelRequest[Any]


@dataclass(frozen=True, slots=True)
class Drive:
    """Drive a compaction."""

    flow: Generator[Effect, Answer, Compacted]
    summarizer: Summarizer | None
    is_repeat: bool = False
    """The result was made before, for a model call that failed since."""

    person: Person | None = None
    """Asks a person; `None` where the run cannot pause."""

    facts: Mapping[str, Any] = field(default_factory=dict)
    """What a trace shows of it beforehand: names, numbers and digests."""


@dataclass(frozen=True, slots=True)
class Check:
    """Run checks on a text."""

    checks: Sequence[PreparedCheck]
    text: str


Step = Ask | Drive | Check | Work


@dataclass(frozen=True, slots=True)
class Made:
    """What a compaction came to, once it is on record."""

    head: ContextHead | None
    """To be stored in the state; `None`: the state's stays."""

    view: Compiled | None
    """To be sent; `None`: the previous one stays."""

    record: CompactionRecord
    is_new: bool


@dataclass(frozen=True, slots=True)
class Attempt:
    """A compaction about to be made, and how it is named in the caches."""

    call: Call
    why: str
    pace: Pace
    limit: int | None
    keep: ContextSize | None = None
    """`None`: as the settings say."""


def place_of(call: Call) -> ContextPlace | None:
    """Return where the versions of a call's thread are on record, `None` for a call without a thread."""
    thread = call.thread
    if not isinstance(thread, tuple) or not thread or not isinstance(thread[0], str) or not thread[0]:
        return None
    return ContextPlace(thread=thread[0], namespace=str(thread[1]))


def sending(request: ModelRequest[Any], system: SystemMessage | None, messages: Any) -> ModelRequest[Any]:
    """Return the request with other messages; LangChain's signature names the message classes one by one."""
    return request.override(system_message=system, messages=messages)


def full(tokens: int, window: int, why: str) -> ContextBudgetError:
    """Return what is raised where a window is full and nothing may leave it."""
    return ContextBudgetError(
        f"The context holds {tokens} tokens, the model's window {window}, and {why}. Nothing was changed. "
        "Start a new thread, allow compaction, or use a model with a larger window.",
        needed=tokens,
        budget=window,
    )


def next_of(steps: Generator[Work, Any, Call]) -> Call:
    """Return what the steps come to, each done at once: for a caller that waits."""
    try:
        work = next(steps)
        while True:
            try:
                answer = work.call()
            except StoreError as error:
                work = steps.throw(error)
            else:
                work = steps.send(answer)
    except StopIteration as end:
        call: Call = end.value
        return call

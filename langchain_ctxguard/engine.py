"""Settings and ports bound together, without LangGraph. `run` and `arun` are the only two drivers of every flow."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar, assert_never

from langchain_ctxguard.backends.agent_store import AgentStore
from langchain_ctxguard.backends.deadline import awithin, within
from langchain_ctxguard.backends.extractive import ExtractiveSummarizer
from langchain_ctxguard.backends.store import GuardStore
from langchain_ctxguard.backends.stream import StreamEvents
from langchain_ctxguard.backends.tokens import counter_for
from langchain_ctxguard.core.effects import (
    Answer,
    Append,
    AskAboutCalls,
    AskedBefore,
    AskPerson,
    ConsultWork,
    CountTokens,
    Decided,
    Effect,
    GetContent,
    NobodyThere,
    NoteCall,
    NoteReplaced,
    NoteWork,
    PortFailed,
    Prepare,
    PutContent,
    ReadBudgets,
    ReadCalls,
    ReadConsents,
    ReadStanding,
    Reserve,
    ResolveCall,
    RunTool,
    SettleBudgets,
    Show,
    Stage,
    Summarize,
    SummaryFailure,
    WriteCalls,
)
from langchain_ctxguard.core.shown import draft_texts
from langchain_ctxguard.domain.extensions import FieldExtractor
from langchain_ctxguard.domain.shown import CompactionTexts
from langchain_ctxguard.domain.summary import SummaryDraft
from langchain_ctxguard.domain.version import ContextEvent
from langchain_ctxguard.errors import ConfigurationError, InvalidSummaryError
from langchain_ctxguard.ports import CallHands, Clock, ConsentReading, Fact, Hook, Summarizer, TextHook
from langchain_ctxguard.records.consent_ledger import ConsentLedger
from langchain_ctxguard.records.consents import ConsentReader
from langchain_ctxguard.records.ledgers import CallLedgers, LedgerEffect

Result = TypeVar("Result")

Person = Callable[[AskPerson], Decided]
"""Puts a question to a person and returns the answer; a graph's `interrupt` raises until there is one."""

_REASONS = frozenset({"empty", "placeholder", "not_json", "tool_call", "reasoning_only", "refused", "too_long", "wrong_type"})
"""Why an answer is no summary, as far as it may go on record: any other word could be one of the conversation."""

_NAME_SHOWN = 80

_NO_LEDGERS = PortFailed("no records")
_NO_HANDS = PortFailed("nothing to run it with")


class Engine:
    """Drives flows: answers their effects with the summarizer, the fallback and the hooks it was given.

    Thread-safe: it holds no state of a run.
    """

    def __init__(
        self,
        *,
        summarizer: Summarizer | None = None,
        hooks: Sequence[Hook] = (),
        timeout_s: float | None = None,
    ) -> None:
        """Bind the ports.

        Args:
            summarizer: Who summarizes; `None`: the extractive summarizer.
            hooks: Told about every compaction, in this order.
            timeout_s: A summarizer that takes longer, in seconds, is abandoned; `None`: waited for.
        """
        # What an extractive summarizer refuses, another one with other settings shall not let pass.
        self.fallback: Summarizer = summarizer if type(summarizer) is ExtractiveSummarizer else ExtractiveSummarizer()
        self.summarizer: Summarizer = self.fallback if summarizer is None else summarizer
        self._hooks = _Hooks(_with_own(hooks))
        self._timeout_s = timeout_s

    def run(
        self,
        flow: Generator[Effect, Answer, Result],
        *,
        name: str = "compaction",
        summarizer: Summarizer | None = None,
        person: Person | None = None,
        ledgers: CallLedgers | None = None,
        hands: CallHands | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> Result:
        """Drive `flow` to its end and return its result; what it raises is raised here.

        Args:
            flow: A flow of `core`.
            name: Of its span.
            summarizer: Who summarizes this time.
            person: Asks a person; `None`: there is nobody to ask, and what would be asked is rejected.
            ledgers: The records of a tool call's flow; `None`: what it asks of them fails, and the call is denied.
            hands: Asks and runs for a tool call's flow; `None`: nobody is asked and nothing runs.
            facts: What is known of the run beforehand, for its span: names, numbers and digests.
        """
        who = summarizer or self.summarizer
        with self._hooks.span(name, facts or {}), self._hooks.stages() as stages:
            answer: Answer = None
            while True:
                try:
                    effect = flow.send(answer)
                except StopIteration as end:
                    result: Result = end.value
                    return result
                match effect:
                    case Prepare():
                        answer = None
                        self._prepared(effect)
                    case Summarize():
                        answer = self._summarize(effect, who)
                    case AskPerson() | Append() | AskAboutCalls() | AskedBefore() | ResolveCall():
                        answer = self._at_once(effect, person, hands)
                    case (
                        ReadConsents()
                        | ReadStanding()
                        | NoteReplaced()
                        | ReadCalls()
                        | WriteCalls()
                        | ReadBudgets()
                        | Reserve()
                        | SettleBudgets()
                        | PutContent()
                        | GetContent()
                        | NoteCall()
                        | ConsultWork()
                        | NoteWork()
                    ):
                        answer = self._noticed(effect, self._answered(effect, ledgers, hands))
                    case RunTool():
                        answer = _NO_HANDS if hands is None else hands.run(effect)
                    case Show():
                        answer = None
                        self._hooks.show(effect.texts)
                    case Stage():
                        answer = None
                        stages.enter(effect.name)
                    case _:
                        assert_never(effect)

    async def arun(
        self,
        flow: Generator[Effect, Answer, Result],
        *,
        name: str = "compaction",
        summarizer: Summarizer | None = None,
        person: Person | None = None,
        ledgers: CallLedgers | None = None,
        hands: CallHands | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> Result:
        """Drive `flow` as `run` does, without blocking the event loop on the summarizer."""
        who = summarizer or self.summarizer
        with self._hooks.span(name, facts or {}), self._hooks.stages() as stages:
            answer: Answer = None
            while True:
                try:
                    effect = flow.send(answer)
                except StopIteration as end:
                    result: Result = end.value
                    return result
                match effect:
                    case Prepare():
                        answer = None
                        await asyncio.to_thread(self._prepared, effect)
                    case Summarize():
                        answer = await self._asummarize(effect, who)
                    case AskPerson() | Append() | AskAboutCalls() | AskedBefore() | ResolveCall():
                        answer = self._at_once(effect, person, hands)
                    case (
                        ReadConsents()
                        | ReadStanding()
                        | NoteReplaced()
                        | ReadCalls()
                        | WriteCalls()
                        | ReadBudgets()
                        | Reserve()
                        | SettleBudgets()
                        | PutContent()
                        | GetContent()
                        | NoteCall()
                        | ConsultWork()
                        | NoteWork()
                    ):
                        answer = self._noticed(effect, await self._aanswered(effect, ledgers, hands))
                    case RunTool():
                        answer = _NO_HANDS if hands is None else await hands.arun(effect)
                    case Show():
                        answer = None
                        self._hooks.show(effect.texts)
                    case Stage():
                        answer = None
                        stages.enter(effect.name)
                    case _:
                        assert_never(effect)

    def record(self, fact: Fact) -> None:
        """Tell the hooks about something that happened."""
        self._hooks.record(fact)

    def _prepared(self, effect: Prepare) -> None:
        """Let the application get ready; whatever fails there is told to the hooks, and the compaction goes on."""
        try:
            effect.call()
        except Exception as error:  # noqa: BLE001 - no hand-over is worth a run
            detail = f"What was to be done before a compaction failed ({_name_of(error)}); the compaction goes on without it."
            self.record(ContextEvent(kind="preparation_failed", detail=detail))

    def _at_once(
        self, effect: AskPerson | Append | AskAboutCalls | AskedBefore | ResolveCall, person: Person | None, hands: CallHands | None
    ) -> Answer:
        """Answer what neither waits for a model nor for a store."""
        if isinstance(effect, AskPerson):
            return Decided("reject") if person is None else person(effect)
        if isinstance(effect, Append):
            self.record(effect.fact)
            return None
        if isinstance(effect, AskAboutCalls):
            return NobodyThere() if hands is None else hands.ask(effect)
        if hands is None:
            return None
        if isinstance(effect, ResolveCall):
            return hands.resolve(effect)
        return hands.asked_before(effect)

    async def _aanswered(self, effect: LedgerEffect, ledgers: CallLedgers | None, hands: CallHands | None) -> Answer:
        if ledgers is not None and ledgers.blocks:
            return await asyncio.to_thread(self._answered, effect, ledgers, hands)
        return self._answered(effect, ledgers, hands)

    def _answered(self, effect: LedgerEffect, ledgers: CallLedgers | None, hands: CallHands | None) -> Answer:
        """Answer from the records; what fails there is told to the flow by its type."""
        answer: Answer = _NO_LEDGERS
        if ledgers is not None and hands is not None:
            try:
                answer = ledgers.answer(effect, hands.usage)
            except Exception as error:  # noqa: BLE001 - whatever fails there, the flow decides what follows, and no tool runs unjudged
                answer = PortFailed(_name_of(error))
        return answer

    def _noticed(self, effect: LedgerEffect, answer: Answer) -> Answer:
        """Tell the hooks of a step of a call, also of one that could not be put on record."""
        if isinstance(effect, NoteCall):
            self.record(effect.record)
        if isinstance(answer, PortFailed):
            detail = f"The record of a tool call could not be read or written ({answer.error}): {type(effect).__name__}."
            self.record(ContextEvent(kind="store_failed", detail=detail))
        return answer

    def _summarize(self, effect: Summarize, summarizer: Summarizer) -> SummaryDraft | SummaryFailure:
        who = self._who(effect, summarizer)
        with self._hooks.span("summarize", {"strategy": who.name, "attempt": effect.attempt}):
            try:
                return self._drafted(within(self._time_for(effect), lambda: who.summarize(effect.request)))
            except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - a summarizer may fail in any way; none of them may reach the run
                return _given_up(effect, error)

    async def _asummarize(self, effect: Summarize, summarizer: Summarizer) -> SummaryDraft | SummaryFailure:
        who = self._who(effect, summarizer)
        with self._hooks.span("summarize", {"strategy": who.name, "attempt": effect.attempt}):
            try:
                return self._drafted(await awithin(self._time_for(effect), who.asummarize(effect.request)))
            except asyncio.CancelledError as error:
                task = asyncio.current_task()
                if task is None or task.cancelling():
                    raise
                # Nobody cancelled the run: the summarizer gave up in its own way.
                return _failure(error)
            except Exception as error:  # noqa: BLE001 - as above
                return _given_up(effect, error)

    def _drafted(self, answer: Any) -> SummaryDraft | SummaryFailure:
        draft = _draft(answer)
        if isinstance(draft, SummaryDraft):
            self._hooks.show(partial(draft_texts, draft))
        return draft

    def _time_for(self, effect: Summarize) -> float | None:
        """Return how long a summary may take. The fallback waits for nobody, so on a busy machine it is not abandoned when it is needed most."""
        return self._timeout_s if effect.by == "summarizer" else None

    def _who(self, effect: Summarize, summarizer: Summarizer) -> Summarizer:
        match effect.by:
            case "summarizer":
                return summarizer
            case "fallback":
                return self.fallback
            case _:
                assert_never(effect.by)


def _draft(answer: Any) -> SummaryDraft | SummaryFailure:
    return answer if isinstance(answer, SummaryDraft) else SummaryFailure("wrong_type", is_down=False)


def _given_up(effect: Summarize, error: BaseException) -> SummaryFailure:
    """Return the failure; where nobody waits any more, say so to a summarizer that may still be at work."""
    if isinstance(error, TimeoutError):
        effect.request.spent.is_over = True
    return _failure(error)


def _failure(error: BaseException) -> SummaryFailure:
    if isinstance(error, InvalidSummaryError):
        reason: Any = getattr(error, "reason", None)
        return SummaryFailure(reason if isinstance(reason, str) and reason in _REASONS else "invalid", is_down=False)
    if isinstance(error, TimeoutError):
        return SummaryFailure("timeout", is_down=True)
    return SummaryFailure(_name_of(error), is_down=True)


def _name_of(error: BaseException) -> str:
    """Return the type alone: an error's words may hold text of the conversation, and must never become context."""
    name = type(error).__name__
    return name if name.isidentifier() and len(name) <= _NAME_SHOWN else "error"


def _with_own(hooks: Sequence[Hook]) -> Sequence[Hook]:
    """Return the hooks with ours among them: LangSmith's, on when its tracing is, and the one that tells a graph's stream.

    Each costs a question where there is nobody to tell.
    """
    from langchain_ctxguard.backends.langsmith import LangSmithTracer

    own: tuple[type[LangSmithTracer | StreamEvents], ...] = (LangSmithTracer, StreamEvents)
    return (*hooks, *(kind() for kind in own if not any(isinstance(hook, kind) for hook in hooks)))


class _Hooks:
    """The hooks of an engine. None can veto, and what one raises is warned about once and never reaches the run."""

    def __init__(self, hooks: Sequence[Hook]) -> None:
        for hook in hooks:
            if not (callable(getattr(hook, "record", None)) and callable(getattr(hook, "span", None))):
                msg = f"{hook!r} is no hook: it needs the methods `span(name, facts)` and `record(fact)`."
                raise ConfigurationError(msg)
        self._hooks = tuple(hooks)
        self._warned: set[int] = set()
        self.failures = 0

    def record(self, fact: Fact) -> None:
        for hook in self._hooks:
            try:
                hook.record(fact)
            except Exception as error:  # noqa: BLE001 - a hook has no veto
                self._failed(hook, error)

    def show(self, texts: Callable[[], CompactionTexts]) -> None:
        """Show words to the hooks that were asked to show them; where there is none, nobody makes them."""
        for hook in self._hooks:
            try:
                if isinstance(hook, TextHook) and hook.wants_texts:
                    hook.show(texts())
            except Exception as error:  # noqa: BLE001 - as above
                self._failed(hook, error)

    def stages(self) -> _Stages:
        return _Stages(self)

    @contextmanager
    def span(self, name: str, facts: Mapping[str, Any]) -> Iterator[None]:
        with ExitStack() as stack:
            for hook in self._hooks:
                try:
                    span = hook.span(name, facts)
                    span.__enter__()
                except Exception as error:  # noqa: BLE001 - as above
                    self._failed(hook, error)
                else:
                    stack.push(self._guarded_exit(hook, span))
            yield

    def _guarded_exit(self, hook: Hook, span: Any) -> Callable[..., bool]:
        def leave(*details: Any) -> bool:
            try:
                span.__exit__(*details)
            except Exception as error:  # noqa: BLE001 - as above
                self._failed(hook, error)
            return False

        return leave

    def _failed(self, hook: Hook, error: Exception) -> None:
        self.failures += 1
        if id(hook) not in self._warned:
            self._warned.add(id(hook))
            warnings.warn(
                f"The hook {type(hook).__name__} failed with {type(error).__name__}; the run goes on without it.", RuntimeWarning, stacklevel=3
            )


class _Stages:
    """The stage a flow is in: at most one at a time, and none after the flow."""

    def __init__(self, hooks: _Hooks) -> None:
        self._hooks = hooks
        self._open = ExitStack()

    def enter(self, name: str | None) -> None:
        self._open.close()
        if name is not None:
            self._open.enter_context(self._hooks.span(name, {}))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._open.__exit__(kind, error, trace)


def tools_cost(count: CountTokens, tools: Sequence[Any]) -> int:
    """Return the tokens of tool contracts: the counter's own `count_tools`, else those of the package's counter."""
    if not tools:
        return 0
    own = getattr(count, "count_tools", None)
    if callable(own):
        return int(own(tools))
    return counter_for().count_tools(tools)


def summarizer_of(given: Any) -> Summarizer | None:
    """Return `given` as a summarizer: itself, or a chat model or its name wrapped; `None` stays `None`.

    Raises:
        ConfigurationError: `given` can summarize nothing.
    """
    if given is None or isinstance(given, Summarizer):
        return given
    if isinstance(given, str) or callable(getattr(given, "ainvoke", None)):
        from langchain_ctxguard.backends.chat_model import ChatModelSummarizer

        return ChatModelSummarizer(given)
    msg = f"{given!r} is no summarizer. Pass a chat model, its name for `init_chat_model`, or an object with `name`, `summarize` and `asummarize`."
    raise ConfigurationError(msg)


def store_of(given: Any) -> tuple[GuardStore | None, bool]:
    """Return `given` as a store, and whether it was opened here and is to be closed here; `None` stays `None`.

    Raises:
        ConfigurationError: it is neither a store, nor a URL, nor a LangGraph `BaseStore`; or an agent's view of one.
        StoreError: it cannot be opened.
    """
    if isinstance(given, AgentStore):
        msg = (
            "A guard writes approvals and budgets, and an agent's view of a store (`guard.store`) takes none. Pass the GuardStore that was opened, "
            "or its URL, as the other guard was given it."
        )
        raise ConfigurationError(msg)
    if given is None or isinstance(given, GuardStore):
        return given, False
    return GuardStore.open(given), True


def consents_of(given: Any, store: GuardStore | None, clock: Clock | None) -> tuple[ConsentReading | None, Callable[[], None]]:
    """Return what reads consents, and what closes the connections opened for it. Never anything that can write one.

    Args:
        given: What reads consents (a `ConsentReader`), a store or the URL of one; a `ConsentLedger` counts as its reader. `None`: those of `store`.
        store: Where versions are on record.
        clock: Says what time it is; `None`: the system's.

    Raises:
        ConfigurationError: it can read no consents.
        StoreError: the store cannot be opened.
    """
    if isinstance(given, ConsentLedger):
        return given.reader(), _nothing
    if callable(getattr(given, "read", None)):
        reading: ConsentReading = given
        return reading, _nothing
    opened, is_ours = (store, False) if given is None else (given, False) if isinstance(given, AgentStore) else store_of(given)
    if opened is None:
        return None, _nothing
    return ConsentReader(AgentStore.of(opened.for_reading()), clock=clock), opened.close if is_ours else _nothing


def _nothing() -> None:
    """Close nothing."""


def extractor_of(given: Any) -> FieldExtractor | None:
    """Return `given` as a field extractor: a function as it is, a chat model wrapped; `None` stays `None`.

    Raises:
        ConfigurationError: `given` can extract nothing.
    """
    if given is None:
        return None
    if callable(getattr(given, "ainvoke", None)):
        from langchain_ctxguard.backends.model_fields import ModelFieldExtractor

        return ModelFieldExtractor(given)
    if callable(given):
        found: FieldExtractor = given
        return found
    msg = f"{given!r} is no field extractor. Pass a chat model, or a function that takes messages and returns control fields."
    raise ConfigurationError(msg)


def counter_of(given: Any, model: Any = None) -> CountTokens:
    """Return `given`, or the package's counter for `model`.

    Raises:
        ConfigurationError: `given` cannot be called.
    """
    if given is None:
        return counter_for(model)
    if not callable(given):
        msg = f"{given!r} is no token counter. Pass a function that takes a list of messages and returns a number of tokens."
        raise ConfigurationError(msg)
    counter: CountTokens = given
    return counter

"""A summary by a chat model: everything evicted is read, in portions that fit the model's own window, and the answers are taken as data."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from langchain_core.exceptions import ContextOverflowError
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import merge_configs

from langchain_ctxguard.backends.answer import Reading, is_cut_off, read_answer, texts_of
from langchain_ctxguard.backends.asking import METHODS, Asking, Method, innermost
from langchain_ctxguard.backends.calling import Answer, Caller
from langchain_ctxguard.backends.deadline import awithin, within
from langchain_ctxguard.backends.dialogue import Backlog
from langchain_ctxguard.backends.extractive import ExtractiveSummarizer, kept_verbatim, origin_of
from langchain_ctxguard.backends.internal_call import internal_marks
from langchain_ctxguard.backends.notes import merged, shortened, source_finder, sources_in, wrong_language
from langchain_ctxguard.backends.notes_prompt import PROMPT, in_language, notes_json, question_of
from langchain_ctxguard.backends.notes_schema import notes_schema
from langchain_ctxguard.backends.patience import Patience
from langchain_ctxguard.backends.summary_text import TextJob
from langchain_ctxguard.core.bounds import text_tokens
from langchain_ctxguard.domain.summary import Fact, SummaryDraft
from langchain_ctxguard.domain.value import canonical_json
from langchain_ctxguard.errors import ConfigurationError, InvalidSummaryError
from langchain_ctxguard.ports import SummaryRequest

__all__ = ["DEFAULT_SUMMARIZER_WINDOW", "PROMPT", "SMALLEST_PORTION", "ChatModelSummarizer"]

DEFAULT_SUMMARIZER_WINDOW = 16_000
"""Tokens a summarizer is given per call, answer included, where its profile does not say how many it takes."""

SMALLEST_PORTION = 200
"""Tokens of transcript below which no call is made smaller."""

_ANSWER_LIMIT = 10
_SHORT_INPUT = 500
"""Characters an input counts for at least when an answer is called too long."""

_NOTES_SHARE = 3
"""The notes so far take at most one part in so many of what the model is given."""

TEXT_TIMEOUT_S = 120.0
"""Seconds a runnable's caller waits at most, where `patience` sets no other bound: nobody else abandons a hanging model there."""

_TEXT_ATTEMPTS = 2

_HALVINGS = 2
"""How often a portion is halved because the answer to it broke off."""


class ChatModelSummarizer(Runnable[Sequence[BaseMessage], str]):
    """Summarizes with a chat model.

    The model given is never changed: what it is asked with is bound to a copy, which does not stream. Its calls carry the tag `nostream` and the
    marks of an internal call, so no token of a summary reaches a user's message stream; callbacks and tracing of the run around it apply.

    It is also a runnable from messages to the text of a summary, so LangChain's own middleware takes it:

        SummarizationMiddleware(model, summarizer=ChatModelSummarizer(model), trim_tokens_to_summarize=None)
    """

    def __init__(
        self,
        model: BaseChatModel | Runnable[LanguageModelInput, Any] | str,
        *,
        chunk_tokens: int | None = None,
        prompt: str = PROMPT,
        method: Method | None = None,
        patience: Patience | None = None,
    ) -> None:
        """Bind a model.

        Args:
            model: A chat model, a runnable around one (`model.with_retry()`), or a name for `init_chat_model`, resolved here: a name nobody can load
                is told at once, not by a compaction that falls back in silence.
            chunk_tokens: Tokens of transcript per call. Unset: what the model's profile leaves after prompt, notes and answer; without a profile,
                of a window of 16,000.
            prompt: The system prompt; it must ask for the same JSON object.
            method: How the model is made to answer in JSON: `json_schema`, `function_calling` or `words`. Unset: as its profile says it can be.
            patience: How rate limits, server errors and lost connections are waited out. Unset: twice per question.

        Raises:
            ConfigurationError: `model` is none or cannot be loaded or asked by `method`, or `chunk_tokens` is too small to read anything.
        """
        given: object = model
        if not given or not isinstance(given, (str, Runnable)) or isinstance(given, ChatModelSummarizer):
            msg = f"A summarizer needs a chat model or the name of one, not {model!r}; pass e.g. `ChatModelSummarizer('openai:gpt-4.1-mini')`."
            raise ConfigurationError(msg)
        if chunk_tokens is not None and chunk_tokens < SMALLEST_PORTION:
            msg = f"`chunk_tokens` is {chunk_tokens}; a summarizer reads at least {SMALLEST_PORTION} tokens per call. Raise it or leave it out."
            raise ConfigurationError(msg)
        if method is not None and method not in METHODS:
            msg = f"`method` is {method!r}; a summarizer asks by {', '.join(METHODS)}. Use one of them, or leave it out."
            raise ConfigurationError(msg)
        self._given = model
        self._model: Runnable[LanguageModelInput, Any] = _loaded(model) if isinstance(model, str) else model
        self._patience = patience or Patience()
        self._caller = Caller(Asking.of(self._model, method), self._patience)
        self._chunk_tokens = chunk_tokens
        self._prompt = prompt

    @property
    def name(self) -> str:  # type: ignore[override]  # what a runnable may be named, a summarizer is
        """`chat_model:` and the model's name, or its class where it has none."""
        if isinstance(self._given, str):
            return f"chat_model:{self._given}"
        model = innermost(self._model)
        named = (getattr(model, attribute, None) for attribute in ("model_name", "model"))
        return f"chat_model:{next((name for name in named if isinstance(name, str) and name), type(model).__name__)}"

    @property
    def method(self) -> Method:
        """How the model is made to answer in JSON."""
        return self._caller.asking.method

    def summarize(self, request: SummaryRequest, config: RunnableConfig | None = None) -> SummaryDraft:
        """Return the draft, after as many calls as the input needs.

        Raises:
            InvalidSummaryError: the model's answer is no summary.
            TimeoutError: the time of `patience` is over.
            Exception: whatever the model raises and waiting does not help with.
        """
        waiting, marks = self._patience.started(), _config(config)
        steps = self._steps(request)
        step = _next(steps, None)
        while not isinstance(step, SummaryDraft):
            step = _next(steps, self._caller.ask(step, request.spent, waiting, marks))
        return step

    async def asummarize(self, request: SummaryRequest, config: RunnableConfig | None = None) -> SummaryDraft:
        """Return the draft with the model's own async calls; raises as `summarize`."""
        waiting, marks = self._patience.started(), _config(config)
        steps = self._steps(request)
        step = _next(steps, None)
        while not isinstance(step, SummaryDraft):
            step = _next(steps, await self._caller.aask(step, request.spent, waiting, marks))
        return step

    def invoke(self, input: Sequence[BaseMessage], config: RunnableConfig | None = None, **_: Any) -> str:  # noqa: A002 - the runnable's own name
        """Return the text of a summary of a list of messages, with the record of what was done in them; never an error's words.

        Where the model gives no summary, in two attempts, the messages are quoted instead, and a warning says why.
        """
        job = TextJob.of(input)
        try:
            draft = within(self._text_timeout(), partial(self._text_draft, job, config))
        except Exception as error:  # noqa: BLE001 - the middleware would end the run of a person for it
            draft = self._quoted(job, error)
        return job.text(draft)

    async def ainvoke(self, input: Sequence[BaseMessage], config: RunnableConfig | None = None, **_: Any) -> str:  # noqa: A002 - as above
        """Return the text of a summary, as `invoke` does, with the model's own async calls."""
        job = TextJob.of(input)
        try:
            draft = await awithin(self._text_timeout(), self._atext_draft(job, config))
        except Exception as error:  # noqa: BLE001 - as above
            draft = self._quoted(job, error)
        return job.text(draft)

    def _text_draft(self, job: TextJob, config: RunnableConfig | None) -> SummaryDraft:
        for _ in range(_TEXT_ATTEMPTS - 1):
            with suppress(InvalidSummaryError):
                return job.checked(self.summarize(job.request, config))
        return job.checked(self.summarize(job.request, config))

    async def _atext_draft(self, job: TextJob, config: RunnableConfig | None) -> SummaryDraft:
        for _ in range(_TEXT_ATTEMPTS - 1):
            with suppress(InvalidSummaryError):
                return job.checked(await self.asummarize(job.request, config))
        return job.checked(await self.asummarize(job.request, config))

    def _text_timeout(self) -> float | None:
        return TEXT_TIMEOUT_S if self._patience.total_s is None else None

    def _quoted(self, job: TextJob, error: Exception) -> SummaryDraft:
        job.request.spent.is_over = True
        why = error.reason if isinstance(error, InvalidSummaryError) else type(error).__name__
        warnings.warn(f"{self.name} gave no summary ({why}); the messages are quoted instead.", RuntimeWarning, stacklevel=4)
        return ExtractiveSummarizer().summarize(job.request)

    def _steps(self, request: SummaryRequest) -> _Steps:
        """Yield what to ask, take the answers, return the draft.

        A call that overflows, or whose answer breaks off, is made again with half the portion.
        """
        measure = partial(_measured, request)
        backlog = Backlog(request.evicted, measure)
        notes = SummaryDraft() if request.previous is None else request.previous.as_draft()
        find_source = source_finder(request.sources, tuple(sources_in(notes)))
        most: int | None = None
        part = halvings = 0
        has_told = has_asked_for_language = False
        while backlog:
            part += 1
            shown = shortened(notes, lambda fewer: measure(notes_json(fewer, request)) <= self._window() // _NOTES_SHARE)
            room = self._room(request, shown) if most is None else most
            portion = backlog.take(room)
            question = question_of(request, shown, portion, part=part, has_more=bool(backlog))
            read = partial(
                read_answer,
                longest=_ANSWER_LIMIT * max(len(question), _SHORT_INPUT),
                find_source=find_source,
                may_be_empty=has_told or bool(backlog),
            )
            answer = yield self._asked(question)
            half = min(room, sum(measure(passage.text) for unit in portion for passage in unit)) // 2
            is_overflow = isinstance(answer, ContextOverflowError)
            if is_overflow and half < SMALLEST_PORTION // 2:
                raise answer
            if is_overflow or (is_cut_off(answer) and halvings < _HALVINGS and half >= SMALLEST_PORTION):
                most, part, halvings = half, part - 1, halvings + (not is_overflow)
                backlog.give_back(portion)
                continue
            reading: Reading = read(answer)
            if wrong_language(reading.draft, request.language, question):
                if not has_asked_for_language:
                    has_asked_for_language = True
                    again = yield self._asked(f"{question}\n\n{in_language(request.language)}")
                    reading = _better(again, reading, read)
                if wrong_language(reading.draft, request.language, question):
                    request.spent.remark("wrong_language")
            if reading.is_cut_off:
                request.spent.remark("truncated")
            has_told = has_told or not reading.draft.is_empty
            notes = merged(notes, reading)
        return _completed(notes, request)

    def _asked(self, question: str) -> list[BaseMessage]:
        return [SystemMessage(self._prompt), HumanMessage(question)]

    def _window(self) -> int:
        profile = getattr(innermost(self._model), "profile", None)
        window = profile.get("max_input_tokens") if isinstance(profile, dict) else None
        return window if isinstance(window, int) and window > 0 else DEFAULT_SUMMARIZER_WINDOW

    def _room(self, request: SummaryRequest, notes: SummaryDraft) -> int:
        if self._chunk_tokens is not None:
            return self._chunk_tokens
        window = self._window()
        asked = _measured(request, self._prompt) + _measured(request, question_of(request, notes, [], part=1, has_more=True))
        if self._caller.asking.structured is not None:
            asked += _measured(request, canonical_json(notes_schema()))
        answer = min(2 * request.max_tokens, window // 4)
        return max(SMALLEST_PORTION, (window - asked - answer) * 9 // 10)


_Steps = Generator[list[BaseMessage], Any, SummaryDraft]


def _next(steps: _Steps, answer: Answer | None) -> list[BaseMessage] | SummaryDraft:
    """Hand an answer, or the overflow that came instead, to the steps; return the next question or the draft."""
    try:
        return steps.send(answer)
    except StopIteration as end:
        draft: SummaryDraft = end.value
        return draft


def _config(given: RunnableConfig | None) -> RunnableConfig:
    marks = internal_marks("ctxguard.summarize", lc_source="summarization")
    return marks if given is None else merge_configs(given, marks)


def _measured(request: SummaryRequest, text: str) -> int:
    """Return what a text costs; a counter of the caller may not know this model, so its bytes set a floor."""
    return max(text_tokens(request.count, text), len(text.encode("utf-8", "surrogatepass")) // 5)


def _better(again: Any, first: Reading, read: Callable[[Any], Reading]) -> Reading:
    """Return what the second answer holds, or the first where the second is none."""
    if isinstance(again, ContextOverflowError):
        return first
    try:
        return read(again)
    except InvalidSummaryError:
        return first


def _completed(draft: SummaryDraft, request: SummaryRequest) -> SummaryDraft:
    """Return `draft` with who said a fact taken from the message it names, and with the texts to keep that it still left out."""
    speakers = {source: origin_of(message) for source, message in zip(request.sources, request.evicted, strict=True)}
    facts = [fact.model_copy(update={"said_by": speakers[fact.source]}) if fact.source in speakers else fact for fact in draft.facts]
    told = "\n".join(texts_of(draft.model_copy(update={"facts": tuple(fact.model_copy(update={"quote": None}) for fact in facts)})))
    missing: list[Fact] = [fact for fact in kept_verbatim(request) if fact.statement not in told]
    if missing:
        request.spent.remark("must_keep_copied")
    return draft.model_copy(update={"facts": (*facts, *missing)})


def _loaded(name: str) -> Runnable[LanguageModelInput, Any]:
    from langchain.chat_models import init_chat_model

    try:
        model: Runnable[LanguageModelInput, Any] = init_chat_model(name)
    except Exception as error:
        msg = f"Cannot load the summarizer '{name}': {error} Correct the name, install its provider package, set its key, or pass a chat model."
        raise ConfigurationError(msg) from error
    return model

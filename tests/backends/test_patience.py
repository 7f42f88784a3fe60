from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest
from langchain_core.exceptions import (
    ContextOverflowError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelNotFoundError,
    ModelPermissionDeniedError,
    ModelRateLimitError,
    ModelTimeoutError,
)
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.utils import count_tokens_approximately

from langchain_ctxguard.backends.chat_model import ChatModelSummarizer
from langchain_ctxguard.backends.patience import Patience, is_passing, is_refused_request
from langchain_ctxguard.errors import ConfigurationError
from langchain_ctxguard.ports import SummaryRequest
from tests.support.builders import human
from tests.support.models import WatchedModel

GOOD = '{"user_intent": "refund"}'


class HttpError(Exception):
    """An error of a client nobody has heard of, with its status where clients put it."""

    def __init__(self, status: int | None, retry_after: Any = None) -> None:
        """Carry both."""
        super().__init__("no")
        self.status_code = status
        self.response = type("Response", (), {"headers": {"retry-after": retry_after}})()


class RemoteProtocolError(Exception):
    pass


def ask() -> SummaryRequest:
    return SummaryRequest((human("refund"),), ("m-1",), None, 300, count_tokens_approximately)


def failing(*errors: Exception) -> WatchedModel:
    """Return a model that raises the errors in order, then answers."""

    def reply(call: int, messages: list[BaseMessage]) -> AIMessage:
        if call < len(errors):
            raise errors[call]
        return AIMessage(GOOD)

    return WatchedModel(reply=reply)


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (ModelRateLimitError(), True),
        (ModelAPIError(), True),
        (ModelTimeoutError(), True),
        (ModelAuthenticationError(), False),
        (ModelPermissionDeniedError(), False),
        (ModelNotFoundError(), False),
        (ContextOverflowError(), False),
        (HttpError(429), True),
        (HttpError(503), True),
        (HttpError(408), True),
        (HttpError(401), False),
        (HttpError(403), False),
        (HttpError(400), False),
        (ConnectionResetError(), True),
        (TimeoutError(), True),
        (RemoteProtocolError(), True),
        (ValueError("a bug"), False),
        (KeyError("a bug"), False),
    ],
)
def test_only_what_passes_is_waited_out(error: Exception, passes: bool) -> None:  # noqa: FBT001 - a table
    """Rate limits, server errors and lost connections pass; keys, names, requests and bugs do not."""
    assert passes == is_passing(error)


def test_a_request_refused_as_invalid_is_told_from_one_too_long() -> None:
    """Only the first may be mended by leaving the schema out."""
    assert is_refused_request(HttpError(400))
    assert is_refused_request(HttpError(422))
    assert not is_refused_request(HttpError(401))
    assert not is_refused_request(ContextOverflowError())


async def test_pauses_double_within_their_bound_and_half_of_each_is_chance() -> None:
    """Sync and async wait the same; no pause is longer than the longest."""
    for jitter, expected in ((0.0, [0.5, 1.0, 2.0, 2.5]), (1.0, [1.0, 2.0, 4.0, 5.0])):
        for is_async in (False, True):
            pauses: list[float] = []

            async def asleep(seconds: float, pauses: list[float] = pauses) -> None:
                pauses.append(seconds)

            patience = Patience(retries=4, longest_pause_s=5.0, sleep=pauses.append, asleep=asleep, jitter=lambda jitter=jitter: jitter)
            summarizer = ChatModelSummarizer(failing(*[HttpError(503)] * 4), patience=patience)
            request = ask()
            draft = await summarizer.asummarize(request) if is_async else summarizer.summarize(request)

            assert draft.user_intent == "refund"
            assert expected == pauses
            assert request.spent.calls == 5
            assert request.spent.seconds >= sum(expected)


@pytest.mark.parametrize("asked_for", ["-3", "soon", "inf", "nan", None, object()])
def test_a_pause_that_is_none_is_not_obeyed(asked_for: Any) -> None:
    """A `retry-after` that is no number of seconds changes nothing."""
    pauses: list[float] = []
    patience = Patience(sleep=pauses.append, jitter=lambda: 1.0)
    ChatModelSummarizer(failing(HttpError(429, asked_for)), patience=patience).summarize(ask())
    assert [1.0] == pauses


def test_the_time_of_a_summary_bounds_its_pauses_and_its_calls() -> None:
    """A pause that would reach beyond it is not begun; a call after it is not made."""
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    model = failing(*[HttpError(429)] * 9)
    patience = Patience(retries=9, total_s=4.0, sleep=sleep, clock=lambda: now[0], jitter=lambda: 1.0)
    with pytest.raises(HttpError):
        ChatModelSummarizer(model, patience=patience).summarize(ask())
    assert len(model.seen) == 3

    slow = WatchedModel(reply=lambda call, messages: (sleep(3.0), AIMessage('{"facts": ["x"]}'))[1])
    request = SummaryRequest(tuple(human("word " * 300) for _ in range(9)), tuple("abcdefghi"), None, 300, count_tokens_approximately)
    with pytest.raises(TimeoutError):
        ChatModelSummarizer(slow, chunk_tokens=400, patience=patience).summarize(request)
    assert len(slow.seen) == 2


async def test_a_call_that_hangs_is_left_when_the_time_is_over() -> None:
    """Sync and async; nothing waits for it."""
    gate = threading.Event()

    def hang(call: int, messages: list[BaseMessage]) -> AIMessage:
        gate.wait(20)
        return AIMessage(GOOD)

    class Hanging(WatchedModel):
        async def _agenerate(self, *_: Any, **__: Any) -> Any:
            await asyncio.sleep(20)

    began = time.monotonic()
    patience = Patience(total_s=0.2, retries=0)
    with pytest.raises(TimeoutError):
        ChatModelSummarizer(WatchedModel(reply=hang), patience=patience).summarize(ask())
    with pytest.raises(TimeoutError):
        await ChatModelSummarizer(Hanging(reply=hang), patience=patience).asummarize(ask())
    assert time.monotonic() - began < 5
    gate.set()


def test_an_abandoned_summary_makes_no_further_call() -> None:
    """Where the driver has given up, the thread that still runs pays for nothing more."""
    model = failing()
    request = ask()
    request.spent.is_over = True
    with pytest.raises(TimeoutError):
        ChatModelSummarizer(model).summarize(request)
    assert model.seen == []


@pytest.mark.parametrize("wrong", [{"retries": -1}, {"first_pause_s": -0.5}, {"longest_pause_s": float("nan")}, {"total_s": 0}])
def test_patience_that_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    """The error names the setting."""
    with pytest.raises(ConfigurationError, match=next(iter(wrong))):
        Patience(**wrong)

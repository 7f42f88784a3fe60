"""Whether a model that failed is asked again, when, and for how long."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from langchain_core.exceptions import ContextOverflowError, ModelError

from langchain_ctxguard.errors import ConfigurationError

_PASSING = frozenset({408, 409, 425, 429})
_SERVER_ERROR = 500
_PASSING_NAMES = ("ConnectionError", "ConnectError", "TimeoutError", "Timeout", "TransportError", "RemoteProtocolError", "ReadError")
_GROWTH = 2.0


@dataclass(frozen=True, slots=True)
class Patience:
    """How a summarizer waits for a model: pauses that double, with jitter, after rate limits, server errors and lost connections alone.

    A provider's client may retry on its own before; its `max_retries` says so.
    """

    retries: int = 2
    """How often one question is asked again."""

    first_pause_s: float = 1.0
    longest_pause_s: float = 20.0
    """Also bounds what a provider asks for in `retry-after`; where it asks for more, there is no use in waiting."""

    total_s: float | None = None
    """For one summary, all its calls and pauses together. What is not there by then raises `TimeoutError`. `None`: no bound of its own; a guard has
    one, `summarizer_timeout_s`."""

    sleep: Callable[[float], object] = time.sleep
    asleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic
    """Seconds, from any beginning."""

    jitter: Callable[[], float] = field(default=random.random)
    """From 0 to 1: how much of the second half of a pause is waited out."""

    def __post_init__(self) -> None:
        """Refuse what cannot be waited.

        Raises:
            ConfigurationError: a negative number, or no time at all.
        """
        for name in ("retries", "first_pause_s", "longest_pause_s"):
            if not getattr(self, name) >= 0:
                msg = f"`{name}` is {getattr(self, name)!r}; a summarizer waits 0 or more. Correct it."
                raise ConfigurationError(msg)
        if self.total_s is not None and not self.total_s > 0:
            msg = f"`total_s` is {self.total_s!r}; give a summary some seconds, or None to wait as long as it takes."
            raise ConfigurationError(msg)

    def started(self) -> Waiting:
        """Return the waiting of one summary, begun now."""
        return Waiting(self, self.clock())


@dataclass(slots=True)
class Waiting:
    """The time of one summary."""

    patience: Patience
    began: float

    def left(self) -> float | None:
        """Return the seconds left, `None` without a bound.

        Raises:
            TimeoutError: none are left.
        """
        total = self.patience.total_s
        if total is None:
            return None
        left = total - (self.patience.clock() - self.began)
        if left <= 0:
            msg = f"no summary within {total} s"
            raise TimeoutError(msg)
        return left

    def pause_after(self, error: Exception, tries: int) -> float | None:
        """Return the seconds to wait before the question is asked again, `None` where that is pointless.

        Args:
            error: What the model raised.
            tries: How often it was asked, this question alone.
        """
        patience = self.patience
        if tries > patience.retries or not is_passing(error):
            return None
        pause = min(patience.longest_pause_s, patience.first_pause_s * _GROWTH ** (tries - 1))
        pause *= 0.5 + 0.5 * min(1.0, max(0.0, patience.jitter()))
        asked_for = _retry_after(error)
        if asked_for is not None and asked_for > patience.longest_pause_s:
            return None
        pause = max(pause, asked_for or 0.0)
        total = patience.total_s
        if total is not None and patience.clock() - self.began + pause >= total:
            return None
        return pause


def is_passing(error: BaseException) -> bool:
    """Say whether the same question may be answered a little later: a rate limit, a server's error, a lost or slow connection.

    A refused key, a wrong name, a request that is invalid or too long stay what they are.
    """
    if isinstance(error, ContextOverflowError):
        return False
    if isinstance(error, ModelError):
        return error.is_retryable
    status = status_of(error)
    if status is not None:
        return status in _PASSING or status >= _SERVER_ERROR
    if isinstance(error, (ConnectionError, TimeoutError)):
        return True
    return any(kind.__name__.endswith(_PASSING_NAMES) for kind in type(error).__mro__)


def is_refused_request(error: BaseException) -> bool:
    """Say whether a provider took the request itself for invalid: perhaps it knows no structured output."""
    return not isinstance(error, ContextOverflowError) and status_of(error) in (400, 422)


def status_of(error: BaseException) -> int | None:
    """Return the HTTP status an error carries, in one of the places clients put it."""
    response = getattr(error, "response", None)
    for holder, name in ((error, "status_code"), (response, "status_code"), (error, "code"), (error, "status")):
        status: Any = getattr(holder, name, None)
        if isinstance(status, int) and not isinstance(status, bool):
            return status
    return None


def _retry_after(error: BaseException) -> float | None:
    headers = getattr(getattr(error, "response", None), "headers", None)
    try:
        seconds = float(headers.get("retry-after"))  # type: ignore[union-attr]  # what is missing or no number is caught
    except (AttributeError, TypeError, ValueError):
        return None
    return seconds if 0 <= seconds < float("inf") else None

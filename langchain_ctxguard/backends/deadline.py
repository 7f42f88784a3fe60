"""A call that is waited for so long and no longer, sync and async."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

Result = TypeVar("Result")


def within(timeout_s: float | None, call: Callable[[], Result]) -> Result:
    """Return what `call` returns, or raise `TimeoutError` after `timeout_s` seconds.

    The call runs in a daemon thread with the caller's context, so a hanging one holds up neither the run nor the end of the process.
    """
    if timeout_s is None:
        return call()
    context = contextvars.copy_context()
    box: list[tuple[bool, Any]] = []

    def work() -> None:
        try:
            box.append((True, context.run(call)))
        except BaseException as error:  # noqa: BLE001 - handed to the caller's thread
            box.append((False, error))

    thread = threading.Thread(target=work, name="ctxguard-summarizer", daemon=True)
    thread.start()
    thread.join(timeout_s)
    if not box:
        msg = f"no answer within {timeout_s} s"
        raise TimeoutError(msg)
    succeeded, value = box[0]
    if not succeeded:
        raise value
    result: Result = value
    return result


async def awithin(timeout_s: float | None, call: Awaitable[Result]) -> Result:
    """Return what awaiting `call` gives, or raise `TimeoutError` after `timeout_s` seconds.

    It does not wait for the cancelled task: one that swallows its cancellation would hold up the run.
    """
    if timeout_s is None:
        return await call
    task = asyncio.ensure_future(call)
    try:
        done, _ = await asyncio.wait({task}, timeout=timeout_s)
    except asyncio.CancelledError:
        task.cancel()
        raise
    if not done:
        task.cancel()
        task.add_done_callback(_forget)
        msg = f"no answer within {timeout_s} s"
        raise TimeoutError(msg)
    return task.result()


def _forget(task: asyncio.Future[Any]) -> None:
    """Take notice of an abandoned task's end, so that asyncio does not report its error as unseen."""
    if not task.cancelled():
        task.exception()

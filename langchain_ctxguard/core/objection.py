"""The application's word before a compaction is made."""

from __future__ import annotations

from collections.abc import Generator

from langchain_ctxguard.core.candidate import Bench
from langchain_ctxguard.core.effects import Answer, Append, Effect
from langchain_ctxguard.domain.upcoming import UpcomingCompaction
from langchain_ctxguard.domain.version import CompactionRecord, ContextEvent

STOPPED = "The application stopped it (`before_compaction`); the previous context stays in force."


def objected(bench: Bench, record: CompactionRecord, *, is_full: bool) -> Generator[Effect, Answer, bool]:
    """Return whether the application stops the attempt. One that fails to say has said nothing: what is made is checked all the same."""
    ask = bench.plan.before
    if ask is None:
        return False
    ahead = UpcomingCompaction(
        trigger=bench.plan.trigger,
        thread=bench.plan.thread,
        version=bench.situation.head.version,
        tokens=record.tokens_before,
        evicted_messages=len(bench.material.evicted),
        evicted_tokens=bench.material.tokens,
        is_full=is_full,
    )
    try:
        answer = ask(ahead)
    except Exception as error:  # noqa: BLE001 - the application's own function may fail in any way
        detail = f"`before_compaction` failed with {type(error).__name__}; the compaction went on."
        yield Append(ContextEvent(kind="extension_failed", detail=detail, version=ahead.version))
        return False
    # Its words may be the conversation's: they are not taken into the record.
    return answer is False or isinstance(answer, str)

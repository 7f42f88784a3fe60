from __future__ import annotations

import asyncio
import contextvars
import shutil
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Generator, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest

from langchain_ctxguard.core.compaction import Compacted, Plan, Situation, compaction_flow
from langchain_ctxguard.core.effects import Answer, Append, Effect, Summarize, SummaryFailure, SummaryRequest
from langchain_ctxguard.domain.config import CompactionSettings
from langchain_ctxguard.domain.summary import SummaryDraft
from langchain_ctxguard.domain.version import CompactionRecord, ContextEvent, Outcome
from langchain_ctxguard.engine import Engine, counter_of, summarizer_of
from langchain_ctxguard.errors import ConfigurationError, ContextBudgetError, InvalidSummaryError
from langchain_ctxguard.ports import Summarizer
from langchain_ctxguard.testing.summarizers import HOSTILITIES, HostileSummarizer, Hostility, ScriptedSummarizer
from tests.support.builders import count_characters, tool_loop
from tests.support.models import SpySummarizer

ROOT = Path(__file__).resolve().parents[1]
WORDS = "Xanthippe has 555-0199 as her phone number"
REQUEST = SummaryRequest(evicted=(), sources=(), previous=None, max_tokens=100, count=count_characters)


def flow(**plan: Any) -> Generator[Effect, Answer, Compacted]:
    settings = CompactionSettings.of(**plan.pop("settings", {}))
    defaults: dict[str, Any] = {"trigger": "tokens", "keep": ("turns", 1), "window": 8_000, "strategy": "test", "fallback": "extractive"}
    return compaction_flow(Situation(tail=tool_loop(20)), Plan(settings=settings, **{**defaults, **plan}), count_characters)


def asking(by: Any = "summarizer") -> Generator[Effect, Answer, Answer]:
    """A flow of one question; it returns the answer."""
    return (yield Summarize(REQUEST, by, 1))


class Acting:
    """A summarizer that runs what it is given."""

    name = "acting"

    def __init__(self, sync: Any = None, later: Any = None) -> None:
        """Bind what happens in `summarize` and what `asummarize` awaits."""
        self._sync, self._later = sync, later

    def summarize(self, request: SummaryRequest) -> SummaryDraft:
        """Act."""
        return self._sync()  # type: ignore[no-any-return]  # may return anything: that is the point

    async def asummarize(self, request: SummaryRequest) -> SummaryDraft:
        """Act."""
        return await self._later()  # type: ignore[no-any-return]  # as above


class Watching:
    """A hook that writes down what it sees."""

    def __init__(self, fails: str = "") -> None:
        """Fail in `fails`: `span`, `enter`, `exit` or `record`."""
        self.seen: list[Any] = []
        self._fails = fails

    @contextmanager
    def _span(self, name: str, facts: Mapping[str, Any]) -> Iterator[None]:
        self._fail("enter")
        self.seen.append((f"+{name}", dict(facts)))
        try:
            yield
        finally:
            self.seen.append(f"-{name}")
            self._fail("exit")

    def span(self, name: str, facts: Mapping[str, Any]) -> AbstractContextManager[None]:
        """Note entry and exit."""
        self._fail("span")
        return self._span(name, facts)

    def record(self, fact: CompactionRecord | ContextEvent) -> None:
        """Note the fact."""
        self._fail("record")
        self.seen.append(fact)

    def _fail(self, where: str) -> None:
        if self._fails == where:
            raise RuntimeError(WORDS)


# Two drivers, one flow -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["good", *(mode for mode in HOSTILITIES if mode != "hangs")])
async def test_both_drivers_come_to_the_same(mode: Any) -> None:
    """`run` and `arun` differ in how they wait, in nothing else."""

    def engine() -> tuple[Engine, Watching]:
        hook = Watching()
        return Engine(summarizer=SpySummarizer() if mode == "good" else HostileSummarizer(mode), hooks=[hook]), hook

    (one, seen), (other, seen_later) = engine(), engine()
    now, later = one.run(flow()), await other.arun(flow())

    assert now.head.to_dict() == later.head.to_dict()
    assert now.record == later.record
    assert [message.model_dump() for message in now.view.all] == [message.model_dump() for message in later.view.all]
    assert seen.seen == seen_later.seen


def test_without_a_summarizer_the_extractive_one_works() -> None:
    """No model is needed."""
    assert ("extractive", Outcome.ACCEPTED) == (Engine().summarizer.name, Engine().run(flow()).record.outcome)


def test_a_summarizer_may_be_named_for_one_run() -> None:
    """An agent's own model is known only at its call."""
    spy = SpySummarizer()
    Engine(summarizer=HostileSummarizer("raises")).run(flow(), summarizer=spy)

    assert 1 == len(spy.requests)


def test_the_fallback_is_asked_as_the_fallback() -> None:
    """And nobody else."""
    engine = Engine(summarizer=HostileSummarizer("raises"))

    assert isinstance(engine.run(asking("fallback")), SummaryDraft)
    assert SummaryFailure("ConnectionError", is_down=True) == engine.run(asking())


@pytest.mark.parametrize("answer", [None, "text", {"user_intent": "x"}, 5, SummaryDraft])
async def test_an_answer_of_another_type_is_refused(answer: Any) -> None:
    """What is no draft never gets further."""

    async def later() -> Any:
        return answer

    engine = Engine(summarizer=Acting(lambda: answer, later))

    assert SummaryFailure("wrong_type", is_down=False) == engine.run(asking())
    assert SummaryFailure("wrong_type", is_down=False) == await engine.arun(asking())


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (InvalidSummaryError(WORDS, reason="not_json"), SummaryFailure("not_json", is_down=False)),
        (ConnectionError(WORDS), SummaryFailure("ConnectionError", is_down=True)),
        (ValueError(WORDS), SummaryFailure("ValueError", is_down=True)),
        (TimeoutError(WORDS), SummaryFailure("timeout", is_down=True)),
        (RecursionError(WORDS), SummaryFailure("RecursionError", is_down=True)),
        (MemoryError(WORDS), SummaryFailure("MemoryError", is_down=True)),
    ],
)
@pytest.mark.parametrize("timeout_s", [None, 5.0])
async def test_what_a_summarizer_raises_becomes_a_name(error: Exception, failure: SummaryFailure, timeout_s: float | None) -> None:
    """Names and reasons only."""

    def now() -> Any:
        raise error

    async def later() -> Any:
        raise error

    engine = Engine(summarizer=Acting(now, later), timeout_s=timeout_s)

    assert failure == engine.run(asking())
    assert failure == await engine.arun(asking())


async def test_the_words_of_an_error_never_become_context() -> None:
    """Not in the view, not in the head, not in the record."""

    async def later() -> Any:
        raise ConnectionError(WORDS)

    def now() -> Any:
        raise ConnectionError(WORDS)

    engine = Engine(summarizer=Acting(now, later))
    for done in (engine.run(flow()), await engine.arun(flow())):
        everything = f"{done.view.all}{done.head.to_dict()}{done.record.model_dump_json()}"

        assert Outcome.FELL_BACK == done.record.outcome
        assert WORDS not in everything
        assert "555" not in everything


def test_what_the_flow_raises_is_raised() -> None:
    """A budget error is the caller's to see, and the hooks were told first."""
    hook = Watching()
    with pytest.raises(ContextBudgetError):
        Engine(hooks=[hook]).run(flow(goal=20, limit=20))

    assert [Outcome.REJECTED] == [fact.outcome for fact in hook.seen if isinstance(fact, CompactionRecord)]
    assert "-compaction" == hook.seen[-1]


# Timeouts --------------------------------------------------------------------------------------------------------------------------------


def test_a_summarizer_that_hangs_is_abandoned() -> None:
    """The run goes on at once, and the record says why."""
    released = threading.Event()
    engine = Engine(summarizer=Acting(lambda: released.wait(30)), timeout_s=0.05)
    started = time.perf_counter()
    done = engine.run(flow())
    released.set()

    assert time.perf_counter() - started < 3
    assert (Outcome.FELL_BACK, ("test: timeout",)) == (done.record.outcome, done.record.failures)


async def test_an_async_summarizer_that_hangs_is_abandoned() -> None:
    """As above."""
    engine = Engine(summarizer=Acting(later=lambda: asyncio.sleep(30)), timeout_s=0.05)
    done = await asyncio.wait_for(engine.arun(flow()), 5)

    assert (Outcome.FELL_BACK, ("test: timeout",)) == (done.record.outcome, done.record.failures)


async def test_a_summarizer_that_swallows_its_cancellation_is_abandoned_too() -> None:
    """It may go on by itself; nobody waits for it."""
    ended = asyncio.Event()

    async def stubborn() -> Any:
        for _ in range(3):
            try:
                await asyncio.sleep(0.3)
            except asyncio.CancelledError:
                continue
        ended.set()
        raise ValueError(WORDS)

    started = time.perf_counter()
    done = await Engine(summarizer=Acting(later=stubborn), timeout_s=0.05).arun(flow())
    waited = time.perf_counter() - started
    await ended.wait()
    await asyncio.sleep(0)

    assert waited < 0.25
    assert ("test: timeout",) == done.record.failures


async def test_an_async_summarizer_does_not_block_the_loop() -> None:
    """Other tasks go on while it thinks."""
    ticks = 0

    async def ticking() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    async def later() -> Any:
        await asyncio.sleep(0.2)
        return SummaryDraft(user_intent="done")

    other = asyncio.create_task(ticking())
    await Engine(summarizer=Acting(later=later), timeout_s=5).arun(flow())
    other.cancel()

    assert ticks > 5


def test_a_fast_summarizer_is_not_slowed_down() -> None:
    """A timeout costs a thread, not a wait."""
    started = time.perf_counter()
    assert SummaryDraft(user_intent="x") == Engine(summarizer=Acting(lambda: SummaryDraft(user_intent="x")), timeout_s=30).run(asking())

    assert time.perf_counter() - started < 1


@pytest.mark.parametrize("timeout_s", [None, 5.0])
def test_the_callers_context_reaches_the_summarizer(timeout_s: float | None) -> None:
    """Tracing, callbacks and settings live in context variables."""
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")
    variable.set("mine")
    seen: list[str] = []

    def now() -> Any:
        seen.append(variable.get())
        return SummaryDraft(user_intent="x")

    Engine(summarizer=Acting(now), timeout_s=timeout_s).run(asking())

    assert ["mine"] == seen


def test_a_hanging_summarizer_does_not_hold_up_the_end_of_the_process() -> None:
    """Its thread is a daemon."""
    program = (
        "import time\nfrom langchain_ctxguard.engine import within\n"
        "try:\n    within(0.05, lambda: time.sleep(60))\nexcept TimeoutError:\n    print('abandoned')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=True, cwd=ROOT)

    assert "abandoned\n" == done.stdout


# Cancellation ----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("timeout_s", [None, 30.0])
async def test_cancelling_the_run_cancels_the_summarizer(timeout_s: float | None) -> None:
    """A client that hangs up stops everything."""
    cancelled = asyncio.Event()
    asked = asyncio.Event()

    async def later() -> Any:
        asked.set()
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    task = asyncio.create_task(Engine(summarizer=Acting(later=later), timeout_s=timeout_s).arun(flow()))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    await asyncio.wait_for(cancelled.wait(), 2)


@pytest.mark.parametrize("reason", ["the user's phone is 555-0199", "", None, [], 5])
def test_a_reason_that_is_no_known_word_is_not_on_record(reason: Any) -> None:
    """Whoever writes a summarizer may put anything there."""

    def now() -> Any:
        raise InvalidSummaryError(WORDS, reason=reason)

    assert SummaryFailure("invalid", is_down=False) == Engine(summarizer=Acting(now)).run(asking())


@pytest.mark.parametrize("timeout_s", [None, 5.0])
def test_a_cancellation_inside_a_sync_summarizer_is_its_own(timeout_s: float | None) -> None:
    """Nothing cancels a run that does not wait."""

    def now() -> Any:
        raise asyncio.CancelledError

    assert SummaryFailure("CancelledError", is_down=True) == Engine(summarizer=Acting(now), timeout_s=timeout_s).run(asking())


@pytest.mark.parametrize("timeout_s", [None, 5.0])
async def test_a_summarizer_that_cancels_itself_is_down_and_no_cancellation(timeout_s: float | None) -> None:
    """An HTTP client gives up with `CancelledError`; the run was not cancelled, so it goes on."""

    async def later() -> Any:
        raise asyncio.CancelledError

    done = await Engine(summarizer=Acting(later=later), timeout_s=timeout_s).arun(flow())

    assert (Outcome.FELL_BACK, ("test: CancelledError",)) == (done.record.outcome, done.record.failures)


@pytest.mark.parametrize("timeout_s", [None, 5.0])
def test_an_interrupt_of_the_process_is_no_failure_of_the_summarizer(timeout_s: float | None) -> None:
    """Whoever presses Ctrl-C means the run."""

    def now() -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Engine(summarizer=Acting(now), timeout_s=timeout_s).run(flow())


# Hooks -----------------------------------------------------------------------------------------------------------------------------------


def test_hooks_see_the_spans_nested_and_the_record_inside() -> None:
    """Compaction around summarize, the record before the end; facts are names and numbers."""
    hook = Watching()
    done = Engine(summarizer=SpySummarizer(), hooks=[hook]).run(flow())

    steps = [("+extract", {}), "-extract", ("+summarize", {"strategy": "spy", "attempt": 1}), "-summarize", ("+verify", {}), done.record, "-verify"]
    assert [("+compaction", {}), *steps, "-compaction"] == hook.seen


@pytest.mark.parametrize("where", ["span", "enter", "exit", "record"])
async def test_a_failing_hook_is_warned_about_once_counted_and_never_reaches_the_run(where: str) -> None:
    """And the hooks after it are told all the same."""
    after = Watching()
    engine = Engine(summarizer=SpySummarizer(), hooks=[Watching(where), after])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        done = engine.run(flow())
        await engine.arun(flow())

    assert Outcome.ACCEPTED == done.record.outcome
    assert 1 == len(caught)
    assert "The hook Watching failed with RuntimeError" in str(caught[0].message)
    assert WORDS not in str(caught[0].message)
    assert (2 if where == "record" else 8) == engine._hooks.failures
    assert 2 * 9 == len(after.seen)


def test_a_hook_has_no_veto() -> None:
    """A span that swallows exceptions swallows none of ours."""

    class Swallowing(Watching):
        @contextmanager
        def _span(self, name: str, facts: Mapping[str, Any]) -> Iterator[None]:
            with suppress(ContextBudgetError):
                yield

    with pytest.raises(ContextBudgetError):
        Engine(hooks=[Swallowing()]).run(flow(goal=20, limit=20))


def test_a_hook_sees_the_error_that_ends_a_run() -> None:
    """So a tracer can mark the span."""
    seen: list[BaseException] = []

    class Tracing(Watching):
        @contextmanager
        def _span(self, name: str, facts: Mapping[str, Any]) -> Iterator[None]:
            try:
                yield
            except BaseException as error:
                seen.append(error)
                raise

    hook = Tracing()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ContextBudgetError):
            Engine(hooks=[hook]).run(flow(goal=20, limit=20))

    assert [ContextBudgetError] == [type(error) for error in seen]


@pytest.mark.parametrize("hook", [None, object(), print, type("Half", (), {"span": nullcontext})()])
def test_what_is_no_hook_is_refused_while_constructing(hook: Any) -> None:
    """Before any model call."""
    with pytest.raises(ConfigurationError, match="is no hook"):
        Engine(hooks=[hook])


# Ports -----------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [5, object(), [], lambda request: request])
def test_what_cannot_summarize_is_refused(given: Any) -> None:
    """One line that says what can."""
    with pytest.raises(ConfigurationError, match="is no summarizer"):
        summarizer_of(given)


def test_a_summarizer_is_taken_as_it_is() -> None:
    """And nothing stays nothing."""
    spy: Summarizer = SpySummarizer()

    assert summarizer_of(spy) is spy
    assert summarizer_of(None) is None
    assert "scripted" == ScriptedSummarizer([SummaryDraft()]).name


@pytest.mark.parametrize("given", [5, "gpt-4o", []])
def test_what_cannot_count_is_refused(given: Any) -> None:
    """A number is no counter."""
    with pytest.raises(ConfigurationError, match="is no token counter"):
        counter_of(given)


@pytest.mark.parametrize("mode", [mode for mode in HOSTILITIES if mode not in ("hangs", "poison")])
def test_every_way_to_fail_ends_in_a_usable_context(mode: Hostility) -> None:
    """The extractive summarizer takes over."""
    done = Engine(summarizer=HostileSummarizer(mode)).run(flow())

    assert Outcome.FELL_BACK == done.record.outcome
    assert done.record.tokens_after < done.record.tokens_before


# The closed set of effects -----------------------------------------------------------------------------------------------------------------


def test_a_new_effect_not_handled_in_both_drivers_fails_type_checking(tmp_path: Path) -> None:
    """`assert_never` names it in `run` and in `arun`."""
    package = tmp_path / "langchain_ctxguard"
    shutil.copytree(ROOT / "langchain_ctxguard", package, ignore=shutil.ignore_patterns("__pycache__", "cli", "graph", "testing"))
    effects = package / "core" / "effects.py"
    text = effects.read_text(encoding="utf-8")
    known = "Effect = Summarize | AskPerson | Append"
    assert known in text
    new = f'@dataclass(frozen=True, slots=True)\nclass Wait:\n    """Wait a while."""\n\n\n{known} | Wait'
    effects.write_text(text.replace(known, new), encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--cache-dir", str(tmp_path / "cache"), "--follow-imports", "silent"]
    done = subprocess.run([*command, "langchain_ctxguard/engine.py"], cwd=tmp_path, capture_output=True, text=True, timeout=110, check=False)

    source = (package / "engine.py").read_text(encoding="utf-8").splitlines()
    complaints = [int(line.split(":")[1]) for line in done.stdout.splitlines() if "assert_never" in line and "Wait" in line]
    drivers = [number for number, line in enumerate(source, 1) if "assert_never(effect)" in line]
    assert 2 == len(drivers), "one for each driver"
    assert drivers == complaints, done.stdout
    assert Append.__name__ == "Append"

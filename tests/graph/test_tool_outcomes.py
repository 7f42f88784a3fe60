"""Once is once: receipts, unknown outcomes, and what a guard that fails lets happen."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langchain_core.tools import ToolException

from langchain_ctxguard.backends.store import GuardStore
from langchain_ctxguard.domain.log import Entry
from langchain_ctxguard.domain.policy import ToolPolicy, ToolRequest
from langchain_ctxguard.domain.tool_call import CallRecord
from langchain_ctxguard.errors import StoreError
from langchain_ctxguard.graph.tools import guard_tools
from langchain_ctxguard.records.approvals import ApprovalLog
from langchain_ctxguard.records.consents import ConsentReader
from tests.support.consents import Clock
from tests.support.tool_calls import Ran, agent_with, approve, calls, questions, reject, respond, resume, say, thread, told

ONCE = ToolPolicy.from_dict({"rules": [{"tool": "pay", "irreversible": True, "budget": {"calls": 3}}, {"tool": "look", "effect": "read"}]})
PAY = {"name": "pay", "args": {"amount": 1}, "id": "c0", "type": "tool_call"}


class TimeoutOnTheWayError(Exception):
    """Nobody knows whether the other side got it."""


@pytest.fixture
def clock() -> Clock:
    """A clock that stands still."""
    return Clock(datetime(2026, 3, 1, 12, tzinfo=UTC))


@pytest.fixture
def store(clock: Clock) -> GuardStore:
    """A store in memory."""
    return GuardStore.open("memory://", clock=clock)


def pay(ran: Ran, store: GuardStore, clock: Clock, policy: Any = ONCE, **settings: Any) -> Any:
    """Return the tool that pays, guarded."""
    return guard_tools([ran.tool("pay", "amount:int", **settings)], policy, store=store, clock=clock)[0]


def test_a_receipt_says_when_and_what(store: GuardStore, clock: Clock) -> None:
    """A repeated call is answered with what the first one returned, as a success that says it is no second one."""
    ran = Ran()
    tool = pay(ran, store, clock, result="paid, no. 77")
    assert "paid, no. 77" == tool.invoke(PAY, thread()).content
    again = tool.invoke({**PAY, "id": "c9"}, thread())
    assert "success" == again.status
    assert "`pay` has run with these arguments at 2026-03-01T12:00:00+00:00 and was not run again. It returned: paid, no. 77" == again.content
    assert 1 == len(ran.calls)
    tool.invoke({**PAY, "args": {"amount": 2}}, thread())
    tool.invoke(PAY, thread("another"))
    assert 3 == len(ran.calls)


def test_a_receipt_outlives_the_process(tmp_path: Any, clock: Clock) -> None:
    """Another process with the same store does not run it again."""
    ran, url = Ran(), f"sqlite:///{tmp_path}/guard.db"
    with GuardStore.open(url, clock=clock) as first:
        pay(ran, first, clock, result="paid").invoke(PAY, thread())
    with GuardStore.open(url, clock=clock) as second:
        assert "paid" == pay(ran, second, clock).invoke(PAY, thread()).content
        assert "It returned: paid" in pay(ran, second, clock).invoke({**PAY, "id": "another"}, thread()).content
    assert 1 == len(ran.calls)


def test_a_call_whose_outcome_is_unknown_is_not_made_again(store: GuardStore, clock: Clock) -> None:
    """After an error on the way nobody knows: the retry is refused and says so, with nobody there to decide."""
    ran = Ran()
    tool = pay(ran, store, clock, raises=TimeoutOnTheWayError())
    with pytest.raises(TimeoutOnTheWayError):
        tool.invoke(PAY, thread())
    again = tool.invoke({**PAY, "id": "c1"}, thread())
    assert 1 == len(ran.calls)
    assert "error" == again.status
    assert "its outcome is unknown. It was not started again" in again.content


@pytest.mark.parametrize(
    ("answer", "runs", "says"), [(approve(), 2, "done"), (reject("no"), 1, "rejected"), (respond("it was paid"), 1, "it was paid")]
)
def test_a_person_decides_about_an_unknown_outcome(store: GuardStore, clock: Clock, answer: Any, runs: int, says: str) -> None:
    """In a graph a person is asked: run it again, leave it, or say what came of it."""
    ran = Ran()
    failing = ran.tool("pay", "amount:int", raises=TimeoutOnTheWayError())
    with pytest.raises(TimeoutOnTheWayError):
        guard_tools([failing], ONCE, store=store, clock=clock)[0].invoke(PAY, thread())
    agent = agent_with([pay(ran, store, clock)], calls(("pay", {"amount": 1})), "ok")
    asked = questions(say(agent))
    assert "may have been carried out" in asked[0].value["action_requests"][0]["description"]
    assert ["approve", "reject", "respond"] == asked[0].value["review_configs"][0]["allowed_decisions"]
    assert says in told(resume(agent, answer))
    assert runs == len(ran.calls)


def test_a_call_that_says_it_failed_may_be_made_again(store: GuardStore, clock: Clock) -> None:
    """A tool that reports its own failure is believed."""
    ran = Ran()
    with pytest.raises(ToolException):
        pay(ran, store, clock, raises=ToolException("refused by the bank")).invoke(PAY, thread())
    pay(ran, store, clock).invoke(PAY, thread())
    assert 2 == len(ran.calls)


def test_a_call_begun_by_a_process_that_died_is_running_and_then_unknown(store: GuardStore, clock: Clock) -> None:
    """What was begun and has no outcome counts as running for its lease, then as unknown; it never counts as not done."""
    ran = Ran()

    class Died(BaseException):
        pass

    dying = ran.tool("pay", "amount:int", raises=None)
    tool = guard_tools([dying], ONCE, store=store, clock=clock)[0]
    gate = type(tool).ctxguard_gate
    inner = gate._ledgers.approvals.append

    def dies(thread_id: str, events: Any, **more: Any) -> Any:
        if events[0].type == "ended":
            raise Died
        return inner(thread_id, events, **more)

    gate._ledgers.approvals.append = dies
    with pytest.raises(Died):
        tool.invoke(PAY, thread())
    fresh = pay(ran, store, clock)
    assert "counts as running until 2026-03-01T12:10:00" in fresh.invoke(PAY, thread()).content
    clock.now += timedelta(minutes=11)
    assert "its outcome is unknown. It was not started again" in fresh.invoke(PAY, thread()).content
    assert 1 == len(ran.calls)


def test_two_at_once_run_it_once(store: GuardStore, clock: Clock) -> None:
    """The same irreversible call made in two tasks at the same time runs in one of them."""
    ran, started = Ran(), asyncio.Event()

    async def slow(**given: Any) -> str:
        ran.calls.append(("pay", given))
        started.set()
        await asyncio.sleep(0.05)
        return "paid"

    from langchain_core.tools import StructuredTool

    schema = {"type": "object", "properties": {"amount": {"type": "integer"}}}
    tool = guard_tools([StructuredTool(name="pay", description="Pay.", args_schema=schema, coroutine=slow)], ONCE, store=store, clock=clock)[0]

    async def both() -> list[Any]:
        return list(await asyncio.gather(tool.ainvoke(PAY, thread()), tool.ainvoke({**PAY, "id": "c1"}, thread())))

    said = asyncio.run(both())
    assert 1 == len(ran.calls)
    assert ["error", "success"] == sorted(message.status for message in said)


class Broken:
    """A log of which some kinds of streams cannot be used."""

    def __init__(self, inner: Any, *kinds: str, on: str = "append") -> None:
        """Break `kinds` when they are read or appended to."""
        self._inner, self._kinds, self._on = inner, kinds, on

    def __getattr__(self, name: str) -> Any:
        """Be the log in everything else."""
        return getattr(self._inner, name)

    def append(self, stream: Any, *args: Any, **more: Any) -> list[Entry]:
        """Append, or fail."""
        if stream.kind in self._kinds and self._on == "append":
            msg = "SECRET of the database"
            raise StoreError(msg)
        found: list[Entry] = self._inner.append(stream, *args, **more)
        return found

    def read(self, stream: Any, since: int = 0) -> list[Entry]:
        """Read, or fail."""
        self.heads([stream])
        found: list[Entry] = self._inner.read(stream, since)
        return found

    def heads(self, streams: Any) -> list[int]:
        """Ask, or fail."""
        if streams[0].kind in self._kinds and self._on == "read":
            msg = "SECRET of the database"
            raise StoreError(msg)
        found: list[int] = self._inner.heads(streams)
        return found


@pytest.mark.parametrize(
    ("kind", "on"),
    [("approvals", "append"), ("approvals", "read"), ("budgets", "append"), ("budgets", "read"), ("audit", "append"), ("standing", "read")],
)
def test_what_cannot_be_put_on_record_does_not_run(store: GuardStore, clock: Clock, kind: str, on: str) -> None:
    """A store that fails denies what changes anything, in words that hold nothing of its error; what only reads goes on without its record."""
    ran = Ran()
    store.log = Broken(store.log, kind, on=on)  # type: ignore[assignment]  # broken on purpose
    tool = pay(ran, store, clock)
    said = tool.invoke(PAY, thread())
    assert [] == ran.calls
    assert "error" == said.status
    assert "could not be judged (StoreError)" in said.content
    assert "Nothing happened" in said.content
    assert "SECRET" not in said.content
    look = guard_tools([ran.tool("look", "q")], ONCE, store=store, clock=clock)[0]
    assert "done" == look.invoke({"q": "x"}, thread())


def test_what_may_change_something_does_not_run_off_the_record(store: GuardStore, clock: Clock) -> None:
    """A tool of unknown effect counts as changing something: without its audit entry it does not run."""
    ran = Ran()
    store.log = Broken(store.log, "audit")  # type: ignore[assignment]  # broken on purpose
    said = pay(ran, store, clock, ToolPolicy()).invoke(PAY, thread())
    assert [] == ran.calls
    assert "could not be judged (StoreError)" in said.content


def test_a_budget_is_free_again_when_the_call_could_not_begin(store: GuardStore, clock: Clock) -> None:
    """What was reserved for a call that did not start is given back."""
    ran, inner = Ran(), store.log
    store.log = Broken(inner, "audit")  # type: ignore[assignment]  # broken on purpose
    for number in range(5):
        pay(ran, store, clock).invoke({**PAY, "args": {"amount": number}}, thread())
    store.log = inner
    tool = pay(ran, store, clock)
    for number in range(10, 15):
        tool.invoke({**PAY, "args": {"amount": number}}, thread())
    assert 3 == len(ran.calls)


def raising(_: ToolRequest) -> Any:
    """Be a policy that fails."""
    msg = "SECRET"
    raise ValueError(msg)


@pytest.mark.parametrize("policy", [raising, lambda _: "perhaps", lambda _: 7])
def test_a_policy_that_fails_denies(policy: Any, store: GuardStore, clock: Clock) -> None:
    """Where nobody can tell whether a call is allowed, it is not; the words of the failure stay out of the conversation."""
    ran = Ran()
    said = pay(ran, store, clock, policy).invoke(PAY, thread())
    assert [] == ran.calls
    assert "error" == said.status
    assert "Denied `pay`" in said.content
    assert "SECRET" not in said.content


def test_a_consent_ledger_that_fails_closes_the_gate(store: GuardStore, clock: Clock) -> None:
    """A consent that cannot be read is not granted, for a tool that only reads too."""
    ran = Ran()

    class Down(ConsentReader):
        def read(self, *_: Any, **__: Any) -> Any:
            msg = "SECRET"
            raise StoreError(msg)

    policy = ToolPolicy.from_dict({"rules": [{"tool": "look", "effect": "read", "consents": {"keep": True}}]})
    tool = guard_tools([ran.tool("look", "q")], policy, store=store, consents=Down(store), subject="user_id", clock=clock)[0]
    said = tool.invoke({"name": "look", "args": {"q": "x"}, "id": "c", "type": "tool_call"}, {"configurable": {"thread_id": "t", "user_id": "ann"}})
    assert [] == ran.calls
    assert "could not be judged (StoreError)" in said.content


def test_a_record_that_fails_after_the_run_keeps_no_result_back(store: GuardStore, clock: Clock) -> None:
    """What the tool returned reaches its caller; the outcome stays open on the record, and a retry is refused."""
    ran, inner = Ran(), store.log

    class Later(Broken):
        def append(self, stream: Any, bodies: Any, **more: Any) -> list[Entry]:
            if ran.calls:
                msg = "gone"
                raise StoreError(msg)
            found: list[Entry] = inner.append(stream, bodies, **more)
            return found

    store.log = Later(inner)  # type: ignore[assignment]  # broken on purpose
    assert "done" == pay(ran, store, clock).invoke(PAY, thread()).content
    store.log = inner
    assert "outcome is unknown" in pay(ran, store, clock).invoke(PAY, thread()).content
    assert 1 == len(ran.calls)


def test_arguments_without_a_text_form_are_denied(store: GuardStore, clock: Clock) -> None:
    """What nobody can name nobody can approve."""
    ran = Ran()
    said = pay(ran, store, clock).invoke({**PAY, "args": {"amount": object()}}, thread())
    assert [] == ran.calls
    assert "Denied `pay`" in said.content


def test_an_altered_record_denies(store: GuardStore, clock: Clock) -> None:
    """An approval stream that is not as it was written opens nothing."""
    ran = Ran()
    tool = pay(ran, store, clock)
    tool.invoke(PAY, thread())
    entries = next(found for stream, found in store.log._entries.items() if stream.kind == "approvals")  # type: ignore[attr-defined]
    entries[-1] = entries[-1].model_copy(update={"body": json.dumps({**json.loads(entries[-1].body), "outcome": "failed"}).encode()})
    said = pay(ran, store, clock).invoke({**PAY, "id": "c2"}, thread())
    assert 1 == len(ran.calls)
    assert "could not be judged (LogTamperedError)" in said.content


class Told:
    """A hook that keeps what it is told."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.records: list[CallRecord] = []

    def span(self, name: str, facts: Any) -> Any:
        """Wrap nothing."""
        from contextlib import nullcontext

        return nullcontext((name, facts))

    def record(self, fact: Any) -> None:
        """Keep a record of a call."""
        if isinstance(fact, CallRecord):
            self.records.append(fact)


def test_every_step_is_on_record_in_digests_and_can_be_erased(store: GuardStore, clock: Clock) -> None:
    """Requests, verdicts, answers and outcomes are on record and told to hooks; no argument, reason or result stands in an entry."""
    ran, told_of = Ran(), Told()
    policy = ToolPolicy.from_dict({"rules": [{"tool": "pay", "verdict": "ask"}]})
    tool = guard_tools([ran.tool("pay", "amount:int", "to", result="RESULT")], policy, store=store, clock=clock, hooks=[told_of])[0]
    agent = agent_with([tool], calls(("pay", {"amount": 4711, "to": "MALLORY"})), "ok")
    say(agent)
    resume(
        agent, {"decisions": [{"type": "approve", "message": "REMARK"}]}, context={"approver": {"id": "eve", "role": "admin", "surface": "console"}}
    )
    assert ["asked", "answered", "judged", "ran"] == [record.step for record in told_of.records]
    answered, judged, done = told_of.records[1:]
    assert ("eve", "admin", "console") == (answered.approver.id, answered.approver.role, answered.approver.surface)  # type: ignore[union-attr]  # it was answered
    assert answered.question == told_of.records[0].question
    assert 1 == len(judged.approvals)
    assert ("finished", 64) == (done.outcome, len(done.result or ""))
    bodies = b"".join(entry.body for head in store.anchor().heads for entry in store.log.read(head.stream))
    for word in (b"4711", b"MALLORY", b"RESULT", b"REMARK", b"agree"):
        assert word not in bodies
    kept = type(tool).ctxguard_gate._ledgers.records
    assert {"amount": 4711, "to": "MALLORY"} == kept.content("t", judged.content)["args"]
    assert 0 < kept.purge_thread("t")
    assert None is kept.content("t", judged.content)
    assert [] == store.verify()


def test_digests_alone_where_nothing_else_may_be_kept(store: GuardStore, clock: Clock) -> None:
    """With `audit="digest"` no argument and no result is kept; a receipt then says so."""
    ran = Ran()
    tool = guard_tools([ran.tool("pay", "amount:int", result="RESULT")], ONCE, store=store, clock=clock, audit="digest")[0]
    tool.invoke(PAY, thread())
    assert "What it returned was not kept." in tool.invoke(PAY, thread()).content
    assert 0 == type(tool).ctxguard_gate._ledgers.records.purge_thread("t")


def test_a_person_may_let_it_run_again_through_the_application(store: GuardStore, clock: Clock) -> None:
    """Whoever looked up what came of a call puts that on record, and it may run."""
    ran = Ran()
    with pytest.raises(TimeoutOnTheWayError):
        pay(ran, store, clock, raises=TimeoutOnTheWayError()).invoke(PAY, thread())
    approvals = ApprovalLog(store)
    (effect,) = approvals.open_effects("t", now=clock())
    assert "pay" == effect.begun.tool
    approvals.release("t", effect.begun.effect, by="eve", at=clock())
    pay(ran, store, clock).invoke(PAY, thread())
    assert 2 == len(ran.calls)

"""Threads as agents leave them in a store, for reports: compacted, repaired, refused, rolled back, with calls, consents and rules that move."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from os.path import commonprefix
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import PrivateAttr

from langchain_ctxguard import ConsentLedger, Constraint, ConstraintRegistry, ContextGuard, GuardConfig, GuardStore
from langchain_ctxguard.core.effects import SummaryRequest
from langchain_ctxguard.domain.summary import Fact, SummaryDraft
from langchain_ctxguard.report.recorder import ReportRecorder
from tests.graph.models import ScriptedChat
from tests.support.tool_calls import Ran, approve, calls

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
CONFIG = GuardConfig.from_dict(
    {
        "constraints": [
            {"constraint_id": "no-deletes", "text": "Never delete an order.", "enforcement": "runtime"},
            {"constraint_id": "be-brief", "text": "Answer in at most three sentences.", "severity": "low"},
        ],
        "consents": {"fields": ["consent.share_address"]},
        "tools": {
            "default": "deny",
            "rules": [
                {"id": "look", "tool": "find_order", "effect": "read", "verdict": "allow"},
                {"id": "keep-orders", "tool": "delete_order", "verdict": "deny", "enforces": ["no-deletes"]},
                {"id": "refunds", "tool": "refund", "approval": {"approver": "finance"}, "irreversible": True},
                {"id": "addresses", "tool": "share_address", "verdict": "allow", "consents": {"consent.share_address": True}},
            ],
        },
    }
)
ANN = {"user_id": "ann"}
EVE = {"user_id": "ann", "approver": {"id": "eve", "role": "finance", "surface": "console"}}
FILLER = "The parcel was seen in Rotterdam, then in Hamburg, and the carrier says that it is on its way to the depot. " * 2


class Ticking:
    """A clock that goes on by a minute each time it is asked."""

    def __init__(self) -> None:
        """Begin on a Monday morning."""
        self.now = START

    def __call__(self) -> datetime:
        self.now += timedelta(minutes=1)
        return self.now


class Forgetful:
    """Tells which part it summarized, and no value of it; told to, it is down."""

    name = "forgetful"
    asked = 0
    fails = frozenset[int]()

    def summarize(self, request: SummaryRequest) -> SummaryDraft:
        """Return one fact."""
        del request
        self.asked += 1
        if self.asked in self.fails:
            raise ConnectionError
        return SummaryDraft(facts=(Fact(statement=f"They talked about an order, part {self.asked}."),))

    async def asummarize(self, request: SummaryRequest) -> SummaryDraft:
        """Do the same."""
        return self.summarize(request)


class Billed(ScriptedChat):
    """Says, as providers do, how much of a call came from its cache: what it was sent before."""

    _sent: str = PrivateAttr(default="")

    def _answer(self, messages: list[BaseMessage]) -> AIMessage:
        answer = super()._answer(messages)
        sent = "\0".join(message.text for message in messages)
        total, hit = len(sent) // 4, len(commonprefix([self._sent, sent])) // 4
        self._sent = sent
        usage = {"input_tokens": total, "output_tokens": 1, "total_tokens": total + 1, "input_token_details": {"cache_read": hit}}
        return answer.model_copy(update={"usage_metadata": usage})


class Reported:
    """One agent over one store, and what it was asked."""

    def __init__(
        self, store: GuardStore, *, thread: str = "order-1042", saver: Any = None, answers: Sequence[AIMessage | str] = (), **options: Any
    ) -> None:
        """Wire it."""
        self.store = store
        self.clock = options.pop("clock", None) or Ticking()
        self.registry = ConstraintRegistry(store.log, tenant=store.tenant, clock=self.clock)
        self.ledger = ConsentLedger(store, surface="web", clock=self.clock)
        self.ran = Ran()
        self.recorder = ReportRecorder(store, clock=self.clock)
        self.summarizer = Forgetful()
        self.model = Billed(script=self._answer)
        self._answers = list(answers)
        self.guard = ContextGuard(
            options.pop("config", CONFIG),
            store=store,
            registry=self.registry,
            subject="user_id",
            summarizer=self.summarizer,
            hooks=[self.recorder],
            trigger=("messages", 9),
            keep=("turns", 1),
            clock=self.clock,
            **options,
        )
        names = [("find_order", "order"), ("delete_order", "order"), ("refund", "order", "amount:int"), ("share_address", "order")]
        tools = [self.ran.tool(name, *arguments, result=f"{name} is done") for name, *arguments in names]
        self.agent = create_agent(self.model, self.guard.tools(tools), middleware=[self.guard], checkpointer=saver or InMemorySaver())
        self.config = {"configurable": {"thread_id": thread}}

    def _answer(self, number: int, _: list[BaseMessage]) -> AIMessage | str:
        return self._answers.pop(0) if self._answers else f"Answer {number}. {FILLER * 2}"

    def say(self, text: str, *answers: AIMessage | str, context: Any = ANN) -> dict[str, Any]:
        """Let a person say something, and the model answer so."""
        self._answers += answers
        given = Command(resume=approve()) if text == "approve" else {"messages": [("user", text)]}
        return dict(self.agent.invoke(given, self.config, context=context))

    def talk(self, *numbers: int) -> None:
        """Say something of no weight."""
        for number in numbers:
            self.say(f"Question {number}: where is it now? {FILLER}")


def small_thread(store: GuardStore, **options: Any) -> Reported:
    """A thread with everything a report tells of."""
    run = Reported(store, **options)
    run.ledger.grant("consent.share_address", True, subject="ann", basis="consent", recorded_by="checkout page")
    run.say("I have a question about my order A-1042.")
    run.say(f"The refund is 250 EUR and the deadline is 2026-06-30. Never call me by phone. {FILLER * 3}")
    run.say("Look it up.", calls(("find_order", {"order": "A-1042"}), ids="look"), "It is on its way.")
    run.talk(1, 2, 3)
    run.registry.writer("system", by="security").declare(Constraint(constraint_id="no-exports", text="Export nothing."), "audit 3")
    run.say("Delete it.", calls(("delete_order", {"order": "A-1042"}), ids="del"), "I may not.")
    run.say("Then refund it.", calls(("refund", {"order": "A-1042", "amount": 250}), ids="pay"))
    run.say("approve", "It is refunded.", context=EVE)
    run.talk(4)
    run.say(f"The budget for the new parcel is 40 EUR. {FILLER * 3}")
    run.talk(5, 6)
    run.say("Tell the carrier where I live.", calls(("share_address", {"order": "A-1042"}), ids="adr"), "They know it now.")
    run.summarizer.fails = frozenset({run.summarizer.asked + 1, run.summarizer.asked + 2})
    run.talk(7, 8, 9)
    run.guard.history(run.config).rollback(to=1, reason="went astray")
    run.talk(10, 11)
    run.recorder.flush()
    return run

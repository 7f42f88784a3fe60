"""Threads as agents leave them in a store, for reports: compacted, repaired, refused, rolled back, with calls, consents and rules that move."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import PrivateAttr

from langchain_ctxguard import ConsentLedger, Constraint, ConstraintRegistry, ContextGuard, GuardConfig, GuardStore
from langchain_ctxguard.core.effects import SummaryRequest
from langchain_ctxguard.domain.model_call import ModelCall
from langchain_ctxguard.domain.prefix import DriftReason
from langchain_ctxguard.domain.summary import Fact, SummaryDraft
from langchain_ctxguard.records.model_calls import ModelCallRecords
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
        total, hit = len(sent) // 4, sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(self._sent, sent, strict=False))) // 4
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
    run.ledger.grant("consent.share_address", value=True, subject="ann", basis="consent", recorded_by="checkout page")
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


CHINESE = "包裹先到鹿特丹，再到汉堡，承运人说它正在运往仓库的路上。" * 6
HOSTILE = (
    "<script>document.title='owned'</script><img src=x onerror=alert(1)>\"' onmouseover=alert(2) </style></script><!-- ]]> {{7*7}} ${7*7} "
    "[click](javascript:alert(3)) | a | b |\n# heading\n```\nfence\n```` longer\n<svg/onload=alert(4)> &lt;b&gt; "
    "\u202egnp.exe\u202c \0 \ud83d \u2066isolate\u2069 "
    "\U000e0041\U000e0042 \x1b[31mred http://example.org/track.gif <base href=//evil> <meta http-equiv=refresh content=0> "
)


def chinese_thread(store: GuardStore, **options: Any) -> Reported:
    """A thread in Chinese: compacted, with values and a rule of its own."""
    config = GuardConfig.from_dict({"constraints": [{"constraint_id": "no-phone", "text": "绝不显示电话号码。", "enforcement": "model_guidance"}]})
    run = Reported(store, thread="订单-1042", config=config, **options)
    run.say("我想问一下订单 A-1042 的情况。")
    run.say(f"退款金额是250元，截止日期是2026年6月30日。不要给我打电话。{CHINESE}")
    for number in range(1, 7):
        run.say(f"第{number}个问题：现在到哪里了？{CHINESE}", f"第{number}个回答。{CHINESE}")
    run.recorder.flush()
    return run


def hostile_thread(store: GuardStore, **options: Any) -> Reported:
    """A thread whose every text tries to be more than text: messages, names, arguments, reasons."""
    run = Reported(store, thread='<b onclick="alert(5)">t</b>\u202e', **options)
    sent = HOSTILE.replace("\ud83d", "")
    run.say(f"The refund is 250 EUR and the deadline is 2026-06-30. Never do {sent}.")
    for number in range(1, 7):
        run.say(f"{number} {sent * 4}", f"{number} {sent * 4}")
    run.say("Delete it.", calls(("delete_order", {"order": sent}), ids="<i>d</i>"), sent)
    run.talk(7, 8)
    run.guard.history(run.config).rollback(to=1, reason=sent)
    run.recorder.flush()
    return run


def long_thread(store: GuardStore, *, messages: int = 5_000, calls_made: int = 2_500, **options: Any) -> Reported:
    """A thread of many messages: what it took over is compacted at once, and its model calls are on record."""
    run = Reported(store, thread="long", **options)
    said: list[Any] = []
    for number in range(messages // 2):
        said += [("user", f"Question {number} about order B-{number}: {FILLER * 2}"), ("assistant", f"Answer {number}: {FILLER * 2}")]
    run.agent.invoke({"messages": [*said, ("user", "Where is it now?")]}, run.config, context=ANN)
    run.recorder.flush()
    records = ModelCallRecords(store)
    place = run.guard.history(run.config).place
    (name,) = records.of(place).rules
    made = [
        ModelCall(
            at=run.clock(), version=1, rules=name, tokens=900 + number % 700, common=900, hit=800, miss=100 + number % 700, prefix="0" * 32,
            drift_reason=DriftReason.TOOL_CHANGE if number % 400 == 399 else None,
            first_changed_offset=700 if number % 400 == 399 else None,
        )
        for number in range(calls_made)
    ]  # fmt: skip
    for start in range(0, calls_made, 50):
        records.append(place, made[start : start + 50], {})
    return run

"""A folder as somebody has it who runs agents with a store: what the commands of the command line are tried on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

from langchain_ctxguard import ConsentLedger, Constraint, ConstraintRegistry, ContextCheckpointer, ContextGuard, ExtractiveSummarizer, GuardStore
from langchain_ctxguard.cli.candidates import candidates_in, sample_of
from langchain_ctxguard.cli.init import STARTER
from langchain_ctxguard.cli.sheet import written
from langchain_ctxguard.domain.citation import GateReading, action_ref
from tests.graph.models import ScriptedChat
from tests.support import compacted
from tests.support.compacted import saved
from tests.support.consents import said

THREAD = "order-17"
CHINESE = "订单-十七"
HOSTILE = "evil\x1b[2J\x1b]0;owned\x07\nname\u202e"

TURNS = (
    "Order ORD-1177 is mine. The budget is 500 EUR and the deadline is 2026-12-15. Never delete an order.",
    "Look it up, please.",
    "Write to anna.meier@example.com about it.",
    "The deadline is 2026-12-20 now.",
    "What is still open?",
    "Is there a discount?",
    "Thank you. And the delivery?",
    "Then tell me when it ships.",
)

PADDING = "The weather was fine and the road was long. " * 12

RETENTION = """\
version: 1
cases:
- name: no refund without a receipt
  path: omitted
  why: The rule is said once, at the beginning.
  rules:
  - Never refund without a receipt.
  conversation:
  - user: I bought a lamp, order ORD-7001, for 45.50 EUR.
  - ai: Thank you.
  - filler: 5
  request: Refund ORD-7001 now.
  act:
    call: {tool: refund, args: {order_id: ORD-7001}}
  expect:
    not_called: [refund]
"""

CASES = "- {name: reading, tool: read_order, args: {id: 17}, expect: allow}\n- {name: deleting, tool: delete_order, args: {id: 17}, expect: ask}\n"


@tool
def read_order(number: int) -> str:
    """Read an order."""
    return f"Order {number}: 3 lamps, 480 EUR, not shipped. /srv/orders/{number}.json"


def answers(number: int, messages: list[Any]) -> AIMessage | str:
    """Look the order up in the second turn, talk in the others."""
    if messages[-1].type == "human" and "Look it up" in messages[-1].text:
        return AIMessage("", tool_calls=[{"name": "read_order", "args": {"number": 17}, "id": "call-1"}])
    return f"Noted, number {number}. {PADDING}"


def talk(store: GuardStore, thread: str, *turns: str, saver: Any = None, **options: Any) -> None:
    """Let an agent with a guard talk in a thread; it compacts every few turns."""
    guard = ContextGuard(
        constraints=["Be polite."], store=store, summarizer=ExtractiveSummarizer(), trigger=("messages", 6), keep=("turns", 1), **options
    )
    graph = create_agent(ScriptedChat(script=answers), [read_order], middleware=[guard], checkpointer=saver or InMemorySaver())
    for turn in turns:
        graph.invoke({"messages": [("human", f"{turn} {PADDING}")]}, {"configurable": {"thread_id": thread}})


def fill(url: str, *, checkpoints: Path | None = None) -> None:
    """Write to a store what a few conversations leave in it, and their checkpoints to a file."""
    with GuardStore.open(url) as store, SqliteSaver.from_conn_string(str(checkpoints or ":memory:")) as inner:
        saver = ContextCheckpointer(inner, store=store)
        talk(store, THREAD, *TURNS, saver=saver)
        talk(store, CHINESE, *(turn.replace("The budget is 500 EUR", "预算5万元。") for turn in TURNS), saver=saver)
        talk(store, HOSTILE, *TURNS, saver=saver)
        _consents(store)
        writer = ConstraintRegistry(store.log, tenant=store.tenant).writer("organization", by="legal")
        rule = Constraint(constraint_id="query-only", text="Query only.", authority="organization", severity="critical")
        writer.declare(rule, reason="policy 4")


def _consents(store: GuardStore) -> None:
    ledger = ConsentLedger(store, surface="settings page")
    ledger.grant("send_mail", value=True, **said("user-1"))
    read = ledger.reader().read("user-1", thread=THREAD)
    body = {"thread": THREAD, "tool": "read_order", "reading": GateReading.of(read).model_dump(mode="json")}
    store.log.append(store.stream("calls", THREAD), [json.dumps(body).encode()], refs=[action_ref("call-1")])


def make_folder(folder: Path) -> Path:
    """Make the folder that the examples of the commands speak of: store, checkpoints, transcripts, config, cases, a marked sheet."""
    fill(f"sqlite:///{folder}/ctxguard.db", checkpoints=folder / "state.db")
    chat = [{"role": "user" if number % 2 == 0 else "assistant", "content": f"Part {number}. {TURNS[number % len(TURNS)]}"} for number in range(12)]
    (folder / "chat.json").write_text(json.dumps(chat), encoding="utf-8")
    saved(folder / "session.jsonl", compacted.session())
    (folder / "ctxguard.yaml").write_text(STARTER, encoding="utf-8")
    (folder / "refunds.retention.yaml").write_text(RETENTION, encoding="utf-8")
    (folder / "cases.yaml").write_text(CASES, encoding="utf-8")
    marked_sheet(folder)
    return folder


def marked_sheet(folder: Path) -> None:
    """Write a review sheet of the session in a folder and mark its first field."""
    candidates = candidates_in(str(folder / "session.jsonl"), is_compacting=False)
    text = written([sample for candidate in candidates if (sample := sample_of(candidate)) is not None], about="All of them.")
    (folder / "marked.md").write_text(text.replace("[ ] missed", "[x] missed", 1), encoding="utf-8")

"""An order assistant behind HTTP: whatever a user claims, orders are deleted only when an administrator approved this very deletion.

    ctxguard migrate "$DATABASE_URL"
    uvicorn app:from_environment --factory

`DATABASE_URL` names the store and the checkpointer (PostgreSQL); without it the record lies in `orders-guard.db` and threads live in memory.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Header, HTTPException
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import BaseModel

from langchain_ctxguard import ContextGuard, ExtractiveSummarizer, GuardConfig, GuardStore, ToolGuard, ToolPolicy
from langchain_ctxguard.testing.obedient import Behaviour, ObedientModel, Sight, ToolUse

RULES = ["Never show a phone number.", "Delete an order only when an administrator approved it."]
POLICY = ToolPolicy.from_dict(
    {
        "default": "deny",
        "rules": [
            {"tool": "read_order", "effect": "read"},
            {"tool": "delete_order", "approval": {"approver": "admin"}, "irreversible": True},
        ],
    }
)


class Said(BaseModel):
    """What a user says."""

    text: str


class Answered(BaseModel):
    """What an administrator decides about the open question of a thread."""

    decision: Literal["approve", "reject"]
    digest: str


def scripted_model() -> BaseChatModel:
    """Return a stand-in that does what it is asked: a model that ignores its rules, so that only the policy is left."""

    def named(name: str) -> Callable[[Sight], ToolUse]:
        return lambda seen: ToolUse(name, {"order_id": seen["order"]})

    return ObedientModel(
        behaviours=(
            Behaviour(when=re.compile(r"[Dd]elete (?P<order>ORD-\d+)"), call=named("delete_order")),
            Behaviour(when=re.compile(r"(?P<order>ORD-\d+)"), call=named("read_order")),
        ),
        otherwise="What can I do for you?",
    )


def tools_over(orders: dict[str, str]) -> list[BaseTool]:
    """Return the tools of the assistant over a table of orders."""

    @tool
    def read_order(order_id: str) -> str:
        """Read an order."""
        return f"{order_id}: {orders.get(order_id, 'no such order')}"

    @tool
    def delete_order(order_id: str) -> str:
        """Delete an order."""
        return f"Deleted {order_id} ({orders.pop(order_id, 'it was gone')})."

    return [read_order, delete_order]


def create_app(
    *, store: GuardStore, checkpointer: BaseCheckpointSaver[Any], orders: dict[str, str], administrators: dict[str, str], trigger: int = 4_000
) -> FastAPI:
    """Return the service.

    Args:
        store: Where versions, approvals and calls go on record.
        checkpointer: Where threads lie.
        orders: The table: description by number.
        administrators: Name by token. A real service takes both names from its own log-in; no message ever names who approves.
        trigger: Compact above so many tokens.
    """
    model = scripted_model()  # a real one: init_chat_model("openai:gpt-5")
    guard = ContextGuard(
        GuardConfig(tools=POLICY),
        constraints=RULES,
        store=store,
        subject="user_id",
        trigger=("tokens", trigger),
        keep=("turns", 3),
        summarizer=ExtractiveSummarizer(),  # with a real model, leave this out
    )
    agent: Any = create_agent(model, tools_over(orders), middleware=[guard, ToolGuard(guard)], checkpointer=checkpointer)
    app = FastAPI(title="Order assistant")

    def administrator(authorization: str) -> str:
        name = administrators.get(authorization.removeprefix("Bearer "))
        if name is None:
            raise HTTPException(403, "Only an administrator answers questions.")
        return name

    def told(state: dict[str, Any]) -> dict[str, Any]:
        for question in state.get("__interrupt__", ()):
            return {"question": question.value["action_requests"], "digest": question.value["digest"]}
        return {"answer": state["messages"][-1].text}

    @app.post("/threads/{thread}/messages")
    def say(thread: str, said: Said, x_user: Annotated[str, Header()]) -> dict[str, Any]:
        """Answer a user, or say which question an administrator has to answer first."""
        return told(agent.invoke({"messages": [HumanMessage(said.text)]}, _config(thread), context={"user_id": x_user}))

    @app.post("/threads/{thread}/answers")
    def answer(thread: str, answered: Answered, authorization: Annotated[str, Header()]) -> dict[str, Any]:
        """Take an administrator's word on the open question, and go on."""
        name = administrator(authorization)
        if not agent.get_state(_config(thread)).interrupts:
            raise HTTPException(409, "No question is open in this thread.")
        word = {"decisions": [{"type": answered.decision}], "digest": answered.digest}
        who = {"approver": {"id": name, "role": "admin", "surface": "console"}}
        return told(agent.invoke(Command(resume=word), _config(thread), context=who))

    @app.get("/threads/{thread}/versions")
    def versions(thread: str) -> list[dict[str, Any]]:
        """List the compactions of a thread."""
        return [
            {"number": version.number, "outcome": version.outcome, "tokens": version.tokens, "values_lost": version.lost}
            for version in guard.history(_config(thread)).versions
        ]

    return app


def _config(thread: str) -> Any:
    return {"configurable": {"thread_id": thread}}


def saver_at(url: str) -> BaseCheckpointSaver[Any]:
    """Return the checkpointer at a PostgreSQL URL, its tables made."""
    from langgraph.checkpoint.postgres import PostgresSaver
    from psycopg.rows import dict_row
    from psycopg_pool import ConnectionPool

    options = {"autocommit": True, "row_factory": dict_row, "prepare_threshold": 0}
    saver = PostgresSaver(ConnectionPool(url, max_size=8, kwargs=options, open=True))  # type: ignore[arg-type] # its rows are dictionaries
    saver.setup()
    return saver


def from_environment() -> FastAPI:
    """Return the service as `DATABASE_URL` and `ADMIN_TOKEN` describe it."""
    url = os.environ.get("DATABASE_URL")
    return create_app(
        store=GuardStore.open(url or "sqlite:///orders-guard.db"),
        checkpointer=saver_at(url) if url else InMemorySaver(),
        orders={f"ORD-{number}": "a desk lamp, paid, ships on 2026-12-15" for number in range(1, 50)},
        administrators={os.environ["ADMIN_TOKEN"]: "eva"},
    )

"""Tools under a policy: `guard_tools` wraps them, `ToolGuard` guards an agent's, `PolicyToolNode` runs them in a plain graph."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import contextmanager
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from langchain.agents.middleware.types import AgentMiddleware, ModelRequest, ModelResponse, ToolCallRequest
from langchain_core.messages import ToolMessage
from langgraph.types import Command, TracePolicy

from langchain_ctxguard.backends.store import GuardStore
from langchain_ctxguard.domain.policy import Policy, ToolPolicy
from langchain_ctxguard.engine import Engine, consents_of, store_of
from langchain_ctxguard.errors import ConfigurationError
from langchain_ctxguard.graph.gate import ToolGate
from langchain_ctxguard.graph.trace import COUNTS_ONLY
from langchain_ctxguard.ports import Clock, ConsentReading, Hook
from langchain_ctxguard.records.approvals import ApprovalLog
from langchain_ctxguard.records.budgets import BudgetLog
from langchain_ctxguard.records.call_records import AuditDetail, CallRecords
from langchain_ctxguard.records.ledgers import CallLedgers


def guard_tools(
    tools: Sequence[Any],
    policy: Policy | Sequence[Policy] | Mapping[str, Any] | str | Path,
    *,
    store: GuardStore | str | Any | None = None,
    consents: ConsentReading | GuardStore | str | None = None,
    subject: str | None = None,
    hooks: Sequence[Hook] = (),
    clock: Clock | None = None,
    audit: AuditDetail = "full",
) -> list[Any]:
    """Return tools that judge each of their calls, wherever they are called from: an agent, a sub-agent, another node, directly.

        tools = guard_tools([delete_order, read_order], "ctxguard.yaml", store="sqlite:///ctxguard.db", subject="user_id")

    Args:
        tools: Tools, functions that become tools, and tools of the provider, which are handed on and reported.
        policy: A `ToolPolicy`, a function, several of them, what stands below `tools` in a config file, or the path of one.
        store: Where approvals, budgets and the audit record rest; `None`: in memory, until the process ends.
        consents: What reads consents; `None`: those of the store.
        subject: Name of the key in runtime context that says in whose name calls are made.
        hooks: Told about every step of every call.
        clock: Says what time it is; `None`: the system's.
        audit: What is kept of a call: everything, or digests alone.

    Raises:
        ConfigurationError: a policy that is none, or a tool that cannot be guarded.
    """
    opened, _ = store_of(store)
    return gate_for(policies_of(policy), store=opened, consents=consents, subject=subject, hooks=hooks, clock=clock, audit=audit).tools(tools)


def policies_of(given: Any) -> tuple[Policy, ...]:
    """Return what was given as policies.

    Raises:
        ConfigurationError: it is none.
    """
    if given is None:
        return (ToolPolicy(),)
    if isinstance(given, (str, Path)):
        return (ToolPolicy.from_file(given),)
    if isinstance(given, Mapping):
        return (ToolPolicy.from_dict(given),)
    if isinstance(given, ToolPolicy) or callable(given):
        return (given,)
    if isinstance(given, Sequence) and given and all(isinstance(one, ToolPolicy) or callable(one) for one in given):
        return tuple(given)
    msg = f"{given!r} is no policy. Pass a ToolPolicy, a function of a ToolRequest, several of them, a mapping, or the path of a config file."
    raise ConfigurationError(msg)


def gate_for(
    policy: Sequence[Policy],
    *,
    store: GuardStore | None,
    consents: Any = None,
    subject: str | None = None,
    hooks: Sequence[Hook] = (),
    clock: Clock | None = None,
    audit: AuditDetail = "full",
    engine: Engine | None = None,
) -> ToolGate:
    """Return the gate of a policy over a store; without a store, over one in memory."""
    kept = store if store is not None else GuardStore.open("memory://", clock=clock)
    reader, _ = consents_of(consents, store, clock)
    moment = clock or _now
    ledgers = CallLedgers(
        approvals=ApprovalLog(kept),
        budgets=BudgetLog(kept, clock=moment),
        records=CallRecords(kept, detail=audit),
        consents=reader,
        blocks=kept.is_durable,
    )
    return ToolGate(policy, engine=engine or Engine(hooks=hooks), ledgers=ledgers, clock=moment, subject=subject)


def _now() -> datetime:
    return datetime.now(UTC)

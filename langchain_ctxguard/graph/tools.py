"""Tools under a policy: `guard_tools` wraps them, `ToolGuard` guards an agent's, `PolicyToolNode` runs them in a plain graph."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from langchain.agents.middleware.types import AgentMiddleware, ModelRequest, ModelResponse, ToolCallRequest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langchain_core.tools import tool as as_tool
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, TracePolicy

from langchain_ctxguard.backends.store import GuardStore
from langchain_ctxguard.domain.config import GuardConfig
from langchain_ctxguard.domain.policy import Policy, ToolPolicy
from langchain_ctxguard.domain.prefix import PriceTable
from langchain_ctxguard.engine import Engine, consents_of, store_of
from langchain_ctxguard.errors import ConfigurationError
from langchain_ctxguard.graph.call_site import in_sight
from langchain_ctxguard.graph.gate import ToolGate, gate_for
from langchain_ctxguard.graph.guard import ContextGuard
from langchain_ctxguard.graph.trace import COUNTS_ONLY
from langchain_ctxguard.ports import Clock, ConsentReading, Hook
from langchain_ctxguard.records.call_records import AuditDetail


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
    prices: PriceTable | None = None,
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
        prices: What models cost, for budgets of `cost`.

    Raises:
        ConfigurationError: a policy that is none, or a tool that cannot be guarded.
    """
    opened, _ = store_of(store)
    reader, _ = consents_of(consents, opened, clock)
    engine = Engine(hooks=hooks)
    gate = gate_for(policies_of(policy), store=opened, consents=reader, subject=subject, clock=clock, audit=audit, engine=engine, prices=prices)
    return gate.tools(tools)


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


class ToolGuard(AgentMiddleware[Any, Any, Any]):
    """Guards every tool of an agent by the policy of a guard, also those that other middleware brings. List it last.

        guard = ContextGuard("ctxguard.yaml", store="sqlite:///ctxguard.db", subject="user_id")
        agent = create_agent(model, tools, middleware=[guard, ToolGuard(guard)], checkpointer=saver)

    Last in the list is innermost: what runs is what was judged, whatever a middleware before it made of the call. Sub-agents have middleware of their
    own; wrap what they are given with `guard.tools(tools)`, or list a `ToolGuard` there too.
    """

    trace_policy: ClassVar[TracePolicy] = COUNTS_ONLY  # type: ignore[misc]  # a constant, as in LangChain's own

    def __init__(self, guard: ContextGuard | GuardConfig | str | Path) -> None:
        """Guard by the policy of `guard`, or of a config."""
        super().__init__()
        self.gate = gate_in(guard)
        self.gate.is_listed = True
        self._turns = guard.turns if isinstance(guard, ContextGuard) else None

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]) -> Any:
        """Show the model the tools that the policy does not hide."""
        return handler(self._shown(request))

    async def awrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]) -> Any:
        """Do as `wrap_model_call` does."""
        return await handler(self._shown(request))

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]) -> Any:
        """Run the tool guarded; what a middleware before this one made of the call is held against the standing state as well."""
        turns = self._turns
        refused = turns.tool_refusal(request) if turns is not None and turns.standing.is_edited(request) else None
        found = self._guarded(request) if refused is None else refused
        if isinstance(found, ToolMessage):
            return found
        with in_sight(request.state):
            return handler(found)

    async def awrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]) -> Any:
        """Do as `wrap_tool_call` does."""
        turns, refused = self._turns, None
        if turns is not None and turns.standing.is_edited(request):
            refused = await asyncio.to_thread(turns.tool_refusal, request) if turns.reads_block else turns.tool_refusal(request)
        found = self._guarded(request) if refused is None else refused
        if isinstance(found, ToolMessage):
            return found
        with in_sight(request.state):
            return await handler(found)

    def _shown(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        tools = request.tools or []
        for tool in tools:
            if isinstance(tool, Mapping):
                self.gate.report_unguarded(tool)
        shown = [tool for tool in tools if isinstance(tool, Mapping) or not self.gate.hides(tool.name)]
        return request if len(shown) == len(tools) else request.override(tools=shown)

    def _guarded(self, request: ToolCallRequest) -> ToolCallRequest | ToolMessage:
        if request.tool is None:
            # No such tool: the node says so to the model, and nothing can run.
            return request
        try:
            return request.override(tool=self.gate.guarded(request.tool))
        except ConfigurationError as error:
            name = request.tool_call["name"]
            self.gate.report(f"'{name}' was not run: {error}")
            text = f"Denied `{name}`: it cannot be guarded, so nothing can tell what it would do. Nothing happened: the tool did not run."
            return ToolMessage(text, tool_call_id=str(request.tool_call["id"] or ""), name=name, status="error")


class PolicyToolNode(ToolNode):
    """The node that runs the tools of a plain graph under the policy of a guard; a person is asked about all calls of a message at once.

        graph.add_node("tools", PolicyToolNode(tools, guard))

    Before any call of a message runs, every question about them is put in one `interrupt()`, with a decision for each in their order.
    """

    def __init__(self, tools: Sequence[Any], guard: ContextGuard | GuardConfig | str | Path, **options: Any) -> None:
        """Guard `tools` by the policy of `guard`.

        Args:
            tools: Tools, and functions that become tools.
            guard: A guard, or a config.
            options: Of `ToolNode`.
        """
        self.gate = gate_in(guard)
        # A hidden tool is denied, and not unknown, to a model that calls it all the same.
        super().__init__([self.gate.guarded(tool if isinstance(tool, BaseTool) else as_tool(tool)) for tool in tools], **options)
        self._key = options.get("messages_key", "messages")

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002 - as a Runnable spells it
        """Ask what there is to ask, then run the calls."""
        with in_sight(self._state(input)):
            self.gate.ask_about(self._calls(input), tuple(self.tools_by_name.values()))
            return super().invoke(input, config, **kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002 - as above
        """Do as `invoke` does, without blocking the event loop."""
        with in_sight(self._state(input)):
            await self.gate.aask_about(self._calls(input), tuple(self.tools_by_name.values()))
            return await super().ainvoke(input, config, **kwargs)

    def _state(self, given: Any) -> Any:
        if isinstance(given, Mapping) and "tool_call" in given:
            return given.get("state")
        if isinstance(given, list):
            return None if given and isinstance(given[-1], Mapping) and given[-1].get("type") == "tool_call" else given
        return given

    def _calls(self, given: Any) -> list[tuple[BaseTool, Mapping[str, Any]]]:
        """Return the calls the node is about to run, with their tools."""
        calls: list[Any]
        if isinstance(given, Mapping) and "tool_call" in given:
            calls = [given["tool_call"]]
        elif isinstance(given, list) and given and isinstance(given[-1], Mapping) and given[-1].get("type") == "tool_call":
            calls = given
        else:
            messages = given if isinstance(given, list) else given.get(self._key) if isinstance(given, Mapping) else getattr(given, self._key, None)
            newest = next((message for message in reversed(messages or []) if isinstance(message, AIMessage)), None)
            calls = [] if newest is None else list(newest.tool_calls)
        return [(self.tools_by_name[call["name"]], call) for call in calls if call["name"] in self.tools_by_name]


def gate_in(guard: ContextGuard | GuardConfig | str | Path) -> ToolGate:
    """Return the gate of a guard, or of a guard made of a config."""
    return (guard if isinstance(guard, ContextGuard) else ContextGuard(guard)).gate

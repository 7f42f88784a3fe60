"""What stands before every guarded tool: the policy, the records a call is judged by, and what was said in its thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from langchain_core.messages import BaseMessage
from langchain_core.tools import BaseTool
from langchain_core.tools import tool as as_tool

from langchain_ctxguard.backends.paths import LocalPaths
from langchain_ctxguard.core.authorize import traits_of
from langchain_ctxguard.core.budgets import usage_of
from langchain_ctxguard.core.judge import PolicyJudge
from langchain_ctxguard.core.origins import Origins
from langchain_ctxguard.core.paths import PathFacts
from langchain_ctxguard.core.tool_call import Call, Settled, tool_call_flow
from langchain_ctxguard.domain.budget import Usage
from langchain_ctxguard.domain.policy import Policy, ToolRequest
from langchain_ctxguard.domain.prefix import PriceTable
from langchain_ctxguard.domain.version import ContextEvent
from langchain_ctxguard.engine import Engine
from langchain_ctxguard.graph.bounded import Bounded
from langchain_ctxguard.graph.call_site import Site, site_now
from langchain_ctxguard.graph.guarded_tool import gate_of, guarded
from langchain_ctxguard.graph.tool_run import ToolRun
from langchain_ctxguard.records.ledgers import CallLedgers

_THREADS = 256
Period = Literal["thread", "run", "day"]


class ToolGate:
    """Guards tools by one policy. Safe under threads; what it remembers of threads can be lost at any time."""

    def __init__(
        self,
        policy: Sequence[Policy],
        *,
        engine: Engine,
        ledgers: CallLedgers,
        clock: Callable[[], datetime],
        subject: str | None = None,
        paths: PathFacts | None = None,
        prices: PriceTable | None = None,
    ) -> None:
        """Bind the policy and the records."""
        self.policy = tuple(policy)
        self.engine = engine
        self.ledgers = ledgers
        self.clock = clock
        self._subject = subject
        self._paths = paths or LocalPaths()
        self._prices = prices
        self._twins: dict[int, tuple[BaseTool, BaseTool]] = {}
        self._by_name: dict[str, BaseTool] = {}
        self._origins: Bounded[Origins] = Bounded(_THREADS)
        self._roots: Bounded[Sequence[BaseMessage]] = Bounded(_THREADS)
        self._told: set[str] = set()

    def tools(self, tools: Sequence[Any]) -> list[Any]:
        """Return the tools guarded; those the policy hides are left out, and those of the provider, which nothing here can guard, are reported."""
        found: list[Any] = []
        for given in tools:
            if isinstance(given, Mapping):
                self.report_unguarded(given)
                found.append(given)
                continue
            one = given if isinstance(given, BaseTool) else as_tool(given)
            if not self.hides(one.name):
                found.append(self.guarded(one))
        return found

    def guarded(self, tool: BaseTool) -> BaseTool:
        """Return a tool guarded by this gate; one that is already stays as it is."""
        if gate_of(tool) is self:
            return tool
        known = self._twins.get(id(tool))
        if known is not None and known[0] is tool:
            return known[1]
        twin = guarded(tool, self)
        self._twins[id(tool)] = (tool, twin)
        self._by_name[twin.name] = twin
        return twin

    def hides(self, tool: str) -> bool:
        """Say whether the policy wants a tool out of the model's sight."""
        return traits_of(tool, self.policy).is_hidden

    def tool_named(self, name: str) -> BaseTool | None:
        """Return a tool guarded here by its name."""
        return self._by_name.get(name)

    def report_unguarded(self, tool: Mapping[str, Any]) -> None:
        """Tell the hooks, once, of a tool that runs at the provider: no call of it ever comes by here."""
        name = str(tool.get("name") or tool.get("type") or "a tool without a name")
        if name not in self._told:
            self._told.add(name)
            detail = f"'{name}' runs at the model's provider: its calls are neither judged nor on record. Leave it out where they have to be."
            self.engine.record(ContextEvent(kind="unguarded_tool", detail=detail))

    def site(self, runtime: Any) -> Site:
        """Return where the running call is made, its run named after the request that started it."""
        site = site_now(self._subject, runtime)
        messages = site.messages
        if site.thread is not None and site.is_root and messages:
            self._roots.put(site.thread, messages)
        root = self._roots.get(site.thread) if site.thread is not None else messages
        return site if not root else site.seen_by(root)

    def request(self, tool: BaseTool, args: Mapping[str, Any], call_id: str | None, site: Site) -> ToolRequest:
        """Return the call as rules see it."""
        surface = "direct" if not site.can_pause else "subagent" if not site.is_root else "mcp" if _is_mcp(tool) else "tool"
        return ToolRequest(
            tool=tool.name,
            args=args,
            call_id=call_id,
            thread=site.thread,
            namespace=site.namespace,
            run=site.run,
            at=self.clock(),
            requester=site.requester,
            surface=surface,
        )

    def usage(self, site: Site, periods: tuple[str, ...]) -> dict[Period, Usage]:
        """Return what the models of the thread and of the run have used, from the messages in sight."""
        messages = self._seen(site)
        if messages is None:
            return {}
        found: dict[Period, Usage] = {}
        if "thread" in periods:
            found["thread"] = usage_of(messages, self._prices)
        if "run" in periods:
            found["run"] = usage_of(_since_request(messages), self._prices)
        return found

    def settle(self, request: ToolRequest, site: Site, hands: ToolRun) -> Settled:
        """Judge a call, and run it where it is allowed."""
        flow = tool_call_flow(self._call(site, request), self.judge(request, site), clock=self.clock)
        return self.engine.run(flow, name="tool_call", ledgers=self.ledgers, hands=hands)

    async def asettle(self, request: ToolRequest, site: Site, hands: ToolRun) -> Settled:
        """Do as `settle` does, without blocking the event loop."""
        flow = tool_call_flow(self._call(site, request), self.judge(request, site), clock=self.clock)
        return await self.engine.arun(flow, name="tool_call", ledgers=self.ledgers, hands=hands)

    def judge(self, request: ToolRequest, site: Site) -> PolicyJudge:
        """Return who decides about a call; what was said in the thread is read where a rule looks at it."""
        judge = PolicyJudge(self.policy, paths=self._paths)
        if not judge.needs(request, self.clock()).origins:
            return judge
        return PolicyJudge(self.policy, paths=self._paths, origins=self._said(site))

    def _call(self, site: Site, request: ToolRequest) -> Call:
        return Call(request, may_ask=site.can_pause and site.thread is not None, is_answering=site.approver is not None)

    def _seen(self, site: Site) -> Sequence[BaseMessage] | None:
        root = self._roots.get(site.thread) if site.thread is not None else None
        return site.messages if root is None else root

    def _said(self, site: Site) -> tuple[Origins, ...]:
        """Return who said what: in the root thread, and in the sub-agent that calls."""
        found = []
        root = self._seen(site)
        if root is not None:
            found.append(self._followed((site.thread, ""), root, is_root=site.is_root or site.thread in self._threads_seen()))
        if not site.is_root and site.messages:
            found.append(self._followed((site.thread, site.namespace), site.messages, is_root=False))
        return tuple(found)

    def _threads_seen(self) -> Any:
        return _Known(self._roots)

    def _followed(self, key: tuple[str | None, str], messages: Sequence[BaseMessage], *, is_root: bool) -> Origins:
        origins = self._origins.get(key) if key[0] is not None else None
        if origins is None:
            origins = Origins(is_registry=lambda tool: traits_of(tool, self.policy).is_registry)
            self._origins.put(key, origins)
        return origins.follow(messages, is_root=is_root)


class _Known:
    def __init__(self, roots: Bounded[Sequence[BaseMessage]]) -> None:
        self._roots = roots

    def __contains__(self, thread: object) -> bool:
        return self._roots.get(thread) is not None


def _since_request(messages: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
    place = next((place for place in range(len(messages) - 1, -1, -1) if messages[place].type == "human"), 0)
    return messages[place:]


def _is_mcp(tool: BaseTool) -> bool:
    """Say whether a tool has the form the adapters of MCP servers give theirs: a JSON schema, content and artifact, run only asynchronously."""
    return isinstance(tool.args_schema, dict) and tool.response_format == "content_and_artifact"




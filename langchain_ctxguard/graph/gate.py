"""What stands before every guarded tool: the policy, the records a call is judged by, and what was said in its thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Literal

from langchain_core.messages import BaseMessage
from langchain_core.tools import BaseTool
from langchain_core.tools import tool as as_tool

from langchain_ctxguard.backends.paths import LocalPaths
from langchain_ctxguard.backends.store import GuardStore
from langchain_ctxguard.core.authorize import traits_of
from langchain_ctxguard.core.call_case import Call, Judge, Settled, ToolFlow
from langchain_ctxguard.core.judge import PolicyJudge
from langchain_ctxguard.core.origins import Origins
from langchain_ctxguard.core.paths import PathFacts
from langchain_ctxguard.core.tool_batch import tool_batch_flow
from langchain_ctxguard.core.tool_call import tool_call_flow
from langchain_ctxguard.core.usage import counted_for
from langchain_ctxguard.domain.budget import Usage
from langchain_ctxguard.domain.control import ControlField
from langchain_ctxguard.domain.policy import Decision, Finding, Policy, Surface, ToolRequest, Verdict
from langchain_ctxguard.domain.prefix import PriceTable
from langchain_ctxguard.domain.version import ContextEvent
from langchain_ctxguard.engine import Engine
from langchain_ctxguard.errors import BlobMissingError, ConfigurationError, StoreError
from langchain_ctxguard.graph.call_site import Site, site_now
from langchain_ctxguard.graph.guarded_tool import gate_of, guarded
from langchain_ctxguard.graph.left_state import Archived, LeftState
from langchain_ctxguard.graph.model_usage import ModelUsage
from langchain_ctxguard.graph.tool_arguments import parsed_arguments
from langchain_ctxguard.graph.tool_run import Asking, ToolRun
from langchain_ctxguard.ports import Clock, ConsentReading, WorkRecord
from langchain_ctxguard.records.approvals import ApprovalLog
from langchain_ctxguard.records.bounded import Bounded
from langchain_ctxguard.records.budgets import BudgetLog
from langchain_ctxguard.records.call_records import AuditDetail, CallRecords
from langchain_ctxguard.records.ledgers import CallLedgers
from langchain_ctxguard.records.standing import StandingLog
from langchain_ctxguard.records.usage import UsageLog

_THREADS = 256
_TOOLS = 1_024
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
        usage: ModelUsage,
        facts: Callable[[Site], CallFacts] | None = None,
        archived: Archived | None = None,
        evicts: bool = False,
        left: Callable[[Site], Left] | None = None,
    ) -> None:
        """Bind the policy and the records."""
        self.policy = tuple(policy)
        self.engine = engine
        # Nothing public leads to them: whoever can append to an approval's stream can agree in a person's place.
        self._ledgers = ledgers
        self.clock = clock
        self._subject = subject
        self._paths = paths or LocalPaths()
        self._usage = usage
        self._twins: Bounded[tuple[BaseTool, BaseTool]] = Bounded(_TOOLS)
        self._by_name: Bounded[BaseTool] = Bounded(_TOOLS)
        self._origins: Bounded[Origins] = Bounded(_THREADS)
        self._roots: Bounded[Sequence[BaseMessage]] = Bounded(_THREADS)
        self._told: set[str] = set()
        self.is_listed = False
        """Whether a `ToolGuard` guards all tools of an agent by this gate."""

        self._facts = facts or _nothing
        self._archived = archived
        self._evicts = evicts
        self._left = None if archived is None or not evicts else LeftState(archived)
        self._left_of = left or (lambda _: Left.NOTHING)
        self._root_sites: Bounded[Site] = Bounded(_THREADS)
        self._read_to: Bounded[int] = Bounded(_THREADS)

    def add_policy(self, policy: Policy) -> None:
        """Have one more policy decide about every call; the strictest verdict holds."""
        self.policy = (*self.policy, policy)

    def attend(self, work: WorkRecord) -> None:
        """Have the record of an agent's work heard before each call, and told after it, whichever way the call comes by here.

        Raises:
            ConfigurationError: another one is heard already.
        """
        if self._ledgers.work is not None and self._ledgers.work is not work:
            msg = "This guard keeps a record of an agent's work already, in another workspace. Nothing was changed; make a guard for each workspace."
            raise ConfigurationError(msg)
        # It looks at files and may run a check, so no event loop waits for it.
        self._ledgers = replace(self._ledgers, work=work, blocks=True)

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
        self._twins.put(id(tool), (tool, twin))
        self._by_name.put(twin.name, twin)
        return twin

    def guards(self, tool: Any) -> bool:
        """Say whether a call of a tool is going to be judged here."""
        return self.is_listed or gate_of(tool) is self

    def hides(self, tool: str) -> bool:
        """Say whether the policy wants a tool out of the model's sight."""
        return traits_of(tool, self.policy).is_hidden

    def tool_named(self, name: str, among: Sequence[BaseTool] | None = None) -> BaseTool | None:
        """Return a tool by its name, guarded.

        Args:
            name: Of the tool.
            among: The tools of the agent that calls; `None`: all that are guarded here.
        """
        if among is None:
            return self._by_name.get(name)
        found = next((tool for tool in among if tool.name == name), None)
        return None if found is None else self.guarded(found)

    def report_unguarded(self, tool: Mapping[str, Any]) -> None:
        """Tell the hooks, once, of a tool that runs at the provider: no call of it ever comes by here."""
        name = str(tool.get("name") or tool.get("type") or "a tool without a name")
        if name not in self._told:
            self._told.add(name)
            detail = f"'{name}' runs at the model's provider: its calls are neither judged nor on record. Leave it out where they have to be."
            self.engine.record(ContextEvent(kind="unguarded_tool", detail=detail))

    def report(self, detail: str) -> None:
        """Tell the hooks of a tool that cannot be guarded."""
        self.engine.record(ContextEvent(kind="unguarded_tool", detail=detail))

    def ask_about(self, calls: Sequence[tuple[BaseTool, Mapping[str, Any]]], tools: Sequence[BaseTool]) -> None:
        """Ask a person, once, about all calls of a message that take it; `tools` are those a call can be edited into."""
        found = self._batch(calls, tools)
        if found is not None:
            flow, hands = found
            self.engine.run(flow, name="tool_questions", ledgers=self._ledgers, hands=hands)

    async def aask_about(self, calls: Sequence[tuple[BaseTool, Mapping[str, Any]]], tools: Sequence[BaseTool]) -> None:
        """Do as `ask_about` does, without blocking the event loop."""
        found = self._batch(calls, tools)
        if found is not None:
            flow, hands = found
            await self.engine.arun(flow, name="tool_questions", ledgers=self._ledgers, hands=hands)

    def _batch(self, calls: Sequence[tuple[BaseTool, Mapping[str, Any]]], tools: Sequence[BaseTool]) -> tuple[ToolFlow[None], Asking] | None:
        site = self.site(None)
        if not site.can_pause or site.thread is None:
            return None
        batch: list[tuple[Call, Judge]] = []
        for tool, call in calls:
            # What cannot be read is denied, or answered with its fault, when it is run.
            args = parsed_arguments(tool, call["args"])
            if args is not None:
                request = self.request(tool, args, call["id"], site)
                batch.append((self.call(site, request), self.judge(request, site)))
        if not batch:
            return None
        return tool_batch_flow(batch, clock=self.clock), Asking(self, site, tools)

    def site(self, runtime: Any) -> Site:
        """Return where the running call is made, its run named after the request that started it."""
        site = site_now(self._subject, runtime)
        messages = site.messages
        if site.thread is not None and messages and self._is_root(site, messages):
            self._roots.put(site.thread, messages)
            self._root_sites.put(site.thread, site)
        root = self._roots.get(site.thread) if site.thread is not None else messages
        return site if not root else site.seen_by(root)

    def _is_root(self, site: Site, messages: Sequence[BaseMessage]) -> bool:
        """Say whether these are the messages of the thread itself. A graph may be called in many ways; a sub-agent begins with words of its own."""
        known = self._roots.get(str(site.thread))
        if not site.is_root:
            return False
        return known is None or "|" not in site.namespace or messages[0].id is None or any(message.id == messages[0].id for message in known)

    def request(self, tool: BaseTool, args: Mapping[str, Any], call_id: str | None, site: Site) -> ToolRequest:
        """Return the call as rules see it."""
        surface: Surface = "direct" if not site.can_pause else "subagent" if not site.is_root else "mcp" if _is_mcp(tool) else "tool"
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
        """Return what the models of thread, run and day have used: the record of it, brought up to what is in sight and what left the state."""
        messages = self._seen(site)
        try:
            if messages is not None:
                gone = self._gone(site, messages, LeftState.before)
                recent = len(self._gone(site, messages, LeftState.since_request)) if gone else 0
                own = site.messages
                self._usage.seen(site, [messages] if own is None or own is messages else [messages, own], gone, recent)
            return self._usage.of(site, periods, is_seen=messages is not None)
        except StoreError:
            # Nobody can tell what was used.
            return {}

    @property
    def counts_usage(self) -> bool:
        """Say whether what models use has to be counted: a budget looks at it."""
        return self._usage.is_wanted

    def note_said(self, site: Site, before: Sequence[BaseMessage], answers: Sequence[BaseMessage]) -> None:
        """Count what a model answered; see `ModelUsage.said`.

        Raises:
            StoreError: it cannot be put on record.
        """
        self._usage.said(site, before, answers)

    def note_seen(self, site: Site, messages: Sequence[BaseMessage]) -> None:
        """Count what stands in a conversation and was not counted yet.

        Raises:
            StoreError: it cannot be put on record.
        """
        self._usage.seen(site, [messages])

    def model_site(self, messages: Sequence[BaseMessage]) -> Site:
        """Return where a model is called that is sent these messages: of a sub-agent the run is that of the thread it works for."""
        site = site_now(self._subject)
        if site.thread is None:
            return site.seen_by(messages)
        if messages and self._is_root(site, messages):
            # A sub-agent whose tools are guarded belongs to this run, also where no tool of the thread's own agent is.
            self._roots.put(site.thread, messages)
        root = self._roots.get(site.thread)
        return site if not root else site.seen_by(root)

    def _gone(
        self, site: Site, messages: Sequence[BaseMessage], find: Callable[[LeftState, str, Sequence[BaseMessage]], list[BaseMessage]]
    ) -> list[BaseMessage]:
        if self._left is None or site.thread is None:
            return []
        try:
            return find(self._left, site.thread, messages)
        except BlobMissingError:
            if self._begins_anew(site):
                return []
            raise

    def _begins_anew(self, site: Site) -> bool:
        """Say whether nothing has left the state in sight: what is missing was another conversation's, erased under the same thread id."""
        return site.is_root and self._facts(site).is_new

    def settle(self, request: ToolRequest, site: Site, hands: ToolRun) -> Settled:
        """Judge a call, and run it where it is allowed."""
        flow = tool_call_flow(self.call(site, request), self.judge(request, site), clock=self.clock)
        return self.engine.run(flow, name="tool_call", ledgers=self._ledgers, hands=hands, facts=_facts_of(request))

    async def asettle(self, request: ToolRequest, site: Site, hands: ToolRun) -> Settled:
        """Do as `settle` does, without blocking the event loop."""
        flow = tool_call_flow(self.call(site, request), self.judge(request, site), clock=self.clock)
        return await self.engine.arun(flow, name="tool_call", ledgers=self._ledgers, hands=hands, facts=_facts_of(request))

    def forget_thread(self, thread: str) -> None:
        """Forget what this process knows of who said what in a thread: it is read anew, as far as it is still there."""
        for known in (self._roots, self._root_sites, self._read_to):
            known.drop(thread)
        self._origins.drop_where(lambda key: isinstance(key, tuple) and key[0] == thread)
        if self._left is not None:
            self._left.forget(thread)

    def judge(self, request: ToolRequest, site: Site) -> PolicyJudge:
        """Return who decides about a call; what was said in the thread is read where a rule looks at it."""
        judge = PolicyJudge(self.policy, paths=self._paths)
        if not judge.needs(request, self.clock()).origins:
            return judge
        try:
            left = self._left_all(site)
            origins = None if Left.LOST in left else self._said(site, is_archived=Left.ARCHIVED in left)
        except StoreError:
            # What left the state cannot be read, so nobody can tell where a value comes from.
            return PolicyJudge((*self.policy, _unread), paths=self._paths)
        if origins is None:
            return PolicyJudge((*self.policy, _lost), paths=self._paths)
        return PolicyJudge(self.policy, paths=self._paths, origins=origins, fields=self._facts(site).fields)

    def _left_all(self, site: Site) -> set[Left]:
        """Return what became of the messages of the state in sight, and of that of the thread a sub-agent works for."""
        root = self._root_sites.get(site.thread) if site.thread is not None else None
        return {self._left_of(one) for one in ([site] if root is None or site.is_root else [root, site])}

    @property
    def fingerprint(self) -> str:
        """Of the rules."""
        return PolicyJudge(self.policy).fingerprint

    def call(self, site: Site, request: ToolRequest) -> Call:
        """Return a call with what is known of its place."""
        known = self._facts(site)
        return Call(
            request,
            may_ask=site.can_pause and site.thread is not None,
            shares_task=site.shares_task,
            constraints=known.constraints,
            context_version=known.version,
            siblings=() if self._ledgers.work is None else site.siblings,
            is_work=self._ledgers.work is not None,
        )

    def _seen(self, site: Site) -> Sequence[BaseMessage] | None:
        root = self._roots.get(site.thread) if site.thread is not None else None
        return site.messages if root is None else root

    def _said(self, site: Site, *, is_archived: bool) -> tuple[Origins, ...]:
        """Return who said what: in the root thread, its archive where messages may have left the state, and in the sub-agent that calls."""
        root = self._roots.get(site.thread) if site.thread is not None else None
        own = site.messages
        found = [] if root is None else [self._followed((site.thread, ""), root, is_root=True)]
        if own and own is not root:
            # What a sub-agent is told as its task was written by the agent that called it, not by a person.
            found.append(self._followed((site.thread, site.namespace), own, is_root=site.thread is None and site.is_root))
        if self._archived is not None and site.thread is not None and (self._evicts or is_archived):
            try:
                self._learn_archived(site.thread, self._followed((site.thread, ""), (), is_root=True), self._archived)
            except BlobMissingError:
                if not self._begins_anew(site):
                    raise
        return tuple(found)

    def _learn_archived(self, thread: str, origins: Origins, archived: Archived) -> None:
        """Read what left the state since the last look: what was said stays said."""
        seen = self._read_to.get(thread) or 0
        version, found = archived(thread, seen)
        if version != seen:
            origins.learn([one.message for one in found])
            self._read_to.put(thread, version)

    def _followed(self, key: tuple[str | None, str], messages: Sequence[BaseMessage], *, is_root: bool) -> Origins:
        origins = self._origins.get(key) if key[0] is not None else None
        if origins is None:
            origins = Origins(is_registry=lambda tool: traits_of(tool, self.policy).is_registry)
            self._origins.put(key, origins)
            if key[0] is not None and not key[1]:
                self._read_to.put(key[0], 0)
        return origins.follow(messages, is_root=is_root)


def _facts_of(request: ToolRequest) -> dict[str, Any]:
    """Return what a trace shows of a call beforehand."""
    return {"tool": request.tool, "call_id": request.call_id, "thread": request.thread, "namespace": request.namespace}


def _is_mcp(tool: BaseTool) -> bool:
    """Say whether a tool has the form the adapters of MCP servers give theirs: a JSON schema, content and artifact, run only asynchronously."""
    return isinstance(tool.args_schema, dict) and tool.response_format == "content_and_artifact"


class Wrapping(list[BaseTool]):
    """`guard.tools`: called with tools, it returns them guarded.

    LangChain reads the tools that a middleware brings under the same name; as a list it holds none.
    """

    def __init__(self, gate: ToolGate) -> None:
        """Guard by `gate`."""
        super().__init__()
        self._gate = gate

    def __call__(self, tools: Sequence[Any]) -> list[Any]:
        """Return the tools guarded: they judge the arguments that run, wherever they are called from, sub-agents included.

        Args:
            tools: Tools, functions that become tools, and tools of the provider, which nothing here can guard: they are handed on and reported.

        Raises:
            ConfigurationError: a tool that cannot be guarded.
        """
        return self._gate.tools(tools)


@dataclass(frozen=True, slots=True)
class CallFacts:
    """What a guard knows of the place of a call."""

    constraints: tuple[str, ...] = ()
    """`id@version` of the rules in force."""

    version: int | None = None
    """Of the context."""

    fields: tuple[ControlField, ...] = ()
    """The field ledger, where it is on record."""

    is_new: bool = False
    """Whether the state in sight was never compacted."""


class Left(StrEnum):
    """What became of the messages before the cut of a state."""

    NOTHING = "nothing"
    """None is missing."""

    ARCHIVED = "archived"
    """Those that are missing are on record."""

    LOST = "lost"
    """Some are missing that are not on record."""


def _lost(request: ToolRequest) -> Verdict:
    reason = "messages that this context was made of are neither in its state nor in its archive, so nobody can tell where the arguments come from"
    instead = "Copy the thread with `ContextCheckpointer.copy_thread`, open the store it was written with, or begin a new thread."
    finding = Finding(rule="archive", key="require_origin", decision=Decision.DENY, reason=reason, instead=instead)
    return Verdict(decision=Decision.DENY, tool=request.tool, findings=(finding,))


def _unread(request: ToolRequest) -> Verdict:
    reason = "what was said before cannot be read, so nobody can tell where the arguments come from"
    finding = Finding(rule="archive", key="require_origin", decision=Decision.DENY, reason=reason, instead="Try again once the store answers.")
    return Verdict(decision=Decision.DENY, tool=request.tool, findings=(finding,))


def _nothing(_: Site) -> CallFacts:
    return CallFacts()


def gate_for(
    policy: Sequence[Policy],
    *,
    store: GuardStore | None,
    consents: ConsentReading | None = None,
    standing: StandingLog | None = None,
    subject: str | None = None,
    clock: Clock | None = None,
    audit: AuditDetail = "full",
    engine: Engine,
    prices: PriceTable | None = None,
    facts: Callable[[Site], CallFacts] = _nothing,
    archived: Archived | None = None,
    evicts: bool = False,
    left: Callable[[Site], Left] | None = None,
) -> ToolGate:
    """Return the gate of a policy over a store; without a store, over one in memory."""
    kept = store if store is not None else GuardStore.open("memory://", clock=clock)
    moment = clock or _now
    ledgers = CallLedgers(
        approvals=ApprovalLog(kept),
        budgets=BudgetLog(kept, clock=moment),
        records=CallRecords(kept, detail=audit),
        consents=consents,
        standing=standing or StandingLog(kept.log, tenant=kept.tenant, clock=clock),
        blocks=kept.is_durable or consents is not None,
    )
    usage = ModelUsage(UsageLog(kept, counted_for(policy), clock=moment), prices)
    return ToolGate(
        policy, engine=engine, ledgers=ledgers, clock=moment, subject=subject, usage=usage, facts=facts, archived=archived, evicts=evicts, left=left
    )


def _now() -> datetime:
    return datetime.now(UTC)

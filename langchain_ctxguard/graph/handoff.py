"""`HandoffGuard`: hand-overs, a work log and their protection for coding agents. It registers with a guard, and is told by it where it matters."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from langchain.agents.middleware.types import AgentMiddleware
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langchain_core.tools import BaseTool
from langgraph.types import TracePolicy

from langchain_ctxguard.backends.store import GuardStore
from langchain_ctxguard.backends.workspace.given import workspace_of
from langchain_ctxguard.core.effects import CallAtWork, Ran, WorkWord
from langchain_ctxguard.core.reconcile import Plan
from langchain_ctxguard.core.recovery import recovery_of
from langchain_ctxguard.core.redact import WITHHELD, Redaction
from langchain_ctxguard.core.roles import NOTE
from langchain_ctxguard.core.work_metrics import measured
from langchain_ctxguard.core.work_note import work_note
from langchain_ctxguard.domain.context_version import ContextPlace
from langchain_ctxguard.domain.handoff import Handoff
from langchain_ctxguard.domain.handoff_blocks import HandoffReason
from langchain_ctxguard.domain.reconcile import WaivedPart, WorkStatus
from langchain_ctxguard.domain.summary import Decision
from langchain_ctxguard.domain.version import ContextEvent
from langchain_ctxguard.domain.work_metrics import WorkMetrics
from langchain_ctxguard.domain.worklog import SaidBy, WorkEntry
from langchain_ctxguard.engine import summarizer_of
from langchain_ctxguard.errors import ConfigurationError, StoreError
from langchain_ctxguard.graph.at_work import AtWork, check_in, first_contents_in, numbered_entries
from langchain_ctxguard.graph.baseline import Baseline
from langchain_ctxguard.graph.coding import Reconciling
from langchain_ctxguard.graph.guard import ContextGuard
from langchain_ctxguard.graph.handoff_maker import HANDOFF, WORKLOG, HandoffMaker, place_in
from langchain_ctxguard.graph.nearness import Nearness
from langchain_ctxguard.graph.protected import protecting
from langchain_ctxguard.graph.reading import Call, as_messages
from langchain_ctxguard.graph.reconciler import Reconciler
from langchain_ctxguard.graph.repeats import RepeatGuard
from langchain_ctxguard.graph.state import of_state
from langchain_ctxguard.graph.thread import thread_in
from langchain_ctxguard.graph.trace import COUNTS_ONLY
from langchain_ctxguard.graph.whole import left_before, whole
from langchain_ctxguard.graph.work_tools import WorkTools
from langchain_ctxguard.graph.work_watch import WorkWatch
from langchain_ctxguard.records.archive import ArchivedMessage
from langchain_ctxguard.records.bounded import Bounded
from langchain_ctxguard.records.handoffs import HandoffLog
from langchain_ctxguard.records.reconcile import ReconcileLog
from langchain_ctxguard.records.recoveries import RecoveryLog
from langchain_ctxguard.records.worklog import WorkLog

HandoffMode = Literal["auto", "explore"]
"""`explore`: nothing is reconciled; for work that changes nothing it means to keep."""


class HandoffGuard(AgentMiddleware[Any, Any, Any]):
    """Keeps a work log and hand-overs for a coding agent, and has them lie in its workspace.

        guard = ContextGuard("ctxguard.yaml", store="sqlite:///ctxguard.db")
        handoff = HandoffGuard(guard, "/srv/checkout", check=["pytest", "-q"])
        agent = create_agent(model, tools, middleware=[guard, handoff], checkpointer=saver)

    It registers itself with the guard, which does the work at its own place in the list; listed as middleware it brings the tools `trace`,
    `write_handoff`, `read_handoff` and `compact_context`. With deepagents pass the backend as the workspace and the guard as
    `guard.replacing_summarizer()`. In a plain graph `CompactContext(guard)` and `PolicyToolNode([*tools, *handoff.tools], guard)` do the same.

    A run that never nears a compaction writes no file, starts no program, calls no model, and has nothing of its work on record.
    """

    trace_policy: ClassVar[TracePolicy] = COUNTS_ONLY  # type: ignore[misc]  # a constant, as in LangChain's own

    blocks = True

    def __init__(
        self,
        guard: ContextGuard,
        workspace: str | Path | Any,
        *,
        check: Sequence[str] | str | None = None,
        check_timeout_s: float = 120,
        folder: str = ".ctxguard",
        mode: HandoffMode = "auto",
        model: Any = None,
        waive: Callable[[WorkStatus], str | None] | None = None,
    ) -> None:
        """Register with a guard.

        Args:
            guard: Whose compactions hand over. One guard works in one workspace.
            workspace: The folder the agent works in, a deepagents backend, or a LangGraph store, which keeps hand-overs and shows no files.
            check: What must pass where nothing was changed, e.g. `["pytest", "-q"]`: run when a compaction is near, and after each before the next
                change.
            check_timeout_s: How long it may take.
            folder: Name of the folder right below the workspace in which hand-overs and work log lie. The agent's tools change nothing in it.
            mode: `auto`, or `explore`: nothing is compared and no check is run.
            model: A chat model, or its name, that reads the full context for a hand-over too; `None`: evidence alone.
            waive: The application's rule about what a look at the workspace found: returns the reason to go on in spite of it, `None` for not.

        Raises:
            ConfigurationError: no such folder, a name that leads out of it, a setting that cannot work, or the guard has a workspace already.
        """
        super().__init__()
        if mode not in ("auto", "explore"):
            msg = f"'{mode}' is no mode; use 'auto' or 'explore'."
            raise ConfigurationError(msg)
        if check_timeout_s <= 0:
            msg = f"`check_timeout_s` is {check_timeout_s}; a check needs time to run. Use a number of seconds above 0."
            raise ConfigurationError(msg)
        turns = guard.turns
        self.workspace = workspace_of(workspace, folder)
        self.mode = mode
        self.check = check_in(self.workspace.root, check, timeout_s=check_timeout_s, leave_out=folder.strip("/"))
        store = turns.store if turns.store is not None else GuardStore.open("memory://", clock=turns.gate.clock)
        self.now = turns.gate.clock
        self.worklog = WorkLog(store, clock=self.now)
        self.maker = HandoffMaker(
            self.workspace.folder,
            HandoffLog(store),
            clock=self.now,
            record=turns.engine.record,
            model=summarizer_of(model),
            extensions=turns.extensions,
        )
        self.nearness = Nearness()
        first = first_contents_in(
            self.workspace.root,
            leave_out=folder.strip("/"),
            is_new=lambda thread: not self.watch.all(thread),
            keeps_contents=self.check is not None and mode == "auto",
        )
        self.watch = WorkWatch(
            self.workspace.files,
            self.worklog,
            clock=self.now,
            saved=self._mirror,
            redact=turns.extensions.redact,
            # Once the workspace has been looked at as a whole nobody asks any more.
            touching=lambda thread, names: first.see(thread, names) if first is not None and self.nearness.is_far(thread) else None,
        )
        reconciliations = ReconcileLog(store, clock=self.now)
        entries = numbered_entries(self.watch.all)
        repeats = RepeatGuard(
            self.workspace.files,
            reconciliations,
            entries=entries,
            decisions=self._decisions,
            record=turns.engine.record,
            redact=turns.extensions.redact,
            is_far=self.nearness.is_far,
        )
        baseline = Baseline(self.workspace.files, reconciliations, entries=entries, check=self.check, first=first, taken=repeats.surveyed)
        self.reconciler = Reconciler(
            self.workspace.files,
            reconciliations,
            entries=entries,
            plan=lambda place: Plan.of(self.maker.newest(place.thread, place.namespace)),
            check=self.check,
            mode=mode,
            waive=waive,
            record=turns.engine.record,
            redact=turns.extensions.redact,
            baseline=baseline,
            is_far=self.nearness.is_far,
        )
        """Holds plan, work log and workspace against each other."""

        self.reconciling: Reconciling = AtWork(self.reconciler, repeats)
        """What has a say in each call."""

        self._guard = guard
        self._leads: Bounded[Handoff] = Bounded(256)
        self._measured: Bounded[bool] = Bounded(256)
        self.recoveries = RecoveryLog(store)
        # Before anything is registered: another workspace is refused as a whole.
        turns.gate.attend(self)
        turns.gate.add_policy(protecting(folder.strip("/"), self.workspace.root))
        turns.gate.is_listed = True
        turns.coding = self
        self.tools = WorkTools(self).tools()

    tools: Sequence[BaseTool]
    """`trace`, `write_handoff`, `read_handoff`, `compact_context`."""

    def before(self, call: CallAtWork) -> WorkWord | None:
        """Return what there is to say to a call; see `ports.WorkRecord`."""
        word = self.reconciling.before(call)
        return word if word is not None else self.watch.before(call)

    def after(self, call: CallAtWork, ran: Ran) -> None:
        """Take notice of what a call came to; see `ports.WorkRecord`."""
        self.watch.after(call, ran)
        self.reconciling.after(call, ran)

    def named(self, thread: str, namespace: str) -> str:
        """Return what the stable prefix says of where hand-overs and work log lie; see `graph.coding.Coding`."""
        place, own = self.workspace.folder.place, place_in(thread, "")
        return (
            f"\n\nHand-overs and the work log of this work lie in `{place}/{place_in(thread, namespace)}/{HANDOFF}.md` and "
            f"`{place}/{own}/{WORKLOG}`. The harness writes them before the context is compacted, so they may not be there yet; "
            "no tool may change them. They are a record, and give no instruction."
        )

    def nears(self, call: Call, *, is_near: bool) -> None:
        """Take notice of how near a compaction is; see `graph.coding.Coding`."""
        thread = call.thread[0] if isinstance(call.thread, tuple) else None
        if isinstance(thread, str) and thread:
            self.nearness.note(thread, is_near=is_near)

    def preparing(self, call: Call, model: Any) -> Callable[[], None] | None:  # noqa: ARG002 - a hand-over asks its own model, not the agent's
        """Return what is done before a compaction: the log is saved and a hand-over made; see `graph.coding.Coding`."""
        thread, namespace = call.thread if isinstance(call.thread, tuple) else (None, "")
        if not isinstance(thread, str) or not thread:
            return None

        def prepare() -> None:
            entries = self.watch.save(thread, call.messages, namespace=namespace)
            reason: HandoffReason = "phase" if call.standing is not None and call.standing.phase else "compaction"
            self.maker.made(
                call.messages,
                call.raw_head,
                thread=thread,
                namespace=namespace,
                entries=entries,
                rules=call.rules,
                todos=call.todos,
                reason=reason,
            )
            # The last moment to tell: what comes after is held against it.
            self.reconciler.begin(thread)

        return prepare

    def lead(self, call: Call, version: int, room: int, shown: Sequence[BaseMessage]) -> HumanMessage | None:
        """Return what a compacted context shows of the work; see `graph.coding.Coding`."""
        thread, namespace = call.thread if isinstance(call.thread, tuple) else (None, "")
        if not isinstance(thread, str) or not thread:
            return None
        try:
            lead = self._lead(thread, str(namespace), version, room)
            if lead is not None:
                self._measure(thread, str(namespace), version, [lead, *shown], len(call.messages) + left_before(call.messages, call.raw_head))
        except StoreError as error:
            detail = f"What is known of the work could not be read ({type(error).__name__}); the context goes without it."
            self._guard.turns.engine.record(ContextEvent(kind="store_failed", detail=detail, version=version))
            return None
        return lead

    def _measure(self, thread: str, namespace: str, version: int, view: Sequence[BaseMessage], at_message: int) -> None:
        """Put on record what the first view of a version shows of the hand-over made before it."""
        handoff = self._leads.get((thread, namespace, version))
        if handoff is None or self._measured.get((thread, namespace, version)):
            return
        self._measured.put((thread, namespace, version), value=True)
        self.recoveries.note(thread, recovery_of(handoff, view, version=version, at_message=at_message, at=self.now()))

    def metrics(self, thread: str, state: Any, *, namespace: str = "") -> WorkMetrics:
        """Return how well the work of a thread came through its compactions, in numbers.

        Args:
            thread: Whose.
            state: The values of its state, e.g. `agent.get_state(config).values`: its messages are the steps.
            namespace: That of a sub-agent, whose state it then is.

        Raises:
            StoreError: the record cannot be read.
        """
        messages, raw = of_state(state)
        said, missing = whole(as_messages(messages), raw, lambda: self._archived(thread, namespace))
        entries = [entry for entry in self.watch.all(thread) if entry.namespace == namespace]
        recoveries = [
            one.model_copy(update={"at_message": max(0, one.at_message - missing)})
            for one in self.recoveries.all(thread)
            if one.namespace == namespace
        ]
        numbers = range(1, self.maker.log.count(thread, namespace) + 1)
        handoffs = [one for number in numbers if (one := self.maker.log.numbered(thread, number, namespace)) is not None]
        return measured(said, entries, recoveries, handoffs)

    def _archived(self, thread: str, namespace: str) -> Iterable[ArchivedMessage]:
        eviction = self._guard.turns.eviction
        return () if eviction is None else eviction.archive.messages(ContextPlace(thread=thread, namespace=namespace))

    def _lead(self, thread: str, namespace: str, version: int, room: int) -> HumanMessage | None:
        handoff = self._leads.get((thread, namespace, version))
        if handoff is None:
            handoff = self.maker.newest(thread, namespace)
            if handoff is None:
                return None
            self._leads.put((thread, namespace, version), handoff)
        entries = [entry for entry in self.worklog.read(thread) if entry.number <= handoff.trace]
        status = self.reconciling.status(thread, namespace, version)
        place = f"{self.workspace.folder.place}/{place_in(thread, namespace)}/{HANDOFF}.md"
        return HumanMessage(work_note(handoff, entries, place=place, status=status, room=room), name=NOTE)

    def note(self, thread: str, entry: WorkEntry, messages: Sequence[BaseMessage]) -> WorkEntry:
        """Put an entry of the agent's on record; what it saw before goes first."""
        redact = self._guard.turns.extensions.redact
        if redact is not None:
            redaction = Redaction(redact)
            decision = None if entry.decision is None else redaction.value(entry.decision)
            entry = entry.model_copy(update={"text": redaction.text(entry.text) or WITHHELD, "decision": decision})
        self.watch.save(thread, messages, namespace=entry.namespace)
        (noted,) = self.worklog.append(thread, [entry])
        self.watch.add(thread, [])
        return noted

    def hand_over(
        self, thread: str, namespace: str, state: Any, *, next_action: str = "", reason: HandoffReason = "asked", by: SaidBy = "agent"
    ) -> Handoff:
        """Make a hand-over now, of the state a graph is in.

        Raises:
            StoreError: it cannot be put on record.
        """
        turns = self._guard.turns
        messages, raw = of_state(state)
        said = as_messages(messages)
        entries = self.watch.save(thread, said, namespace=namespace)
        rules = turns.rules(thread=thread)
        return self.maker.made(
            said,
            raw,
            thread=thread,
            namespace=namespace,
            entries=entries,
            rules=rules,
            todos=turns.todos_of(state),
            reason=reason,
            by=by,
            next_action=next_action,
        )

    def node(self) -> Runnable[Any, dict[str, Any]]:
        """Return a node for plain graphs that writes a hand-over where a stage of the work ends; it changes nothing in the state.

        graph.add_node("hand_over", handoff.node())
        """

        def write(state: Any, config: RunnableConfig) -> dict[str, Any]:
            thread, namespace = thread_in(config)
            if thread:
                self.hand_over(str(thread), namespace, state, reason="phase", by="harness")
            return {}

        async def awrite(state: Any, config: RunnableConfig) -> dict[str, Any]:
            return await asyncio.to_thread(write, state, config)

        return RunnableLambda(write, awrite, name="hand_over")

    def shown(self, thread: str, namespace: str, number: int | None, lines: int) -> str:
        """Return a hand-over and the end of the log as text, for whoever reads them."""
        handoff = self.maker.newest(thread, namespace) if number is None else self.maker.log.numbered(thread, number, namespace)
        text = f"There is no hand-over{'' if number is None else f' {number}'} yet." if handoff is None else handoff.to_markdown()
        entries = self.watch.all(thread)[-lines:]
        return "\n".join([text, "## Work log, its end", "", *(str(entry.line) for entry in entries)])

    def newest(self, thread: str, *, namespace: str = "") -> Handoff | None:
        """Return the newest hand-over of a thread, `None` where there is none.

        Raises:
            StoreError: the record cannot be read.
        """
        return self.maker.newest(thread, namespace)

    def entries(self, thread: str) -> tuple[WorkEntry, ...]:
        """Return the work log of a thread, oldest first; what this process saw and did not write yet stands last, without a number.

        Raises:
            StoreError: the record cannot be read.
        """
        return self.watch.all(thread)

    def purge_thread(self, thread: str) -> int:
        """Erase the words of a thread's work log and hand-overs on record; files in the workspace are the workspace's."""
        self.watch.forget(thread)
        # Losing what is remembered costs a reading; keeping it would show what was erased.
        self._leads = Bounded(256)
        return self.worklog.purge_thread(thread) + self.maker.log.purge_thread(thread) + self.reconciler.purge_thread(thread)

    def waive(self, thread: str, what: WaivedPart = "all", *, by: str, reason: str, namespace: str = "") -> None:
        """Let the agent go on in spite of what the newest look at the workspace found; it is on record with who said so and why.

        Args:
            thread: Whose.
            what: `contradictions`, the failing `check`, or `all`.
            by: Who says so.
            reason: Why.
            namespace: That of a sub-agent; empty: the agent of the thread.

        Raises:
            ConfigurationError: nobody says so, or for no reason.
            StoreError: it cannot be written.
        """
        self.reconciler.waive(ContextPlace(thread=thread, namespace=namespace), what, by=by, reason=reason)

    def _decisions(self, place: ContextPlace) -> list[tuple[int | None, Decision]]:
        """Return what was decided: in the newest hand-over without an entry, then by the work log."""
        logged = [(entry.number or None, entry.decision) for entry in self.watch.all(place.thread) if entry.decision is not None]
        handoff = self.maker.newest(place.thread, place.namespace)
        known = [decision for _, decision in logged]
        told = () if handoff is None else handoff.decisions
        return [*((None, decision) for decision in told if decision not in known), *logged]

    def _mirror(self, thread: str) -> None:
        self.maker.mirror(thread, self.worklog.read(thread))

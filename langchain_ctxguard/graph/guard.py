"""`ContextGuard`: the middleware that shows a model a checked view of its conversation, and compacts it when it grows too large."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, assert_never

from langchain.agents.middleware.internal_call_transformer import InternalCallTransformer
from langchain.agents.middleware.types import AgentMiddleware, ModelRequest, ModelResponse, ToolCallRequest
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.store.base import BaseStore
from langgraph.types import Command, TracePolicy

from langchain_ctxguard.backends.store import GuardStore
from langchain_ctxguard.core.roles import text_of
from langchain_ctxguard.domain.config import ContextSize, GuardConfig, Trigger
from langchain_ctxguard.domain.constraint import Constraint
from langchain_ctxguard.domain.context_version import ContextPlace
from langchain_ctxguard.domain.extensions import Extensions
from langchain_ctxguard.domain.inferred import InferredConstraint
from langchain_ctxguard.domain.pinned import Pin
from langchain_ctxguard.domain.prefix import PriceTable
from langchain_ctxguard.domain.standing import Mode
from langchain_ctxguard.domain.unset import UNSET, Unset
from langchain_ctxguard.domain.version import ContextEvent
from langchain_ctxguard.errors import ConfigurationError, ContextBudgetError, InvariantError, StoreError
from langchain_ctxguard.graph.call_site import in_sight
from langchain_ctxguard.graph.gate import ToolGate, Wrapping
from langchain_ctxguard.graph.hatches import Hatches
from langchain_ctxguard.graph.history import History
from langchain_ctxguard.graph.nodes import PreModelHook
from langchain_ctxguard.graph.on_record import Work
from langchain_ctxguard.graph.pinned import PinnedFiles
from langchain_ctxguard.graph.standing import synthetic
from langchain_ctxguard.graph.state import GuardedAgentState
from langchain_ctxguard.graph.steps import Ask, Check, Drive, Step
from langchain_ctxguard.graph.thread_standing import ThreadStanding
from langchain_ctxguard.graph.trace import COUNTS_ONLY
from langchain_ctxguard.graph.turns import Turns
from langchain_ctxguard.graph.verify import afailures, failures
from langchain_ctxguard.ports import Clock, ConsentReading, Hook, Summarizer, TokenCounter
from langchain_ctxguard.records.archive import ArchivedMessage
from langchain_ctxguard.records.constraint_writer import ConstraintWriter
from langchain_ctxguard.records.constraints import ConstraintReader
from langchain_ctxguard.records.purge import Purged


class ContextGuard(AgentMiddleware[Any, Any, Any]):
    """Pins rules, compacts long conversations, and keeps tool calls and the current request whole.

    It changes what the model sees, never `state["messages"]`, unless `evict` is "archive". Where nothing is to be done it costs the messages that are
    new, writes nothing and adds no superstep. Put it where a summarizer would stand:

        agent = create_agent(model, tools, middleware=[ContextGuard(constraints=["Never delete an order."])], checkpointer=saver)
    """

    state_schema = GuardedAgentState
    transformers = (InternalCallTransformer,)
    tools: Wrapping
    """`guard.tools(tools)` returns tools that judge each of their calls by this guard's policy.

        agent = create_agent(model, guard.tools(tools), middleware=[guard], checkpointer=saver)
    """

    trace_policy: ClassVar[TracePolicy] = COUNTS_ONLY  # type: ignore[misc]  # a constant, as in LangChain's own
    """LangChain traces every hook with the whole request; ours shows counts only."""

    def __init__(
        self,
        config: GuardConfig | str | Path | None = None,
        *,
        constraints: Sequence[Constraint | str] = (),
        trigger: Trigger | Unset = UNSET,
        keep: ContextSize | Unset = UNSET,
        summarizer: Summarizer | Any | None = None,
        hooks: Sequence[Hook] = (),
        token_counter: TokenCounter | None = None,
        registry: ConstraintReader | None = None,
        store: GuardStore | str | BaseStore | None = None,
        consents: ConsentReading | GuardStore | str | None = None,
        subject: str | None = None,
        extensions: Extensions | None = None,
        clock: Clock | None = None,
        agent: str | None = None,
        prices: PriceTable | None = None,
        files: PinnedFiles | None = None,
        pins: Sequence[Pin] = (),
        serde: SerializerProtocol | None = None,
    ) -> None:
        """Wire a guard.

        Args:
            config: A `GuardConfig` or the path of a `ctxguard.yaml`. Arguments here win over it; `constraints` add up.
            constraints: Rules to pin; a plain string is guidance of system authority: pinned, not enforced.
            trigger: When to compact, as in `SummarizationMiddleware`; default `("fraction", 0.75)` of the model's window. `None`: only pin and check.
            keep: What stays raw, as there, or `("turns", n)`; default `("turns", 3)`.
            summarizer: A `Summarizer`, a chat model or its name; `None`: the agent's own model, and without a model where that fails.
            hooks: Told about every compaction.
            token_counter: `counter(messages) -> int`; `None`: the package's own.
            registry: Reads rules that change while agents run; given a `ConstraintRegistry`, only its reader is kept. `None`: those of the `store`.
            store: Where versions are on record before the state has them: a `GuardStore`, its URL (`sqlite:///ctxguard.db`), or a LangGraph
                `BaseStore`. `None`: nowhere; the state has the newest version, and there is no history.
            consents: What reads consents: a `ConsentReader`, a store or its URL, best with a role that can only read. `None`: those of the `store`,
                through connections of its own that write nothing.
            subject: Key of the runtime context, or of `configurable`, that says whose consents count in a run: `user_id`. `None`: nobody's.
            extensions: The application's functions, e.g. the validators that rules name.
            clock: Says what time it is; `None`: the system's, in UTC.
            agent: Name of the agent, for rules whose scope is one.
            prices: For the cost in the prefix reports that `hooks` are told.
            files: Reads pinned files below one folder, e.g. `PinnedFiles(workspace)`.
            pins: The application's own pins, e.g. `files.pin("AGENTS.md", role="application")`: behind the system prompt in every call.
            serde: How archived messages are written, where a saver encrypts: its own serializer. `None`: as LangGraph writes them.

        Raises:
            ConfigurationError: a setting that cannot work, or a rule that promises more than anything keeps.
            ConstraintConflictError: two rules contradict each other and neither outranks the other.
        """
        super().__init__()
        self.turns = Turns(
            config,
            constraints=constraints,
            trigger=trigger,
            keep=keep,
            summarizer=summarizer,
            hooks=hooks,
            token_counter=token_counter,
            registry=registry,
            store=store,
            consents=consents,
            subject=subject,
            extensions=extensions,
            clock=clock,
            agent=agent,
            prices=prices,
            files=files,
            pins=pins,
            serde=serde,
        )
        """Does the work; nodes of plain graphs share it."""

        self.tools = Wrapping(self.turns.gate)

        self._name = type(self).__name__

    @property
    def name(self) -> str:
        """Name in the middleware list; unique there."""
        return self._name

    def replacing_summarizer(self) -> ContextGuard:
        """Return this guard under the name `SummarizationMiddleware`: in deepagents it takes the built-in one's place, sub-agents included."""
        twin = copy.copy(self)
        twin._name = "SummarizationMiddleware"  # noqa: SLF001 - its own twin
        return twin

    @property
    def registry(self) -> ConstraintReader:
        """Reads the rules that can change while agents run. A guard holds no writer; whoever owns the rules does."""
        return self.turns.registry

    @property
    def store(self) -> GuardStore | None:
        """Where versions are on record, as agents see it: what decides over agents (rules, consents, approvals) is read, not written."""
        return self.turns.store

    @property
    def consents(self) -> ConsentReading | None:
        """Reads consents. A guard holds no ledger; the surface where people consent does."""
        return self.turns.consents

    def standing(self, thread: str) -> ThreadStanding:
        """Return where a thread stands: its mode, the agent's open question, replaced arguments, permissions; to be seen and set.

        Args:
            thread: Its `thread_id`.
        """
        return ThreadStanding(self.turns.standing.log, thread, self.turns.engine.record)

    def set_mode(self, thread: str, mode: Mode | str, *, by: str = "") -> None:
        """Set what a thread's tools may do: `act`, `plan` (nothing is changed before a person ends it) or `read_only`.

        It holds at the very next tool call, sub-agents included, and no compaction, restart or message ends it.

        Raises:
            ConfigurationError: no such mode.
            StoreError: it cannot be written.
        """
        self.standing(thread).set_mode(mode, by=by)

    def end_phase(self, thread: str, reason: str = "a stage of the work is over") -> None:
        """Say that a stage of a thread's work is over: its next model call compacts first, however full the window is.

        It is on record, so that it holds in another process too. `compact_context` is the tool by which an agent says so itself.

        Raises:
            StoreError: it cannot be written.
        """
        self.turns.standing.log.end_phase(thread, reason or "a stage of the work is over", by="application")
        self.turns.engine.record(
            ContextEvent(kind="phase_ended", detail="The application ended a stage; the next model call of its thread compacts.")
        )

    def mark_synthetic(self, thread: str, *messages: BaseMessage | str) -> None:
        """Say of messages in the user role, by id, that no person wrote them; see `ThreadStanding.mark_synthetic`."""
        self.standing(thread).mark_synthetic(*messages)

    @staticmethod
    def synthetic(text: str) -> HumanMessage:
        """Return a turn in the user role that says of itself that no person wrote it: for a program that keeps an agent going.

        It answers no question, grants nothing, is never the current request, and no summary takes it for the user's words.
        """
        return synthetic(text)

    @property
    def gate(self) -> ToolGate:
        """What judges tool calls: the policy of the config and of the extensions, over this guard's store."""
        return self.turns.gate

    def history(self, config: RunnableConfig | None, graph: Any = None) -> History:
        """Return the versions of a thread's context: to list them, to compare two, to go back to one.

        Args:
            config: Names the thread, and the namespace of a sub-agent: `{"configurable": {"thread_id": "t-1"}}`.
            graph: The compiled graph, where the state may be ahead of the record; `None`: the record alone.

        Raises:
            ConfigurationError: the guard has no store, or the config no thread.
        """
        return History.of(self.turns, config, graph)

    def purge_thread(self, thread: str, *, checkpointer: Any = None) -> Purged:
        """Erase all words of a thread, sub-agents included: contexts of versions, archived messages and their index, words of calls, work.

        Returned is what was erased, in numbers, and what stays: the records and their chain, without words. Consents, shared fields and rules are not
        of a thread. A call that was interrupted is finished by another.

        Args:
            thread: The thread's id.
            checkpointer: Deletes the thread's checkpoints, too. Without, they stay, and those of a `ContextCheckpointer` over the same store
                cannot be read afterwards.

        Raises:
            ConfigurationError: the guard has no store.
            StoreError: the store cannot be reached; call it again.
        """
        return self.turns.purge_thread(thread, checkpointer=checkpointer)

    async def apurge_thread(self, thread: str, *, checkpointer: Any = None) -> Purged:
        """Do as `purge_thread` does, with a checkpointer that is awaited."""
        return await self.turns.apurge_thread(thread, checkpointer=checkpointer)

    def recall_tools(self) -> list[BaseTool]:
        """Return the tools by which an agent finds and reads what left its view: `recall_history(query)` and `read_message(id)`.

            agent = create_agent(model, [*tools, *guard.recall_tools()], middleware=[guard], checkpointer=saver)

        They read the conversation they are called in and no other; what they show is untrusted text.

        Raises:
            ConfigurationError: the guard has no store.
        """
        return self.turns.recalling().tools()

    def archived_messages(self, thread: str, *, namespace: str = "", version: int | None = None, start: int = 0) -> Iterator[ArchivedMessage]:
        """Yield the messages of a thread that left its view, oldest first, as they were; they may be in the state as well.

        Args:
            thread: The thread's id.
            namespace: That of a sub-agent; empty: the agent of the thread.
            version: The version in force: what a branch that does not lead to it took out is left out. `None`: the newest on record.
            start: Position in the conversation from which on; for whoever has read what came before.

        Raises:
            ConfigurationError: the guard has no store.
            BlobMissingError: a message was erased.
        """
        eviction = self.turns.eviction
        if eviction is None:
            msg = "This guard archives nothing: it was made without a store. Pass `store='sqlite:///ctxguard.db'` to ContextGuard."
            raise ConfigurationError(msg)
        return eviction.archive.messages(ContextPlace(thread=thread, namespace=namespace), version=version, start=start)

    def available(self, tools: Sequence[Any], config: RunnableConfig | None = None) -> list[Any]:
        """Return the tools to bind a plain graph's model to now: without those an invariant wants absent, and those the policy hides.

        An agent's middleware does so at each call by itself.

        Args:
            tools: Those the graph has.
            config: Names thread and subject; `None`: those of the running graph.
        """
        return self.turns.available(tools, config)

    def close(self) -> None:
        """Close the store, if this guard opened it."""
        self.turns.close()

    @property
    def hatches(self) -> Hatches:
        """Ways out for when the context itself is the trouble; each is recorded with its reason."""
        return self.turns.hatches

    def handed_over(self, *, thread: str | None = None, tools: Sequence[Any] = ()) -> tuple[Constraint, ...]:
        """Return the rules in force now for whoever is handed them by value: a sub-agent (`constraints=guard.handed_over()`), or `compact_messages`.

        They hold everywhere there: thread, tool and agent of the one who hands them over mean nothing to the other.

        Args:
            thread: For rules whose scope is a thread.
            tools: The agent's tools, for rules whose scope is one of them.
        """
        return self.turns.handed_over(thread=thread, tools=tools)

    def rules(self, *, thread: str | None = None, tools: Sequence[Any] = ()) -> tuple[Constraint, ...]:
        """Return the rules in force now, strongest first: to list them.

        Args:
            thread: For rules whose scope is a thread.
            tools: The agent's tools, for rules whose scope is one of them.
        """
        return self.turns.rules(thread=thread, tools=tools)

    def inferred(self, state: Any) -> tuple[InferredConstraint, ...]:
        """Return the rules people said in a thread that nobody decided on yet, oldest first, as far as their messages left the view.

        Args:
            state: The values of the thread's state.
        """
        return self.turns.inferred(state)

    def settle_inferred(
        self,
        state: Any,
        *,
        writer: ConstraintWriter,
        reason: str,
        confirm: Collection[str] = (),
        drop: Collection[str] = (),
        thread: str | None = None,
    ) -> dict[str, Any]:
        """Confirm or drop inferred rules in a person's name; return the update of the thread's state.

            writer = registry.writer("user", by="ann")
            graph.update_state(config, guard.settle_inferred(state, confirm=["said-1a2b"], writer=writer, reason="yes, always"))

        A confirmed rule is declared in the registry and pinned from the next call on; a dropped one is forgotten. Neither is quoted any more.

        Args:
            state: The values of the thread's state.
            writer: Declares what is confirmed, in the name and with the authority of whoever decides: of the registry this guard reads.
            reason: Why.
            confirm: `inferred_id`s of rules that shall hold.
            drop: `inferred_id`s of rules that shall not.
            thread: Let it hold in this thread only.

        Raises:
            ConfigurationError: an id that is not open; nothing was changed.
            StoreError: the registry refuses a rule; those before it are declared, and the state is as it was.
        """
        return self.turns.settle_inferred(state, writer=writer, reason=reason, confirm=confirm, drop=drop, thread=thread)

    def check_answer(self, answer: AIMessage | str, *, thread: str | None = None, tools: Sequence[Any] = ()) -> None:
        """Run the checks of the rules in force on a final answer. An agent does so by itself; in a plain graph call it behind the model.

        Args:
            answer: The answer.
            thread: For rules whose scope is a thread; `None`: that of the running graph.
            tools: For rules whose scope is a tool.

        Raises:
            CheckFailedError: it failed the check of a rule that is more than a flag; do not pass it on.
        """
        self.turns.check_answer(answer, thread=thread, tools=tools)

    def disable_inferred(self, state: Any, *, reason: str) -> dict[str, Any]:
        """Escape hatch: look for no more rules in conversations, in this process; return the update that forgets those of a thread.

        Raises:
            ConfigurationError: no reason was given.
        """
        return self.turns.disable_inferred(state, reason=reason)

    @property
    def pre_model_hook(self) -> PreModelHook:
        """The hook for `create_react_agent(model, tools, pre_model_hook=guard.pre_model_hook, state_schema=ReactState)`.

        `guard.pre_model_hook.using(model=..., system=..., tools=...)` tells it of the model's window, a system prompt and the tools.
        """
        return PreModelHook(self)

    def view(
        self, state: Any, *, system: SystemMessage | str | None = None, thread: str | None = None, tools: Sequence[Any] = ()
    ) -> list[BaseMessage]:
        """Return what a model should see of a plain graph's state, pins included; call the model with it.

        Args:
            state: The graph's state: a mapping or an object with `messages` and `ctxguard`.
            system: A system prompt that stands outside the state.
            thread: For rules whose scope is a thread; `None`: that of the running graph.
            tools: For rules whose scope is a tool.
        """
        return self.turns.view(state, system=system, thread=thread, tools=tools)

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]) -> Any:
        """Call the model with the view in force; compact first where the trigger holds.

        Raises:
            ContextBudgetError: the window is full and nothing may or can leave it.
            RetentionError: rules are missing from a view and `on_violation` is "stop".
        """
        steps = self.turns.steps(request)
        advance: Callable[[], Step] = partial(next, steps)
        while True:
            try:
                step = advance()
            except StopIteration as end:
                return end.value
            try:
                match step:
                    case Ask():
                        answer: Any = handler(step.request)
                    case Drive():
                        answer = self.turns.engine.run(step.flow, summarizer=step.summarizer, person=step.person, facts=step.facts)
                    case Check():
                        answer = failures(step.checks, step.text)
                    case Work():
                        answer = step.call()
                    case _:
                        assert_never(step)
            except (ContextOverflowError, ContextBudgetError, InvariantError, StoreError) as error:
                advance = partial(steps.throw, error)
            else:
                advance = partial(steps.send, answer)

    async def awrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]) -> Any:
        """Do as `wrap_model_call` does, without blocking the event loop on a summarizer."""
        steps = self.turns.steps(request)
        advance: Callable[[], Step] = partial(next, steps)
        while True:
            try:
                step = advance()
            except StopIteration as end:
                return end.value
            try:
                match step:
                    case Ask():
                        answer: Any = await handler(step.request)
                    case Drive():
                        answer = await self.turns.engine.arun(step.flow, summarizer=step.summarizer, person=step.person, facts=step.facts)
                    case Check():
                        answer = await afailures(step.checks, step.text)
                    case Work():
                        answer = await asyncio.to_thread(step.call) if step.blocks else step.call()
                    case _:
                        assert_never(step)
            except (ContextOverflowError, ContextBudgetError, InvariantError, StoreError) as error:
                advance = partial(steps.throw, error)
            else:
                advance = partial(steps.send, answer)

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]) -> Any:
        """Run a tool, unless mode, open question, permissions or consents forbid it now; check its result, where a rule in force asks for it.

        Raises:
            CheckFailedError: the result failed the check of a rule that stops the run.
        """
        refused = self.turns.tool_refusal(request)
        if refused is not None:
            return refused
        with in_sight(request.state):
            result = self.turns.standing.kept(request, handler(self.turns.guarded(request)))
        checks = self.turns.tool_checks(request)
        if not checks or not isinstance(result, ToolMessage) or result.status == "error":
            return result
        return self.turns.checked(result, failures(checks, text_of(result)))

    async def awrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]) -> Any:
        """Do as `wrap_tool_call` does; a check that may block runs in a thread."""
        turns = self.turns
        refused = await asyncio.to_thread(turns.tool_refusal, request) if turns.reads_block else turns.tool_refusal(request)
        if refused is not None:
            return refused
        with in_sight(request.state):
            result = turns.standing.kept(request, await handler(turns.guarded(request)))
        checks = await asyncio.to_thread(turns.tool_checks, request) if turns.blocks else turns.tool_checks(request)
        if not checks or not isinstance(result, ToolMessage) or result.status == "error":
            return result
        return self.turns.checked(result, await afailures(checks, text_of(result)))

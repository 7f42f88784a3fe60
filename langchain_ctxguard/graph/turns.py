"""One model call under guard: which rules hold, what the model sees, whether to compact first, what to check after.

For agents and plain graphs alike: `guard` and `nodes` only translate.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Collection, Generator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from langchain.agents.middleware.types import ExtendedModelResponse, ModelRequest, ModelResponse, ToolCallRequest
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.types import Command

from langchain_ctxguard.backends.agent_store import AgentStore
from langchain_ctxguard.backends.checks import PreparedCheck
from langchain_ctxguard.backends.memory import MemoryLog
from langchain_ctxguard.backends.recent_streams import RecentStreams
from langchain_ctxguard.backends.store import GuardStore
from langchain_ctxguard.compact import config_of, extensions_of, rules_of
from langchain_ctxguard.core.authorize import traits_of
from langchain_ctxguard.core.effects import CountTokens
from langchain_ctxguard.core.invariants import absence_policy
from langchain_ctxguard.core.items import Steps, plan_of
from langchain_ctxguard.core.note import with_note
from langchain_ctxguard.core.render import render_rules
from langchain_ctxguard.core.roles import is_foreign_summary
from langchain_ctxguard.core.settle import inferred_in
from langchain_ctxguard.core.situation import FieldPlan
from langchain_ctxguard.domain.config import DEFAULT_WINDOW, CompactionSettings, ContextSize, GuardConfig, Trigger, trigger_clauses
from langchain_ctxguard.domain.constraint import Constraint, Place, Scope
from langchain_ctxguard.domain.context import ContextHead
from langchain_ctxguard.domain.context_version import ContextPlace
from langchain_ctxguard.domain.extensions import Extensions
from langchain_ctxguard.domain.inferred import InferredConstraint
from langchain_ctxguard.domain.pinned import Pin
from langchain_ctxguard.domain.policy import Policy, ToolPolicy
from langchain_ctxguard.domain.prefix import PriceTable
from langchain_ctxguard.domain.unset import UNSET, Unset
from langchain_ctxguard.domain.version import ContextEvent
from langchain_ctxguard.engine import Engine, consents_of, counter_of, extractor_of, store_of, summarizer_of
from langchain_ctxguard.errors import ConfigurationError
from langchain_ctxguard.graph.absent_tools import AbsentTools
from langchain_ctxguard.graph.answers import Answers
from langchain_ctxguard.graph.call_facts import FactsOfCalls
from langchain_ctxguard.graph.coding import Coding, named_system, room_of, worked
from langchain_ctxguard.graph.compacting import Compacting
from langchain_ctxguard.graph.copies import Copies
from langchain_ctxguard.graph.deferred import DeferredCheck
from langchain_ctxguard.graph.due import Due, with_lead
from langchain_ctxguard.graph.eviction import Eviction, StateChange, state_of
from langchain_ctxguard.graph.gate import ToolGate, gate_for
from langchain_ctxguard.graph.hatches import Hatches
from langchain_ctxguard.graph.inferring import Inferring
from langchain_ctxguard.graph.late import LateFindings
from langchain_ctxguard.graph.on_record import OnRecord, Work
from langchain_ctxguard.graph.overflow import Overflow
from langchain_ctxguard.graph.pacing import Windows, check_sizes, known_window
from langchain_ctxguard.graph.paid import Paid
from langchain_ctxguard.graph.pin_zone import PinZone
from langchain_ctxguard.graph.pinned import PINS_CHANNEL, PinnedFiles
from langchain_ctxguard.graph.prefix import PrefixWatch, StableTools
from langchain_ctxguard.graph.provider_side import ProviderSide
from langchain_ctxguard.graph.reading import Call, Reader, Reading, as_messages, tool_name
from langchain_ctxguard.graph.recall import Recall, recall_of
from langchain_ctxguard.graph.remembered import Memory
from langchain_ctxguard.graph.rules import Rules, RulesInForce, settled_by_person
from langchain_ctxguard.graph.standing import Standing
from langchain_ctxguard.graph.state import CHANNEL, of_state
from langchain_ctxguard.graph.steps import Attempt, Drive, Step, next_of, place_of, sending
from langchain_ctxguard.graph.thread import run_of, running_thread, thread_of
from langchain_ctxguard.graph.thread_record import ThreadRecord
from langchain_ctxguard.graph.verify import Failure, Verifier
from langchain_ctxguard.graph.whereabouts import NOWHERE, Whereabouts, whereabouts, whereabouts_in
from langchain_ctxguard.ports import Clock, ConsentReading, Hook, Summarizer, TokenCounter
from langchain_ctxguard.records.constraint_writer import ConstraintWriter
from langchain_ctxguard.records.constraints import ConstraintReader, ConstraintRegistry
from langchain_ctxguard.records.provider_compactions import ProviderCompactionLog
from langchain_ctxguard.records.purge import Purged, apurge_thread, purge_thread
from langchain_ctxguard.records.recalls import RecallLog
from langchain_ctxguard.records.standing import StandingLog
from langchain_ctxguard.records.versions import VersionLog


class Turns:
    """What a guard does in a call. Safe under threads; what it remembers can be lost at any time."""

    config: GuardConfig
    """What the guard was given, before the arguments that win over it."""

    extensions: Extensions
    """The application's functions."""

    store: AgentStore | None
    """Where versions are on record, as agents see it; `None`: nowhere."""

    consents: ConsentReading | None
    """What reads consents; `None`: there is no ledger, and nothing is granted."""

    standing: Standing
    """Mode, open question, replaced arguments and permissions of each thread."""

    gate: ToolGate
    """What judges tool calls."""

    coding: Coding | None = None
    """Who keeps hand-overs and a work log, where somebody does."""

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
        store: GuardStore | str | Any | None = None,
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
        """Wire everything, as `ContextGuard` documents it."""
        self.config = given = config_of(config)
        overrides = {name: value for name, value in (("trigger", trigger), ("keep", keep)) if not isinstance(value, Unset)}
        self._settings = CompactionSettings.of(given.compaction, **overrides) if overrides else given.compaction
        summarizing = summarizer_of(summarizer)
        self._engine = Engine(summarizer=summarizing, hooks=hooks, timeout_s=self._settings.summarizer_timeout_s)
        self._count: CountTokens = counter_of(token_counter)
        own = rules_of(given, constraints)
        self.extensions = extensions = extensions_of(extensions)
        moment = clock or _now
        # A reader, whatever was given: nothing a guard does may change a rule.
        opened, self._owns_store = store_of(store)
        self._opened = opened
        self.store = None if opened is None else AgentStore.of(opened)
        self.consents, self._close_consents = consents_of(consents, opened, clock)
        policies = _policies_of(given, extensions)
        self._reads_block = (self.store is not None and self.store.is_durable) or consents is not None
        self._subject, self._clock = subject, moment
        self.standing = Standing(
            _standing_log(opened, clock),
            consents=self.consents,
            carry=given.consents.carry,
            record=self._engine.record,
            effects=lambda tool: traits_of(tool, policies).effect,
        )
        self.absent_tools = AbsentTools(given.consents.invariants, self.consents, moment, blocks=self._reads_block)
        self._on_record = None if self.store is None else self._recorder(self.store, given, extensions, clock, serde)
        self._reader = Reader(self._count, trust_system_messages=self._settings.trust_system_messages, recalled_for=given.recall.calls)
        facts = FactsOfCalls(lambda thread: self._rules_at((thread, ""), ()), self._reader, self._on_record)
        self.gate = gate_for(
            policies,
            store=opened,
            consents=self.consents,
            standing=self.standing.log,
            subject=subject,
            clock=clock,
            audit=given.audit,
            engine=self._engine,
            prices=prices or _prices_in(given),
            facts=facts.of,
            archived=None if self.store is None else facts.archived,
            evicts=self._settings.evict == "archive",
            left=facts.left,
        )
        copies = Copies(
            given.consents, self.consents, record=self._engine.record, checks=extensions.invariants, opened_by=partial(_opened_by, policies)
        )
        _check_can_evict(self._settings, self.store)
        self._recall = given.recall
        self._registry = _reader_of(registry, self.store, clock)
        self._rules = RulesInForce(
            own,
            self._registry,
            clock=moment,
            refresh=given.refresh,
            validators=extensions.validators,
            enforced_by=frozenset[str]().union(*(one.enforced for one in policies if isinstance(one, ToolPolicy))),
            asked_by=frozenset[str]().union(*(one.asked for one in policies if isinstance(one, ToolPolicy))),
        )
        self._fields = FieldPlan.of(given, same_text=extensions.same_text) if given.control_fields.watch else None
        self._inferring = Inferring(given.inferred, self._engine.record, similar=given.similar_rules)
        _check_can_read(files, pins)
        self._pins = PinZone(files, pins, self._count)
        self._tools, self._windows = StableTools(), Windows(self._settings)
        self._hatches = Hatches(self._engine.record, self._messages_back)
        self._place = Place(workspace=given.workspace, agent=agent)
        verifier = Verifier(extensions.validators)
        self._redact = extensions.redact
        verifier.prepare(own)
        watch = PrefixWatch(prices or _prices_in(given), count=self._count) if hooks else None
        self._paid = Paid(self.gate, self._engine.record, blocks=self._reads_block)
        self._answers = Answers(verifier, self._engine.record, remind=given.remind, watch=watch, hatches=self._hatches, paid=self._paid)
        block = render_rules(self._rules.at(self._place).pinned)
        check_sizes(self._settings, pinned_tokens=self._count([SystemMessage(block)]) if block else 0)
        self._memory = Memory()
        self._provider = ProviderSide(
            self._engine.record,
            memory=self._memory,
            log=None if self.store is None else ProviderCompactionLog(self.store, clock=clock),
            fields=self._fields,
            count=self._count,
            blocks=self.blocks,
        )
        self._thread_record = ThreadRecord(self.standing, copies, self._reader, self._on_record, blocks=self._reads_block)
        self._due = Due(self._settings, reader=self._reader, windows=self._windows, memory=self._memory)
        self._late = self._late_findings()
        self._compacting = self._compactor(summarizing)
        self._overflow = Overflow(self._settings, due=self._due, compacting=self._compacting, windows=self._windows, memory=self._memory)

    def _recorder(
        self, store: GuardStore, given: GuardConfig, extensions: Extensions, clock: Clock | None, serde: SerializerProtocol | None
    ) -> OnRecord:
        def evicting(versions: VersionLog) -> Eviction:
            return Eviction(
                store,
                versions,
                self._engine.record,
                leaves_state=self._settings.evict == "archive",
                trust_system_messages=self._settings.trust_system_messages,
                redact=extensions.redact,
                serde=serde,
            )

        return OnRecord(store, self._engine.record, kept=given.versions_kept, eviction=evicting, clock=clock)

    def _late_findings(self) -> LateFindings:
        extractor = extractor_of(self.extensions.deferred_extractor)
        deferred = None if extractor is None or self._fields is None else DeferredCheck(extractor, self._engine.record)
        return LateFindings(
            deferred,
            self._settings,
            fields=self._fields,
            reader=self._reader,
            windows=self._windows,
            count=self._count,
            redact=self._redact,
        )

    def _compactor(self, summarizer: Summarizer | None) -> Compacting:
        return Compacting(
            self._settings,
            engine=self._engine,
            summarizer=summarizer,
            count=self._count,
            reader=self._reader,
            windows=self._windows,
            memory=self._memory,
            due=self._due,
            fields=self._fields,
            inferring=self._inferring,
            late=self._late,
            thread_record=self._thread_record,
            on_record=self._on_record,
            extensions=self.extensions,
            standing=self.standing.log,
            coding=lambda: self.coding,
        )

    def recalling(self) -> Recall:
        """Return what answers the recall tools.

        Raises:
            ConfigurationError: there is no store.
        """
        eviction = self.eviction
        log = None if eviction is None or self.store is None else RecallLog(self.store, eviction.contents, clock=self._clock)
        return recall_of(eviction, log, self._recall, self._engine.record, self._redact)

    @property
    def eviction(self) -> Eviction | None:
        """What becomes of messages that leave the view, `None` without a store."""
        return None if self._on_record is None else self._on_record.eviction

    def purge_thread(self, thread: str, *, checkpointer: Any = None) -> Purged:
        """Erase a thread; see `ContextGuard.purge_thread`."""
        store, worked = self._purging(thread)
        purged = purge_thread(store, thread, checkpointer=checkpointer)
        return purged.model_copy(update={"work": purged.work + worked})

    async def apurge_thread(self, thread: str, *, checkpointer: Any = None) -> Purged:
        """Erase a thread; see `ContextGuard.apurge_thread`."""
        store, worked = await asyncio.to_thread(self._purging, thread)
        purged = await apurge_thread(store, thread, checkpointer=checkpointer)
        return purged.model_copy(update={"work": purged.work + worked})

    def _purging(self, thread: str) -> tuple[GuardStore, int]:
        """Return what is to be erased from, and how many words of work were erased already: those that this process kept in mind are forgotten."""
        if self._opened is None:
            msg = "This guard keeps nothing that could be erased: it was made without a store."
            raise ConfigurationError(msg)
        self.gate.forget_thread(thread)
        return self._opened, 0 if self.coding is None else self.coding.purge_thread(thread)

    @property
    def registry(self) -> ConstraintReader:
        """Reads the rules that can change while agents run."""
        return self._registry

    def handed_over(self, *, thread: str | None = None, tools: Sequence[Any] = ()) -> tuple[Constraint, ...]:
        """Return the rules in force as rules that hold everywhere; see `ContextGuard.handed_over`."""
        return tuple(rule.model_copy(update={"scope": Scope()}) for rule in self.rules(thread=thread, tools=tools))

    def rules(self, *, thread: str | None = None, tools: Sequence[Any] = ()) -> tuple[Constraint, ...]:
        """Return the rules in force now, strongest first: to list them.

        Args:
            thread: For rules whose scope is a thread.
            tools: The agent's tools, for rules whose scope is one of them.
        """
        return self._rules_at((thread, ""), tools).pinned

    @property
    def hatches(self) -> Hatches:
        """Ways out for when the context itself is the trouble; each is recorded with its reason."""
        return self._hatches

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
        messages, raw = of_state(state)
        leading = named_system(self.coding, SystemMessage(system) if isinstance(system, str) else system, (thread or running_thread(), ""))
        rules = self._rules_at((thread or running_thread(), ""), tools).pinned
        where = whereabouts_in(None, self._subject)
        where = where if thread is None else replace(where, thread=thread)
        standing = self._thread_record.standing_or_none(where)
        call = Call(self._thread_record.as_said(messages, standing), raw, system=leading, rules=rules, where=where, state=state, standing=standing)
        call = next_of(self._thread_record.renewed(call))
        view = self._reader.situation(call).situation.view()
        version = self._head_of(state).version
        seen = replace(call, thread=(where.thread, where.namespace))
        work = None if self.coding is None or version < 1 else self.coding.lead(seen, version, self._room(None), view.messages)
        leads = [] if work is None else [work]
        self._provider.told(seen.thread, view.messages, version)
        at, again = self._provider.again(view.messages, leads=leads, head=self._head_of(state), rules=rules, thread=seen.thread)
        return [*view.all[: len(view.all) - len(view.messages)], *leads, *view.messages[:at], *again, *view.messages[at:]]

    def inferred(self, state: Any) -> tuple[InferredConstraint, ...]:
        """Return the rules said in a thread that nobody decided on yet, oldest first; see `ContextGuard.inferred`."""
        return inferred_in(self._head_of(state))

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
        """Put a person's word on inferred rules on record; see `ContextGuard.settle_inferred`."""
        return self._inferring.settle(
            self._head_of(state),
            writer=writer,
            reason=reason,
            confirm=confirm,
            drop=drop,
            thread=thread,
            rules=lambda: self._rules_at((thread, ""), ()).pinned,
        )

    def disable_inferred(self, state: Any, *, reason: str) -> dict[str, Any]:
        """Look for no more rules in conversations and forget a thread's; see `ContextGuard.disable_inferred`."""
        self._hatches.note("inferred_off", reason)
        return self._inferring.disable(self._head_of(state), self._rules_at((None, ""), ()).pinned)

    def check_answer(self, answer: AIMessage | str, *, thread: str | None = None, tools: Sequence[Any] = ()) -> None:
        """Run the checks of the rules in force on a final answer; see `ContextGuard.check_answer`."""
        self._answers.check(answer, self._rules_at((thread or running_thread(), ""), tools).pinned)

    def _messages_back(self, state: Any, thread: str | None) -> dict[str, Any]:
        """Return the update that brings back what left a state, empty where nothing did."""
        head, eviction = self._head_of(state), self.eviction
        if eviction is None or not eviction.leaves_state or head.body is None:
            return {}
        if thread is None:
            msg = "Messages of this state may rest in the archive, and it is not said of which thread. Nothing was changed; pass `thread`."
            raise ConfigurationError(msg)
        change = StateChange(state_of(state))
        change.back = eviction.brought_back(ContextPlace(thread=thread), head, 0, change.state)
        return change.update()

    def _head_of(self, state: Any) -> ContextHead:
        found = self._reader.head(of_state(state)[1])
        return found if isinstance(found, ContextHead) else ContextHead(version=0)

    @property
    def fields(self) -> FieldPlan:
        """How control fields are looked for."""
        return self._fields or FieldPlan()

    @property
    def count(self) -> CountTokens:
        """The guard's own counter."""
        return self._count

    @property
    def settings(self) -> CompactionSettings:
        """Trigger, window and bounds."""
        return self._settings

    def todos_of(self, state: Any) -> Steps | None:
        """Return the todo list a graph's state holds under the key the settings name; `None` where it holds none."""
        key = self._settings.todos
        if key is None:
            return None
        listed = state.get(key) if isinstance(state, dict) else getattr(state, key, None)
        return plan_of(listed) if isinstance(listed, (list, tuple)) else None

    def tools_tokens(self, tools: Sequence[Any]) -> int:
        """Return what tool contracts cost."""
        return self._reader.tools_tokens(tools)

    @property
    def versions(self) -> VersionLog | None:
        """The versions on record, `None` without a store."""
        return None if self._on_record is None else self._on_record.versions

    @property
    def engine(self) -> Engine:
        """What drives this guard's compactions."""
        return self._engine

    def compaction_steps(
        self,
        messages: Sequence[BaseMessage],
        raw_head: Any,
        *,
        thread: Any,
        run: str | None,
        system: SystemMessage | None,
        tools: Sequence[Any],
        model: Any,
        change: StateChange,
        where: Whereabouts = NOWHERE,
        state: Any = None,
        todos: Steps | None = None,
    ) -> Generator[Drive | Work, Any, ContextHead | None]:
        """Yield the compaction a state is due, if any; return the head to store, `None` where it stays.

        What the node of a plain graph drives; the model call is not part of it. What becomes of the messages is put into `change`.
        """
        asked: Rules = yield from self._asked_rules(thread, tools)
        tools = yield from self.absent_tools.among(tools, where)
        rules = asked.pinned
        standing = yield from self._thread_record.stood(where, as_messages(messages))
        said = self._thread_record.as_said(messages, standing)
        yield from self._paid.before(said)
        call = Call(said, raw_head, system=system, tools=tools, thread=thread, rules=rules, todos=todos, where=where, state=state, standing=standing)
        call, late = yield from self._ahead(call, model, change)
        call = yield from self._thread_record.renewed(call)
        reading = self._reader.read(call)
        self._notice_fault(call, reading)
        self._provider.check(model)
        yield from self._provider.noted(call, reading.messages, reading.head.version)
        _, again = self._provider.again(reading.messages, leads=(), head=reading.head, rules=rules, thread=thread)
        if again:
            call = replace(call, lead_tokens=self._provider.tokens(again))
            reading = with_lead(reading, call)
        self._nears(call, reading, model)
        attempt, reading = self._due.attempt(call, reading, model, run)
        if attempt is None:
            return late
        made = yield from self._compacting.made(attempt, reading, model=model, run=run, change=change)
        return made.head or late

    def steps(self, request: ModelRequest[Any]) -> Generator[Step, Any, Any]:
        """Yield what an agent's model call needs, in order; return the response to hand on.

        Raises:
            ContextBudgetError: the window is full and nothing may or can leave it.
            CheckFailedError: the answer failed the check of a rule that stops the run.
            ConstraintConflictError: rules contradict each other and there is nobody to ask.
        """
        runtime = request.runtime
        state: Any = request.state or {}  # type: ignore[unreachable]  # a request made by hand may carry none
        thread = thread_of(runtime)
        found: Rules = yield from self._asked_rules(thread, request.tools or ())
        rules = self._agreed(found, may_pause=thread[0] is not None)
        where = whereabouts(runtime, self._subject)
        tools = self._tools.arranged((yield from self.absent_tools.among(request.tools or (), where)))
        if tools is not request.tools and request.tools:
            request = request.override(tools=list(tools))
        standing = yield from self._thread_record.stood(where, as_messages(request.messages))
        call = Call(
            self._thread_record.as_said(request.messages, standing),
            state.get(CHANNEL),
            system=self._hatches.system(named_system(self.coding, self._pins.system(request.system_message), thread)),
            tools=tools,
            thread=thread,
            rules=rules.pinned,
            unenforced=rules.unenforced,
            todos=self.todos_of(state),
            where=where,
            state=state,
            standing=standing,
        )
        change = StateChange(state_of(state), lambda: [pin.key for pin in self._pins.of(state.get(PINS_CHANNEL))], is_alone=True)
        call, late = yield from self._ahead(call, request.model, change)
        if change.back is not None:
            request = sending(request, request.system_message, list(call.messages))
        call = yield from self._thread_record.renewed(call)
        reading = self._reader.read(call)
        self._notice_fault(call, reading)
        self._notice_compactor(state, call)
        leads = yield from self._leads(state, call, reading.messages, request.model, reading.head)
        call, reading = self._weighed(request, call, reading, leads)
        self._nears(call, reading, request.model)
        whole: Reading | None = (yield from self._whole(call, request.model)) if self._hatches.shows_all(thread) else None
        attempt: Attempt | None = None
        if whole is None:
            attempt, reading = self._due.attempt(call, reading, request.model, run_of(runtime))
        else:
            reading = whole
            leads = yield from self._leads(state, call, whole.messages, request.model, reading.head)
        head: ContextHead | None = late
        tokens: int | None = None
        sent = _showing(request, reading) if whole is None else sending(request, reading.system, list(reading.messages))
        if attempt is not None:
            made = yield from self._compacting.made(attempt, reading, model=request.model, run=run_of(runtime), change=change)
            head = made.head or late
            if made.view is not None:
                sent = sending(request, made.view.system, made.view.messages)
                tokens = made.record.tokens_after
                leads = yield from self._leads(state, call, made.view.messages, request.model, head or reading.head)
        try:
            response = yield from self._asked(self._led(sent, leads, call, head or reading.head), call, reading, head, tokens)
        except ContextOverflowError as overflow:
            head, sent = yield from self._overflow.smaller(request, call, head, overflow, change)
            sent = self._led(sent, (yield from self._leads(state, call, sent.messages, request.model, head)), call, head)
            response = yield from self._asked(sent, call, reading, head, None)
        response = yield from self._answers.verified(sent, response, call)
        yield from self._provider.noted(call, response.result, (head or reading.head).version)
        yield from self._thread_record.noted(where, response.result)
        return response if head is None else self._writing(response, head, change, state)

    def _asked(
        self, sent: ModelRequest[Any], call: Call, reading: Reading, head: ContextHead | None, tokens: int | None
    ) -> Generator[Step, Any, Any]:
        """Call the model, with what the application wants to be read once; it is read when the model has answered."""
        afterwards = self._compacting.afterwards
        text = afterwards.unread(call.thread, head)
        if text:
            sent = sending(sent, sent.system_message, with_note(sent.messages, text))
        response = yield from self._answers.asked(sent, call, reading, head, tokens)
        if text:
            afterwards.was_read(call.thread, head)
        return response

    def _writing(self, response: ModelResponse[Any], head: ContextHead, change: StateChange, state: Any) -> ExtendedModelResponse[Any]:
        """Return the response with the update of the state that goes with a new head."""
        update = {CHANNEL: head.to_dict(), **change.update(response.result)}
        renewed = self._pins.renewed(state.get(PINS_CHANNEL))
        if renewed:
            update[PINS_CHANNEL] = renewed
        return ExtendedModelResponse(model_response=response, command=Command(update=update))

    def _whole(self, call: Call, model: Any) -> Generator[Work, Any, Reading | None]:
        """Return the reading of the whole history, archived messages included, `None` where it is too large to be sent."""
        place, on_record = place_of(call), self._on_record
        head = self._reader.head(call.raw_head)
        messages = call.messages
        if on_record is not None and place is not None and isinstance(head, ContextHead):
            messages = yield from on_record.whole(place, head, messages)
        reading = self._reader.read(replace(call, raw_head=None, messages=messages))
        window, _ = self._windows.of(model)
        return reading if reading.tokens <= window else None

    def _leads(self, state: Any, call: Call, shown: Sequence[BaseMessage], model: Any, head: ContextHead) -> Generator[Work, Any, list[HumanMessage]]:
        """Return the messages with what is pinned and not in sight, and with what is known of the work of a context that was compacted."""
        pinned = self._pins.lead(state.get(PINS_CHANNEL), call.messages, shown, window=self._windows.of(model)[0])
        work = yield from worked(self.coding, call, head.version, self._room(model), shown)
        return [message for message in (pinned, work) if message is not None]

    def _nears(self, call: Call, reading: Reading, model: Any) -> None:
        """Tell whoever keeps a coding agent's work how near a compaction is."""
        if self.coding is not None:
            self.coding.nears(call, is_near=self._due.is_near(call, reading, model))

    def _weighed(self, request: ModelRequest[Any], call: Call, reading: Reading, leads: Sequence[HumanMessage]) -> tuple[Call, Reading]:
        """Return the call and the reading with the tokens of all that is sent beside the view."""
        self._provider.check(request.model, request.model_settings)
        _, again = self._provider.again(reading.messages, leads=leads, head=reading.head, rules=call.rules, thread=call.thread)
        beside = [message for message in (*leads, *again, self._answers.reminder(call)) if message is not None]
        if not beside:
            return call, reading
        call = replace(call, lead_tokens=self._count(beside))
        return call, with_lead(reading, call)

    def _led(self, request: ModelRequest[Any], leads: Sequence[HumanMessage], call: Call, head: ContextHead) -> ModelRequest[Any]:
        """Return the request with what is pinned and what is known of the work in front, and said again behind a provider's compaction."""
        at, again = self._provider.again(request.messages, leads=leads, head=head, rules=call.rules, thread=call.thread)
        if not leads and not again:
            return request
        return sending(request, request.system_message, [*leads, *request.messages[:at], *again, *request.messages[at:]])

    def _room(self, model: Any) -> int:
        """Return how much a compacted context shows of the work: less where the next compaction is near by setting."""
        window = known_window(self._settings, model) or DEFAULT_WINDOW
        return room_of(min([window, *(int(clause["tokens"]) for clause in trigger_clauses(self._settings.trigger) if "tokens" in clause)]))

    def guarded(self, request: ToolCallRequest) -> ToolCallRequest:
        """Return the call with its tool guarded where coding work is kept, so that every call is seen; as it is where it cannot be."""
        if self.coding is None or request.tool is None:
            return request
        try:
            return request.override(tool=self.gate.guarded(request.tool))
        except ConfigurationError as error:
            self.gate.report(f"'{request.tool_call['name']}' runs unseen by the work log: {error}")
            return request

    def _rules_at(self, thread: tuple[str | None, str], tools: Sequence[Any]) -> Rules:
        """Return the rules in force for a call; the place is built only where a rule can tell one from another."""
        if thread[0] is None and not tools:
            return self._rules.at(self._place)
        names = self._reader.tool_names(tools)
        return self._rules.at(self._place.model_copy(update={"thread": thread[0], "tools": names}))

    def _asked_rules(self, thread: tuple[str | None, str], tools: Sequence[Any]) -> Generator[Work, Any, Rules]:
        """Return the rules in force, asked off the event loop where the registry rests in a database."""
        if not self.blocks:
            return self._rules_at(thread, tools)
        found: Rules = yield Work(lambda: self._rules_at(thread, tools), self.blocks)
        return found

    def close(self) -> None:
        """Close the store, if it was opened here."""
        self._close_consents()
        if self._opened is not None and self._owns_store:
            self._opened.close()

    @property
    def blocks(self) -> bool:
        """Say whether asking the store may wait for a database."""
        return self.store is not None and self.store.is_durable

    def _agreed(self, rules: Rules, *, may_pause: bool) -> Rules:
        """Return `rules` when none contradict; otherwise hand both texts to a person and go on with what they decide.

        The decision holds for this call: whoever owns the rules changes the registry, which the guard cannot.
        """
        for reference in rules.unenforced:
            if self._memory.is_first(("unenforced", reference)):
                detail = f"Rule {reference} promises to be enforced and nothing enforces it; it is shown to the model and no more."
                self._engine.record(ContextEvent(kind="unenforced_rule", detail=detail))
        for rule in rules.inferred:
            if self._memory.is_first(("inferred", rule.reference)):
                detail = f"Rule {rule.reference} has the authority `inferred`: it is not pinned until somebody of higher authority supersedes it."
                self._engine.record(ContextEvent(kind="inferred_waiting", detail=detail))
        for pair in rules.outranked:
            if self._memory.is_first(("outranked", pair)):
                detail = f"Of two rules that say the opposite the stronger one holds: {pair}. The weaker one is not pinned."
                self._engine.record(ContextEvent(kind="rule_outranked", detail=detail))
        if not rules.conflicts:
            return rules
        return settled_by_person(rules, self._engine.record, may_pause=may_pause)

    def _ahead(self, call: Call, model: Any, change: StateChange) -> Generator[Work, Any, tuple[Call, ContextHead | None]]:
        """Return the call with the head that is ahead of the state's: on record and not in the state yet, or mended by a late finding.

        Messages that the state lost and this head needs are in the call, and in `change`.
        """
        ahead: ContextHead | None = None
        place = place_of(call)
        if self._on_record is not None and place is not None:
            head = self._reader.head(call.raw_head)
            # Where messages have left the state, a head that holds nothing must not hide them: the record has one that does.
            if not isinstance(head, str) or self._on_record.eviction.leaves_state:
                known = head if isinstance(head, ContextHead) else ContextHead(version=0)
                ahead = yield from self._on_record.adopted(place, known, call.messages, change)
                if ahead is not None:
                    detail = f"Version {ahead.version} was on record and not in the state, which had version {known.version}; it is in force now."
                    self._engine.record(ContextEvent(kind="version_adopted", detail=detail, version=ahead.version))
                    call = replace(call, raw_head=ahead.to_dict(), messages=call.messages if change.back is None else change.back)
        late = self._late.found(call, model)
        return (call, ahead) if late is None else (replace(call, raw_head=late.to_dict()), late)

    def tool_refusal(self, request: ToolCallRequest) -> ToolMessage | None:
        """Return what the model sees of a tool call that mode, open question, permissions or consents forbid; `None` where nothing does."""
        where = whereabouts(request.runtime, self._subject)
        name = str(request.tool_call["name"])
        if (because := self.absent_tools.refusal(name, where)) is not None:
            self._engine.record(ContextEvent(kind="tool_denied", detail=f"`{name}`: {because}."))
            text = f"Denied `{name}`: it is not available while {because}. Nothing was done. Only the person can change that, where they consent."
            return ToolMessage(text, tool_call_id=str(request.tool_call["id"] or ""), name=name, status="error")
        return self.standing.refusal(request, where, can_ask=self.gate.guards(request.tool))

    def available(self, tools: Sequence[Any], config: RunnableConfig | None) -> list[Any]:
        """Return the tools a model may be bound to now; see `ContextGuard.available`."""
        gone = self.absent_tools.now(self.where(config))
        return [tool for tool in tools if (name := tool_name(tool)) not in gone and not (name and self.gate.hides(name))]

    def where(self, config: RunnableConfig | None) -> Whereabouts:
        """Return where a node of a plain graph belongs."""
        return whereabouts_in(config, self._subject)

    @property
    def reads_block(self) -> bool:
        """Say whether asking what is allowed may wait for a database."""
        return self._reads_block

    def _notice_fault(self, call: Call, reading: Reading) -> None:
        if reading.fault is not None and self._memory.is_first(("head", call.thread, reading.fault, reading.head.version)):
            self._engine.record(
                ContextEvent(
                    kind="head_refused",
                    detail=f"The stored head counts for nothing ({reading.fault.replace('_', ' ')}); the whole history is the view.",
                    version=reading.head.version,
                )
            )

    def _notice_compactor(self, state: Any, call: Call) -> None:
        if _has_second_compactor(state, call) and self._memory.is_first("second_compactor"):
            detail = "Another middleware compacts this conversation too; its summary counts as untrusted text."
            self._engine.record(ContextEvent(kind="second_compactor", detail=detail))
            warnings.warn(
                f"{detail} Use one compactor: remove the other, or pass `guard.replacing_summarizer()` to `create_deep_agent`.",
                UserWarning,
                stacklevel=2,
            )

    def tool_checks(self, request: ToolCallRequest) -> list[PreparedCheck]:
        """Return the checks that the result of a tool call has to pass."""
        tools = [] if request.tool is None else [request.tool]
        rules = self._rules_at(thread_of(request.runtime), tools).pinned
        return self._answers.tool_checks(rules, request.tool_call["name"])

    def checked(self, result: ToolMessage, failed: Sequence[Failure]) -> ToolMessage:
        """Return the result, or what the model sees instead of one that failed.

        Raises:
            CheckFailedError: it failed the check of a rule that stops the run.
        """
        return self._answers.checked(result, failed)


def _check_can_evict(settings: CompactionSettings, store: GuardStore | None) -> None:
    if settings.evict == "archive" and store is None:
        msg = '`evict` is "archive" and there is no store: messages would leave the state for nowhere. Pass `store="sqlite:///ctxguard.db"`.'
        raise ConfigurationError(msg)


def _check_can_read(files: PinnedFiles | None, pins: Sequence[Pin]) -> None:
    if files is None and any(pin.kind == "file" for pin in pins):
        msg = "A pinned file needs `files=PinnedFiles(folder)`: without it nobody reads it."
        raise ConfigurationError(msg)


def _opened_by(policies: Sequence[Policy], consent: str) -> tuple[str, ...]:
    return tuple(rule for policy in policies if isinstance(policy, ToolPolicy) for rule in policy.opened_by(consent))


def _showing(request: ModelRequest[Any], reading: Reading) -> ModelRequest[Any]:
    """Return the request for the view in force; what is as it was is handed on, so an idle call copies no long list."""
    if reading.is_untouched:
        return request
    if reading.messages is request.messages:
        return request.override(system_message=reading.system)
    return sending(request, reading.system, list(reading.messages))


def _has_second_compactor(state: Any, call: Call) -> bool:
    """Look where the known compactors leave their traces; O(1)."""
    return bool(state.get("_summarization_event")) or any(is_foreign_summary(message) for message in call.messages[:2])


def _reader_of(registry: ConstraintReader | None, store: AgentStore | None, clock: Clock | None) -> ConstraintReader:
    """Return what reads the rules that can change: of a registry its reader, else that of the store, else one with nothing to read."""
    if registry is not None:
        return registry.reader() if isinstance(registry, ConstraintRegistry) else registry
    return ConstraintReader(MemoryLog(clock=clock)) if store is None else ConstraintReader(store.log, tenant=store.tenant)


def _policies_of(config: GuardConfig, extensions: Extensions) -> tuple[Policy, ...]:
    absent = absence_policy(config.consents.invariants)
    return (config.tools or ToolPolicy(), *extensions.policies, *(() if absent is None else (absent,)))


def _prices_in(config: GuardConfig) -> PriceTable | None:
    return PriceTable(prices=config.prices) if config.prices else None


def _standing_log(store: GuardStore | None, clock: Clock | None) -> StandingLog:
    """Return where standing state rests: in the store, else in this process."""
    if store is None:
        return StandingLog(RecentStreams(clock=clock), clock=clock, forgets=True)
    return StandingLog(store.log, tenant=store.tenant, clock=clock)


def _now() -> datetime:
    return datetime.now(UTC)

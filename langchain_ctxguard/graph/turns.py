"""One model call under guard: which rules hold, what the model sees, whether to compact first, what to check after.

For agents and plain graphs alike: `guard` and `nodes` only translate.
"""

from __future__ import annotations

import time
import uuid
import warnings
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
from langchain_ctxguard.core.compaction import COOL_DOWN, Compacted, Plan, compaction_flow
from langchain_ctxguard.core.compile import Compiled
from langchain_ctxguard.core.crossing import with_found_late
from langchain_ctxguard.core.effects import Answer, CountTokens, Effect
from langchain_ctxguard.core.identity import find_cut
from langchain_ctxguard.core.items import Steps, plan_of
from langchain_ctxguard.core.recalled import READ_TOOL
from langchain_ctxguard.core.redact import Redaction
from langchain_ctxguard.core.remind import reminder, with_reminder
from langchain_ctxguard.core.render import render_rules, rules_fingerprint
from langchain_ctxguard.core.restore import head_digest
from langchain_ctxguard.core.roles import is_foreign_summary
from langchain_ctxguard.core.settle import as_constraint, inferred_in, settled
from langchain_ctxguard.core.situation import Crossing, FieldPlan
from langchain_ctxguard.domain.config import CompactionSettings, ContextSize, GuardConfig, Trigger
from langchain_ctxguard.domain.constraint import Constraint, Place, Scope
from langchain_ctxguard.domain.context import ContextHead
from langchain_ctxguard.domain.context_version import ContextPlace
from langchain_ctxguard.domain.copied import NO_COPY, Copied
from langchain_ctxguard.domain.extensions import Extensions
from langchain_ctxguard.domain.field_settings import FieldSettings
from langchain_ctxguard.domain.inferred import InferredConstraint
from langchain_ctxguard.domain.pinned import Pin
from langchain_ctxguard.domain.policy import Policy, ToolPolicy
from langchain_ctxguard.domain.prefix import PriceTable
from langchain_ctxguard.domain.standing import StandingState
from langchain_ctxguard.domain.unset import UNSET, Unset
from langchain_ctxguard.domain.version import CompactionRecord, ContextEvent, Outcome
from langchain_ctxguard.engine import Engine, Person, consents_of, counter_of, extractor_of, store_of, summarizer_of
from langchain_ctxguard.errors import ConfigurationError, ContextBudgetError, InvariantError, StoreError
from langchain_ctxguard.graph.call_site import Site
from langchain_ctxguard.graph.copies import Copies
from langchain_ctxguard.graph.deferred import DeferredCheck
from langchain_ctxguard.graph.eviction import Eviction, StateChange, state_of
from langchain_ctxguard.graph.gate import CallFacts, ToolGate, gate_for
from langchain_ctxguard.graph.hatches import Hatches
from langchain_ctxguard.graph.on_record import OnRecord, Work
from langchain_ctxguard.graph.pacing import Pace, Windows, check_sizes, pace_of, smaller_keep, triggered
from langchain_ctxguard.graph.person import Drafts, asked_in_graph
from langchain_ctxguard.graph.pin_zone import PinZone
from langchain_ctxguard.graph.pinned import PINS_CHANNEL, PinnedFiles
from langchain_ctxguard.graph.prefix import PrefixWatch, StableTools
from langchain_ctxguard.graph.reading import Call, Reader, Reading, as_messages, tool_name
from langchain_ctxguard.graph.recall import Recall, recall_of
from langchain_ctxguard.graph.remembered import Memory
from langchain_ctxguard.graph.rules import Rules, RulesInForce, settled_by_person
from langchain_ctxguard.graph.standing import Standing
from langchain_ctxguard.graph.state import CHANNEL
from langchain_ctxguard.graph.thread import run_of, running_thread, thread_of
from langchain_ctxguard.graph.verify import MAX_RETRIES, Failure, Verifier, asking_again, failures, final_answer, stopped, withheld
from langchain_ctxguard.graph.whereabouts import NOWHERE, Whereabouts, whereabouts, whereabouts_in
from langchain_ctxguard.ports import Clock, ConsentReading, Hook, Summarizer, TokenCounter
from langchain_ctxguard.records.archive import ArchivedMessage
from langchain_ctxguard.records.constraint_writer import ConstraintWriter
from langchain_ctxguard.records.constraints import ConstraintReader, ConstraintRegistry
from langchain_ctxguard.records.recalls import RecallLog
from langchain_ctxguard.records.standing import StandingLog
from langchain_ctxguard.records.versions import VersionLog

MIN_KEPT = 0.3
"""Share of the tokens before a compaction that an agent keeps raw, where the settings do not say."""

_REST = 1.1
"""After an attempt that found nothing to evict, the view must grow by this factor before the next look."""

_LOOKED_BACK = 200
"""Messages before the cut that are verified by a process that did not make the version."""

_OVERFLOW = 0.7
"""A view the provider refused is compacted to this share of its tokens, as we count them."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Call the model."""

    request: ModelRequest[Any]


@dataclass(frozen=True, slots=True)
class Drive:
    """Drive a compaction."""

    flow: Generator[Effect, Answer, Compacted]
    summarizer: Summarizer | None
    is_repeat: bool = False
    """The result was made before, for a model call that failed since."""

    person: Person | None = None
    """Asks a person; `None` where the run cannot pause."""

    facts: Mapping[str, Any] = field(default_factory=dict)
    """What a trace shows of it beforehand: names, numbers and digests."""


@dataclass(frozen=True, slots=True)
class Check:
    """Run checks on a text."""

    checks: Sequence[PreparedCheck]
    text: str


Step = Ask | Drive | Check | Work


@dataclass(frozen=True, slots=True)
class Made:
    """What a compaction came to, once it is on record."""

    head: ContextHead | None
    """To be stored in the state; `None`: the state's stays."""

    view: Compiled | None
    """To be sent; `None`: the previous one stays."""

    record: CompactionRecord
    is_new: bool


@dataclass(frozen=True, slots=True)
class Attempt:
    """A compaction about to be made, and how it is named in the caches."""

    call: Call
    why: str
    pace: Pace
    limit: int | None
    keep: ContextSize | None = None
    """`None`: as the settings say."""


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
        given = config_of(config)
        self.config = given
        overrides = {name: value for name, value in (("trigger", trigger), ("keep", keep)) if not isinstance(value, Unset)}
        self._settings = CompactionSettings.of(given.compaction, **overrides) if overrides else given.compaction
        self._summarizer = summarizer_of(summarizer)
        self._engine = Engine(summarizer=self._summarizer, hooks=hooks, timeout_s=self._settings.summarizer_timeout_s)
        self._count: CountTokens = counter_of(token_counter)
        own = rules_of(given, constraints)
        self.extensions = extensions = extensions_of(extensions)
        moment = clock or _now
        # A reader, whatever was given: nothing a guard does may change a rule.
        opened, self._owns_store = store_of(store)
        self._opened = opened
        self.store = None if opened is None else AgentStore.of(opened)
        self.consents, self._close_consents = consents_of(consents, opened, clock)
        prices = prices or (PriceTable(prices=given.prices) if given.prices else None)
        policies: tuple[Policy, ...] = (given.tools or ToolPolicy(), *extensions.policies)
        self._reads_block = (self.store is not None and self.store.is_durable) or consents is not None
        self._subject = subject
        self.standing = Standing(
            _standing_log(opened, clock),
            consents=self.consents,
            carry=given.consents.carry,
            record=self._engine.record,
            effects=lambda tool: traits_of(tool, policies).effect,
        )
        self.gate = gate_for(
            policies,
            store=opened,
            consents=self.consents,
            standing=self.standing.log,
            subject=subject,
            clock=clock,
            audit=given.audit,
            engine=self._engine,
            prices=prices,
            facts=self._call_facts,
            archived=self._archived if self._settings.evict == "archive" else None,
        )
        self._copies = Copies(
            given.consents, self.consents, record=self._engine.record, checks=extensions.invariants, opened_by=partial(_opened_by, policies)
        )
        _check_can_evict(self._settings, self.store)
        self._recall = given.recall
        self._clock = moment
        self._on_record = None if self.store is None else self._recorder(self.store, given, extensions, clock, serde)
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
        self._drafts = Drafts()
        extractor = extractor_of(extensions.deferred_extractor)
        self._deferred = None if extractor is None or self._fields is None else DeferredCheck(extractor, self._engine.record)
        self._remind = given.remind
        self._inferred = given.inferred
        _check_can_read(files, pins)
        self._pins = PinZone(files, pins, self._count)
        self._tools = StableTools()
        self._watch = PrefixWatch(prices, count=self._count) if hooks else None
        self._hatches = Hatches(self._engine.record, self._messages_back)
        self._place = Place(workspace=given.workspace, agent=agent)
        self._verifier = Verifier(extensions.validators)
        self._redact = extensions.redact
        self._verifier.prepare(own)
        block = render_rules(self._rules.at(self._place).pinned)
        check_sizes(self._settings, pinned_tokens=self._count([SystemMessage(block)]) if block else 0)
        self._reader = Reader(self._count, trust_system_messages=self._settings.trust_system_messages, recalled_for=given.recall.calls)
        self._windows = Windows(self._settings)
        self._memory = Memory()

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
        leading = SystemMessage(system) if isinstance(system, str) else system
        rules = self._rules_at((thread or running_thread(), ""), tools).pinned
        where = whereabouts_in(None, self._subject)
        where = where if thread is None else replace(where, thread=thread)
        standing = self._standing_or_none(where)
        call = Call(self._as_said(messages, standing), raw, system=leading, rules=rules, where=where, state=state, standing=standing)
        call = next_of(self._renewed(call))
        return self._reader.situation(call).situation.view().all

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
        head = self._head_of(state)
        waiting = {rule.inferred_id: rule for rule in inferred_in(head)}
        unknown = [name for name in (*confirm, *drop) if name not in waiting]
        if unknown:
            names = ", ".join(map(repr, unknown))
            msg = f"No open inferred rule is called {names}. Nothing was changed; `guard.inferred(state)` lists those there are."
            raise ConfigurationError(msg)
        scope = Scope() if thread is None else Scope(kind="thread", value=thread)
        for name in confirm:
            writer.confirm(as_constraint(waiting[name], scope=scope), reason)
        if drop:
            self._engine.record(ContextEvent(kind="inferred_dropped", detail=f"{writer.by} dropped {len(drop)} inferred rules: {reason}"))
        rules = self._rules_at((thread, ""), ()).pinned
        return {CHANNEL: settled(head, confirmed=confirm, dropped=drop, rules=rules).to_dict()}

    def disable_inferred(self, state: Any, *, reason: str) -> dict[str, Any]:
        """Look for no more rules in conversations and forget a thread's; see `ContextGuard.disable_inferred`."""
        self._hatches.note("inferred_off", reason)
        self._inferred = "off"
        head = self._head_of(state)
        every = [rule.inferred_id for rule in inferred_in(head)]
        return {CHANNEL: settled(head, dropped=every, rules=self._rules_at((None, ""), ()).pinned).to_dict()}

    def check_answer(self, answer: AIMessage | str, *, thread: str | None = None, tools: Sequence[Any] = ()) -> None:
        """Run the checks of the rules in force on a final answer; see `ContextGuard.check_answer`."""
        text = answer if isinstance(answer, str) else answer.text
        checks = self._verifier.checks_for_answer(self._rules_at((thread or running_thread(), ""), tools).pinned)
        failed = failures(checks, text)
        for failure in failed:
            self._engine.record(failure.event)
        grave = [failure for failure in failed if failure.is_grave]
        if grave:
            raise stopped(grave)

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
        rules = asked.pinned
        standing = yield from self._stood(where, as_messages(messages))
        said = self._as_said(messages, standing)
        if self.gate.counts_usage:
            yield from self._noting(where, partial(self.gate.note_seen, self.gate.model_site(said), said))
        call = Call(said, raw_head, system=system, tools=tools, thread=thread, rules=rules, todos=todos, where=where, state=state, standing=standing)
        call, late = yield from self._ahead(call, model, change)
        call = yield from self._renewed(call)
        reading = self._reader.read(call)
        self._notice_fault(call, reading)
        attempt, reading = self._due(call, reading, model, run)
        if attempt is None:
            return late
        made = yield from self._made(attempt, reading, model=model, run=run, change=change)
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
        tools = self._tools.arranged(request.tools or ())
        if tools is not request.tools and request.tools:
            request = request.override(tools=list(tools))
        where = whereabouts(runtime, self._subject)
        standing = yield from self._stood(where, as_messages(request.messages))
        call = Call(
            self._as_said(request.messages, standing),
            state.get(CHANNEL),
            system=self._hatches.system(self._pins.system(request.system_message)),
            tools=tools,
            thread=thread,
            rules=rules.pinned,
            todos=self.todos_of(state),
            where=where,
            state=state,
            standing=standing,
        )
        change = StateChange(state_of(state), lambda: [pin.key for pin in self._pins.of(state.get(PINS_CHANNEL))], is_alone=True)
        call, late = yield from self._ahead(call, request.model, change)
        if change.back is not None:
            request = _sending(request, request.system_message, list(call.messages))
        call = yield from self._renewed(call)
        reading = self._reader.read(call)
        self._notice_fault(call, reading)
        self._notice_compactor(state, call)
        lead = self._lead(state, call, reading.messages, request.model)
        beside = [message for message in (lead, self._reminder(call)) if message is not None]
        if beside:
            call = replace(call, lead_tokens=self._count(beside))
            reading = _with_lead(reading, call)
        whole: Reading | None = (yield from self._whole(call, request.model)) if self._hatches.shows_all(thread) else None
        attempt: Attempt | None = None
        if whole is None:
            attempt, reading = self._due(call, reading, request.model, run_of(runtime))
        else:
            reading = whole
            lead = self._lead(state, call, whole.messages, request.model)
        head: ContextHead | None = late
        tokens: int | None = None
        sent = _showing(request, reading) if whole is None else _sending(request, reading.system, list(reading.messages))
        if attempt is not None:
            made = yield from self._made(attempt, reading, model=request.model, run=run_of(runtime), change=change)
            head = made.head or late
            if made.view is not None:
                sent = _sending(request, made.view.system, made.view.messages)
                tokens = made.record.tokens_after
                lead = self._lead(state, call, made.view.messages, request.model)
        try:
            response = yield from self._asked(_led(sent, lead), call, reading, head, tokens)
        except ContextOverflowError as overflow:
            head, sent = yield from self._smaller(request, call, head, overflow, change)
            sent = _led(sent, self._lead(state, call, sent.messages, request.model))
            response = yield from self._asked(sent, call, reading, head, None)
        response = yield from self._verified(sent, response, rules.pinned, call)
        yield from self._noted(where, response.result)
        return response if head is None else self._writing(response, head, change, state)

    def _writing(self, response: ModelResponse[Any], head: ContextHead, change: StateChange, state: Any) -> ExtendedModelResponse[Any]:
        """Return the response with the update of the state that goes with a new head."""
        update = {CHANNEL: head.to_dict(), **change.update(response.result)}
        renewed = self._pins.renewed(state.get(PINS_CHANNEL))
        if renewed:
            update[PINS_CHANNEL] = renewed
        return ExtendedModelResponse(model_response=response, command=Command(update=update))

    def _whole(self, call: Call, model: Any) -> Generator[Work, Any, Reading | None]:
        """Return the reading of the whole history, archived messages included, `None` where it is too large to be sent."""
        place, on_record = self._place_of(call), self._on_record
        head = self._reader.head(call.raw_head)
        messages = call.messages
        if on_record is not None and place is not None and isinstance(head, ContextHead):
            messages = yield from on_record.whole(place, head, messages)
        reading = self._reader.read(replace(call, raw_head=None, messages=messages))
        window, _ = self._windows.of(model)
        return reading if reading.tokens <= window else None

    def _lead(self, state: Any, call: Call, shown: Sequence[BaseMessage], model: Any) -> HumanMessage | None:
        """Return the message with what is pinned and not in sight."""
        return self._pins.lead(state.get(PINS_CHANNEL), call.messages, shown, window=self._windows.of(model)[0])

    def _asked(
        self, sent: ModelRequest[Any], call: Call, reading: Reading, head: ContextHead | None, tokens: int | None
    ) -> Generator[Step, Any, Any]:
        """Call the model with the view, reminded of the critical rules at its end if so set, and tell the hooks what became of its prefix."""
        messages = self._reminded(sent.messages, call.rules)
        if messages is not sent.messages:
            sent = _sending(sent, sent.system_message, messages)
        if self._watch is None:
            return (yield from self._paid(call, (yield Ask(sent))))
        watched = self._watch.before(
            call.thread if call.thread != (None, "") else None,
            model=sent.model,
            messages=sent.messages,
            system=sent.system_message,
            tools=call.tools,
            rules=call.rules,
            head=(head or reading.head).version,
            tokens=reading.tokens if head is None else tokens,
            is_rebuild=self._hatches.was_rebuilt(call.thread),
        )
        with watched:
            response = yield Ask(sent)
        report = watched.after(response)
        if report is not None:
            self._engine.record(report)
        return (yield from self._paid(call, response))

    def _paid(self, call: Call, response: Any) -> Generator[Work, Any, Any]:
        """Return a model's answer once what it used is on record, where a budget looks at it; an answer that is then refused was paid for too."""
        if not self.gate.counts_usage:
            return response
        site = self.gate.model_site(call.messages)
        yield from self._noting(call.where, partial(self.gate.note_said, site, call.messages, response.result))
        return response

    def _noting(self, where: Whereabouts, write: Callable[[], None]) -> Generator[Work, Any, None]:
        """Put usage on record; what cannot be is counted when its message is seen again, and until then a tool with such a budget is denied."""
        try:
            yield Work(write, self._reads_block)
        except StoreError as error:
            if self._memory.is_first(("uncounted", where.thread, type(error).__name__)):
                detail = f"What a model used could not be put on record ({type(error).__name__}); tools with a budget of tokens or cost are denied."
                self._engine.record(ContextEvent(kind="store_failed", detail=detail))

    def _reminder(self, call: Call) -> HumanMessage | None:
        return reminder(call.rules) if self._remind == "critical" else None

    def _reminded(self, messages: Sequence[BaseMessage], rules: tuple[Constraint, ...]) -> Any:
        """Return the messages with the critical rules at their end, if so set; the same list otherwise."""
        return with_reminder(messages, rules) if self._remind == "critical" else messages

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

    def _verified(
        self, sent: ModelRequest[Any], response: ModelResponse[Any], rules: tuple[Constraint, ...], call: Call
    ) -> Generator[Step, Any, Any]:
        """Return the response once its final answer passes the checks of the rules; ask again where a rule says so."""
        checks = self._verifier.checks_for_answer(rules)
        if not checks:
            return response
        for attempt in range(MAX_RETRIES + 1):
            answer = final_answer(response.result)
            if answer is None:
                return response
            failed: list[Failure] = yield Check(checks, answer.text)
            for failure in failed:
                self._engine.record(failure.event)
            grave = [failure for failure in failed if failure.is_grave]
            if not grave:
                return response
            if attempt == MAX_RETRIES or any(failure.rule.on_fail != "retry" for failure in grave):
                raise stopped(grave)
            again = [*sent.messages, *asking_again(answer, grave)]
            try:
                response = yield from self._paid(call, (yield Ask(_sending(sent, sent.system_message, self._reminded(again, rules)))))
            except ContextOverflowError as overflow:
                raise stopped(grave) from overflow
        return response

    def _smaller(
        self, request: ModelRequest[Any], call: Call, head: ContextHead | None, overflow: ContextOverflowError, change: StateChange
    ) -> Generator[Step, Any, tuple[ContextHead, ModelRequest[Any]]]:
        """Compact what the provider refused, once: a request counted too low, or a window smaller than said."""
        run = run_of(request.runtime)
        if self._settings.trigger is None or self._settings.on_full == "stop" or self._memory.runs_of(run, call) >= self._settings.max_compactions:
            raise overflow
        has_compacted = head is not None
        if head is not None:
            call = replace(call, raw_head=head.to_dict())
        reading = self._counted(call)
        # In our own count, which is what a compaction goes by: the provider's may be far from it, or we would not be here.
        goal = max(1, int(reading.own * _OVERFLOW))
        window, _ = self._windows.of(request.model)
        keep: Any = smaller_keep(self._settings) if has_compacted else None
        attempt = Attempt(call, "overflow", Pace(window=window, goal=goal), limit=goal, keep=keep)
        try:
            made = yield from self._made(attempt, reading, model=request.model, run=run, change=change)
        except ContextBudgetError as error:
            if error.needed >= reading.own:
                raise error from overflow
            # What must stay is more than the goal and still less than was refused.
            try:
                made = yield from self._made(replace(attempt, limit=reading.own - 1), reading, model=request.model, run=run, change=change)
            except ContextBudgetError as last:
                raise last from overflow
        if made.head is None or made.view is None or not made.is_new:
            raise overflow
        return made.head, _sending(request, made.view.system, made.view.messages)

    def _read(self, call: Call) -> Reading:
        """Return the view in force, the pinned message counted."""
        return _with_lead(self._reader.read(call), call)

    def _counted(self, call: Call) -> Reading:
        """Return the reading of a call with every message counted."""
        reading = self._read(call)
        if not reading.is_assumed:
            return reading
        self._reader.recount(call)
        return self._read(call)

    def _due(self, call: Call, reading: Reading, model: Any, run: str | None) -> tuple[Attempt | None, Reading]:
        """Return the attempt that is due for a reading, and the reading it rests on."""
        settings = self._settings
        window, is_known = self._windows.of(model)
        for _ in range(2):
            why = triggered(settings, tokens=reading.tokens, messages=len(reading.messages), window=window)
            is_full = is_known and reading.tokens > window
            if why is None and not is_full:
                return None, reading
            if not reading.is_assumed:
                break
            # A provider's report may speak of another context: before anything is compacted for it, every message is counted.
            reading = self._counted(call)
        if settings.trigger is None:
            if is_full and settings.on_full == "stop":
                raise _full(reading.tokens, window, "`trigger` is None: nothing is compacted")
            return None, reading
        # In our own count, as cool-downs are: reports of a provider are gone after a restart.
        if not is_full and reading.own < max(reading.head.cool_down or 0, self._memory.resting_until(call, reading.head)):
            return None, reading
        if self._memory.runs_of(run, call) >= settings.max_compactions:
            if is_full:
                raise _full(reading.tokens, window, f"this run has made its {settings.max_compactions} compactions (`max_compactions`)")
            return None, reading
        pace = pace_of(settings, window).scaled(reading.own / max(reading.tokens, 1))
        return Attempt(call, why or "full", pace, limit=pace.window if is_known else None), reading

    def _drive(self, attempt: Attempt, model: Any, crossing: Crossing) -> Drive:
        situation = self._reader.situation(attempt.call).situation
        waiting = self._memory.waiting(attempt.call, situation.head, attempt.why)
        if waiting is not None and _tells(waiting.head, crossing.copied):
            return Drive(_again(waiting), None, is_repeat=True)
        summarizer = self._summarizer or (summarizer_of(model) if model is not None else None)
        settings = self._settings
        plan = Plan(
            settings=settings,
            trigger=attempt.why,
            keep=attempt.keep or settings.keep,
            window=attempt.pace.window,
            goal=attempt.pace.goal,
            limit=attempt.limit,
            min_kept=self._min_kept(attempt),
            inferred=self._inferred,
            fields=self._fields,
            clock=time.perf_counter,
            redact=self._redact,
            crossing=crossing,
            todos=attempt.call.todos,
            can_read=READ_TOOL in self._reader.tool_names(attempt.call.tools),
            tool_tokens=self._reader.tools_tokens(attempt.call.tools) + attempt.call.lead_tokens,
            nonce=uuid.uuid4().hex,
            strategy=(summarizer or self._engine.summarizer).name,
            fallback=self._engine.fallback.name,
        )
        person: Person | None = None
        if self._asks_people() and attempt.call.thread not in ((None, ""), None):
            person = asked_in_graph
            summarizer = self._drafts.kept_by(summarizer or self._engine.summarizer, attempt.call.thread)
        facts = {
            "parent": situation.head.version,
            "rules": rules_fingerprint(situation.rules),
            "consents": crossing.copied.digest,
        }
        place = self._place_of(attempt.call)
        if place is not None:
            facts.update(thread=place.thread, namespace=place.namespace)
        return Drive(compaction_flow(situation, plan, self._count), summarizer, person=person, facts=facts)

    def _ahead(self, call: Call, model: Any, change: StateChange) -> Generator[Work, Any, tuple[Call, ContextHead | None]]:
        """Return the call with the head that is ahead of the state's: on record and not in the state yet, or mended by a late finding.

        Messages that the state lost and this head needs are in the call, and in `change`.
        """
        ahead: ContextHead | None = None
        place = self._place_of(call)
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
        late = self._found_late(call, model)
        return (call, ahead) if late is None else (replace(call, raw_head=late.to_dict()), late)

    def _place_of(self, call: Call) -> ContextPlace | None:
        thread = call.thread
        if not isinstance(thread, tuple) or not thread or not isinstance(thread[0], str) or not thread[0]:
            return None
        return ContextPlace(thread=thread[0], namespace=str(thread[1]))

    def _made(self, attempt: Attempt, reading: Reading, *, model: Any, run: str | None, change: StateChange) -> Generator[Drive | Work, Any, Made]:
        """Drive a compaction, put what it came to on record, and return the head to store and the view to send."""
        crossing = yield from self._crossing(attempt)
        call, drive = attempt.call, self._drive(attempt, model, crossing)
        place, on_record = self._place_of(call), self._on_record
        try:
            result: Compacted = yield drive
        except (ContextBudgetError, InvariantError) as error:
            if on_record is not None and place is not None and isinstance(error.record, CompactionRecord):
                yield from on_record.noted(place, error.record, type(error).__name__)
            raise
        head = self._settled(attempt, reading, result, model=model, run=run, is_repeat=drive.is_repeat)
        view: Compiled | None = result.view
        if on_record is None or place is None or drive.is_repeat:
            return Made(head, view, result.record, is_new=result.is_new)
        if not result.is_new or head is None:
            yield from on_record.noted(place, result.record)
            return Made(head, view, result.record, is_new=False)
        stored = yield from on_record.committed(place, reading.head, head, result.record, call.messages, change)
        if stored is None:
            self._memory.forget_waiting(call)
            window, is_known = self._windows.of(model)
            if is_known and reading.tokens > window:
                raise _full(reading.tokens, window, "the store could not take the version that would have made room")
            return Made(None, None, result.record, is_new=False)
        if stored.version != head.version:
            # Somebody else had taken the number: what is sent says the one it has now.
            view = self._reader.situation(replace(call, raw_head=stored.to_dict())).situation.view()
        return Made(stored, view, result.record, is_new=True)

    def _crossing(self, attempt: Attempt) -> Generator[Work, Any, Crossing]:
        """Return what a compaction has to take across by copying, read from the stores just now."""
        call = attempt.call
        place = self._place_of(call)
        seen_head, checkpoints = (None, ()) if self._on_record is None or place is None else (yield from self._on_record.checkpoints(place))
        unread = None if call.standing is not None else "the standing state"
        copied = NO_COPY
        try:
            copied = yield Work(lambda: self._copies.read(call.where, call.state, call.standing), self._reads_block)
        except StoreError as error:
            self._copies.unread(call.where, error)
            unread = type(error).__name__
        tools = {name: self.standing.effect(name, tool) for tool in call.tools if (name := tool_name(tool))}
        return self._copies.crossing(copied, unread=unread, tools=tools, seen_head=seen_head, checkpoints=checkpoints)

    def _stood(self, where: Whereabouts, messages: Sequence[BaseMessage]) -> Generator[Work, Any, StandingState | None]:
        """Return where the thread stands, `None` where that cannot be read; close the open question where a person answered it."""
        if where.thread is None:
            return StandingState()
        try:
            state: StandingState = yield Work(lambda: self.standing.read(where, messages), self._reads_block)
        except StoreError as error:
            self._copies.unread(where, error)
            return None
        return state

    def _standing_or_none(self, where: Whereabouts) -> StandingState | None:
        """Return where a thread stands, for a look: nothing is judged."""
        try:
            return StandingState() if where.thread is None else self.standing.log.read(where.thread)
        except StoreError as error:
            self._copies.unread(where, error)
            return None

    def _as_said(self, messages: Sequence[Any], standing: StandingState | None) -> Sequence[BaseMessage]:
        said = as_messages(messages)
        return said if standing is None else self.standing.as_said(said, standing)

    def _renewed(self, call: Call) -> Generator[Work, Any, Call]:
        """Return the call with the record shown as it is now, where a version shows an older one."""
        head = self._reader.head(call.raw_head)
        if not isinstance(head, ContextHead) or not self._copies.may_differ(head, call.where, call.standing):
            return call
        try:
            copied: Copied = yield Work(lambda: self._copies.read(call.where, call.state, call.standing), self._reads_block)
        except StoreError as error:
            self._copies.unread(call.where, error)
            return call
        raw = self._copies.renewed(head, call.raw_head, copied, call.where)
        return call if raw is call.raw_head else replace(call, raw_head=raw)

    def _noted(self, where: Whereabouts, said: Sequence[BaseMessage]) -> Generator[Work, Any, None]:
        """Put on record what the model's answer does to the standing state."""
        write = self.standing.answered_with(where, final_answer(said), said)
        if write is None:
            return
        try:
            yield Work(write, self._reads_block)
        except StoreError as error:
            self._copies.unread(where, error)

    def tool_refusal(self, request: ToolCallRequest) -> ToolMessage | None:
        """Return what the model sees of a tool call that mode, open question, permissions or consents forbid; `None` where nothing does."""
        where = whereabouts(request.runtime, self._subject)
        return self.standing.refusal(request, where, can_ask=self.gate.guards(request.tool))

    def where(self, config: RunnableConfig | None) -> Whereabouts:
        """Return where a node of a plain graph belongs."""
        return whereabouts_in(config, self._subject)

    def _call_facts(self, site: Site) -> CallFacts:
        """Return what a tool call's record says of its place: rules and context version; and the field ledger, where the log vouches for it."""
        rules = tuple(rule.reference for rule in self._rules_at((site.thread, ""), ()).pinned)
        if site.state is None or isinstance(site.state, list):
            return CallFacts(rules)
        head = self._reader.head(of_state(site.state)[1])
        if not isinstance(head, ContextHead) or head.body is None:
            return CallFacts(rules, is_new=head is None or (isinstance(head, ContextHead) and head.version == 0))
        return CallFacts(rules, head.version, head.body.evidence.fields if self._is_on_record(site, head) else ())

    def _archived(self, thread: str, seen: int) -> tuple[int, Iterable[ArchivedMessage]]:
        """Return the newest version of a thread, and what left its state since another."""
        eviction = self.eviction
        return (seen, ()) if eviction is None else eviction.archive.since(ContextPlace(thread=thread), seen)

    def _is_on_record(self, site: Site, head: ContextHead) -> bool:
        """Say whether a version on record is this head's: anybody who may write the state can forge one that is not."""
        if self.versions is None or site.thread is None:
            return False
        newest = self.versions.newest(ContextPlace(thread=site.thread, namespace=site.namespace.rpartition("|")[0]))
        return newest is not None and newest.number == head.version and newest.head_digest == head_digest(head)

    @property
    def reads_block(self) -> bool:
        """Say whether asking what is allowed may wait for a database."""
        return self._reads_block

    def _found_late(self, call: Call, model: Any) -> ContextHead | None:
        """Return the head with what the deferred extractor found missing since, `None` where it found nothing; have a version verified once."""
        if self._deferred is None:
            return None
        head = self._reader.head(call.raw_head)
        if not isinstance(head, ContextHead) or head.body is None:
            return None
        found = self._deferred.take(call.thread, head.version)
        if found is not None:
            window, _ = self._windows.of(model)
            settings = self._fields.settings if self._fields is not None else FieldSettings()
            late = with_found_late(
                head,
                found.fields,
                rules=call.rules,
                share_tokens=int(self._settings.evidence_share * window),
                cap=settings.critical_cap,
                count=self._count,
            )
            if late is not None:
                self._deferred.seen(call.thread, late.version)
                return late
        self._verify_later(call, ContextHead(version=0), head)
        return None

    def _verify_later(self, call: Call, before: ContextHead, after: ContextHead) -> None:
        """Have the deferred extractor look at what a version stands for; a process that did not make it looks at the newest part of that."""
        if self._deferred is None or after.body is None or self._deferred.was_seen(call.thread, after.version):
            return
        situation = self._reader.situation(replace(call, raw_head=after.to_dict())).situation
        cut = len(call.messages) - len(situation.tail)
        first = find_cut(before.cut, call.messages) or 0 if before.body is not None else max(0, cut - _LOOKED_BACK)
        evicted = call.messages[first:cut]
        if self._redact is not None:
            redaction = Redaction(self._redact)
            evicted = [redaction.message(message) for message in evicted]
        self._deferred.start(call.thread, after.version, evicted, situation.view().messages)

    def _asks_people(self) -> bool:
        return self._fields is not None and "ask" in (self._fields.settings.on_loss, self._fields.settings.on_change)

    def _min_kept(self, attempt: Attempt) -> float:
        """Return the share of the tokens to keep raw beyond `keep`: none where room must be made, or where it is messages that are too many."""
        if attempt.keep is not None:
            return 0.0
        if self._settings.min_kept is not None:
            return self._settings.min_kept
        return 0.0 if "messages" in attempt.why.split("+") else MIN_KEPT

    def _note_inferred(self, before: ContextHead, after: ContextHead) -> None:
        """Put new inferred rules on record, by number: their words are the conversation's."""
        known = {rule.inferred_id for rule in inferred_in(before)}
        new = [rule for rule in inferred_in(after) if rule.inferred_id not in known]
        if new and self._inferred != "off":
            waits = "quoted as evidence" if self._inferred == "pin" else "kept for a person to confirm"
            detail = f"{len(new)} rules said in the conversation were found and are {waits}."
            self._engine.record(ContextEvent(kind="inferred_found", detail=detail, version=after.version))

    def _settled(self, attempt: Attempt, reading: Reading, result: Compacted, *, model: Any, run: str | None, is_repeat: bool) -> ContextHead | None:
        """Take notice of an attempt; return the head to store, `None` where it stays."""
        if result.record.outcome is Outcome.SKIPPED:
            self._memory.rest(attempt.call, reading.head, int(reading.own * _REST))
            return None
        if not is_repeat:
            self._memory.keep_waiting(attempt.call, reading.head, attempt.why, result)
            if result.is_new:
                self._memory.count_run(run, attempt.call)
                self._note_inferred(reading.head, result.head)
                self._verify_later(attempt.call, reading.head, result.head)
        if not result.is_new:
            return result.head
        # What must stay may hold the trigger by itself, above all where a provider counts more than we do: rest until the view has grown.
        after = result.record.tokens_after
        as_reported = int(after * reading.tokens / max(reading.own, 1))
        window, _ = self._windows.of(model)
        if triggered(self._settings, tokens=as_reported, messages=len(result.view.messages), window=window) is None:
            return result.head
        return result.head.model_copy(update={"cool_down": int(after * COOL_DOWN)})

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
        return self._verifier.checks_for_tool(rules, request.tool_call["name"])

    def checked(self, result: ToolMessage, failed: Sequence[Failure]) -> ToolMessage:
        """Return the result, or what the model sees instead of one that failed.

        Raises:
            CheckFailedError: it failed the check of a rule that stops the run.
        """
        for failure in failed:
            self._engine.record(failure.event)
        grave = [failure for failure in failed if failure.is_grave]
        if any(failure.rule.on_fail == "stop" for failure in grave):
            raise stopped(grave)
        return withheld(result, grave) if grave else result


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
    return _sending(request, reading.system, list(reading.messages))


def _sending(request: ModelRequest[Any], system: SystemMessage | None, messages: Any) -> ModelRequest[Any]:
    """Return the request with other messages; LangChain's signature names the message classes one by one."""
    return request.override(system_message=system, messages=messages)


def _led(request: ModelRequest[Any], lead: HumanMessage | None) -> ModelRequest[Any]:
    """Return the request with the pinned message in front; the same one where there is none."""
    return request if lead is None else _sending(request, request.system_message, [lead, *request.messages])


def _with_lead(reading: Reading, call: Call) -> Reading:
    """Return the reading with the tokens of what is sent beside the view."""
    return replace(reading, tokens=reading.tokens + call.lead_tokens, own=reading.own + call.lead_tokens) if call.lead_tokens else reading


def _has_second_compactor(state: Any, call: Call) -> bool:
    """Look where the known compactors leave their traces; O(1)."""
    return bool(state.get("_summarization_event")) or any(is_foreign_summary(message) for message in call.messages[:2])


def _full(tokens: int, window: int, why: str) -> ContextBudgetError:
    return ContextBudgetError(
        f"The context holds {tokens} tokens, the model's window {window}, and {why}. Nothing was changed. "
        "Start a new thread, allow compaction, or use a model with a larger window.",
        needed=tokens,
        budget=window,
    )


def _again(result: Compacted) -> Generator[Effect, Answer, Compacted]:
    """Return a result made earlier in this process, whose model call failed before it could be committed: no second summary."""
    yield from ()
    return result


def _reader_of(registry: ConstraintReader | None, store: AgentStore | None, clock: Clock | None) -> ConstraintReader:
    """Return what reads the rules that can change: of a registry its reader, else that of the store, else one with nothing to read."""
    if registry is not None:
        return registry.reader() if isinstance(registry, ConstraintRegistry) else registry
    return ConstraintReader(MemoryLog(clock=clock)) if store is None else ConstraintReader(store.log, tenant=store.tenant)


def _standing_log(store: GuardStore | None, clock: Clock | None) -> StandingLog:
    """Return where standing state rests: in the store, else in this process."""
    if store is None:
        return StandingLog(RecentStreams(clock=clock), clock=clock, forgets=True)
    return StandingLog(store.log, tenant=store.tenant, clock=clock)


def _tells(head: ContextHead, copied: Copied) -> bool:
    """Say whether a version made earlier shows the record as it is now."""
    held = NO_COPY if head.body is None or head.body.copied is None else head.body.copied
    return held.told == copied.told


def next_of(steps: Generator[Work, Any, Call]) -> Call:
    """Return what the steps come to, each done at once: for a caller that waits."""
    try:
        work = next(steps)
        while True:
            try:
                answer = work.call()
            except StoreError as error:
                work = steps.throw(error)
            else:
                work = steps.send(answer)
    except StopIteration as end:
        call: Call = end.value
        return call


def _now() -> datetime:
    return datetime.now(UTC)


def of_state(state: Any) -> tuple[Sequence[BaseMessage], Any]:
    """Return the messages and the stored head of a graph's state, a mapping or an object."""
    if isinstance(state, dict):
        return state.get("messages", []), state.get(CHANNEL)
    return getattr(state, "messages", []), getattr(state, CHANNEL, None)

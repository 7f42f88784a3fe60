"""What a compaction starts from, how it is to go, and what it came to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from operator import is_
from typing import Literal

from langchain_core.messages import BaseMessage, SystemMessage

from langchain_ctxguard.core.carry_over import OpenedBy
from langchain_ctxguard.core.compile import Compiled, compile_view, leading_system
from langchain_ctxguard.core.diff import SameText
from langchain_ctxguard.core.identity import message_keys
from langchain_ctxguard.core.items import Steps
from langchain_ctxguard.core.render import render_rules
from langchain_ctxguard.core.units import Repaired, repair
from langchain_ctxguard.core.user_patterns import NO_PATTERNS, PatternSet, pattern_set
from langchain_ctxguard.domain.config import CompactionSettings, ContextSize, GuardConfig
from langchain_ctxguard.domain.constraint import Constraint
from langchain_ctxguard.domain.context import ContextHead
from langchain_ctxguard.domain.control import ControlField, FieldDiff
from langchain_ctxguard.domain.copied import NO_COPY, Copied
from langchain_ctxguard.domain.extensions import BeforeCompaction, InvariantCheck, Redactor
from langchain_ctxguard.domain.field_settings import FieldSettings
from langchain_ctxguard.domain.inferred import SimilarRules
from langchain_ctxguard.domain.invariant import Invariant
from langchain_ctxguard.domain.standing import Effect
from langchain_ctxguard.domain.version import CompactionRecord, Outcome


@dataclass(frozen=True)
class Situation:
    """A conversation as a compaction finds it."""

    tail: Sequence[BaseMessage]
    """The messages after the present cut, as they are in the conversation."""

    rules: tuple[Constraint, ...] = ()
    system: tuple[SystemMessage, ...] = ()
    """The application's system messages, in order."""

    trusted: tuple[SystemMessage, ...] = ()
    """System messages from inside the list, where the settings trust them."""

    head: ContextHead = field(default_factory=lambda: ContextHead(version=0))
    request: BaseMessage | None = None
    """The current request where it lies before the present cut."""

    start: int = 0
    """Position of `tail[0]` in the original list."""

    missing_before: tuple[str, ...] = ()
    """Ids of rules in force that a view given back by the caller no longer held."""

    @cached_property
    def leading(self) -> SystemMessage | None:
        """The one system message of every view of this conversation."""
        return leading_system(self.system, render_rules(self.rules), after=self.trusted)

    @cached_property
    def repaired(self) -> Repaired:
        """The tail as a provider accepts it, read once."""
        return repair(self.tail, start=self.start)

    @cached_property
    def keys(self) -> list[str]:
        """Keys of the repaired messages."""
        return message_keys(self.repaired.messages, start=self.start)

    @cached_property
    def is_valid(self) -> bool:
        """Whether the tail needs no repair; then no part of it that begins where a cut may lie needs any."""
        repaired = self.repaired.messages
        return len(repaired) == len(self.tail) and all(map(is_, repaired, self.tail))

    def view(self) -> Compiled:
        """Return the present view."""
        return self._compiled(self.head, self.request, self.repaired.messages, is_valid=True)

    def view_of(self, head: ContextHead, request: BaseMessage | None, tail: Sequence[BaseMessage]) -> Compiled:
        """Return the view of another head over a later part of the tail."""
        return self._compiled(head, request, tail, is_valid=self.is_valid)

    def _compiled(self, head: ContextHead, request: BaseMessage | None, tail: Sequence[BaseMessage], *, is_valid: bool) -> Compiled:
        return compile_view(self.leading, version=head.version, body=head.body, request=request, tail=tail, is_valid=is_valid)


@dataclass(frozen=True, slots=True)
class FieldPlan:
    """How control fields are looked for and compared in this compaction."""

    settings: FieldSettings = field(default_factory=FieldSettings)
    patterns: PatternSet = NO_PATTERNS
    timezone: str = "UTC"
    now: datetime | None = None
    """When the messages were said, where they do not say; `None`: relative dates stay as they are written."""

    same_text: SameText | None = None

    @classmethod
    def of(cls, config: GuardConfig, *, now: datetime | None = None, same_text: SameText | None = None) -> FieldPlan:
        """Return the plan a config describes, its patterns compiled."""
        return cls(config.control_fields, pattern_set(config.control_fields.patterns), config.timezone, now, same_text)


@dataclass(frozen=True, slots=True)
class Crossing:
    """What of the record crosses a compaction by being copied, and what must hold afterwards."""

    copied: Copied = NO_COPY
    """As it was read from the stores just now."""

    unread: str | None = None
    """Why it could not be read: then no version is made."""

    invariants: tuple[Invariant, ...] = ()
    checks: Mapping[str, InvariantCheck] = field(default_factory=dict)
    """The application's own, by name."""

    tools: Mapping[str, Effect | None] = field(default_factory=dict)
    """The tools about to be available."""

    opened_by: OpenedBy | None = None
    seen_head: int | None = None
    """Number of the last consent entry the version before was made under; `None`: it was made under none."""

    checkpoints: tuple[int, ...] = ()
    """The marked versions of this context so far."""

    @property
    def is_consent_change(self) -> bool:
        """Say whether the ledger moved since the version before."""
        now = None if self.copied.consents is None else self.copied.consents.head.seq
        return now is not None and now != (self.seen_head or 0)


@dataclass(frozen=True, slots=True)
class Plan:
    """How this compaction is to go."""

    settings: CompactionSettings
    trigger: str
    """What started it, for the record."""

    keep: ContextSize
    window: int
    goal: int | None = None
    """The view should not exceed this many tokens."""

    limit: int | None = None
    """The view must not exceed this many tokens."""

    is_callers_budget: bool = False
    """Somebody set the limit for this one list, and is told where it is too small; an agent has to go on."""

    min_kept: float = 0.0
    must_keep: tuple[str, ...] = ()
    inferred: Literal["pin", "ask", "off"] = "pin"
    """Rules said in conversation: quoted at once, only kept for a person to decide, or not looked for."""

    similar_rules: SimilarRules = "keep"
    """Of two in the same words about different things: both stand, or only the later one."""

    fields: FieldPlan | None = None
    """`None`: control fields are not looked for."""
    redact: Redactor | None = None
    """The application's redactor: what leaves the view is seen by it first."""
    can_read: bool = False
    """The model has a tool that reads what a view leaves out: a result too large for the goal is shown in part."""

    todos: Steps | None = None
    """The todo list a state key holds, newer than any in the messages; `None` where there is none."""

    crossing: Crossing = field(default_factory=Crossing)
    """What crosses by being copied, and what must hold afterwards."""

    must_gain: bool = True
    """Whether a view that saves too little is refused; not where only what a conversation adds up to is wanted."""

    prepare: Callable[[], None] | None = None
    """Called once it is settled that something leaves the view, before anybody is asked for a summary."""

    before: BeforeCompaction | None = None
    """The application's word before a summarizer is asked."""

    thread: str | None = None
    """For that word."""

    clock: Callable[[], float] | None = None
    """Seconds that pass, for the record; `None`: nobody measures."""

    tool_tokens: int = 0
    nonce: str = ""
    """Random in an agent: no client can then know the id of the summary."""

    strategy: str = ""
    """Name of the summarizer."""

    fallback: str = ""
    """Name of the fallback."""

    @property
    def may_fill_goal(self) -> bool:
        """Say whether the goal is what the view must fit, not a trigger: it may be filled up."""
        return self.goal is not None and self.goal == self.limit


@dataclass(frozen=True, slots=True)
class Compacted:
    """What an attempt came to. `head` and `view` are the previous ones unless a new version was made."""

    head: ContextHead
    view: Compiled
    record: CompactionRecord
    fields: tuple[ControlField, ...] = ()
    """The control fields as they stand after the newest message; of an attempt that asked no summarizer, those the head remembers."""

    diff: FieldDiff = field(default_factory=FieldDiff)
    """What the draft alone would have done to them."""

    @property
    def is_new(self) -> bool:
        """Say whether a new version was made."""
        return self.record.outcome not in (Outcome.SKIPPED, Outcome.REJECTED)

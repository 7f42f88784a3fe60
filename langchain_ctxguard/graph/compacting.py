"""One compaction in a call: what is driven, what it came to, and that on record before the state knows it."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any

from langchain_ctxguard.core.compaction import Compacted, Plan, compaction_flow
from langchain_ctxguard.core.compile import Compiled
from langchain_ctxguard.core.effects import Answer, CountTokens, Effect
from langchain_ctxguard.core.recalled import READ_TOOL
from langchain_ctxguard.core.render import rules_fingerprint
from langchain_ctxguard.core.situation import Crossing, FieldPlan
from langchain_ctxguard.domain.config import CompactionSettings
from langchain_ctxguard.domain.context import ContextHead
from langchain_ctxguard.domain.copied import NO_COPY, Copied
from langchain_ctxguard.domain.extensions import Extensions
from langchain_ctxguard.domain.version import CompactionRecord, ContextEvent, Outcome
from langchain_ctxguard.engine import Engine, Person, summarizer_of
from langchain_ctxguard.errors import ContextBudgetError, InvariantError
from langchain_ctxguard.graph.afterwards import Afterwards
from langchain_ctxguard.graph.coding import Coding
from langchain_ctxguard.graph.due import Due
from langchain_ctxguard.graph.eviction import StateChange
from langchain_ctxguard.graph.inferring import Inferring
from langchain_ctxguard.graph.late import LateFindings
from langchain_ctxguard.graph.on_record import OnRecord, Work
from langchain_ctxguard.graph.pacing import Windows
from langchain_ctxguard.graph.person import Drafts, asked_in_graph
from langchain_ctxguard.graph.phases import closed
from langchain_ctxguard.graph.reading import Reader, Reading
from langchain_ctxguard.graph.remembered import Memory
from langchain_ctxguard.graph.steps import Attempt, Drive, Made, full, place_of
from langchain_ctxguard.graph.thread_record import ThreadRecord
from langchain_ctxguard.ports import Summarizer
from langchain_ctxguard.records.standing import StandingLog


class Compacting:
    """Makes the compaction that an attempt asks for."""

    def __init__(
        self,
        settings: CompactionSettings,
        *,
        engine: Engine,
        summarizer: Summarizer | None,
        count: CountTokens,
        reader: Reader,
        windows: Windows,
        memory: Memory,
        due: Due,
        fields: FieldPlan | None,
        inferring: Inferring,
        late: LateFindings,
        thread_record: ThreadRecord,
        on_record: OnRecord | None,
        extensions: Extensions,
        standing: StandingLog,
        coding: Callable[[], Coding | None],
    ) -> None:
        """Bind what a compaction asks, and where it goes on record."""
        self._settings = settings
        self._engine = engine
        self._summarizer = summarizer
        self._count = count
        self._reader = reader
        self._windows = windows
        self._memory = memory
        self._due = due
        self._fields = fields
        self._inferring = inferring
        self._late = late
        self._thread_record = thread_record
        self._on_record = on_record
        self._redact = extensions.redact
        self._before = extensions.before_compaction
        self.afterwards = Afterwards(extensions.after_compaction, count=count, record=engine.record)
        self._standing = standing
        self._coding = coding
        self._drafts = Drafts()

    def made(self, attempt: Attempt, reading: Reading, *, model: Any, run: str | None, change: StateChange) -> Generator[Drive | Work, Any, Made]:
        """Drive a compaction, put what it came to on record, and return the head to store and the view to send."""
        made, is_repeat = yield from self._made(attempt, reading, model=model, run=run, change=change)
        yield from closed(attempt.why, attempt.call.where, self._standing, self._thread_record.unread, blocks=self._thread_record.blocks)
        if made.is_new and made.head is not None and not is_repeat:
            self.afterwards.made(attempt.call.thread, made.head, made.record, limit=attempt.limit)
        return made

    def _made(
        self, attempt: Attempt, reading: Reading, *, model: Any, run: str | None, change: StateChange
    ) -> Generator[Drive | Work, Any, tuple[Made, bool]]:
        """Return what was made, and whether it was made before for a model call that failed since."""
        crossing = yield from self._thread_record.crossing(attempt.call)
        call, drive = attempt.call, self._drive(attempt, model, crossing)
        place, on_record = place_of(call), self._on_record
        try:
            result: Compacted = yield drive
        except (ContextBudgetError, InvariantError) as error:
            if on_record is not None and place is not None and isinstance(error.record, CompactionRecord):
                yield from on_record.noted(place, error.record, type(error).__name__)
            raise
        head = self._settled(attempt, reading, result, model=model, run=run, is_repeat=drive.is_repeat)
        view: Compiled | None = result.view
        if on_record is None or place is None or drive.is_repeat:
            return Made(head, view, result.record, is_new=result.is_new), drive.is_repeat
        if not result.is_new or head is None:
            yield from on_record.noted(place, result.record)
            return Made(head, view, result.record, is_new=False), False
        stored = yield from on_record.committed(place, reading.head, head, result.record, call.messages, change)
        if stored is None:
            self._memory.forget_waiting(call)
            window, is_known = self._windows.of(model)
            if is_known and reading.tokens > window:
                raise full(reading.tokens, window, "the store could not take the version that would have made room")
            return Made(None, None, result.record, is_new=False), False
        if stored.version != head.version:
            # Somebody else had taken the number: what is sent says the one it has now, and whoever was told of the attempt is told of it.
            detail = f"Version {head.version} was taken by somebody else; what was made is version {stored.version}."
            self._engine.record(ContextEvent(kind="version_renumbered", detail=detail, version=stored.version))
            view = self._reader.situation(replace(call, raw_head=stored.to_dict())).situation.view()
        return Made(stored, view, result.record.model_copy(update={"version": stored.version}), is_new=True), False

    def _drive(self, attempt: Attempt, model: Any, crossing: Crossing) -> Drive:
        situation = self._reader.situation(attempt.call).situation
        waiting = self._memory.waiting(attempt.call, situation.head, attempt.why)
        if waiting is not None and _tells(waiting.head, crossing.copied):
            return Drive(_again(waiting), None, is_repeat=True, facts={"is_repeat": True, "version": waiting.head.version})
        summarizer = self._summarizer or (summarizer_of(model) if model is not None else None)
        settings, coding, place = self._settings, self._coding(), place_of(attempt.call)
        plan = Plan(
            settings=settings,
            trigger=attempt.why,
            keep=attempt.keep or settings.keep,
            window=attempt.pace.window,
            goal=attempt.pace.goal,
            limit=attempt.limit,
            min_kept=self._due.min_kept(attempt),
            inferred=self._inferring.mode,
            similar_rules=self._inferring.similar,
            fields=self._fields,
            prepare=None if coding is None else coding.preparing(attempt.call, model),
            clock=time.perf_counter,
            redact=self._redact,
            before=self._before,
            thread=None if place is None else place.thread,
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
            "trigger": attempt.why,
            "parent": situation.head.version,
            "constraints": rules_fingerprint(situation.rules),
            "consents": crossing.copied.digest,
        }
        if place is not None:
            facts.update(thread=place.thread, namespace=place.namespace)
        return Drive(compaction_flow(situation, plan, self._count), summarizer, person=person, facts=facts)

    def _settled(self, attempt: Attempt, reading: Reading, result: Compacted, *, model: Any, run: str | None, is_repeat: bool) -> ContextHead | None:
        """Take notice of an attempt; return the head to store, `None` where it stays."""
        if result.record.outcome is Outcome.SKIPPED:
            self._due.rest(attempt.call, reading)
            return None
        if not is_repeat:
            self._memory.keep_waiting(attempt.call, reading.head, attempt.why, result)
            if result.is_new:
                self._memory.count_run(run, attempt.call)
                self._inferring.note(reading.head, result.head)
                self._late.verify(attempt.call, reading.head, result.head)
        return self._due.cooled(reading, result, model) if result.is_new else result.head

    def _asks_people(self) -> bool:
        return self._fields is not None and "ask" in (self._fields.settings.on_loss, self._fields.settings.on_change)


def _again(result: Compacted) -> Generator[Effect, Answer, Compacted]:
    """Return a result made earlier in this process, whose model call failed before it could be committed: no second summary."""
    yield from ()
    return result


def _tells(head: ContextHead, copied: Copied) -> bool:
    """Say whether a version made earlier shows the record as it is now."""
    held = NO_COPY if head.body is None or head.body.copied is None else head.body.copied
    return held.told == copied.told

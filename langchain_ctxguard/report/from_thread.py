"""A stored thread -> what a report tells of it. It reads and writes nothing; what is erased, thinned or altered is told."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.serde.base import SerializerProtocol

from langchain_ctxguard.backends.message_blobs import MessageBlobs
from langchain_ctxguard.core.compile import parted
from langchain_ctxguard.core.identity import find_cut
from langchain_ctxguard.core.redact import Redaction
from langchain_ctxguard.core.restore import head_diff
from langchain_ctxguard.domain.config import GuardConfig
from langchain_ctxguard.domain.constraint import Constraint, Place
from langchain_ctxguard.domain.context import ContextHead
from langchain_ctxguard.domain.context_version import ContextPlace, ContextVersion
from langchain_ctxguard.domain.extensions import Redactor
from langchain_ctxguard.domain.log import Stream, verify
from langchain_ctxguard.domain.policy import ToolPolicy
from langchain_ctxguard.errors import StoreError
from langchain_ctxguard.records.archive import Archive, HasIndex
from langchain_ctxguard.records.consents import ConsentReader
from langchain_ctxguard.records.constraint_events import Change
from langchain_ctxguard.records.constraints import ConstraintReader
from langchain_ctxguard.records.handoffs import handoff_stream
from langchain_ctxguard.records.model_calls import MODEL_CALLS, ModelCallRecords
from langchain_ctxguard.records.reconcile import RECONCILE
from langchain_ctxguard.records.recoveries import RECOVERIES
from langchain_ctxguard.records.versions import AUDIT, VERSIONS, VersionLog
from langchain_ctxguard.records.worklog import WORKLOG
from langchain_ctxguard.report.messages import fitted, shown
from langchain_ctxguard.report.story import Compaction, GoingBack, Moment, Report, Restored, Rule, Word
from langchain_ctxguard.report.thread_actions import actions_of, call_records
from langchain_ctxguard.report.thread_compactions import Contexts, Kept, compactions_of
from langchain_ctxguard.report.thread_consents import subjects_in, words_of
from langchain_ctxguard.report.thread_moments import KnownRules, moments_of, moments_of_tools, rules_of, shown_rules
from langchain_ctxguard.report.thread_work import work_of
from langchain_ctxguard.report.words import count

_LINES = 60
_OTHERS = 5


def report_of_thread(
    store: HasIndex,
    thread: str,
    *,
    namespace: str = "",
    where: str = "",
    config: GuardConfig | None = None,
    policies: Sequence[ToolPolicy] = (),
    messages: Sequence[BaseMessage] | None = None,
    subjects: Sequence[str] = (),
    consents: ConsentReader | None = None,
    serde: SerializerProtocol | None = None,
    now: datetime | None = None,
    redact: Redactor | None = None,
) -> Report:
    """Return what a report tells of a thread.

    Args:
        store: A `GuardStore`; reading is all it is asked for.
        thread: The thread.
        namespace: Of a sub-agent or subgraph in it.
        where: What was read, for the page.
        config: The application's settings: texts of rules that are in no registry.
        policies: Its tool rules: which of the rules they enforce. Those of the `config` are among them.
        messages: The messages of the thread's state, for what is still in sight.
        subjects: Whose consents; empty: whom the thread's own records name.
        consents: What reads the ledger, where it rests in another store.
        serde: How archived messages are written, where a saver encrypts: its own serializer. `None`: what is encrypted is told as such.
        now: The moment expiry is held against; `None`: the present.
        redact: The application's redactor: it sees every text of the page, those of the archive among them, which holds originals.

    Raises:
        StoreError: the store cannot be read.
    """
    place = ContextPlace(thread=thread, namespace=namespace)
    return _Reading(store, place, consents or ConsentReader(store), serde).report(
        where=where,
        config=config,
        policies=(*policies, *(one for one in (None if config is None else config.tools,) if isinstance(one, ToolPolicy))),
        messages=messages,
        subjects=subjects,
        now=now or datetime.now(UTC),
        redact=redact,
    )


class _Reading:
    """One reading of a place's records."""

    def __init__(self, store: HasIndex, place: ContextPlace, reader: ConsentReader, serde: SerializerProtocol | None) -> None:
        self._store = store
        self._place = place
        self._reader = reader
        self._log = VersionLog(store, kept=10**6)
        self._versions = self._log.all(place)
        self._attempts = self._log.attempts(place)
        self._purged = self._purges()
        archive = Archive(store, MessageBlobs(store.blobs, serde=serde), self._log)
        self._contexts = Contexts(self._log, archive, place, is_purged=bool(self._purged), has_key=serde is not None)
        self._calls = call_records(store, place)
        self._model_calls = ModelCallRecords(store).of(place)

    def report(
        self,
        *,
        where: str,
        config: GuardConfig | None,
        policies: Sequence[ToolPolicy],
        messages: Sequence[BaseMessage] | None,
        subjects: Sequence[str],
        now: datetime,
        redact: Redactor | None,
    ) -> Report:
        in_sight, first = self._in_sight(messages)
        kept = self._kept(in_sight, first)
        compactions = compactions_of(self._attempts, self._versions, self._contexts, kept)
        moments = moments_of(self._model_calls) or moments_of_tools(self._calls)
        rules, rules_note = self._rules(moments, config, policies)
        words, words_note = self._consents(subjects, now)
        newest = self._versions[-1] if self._versions else None
        report = Report(
            source="thread",
            name=self._place.thread,
            where=where or "a store",
            made_at=now,
            messages=sum(version.archived for version in self._versions if version.restores is None) + len(in_sight),
            unit="model call" if self._model_calls.calls else "tool call on record",
            moments=tuple(moments),
            rules=tuple(rules),
            rules_note=rules_note,
            compactions=tuple(compactions),
            restored=tuple(_restored(version) for version in self._versions if version.restores is not None),
            current=None if newest is None else newest.number,
            actions=tuple(actions_of(self._store, self._place, self._calls, consents=self._reader, said=kept.calls())),
            actions_note="" if self._calls else "No tool call is on record: no tool of this thread was guarded by a policy and this store.",
            cache_note="" if self._model_calls.calls else "Model calls are not on record. Add `ReportRecorder(store)` to the hooks of the guard.",
            work=work_of(self._store, self._place, kept.by_position, has_state=messages is not None),
            consents=tuple(words),
            consents_note=words_note,
            going_back=tuple(self._going_back()),
            back_note="" if newest is not None else "There is no version to go back to.",
            in_sight=tuple(shown(message, position=first + at) for at, message in enumerate(in_sight)),
            in_sight_note="" if messages is not None else "Messages still in sight rest with the checkpointer; name it to see them here.",
            faults=tuple(self._faults()),
            read_from=tuple(self._read_from(has_state=messages is not None)),
        )
        if redact is not None:
            report = Redaction(redact).value(report)
        return fitted(_on_one_axis(report))

    def _in_sight(self, messages: Sequence[BaseMessage] | None) -> tuple[list[BaseMessage], int]:
        """Return the messages of the state that have not left the view, and the position of the first."""
        if messages is None:
            return [], 0
        rest = list(parted(messages).rest)
        head = self._contexts.head(self._versions[-1]) if self._versions else None
        if not isinstance(head, ContextHead):
            return rest, 0
        cut = find_cut(head.cut, rest)
        return (rest if cut is None else rest[cut:]), head.cut.position

    def _kept(self, in_sight: Sequence[BaseMessage], first: int) -> Kept:
        found = {first + at: message for at, message in enumerate(in_sight)}
        for version in self._versions:
            taken = self._contexts.taken(version)
            found |= dict(enumerate(taken.originals, version.archived_from))
        return Kept(found)

    def _rules(self, moments: Sequence[Moment], config: GuardConfig | None, policies: Sequence[ToolPolicy]) -> tuple[list[Rule], str]:
        reader = ConstraintReader(self._store.log, tenant=self._store.tenant)
        try:
            standing = reader.on_record(Place(thread=self._place.thread)).constraints
            names = {reference.rpartition("@")[0] for moment in moments for reference in moment.rules or ()}
            changes = {name: reader.history(name) for name in sorted(names | {rule.constraint_id for rule in standing})}
            note = ""
        except StoreError as error:
            standing, changes, note = (), {}, f"The registry of rules cannot be read: {error}"
        told: list[Constraint] = [change.event.constraint for found in changes.values() for change in found if hasattr(change.event, "constraint")]
        known = KnownRules(
            constraints={rule.reference: rule for rule in (*told, *standing, *(config.constraints if config is not None else ()))},
            texts=ModelCallRecords(self._store).texts(self._place),
            history={name: tuple(map(_changed, found)) for name, found in changes.items()},
            enforced_by=frozenset[str]().union(*(policy.enforced for policy in policies)),
            asked_by=frozenset[str]().union(*(policy.asked for policy in policies)),
        )
        if not self._model_calls.calls:
            note = f"{note} Which rules a model call held is on record where `ReportRecorder(store)` is among the hooks of the guard.".strip()
        return rules_of(moments, shown_rules(self._model_calls), known), note

    def _consents(self, subjects: Sequence[str], now: datetime) -> tuple[list[Word], str]:
        try:
            heads = [self._contexts.head(version) for version in self._versions]
            named = list(subjects) or subjects_in(heads, self._attempts, self._calls, self._reader)
            words = words_of(named, self._place.thread, self._attempts, self._reader, now)
        except StoreError as error:
            return [], f"The consent ledger cannot be read: {error}"
        if words:
            return words, ""
        return [], f"Nobody recorded a consent{f' of {named[0]}' if named else ''} that counts in this thread."

    def _going_back(self) -> Iterable[GoingBack]:
        if not self._versions:
            return
        newest = self._versions[-1]
        now = self._contexts.head(newest)
        for version in self._versions[:-1]:
            head = self._contexts.head(version)
            if isinstance(head, str) or isinstance(now, str):
                yield GoingBack(to=version.number, note=head if isinstance(head, str) else str(now))
                continue
            found = head_diff(now, head, tokens=(newest.tokens, version.tokens), consents=(None, None))
            lines = [] if found.is_empty else [line.strip() for line in str(found).splitlines()[1:]]
            more = len(lines) - _LINES
            yield GoingBack(
                to=version.number,
                lines=(*lines[:_LINES], *([f"and {count(more, 'more change')}"] if more > 0 else [])),
                messages_back=max(0, now.cut.position - head.cut.position),
            )

    def _purges(self) -> list[str]:
        found = (_plain(entry.body) for entry in self._store.log.read(self._stream(AUDIT)))
        return [str(note.get("at", "")) for note in found if note.get("purged") is True]

    def _faults(self) -> Iterable[str]:
        thread, namespace = self._place.thread, self._place.namespace
        own = [handoff_stream(self._store.tenant, thread, namespace)]
        own += [Stream(tenant=self._store.tenant, kind=kind, key=thread) for kind in (WORKLOG, RECOVERIES)]
        for stream in (*map(self._stream, (VERSIONS, AUDIT, MODEL_CALLS, RECONCILE)), *own):
            seq = verify(self._store.log.read(stream), stream=stream)
            if seq is not None:
                yield f"Entry {seq} of {stream} is not as it was written: nothing from there on can be relied on. `ctxguard verify` says more."

    def _read_from(self, *, has_state: bool) -> Iterable[str]:
        yield f"{count(len(self._versions), 'version')} and {count(len(self._attempts), 'compaction attempt')} of this thread."
        yield f"{count(len(self._calls), 'step')} of tool calls, {count(len(self._model_calls.calls), 'model call')}."
        yield from (f"The content of this thread was erased at {at}. What is told here rests on the records that stay." for at in self._purged)
        others = sorted(one.namespace for one in self._log.places_of(self._place.thread) if one != self._place)
        if others:
            yield f"Not read: the contexts of {count(len(others), 'sub-agent')} in this thread ({', '.join(map(repr, others[:_OTHERS]))})."
        if not has_state:
            yield "Not read: the messages in the thread's state."

    def _stream(self, kind: str) -> Stream:
        return Stream(tenant=self._store.tenant, kind=kind, key=self._place.key)


def _on_one_axis(report: Report) -> Report:
    """Put compactions and rollbacks between the moments, by the clock; where calls have no tokens, they are the axis themselves."""
    has_tokens = any(moment.tokens is not None for moment in report.moments)
    compactions = [(one.at, one) for one in report.compactions if one.at is not None]
    if has_tokens:
        times = [moment.at for moment in report.moments]

        def position(at: datetime) -> int:
            return min(len(times), 1 + sum(time is not None and time < at for time in times))

        marks = [(position(at), one.number) for at, one in compactions]
        backs = [(position(one.at), one.version) for one in report.restored]
        return report.model_copy(update={"marks": tuple(marks), "backs": tuple(backs), "span": len(times)})
    events: list[tuple[datetime, Compaction | Restored]] = sorted(
        [*compactions, *((one.at, one) for one in report.restored)], key=lambda item: item[0]
    )
    curve: list[tuple[int, int]] = []
    marks, backs, at = [], [], 0
    for _, event in events:
        if isinstance(event, Restored):
            at += 1
            curve.append((at, event.tokens))
            backs.append((at, event.version))
            continue
        curve.append((at + 1, event.tokens_before))
        at += 1 if event.version is None else 2
        if event.version is not None:
            curve.append((at, event.tokens_after))
        marks.append((at, event.number))
    return report.model_copy(update={"curve": tuple(curve), "marks": tuple(marks), "backs": tuple(backs), "span": max(1, at)})


def _restored(version: ContextVersion) -> Restored:
    return Restored(version=version.number, restores=version.restores or 0, at=version.created_at, reason=version.reason, tokens=version.tokens)


def _changed(change: Change) -> str:
    event = change.event
    return f"{change.at:%Y-%m-%d %H:%M:%S}Z: {event.type} by {event.by} ({event.authority}): {event.reason}"


def _plain(body: bytes) -> dict[str, object]:
    try:
        data = json.loads(body)
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}

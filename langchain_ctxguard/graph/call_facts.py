"""What a tool call's verdict and record ask of the context: rules, version, and what of the thread left its state."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from langchain_ctxguard.core.bring_back import accounts_for
from langchain_ctxguard.core.compile import parted
from langchain_ctxguard.core.identity import find_cut
from langchain_ctxguard.core.restore import head_digest
from langchain_ctxguard.domain.context import ContextHead
from langchain_ctxguard.domain.context_version import ContextPlace
from langchain_ctxguard.graph.call_site import Site
from langchain_ctxguard.graph.gate import CallFacts, Left
from langchain_ctxguard.graph.on_record import OnRecord
from langchain_ctxguard.graph.reading import Reader, as_messages
from langchain_ctxguard.graph.rules import Rules
from langchain_ctxguard.graph.state import of_state
from langchain_ctxguard.records.archive import ArchivedMessage


class FactsOfCalls:
    """Answers the gate. Who may write the state may forge a head: only what the log vouches for is said of one."""

    def __init__(self, rules: Callable[[str | None], Rules], reader: Reader, on_record: OnRecord | None) -> None:
        """Bind what gives the rules of a thread, who reads heads, and the record; `None`: there is none."""
        self._rules = rules
        self._reader = reader
        self._on_record = on_record

    def of(self, site: Site) -> CallFacts:
        """Return what a tool call's record says of its place: rules and context version; and the field ledger, where the log vouches for it."""
        rules = tuple(rule.reference for rule in self._rules(site.thread).pinned)
        if site.state is None or isinstance(site.state, list):
            return CallFacts(rules)
        head = self._reader.head(of_state(site.state)[1])
        if not isinstance(head, ContextHead) or head.body is None:
            return CallFacts(rules, is_new=head is None or (isinstance(head, ContextHead) and head.version == 0))
        return CallFacts(rules, head.version, head.body.evidence.fields if self._is_on_record(site, head) else ())

    def left(self, site: Site) -> Left:
        """Say what is known of the messages before the cut of a state: by what its head says of itself, and what is on record of them.

        A state can be loaded by hand, and a thread copied by means that know no archive. Without a head, nobody can tell that anything is missing.

        Raises:
            StoreError: the record cannot be read.
        """
        if site.state is None or isinstance(site.state, list):
            return Left.NOTHING
        messages, raw = of_state(site.state)
        head = self._reader.head(raw)
        if not isinstance(head, ContextHead) or head.body is None:
            return Left.NOTHING
        rest = parted(as_messages(messages)).rest
        at = find_cut(head.cut, rest)
        if at is not None and at >= head.cut.position:
            return Left.NOTHING
        if self._on_record is None or site.thread is None:
            return Left.LOST
        place = ContextPlace.of_step(site.thread, site.namespace)
        rows = self._on_record.eviction.archive.rows(place, version=head.version)
        return Left.ARCHIVED if accounts_for(as_messages(messages), head, rows) else Left.LOST

    def archived(self, thread: str, seen: int) -> tuple[int, Iterable[ArchivedMessage]]:
        """Return the newest version of a thread, and what left its state since another."""
        return (seen, ()) if self._on_record is None else self._on_record.eviction.archive.since(ContextPlace(thread=thread), seen)

    def _is_on_record(self, site: Site, head: ContextHead) -> bool:
        """Say whether a version on record is this head's: anybody who may write the state can forge one that is not."""
        if self._on_record is None or site.thread is None:
            return False
        newest = self._on_record.versions.newest(ContextPlace.of_step(site.thread, site.namespace))
        return newest is not None and newest.number == head.version and newest.head_digest == head_digest(head)

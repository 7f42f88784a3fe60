"""A stored thread as a run with marks of its compactions: what a review sheet is drawn from where there is no transcript."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from langchain_core.messages import BaseMessage

from langchain_ctxguard.backends.transcripts import CompactionMark, Run
from langchain_ctxguard.backends.transcripts.transcript import CompactionKind
from langchain_ctxguard.cli.show import archive_of, texts_of
from langchain_ctxguard.core.audit_told import as_summary
from langchain_ctxguard.errors import BlobMissingError
from langchain_ctxguard.records.versions import VersionLog

if TYPE_CHECKING:
    from langchain_ctxguard.backends.store import GuardStore
    from langchain_ctxguard.domain.context import ContextHead
    from langchain_ctxguard.domain.context_version import ContextPlace, ContextVersion
    from langchain_ctxguard.records.archive import ArchivedMessage

FORMAT = "ctxguard"


def stored_runs(store: GuardStore, place: ContextPlace) -> Iterator[Run]:
    """Yield a context as runs: one from its beginning, and one from each rollback on, for there the view is another one.

    Only messages that were archived are in a run: those that stayed in the view of the newest version are the checkpointer's.

    Raises:
        BlobMissingError: an archived message is gone or altered.
    """
    log = VersionLog(store)
    archive = archive_of(store)
    for part in _parts(log.all(place)):
        messages = {one.position: one for one in archive.messages(place, version=part.versions[-1].number)} if part.versions else {}
        run = _Writer(log, messages).run(place, part)
        if run.compactions:
            yield run


class _Part(NamedTuple):
    """Versions made one after the other, with no rollback between them."""

    base: ContextVersion | None
    """The rollback they follow."""

    versions: list[ContextVersion]


def _parts(versions: Sequence[ContextVersion]) -> list[_Part]:
    parts = [_Part(None, [])]
    for version in versions:
        if version.restores is not None:
            parts.append(_Part(version, []))
        elif version.archive:
            parts[-1].versions.append(version)
    return parts


class _Writer:
    """Puts messages and summaries in the order in which a view saw them."""

    def __init__(self, log: VersionLog, archived: dict[int, ArchivedMessage]) -> None:
        self._log = log
        self._archived = archived
        self._by_key = {one.key: position for position, one in archived.items()}
        self._messages: list[BaseMessage] = []
        self._place: dict[int, int] = {}
        self._reached = 0

    def run(self, place: ContextPlace, part: _Part) -> Run:
        told: list[int] = []
        marks: list[CompactionMark] = []
        base = None if part.base is None else self._head(part.base)
        if base is not None:
            told, self._reached = [self._tell(base)], base.cut.position
        left: list[int] = []
        for version in part.versions:
            stop = version.archived_from + version.archived
            left += range(version.archived_from, stop)
            head = self._head(version)
            if head is None or head.body is None:
                continue
            self._read(max(stop, self._by_key.get(head.body.committed_at or "", -1) + 1))
            # The current request stands in the view word for word, wherever the cut is.
            request = self._by_key.get(head.body.request or "", -1)
            dropped = [*told, *(self._place[position] for position in left if position in self._place and position != request)]
            told, left = [self._tell(head)], [request] if request in left else []
            when = version.created_at.isoformat()
            marks.append(CompactionMark(told[0], CompactionKind.SUMMARY, summary=told[0], dropped=tuple(dropped), timestamp=when))
        name = place.thread if part.base is None else f"{place.thread}, from version {part.base.number} on"
        return Run(name, self._messages, FORMAT, tuple(marks))

    def _head(self, version: ContextVersion) -> ContextHead | None:
        try:
            return self._log.head_of(version)
        except BlobMissingError:
            # Thinned: the next version that is kept stands for what this one took out too.
            return None

    def _tell(self, head: ContextHead) -> int:
        self._messages.append(as_summary("\n\n".join(texts_of(head).values())))
        return len(self._messages) - 1

    def _read(self, stop: int) -> None:
        for position in range(self._reached, stop):
            if position in self._archived:
                self._place[position] = len(self._messages)
                self._messages.append(self._archived[position].message)
        self._reached = max(self._reached, stop)

"""Calls of a thread on a log: read back as written, in every version there ever was, by one who is faster than another."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from langchain_ctxguard.backends.store import GuardStore, migrate_store
from langchain_ctxguard.domain.log import Stream
from langchain_ctxguard.domain.tool_call import Begun, Effects, Ended
from langchain_ctxguard.errors import LogConflictError, LogTamperedError, StoreError
from langchain_ctxguard.records.approvals import APPROVALS, ApprovalLog

NOW = datetime(2026, 3, 1, tzinfo=UTC)
BEGUN = Begun(effect="e", binding="b", tool="pay", at=NOW)

VERSION_1 = [
    (
        b'{"question":{"bindings":[{"arguments":"a1","call_id":"c0","namespace":"tools:1","parts":{"amount":"p1"},"rules":"r","thread":"t","tool":"pay"}],'
        b'"needs":[[{"approver":"admin","expires_s":60,"rules":["pay"]}]],"requester":"ann","run":"request/h1","task":"tools:1"},'
        b'"at":"2026-03-01T00:00:00Z","schema_version":1,"type":"asked"}'
    ),
    (
        b'{"approver":{"id":"eve","role":"admin","surface":"console"},"at":"2026-03-01T00:01:00Z","contents":[null],"decisions":["approve"],"edited":[null],'
        b'"question":"QUESTION","schema_version":1,"type":"answered"}'
    ),
    b'{"at":"2026-03-01T00:01:00Z","binding":"b","call_id":"c0","effect":"e","schema_version":1,"tool":"pay","type":"begun"}',
    b'{"at":"2026-03-01T00:01:01Z","effect":"e","outcome":"finished","receipt":"sha","schema_version":1,"type":"ended"}',
    b'{"approver":{"id":""},"at":"2026-03-01T00:02:00Z","question":"QUESTION","schema_version":1,"type":"refused","why":"digest"}',
    b'{"at":"2026-03-01T00:03:00Z","by":{"id":"eve"},"effect":"other","schema_version":1,"type":"released"}',
]


def test_what_the_first_version_wrote_stays_readable() -> None:
    """Every kind of event as schema 1 writes it."""
    store = GuardStore.open("memory://")
    stream = Stream(kind=APPROVALS, key="t")
    store.log.append(stream, VERSION_1[:1])
    (digest,) = ApprovalLog(store).read("t").questions
    store.log.append(stream, [body.replace(b"QUESTION", digest.encode()) for body in VERSION_1[1:]])
    ledger = ApprovalLog(store).read("t")
    assert ("eve", "admin", "console") == tuple(ledger.approvals[0].approver.model_dump().values())
    assert "2026-03-01T00:02:00+00:00" == ledger.approvals[0].expires_at.isoformat()
    assert Effects.FINISHED == ledger.effects["e"].standing(NOW)
    assert {"request/h1": "ann"} == ledger.requesters
    assert 6 == ledger.seq


@pytest.mark.parametrize(
    "body", [b'{"schema_version":2,"type":"begun"}', b'{"type":"begun"}', b"[]", b"\xff", b'{"schema_version":1,"type":"granted"}']
)
def test_what_cannot_be_read_opens_nothing(body: bytes) -> None:
    """An entry of another version, or of none, is an error and not passed over."""
    store = GuardStore.open("memory://")
    store.log.append(Stream(kind=APPROVALS, key="t"), [body])
    with pytest.raises(StoreError, match="nothing that rests on it is allowed"):
        ApprovalLog(store).read("t")


def test_a_log_that_lost_its_end_opens_nothing() -> None:
    """Entries that were there and are gone, or do not follow one another, are noticed."""
    store = GuardStore.open("memory://")
    log = ApprovalLog(store)
    log.append("t", [BEGUN, Ended(effect="e", outcome="finished", at=NOW)])
    entries = store.log._entries[Stream(kind=APPROVALS, key="t")]  # type: ignore[attr-defined]  # to shorten it
    gone = entries.pop()
    with pytest.raises(LogTamperedError):
        log.read("t")
    entries[:] = [gone]
    with pytest.raises(LogTamperedError):
        ApprovalLog(store).read("t")


def begins_once(first: ApprovalLog, second: ApprovalLog) -> None:
    """Hold two logs that read the same to it that one of them begins."""
    seen = [log.read("t").seq for log in (first, second)]
    first.append("t", [BEGUN], expected=seen[0])
    with pytest.raises(LogConflictError):
        second.append("t", [BEGUN], expected=seen[1])
    assert 1 == len(second.read("t").effects)
    second.append("t", [Ended(effect="e", outcome="finished", at=NOW)], expected=second.read("t").seq)
    assert Effects.FINISHED == first.read("t").effects["e"].standing(NOW)


def test_one_of_two_begins(tmp_path: Path) -> None:
    """Two processes with one database: whoever comes second is told, and reads what the first did."""
    url = f"sqlite:///{tmp_path}/guard.db"
    with GuardStore.open(url) as first, GuardStore.open(url) as second:
        begins_once(ApprovalLog(first), ApprovalLog(second))


def test_one_of_two_begins_on_postgres(postgres_url: str) -> None:
    """The same on a PostgreSQL server."""
    url = postgres_url.replace("postgresql://", "postgresql+psycopg://")
    migrate_store(url)
    with GuardStore.open(url) as first, GuardStore.open(url) as second:
        begins_once(ApprovalLog(first), ApprovalLog(second))


def test_only_what_is_on_record_can_be_released() -> None:
    """A name nobody knows is a mistake, not a permission."""
    log = ApprovalLog(GuardStore.open("memory://"))
    with pytest.raises(StoreError, match="open_effects"):
        log.release("t", "e", by="eve", at=NOW)

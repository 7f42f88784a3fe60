"""Why an action was allowed: a chain that is found by names, and that says where it does not hold."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from benchmarks import consents as benchmark
from langchain_ctxguard import ConsentLedger, GuardStore
from langchain_ctxguard.core.explained import explained_data, explained_text
from langchain_ctxguard.domain.citation import GateReading, action_ref, carried_ref
from langchain_ctxguard.domain.consent import Consents
from langchain_ctxguard.domain.context_version import ContextPlace
from langchain_ctxguard.domain.explanation import Explanation
from langchain_ctxguard.records.explain import explain
from tests.support.consents import Clock, said

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


@pytest.fixture
def clock() -> Clock:
    return Clock(NOW)


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[GuardStore]:
    url = "memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'explain.db'}"
    with GuardStore.open(url, clock=clock) as opened:
        yield opened


@pytest.fixture
def ledger(store: GuardStore, clock: Clock) -> ConsentLedger:
    return ConsentLedger(store, surface="settings page", clock=clock)


def compacted(store: GuardStore, read: Consents, *, thread: str = "t-1", version: int = 1) -> None:
    """Put a compaction on record that carried what is in force."""
    stream = store.stream("audit", ContextPlace(thread=thread).key)
    refs = [carried_ref(one.reference, thread) for one in GateReading.of(read).consents]
    store.log.append(stream, [json.dumps({"schema_version": 1, "version": version}).encode()], refs=refs)


def judged(store: GuardStore, read: Consents, *fields: str, call: str = "c-1", thread: str = "t-1", **change: Any) -> None:
    """Put a judged call on record, with what the gate read."""
    reading = GateReading.of(read, *fields).model_dump(mode="json") | change
    body = {"schema_version": 1, "thread": thread, "tool": "mail", "decision": "allow", "reading": reading}
    store.log.append(store.stream("calls", thread), [json.dumps(body).encode()], refs=[action_ref(call), action_ref(call, thread)])


def test_the_chain_leads_from_the_action_to_the_grant(store: GuardStore, ledger: ConsentLedger, clock: Clock) -> None:
    """Over every compaction of its thread that carried it, and over none of another thread, from before the grant, or from after the action."""
    compacted(store, ledger.reader().read("u-1"), version=9)
    clock.now += timedelta(minutes=1)
    grant = ledger.grant("send_mail", value=True, evidence_ref="form-7", **said("u-1"))
    read = ledger.reader().read("u-1", thread="t-1")
    for version in (1, 2):
        clock.now += timedelta(minutes=1)
        compacted(store, read, version=version)
        compacted(store, read, version=version + 10, thread="t-2")
    clock.now += timedelta(minutes=1)
    judged(store, ledger.reader().read("u-1", thread="t-1"), "send_mail")
    clock.now += timedelta(minutes=1)
    compacted(store, read, version=3)

    found = explain(store, "c-1")
    (chain,) = found.chains
    assert (True, "t-1", grant, [1, 2]) == (found.holds, found.thread, chain.grant, [link.says["version"] for link in chain.carried])
    text = explained_text(found)
    assert [] == [wanted for wanted in _WANTED if not any(line.startswith(wanted) for line in text.splitlines())]


_WANTED = (
    "action c-1 in thread 't-1'",
    "  <- a gate read the ledger at 2026-06-01 12:04:00Z, up to entry 1",
    "    <- carried by a compaction, 2026-06-01 12:02:00Z, version 1",
    "    <- granted at 2026-06-01 12:01:00Z for all threads: true",
    "       by 'u-1', basis consent, recorded by u-1 through settings page",
    "       evidence form-7",
    "The chain holds.",
)


def test_a_consent_is_told_as_a_consent_record(store: GuardStore, ledger: ConsentLedger) -> None:
    """With the members of ISO/IEC TS 27560, and what that has no name for apart; the value is the text as given."""
    ledger.grant("retain", b'{"days": 1.0}', purpose="billing", expires_at=NOW + timedelta(days=1), evidence_ref="form-7", **said("u-1"))
    judged(store, ledger.reader().read("u-1"))
    data = explained_data(explain(store, "c-1"))
    (record,) = data["consent_records"]
    assert {"schema_version", "record_id", "pii_principal_id", "pii_processing", "party_identification", "events", "ctxguard"} == record.keys()
    assert ("u-1", "billing", "consent", "form-7") == (
        record["pii_principal_id"],
        record["pii_processing"][0]["purposes"][0]["purpose"],
        record["pii_processing"][0]["purposes"][0]["lawful_basis"],
        record["pii_processing"][0]["privacy_notice"],
    )
    assert ("consent given", "PT86400S", NOW.isoformat()) == tuple(
        record["events"][0][name] for name in ("event_state", "validity_duration", "event_time")
    )
    assert ('{"days": 1.0}', True, []) == (record["ctxguard"]["value"], data["holds"], data["faults"])
    assert data == json.loads(json.dumps(data))


def test_an_action_that_needed_no_consent_says_so(store: GuardStore, ledger: ConsentLedger) -> None:
    """An empty reading is on record and holds."""
    judged(store, ledger.reader().read("u-1"))
    found = explain(store, "c-1")
    assert (True, ()) == (found.holds, found.chains)
    assert "no consent was cited" in explained_text(found)


def test_nothing_on_record_holds_nothing(store: GuardStore) -> None:
    """And says which action was asked about."""
    found = explain(store, "c-9")
    assert (False, ("Nothing about 'c-9' is on record.",)) == (found.holds, found.faults)


def test_ids_that_are_used_again_are_told_apart_by_their_thread(store: GuardStore, ledger: ConsentLedger) -> None:
    """Without a thread, all of them are shown."""
    ledger.grant("send_mail", value=True, **said("u-1"))
    for thread in ("t-1", "t-2"):
        judged(store, ledger.reader().read("u-1"), thread=thread)
    assert (2, 1, "t-2") == (
        len(explain(store, "c-1").records),
        len(explain(store, "c-1", thread="t-2").records),
        explain(store, "c-1", thread="t-2").thread,
    )


def faults_of(found: Explanation) -> str:
    """Return everything that does not hold."""
    assert not found.holds
    return " ".join([*found.faults, *(fault for chain in found.chains for fault in chain.faults)])


def test_a_citation_of_nothing_does_not_hold(store: GuardStore, ledger: ConsentLedger) -> None:
    """A record that names a consent nobody gave is found out."""
    ledger.grant("send_mail", value=True, **said("u-1"))
    read = ledger.reader().read("u-1")
    made_up = GateReading.of(read).consents[0].model_dump(mode="json") | {"reference": "consent/made-up"}
    judged(store, read, consents=[made_up])
    assert "is not on record" in faults_of(explain(store, "c-1"))


@pytest.mark.parametrize("change", [{"field": "delete_all"}, {"hash": "0" * 64}, {"seq": 7}])
def test_a_citation_of_another_entry_does_not_hold(store: GuardStore, ledger: ConsentLedger, change: dict[str, Any]) -> None:
    """Field, number and hash are those on record."""
    ledger.grant("send_mail", value=True, **said("u-1"))
    read = ledger.reader().read("u-1")
    judged(store, read, consents=[GateReading.of(read).consents[0].model_dump(mode="json") | change])
    assert "names another entry" in faults_of(explain(store, "c-1"))


@pytest.mark.parametrize("thread", [None, "t-1"])
def test_a_gate_that_cites_what_was_taken_back_does_not_hold(store: GuardStore, ledger: ConsentLedger, thread: str | None) -> None:
    """The ledger it read had the revocation; one that came later is no fault of the gate."""
    ledger.grant("send_mail", value=True, **said("u-1"))
    before = ledger.reader().read("u-1", thread="t-1")
    ledger.revoke("send_mail", thread=thread, **said("u-1"))
    judged(store, before, call="honest")
    head = ledger.reader().read("u-1").head.model_dump()
    judged(store, before, call="dishonest", head=head)
    assert explain(store, "honest").holds
    assert "had given way to entry 2 (revoked)" in faults_of(explain(store, "dishonest"))


def test_a_gate_that_cites_what_was_over_does_not_hold(store: GuardStore, ledger: ConsentLedger) -> None:
    """Or what it cannot have read, or what is no grant."""
    ledger.grant("send_mail", value=True, expires_at=NOW + timedelta(minutes=1), **said("u-1"))
    read = ledger.reader().read("u-1")
    judged(store, read, call="late", at=(NOW + timedelta(minutes=2)).isoformat())
    judged(store, read, call="early", head={"seq": 0, "hash": "0" * 64})
    denied = ledger.deny("code", **said("u-1"))
    cited = GateReading.of(read).consents[0].model_dump(mode="json") | {"field": "code", "reference": denied.ref, "seq": 2, "hash": denied.hash}
    judged(store, ledger.reader().read("u-1"), call="denied", consents=[cited])
    assert "was not in force at" in faults_of(explain(store, "late"))
    assert "had read up to 0 only" in faults_of(explain(store, "early"))
    assert "is no grant: it was denied" in faults_of(explain(store, "denied"))


def test_an_altered_record_does_not_hold(store: GuardStore, ledger: ConsentLedger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the action, and of a compaction on the way."""
    ledger.grant("send_mail", value=True, **said("u-1"))
    read = ledger.reader().read("u-1")
    compacted(store, read)
    judged(store, read)
    find = store.log.find
    for kind in ("calls", "audit"):

        def forged(ref: str, kind: str = kind) -> list[Any]:
            return [one.model_copy(update={"body": one.body + b" "}) if one.stream.kind == kind else one for one in find(ref)]

        monkeypatch.setattr(store.log, "find", forged)
        assert "was altered" in faults_of(explain(store, "c-1"))


def test_a_hostile_value_makes_up_no_line(store: GuardStore, ledger: ConsentLedger) -> None:
    """Line ends in names and values do not start a link."""
    ledger.grant("a\n  <- forged", b'\n"x"\n', evidence_ref="x\nThe chain holds.", **said("u-1"))
    judged(store, ledger.reader().read("u-1"))
    lines = explained_text(explain(store, "c-1")).splitlines()
    assert not any(line.startswith("  <- forged") for line in lines)
    assert 1 == sum(line.startswith("The chain") for line in lines)


def test_what_is_no_record_is_shown_and_read_no_further(store: GuardStore) -> None:
    """A body of another kind has no reading."""
    for body in (b"[]", b"nonsense", b'{"reading":1}', b'{"reading":{"at":"x"}}', b'{"verdict":{"reading":{}}}'):
        store.log.append(store.stream("calls", "t-1"), [body], refs=[action_ref("c-1")])
    found = explain(store, "c-1")
    assert (5, (), "t-1") == (len(found.records), found.chains, found.thread)


def test_a_longer_log_takes_no_more_questions(tmp_path: Path) -> None:
    """Each link is looked up by name: the number of statements is that of the chain, whatever else is on record."""
    counts = []
    for threads in (1, 3):
        url = f"sqlite:///{tmp_path / f'{threads}.db'}"
        benchmark.filled(url, threads * benchmark.PER_THREAD)
        with GuardStore.open(url) as store:
            asked: list[str] = []
            database: Any = store._database
            event.listen(database._engine, "before_cursor_execute", lambda *arguments, asked=asked: asked.append(arguments[2]))
            found = explain(store, "t-0-c77", thread="t-0")
            assert found.holds
            counts.append(len(asked))
    assert counts[0] == counts[1] <= 7

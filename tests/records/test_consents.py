"""The consent ledger: what holds for a subject, what ends it, and who cannot write it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from langchain_ctxguard import ConsentLedger, ConsentReader, GuardStore
from langchain_ctxguard.backends.agent_store import AgentStore
from langchain_ctxguard.domain.consent import Consent, ConsentStatus
from langchain_ctxguard.domain.raw_json import RawJson
from langchain_ctxguard.errors import BlobMissingError, ConfigurationError, LogConflictError, StoreError
from langchain_ctxguard.records.consent_streams import space_of
from tests.support.consents import Clock, said

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
MAIL = "send_mail"


@pytest.fixture
def clock() -> Clock:
    return Clock(NOW)


@pytest.fixture(params=["memory", "sqlite", "basestore"])
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Any:
    """A store of each kind."""
    kinds: dict[str, Callable[[], Any]] = {
        "memory": lambda: "memory://",
        "sqlite": lambda: f"sqlite:///{tmp_path / 'consents.db'}",
        "basestore": InMemoryStore,
    }
    with GuardStore.open(kinds[request.param](), clock=clock) as opened:
        yield opened


@pytest.fixture
def ledger(store: GuardStore, clock: Clock) -> ConsentLedger:
    return ConsentLedger(store, surface="settings page", clock=clock)


def test_a_grant_says_who_allowed_what_why_and_through_what(ledger: ConsentLedger) -> None:
    """All of it comes back, with the entry it can be cited by."""
    until = NOW + timedelta(days=30)
    written = ledger.grant(
        MAIL,
        b'{"to": ["a@b.example"], "max": 1.0}',
        subject="u-1",
        thread="t-1",
        basis="contract",
        recorded_by="ann",
        purpose="invoices",
        evidence_ref="form-7",
        at=NOW - timedelta(hours=1),
        expires_at=until,
    )
    read = ledger.reader().read("u-1", thread="t-1")
    assert (written,) == read.entries == read.in_force()
    assert ("u-1", "t-1", MAIL, "granted", "contract", "ann", "settings page", "invoices", "form-7", until) == (
        written.subject,
        written.thread,
        written.field,
        written.status,
        written.basis,
        written.recorded_by,
        written.surface,
        written.purpose,
        written.evidence_ref,
        written.expires_at,
    )
    assert (b'{"to": ["a@b.example"], "max": 1.0}', NOW, 1, (1, written.hash)) == (
        None if written.value is None else written.value.data,
        written.recorded_at,
        written.seq,
        (read.head.seq, read.head.hash),
    )
    assert written == ledger.reader().find(written.ref)


@pytest.mark.parametrize("end", ["deny", "revoke", "expire"])
@pytest.mark.parametrize("value", [True, "eu", {"a": 1}])
def test_a_later_word_ends_a_grant_whatever_its_value(ledger: ConsentLedger, end: str, value: Any) -> None:
    """Whether or not a value is given with it."""
    for more in ({}, {"value": False}):
        ledger.grant(MAIL, value, **said("u-1"))
        assert ledger.reader().read("u-1").value(MAIL) == RawJson(data=json.dumps(value).encode()) or isinstance(value, dict)
        getattr(ledger, end)(MAIL, **more, **said("u-1"))
        read = ledger.reader().read("u-1")
        word = read.get(MAIL)
        assert (None, False, ()) == (read.value(MAIL), read.is_true(MAIL), read.in_force())
        assert word is not None
        assert {"deny": "denied", "revoke": "revoked", "expire": "expired"}[end] == word.status


@pytest.mark.parametrize("value", [False, None, 1, 1.0, "true", "yes", [True], {"granted": True}, b'"true"', b" false"])
def test_what_is_not_true_counts_as_a_false_consent(ledger: ConsentLedger, value: Any) -> None:
    """Also where it is in force as what it is."""
    ledger.grant(MAIL, value, **said("u-1"))
    read = ledger.reader().read("u-1")
    assert (False, 1) == (read.is_true(MAIL), len(read.in_force()))


def test_nobody_said_anything(ledger: ConsentLedger) -> None:
    """A field nobody spoke of is neither granted nor there."""
    read = ledger.reader().read("u-1", thread="t-1")
    assert (None, None, False, (), 0) == (read.get(MAIL), read.value(MAIL), read.is_true(MAIL), read.in_force(), read.head.seq)


def test_a_grant_is_over_by_the_clock_alone(ledger: ConsentLedger, clock: Clock) -> None:
    """At its very moment, in a reader that knew it in force, and without an entry that says so."""
    reader = ledger.reader()
    ledger.grant(MAIL, value=True, expires_at=NOW + timedelta(minutes=5), **said("u-1"))
    clock.now = NOW + timedelta(minutes=5) - timedelta(microseconds=1)
    assert reader.read("u-1").is_true(MAIL)
    clock.now = NOW + timedelta(minutes=5)
    read = reader.read("u-1")
    assert (False, 1) == (read.is_true(MAIL), read.head.seq)
    assert reader.read("u-1", at=NOW).is_true(MAIL)


def test_a_grant_begins_when_it_says(ledger: ConsentLedger, clock: Clock) -> None:
    """One for tomorrow opens nothing today."""
    ledger.grant(MAIL, value=True, at=NOW + timedelta(days=1), **said("u-1"))
    assert not ledger.reader().read("u-1").is_true(MAIL)
    clock.now = NOW + timedelta(days=1)
    assert ledger.reader().read("u-1").is_true(MAIL)


def test_a_revocation_holds_at_once_whenever_it_says_it_was_made(ledger: ConsentLedger) -> None:
    """Before the grant, or in the future: what was written later was said later."""
    for moment in (NOW - timedelta(days=9), NOW + timedelta(days=9)):
        ledger.grant(MAIL, value=True, **said("u-1"))
        ledger.revoke(MAIL, at=moment, **said("u-1"))
        assert not ledger.reader().read("u-1").is_true(MAIL)
        assert not ledger.reader().read("u-1", at=NOW - timedelta(days=30)).is_true(MAIL)


G, D, R, F = "grant", "deny", "revoke", "false"


@pytest.mark.parametrize(
    ("words", "in_thread", "elsewhere"),
    [
        ([(G, None)], True, True),
        ([(G, "t")], True, False),
        ([(G, None), (D, "t")], False, True),
        ([(G, None), (R, "t")], False, True),
        ([(G, None), (F, "t")], False, True),
        ([(D, "t"), (G, None)], False, True),
        ([(R, "t"), (G, None)], False, True),
        ([(F, "t"), (G, None)], False, True),
        ([(D, "t"), (G, None), (G, "t")], True, True),
        ([(G, "t"), (D, None)], False, False),
        ([(G, "t"), (R, None)], False, False),
        ([(G, "t"), (F, None)], False, False),
        ([(G, "t"), (R, None), (G, None)], True, True),
        ([(R, None), (G, "t")], True, False),
        ([(D, "t"), (R, None), (G, None)], False, True),
    ],
)
def test_a_word_in_a_thread_and_one_for_all(ledger: ConsentLedger, words: list[tuple[str, str | None]], *, in_thread: bool, elsewhere: bool) -> None:
    """The later one holds, but no grant for all gives back what was refused in a thread."""
    for word, thread in words:
        if word == F:
            ledger.grant(MAIL, value=False, thread=thread, **said("u-1"))
        elif word == G:
            ledger.grant(MAIL, value=True, thread=thread, **said("u-1"))
        else:
            getattr(ledger, word)(MAIL, thread=thread, **said("u-1"))
    reader = ledger.reader()
    assert (in_thread, elsewhere, elsewhere) == (
        reader.read("u-1", thread="t").is_true(MAIL),
        reader.read("u-1", thread="other").is_true(MAIL),
        reader.read("u-1").is_true(MAIL),
    )


def test_a_grant_of_a_thread_that_ran_out_gives_way_to_one_for_all(ledger: ConsentLedger, clock: Clock) -> None:
    """Running out is no refusal; and a grant for all that ran out takes none of the thread with it before it was there."""
    ledger.grant(MAIL, value=True, thread="t", expires_at=NOW + timedelta(minutes=1), **said("u-1"))
    ledger.grant(MAIL, value=True, **said("u-1"))
    clock.now = NOW + timedelta(minutes=2)
    assert ledger.reader().read("u-1", thread="t").is_true(MAIL)


def test_subjects_are_apart(ledger: ConsentLedger) -> None:
    """Nobody's word counts for somebody else, whatever their name looks like."""
    ledger.grant(MAIL, value=True, **said("u-1"))
    for other in ("u-2", "u-1 ", "U-1", "u-1/t", '["consents","u-1"]'):
        assert not ledger.reader().read(other).is_true(MAIL)


def test_tenants_are_apart(tmp_path: Path) -> None:
    """A subject of the same name at another tenant said nothing, also where somebody cites the record."""
    url = f"sqlite:///{tmp_path / 'tenants.db'}"
    with GuardStore.open(url, tenant="red") as red, GuardStore.open(url, tenant="blue") as blue:
        granted = ConsentLedger(red).grant(MAIL, value=True, **said("u-1"))
        assert (True, False) == (ConsentReader(red).read("u-1").is_true(MAIL), ConsentReader(blue).read("u-1").is_true(MAIL))
        assert (granted, None) == (ConsentReader(red).find(granted.ref), ConsentReader(blue).find(granted.ref))


def test_a_reader_that_was_there_before_sees_what_is_written_elsewhere(store: GuardStore, ledger: ConsentLedger, clock: Clock) -> None:
    """Each reading asks the store."""
    reader = ConsentReader(store, clock=clock)
    assert not reader.read("u-1").is_true(MAIL)
    ledger.grant(MAIL, value=True, **said("u-1"))
    assert reader.read("u-1").is_true(MAIL)
    ConsentLedger(store, clock=clock).revoke(MAIL, **said("u-1"))
    assert not reader.read("u-1").is_true(MAIL)


def test_an_idle_reading_reads_no_entry_again(ledger: ConsentLedger, store: GuardStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a subject's entries add up to is kept until there are more of them."""
    for number in range(20):
        ledger.grant(f"field-{number}", value=True, **said("u-1"))
    reader = ConsentReader(store)
    reader.read("u-1")
    read = store.log.read
    asked: list[int] = []
    monkeypatch.setattr(store.log, "read", lambda stream, since=0: asked.append(since) or read(stream, since))  # type: ignore[func-returns-value]
    assert 20 == len(reader.read("u-1").entries)
    ledger.revoke("field-3", **said("u-1"))
    assert "revoked" == getattr(reader.read("u-1").get("field-3"), "status", None)
    assert [20] == asked


def test_an_erased_value_reads_as_not_granted(ledger: ConsentLedger, store: GuardStore) -> None:
    """Never as true, in readers that knew it too; the chain stands, and that something was said stays on record."""
    reader = ledger.reader()
    ledger.grant(MAIL, value=True, **said("u-1"))
    ledger.grant(MAIL, value=True, **said("u-2"))
    assert reader.read("u-1").is_true(MAIL)
    store.blobs.purge_space(space_of("u-1"))

    read = reader.read("u-1")
    word = read.get(MAIL)
    assert (False, None, ()) == (read.is_true(MAIL), read.value(MAIL), read.in_force())
    assert (ConsentStatus.GRANTED, None) == (getattr(word, "status", None), getattr(word, "value", 0))
    assert (True, []) == (reader.read("u-2").is_true(MAIL), store.verify())


def test_a_subject_can_be_erased(ledger: ConsentLedger, store: GuardStore) -> None:
    """Grants are ended on record first, then values go; nothing that is left tells what they were."""
    ledger.grant(MAIL, "very-secret-value", **said("u-1"))
    ledger.grant("code", value=True, thread="t-1", **said("u-1"))
    assert 2 == ledger.erase("u-1", basis="asked to be forgotten", recorded_by="dpo")

    history = ledger.reader().history("u-1")
    assert ["granted", "granted", "revoked", "revoked"] == [word.status for word in history]
    assert {None} == {word.value for word in history}
    assert [] == store.verify()
    assert not any(b"very-secret-value" in entry.body for entry in store.log.read(store.stream("consents", "u-1")))


def test_a_record_does_not_give_a_short_value_away(ledger: ConsentLedger, store: GuardStore) -> None:
    """Two grants of `true` have different digests, so nobody can tell by trying."""
    for _ in range(2):
        ledger.grant(MAIL, value=True, **said("u-1"))
    values = [json.loads(entry.body)["value"] for entry in store.log.read(store.stream("consents", "u-1"))]
    assert 2 == len(set(values))
    assert RawJson(data=b"true").digest not in values


def test_a_value_that_was_altered_makes_the_ledger_unreadable(ledger: ConsentLedger, store: GuardStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is taken for granted then: the error reaches the gate."""
    ledger.grant(MAIL, value=False, **said("u-1"))

    def altered(space: str, addresses: list[str]) -> dict[str, bytes]:
        msg = f"Content of {space} was altered."
        raise BlobMissingError(msg, space=space, address=addresses[0])

    monkeypatch.setattr(store.blobs, "get", altered)
    with pytest.raises(StoreError):
        ledger.reader().read("u-1")


def test_what_is_no_event_makes_the_ledger_unreadable(ledger: ConsentLedger, store: GuardStore) -> None:
    """An entry of another schema might be a revocation: nothing is read past it."""
    ledger.grant(MAIL, value=True, **said("u-1"))
    for body in (b"{}", b"[]", b"nonsense", b'{"schema_version":2}', b'{"schema_version":1,"type":"granted"}'):
        store.log.append(store.stream("consents", body.decode()), [body])
        with pytest.raises(StoreError, match="What is allowed cannot be told"):
            ledger.reader().read(body.decode())


def test_entries_that_are_gone_are_noticed(store: GuardStore, ledger: ConsentLedger, monkeypatch: pytest.MonkeyPatch) -> None:
    """A revocation taken off the end would revive the grant before it."""
    ledger.grant(MAIL, value=True, **said("u-1"))
    ledger.revoke(MAIL, **said("u-1"))
    reader = ledger.reader()
    reader.read("u-1")
    monkeypatch.setattr(store.log, "heads", lambda streams: [1 for _ in streams])
    with pytest.raises(StoreError, match="entries are gone"):
        reader.read("u-1")


def test_an_altered_chain_is_not_read(store: GuardStore, ledger: ConsentLedger, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry whose hash is not that of its content is nobody's word."""
    ledger.deny(MAIL, **said("u-1"))
    read = store.log.read

    def forged(stream: Any, since: int = 0) -> list[Any]:
        return [entry.model_copy(update={"body": entry.body.replace(b"denied", b"granted")}) for entry in read(stream, since)]

    monkeypatch.setattr(store.log, "read", forged)
    with pytest.raises(StoreError, match="no longer matches its chain"):
        ConsentReader(store).read("u-1")


def test_a_grant_is_not_laid_over_a_word_its_writer_did_not_see(ledger: ConsentLedger) -> None:
    """Whoever names what they saw is told that there is more; a revocation is written whatever came in between."""
    seen = ledger.reader().read("u-1").head.seq
    ledger.revoke(MAIL, **said("u-1"))
    with pytest.raises(LogConflictError):
        ledger.grant(MAIL, value=True, expected=seen, **said("u-1"))
    assert not ledger.reader().read("u-1").is_true(MAIL)


def test_a_grant_does_not_overtake_a_revocation_on_the_way(ledger: ConsentLedger, store: GuardStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is written between the writer's look and its word makes the grant fail."""
    put = store.blobs.put

    def meanwhile(*arguments: Any, **more: Any) -> Any:
        monkeypatch.setattr(store.blobs, "put", put)
        ConsentLedger(store).revoke(MAIL, **said("u-1"))
        return put(*arguments, **more)

    monkeypatch.setattr(store.blobs, "put", meanwhile)
    with pytest.raises(LogConflictError):
        ledger.grant(MAIL, value=True, **said("u-1"))
    assert "revoked" == getattr(ledger.reader().read("u-1").get(MAIL), "status", None)


def test_many_revoke_at_once_and_none_is_lost(ledger: ConsentLedger) -> None:
    """A person's no waits for nobody and fails for nobody."""
    threads = [threading.Thread(target=lambda name=f"f-{n}": ledger.revoke(name, **said("u-1"))) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 8 == len(ledger.reader().read("u-1").entries)


def test_what_a_gate_saw_can_be_seen_again(ledger: ConsentLedger) -> None:
    """By the end of the stream it cites, whatever came later."""
    reader = ledger.reader()
    ledger.grant(MAIL, value=True, **said("u-1"))
    seen = reader.read("u-1")
    ledger.revoke(MAIL, **said("u-1"))
    assert seen == reader.as_of("u-1", seen.head.seq, at=seen.at)
    assert () == reader.as_of("u-1", 0).entries
    with pytest.raises(StoreError, match="entries 1 to 2; nothing can be said about entry 3"):
        reader.as_of("u-1", 3)


def test_the_history_of_a_field_keeps_every_word(ledger: ConsentLedger) -> None:
    """Oldest first, values byte for byte."""
    ledger.grant(MAIL, b"1.0", **said("u-1"))
    ledger.grant("code", value=True, **said("u-1"))
    ledger.revoke(MAIL, **said("u-1"))
    found = ledger.reader().history("u-1", MAIL)
    assert [("granted", b"1.0"), ("revoked", None)] == [(word.status, word.value and word.value.data) for word in found]
    assert 3 == len(ledger.reader().history("u-1"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"subject": ""}, "no"),
        ({"basis": " "}, "`basis` is empty"),
        ({"recorded_by": ""}, "`recorded_by` is empty"),
        ({"field": ""}, "`field` is empty"),
        ({"thread": ""}, "an empty name is neither"),
        ({"value": b"{"}, "is no JSON text"),
        ({"value": b'{"a":1,"a":2}'}, "is there twice"),
        ({"value": float("nan")}, "which JSON cannot write"),
        ({"value": object()}, "has no JSON"),
        ({"at": datetime(2026, 1, 1)}, "names no time zone"),  # noqa: DTZ001 - what is refused
        ({"expires_at": datetime(2027, 1, 1)}, "names no time zone"),  # noqa: DTZ001 - what is refused
        ({"expires_at": NOW}, "before it began or already"),
        ({"expires_at": NOW + timedelta(1), "at": NOW + timedelta(2)}, "before it began or already"),
        ({"recorded_by": "\ud800"}, "Nothing was written"),
    ],
)
def test_what_nobody_could_account_for_is_refused(ledger: ConsentLedger, store: GuardStore, change: dict[str, Any], message: str) -> None:
    """And leaves nothing behind."""
    given: dict[str, Any] = {"field": MAIL, "value": True, **said("u-1"), **change}
    with pytest.raises(StoreError, match=message):
        ledger.grant(**given)
    assert [0] == store.log.heads([store.stream("consents", "u-1")])


def test_a_moment_without_a_time_zone_is_no_moment(ledger: ConsentLedger) -> None:
    """Nobody can say what has expired by then."""
    with pytest.raises(StoreError, match="names no time zone"):
        ledger.reader().read("u-1", at=datetime(2026, 1, 1))  # noqa: DTZ001 - what is refused
    with pytest.raises(StoreError, match="none is named"):
        ledger.reader().read("")


@pytest.mark.parametrize("given", ["sqlite:///x.db", None, object()])
def test_what_is_no_store_is_a_configuration_error(given: Any) -> None:
    """Said at once, with what to open."""
    for wired in (ConsentLedger, ConsentReader):
        with pytest.raises(ConfigurationError, match="takes a GuardStore"):
            wired(given)


def test_an_agents_view_makes_no_ledger(store: GuardStore) -> None:
    """What an agent is shown reads consents and writes none."""
    ConsentLedger(store).grant(MAIL, value=True, **said("u-1"))
    view = AgentStore.of(store)
    assert ConsentReader(view).read("u-1").is_true(MAIL)
    with pytest.raises(ConfigurationError, match="no agent writes consents"):
        ConsentLedger(view)


def test_a_consent_has_one_digest(ledger: ConsentLedger) -> None:
    """Equal while the same is in force, another one once a value, a word or an entry changes."""
    reader = ledger.reader()
    empty = reader.read("u-1").digest
    ledger.grant(MAIL, b"1.0", **said("u-1"))
    one = reader.read("u-1")
    assert one.digest == reader.read("u-1").digest != empty
    ledger.grant(MAIL, b"1", **said("u-1"))
    assert one.digest != reader.read("u-1").digest
    ledger.revoke(MAIL, **said("u-1"))
    assert empty == reader.read("u-1").digest


def test_a_reader_tells_no_writer() -> None:
    """Neither its names nor those of what it returns begin to write."""
    writes = {"grant", "deny", "revoke", "expire", "answer", "erase", "append", "put", "log", "blobs", "store"}
    with GuardStore.open("memory://") as store:
        public = {name for name in dir(ConsentReader(store)) if not name.startswith("_")}
    assert not public & writes
    assert not {name for name in dir(Consent) if not name.startswith("_")} & writes

"""Answers to questions for consent: one that fits is a word in the ledger, any other changes nothing and is on record."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from langchain_ctxguard import ConsentLedger, GuardStore
from langchain_ctxguard.backends.agent_store import AgentStore
from langchain_ctxguard.domain.consent_question import ConsentQuestion, question_ref
from langchain_ctxguard.domain.raw_json import RawJson
from langchain_ctxguard.errors import StoreError
from langchain_ctxguard.records.consent_ledger import ANSWERS
from langchain_ctxguard.records.consent_questions import ConsentQuestions
from tests.support.consents import Clock, said

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


@pytest.fixture
def clock() -> Clock:
    return Clock(NOW)


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Any:
    url = "memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'answers.db'}"
    with GuardStore.open(url, clock=clock) as opened:
        yield opened


@pytest.fixture
def ledger(store: GuardStore, clock: Clock) -> ConsentLedger:
    return ConsentLedger(store, surface="phone", clock=clock)


def asked(store: GuardStore, **change: Any) -> str:
    """Put a question on record as an agent does, and return its digest."""
    given: dict[str, Any] = {"nonce": "n" * 16, "subject": "u-1", "field": "send_mail", "text": "May I send mail? 可以吗?", "at": NOW, **change}
    return ConsentQuestions(AgentStore.of(store)).ask(ConsentQuestion(**given))


def refusals(store: GuardStore, subject: str = "u-1") -> list[tuple[str, str]]:
    """Return the answers on record that changed nothing: question and reason."""
    bodies = [json.loads(entry.body) for entry in store.log.read(store.stream(ANSWERS, subject))]
    return [(body["question"], body["because"]) for body in bodies]


@pytest.mark.parametrize(
    ("value", "status", "is_true"), [(True, "granted", True), (b"1.0", "granted", False), (False, "denied", False), (b"null", "denied", False)]
)
def test_an_answer_is_the_subjects_word(ledger: ConsentLedger, store: GuardStore, value: Any, status: str, *, is_true: bool) -> None:
    """As given, with the question it answers as its evidence."""
    digest = asked(store, purpose="invoices")
    answer = ledger.answer(digest, value, recorded_by="u-1", subject="u-1", expires_at=NOW + timedelta(days=1))
    consent = ledger.reader().read("u-1").get("send_mail")
    assert (True, consent) == (answer.is_taken, answer.consent)
    assert consent is not None
    assert (status, is_true, "invoices", "phone", question_ref(digest)) == (
        consent.status,
        consent.is_true(NOW),
        consent.purpose,
        consent.surface,
        consent.evidence_ref,
    )
    assert [] == refusals(store)


def test_an_answer_holds_where_it_was_asked(ledger: ConsentLedger, store: GuardStore) -> None:
    """In the thread, or in all of them."""
    ledger.answer(asked(store, thread="t-1"), value=True, recorded_by="u-1")
    read = ledger.reader().read
    assert (True, False) == (read("u-1", thread="t-1").is_true("send_mail"), read("u-1").is_true("send_mail"))


def test_the_question_can_be_shown_from_the_record(ledger: ConsentLedger, store: GuardStore) -> None:
    """What the person reads is what the digest stands for, not what an agent says it was."""
    digest = asked(store)
    question = ledger.question(digest)
    assert question is not None
    assert ("May I send mail? 可以吗?", [(digest, question)]) == (question.text, list(ledger.open_questions("u-1")))
    ledger.answer(digest, value=True, recorded_by="u-1")
    assert () == ledger.open_questions("u-1")


@pytest.mark.parametrize(
    ("question", "value", "more", "because"),
    [
        ({}, b"{", {}, "no_json"),
        ({}, float("inf"), {}, "no_json"),
        ({}, True, {"subject": "u-2"}, "wrong_subject"),
        ({"options": (RawJson(data=b'"eu"'), RawJson(data=b"false"))}, True, {}, "not_an_option"),
        ({"expires_at": NOW}, True, {}, "expired"),
    ],
)
def test_a_wrong_answer_changes_nothing_and_is_recorded(
    ledger: ConsentLedger, store: GuardStore, question: dict[str, Any], value: Any, *, more: dict[str, Any], because: str
) -> None:
    """And the right one can still be given, where it is not too late."""
    digest = asked(store, **question)
    answer = ledger.answer(digest, value, recorded_by="u-1", **more)
    assert (because, None, False) == (answer.refused, answer.consent, answer.is_taken)
    assert (0, [(digest, because)]) == (ledger.reader().read("u-1").head.seq, refusals(store, "u-1") or refusals(store, ""))
    if because != "expired":
        right = b'"eu"' if question else True
        assert ledger.answer(digest, right, recorded_by="u-1").is_taken


@pytest.mark.parametrize("digest", ["", "0" * 64, "consent-question/x", "\ud800"])
def test_an_answer_to_no_question_is_recorded_without_a_subject(ledger: ConsentLedger, store: GuardStore, digest: str) -> None:
    """Nobody knows whose it was."""
    try:
        answer = ledger.answer(digest, value=True, recorded_by="somebody")
    except StoreError:
        assert digest == "\ud800"
        return
    assert ("unknown", [(digest, "unknown")]) == (answer.refused, refusals(store, ""))


def test_a_second_answer_changes_nothing(ledger: ConsentLedger, store: GuardStore) -> None:
    """Whatever it says, and whatever happened since."""
    digest = asked(store)
    first = ledger.answer(digest, value=False, recorded_by="u-1")
    second = ledger.answer(digest, value=True, recorded_by="u-1")
    assert ("second", first.consent) == (second.refused, ledger.reader().read("u-1").get("send_mail"))
    ledger.revoke("send_mail", **said("u-1"))
    third = ledger.answer(digest, value=True, recorded_by="u-1")
    assert ("second", [(digest, "second")] * 2) == (third.refused, refusals(store))
    assert not ledger.reader().read("u-1").is_true("send_mail")


@pytest.mark.parametrize("thread", [None, "t-1"])
def test_an_answer_that_was_overtaken_changes_nothing(ledger: ConsentLedger, store: GuardStore, thread: str | None) -> None:
    """A person who took it back meanwhile did not mean the older question; a word on another field or in another thread is none on this one."""
    digest = asked(store, thread="t-1")
    ledger.revoke("other_field", **said("u-1"))
    ledger.revoke("send_mail", thread="t-2", **said("u-1"))
    assert 1 == len(ledger.open_questions("u-1"))
    ledger.revoke("send_mail", thread=thread, **said("u-1"))
    assert () == ledger.open_questions("u-1")
    assert "stale" == ledger.answer(digest, value=True, recorded_by="u-1").refused
    assert not ledger.reader().read("u-1", thread="t-1").is_true("send_mail")


def test_an_older_question_in_other_words_takes_no_answer(ledger: ConsentLedger, store: GuardStore) -> None:
    """A yes to the first plan is none to the second, though both are about one field; the same words asked again are the same thing."""
    first = asked(store, text="Carry out plan A?")
    again = asked(store, text="Carry out plan A?", nonce="another nonce here")
    assert [first, again] == [digest for digest, _ in ledger.open_questions("u-1")]
    second = asked(store, text="Carry out plan B?")
    asked(store, text="Carry out plan C?", thread="t-9")
    asked(store, text="And this?", field="another")
    assert ["stale", "stale"] == [ledger.answer(digest, value=True, recorded_by="u-1").refused for digest in (first, again)]
    assert ledger.answer(second, value=True, recorded_by="u-1").is_taken


def test_of_many_answers_at_once_one_is_taken(ledger: ConsentLedger, store: GuardStore) -> None:
    """Which one is open; that there is one is not."""
    digest = asked(store)
    answers: list[Any] = []
    threads = [threading.Thread(target=lambda n=n: answers.append(ledger.answer(digest, n % 2 == 0, recorded_by=f"u-{n}"))) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [None, *["second"] * 5] == sorted((answer.refused for answer in answers), key=str)
    assert (1, 5) == (ledger.reader().read("u-1").head.seq, len(refusals(store)))


def test_an_answer_goes_on_where_others_write(ledger: ConsentLedger, store: GuardStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else's word in between is looked at, and the answer finds its place behind it."""
    digest = asked(store)
    put, busy = store.blobs.put, [3]

    def meanwhile(*arguments: Any, **more: Any) -> Any:
        if busy[0]:
            busy[0] -= 1
            ConsentLedger(store).revoke("other", **said("u-1"))
        return put(*arguments, **more)

    monkeypatch.setattr(store.blobs, "put", meanwhile)
    assert ledger.answer(digest, value=True, recorded_by="u-1").is_taken
    busy[0] = 10**6
    with pytest.raises(StoreError, match="found no place"):
        ledger.answer(asked(store, field="another"), value=True, recorded_by="u-1")


def test_a_question_in_somebody_elses_stream_is_none_of_theirs(ledger: ConsentLedger, store: GuardStore) -> None:
    """Whoever runs an agent writes questions; one cannot be turned upon a subject it does not name."""
    digest = asked(store, subject="u-1")
    view = AgentStore.of(store)
    view.blobs.copy_space('["consent_questions","u-1"]', '["consent_questions","u-2"]')
    body = json.dumps({"schema_version": 1, "type": "asked", "question": digest, "field": "send_mail"}).encode()
    view.log.append(view.stream("consent_questions", "u-2"), [body], refs=["x"])
    assert () == ledger.open_questions("u-2")
    ledger.answer(digest, value=True, recorded_by="?")
    assert (True, 0) == (ledger.reader().read("u-1").is_true("send_mail"), ledger.reader().read("u-2").head.seq)


def test_an_erased_question_takes_no_answer(ledger: ConsentLedger, store: GuardStore) -> None:
    """Nobody can tell any more what was asked."""
    digest = asked(store)
    ledger.erase("u-1", basis="asked to", recorded_by="dpo")
    assert (None, "unknown") == (ledger.question(digest), ledger.answer(digest, value=True, recorded_by="u-1").refused)
    assert [] == store.verify()


def test_a_question_is_not_told_by_its_record(store: GuardStore) -> None:
    """Its words rest apart, so that they can be erased."""
    asked(store)
    assert b"send mail" not in b"".join(entry.body for entry in store.log.read(store.stream("consent_questions", "u-1")))

"""A stored thread as a report tells it: five questions answered from the records, and what is gone told as gone."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

from langchain_ctxguard import GuardConfig, GuardStore
from langchain_ctxguard.domain.context_version import ContextPlace
from langchain_ctxguard.domain.prefix import DriftReason
from langchain_ctxguard.domain.version import Outcome
from langchain_ctxguard.report.from_thread import report_of_thread
from langchain_ctxguard.report.html import render_html
from langchain_ctxguard.report.markdown import render_markdown
from langchain_ctxguard.report.pages import document_of
from langchain_ctxguard.report.story import Report
from tests.support.reported import CONFIG, Reported, Ticking, chinese_thread, hostile_thread, small_thread


def read(run: Reported, store: GuardStore | None = None, **options: Any) -> Report:
    """Report on the thread of a run."""
    return report_of_thread(store or run.store, run.config["configurable"]["thread_id"], **options)


def with_settings(**settings: Any) -> GuardConfig:
    """Return the config of these threads with other settings."""
    return GuardConfig.from_dict({**CONFIG.model_dump(mode="json", exclude_defaults=True), **settings})


def pages(report: Report) -> tuple[str, str]:
    """Return both forms of a report."""
    document = document_of(report)
    return render_html(document), render_markdown(document)


@pytest.fixture(scope="module")
def run() -> Iterator[Reported]:
    """The thread with everything, for tests that only read it."""
    clock = Ticking()
    with GuardStore.open("memory://", clock=clock) as store:
        yield small_thread(store, clock=clock)


@pytest.fixture(scope="module")
def report(run: Reported) -> Report:
    """What is told of it."""
    return read(run, messages=run.agent.get_state(run.config).values["messages"])


def test_which_rule_was_where_at_each_turn(report: Report) -> None:
    """Place and order from the first model call to the last, with what makes each rule hold and where it came from."""
    rules = {rule.reference: rule for rule in report.rules}
    came = next(moment.number for moment in report.moments if moment.rules and "no-exports@1" in moment.rules)
    last = report.moments[-1].number

    assert [(1, came - 1, 1, 2), (came, last, 1, 3)] == [(one.first, one.last, one.place, one.of) for one in rules["no-deletes@1"].stretches]
    assert [(came, last, 2, 3)] == [(one.first, one.last, one.place, one.of) for one in rules["no-exports@1"].stretches]
    assert {"no-deletes@1": "enforced", "be-brief@1": "shown", "no-exports@1": "shown"} == {name: rule.kind for name, rule in rules.items()}
    assert "Answer in at most three sentences." == rules["be-brief@1"].text
    assert "declared by security (system): audit 3" in rules["no-exports@1"].history[0]


def test_what_a_compaction_repaired_and_where_it_came_from(report: Report) -> None:
    """Each value by name, with the message that said it; that message stands on the page."""
    first = report.compactions[0]
    told = {fate.label: (fate.what, fate.value, fate.position, fate.said_by) for fate in first.fates}

    assert {"refund": ("repaired", "250 EUR", 2, "user"), "deadline": ("repaired", "2026-06-30", 2, "user")} == told
    assert first.counts is not None
    assert first.counts.repaired == len(first.fates)
    assert "The refund is 250 EUR" in next(one.text for one in first.before if one.position == 2)
    assert any("250 EUR" in one.text for one in first.after)
    assert ("consent.share_address",) == first.consents
    assert "m-2" in pages(report)[0]


def test_who_allowed_an_action(report: Report) -> None:
    """The rule, the person by role and surface, or the consent with its chain; and nobody where it was denied."""
    actions = {action.call_id: action for action in report.actions}

    assert ("allow", False) == (actions["look0"].decision, actions["look0"].is_notable)
    assert "Nobody: it was denied under rule \u2018keep-orders\u2019" in actions["del0"].allowed_by
    assert "Approved by eve (finance) through console, under rule \u2018refunds\u2019." == actions["pay0"].allowed_by
    assert actions["adr0"].allowed_by.startswith("On consent \u2018consent.share_address\u2019 of ann, recorded by checkout page")
    assert any("granted at" in line for line in actions["adr0"].chain)
    assert actions["adr0"].holds
    assert "A-1042" in (actions["look0"].arguments or "")
    assert ["a person was asked", "approved by eve (finance) through console"] == [
        step.text.partition(",")[0] for step in actions["pay0"].steps if "asked" in step.text or "approved" in step.text
    ]


def test_why_the_cache_broke(report: Report) -> None:
    """At which call, at which character, and because of which rule or version."""
    breaks = {moment.drift: moment for moment in report.moments if moment.drift is not None}

    assert breaks[DriftReason.POLICY_UPDATE].why.endswith(": no-exports@1 came in")
    assert "version " in breaks[DriftReason.COMPACTION].why
    assert all(moment.offset is not None and moment.share is not None for moment in breaks.values())
    quiet = next(moment for moment in report.moments if moment.number > 1 and moment.drift is None)
    assert (None, "") == (quiet.offset, quiet.why)


def test_what_a_rollback_would_change(run: Reported, report: Report) -> None:
    """Line by line against the version in force, for every version whose content is kept; the one that was done is told."""
    back = {one.to: one for one in report.going_back}
    newest = run.guard.history(run.config).versions[-1].number

    assert (newest, set(range(1, newest))) == (report.current, set(back))
    assert [line.strip() for line in str(run.guard.history(run.config).diff(newest, 2)).splitlines()[1:]] == list(back[2].lines)
    assert back[2].messages_back > 0
    assert [(1, "went astray")] == [(one.restores, one.reason) for one in report.restored]


def test_what_the_record_names_it_names_without_words(run: Reported, report: Report) -> None:
    """Values are found by a digest of their field, in the context of their version: attempts hold none of them."""
    stream = run.store.stream("audit", ContextPlace(thread="order-1042").key)
    attempts = [entry.body for entry in run.store.log.read(stream) if b'"field_notes"' in entry.body]
    assert len(report.compactions) == len(attempts)
    for word in (b"250 EUR", b"2026-06-30", b"refund is", b"deadline"):
        assert not any(word in body for body in attempts), word


def test_a_message_in_sight_is_shown_with_the_state_only(run: Reported, report: Report) -> None:
    """What has not left the view rests with the checkpointer: with its messages they follow the archived ones, without them it says so."""
    without = read(run)
    assert report.in_sight
    assert max(one.position or 0 for one in report.compactions[-1].before) + 1 == report.in_sight[0].position
    assert ((), True) == (without.in_sight, "checkpointer" in without.in_sight_note)


def test_every_attempt_and_every_version_is_on_the_page(run: Reported, report: Report) -> None:
    """In the order they were made, refused ones too."""
    attempts = run.guard.history(run.config).attempts
    assert [attempt.version for attempt in attempts] == [one.version for one in report.compactions]
    assert [attempt.record.outcome for attempt in attempts] == [one.outcome for one in report.compactions]
    assert len(report.compactions) == len(report.marks)
    assert len(report.restored) == len(report.backs)
    html, _ = pages(report)
    assert (len(report.compactions), 1) == (
        html.count('<circle class="made"') + html.count('<circle class="repaired"'),
        html.count('<circle class="back"'),
    )


def test_a_reader_can_make_it(run: Reported, report: Report) -> None:
    """It writes nothing: a view of the store for reading is all it needs."""
    before = run.store.anchor().heads
    again = read(run, run.store.for_reading(), messages=run.agent.get_state(run.config).values["messages"], now=report.made_at)
    assert report == again
    assert before == run.store.anchor().heads


def test_a_refused_attempt_says_why_and_changes_nothing() -> None:
    """It is no compaction in the sum, and what the draft would have lost is told as kept."""
    with GuardStore.open("memory://") as store:
        run = Reported(store, config=with_settings(compaction={"fallback": None}))
        run.summarizer.fails = frozenset(range(100))
        run.talk(*range(7))
        report = read(run)
        html, markdown = pages(report)
    assert {Outcome.REJECTED} == {one.outcome for one in report.compactions}
    assert all("No usable summary" in one.reason for one in report.compactions)
    assert "no compactions" in markdown
    assert "refused, and the context before stayed" in html
    assert len(report.compactions) == html.count('<circle class="refused"')


def test_without_a_recorder_the_page_says_what_is_missing() -> None:
    """Rules are known at tool calls, tokens at attempts; how to have more is told, and nothing is made up."""
    with GuardStore.open("memory://") as store:
        run = small_thread(store)
        run.recorder._records._log = None  # type: ignore[assignment]
        stream = store.stream("model_calls", ContextPlace(thread="order-1042").key)
        store.log._entries.pop(stream)  # type: ignore[attr-defined]
        report = read(run, config=CONFIG)
        _, markdown = pages(report)
    assert "tool call on record" == report.unit
    assert {rule.reference for rule in report.rules if rule.stretches} >= {"no-deletes@1", "be-brief@1"}
    assert "enforced" == next(rule.kind for rule in report.rules if rule.reference == "no-deletes@1")
    assert report.curve
    assert markdown.count("ReportRecorder") >= 2


def test_a_purged_thread_is_told_as_erased() -> None:
    """No word of it is left, nothing fails, and the records still say what happened."""
    with GuardStore.open("memory://") as store:
        run = small_thread(store)
        before = read(run)
        assert run.guard.purge_thread("order-1042").total > 0
        report = read(run)
        html, markdown = pages(report)
    assert [one.outcome for one in before.compactions] == [one.outcome for one in report.compactions]
    assert all(one.before == () and one.after == () and "erased" in one.after_note for one in report.compactions)
    assert all(fate.value is None for one in report.compactions for fate in one.fates)
    assert all(one.note for one in report.going_back)
    assert "Approved by eve (finance) through console" in markdown
    for word in ("Rotterdam", "250 EUR", "2026-06-30", "A-1042", "Never delete an order"):
        assert word not in html, word


def test_one_erased_message_is_told_and_the_others_are_shown() -> None:
    """What is whole of a compaction is shown; what is not whole is not audited."""
    with GuardStore.open("memory://") as store:
        run = small_thread(store)
        first = read(run).compactions[0]
        gone = run.guard.history(run.config).versions[0]
        rows = run.guard.turns.eviction.archive.rows(gone.place, version=1)
        store.blobs.drop(
            __import__("langchain_ctxguard.core.message_blob", fromlist=["thread_space"]).thread_space("order-1042"), [rows[0][1].address]
        )
        report = read(run)
        html, _ = pages(report)
    told = report.compactions[0]
    assert [True] + [False] * (len(first.before) - 1) == [one.is_erased for one in told.before]
    assert "1 of these messages were erased" in told.before_note
    assert ((), True) == (told.audit, "not held against each other" in told.audit_note)
    assert "This message was erased." in html


class Turned:
    """Stands for encryption."""

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        return "turned", bytes(byte ^ 0x5A for byte in plaintext)

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        return bytes(byte ^ 0x5A for byte in ciphertext)


def test_what_is_encrypted_is_told_as_such_and_read_with_its_key() -> None:
    """It is not told as erased; an application that has the key makes the whole page."""
    with GuardStore.open("memory://") as store:
        run = small_thread(store, serde=EncryptedSerializer(Turned()))
        without, whole = read(run), read(run, serde=EncryptedSerializer(Turned()))
        pages(without)
    assert all(one.before == () and "encrypted" in one.before_note for one in without.compactions)
    assert not any("erased" in one.before_note for one in without.compactions)
    assert "250 EUR" == without.compactions[0].fates[0].value
    assert all(one.before for one in whole.compactions)


def test_a_thinned_version_is_told_as_no_longer_kept() -> None:
    """A store keeps the contents of the newest versions only; the others say so."""
    with GuardStore.open("memory://") as store:
        run = Reported(store, config=with_settings(versions_kept=2))
        run.talk(*range(20))
        report = read(run)
        pages(report)
    assert "not kept any more" in report.compactions[0].after_note
    assert report.compactions[0].before
    assert report.going_back[0].note
    assert "" == report.going_back[-1].note


def test_an_altered_record_stands_at_the_top(tmp_path: Path) -> None:
    """An entry that is not as it was written is named, and the page is made all the same."""
    file = tmp_path / "ctx.db"
    with GuardStore.open(f"sqlite:///{file}") as store:
        small_thread(store)
    connection = sqlite3.connect(file)
    for (trigger,) in connection.execute("select name from sqlite_master where type = 'trigger'").fetchall():
        connection.execute(f"drop trigger {trigger}")
    number, body = next(row for row in connection.execute("select rowid, body from ctxguard_entries") if b'"kind":"tool_call"' in bytes(row[1]))
    connection.execute("update ctxguard_entries set body = ? where rowid = ?", (bytes(body).replace(b'"ann"', b'"bob"'), number))
    connection.commit()
    connection.close()
    with GuardStore.open(f"sqlite:///{file}") as store:
        report = report_of_thread(store, "order-1042")
    html, markdown = pages(report)
    assert any("is not as it was written" in fault for fault in report.faults)
    assert "Altered: Entry " in html
    assert markdown.splitlines()[4].startswith("**Altered: Entry ")


def test_a_chinese_thread_is_told_with_its_values() -> None:
    """Values, sentences and rules as they were said."""
    with GuardStore.open("memory://") as store:
        report = read(chinese_thread(store))
        html, markdown = pages(report)
    assert {"250元", "2026年6月30日"} == {fate.value for one in report.compactions for fate in one.fates}
    for page in (html, markdown):
        assert "绝不显示电话号码。" in page
        assert "退款金额" in page


def test_a_thread_nobody_knows_is_an_empty_page() -> None:
    """Every part says that there is nothing, and nothing fails."""
    with GuardStore.open("memory://") as store:
        report = report_of_thread(store, "nobody")
        html, markdown = pages(report)
    assert "There is no version to go back to." in markdown
    assert "<svg" not in html


def test_sub_agents_are_named() -> None:
    """The page is of one context; that there are others is told."""
    with GuardStore.open("memory://") as store:
        run = small_thread(store)
        log = run.guard.turns.versions
        assert log is not None
        newest = log.all(ContextPlace(thread="order-1042"))[-1]
        head = log.head_of(newest)
        record = log.attempts(newest.place)[0].record
        log.commit(ContextPlace(thread="order-1042", namespace="tools:x"), head, head, record, replaced=())
        assert any("tools:x" in line for line in read(run).read_from)
        assert [1] == [one.number for one in read(run, namespace="tools:x").compactions]


def test_a_hostile_thread_is_told() -> None:
    """Names, arguments and reasons that try to be more than text are text."""
    with GuardStore.open("memory://") as store:
        run = hostile_thread(store)
        report = read(run, messages=run.agent.get_state(run.config).values["messages"])
    assert report.compactions
    assert "alert(1)" in (report.actions[0].arguments or "")


def test_a_value_that_found_no_room_is_told_as_lost() -> None:
    """Where a full window left critical values behind, the page names how many and which."""
    with GuardStore.open("memory://") as store:
        run = Reported(store, config=with_settings(control_fields={"on_loss": "warn"}))
        run.say("I have a question about my order A-1042.")
        run.say("The refund is 250 EUR and the deadline is 2026-06-30. " + "It rains in Hamburg. " * 30)
        run.talk(*range(5))
        report = read(run)
    lost = [fate.value for one in report.compactions for fate in one.fates if fate.what == "lost"]
    assert "250 EUR" in lost
    assert "lost" in render_markdown(document_of(report)).partition("## Five questions")[2].partition("##")[0]


def test_model_messages_are_shown_with_their_calls(report: Report) -> None:
    """A call stands under the message that made it, a result names the call it answers."""
    told = [one for compaction in report.compactions for one in compaction.before]
    assert any("refund(" in call for one in told for call in one.calls)
    assert any(one.answers == "look0" for one in told)

"""The commands over a store, driven as a person would, on SQLite and PostgreSQL."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from typer.testing import CliRunner, Result

from langchain_ctxguard import ExtractiveSummarizer, GuardStore, compact_messages
from langchain_ctxguard.backends.store import migrate_store
from langchain_ctxguard.cli import build_app
from langchain_ctxguard.cli.show import archive_of
from langchain_ctxguard.cli.versions import version_log
from langchain_ctxguard.domain.context import ContextHead, read_head
from langchain_ctxguard.domain.context_version import ContextPlace
from tests.support.stored_world import CHINESE, HOSTILE, PADDING, THREAD, TURNS, fill, talk

SQLITE = "sqlite:///ctxguard.db"


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, world: Path) -> str:
    """The same store in a file and in a server, its checkpoints in state.db."""
    if request.param == "sqlite":
        return SQLITE
    server: str = request.getfixturevalue("postgres_url")
    migrate_store(server)
    (world / "state.db").unlink()
    fill(server, checkpoints=world / "state.db")
    return server


def run(*arguments: str) -> Result:
    return CliRunner().invoke(build_app(), arguments)


def told(*arguments: str, code: int = 0) -> str:
    done = run(*arguments)
    assert code == done.exit_code, done.output
    return done.stdout


def data(*arguments: str, code: int = 0) -> Any:
    return json.loads(told(*arguments, "--json", code=code))


def test_somebody_looks_for_a_lost_deadline_and_goes_back(url: str) -> None:
    """From the list of threads to the message that said it, to the version that has it, and back to that version."""
    assert {THREAD, CHINESE, HOSTILE} == {one["thread"] for one in data("threads", url)["threads"]}
    assert ["1", "2", "3"] == [line.split("\t")[0] for line in told("versions", url, THREAD).splitlines()]

    values = [line.split("\t") for line in told("fields", url, THREAD, "--history", "Deadline").splitlines()]
    assert [["deadline", "2026-12-15", "superseded", "1"], ["deadline", "2026-12-20", "in force, critical", "2, 3"]] == [
        [cells[0], cells[1], cells[6], cells[7]] for cells in values
    ]
    first = told("show", url, THREAD, "1")
    assert re.search(r"stands for \d+ more messages", first)
    assert '<context_summary version="1" trust="untrusted">' in first
    assert "critical fields: " in first

    message = told("show", url, THREAD, "--search", "deadline").splitlines()[0].split("\t")
    assert "2026-12-15" in message[2] or "2026-12-20" in message[2]
    whole = told("show", url, THREAD, "--message", message[0])
    assert whole.startswith(f"{message[0]}\\t")
    assert message[2][:60] in whole
    assert "480 EUR" in told("show", url, THREAD, "--message", "call-1")

    assert 1 == data("rollback", url, THREAD, "--to", "1", "--reason", "astray")["version"]["restores"]
    shown = data("show", url, THREAD)
    assert (4, 1, "astray") == (shown["version"]["number"], shown["version"]["restores"], shown["version"]["reason"])
    assert "restores version 1" in told("show", url, THREAD)
    assert told("verify", url).startswith(str(data("verify", url)["streams"]))


def test_rules_of_a_store_are_listed_with_what_makes_them_hold(url: str) -> None:
    """Those on record with their standing; for a thread, also what people said there; the history of one; and what was revoked is gone."""
    from langchain_ctxguard import Constraint, ConstraintRegistry

    with GuardStore.open(url) as store:
        writer = ConstraintRegistry(store.log).writer("system", by="legal")
        for kind, value in (("thread", THREAD), ("thread", "other"), ("tool", "pay"), ("agent", "clerk"), ("workspace", "/srv/app")):
            scope = {"kind": kind, "value": value}
            writer.declare(Constraint(constraint_id=f"in-{kind}-{value[:3].strip('/')}", text=f"Rule of {kind} {value}.", scope=scope), reason="r")  # type: ignore[arg-type]  # read from a mapping
        writer.revoke("in-tool-pay", reason="over")
    every = {rule["constraint_id"] for rule in data("constraints", "--store", url)["constraints"]}
    assert {"query-only", "in-thread-ord", "in-thread-oth", "in-agent-cle", "in-workspace-sr"} == every
    here = data("constraints", "--store", url, "--thread", THREAD)
    assert every - {"in-thread-oth"} == {rule["constraint_id"] for rule in here["constraints"]}
    assert ["shown"] * 4 == [rule["standing"] for rule in here["constraints"]]
    assert ["Never delete an order."] == [rule["text"] for rule in here["said"]]
    assert "said, confirmed by nobody and not enforced: Never delete an order." in told("constraints", "--store", url, "--thread", THREAD)

    both = told("constraints", "--store", url, "--config", "ctxguard.yaml")
    assert "ctxguard.yaml and the store: 8 rules" in both
    changes = [line.split("\t")[2:5] for line in told("constraints", "--store", url, "--history", "in-tool-pay").splitlines()]
    assert [["declared", "1", "legal (system)"], ["revoked", "1", "legal (system)"]] == changes
    assert "Nothing is on record of a rule 'none'" in run("constraints", "--store", url, "--history", "none").stderr


def test_a_sheet_is_drawn_from_stored_threads_and_read_back(url: str, world: Path) -> None:
    """Each version is a compaction to judge: what was said before, what it tells; the marks are counted as those of files are."""
    assert 3 == len(data("sample", "--store", url, "--thread", THREAD)["samples"])
    assert 9 == len(data("sample", "--store", url)["samples"])
    assert 0 == run("sample", "--store", url, "--thread", CHINESE, "--out", "drawn.md").exit_code
    sheet = (world / "drawn.md").read_text(encoding="utf-8")
    assert f"File: thread {CHINESE}" in sheet
    assert "> message 0, user: 预算5万元" in sheet
    assert "Made by: the guard of this thread" in sheet
    assert data("review", "drawn.md")["totals"]["listed"] >= 10


def test_a_thread_is_erased_and_its_record_stays(url: str, world: Path) -> None:
    """First only counted; then no word of it is left in store or checkpoints, versions are listed, the chain holds, other threads are untouched."""
    places = ("purge", url, THREAD, "--checkpointer", "sqlite:///state.db")
    before = data(*places)
    assert not before["is_erased"]
    assert (3, True, True) == (
        before["would_erase"]["contexts_of_versions"],
        before["would_erase"]["messages_and_lists_of_them"] > 0,
        before["would_erase"]["checkpoints"] > 0,
    )
    assert "Nothing was erased. Run it again with --yes to erase it." in told(*places)
    assert before == data(*places)

    done = data(*places, "--yes")
    assert before["would_erase"] == done["erased"]
    assert (3, True) == (done["stays"]["versions"], done["stays"]["audit"] >= 3)
    assert {0} == set(data(*places)["would_erase"].values())
    assert 3 == len(data("versions", url, THREAD)["versions"])
    gone = run("show", url, THREAD, "--json")
    assert (2, None, True) == (gone.exit_code, json.loads(gone.stdout)["content"], "is gone" in gone.stderr)
    assert 2 == run("show", url, THREAD, "--messages").exit_code
    assert "ORD-1177" not in run("show", url, THREAD, "--search", "order").output
    assert 2 == run("fields", url, THREAD).exit_code
    assert 2 == run("diff", url, THREAD, "1", "2").exit_code
    assert 0 == run("verify", url).exit_code
    assert 3 == len(data("sample", "--store", url, "--thread", CHINESE)["samples"])
    with sqlite3.connect(world / "state.db") as checkpoints:
        assert 0 == checkpoints.execute("SELECT count(*) FROM checkpoints WHERE thread_id = ?", (THREAD,)).fetchone()[0]
        assert 0 < checkpoints.execute("SELECT count(*) FROM checkpoints WHERE thread_id = ?", (CHINESE,)).fetchone()[0]
    assert 0 == run("purge", url, THREAD, "--yes").exit_code, "erasing twice is erasing once"


def test_checkpoints_that_cannot_be_deleted_are_told_apart_from_a_store_that_was_erased(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which of the two is gone is said, and another call finishes it; where the checkpointer is of no use from the beginning, nothing is erased."""

    def refuses(*_: Any) -> None:
        msg = "disk I/O error"
        raise sqlite3.OperationalError(msg)

    places = ("purge", SQLITE, THREAD, "--checkpointer", "sqlite:///state.db")
    with monkeypatch.context() as patched:
        patched.setattr(SqliteSaver, "list", refuses)
        done = run(*places, "--yes")
        assert (2, True) == (done.exit_code, "Nothing was erased." in done.stderr), done.output
    assert 0 < data(*places)["would_erase"]["messages_and_lists_of_them"]
    with monkeypatch.context() as patched:
        patched.setattr(SqliteSaver, "delete_thread", refuses)
        done = run(*places, "--yes")
        assert (2, True) == (done.exit_code, "the checkpoints are not: run it again." in done.stderr), done.output
    left = data(*places)["would_erase"]
    assert (0, True) == (left["messages_and_lists_of_them"], left["checkpoints"] > 0)
    told(*places, "--yes")
    assert {0} == set(data(*places)["would_erase"].values())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("versions", SQLITE, "none"), "Thread 'none' has no version"),
        (("versions", SQLITE, "none", "--attempts"), "Nobody tried to compact thread 'none'"),
        (("versions", SQLITE, ""), "The name of the thread is empty"),
        (("show", SQLITE, "none"), "Thread 'none' has no version"),
        (("show", SQLITE, THREAD, "99"), "versions 1 to 3"),
        (("show", SQLITE, THREAD, "--message", "99-abcdef"), "no archived message '99-abcdef'"),
        (("fields", SQLITE, "none"), "Thread 'none' has no version"),
        (("fields", SQLITE, THREAD, "99"), "versions 1 to 3"),
        (("fields", SQLITE, THREAD, "--history", "colour"), "no field 'colour'"),
        (("purge", SQLITE, "none"), "Nothing is on record of thread 'none'"),
        (("purge", SQLITE, THREAD, "--checkpointer", "sqlite:///none.db"), "There is no file 'none.db'"),
        (("purge", SQLITE, THREAD, "--checkpointer", "mysql://u:secret-word@h/d"), "Stores are kept in"),
        (("constraints", "--thread", THREAD), "name it with --store"),
        (("sample", "--store", SQLITE, "chat.json"), "name either files or"),
        (("sample", "--thread", THREAD, "session.jsonl"), "--thread is one of a store"),
        (("sample", "--store", SQLITE, "--thread", "none"), "no version on record there"),
        (("versions", SQLITE, "\udcff\x1b[2J"), "no valid UTF-8"),
        (("sample", "--store", SQLITE, "--thread", "\udcff"), "no valid UTF-8"),
        (("show", SQLITE, HOSTILE + "9"), "has no version"),
        (("rollback", SQLITE, THREAD, "--to", "²"), "number of a version"),
    ],
)
def test_what_is_not_there_is_told(world: Path, arguments: tuple[str, ...], words: str) -> None:
    """Exit code 2 and one sentence that says what to do; nothing moves the terminal, no password is shown."""
    done = run(*arguments)
    assert (2, "", 1) == (done.exit_code, done.stdout, len(done.stderr.splitlines())), done.output
    assert words in done.stderr
    assert not {"\x1b", "secret-word"} & {word for word in ("\x1b", "secret-word") if word in done.stderr}


def test_a_hostile_name_and_hostile_words_move_no_terminal(world: Path) -> None:
    """In every command that shows either, in words; JSON escapes what it must, and bytes are bytes."""
    moving = {"\x1b", "\x07", "\u202e"}
    name = HOSTILE + "2"
    with GuardStore.open(SQLITE) as store:
        talk(store, name, *[f"\x1b]0;mine\x07 Pay \u202e{number} EUR to me \x1b[2J" for number in range(8)])
    for command in (("threads",), ("versions", name), ("show", name), ("show", name, "--messages"), ("fields", name), ("purge", name)):
        shown = told(command[0], SQLITE, *command[1:])
        assert not moving & set(shown), command
        data(command[0], SQLITE, *command[1:])
    message = told("show", SQLITE, name, "--message", data("show", SQLITE, name, "--messages")["messages"][0]["id"])
    assert not moving & set(message)
    assert not moving & set(told("sample", "--store", SQLITE, "--thread", name))


class Turned:
    """Stands for encryption: what it writes says nothing to whoever does not know it."""

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        return "turned", bytes(byte ^ 0x5A for byte in plaintext)

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        return bytes(byte ^ 0x5A for byte in ciphertext)


def test_what_is_encrypted_is_said_to_be(world: Path) -> None:
    """It is not listed as nothing found; the record is shown, and the sheet holds the other threads."""
    with GuardStore.open(SQLITE) as store:
        talk(store, "secret", *TURNS, serde=EncryptedSerializer(Turned()))
        # Applications have streams of their own, with keys of any form.
        store.log.append(store.stream("audit", "mine"), [b"{}"])
    assert "secret" in told("threads", SQLITE)
    assert 3 == len(data("versions", SQLITE, "secret")["versions"])
    for asked in (("--messages",), ("--search", "order"), ("--message", "call-1")):
        done = run("show", SQLITE, "secret", *asked)
        assert (2, "", True) == (done.exit_code, done.stdout, "are encrypted, and their key is the application's" in done.stderr)
    drawn = run("sample", "--store", SQLITE, "--json")
    assert (2, True) == (drawn.exit_code, "thread secret: " in drawn.stderr)
    assert 9 == len(json.loads(drawn.stdout)["samples"])
    told("purge", SQLITE, "secret", "--yes")
    drawn = run("sample", "--store", SQLITE, "--json")
    assert (0, True) == (drawn.exit_code, "thread secret: its messages were erased. It is left out." in drawn.stderr)


def test_a_thread_of_five_thousand_messages_is_listed_searched_sampled_and_erased(world: Path) -> None:
    """Whole, one line each."""
    messages: list[BaseMessage] = [
        HumanMessage(f"Pay {number} EUR for it.", id=f"m{number}") if number % 2 == 0 else AIMessage(f"Noted {number}. {PADDING}", id=f"m{number}")
        for number in range(5_000)
    ]
    done = compact_messages(messages[:60], keep=("turns", 1), summarizer=ExtractiveSummarizer())
    place = ContextPlace(thread="long")
    head = read_head(done.head)
    assert isinstance(head, ContextHead)
    with GuardStore.open(SQLITE) as store:
        rows = [(f"id:{message.id}", "", message) for message in messages]
        part = archive_of(store).put(place, rows, first=0, offloaded={})
        version_log(store).commit(place, ContextHead(version=0), head, done.record, replaced=[], archived=part)

    lines = told("show", SQLITE, "long", "--messages").splitlines()
    assert (5_000, "Pay 4998 EUR for it.") == (len(lines), lines[4_998].split("\t")[2])
    assert "Pay 4242 EUR" in told("show", SQLITE, "long", "--search", "4242").splitlines()[0]
    assert 5_000 == len(data("show", SQLITE, "long", "--messages")["messages"])
    (sample,) = data("sample", "--store", SQLITE, "--thread", "long")["samples"]
    assert sample["more_fields"] > 1_000
    assert 5_001 == data("purge", SQLITE, "long", "--yes")["erased"]["messages_and_lists_of_them"]

"""The work log of a thread: numbered without gaps, one line for each effect, readable after a restart, erasable."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from langchain_ctxguard import GuardStore
from langchain_ctxguard.core.worklog import decisions_in, effect_digest, files_left, last_step_on, open_entries
from langchain_ctxguard.domain.log import Stream
from langchain_ctxguard.domain.summary import Decision
from langchain_ctxguard.domain.worklog import FileState, WorkEntry, WorkState
from langchain_ctxguard.errors import ConfigurationError, StoreError
from langchain_ctxguard.records.worklog import WorkLog

NOW = datetime(2026, 11, 30, tzinfo=UTC)


def entry(state: WorkState = WorkState.DONE, text: str = "edit a.py", **about: object) -> WorkEntry:
    return WorkEntry.model_validate({"state": state, "text": text, "at": NOW, **about})


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GuardStore]:
    opened = GuardStore.open("memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'store.db'}")
    yield opened
    opened.close()


def test_entries_are_numbered_and_read_back(store: GuardStore) -> None:
    """What was appended is read by another reader, in order and whole."""
    edit = entry(files=(FileState(path="a.py", sha256="1" * 64),), tool="edit_file", tool_call_id="c1", effect_digest=effect_digest("edit_file", {}))
    choice = entry(WorkState.DECIDED, "httpx", said_by="agent", decision=Decision(chosen="httpx"))
    written = WorkLog(store).append("t", [edit, choice])
    assert [1, 2] == [one.number for one in written]
    assert WorkLog(store).read("t") == written
    assert WorkLog(store).read("other") == ()


def test_a_call_is_logged_once(store: GuardStore) -> None:
    """A resumed run that reports the same call again adds nothing, and learns the number it has."""
    log = WorkLog(store)
    edit = entry(tool_call_id="c1", effect_digest="d1")
    log.append("t", [edit])
    again, other = WorkLog(store).append("t", [edit, entry(tool_call_id="c2", effect_digest="d1")])
    assert (again.number, other.number) == (1, 2)
    assert [one.tool_call_id for one in log.read("t")] == ["c1", "c2"]


def test_two_writers_share_the_numbers(store: GuardStore) -> None:
    """Threads that append at once give each number once."""

    def write(name: str) -> None:
        log = WorkLog(store)
        for step in range(10):
            log.append("t", [entry(text=f"{name} {step}")])

    writers = [threading.Thread(target=write, args=(name,)) for name in "ab"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [one.number for one in WorkLog(store).read("t")] == list(range(1, 21))


def test_words_can_be_erased(store: GuardStore) -> None:
    """The log holds no words; erased ones are gone for readers that knew them, and numbers go on."""
    log = WorkLog(store)
    log.append("t", [entry(text="secret plan", tool_call_id="c1", effect_digest="d")])
    assert all(b"secret" not in one.body for one in store.log.read(Stream(tenant=store.tenant, kind="worklog", key="t")))
    assert log.purge_thread("t") == 1
    assert log.read("t") == ()
    assert [1, 2] == [one.number for one in log.append("t", [entry(tool_call_id="c1", effect_digest="d"), entry(text="next")])]
    assert ["next"] == [one.text for one in WorkLog(store).read("t")]


def test_a_log_is_that_of_a_thread(store: GuardStore) -> None:
    """Without a thread nothing is written."""
    with pytest.raises(ConfigurationError, match="thread"):
        WorkLog(store).append("", [entry()])


def test_what_a_later_version_wrote_is_not_guessed_at(store: GuardStore) -> None:
    """An entry of another version stops the reader."""
    store.log.append(Stream(tenant=store.tenant, kind="worklog", key="t"), [b'{"schema_version":2}'])
    with pytest.raises(StoreError, match="Upgrade"):
        WorkLog(store).read("t")


def test_what_a_log_adds_up_to() -> None:
    """The last step decides how a file was left; what was closed is open no more."""
    entries = [
        entry(number=1, files=(FileState(path="a.py", sha256="1"), FileState(path="b.py", sha256="1"))),
        entry(WorkState.NEXT, "callers", number=2, said_by="agent"),
        entry(WorkState.BLOCKED, "no network", number=3, said_by="agent"),
        entry(number=4, files=(FileState(path="a.py"),), closes=(2,)),
        entry(WorkState.DECIDED, "x", number=5, decision=Decision(chosen="x")),
    ]
    assert {"a.py": None, "b.py": "1"} == {path: state.sha256 for path, state in files_left(entries).items()}
    assert [3] == [one.number for one in open_entries(entries)]
    assert ["x"] == [one.chosen for one in decisions_in(entries)]
    step = last_step_on(entries, "b.py")
    assert step is not None
    assert step.number == 1

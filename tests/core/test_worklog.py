"""What a work log adds up to."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from langchain_ctxguard.core.worklog import closed_entries, files_left, last_step_on, open_entries
from langchain_ctxguard.domain.worklog import FileState, WorkEntry, WorkState

NOW = datetime(2026, 11, 30, tzinfo=UTC)


def entry(number: int, state: str, *files: str, **more: Any) -> WorkEntry:
    given: dict[str, Any] = {"said_by": "harness", "at": NOW, **more}
    states = tuple(FileState(path=path, sha256=f"{number:064x}") for path in files)
    return WorkEntry(number=number, state=WorkState(state), text=f"step {number}", files=states, **given)


@pytest.mark.parametrize(
    ("later", "expected"),
    [
        ((entry(2, "done", "a.py"),), []),
        ((entry(2, "done", "b.py"),), [1]),
        ((entry(2, "next", "a.py"),), [1, 2]),
        ((entry(2, "blocked", "a.py"),), [1, 2]),
        ((), [1]),
    ],
)
def test_what_was_found_half_done_is_open_until_a_step_on_its_file_succeeds(later: tuple[WorkEntry, ...], expected: list[int]) -> None:
    """A plan for the file, or a step on another one, settles nothing."""
    assert expected == [one.number for one in open_entries((entry(1, "blocked", "a.py"), *later))]


def test_a_step_before_does_not_settle_what_came_after() -> None:
    """Nor does it where it settled an earlier find on the same file."""
    assert [2] == [one.number for one in open_entries((entry(1, "done", "a.py"), entry(2, "blocked", "a.py")))]


def test_every_file_must_have_been_seen_to() -> None:
    """Of two files one is not enough."""
    half = entry(1, "blocked", "a.py", "b.py")
    assert [1] == [one.number for one in open_entries((half, entry(2, "done", "a.py")))]
    assert [] == [one.number for one in open_entries((half, entry(2, "done", "a.py"), entry(3, "done", "b.py")))]


def test_what_an_agent_said_is_closed_by_word_only() -> None:
    """A step on the file does not say that the plan is done."""
    plan = entry(1, "next", "a.py", said_by="agent")
    step = entry(2, "done", "a.py")
    word = entry(3, "done", said_by="person", closes=(1,))
    assert (plan,) == open_entries((plan, step))
    assert ((), (plan,)) == (open_entries((plan, step, word)), closed_entries((plan, step, word)))


def test_the_last_step_that_took_effect_is_found() -> None:
    """A later plan for the file is no step on it, and each file stands as its last step left it."""
    first, second, third = entry(1, "done", "a.py"), entry(2, "done", "b.py", "a.py"), entry(3, "next", "a.py")
    assert second == last_step_on((first, second, third), "a.py")
    assert last_step_on((first, second, third), "c.py") is None
    assert {"a.py": second.files[1], "b.py": second.files[0]} == files_left((first, second))

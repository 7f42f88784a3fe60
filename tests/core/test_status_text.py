"""A status in words: what is gravest first, what there is room for, and nothing by its beginning alone."""

from __future__ import annotations

import pytest

from langchain_ctxguard.core.status_text import first_places, status_text
from langchain_ctxguard.domain.code_place import CodePlace
from langchain_ctxguard.domain.reconcile import StatusItem, WorkStatus
from langchain_ctxguard.domain.workspace import CheckResult


def items(count: int) -> tuple[StatusItem, ...]:
    return tuple(StatusItem(text=f"step {number:03}") for number in range(count))


def test_more_room_never_shows_fewer_lines() -> None:
    """However much is there already, and a short room leaves the first lines of each list."""
    shown = [status_text(WorkStatus(not_in_effect=items(30), claimed=items(30)), room).count("- step") for room in range(1_200)]
    assert sorted(shown) == shown
    assert 6 == shown[0]
    assert 60 == shown[-1]


@pytest.mark.parametrize("room", [0, 400, 900])
def test_what_there_is_no_room_for_is_counted(room: int) -> None:
    """Of a list its first lines are shown, of what is in effect the newest, in their order."""
    text = status_text(WorkStatus(not_in_effect=items(90), in_effect=items(90)), room)
    before, _, behind = text.partition("In effect, need not be done again:")
    first, newest = before.count("- step"), behind.count("- step")
    assert f"- step {first - 1:03}\n- {90 - first} more are not listed" in before
    assert behind.startswith(f"\n- {90 - newest} earlier ones are not listed\n- step {90 - newest:03}\n")
    assert behind.endswith("- step 089")


def test_the_task_has_more_room_than_a_step() -> None:
    """It is what the agent goes on with."""
    text = "write " * 50
    assert f"Current task: {text.strip()}\n" in status_text(WorkStatus(task=text, not_in_effect=items(1)))
    assert text.strip() not in status_text(WorkStatus(not_in_effect=(StatusItem(text=text),)))
    assert status_text(WorkStatus(task="write " * 500)).endswith("…")


def test_the_end_of_a_failing_checks_output_is_shown() -> None:
    """Where it says what failed; a long one is marked as cut."""
    short = CheckResult(outcome="failed", exit_code=1, output="start\nE  assert 1 == 2\n")
    assert "It said:\n| start\n| E assert 1 == 2" in status_text(WorkStatus(check=short))
    long = CheckResult(outcome="failed", exit_code=1, output="\n".join(f"line {number}" for number in range(500)))
    text = status_text(WorkStatus(check=long))
    assert "It said:\n| [...]\n| line " in text
    assert text.endswith("| line 499")
    assert len(status_text(WorkStatus(check=long), 1_000)) < len(text)


def test_nothing_on_record_is_said_in_one_sentence() -> None:
    """In the words whoever asks has for it."""
    assert status_text(WorkStatus()).endswith(": nothing is on record yet.")
    assert status_text(WorkStatus(), nothing="no step was taken").endswith(": no step was taken.")


@pytest.mark.parametrize(
    ("sizes", "room", "named"),
    [((9,), 9, 1), ((9, 9), 20, 2), ((9, 9), 19, 1), ((9, 9, 9), 20, 2), ((90, 9), 20, 1), ((90,), 20, 1), ((9, 90, 9), 20, 1)],
)
def test_places_are_named_while_there_is_room_for_them_whole(sizes: tuple[int, ...], room: int, named: int) -> None:
    """The first one in any case; the others are counted."""
    paths = [str(number) * size for number, size in enumerate(sizes)]
    left = len(paths) - named
    assert ", ".join(paths[:named]) + (f" and {left} more" if left else "") == first_places(tuple(CodePlace(path=path) for path in paths), room)

"""A long work in little room: every file is named, the newest steps are told, the rest is counted."""

from __future__ import annotations

import pytest

from langchain_ctxguard.core.work_lists import steps_and_files
from langchain_ctxguard.domain.reconcile import StatusItem
from langchain_ctxguard.domain.worklog import FileState

SHA = "a" * 64


def listed(steps: int, files: int, room: int) -> str:
    items = [StatusItem(text=f"s{number}", is_compared=True) for number in range(steps)]
    left = {f"f{number}.py": FileState(path=f"f{number}.py", sha256=SHA) for number in range(files)}
    return steps_and_files("Steps", items, left, room)


@pytest.mark.parametrize("files", [0, 1, 40])
@pytest.mark.parametrize("room", [600, 800, 1_000, 1_500])
def test_a_list_keeps_to_its_room(files: int, room: int) -> None:
    """Never a character more, and the newest steps and files first; what has no room is counted."""
    text = listed(400, files, room)

    assert len(text) <= room
    assert "- s399" in text
    assert "s0\n" not in text
    assert "before these)" in text
    assert all(f"f{number}.py" in text for number in range(files))


def test_where_there_is_room_everything_is_listed() -> None:
    """Each step and how each file was left, and nothing is counted."""
    text = listed(5, 3, 10_000)

    assert text.splitlines() == [
        "Steps:", *(f"- s{number}" for number in range(5)), "Files as they were left:", *(f"- f{number}.py: sha256 {'a' * 12}" for number in range(3))
    ]  # fmt: skip


def test_at_least_one_step_is_listed() -> None:
    """However little room there is."""
    assert "- s4" in listed(5, 0, 0)
    assert "" == listed(0, 0, 0)

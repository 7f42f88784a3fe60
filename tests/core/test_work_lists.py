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


@pytest.mark.parametrize("files", [3, 12])
def test_more_room_never_tells_less(files: int) -> None:
    """Steps and contents of files are added as room grows, until nothing is counted, and none is told that does not fit."""
    told = 0
    for room in range(500, 1_200):
        text = listed(6, files, room)
        assert len(text) <= room
        assert all(f"f{number}.py" in text for number in range(files))
        lines = text.count("sha256") + text.count("- s")
        assert told <= lines
        told = lines
    assert 6 + files == told


def test_each_file_asks_for_the_room_of_its_own_line() -> None:
    """Files of names of one length are added in equal steps of room: one whose content is told need not be named beside it."""
    rooms: dict[int, int] = {}
    for room in range(100, 1_500):
        rooms.setdefault(listed(1, 30, room).count("sha256"), room)
    assert 1 == len({rooms[number + 1] - rooms[number] for number in range(2, 20)})

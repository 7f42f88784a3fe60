"""Trajectories of coding agents, compacted at every point: edited files, their last state and refused attempts can be read off the view."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from langchain_core.messages import BaseMessage

from langchain_ctxguard import Compaction, compact_messages
from langchain_ctxguard.backends.transcripts import read_transcript
from langchain_ctxguard.core.roles import EVIDENCE, SUMMARY

EVERY = 1 if settings().max_examples > 50 else 3
"""In CI every third point; all of them with the profile `full`."""


@dataclass(frozen=True)
class Told:
    """What a reader of the file finds at a message."""

    at: int
    """Index of the result that shows it."""

    path: str
    state: str
    """`written`, `removed`, or `refused`: the file stayed as it was."""

    mark: str = ""
    """Words of an attempt that was refused."""


# Read off the files by hand: they are small, and a program that reads them would be the one under test.
TRAJECTORIES: dict[str, tuple[Told, ...]] = {
    "sweagent_marshmallow1867_fc.traj": (
        Told(3, "reproduce.py", "written"),
        Told(5, "reproduce.py", "written"),
        Told(15, "src/marshmallow/fields.py", "refused", "1475"),
        Told(17, "src/marshmallow/fields.py", "written"),
        Told(21, "reproduce.py", "removed"),
    ),
    "sweagent_pydicom1458.traj": (
        Told(4, "reproduce_bug.py", "written"),
        Told(6, "reproduce_bug.py", "written"),
        Told(14, "pydicom/pixel_data_handlers/numpy_handler.py", "refused", "287:295"),
        Told(16, "pydicom/pixel_data_handlers/numpy_handler.py", "refused", "287:295"),
        Told(18, "pydicom/pixel_data_handlers/numpy_handler.py", "refused", "287:295"),
        Told(20, "pydicom/pixel_data_handlers/numpy_handler.py", "written"),
        Told(24, "reproduce_bug.py", "removed"),
    ),
    "openhands_traj_basic_gui_mode.json": (
        Told(4, "/workspace/todo-app/index.html", "written"),
        Told(6, "/workspace/todo-app/app.js", "written"),
    ),
}


def check(told: tuple[Told, ...], compaction: Compaction, gone: int) -> None:
    """Hold a compacted context to what left it: the evidence says each file's last state, and every attempt that was refused.

    Args:
        told: What the trajectory shows.
        compaction: Of its beginning.
        gone: How many messages left the view.
    """
    evidence = next((str(message.content) for message in compaction.messages if message.name == EVIDENCE), "")
    summary = next((str(message.content) for message in compaction.messages if message.name == SUMMARY), "")
    left = [one for one in told if one.at <= gone]
    last = {one.path: one.state for one in left if one.state != "refused"}
    for path, state in last.items():
        # What is finished is named by the summary as well, where the evidence has no room for its line.
        lines = re.findall(rf"^- (\S*{re.escape(path.lstrip('/'))}.*)$", evidence, re.MULTILINE) or re.findall(
            rf"^.*already.*{re.escape(path.lstrip('/'))}.*$", summary, re.MULTILINE | re.IGNORECASE
        )
        assert lines, (path, evidence, summary)
        is_gone = any(", done, removed)" in line for line in lines)
        assert is_gone == (state == "removed"), (path, lines)
    refused = [one for one in left if one.state == "refused"]
    lines = re.findall(r"^- edit\(.*\) failed: .*$", evidence, re.MULTILINE)
    assert len(refused) == len(lines), evidence
    for one, line in zip(refused, lines, strict=True):
        assert one.mark in line
        assert "error" in line


def gone_of(messages: list[BaseMessage], compaction: Compaction) -> int:
    """Return how many messages of the beginning left the view."""
    cut: dict[str, Any] = compaction.head["cut"]
    lead = sum(message.type == "system" for message in messages[:3])
    return int(cut["position"]) + lead if compaction.head["body"] else 0


@pytest.mark.parametrize("file", TRAJECTORIES)
def test_at_every_point(field_transcripts: Path, file: str) -> None:
    """Each beginning of the trajectory, compacted at once."""
    (run,) = read_transcript(field_transcripts / file).runs
    compacted = 0
    for end in range(3, len(run.messages) + 1, EVERY):
        messages = run.messages[:end]
        compaction = compact_messages(messages, keep=("messages", 1))
        gone = gone_of(messages, compaction)
        check(TRAJECTORIES[file], compaction, gone)
        compacted += gone > 0
    assert compacted >= len(range(3, len(run.messages) + 1, EVERY)) // 3


@pytest.mark.parametrize("file", TRAJECTORIES)
@pytest.mark.parametrize("step", [1, 2, 5])
def test_again_and_again(field_transcripts: Path, file: str, step: int) -> None:
    """A trajectory that grows is compacted again and again: what was told once is told to the end."""
    (run,) = read_transcript(field_transcripts / file).runs
    head = None
    for end in range(5, len(run.messages) + 1, step if EVERY == 1 else max(step, 2)):
        messages = run.messages[:end]
        compaction = compact_messages(messages, keep=("messages", 1), previous=head)
        head = compaction.head
        check(TRAJECTORIES[file], compaction, gone_of(messages, compaction))

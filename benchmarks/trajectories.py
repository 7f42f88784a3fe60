"""SWE-agent and OpenHands trajectories, compacted at every point: what was edited, how each file was left, and which attempts were refused.

    python -m benchmarks.trajectories             every point; prints, and writes `results/trajectories.json`
    python -m benchmarks.trajectories --small     every tenth; writes nothing

The trajectories are no part of the repository: `--transcripts` names their folder.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage

from benchmarks.measuring import table, write
from langchain_ctxguard.backends.transcripts import read_transcript
from langchain_ctxguard.compact import Compaction, compact_messages
from langchain_ctxguard.core.roles import EVIDENCE, SUMMARY

TRANSCRIPTS = Path(__file__).resolve().parents[2] / "shared" / "field" / "transcripts"
STEPS = (1, 2, 5)
"""Messages by which a trajectory grows between two compactions."""


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


@dataclass(frozen=True)
class Found:
    """What can be read off one compacted context."""

    files: int
    """Files that were edited in what left the view."""

    refused: int
    """Attempts that were refused in it."""

    faults: tuple[str, ...] = ()
    """What cannot be read off, or reads otherwise, one sentence each."""

    is_compacted: bool = True


def messages_of(file: Path) -> Sequence[BaseMessage]:
    """Return the messages of a trajectory."""
    (run,) = read_transcript(file).runs
    return run.messages


def beginnings(name: str, messages: Sequence[BaseMessage], every: int = 1) -> Iterator[Found]:
    """Yield what becomes of each beginning of a trajectory that is compacted at once."""
    for end in range(3, len(messages) + 1, every):
        yield _found(name, messages[:end], compact_messages(messages[:end], keep=("messages", 1)))


def cuts(name: str, messages: Sequence[BaseMessage], every: int = 1) -> Iterator[Found]:
    """Yield what becomes of the whole trajectory where it is cut at each point: what stands behind it stays as it is."""
    for kept in range(1, len(messages) - 2, every):
        yield _found(name, messages, compact_messages(messages, keep=("messages", kept)))


def again(name: str, messages: Sequence[BaseMessage], step: int) -> Iterator[Found]:
    """Yield what becomes of a trajectory that grows and is compacted again and again."""
    head = None
    for end in range(5, len(messages) + 1, step):
        compaction = compact_messages(messages[:end], keep=("messages", 1), previous=head)
        head = compaction.head
        yield _found(name, messages[:end], compaction)


def _found(name: str, messages: Sequence[BaseMessage], compaction: Compaction) -> Found:
    gone = _gone(messages, compaction)
    left = [one for one in TRAJECTORIES[name] if one.at <= gone]
    last = {one.path: one.state for one in left if one.state != "refused"}
    refused = [one for one in left if one.state == "refused"]
    evidence, summary = (_text(compaction, kind) for kind in (EVIDENCE, SUMMARY))
    faults = [fault for path, state in last.items() for fault in _state_faults(path, state, evidence, summary)]
    return Found(len(last), len(refused), (*faults, *_refusal_faults(refused, evidence)), gone > 0)


def _text(compaction: Compaction, kind: str) -> str:
    return next((str(message.content) for message in compaction.messages if message.name == kind), "")


def _gone(messages: Sequence[BaseMessage], compaction: Compaction) -> int:
    """Return how many messages of the beginning left the view."""
    cut: dict[str, Any] = compaction.head["cut"]
    lead = sum(message.type == "system" for message in messages[:3])
    return int(cut["position"]) + lead if compaction.head["body"] else 0


def _state_faults(path: str, state: str, evidence: str, summary: str) -> Iterator[str]:
    name = re.escape(path.lstrip("/"))
    # What is finished is named by the summary as well, where the evidence has no room for its line.
    lines = re.findall(rf"^- (\S*{name}.*)$", evidence, re.MULTILINE) or re.findall(rf"^.*already.*{name}.*$", summary, re.MULTILINE | re.IGNORECASE)
    if not lines:
        yield f"{path} is not named"
    elif any(", done, removed)" in line for line in lines) != (state == "removed"):
        yield f"{path} was {state}, and it says: {lines}"


def _refusal_faults(refused: Sequence[Told], evidence: str) -> Iterator[str]:
    lines = re.findall(r"^- edit\(.*\) failed: .*$", evidence, re.MULTILINE)
    if len(lines) != len(refused):
        yield f"{len(refused)} attempts were refused, {len(lines)} are told"
    yield from (f"no word of why: {line}" for one, line in zip(refused, lines, strict=False) if one.mark not in line or "error" not in line)


def main(arguments: list[str]) -> int:
    """Measure, print, write. What cannot be read off is a failure."""
    parser = argparse.ArgumentParser(description="Compact trajectories of coding agents at every point.")
    parser.add_argument("--small", action="store_true", help="every tenth point; write nothing")
    parser.add_argument("--transcripts", type=Path, default=TRANSCRIPTS, help="the folder of the trajectories")
    given = parser.parse_args(arguments)
    if not given.transcripts.is_dir():
        print(f"Nothing measured: no trajectories in {given.transcripts}. Name their folder with --transcripts.")
        return 0
    every = 10 if given.small else 1
    found: dict[str, list[Found]] = {}
    for name in TRAJECTORIES:
        messages = messages_of(given.transcripts / name)
        points = [*beginnings(name, messages, every), *cuts(name, messages, every)]
        found[name] = [*points, *(one for step in ((5,) if given.small else STEPS) for one in again(name, messages, step))]
    rows = [{"trajectory": name, "messages": len(messages_of(given.transcripts / name)), **_figures(some)} for name, some in found.items()]
    figures = {"trajectories": len(found), **_figures([one for some in found.values() for one in some])}
    print(table(rows), figures, sep="\n\n")
    for name, some in found.items():
        print(*(f"{name}: {fault}" for one in some for fault in one.faults), sep="\n", end="")
    if not given.small:
        write(
            "trajectories",
            measured=(
                "Trajectories of SWE-agent and OpenHands, each compacted at every point: every beginning at once, the whole of it cut at every "
                f"message, and again and again as it grows by {', '.join(map(str, STEPS[:-1]))} or {STEPS[-1]} messages. Counted over all points: "
                "what had left the view, and what of it the compacted context does not tell as it was."
            ),
            against="what a person read off the files: which were edited, how each was left, which attempts were refused, and by which error.",
            rows=rows,
            headline=figures,
        )
    return int(figures["faults"] > 0)


def _figures(some: Sequence[Found]) -> dict[str, int]:
    return {
        "points": len(some),
        "compacted": sum(one.is_compacted for one in some),
        "files": sum(one.files for one in some),
        "refused": sum(one.refused for one in some),
        "faults": sum(len(one.faults) for one in some),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Trajectories of coding agents, compacted at every point: edited files, their last state and refused attempts can be read off the view."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from benchmarks.trajectories import STEPS, TRAJECTORIES, Found, again, beginnings, cuts, messages_of

EVERY = 1 if settings().max_examples > 50 else 3
"""In CI every third point; all of them with the profile `full`."""


def faults_in(found: list[Found]) -> list[str]:
    """Return what cannot be read off, after a look at whether there was anything to."""
    assert len(found) // 3 <= sum(one.is_compacted for one in found)
    return [fault for one in found for fault in one.faults]


@pytest.mark.parametrize("file", TRAJECTORIES)
def test_at_every_point(field_transcripts: Path, file: str) -> None:
    """Each beginning of the trajectory, compacted at once."""
    found = list(beginnings(file, messages_of(field_transcripts / file), EVERY))
    assert [] == faults_in(found)
    assert len({one.path for one in TRAJECTORIES[file]}) == max(one.files for one in found)
    assert sum(one.state == "refused" for one in TRAJECTORIES[file]) == max(one.refused for one in found)


@pytest.mark.parametrize("file", TRAJECTORIES)
def test_cut_at_every_point(field_transcripts: Path, file: str) -> None:
    """The whole trajectory, of which the newest messages stay as they are: one, two, nearly all."""
    assert [] == faults_in(list(cuts(file, messages_of(field_transcripts / file), EVERY)))


@pytest.mark.parametrize("file", TRAJECTORIES)
@pytest.mark.parametrize("step", STEPS)
def test_again_and_again(field_transcripts: Path, file: str, step: int) -> None:
    """A trajectory that grows is compacted again and again: what was told once is told to the end."""
    assert [] == faults_in(list(again(file, messages_of(field_transcripts / file), step if EVERY == 1 else max(step, 2))))

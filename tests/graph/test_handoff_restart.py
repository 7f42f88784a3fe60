"""A coding agent that is killed between a compaction and what follows goes on in another process, without a step lost or done twice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.graph.coding_process import BEFORE, TASK, work


def killed(root: Path, when: str, text: str) -> subprocess.CompletedProcess[str]:
    """Run an agent in a process of its own, which ends in the middle."""
    command = [sys.executable, "-m", "tests.graph.coding_process", str(root), when, text]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=100)


@pytest.mark.parametrize("when", ["in the model call", "in the tool call"])
def test_killed_between_compaction_and_reconciliation(tmp_path: Path, when: str) -> None:
    """Before the compaction is in the state, or before the first change after it: hand-over and log are there, and nothing is doubled."""
    place = tmp_path / "files" / "work"
    (place / "src").mkdir(parents=True)
    (place / "src" / "cart.py").write_text(BEFORE, encoding="utf-8")
    ended = killed(tmp_path / "files", when, TASK)
    assert ended.returncode == 9, ended.stderr[-2_000:]
    assert (place / ".ctxguard" / "t-1" / "handoff.md").is_file()
    assert not (place / "src" / "shop.py").exists()

    resumed = work(str(tmp_path / "files"), "never", "")
    assert ["c1", "c2", "c9"] == [call_id for call_id, _ in resumed["entries"]]
    assert 1 == resumed["handoffs"]
    assert 0 == resumed["compactions"]
    assert "def sum_total(" in (place / "src" / "cart.py").read_text(encoding="utf-8")
    assert (place / "src" / "shop.py").read_text(encoding="utf-8").startswith("from cart import")
    (note,) = resumed["notes"]
    assert "[TRACE-001] edit_file" in note
    assert "Never touch migrations/." in note

from __future__ import annotations

from dataclasses import replace

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from benchmarks.coding.__main__ import outcomes_of
from benchmarks.coding.engineer import next_step
from benchmarks.coding.figures import headline, missed, rows
from benchmarks.coding.reading import View
from benchmarks.coding.tasks import Refactor, Task, told_cases

FALLS = (
    ("no guard", "reopened"),
    ("langchain", "broke"),
    ("langchain", "wrong_place"),
    ("langchain", "reopened"),
    ("no guard", "repeated_patch"),
)
"""Who falls into each told case, and how: without it the case would show nothing."""


@pytest.mark.parametrize(("task", "falls"), list(zip(told_cases(), FALLS, strict=True)), ids=lambda one: getattr(one, "name", None))
def test_the_told_cases(task: Task, falls: tuple[str, str]) -> None:
    """Each told case fails in its own way without what is measured, and with it is right, clean, and recovered in full after every compaction."""
    arm, kind = falls
    other, ours = outcomes_of(task, [arm, "ours"])
    assert other.journal.counts[kind] > 0, other.told()
    assert not other.is_clean
    assert ours.is_clean, ours.told()
    assert ours.journal.stages
    assert {5.0} == {sum(stage.shown.values()) for stage in ours.journal.stages}
    assert (True, True, True) == (ours.knows_files, ours.logs_files, ours.metrics_agree)
    figures = headline([other, ours])
    assert (1, 1, 5.0, 0) == (figures["tasks"], figures["clean"], figures["elements"], figures["repeated_patches"])
    assert [] == missed(figures)
    assert [] != missed(headline([replace(ours, knows_files=False)]))
    assert {"figure": "tasks", arm: 1, "ours": 1} == {key: value for key, value in rows([other, ours])[0].items() if value}


def test_the_engineer_knows_what_it_sees_and_nothing_else() -> None:
    """The same place in the work, seen with and without what was done: the number is raised once, or once more."""
    change = Refactor("LIMIT = ", "", "src", ("src/a.py",), by=2)
    asked = HumanMessage(f"{change.ask} Never touch legacy/.")
    found = ToolMessage("Found LIMIT =  in:\nsrc/a.py:1: LIMIT = 5\nsrc/legacy/b.py:1: LIMIT = 5", tool_call_id="s")
    plan = ToolMessage("[TRACE-001] next: edit these for `LIMIT = ` @ src/a.py, src/legacy/b.py", tool_call_id="n")
    read = AIMessage("", tool_calls=[{"name": "read_file", "args": {"path": "src/a.py"}, "id": "r"}])
    content = ToolMessage("LIMIT = 5\n", tool_call_id="r")
    done = HumanMessage('[TRACE-002] edit_file: "LIMIT = 3" -> "LIMIT = 5" @ src/a.py')

    assert ("What shall I do?", "", {}) == next_step(View.of([HumanMessage("Go on.")]), notes=True)
    assert "search" == next_step(View.of([asked]), notes=True)[1]
    edit = next_step(View.of([asked, plan, found, read, content]), notes=True)
    assert ("edit_file", {"path": "src/a.py", "old_string": "LIMIT = 5", "new_string": "LIMIT = 7"}) == edit[1:]
    assert "run_check" == next_step(View.of([asked, plan, found, done, read, content]), notes=True)[1]
    # With the rule out of sight, what it forbade is next.
    unruled = HumanMessage(change.ask)
    assert {"path": "src/legacy/b.py"} == next_step(View.of([unruled, plan, found, done]), notes=True)[2]

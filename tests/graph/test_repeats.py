"""What is done is not done again, and what was turned down is not taken up again: the model gets the evidence in the tool's place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from langchain_ctxguard import Extensions
from tests.support.desk import Desk, is_answered, is_held
from tests.support.repositories import git, repository

A = "import os\n\n\ndef total():\n    return 1\n"
PATCH = """--- a/a.py
+++ b/a.py
@@ -3,3 +3,3 @@

 def total():
-    return 1
+    return 2
"""


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A desk over a small repository."""
    return Desk(repository(tmp_path / "work", {"a.py": A, "b.py": "b = 1\n", "requirements.txt": "flask\n"}))


@pytest.mark.parametrize("compacted", [False, True])
@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("edit_file", {"file_path": "a.py", "old_string": "return 1", "new_string": "return 2"}),
        ("edit_file", {"file_path": "a.py", "old_string": "import os", "new_string": "import os\nimport re"}),
        ("write_file", {"file_path": "说明 new.py", "content": "x = 1\n"}),
        ("apply_patch", {"patch": PATCH}),
        ("delete_file", {"file_path": "b.py"}),
    ],
)
def test_the_same_effect_is_told_and_not_made_again(desk: Desk, name: str, args: dict[str, Any], compacted: bool) -> None:  # noqa: FBT001
    """An edit, an insertion, a new file, a patch, a removal: what is in effect and where, and no error."""
    first = desk.call(name, **args)
    assert not is_answered(first)
    before = git(desk.root, "diff")
    if compacted:
        desk.compact()
    again = desk.call(name, **args)

    assert is_answered(again)
    assert "success" == again.status
    assert "Already in effect" in again.text
    assert "[TRACE-001] done" in again.text
    assert before == git(desk.root, "diff")
    assert 1 == len(desk.handoff.entries("t"))
    assert 1 == len(desk.facts.of("repeat_answered"))


def test_the_same_edit_by_another_tool_is_the_same_edit(desk: Desk) -> None:
    """What counts is what the file holds, not what the tool or its arguments are called."""
    desk.edit("a.py", "    return 1", "    return 2")
    desk.compact()
    assert is_answered(desk.call("apply_patch", patch=PATCH))
    assert is_answered(desk.edit("/a.py", "    return 1", "    return 2"))
    assert is_answered(desk.write("a.py", A.replace("return 1", "return 2")))


@pytest.mark.parametrize("content", [A, "other\n", None])
def test_an_effect_that_the_workspace_has_no_more_is_made_again(desk: Desk, content: str | None) -> None:
    """Reverted, overwritten or removed by somebody else: the call runs."""
    desk.write("c.py", "c = 1\n")
    desk.outside("c.py", content)
    desk.compact()
    assert is_held(desk.write("c.py", "c = 1\n"))
    assert "Wrote c.py" == desk.write("c.py", "c = 1\n").text
    assert "c = 1\n" == desk.text("c.py")


def test_an_effect_that_later_work_left_standing_is_in_effect(desk: Desk) -> None:
    """The file has changed since, the line has not."""
    desk.edit("a.py", "return 1", "return 2")
    desk.edit("a.py", "import os", "import sys")
    assert is_answered(desk.edit("a.py", "return 1", "return 2"))


def test_going_back_and_forth_is_allowed(desk: Desk) -> None:
    """What the agent undid itself may be done again."""
    desk.edit("b.py", "b = 1", "b = 2")
    desk.edit("b.py", "b = 2", "b = 1")
    assert "Edited b.py" == desk.edit("b.py", "b = 1", "b = 2").text
    assert "b = 2\n" == desk.text("b.py")


def test_a_new_edit_of_a_file_that_was_edited_runs(desk: Desk) -> None:
    """Knowing the file is no reason; the same words in a file nobody worked on are none either."""
    desk.edit("b.py", "b = 1", "b = 2")
    assert "Edited b.py" == desk.edit("b.py", "b = 2", "b = 3").text
    desk.outside("d.py", "b = 3\n")
    assert not is_answered(desk.edit("d.py", "b = 1", "b = 3"))


def test_a_few_letters_that_stand_in_any_file_are_no_evidence(desk: Desk) -> None:
    """Another edit, whose old text is not there, gets the tool's own answer."""
    desk.edit("b.py", "b = 1", "b = 12")
    assert "is not in b.py" in desk.edit("b.py", "zz", "12").text


def test_the_same_call_begun_anew_is_not_told_that_it_is_done(desk: Desk) -> None:
    """A node that begins again makes the same call: it is no repeat of itself."""
    desk.edit("b.py", "b = 1", "b = 2", call_id="one")
    assert not is_answered(desk.edit("b.py", "b = 1", "b = 2", call_id="one"))


def test_reading_again_is_never_answered_from_the_record(desk: Desk) -> None:
    """After a compaction the content is gone from the context, changed or not."""
    for content in ("b = 1\n", "b = 7\n"):
        desk.outside("b.py", content)
        assert content == desk.call("read_file", file_path="b.py").text
        desk.compact()
        assert content == desk.call("read_file", file_path="b.py").text


def test_a_command_is_run_again(desk: Desk) -> None:
    """Nobody can tell what a command would do a second time."""
    assert "ran make x" == desk.call("execute", command="make x").text
    assert "ran make x" == desk.call("execute", command="make x").text


def test_the_same_search_is_answered_as_long_as_nothing_changed(desk: Desk) -> None:
    """The answer is the one it gave; a file that changed, and a new one anywhere, have it searched again."""
    found = desk.call("grep", pattern="total")
    assert "a.py:4: def total():" == found.text
    desk.compact()
    again = desk.call("grep", pattern="total")
    assert is_answered(again)
    assert "a.py:4: def total():" in again.text
    assert not is_answered(desk.call("grep", pattern="return"))

    desk.outside("new.py", "total = 1\n")
    assert "new.py:1: total = 1" in desk.call("grep", pattern="total").text
    assert is_answered(desk.call("grep", pattern="total"))
    desk.edit("a.py", "import os", "import os\n# more")
    assert "a.py:5: def total():" in desk.call("grep", pattern="total").text


def test_a_search_that_found_nothing_is_made_again(desk: Desk) -> None:
    """There is no anchor to point to."""
    for _ in range(2):
        assert "No matches found" == desk.call("grep", pattern="nowhere").text


def test_a_search_is_known_after_a_kill(tmp_path: Path) -> None:
    """Once there was a compaction it is in the store, with those before it; a run that is never compacted writes none."""
    desk = Desk(repository(tmp_path / "work", {"a.py": A}), f"sqlite:///{tmp_path / 'g.db'}")
    desk.call("grep", pattern="total")
    assert () == desk.state.searches
    assert is_answered(desk.call("grep", pattern="total"))
    desk.compact()
    desk.call("grep", pattern="return")
    desk.killed()
    assert is_answered(desk.call("grep", pattern="return"))
    assert is_answered(desk.call("grep", pattern="total"))


def test_a_search_whose_result_the_redactor_changes_is_made_again(tmp_path: Path) -> None:
    """What is left of it would be no answer, so nothing of it is on record; any other search is kept as before."""
    key = "sk-live-4711"
    root = repository(tmp_path / "work", {"a.py": A, "conf.py": f"KEY = '{key}'\n"})
    desk = Desk(root, extensions=Extensions(redact=lambda text: text.replace(key, "[key]")))
    desk.compact()
    for _ in range(2):
        found = desk.call("grep", pattern="KEY")
        assert (False, f"conf.py:1: KEY = '{key}'") == (is_answered(found), found.text)
    desk.call("grep", pattern="total")
    assert is_answered(desk.call("grep", pattern="total"))
    assert b"def total" in desk.on_record()
    assert key.encode() not in desk.on_record()


def test_a_redactor_that_fails_keeps_a_search_off_the_record(tmp_path: Path) -> None:
    """Whatever goes wrong with it, the text may not pass."""

    def broken(text: str) -> str:
        raise ValueError(text)

    desk = Desk(repository(tmp_path / "work", {"a.py": A}), extensions=Extensions(redact=broken))
    desk.compact()
    desk.call("grep", pattern="total")
    assert not is_answered(desk.call("grep", pattern="total"))
    assert b"def total" not in desk.on_record()


@pytest.mark.parametrize(
    ("option", "name", "args"),
    [
        ("requests", "execute", {"command": "pip install requests"}),
        ("the Requests library", "execute", {"command": "cd . && python -m pip install -U 'requests[socks]>=2'"}),
        ("requests", "edit_file", {"file_path": "requirements.txt", "old_string": "flask", "new_string": "flask\nrequests"}),
        ("requests", "write_file", {"file_path": "c.py", "content": "import requests\n"}),
        ("使用 requests 库", "execute", {"command": "uv add requests"}),
    ],
)
def test_a_proposal_that_was_turned_down_gets_the_recorded_reason(desk: Desk, option: str, name: str, args: dict[str, Any]) -> None:
    """Not run, no error, and the reason it was turned down for."""
    desk.decide("the standard library", option, why="部署体积太大")
    desk.compact()
    found = desk.call(name, **args)

    assert is_answered(found)
    assert "部署体积太大" in found.text
    assert "the standard library" in found.text
    assert "[TRACE-001]" in found.text
    assert "flask\n" == desk.text("requirements.txt")
    assert desk.text("c.py") is None
    assert 1 == len(desk.facts.of("turned_down_answered"))


def test_a_decision_that_is_made_anew_opens_the_way(desk: Desk) -> None:
    """The newest word counts."""
    desk.decide("the standard library", "requests")
    assert is_answered(desk.call("execute", command="pip install requests"))
    desk.decide("requests after all", "urllib")
    assert "ran pip install requests" == desk.call("execute", command="pip install requests").text


def test_what_is_still_used_may_be_edited(desk: Desk) -> None:
    """A line that stood there before is proposed by nobody."""
    desk.outside("c.py", "import requests\nx = 1\n")
    desk.decide("httpx", "requests")
    assert "Edited c.py" == desk.edit("c.py", "import requests\nx = 1", "import requests\nx = 2").text


def test_nothing_is_answered_while_the_check_or_a_contradiction_holds(tmp_path: Path) -> None:
    """A contradiction comes first; what need not run needs no check."""
    desk = Desk(repository(tmp_path / "work", {"a.py": A, "b.py": "b = 1\n"}), check="! grep -n BROKEN *.py")
    desk.write("b.py", "b = 2\n")
    desk.write("a.py", "a = BROKEN\n")
    desk.write("c.py", "c = 1\n")
    desk.outside("c.py", None)
    desk.compact()
    assert is_held(desk.write("b.py", "b = 2\n"))
    assert is_answered(desk.write("b.py", "b = 2\n"))
    assert is_held(desk.write("b.py", "b = 3\n"))

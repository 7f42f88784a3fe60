"""A call that would find again what was found is known by what it does, not by how its digest sorts."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from langchain_ctxguard.core.repeats import Look, repeated_search, repeated_step
from langchain_ctxguard.core.worklog import effect_digest
from langchain_ctxguard.domain.reconcile import SearchSeen
from langchain_ctxguard.domain.worklog import FileState, WorkEntry, WorkState
from langchain_ctxguard.domain.workspace import FileFact

LOOK = Look(fact=lambda path: FileFact(path=path, kind="file", sha256="s"), text=lambda _: None, name=lambda path: path)


def search(effect: str, **more: Any) -> SearchSeen:
    """Return a search that was made before, with an answer that still holds."""
    values = {"effect": effect, "found": ("a.py:1",), "files": (("a.py", "s"),), "print": "p", "at": datetime(2026, 3, 1, tzinfo=UTC)}
    return SearchSeen.model_validate({**values, **more})


def repeated(*searches: SearchSeen, now: str = "p", call_id: str | None = None) -> SearchSeen | None:
    return repeated_search("grep", {"pattern": "total"}, searches, LOOK, print_now=lambda: now, call_id=call_id)


@pytest.mark.parametrize("other", ["", "0" * 64, "~"])
def test_a_search_for_something_else_is_no_repetition(other: str) -> None:
    """Of several searches the one with the same words is found, in whatever order they stand."""
    same = search(effect_digest("grep", {"pattern": "total"}))
    assert repeated(search(other)) is None
    assert same is repeated(search(other), same)


def test_the_search_of_another_call_counts_however_its_id_sorts() -> None:
    """Only the call itself is no earlier one."""
    before, after = (search(effect_digest("grep", {"pattern": "total"}), call_id=name) for name in ("c1", "c3"))
    assert before is repeated(before, call_id="c2")
    assert after is repeated(after, call_id="c2")


def test_a_search_is_made_again_where_its_answer_may_not_hold() -> None:
    """Another workspace, another content, nothing to tell workspaces apart, or the call itself."""
    same = search(effect_digest("grep", {"pattern": "total"}), call_id="c1")
    assert same is repeated(same)
    assert repeated(same, now="q") is None
    assert repeated(same.model_copy(update={"print": ""})) is None
    assert repeated(same.model_copy(update={"files": (("a.py", "other"),)})) is None
    assert repeated(same, call_id="c1") is None


EDIT = {"file_path": "a.py", "old_string": "total = 0", "new_string": "total = len(items)"}
A, B = "a" * 64, "b" * 64


def step(effect: str, sha: str | None = A, *, path: str = "a.py", number: int = 1, **more: Any) -> WorkEntry:
    """Return a recorded step that left one file."""
    values = {"number": number, "state": WorkState.DONE, "text": "edit", "effect_digest": effect, "at": datetime(2026, 3, 1, tzinfo=UTC)}
    return WorkEntry.model_validate({**values, "files": (FileState(path=path, sha256=sha),), **more})


def looking(sha: str | None, text: str | None = "") -> Look:
    """Return how a workspace looks in which every file is the same; without a digest none is there."""
    return Look(
        fact=lambda path: FileFact(path=path, kind="absent" if sha is None else "file", sha256=sha), text=lambda _: text, name=lambda path: path
    )


@pytest.mark.parametrize("other", ["", "0" * 64, "~"])
def test_a_step_that_did_something_else_is_no_repetition(other: str) -> None:
    """Of several steps the one that did the same is found, in whatever order they stand, as long as the workspace has its effect."""
    same, else_ = step(effect_digest("edit_file", EDIT)), step(other, number=2)
    assert repeated_step("edit_file", EDIT, [else_], looking(A)) is None
    assert same is repeated_step("edit_file", EDIT, [same, else_], looking(A))
    assert same is repeated_step("edit_file", EDIT, [else_, same], looking(A))
    assert repeated_step("edit_file", EDIT, [same, else_], looking(B)) is None


def test_a_step_is_in_effect_where_its_file_holds_what_it_put_in() -> None:
    """Though somebody changed the file since."""
    same = step(effect_digest("edit_file", EDIT))
    assert same is repeated_step("edit_file", EDIT, [same], looking(B, "total = len(items)"))
    assert repeated_step("edit_file", EDIT, [same], looking(B, "total = 0")) is None


def test_a_step_that_removed_a_file_is_in_effect_while_the_file_is_gone() -> None:
    """Once it is there again the step can be done again, whatever it holds."""
    args = {"path": "a.py"}
    same = step(effect_digest("delete_file", args), None)
    assert same is repeated_step("delete_file", args, [same], looking(None, None))
    assert repeated_step("delete_file", args, [same], looking(A)) is None
    # A file that is there without a digest, such as one nobody may read, is not gone.
    unread = Look(fact=lambda path: FileFact(path=path, kind="file", sha256=None), text=lambda _: "x", name=lambda path: path)
    assert repeated_step("delete_file", args, [same], unread) is None


def test_the_last_of_several_same_steps_is_named() -> None:
    """What was done again is known by its last time; a call is no repetition of itself."""
    first, last = (step(effect_digest("edit_file", EDIT), number=number, tool_call_id=f"c{number}") for number in (1, 2))
    assert last is repeated_step("edit_file", EDIT, [first, last], looking(A))
    assert first is repeated_step("edit_file", EDIT, [first, last], looking(A), call_id="c2")
    assert last is repeated_step("edit_file", EDIT, [first, last], looking(A), call_id="c1")
    assert repeated_step("edit_file", EDIT, [first], looking(A), call_id="c1") is None


def test_only_what_is_done_and_changed_files_can_be_repeated() -> None:
    """A plan, a step without files and a call that only looks are none."""
    effect = effect_digest("edit_file", EDIT)
    assert repeated_step("edit_file", EDIT, [step(effect, state=WorkState.NEXT)], looking(A)) is None
    assert repeated_step("edit_file", EDIT, [step(effect, files=())], looking(A)) is None
    assert repeated_step("read_file", {"path": "a.py"}, [step(effect_digest("read_file", {"path": "a.py"}))], looking(A)) is None


def test_edits_of_another_form_are_known_by_what_the_files_hold() -> None:
    """However the steps were called; a file that no recorded step touched was not changed by one."""
    args = {"edits": [{"path": name, "old_string": "total = 0", "new_string": "total = len(items)"} for name in ("a.py", "b.py")]}
    first, second, other = step("x"), step("y", path="b.py", number=2), step("z", path="c.py", number=3)
    there = looking(B, "total = len(items)")
    assert second is repeated_step("multi_edit", args, [first, second, other], there)
    assert repeated_step("multi_edit", args, [first, other], there) is None
    assert repeated_step("multi_edit", args, [other], there) is None
    assert repeated_step("multi_edit", args, [first, second], looking(B, "total = 0")) is None

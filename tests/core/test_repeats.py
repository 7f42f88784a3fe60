"""A call that would find again what was found is known by what it does, not by how its digest sorts."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from langchain_ctxguard.core.repeats import Look, repeated_search
from langchain_ctxguard.core.worklog import effect_digest
from langchain_ctxguard.domain.reconcile import SearchSeen
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


def test_a_search_is_made_again_where_its_answer_may_not_hold() -> None:
    """Another workspace, another content, nothing to tell workspaces apart, or the call itself."""
    same = search(effect_digest("grep", {"pattern": "total"}), call_id="c1")
    assert same is repeated(same)
    assert repeated(same, now="q") is None
    assert repeated(same.model_copy(update={"print": ""})) is None
    assert repeated(same.model_copy(update={"files": (("a.py", "other"),)})) is None
    assert repeated(same, call_id="c1") is None

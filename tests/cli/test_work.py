"""`ctxguard threads`, `show` and `report` name a coding agent's work where it is on record."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from langchain_ctxguard import GuardStore
from tests.cli.test_commands import run
from tests.support.worked import Worked


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with one agent's work in it."""
    folder = tmp_path_factory.mktemp("worked")
    address = f"sqlite:///{folder / 'ctxguard.db'}"
    with GuardStore.open(address) as store:
        Worked(store, folder)
    return address


def test_threads_say_how_many_lines_of_work_there_are(url: str) -> None:
    """Beside the versions, and as a number in JSON."""
    assert "2 versions, 4 lines of work" in run("threads", url).stdout
    (found,) = json.loads(run("threads", url, "--json").stdout)["threads"]
    assert 4 == found["work"]


def test_show_says_what_a_version_shows_of_the_hand_over(url: str) -> None:
    """The five elements, and their sum."""
    assert "work: 5.0 of 5 elements of hand-over 1 are shown (" in run("show", url, "t-1", "1").stdout
    recovery = json.loads(run("show", url, "t-1", "2", "--json").stdout)["recovery"]
    assert (5.0, 2) == (recovery["score"], recovery["handoff"])


def test_the_report_of_a_command_has_the_work(url: str, tmp_path: Path) -> None:
    """As a page, as Markdown, and in the JSON form."""
    assert "TRACE-004" in run("report", "t-1", "--store", url).stdout
    work = json.loads(run("report", "t-1", "--store", url, "--json").stdout)["work"]
    assert ([1, 2, 3, 4], 2) == ([one["number"] for one in work["steps"]], work["metrics"]["compactions"])
    run("report", "t-1", "--store", url, "-o", str(tmp_path / "page.html"))
    assert 'id="work"' in (tmp_path / "page.html").read_text(encoding="utf-8")

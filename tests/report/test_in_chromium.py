"""The page as a browser shows it: nothing asked for, nothing run, everything to be reached by keyboard."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from langchain_ctxguard import GuardStore
from langchain_ctxguard.report.from_thread import report_of_thread
from langchain_ctxguard.report.html import render_html
from langchain_ctxguard.report.pages import document_of
from tests.support.browser import Browser, browser, chromium
from tests.support.reported import Reported, chinese_thread, hostile_thread, long_thread, small_thread
from tests.support.worked import Worked

PATH = chromium()
pytestmark = pytest.mark.skipif(PATH is None, reason="Chromium is not installed: apt-get install chromium")

THREADS: dict[str, Callable[[GuardStore], Reported]] = {
    "small": small_thread,
    "chinese": chinese_thread,
    "hostile": hostile_thread,
    "long": long_thread,
}
WORDS = {"coding": "TRACE-004", "small": "carrier", "chinese": "鹿特丹", "hostile": "onerror", "long": "order B-2400"}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A page for each thread."""
    folder = tmp_path_factory.mktemp("pages")
    made = {}
    for name, build in THREADS.items():
        with GuardStore.open("memory://") as store:
            run = build(store)
            messages = run.agent.get_state(run.config).values["messages"]
            report = report_of_thread(store, run.config["configurable"]["thread_id"], messages=messages)
        made[name] = folder / f"{name}.html"
        made[name].write_text(render_html(document_of(report)), encoding="utf-8")
    with GuardStore.open("memory://") as store:
        work = Worked(store, folder)
        report = report_of_thread(store, work.thread, messages=work.messages)
    made["coding"] = folder / "coding.html"
    made["coding"].write_text(render_html(document_of(report)), encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    """One browser for all of them."""
    assert PATH is not None
    with browser(PATH) as made:
        yield made


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", WORDS)
def test_a_page_asks_for_nothing_and_complains_of_nothing(chrome: Browser, pages: dict[str, Path], name: str, dark: bool) -> None:  # noqa: FBT001
    """It is one file: no request but for itself, no message on the console, no script of the conversation, below 5 MB."""
    chrome.open(pages[name], dark=dark)
    chrome.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    title = chrome.evaluate("document.title")

    assert [pages[name].as_uri()] == chrome.requests
    assert [] == chrome.complaints
    assert title.startswith("Thread ")
    assert pages[name].stat().st_size < 5_000_000
    assert 1 == chrome.evaluate("document.scripts.length")
    assert 0 == chrome.evaluate("document.querySelectorAll('img, iframe, object, embed, base, link, form, main svg').length")
    assert [] == chrome.evaluate(
        "[...document.querySelectorAll('*')].flatMap((one) => one.getAttributeNames()).filter((name) => name.startsWith('on'))"
    )


@pytest.mark.parametrize("name", WORDS)
def test_search_and_folds_work_by_keyboard(chrome: Browser, pages: dict[str, Path], name: str) -> None:
    """A slash goes to the search box, Enter to the next match, which is opened and in sight; Escape puts all back."""
    chrome.open(pages[name])
    chrome.press("/")
    assert "find" == chrome.evaluate("document.activeElement.id")
    chrome.type(WORDS[name])
    chrome.press("Enter")
    current = "document.querySelector('.match.current')"
    found = int(chrome.evaluate("document.querySelectorAll('.match').length"))

    assert found >= 1
    assert f"1 of {found}" == chrome.evaluate("document.getElementById('found').value")
    seen = f"(() => {{ const box = {current}.getBoundingClientRect(); return box.height > 0 && box.bottom > 0 && box.top < innerHeight; }})()"
    chrome.until(seen)
    chrome.press("Enter")
    chrome.press("Enter", shift=True)
    assert f"1 of {found}" == chrome.evaluate("document.getElementById('found').value")
    chrome.press("Escape")
    assert [0, 0, ""] == chrome.evaluate(
        "[document.querySelectorAll('.match').length, document.querySelectorAll('details[open]').length, document.getElementById('found').value]"
    )


def test_everything_is_reached_by_the_tab_key(chrome: Browser, pages: dict[str, Path]) -> None:
    """Skip links first; each stop shows that it has the focus; Enter opens a fold."""
    chrome.open(pages["small"])
    chrome.press("Tab")
    assert "Skip to the five questions" == chrome.evaluate("document.activeElement.textContent")
    assert chrome.evaluate("document.activeElement.getBoundingClientRect().left >= 0")
    chrome.press("Enter")
    assert "#questions" == chrome.evaluate("location.hash")
    tags = set()
    for _ in range(80):
        chrome.press("Tab")
        tags.add(chrome.evaluate("document.activeElement.tagName"))
        shown = "getComputedStyle(document.activeElement).outlineStyle !== 'none' || document.activeElement.closest('svg') !== null"
        assert chrome.evaluate(shown), chrome.evaluate("document.activeElement.outerHTML.slice(0, 200)")
        if chrome.evaluate("document.activeElement.tagName") == "SUMMARY":
            chrome.press("Enter")
            assert chrome.evaluate("document.activeElement.parentElement.open")
            break
    assert {"A", "INPUT", "BUTTON", "SUMMARY"} <= tags


def test_a_link_opens_what_it_leads_to(chrome: Browser, pages: dict[str, Path]) -> None:
    """A link to a message in a closed fold opens the fold, on arrival and later."""
    chrome.open(pages["small"], fragment="#m-2")
    assert chrome.evaluate("document.getElementById('m-2').checkVisibility()")
    chrome.evaluate("location.hash = '#turn-8'")
    chrome.until("document.getElementById('turn-8').checkVisibility()")


def test_the_work_is_read_and_its_hand_overs_open_by_a_link(chrome: Browser, pages: dict[str, Path]) -> None:
    """Numbers stand in columns, lines of the log one below the other, and a hand-over opens where a link leads to it."""
    chrome.open(pages["coding"], fragment="#handoff-2")
    assert chrome.evaluate("document.getElementById('handoff-2').open")
    assert ["TRACE-001", "TRACE-002", "TRACE-003", "TRACE-004"] == chrome.evaluate(
        "[...document.querySelectorAll('#work td:first-child code')].map((one) => one.textContent)"
    )
    assert "right" == chrome.evaluate("getComputedStyle(document.querySelector('#work td.n')).textAlign")


@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_sticks_out_of_the_window(chrome: Browser, pages: dict[str, Path], width: int) -> None:
    """Wide tables and long words scroll or wrap in themselves, on a narrow screen too."""
    for page in (pages["small"], pages["hostile"], pages["chinese"], pages["coding"]):
        chrome.open(page, width=width)
        chrome.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert chrome.evaluate("document.documentElement.scrollWidth <= innerWidth"), page.name


def test_it_prints_with_its_folds_open(chrome: Browser, pages: dict[str, Path], tmp_path: Path) -> None:
    """What was folded on the screen is on the paper, and folded again afterwards."""
    chrome.open(pages["small"])
    opened = "document.querySelectorAll('details[open]').length"
    chrome.evaluate(f"window.opened = 0; addEventListener('beforeprint', () => {{ window.opened = {opened}; }})")
    assert chrome.printed(tmp_path / "page.pdf") > 20_000
    assert chrome.evaluate(f"window.opened === document.querySelectorAll('details').length && {opened} === 0")

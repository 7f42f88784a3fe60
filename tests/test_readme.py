"""The first page: its example prints what is shown, and the Chinese page says the same as the English one."""

from __future__ import annotations

import contextlib
import io
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ENGLISH, CHINESE = "README.md", "README.zh.md"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def without_code(page: str) -> str:
    return FENCE.sub("", text_of(page))


def test_the_first_example_is_short_and_prints_what_is_shown() -> None:
    """Fifteen lines that run as they stand, and print what stands below them."""
    (kind, code), (output_kind, shown) = FENCE.findall(text_of(ENGLISH))[:2]
    assert ("python", "text") == (kind, output_kind)
    assert len(code.splitlines()) <= 15
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, ENGLISH, "exec"), {"__name__": "example"})  # noqa: S102 - our own example
    assert shown == printed.getvalue()


def test_the_two_commands_come_first() -> None:
    """`make demo` and `make test` stand before anything is explained, and the Makefile has them."""
    commands = re.findall(r"^    (make \w+)", text_of(ENGLISH).split("\n\n## ")[0], re.MULTILINE)
    assert ["make demo", "make test"] == commands
    recipes = re.findall(r"^(\w[\w-]*):", text_of("Makefile"), re.MULTILINE)
    assert {"demo", "test"} <= set(recipes)


def test_what_it_prevents_is_said_in_four_lines() -> None:
    """Four lines and one picture, before the first heading."""
    opening = text_of(ENGLISH).split("\n## ")[0]
    assert 4 == len(re.findall(r"^- \*\*", opening, re.MULTILINE))
    assert ["docs/images/peers.svg"] == re.findall(r"!\[[^\]]+\]\(([^)]+)\)", opening)


def test_both_pages_have_the_same_headings() -> None:
    """As many, on the same levels, in the same order."""
    levels = [re.findall(r"^(#+) ", without_code(page), re.MULTILINE) for page in (ENGLISH, CHINESE)]
    assert levels[0] == levels[1]
    assert len(levels[0]) > 6


def test_both_pages_have_the_same_code() -> None:
    """Blocks and commands are the same, letter for letter; only what a command is for is translated."""
    assert FENCE.findall(text_of(ENGLISH)) == FENCE.findall(text_of(CHINESE))
    indented = [re.findall(r"^    (\S+(?: \S+)*)", without_code(page), re.MULTILINE) for page in (ENGLISH, CHINESE)]
    assert indented[0] == indented[1]


def test_both_pages_have_the_same_numbers() -> None:
    """Every measured number is taken from the same place in the same order, and shows the same."""
    found = [re.findall(r"<!-- numbers:([\w.:-]+) -->(.*?)<!-- /numbers -->", text_of(page), re.DOTALL) for page in (ENGLISH, CHINESE)]
    assert found[0] == found[1]
    assert len(found[0]) > 10


@pytest.mark.parametrize("page", [ENGLISH, CHINESE])
def test_a_measured_number_stands_beside_the_package_it_was_measured_of(page: str) -> None:
    """The rows that the sentences take by place are those of the packages they name."""
    rows = json.loads((ROOT / "benchmarks/results/peers.json").read_text(encoding="utf-8"))["rows"]
    named = {"LangChain": 0, "deepagents": 1, "langmem": 2, "ctxguard": 4}
    for name, place in named.items():
        assert name in rows[place]["strategy"]
    told = re.findall(r"(LangChain|deepagents|langmem|this package|本包)[^<>]*?<!-- numbers:peers:rows\.(\d)\.retention -->", text_of(page))
    assert [(place == "4") for _, place in told] == [name in {"this package", "本包"} for name, _ in told]
    assert ["0", "1", "2", "4"] == [place for _, place in told]


def test_both_pages_lead_to_the_same_places() -> None:
    """The same links in the same order, but for the other language and the picture in it; each is there."""
    links = [re.findall(r"\]\(([^)]+)\)", without_code(page)) for page in (ENGLISH, CHINESE)]
    swapped = [{ENGLISH: CHINESE, "docs/images/peers.zh.svg": "docs/images/peers.svg"}.get(link, link) for link in links[1]]
    assert links[0] == swapped
    assert [] == [link for page in links for link in page if not (ROOT / link.partition("#")[0]).exists()]


def test_both_tables_of_features_say_the_same() -> None:
    """A yes is a yes in both, row by row."""
    cells = []
    for page, words in ((ENGLISH, {"yes": True, "no": False}), (CHINESE, {"是": True, "否": False})):
        table = text_of(page).split("<!-- features -->")[1].split("\n\n")[0].strip().splitlines()[2:]
        cells.append([[words[re.split(r"[,（]", cell.strip())[0]] for cell in line.strip("|").split("|")[1:]] for line in table])
    assert cells[0] == cells[1]


def test_tables_have_the_same_shape() -> None:
    """No row is missing in either."""
    rows = [[line.count("|") for line in without_code(page).splitlines() if line.startswith("|")] for page in (ENGLISH, CHINESE)]
    assert rows[0] == rows[1]


@pytest.mark.parametrize("page", [ENGLISH, CHINESE])
def test_a_page_stays_short(page: str) -> None:
    """Details belong to the pages it leads to."""
    assert len(text_of(page).splitlines()) <= 180

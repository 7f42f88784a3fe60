"""A report as one page: nothing but its own style and script, and text stays text."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_ctxguard.report.document import Answer, Document, Fold, Items, Link, Mark, Paragraph, Said, Section, Sides, Table
from langchain_ctxguard.report.html import render_html
from langchain_ctxguard.report.pages import document_of
from tests.support.reported import HOSTILE
from tests.support.reports import example_report

PAGE = render_html(document_of(example_report()))
ALLOWED = {
    "a", "article", "b", "body", "button", "caption", "circle", "code", "details", "div", "figcaption", "figure", "h1", "h2", "h4", "h5", "head",
    "header", "html", "i", "input", "label", "li", "line", "main", "meta", "nav", "ol", "output", "p", "path", "polyline", "pre", "rect", "script",
    "search", "section", "span", "style", "summary", "svg", "table", "tbody", "td", "text", "th", "thead", "title", "tr", "ul",
}  # fmt: skip


class Seen(HTMLParser):
    """Every element of a page with its attributes, and what stands in style and script."""

    def __init__(self, page: str) -> None:
        """Read a page."""
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.raw: dict[str, str] = {}
        self.words: list[str] = []
        self.inside = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, Any]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.inside = tag

    def handle_data(self, data: str) -> None:
        if self.inside in {"style", "script"} and self.inside not in self.raw:
            self.raw[self.inside] = data
        else:
            self.words.append(data)


def test_only_its_own_style_and_script_may_run() -> None:
    """The policy forbids everything and names both by their digests."""
    seen = Seen(PAGE)
    (policy,) = [about["content"] for tag, about in seen.tags if about.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None
    assert policy.startswith("default-src 'none';")
    for kind in ("style", "script"):
        digest = base64.b64encode(hashlib.sha256(seen.raw[kind].encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy
    assert not [about for _, about in seen.tags if "style" in about or "src" in about]


def test_every_link_leads_somewhere_and_every_name_is_used_once() -> None:
    """No link leaves the page; no two places have one name."""
    seen = Seen(PAGE)
    names = [about["id"] for _, about in seen.tags if "id" in about]
    links = {about["href"] for tag, about in seen.tags if tag == "a"}
    assert sorted(set(names)) == sorted(names)  # type: ignore[type-var]
    assert links <= {f"#{name}" for name in names}


def test_hostile_text_makes_no_element() -> None:
    """The elements are those of the same page with harmless words, but for the frames around characters that do not show."""
    harmless = [tag for tag, _ in Seen(render_html(document_of(example_report("Harmless.", name="t")))).tags]
    hostile = Seen(render_html(document_of(example_report(HOSTILE, name=HOSTILE))))
    assert harmless == [tag for tag, _ in hostile.tags if tag != "i"]
    assert not [name for _, about in hostile.tags for name in about if name.startswith("on")]
    assert {"U+202E", "U+0000", "U+E0041", "U+001B", "U+D83D", "U+2066"} <= set(hostile.words)
    assert not re.search("[\0\x1b\u202e\u2066\U000e0041\ud83d]", "".join(hostile.words))


@given(st.text(st.characters(codec=None), max_size=40))
def test_no_text_leaves_its_place(text: str) -> None:
    """Whatever a text holds, wherever it stands, only known elements are there, and none of them runs anything."""
    line = [text, Mark(text, "code"), Link(text, text)]
    blocks = [
        Paragraph(line), Items([line]), Table(text, [text], [[line]], anchors=[text]), Fold(line, [Said(text, "user", text, text, [text])], text),
        Sides(text, text, [Paragraph(text)], [Paragraph(text)]),
    ]  # fmt: skip
    seen = Seen(render_html(Document(text, text, [line], None, [Answer(text, line, text)], [Section("a", text, blocks)])))
    assert {tag for tag, _ in seen.tags} <= ALLOWED
    assert 1 == sum(tag == "script" for tag, _ in seen.tags)
    assert not [name for _, about in seen.tags for name in about if name.startswith("on") or name in {"src", "style"}]


def _channel(part: int) -> float:
    share = part / 255
    return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4


def _light(colour: str) -> float:
    red, green, blue = (_channel(int(colour[at : at + 2], 16)) for at in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: str, two: str) -> float:
    """Return the contrast ratio of WCAG 2.2, section 1.4.3."""
    dark, light = sorted((_light(one), _light(two)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_every_colour_of_text_can_be_read(scheme: int) -> None:
    """Each has the contrast WCAG asks of text (4.5 to 1) on each ground it stands on."""
    blocks = re.findall(r":root \{(.*?)\}", Seen(PAGE).raw["style"], re.DOTALL)
    colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", blocks[scheme]))
    for text in ("ink", "dim", "accent", "good", "warn", "bad"):
        for ground in ("paper", "sheet", "soft"):
            assert _contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
    for filled in ("accent", "good", "warn", "bad"):
        assert _contrast(colours[filled], colours["sheet"]) >= 4.5, filled

"""The site: each public name in the reference, each page in the navigation, no link that leads nowhere."""

from __future__ import annotations

import importlib
import importlib.util
import re
from pathlib import Path
from typing import Any

import langchain_ctxguard

ROOT = Path(__file__).resolve().parents[2]


def script(name: str) -> Any:
    """Return a script as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


site = script("site")


def test_every_public_name_is_in_the_reference_once() -> None:
    """Whatever the package exports has its docstring on a page; what a page names is there."""
    named = [name for text in site.reference_pages().values() for name in re.findall(r"^::: (\S+)$", text, re.MULTILINE)]
    ours = [name.rpartition(".")[2] for name in named if name.rpartition(".")[2] in langchain_ctxguard.__all__]
    assert sorted(langchain_ctxguard.__all__) == sorted(ours)
    for name in named:
        module, _, attribute = name.rpartition(".")
        found = getattr(importlib.import_module(module), attribute)
        assert found.__doc__ or not isinstance(found, type), name


def test_the_navigation_has_every_page_once() -> None:
    """In the order of the first page; what that does not list stands under More."""
    pages = ["audit.md", "decisions/0001-identity-by-position.md", "index.md", "stores.md", "versions.md"]
    nav = site.navigation("# T\n\n## One\n\n- [Versions](versions.md): of it\n- [Gone](gone.md)\n\n## Two\n\n- [Audits](audit.md)\n", pages)
    assert [
        {"Home": "index.md"},
        {"One": [{"Versions": "versions.md"}]},
        {"Two": [{"Audits": "audit.md"}]},
        {"More": [{"Stores": "stores.md"}]},
    ] == nav[:4]
    assert ["Reference", "Decisions"] == [next(iter(part)) for part in nav[4:]]


def test_links_out_of_the_docs_become_names_of_files() -> None:
    """A page of the site links to the site alone."""
    told = site.inside("[a](stores.md) [b](../README.md#x) [c](https://example.com) [d](#x) ![e](../x.png)", page="index.md")
    assert "[a](stores.md) b (`README.md`) [c](https://example.com) [d](#x) ![e](../x.png)" == told
    assert "up (`docs/../benchmarks`)" not in site.inside("[up](../../benchmarks/x.md)", page="decisions/0001.md")


def test_the_glossary_is_in_order_and_says_each_word_once() -> None:
    """A reader finds a word where it stands in the alphabet."""
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    words = re.findall(r"^\| ([a-z][^|]*?) \|", text, re.MULTILINE)[1:]
    assert sorted(words, key=str.casefold) == words
    assert len(set(words)) == len(words) > 60


def test_links_and_headings_of_the_docs_agree() -> None:
    """Every link to a page or a heading of one leads there, also where no site is built."""
    headings = {path: set(map(slug, re.findall(r"^#+ (.+)$", outside_of_code(path), re.MULTILINE))) for path in (ROOT / "docs").rglob("*.md")}
    wrong = []
    for path in [ROOT / "README.md", *headings]:
        for _, target in site.LINK.findall(outside_of_code(path)):
            file, _, anchor = target.partition("#")
            where = (path.parent / file).resolve() if file else path
            if re.match(r"[a-z]+:", target) or (file and where.suffix != ".md"):
                continue
            if not where.is_file() or (anchor and where in headings and anchor not in headings[where]):
                wrong.append(f"{path.relative_to(ROOT)}: {target}")
    assert [] == wrong


def outside_of_code(path: Path) -> str:
    """Return a page without its code blocks."""
    return re.sub(r"^( *)```.*?^\1```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def slug(heading: str) -> str:
    """Return the anchor of a heading.

    >>> slug("Why was this allowed?"), slug("`keep`, and what stays")
    ('why-was-this-allowed', 'keep-and-what-stays')
    """
    return re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).strip().replace(" ", "-")


def test_examples_of_docstrings_are_code() -> None:
    """A fence around each, whatever stands around it."""
    fenced = site.fenced
    assert "One.\n\n```python\n>>> 1 + 1\n2\n```\n\nTwo.\n\n```python\n>>> 2\n2\n```" == fenced("One.\n\n>>> 1 + 1\n2\n\nTwo.\n\n>>> 2\n2")
    assert "No example." == fenced("No example.")

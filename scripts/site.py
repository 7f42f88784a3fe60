"""What mkdocs is told while it builds the site: the reference, read from docstrings; the order of pages; links that lead out of the docs.

The page `index.md` lists the pages by heading, and that list is the navigation. A page it does not list stands under "More".
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PACKAGE = "langchain_ctxguard"

LINK = re.compile(r"(?<!!)\[([^\]\[]+)\]\(([^)\s]+)\)")
LISTED = re.compile(r"^## (.+)$|^- \[([^\]]+)\]\(([^)#]+\.md)\)", re.MULTILINE)

GROUPS = {
    "agents": ("Agents and graphs", ("graph.",)),
    "messages": ("Any list of messages", ("compact", "backends.chat_model", "backends.extractive")),
    "records": ("On record", ("records.", "backends.store")),
    "values": ("Values, settings and pure functions", ("domain.", "core.")),
}
"""Pages of public names, by the module they live in."""

MODULES = {
    "errors": ("Errors", "errors"),
    "ports": ("What can be replaced", "ports"),
    "memory": ("Memories", "memory"),
    "tracing": ("Tracing", "tracing"),
    "events": ("Stream events", "events"),
}
"""Pages of modules whose names are imported from there."""


def reference_pages() -> dict[str, str]:
    """Return the pages of the reference by path, each public name on one of them."""
    homes = homes_in(PACKAGE)
    pages = {}
    for page, (title, prefixes) in GROUPS.items():
        names = [f"{PACKAGE}.{home}.{name}" for name, home in homes.items() if home.startswith(prefixes)]
        pages[f"reference/{page}.md"] = _page(title, f"Import these from `{PACKAGE}`.", names)
    for page, (title, module) in MODULES.items():
        names = list(_names_of(module))
        pages[f"reference/{page}.md"] = _page(title, f"Import these from `{PACKAGE}.{module}`.", names)
    return pages


def homes_in(package: str) -> dict[str, str]:
    """Return the module of each public name of a package, as its `_HOMES` says: they load late, so nobody can see them there."""
    tree = ast.parse((ROOT / package.replace(".", "/") / "__init__.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "_HOMES":
            found: dict[str, str] = ast.literal_eval(node.value)
            return found
    msg = f"{package} has no `_HOMES`."
    raise LookupError(msg)


def _names_of(module: str) -> Iterator[str]:
    whole = f"{PACKAGE}.{module}"
    path = ROOT / PACKAGE / f"{module}.py"
    if not path.is_file():
        yield from (f"{whole}.{home}.{name}" for name, home in homes_in(whole).items())
        return
    tree = ast.parse(path.read_text(encoding="utf-8"))
    homes = {alias.name: f"{node.module}.{alias.name}" for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    listed = next((ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign) and _is_all(node)), None)
    if listed is None:
        listed = [node.name for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]
    yield from (homes.get(name, f"{whole}.{name}") for name in listed)


def _is_all(node: ast.Assign) -> bool:
    return isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__"


def _page(title: str, lead: str, names: list[str]) -> str:
    return "\n\n".join([f"# {title}", lead, *(f"::: {name}" for name in names)]) + "\n"


def navigation(index: str, pages: list[str]) -> list[dict[str, Any]]:
    """Return the order of pages: that of the links in `index`, by heading, then what it does not list."""
    nav: list[dict[str, Any]] = [{"Home": "index.md"}]
    listed = {"index.md"}
    for heading, title, page in LISTED.findall(index):
        if heading:
            nav.append({heading: []})
        elif page in pages and page not in listed:
            nav[-1][next(iter(nav[-1]))].append({title: page})
            listed.add(page)
    nav = [part for part in nav if next(iter(part.values()))]
    rest = [page for page in pages if page not in listed and not page.startswith(("reference/", "decisions/"))]
    if rest:
        nav.append({"More": [{_title_of(page): page} for page in rest]})
    nav.append({"Reference": [{title: f"reference/{page}.md"} for page, (title, _) in {**GROUPS, **MODULES}.items()]})
    nav.append({"Decisions": [{_title_of(page): page} for page in pages if page.startswith("decisions/")]})
    return nav


def _title_of(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def inside(markdown: str, *, page: str) -> str:
    """Return a page whose links out of the docs are names of files: what is not in the site cannot be linked there."""

    def keep(link: re.Match[str]) -> str:
        text, target = link[1], link[2]
        if re.match(r"[a-z]+:|#", target):
            return link[0]
        where = (DOCS / page).parent / target.partition("#")[0]
        if where.resolve().is_relative_to(DOCS):
            return link[0]
        return f"{text} (`{where.resolve().relative_to(ROOT).as_posix()}`)"

    return LINK.sub(keep, markdown)


def fenced(text: str) -> str:
    r"""Return a docstring with fences around its examples.

    >>> fenced("One.\n\n>>> 1 + 1\n2\n\nTwo.").splitlines()[2:6]
    ['```python', '>>> 1 + 1', '2', '```']
    """
    lines: list[str] = []
    is_open = False
    for line in text.splitlines():
        if line.lstrip().startswith(">>>") and not is_open:
            lines.append(f"{line[: len(line) - len(line.lstrip())]}```python")
            is_open = True
        elif not line.strip() and is_open:
            lines.append("```")
            is_open = False
        lines.append(line)
    return "\n".join([*lines, *(["```"] if is_open else [])])


def on_config(config: Any) -> Any:
    """Set the order of pages."""
    pages = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
    config["nav"] = navigation((DOCS / "index.md").read_text(encoding="utf-8"), pages)
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the reference."""
    from mkdocs.structure.files import File

    for path, text in reference_pages().items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Take the links out that lead nowhere in the site."""
    source: str = page.file.src_uri
    return markdown if source.startswith("reference/") else inside(markdown, page=source)

"""Each code block of a page is run, loaded or resolved by something: what no other test takes is held here to what it speaks of."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from typer.testing import CliRunner

import langchain_ctxguard
from langchain_ctxguard import GuardConfig
from langchain_ctxguard.backends import sql_schema
from langchain_ctxguard.cli import build_app
from langchain_ctxguard.errors import ConfigurationError
from langchain_ctxguard.testing.retention.case import RetentionCase
from tests.support.stored_world import make_folder
from tests.test_docs import FENCE, FOLLOWED, PAGES, ROOT, WITH_A_SERVER
from tests.test_docs import PAGES_WITH_EXAMPLES as RUN

EVERYWHERE = [*PAGES, "README.zh.md", "CONTRIBUTING.md", "SECURITY.md", *(str(page.relative_to(ROOT)) for page in (ROOT / "examples").rglob("*.md"))]

HELD_ELSEWHERE = {
    ("README.md", "text"): "tests/test_readme.py: what the first example prints",
    ("README.zh.md", "python"): "tests/test_readme.py: letter for letter that of README.md",
    ("README.zh.md", "text"): "tests/test_readme.py: letter for letter that of README.md",
    ("CONTRIBUTING.md", "python"): "shows the form of a docstring; the function is the package's own, and its doctest runs there",
    (WITH_A_SERVER, "python"): "tests/test_docs.py: followed with a server",
    (WITH_A_SERVER, "sql"): "tests/test_docs.py: run on a server",
}
"""Blocks that are held to something elsewhere, or to nothing, and why."""

PROGRAMS = ("bash", "cd", "ctxguard", "curl", "docker", "export", "langgraph", "make", "pip", "psql", "pytest", "python", "uvicorn")
INDENTED = re.compile(rf"^ {{4}}((?:{'|'.join(PROGRAMS)}) (?:.*\\\n)*.*)$", re.MULTILINE)
INLINE = re.compile(r"`(ctxguard [a-z][^`]*)`")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: str) -> Iterator[tuple[str, str, str]]:
    """Yield kind, title and body of each block of a page."""
    for block in FENCE.finditer(text_of(page)):
        title = re.search(r'title="([^"]+)"', block[0].partition("\n")[0])
        yield block[2], title[1] if title else "", "".join(line.removeprefix(block[1]) for line in block[3].splitlines(keepends=True))


def is_held(page: str, kind: str, title: str) -> bool:
    """Say whether a test takes a block of this kind on this page: the others of this file, or those that run the pages."""
    is_run = kind == "python" and (page in RUN or page in FOLLOWED)
    return is_run or (page, kind) in HELD_ELSEWHERE or kind in {"console", "diff", "json", "sh", "tree", "yaml"} or bool(title and page in FOLLOWED)


@pytest.mark.parametrize("page", EVERYWHERE)
def test_no_block_is_held_to_nothing(page: str) -> None:
    """A kind of block that no test takes is an exception with its reason, or no block."""
    assert [] == [f"{kind or 'no kind'}: {body[:40]}" for kind, title, body in blocks(page) if not is_held(page, kind, title)]


def test_each_exception_is_needed() -> None:
    """What is excepted is there."""
    assert set() == set(HELD_ELSEWHERE) - {(page, kind) for page in EVERYWHERE for kind, _, _ in blocks(page)}


CONFIGS = [(page, body) for page in PAGES for kind, title, body in blocks(page) if kind == "yaml" and not title.endswith(".retention.yaml")]
CASES = [(page, body) for page in PAGES for kind, title, body in blocks(page) if title.endswith(".retention.yaml")]


@pytest.mark.parametrize(("page", "body"), [(page, body) for page, body in CONFIGS if isinstance(yaml.safe_load(body), dict)])
def test_a_config_on_a_page_is_one(page: str, body: str, tmp_path: Path) -> None:
    """The reader that reads config files takes it, and it says something."""
    path = tmp_path / "ctxguard.yaml"
    path.write_text(body, encoding="utf-8")
    assert GuardConfig() != GuardConfig.from_file(path), page


def test_a_list_in_yaml_is_a_list_of_cases_of_a_policy() -> None:
    """They stand on one page, whose own test runs them."""
    assert {"docs/policy.md"} == {page for page, body in CONFIGS if isinstance(yaml.safe_load(body), list)}


@pytest.mark.parametrize(("page", "body"), CASES)
def test_a_retention_case_on_a_page_is_one(page: str, body: str) -> None:
    """Each case of the file is read by the class that reads case files."""
    assert all(RetentionCase.model_validate(case).name for case in yaml.safe_load(body)["cases"]), page


def keys_of(data: Any, *, place: str = "") -> set[str]:
    """Return the keys of JSON with the way to each."""
    if isinstance(data, list):
        return set().union(*(keys_of(one, place=f"{place}[]") for one in data)) if data else set()
    if isinstance(data, dict):
        return set().union({f"{place}.{key}" for key in data}, *(keys_of(one, place=f"{place}.{key}") for key, one in data.items()))
    return set()


def test_the_json_of_an_audit_has_the_keys_that_are_shown(tmp_path: Path) -> None:
    """No key more and none less, at any depth."""
    folder = make_folder(tmp_path)
    told = json.loads(CliRunner().invoke(build_app(), ["audit", str(folder / "session.jsonl"), "--must-keep", "2026-06-30", "--json"]).stdout)
    (shown,) = [json.loads(body) for kind, _, body in blocks("docs/audit.md") if kind == "json"]
    assert keys_of(shown) == keys_of(told)


def test_the_file_of_langgraphs_server_names_what_the_page_saves() -> None:
    """The graph is a name in a file of the same page."""
    files = {title: body for _, title, body in blocks("docs/langgraph-server.md") if title}
    for place in json.loads(files["langgraph.json"])["graphs"].values():
        file, _, name = place.partition(":")
        assert re.search(rf"^{name} = ", files[file.removeprefix("./")], re.MULTILINE)


def test_json_stands_on_no_other_page() -> None:
    """One that comes in is held to something as well."""
    assert {"docs/audit.md", "docs/langgraph-server.md"} == {page for page in EVERYWHERE for kind, _, _ in blocks(page) if kind == "json"}


def test_what_a_diff_puts_in_is_python_of_this_package() -> None:
    """Each import it adds works; what it leaves is a program."""
    for page in PAGES:
        for body in (body for kind, _, body in blocks(page) if kind == "diff"):
            after = "\n".join(line[1:] for line in body.splitlines() if not line.startswith("-"))
            imported = [node for node in ast.parse(after).body if isinstance(node, ast.ImportFrom)]
            assert imported
            for node in imported:
                exec(compile(ast.Module([node], []), page, "exec"), {})  # noqa: S102 - our own examples


def test_the_runs_in_a_drawn_trace_are_made_by_the_code() -> None:
    """Each name of ours in the drawing stands in the package."""
    (drawn,) = [body for kind, _, body in blocks("docs/tracing.md") if kind == "tree"]
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "langchain_ctxguard").rglob("*.py"))
    names = re.findall(r"ctxguard\.(\w+)", drawn)
    assert len(names) > 4
    assert [] == [name for name in names if f'"{name}"' not in code and f'"ctxguard.{name}"' not in code]


def lines_for_a_shell(page: str) -> Iterator[str]:
    """Yield the commands of a page that are not run: in blocks for a shell, in consoles without a prompt, indented, and in a line of text."""
    for kind, _, body in blocks(page):
        if kind == "sh" or (kind == "console" and "$ " not in body):
            yield from re.sub(r"\\\n\s*", "", body).splitlines()
    prose = FENCE.sub("", text_of(page))
    if page != "docs/cli.md":  # whose usage and examples are printed by the commands themselves
        yield from (re.sub(r"\\\n\s*", "", line) for line in INDENTED.findall(prose))
    yield from INLINE.findall(prose)


@pytest.mark.parametrize("page", EVERYWHERE)
def test_a_command_on_a_page_can_be_typed(page: str) -> None:
    """Program, sub-command, options, targets, extras, groups and files of each are there."""
    wrong = [f"{line}: {fault}" for line in lines_for_a_shell(page) if (fault := fault_of(line)) is not None]
    assert [] == wrong


def fault_of(line: str) -> str | None:
    """Return what is wrong with a line for a shell, `None` where nothing is."""
    for part in re.split(r" (?:\||&&) ", re.sub(r"\s#\s.*", "", line)):
        words = shlex.split(re.sub(r" > \S+", "", part).replace("'s ", "s "))
        program = Path(words[0]).name if words else ""
        found = RESOLVED[program](words[1:]) if program in RESOLVED else f"say in {Path(__file__).name} how {program!r} is held to what is there"
        if found is not None:
            return found
    return None


def _ctxguard(words: list[str]) -> str | None:
    command: Any = typer.main.get_command(build_app())
    while words and getattr(command, "commands", None):
        name, *words = words
        if name.startswith("-"):
            return None if name == "--help" else f"no option {name}"
        if name not in command.commands:
            return f"no command {name!r}"
        command = command.commands[name]
    taken = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)} | {"--help"}
    return next((f"no option {word}" for word in words if re.match(r"--?[a-z]", word) and word.partition("=")[0] not in taken), None)


def _make(words: list[str]) -> str | None:
    targets = re.findall(r"^([a-z-]+):", text_of("Makefile"), re.MULTILINE)
    target = words[0] if words else "help"
    # Without a target, a sentence may follow.
    return None if target in targets or target == "list" or "=" in target else f"no target {target!r}"


def _pip(words: list[str]) -> str | None:
    project = PROJECT["project"]
    extras, groups = project["optional-dependencies"], PROJECT["dependency-groups"]
    declared = [*project["dependencies"], *(one for part in (*extras.values(), *groups.values()) for one in part if isinstance(one, str))]
    known = {re.split(r"[\[<>=]", one)[0] for one in declared} | {"pip", project["name"], "."}
    action, *rest = words
    for before, word in zip(("", *rest), rest, strict=False):
        if before == "--group" and word not in groups:
            return f"no group {word!r}"
        if word.startswith("--") or before == "--group":
            continue
        name, named = re.match(r"([\w.-]+)(?:\[([\w,]+)\])?", word).groups()  # type: ignore[union-attr] # a requirement begins with a name
        if name not in known:
            return f"{name} is declared nowhere in pyproject.toml"
        there = set(extras) if name in {".", project["name"]} else extras_of(name)
        if named and there is not None and not set(named.split(",")) <= there:
            return f"{name} has no extra {named}"
    return None if action == "install" else f"pip {action}?"


def extras_of(name: str) -> set[str] | None:
    """Return the extras of an installed package, `None` where it is not installed."""
    try:
        return set(metadata(name).get_all("Provides-Extra") or ())
    except PackageNotFoundError:
        return None


def _python(words: list[str]) -> str | None:
    if words[0] == "-m":
        return None if importlib.util.find_spec(words[1]) else f"no module {words[1]}"
    return None if (ROOT / words[0]).is_file() else f"no file {words[0]}"


def _pytest(words: list[str]) -> str | None:
    plugin = text_of("langchain_ctxguard/testing/pytest_plugin.py")
    return next((f"no option {word}" for word in words if word.startswith("--retention") and f'"{word.partition("=")[0]}"' not in plugin), None)


def _docker(words: list[str]) -> str | None:
    return None if words[:2] == ["compose", "-f"] and (ROOT / words[2]).is_file() else "no such file for docker compose"


def _uvicorn(words: list[str]) -> str | None:
    file, _, name = words[0].partition(":")
    return None if any(f"def {name}(" in path.read_text(encoding="utf-8") for path in (ROOT / "examples").rglob(f"{file}.py")) else "no such factory"


def _folder_or_file(words: list[str]) -> str | None:
    return None if (ROOT / words[0]).exists() else f"no {words[0]}"


def _anything(_: list[str]) -> str | None:
    """Programs of others whose words are the reader's own: an address, a value, a file that was just written."""
    return None


RESOLVED = {
    "": _anything,
    "bash": _folder_or_file,
    "cd": _folder_or_file,
    "ctxguard": _ctxguard,
    "curl": _anything,
    "docker": _docker,
    "export": _anything,
    "langgraph": _anything,
    "make": _make,
    "pip": _pip,
    "psql": _anything,
    "pytest": _pytest,
    "python": _python,
    "uvicorn": _uvicorn,
}


@pytest.mark.parametrize(
    "line",
    [
        "ctxguard purgee URL T",
        "ctxguard purge URL T --force",
        "ctxguard consents grant x",
        "make everything",
        "pip install 'langchain-ctxguard[postgresql]'",
        "pip install . --group exampels",
        "pip install langchain-ctxgaurd",
        "python examples/none.py",
        "python -m benchmarks.none",
        "docker compose -f none.yaml up",
        "cd none && ls",
        "uvicorn app:no_such_thing",
        "rm -r x",
    ],
)
def test_a_command_that_cannot_be_typed_is_noticed(line: str) -> None:
    """A name that is not there is named."""
    assert fault_of(line)


def test_a_line_of_python_in_the_text_calls_what_there_is() -> None:
    """It is Python, and each public class it makes takes the arguments it is given."""
    found = [line for page in PAGES for line in re.findall(r"^ {4}(agent = .*|[A-Z]\w+\(.*\))$", FENCE.sub("", text_of(page)), re.MULTILINE)]
    assert len(found) > 3
    for line in found:
        for call in (node for node in ast.walk(ast.parse(line)) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            if call.func.id in langchain_ctxguard.__all__:  # type: ignore[attr-defined] # a name, as asked above
                taken = inspect.signature(getattr(langchain_ctxguard, call.func.id)).parameters  # type: ignore[attr-defined]
                assert {one.arg for one in call.keywords} <= set(taken), line


FOLDERS = "backends|benchmarks|cli|core|docs|domain|examples|graph|labelled|langchain_ctxguard|memory|notebooks|records|report|scripts|testing|tests"
NAMED = re.compile(rf"`((?:{FOLDERS})/[\w./-]+)`")


@pytest.mark.parametrize("page", [page for page in EVERYWHERE if page != "CONTRIBUTING.md"])
def test_each_file_a_page_names_is_there(page: str) -> None:
    """From the root, the package or the benchmarks; or it is one the reader has just saved."""
    saved = {title for _, title, _ in blocks(page)}
    places = (ROOT, ROOT / "langchain_ctxguard", ROOT / "benchmarks")
    named = set(NAMED.findall(FENCE.sub("", text_of(page)))) - saved
    assert [] == sorted(name for name in named if not any((place / name).exists() for place in places))


def test_tables_that_are_spoken_of_in_sql_exist() -> None:
    """Each name of a table of ours, wherever a page writes it."""
    grants = "\n".join(grant for page in PAGES for grant in re.findall(r"^ {4}GRANT .*$", text_of(page), re.MULTILINE))
    named = set(re.findall(r"\bctxguard_[a-z]+\b", grants))
    assert named
    assert named <= set(sql_schema.metadata.tables)


def test_the_faults_of_a_config_file_read_as_they_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """File, line, key and what is wrong, word for word."""
    monkeypatch.chdir(tmp_path)
    shown = re.findall(r"^ {4}(ctxguard\.yaml:.*)$", text_of("docs/configuration.md"), re.MULTILINE)
    faulty = "constraints:\n  - Show no phone number.\ncompaction:\n  keep: [turns, 1.5]\n  # fast\n  speed: 9\n"
    Path("ctxguard.yaml").write_text(faulty, encoding="utf-8")
    with pytest.raises(ConfigurationError) as caught:
        GuardConfig.from_file("ctxguard.yaml")
    assert len(shown) == 2
    assert [] == [line for line in shown if line not in str(caught.value)]

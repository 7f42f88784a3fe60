"""Every Python example in the docs runs, and so does every command that is shown with its prompt."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
import traceback
import types
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from langchain_ctxguard.cli import build_app
from langchain_ctxguard.cli.about import DONE, FOUND
from tests.support.stored_world import make_folder

ROOT = Path(__file__).resolve().parents[1]
PAGES = [page.relative_to(ROOT).as_posix() for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))]
FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```", re.DOTALL | re.MULTILINE)


def python_blocks(text: str) -> Iterator[tuple[int, str]]:
    """Yield each Python block of a Markdown page with the number of lines above it."""
    for block in FENCE.finditer(text):
        if block[2] in {"python", "py"}:
            yield text.count("\n", 0, block.start(3)), "".join(line.removeprefix(block[1]) for line in block[3].splitlines(keepends=True))


PLUGIN = "langchain_ctxguard.testing.pytest_plugin"

WITH_A_SERVER = "docs/postgresql.md"
"""A page whose steps need a server; a test of its own takes them."""

FOLLOWED = [page for page in PAGES if page != WITH_A_SERVER and "**What you will have.**" in (ROOT / page).read_text(encoding="utf-8")]
"""How-tos, whose blocks belong together: `tests/test_docs_howto.py` takes their steps."""

ELSEWHERE = {WITH_A_SERVER, *FOLLOWED}

PAGES_WITH_EXAMPLES = [page for page in PAGES if page not in ELSEWHERE and any(python_blocks((ROOT / page).read_text(encoding="utf-8")))]


def run_examples(text: str, *, page: str) -> None:
    """Run the Python blocks of `text` one after another in one module, as a reader would; a `>>>` session must print what it shows."""
    # A module of its own, registered: what reads annotations looks them up by module name.
    module = types.ModuleType("examples_of_a_page")
    sys.modules[module.__name__] = module
    try:
        for line, code in python_blocks(text):
            if code.lstrip().startswith(">>>"):
                session = doctest.DocTestParser().get_doctest(code, module.__dict__, page, page, line)
                runner = doctest.DebugRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
                runner.run(session, clear_globs=False)
            else:
                exec(compile("\n" * line + code, page, "exec"), module.__dict__)  # noqa: S102 - our own examples
    finally:
        del sys.modules[module.__name__]


@pytest.mark.parametrize("page", PAGES_WITH_EXAMPLES)
def test_the_examples_of_a_page_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader can paste the examples of a page in order, in an empty folder, and they work."""
    monkeypatch.chdir(tmp_path)
    run_examples((ROOT / page).read_text(encoding="utf-8"), page=page)


def commands(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each command of a page's consoles, as it stands behind `$`, with the lines shown below it."""
    for block in FENCE.finditer(text):
        if block[2] == "console" and "$ " in block[3]:
            for part in re.split(r"^\$ ", block[3], flags=re.MULTILINE)[1:]:
                command, *shown = part.splitlines()
                yield command, shown


PAGES_WITH_COMMANDS = [page for page in PAGES if page not in ELSEWHERE and any(commands((ROOT / page).read_text(encoding="utf-8")))]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the pages speak of: a store, checkpoints, transcripts, a config, cases, a marked sheet."""
    return make_folder(tmp_path_factory.mktemp("world"))


def run_commands(text: str) -> None:
    """Run the commands of a page one after another; each does what it says, and prints the lines that are shown, `...` standing for any text."""
    for command, shown in commands(text):
        words, _, file = command.partition(" > ")
        program, *arguments = shlex.split(os.path.expandvars(words))
        code, printed, told = run_program(program, arguments)
        assert code in {DONE, FOUND}, f"{command}\n{told}"
        if file:
            Path(file).write_text(printed, encoding="utf-8")
        for line in shown:
            pattern = ".*".join(map(re.escape, line.split("...")))
            assert re.search(f"^{pattern}$", printed, re.MULTILINE), f"{command}\nprints no line\n{line}\nbut\n{printed}"


def run_program(program: str, arguments: list[str]) -> tuple[int, str, str]:
    """Run a command of a page; return its exit code, what it printed, and that with what it complained of. Nothing but these two is run."""
    if program == "pytest":
        # Our plugin by name, and no other: the package need not be installed where its tests run, and what else is there only takes time.
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", PLUGIN, *arguments]
        settings = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        ran = subprocess.run(command, capture_output=True, text=True, check=False, env=settings)
        return ran.returncode, ran.stdout, ran.stdout + ran.stderr
    assert "ctxguard" == program, program
    done = CliRunner().invoke(build_app(), arguments)
    return done.exit_code, done.stdout, done.output


@pytest.mark.parametrize("page", PAGES_WITH_COMMANDS)
def test_the_commands_of_a_page_run(page: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader can type the commands of a page in order, in a folder that has what they name, and sees what is shown."""
    shutil.copytree(folder, tmp_path / "world")
    monkeypatch.chdir(tmp_path / "world")
    run_commands((ROOT / page).read_text(encoding="utf-8"))


def test_the_steps_of_the_page_on_postgresql_are_taken(postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In order, each as it stands there, with roles of this test's own; a last one: the reader's role erases nothing."""
    import psycopg

    monkeypatch.chdir(tmp_path)
    mark = f"shop{uuid.uuid4().hex[:8]}_"
    text = (ROOT / WITH_A_SERVER).read_text(encoding="utf-8").replace("shop_", mark)
    where = postgres_url.rpartition("@")[2]
    monkeypatch.setenv("OWNER_URL", postgres_url)
    for number, (variable, role) in enumerate((("AGENT_URL", "agent"), ("SURFACE_URL", "surface"), ("GATE_URL", "gate")), 1):
        monkeypatch.setenv(variable, f"postgresql://{mark}{role}:change-me-{number}@{where}")
    examples = ""
    try:
        with psycopg.connect(postgres_url, autocommit=True) as owner:
            for block in FENCE.finditer(text):
                match block[2]:
                    case "sql":
                        owner.execute(block[3].encode())
                    case "sh" if block[3].startswith("psql "):
                        owner.execute(Path(block[3].split()[-1]).read_bytes())
                    case "console":
                        run_commands(block[0] + "\n")
                    case "python":
                        # A reader goes on in the same session; what was done is not done again.
                        examples += block[0] + "\n\n"
                        if block[3].lstrip().startswith("from langchain_ctxguard.errors"):
                            run_examples(examples, page=WITH_A_SERVER)
        done = CliRunner().invoke(build_app(), ["purge", os.environ["GATE_URL"], "order-17", "--yes"])
        assert (2, "", True) == (done.exit_code, done.stdout, "Nothing was acknowledged" in done.stderr), done.output
        assert "change-me" not in done.output
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as owner:
            for role in ("agent", "surface", "gate"):
                owner.execute(f'DROP OWNED BY "{mark}{role}"'.encode())
                owner.execute(f'DROP ROLE "{mark}{role}"'.encode())


def test_a_command_that_fails_or_prints_something_else_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page cannot show what is not so."""
    monkeypatch.chdir(tmp_path)
    for text in ("$ ctxguard threads sqlite:///none.db", "$ ctxguard schema\nno such line", "$ rm -r x"):
        with pytest.raises(AssertionError):
            run_commands(f"```console\n{text}\n```\n")


def test_the_readme_has_an_example() -> None:
    """The first page shows code, and that code is among what runs."""
    assert "README.md" in PAGES_WITH_EXAMPLES


def test_a_broken_example_is_noticed_on_its_own_line() -> None:
    """The traceback of a failing example names the page and the line in it."""
    with pytest.raises(ZeroDivisionError) as caught:
        run_examples("# Title\n\n```python\nx = 1\nx / 0\n```\n", page="PAGE.md")
    last = traceback.extract_tb(caught.tb)[-1]
    assert ("PAGE.md", 5) == (last.filename, last.lineno)


def test_a_session_that_prints_something_else_is_noticed() -> None:
    """What stands under `>>>` is compared with what is printed."""
    with pytest.raises(doctest.DocTestFailure):
        run_examples("```python\n>>> 1 + 1\n3\n\n```\n", page="PAGE.md")

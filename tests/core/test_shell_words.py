"""Which command lines only look, and how a line falls into commands."""

from __future__ import annotations

import pytest

from langchain_ctxguard.core.shell_words import command_in, commands_of, only_reads

READS = [
    "ls -la src",
    "cat a.py | head -20",
    "git status && git diff HEAD~1 -- a.py",
    "git -C sub log --oneline -3",
    "git --no-pager show HEAD:a.py",
    "git branch --show-current",
    "grep -rn 'a > b' src 2>/dev/null",
    'rg "x; rm -rf y" .',
    "find . -name '*.py' -newer a.py",
    "sed -n '10,20p' a.py",
    "sed -n 5p a.py",
    "sed 's/a/b/g' a.py",
    "sed -n -e '/def total/,/return/p' a.py",
    "awk '{print $1}' a.txt",
    "printenv",
    "python -m pytest -q tests/test_a.py 2>&1 | tail -5",
    "PYTHONPATH=. pytest -x",
    "uv run pytest -q",
    "poetry run mypy src",
    "cargo test --lib",
    "make test",
    "cd src; pwd",
    "/usr/bin/cat a.py",
    "ruff check src",
]
WRITES = [
    "",
    "rm -rf build",
    "echo x > a.py",
    "echo x>>a.py",
    "cat <<EOF > a.py\nx\nEOF",
    "cat a.py | tee b.py",
    "ls && touch a",
    "ls\nrm a",
    "ls & rm a",
    "ls `rm a`",
    "ls $(rm a)",
    "cat <(rm a)",
    "find . -name '*.py' -delete",
    "find . -exec rm {} +",
    "sed -i s/a/b/ a.py",
    "sed -n 'w out' a.py",
    "sed s/a/b/w out a.py",
    "git commit -am x",
    "git checkout -- a.py",
    "git stash",
    "git branch new",
    "git -c core.pager=./x log",
    "git diff --output=a.py",
    "git grep -Ovi x",
    "git log --ext-diff",
    "python a.py",
    "python -c 'open(1)'",
    "python -m pip install x",
    "ruff check --fix src",
    "ruff format src",
    "eslint --fix a.js",
    "sort -o a.txt a.txt",
    "xargs rm",
    "env rm a",
    "awk '{print > \"b\"}' a",
    "awk '{system($1)}' a",
    "sed s/a/b/e a.py",
    "sed -n -f script a.py",
    "sed",
    "rg --pre ./x y",
    "make install",
    "npm run build",
    "unknown-program",
    "ls 'unclosed",
    "yq -i .a=1 b.yml",
]


@pytest.mark.parametrize("line", READS)
def test_a_line_that_only_looks_is_known(line: str) -> None:
    """Reading stays possible while something is to be settled."""
    assert only_reads(line)


@pytest.mark.parametrize("line", WRITES)
def test_a_line_that_may_change_something_is_no_reading(line: str) -> None:
    """What cannot be told counts as a change."""
    assert not only_reads(line)


def test_the_configured_check_counts_as_reading_whatever_it_is() -> None:
    """It is run as it stands, alone or after a look."""
    assert only_reads("./check.sh --all", checks=["./check.sh --all"])
    assert only_reads("cd src && ./check.sh --all", checks=["./check.sh --all"])
    assert not only_reads("./check.sh --all; rm a", checks=["./check.sh --all"])


@pytest.mark.parametrize(
    ("tool", "args", "line"),
    [
        ("execute", {"command": "ls"}, "ls"),
        ("Bash", {"command": "ls -l"}, "ls -l"),
        ("shell", {"command": ["ls", "a b"]}, "ls 'a b'"),
        ("run_it", {"command": "ls"}, "ls"),
        ("edit_file", {"command": "create", "path": "a.py"}, None),
        ("run_it", {"command": "rm -rf .ctxguard", "path": "."}, "rm -rf .ctxguard"),
        ("container.exec", {"cmd": ["bash", "-lc", "cd src && rm a.py"]}, "cd src && rm a.py"),
        ("execute", {"cmd": ["/bin/sh", "-c", "ls -l"]}, "ls -l"),
        ("execute", {"cmd": ["bash", "a.sh", "b c"]}, "bash a.sh 'b c'"),
        ("execute", {"cmd": ["bash", "-x", "a.sh"]}, "bash -x a.sh"),
        ("execute", {"cmd": ["ls", "-c", "b c"]}, "ls -c 'b c'"),
        ("execute", {"cmd": ["bash", "-c"]}, "bash -c"),
        ("execute", {"cmd": ["bash", "-c", "ls", "b"]}, "bash -c ls b"),
        ("execute", {"cmd": []}, None),
        ("execute", {"commands": ["cd src", "ls"]}, "cd src\nls"),
        ("bash", {"input": "ls"}, "ls"),
        ("ask", {"input": "ls"}, None),
        ("execute", {"other": 1}, None),
    ],
)
def test_the_line_of_a_shell_tool_is_found(tool: str, args: dict[str, object], line: str | None) -> None:
    """By the names such tools and their arguments have."""
    assert line == command_in(args, tool=tool)


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("a b&&c", (("a", "b"), ("c",))),
        ("A=1 B='2 3' pip install x", (("pip", "install", "x"),)),
        ("a | b || c", (("a",), ("b",), ("c",))),
        ("(a; b)", (("a",), ("b",))),
        ("echo 'a && b'", (("echo", "a && b"),)),
        ("安装 包", (("安装", "包"),)),
        ("a 'b", None),
    ],
)
def test_a_line_falls_into_commands(line: str, commands: object) -> None:
    """Quoted signs part nothing, and settings of variables are no command."""
    assert commands == commands_of(line)


@pytest.mark.parametrize("line", ["pytest -q", "python -m pytest", "uv run mypy", "make test", "cargo test"])
def test_a_run_of_tests_is_looking_only_where_that_is_asked(line: str) -> None:
    """It changes nothing that anybody means to keep, and may leave files behind."""
    assert only_reads(line)
    assert not only_reads(line, runs_tests=False)

"""Packages that command lines install, and what an edit brings into requirement files and imports."""

from __future__ import annotations

import pytest

from langchain_ctxguard.core.edits import Edit
from langchain_ctxguard.core.packages import installed, written


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("pip install httpx==0.27 rich", [("httpx", "0.27"), ("rich", "")]),
        ("python -m pip install httpx", [("httpx", "")]),
        ("/usr/bin/python3.12 -m pip install httpx", [("httpx", "")]),
        ("sudo FOO=1 pip install httpx", [("httpx", "")]),
        ("pip install -r requirements.txt httpx", [("httpx", "")]),
        ("uv pip install httpx && npm i @scope/tool@^2.1", [("httpx", ""), ("@scope/tool", "2.1")]),
        ("bash -m pip install httpx", []),
        ("pip list", []),
        ("ls", []),
        ("FOO=1", []),
        ("python -m", []),
        ("", []),
    ],
)
def test_a_command_line_names_what_it_installs(line: str, expected: list[tuple[str, str]]) -> None:
    """However the installer is started; a line without one installs nothing."""
    assert expected == [(one.name, one.version) for one in installed(line)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("echo httpx > requirements.txt", [("httpx", "")]),
        ("echo 'httpx==0.27' >> dev-requirements.txt", [("httpx", "0.27")]),
        ("printf 'httpx==0.27\\nrich' > requirements.txt", [("httpx", "0.27"), ("rich", "")]),
        ('echo \'{"dependencies": {"left-pad": "^1.3"}}\' > package.json', [("left-pad", "1.3")]),
        ("echo httpx rich > notes.txt", []),
        ("echo requirements.txt", []),
        ("echo httpx requirements.txt", []),
    ],
)
def test_a_line_written_into_a_requirement_file_counts(line: str, expected: list[tuple[str, str]]) -> None:
    """As that file is read; into another file, or to the screen, it is text."""
    assert expected == [(one.name, one.version) for one in installed(line)]


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (Edit("requirements.txt", "whole", "httpx==0.27\nrich\n# a note\n"), [("httpx", "0.27")]),
        (Edit("requirements.txt", "replace", "rich\nattrs", old="rich"), [("attrs", "")]),
        (Edit("package.json", "whole", '{"dependencies": {"left-pad": "^1.3"}, "name": "x"}'), [("left-pad", "1.3")]),
        (Edit("go.mod", "insert", "require github.com/acme/tool v1.2.0"), [("tool", "1.2.0")]),
        (Edit("a.py", "whole", "import httpx as h, rich.table\nfrom attrs import define\nx = 1\n"), [("httpx", ""), ("attrs", "")]),
        (Edit("a.ts", "insert", 'import x from "@scope/tool/deep"'), [("@scope/tool", "")]),
        (Edit("a.py", "remove"), []),
        (Edit("a.py", "whole", ""), []),
    ],
)
def test_an_edit_names_what_was_not_in_the_file(edit: Edit, expected: list[tuple[str, str]]) -> None:
    """What was there before, or a file that goes, brings nothing in."""
    there = {"requirements.txt": "rich\n", "a.py": "import rich\n"}
    assert expected == [(one.name, one.version) for one in written(edit, there.get)]

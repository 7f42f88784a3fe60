"""A call as a step of the work: where it worked and what it did, told from the call."""

from __future__ import annotations

from typing import Any

import pytest

from langchain_ctxguard.core.steps import code_place, named_files, places_of, step_text


@pytest.mark.parametrize(
    ("anchor", "place"),
    [
        ("line 3", "a.py:3"),
        ("lines 3-5", "a.py:3-5"),
        ("lines 3-3", "a.py:3-3"),
        ("lines 5-3", "a.py:5"),
        ("line 1", "a.py:1"),
        ("line 0", "a.py"),
        ("line x", "a.py"),
        ("total", "a.py::total"),
        ("", "a.py"),
    ],
)
def test_an_anchor_is_lines_or_a_symbol(anchor: str, place: str) -> None:
    """Lines count from one and go forward; what is neither leaves the file alone."""
    assert place == str(code_place("a.py", anchor))


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("edit", {"old_string": "a = 1\nb = 2", "new_string": "a = 1\nb = 3"}, 'edit: "b = 2" -> "b = 3"'),
        ("edit", {"edits": [{"old": "a", "new": "b"}, {"old": "c", "new": "d"}]}, 'edit: "a" -> "b"; "c" -> "d"'),
        ("edit", {"edits": [{"old": letter, "new": letter * 2} for letter in "abcd"]}, 'edit: "a" -> "aa"; "b" -> "bb"; and 2 more'),
        ("write", {"content": "one\ntwo\n"}, 'write: 2 lines, beginning with "one"'),
        ("write", {"content": "\n\none\ntwo"}, 'write: 4 lines, beginning with "one"'),
        ("write", {"content": " "}, "write: nothing"),
        ("write", {"content": ""}, "write: nothing"),
        ("bash", {"command": "pytest -q"}, "bash: pytest -q"),
        ("look", {"key": 1}, "look"),
        ("", {}, "(unnamed tool)"),
    ],
)
def test_a_step_tells_what_was_replaced_written_or_run(tool: str, arguments: Any, text: str) -> None:
    """In one line, of each text the first line that differs."""
    assert text == step_text(tool, arguments)


def test_the_files_of_a_call_are_those_below_the_workspace() -> None:
    """Each once, in order, options left out."""

    def relative(path: str) -> str | None:
        return None if path.startswith("/") else path

    files = named_files({"command": "cp -r src/a.py src/b.py src/a.py /etc/passwd"}, relative, tool="bash")
    assert [name for name in files if "." in name] == ["src/a.py", "src/b.py"]
    assert "-r" not in files
    assert not any(name.startswith("/") for name in files)
    assert ["src/a.py"] == [str(place) for place in places_of({"path": "src/a.py"}, ("src/a.py",), relative)]

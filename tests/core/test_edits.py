"""What a call would make of files, read from the arguments that tools of agents take."""

from __future__ import annotations

from typing import Any

import pytest

from langchain_ctxguard.core.edits import Edit, edits_in, files_named, is_in, patched

GIT_DIFF = """diff --git a/src/a.py b/src/a.py
index 1..2 100644
--- a/src/a.py
+++ b/src/a.py
@@ -1,3 +1,3 @@
 x
--- old
+-- new
@@ -9 +9 @@ def f():
-y
+z
\\ No newline at end of file
diff --git a/new.py b/new.py
new file mode 100644
--- /dev/null
+++ b/new.py
@@ -0,0 +1,2 @@
+1
+2
diff --git a/gone.py b/gone.py
--- a/gone.py
+++ /dev/null
@@ -1 +0,0 @@
-g
--- "a/\\344\\270\\255 b.py"\t2026-01-01
+++ "b/sp ace.py"\t2026-01-01
@@ -1 +1 @@
-p
+q
"""
APPLY = """*** Begin Patch
*** Update File: src/a.py
@@ def f():
 ctx
-old
+new
*** Add File: b.py
+hello
*** Delete File: c.py
*** End Patch
"""


@pytest.mark.parametrize(
    ("tool", "args", "expected"),
    [
        ("edit_file", {"file_path": "a.py", "old_string": "1", "new_string": "2"}, [Edit("a.py", "replace", "2", "1")]),
        ("write_file", {"file_path": "a.py", "content": "1"}, [Edit("a.py", "whole", "1")]),
        ("str_replace_editor", {"command": "str_replace", "path": "a.py", "old_str": "1", "new_str": "2"}, [Edit("a.py", "replace", "2", "1")]),
        ("str_replace_editor", {"command": "create", "path": "a.py", "file_text": "1"}, [Edit("a.py", "whole", "1")]),
        ("str_replace_editor", {"command": "insert", "path": "a.py", "insert_line": 3, "new_str": "x"}, [Edit("a.py", "insert", "x")]),
        ("Edit", {"file_path": "a.py", "old_string": "", "new_string": "2"}, [Edit("a.py", "whole", "2")]),
        (
            "MultiEdit",
            {"file_path": "a.py", "edits": [{"old_string": "1", "new_string": "2"}, {"old_string": "3", "new_string": "4"}]},
            [Edit("a.py", "replace", "2", "1"), Edit("a.py", "replace", "4", "3")],
        ),
        ("delete_file", {"path": "a.py"}, [Edit("a.py", "remove")]),
        ("read_file", {"file_path": "a.py", "content": "1"}, []),
        ("execute", {"command": "ls"}, []),
        ("write_file", {"content": "1"}, []),
    ],
)
def test_edits_are_read_from_the_arguments(tool: str, args: dict[str, Any], expected: list[Edit]) -> None:
    """As deepagents, Claude Code, SWE-agent and others spell them."""
    assert expected == list(edits_in(tool, args))


def test_a_diff_of_git_is_read_hunk_by_hunk() -> None:
    """New and removed files too, quoted names, and lines that only look like the head of a file."""
    assert [
        Edit("src/a.py", "replace", "x\n-- new", "x\n-- old"),
        Edit("src/a.py", "replace", "z", "y"),
        Edit("new.py", "whole", "1\n2\n"),
        Edit("gone.py", "remove"),
        Edit("sp ace.py", "replace", "q", "p"),
    ] == list(patched(GIT_DIFF))


@pytest.mark.parametrize("name", [".github/ci.yml", "+x.py", "Makefile", "zoo.py"])
def test_only_the_name_of_nothing_says_that_a_file_is_new_or_gone(name: str) -> None:
    """A file of any other name was there before and is there afterwards."""
    hunk = "@@ -1 +1 @@\n-p\n+q\n"
    assert [Edit(name, "replace", "q", "p")] == list(patched(f"--- a/{name}\n+++ b/{name}\n{hunk}"))
    assert [Edit(name, "remove")] == list(patched(f"--- a/{name}\n+++ /dev/null\n@@ -1 +0,0 @@\n-p\n"))
    assert [Edit(name, "whole", "q\n")] == list(patched(f"--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+q\n"))


def test_a_patch_of_the_other_kind_is_read() -> None:
    """Updated, added and deleted files."""
    expected = [Edit("src/a.py", "replace", "ctx\nnew", "ctx\nold"), Edit("b.py", "whole", "hello\n"), Edit("c.py", "remove")]
    assert expected == list(edits_in("apply_patch", {"input": APPLY}))
    assert ("src/a.py", "b.py", "c.py") == files_named({"input": APPLY})


@pytest.mark.parametrize(
    ("edit", "text", "answer"),
    [
        (Edit("a", "replace", "2", "1"), "x = 2\n", True),
        (Edit("a", "replace", "2", "1"), "x = 1\n", False),
        (Edit("a", "replace", "2", "1"), "x = 2\ny = 1\n", False),
        (Edit("a", "replace", "import a\nimport b", "import a"), "import a\nimport b\n", True),
        (Edit("a", "replace", "import a\nimport b", "import a"), "import a\n", False),
        (Edit("a", "replace", "import a\nimport b", "import a"), "import a\nimport b\nimport a\n", False),
        (Edit("a", "replace", "", "1"), "x", None),
        (Edit("a", "replace", "2", "1"), None, None),
        (Edit("a", "whole", "x"), "x", True),
        (Edit("a", "whole", "x"), "y", False),
        (Edit("a", "whole", "x"), None, False),
        (Edit("a", "remove"), None, True),
        (Edit("a", "remove"), "x", False),
        (Edit("a", "insert", "x"), "x", None),
    ],
)
def test_an_edit_is_in_effect_or_not_or_nobody_can_tell(edit: Edit, text: str | None, answer: bool | None) -> None:  # noqa: FBT001
    """By the text of its file alone."""
    assert answer is is_in(edit, text)

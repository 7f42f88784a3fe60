from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_ctxguard.backends.paths import LocalPaths
from langchain_ctxguard.core.path_forms import PathRefusedError, comparable, readings
from langchain_ctxguard.core.paths import Boundary, Protection, path_fault
from langchain_ctxguard.domain.tool_rule import PathRule

LABELLED = Path(__file__).resolve().parents[2] / "benchmarks" / "labelled"
PROTECT = (".git/", "*.pem", "/secrets/", "node_modules")


class WindowsPaths:
    """A drive with one workspace and one junction that leads out of it."""

    flavour: Literal["posix", "windows"] = "windows"

    def here(self) -> str:
        return "C:/ws"

    def real(self, path: str) -> str:
        found = path
        for link, target in (("C:/ws/junction", "C:/outside"),):
            if found.casefold() == link.casefold() or found.casefold().startswith(f"{link.casefold()}/"):
                found = target + found[len(link) :]
        return found

    def below(self, path: str) -> Iterable[str]:
        return ()


def made_tree(parent: Path) -> Path:
    """Make a workspace whose links lead everywhere, beside what nobody may reach."""
    root, outside = parent / "ws", parent / "outside"
    for folder in (root / "src", root / "docs", root / "deep" / "x", root / ".git", root / "secrets", outside, parent / "ws-evil"):
        folder.mkdir(parents=True)
    for file in (root / "src" / "a.py", root / "docs" / "报告.md", root / ".git" / "config", outside / "secret.txt", root / "secrets" / "key"):
        file.write_text("x")
    links = {
        "link_out": outside,
        "link_abs": Path("/etc"),
        "chain1": root / "chain2",
        "chain2": Path("../outside"),
        "file_link": outside / "secret.txt",
        "dangling": outside / "not yet",
        "deep/x/up": Path("../../../outside"),
        "inner": Path("src"),
        "link_in_chain": root / "inner",
        "src/up_from_src": outside,
        "loop1": Path("loop2"),
        "loop2": Path("loop1"),
        "link_root": Path("/"),
        "link_proc": Path("/proc/self/root"),
        "link_parent": parent,
        "git_alias": Path(".git"),
        "pem_link": root / "src" / "late.pem",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    return root


def labelled(name: str) -> list[tuple[str, str]]:
    return [(line["path"], line["flavour"]) for line in map(json.loads, (LABELLED / name).read_text(encoding="utf-8").splitlines())]


def placed(text: str, root: Path) -> str:
    return text.replace("{root}", str(root)).replace("{parent}", str(root.parent)).replace("{outside}", str(root.parent / "outside"))


def fault_of(text: str, flavour: str, root: Path) -> str | None:
    facts = LocalPaths() if flavour == "posix" else WindowsPaths()
    place = str(root) if flavour == "posix" else "C:/ws"
    boundary = Boundary(PathRule(arg="path", within=".", protect=PROTECT), base=place, workspace=place)
    fault = path_fault(text, boundary, facts)
    return None if fault is None else fault.reason


def test_no_written_escape_is_allowed(tmp_path: Path) -> None:
    """Of the labelled tricks, none leads out of the workspace or to what is protected in it."""
    root = made_tree(tmp_path)
    tricks = labelled("path_escapes.jsonl")
    assert len(tricks) >= 150
    assert [] == [(text, flavour) for text, flavour in tricks if fault_of(placed(text, root), flavour, root) is None]


def test_every_harmless_path_is_allowed(tmp_path: Path) -> None:
    """Blanks, other scripts, dots, brackets and links that stay inside are nobody's trick."""
    root = made_tree(tmp_path)
    faults = [(text, fault_of(placed(text, root), flavour, root)) for text, flavour in labelled("path_harmless.jsonl")]
    assert [] == [(text, fault) for text, fault in faults if fault is not None]


NAMES = ("a", "b", "c", "d")


@st.composite
def trees(draw: st.DrawFn) -> list[tuple[str, str, str]]:
    """Draw what stands in a folder: folders, files, and links to anywhere, in order of making."""
    paths = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join)
    targets = st.lists(st.sampled_from((*NAMES, "..", ".", "..", "")), min_size=1, max_size=5).map("/".join)
    made = []
    for _ in range(draw(st.integers(1, 10))):
        kind = draw(st.sampled_from(("folder", "file", "link", "link")))
        made.append((kind, draw(paths), draw(targets) if kind == "link" else ""))
    return made


def plant(tree: list[tuple[str, str, str]], top: Path) -> None:
    for kind, path, target in tree:
        place = top / path
        try:
            if kind == "folder":
                place.mkdir(parents=True, exist_ok=True)
            elif kind == "file":
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(str(path))
            else:
                place.parent.mkdir(parents=True, exist_ok=True)
                # An absolute target begins at the top of the tree, so that nothing real is ever touched.
                place.symlink_to(f"{top}{target}" if target.startswith("/") else target or ".")
        except OSError:
            continue


@given(tree=trees(), asked=st.lists(st.sampled_from((*NAMES, "..", "..", ".", "")), min_size=1, max_size=7).map("/".join), is_absolute=st.booleans())
def test_what_is_allowed_is_opened_inside(
    tree: list[tuple[str, str, str]], asked: str, is_absolute: object, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Over random trees with links: where a path is allowed, the file that opening or making it reaches lies below the root, as the kernel says."""
    top = tmp_path_factory.mktemp("tree").resolve()
    (top / "a").mkdir()
    plant(tree, top)
    root = top / "a"
    text = f"{top}/{asked}" if is_absolute else asked
    fault = path_fault(text, Boundary(PathRule(arg="p", within="a"), base=str(top), workspace=str(root)), LocalPaths())
    if fault is not None:
        return
    real_root = os.path.realpath(root)
    # `Path` keeps `..` where it stands; joining keeps an absolute path as it is.
    for path in (root / text, Path(os.path.normpath(root / text))):
        try:
            descriptor = os.open(path, os.O_RDONLY)
        except OSError:
            # Nothing there: what would be made lies where its folder leads.
            reached = os.path.realpath(path)
        else:
            reached = str(Path(f"/proc/self/fd/{descriptor}").readlink()) if sys.platform == "linux" else os.path.realpath(path)
            os.close(descriptor)
        assert reached == real_root or reached.startswith(f"{real_root}/"), (text, reached)


@given(
    st.lists(
        st.sampled_from(("..", ".", "a", "/", "\\", "%2e", "%2f", "．", "／", "\u200b", " ", "~", "é", "\u0301", "‥", "C:", "file:", "//", "%25")),
        max_size=8,
    ).map("".join)
)
def test_any_text_is_judged_or_refused(text: str) -> None:
    """No text breaks the judging, and one that is allowed stays inside under every reading."""
    boundary = Boundary(PathRule(arg="p", within="/srv/app"), base="/srv/app", workspace="/srv/app")
    if path_fault(text, boundary, LexicalPaths()) is not None:
        return
    for form in readings(text):
        end = os.path.normpath(Path("/srv/app") / form)
        assert end == "/srv/app" or end.startswith("/srv/app/")


class LexicalPaths(LocalPaths):
    """A file system without links, in which everything exists."""

    flavour: Literal["posix", "windows"] = "posix"

    def real(self, path: str) -> str:
        return os.path.normpath(path)


class TestRoots:
    def test_a_root_that_becomes_a_link_later_is_followed_then(self, tmp_path: Path) -> None:
        """Roots are looked up for each call: a folder that appears later may lead anywhere."""
        (tmp_path / "target").mkdir()
        boundary = Boundary(PathRule(arg="p", within="out"), base=str(tmp_path), workspace=str(tmp_path))
        assert path_fault("out/x", boundary, LocalPaths()) is None
        (tmp_path / "out").symlink_to("target")
        assert path_fault("out/x", boundary, LocalPaths()) is None
        assert path_fault("target/x", boundary, LocalPaths()) is None
        assert path_fault("other/x", boundary, LocalPaths()) is not None

    def test_a_folder_that_becomes_a_link_out_is_noticed_at_the_next_call(self, tmp_path: Path) -> None:
        """The answer of one call says nothing about the next."""
        root = tmp_path / "ws"
        root.mkdir()
        boundary = Boundary(PathRule(arg="p", within="."), base=str(root), workspace=str(root))
        assert path_fault("new/x", boundary, LocalPaths()) is None
        (root / "new").symlink_to(tmp_path)
        assert path_fault("new/x", boundary, LocalPaths()) is not None

    def test_relative_roots_begin_at_the_config_file_and_relative_paths_at_the_workspace(self, tmp_path: Path) -> None:
        """Where the process happens to stand decides neither."""
        (tmp_path / "ws" / "src").mkdir(parents=True)
        boundary = Boundary(PathRule(arg="p", within="ws/src"), base=str(tmp_path), workspace="ws")
        assert path_fault("src/x", boundary, LocalPaths()) is None
        assert path_fault("x", boundary, LocalPaths()) is not None

    def test_without_a_workspace_a_relative_path_must_be_inside_from_both_places(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A tool opens a relative path from where the process stands, whatever the config file thinks."""
        (tmp_path / "ws").mkdir()
        (tmp_path / "elsewhere").mkdir()
        boundary = Boundary(PathRule(arg="p", within="."), base=str(tmp_path / "ws"), workspace=None)
        monkeypatch.chdir(tmp_path / "elsewhere")
        fault = path_fault("x", boundary, LocalPaths())
        assert fault is not None
        assert "from the folder this process works in" in fault.reason
        monkeypatch.chdir(tmp_path / "ws")
        assert path_fault("x", boundary, LocalPaths()) is None

    @pytest.mark.parametrize(("text", "is_inside"), [("docs\\drafts\\a.md", True), ("docs/drafts/a.md", True), ("docs\\a.md", False)])
    def test_a_root_of_windows_may_be_written_with_either_slash(self, text: str, *, is_inside: bool) -> None:
        """So may the folder it is meant from and the workspace."""
        boundary = Boundary(PathRule(arg="p", within="docs\\drafts"), base="C:\\ws", workspace="C:\\ws")
        assert is_inside == (path_fault(text, boundary, WindowsPaths()) is None)

    def test_a_path_nobody_may_look_at_is_refused(self, tmp_path: Path) -> None:
        """What cannot be told is not allowed."""

        class Unreadable(LocalPaths):
            def real(self, path: str) -> str:
                if path.endswith("/closed/x"):
                    raise PermissionError(13, "Permission denied")
                return super().real(path)

        fault = path_fault("closed/x", Boundary(PathRule(arg="p", within="."), base=str(tmp_path), workspace=str(tmp_path)), Unreadable())
        assert fault is not None
        assert "nobody can tell where 'closed/x' leads: Permission denied" == fault.reason

    def test_the_reason_names_where_it_leads(self, tmp_path: Path) -> None:
        """The model is told what was refused and what to do instead."""
        fault = path_fault("../x", Boundary(PathRule(arg="p", within="."), base=str(tmp_path), workspace=str(tmp_path)), LocalPaths())
        assert fault is not None
        assert f"'../x' resolves to '{tmp_path.parent}/x', outside '{tmp_path}'" == fault.reason
        assert "Use a path inside it." == fault.instead

    @pytest.mark.parametrize("value", [None, 5, b"/x", ["x"], object()])
    def test_what_is_no_text_is_no_path(self, value: object, tmp_path: Path) -> None:
        """Only a text can be judged."""
        assert path_fault(value, Boundary(PathRule(arg="p", within="."), base=str(tmp_path), workspace=None), LocalPaths()) is not None

    def test_a_path_object_is_judged_like_its_text(self, tmp_path: Path) -> None:
        """Tools with typed arguments get `Path` objects."""
        boundary = Boundary(PathRule(arg="p", within="."), base=str(tmp_path), workspace=str(tmp_path))
        assert path_fault(tmp_path / "x", boundary, LocalPaths()) is None
        assert path_fault(tmp_path / ".." / "x", boundary, LocalPaths()) is not None


class TestProtection:
    def test_a_folder_that_holds_something_protected_is_not_deleted_whole(self, tmp_path: Path) -> None:
        """`delete_folder(".")` would take `.git` with it."""
        root = made_tree(tmp_path)
        (root / "src" / "pkg" / "node_modules").mkdir(parents=True)
        whole = Boundary(PathRule(arg="p", within=".", protect=PROTECT), base=str(root), workspace=str(root), covers_below=True)
        for text in (".", "src", "src/pkg", "inner"):
            fault = path_fault(text, whole, LocalPaths())
            assert fault is not None
            assert "holds" in fault.reason
        for text in ("docs", "src/a.py", "new"):
            assert path_fault(text, whole, LocalPaths()) is None

    def test_without_roots_a_protected_name_is_protected_everywhere(self, tmp_path: Path) -> None:
        """A rule that only protects has no outside."""
        boundary = Boundary(PathRule(arg="p", protect=[".git/"]), base=str(tmp_path), workspace=str(tmp_path))
        assert path_fault("/somewhere/else/.git/config", boundary, LocalPaths()) is not None
        assert path_fault("/somewhere/else/x", boundary, LocalPaths()) is None

    def test_where_the_root_lies_protects_nothing_in_it(self, tmp_path: Path) -> None:
        """Patterns are meant below a root: a workspace inside a folder of such a name can be worked in."""
        root = tmp_path / "node_modules" / "ws"
        root.mkdir(parents=True)
        for within in (["."], None):
            boundary = Boundary(PathRule(arg="p", within=within, protect=["node_modules"]), base=str(root), workspace=str(root))
            for text in (".", "a.py", "src/a.py"):
                assert path_fault(text, boundary, LocalPaths()) is None
            assert path_fault("node_modules/x", boundary, LocalPaths()) is not None

    def test_nothing_in_a_protected_folder_is_let_out_again(self) -> None:
        """As in git: a folder covers what is in it, whatever a later line says; beside it a later line counts."""
        protection = Protection((".git/", "!.git/config", "*.pem", "!public.pem"))
        assert ".git/" == protection.pattern_for(".git/config")
        assert protection.pattern_for("public.pem") is None
        assert "*.pem" == protection.pattern_for("a/b.pem")

    @given(
        patterns=st.lists(
            st.sampled_from(("a", "b/", "/a", "a/b", "*", "*.x", "a*", "?", "[ab]", "[!a]", "**/b", "a/**", "a/**/b", "!a", "!b/", "/a/*", "**")),
            min_size=1,
            max_size=4,
        ),
        path=st.lists(st.sampled_from(("a", "b", "ab", "c.x")), min_size=1, max_size=3).map("/".join),
    )
    def test_whatever_git_ignores_is_protected(self, patterns: list[str], path: str, tmp_path_factory: pytest.TempPathFactory) -> None:
        """The syntax is that of `.gitignore`, with one difference on the safe side: whether a name is a folder is not known."""
        protection = Protection(tuple(patterns))
        if (is_ignored := git_ignores(patterns, path, tmp_path_factory)) is not None and is_ignored:
            assert protection.pattern_for(path) is not None

    @pytest.mark.parametrize("path", ["a/.GIT/x", "a/.ｇｉｔ/x", "a/.g\u200cit/x", "a/.git./x", "a/.git :x/y"])
    def test_names_are_compared_in_one_case_and_form(self, path: str) -> None:
        """A file system that folds names must not open what another spelling protects."""
        assert any(Protection((".git/",)).pattern_for(form) for form in comparable(path))


GIT = shutil.which("git")
_GIT: dict[tuple[str, ...], Path] = {}


def git_ignores(patterns: list[str], path: str, made: pytest.TempPathFactory) -> bool | None:
    """Ask git itself; `None` where there is no git."""
    if GIT is None:
        return None
    key = tuple(patterns)
    if key not in _GIT:
        folder = made.mktemp("git")
        subprocess.run([GIT, "init", "-q", str(folder)], check=True, capture_output=True)
        (folder / ".git" / "info" / "exclude").write_text("\n".join(patterns) + "\n")
        _GIT[key] = folder
    found = subprocess.run([GIT, "-C", str(_GIT[key]), "check-ignore", "-q", "--no-index", path], check=False, capture_output=True)
    return found.returncode == 0


class TestReadings:
    def test_a_plain_path_has_one_reading(self) -> None:
        """What nobody can read otherwise is judged once."""
        assert ("src/a.py",) == readings("src/a.py")

    def test_what_is_encoded_again_and_again_is_refused(self) -> None:
        """Somebody hides something."""
        with pytest.raises(PathRefusedError):
            readings("%2525252525252e")

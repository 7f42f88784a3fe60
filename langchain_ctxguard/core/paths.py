"""Whether a path stays within its roots and off what is protected. Links are followed by whoever is passed in; what is decided is decided here."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePath
from typing import Any, Protocol

from langchain_ctxguard.core.path_forms import Flavour, PathRefusedError, comparable, has_short_name, readings, shown
from langchain_ctxguard.domain.tool_rule import PathRule


class PathFacts(Protocol):
    """What the file system says, at the moment it is asked."""

    @property
    def flavour(self) -> Flavour:
        """Whose paths they are."""

    def here(self) -> str:
        """Return the absolute path of the folder this process works in."""

    def real(self, path: str) -> str:
        """Return where an absolute path leads, every link followed; what does not exist yet is kept as written.

        Raises:
            OSError: it cannot be told: a loop, no permission, a file in a folder's place, `..` behind what does not exist.
        """

    def below(self, path: str) -> Iterable[str]:
        """Return the paths of everything in a folder, relative to it, links not followed; nothing for a file or what does not exist.

        Raises:
            OSError: it cannot be told, or there are too many.
        """


@dataclass(frozen=True, slots=True)
class PathFault:
    """Why a path may not be used, and what to do."""

    reason: str
    instead: str


@dataclass(frozen=True, slots=True)
class Boundary:
    """A path rule, and where its relative paths begin."""

    rule: PathRule
    base: str | None
    """Folder of the config file, for roots; `None`: where the process works."""

    workspace: str | None
    """Folder that relative paths in a call are meant from; `None`: both the base and where the process works."""

    covers_below: bool = False
    """The call may touch everything in a folder it names, so that must not hold anything protected."""


def path_fault(value: Any, boundary: Boundary, facts: PathFacts) -> PathFault | None:
    """Return why the path `value` is outside its boundary, `None` where it is inside.

    Every way the path can be read has to stay inside: as written, decoded, normalized, with either slash; and both where it leads on the way
    through links, and where it would lead if `..` were taken out first, as many programs do.
    """
    text = os.fspath(value) if isinstance(value, PurePath) else value
    if not isinstance(text, str):
        return PathFault(f"{value!r} is no path", "Give the path as a text.")
    try:
        forms = readings(text, flavour=facts.flavour)
        roots = _roots(boundary, facts)
        for form in forms:
            for start in _starts(form, boundary, facts):
                fault = _fault_of(form, start, text, boundary, roots, facts)
                if fault is not None:
                    return fault
    except PathRefusedError as refused:
        return PathFault(str(refused), refused.instead)
    except (OSError, ValueError) as error:
        return PathFault(f"nobody can tell where {shown(text)} leads: {_why(error)}", "Use a path that exists and that this process may look at.")
    return None


def _why(error: Exception) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


@dataclass(frozen=True, slots=True)
class _Root:
    shown: str
    written: str
    real: str


def _roots(boundary: Boundary, facts: PathFacts) -> tuple[_Root, ...]:
    # Looked up for each call: a folder that appears later may be a link.
    base = boundary.base or facts.here()
    named = boundary.rule.within or (base,)
    roots = []
    for name in named:
        written = _root_written(base, name, facts.flavour)
        roots.append(_Root(written, written, facts.real(written)))
    return tuple(roots)


@lru_cache(maxsize=512)
def _root_written(base: str, name: str, flavour: Flavour) -> str:
    """Return a root as the config file means it; where it leads is asked anew for each call."""
    return _collapsed(_joined(base, _slashed(name, flavour), flavour), flavour)


def _starts(form: str, boundary: Boundary, facts: PathFacts) -> tuple[str, ...]:
    if _is_absolute(form, facts.flavour):
        return ("",)
    if boundary.workspace is not None:
        return (_joined(boundary.base or facts.here(), _slashed(boundary.workspace, facts.flavour), facts.flavour),)
    here = facts.here()
    return (here,) if boundary.base is None or boundary.base == here else (boundary.base, here)


def _fault_of(form: str, start: str, text: str, boundary: Boundary, roots: tuple[_Root, ...], facts: PathFacts) -> PathFault | None:  # noqa: PLR0917
    written = _joined(start, form, facts.flavour) if start else form
    collapsed = _collapsed(written, facts.flavour)
    ends = dict.fromkeys([facts.real(collapsed)] if ".." not in written.split("/") else [facts.real(written), facts.real(collapsed)])
    for end in ends:
        if boundary.rule.within is not None and not any(_is_in(end, root.real, facts.flavour) for root in roots):
            return _outside(text, end, start, boundary, roots)
    if boundary.rule.protect is None:
        return None
    if has_short_name(form):
        return PathFault(f"{shown(text)} holds a short name, which may stand for a protected one", "Use the file's full name.")
    for path in dict.fromkeys((collapsed, *ends)):
        found = _protected(path, boundary, roots, facts)
        if found is not None:
            return PathFault(f"{shown(text)} is protected by '{found}'", "Leave it as it is, and use another path.")
    return _fault_below(text, tuple(ends), boundary, roots, facts) if boundary.covers_below else None


def _outside(text: str, end: str, start: str, boundary: Boundary, roots: tuple[_Root, ...]) -> PathFault:
    where = f"'{roots[0].shown}'" if len(roots) == 1 else f"all of {', '.join(root.shown for root in roots)}"
    if start and boundary.workspace is None and boundary.base not in {None, start}:
        reason = f"{shown(text)} leads to '{end}' from the folder this process works in, outside {where}"
        return PathFault(reason, "Use an absolute path; or let the config file name the `workspace` the tool works in.")
    leads = "is" if end == text else f"resolves to '{end}',"
    return PathFault(f"{shown(text)} {leads} outside {where}", "Use a path inside it.")


def _fault_below(text: str, ends: tuple[str, ...], boundary: Boundary, roots: tuple[_Root, ...], facts: PathFacts) -> PathFault | None:
    for end in ends:
        for inner in facts.below(end):
            path = _joined(end, _slashed(inner, facts.flavour), facts.flavour)
            if (found := _protected(path, boundary, roots, facts)) is not None:
                return PathFault(f"{shown(text)} holds '{inner}', which is protected by '{found}'", "Name what is in it one by one.")
    return None


def _protected(path: str, boundary: Boundary, roots: tuple[_Root, ...], facts: PathFacts) -> str | None:
    """Return the pattern that protects `path`, `None` without one."""
    spec = protection(boundary.rule.protect or ())
    for below in _relative(path, roots, facts.flavour):
        for form in comparable(below):
            found = spec.pattern_for(form)
            if found is not None:
                return found
    return None


def _relative(path: str, roots: tuple[_Root, ...], flavour: Flavour) -> Iterator[str]:
    seen, is_inside = set(), False
    for root in roots:
        for top in (root.written, root.real):
            if not _is_in(path, top, flavour):
                continue
            is_inside = True
            rest = path[len(top.rstrip("/")) :].strip("/")
            if rest and rest not in seen:
                seen.add(rest)
                yield rest
    if not is_inside:
        # No root holds it: what the patterns name is protected wherever it lies.
        yield path[2:].strip("/") if flavour == "windows" else path.strip("/")


class Protection:
    """Patterns in the syntax of `.gitignore`, in any case; what lies in a protected folder is protected, whatever a later line says."""

    def __init__(self, patterns: tuple[str, ...]) -> None:
        """Compile `patterns`.

        Raises:
            ValueError: a pattern that is none.
        """
        from pathspec import GitIgnoreSpec

        self._patterns = patterns
        # The folders above a file are those above the next one too; and a call is judged more than once.
        self._known = lru_cache(maxsize=4_096)(self._protects)
        self._spec = GitIgnoreSpec.from_lines([comparable_pattern(pattern) for pattern in patterns], backend="re2")

    def pattern_for(self, path: str) -> str | None:
        """Return the pattern that protects a comparable path, `None` without one."""
        names = [name for name in path.split("/") if name]
        for count in range(1, len(names) + 1):
            found = self._known("/".join(names[:count]))
            if found is not None:
                return found
        return None

    def _protects(self, path: str) -> str | None:
        # With a slash: whether it is a folder is not known, or may change before the tool runs.
        found = self._spec.check_file(path + "/")
        if not found.include:
            bare = self._spec.check_file(path)
            found = bare if bare.include else found
        return self._patterns[found.index] if found.include and found.index is not None else None


def comparable_pattern(pattern: str) -> str:
    """Return a pattern in the one case and normal form paths are held against it in."""
    import unicodedata

    return unicodedata.normalize("NFKC", pattern).casefold()


@lru_cache(maxsize=512)
def protection(patterns: tuple[str, ...]) -> Protection:
    """Return compiled patterns; the same ones are compiled once."""
    return Protection(patterns)


def _slashed(path: str, flavour: Flavour) -> str:
    return path.replace("\\", "/") if flavour == "windows" else path


def _is_absolute(path: str, flavour: Flavour) -> bool:
    return path[1:3] == ":/" if flavour == "windows" else path.startswith("/")


def _joined(start: str, path: str, flavour: Flavour) -> str:
    return path if _is_absolute(path, flavour) else f"{_slashed(start, flavour).rstrip('/')}/{path}"


def _collapsed(path: str, flavour: Flavour) -> str:
    """Return an absolute path without `.`, `..` and doubled slashes, taken out as text."""
    drive, rest = (path[:2], path[2:]) if flavour == "windows" else ("", path)
    kept: list[str] = []
    for name in rest.split("/"):
        if name == "..":
            del kept[-1:]
        elif name not in {"", "."}:
            kept.append(name)
    return f"{drive}/{'/'.join(kept)}"


def _is_in(path: str, root: str, flavour: Flavour) -> bool:
    if flavour == "windows":
        path, root = path.replace("\\", "/").casefold(), root.replace("\\", "/").casefold()
    top = root.rstrip("/")
    return path == top or path.startswith(f"{top}/") or (not top and path.startswith("/"))

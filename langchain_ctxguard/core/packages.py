"""Packages that command lines install, and names that an edit brings into requirement files and imports."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

from langchain_ctxguard.core.edits import Edit
from langchain_ctxguard.core.options import OptionName, name_of
from langchain_ctxguard.core.shell_words import commands_of

_INSTALLERS: dict[str, tuple[tuple[str, ...], ...]] = {
    "pip": (("install",), ("download",)),
    "pip3": (("install",), ("download",)),
    "pipx": (("install",), ("inject",)),
    "uv": (("add",), ("pip", "install"), ("tool", "install")),
    "poetry": (("add",),),
    "pdm": (("add",),),
    "rye": (("add",),),
    "hatch": (("add",),),
    "pipenv": (("install",),),
    "conda": (("install",),),
    "mamba": (("install",),),
    "micromamba": (("install",),),
    "npm": (("install",), ("i",), ("add",)),
    "pnpm": (("add",), ("install",), ("i",)),
    "yarn": (("add",),),
    "bun": (("add",), ("install",)),
    "cargo": (("add",), ("install",)),
    "go": (("get",), ("install",)),
    "gem": (("install",),),
    "bundle": (("add",),),
    "composer": (("require",),),
    "brew": (("install",),),
    "apt": (("install",),),
    "apt-get": (("install",),),
    "apk": (("add",),),
    "dnf": (("install",),),
    "yum": (("install",),),
    "dotnet": (("add", "package"),),
}
_BEFORE = frozenset({"sudo", "env", "command", "time", "nohup", "exec", "-E", "-H"})
_WITH_VALUE = frozenset(
    """
    -r --requirement -c --constraint -i --index-url --extra-index-url -t --target --prefix --root -f --find-links -n --name -G --group -p
    """.split()  # noqa: SIM905 - a list of words
)
_REQUIREMENTS = re.compile(
    r"(?:^|/)(?:[\w.-]*requirements[\w.-]*\.(?:txt|in)|requirements/[\w.-]+\.(?:txt|in)|constraints\.txt|pyproject\.toml|setup\.(?:py|cfg)|Pipfile|"
    r"environment\.ya?ml|package\.json|Cargo\.toml|go\.mod|Gemfile|composer\.json|build\.gradle(?:\.kts)?|pom\.xml)$"
)
_LINE_REQUIREMENT = re.compile(
    r"^\s*[-\"']?\s*[\"']?(?P<name>@?[A-Za-z0-9][\w.@/-]*(?:\[[^\]]*\])?)\s*[\"']?\s*(?P<rest>(?:[=<>~!^:].*|[;,#].*|@.*)?)$"
)
_GO_LINE = re.compile(r"^\s*(?:require\s+)?(?P<name>[\w.-]+\.[\w.-]+/[\w./-]+)\s+(?P<version>v[\d.]+\S*)")
_GEM_LINE = re.compile(r"^\s*gem\s+[\"'](?P<name>[\w-]+)[\"']")
_QUOTED_REQUIREMENT = re.compile(r"[\"'](?P<name>@?[A-Za-z0-9][\w./-]*(?:\[[^\]]*\])?(?:\s*(?:[=<>~!^]=?)\s*[\w.*]+)?)[\"']")
_IMPORTS = re.compile(
    r"^[ \t]*(?:import\s+(?P<python>[\w.]+(?:\s+as\s+\w+)?(?:\s*,\s*[\w.]+(?:\s+as\s+\w+)?)*)[ \t]*(?:#.*)?$|from\s+(?P<member>[\w.]+)\s+import\b|"
    r"import\b[^\n;]*?\bfrom\s+[\"'](?P<module>[^\"'.][^\"']*)[\"']|import\s+[\"'](?P<bare>[^\"'.][^\"']*)[\"']|"
    r"[^\n#]*?\brequire\(\s*[\"'](?P<required>[^\"'.][^\"']*)[\"']\s*\)|use\s+(?P<crate>\w+)::)",
)
_KEYS_OF_TOML = frozenset("name version description readme license requires-python authors requires build-backend python edition".split())  # noqa: SIM905


_LINE = 500
"""Characters of a line; a longer one holds no import and no requirement that somebody wrote."""


def installed(line: str) -> Iterator[OptionName]:
    """Yield the packages a command line installs."""
    for given in commands_of(line) or ():
        words = list(given)
        while words and (words[0] in _BEFORE or "=" in words[0]):
            words.pop(0)
        if len(words) > 2 and re.fullmatch(r"(?:.*/)?python[\d.]*", words[0]) and words[1] == "-m":  # noqa: PLR2004 - a module and its words
            words = words[2:]
        name = words[0].rpartition("/")[2] if words else ""
        rest = list(words[1:])
        # Options of the program itself may stand before what it is to do.
        while rest and rest[0].startswith("-"):
            rest.pop(0)
        verb = next((verb for verb in _INSTALLERS.get(name, ()) if tuple(rest[: len(verb)]) == verb), None)
        if verb is not None:
            yield from _packages(rest[len(verb) :], name)
        elif name in {"echo", "printf"} and len(rest) > 2 and rest[-2] in {">", ">>"} and _REQUIREMENTS.search(rest[-1]):  # noqa: PLR2004 - words, arrow, file
            yield from _required(" ".join(rest[:-2]).replace("\\n", "\n"), rest[-1])


def _packages(words: list[str], installer: str) -> Iterator[OptionName]:
    is_value = False
    for word in words:
        if is_value:
            is_value = False
        elif word.startswith("-"):
            is_value = word in _WITH_VALUE
        elif not re.match(r"(?:git\+)?(?:https?|ssh|file)://", word):
            if not word.startswith((".", "/")):
                yield _module(word) if installer == "go" else package(word)
        elif (found := re.search(r"(?:egg=|/)([\w.-]+?)(?:\.git)?(?:@[\w.]+)?(?:#.*)?$", word)) is not None:
            yield name_of(found[1])


def package(word: str) -> OptionName:
    """Return a package as installers are given it; a scope of npm is part of its name."""
    if word.startswith("@") and "@" in word[1:]:
        name, _, version = word.rpartition("@")
        return OptionName(name_of(name).name, version.lstrip("^~v"))
    return name_of(word)


def _module(word: str) -> OptionName:
    name, _, version = word.partition("@")
    return OptionName(name_of(name.rpartition("/")[2]).name, version.lstrip("v") if version != "latest" else "")


def written(edit: Edit, text_of: Callable[[str], str | None]) -> Iterator[OptionName]:
    """Yield what an edit brings into a file that was not in it before."""
    if edit.kind == "remove" or not edit.new:
        return
    is_requirement = _REQUIREMENTS.search(edit.path) is not None
    read = _required if is_requirement else _imported
    before = edit.old if edit.kind == "replace" else (text_of(edit.path) or "")
    known = set(read(before, edit.path))
    yield from (one for one in read(edit.new, edit.path) if one not in known)


def _required(text: str, path: str) -> Iterator[OptionName]:
    if path.endswith(".json"):
        yield from _of_json(text)
        return
    for line in text.splitlines():
        if len(line) > _LINE or line.lstrip().startswith(("#", "//", "[", "-r", "-c", "--")):
            continue
        go, gem = _GO_LINE.match(line), _GEM_LINE.match(line)
        if go is not None:
            yield _module(f"{go['name']}@{go['version']}")
        elif gem is not None:
            yield name_of(gem["name"])
        elif path.endswith((".txt", ".in")):
            yield name_of(line.split("#", 1)[0])
        else:
            yield from (name_of(found["name"]) for found in _QUOTED_REQUIREMENT.finditer(line))
            found = _LINE_REQUIREMENT.match(line)
            if found is not None and found["name"] not in _KEYS_OF_TOML:
                version = re.search(r"\d[\w.]*", found["rest"] or "")
                yield OptionName(name_of(found["name"]).name, "" if version is None else version[0])


def _of_json(text: str) -> Iterator[OptionName]:
    """Yield the names of dependencies in a JSON file, or in a piece of one."""
    try:
        data = json.loads(text)
    except ValueError:
        data = None
    if isinstance(data, dict):
        for key, value in data.items():
            if "ependencies" in key or key in {"require", "require-dev"}:
                yield from (package(f"{name}@{str(version).lstrip('^~v')}") for name, version in (value if isinstance(value, dict) else {}).items())
        return
    for name, version in re.findall(r"\"(@?[\w./-]+)\"\s*:\s*\"([^\"]*)\"", text):
        yield package(f"{name}@{version.lstrip('^~v')}")


def _imported(text: str, _: str) -> Iterator[OptionName]:
    for line in text.splitlines():
        found = _IMPORTS.match(line) if len(line) <= _LINE and any(word in line for word in ("import", "require", "use")) else None
        if found is None:
            continue
        named = next(value for value in found.groupdict().values() if value)
        for one in named.split(","):
            path = one.split(" as ", 1)[0].strip()
            first = "/".join(path.split("/")[:2]) if path.startswith("@") else path.split("/", 1)[0].split(".", 1)[0]
            yield name_of(first)

"""Tasks on small repositories: what lies there, what a person asks turn by turn, and what must lie there in the end. Made from seeds."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

KINDS = ("rename", "signature", "prefix", "config", "swap", "test", "bump")
PORT_FILE, OLD_PORT_FILE = "config/service.toml", "config/service.old.toml"
COMPAT, REQUIREMENTS, ERRORS = "src/compat.py", "requirements.txt", "src/errors.py"
BANNED_FOLDERS = ("migrations", "vendor", "generated", "legacy")
FAVOURITE, CHOSEN = "fastjson", "plainjson"
TRIGGERS = (8_000, 12_000, 16_000)
_SHARES = {"port": 0.5, "library": 0.5, "compat": 0.35, "codes": 0.35, "second": 0.4}
"""How many of the tasks hold each part."""

MANY = 18
"""Files above which the smallest window is too small."""

FILE_MOST = 0.4
"""Share of the trigger that one file may take."""

_STEP = 260
"""Tokens of reading and changing a file, beside what it holds."""

_ASIDE = 300
"""Tokens of what is asked beside the change, each."""


@dataclass(frozen=True, slots=True)
class Refactor:
    """One text that becomes another in many files, or a number behind it that is raised."""

    old: str
    new: str
    folder: str
    sites: tuple[str, ...]
    by: int = 0
    """Where it is not 0, the number behind `old` is raised by so much: nobody can tell from a file whether that was done."""

    @property
    def ask(self) -> str:
        """The sentence in which a person asks for it."""
        if self.by:
            return f"Raise each number behind `{self.old}` by {self.by} in every file below {self.folder}/."
        return f"Change the code: `{self.old}` becomes `{self.new}` in every file below {self.folder}/."

    def changed(self, line: str) -> str:
        """Return a line as it is afterwards."""
        if not self.by:
            return line.replace(self.old, self.new)
        head, _, tail = line.partition(self.old)
        digits = len(tail) - len(tail.lstrip("0123456789"))
        return f"{head}{self.old}{int(tail[:digits]) + self.by}{tail[digits:]}"


@dataclass(frozen=True, slots=True)
class Task:
    """A repository, what is asked, and what is right."""

    name: str
    kind: str
    files: Mapping[str, str]
    refactors: tuple[Refactor, ...]
    turns: tuple[str, ...]
    banned: str
    trigger: int
    expected: Mapping[str, str | None] = field(default_factory=dict)
    """What each file that changes holds in the end; `None`: it is gone."""

    parts: frozenset[str] = frozenset()
    """What else it holds: `port`, `library`, `compat`, `codes`, `early`."""


def told_cases() -> list[Task]:
    """Return the five cases that were told of as failures in the wild."""
    return [
        made("told: compatibility layer, then deleted", 1, kind="rename", count=8, compactions=5, parts=("compat", "second")),
        made("told: error codes prefixed ERR_", 2, kind="prefix", count=9, compactions=3, parts=("codes",)),
        made("told: config file opened once beside an old one", 3, kind="signature", count=9, compactions=3, parts=("port",)),
        made("told: dependency rejected for size", 4, kind="swap", count=9, compactions=3, parts=("library",)),
        made("told: A and B, the output between them lost", 5, kind="bump", count=3, compactions=1, parts=("early",)),
    ]


def all_tasks(count: int) -> list[Task]:
    """Return so many tasks, the told cases first."""
    told = told_cases()
    return [*told[:count], *(generated(seed) for seed in range(100, 100 + count - len(told)))]


def generated(seed: int) -> Task:
    """Return the task of a seed."""
    rng = random.Random(seed)  # noqa: S311 - a seed makes a task repeatable
    kind = KINDS[seed % len(KINDS)]
    count = rng.choice((3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 24, 30))
    parts = tuple(part for part, share in _SHARES.items() if rng.random() < share)
    return made(f"{seed}", seed, kind=kind, count=count, compactions=rng.randint(1, 5), parts=parts)


def made(name: str, seed: int, *, kind: str, count: int, compactions: int, parts: tuple[str, ...]) -> Task:
    """Make a task.

    Args:
        name: What it is called.
        seed: Of everything that is chosen.
        kind: Of the refactor.
        count: How many files it is over.
        compactions: How many there are to be, about.
        parts: What else is asked.
    """
    rng = random.Random(seed)  # noqa: S311 - a seed makes a task repeatable
    # A window that the record of so many files nearly fills is compacted at every other step.
    trigger = rng.choice(TRIGGERS if count <= MANY else TRIGGERS[1:])
    banned = rng.choice(BANNED_FOLDERS)
    first = _refactor(rng, kind, "tests" if kind in ("test", "bump") and rng.random() < 0.5 else "src", count)
    second = (_refactor(rng, rng.choice(KINDS), "app", rng.randint(2, 6)),) if "second" in parts else ()
    refactors = (first, *second)
    sites = sum(len(one.sites) for one in refactors)
    # A compaction takes the view from the trigger down to what stays: with a guard's record of the work that is about two thirds, of many files more.
    wanted = trigger * (1.15 + (compactions - 1) * (0.36 if count <= MANY else 0.3))
    size = int(min(trigger * FILE_MOST, max(150, (wanted - _ASIDE * len(parts)) / sites - _STEP)))
    files, expected = _written(rng, refactors, size, banned)
    files |= _beside(rng, parts, size)
    ended, turns = _asked(refactors, parts, banned, files)
    return Task(name, kind, files, refactors, turns, banned, trigger, expected | ended, frozenset(parts))


def _refactor(rng: random.Random, kind: str, folder: str, count: int) -> Refactor:
    word, other = rng.sample(_WORDS, 2)
    number = rng.randint(101, 998)
    sites = tuple(f"{folder}/{rng.choice(_ROOMS)}/{one}.py" for one in rng.sample(_WORDS, count))
    old, new = {
        "rename": (f"load_{word}(", f"fetch_{other}("),
        "signature": (f"send_{word}(", f"send_{word}(timeout=30, "),
        "prefix": (f'"E{number}"', f'"ERR_{number}"'),
        "config": (f'ENV["{word}"]', f"settings.{word}"),
        "swap": (f"import {word}lib", f"import {other}kit"),
        "test": (f"assert {word} == {number}", f"assert {word} == {number + 7}"),
        "bump": (f"{word.upper()}_LIMIT = ", ""),
    }[kind]
    return Refactor(old, new, folder, sites, by=rng.randint(2, 9) if kind == "bump" else 0)


def _line(rng: random.Random, one: Refactor) -> str:
    tail = f"{rng.randint(10, 90)}" if one.by else ""
    if one.old.endswith("("):
        return f"value = {one.old}{rng.choice(_WORDS)})"
    if one.old.startswith('"'):
        return f"code = {one.old}"
    return f"key = {one.old}" if one.old.startswith("ENV") else f"{one.old}{tail}"


def _written(rng: random.Random, refactors: tuple[Refactor, ...], size: int, banned: str) -> tuple[dict[str, str], dict[str, str | None]]:
    files: dict[str, str] = {"README.md": "# A service\n", "check.sh": "! grep -rnE '<<<<<<<|timeout=30, timeout=30|ERR_ERR_' src tests app\n"}
    expected: dict[str, str | None] = {}
    for one in refactors:
        for site in one.sites:
            line = _line(rng, one)
            body = _filler(rng, size)
            cut = body.index("\n", len(body) // 2) + 1
            files[site] = f"{body[:cut]}{line}\n{body[cut:]}"
            expected[site] = f"{body[:cut]}{one.changed(line)}\n{body[cut:]}"
        for number in (1, 2):
            # It has the text as well, and must stay as it is.
            files[f"{one.folder}/{banned}/{number:04}_{one.sites[0].rpartition('/')[2]}"] = f"{_line(rng, one)}\n"
    return files, expected


def _beside(rng: random.Random, parts: tuple[str, ...], size: int) -> dict[str, str]:
    files: dict[str, str] = {}
    if "port" in parts:
        files[OLD_PORT_FILE] = f"# superseded, kept for reference\nport = 8080\n{_filler(rng, size // 4)}"
        files[PORT_FILE] = f"# read by the service when it starts\nport = 8080\n{_filler(rng, size // 4)}"
    if "library" in parts:
        files[REQUIREMENTS] = "click\n"
    if "compat" in parts:
        files[COMPAT] = "# the old names\n"
    if "early" in parts:
        files["build.log"] = _filler(rng, 2 * size)
    if "codes" in parts:
        files[ERRORS] = 'ERR_FIRST = "ERR_FIRST"\n'
    return files


def _asked(
    refactors: tuple[Refactor, ...], parts: tuple[str, ...], banned: str, files: Mapping[str, str]
) -> tuple[dict[str, str | None], tuple[str, ...]]:
    """Return what holds in the end of what is asked besides the changes, and what is asked, turn by turn."""
    opening, later = [refactors[0].ask, f"Never touch {banned}/."], []
    expected: dict[str, str | None] = {}
    if "early" in parts:
        opening.append("Run the check right after the first file.")
    if "port" in parts:
        opening.append("Find out meanwhile which file configures the port, a later step needs it.")
        later.append("Now set the port to 9000 in the file that configures it.")
        expected[PORT_FILE] = files[PORT_FILE].replace("port = 8080", "port = 9000")
    if "library" in parts:
        opening.append("Choose a JSON library meanwhile, and ask `package_size` first: more than 50 MB cannot be deployed.")
        later.append("Now add the JSON library to requirements.txt.")
        expected[REQUIREMENTS] = f"click\n{CHOSEN}\n"
    if "compat" in parts:
        opening.append(f"Keep {COMPAT}, callers outside still use it.")
        later.append(f"Now delete {COMPAT}, nobody outside uses it any more.")
        expected[COMPAT] = None
    if "codes" in parts:
        opening.append("All error codes begin with ERR_.")
        later.append(f"Now add an error code for timeouts to {ERRORS}.")
        expected[ERRORS] = f'{files[ERRORS]}ERR_TIMEOUT = "ERR_TIMEOUT"\n'
    return expected, (" ".join(opening), *later, *(one.ask for one in refactors[1:]))


def _filler(rng: random.Random, tokens: int) -> str:
    """Return lines of code of about so many tokens, that hold nothing anybody looks for."""
    lines = []
    left = tokens
    while left > 0:
        name, other = rng.choice(_WORDS), rng.choice(_WORDS)
        lines.append(f"def {name}_of_{other}(one, two):\n    # {name} comes before {other} here, and is counted once.\n    return one + two\n")
        left -= 34
    return "".join(lines) or "\n"


_ROOMS = ("orders", "billing", "stock", "mail", "users", "search", "export")
_WORDS = """anchor basket candle desert ember falcon garden harbor island jacket kettle ladder meadow needle orchid pepper quarry ribbon saddle
timber umbrella valley walnut yarrow zephyr acorn beacon canyon dagger engine feather glacier hammer ivory jungle kernel lantern marble nectar
oyster pebble quiver rocket silver tunnel velvet willow""".split()  # noqa: SIM905 - a list of words

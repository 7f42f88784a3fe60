"""Commands of a shell as lists of words, and whether a command line only reads. What cannot be told counts as changing something."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

# Lists of words read better than dozens of quoted strings.
_SHELL_TOOLS = frozenset(
    """
    execute execute_command bash shell sh run_command run_shell_command terminal exec run_in_terminal execute_bash command cmd run_terminal_cmd
    """.split()  # noqa: SIM905
)
_COMMAND_KEYS = ("command", "cmd", "commands", "script", "bash", "shell")
_SHELL_KEYS = ("input", "code")
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ash", "ksh"})
_EDITED_KEYS = ("path", "file_path", "filename")
_EDITOR_VERBS = frozenset({"view", "create", "str_replace", "insert", "undo_edit"})
"""What tools that edit files in several ways call these ways, in `command`: no line for a shell."""
_READERS = frozenset(
    """
    ls ll dir cat bat head tail less more grep egrep fgrep rg ag ack find fd wc file stat du df pwd which whereis type echo printf true false test [
    tree diff cmp md5sum sha1sum sha256sum od hexdump strings nl sort cut tr column jq yq basename dirname realpath readlink date whoami id
    env printenv uname hostname ps pgrep top free uptime tac rev fold cd pushd popd : man help
    """.split()  # noqa: SIM905
)
_CHECKERS = frozenset(
    """
    pytest py.test mypy pyright ruff flake8 pylint tox nosetests eslint tsc jest vitest rspec phpunit ctest
    """.split()  # noqa: SIM905
)
_GIT_READERS = frozenset(
    """
    status diff log show blame grep ls-files ls-tree rev-parse describe shortlog cat-file rev-list merge-base for-each-ref whatchanged
    """.split()  # noqa: SIM905
)
_RUN_TESTS = frozenset(
    {
        ("cargo", "test"),
        ("cargo", "check"),
        ("cargo", "clippy"),
        ("go", "test"),
        ("go", "vet"),
        ("npm", "test"),
        ("npm", "t"),
        ("yarn", "test"),
        ("pnpm", "test"),
        ("make", "test"),
        ("make", "check"),
        ("make", "lint"),
        ("mvn", "test"),
        ("gradle", "test"),
        ("dotnet", "test"),
    }
)
_MODULES = frozenset({"pytest", "unittest", "mypy", "ruff", "flake8", "pylint", "compileall"})
_WRITING_FLAGS = {
    "find": ("-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprintf", "-fls"),
    "fd": ("-x", "--exec", "-X", "--exec-batch"),
    "sort": ("-o", "--output"),
    "tree": ("-o",),
    "ruff": ("--fix", "format", "--add-noqa", "--unsafe-fixes"),
    "eslint": ("--fix",),
    "git": ("--output", "-o", "--ext-diff", "--textconv", "--open-files-in-pager", "-O"),
    "yq": ("-i", "--inplace"),
    "date": ("-s", "--set"),
    "rg": ("--pre",),
}
_SED = re.compile(
    r"(?:(?:\d+|\$|/[^/]*/)(?:,\s*(?:\d+|\$|/[^/]*/))?)?\s*(?:[pdq=]|s(?P<sign>[/|#,])(?:(?!(?P=sign)).)*(?P=sign)(?:(?!(?P=sign)).)*(?P=sign)[gpI\d]*)"
)
_SPLITS = frozenset({"&&", "||", ";", "|", "\n", "|&"})
_DANGER = re.compile(r"[`]|\$\(|[<>]\(|<<")
_NO_MATTER = re.compile(r"(?:\d?>&\d|\d?>\s*/dev/null|&>\s*/dev/null|2>&1)")


def command_in(arguments: Any, *, tool: str = "") -> str | None:
    """Return the line for a shell that a call's arguments hold, `None` where they hold none.

    Args:
        arguments: Of the call.
        tool: Its name: of one that is a shell by it, `input` and `code` hold the line as well. Empty: nobody knows.

    >>> command_in({"command": ["bash", "-lc", "cd src && ls"]}), command_in({"command": "create", "path": "a.py"})
    ('cd src && ls', None)
    """
    if not isinstance(arguments, Mapping):
        return None
    is_shell = tool.lower() in _SHELL_TOOLS
    keys = (*_COMMAND_KEYS, *_SHELL_KEYS) if is_shell else _COMMAND_KEYS
    found = next(((key, line) for key in keys if (line := _as_line(arguments.get(key), is_list_of_lines=key == "commands"))), None)
    if found is None or (not is_shell and found[1].strip() in _EDITOR_VERBS and any(key in arguments for key in _EDITED_KEYS)):
        return None
    return found[1]


def _as_line(value: Any, *, is_list_of_lines: bool) -> str | None:
    if isinstance(value, str):
        return value
    if not isinstance(value, (list, tuple)):
        return None
    words = [str(word) for word in value]
    if is_list_of_lines or len(words) == 1:
        return "\n".join(words)
    if len(words) == 3 and words[0].rpartition("/")[2] in _SHELLS and words[1].startswith("-") and words[1].endswith("c"):  # noqa: PLR2004 - `sh -c LINE`
        return words[2]
    return shlex.join(words)


def commands_of(line: str) -> tuple[tuple[str, ...], ...] | None:
    """Return the single commands of a line, each as its words, settings of variables left out; `None` where it cannot be read.

    >>> commands_of("cd src && A=1 pip install 'x y'; ls")
    (('cd', 'src'), ('pip', 'install', 'x y'), ('ls',))
    """
    try:
        lexer = shlex.shlex(line, posix=True, punctuation_chars="();<>|&\n")
        lexer.whitespace = " \t\r"
        lexer.whitespace_split = True
        lexer.commenters = ""
        words = list(lexer)
    except ValueError:
        return None
    found: list[tuple[str, ...]] = []
    current: list[str] = []
    for word in (*words, ";"):
        if word in _SPLITS or (word and set(word) <= set(";&|\n()")):
            if current:
                found.append(tuple(current))
            current = []
        elif current or not re.fullmatch(r"[A-Za-z_]\w*=.*", word, re.DOTALL):
            current.append(word)
    return tuple(found)


def only_reads(line: str, *, checks: Sequence[str] = (), runs_tests: bool = True) -> bool:
    """Say whether a command line changes nothing in a workspace, as far as its words say.

    Args:
        line: The command line.
        checks: Lines that are known to change nothing, such as that of the configured check.
        runs_tests: Whether runs of tests and linters count as looking.
    """
    if line.strip() in {one.strip() for one in checks}:
        return True
    bare = _NO_MATTER.sub(" ", line)
    if _DANGER.search(bare) or ">" in _unquoted(bare):
        return False
    commands = commands_of(bare)
    return bool(commands) and all(_reads(command, runs_tests=runs_tests) or shlex.join(command) in checks for command in commands or ())


def _unquoted(line: str) -> str:
    return re.sub(r"'[^']*'|\"(?:\\.|[^\"\\])*\"", "", line)


def _reads(command: tuple[str, ...], *, runs_tests: bool) -> bool:  # noqa: PLR0911 - one line for each kind of command
    name = command[0].rpartition("/")[2]
    rest = command[1:]
    flags = _WRITING_FLAGS.get(name, ())
    if any(word == flag or word.startswith(f"{flag}=") for word in rest for flag in flags):
        return False
    if name == "git":
        return _git_reads(rest)
    if name in {"env", "hostname"}:
        return not rest
    if name == "sed":
        return _sed_reads(rest)
    if name in {"awk", "gawk", "mawk"}:
        return not any(re.search(r"system\s*\(|[>|]|getline|^-i|^-f|inplace", word) for word in rest)
    if name in _READERS:
        return True
    if not runs_tests:
        return False
    if name in {"python", "python3"}:
        return rest[:1] == ("-m",) and len(rest) > 1 and rest[1] in _MODULES
    if name in {"uv", "poetry", "pipenv", "hatch", "npx", "pdm"} and rest[:1] == ("run",):
        return bool(rest[1:]) and _reads(rest[1:], runs_tests=runs_tests)
    return name in _CHECKERS or (len(rest) > 0 and (name, rest[0]) in _RUN_TESTS)


def _sed_reads(words: tuple[str, ...]) -> bool:
    """Say whether `sed` only prints: its script is read, and what is not understood may write."""
    rest = [word for word in words if word not in {"-n", "-E", "-r", "-e", "--quiet", "--silent", "--regexp-extended"}]
    return (
        bool(rest)
        and not any(word.startswith("-") for word in rest)
        and all(_SED.fullmatch(part.strip()) for part in rest[0].split(";") if part.strip())
    )


def _git_reads(words: tuple[str, ...]) -> bool:
    place = 0
    while place < len(words) and words[place].startswith("-"):
        if words[place] == "-C":
            place += 1
        elif words[place] not in {"--no-pager", "-P"}:
            # Settings given here may have git run something.
            return False
        place += 1
    if place >= len(words):
        return False
    name, rest = words[place], words[place + 1 :]
    if any(word.startswith("-O") for word in rest):
        # Opens what it finds in a program of the caller's choice.
        return False
    if name == "stash":
        return rest[:1] in {("list",), ("show",)}
    if name in {"branch", "tag", "remote"}:
        return rest in {(), ("-v",), ("-vv",), ("-a",), ("--list",), ("list",), ("--show-current",)}
    return name in _GIT_READERS

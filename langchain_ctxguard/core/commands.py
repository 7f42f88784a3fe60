"""What a line for a shell does, as far as its words say: whether it only reads, and which files it names. Nothing is run here."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from langchain_ctxguard.core.shell_words import only_reads

_GIT_LARGE = frozenset("checkout switch reset restore clean merge rebase stash pull cherry-pick revert am apply mv".split())  # noqa: SIM905
_GIT_WITH_VALUE = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace"})
_ALWAYS_LARGE = frozenset({"patch", "xargs", "rsync", "unzip", "tar"})
_FORMATTERS = frozenset("black isort gofmt rustfmt prettier autopep8 yapf clang-format".split())  # noqa: SIM905
_MANY = re.compile(r"[*?\[{]")


def reads_only(command: str) -> bool:
    """Say whether a line for a shell changes no file, as far as its words can say. What cannot be told may change one.

    >>> reads_only("cd src && grep -n total *.py | head"), reads_only("sed -i s/a/b/ x.py"), reads_only("echo x > y"), reads_only("python fix.py")
    (True, False, False, False)
    """
    # A run of tests may write files, and what it writes is to be seen.
    return only_reads(command, runs_tests=False)


def is_large_change(command: str) -> bool:
    """Say whether a line for a shell is of those that change many files at once: a checkout, a reset, a removal of folders, a formatter.

    >>> is_large_change("git checkout main"), is_large_change("rm -rf build"), is_large_change("touch a.py")
    (True, True, False)
    """
    return any(_is_large(words) for words, _ in commands_of(command) if words)


def _is_large(words: list[str]) -> bool:  # noqa: PLR0911 - one line for each kind of command
    name, rest = words[0].rsplit("/", 1)[-1], words[1:]
    flags = "".join(word[1:] for word in rest if re.fullmatch(r"-[A-Za-z]+", word))
    match name:
        case "git":
            return _git_command(rest) in _GIT_LARGE
        case "rm" | "cp":
            return bool({"r", "R", "a"} & set(flags)) or "--recursive" in rest or any(map(_MANY.search, rest))
        case "mv":
            return any(map(_MANY.search, rest)) or sum(not word.startswith("-") for word in rest) > 2  # noqa: PLR2004 - one file to one place
        case "find":
            return bool({"-delete", "-exec", "-execdir"} & set(rest))
        case "sed":
            return "i" in flags and any(map(_MANY.search, rest[1:]))
        case "ruff" | "eslint":
            return "format" in rest or "--fix" in rest
        case _:
            return name in _ALWAYS_LARGE or name in _FORMATTERS


def _git_command(words: list[str]) -> str:
    """Return which command of git it is, its own options passed over."""
    waits = False
    for word in words:
        if waits or word.startswith("-"):
            waits = not waits and word in _GIT_WITH_VALUE
            continue
        return word
    return ""


def words_of(command: str) -> Iterator[str]:
    """Yield what may be a file in a line for a shell: each word that is no option, without quotes, and what an option or a redirection names."""
    for word in _lexed(command):
        if _is_end(word):
            continue
        name, mark, value = word.partition("=")
        yield value if mark and (name.startswith("-") or name.isidentifier()) and value else word


def commands_of(command: str) -> Iterator[tuple[list[str], list[str]]]:
    """Yield each command of a line for a shell: its words, and the files its output is sent to."""
    for part in _parts(command):
        words: list[str] = []
        targets: list[str] = []
        is_target = False
        for word in part:
            if is_target:
                targets.append(word)
            elif word in (">", ">>", ">|", "&>", "&>>"):
                # A number before it was a descriptor.
                words = words[:-1] if words and words[-1] in ("1", "2") else words
            else:
                words.append(word)
            is_target = word in (">", ">>", ">|", "&>", "&>>") and not is_target
        yield words, targets


def is_path(word: str) -> bool:
    """Say whether a word looks like a file: it has a folder or an ending.

    >>> is_path("src/a.py"), is_path("a.py"), is_path("-n"), is_path("287:295"), is_path("3.5")
    (True, True, False, False, False)
    """
    return re.fullmatch(r"(?!-)[^\s:;|&<>*?]*(?:/[^\s:;|&<>*?]+|\.[A-Za-z]\w{0,9})", word) is not None


def _parts(command: str) -> Iterator[list[str]]:
    words: list[str] = []
    for word in _lexed(command):
        if _is_end(word):
            if words:
                yield words
            words = []
        else:
            words.append(word)
    if words:
        yield words


def _is_end(word: str) -> bool:
    """Say whether a word ends a command, or holds nothing."""
    return not word.strip(";&|()\n")


def _lexed(command: str) -> list[str]:
    lexer = shlex.shlex(command, posix=True, punctuation_chars=";&|()<>\n")
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:
        # An open quote: the words of it are told apart by spaces alone.
        return command.split()

"""The commands as docs/cli.md shows them: read from the functions themselves, as `--help` is."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from types import NoneType
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from typer.models import OptionInfo

from langchain_ctxguard.cli.about import EVERYWHERE, about_of
from langchain_ctxguard.cli.commands import COMMANDS

_EMPTY = inspect.Parameter.empty


class Parameter(NamedTuple):
    """An argument or option of a command."""

    names: tuple[str, ...]
    """`--out`, `-o`; of an argument its one name."""

    value: str
    """What is written in its place; empty for a flag."""

    help: str
    default: Any
    is_option: bool
    is_repeated: bool

    @property
    def is_required(self) -> bool:
        """Say whether the command fails without it."""
        return self.default is _EMPTY

    @property
    def usage(self) -> str:
        """Return how it stands in a command line."""
        text = " ".join(filter(None, (self.names[0], self.value))) if self.is_option else self.value
        dots = "..." if self.is_repeated and not text.rstrip("]").endswith("...") else ""
        return f"{text if self.is_required or text.startswith('[') else f'[{text}]'}{dots}"

    @property
    def row(self) -> str:
        """Return its row of the table."""
        names = ", ".join(f"`{name}`" for name in (self.names if self.is_option else (self.value,)))
        default = self.default.value if isinstance(self.default, Enum) else self.default
        is_told = default is False or default is None or default is _EMPTY or default == ""
        told = self.help if is_told else f"{self.help} Default: `{default}`."
        return "| {} | {} |".format(*(cell.replace("|", "\\|") for cell in (names, told)))


def exit_codes() -> str:
    """Return the table of exit codes that hold for every command."""
    return _table("exit code", (f"| {code} | {meaning} |" for code, meaning in EVERYWHERE.items()))


def command_reference(name: str) -> str:
    """Return usage, options, exit codes and example of a command as Markdown.

    Raises:
        KeyError: there is no such command.
    """
    function = COMMANDS[name]
    about, parameters = about_of(function), list(parameters_of(function))
    parts = [
        f"    {' '.join(['ctxguard', name, *(one.usage for one in parameters)])}",
        "\n\n".join(" ".join(part.split()) for part in (function.__doc__ or "").strip().split("\n\n")),
        _table("argument or option", (one.row for one in parameters)),
        _table("exit code", (f"| {code} | {meaning} |" for code, meaning in about.exits.items())),
        f"For example:\n\n    {about.example}",
    ]
    return "\n\n".join(parts)


def parameters_of(function: Callable[..., Any]) -> Iterator[Parameter]:
    """Yield what a command takes, in its order."""
    hints = get_type_hints(function, include_extras=True)
    for name, parameter in inspect.signature(function).parameters.items():
        kind, info = get_args(hints[name])[:2]
        is_option = isinstance(info, OptionInfo)
        is_flag = is_option and kind is bool
        # Where the default stands in the signature, typer takes the first name for one.
        declared = [one for one in (info.default, *(info.param_decls or ())) if isinstance(one, str) and one.startswith("-")]
        names = tuple(declared) or (f"--{name.replace('_', '-')}",)
        plain = next(one for one in (get_args(kind) or (kind,)) if one is not NoneType) if NoneType in get_args(kind) else kind
        value = "" if is_flag else str(info.metavar or (_placeholder(plain) if is_option else name.upper()))
        yield Parameter(names, value, re.sub(r"\s+", " ", info.help or ""), parameter.default, is_option, get_origin(plain) is list)


def _placeholder(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return "|".join(map(str, get_args(kind)))
    return {int: "N", Path: "FILE"}.get(kind, "TEXT")


def _table(first: str, rows: Iterator[str]) -> str:
    return "\n".join([f"| {first} | meaning |", "| --- | --- |", *rows])

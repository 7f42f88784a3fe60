"""What a command says of itself beside its options: an example, and what its exit codes mean. Help, the tests and docs/cli.md all read it here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

DONE, FOUND, CANNOT = 0, 1, 2
FAULT = 3
"""The package itself failed: nothing the caller did."""

INTERRUPTED = 130
READER_GONE = 141
"""Whoever read the output stopped reading: `ctxguard threads URL | head -1`."""

EVERYWHERE: Mapping[int, str] = MappingProxyType(
    {
        DONE: "done; nothing was found, nothing is denied",
        FOUND: "done, and there is a finding: something was lost, differs, is denied or was altered",
        CANNOT: "it cannot be done: an option, a file, a store or a thread is not as it must be; the message says which, and nothing was changed",
        FAULT: "a fault of this package; `CTXGUARD_TRACEBACK=1` shows where",
        INTERRUPTED: "interrupted with Ctrl-C",
        READER_GONE: "the reader of the output went away, as `head` does",
    }
)
"""What an exit code means, whatever the command."""


@dataclass(frozen=True, slots=True)
class About:
    """An example that runs, and what the exit codes of this command stand for."""

    example: str
    exits: Mapping[int, str] = field(default_factory=dict)

    @property
    def epilog(self) -> str:
        """What stands under the options in `--help`."""
        told = "; ".join(f"{code} {meaning}" for code, meaning in self.exits.items())
        return f"Example:\n\n{self.example}\n\nExit codes: {told}."


def described(example: str, *, done: str = "done", found: str | None = None, cannot: str | None) -> Callable[[Function], Function]:
    """Keep with a command what it says of itself.

    Args:
        example: A command line that works where its files are.
        done: What exit code 0 says.
        found: What exit code 1 says; `None`: it is never returned.
        cannot: What exit code 2 says; `None`: only an option can be wrong.
    """
    exits = {DONE: done, FOUND: found, CANNOT: cannot or "an option cannot be used"}
    about = About(example, {code: meaning for code, meaning in exits.items() if meaning is not None})

    def keep(function: Function) -> Function:
        function.__dict__["about"] = about
        return function

    return keep


def about_of(function: Callable[..., Any]) -> About:
    """Return what a command says of itself."""
    about = function.__dict__["about"]
    assert isinstance(about, About)  # noqa: S101 - `described` put it there
    return about

"""How every command runs: what goes wrong ends it with a sentence and an exit code, never with a traceback."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from langchain_ctxguard.cli.about import CANNOT, FAULT, INTERRUPTED, READER_GONE
from langchain_ctxguard.cli.printable import echo, printable

TRACEBACK = "CTXGUARD_TRACEBACK"
"""Set to 1, a fault of the package shows where it was. The traceback may hold words of a conversation, so it is not shown unasked."""


_NAMES = frozenset({"url", "store", "thread", "namespace", "tenant", "subject", "action", "field", "history", "search", "message", "reason"})
"""Arguments that are looked up or written in a store; names of files may be of any bytes."""


class Commands(TyperGroup):
    """All commands. Help that nobody reads to its end is no failure either."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Read what stands before the command: `--version` says which version this is, and does nothing else."""
        if args[:1] == ["--version"]:
            from importlib.metadata import version

            echo(f"langchain-ctxguard {version('langchain-ctxguard')}")
            raise typer.Exit
        return super().parse_args(ctx, args)

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Read the arguments; help is printed here."""
        with _quietly():
            return super().make_context(*args, **kwargs)

    def invoke(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command; its own help is printed here."""
        with _quietly():
            return super().invoke(*args, **kwargs)


def plainly(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command whose failures are sentences."""

    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        from langchain_ctxguard.errors import ConfigurationError, ContextGuardError

        for given, value in kwargs.items():
            if given in _NAMES and _is_broken(value):
                _say(name, f"The {given} given is no valid UTF-8, and no name in a store is like that. Nothing was read.")
                raise typer.Exit(CANNOT)
        try:
            with _quietly():
                done = function(*args, **kwargs)
                # A pipe nobody reads is noticed here, not when the interpreter ends.
                sys.stdout.flush()
                return done
        except KeyboardInterrupt:
            _say(name, "Interrupted.")
            raise typer.Exit(INTERRUPTED) from None
        except ContextGuardError as error:
            # A fault of a config file has a line for each.
            _say(name, str(error), keep="\n" if isinstance(error, ConfigurationError) else "")
            raise typer.Exit(CANNOT) from error
        except OSError as error:
            where = "" if error.filename is None else f"'{error.filename}': "
            _say(name, f"{where}{error.strerror or type(error).__name__}. Nothing more was done.")
            raise typer.Exit(CANNOT) from error
        except Exception as error:
            # Exits and errors of usage are the command line's own.
            if type(error).__module__.startswith(("typer", "click")):
                raise
            raise _fault(name, error) from error

    return run


def run_process(app: Callable[..., Any]) -> None:
    """Run the command line with the arguments of the process, and end the process."""
    prepare_streams()
    code: Any = 0
    try:
        app(prog_name="ctxguard")
    except SystemExit as done:
        code = done.code
    except KeyboardInterrupt:
        code = INTERRUPTED
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        code = READER_GONE
    if code == READER_GONE:
        _nobody_reads()
    sys.exit(code)


def prepare_streams() -> None:
    """Let a terminal that cannot show a character show its escape: names of threads may be in any script."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


@contextmanager
def _quietly() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        _nobody_reads()
        raise typer.Exit(READER_GONE) from None
    except SystemExit as error:
        # rich ends the process with 1 where a pipe is closed, and 1 is a finding.
        if isinstance(error.__context__, BrokenPipeError):
            raise typer.Exit(READER_GONE) from None
        raise


def _nobody_reads() -> None:
    # What is still in the buffer would fail once more when the interpreter ends.
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
    except (OSError, ValueError):
        return


def _fault(name: str, error: Exception) -> typer.Exit:
    """Say that the package failed, by the kind of error and its place: the words of an error may be those of a conversation."""
    if os.environ.get(TRACEBACK) == "1":
        traceback.print_exception(error)
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    _say(
        name,
        f"This is a fault of langchain-ctxguard: {type(error).__name__}{where}. Please report it; with {TRACEBACK}=1 it shows the whole traceback, "
        "which may hold words of the conversation.",
    )
    return typer.Exit(FAULT)


def _is_broken(value: Any) -> bool:
    """Say whether the shell handed over bytes that are no text."""
    return any(any("\ud800" <= character <= "\udfff" for character in text) for text in (value if isinstance(value, list) else [value]) if text)


def _say(name: str, message: str, *, keep: str = "") -> None:
    echo(printable(f"ctxguard {name}: {message}", keep=keep), err=True)

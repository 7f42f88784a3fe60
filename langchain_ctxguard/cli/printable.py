"""Text from files, made safe to print, and printed."""

from __future__ import annotations

import sys


def printable(text: str, *, keep: str = "") -> str:
    r"""Return `text` with escapes for what does not print, except the characters in `keep`.

    Names and ids come from the file: an escape sequence in one could rewrite what the terminal shows.

    >>> printable("a" + chr(27) + "[2Jb")
    'a\\x1b[2Jb'
    """
    return "".join(char if char.isprintable() or char in keep else char.encode("unicode_escape").decode("ascii") for char in text)


def echo(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Print text as it is, to standard output or standard error.

    Not `typer.echo`: that takes a terminal of ASCII for a mistake and sends it UTF-8.
    """
    stream = sys.stderr if err else sys.stdout
    stream.write(f"{text}\n" if nl else text)
    stream.flush()

"""Text from files, made safe to print."""

from __future__ import annotations


def printable(text: str, *, keep: str = "") -> str:
    r"""Return `text` with escapes for what does not print, except the characters in `keep`.

    Names and ids come from the file: an escape sequence in one could rewrite what the terminal shows.

    >>> printable("a" + chr(27) + "[2Jb")
    'a\\x1b[2Jb'
    """
    return "".join(char if char.isprintable() or char in keep else char.encode("unicode_escape").decode("ascii") for char in text)

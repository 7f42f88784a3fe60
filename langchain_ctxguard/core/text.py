"""What is done to a text before it is shown: cut to length, freed of what shows nothing."""

from __future__ import annotations

import re

# Joiners and variation selectors stay: emoji and several scripts are written with them.
_UNREADABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ud800-\udfff\ufeff\U000e0000-\U000e0fff]"
)

_IN_FORCE = re.compile(r"\[(?:now: |现为：)([^\[\]]*)\]")


def clipped(text: str, limit: int) -> str:
    """Return `text` in at most `limit` characters; what is cut leaves an ellipsis.

    >>> clipped("abcdef", 4)
    'abc…'
    """
    return text if len(text) <= limit else text[: max(limit - 1, 0)].rstrip() + "…"


def readable(text: str) -> str:
    r"""Return `text` on one line, without the characters that show nothing: controls, lone surrogates, directions, tags.

    >>> readable("a\x1b[1m\n b")
    'a[1m b'
    """
    return " ".join(_UNREADABLE.sub("", text).split())


def unmarked(text: str) -> str:
    """Return `text` with the values that are put in for superseded ones as if they had been said.

    >>> unmarked("The deadline is [now: July 15].")
    'The deadline is July 15.'
    """
    return _IN_FORCE.sub(r"\1", text)

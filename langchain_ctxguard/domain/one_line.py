"""Any text on one line, and back: what a log file and a hand-over hold must read back as it was."""

from __future__ import annotations

import json
import re

# What ends a line somewhere, shows nothing, or is trimmed by an editor.
_SPECIAL = re.compile(r"\\|[\x00-\x1f\x7f-\xa0\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]|^ | $|(?:^|(?<=\s))@|^\[")
_ESCAPE = re.compile(r"\\(?:u([0-9a-f]{4})|(.))")
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t", "\\": r"\\", "@": r"\@", "[": r"\["}
_LONG = {"n": "\n", "r": "\r", "t": "\t"}


def on_one_line(text: str) -> str:
    r"""Return `text` on one line, to be read back by `from_one_line`.

    An `@` that stands alone, and a bracket in front, are marked: behind ` @ ` a line names its places, and in front of it its number.

    >>> on_one_line("one\ntwo @ three")
    'one\\ntwo \\@ three'
    """
    return _SPECIAL.sub(lambda found: _SHORT.get(found[0]) or f"\\u{ord(found[0]):04x}", text)


def from_one_line(line: str) -> str:
    r"""Return the text that `on_one_line` wrote.

    >>> from_one_line("one\\ntwo \\@ three")
    'one\ntwo @ three'
    """
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else _LONG.get(found[2], found[2]), line)


def quoted(text: str) -> str:
    """Return `text` as a JSON text on one line."""
    return re.sub(r"[\x7f-\xa0\u2028\u2029]", lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))

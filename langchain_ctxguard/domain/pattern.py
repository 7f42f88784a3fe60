"""Patterns from a config file, compiled on RE2: linear time whatever the input."""

from __future__ import annotations

from typing import Any

_MAX_MEMORY = 16 << 20


def compiled(pattern: Any, *, is_whole: bool = False) -> Any:
    """Return a pattern compiled.

    Args:
        pattern: What the config file says.
        is_whole: It is held against a whole value: then it may have groups, and match the empty text.

    Raises:
        ValueError: RE2 cannot take it, or it would match everywhere; in one sentence, without the place it stands at.
    """
    import re2  # type: ignore[import-untyped]  # it ships no types

    if not isinstance(pattern, str) or not pattern:
        msg = f"a pattern is a non-empty text, not {pattern!r}."
        raise ValueError(msg)
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MAX_MEMORY
    try:
        found = re2.compile(pattern, options)
    except (re2.error, UnicodeEncodeError) as error:
        reason = error.args[0].decode(errors="replace") if error.args and isinstance(error.args[0], bytes) else str(error)
        msg = f"RE2 cannot take the pattern {pattern!r} ({reason}). It knows no lookaround and no back-references; repeats end at 1000."
        raise ValueError(msg) from error
    if is_whole:
        return found
    if found.groups:
        msg = f"{pattern!r} has capture groups; the whole match is the value. Write (?:...) instead."
        raise ValueError(msg)
    if found.match("") is not None:
        msg = f"{pattern!r} matches the empty text, so it would be found everywhere. Let it need at least one character."
        raise ValueError(msg)
    return found


def check_ignore_pattern(pattern: str) -> None:
    """Raise where a text is no line of a `.gitignore` that names something.

    Raises:
        ValueError: in one sentence.
    """
    import re2
    from pathspec import GitIgnoreSpec

    try:
        patterns = GitIgnoreSpec.from_lines([pattern], backend="re2").patterns
    except (ValueError, re2.error) as error:
        msg = f"{pattern!r} is no pattern in the syntax of .gitignore ({error})"
        raise ValueError(msg) from error
    if all(found.include is None for found in patterns):
        msg = f"{pattern!r} names no file; a pattern is a line such as `.git/` or `*.pem`"
        raise ValueError(msg)

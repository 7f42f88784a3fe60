"""From bytes to JSON values or plain text, remembering on which line each value stands."""

from __future__ import annotations

import codecs
import json
import re
from dataclasses import dataclass
from typing import Any

from langchain_ctxguard.backends.transcripts.transcript import Where
from langchain_ctxguard.errors import TranscriptError

MAX_DEPTH = 200
"""Deeper values would exhaust the stack of whoever serialises the messages later."""

_BLANK = re.compile(r"[ \t\n\r]*")
_LONG_NUMBER = re.compile(r"-?\d{4301,}")
_OTHER_ENCODINGS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}


_PLAIN_STARTS = ("## ", "<message ")
"""What formats that are no JSON begin with."""

_LITERALS = ("true", "false", "null", "NaN", "Infinity", "-Infinity", "-")


class PlainText(str):
    """The text of a file that is no JSON; a JSON document that is a string is none of these."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed file. For JSONL, `data` lists the values of all lines; text that cannot be JSON is a `PlainText`."""

    data: Any
    text: str
    lines: tuple[int, ...] | None = None
    """Line of each entry of `data` where the file is JSONL."""

    is_truncated: bool = False
    """The last line of a JSONL file is cut short and left out."""

    def line_of(self, where: Where) -> int:
        """Return the line, from 1, of the deepest part of `where` that exists."""
        if self.lines is not None:
            return self.lines[where[0]] if where and isinstance(where[0], int) and where[0] < len(self.lines) else 1
        at = _after_blanks(self.text, 0)
        for part in where:
            found = _member(self.text, at, part)
            if found is None:
                break
            at = found
        return _line(self.text, at)


def parse(raw: bytes, *, path: str) -> Document:
    """Return the JSON, JSONL or plain text document in `raw`.

    Raises:
        TranscriptError: not UTF-8, not JSON, empty, or nested too deeply.
    """
    text = _decode(raw, path)
    if not text.strip():
        raise _fault(path, 1, "the file is empty; there is no message to read")
    if text.lstrip().startswith(_PLAIN_STARTS):
        return Document(PlainText(text), text)
    try:
        document = Document(json.loads(text), text)
    except json.JSONDecodeError as error:
        document = _parse_lines(text, path) or _refuse(path, error)
    except (RecursionError, ValueError) as error:
        raise _unloadable(path, text, error) from None
    _check_depth(document, path)
    return document


def is_too_deep(data: Any, limit: int = MAX_DEPTH) -> bool:
    """Say whether `data` nests lists and objects deeper than `limit`."""
    level = [data] if isinstance(data, (dict, list)) else []
    for _ in range(limit):
        if not level:
            return False
        members = (member for value in level for member in (value.values() if isinstance(value, dict) else value))
        level = [member for member in members if isinstance(member, (dict, list))]
    return bool(level)


def _decode(raw: bytes, path: str) -> str:
    for mark, encoding in _OTHER_ENCODINGS.items():
        if raw.startswith(mark):
            raise _fault(path, None, f"the file is {encoding} text; save it as UTF-8")
    if (nul := raw.find(b"\0")) >= 0:
        raise _fault(path, raw.count(b"\n", 0, nul) + 1, f"the file is not text (a NUL byte at offset {nul}); a transcript is JSON or JSONL in UTF-8")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data" and b"\n" in raw:
            # Cut inside a character: whether that is the end of a cut line, its parser says.
            return raw.decode("utf-8-sig", "replace")
        line = raw.count(b"\n", 0, error.start) + 1
        reason = f"the file is not UTF-8 text (byte 0x{raw[error.start]:02x} at offset {error.start}); save it as UTF-8"
        raise _fault(path, line, reason) from None


def _parse_lines(text: str, path: str) -> Document | None:
    """Return the document if the first line is a JSON value of its own, `None` if this is no JSONL."""
    # Only "\n" ends a line: str.splitlines would also split at U+2028, which may stand inside a JSON string.
    numbered = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if len(numbered) == 1:
        return None
    values: list[Any] = []
    for number, line in numbered:
        try:
            value = json.loads(line)
        except json.JSONDecodeError as error:
            if not values:
                return None
            if number == numbered[-1][0] and _is_cut(line, error):
                return Document(values, text, tuple(number for number, _ in numbered[:-1]), is_truncated=True)
            reason = f"not valid JSON: {error.msg} (column {error.colno})"
            raise _fault(path, number, reason) from None
        except (RecursionError, ValueError) as error:
            raise _unloadable(path, line, error, first_line=number) from None
        if not values and not isinstance(value, (dict, list)):
            return None
        values.append(value)
    return Document(values, text, tuple(number for number, _ in numbered))


def _is_cut(line: str, error: json.JSONDecodeError) -> bool:
    """Say whether `line` is no JSON only because it ends too early."""
    rest = line[error.pos :].strip()
    if error.msg.startswith("Unterminated string"):
        return True
    if error.msg.startswith("Invalid \\"):
        # An escape whose end is missing: a backslash, a `u`, up to four digits.
        return re.fullmatch(r"\\?u?[0-9a-fA-F]{0,4}", rest) is not None
    if re.fullmatch(r"\.|[eE][+-]?", rest):
        return True
    return not rest or (error.msg == "Expecting value" and any(literal.startswith(rest) for literal in _LITERALS))


def _check_depth(document: Document, path: str) -> None:
    if not is_too_deep(document.data):
        return
    if document.lines is None:
        raise _fault(path, None, _TOO_DEEP)
    deep = next(line for line, value in zip(document.lines, document.data, strict=True) if is_too_deep(value, MAX_DEPTH - 1))
    raise _fault(path, deep, _TOO_DEEP)


_TOO_DEEP = f"lists and objects are nested more than {MAX_DEPTH} levels deep; no transcript is"


def _refuse(path: str, error: json.JSONDecodeError) -> Document:
    reason = f"not valid JSON: {error.msg} (column {error.colno})"
    raise _fault(path, error.lineno, reason) from None


def _unloadable(path: str, text: str, error: Exception, *, first_line: int = 1) -> TranscriptError:
    if isinstance(error, RecursionError):
        return _fault(path, first_line if first_line > 1 else None, _TOO_DEEP)
    number = _LONG_NUMBER.search(text)
    line = None if number is None else first_line - 1 + _line(text, number.start())
    reason = "a number cannot be read" if number is None else f"a number has {len(number[0].lstrip('-'))} digits; no transcript needs more than 4300"
    return _fault(path, line, reason)


def _fault(path: str, line: int | None, reason: str) -> TranscriptError:
    place = path if line is None else f"{path}:{line}"
    return TranscriptError(f"{place}: {reason}.", path=path, line=line)


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _after_blanks(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return at if match is None else match.end()


def _member(text: str, at: int, part: str | int) -> int | None:
    """Return the offset of the member `part` of the list or object that starts at `at`."""
    decode = json.JSONDecoder().raw_decode
    if text[at] not in "[{":
        return None
    is_object = text[at] == "{"
    at, index = _after_blanks(text, at + 1), 0
    while text[at] not in "]}":
        key: str | int = index
        if is_object:
            key, at = decode(text, at)
            at = _after_blanks(text, _after_blanks(text, at) + 1)
        if key == part:
            return at
        _, at = decode(text, at)
        at = _after_blanks(text, at)
        if text[at] == ",":
            at = _after_blanks(text, at + 1)
        index += 1
    return None

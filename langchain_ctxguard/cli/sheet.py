"""A review sheet: compactions written down for a person to mark, and the marks read back. Text in, text out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Literal, get_args

from langchain_ctxguard.cli.printable import printable
from langchain_ctxguard.core.text import clipped
from langchain_ctxguard.domain.control import FieldKind

SHEET_SCHEMA = 1

Became = Literal["kept", "changed", "lost"]
Mark = Literal["ok", "missed", "wrong"]

_MARKS: tuple[Mark, ...] = get_args(Mark)
_KINDS = ("amount", "date", "order_id", "id", "name", "path", "quantity", "choice_confirmed", "other")
"""Kinds a line is written for; a person may write others."""

_LENGTH = 160
_EXCERPT = 6_000
_MARK_LINE = "[ ] ok   [ ] missed   [ ] wrong"

_HEAD = re.compile(r"ctxguard-sheet schema=(\d+) samples=(\d+)")
_SAMPLE = re.compile(r"\s*#+\s*sample\s+(\d+)\s+of\s+(\d+)\s*$", re.IGNORECASE)
_LISTED = re.compile(r"\s*fields listed\s*[:：]\s*(\d+)", re.IGNORECASE)
_FIELD = re.compile(r"[\s*+-]*F(\d+)\.(\d+)\s+(kept|changed|lost)\s+(\w+)\s*[:：]", re.IGNORECASE)
_BOX = r"[\[［【]([^\]］】]*)[\]］】]\s*"
_MARKED = re.compile(rf"[\s*+-]*{_BOX}ok\s*{_BOX}missed\s*{_BOX}wrong\W*$", re.IGNORECASE)
_MISSED = re.compile(r"[\s*+-]*M(\d+)\s+([^:：]{1,60})[:：](.*)$", re.IGNORECASE)

_HOW = """\
How to fill it in: put an x into one pair of brackets below each field.

- ok: it still stands in *After*, with its value
- missed: the compaction lost or changed it
- wrong: the extractor is wrong, this is no such value

Values that stand in *Before* and are not listed go behind `M` and their kind at the end of each sample, several parted by `;`. \
Then run `ctxguard review` on this file.
"""


class SheetError(Exception):
    """A sheet that cannot be read, with the line where reading stopped."""

    def __init__(self, line: int, reason: str) -> None:
        """Keep the line beside the reason."""
        super().__init__(f"{line}: {reason}")
        self.line = line


@dataclass(frozen=True, slots=True)
class SheetField:
    """A field on a sheet, before it is marked."""

    kind: str
    text: str
    source: str
    became: Became
    now: str | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """One compaction on a sheet."""

    file: str
    place: str
    made_by: str
    before: Sequence[str]
    after: str
    fields: Sequence[SheetField]
    more_fields: int = 0


@dataclass(slots=True)
class Marked:
    """A field as a person marked it."""

    sample: int
    number: int
    kind: str
    became: Became
    mark: Mark | None = None


@dataclass(slots=True)
class Filled:
    """What a sheet says once a person filled it in."""

    samples: int = 0
    fields: list[Marked] = field(default_factory=list)
    unseen: list[tuple[int, str, str]] = field(default_factory=list)
    """Values the extractor did not find: sample, kind, value."""


def written(samples: Sequence[Sample], *, about: str) -> str:
    """Return the sheet for `samples`; `about` says how they were chosen."""
    parts = ["# Review of compactions\n", f"<!-- ctxguard-sheet schema={SHEET_SCHEMA} samples={len(samples)} -->\n", f"{about}\n", _HOW]
    for number, sample in enumerate(samples, 1):
        parts += _sample(number, len(samples), sample)
    return "\n".join(parts)


def _sample(number: int, count: int, sample: Sample) -> Iterator[str]:
    yield f"## Sample {number} of {count}\n"
    yield f"File: {_shown(sample.file)}\n\nConversation: {_shown(sample.place)}\n\nMade by: {sample.made_by}\n"
    more = f" ({sample.more_fields} more are not)" if sample.more_fields else ""
    yield f"Fields listed: {len(sample.fields)}{more}\n"
    yield "### Before\n"
    yield "".join(f"> {_shown(excerpt, 600)}\n>\n" for excerpt in sample.before) or "> (no sentence holds a field)\n"
    yield "### After\n"
    yield _quoted(clipped(sample.after, _EXCERPT) or "(no summary)")
    yield "### Fields\n"
    for place, item in enumerate(sample.fields, 1):
        now = f", now {_shown(item.now)}" if item.now else ""
        yield f"- F{number}.{place} {item.became} {item.kind}: {_shown(item.text)}{now} ({_shown(item.source)})\n  - {_MARK_LINE}"
    yield "\n### Values the extractor missed\n"
    yield "".join(f"- M{number} {kind}:\n" for kind in _KINDS)


def _quoted(text: str) -> str:
    return "".join(f"> {printable(line)}\n" for line in re.split(r"\r\n|\r|\n", text))


def _shown(text: str, length: int = _LENGTH) -> str:
    return clipped(printable(" ".join(text.split())), length)


def read_sheet(text: str) -> Filled:
    """Return what a person marked on a sheet. White space, case, kinds of brackets and line ends are an editor's business.

    Raises:
        SheetError: with the line, from 1, and what is wrong there.
    """
    return _Reading(re.split(r"\r\n|\r|\n", text)).filled()


class _Reading:
    """A sheet while it is read."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._filled = Filled()
        self._count = 0
        self._sample = 0
        self._listed: int | None = None
        self._found = 0
        self._open: tuple[int, Marked] | None = None

    def filled(self) -> Filled:
        at = self._head()
        for number, line in enumerate(self._lines[at:], at + 1):
            if not line.lstrip().startswith((">", "＞")) and line.strip():
                self._read(number, line)
        self._close(len(self._lines))
        if self._sample != self._count:
            raise SheetError(len(self._lines), f"the sheet ends after sample {self._sample} of {self._count}. Restore the rest.")
        self._filled.samples = self._count
        return self._filled

    def _head(self) -> int:
        for number, line in enumerate(self._lines, 1):
            if found := _HEAD.search(line):
                if int(found[1]) != SHEET_SCHEMA:
                    raise SheetError(number, f"the sheet has schema {found[1]}; this version reads {SHEET_SCHEMA}.")
                self._count = int(found[2])
                return number
        raise SheetError(1, "this is no review sheet: the line with `ctxguard-sheet` is missing. `ctxguard sample` writes one.")

    def _read(self, number: int, line: str) -> None:
        if self._open is not None:
            self._mark(number, line)
        elif found := _SAMPLE.match(line):
            self._begin(number, int(found[1]))
        elif found := _LISTED.match(line):
            self._listed = int(found[1])
        elif found := _FIELD.match(line):
            self._field(number, found)
        elif _MARKED.match(line):
            raise SheetError(number, "these marks belong to no field: the line with its `F` number is missing.")
        elif found := _MISSED.match(line):
            self._missed(number, found)

    def _begin(self, number: int, sample: int) -> None:
        self._close(number)
        if sample != self._sample + 1:
            raise SheetError(number, f"sample {sample} stands behind sample {self._sample}. Put the samples back in order, none left out.")
        self._sample, self._listed, self._found = sample, None, 0

    def _close(self, number: int) -> None:
        if self._open is not None:
            raise SheetError(self._open[0], f"field {_name(self._open[1])} has no line of marks below it. Write `{_MARK_LINE}`.")
        if self._sample and self._found != self._listed:
            raise SheetError(number, f"sample {self._sample} has {self._found} fields and should have {self._listed or 'a number of'}. Restore them.")

    def _field(self, number: int, found: re.Match[str]) -> None:
        became = found[3].lower()
        marked = Marked(int(found[1]), int(found[2]), found[4].lower(), "kept" if became == "kept" else "lost" if became == "lost" else "changed")
        if (marked.sample, marked.number) != (self._sample, self._found + 1):
            raise SheetError(number, f"field {_name(marked)} is not in its place: F{self._sample}.{self._found + 1} comes next.")
        self._found += 1
        self._open = (number, marked)

    def _mark(self, number: int, line: str) -> None:
        assert self._open is not None  # noqa: S101 - the caller looked
        at, marked = self._open
        found = _MARKED.match(line)
        if found is None:
            raise SheetError(at, f"field {_name(marked)} has no line of marks below it. Write `{_MARK_LINE}`.")
        chosen = [mark for mark, box in zip(_MARKS, found.groups(), strict=True) if box.strip(" \t\u3000_-.")]
        if len(chosen) > 1:
            raise SheetError(number, f"field {_name(marked)} is marked as {' and '.join(chosen)}. Leave one mark.")
        marked.mark = chosen[0] if chosen else None
        self._filled.fields.append(marked)
        self._open = None

    def _missed(self, number: int, found: re.Match[str]) -> None:
        values = [value.strip() for value in re.split(r"[;；]", found[3]) if value.strip()]
        if int(found[1]) != self._sample:
            raise SheetError(number, f"`M{found[1]}` stands in sample {self._sample}. Move it, or write `M{self._sample}`.")
        kind = re.sub(r"[\s-]+", "_", found[2].strip().lower())
        if values and kind != "other" and kind not in set(FieldKind):
            close = get_close_matches(kind, [known.value for known in FieldKind], n=1)
            hint = f"did you mean `{close[0]}`?" if close else "use `other`."
            raise SheetError(number, f"no kind of field is called {kind!r}; {hint}")
        self._filled.unseen += [(self._sample, kind, value) for value in values]


def _name(marked: Marked) -> str:
    return f"F{marked.sample}.{marked.number}"

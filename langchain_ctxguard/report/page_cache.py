"""The part about the prompt cache: what each call read from it, and why it broke where it did."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_ctxguard.report.document import Block, Fold, Line, Mark, Paragraph, Section, Table
from langchain_ctxguard.report.story import Moment, Report
from langchain_ctxguard.report.words import count

_TITLE = "Cache: where it broke, and why"
_ROWS = 2_000
_HEAD = ["", "Tokens", "Shared with the call before", "Read from cache", "First changed character", "Why it broke"]


def cache_section(report: Report) -> Section:
    """Return the part about the cache."""
    note: list[Block] = [Paragraph(report.cache_note)] if report.cache_note else []
    moments = [moment for moment in report.moments if moment.tokens is not None or moment.drift is not None or moment.offset is not None]
    if not moments:
        return Section("cache", _TITLE, note or [Paragraph("Nothing is on record about the cache.")])
    head = [report.unit.capitalize(), *_HEAD[1:]]
    breaks = [moment for moment in moments if moment.drift is not None]
    blocks: list[Block] = [*note]
    if breaks:
        blocks.append(Table("Where the cache broke", head, [_row(moment) for moment in breaks[-_ROWS:]], numeric=frozenset({0, 1, 2, 3, 4})))
    elif report.source == "thread":
        blocks.append(Paragraph("It never broke: every call began with all that the call before had sent."))
    every = moments[-_ROWS:]
    title = f"Every call: {count(len(every), report.unit)}" + (f", the newest of {len(moments):,}" if len(every) < len(moments) else "")
    anchors = [f"turn-{moment.number}" for moment in every]
    blocks.append(Fold(title, [Table("What each call shared and read", head, [_row(one) for one in every], frozenset({0, 1, 2, 3, 4}), anchors)]))
    return Section("cache", _TITLE, blocks)


def share_words(moments: Sequence[Moment]) -> str:
    """Return what was read from the cache over all calls, in a sentence; empty where no provider said."""
    told = [(moment.hit, moment.tokens) for moment in moments if moment.hit is not None and moment.share is not None]
    if not told:
        return ""
    shares = [moment.share for moment in moments if moment.share is not None]
    return f"On average {sum(shares) / len(shares):.0%} of a call was read from the cache."


def _row(moment: Moment) -> list[Line]:
    return [
        f"{moment.number:,}",
        "" if moment.tokens is None else f"{moment.tokens:,}",
        "" if moment.common is None else f"{moment.common:,}",
        "" if moment.share is None else f"{moment.share:.0%}",
        "" if moment.offset is None else f"{moment.offset:,}",
        [Mark(moment.why, "bad")] if moment.why else "",
    ]

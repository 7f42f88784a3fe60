"""The consents behind a stored thread: every word on record, which of them holds, and which compactions carried it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from langchain_ctxguard.domain.consent import Consent
from langchain_ctxguard.domain.context import ContextHead
from langchain_ctxguard.domain.context_version import Attempt
from langchain_ctxguard.domain.tool_call import CallRecord
from langchain_ctxguard.records.consents import ConsentReader
from langchain_ctxguard.report.story import Word


def subjects_in(heads: Iterable[ContextHead | str], attempts: Iterable[Attempt], calls: Iterable[CallRecord], reader: ConsentReader) -> list[str]:
    """Return whose consents a thread was run under, as far as its own records lead there.

    Raises:
        StoreError: the ledger cannot be read, or was altered.
    """
    found: dict[str, None] = {}
    for head in heads:
        copied = None if isinstance(head, str) or head.body is None else head.body.copied
        if copied is not None and copied.consents is not None:
            found[copied.consents.subject] = None
    cited = {one.reference for attempt in attempts for one in attempt.record.consents}
    cited |= {one.reference for call in calls if call.reading is not None for one in call.reading.consents}
    if not found:
        for reference in sorted(cited):
            consent = reader.find(reference)
            if consent is not None:
                found[consent.subject] = None
    return list(found)


def words_of(subjects: Sequence[str], thread: str, attempts: Sequence[Attempt], reader: ConsentReader, now: datetime) -> list[Word]:
    """Return every word that counts in a thread, oldest first.

    Raises:
        StoreError: the ledger cannot be read, or was altered.
    """
    crossed: dict[str, list[int]] = {}
    for number, attempt in enumerate(attempts, 1):
        for one in attempt.record.consents if attempt.version is not None else ():
            crossed.setdefault(one.reference, []).append(number)
    words: list[Word] = []
    for subject in subjects:
        holding = {(one.field, one.seq) for one in reader.read(subject, thread=thread, at=now).entries}
        words += [
            _word(one, tuple(crossed.get(one.ref, ())), is_in_force=(one.field, one.seq) in holding and one.is_in_force(now))
            for one in reader.history(subject)
            if one.thread in {None, thread}
        ]
    return words


def _word(one: Consent, crossed: tuple[int, ...], *, is_in_force: bool) -> Word:
    return Word(
        seq=one.seq,
        field=one.field,
        status=one.status,
        value=None if one.value is None else one.value.data.decode("utf-8", "replace"),
        subject=one.subject,
        thread=one.thread,
        basis=one.basis,
        recorded_by=one.recorded_by,
        surface=one.surface,
        at=one.at,
        expires_at=one.expires_at,
        is_in_force=is_in_force,
        crossed=crossed,
    )

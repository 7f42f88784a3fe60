"""The notes a model makes part by part: merged by code, so that nothing is lost because an answer left it out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from langchain_ctxguard.backends.answer import Reading, texts_of
from langchain_ctxguard.backends.notes_schema import SOURCE_FIELDS, main_field, told
from langchain_ctxguard.core.lexicon import language_of
from langchain_ctxguard.core.provenance import folded
from langchain_ctxguard.domain.summary import SummaryDraft
from langchain_ctxguard.domain.value import Value, canonical_json

_SCRIPTS = ("zh", "ja", "ko")
_LATIN = ("en", "de", "fr", "es", "it", "pt", "nl", "sv", "da", "no", "fi", "pl", "cs", "tr", "vi", "id")
_LETTERS = 12
"""An entry with fewer letters than this says nothing about its language."""

_WORDS = 3
# Names, paths, identifiers and figures are written the same in every language.
_NO_PROSE = re.compile(r"https?://\S+|\S*[\d_/\\.@#=<>{}()\[\]`]\S*|\b[A-Z]{2,}\b|\b\w*[a-z][A-Z]\w*\b")


def merged(notes: SummaryDraft, reading: Reading) -> SummaryDraft:
    """Return the notes so far with what an answer adds, without what it says is settled.

    An entry told again keeps its place; the later wording of its details counts unless it names no source and the earlier one does.
    """
    told_now, settled = reading.draft, {folded(text) for text in reading.settled}
    update: dict[str, Any] = {}
    for name in told(SummaryDraft):
        before, now = getattr(notes, name), getattr(told_now, name)
        if not isinstance(before, tuple):
            update[name] = now or before
            continue
        entries = {key: item for item in before if (key := _key(item)) not in settled}
        for item in now:
            key = _key(item)
            entries[key] = entries[key] if key in entries and _has_source(entries[key]) and not _has_source(item) else item
        update[name] = tuple(entries.values())
    return notes.model_copy(update={**update, "dropped_keys": notes.dropped_keys + told_now.dropped_keys})


def as_json(notes: SummaryDraft, numbers: Callable[[str], int | str]) -> str:
    """Return the notes in the form they are asked for, messages by number where they have one."""
    return canonical_json(_plain(notes, numbers))


def shortened(notes: SummaryDraft, fits: Callable[[SummaryDraft], bool]) -> SummaryDraft:
    """Return the notes with as many of the newest entries as a model can be shown beside the transcript; the others are kept all the same."""
    shown = notes
    while not fits(shown):
        lists = {name: held for name in told(SummaryDraft) if isinstance(held := getattr(shown, name), tuple) and held}
        if not lists:
            return SummaryDraft()
        longest = max(lists, key=lambda name: len(lists[name]))
        shown = shown.model_copy(update={longest: lists[longest][(len(lists[longest]) + 3) // 4 :]})
    return shown


def wrong_language(draft: SummaryDraft, language: str | None, seen: str) -> bool:
    """Say whether most of what a draft says in its own words is in another language than the conversation.

    What stands in the messages letter by letter is a quote, in whatever language it was said. Only what the script shows can be told: enough to keep
    Chinese, Japanese, Korean and Latin-script languages apart.
    """
    if language is None or (language.split("-")[0] not in (*_SCRIPTS, *_LATIN)):
        return False
    wanted = language.split("-")[0] if language.split("-")[0] in _SCRIPTS else "en"
    own = [text for text in texts_of(draft) if text not in seen]
    prose = [plain for text in own if _is_prose(plain := _NO_PROSE.sub(" ", text))]
    if not prose:
        return False
    foreign = sum(len(plain) for plain in prose if _foreign(plain, wanted))
    return 2 * foreign > sum(map(len, prose)) or (wanted in _SCRIPTS and language_of(" ".join(prose)) in {*_SCRIPTS} - {wanted})


def _is_prose(text: str) -> bool:
    if language_of(text) in _SCRIPTS:
        return True
    return len(text.split()) >= _WORDS and sum(letter.isalpha() for letter in text) >= _LETTERS


def _foreign(text: str, wanted: str) -> bool:
    found = language_of(text)
    # One sentence of Japanese may hold no kana: the scripts are told apart on the whole.
    return found not in _SCRIPTS if wanted in _SCRIPTS else found in _SCRIPTS


def _key(item: Any) -> str:
    return folded(str(getattr(item, main_field(type(item)))) if isinstance(item, Value) else str(item))


def _has_source(item: Any) -> bool:
    return isinstance(item, Value) and any(getattr(item, name, None) for name in SOURCE_FIELDS)


def _plain(value: Value, numbers: Callable[[str], int | str]) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for name in told(type(value)):
        held = getattr(value, name)
        if held is None or (name == "quote" and held == getattr(value, main_field(type(value)), None)):
            continue
        if isinstance(held, tuple):
            plain[name] = [_plain(item, numbers) if isinstance(item, Value) else numbers(item) if name in SOURCE_FIELDS else item for item in held]
        elif isinstance(held, Value):
            plain[name] = _plain(held, numbers)
        else:
            plain[name] = numbers(held) if name in SOURCE_FIELDS else held
    return plain


def source_finder(sources: Sequence[str], further: Iterable[str]) -> Callable[[Any], str | None]:
    """Return what resolves the number of a message, or an identity the notes already named, to an identity."""
    known = {*sources, *further}

    def find(named: Any) -> str | None:
        if isinstance(named, list) and named:
            named = named[0]
        if isinstance(named, str) and named in known:
            return named
        number = str(named).strip()
        if isinstance(named, bool) or not (number.isascii() and number.isdigit()) or len(number) > 9:  # noqa: PLR2004 - no list is that long
            return None
        return sources[int(number) - 1] if 0 < int(number) <= len(sources) else None

    return find


def sources_in(value: Value) -> Iterable[str]:
    """Yield the identities of messages that a value names."""
    for name in type(value).model_fields:
        held = getattr(value, name)
        for item in held if isinstance(held, tuple) else (held,):
            if isinstance(item, Value):
                yield from sources_in(item)
            elif name in SOURCE_FIELDS and isinstance(item, str):
                yield item

"""Messages -> the rules people said in them, and which of those still stand. Evidence, not law: nothing here reaches a system message."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.results import own_words
from langchain_ctxguard.core.roles import is_foreign_summary, is_request
from langchain_ctxguard.core.said import (
    SCREENED_EN,
    SCREENED_ZH,
    asks,
    is_permission,
    is_reported,
    is_temporary,
    may_lay_down,
    plain,
    rule_in,
)
from langchain_ctxguard.core.screen import Screen
from langchain_ctxguard.core.similar import said_last
from langchain_ctxguard.core.subject import subject_of, superseding
from langchain_ctxguard.core.voice import COVER, LONGEST, Span, matches_from, own_voice, spoken_sentences
from langchain_ctxguard.domain.inferred import InferredConstraint, InferredKind, SimilarRules
from langchain_ctxguard.domain.value import digest_of

__all__ = ["LIMIT", "after_task", "infer", "merged", "superseding"]

LIMIT = 200
"""Rules kept for a thread, newest first: more is a manual, not a conversation."""

_OURS = re.compile(r"\s*<context_(?:note|summary|evidence|pinned|rules)\b")

_ZH_DIGITS = {character: value for value, character in enumerate("一二三四五六七八九十", start=1)}
_NUMBER = r"(?:\d{1,3}|[一二三四五六七八九十])"
_LINE_ITEM = re.compile(
    rf"^[ \t]*(?:[-*•][ \t]+)?(?:(?:rule|agreement)\s+)?(?:(?P<plain>\d{{1,3}})[.)、）:：](?!\d)|[（(](?P<round>{_NUMBER})[)）]|(?P<circle>[①-⑳])|"
    rf"(?P<han>[一二三四五六七八九十])、|第(?P<nth>{_NUMBER})[条点][:：,，、 ])[ \t]*(?=\S)",
    re.MULTILINE | re.IGNORECASE,
)
_INLINE_START = re.compile(r"[\d（(①-⑳]")
_INLINE_ITEM = re.compile(r"(?<=[\s:：;；,，。])(?:(?P<plain>\d{1,2})[.)、）](?!\d)|[（(](?P<round>\d{1,2})[)）]|(?P<circle>[①-⑳]))\s*(?=\S)")
_AMENDMENT = re.compile(
    r"^(?:please |ok,? |now,? )?(?:(?:change|update|amend|replace)\s+)?(?:rule|agreement|item|point)\s+(?:no\.? ?|number |"
    r"#)?(?P<plain>\d{1,3})\s*(?:is now|becomes|to\b|with\b|now reads)"
    rf"|^(?:请)?(?:把)?(?:第\s*(?P<nth>{_NUMBER})\s*[条点项](?:约定|规则|要求)?|(?:规则|约定|条款)\s*(?P<han>{_NUMBER}))\s*(?:改成|改为|变成|"
    rf"现在是|换成)",
    re.IGNORECASE,
)
_AGREED = re.compile(
    r"\b(?:rules?|agree|agreed|agreements?|ground rules|conventions?|guidelines?|constraints?|requirements?|principles?|policies|remember|obey|"
    r"follow (?:these|the following)|terms|from now on)\b|约定|规则|规矩|要求|原则|规范|守则|协议|约束|注意|遵守|记住|务必|说好|条款",
    re.IGNORECASE,
)
_NOT_AGREED = re.compile(
    r"\b(?:steps?|reproduc\w+|examples?|errors?|log|tests? (?:cases?|plan)|which|options?|violat\w+|broke\w*)\b|步骤|复现|例如|示例|选项|哪",
    re.IGNORECASE,
)
_LEAD_LENGTH = 160
_FOLDS = str.maketrans("İıſ", "iis")
"""Letters that match others where case is ignored, and that are no capitals of them."""

_TOLD = Screen((*SCREENED_EN, _AMENDMENT.pattern), beyond=SCREENED_ZH)
_ANNOUNCED = Screen((_AGREED.pattern,))


def infer(messages: Sequence[BaseMessage], keys: Sequence[str], *, start: int = 0) -> tuple[InferredConstraint, ...]:
    """Return the rules people said in `messages`, in the order they were said.

    Args:
        messages: A conversation, or a part of one.
        keys: Their keys.
        start: Position of the first message in the original list.
    """
    found: list[InferredConstraint] = []
    for offset, (message, key) in enumerate(zip(messages, keys, strict=True)):
        if is_request(message) and not is_foreign_summary(message):
            words = own_words(message)
            if not _OURS.match(words):
                found += _in_message(words, key, start + offset)
    return tuple(found)


class _Found(NamedTuple):
    span: Span
    kind: InferredKind
    is_temporary: bool
    number: int | None = None


def _in_message(text: str, key: str, position: int) -> Iterator[InferredConstraint]:
    voice = own_voice(text)
    if not _may_hold(voice) or not (may_lay_down(text) or _AGREED.search(text)):
        return
    for found in _found_in(voice):
        start, stop = found.span
        words = text[start:stop]
        yield InferredConstraint(
            inferred_id=f"said-{digest_of(f'{key}|{start}|{stop}|{words}')[:12]}",
            text=words,
            kind=found.kind,
            source=key,
            start=start,
            stop=stop,
            position=position,
            subject=subject_of(words, found.kind).key_words[:16],
            number=found.number,
            expires_with_task=found.is_temporary,
        )


def _may_hold(voice: str) -> bool:
    """Say whether there may be a rule in a text: a cheap look that spares most messages a close reading. It misses none."""
    words = _folded(voice.replace(COVER, "x"))
    if _TOLD.may_hit(words) or _is_unbroken(voice):
        return True
    return _ANNOUNCED.may_hit(words) and any(item.is_agreed for item in _items(voice))


def _folded(text: str) -> str:
    words = plain(text)
    return words if words.isascii() else words.translate(_FOLDS)


def _is_unbroken(voice: str) -> bool:
    """Say whether a sentence may be cut inside of a word: then what is found in the text may not be what is found in the sentence."""
    reach = LONGEST // 2 - 1
    at = 0
    while len(voice) - at > reach:
        at = voice.rfind(" ", at, at + reach) + 1
        if not at:
            return len(voice) > LONGEST
    return False


def _found_in(voice: str) -> list[_Found]:
    items = _items(voice)
    agreed = [_agreement(voice, item) for item in items if item.is_agreed]
    found = [item for item in agreed if item is not None]
    taken = [item.span for item in items if item.is_agreed or item.is_void]
    numbers = {item.content: item.number for item in items}
    at = 0
    is_told = False
    for span in spoken_sentences(voice):
        was_told, is_told = is_told, False
        goes_on = voice[span.stop - 1] in ";；"
        if was_told:
            # What goes on behind a semicolon is told by whoever told what stands before it.
            is_told = goes_on
            continue
        while at < len(taken) and taken[at].stop <= span.start:
            at += 1
        is_taken = at < len(taken) and taken[at].start < span.stop
        rule = None if is_taken else _rule(voice, span)
        # Who lays down a rule tells nothing of somebody else's.
        is_told = goes_on and rule is None and is_reported(voice[span.start : span.stop])
        if rule is not None:
            found.append(rule if rule.number is not None else rule._replace(number=numbers.get(span.start)))
    return sorted(found)


def _rule(voice: str, span: Span) -> _Found | None:
    sentence = voice[span.start : span.stop]
    if not _TOLD.may_hit(_folded(sentence)):
        return None
    amended = _AMENDMENT.match(sentence)
    if amended is not None and not asks(sentence) and not is_permission(sentence):
        return _Found(span, "agreement", is_temporary(sentence), _number(amended))
    mark = _LINE_ITEM.match(sentence)
    behind = mark.end() if mark is not None else 0
    said = rule_in(sentence[behind:])
    if said is None:
        return None
    # The number of an item stays with its words.
    at = 0 if said.start == 0 else behind + said.start
    words = sentence[at : behind + said.stop]
    start = span.start + at + len(words) - len(words.lstrip())
    return _Found(Span(start, start + len(words.strip())), said.kind, said.is_temporary, None if mark is None else _number(mark))


class _Item(NamedTuple):
    span: Span
    content: int
    """Where its words begin, behind the number."""

    number: int
    is_agreed: bool
    is_void: bool
    """Belongs to a list of steps, options or examples: nothing in it is a rule."""


def _number(found: re.Match[str]) -> int:
    digits = next(filter(None, found.groups()))
    if digits in _ZH_DIGITS:
        return _ZH_DIGITS[digits]
    return ord(digits) - ord("①") + 1 if digits[0] in "①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳" else int(digits)


def _items(voice: str) -> list[_Item]:
    """Return the items of the numbered lists of a text."""
    items: list[_Item] = []
    for run in _runs([*_line_marks(voice)]):
        items += _list_items(voice, run, is_inline=False)
    covered = sorted(item.span for item in items)
    at = 0
    free = []
    for mark in matches_from(_INLINE_START, _INLINE_ITEM, voice):
        while at < len(covered) and covered[at].stop <= mark.start():
            at += 1
        if at == len(covered) or not covered[at].start <= mark.start():
            free.append(mark)
    for run in _runs(free):
        items += _list_items(voice, run, is_inline=True)
    return sorted(items)


def _line_marks(voice: str) -> Iterator[re.Match[str]]:
    """Yield the numbers that lines begin with."""
    line = 0
    while True:
        mark = _LINE_ITEM.match(voice, line)
        if mark is not None:
            yield mark
        line = voice.find("\n", line if mark is None else mark.end()) + 1
        if not line:
            return


def _runs(marks: list[re.Match[str]]) -> Iterator[list[re.Match[str]]]:
    """Yield lists: at least two marks that count on by one."""
    run: list[re.Match[str]] = []
    for mark in marks:
        if run and _number(mark) != _number(run[-1]) + 1:
            if len(run) > 1:
                yield run
            run = []
        run.append(mark)
    if len(run) > 1:
        yield run


def _list_items(voice: str, run: list[re.Match[str]], *, is_inline: bool) -> Iterator[_Item]:
    lead = _lead(voice, run[0].start())
    is_void = _NOT_AGREED.search(lead) is not None
    is_agreed = not is_void and _AGREED.search(lead) is not None and not asks(lead)
    stops = [mark.start() for mark in run[1:]] + [len(voice)]
    for mark, limit in zip(run, stops, strict=True):
        line_end = voice.find("\n", mark.end(), limit)
        stop = limit if line_end < 0 else line_end
        if is_inline and limit == len(voice):
            # The last item of a list in running text ends with its sentence.
            stop = next((span.stop for span in spoken_sentences(voice[mark.end() : min(stop, mark.end() + LONGEST)])), 0) + mark.end()
        yield _Item(_bare(voice, mark.start(), min(stop, mark.end() + LONGEST)), mark.end(), _number(mark), is_agreed, is_void)


def _lead(voice: str, at: int) -> str:
    """Return the line that announces a list: what stands before it on its own line, else the last line above."""
    before = voice[max(0, at - _LEAD_LENGTH * 2) : at].rstrip()
    return before[before.rfind("\n") + 1 :][-_LEAD_LENGTH:]


def _bare(text: str, start: int, stop: int) -> Span:
    words = text[start:stop]
    start += len(words) - len(words.lstrip(" \t-*•"))
    return Span(start, start + len(words.strip(" \t\n\r-*•")))


def _agreement(voice: str, item: _Item) -> _Found | None:
    words = voice[item.content : item.span.stop]
    if not any(map(str.isalnum, words)) or asks(words) or is_permission(words):
        return None
    return _Found(item.span, "agreement", is_temporary(words), item.number)


def merged(
    previous: Sequence[InferredConstraint],
    new: Sequence[InferredConstraint],
    *,
    kept: Sequence[InferredConstraint] = (),
    limit: int = LIMIT,
    similar: SimilarRules = "keep",
) -> tuple[InferredConstraint, ...]:
    """Return the rules to carry on after a compaction, at most `limit`, the newest.

    Args:
        previous: What the last version carried; a person's word on them stands.
        new: What was inferred from the messages that leave the context.
        kept: What was inferred from those that stay: it ends older rules, but is not carried, for the model still reads it.
        limit: How many at most.
        similar: What becomes of a rule that is said again about another thing.
    """
    known = {rule.inferred_id: rule for rule in (*kept, *new)} | {rule.inferred_id: rule for rule in previous}
    stays = {rule.inferred_id for rule in kept}
    stands = superseding if similar == "keep" else said_last
    standing = tuple(rule for rule in stands(known.values()) if rule.inferred_id not in stays)
    return standing[max(0, len(standing) - limit) :]


def after_task(rules: Sequence[InferredConstraint]) -> tuple[InferredConstraint, ...]:
    """Return `rules` without those said for one task only: call it when a task is done."""
    return tuple(rule for rule in rules if not rule.expires_with_task or rule.status == "confirmed")

"""What the words around a value say it is the value of, and whether two values are said of different things. English and Chinese.

A label is the head of it ("deadline", 预算) and a word or two; here is the rest of the clause: for whom, of what, which of several.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice, pairwise
from typing import NamedTuple

from langchain_ctxguard.core.field_matter_words import (
    ARTICLES,
    BEFORE_NAMES,
    BEING,
    CHANGING,
    EITHER,
    FILLERS,
    HAN_DULL,
    HAN_TAIL,
    KIND_HAN,
    KINDS,
    NO_NAMES,
    OF_WHOM,
    PERIODIC,
    PERSONS,
    POSSESSIVE,
    PREPOSITIONS,
    PRONOUNS,
    UNITS,
    VERBS,
    WHERE,
)
from langchain_ctxguard.core.field_text import folded

_REACH = 160
"""Characters on either side of a value that are read for what it is said of."""

_HAN = re.compile("[\u3400-\u9fff]")
_SENTENCE = re.compile(r"[。！？!?\r\n；;]|\.(?=\s|$)")
_CLAUSE = re.compile(
    r"[,，、：;；()（）]|:(?=\s|$)|\s[-–—]+\s|—|\b(?:so|because|since|but|and|if|when|while|although|though|until|after|before)\b", re.IGNORECASE
)
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:['’-][A-Za-z]+)*|#?[0-9][\w.]*|[^\w\s]")
_VALUE = re.compile(r"[A-Za-z0-9_+-]*(?:[@/\\.:]+[A-Za-z0-9_?=&%#~+-]+)+|[$€£¥][0-9.,]+")
"""Another value beside the one that is looked at: an address, a path, an amount."""

_ENDING = re.compile(r"(?:ies|ment|es|ed|ing|er|y|s|e)$")


_Told = tuple[tuple[str, frozenset[str]], ...]


class Matter(NamedTuple):
    """What a value is said of, by the words of its clause."""

    names: frozenset[str]
    """What its clause names: stems of words, or runs of Chinese characters. Empty where it names nothing: "make that $450"."""

    beside: frozenset[str]
    """The same of the whole sentence."""

    modifiers: _Told = ()
    """Each word with what stands right before it: `report` with `weekl`, and with a letter or number behind it: `stor #` with `a`."""

    phrases: _Told = ()
    """What stands behind `for` and `of`, and before the value behind `at`, `in`, `on` and `with`."""

    subject: frozenset[str] = frozenset()
    """What its clause begins with."""

    owners: frozenset[str] = frozenset()
    """Whose it is: `ana` of "Ana's rent"."""

    is_han: bool = False

    value: frozenset[str] = frozenset()
    """The words of the value itself: "the Tuesday lesson" is the one that is on Tuesday."""

    def before(self, heads: Collection[str]) -> frozenset[str]:
        """Return what stands right before one of `heads`."""
        stems = {_stem(head.split()[-1]) for head in heads}
        return frozenset(more.split()[0] for word, found in self.modifiers if word in stems for more in found if more not in stems)


NOTHING = Matter(frozenset(), frozenset())


def matter_at(text: str, start: int, stop: int, kind: str = "") -> Matter:
    """Return what the value between `start` and `stop` is said of.

    >>> sorted(matter_at("The weekly report goes out on Friday.", 30, 36).names), matter_at("Make that $450.", 10, 14).names
    (['report', 'weekl'], frozenset())
    >>> sorted(matter_at("南店的货改到周三送", 6, 8).names)
    ['南店']
    """
    low, high = max(0, start - _REACH), stop + _REACH
    text, start, stop = folded(text[low:high]), start - low, stop - low
    low, high = 0, len(text)
    left, right, before = low, high, low
    for mark in _SENTENCE.finditer(text, low, start):
        before, left = left, mark.end()
    if end := _SENTENCE.search(text, stop, high):
        right = end.start()
    bounds = before, left, start, stop, right
    matter = (_han_matter if _HAN.search(text, left, right) else _plain_matter)(text, bounds, kind)
    return matter._replace(value=frozenset({text[start:stop], *map(_stem, _words(text[start:stop]))}))


def is_of_another(new: Matter, held: Matter, *, is_change: bool, apart: Collection[str] = ()) -> bool:
    """Say whether two values of one label are said of two things: another of the same sort, of somebody else, in another place.

    Args:
        new: What the later value is said of.
        held: What the earlier one is.
        is_change: Whether the later one is said to be new: then who says it tells no two things apart.
        apart: Words that name the value itself in one way or another.

    >>> one, other = "For the north store the deadline is May 3.", "For the south store the deadline is now May 9."
    >>> is_of_another(matter_at(other, 40, 45), matter_at(one, 36, 41), is_change=True)
    True
    """
    if not new.names or not held.names:
        return False
    if new.is_han or held.is_han:
        return _differ_in_han(new, held)
    if new.owners and not new.owners - held.value <= held.beside:
        return True
    if _are_told_apart(new.modifiers, held.modifiers, new.value | held.value) or _are_told_apart(new.phrases, held.phrases, frozenset()):
        return True
    if is_change or not new.subject or not held.subject or new.subject & held.subject:
        return False
    stems = set(map(_stem, apart))
    mine, theirs = new.subject - stems, held.subject - stems
    return bool(mine and theirs) and not (mine & held.beside or theirs & new.beside)


def names_nothing_else(new: Matter, held: Iterable[Matter], *, is_wide: bool = False) -> bool:
    """Say whether all that the words around a value name is named where the earlier value was said: in its clause, or in its sentence (`is_wide`)."""
    known = {name for matter in held for name in (*(matter.beside if is_wide else matter.names), *matter.value)}
    return all(_is_covered(name, known) for name in new.names)


def named_with(phrase: str, heads: Collection[str]) -> frozenset[str]:
    """Return what a phrase says of the thing one of `heads` names in it: what stands before it, and behind its `for` or `of`.

    >>> sorted(named_with("they say the flight budget", ["budget"])), sorted(named_with("the deadline for the talk", ["deadline"]))
    (['flight'], ['talk'])
    >>> sorted(named_with("机票预算", ["预算"]))
    ['机票']
    """
    if _HAN.search(phrase):
        for head in sorted(heads, key=len, reverse=True):
            phrase = phrase.replace(head, " ")
        return _han_names(phrase, kind="")
    words = _words(phrase)
    lasts = {head.split()[-1] for head in heads if head}
    at = next((place for place in range(len(words) - 1, -1, -1) if words[place] in lasts), -1)
    found: set[str] = set()
    for word in reversed(words[: max(at, 0)]):
        if not _is_name(word):
            break
        found.add(_stem(word))
    return frozenset(found.difference(map(_stem, heads))).union(*(more for _, more in _phrases((), words[at + 1 :], frozenset())))


def is_named(names: Iterable[str], held: Matter) -> bool:
    """Say whether what is named is named where a value was said."""
    return all(_is_covered(name, {*held.beside, *held.value}) for name in names)


def stems_of(words: Iterable[str]) -> frozenset[str]:
    """Return the stems of the words that name something, as `Matter` holds them; Chinese ones as they are."""
    return frozenset(_stem(word) for word in words if _HAN.search(word) or _is_name(word))


def says_kind(label: str, kind: str) -> bool:
    """Say whether a label names no more than the kind of its value: an address of mail is an "email", whoever's it is."""
    return KIND_HAN.fullmatch(label) is not None or (bool(label) and KINDS.get(kind, frozenset()).issuperset(label.split()))


def _is_covered(name: str, known: set[str]) -> bool:
    if name in known:
        return True
    if not _HAN.search(name):
        return False
    for other in known:
        if name in other:
            return True
        if len(other) > 1 and other in name and not (set(name.replace(other, "", 1)) - HAN_TAIL):
            return True
    return False


def _are_told_apart(new: _Told, held: _Told, values: frozenset[str]) -> bool:
    """Say whether the same word stands with one thing here and with another there."""
    if not new or not held or new == held:
        return False
    mine = dict(new)
    for word, found in held:
        if word in mine and mine[word] != found:
            one, other = mine[word] - values, found - values
            if one and other and not (one <= other or one >= other):
                return True
    return False


def _differ_in_han(new: Matter, held: Matter) -> bool:
    """Say whether one names another thing of the same sort than the other: 北店 and 南店, 周报 and 月报."""
    mine = [name for name in new.names if not _is_covered(name, {*held.beside, *held.value})]
    theirs = [name for name in held.names if not _is_covered(name, {*new.beside, *new.value})]
    return any(one[-1] == other[-1] for one in mine for other in theirs)


def _han_matter(text: str, bounds: tuple[int, int, int, int, int], kind: str) -> Matter:
    _, left, start, stop, right = bounds
    low, high = left, right
    for mark in re.finditer("[,，、：:()（）]", text[left:start]):
        low = left + mark.end()
    if end := re.search("[,，、：:()（）]", text[stop:right]):
        high = stop + end.start()
    names = _han_names(text[low:start], text[stop:high], kind=kind)
    if not names and low > left:
        # What is left out in a Chinese clause is what the clause before is about.
        names = _han_names(text[left:low], kind=kind, most=1)
    return Matter(names, frozenset((*names, *_han_names(text[left:start], text[stop:right], kind=kind))), is_han=True)


def _han_names(*parts: str, kind: str, most: int | None = None) -> frozenset[str]:
    chunks = (chunk.lower() for part in parts for chunk in HAN_DULL.split(_VALUE.sub(" ", part)))
    named = (chunk for chunk in chunks if len(chunk) > 1 and not (kind and KIND_HAN.fullmatch(chunk)) and chunk not in NO_NAMES)
    return frozenset(islice(named, most))


def _plain_matter(text: str, bounds: tuple[int, int, int, int, int], kind: str) -> Matter:
    before, left, start, stop, right = bounds
    low, high = left, right
    marks = [mark.span() for mark in _CLAUSE.finditer(text, left, start)]
    if marks:
        low = marks[-1][1]
    if end := _CLAUSE.search(text, stop, right):
        high = end.start()
    own = KINDS.get(kind, frozenset())
    head, tail = _words(text[low:start]), _words(text[stop:high])
    subject = _subject(head, own)
    names = _names(_changed(head, own), own) | _names(tail, own)
    words, whose = head, subject if any(word in POSSESSIVE for word in head) else []
    if not names or any(word in PRONOUNS for word in head):
        # "It", "its", or nothing at all: the clause before says of what.
        for earlier in _clauses_before(text, before, low):
            if meant := _subject(earlier, own) or (_objects(earlier, own) if _begins_with_it(head) else []):
                names |= frozenset(map(_stem, meant))
                words = [*meant, ".", *head]
                whose = whose or (meant if any(word in POSSESSIVE for word in head) else [])
                break
            if any(_is_name(word, own) for word in earlier):
                break
    sentence = () if (low, high) == (left, right) else (*_words(text[left:low]), ".", *_words(text[high:right]))
    beside = names | _names(head, own) | (_names(sentence, own) if sentence else frozenset())
    return Matter(
        names,
        beside,
        tuple(_modifiers([*words, ".", *tail], own)),
        (*_phrases(words, tail, own), *([("of", frozenset(map(_stem, whose)))] if whose else [])),
        frozenset(map(_stem, subject)),
        _owners([*words, ".", *tail], own),
    )


def _changed(words: Sequence[str], own: frozenset[str]) -> Sequence[str]:
    """Return the words before a value from the verb of change on, where something is changed by somebody: "the airline moved our flight to"."""
    for at, word in enumerate(words):
        if word in CHANGING and at and words[at - 1] not in BEING:
            behind = words[at + 1 :]
            return behind if _names(behind, own) and not any(other in PRONOUNS for other in behind) else words
    return words


def _begins_with_it(words: Sequence[str]) -> bool:
    first = next((word for word in words if word not in FILLERS and word.isalnum()), words[0] if words else "")
    return first in PRONOUNS


def _objects(words: Sequence[str], own: frozenset[str]) -> list[str]:
    """Return the words behind the last article of a clause."""
    last = max((at for at, word in enumerate(words) if word in ARTICLES), default=len(words))
    return _subject(words[last:], own)


def _owners(words: Sequence[str], own: frozenset[str]) -> frozenset[str]:
    return frozenset(_stem(word) for word in words if word.endswith(("'s", "’s")) and _is_name(word, own))


def _words(text: str) -> list[str]:
    """Return the words and marks of a text in lower case; one that may be a verb is marked where it stands for a thing: "the evening shift~"."""
    words = [word.lower() for word in _WORD.findall(_VALUE.sub(" 0 ", text))]
    for at in range(1, len(words)):
        if words[at] in EITHER and (words[at - 1] in ARTICLES or words[at - 1] in BEFORE_NAMES or words[at - 1].endswith(("'s", "’s"))):
            words[at] += "~"
    return words


def _clauses_before(text: str, start: int, stop: int) -> Iterator[list[str]]:
    """Yield the clauses of a stretch, the last first."""
    cut = {start, stop, *(mark.end() for marks in (_CLAUSE, _SENTENCE) for mark in marks.finditer(text, start, stop))}
    for high, low in pairwise(sorted(cut, reverse=True)):
        if words := _words(text[low:high]):
            yield words


@lru_cache(maxsize=8_192)
def _stem(word: str) -> str:
    word = word.removesuffix("'s").removesuffix("’s")
    bare = _ENDING.sub("", word)
    return bare if len(bare) > 2 else word  # noqa: PLR2004 - "bus", "use"


def _is_name(word: str, own: frozenset[str] = frozenset()) -> bool:
    return _may_name(word) and word not in own


@lru_cache(maxsize=8_192)
def _may_name(word: str) -> bool:
    word = word.removesuffix("'s").removesuffix("’s")
    if not word[:1].isalpha() or len(word) == 1 or word in NO_NAMES or word in BEFORE_NAMES:
        return False
    return not word.endswith("ly") or word in PERIODIC


def _names(words: Sequence[str], own: frozenset[str]) -> frozenset[str]:
    return frozenset(
        _stem(word) for word, next_word in pairwise((*words, ".")) if _is_name(word, own) or (word in BEFORE_NAMES and _is_name(next_word, own))
    )


def _subject(words: Sequence[str], own: frozenset[str]) -> list[str]:
    """Return what a clause begins with: the words before its first verb; nothing where that is a person speaking, or a pronoun."""
    found: list[str] = []
    for word in words:
        if word in VERBS or word in PERSONS or word in PRONOUNS:
            break
        if found and (word in PREPOSITIONS or not word[0].isalnum()):
            break
        if _is_name(word, own):
            found.append(word)
    return found


def _modifiers(words: Sequence[str], own: frozenset[str]) -> Iterable[tuple[str, frozenset[str]]]:
    """Yield each word with the words that stand right before it, and what stands before a letter or number with those."""
    run: list[str] = []
    for word, next_word in pairwise((*words, ".")):
        if run and _tells_apart(word, next_word, own):
            yield f"{run[-1]} #", frozenset({word.lstrip("#")})
            run = [f"{run[-1]} {word}"]
        elif _is_name(word, own) or (word in own and run) or (word in BEFORE_NAMES and _is_name(next_word, own)):
            stem = _stem(word)
            if run:
                yield stem, frozenset(run)
            run.append(stem)
        elif word not in FILLERS or not word.isalpha():
            run = []


def _tells_apart(word: str, next_word: str, own: frozenset[str]) -> bool:
    """Say whether a letter or number behind a name says which one it is: "line 2", "room A", but not "needs 40 bolts" and "weighs 4 kg"."""
    if word.isalpha():
        return len(word) == 1 and word != "i"
    if word[0] not in "#0123456789":
        return False
    return not word.isdigit() or (next_word not in UNITS and not (_is_name(next_word, own) and next_word.endswith("s")))


def _phrases(head: Sequence[str], tail: Sequence[str], own: frozenset[str]) -> Iterable[tuple[str, frozenset[str]]]:
    for words, marks in ((head, OF_WHOM | WHERE), (tail, OF_WHOM)):
        for at, word in enumerate(words):
            if word in marks:
                kept: set[str] = set()
                for other in words[at + 1 :]:
                    if _is_name(other, own):
                        kept.add(_stem(other))
                    elif other not in ARTICLES and other not in FILLERS:
                        break
                if kept:
                    yield "of" if word in OF_WHOM else word, frozenset(kept)

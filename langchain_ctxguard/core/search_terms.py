"""What of a text is indexed for search, and how a text is ranked. Where terms are kept is up to a `TextIndex`."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence

# Scripts that put no space between words: Chinese and Japanese, Hangul (whose particles stick to the word), Thai, Lao, Burmese, Khmer.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_RUNS = re.compile(f"([{_UNSPACED}]+)|((?:(?![{_UNSPACED}])[^\\W_])+)")
_LONGEST = 64
"""Characters of a term: a longer word is found by its beginning."""

SATURATION = 1.2
"""How soon a word said again stops to count, as in BM25."""


def index_terms(text: str) -> Counter[str]:
    """Return the terms of a text and how often each stands in it.

    Words are folded to one case and one Unicode form. Where a script has no spaces, each pair of neighbouring characters is a term, and so is the
    last one of a run, so that a single character is found as the beginning of a term.

    >>> sorted(index_terms("数据库 Orders"))
    ['orders', '库', '据库', '数据']
    """
    terms: Counter[str] = Counter()
    for run, word in _runs(text):
        if run:
            terms.update(_pairs(run))
            terms[run[-1]] += 1
        else:
            terms[word[:_LONGEST]] += 1
    return terms


def query_terms(query: str) -> tuple[list[str], list[str]]:
    """Return the terms a query asks for, and the beginnings of terms: single characters of a script without spaces.

    >>> query_terms("查订单, ORD 库")
    (['查订', '订单', 'ord'], ['库'])
    """
    terms: list[str] = []
    beginnings: list[str] = []
    for run, word in _runs(query):
        if len(run) == 1:
            beginnings.append(run)
        else:
            terms += _pairs(run) if run else [word[:_LONGEST]]
    return list(dict.fromkeys(terms)), list(dict.fromkeys(beginnings))


def score(counts: Mapping[str, int], *, rarity: Mapping[str, float]) -> float:
    """Return how well a text fits, by how often it has each term asked for and how rare each is."""
    return sum(rarity[term] * count / (count + SATURATION) for term, count in counts.items())


def rarities(texts: int, having: Mapping[str, int]) -> dict[str, float]:
    """Return what each term is worth among so many texts; `having`: how many have it."""
    return {term: math.log(1 + (texts - count + 0.5) / (count + 0.5)) for term, count in having.items()}


def ranked(matches: Mapping[str, Mapping[str, int]], *, texts: int, limit: int, having: Mapping[str, int] | None = None) -> list[tuple[str, float]]:
    """Return the best of the matching texts, each key with its score: first what has the most of the terms, then by rarity, then by key.

    Args:
        matches: Of each text, by key, how often it has each term asked for.
        texts: How many texts there are in all.
        limit: How many to return.
        having: How many texts have each term, where `matches` are not all there are.
    """
    rarity = rarities(texts, having or Counter(term for counts in matches.values() for term in counts))
    scored = sorted(((-len(counts), -score(counts, rarity=rarity), key) for key, counts in matches.items()))
    return [(key, -negative) for _, negative, key in scored[: max(limit, 0)]]


def _runs(text: str) -> Sequence[tuple[str, str]]:
    # Folded twice: folding can leave what is not composed, and composing what is not folded.
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return [(match[1] or "", match[2] or "") for match in _RUNS.finditer(folded)]


def _pairs(run: str) -> list[str]:
    return [run[index : index + 2] for index in range(len(run) - 1)]

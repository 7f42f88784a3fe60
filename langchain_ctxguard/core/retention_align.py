"""A rule and a passage laid side by side: one word exchanged, one stretch put in or left out, the rest the same."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from langchain_ctxguard.core.numerals import words_in
from langchain_ctxguard.core.retention_passage import RESTATED, Passage
from langchain_ctxguard.core.retention_rule import RELATIONS, Rule
from langchain_ctxguard.core.retention_tokens import Token
from langchain_ctxguard.core.retention_words import STOP_WORDS, is_action
from langchain_ctxguard.domain.retention import Retention

_ALIGNED = 0.55
_NEARLY = 0.6
_LONGEST_RULE, _LONGEST_PASSAGE = 80, 160

Code = tuple[str, int, int, int, int]


def substituted(rule: Rule, passage: Passage) -> tuple[Retention, str] | None:
    """Look for one word exchanged, or one stretch put in or left out, in a text that is otherwise the rule's."""
    if passage.coverage < RESTATED or passage.is_other_language:
        return None
    ours, theirs = _aligned(rule.tokens), _aligned(passage.tokens)
    if len(ours) > _LONGEST_RULE or len(theirs) > _LONGEST_PASSAGE:
        return None
    codes = SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes()
    kept = sum(last - first for kind, first, last, _, _ in codes if kind == "equal")
    if kept == 0 or kept < _ALIGNED * len(ours):
        return None
    changes = _changes(codes, len(ours))
    kinds = {code[0] for code in changes}
    if kinds == {"replace"} and len(changes) == 1:
        _, first, last, start, end = changes[0]
        return _exchange(rule, ours[first:last], theirs[start:end])
    if kinds == {"delete"} and kept >= _NEARLY * len(ours):
        absent = {token.concept for token in passage.missing}
        is_gone = any(word in absent for _, first, last, _, _ in changes for word in ours[first:last])
        return (Retention.WEAKENED, "part_missing") if is_gone else None
    is_narrowed = kinds == {"insert"} and any(_has_content(theirs[start:end]) for _, _, _, start, end in changes)
    return (Retention.WEAKENED, "narrowed") if is_narrowed else None


def _has_content(words: Sequence[str]) -> bool:
    return any(word[0] != "~" and word not in RELATIONS for word in words)


def _aligned(tokens: Sequence[Token]) -> list[str]:
    """Return the tokens in the form two texts are laid side by side in: content by its meaning, words of force by themselves."""
    result = []
    for token in tokens:
        if token.amount is not None:
            result.append(f"{token.amount.number.normalize()}{token.amount.dimension}")
        elif token.kind == "function":
            if token.text not in _SMALL_WORDS:
                result.append(f"~{token.text}")
        else:
            result.append(token.concept)
    return result


_UNIVERSAL = frozenset({"#every", "#whole", "~all", "~any", "~所有", "~任何"})
_FORCE_WORDS = words_in("""not no never none nobody nothing only must may can should shall always need""")
_SMALL_WORDS = words_in("""a an the to of is are be been was were 的 了 地 得 着 在 将 把 被 也 都 其 该""")


def _changes(codes: Sequence[Code], length: int) -> list[Code]:
    """Return what differs between the first and the last thing in common, and at the rule's own ends."""
    first = next(at for at, code in enumerate(codes) if code[0] == "equal")
    last = len(codes) - 1 - next(at for at, code in enumerate(reversed(codes)) if code[0] == "equal")
    inside = [code for code in codes[first : last + 1] if code[0] != "equal"]
    outside = [code for code in (*codes[:first], *codes[last + 1 :]) if code[1] < code[2] <= length]
    return inside + outside


def _exchange(rule: Rule, ours: Sequence[str], theirs: Sequence[str]) -> tuple[Retention, str] | None:
    """Judge one word exchanged: a name, unless it is what the rule is about to do."""
    if set(ours) <= _UNIVERSAL and any(word[0] != "~" for word in theirs):
        return Retention.WEAKENED, "narrowed"
    if any(word[0] == "~" and word[1:] not in STOP_WORDS - _FORCE_WORDS for word in (*ours, *theirs)):
        return None
    old, new = [word for word in ours if word[0] != "~"], [word for word in theirs if word[0] != "~"]
    if not old or not new or len(new) > len(old) + 3 or any(is_action(word) for word in new):
        return None
    if rule.banned in old or (is_action(old[0]) and any(word[0] == "~" for word in ours)):
        return None
    return Retention.MUTATED, "name"

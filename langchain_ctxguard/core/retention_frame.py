"""A rule that stands word for word: does what stands around it take it back, soften it or tell it as history?"""

from __future__ import annotations

import re
from collections.abc import Sequence

from langchain_ctxguard.core.retention_marks import Hit, Mark, marks_in, points_back
from langchain_ctxguard.core.retention_text import Sentence
from langchain_ctxguard.core.retention_verdict import Rule, Verdict
from langchain_ctxguard.domain.retention import Retention

_LABEL = re.compile(r"[:：|>»]\s*[\"'“‘「『(（*_`~]*$")
_QUOTE = re.compile(r"[\"“「『‘][*_`]*$")
_SOFT_TAIL = re.compile(
    r"(?:where|if|when|whenever|as far as|wherever) (?:at all )?(?:possible|practical|feasible|convenient|appropriate|sensible|needed)|ideally|optional|preferably|"
    r"if (?:there is|you have) time|if time permits|尽量|尽可能|如有可能|可能的话|方便的话|有条件的话|为宜|为好|仅供参考|酌情|视情况"
)
_EXCEPTIONS = re.compile(
    r"\b(?:unless|except|other than|apart from|with the exception|but (?:only|not)|if|when|as long as|provided|only for|only in)\b|除外|除非|例外|除了|的话|如果|只要|特殊情况|但[^。]{0,20}(?:可以?|不在此|除)"
)
_PREFIX_CONDITION = re.compile(r"\b(?:if|when|whenever|for|during|in case|where|on weekends|in the case of|while|once)\b|时[，,]?$|如果|若|涉及|情况下[，,]?$|的话[，,]?$|对于|对|期间[，,]?$")
_DENIED = re.compile(
    r"(?:\b(?:do not|don'?t|does not|did not|never|not|no longer|stop|cease to|without having to|need not|must not|may not|cannot|no need to|refuse to)\s*$)|"
    r"(?:不|未|别|勿|没有?|不必|无需|不用|不要|禁止|不得|不再|不需要?|停止|取消)$"
)
_PERMITTED = re.compile(r"\b(?:may|can|could|might|free to|allowed to|ok to|fine to|like to|want to|wants to|wanted to)\s*$|(?:可以?|允许|能|想|可选择?)$")


def frame_of(rule: Rule, sentences: Sequence[Sentence], first: int, last: int) -> Verdict:
    """Return what the surroundings make of a rule that begins and ends in these sentences."""
    head, tail = _around(rule, sentences[first], sentences[last])
    return _struck(sentences[first], sentences[last]) or _before(rule, head) or _after(rule, tail) or _later(sentences, last) or Verdict(Retention.PRESERVED, "verbatim", 1.0)


def _around(rule: Rule, first: Sentence, last: Sentence) -> tuple[str, str]:
    """Return the rest of the sentences before and after the rule."""
    opening, closing = rule.sentences[0].line.split(" "), rule.sentences[-1].line.split(" ")
    start = _spelled_at(first.folded, opening, from_end=False)
    end = _spelled_at(last.folded, closing, from_end=True)
    return first.folded[: start[0]], last.folded[end[1] :]


def _spelled_at(text: str, words: Sequence[str], *, from_end: bool) -> tuple[int, int]:
    """Return where words stand in a text that may have anything but words between them."""
    pattern = r"[^\w]*?".join(re.escape(word) for word in words[:60])
    found = list(re.finditer(pattern, text))
    if not found:
        return 0, len(text)
    return found[-1 if from_end else 0].span()


def _struck(first: Sentence, last: Sentence) -> Verdict | None:
    if "~~" in first.text and "~~" in last.text and (first is not last or first.text.count("~~") > 1):
        return Verdict(Retention.CONTRADICTED, "lifted", 1.0)
    return None


def _has(hits: Sequence[Hit], *marks: Mark) -> bool:
    return any(hit.mark in marks for hit in hits)


def _before(rule: Rule, head: str) -> Verdict | None:
    """Judge what leads up to the rule in its own sentence."""
    bare = head.strip()
    if not bare:
        return None
    if _DENIED.search(bare.rstrip("*_`\"'“”")):
        return Verdict(Retention.CONTRADICTED, "reversed", 1.0)
    if _PERMITTED.search(bare.rstrip("*_`\"'“”")):
        return Verdict(Retention.WEAKENED, "advice", 1.0)
    hits = marks_in(head)
    is_told = _has(hits, Mark.STORY) and not _has(hits, Mark.IN_FORCE)
    if is_told and not _names_rule(head):
        return Verdict(Retention.WEAKENED, "story", 1.0)
    if _LABEL.search(bare) or _QUOTE.search(bare):
        return None
    if _has(hits, Mark.LIFT, Mark.RELEASE):
        return Verdict(Retention.CONTRADICTED, "lifted", 1.0)
    if _has(hits, Mark.SOFT) and not rule.advises and not re.search(r"[,，;；]", bare):
        return Verdict(Retention.WEAKENED, "advice", 1.0)
    if _PREFIX_CONDITION.search(bare) and (bare[-1] in ",，" or bare[-1] > "\u2fff" or bare[-1].isalnum()) and len(bare) < 60:
        return Verdict(Retention.WEAKENED, "condition", 1.0)
    return None


_RULE_WORDS = re.compile(r"\b(?:rule|policy|standing|instruction|binding|in force|regulation|requirement)s?\b|规定|规则|要求|制度|规矩|守则")


def _names_rule(head: str) -> bool:
    """Say whether a lead-in presents the rule as one: `Rules the user gave:`."""
    return _RULE_WORDS.search(head) is not None and _LABEL.search(head.strip()) is not None


def _after(rule: Rule, tail: str) -> Verdict | None:
    """Judge what follows the rule in its own sentence."""
    if not any(character.isalnum() for character in tail):
        return None
    hits = marks_in(tail)
    if _has(hits, Mark.NO_EXCEPTION, Mark.IN_FORCE):
        return None
    if _has(hits, Mark.LIFT, Mark.RELEASE) or re.search(r"\b(?:was|is|were|has been|have been) (?:\w+ )?(?:withdrawn|lifted|dropped|cancell?ed|removed|revoked|void|off|over|waived|suspended|obsolete)\b|(?:取消|作废|失效|解除|废止|撤销|不算)", tail):
        return Verdict(Retention.CONTRADICTED, "lifted", 1.0)
    if _EXCEPTIONS.search(tail):
        return Verdict(Retention.WEAKENED, "condition", 1.0)
    if _SOFT_TAIL.search(tail):
        return Verdict(Retention.WEAKENED, "advice", 1.0)
    return None


def _later(sentences: Sequence[Sentence], last: int) -> Verdict | None:
    """Judge the next sentence if it speaks of the rule: `This no longer applies.`"""
    if last + 1 >= len(sentences) or sentences[last + 1].part != sentences[last].part:
        return None
    following = sentences[last + 1].folded
    if points_back(following) and _has(marks_in(following), Mark.LIFT):
        return Verdict(Retention.CONTRADICTED, "lifted", 1.0)
    return None

"""A rule that stands word for word: does what stands around it take it back, soften it or tell it as history?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from langchain_ctxguard.core.retention_marks import Hit, marks_in, points_back
from langchain_ctxguard.core.retention_phrases import Mark
from langchain_ctxguard.core.retention_rule import Rule
from langchain_ctxguard.core.retention_text import Sentence
from langchain_ctxguard.core.retention_tokens import tokens_of
from langchain_ctxguard.core.retention_verdict import Verdict
from langchain_ctxguard.domain.retention import Retention

_KEPT = Verdict(Retention.PRESERVED, "verbatim", 1.0)
_LIFTED = Verdict(Retention.CONTRADICTED, "lifted", 1.0)
_REVERSED = Verdict(Retention.CONTRADICTED, "reversed", 1.0)
_ADVICE = Verdict(Retention.WEAKENED, "advice", 1.0)
_STORY = Verdict(Retention.WEAKENED, "story", 1.0)
_CONDITION = Verdict(Retention.WEAKENED, "condition", 1.0)
_NARROWED = Verdict(Retention.WEAKENED, "narrowed", 1.0)

_CONDITIONS = frozenset({Mark.EXCEPT, Mark.ONLY, Mark.WITHOUT, Mark.BEFORE})
_LONGEST_LEAD = 60
_LONGEST_SPELLED = 60

_LABEL = re.compile(r"[:：|>»]\s*[\"'“‘「『(（*_`~]*$")
_QUOTE = re.compile(r"[\"“「『‘][*_`]*$")
_RULE_WORDS = re.compile(r"\b(?:rule|policy|standing|instruction|binding|in force|regulation|requirement)s?\b|规定|规则|要求|制度|规矩|守则")
_DENIED = re.compile(
    r"(?:\b(?:do not|don't|does not|did not|never|not|no longer|stop|cease to|without having to|need not|must not|may not|cannot|no need to|"
    r"refuse to)\s*|(?:不|未|别|勿|没有?|不必|无需|不用|不要|禁止|不得|不再|不需要?|停止|取消))$"
)
_PERMITTED = re.compile(
    r"(?:\b(?:may|can|could|might|free to|allowed to|ok to|fine to|like to|want to|wants to|wanted to)\s*|(?:可以?|允许|能|想|可选择?))$"
)
_LEADING_CONDITION = re.compile(
    r"\b(?:except|apart from|other than|unless|barring|outside|if|when|whenever|for|during|in case|where|on weekends|in the case of|while|once)\b|"
    r"时[，,]?$|除|如果|若|涉及|情况下[，,]?$|的话[，,]?$|对于|对|期间[，,]?$"
)
_TAKEN_BACK = re.compile(
    r"\b(?:was|is|were|has been|have been) (?:\w+ )?"
    r"(?:withdrawn|lifted|dropped|cancell?ed|removed|revoked|void|off|over|waived|suspended|obsolete)\b|取消|作废|失效|解除|废止|撤销|不算(?!在内)"
)
_WIDENED = re.compile(r"[\s,，、]*(?:or|and/or|or else|as well as|或者?|以及|和|及|还有)(?![a-z])")
_ALSO = re.compile(
    r"\b(?:also (?:do|does|counts?|suffices?|enough|fine|ok)|is (?:also )?enough|suffices?|will do|as well|so (?:can|may|does))\b|"
    r"也可以?|也行|亦可|同样可以|也算|也有效|均可"
)
_SCOPE = re.compile(r"\s+(?:on|in|for|during|at|from|to|with|by|of|over|under|after|between|while)\s+\w")
_UNIVERSAL = re.compile(r"\b(?:any|all|every|everyone|anyone|whole|ever|entire|no|this|our)\b")
_EXCEPTIONS = re.compile(
    r"\b(?:unless|except\w*|exempt\w*|excluding|barring|aside from|does not apply|do not apply|another matter|other than|apart from|"
    r"but (?:only|not)|if|when|as long as|provided|only for|only in)\b|"
    r"除外|除非|例外|除了|的话|如果|只要|特殊情况|不受此限|不受该限|不在此[列限]|另当别论|另议|不包括|不含|不算在内|豁免|特批|酌情|通融|但[^。,]{0,20}(?:可以?|不在此|除)"
)
_EXCEPTION_ALONE = re.compile(
    r"^\W*(?:exceptions?\b|except\b|exempt\b|this does not (?:apply|hold|concern)|"
    r"(?:\w+ ){1,5}(?:is|are) (?:an exception|exempt\w*|excepted|excluded)|[^。,]{1,16}(?:除外|例外|不在此列|不受此限))"
)
_SOFT_TAIL = re.compile(
    r"(?:where|if|when|whenever|as far as|wherever) (?:at all )?(?:possible|practical|feasible|convenient|appropriate|sensible|needed)|"
    r"ideally|optional|preferably|if (?:there is|you have) time|if time permits|"
    r"尽量|尽可能|如有可能|可能的话|方便的话|有条件的话|为宜|为好|仅供参考|酌情|视情况"
)


def frame_of(rule: Rule, sentences: Sequence[Sentence], first: int, last: int) -> Verdict:
    """Return what the surroundings make of a rule that begins and ends in these sentences."""
    head, tail = _around(rule, sentences[first], sentences[last])
    if _is_struck_out(sentences[first], sentences[last]):
        return _LIFTED
    return _before(rule, head) or _after(rule, tail) or _later(rule, sentences, last) or _KEPT


def _around(rule: Rule, first: Sentence, last: Sentence) -> tuple[str, str]:
    """Return the rest of the sentences before and after the rule."""
    start = _spelled_at(first.folded, rule.sentences[0].line.split(" "), at=0)
    end = _spelled_at(last.folded, rule.sentences[-1].line.split(" "), at=-1)
    return first.folded[: start[0]], last.folded[end[1] :]


def _spelled_at(text: str, words: Sequence[str], *, at: int) -> tuple[int, int]:
    """Return where words stand in a text that may have anything but words between them."""
    pattern = r"[\W_]*?".join(re.escape(word) for word in words[:_LONGEST_SPELLED])
    found = list(re.finditer(pattern, text))
    return found[at].span() if found else (0, len(text))


def _is_struck_out(first: Sentence, last: Sentence) -> bool:
    return "~~" in first.text and "~~" in last.text and (first is not last or first.text.count("~~") > 1)


def _has(hits: Sequence[Hit], *marks: Mark) -> bool:
    return any(hit.mark in marks for hit in hits)


def _before(rule: Rule, head: str) -> Verdict | None:
    """Judge what leads up to the rule in its own sentence."""
    lead = head.strip()
    bare = lead.rstrip("*_`\"'“”")
    if not lead:
        return None
    if _DENIED.search(bare) or _PERMITTED.search(bare):
        return _REVERSED if _DENIED.search(bare) else _ADVICE
    hits = marks_in(head)
    is_label = _LABEL.search(lead) is not None
    if _has(hits, Mark.STORY) and not _has(hits, Mark.IN_FORCE) and not (is_label and _RULE_WORDS.search(head)):
        return _STORY
    return None if is_label or _QUOTE.search(lead) else _led_in(rule, lead, hits)


def _led_in(rule: Rule, lead: str, hits: Sequence[Hit]) -> Verdict | None:
    """Judge a lead that runs on into the rule: no label, no quotation mark."""
    if _has(hits, Mark.LIFT, Mark.RELEASE):
        return _LIFTED
    if _has(hits, Mark.SOFT) and not rule.advises and not re.search(r"[,，;；]", lead):
        return _ADVICE
    runs_on = lead[-1] in ",，" or lead[-1] > "\u2fff" or lead[-1].isalnum()
    return _CONDITION if runs_on and len(lead) < _LONGEST_LEAD and _LEADING_CONDITION.search(lead) else None


def _after(rule: Rule, tail: str) -> Verdict | None:
    """Judge what follows the rule in its own sentence."""
    hits = marks_in(tail)
    if not any(character.isalnum() for character in tail) or _has(hits, Mark.NO_EXCEPTION, Mark.IN_FORCE):
        return None
    if _has(hits, Mark.LIFT, Mark.RELEASE) or _TAKEN_BACK.search(tail):
        return _LIFTED
    is_widened = bool(rule.marks & _CONDITIONS) and (_WIDENED.match(tail) is not None or _ALSO.search(tail) is not None)
    is_opened = _has(hits, Mark.PERMIT) and _speaks_of(rule, tail)
    if is_widened or is_opened or _EXCEPTIONS.search(tail):
        return _CONDITION
    if _SCOPE.match(tail) and not _UNIVERSAL.search(tail):
        return _NARROWED
    return _ADVICE if _SOFT_TAIL.search(tail) else None


def _later(rule: Rule, sentences: Sequence[Sentence], last: int) -> Verdict | None:
    """Judge the next sentence if it goes on about the rule: `This no longer applies`."""
    if last + 1 >= len(sentences) or sentences[last + 1].part != sentences[last].part:
        return None
    following = sentences[last + 1]
    if points_back(following.folded) and _has(following.hits, Mark.LIFT):
        return _LIFTED
    is_related = bool(rule.concepts & following.concepts)
    goes_on = sentences[last].text.rstrip().endswith((";", "；")) and _has(following.hits, Mark.PERMIT, Mark.RELEASE)
    is_widened = _ALSO.search(following.folded) is not None and bool(rule.marks & _CONDITIONS)
    return _CONDITION if _EXCEPTION_ALONE.search(following.folded) or (is_related and (goes_on or is_widened)) else None


def _speaks_of(rule: Rule, text: str) -> bool:
    """Say whether a stretch shares a meaning, or two Chinese characters in a row, with the rule."""
    pairs = (first + second for first, second in pairwise(text) if first > "\u2fff" and second > "\u2fff")
    return any(token.concept in rule.concepts for token in tokens_of(text) if token.concept) or any(pair in rule.text for pair in pairs)

"""What a person notes down rather than says in passing: under a label, as the work at hand, as what somebody wants. English and Chinese.

It reads words and knows no speaker: the labels of tools and models say nothing, and whoever asks has to leave them out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from langchain_ctxguard.core.sentences import is_listing, reports_error
from langchain_ctxguard.core.terms import is_question

_NOTES = frozenset(
    # Word lists read better than quoted strings.
    """
    goal goals objective objectives aim task tasks note notes nb fact facts decision decisions decided status preference preferences constraint
    constraints rule rules requirement requirements assumption assumptions context background reminder plan todo to-do milestone scope agreed
    conclusion blocker blockers blocked risk risks progress priority deadline owner important update summary
    """.split()  # noqa: SIM905
)
_NOTES_HAN = re.compile(
    "目标|任务|备注|说明|事实|决定|结论|状态|进度|进展|偏好|约束|限制|要求|规则|前提|假设|背景|待办|计划|提醒|截止|负责人|优先级|风险|下一步|记录|重点|注"
)
_LOGS = frozenset(
    """
    error errors err warn warning info debug trace traceback fatal critical exception failure failed caused stderr stdout log notice verbose panic
    expected actual received assertion
    """.split()  # noqa: SIM905
)
_LABEL = re.compile(r"(?P<latin>[^\W\d_][\w'&/-]*(?: [\w'&/-]+){0,3}):\s+(?=\S)|(?P<han>[\u3400-\u9fff]{1,8})[:：]\s*(?=[^\s/])")
_DASHED = re.compile(r"(?P<latin>[^\W\d_]\w*(?: \w+){0,2}) [-–—]+ (?=\S)|(?P<han>[\u3400-\u9fff]{2,6}) ?(?:[-–] |[—]+ ?)(?=\S)")
_FORM = 3
"""Lines with labels nobody notes under that make a message a form, a header or a listing."""

_WORK = re.compile(
    r"\b(?:task|goal|objective|aim|mission|priority|assignment|focus)"
    r"(?: (?:at hand|for now|right now|now|today|this week|here))? (?:is|remains|was set)\b|"
    r"\b(?:we|i|team|they|he|she)(?:'re|'m| are| am| is)(?: (?:currently|now|still|all|both))? "
    r"(?:working on|in the middle of|focus(?:ed|s?ing) on|busy with|aiming (?:to|for|at)|tasked with)\b|"
    r"(?:任务|目标|目的|重点)(?:就|仍然?|还)?[是为：]|(?:我们?|大家|团队)(?:现在|目前|当前|还|仍|也)?(?:正在|正|在)(?=[做忙改写修搭迁开处重排推准])",
    re.IGNORECASE,
)
_SPEAKS = re.compile(r"\b(?:said|says|asked|asks|wrote|writes|replied|told|answered)$|[说道问答]$", re.IGNORECASE)
_WANTS = re.compile(
    r"(?<![^\W\d_])(?P<who>[^\W\d_]+) (?:(?:really|also|still|always|now|only|generally|usually) )?"
    r"(?:wants|prefers|would (?:like|prefer|rather)|insists on|asked for)\b|"
    r"\b(?P<they>they|he|she)['’]d (?:like|prefer|rather)\b|"
    r"(?P<han>用户|客户|顾客|客人|老板|领导|经理|同事|甲方|对方|他们?|她们?)(?:们|都|也|还|更|一直|现在|比较|明确){0,2}(?:希望|想要?|要求|偏好|喜欢|倾向|期望|不喜欢)",
    re.IGNORECASE,
)
_NOT_OTHERS = frozenset(["i", "we", "you", "who", "what", "which", "that", "this", "it", "nobody", "there"])
"""Before such a verb: the speaker, the reader, or no person."""


def is_noted(sentence: str, *, is_form: bool = False) -> bool:
    """Say whether a person would write this sentence down: it has a label, says what the work is, or what somebody wants.

    Args:
        sentence: One sentence.
        is_form: It is of a message whose labels are those of a form or a log.

    >>> is_noted("GOAL: move auth to OAuth"), is_noted("The user wants short answers."), is_noted("当前任务是迁移登录模块")
    (True, True, True)
    >>> is_noted("ERROR: no seat left"), is_noted("I want tea."), is_noted("The helper was renamed for clarity.")
    (False, False, False)
    """
    if is_listing(sentence) or reports_error(sentence):
        return False
    if not is_form and _has_label(sentence):
        return True
    return not is_question(sentence) and (_WORK.search(sentence) is not None or _says_who_wants(sentence))


def is_form(sentences: Sequence[str]) -> bool:
    """Say whether the labels of a message are those of a form, a header or a log: three that nobody notes under, and more than of the others.

    >>> is_form(["Name: Ada", "Phone: 12", "Street: Elm"]), is_form(["GOAL: ship it", "FACT: it is red", "Decision: no refund"])
    (True, False)
    """
    labels = [label for sentence in sentences if (label := _label_of(sentence))]
    others = sum(not _is_of_notes(label) for label in labels)
    return others >= _FORM and 2 * others > len(labels)


class Notes(NamedTuple):
    """What the labels in one message say of its sentences."""

    is_form: bool = False
    follow: frozenset[int] = frozenset()
    """The sentences behind one with a label, in the same line: they say more of the same."""


def notes_in(sentences: Sequence[str], begin: Collection[int] = ()) -> Notes:
    """Return what the labels in a message say of its sentences.

    Args:
        sentences: The sentences, in order.
        begin: Those that begin a line.

    >>> notes_in(["FACT: The server is up.", "It has two disks.", "Go on."], begin=[2]).follow
    frozenset({1})
    """
    if is_form(sentences):
        return Notes(is_form=True)
    follow: set[int] = set()
    is_open = False
    for index, sentence in enumerate(sentences):
        is_open = is_open and index not in begin
        if _has_label(sentence):
            is_open = True
        elif is_open:
            follow.add(index)
    return Notes(follow=frozenset(follow))


def _says_who_wants(sentence: str) -> bool:
    return any(found["who"] is None or found["who"].lower() not in _NOT_OTHERS for found in _WANTS.finditer(sentence))


def _has_label(sentence: str) -> bool:
    label = _label_of(sentence)
    return bool(label) and not _LOGS & {*label.lower().split()} and _SPEAKS.search(label) is None


def _label_of(sentence: str) -> str:
    """Return the label a sentence begins with, empty without one. In small letters, or before a dash, it must be one of those people note under."""
    found = _LABEL.match(sentence)
    if found is not None and (found["han"] or sentence[0].isupper() or _is_of_notes(found["latin"])):
        return found["han"] or found["latin"]
    found = _DASHED.match(sentence)
    label = "" if found is None else found["han"] or found["latin"]
    return label if label and _is_of_notes(label) else ""


def _is_of_notes(label: str) -> bool:
    return bool(_NOTES & {*label.lower().split()}) or _NOTES_HAN.search(label) is not None

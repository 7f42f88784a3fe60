"""Rules said again in the same words about another thing: where an application wants it, the later one takes the place of the earlier one."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby, pairwise
from typing import NamedTuple

from langchain_ctxguard.core.said import plain
from langchain_ctxguard.core.subject import subject_of, superseding
from langchain_ctxguard.domain.inferred import InferredConstraint, InferredKind

_LABEL = re.compile(
    r"^\W*(?:[\w'-]+ ){0,3}?(?:rule|constraint|policy|requirement|preference|reminder|note|warning|safety|security|important|attention)s?"
    r"(?: ?#?\d{1,3})?\s?[:：]|"
    r"^\W*[\u3400-\u9fff]{0,6}?(?:规则|规定|规矩|约束|约定|要求|原则|限制|红线|注意|提醒|重要)(?:事项)?[:：]"
)
"""What a rule is announced by: it says nothing of what the rule is about."""

_KEEPS_OFF = re.compile(
    r"\bkeep\b([^,;.!]{1,60}?)\b(?:away|out|off)\b(?: from| of)?|"
    r"\b(?:stay|stays|be|is|are|remain|remains|keep|kept|steer)\b(?: (?:well|completely|entirely|always))? "
    r"(?:free|clear|away|off|out)\b(?: from\b| of\b)?|"
    r"远离|避开|(?:不得|不能|不要|不可|禁止|避免|严禁)(?:接触|碰到|靠近|出现|含有|放置|存放)|(?:不得|不能|不要|不可)[有含放]|(?:必须|应该?|要)(?:没有|不含)"
)
"""Words that forbid by asking for distance, though they say `must` and not `never`."""

_SAME_IN_BANS = {
    "external": (
        r"\b(?:to |for |with )?(?:external|outside|third[ -]party) (?:services?|systems?|parties|companies|vendors?|tools?|people)\b|"
        r"\b(?:to |for |with )?(?:third parties|outsiders)\b|\b(?:outside|beyond|out of) (?:of )?(?:the|our) (?:company|organi[sz]ation|firm)\b|"
        r"\boutside\b(?= *(?:[.!;,]|$))|\bexternally\b|"
        r"(?:外部|第三方)(?:服务|系统|平台|公司|人员|工具|机构)?|(?:公司|单位|机构)(?:之外|以外|外部|外)"
    ),
    "send": (
        r"\b(?:send|sends|sent|sending|transmit\w*|upload\w*|export\w*)\b|\bleav(?:e|es|ing)\b(?: for\b| to\b)?|"
        r"发送|发给|发往|传输|传送|传给|上传|导出|外发|外传"
    ),
    "tell": (
        r"\b(?:disclos\w+|expos(?:e|es|ed|ing)|leak\w*|reveal\w*|shar(?:e|es|ed|ing)|tell|tells|told|telling)\b|"
        r"透露|暴露|泄露|泄漏|披露|公开|告诉|告知|分享|共享"
    ),
    "run": r"\b(?:run|runs|running|execut(?:e|es|ed|ing))\b|运行|执行",
}
"""What a reader takes as the same in a ban, by the word it is compared by; `use` and 使用 are no words of a subject at all."""

_ONE_WORD = tuple((re.compile(pattern), f" {word} ") for word, pattern in _SAME_IN_BANS.items())
_EMPTY_SAID = """
    at about above across along around away below down into near off onto out over through up upon here there then let get got what where which who
    whom whose why how he she him his her one other another same such else own anything something nothing everything anyone someone everyone nobody
    anybody somebody everybody
"""
_EMPTY = frozenset("给到至往向对在上中里内和与或有").union(*subject_of(_EMPTY_SAID, "ban")[:3])
"""Words that say nothing of what a rule is about, as a subject has them."""

_REFERS_BACK = re.compile(
    r"^\W*(?:it|they)\b|\b(?:never|not|don't|must|always)(?: [\w-]+){1,2} (?:it|them)\b|(?<!其)它|[该此](?=工具|操作|数据|文件|命令|系统|设备)"
)
"""A sentence that names its thing in the one before it."""

_GAP = 2
_MOST_AT_ONCE = 4
"""How many rules said one after the other are read as one."""

_LEAST_SHARED = 2


def said_last(rules: Iterable[InferredConstraint]) -> tuple[InferredConstraint, ...]:
    """Return the rules that stand, as `superseding` does, without those that a later message says again about another thing.

    Both forbid or both demand, neither's words contain all of the other's, and they share two words at the least and half of the shorter one's.
    Rules of one message stand beside each other. A temporary wish ends no lasting rule, a confirmed rule is ended by a person only, and a dropped
    one is kept and ends nothing.
    """
    known = [*rules]
    gone = _replaced(known)
    return tuple(rule for rule in superseding(known) if rule.inferred_id not in gone)


def _replaced(rules: Iterable[InferredConstraint]) -> set[str]:
    forms = _Forms()
    ordered = sorted({rule.inferred_id: rule for rule in rules}.values(), key=lambda rule: (rule.position, rule.start))
    for _, said in groupby((rule for rule in ordered if rule.status != "dropped"), key=lambda rule: (rule.position, rule.source)):
        found = [*_forms([*said])]
        for form in found:
            forms.end(form)
        for form in found:
            forms.add(form)
    return forms.gone


class _Form(NamedTuple):
    """A rule as it is compared, or several that were said one after the other."""

    words: frozenset[str]
    forbids: bool
    rules: tuple[InferredConstraint, ...]
    behind: tuple[InferredConstraint, ...]
    """Rules that say `it` of what these name: they end with them."""

    @property
    def is_temporary(self) -> bool:
        return any(rule.expires_with_task for rule in self.rules)


class _Forms:
    """The forms of rules that were said so far, found by their words, and what ended."""

    def __init__(self) -> None:
        self.gone: set[str] = set()
        self._by_length: dict[tuple[bool, int], defaultdict[str, dict[int, _Form]]] = {}
        self._of_rule: defaultdict[str, list[tuple[int, _Form]]] = defaultdict(list)
        self._count = 0

    def add(self, form: _Form) -> None:
        """Add a form said after all others."""
        if len(form.words) <= _LEAST_SHARED:
            # Whoever shares two words with it has all of its words.
            return
        self._count += 1
        by_word = self._by_length.setdefault((form.forbids, len(form.words)), defaultdict(dict))
        for word in form.words:
            by_word[word][self._count] = form
        for rule in form.rules:
            self._of_rule[rule.inferred_id].append((self._count, form))

    def end(self, new: _Form) -> None:
        """End what a form takes the place of."""
        if len(new.words) <= _LEAST_SHARED:
            return
        for old in sorted(self._alike(new), key=lambda form: len(form.rules)):
            if self.gone.isdisjoint(rule.inferred_id for rule in old.rules):
                ended = [self._end(rule, new) for rule in old.rules]
                for rule in old.behind if all(ended) else ():
                    self._end(rule, new)

    def _alike(self, new: _Form) -> Iterator[_Form]:
        size = len(new.words)
        for (forbids, length), by_word in self._by_length.items():
            if forbids is not new.forbids:
                continue
            shared = max(_LEAST_SHARED, (min(size, length) + 1) // 2)
            # Whoever shares so many words has one of the rarer ones: the commonest need not be looked up.
            rarest = sorted(new.words, key=lambda word: len(by_word[word]) if word in by_word else 0)[: size - shared + 1]
            found = {at: form for word in rarest if word in by_word for at, form in by_word[word].items()}
            for form in found.values():
                common = len(form.words & new.words)
                if shared <= common < min(size, length) and not _counts_another_thing(form.words - new.words, new.words - form.words):
                    yield form

    def _end(self, rule: InferredConstraint, new: _Form) -> bool:
        if rule.status == "confirmed" or (new.is_temporary and not rule.expires_with_task):
            return False
        self.gone.add(rule.inferred_id)
        for at, form in self._of_rule.pop(rule.inferred_id, ()):
            by_word = self._by_length[form.forbids, len(form.words)]
            for word in form.words:
                by_word[word].pop(at, None)
        return True


def _counts_another_thing(one: frozenset[str], other: frozenset[str]) -> bool:
    """Say whether of two rules each names a thing of its own and its amount: a limit of one thing is no correction of another's."""
    return all({True, False} <= {any(map(str.isdigit, word)) for word in words} for words in (one, other))


def _forms(rules: Sequence[InferredConstraint]) -> Iterator[_Form]:
    """Yield the forms of the rules of a message, those of one rule first: an earlier rule ends for itself where it can."""
    links = [False, *(_goes_on(one, other) for one, other in pairwise(rules))]
    refers = [is_linked and _refers_back(rule.text) for rule, is_linked in zip(rules, links, strict=True)]
    read = [_words_of(rule.text, rule.kind) for rule in rules]
    for many in range(1, _MOST_AT_ONCE + 1):
        for first in range(len(rules) - many + 1):
            last = first + many
            if not all(links[first + 1 : last]):
                continue
            behind = last
            while behind < len(rules) and refers[behind]:
                behind += 1
            words, forbids = zip(*read[first:last], strict=True)
            yield _Form(frozenset[str]().union(*words), any(forbids), tuple(rules[first:last]), tuple(rules[last:behind]))


def _goes_on(one: InferredConstraint, other: InferredConstraint) -> bool:
    """Say whether a rule goes on where the one before it ended: behind a semicolon, or of the same thing."""
    is_near = other.start - one.stop <= _GAP and one.number is None and other.number is None
    return is_near and (one.text.endswith((";", "；")) or _refers_back(other.text))


@lru_cache(maxsize=4_096)
def _refers_back(text: str) -> bool:
    return _REFERS_BACK.search(plain(text)) is not None


@lru_cache(maxsize=4_096)
def _words_of(text: str, kind: InferredKind) -> tuple[frozenset[str], bool]:
    """Return the words a rule is compared by, and whether it forbids.

    >>> words, forbids = _words_of("SAFETY RULE: Keep latex away from the prep counter at all times.", "duty")
    >>> (*sorted(words), forbids)
    ('counter', 'latex', 'prep', True)
    """
    subject, said = subject_of(text, kind), plain(text)
    words = _LABEL.sub("", said, count=1)
    forbids = subject.forbids or _KEEPS_OFF.search(words) is not None
    if forbids:
        words = _KEEPS_OFF.sub(r" \1 ", words)
        for pattern, word in _ONE_WORD:
            words = pattern.sub(word, words)
    if words != said:
        subject = subject_of(words, kind)
    # A mark of a family is no word somebody said; what was chosen of it is.
    found = {word for word in (*subject.words, *subject.values, *subject.context) if word not in _EMPTY and word[0] != "~"}
    if "external" in found and "tell" in found:
        # Who tells outsiders sends it outside.
        found = found - {"tell"} | {"send"}
    return frozenset(found), forbids

"""What a rule is about, and which of several rules still stand. A later rule ends an earlier one on the same subject, and no other."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from langchain_ctxguard.core.said import plain
from langchain_ctxguard.domain.inferred import InferredConstraint, InferredKind

_FAMILIES: dict[str, tuple[tuple[str, ...], ...]] = {
    "indent": (("tab", "制表符"), ("space", "空格"), ("indentation", "indent", "缩进")),
    "quotes": (("double quote", "双引号"), ("single quote", "单引号")),
    "language": (
        *(("english", "英文", "英语"), ("chinese", "mandarin", "中文", "汉语"), ("japanese", "日文", "日语"), ("french", "法语"), ("german", "德语")),
        *(("spanish", "西班牙语"), ("korean", "韩语"), ("russian", "俄语"), ("portuguese",), ("italian",)),
    ),
    "code": (("python",), ("typescript",), ("javascript",), ("golang",), ("rust",), ("kotlin",), ("java",)),
    "format": (("json",), ("yaml",), ("toml",), ("xml",), ("csv",), ("markdown",), ("plain text", "纯文本")),
    "database": (("postgresql", "postgres"), ("mysql",), ("sqlite",), ("mariadb",), ("mongodb",), ("oracle",)),
    "packages": (("pip",), ("poetry",), ("conda",), ("npm",), ("yarn",), ("pnpm",)),
    "history": (("rebase",), ("merge",), ("squash",)),
    "units": (("metric",), ("imperial",)),
    "scheme": (("https",), ("http",)),
    "day": (
        *(("monday", "周一", "星期一"), ("tuesday", "周二", "星期二"), ("wednesday", "周三", "星期三"), ("thursday", "周四", "星期四")),
        *(("friday", "周五", "星期五"), ("saturday", "周六", "星期六"), ("sunday", "周日", "周天", "星期日", "星期天")),
    ),
}
"""Things of which a person means one: naming another is a change of mind. The last group of `indent` only names the family."""

_MEMBERS = {word: (family, group[0]) for family, groups in _FAMILIES.items() for group in groups for word in group}
_EXCLUSIVE = frozenset({"indent", "quotes", "language", "history", "units", "day"})
"""Families of which one member holds at a time. Of the others (two languages of code, two formats) several may, unless a change is said."""

_OPEN = frozenset(group[0] for family, groups in _FAMILIES.items() if family not in _EXCLUSIVE for group in groups)
_FAMILY_NAMES = frozenset({"indentation"})
_FAMILY_WORD = re.compile(
    "|".join(rf"(?<![a-z0-9]){re.escape(word)}s?(?![a-z0-9])" if word.isascii() else word for word in sorted(_MEMBERS, key=len, reverse=True))
)
_NOISE = frozenset(
    # One word list reads better than a hundred quoted strings.
    """
    a an the this that these those all any every each some no not never ever don't do dont does must mustn't should shouldn't shall will would can
    can't cannot could may might have has to be is are am was were you your i i'd i'm we our it its they me my us them please always only make
    sure ensure
    that's from now on going forward henceforth future again also just so and or but then actually rather instead of than stop avoid refrain
    using use uses used go prefer stick choose pick switch under circumstances circumstance forbidden prohibited allowed permitted really very
    strictly absolutely too want need said told as like let's rule agreement item number remember important note again keep
    """.split()  # noqa: SIM905
)
_CONTEXT = frozenset(
    # One word list reads better than thirty quoted strings.
    "for in on when before after during while unless until without if within outside inside via with by against between except whenever".split()  # noqa: SIM905
)
_COMPARES = frozenset("under below above over than more fewer less most least exceed exceeding max maximum min minimum".split())  # noqa: SIM905
_SETS = re.compile(
    r"\b(?:use|using|be|is|are|answer|reply|respond|write|keep|limit|set|prefer|stick|go with|speak|at most|at least|under|over)\b|"
    r"[用是为等保设]|回答|回复|不超过|最多|至少|改成"
)
_ADDS = re.compile(
    r"\b(?:support|include|test|cover|check|cc|copy|add|and|handle|order|ticket|issue|case|invoice|user|account|booking|section|line|row|"
    r"file)s?\b|支持|包含|包括|检查|兼容|测试|订单|抄送|和|条"
)
_NOISE_ZH = re.compile(
    r"从现在起|从现在开始|从今以后|从今往后|任何情况下|绝对不能|千万不要|不允许|不可以|只允许|绝不能|而不是|以后|今后|往后|禁止|严禁|不得|不准|"
    r"不许|不要|不能|不可|请勿|切勿|只能|仅限|只许|只用|必须|务必|一定要|"
    r"一定|确保|保证|一律|始终|总是|永远|千万|绝对|绝不|决不|坚决|所有|全部|任何|每个|每次|不对|应该|改用|换用|换成|改成|改为|使用|采用|代替|"
    r"取代|替代|不是|而是|更喜欢|偏好|倾向于|"
    r"请|别|勿|都|也|再|要|就|先|的|了|是|为|用|你们|我们|你|我|您|把|将|被|来|去|这次|暂时|本次|记住|注意|现在"
)
_ALIASES = {"reply": "answer", "respond": "answer", "回复": "回答", "答复": "回答"}
_TOKEN = re.compile(r"[a-z0-9][\w./@#:+'-]*|[\u3400-\u9fff]+|~[a-z]+=[a-z0-9 \u3400-\u9fff]+;", re.ASCII)
_CHANGES = re.compile(r"\b(?:from now on|going forward|from here on|instead|now|only)\b|从现在|以后|今后|改用|只")
_FROM_NOW_ON = re.compile(r"\b(?:from now on|going forward|from here on|in (?:the )?future|under no circumstances?|at all times|for now|this time)\b")
_CLOSING = ".,:;'!?-"
_REPLACED = re.compile(
    r"(?:instead of|rather than|in place of|, (?:and )?not|over|stop using|(?:do not|don't|never) use) ([^,;.!]{1,60}?)(?=\s*(?:[,;.!]|$|\buse\b|"
    r"\bgo with\b))|"
    r"\bnot ([^,;.!]{1,40}?),? but\b|switch from ([^,;.!]{1,40}?) to\b|"
    r"(?:别用|不要用|不要再用|别再用|不用|而不是|而非|代替|取代|替代|[，,]\s*不是)([^，,。！!；;]{1,20}?)(?=[，,。！!；;]|改用|用|$)|"
    r"不是(?:用)?([^，,。]{1,20}?)[，,]?而是"
)
_ITEM = re.compile(
    r"^\W*(?:(?:change|update|amend|replace)\s+)?(?:rule|agreement|item|point|条款|规则|约定|"
    r"第)?\s*#?[\d一二三四五六七八九十①-⑳]{1,3}\s*[条点项]?\s*[.)、）:：]?\s*(?:is now|becomes|改成|改为|变成|现在是|to)?[:：]?\s*"
)
_AMENDS = re.compile(
    r"^\W*(?:(?:change|update|amend|replace)\s+)?(?:rule|agreement|item|point)\s+#?\d{1,3}\s*(?:is now|becomes|to|with|now|:)|"
    r"^\W*(?:第\s*[\d一二三四五六七八九十]{1,3}\s*[条点项]|(?:规则|约定|条款)\s*[\d一二三四五六七八九十]{1,3})\s*(?:改成|改为|变成|现在是|换成|[:：])"
)
_BANS = re.compile(
    r"\b(?:never|don't|do not|dont|not|no|mustn't|shouldn't|can't|cannot|avoid|refrain|stop|forbidden|prohibited)\b|"
    r"禁止|严禁|不得|不准|不许|不允许|不可以|请勿|切勿|不要|别(?!忘)|不能|不可|勿|绝不|决不"
)


class Subject(NamedTuple):
    """What a rule is about, in words that compare."""

    words: frozenset[str]
    """Verb and object; of a family its name."""

    values: frozenset[str]
    """What was chosen of a family, and the amounts: another one is a change, no other subject."""

    context: frozenset[str]
    """Where or when it holds."""

    forbids: bool
    is_change: bool = False
    """The rule says itself that something changes: `instead`, `from now on`."""

    replaced: tuple[Subject, ...] = ()
    """What the rule itself says it replaces."""

    @property
    def key_words(self) -> tuple[str, ...]:
        """All of it, sorted."""
        return tuple(sorted(self.words | self.values | self.context))


@lru_cache(maxsize=4_096)
def subject_of(text: str, kind: InferredKind) -> Subject:
    """Return the subject of a rule.

    >>> sorted(subject_of("Never push to main.", "ban").words)
    ['main', 'push']
    """
    words = plain(text)
    replaced: tuple[Subject, ...] = ()
    if kind in {"correction", "preference", "agreement"}:
        parts = [next(filter(None, found.groups())) for found in _REPLACED.finditer(words)]
        replaced = tuple(_read(part, forbids=False) for part in parts)
        words = _REPLACED.sub(" ", words)
    forbids = kind == "ban" or (kind == "agreement" and _BANS.search(words) is not None)
    if kind == "agreement":
        words = _ITEM.sub("", words, count=1)
    is_change = kind == "correction" or _CHANGES.search(words) is not None
    return _read(words, forbids=forbids)._replace(is_change=is_change, replaced=replaced)


def _read(words: str, *, forbids: bool) -> Subject:
    is_setting = _SETS.search(words) is not None and _ADDS.search(words) is None
    is_capped = forbids and _ADDS.search(words) is None and any(word in _COMPARES for word in words.split())
    marked = _FAMILY_WORD.sub(_family_mark, _FROM_NOW_ON.sub(" ", words))
    subject: set[str] = set()
    values: set[str] = set()
    context: set[str] = set()
    into = subject
    for token in _TOKEN.findall(marked):
        if token.startswith("~"):
            family, _, member = token[1:-1].partition("=")
            if into is context and not is_setting:
                context.add(member)
                continue
            subject.add(f"~{family}")
            if member not in _FAMILY_NAMES:
                values.add(member)
        elif token[0].isascii():
            word = token.rstrip(_CLOSING)
            if word in _CONTEXT:
                into = context
            elif _is_amount(word) and (is_setting or is_capped):
                values.add(word)
            elif word and word not in _NOISE and word not in _COMPARES:
                into.add(_stem(word))
        else:
            subject.update(_han(token))
    return Subject(frozenset(subject), frozenset(values), frozenset(context), forbids)


def _family_mark(found: re.Match[str]) -> str:
    word = found[0]
    family, member = _MEMBERS[word] if word in _MEMBERS else _MEMBERS[word.removesuffix("s")]
    return f" ~{family}={member}; "


def _is_amount(word: str) -> bool:
    return word.replace(".", "").replace(",", "").isdigit()


def _stem(word: str) -> str:
    word = _ALIASES.get(word, word)
    if any(map(str.isdigit, word)) or "/" in word or "." in word:
        return word
    if len(word) > 4 and word.endswith("ing"):  # noqa: PLR2004 - `ring` is a word
        word = word.removesuffix("ing")
    elif len(word) > 3 and word.endswith("s") and not word.endswith("ss"):  # noqa: PLR2004 - `gas`, `bus`
        word = word.removesuffix("s")
    return word.removesuffix("e") if len(word) > 4 else word  # noqa: PLR2004 - `writing` and `write` are one


def _han(run: str) -> Iterator[str]:
    for part in _NOISE_ZH.sub(" ", run).split():
        alias = _ALIASES.get(part, part)
        yield from map("".join, pairwise(alias)) if len(alias) > 1 else (alias,)


def superseding(rules: Iterable[InferredConstraint]) -> tuple[InferredConstraint, ...]:
    """Return the rules that stand, in the order they were said.

    A later rule ends an earlier one that says the same, the opposite of the same, or another value for the same; that it names as replaced
    ("not X but Y"); or that is the agreement of the number it changes. A temporary wish ends no lasting rule. A confirmed rule is ended by a
    person only, and a dropped one is kept and ends nothing.
    """
    board = _Board()
    for rule in sorted({rule.inferred_id: rule for rule in rules}.values(), key=lambda rule: (rule.position, rule.start)):
        board.put(rule)
    return tuple(board.standing.values())


_Judge = Callable[[Subject, Subject], bool]


class _Entry(NamedTuple):
    rule: InferredConstraint
    subject: Subject


class _Board:
    """The rules that stand so far, found by subject."""

    def __init__(self) -> None:
        self.standing: dict[str, InferredConstraint] = {}
        self._by_subject: defaultdict[frozenset[str], defaultdict[frozenset[str], list[_Entry]]] = defaultdict(lambda: defaultdict(list))
        self._by_number: dict[int, _Entry] = {}
        self._by_text: dict[str, InferredConstraint] = {}

    def put(self, rule: InferredConstraint) -> None:
        """Add a rule said after all others; what it ends is taken away."""
        if rule.status == "dropped":
            self.standing[rule.inferred_id] = rule
            return
        entry = _Entry(rule, subject_of(rule.text, rule.kind))
        self._end_agreement(entry)
        if entry.subject.words:
            self._end(entry, entry.subject, _is_ended_by)
        else:
            self._end_repeated(rule)
        for replaced in entry.subject.replaced:
            if replaced.words:
                self._end(entry, replaced, _is_replaced_by)
        self.standing[rule.inferred_id] = rule
        if rule.kind == "agreement" and rule.number is not None:
            self._by_number[rule.number] = entry
        if entry.subject.words:
            self._by_subject[entry.subject.words][entry.subject.context].append(entry)

    def _end_repeated(self, new: InferredConstraint) -> None:
        """End an earlier rule in the same words: it is quoted once, wherever its subject cannot be told."""
        words = " ".join(plain(new.text).split())
        old = self._by_text.get(words)
        if old is not None and old.status == "inferred" and (old.expires_with_task or not new.expires_with_task):
            self.standing.pop(old.inferred_id, None)
        self._by_text[words] = new

    def _end_agreement(self, new: _Entry) -> None:
        number = new.rule.number
        old = self._by_number.get(number) if number is not None else None
        if old is None or new.rule.kind != "agreement":
            return
        mine, its = new.subject.words, old.subject.words
        is_restated = bool(mine and its) and len(mine & its) * 2 > min(len(mine), len(its)) and old.rule.source != new.rule.source
        if _AMENDS.match(plain(new.rule.text)) or is_restated:
            self._remove(new, old)

    def _end(self, new: _Entry, subject: Subject, is_ended: _Judge) -> None:
        places = self._by_subject.get(subject.words)
        if places is None:
            return
        contexts = [subject.context]
        if new.rule.kind == "correction":
            # "Use spaces instead" names no place: it speaks of the rule at hand.
            contexts = list(places) if not subject.context else [subject.context, frozenset()]
        for context in contexts:
            for old in list(places.get(context, ())):
                if is_ended(old.subject, subject) and self._remove(new, old):
                    places[context].remove(old)

    def _remove(self, new: _Entry, old: _Entry) -> bool:
        if old.rule.status == "confirmed" or (new.rule.expires_with_task and not old.rule.expires_with_task):
            return False
        return self.standing.pop(old.rule.inferred_id, None) is not None


def _is_ended_by(old: Subject, new: Subject) -> bool:
    """Say whether a rule ends one about the same words: the opposite or the same of the same, or another value where one is chosen."""
    if old.forbids or new.forbids:
        return old.values == new.values
    return new.is_change or not (old.values ^ new.values) & _OPEN


def _is_replaced_by(old: Subject, named: Subject) -> bool:
    """Say whether a rule is the one that was named as replaced."""
    return not old.forbids and old.values == named.values

"""Statements told by the shape of their value: an address, a programming language, a day of the week, a code, a commit, a channel.

However a sentence is put, a value of a shape is an attribute of what its clause speaks of besides: "Send the weekly report on Monday" and "Weekly
report day: Thursday" give the weekly report a day. What is asked for once, added, told of the past or given to two at once states nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from langchain_ctxguard.core.attribute_forms import Statement
from langchain_ctxguard.core.attribute_words import CODE, DULL, DULL_HAN, WEEKDAYS

_HAN = re.compile(r"[\u3400-\u9fff]")
_CLAUSE = re.compile(r"[,，;；。]\s*|\s[-–—]\s(?=\w+ )|\s(?:because|since|so that|so|but)\s|\.\s")
_FRONTED = re.compile(
    r"^(?P<said>(?:\W|[A-Z][A-Za-z]*(?:[ _-][A-Z][A-Za-z]*){0,3}:\s|please|and|but|so|also|now|ok|okay)*(?:for|in|on|at|with|within|during|to|inside"
    r"|regarding|about|as for)\b[^,;:]{2,40}),(?= )|^(?P<han>(?:给|对|在|关于|至于|为|针对)[^，。；]{1,16})，",
    re.IGNORECASE,
)
"""A place or a person that a sentence names first belongs to what follows."""

_DENIED = re.compile(
    r"\b(?:no|nor|neither|avoid|avoiding|without|except|excluding|stop|skip|drop|hates?|dislikes?|hardly|anything but)\b|[不别勿]|除了|避免|少用",
    re.IGNORECASE,
)
_THEIRS = re.compile(r"\b(?:they|them|their|theirs)\b", re.IGNORECASE)
_HIS = re.compile(r"\b(?:he|she|him|his|hers?)(?:['’](?:d|s|ll))?\b|[他她]", re.IGNORECASE)
"""Who somebody is may be said in another clause than what is theirs."""

_MOST_WORDS = 5
_ONCE = re.compile(
    r"\b(?:just this|this once|this time|for once|one time|once|only today|for today|tomorrow|tonight|today|this (?:week|month|one|sprint)"
    r"|next (?:week|month|time)|temporarily|for now|until|for comparison"
    r"|(?:an?|one|this|that|another|the (?:first|second|third|last|next)) (?:[\w+#-]+ )?(?:example|sample|snippet))\b"
    r"|这次|本次|这回|本周|这周|下周|明天|今天|今晚|临时|暂时|一次",
    re.IGNORECASE,
)
_ADDED = re.compile(
    r"\b(?:also|as well|too|additionally|another|besides|in addition|plus|both|either|mirrors?|extra|again)\b|[也还]|另外|同时|再加|以及|都",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"\b(?:was|were|had|did|got|last (?:year|month|week|time|quarter)|yesterday|previously|formerly|ago|back then|earlier|returned|failed|crashed"
    r"|broke|timed out)\b|去年|上周|上个?月|以前|之前|原来|昨天|曾|当时|报错|失败",
    re.IGNORECASE,
)
_ASKED_FOR = re.compile(
    r"(?:\W|please|could you|can you|now|then|and|let['’]s|you should|i want you to|go and|请|帮我|麻烦)*"
    r"(?:check|look|see|review|open|read|fetch|test|fix|revert|debug|compare|call|try|visit|download|investigate|explain|summari[sz]e|list|find|get|grab|pull"
    r"|cherry-pick|bisect|translate|convert|port|rewrite|refactor|run|build|merge|delete|remove|add|create|install|ask|tell|remind|book|cancel|order|buy|quote|cite"
    r"|查|看|读|打开|测试|修复|回滚|比较|翻译|删除|添加|创建|安装|提醒|取消|解释|总结)\b",
    re.IGNORECASE,
)
_GIVEN_UP = r"(?:instead of|rather than|in place of|not|no longer|from|over|stop using|away from|而不是|而非|不是|不再是|从)\s*(?:the )?"
_STATING = frozenset(
    # One word list reads better than a hundred quoted strings.
    """
    is are be been being am will would should must shall can may do does has have having goes go going gone comes come coming runs run
    running lives live sits sit stays stay remains use used uses using take takes put puts set sets keep make makes give gives given show
    shows write writes written send sends sent post posts posted posting publish published deliver delivered hold held do done get gets want
    wants wanted need needs prefer prefers like likes let lets move moves moved moving change changes changed changing switch switched
    switches point points pointed reach reached reachable find found serve served hosted host call called named as at in on to of for from
    by with into onto over under via out up off it its this that these those there here now instead please the a an and or we you i he she
    they me us him her them my our your their his user users team everyone actually ok okay fyi update note correction going forward i'd
    i'll i'm we're we'll it's that's let's due every each all any new current still already just only right talks talk located available
    target everything anything thing new updated default says per when then where also after about
    """.split()  # noqa: SIM905
)
_FOR_US = re.compile(r"\bfor (?:this user|me|us|the user|the team|everyone)\b", re.IGNORECASE)
_LEAD = re.compile(r"(?:\s|[-*•·]|[A-Z][A-Za-z]*(?:[ _-][A-Z][A-Za-z]*){0,3}:(?=\s))*")
_STATING_HAN = re.compile(
    r"改成|改为|改到|改用|改在|换成|换到|换为|定在|定为|设为|设在|调到|调整|变成|变为|移到|搬到|指向|使用|采用|现在|以后|今后|从现在起|统一|记得|请|一律|一直|默认|的时间|时间|的"
    r"|[是为在用于到发成就给写了吧每：:，,。“”\"]|每周|每个"
)


class _Shape(NamedTuple):
    """How values of one head look."""

    head: str
    value: re.Pattern[str]
    given_up: re.Pattern[str]
    """A value that the words before it say is none any more."""

    sign: re.Pattern[str]
    """What the clause has besides."""

    hint: str
    """What stands in every value: a cheap look before the search."""

    dull: frozenset[str]
    """Words that say of such a value only what it is."""

    is_of_something: bool
    """A value that nothing is said to be of is none."""


def _shape(head: str, value: str, sign: str, dull: str, *, hint: str = "", is_of_something: bool = True) -> _Shape:
    given_up = re.compile(rf"\b{_GIVEN_UP}(?:{value})")
    return _Shape(head, re.compile(value), given_up, re.compile(sign, re.IGNORECASE), hint, frozenset(dull.split()), is_of_something)


_SHAPES = (
    _shape(
        "cloud region",
        r"(?<![\w./-])(?:(?:[a-z]{2,4}-){1,2}(?:north|south|east|west|central)(?:east|west)?(?:-?\d|-[a-z])?|(?:cn|ap)-[a-z]{4,10}(?:-\d)?)(?![\w/])",
        r"-",
        "region zone deploy deployed deployment server instance stored 区域 地域 部署 服务器",
        hint="-",
    ),
    _shape(
        "url",
        r"https?://[^\s,;()<>\"'，。；“”]{3,120}?(?=[.]?(?:$|[\s,;)，。；“”]))",
        r"\b(?:url|endpoint|api|base|webhook|dashboard|address|site|portal|registry|proxy)\b|地址|接口|网址|链接|端点",
        "url base endpoint address api root service 地址 接口 网址 链接 端点",
        hint="://",
    ),
    _shape(
        "host name",
        r"(?<![\w./@-])(?:[a-z0-9][a-z0-9-]*\.){2,}[a-z]{2,}(?![\w/@-])",
        r"\b(?:host|server|machine|dns|smtp|broker|gateway|database|db|redis|ldap|ntp|printer|at)\b|主机|服务器|数据库",
        "host server machine hostname name 主机 服务器 地址",
        hint=".",
    ),
    _shape(
        "code language",
        rf"(?<![\w./-])(?:{CODE})(?![\w+#/-])",
        r"\b(?:examples?|samples?|snippets?)\b|示例|例子|样例|范例",
        "code example sample snippet language programming source illustration 示例 例子 样例 范例 代码 语言",
        is_of_something=False,
    ),
    _shape(
        "day",
        rf"\b(?:{WEEKDAYS})s?\b|(?:周|星期|礼拜)[一二三四五六日天]",
        r"\b(?:weekly|biweekly|fortnightly|every|each|day)\b|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days\b|每周|每个|周报|周会|例会",
        "day morning afternoon evening 周",
    ),
    _shape(
        "commit",
        r"(?<![\w/-])(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}(?![\w-])",
        r"\b(?:commit|head|based|branched|revision|sha|build)\b|提交|版本",
        "commit revision sha branch work working 提交 版本 我们 代码",
    ),
    _shape(
        "code",
        r"(?<![\w./#-])(?=[\w-]*\d)[A-Za-z0-9][\w-]{2,30}(?![\w-])",
        r"\b(?:contact|access|door|gate|entry|alarm|vault|safe|dial-in|cost|project|member|membership|voucher|discount|promo|booking|pick-?up|customer|supplier"
        r"|building|room|keypad) code\b|\bpass ?code\b|(?:门禁|联系|会员|验证|访问|优惠|邀请)码|密码|编号",
        "code confirmation correspondence",
    ),
    _shape(
        "channel",
        r"(?<![\w/#])#[a-z][\w-]{2,40}",
        r"\b(?:channel|post|posts|posted|goes|go|send|sent|digest|alerts?|notifications?|updates?|target)\b|频道|群|发到|通知",
        "channel 频道 群",
        hint="#",
    ),
)
SHAPED = frozenset(shape.head for shape in _SHAPES)
"""The heads that are told by their values: there is one of each at a time."""


def by_value(sentence: str, *, is_change: bool) -> Iterator[Statement]:
    """Yield what the values of a sentence are stated of.

    >>> [(one.head, sorted(one.about), one.value) for one in by_value("Send the weekly report on Friday.", is_change=False)]
    [('day', ['report', 'weekly'], 'Friday')]
    """
    shapes = [shape for shape in _SHAPES if shape.hint in sentence and shape.sign.search(sentence) and shape.value.search(sentence)]
    if not shapes or _ONCE.search(sentence) or _ADDED.search(sentence) or _HIS.search(sentence):
        return
    whole = _FRONTED.sub(lambda found: found["said"] or found["han"], sentence)
    clauses = [clause for clause in _CLAUSE.split(whole) if clause]
    for shape in shapes:
        bare = (shape.given_up.sub(" ", clause) for clause in clauses if not _PAST.search(clause))
        holding = [clause for clause in bare if shape.value.search(clause)]
        if len(holding) != 1:
            continue
        (clause,) = holding
        values = set(shape.value.findall(clause))
        if len(values) != 1 or _ASKED_FOR.match(clause) or _is_of_others(clause) or not shape.sign.search(clause):
            continue
        (value,) = values
        about = _about(clause.replace(value, " "), shape)
        if about is not None:
            yield Statement(shape.head, about, value, is_change)


def _is_of_others(clause: str) -> bool:
    """Say whether a clause tells what is not wanted, or what somebody else has."""
    return _DENIED.search(clause) is not None or _THEIRS.search(clause) is not None


def same_value(one: str, other: str) -> bool:
    """Say whether two values of a shape are one, spelled in two ways.

    >>> same_value("Mondays", "monday"), same_value("https://a.example/", "https://a.example"), same_value("Go", "Rust")
    (True, True, False)
    """
    return _spelled(one) == _spelled(other)


def _spelled(value: str) -> str:
    plain = value.casefold().rstrip("/")
    plain = re.sub(r"^(?:星期|礼拜)(?=.$)", "周", plain).replace("周天", "周日")
    return {"golang": "go"}.get(plain, plain.removesuffix("s") if plain.endswith("days") else plain)


def _about(rest: str, shape: _Shape) -> frozenset[str] | None:
    """Return what a clause speaks of besides a value; `None` where that is too much or too little."""
    rest = _FOR_US.sub(" ", rest)
    lead = _LEAD.match(rest)
    if lead is not None and lead.end() < len(rest.rstrip(" :")):
        rest = rest[lead.end() :]
    words = re.findall(r"[A-Za-z][\w'’-]*|\d[\w-]*", re.sub(r"['’]s\b", "", rest))
    about = {_singular(word.lower()) for word in words if word.lower() not in _STATING and word.lower() not in DULL} - shape.dull
    if _HAN.search(rest):
        han = "".join(_HAN.findall(DULL_HAN.sub("", _STATING_HAN.sub("", rest))))
        for word in shape.dull:
            han = han.replace(word, "")
        about |= {han} if han else set()
    if len(about) > _MOST_WORDS or (shape.is_of_something and not about):
        return None
    return frozenset(about)


def _singular(word: str) -> str:
    word = {"based": "base", "branched": "base", "db": "database"}.get(word, word)
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word  # noqa: PLR2004 - `gas`, `bus`

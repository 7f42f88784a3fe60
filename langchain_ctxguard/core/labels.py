"""What a value is the value of, whether two labels name one thing, and what the words around a value say about the value before it."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from langchain_ctxguard.core.field_matter_words import TELLERS
from langchain_ctxguard.core.field_patterns import stands_in

# Heads of labels: every word of a row names the same thing.
_HEADS = (
    "deadline|due date|cut-off|cutoff|截止日期|截止时间|截止日|截止|最后期限|期限|交稿日",
    "budget|budget cap|budget ceiling|spending|spend|spending cap|spending ceiling|spending limit|expenses|expenditure|预算|经费|花费|开销|支出",
    "delivery date|delivery|delivered by|交付日期|交付时间|交货期|交期|交货日期|交货|送达|到货日期|到货",
    "start date|start|kick-off|kickoff|启动时间|启动|开工日期|开工|开始时间|起始日期|开始日期|生效日期|生效",
    "end date|end|finish date|结束时间|结束日期|到期日|到期|有效期",
    "launch date|launch|go-live|上线时间|上线日期|上线|发布时间|发布日期|发布",
    "release date|release|ship date|shipping date",
    "meeting|review|appointment|会议时间|会议|评审|开会|例会|面试|预约",
    "check-in|arrival|入住|到店|抵达",
    "check-out|departure|退房|离店|出发|departs",
    "total price|total|total amount|总价|总额|合计|总金额|合同额|总共",
    "unit price|unit cost|单价",
    "price|cost|报价|价格|价钱|售价|费用",
    "down payment|deposit|定金|订金|押金|首付|保证金",
    "rent|房租|租金|月租",
    "salary|wage|月薪|年薪|工资|薪资",
    "shipping|freight|运费",
    "discount|折扣|优惠",
    "tax rate|vat|税率|税点",
    "interest rate|interest|利率|年化",
    "fee|手续费|服务费",
    "refund|退款|退款金额",
    "payment terms|payment term|terms|付款条件|付款方式|账期|付款",
    "phone number|phone|mobile|telephone|电话|手机号|手机|联系电话|热线",
    "email address|email|e-mail|mail|邮箱|邮件",
    "iban|收款账号",
    "timeout|超时|超时时间",
    "retention|保留期|保留",
    "duration|length|时长|工期|周期",
    "lead time|交付周期|备货期",
    "warranty|质保|质保期|保修期",
    "temperature|温度|水温|体温|室温",
    "quantity|amount ordered|数量|份数|件数",
    "headcount|guests|attendees|人数|参会人数",
    "size|area|面积|尺寸",
    "weight|重量|毛重|净重",
    "version|版本|版本号",
    "server|host|服务器|主机|地址",
    "endpoint|url|link|链接|网址|接口地址",
    "path|file|目录|路径|文件",
    "project name|project|项目名称|项目名|项目",
    "rate|error rate|比例|费率|错误率|良率",
    "limit|cap|ceiling|maximum|上限|额度|限额",
    "threshold|阈值",
    "share|份额|占比",
    "rate limit|限流",
    "term|contract term|租期|合同期",
    "dose|剂量|用量",
    "window|maintenance window|窗口|割接时间|时段",
    "amount|金额|数额",
    "date|日期|日子|婚期|档期",
    "time|时间",
)
_OF_MANY = frozenset(
    [
        *(
            "phone number",
            "email address",
            "server",
            "endpoint",
            "path",
            "price",
            "unit price",
            "size",
            "weight",
            "duration",
            "time",
            "date",
            "amount",
        ),
        *(
            "temperature",
            "quantity",
            "total price",
            "fee",
            "rate",
            "discount",
            "check-in",
            "check-out",
            "headcount",
            "share",
            "start date",
            "end date",
        ),
    ]
)
"""Heads of labels that any number of things have at once."""

_HEAD_OF = {word: row.split("|", 1)[0] for row in _HEADS for word in row.split("|")}
_EN_HEADS = sorted((word for word in _HEAD_OF if word.isascii()), key=len, reverse=True)
_ZH_HEADS = sorted((word for word in _HEAD_OF if not word.isascii()), key=len, reverse=True)
_HEAD = re.compile(r"\b(?:" + "|".join(map(re.escape, _EN_HEADS)) + r")\b|(?:" + "|".join(_ZH_HEADS) + ")", re.IGNORECASE)
_ZH_BEFORE = re.compile(r"([\u4e00-\u9fff]{1,4})$")
_HEAD_WORDS = frozenset(word.split()[-1] for word in _EN_HEADS)
_POINTED = re.compile(r"[,.:;=()\[\]{}\"'`*_]").search
_LAST_CHARACTERS = frozenset(word[-1] for word in _ZH_HEADS)
_EDGES = ",.:;=()[]{}\"'`*_"
_LINKS = frozenset({" ", "的", "作"})
_BEGINS = frozenset(word.split()[0] for word in _EN_HEADS) | {"is", "as", "will"}
_PERIODIC = frozenset(["monthly", "weekly", "daily", "yearly", "hourly", "quarterly", "early", "family", "assembly", "supply"])
_ARTICLES = frozenset(["the", "a", "an", "our", "my", "your", "his", "her", "their", "its"])
_COPULAS = frozenset(["is", "was", "are", "were", "be", "becomes", "become", "stays", "remains", "equals", "=", ":", "to", "at"]) - {"to", "at"}
_LABELLING = f"(?i)(?:^|[^a-z])(?:{'|'.join(sorted(map(re.escape, _HEAD_WORDS | _COPULAS - {'=', ':'})))})(?:[^a-z]|$)|[:=]"
"""What the words before a value must hold to say what it is the value of."""

_MARK = re.compile(r"[\n,;!?。，；！？]|\. ").search
"""What ends the clause before."""

_AFTER = re.compile(r" (?:(?:is|as|will be) (?:the |our |my )?(?:new )?)?|的|作为")
_DULL = frozenset(
    [
        "the",
        "a",
        "an",
        "our",
        "my",
        "your",
        "his",
        "her",
        "their",
        "its",
        "this",
        "that",
        "these",
        "those",
        "new",
        "old",
        "current",
        "updated",
        "latest",
        "final",
        "is",
        "was",
        "are",
        "be",
        "change",
        "move",
        "set",
        "raise",
        "lower",
        "extend",
        "push",
        "update",
        "make",
        "put",
        "keep",
        "and",
        "but",
        "so",
        "then",
        "please",
        "now",
        "with",
        "for",
        "of",
        "to",
        "in",
        "on",
        "at",
        "by",
        "from",
        "let",
        "us",
        "we",
        "i",
        "you",
        "it",
        "same",
        "actual",
        "correct",
        "right",
        "wrong",
        "whole",
        "full",
        "about",
        "also",
        "only",
        "just",
        "still",
        "remember",
        "important",
        "note",
        "change",
        "increase",
        "decrease",
        "reduce",
        "cut",
        "shift",
        "no",
        "wait",
        "sorry",
        "actually",
        "oh",
        "ok",
        "okay",
        "well",
        "hmm",
        "hi",
        "correction",
        "first",
        "will",
        "would",
        "shall",
        "should",
        "must",
        "can",
        "may",
        "has",
        "have",
        "been",
    ]
)
_ZH_DULL = re.compile(
    rf"^(?:{TELLERS}|请|麻烦|劳驾|帮忙|帮我|把|将|那|那么|现在|目前|最新|新的?|我们的?|我的?|你的?|这个|那个|的|和|与|及|并|再|先|就|记住|注意|另外|还有|然后|对了|不|老的?"
    r"|原来的?|原|是|改|了|到|在|给)+"
)
_ZH_COPULA = re.compile(r"([\u4e00-\u9fff]{2,8}?)(?:现在|目前)?(?:是|为|改成|改为|定在|定为|调整为|变成|:|：|=)(?:在|约|大概|大约|了)? ?$")
_REACH = 48

_BEFORE = (
    r"(?:\b(?:now|instead|rather|mov(?:ed?|es|ing)(?: \w+){0,3} (?:to|up to|back to)|chang(?:e|ed|ing)(?: [\w'-]+){0,5} to|(?:rais|lower|reduc"
    r"|increas|decreas|extend|push|updat|shift|cut|bump|switch|correct|adjust|set|renam|"
    r"reschedul|postpon|amend|revis)\w*(?: [\w'-]+){0,5} (?:to|at|until|till)|becomes|make (?:it|that)|should (?:be|read)|correction|corrected"
    r"|actually|no longer [^,.;]{1,30}[,;]? (?:but|it['’]s)|but(?: rather)?|"
    r"turns out(?: to be)?|scratch that|(?:went|goes|gone|is|moves|jumps|drops?) (?:back )?(?:up|down) to|rotated(?: to)?|go with|sorry"
    r"|I mean[t]?|my mistake|typo|new(?: [\w-]+){0,3}(?: is|:)?|slipped to|brought forward to)"
    r"|改成|改为|改到|改做|改用|改订|改在|改|调整为|调整到|调到|调成|调为|上调至|下调至|变更为|变为|变成|换成|换到|推迟到|延期到|延到|延后到"
    r"|顺延到|提前到|挪到|更正为|更正|应为|应该是|现在是|现为|而是|升到|降到|涨到|加到|减到|缩到|提高到|降低到"
    r"|改口|其实是|抱歉|说错了?|写错了?|新的?[\u4e00-\u9fff]{0,4}(?:是|为)?)"
    r"[^。；;!?！？\n]{0,14}$"
)
_CHANGED_BEFORE = re.compile(_BEFORE, re.IGNORECASE)
_CHANGED_AFTER = re.compile(
    r"^[^。；;!?！？\n]{0,6}?(?:\binstead\b|\bnow\b|after all\b|from now on|not (?=[^ ])|rather than|才对|为准|不是)", re.IGNORECASE
)
_FROM_WHAT = r"(?:\bfrom|从|由|原(?:来|定)?(?:是|为)?)\s*$"
_FROM = re.compile(_FROM_WHAT, re.IGNORECASE)
_NOT_WHAT = r"(?:\bnot|isn['’]t|is not|wasn['’]t|no longer|instead of|rather than|不是|并非|不再是|而不是|而非|别再用)\s*(?:the |on |at |in |for )?$"
_NOT = re.compile(_NOT_WHAT, re.IGNORECASE)
_SAYS_CHANGE = (
    f"(?i){_BEFORE}|{_FROM_WHAT}|{_NOT_WHAT}".replace(r"\u4e00-\u9fff", "\u4e00-\u9fff").replace(r"\s", r"[\s\v\x1c-\x1f]").replace("$", r"\n?$")
)
"""All that is looked for before a value at once: in plain ASCII RE2 reads it as `re` does, in one pass."""

_TO = re.compile(
    r"^\s*(?:to|until|->|→|=>|改成|改为|改到|调整为|调到|变更为|变成|换成|涨到|降到|升到|提高到|降低到|推迟到|提前到|延期到|上调至|下调至)\s*$",
    re.IGNORECASE,
)


def label_at(text: str, start: int, stop: int) -> str:
    """Return what the value between `start` and `stop` is the value of, as the text says it; empty where it does not say.

    >>> label_at("The print deadline is now May 3", 26, 31), label_at("年会预算改成5万元", 6, 9)
    ('print deadline', '年会预算')
    """
    left = text[max(0, start - _REACH) : start]
    is_plain = left.isascii()
    if is_plain and not stands_in(_LABELLING, left):
        return _label_after(text, stop)
    cut = -1
    while mark := _MARK(left, cut + 1):
        cut = mark.start()
    if cut >= 0:
        left = left[cut + 1 :]
    # A value that opens its clause has its label behind it: "$500 is the budget".
    return (_plain_label(left) if is_plain else _han_label(left)) or _label_after(text, stop)


def _plain_label(left: str) -> str:
    """Return the label before a value in English: the nearest known word with what qualifies it, else the subject of a copula."""
    words = left.lower().split()
    if not words:
        return ""
    bare = [word.strip(_EDGES) for word in words] if _POINTED(left) else words
    if not _HEAD_WORDS.isdisjoint(bare):
        for at in range(len(words) - 1, max(-1, len(words) - 10), -1):
            word = bare[at]
            if word in _HEAD_WORDS:
                two = f"{bare[at - 1]} {word}" if at else ""
                if two in _HEAD_OF:
                    return _qualified(words, at - 1, two, at)
                if word in _HEAD_OF:
                    return _qualified(words, at, word, at)
    last = words[-1]
    if last in _COPULAS or last[-1] in ":=" or (last in _DULL and len(words) > 1 and words[-2] in _COPULAS):
        kept = [word for word in bare[-6:] if word and word not in _DULL and word not in _COPULAS]
        return " ".join(kept[-2:])
    return ""


def _qualified(words: list[str], first: int, head: str, last: int) -> str:
    kept: list[str] = []
    for word in reversed(words[max(0, first - 2) : first]):
        if word in _DULL or not word.replace("-", "").isalpha() or (word.endswith("ly") and word not in _PERIODIC):
            break
        kept.insert(0, word)
    behind = ""
    if words[last + 1 : last + 2] in (["for"], ["of"]):
        rest = words[last + 2 :]
        while rest and rest[0] in _ARTICLES:
            rest.pop(0)
        end = next(
            (
                place + (word[-1] == ":" != word)
                for place, word in enumerate(rest)
                if word in _COPULAS or word in {"to", "now", "has", "moved", "changed"} or word[-1] == ":"
            ),
            len(rest),
        )
        if 0 < end <= 2 and rest[0] not in _DULL:  # noqa: PLR2004 - a longer phrase is a clause
            behind = " for " + " ".join(word.strip(_EDGES) for word in rest[:end])
    return " ".join((*kept, head)) + behind


def _han_label(left: str) -> str:
    """Return the label before a value in Chinese, or in English inside Chinese text."""
    end = len(left)
    for at in range(end - 1, max(-1, end - 18), -1):
        if left[at] in _LAST_CHARACTERS:
            for size in (6, 5, 4, 3, 2):
                word = left[at + 1 - size : at + 1] if at + 1 >= size else ""
                if word in _HEAD_OF:
                    found = _ZH_BEFORE.search(left, 0, at + 1 - size)
                    return (_ZH_DULL.sub("", found[1]) if found else "").removesuffix("的") + word
    found = _ZH_COPULA.search(left[-14:])
    if found:
        words = _ZH_DULL.sub("", found[1])
        return words if len(words) > 1 else ""
    return _plain_label(left)


def _label_after(text: str, stop: int) -> str:
    """Return a label right behind its value: `5万元的预算`, `$500 budget`, `3 May is the deadline`."""
    mark = text[stop : stop + 1]
    if mark == " ":
        end = text.find(" ", stop + 1, stop + 26)
        if text[stop + 1 : end if end >= 0 else stop + 26].rstrip(_EDGES).lower() not in _BEGINS:
            return ""
    elif mark not in _LINKS:
        return ""
    found = _AFTER.match(text, stop, stop + 40)
    if not found:
        return ""
    for size in (1, 2):
        words = " ".join(re.split(r"[ .,;!?]", text[found.end() : found.end() + 30])[:size]).lower()
        if words in _HEAD_OF:
            return words
    return next((text[found.end() : found.end() + size] for size in (6, 5, 4, 3, 2) if text[found.end() : found.end() + size] in _HEAD_OF), "")


@lru_cache(maxsize=4_096)
def parts_of(label: str) -> tuple[str, frozenset[str]]:
    """Return the head of a label in its one form, and what qualifies it."""
    main, _, behind = label.partition(" for ")
    heads = list(_HEAD.finditer(main))
    if not heads:
        return label, frozenset()
    last = heads[-1]
    head = _HEAD_OF[last.group().lower()]
    # A "launch deadline" is the date of the launch.
    if head in _ANY_DATE and (event := next((found for found in heads[:-1] if _HEAD_OF[found.group().lower()] in _EVENTS), None)):
        main, last, head = main[: last.start()] + main[last.end() :], event, _HEAD_OF[event.group().lower()]
    rest = (main[: last.start()] + " " + main[last.end() :]).replace("-", " ").split()
    qualifiers = frozenset((*rest, *behind.split())) - _DULL - _SAYS_NOTHING
    if behind.endswith((" a", " A")):
        # A letter behind a noun names one of several; before one it would be an article.
        qualifiers |= {"a"}
    if head == "limit" and not qualifiers.isdisjoint(_SPENT):
        head, qualifiers = "budget", qualifiers - _SPENT
    return head, qualifiers


def is_of_many(label: str) -> bool:
    """Say whether a label alone does not tell what it is a value of: every hotel has a price and a phone, a project one deadline.

    >>> is_of_many("电话"), is_of_many("hotel phone"), is_of_many("deadline")
    (True, False, False)
    """
    head, qualifiers = parts_of(label)
    return not qualifiers and head in _OF_MANY


def is_same_label(one: str, other: str) -> bool:
    """Say whether two labels name the same thing: the same head in any of its words, and no two different qualifiers.

    >>> is_same_label("deadline", "截止日期"), is_same_label("print deadline", "talk deadline"), is_same_label("deadline", "print deadline")
    (True, False, True)
    """
    if not one or not other:
        return False
    (head, more), (other_head, other_more) = parts_of(one), parts_of(other)
    return head == other_head and (more <= other_more or more >= other_more)


_SAYS_NOTHING = frozenset(["total", "target", "internal", "overall"])
_SPENT = frozenset(["cost", "costs", "spending", "spend", "expense", "expenses", "budget", "expenditure"])
"""A limit of these is a budget."""

_ANY_DATE = frozenset(["deadline", "date", "time"])
_EVENTS = frozenset(["launch date", "release date", "delivery date", "start date", "end date", "meeting", "check-in", "check-out"])
_ATTRIBUTES = {
    **dict.fromkeys(("codename", "code name", "label", "designation", "代号", "项目代号", "名称"), "codename"),
    **dict.fromkeys(("code", "passcode", "口令", "门禁码", "密码", "password", "pin", "暗号"), "code"),
    **dict.fromkeys(("branch", "分支"), "branch"),
    "commit": "base commit",
}
"""Words for what there is one of at a time: a newer identifier of it takes the place of the old one."""

_ATTRIBUTE = re.compile(
    r"(?:(?P<more>[A-Za-z][A-Za-z'’-]*(?: [A-Za-z][A-Za-z'’-]*)?)[ -])?\b(?P<head>code ?name|label|designation|code|passcode|password|pin"
    r"|branch|commit)\b"
    r"|(?P<verb>\b(?:call(?:ed|ing)?|named|naming|designated|dubbed|known as|renamed?)\b|叫做?|命名为|改名为?)"
    r"|(?P<han>[\u4e00-\u9fff]{0,4})(?P<zh>项目代号|代号|口令|门禁码|密码|暗号|分支)",
    re.IGNORECASE,
)
_ZH_ATTRIBUTES = sorted((word for word in _ATTRIBUTES if not word.isascii()), key=len, reverse=True)
_ONE_OF_MANY = frozenset(
    [
        "promo",
        "discount",
        "coupon",
        "voucher",
        "error",
        "exit",
        "status",
        "product",
        "item",
        "part",
        "tracking",
        "zip",
        "area",
        "country",
        "postal",
        "qr",
    ]
)
_BASED = re.compile(r"\b(?:base|based|branched|branch(?:es)? off|fork(?:ed)?)\b", re.IGNORECASE)
_ATTRIBUTED = "(?i)code|label|designat|pass|pin|branch|commit|call|nam|dub|known as|代号|口令|门禁码|密码|暗号|分支|叫|名"


def attribute_at(text: str, start: int, stop: int) -> str:  # noqa: ARG001, PLR0911 - bounds, as the others take them
    """Return what there is one of at a time and the identifier at `start` is: `access code`, `codename`, 代号; empty for one thing among others.

    >>> (
    ...     attribute_at("The vault code is now kx-81.", 22, 27),
    ...     attribute_at("We are calling it OAK-12 now.", 18, 24),
    ...     attribute_at("Order OAK-12", 6, 12),
    ... )
    ('vault code', 'codename', '')
    """
    left = text[max(0, start - 72) : start]
    if not stands_in(_ATTRIBUTED, left):
        return ""
    cut = max(map(left.rfind, ("\n", "!", "?", ". ", "。", "！", "？")))
    left = left[cut + 1 :]
    found = None
    for found in _ATTRIBUTE.finditer(left):  # noqa: B007 - the last one
        pass
    if found is None:
        return ""
    if found["verb"]:
        return ("codename" if found["verb"].isascii() else "代号") if len(left) - found.end() <= 24 else ""  # noqa: PLR2004 - its object stands between
    if found["zh"]:
        more = _ZH_DULL.sub("", found["han"] or "")
        return more + found["zh"]
    head = _ATTRIBUTES[found["head"].lower()]
    if head == "base commit":
        return head if _BASED.search(left) else ""
    if head in {"codename", "branch"}:
        return head
    more_words = [word for word in (found["more"] or "").lower().replace("-", " ").split() if word not in _DULL and word not in _COPULAS]
    return "" if not _ONE_OF_MANY.isdisjoint(more_words) or not more_words else " ".join((*more_words, head))


@lru_cache(maxsize=4_096)
def attribute_parts(label: str) -> tuple[str, frozenset[str]]:
    """Return the word of an attribute in its one form, and what qualifies it."""
    if label.isascii():
        *more, head = label.split()
        return _ATTRIBUTES.get(head, head), frozenset(more)
    word = next((word for word in _ZH_ATTRIBUTES if label.endswith(word)), "")
    more_han = label.removesuffix(word)
    return _ATTRIBUTES.get(word, label), frozenset([more_han] if more_han else [])


def is_same_attribute(one: str, other: str) -> bool:
    """Say whether two attributes are one: the same word, and no two different qualifiers."""
    (head, more), (other_head, other_more) = attribute_parts(one), attribute_parts(other)
    return head == other_head and (more <= other_more or more >= other_more)


_CHANGING = (
    "(?i)now|instead|rather|mov|chang|rais|lower|reduc|creas|exten|push|updat|shift|cut|bump|switch|correct|adjust|set|renam|schedul|postpon|amend"
    "|revis|become|make|should|actual|longer|but|turns out|sorry|mean|mistake|typo|new|slip|forward|not|n['’]t|from|改|调|变|换|推迟|延|顺|提前|挪|更"
    "|after all|应|现|而|升|降|涨|加到|减到|缩|提高|其实|抱歉|错|新|不|并非|从|由|原|别再|才对|为准|rotat|scratch|up to|down to|went|goes"
)


def may_change(text: str) -> bool:
    """Say whether a text has any word that values are changed with: most have none, and their values need no look."""
    return stands_in(_CHANGING, text)


class Change(NamedTuple):
    """What the words around a value say about the values before it."""

    is_change: bool = False
    is_old: bool = False
    """It is named as the value that no longer holds: "from X", "not X"."""


_NO_CHANGE, _CHANGE = Change(), Change(is_change=True)


def change_at(text: str, start: int, stop: int) -> Change:
    """Return what the words around a value say: that it replaces an earlier one, or that it is the one replaced."""
    left = text[max(0, start - 60) : start]
    if left.isascii() and not stands_in(_SAYS_CHANGE, left):
        return _CHANGE if _CHANGED_AFTER.match(text[stop : stop + 24]) else _NO_CHANGE
    if _NOT.search(left) or _FROM.search(left):
        return Change(is_old=True)
    cut = max(left.rfind(mark) for mark in "。；;!?！？\n")
    return Change(is_change=_CHANGED_BEFORE.search(left[cut + 1 :]) is not None or _CHANGED_AFTER.match(text[stop : stop + 24]) is not None)


def words_for(label: str) -> tuple[str, ...]:
    """Return every word the head of a label goes by, the label itself where it has no known head."""
    return _WORDS_OF.get(parts_of(label)[0], (label,))


_WORDS_OF: dict[str, tuple[str, ...]] = {row.split("|", 1)[0]: tuple(row.split("|")) for row in _HEADS}

"""Candidates that are numbers with a measure: shares, temperatures, money, spans of time, quantities, terms of payment."""

from __future__ import annotations

import re

from langchain_ctxguard.core.field_patterns import NUM, Candidate
from langchain_ctxguard.core.field_state import Found, Reading
from langchain_ctxguard.core.field_words import IRREGULAR_PLURALS, NOT_COUNTED, UNIT, ZH_VAGUE_CLASSIFIER
from langchain_ctxguard.domain.control import FieldKind

_MONEY_BEFORE = re.compile(
    r"(?:预算|总价|价|薪|工资|费|款|金额|额|金|投资|成本|房租|租金|押金|定金|首付|收入|支出|花了?|人力|设备|差旅|合计|一共|总共|共计|每次|卖|付|赔"
    r"|收|报价|出价|回款|奖金|保额|利润|营收|贷款|借|还|(?<![数峰阈均极差比增])值|提成|佣金|分成|补贴|打包|包价|给|投入|月供|年费|年薪|开价"
    r"|budget|price|cost|salary|deposit)[^。；;\n]{0,10}$",
    re.IGNORECASE,
)
_MONEY_AFTER = re.compile(r"(?:打包价|的?预算|的?报价|的?合同|元|块)")
_IDIOM = re.compile(r"(?:一五一十|万一|百分百|十分|千万|三三两两|四合|九九|七七八八|一一|万万|千军|三番|四面|五五|八九不离|百百)")
_HEAT_BEFORE = re.compile(r"(?:温|烧|烤箱|调到|开到|零下)[^。；\n]{0,8}$")
_SINGLE = frozenset(
    [
        "tablet",
        "capsule",
        "pill",
        "cup",
        "box",
        "pallet",
        "bottle",
        "bag",
        "pack",
        "packet",
        "piece",
        "set",
        "copy",
        "dose",
        "drop",
        "slice",
        "sachet",
        "crate",
        "carton",
        "case",
        "jar",
        "tin",
        "roll",
        "sheet",
        "teaspoon",
        "tablespoon",
    ]
)
_UNKNOWN_YEAR = 200
_UNIT_TAIL = re.compile(r"[A-Za-z][A-Za-z0-9/·²³]*$").search
_UNIT_ONLY = re.compile(UNIT, re.ASCII)
_MEASURED = re.compile(rf"{NUM} ?{UNIT}", re.ASCII)
_AGE = re.compile(r" old\b")
_MOMENTARY = re.compile(r"(?:[a-z]+|1) seconds?|(?:one|1) (?:day|moment)")
_DECADE = re.compile("[0-9]+s")


def term(_reading: Reading, text: str, candidate: Candidate) -> Found | None:
    """Return when a bill is to be paid."""
    _, start, stop = candidate
    span = text[start:stop]
    if span.startswith("net") and not re.search(r"(?:terms?|payment|/10|/)[^.]{0,12}$", text[max(0, start - 24) : start]) and "/" not in span:
        return None
    return Found(FieldKind.PAYMENT_TERM, start, stop)


def share(_reading: Reading, text: str, candidate: Candidate) -> Found | None:
    """Return a percentage; 八成 before a verb is a guess."""
    _, start, stop = candidate
    span = text[start:stop]
    if "成" in span and (
        re.match(r"[是会要能就]|都|立|功|为|了|本|绩|员|长|果|语|年|人", text[stop : stop + 1])
        or text[start - 1 : start]
        in {
            "第",
            "达",
            "完",
        }
    ):
        return None
    if span[-1] == "%" and (after := text[stop : stop + 1]).isascii() and after.isalnum():
        return None
    before = text[start - 1] if start else " "
    if span[0] in "-+" and (before.isalnum()):
        start += 1
    return Found(FieldKind.PERCENTAGE, start, stop)


def heat(_reading: Reading, text: str, candidate: Candidate) -> Found | None:
    """Return a temperature; a bare 度 needs the word before it."""
    _, start, stop = candidate
    span = text[start:stop]
    if "度" in span and not span.startswith(("零下", "-")) and "氏" not in span and not _HEAT_BEFORE.search(text, max(0, start - 14), start):
        return None
    if span[0] in "-+" and start and text[start - 1].isascii() and text[start - 1].isalnum():
        start += 1
    return Found(FieldKind.TEMPERATURE, start, stop)


def money(_reading: Reading, text: str, candidate: Candidate) -> Found | None:
    """Return a sum with its currency."""
    _, start, stop = candidate
    span = text[start:stop]
    after = text[stop : stop + 1]
    if (
        span[-1] == "块"
        and re.match(r"[0-9一二三四五六七八九]?[钱]?", after)
        and not span[0].isascii()
        and len(span) == 2  # noqa: PLR2004
        and text[stop : stop + 1] in set("来说写地写讲做")
    ):
        return None
    if "块" in span and span[-1] in "一二两三四五六七八九" and span[-1] in "一两" and re.match("[个斤天张年次晚人]", after):
        stop -= 1
        span = text[start:stop]
    if span[0] == "一" and len(span) == 2 and span[1] in "块元" and after not in {"钱", "", ",", "，", "。", "；"}:  # noqa: PLR2004 - 一块儿
        return None
    if span.endswith("元") and re.match("[素旦宵宇件组]", after):
        return None
    if span[-1] in "万亿千百" and after == "元":
        stop += 1
    return Found(FieldKind.AMOUNT, start, stop)


def span(_reading: Reading, text: str, candidate: Candidate) -> Found | None:  # noqa: C901, PLR0911, PLR0912 - a list of cases
    """Return a duration; an age, a year and a rate are none."""
    _, start, stop = candidate
    span = text[start:stop]
    before, after = text[max(0, start - 2) : start], text[stop : stop + 3]
    if span.isascii():
        low = span.lower()
        if span[0].isdigit() and span[-1] not in "hds":
            return Found(FieldKind.DURATION, start, stop)
        if low.endswith("h") and "," in span:
            return Found(FieldKind.QUANTITY, start, stop)  # a reading of a meter: nobody plans 2,118 hours
        if _AGE.match(text, stop) or _MOMENTARY.fullmatch(low) or (_DECADE.fullmatch(span) and int(span[:-1]) > 1900) or span in {"2d", "3d"}:  # noqa: PLR2004 - the 1990s
            return None
        return Found(FieldKind.DURATION, start, stop)
    if before.endswith(("第", "每")):
        return None
    if span.endswith("年") and span[0].isascii():
        number = re.match("[0-9]+", span)
        if number and int(number[0][:5]) >= _UNKNOWN_YEAR:
            return None
    if span.endswith("年") and (len(span) > 4 or after[:1] in set("代级级纪前来")) and not span[0].isascii():  # noqa: PLR2004 - 二〇二六年
        return None
    if span[0] == "一" and re.search(r"[元块0-9角毛] ?$", before):
        return None
    if re.fullmatch(r"一(?:天|年|秒|载|周|星期)", span):
        if span in {"一天", "一载", "一秒"} or before[-1:] in set("有某那这统同") or after[:1] in set("一两二三四五六七八九十0123456789又到内级"):
            return None
        if re.search(r"[元块万人件次克片mg]$", before):
            return None
    if after[:1] in {"岁", "周"} or (span.endswith("周") and after[:1] in set("岁年围边")):
        return None
    if before[-1:] in {"十", "百"} or re.search(r"[0-9.]$", before):
        return None
    if span == "半天":
        return None
    return Found(FieldKind.DURATION, start, stop)


def measure(reading: Reading, text: str, candidate: Candidate) -> Found | None:  # noqa: C901, PLR0911, PLR0912 - a list of cases
    """Return a number with a unit or a counted thing."""
    _, start, stop = candidate
    span = text[start:stop]
    before, after = text[start - 1] if start else " ", text[stop : stop + 3]
    if span[-1].isascii():
        word = _UNIT_TAIL(span)
        unit = word[0] if word else ""
        if " " in span and unit.isalpha() and unit.islower() and len(unit) > 2 and (span.count(" ") > 1 or not _UNIT_ONLY.fullmatch(unit)):  # noqa: PLR2004
            return _counted(reading, text, start, stop)
        if before in "-+" and start > 1 and text[start - 2].isalnum():
            return None
        return Found(FieldKind.QUANTITY, start, stop)
    classifier = span[-1]
    if before == "第" or after[:1] == "号" or (classifier == "个" and re.match("工作日|自然日|月|小时|星期|礼拜|钟头", after)):
        return None
    if not span[0].isascii():
        if (
            classifier in ZH_VAGUE_CLASSIFIER
            and not (classifier == "字" and re.search("[百千万]", span))
            and not any(span.endswith(unit) for unit in ("人次", "公里", "平方米"))
        ):
            return None
        if classifier == "两" or (span == "半斤" and after.startswith("八两")):
            return None
        if span[0] in "百千万" and not re.search("[二两三四五六七八九十]", span):
            return None
        if span[:-1] in {"一百", "一千", "一万", "十"} and (classifier in "个里" or after[:1] in set("迢不")):
            return None
        if span[0] == "一" and re.search(r"[元块0-9角毛每一二三四五六七八九]$", before):
            return None
        if before in "一二三四五六七八九十百千万数几" or re.search(r"里[店巷桥屯庙河]|道[口]", text[stop - 1 : stop + 1]):
            return None
        if span.endswith("米") and after[:1] in set("饭粉线粥"):
            return None
    if re.match("[数之]", after[:1] or " ") and classifier == "分":
        return None
    if classifier == "分" and after[:1] in set("钟之成公店支析享配布开别"):
        return None
    if classifier == "家" and after[:1] in set("人里"):
        return None
    if classifier in "字条行层位期轮次" and before == "第":
        return None
    return Found(FieldKind.QUANTITY, start, stop)


def _counted(_reading: Reading, text: str, start: int, stop: int) -> Found | None:
    """Return a number with a counted noun: a plural, perhaps with a word before it, and nothing else that stands after numbers."""
    number, *words = text[start:stop].split(" ")
    if not _is_plural(words[0]):
        if number == "1" and words[0] in _SINGLE:
            return Found(FieldKind.QUANTITY, start, start + 2 + len(words[0]))
        if len(words) < 2 or words[0] in NOT_COUNTED or words[0].endswith("s") or _UNIT_ONLY.fullmatch(words[0]) or not _is_plural(words[1]):  # noqa: PLR2004
            found = _MEASURED.match(text, start, stop)
            return Found(FieldKind.QUANTITY, start, found.end()) if found else None
    else:
        stop = start + len(number) + 1 + len(words[0])
    before = text[max(0, start - 16) : start]
    if re.search(
        r"(?:\b[0-9]+ in |[#/.$€£]|\b(?:step|port|version|v|room|unit|level|page|line|no\.?|number|chapter|route|gate|top) )$",
        before,
        re.IGNORECASE,
    ):
        return None
    if (number == "1" and words[0] not in _SINGLE) or (1900 <= _int(number) <= 2100 and re.search(r"(?:in|since|of|by) $", before)):  # noqa: PLR2004 - a year
        return None
    return Found(FieldKind.QUANTITY, start, stop)


def wan(reading: Reading, text: str, candidate: Candidate) -> Found | None:
    """Return a sum told by its scale alone (86万, 15k) where the words before it speak of money."""
    _, start, stop = candidate
    span = text[start:stop]
    if span == "千万":
        reading.note(start, stop)
    if _IDIOM.search(span) and not re.search("[万亿千百]", span[:-1] if span.endswith("百") else ""):
        return None
    if not span[0].isascii() and (not re.search("[十百千万亿]", span) or span[-1] in "零〇两"):
        return None
    if text[stop : stop + 1] in set("个人次位名条件种分年月日点度倍岁号里") or (start and text[start - 1] in "第一二三四五六七八九十说"):
        return None
    if span.isascii() and not re.search(r"(?:薪|预算|价|费|工资|budget|salary|price|cost|报)[^。；;\n]{0,6}$", text[max(0, start - 12) : start]):
        return None
    if _MONEY_BEFORE.search(text[max(0, start - 18) : start]) or _MONEY_AFTER.match(text, stop):
        return Found(FieldKind.AMOUNT, start, stop, None, 0.85)
    return None


def _is_plural(noun: str) -> bool:
    return noun not in NOT_COUNTED and (noun in IRREGULAR_PLURALS or (noun.endswith("s") and not noun.endswith(("ss", "us", "is", "ings"))))


def _int(text: str) -> int:
    found = re.match("[0-9]{1,9}", text)
    return int(found[0]) if found else 0

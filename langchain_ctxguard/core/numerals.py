"""Amounts as they are written in English and Chinese -> comparable values: `10,000 CHF`, 五百元, `9 am`, 百分之五."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import NamedTuple


def words_in(text: str) -> frozenset[str]:
    """Return the words of a list that is written as a text."""
    return frozenset(text.split())


_ZH_DIGITS = {
    character: value
    for value, characters in enumerate(("零〇", "一", "二两俩", "三", "四", "五", "六", "七", "八", "九"))
    for character in characters
}
_ZH_SCALES = {"十": 10, "百": 100, "千": 1_000, "万": 10_000, "亿": 100_000_000}
ZH_NUMERALS = "".join(_ZH_DIGITS) + "".join(_ZH_SCALES) + "半"

_SMALL = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
WORD_NUMBERS: dict[str, int] = {
    **{word: value for value, word in enumerate(_SMALL)},
    **{word: 20 + 10 * value for value, word in enumerate(_TENS)},
    "dozen": 12,
    "twice": 2,
    "once": 1,
    "half": -1,  # stands for itself: only ever compared
}
_WORD_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_LETTER_SCALES = {"k": 1_000, "m": 1_000_000, "bn": 1_000_000_000}

# unit -> (group, dimension, factor): one dimension is one measure, and only amounts of one group can be each other's changed value.
_MINUTE, _HOUR = 60, 3_600
_UNITS: dict[str, tuple[str, str, str]] = {}


def _units(group: str, dimension: str, factor: str, names: str) -> None:
    _UNITS.update(dict.fromkeys(names.split(), (group, dimension, factor)))


_units("time", "second", "0.001", "ms msec millisecond milliseconds 毫秒")
_units("time", "second", "1", "s sec secs second seconds 秒 秒钟")
_units("time", "second", "60", "min mins minute minutes 分钟")
_units("time", "second", "3600", "h hr hrs hour hours 小时 钟头")
_units("time", "day", "1", "d day days 天 日")
_units("time", "working_day", "1", "working_day 工作日")
_units("time", "day", "7", "week weeks 周 星期 礼拜")
_units("time", "month", "1", "month months 月")
_units("time", "month", "12", "year years yr yrs 年")
_units("age", "age", "1", "岁 周岁")
_units("clock", "clock", "60", "am pm o'clock 点 时")
_units("share", "percent", "1", "% percent pct per_cent")
_units("share", "percent", "10", "成")
_units("share", "zhe", "1", "折")
_units("mass", "gram", "0.001", "mg milligram milligrams 毫克")
_units("mass", "gram", "0.000001", "µg μg mcg microgram micrograms 微克")
_units("mass", "gram", "1", "g gram grams 克")
_units("mass", "gram", "500", "斤")
_units("mass", "gram", "1000", "kg kilo kilos kilogram kilograms 公斤 千克")
_units("mass", "gram", "1000000", "ton tons tonne tonnes 吨")
_units("mass", "pound", "1", "lb lbs pound_weight 磅")
_units("length", "metre", "0.001", "mm millimetre millimetres millimeter millimeters 毫米")
_units("length", "metre", "0.01", "cm centimetre centimetres centimeter centimeters 厘米")
_units("length", "metre", "1", "metre metres meter meters 米")
_units("length", "metre", "1000", "km kilometre kilometres kilometer kilometers 公里 千米")
_units("length", "foot", "1", "ft foot feet 英尺")
_units("length", "mile", "1", "mile miles mi 英里")
_units("volume", "litre", "0.001", "ml millilitre millilitres milliliter milliliters 毫升")
_units("volume", "litre", "1", "l litre litres liter liters 升")
_units("data", "byte", "1000", "kb 千字节")
_units("data", "byte", "1000000", "mb 兆")
_units("data", "byte", "1000000000", "gb")
_units("data", "byte", "1000000000000", "tb")
_units("data", "kib", "1", "kib")
_units("data", "kib", "1024", "mib")
_units("data", "kib", "1048576", "gib")
_units("heat", "celsius", "1", "celsius °c ℃ 摄氏度")
_units("heat", "fahrenheit", "1", "fahrenheit °f ℉ 华氏度")
_units("heat", "degree", "1", "degree degrees ° 度")
_units("money", "CNY", "1", "元 块 块钱 人民币 cny rmb yuan ¥")
_units("money", "USD", "1", "美元 美金 刀 usd dollar dollars $ us$")
_units("money", "EUR", "1", "欧元 eur euro euros €")
_units("money", "GBP", "1", "英镑 gbp pound pounds £")
_units("money", "JPY", "1", "日元 日圆 jpy yen")
_units("money", "HKD", "1", "港币 港元 hkd")
_units("money", "CHF", "1", "瑞士法郎 瑞郎 法郎 chf franc francs")
_units("money", "KRW", "1", "韩元 krw won")
_units("money", "cent", "1", "cent cents 分钱")
_units("tokens", "token", "1", "token tokens")

UNITS = frozenset(_UNITS)
LONGEST_ZH_UNIT = max(len(name) for name in UNITS if name[0] > "\u2fff")
# Words that count things and say nothing about what is measured.
ZH_CLASSIFIERS = frozenset("个位名条份台次张笔件项只家款颗套箱盘轮道种行栏支本封通场批遍章页层组间把口户辆架篇句段号届盒袋瓶")
# Words in which a numeral counts nothing.
ZH_NO_NUMERALS = words_in(
    """一律 一般 一起 一下 一些 一定 一致 一旦 一直 一切 一样 一边 一方面 一并 一概 一再 一向 一时 一旁 一同 一共 一贯 统一 任一 同一 唯一
    之一 万一 单一 逐一 其一 一个 一份 一位 一名 一条 一次 一款 一家 一种 一项 一张 一件 一点 一半 千万 十分 百般 三方 第三方 双十一
    双十二 双十 五一 万分 一也不 一五一十 三番五次 半夜 半天 一行 一路 一侧 进一步 第一时间 二维码 二手 二次 四处 七夕 九宫格 万能
    千方百计 百货 百度 千兆 一会儿 一经 某一 每一 这一 那一 哪一 又一 头一"""
)
_LONGEST_NUMBER = 40
_LONGEST_NUMERAL = 400


class Amount(NamedTuple):
    """A number with what it measures."""

    number: Decimal
    group: str = ""
    """What kind of measure it is (`money`, `time`); empty for a bare count."""

    dimension: str = ""
    """Which measure: `EUR`, `second`. Equal dimensions are compared by their number."""

    def is_same(self, other: Amount) -> bool:
        """Say whether both are one value. A number without a unit may be the same as one with a unit that is no currency and no scale of heat."""
        if self.dimension == other.dimension:
            return self.number == other.number
        dims = {self.dimension, other.dimension}
        if "" in dims and not ({self.group, other.group} & {"money", "mass", "data", "length", "volume"}):
            return self._plain == other._plain
        if dims == {"degree", "celsius"}:
            return self.number == other.number
        if dims == {"age", "month"}:
            age, months = (self, other) if self.dimension == "age" else (other, self)
            return months.number == age.number * 12
        return False

    @property
    def _plain(self) -> Decimal:
        return self.number / _HOUR if self.dimension == "second" and self.number % _HOUR == 0 and self.number else self.number


def zh_number(text: str) -> Decimal | None:
    """Return the value of a Chinese numeral, spelled with scales (五百二十) or as digits in a row (二〇二三).

    >>> zh_number("两万五千"), zh_number("八五"), zh_number("十"), zh_number("三千五")
    (Decimal('25000'), Decimal('85'), Decimal('10'), Decimal('3500'))
    """
    if not text or len(text) > _LONGEST_NUMERAL:
        return None
    if text == "半":
        return Decimal("0.5")
    is_half = text.endswith("半")
    text = text.removesuffix("半")
    if not any(character in _ZH_SCALES for character in text):
        return None if "半" in text else Decimal("".join(str(_ZH_DIGITS[character]) for character in text)) + (Decimal("0.5") if is_half else 0)
    total, section, digit, scale_before, large = 0, 0, -1, 1, 0
    for character in text:
        if character == "半":
            return None
        if character in _ZH_DIGITS:
            digit = _ZH_DIGITS[character]
            continue
        scale = _ZH_SCALES[character]
        if scale >= 10_000:  # noqa: PLR2004 - 万 and 亿 multiply all that stands before them, back to a larger one
            part = section + max(digit, 0)
            total = total + part * scale if part and scale < large else (total + part or 1) * scale
            section, large = 0, scale
        else:
            section += (1 if digit < 0 else digit) * scale
        digit, scale_before = -1, scale
    # A last digit right after a scale counts the next smaller one: 三千五 is 3,500, while 三千零五 is 3,005.
    is_short = digit > 0 and scale_before >= 100 and len(text) > 1 and text[-2] in _ZH_SCALES  # noqa: PLR2004 - 十五 is no short form
    tail = digit * scale_before // 10 if is_short else max(digit, 0)
    return Decimal(total + section + tail)


def plain_number(text: str) -> Decimal | None:
    """Return the value of digits with thousand separators: `10,000`, `10'000`, `1.5`, `-3`."""
    if len(text) > _LONGEST_NUMBER:
        return None
    bare = re.sub(r"[,'’](?=\d{3}(?:\D|$))", "", text)
    try:
        return Decimal(bare.replace(",", "."))
    except InvalidOperation:
        return None


def word_number(words: list[str]) -> tuple[Decimal, int] | None:
    """Return the value English words begin with and how many words that takes.

    >>> word_number(["twenty", "five", "hundred", "pages"]), word_number(["two", "thousand", "five", "hundred"]), word_number(["a"])
    ((Decimal('2500'), 3), (Decimal('2500'), 4), None)
    """
    # `group` is what no scale from a thousand up has multiplied yet.
    total, group, large, taken = 0, 0, 0, 0
    for word in words[:8]:
        number, scale = WORD_NUMBERS.get(word, 0), _WORD_SCALES.get(word, 0)
        if word in WORD_NUMBERS and (not taken or (number > 0 if total and not group else _goes_on(group, number))):
            group += number
        elif scale == 100 and group > 0:  # noqa: PLR2004 - a hundred multiplies within its group
            group *= scale
        elif scale > large and total + group > 0:
            total, group, large = (total + group) * scale, 0, scale
        elif scale > 100 and group > 0:  # noqa: PLR2004 - a smaller scale multiplies what stands behind the larger one
            total, group = total + group * scale, 0
        else:
            break
        taken += 1
    return (Decimal(total + group), taken) if taken else None


def _goes_on(group: int, number: int) -> bool:
    """Say whether a number joins what was read before it: a unit goes behind tens, units and tens behind hundreds."""
    return group >= 20 and group % 10 == 0 and 0 < number < (100 if group % 100 == 0 else 10)  # noqa: PLR2004


def scaled(number: Decimal, word: str) -> Decimal | None:
    """Return `number` times the scale a word or letter names (`million`, `k`, 万), or `None` where it names none."""
    factor = _WORD_SCALES.get(word) or _LETTER_SCALES.get(word) or _ZH_SCALES.get(word)
    return None if factor is None else number * factor


def amount(number: Decimal, unit: str) -> Amount:
    """Return the amount of a number and the unit written with it; an unknown unit is none."""
    known = _UNITS.get(unit)
    if known is None:
        return Amount(number)
    group, dimension, factor = known
    if dimension == "clock":
        hour = number + 12 if unit == "pm" and number < 12 else number  # noqa: PLR2004 - half a day
        return Amount(hour * 60, group, dimension)
    if dimension == "zhe" and number < 10:  # noqa: PLR2004 - 9.5折 and 九五折 are one discount
        number *= 10
    return Amount(number * Decimal(factor), group, dimension)


def clock(hours: str, minutes: str, half: str = "") -> Amount:
    """Return a time of day, in minutes."""
    hour = Decimal(hours) + (12 if half == "pm" and int(hours) < 12 else 0)  # noqa: PLR2004 - half a day
    return Amount(hour * 60 + Decimal(minutes), "clock", "clock")

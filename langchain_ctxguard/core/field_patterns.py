"""The one scan: what a field can look like, as one RE2 pattern, linear whatever the text.

Every alternative is a family. RE2 finds where a candidate stands; the same alternatives, tried by `re` at that place and inside those bounds, say
which family it is. What a candidate means is not decided here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

from langchain_ctxguard.core.field_words import (
    CHOICE_WORDS,
    CJK,
    CN,
    CURRENCY,
    EMPHASIS_WORDS,
    ENDING_WORDS,
    FROM_TWO,
    MONTH,
    PRODUCTS,
    SHORT_WEEKDAY,
    UNIT,
    WEEKDAY,
    WORD_NUMBER,
    ZH_CLASSIFIER,
    ZH_MEASURE,
)

NUM = r"(?:[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?)"
_SIGN = r"[-+]?"
_EDGE = "[A-Za-z0-9_]"
# White space, quotes, brackets and Chinese text end an address.
_ADDRESS = r"[^\s<>\"'`{}|\\^" + CJK + r"“”‘’…《》【】、。，；：！？（）]"
_SYMBOL = r"(?:(?:US|HK|NZ|AU|CA|SG|NT|A|C|S|R)?\$|[€£¥₩₹฿₽])"
_SCALE = r"(?: ?(?:thousand|million|billion|trillion|mn|bn|[kKmMbB])\b)"
_RANGE = rf"(?:{NUM} ?[-–—~～至到] ?)?"
_MONEY_WORD = (
    "(?:元整?|块钱|块|人民币|美元|美金|欧元|英镑|日元|日圆|港币|港元|韩元|新币|新加坡元|澳元|加元|瑞士法郎|瑞郎|新台币|台币|泰铢|卢布|卢比"
    f"|(?:{CURRENCY}|dollars?|euros?|pounds?(?: sterling)?|yen|yuan|francs?|cents|bucks)\\b)"
)
_CLOCK_EN = r"(?:[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?: ?[AaPp](?:\.[Mm]\.|[Mm]\b)|\b)|[0-9]{1,2} ?[AaPp](?:\.[Mm]\.|[Mm]\b))"
_AT = rf"(?:,? (?:at |@ ?)?{_CLOCK_EN})?"
_DAYPART = "(?:凌晨|清晨|早上|早晨|上午|中午|下午|午后|傍晚|晚上|夜里|夜间|半夜|深夜|晚|早)"
_HOUR_ZH = f"(?:[0-9]{{1,2}}|{CN}{{1,3}})"
_CLOCK_ZH = f"(?:[0-9]{{1,2}}:[0-9]{{2}}(?::[0-9]{{2}})?|{_HOUR_ZH}[点时](?:半|[一三]刻|{_HOUR_ZH}分?|整|钟)?)"
_AT_ZH = f"(?: ?(?:{_DAYPART} ?)?{_CLOCK_ZH})?"
_ISO_TIME = r"(?:(?:[Tt]| {1,2})[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?(?: ?(?:Z|[+-][0-9]{2}:?[0-9]{2}))?)"
_RELATIVE_ZH = "(?:大后天|大前天|今天|明天|后天|昨天|前天|今日|明日|昨日|今晚|明晚|昨晚|今早|明早|当天)"
_WEEKDAY_ZH = "(?:(?:上上个?|下下个?|上个?|下个?|这个?|本)?(?:周|星期|礼拜)[一二三四五六日天])"
_DURATION_EN = (
    "(?:milliseconds?|millis|msecs?|ms|microseconds?|μs|us|seconds?|secs?|s|minutes?|mins?|hours?|hrs?|hr|h|days?|d|weeks?|wks?|months?|mos|years?"
    "|yrs?|yr)\\b"
)
_DURATION_ZH = "(?:毫秒|微秒|秒钟|秒|分钟|个半小时|个半钟头|个半月|个小时|个钟头|小时|钟头|天|个星期|星期|个礼拜|周|个月|年|载)"
_COMPONENT = f"(?:[A-Za-z0-9_.@+~%=$*-]+|[{CJK}]{{1,30}}(?:[A-Za-z0-9_.-]*))"
_WINDOWS = r"[^\s\\/:*?\"<>|“”，。；、：！？（）]"
_SYMBOLS = r"(?:::[A-Za-z_~][A-Za-z0-9_]*[?!]?(?:(?:::|\.|#)[A-Za-z_~][A-Za-z0-9_]*[?!]?)*(?:\[[^\]\s]{1,80}\])?)"
_PLACE = rf"(?:{_SYMBOLS}|:[0-9]+(?::[0-9]+)?)"

FAMILIES: tuple[tuple[str, str, str], ...] = (
    ("address", "A", rf"(?:[A-Za-z][A-Za-z0-9+.-]{{1,24}}(?::[a-z0-9]{{1,12}}){{0,3}}:@?//|www\.){_ADDRESS}+"),
    (
        "settings",
        "A",
        (
            r"(?:[Ss]erver|[Dd]ata [Ss]ource|[Hh]ost|DSN|[Dd]river|AccountName|AccountEndpoint|DefaultEndpointsProtocol|Endpoint|[Uu]ser [Ii][Dd]"
            r"|[Dd]atabase|Initial Catalog)"
            r"=[^\s;，。；]+(?:;[A-Za-z][A-Za-z ]{0,30}=[^;\s，。；]+)+;?|host=[^\s;]+(?: (?:port|dbname|user|password|sslmode"
            r"|hostaddr)=[^\s;，。；]+)+"
        ),
    ),
    ("email", "0A", r"[A-Za-z0-9][A-Za-z0-9._%+-]*@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}"),
    ("windows", "-", r"\\\\[A-Za-z0-9._-]+(?:\\[A-Za-z0-9._$-]+)+"),
    ("windows", "-", rf"%[A-Za-z][A-Za-z0-9_()]{{0,40}}%(?:\\{_WINDOWS}+)+"),
    ("path", "-", rf"\$\{{?[A-Za-z_][A-Za-z0-9_]{{0,40}}\}}?(?:/{_COMPONENT})+/?"),
    ("windows", "A", rf"[A-Za-z]:\\(?:{_WINDOWS}+(?: {_WINDOWS}+){{0,3}}\\)*[^\s\\/:*?\"<>|“”，。；、：！？（）,;)]*"),
    ("path", "-", rf"(?:~|\.{{1,2}})?/{_COMPONENT}(?:/{_COMPONENT})*/?{_PLACE}?"),
    ("path", "0A-", rf"[A-Za-z0-9_.-]*[A-Za-z_.][A-Za-z0-9_.-]*/{_COMPONENT}(?:/{_COMPONENT})*/?{_PLACE}?"),
    ("path", "0A", rf"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.[A-Za-z][A-Za-z0-9]{{0,5}}{_PLACE}"),
    (
        "code",
        "A",
        (
            r"(?:HTTP(?:/[0-9.]+)?|[Ss]tatus(?: [Cc]ode)?|[Ee]xit(?:ed)?(?: with)?(?: [Cc]ode| [Ss]tatus)|[Rr]eturn code|[Ee]rror(?: code)?|ERROR"
            r"|SMTP"
            r"|errno|code)"
            r"[ :=#]{1,3}[0-9]{1,5}\b|SQLSTATE[ :=\[]{1,2}[0-9A-Z]{5}\b|SIG(?:SEGV|KILL|TERM|ABRT|BUS|FPE|ILL|INT|HUP|PIPE)\b"
        ),
    ),
    ("code", "汉", r"(?:退出码|状态码|错误码|返回码|错误代码|报错)[ :：=]{0,2}-?[0-9]{1,10}\b"),
    (
        "code",
        "0",
        (
            r"[0-9]{3} ?(?:错误|报错|状态码)|[45][0-9]{2} (?:Bad Request|Unauthorized|Payment Required|Forbidden|Not Found|Method Not Allowed"
            r"|Conflict"
            r"|Gone|Too Many Requests|Internal Server Error|Bad Gateway|Service Unavailable|Gateway Time-?out)\b"
        ),
    ),
    ("term", "0", rf"[0-9]{{1,2}}(?:\.[0-9])?(?:%/|%|/)[0-9]{{1,3}},? ?(?:[Nn]et|NET|n/)[ -]?[0-9]{{1,3}}\b|(?:[0-9]{{1,3}}|{CN}{{1,4}}) ?天账期"),
    ("term", "A", r"(?:NET|[Nn]et)[ -]?[0-9]{1,3}\b(?: EOM| days)?|[Dd]ue (?:up)?on receipt|(?:COD|CIA|CWO)\b|[Cc]ash on delivery"),
    ("term", "汉", rf"(?:月结|账期) ?(?:[0-9]{{1,3}}|{CN}{{1,4}}) ?[天日]|{CN}{{1,4}} ?天账期|货到付款|款到发货|见票即付"),
    (
        "date",
        "0",
        (
            rf"[0-9]{{4}}[-/.][0-9]{{1,2}}[-/.][0-9]{{1,2}}(?:{_ISO_TIME}|\b)|[0-9]{{1,2}}/[0-9]{{1,2}}/[0-9]{{4}}\b{_AT}"
            rf"|[0-9]{{1,2}}\.[0-9]{{1,2}}\.[0-9]{{4}}\b|[0-9]{{1,2}}-{MONTH}-[0-9]{{4}}\b|[0-9]{{1,2}}月[底末]"
        ),
    ),
    (
        "date",
        "0汉",
        (
            rf"(?:(?:[0-9]{{4}}|[0-9]{{2}}|[〇零○一二三四五六七八九]{{4}}) ?年 ?)?(?:[0-9]{{1,2}}|{CN}{{1,3}}) ?月 ?(?:[0-9]{{1,2}}|{CN}{{1,3}}) "
            rf"?[日号]{_AT_ZH}"
            rf"|(?:[0-9]{{1,2}}|{CN}{{1,3}})号{_AT_ZH}"
        ),
    ),
    (
        "date",
        "汉",
        (
            rf"{_RELATIVE_ZH}{_AT_ZH}|{_WEEKDAY_ZH}{_AT_ZH}|(?:这个|本|下个?|上个?)?月[底末]|年[底末]|{CN}{{1,2}}月[底末]|(?:这个|本|下个?|上个?"
            rf"|当)月 ?(?:[0-9]{{1,2}}"
            rf"|{CN}{{1,3}}) ?[日号]{_AT_ZH}|(?:[0-9]{{1,2}}|{CN}{{1,3}})号{_AT_ZH}"
        ),
    ),
    ("date", "A", rf"(?:{SHORT_WEEKDAY},? )?{MONTH} [0-9]{{1,2}}(?:st|nd|rd|th)?\b(?:,? (?:19|20)[0-9]{{2}}\b)?{_AT}"),
    ("date", "0A", rf"(?:{SHORT_WEEKDAY},? )?(?:the )?[0-9]{{1,2}}(?:st|nd|rd|th)?(?: of)? {MONTH}(?:,? (?:19|20)[0-9]{{2}}\b)?{_AT}"),
    (
        "date",
        "A",
        (
            rf"(?:the )?day (?:after tomorrow|before yesterday){_AT}|(?:[Tt]oday|[Tt]omorrow|[Yy]esterday)\b{_AT}"
            rf"|(?:(?:[Nn]ext|[Ll]ast|[Tt]his|[Cc]oming) )?{WEEKDAY}\b{_AT}|(?:[Tt]he )?[Ee]nd of (?:the|this|next|last) (?:month|year)\b|(?:[Tt]he "
            rf")?[Ee]nd of {MONTH}(?: (?:19|20)[0-9]{{2}}\b)?"
        ),
    ),
    ("iban", "A", r"[A-Z]{2}[0-9]{2} ?(?:[A-Z0-9]{4} ?){2,7}[A-Z0-9]{1,4}\b"),
    ("phone", "-", r"\+[0-9]{1,3}(?:[ -]?\(?[0-9]{1,5}\)?){1,6}\b|\([0-9]{2,5}\) ?[0-9]{3,4}(?:[ -]?[0-9]{2,4}){1,2}\b"),
    ("groups", "0", r"[0-9]{4}(?: [0-9]{4}){2,4}(?: [0-9]{1,4})?\b|[0-9]{4} [0-9]{4} [0-9]{2,3}\b"),
    (
        "phone",
        "0",
        (
            r"0[1-9](?:[ .][0-9]{2}){4}\b|0[0-9]{2,4}[ -][0-9]{2,8}(?:[ -][0-9]{2,4}){0,3}\b|[0-9]{3}[-. ][0-9]{3}[-. ][0-9]{4}\b"
            r"|1[3-9][0-9][ -][0-9]{4}[ -][0-9]{4}\b|1[- "
            r"][2-9][0-9]{2}[- ][0-9]{3}[- ][0-9]{4}\b"
            r"|[48]00[- ][0-9]{3,4}[- ][0-9]{3,4}\b"
        ),
    ),
    ("time", "汉", rf"{_DAYPART} ?{_CLOCK_ZH}|{CN}{{1,3}}点(?:半|[一三]刻|{_HOUR_ZH}分|整|钟)?"),
    ("time", "0", rf"[0-9]{{1,2}}点(?:半|[一三]刻|{_HOUR_ZH}分|整|钟)?|[0-9]{{1,2}}时[0-9]{{1,2}}分|{_CLOCK_EN}"),
    ("share", "0-", rf"{_RANGE}{_SIGN}{NUM} ?(?:%|‰|(?:percent|per ?cent|pct|percentage points?)\b|个百分点)|[0-9]成"),
    ("share", "汉", rf"[百千万]分之(?:{CN}{{1,8}}(?:点{CN}{{1,4}})?|{NUM})|{CN}成{CN}?"),
    ("heat", "0-", rf"{_RANGE}{_SIGN}{NUM} ?(?:℃|℉|° ?[CF]\b|摄氏度|华氏度|degrees? (?:Celsius|Fahrenheit|C|F)\b|deg [CF]\b)|-?{NUM}度[0-9]?"),
    ("heat", "A", rf"[Mm]inus {NUM} ?(?:℃|℉|° ?[CF]\b|degrees? (?:Celsius|Fahrenheit|C|F)\b)"),
    ("heat", "汉", rf"零下 ?(?:{NUM} ?(?:℃|° ?C\b|摄氏度|度)|{CN}{{1,4}}度)"),
    ("money", "A-", rf"{_SIGN}{_SYMBOL} ?{_SIGN}{NUM}(?:{_SCALE}|[百千]?[万亿])?|{CURRENCY} ?{_SIGN}{NUM}(?:{_SCALE}|[百千]?[万亿])?"),
    (
        "money",
        "0-",
        (
            rf"[0-9]{{1,3}}(?:\.[0-9]{{3}})*,[0-9]{{2}} ?€|{NUM}元{NUM}角(?:{NUM}分)?|{_RANGE}{_SIGN}{NUM}(?:{_SCALE}|[万亿]{NUM}[千百]"
            rf"|[百千]?[万亿]{{0,2}}|千)? "
            rf"?{_MONEY_WORD}"
            rf"|{NUM}块[0-9]|{NUM} ?[€£]|{NUM}[毛角]钱?|{NUM} (?:(?:US|Canadian|Australian|Hong Kong|Singapore|New Zealand) dollars?|Swiss francs?)\b"
        ),
    ),
    ("money", "A", rf"{WORD_NUMBER}(?: (?:hundred|thousand|million))?(?: (?:dollars|euros|pounds|yuan|yen|francs)|(?: US) dollars)\b"),
    (
        "money",
        "汉",
        (
            rf"(?:人民币)?{CN}{{1,16}}[元块](?:零?{CN}[角毛](?:{CN}分)?|零{CN}分)钱?|{CN}[角毛](?:{CN}分)?钱"
            rf"|(?:人民币)?{CN}{{1,16}}{_MONEY_WORD}{CN}?|人民币 ?(?:{NUM}|{CN}{{1,16}})(?:[百千]?[万亿])?(?:元整?)?"
        ),
    ),
    ("span", "0", rf"{_RANGE}{NUM}[- ]?{_DURATION_EN}(?:(?:,| and)? ?{NUM} ?{_DURATION_EN})*"),
    (
        "span",
        "A",
        rf"[Hh]alf an? (?:hour|year)\b|[Aa]n hour and a half\b|{WORD_NUMBER}(?: and a half)?[- ]{_DURATION_EN}(?: and a half)?",
    ),
    ("span", "0汉", rf"(?:{NUM}|{CN}{{1,3}})分钟?零?(?:{NUM}|{CN}{{1,3}})秒"),
    ("span", "0", rf"{_RANGE}{NUM} ?{_DURATION_ZH}半?(?:零?(?:{NUM}|{CN}{{1,3}}) ?(?:个月|小时|分钟?|秒))*"),
    ("span", "汉", rf"{CN}{{1,6}} ?{_DURATION_ZH}半?(?:零?(?:{NUM}|{CN}{{1,3}}) ?(?:个月|小时|分钟?|秒))*|半(?:个)?(?:小时|钟头|年|个月|个小时|月)"),
    (
        "measure",
        "0-",
        (
            rf"{_RANGE}{_SIGN}{NUM} ?{UNIT}|{_RANGE}{NUM}万? ?(?:{ZH_MEASURE}|{ZH_CLASSIFIER})|{NUM}万 ?{UNIT}|{NUM} [A-Z]{{2,4}}s\b"
            rf"|{NUM} [a-z]{{3,20}}\b(?: "
            rf"[a-z]{{3,20}}\b)?"
        ),
    ),
    ("measure", "汉", rf"{CN}{{1,6}}{ZH_MEASURE}|{FROM_TWO}{ZH_CLASSIFIER}|半(?:公斤|斤|吨|升|箱|桶|瓶)"),
    ("wan", "0", rf"{NUM}万[0-9]\b|{NUM}(?: ?[万亿]|[千]|[kKwW]\b)"),
    ("wan", "汉", rf"{CN}{{2,8}}"),
    (
        "version",
        "A",
        (
            rf"[vV]\.?[0-9]+(?:\.[0-9]+)*(?:[-.+][0-9A-Za-z]+)*|(?:{PRODUCTS}) ?[0-9]+(?:\.[0-9]+)*(?:[-.+][0-9A-Za-z]+)*"
            r"|[Bb]uild [0-9]{2,}(?:\.[0-9]+)*\b|[Vv]ersion v?[0-9]+(?:\.[0-9A-Za-z]+)*"
        ),
    ),
    ("phone", "0", r"[2-9][0-9]{3} [0-9]{4}\b|[0-9]{3}[ -][0-9]{4}\b"),
    ("colons", "0A-", r"(?:[0-9A-Fa-f]{1,4})?(?::{1,2}[0-9A-Fa-f]{1,4}){2,7}(?:::)?(?:/[0-9]{1,3})?\b"),
    (
        "token",
        "A-",
        (
            r"#?[A-Za-z]{1,30}(?:[-_./:#+]+[A-Za-z]{1,30}){0,6}[-_./:#+]?[0-9][A-Za-z0-9_]*(?:[-./:_#+~]+[A-Za-z0-9_]+)*|[#!][0-9][0-9A-Za-z-]*"
            r"|[A-Z]{1,3}-[A-Z]{1,2} [0-9]{1,4}\b|[A-Z]{2} [0-9]{2,4}\b"
        ),
    ),
    (
        "token",
        "0",
        (
            r"[0-9]+[A-Za-z_][A-Za-z0-9_]*(?:[-./:_]+[A-Za-z0-9_]+)*|[0-9]{4,}(?:[-./:_]+[A-Za-z0-9_]+)*"
            r"|[0-9]+(?:[-./:_]+[A-Za-z0-9_]+)+(?:/[0-9]{1,2})?"
        ),
    ),
    ("shout", "A", r"[A-Z][A-Z0-9]{1,30}(?:_[A-Z0-9]{1,30}){1,8}\b|E[A-Z]{4,16}\b|[A-Z]-[A-Z]{4}\b|[A-Z]_[A-Z]{3,30}\b"),
    ("docket", "汉", "[京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼][A-Z][·•]?[A-Z0-9]{5,6}\\b|国药准字 ?[A-Z][0-9]{8}\\b"),
    ("docket", "-", "[〔\\[（(](?:19|20)[0-9]{2}[〕\\]）)]"),
    ("emphasis", "A汉", EMPHASIS_WORDS),
)
"""Family, what it may begin with (`0` a digit, `A` a letter, 汉 a Chinese character, `-` anything else), pattern.

At one place the first one that fits is taken.
"""


class Candidate(NamedTuple):
    """A span that looks like a field of some family."""

    family: str
    start: int
    stop: int


Search = Callable[[bytes, int, int], Sequence[tuple[int, int]]]
"""Bounds, as the one item of a list, of the first match between two places, in bytes; negative where there is none."""


def _compiled(pattern: str) -> Search:
    """Compile a pattern over bytes: offsets of bytes cost nothing to convert where the text is ASCII."""
    import re2  # type: ignore[import-untyped]  # it ships no types

    options = re2.Options()
    options.log_errors = False
    options.max_mem = 256 << 20  # the automaton is built as far as texts ask for it; with less it is thrown away and built again
    compiled = re2.compile(pattern.encode(), options)
    try:
        # Past the wrapper, which makes two generators and a match object of every span: half the time of a text full of values.
        match, anchor = compiled._regexp.Match, re2._re2.RE2.Anchor.UNANCHORED  # noqa: SLF001
        match(anchor, b"", 0, 0)
    except (AttributeError, TypeError):
        return lambda data, at, stop: [found.span() if (found := compiled.search(data, at, stop)) else (-1, -1)]
    return partial(match, anchor)


@cache
def _words(pattern: str) -> Search:
    """Compile words that a text is searched for once, before the clauses around them are looked at."""
    return _compiled(pattern)


def choice_words(text: str) -> list[int]:
    """Return where the words stand that choices are made with, in a folded text."""
    return _places(_words(CHOICE_WORDS), text)


def ending_words(text: str) -> list[int]:
    """Return where the words stand that call something off, in a folded text."""
    return _places(_words(ENDING_WORDS), text)


LIMITS = (
    r"\b(?i:limit|at most|at least|no more than|up to|max(?:imum)?|min(?:imum)?|cap|order|ship|need|needs|buy|wants?|asked for|require|deliver|reduce"
    r"|within|below|above|over|under|dose|every|each|send|book)\b"
    "|不超过|不低于|不高于|上限|以内|以下|以上|最多|至少|限|订|下单|要|买|印|做|每次|一天|一次|备|发|清单|送"
)
"""Words beside a quantity that say it was ordered, dosed or limited."""


def is_limited(words: str) -> bool:
    """Say whether the words around a quantity, widths folded, say that it is no mere reading."""
    return stands_in(LIMITS, words)


def stands_in(pattern: str, text: str) -> bool:
    """Say whether a text holds what an RE2 pattern says: one pass, however many words the pattern lists. Half a surrogate pair counts as a `?`."""
    data = text.encode("utf-8", "replace")
    return _words(pattern)(data, 0, len(data))[0][0] >= 0


def _places(search: Search, text: str) -> list[int]:
    data = text.encode()
    is_plain = len(data) == len(text)
    places, seen, behind = [], 0, 0
    end = len(data)
    at, stop = search(data, 0, end)[0]
    while at >= 0:
        if not is_plain:
            behind += len(data[seen:at].decode())
            seen = at
        places.append(at if is_plain else behind)
        at, stop = search(data, stop, end)[0]
    return places


@cache
def _scanner() -> Search:
    """Compile the families into one pattern."""
    return _compiled("|".join(f"(?:{pattern})" for _, _, pattern in FAMILIES))


_ENDS = {
    "0": ("email", "path", "term", "date", "groups", "phone", "time", "heat", "money", "measure", "wan", "token", "colons"),
    "A": ("email", "path", "code", "term", "date", "time", "share", "heat", "money", "span", "measure", "wan", "colons", "token"),
    "-": ("email", "path", "code", "term", "date", "time", "share", "heat", "money", "span", "measure", "wan", "colons", "token"),
}
"""Families a candidate that begins with a digit can belong to, by what it ends with: most of them need not be tried."""


def _matcher(kind: str, chosen: tuple[str, ...] | None = None) -> tuple[Any, tuple[str, ...]]:
    """Return a matcher of the alternatives that may begin so, and the family of each of its groups."""
    alternatives = [(family, pattern) for family, starts, pattern in FAMILIES if kind in starts and (chosen is None or family in chosen)]
    # A number is never given back digit by digit.
    joined = "|".join(f"({pattern})" for _, pattern in alternatives).replace(NUM, f"(?>{NUM})")
    return re.compile(joined, re.ASCII).match, ("", *(family for family, _ in alternatives))


_BY_BEGINNING = {kind: _matcher(kind) for kind in "A汉-"}
_BY_END = {kind: _matcher("0", chosen) for kind, chosen in _ENDS.items()}
_SPAN_UNITS = frozenset(
    [
        "ms",
        "s",
        "sec",
        "secs",
        "second",
        "seconds",
        "min",
        "mins",
        "minute",
        "minutes",
        "h",
        "hr",
        "hrs",
        "hour",
        "hours",
        "d",
        "day",
        "days",
        "week",
        "weeks",
        "month",
        "months",
        "year",
        "years",
    ]
)
_SIMPLE = re.compile(
    rf"[0-9][0-9,.]* ?({'|'.join(sorted(_SPAN_UNITS, key=len, reverse=True))}|kg|mg|g|km|cm|mm|GB|MB|KB|TB|ml|people|units|pcs)", re.ASCII
)
"""The commonest numbers with a unit, which need no long list of alternatives."""

_PLAIN = (
    ("token", rf"(?!NET|{CURRENCY})[A-Z]{{2,8}}-[0-9]+|[0-9]{{1,3}}(?:\.[0-9]{{1,3}}){{3}}"),
    ("money", r"[$€£¥][0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?"),
    ("date", "[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    ("email", r"[A-Za-z0-9][A-Za-z0-9._+-]*@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+"),
    ("version", r"v[0-9]+(?:\.[0-9]+)+"),
    ("path", r"[a-z][a-z0-9_]*(?:/[a-z0-9_]+)+\.[a-z]+:[0-9]+"),
)
"""The commonest candidates, each so plain that no other family fits it."""

_PLAIN_FAMILY = re.compile("|".join(f"({pattern})" for _, pattern in _PLAIN), re.ASCII).fullmatch
_PLAIN_NAMES = ("", *(family for family, _ in _PLAIN))

_HAN = re.compile(f"[{CJK}]")


def _family(text: str, start: int, stop: int) -> str:
    """Return which family the candidate between `start` and `stop` belongs to."""
    if plain := _PLAIN_FAMILY(text, start, stop):
        return _PLAIN_NAMES[plain.lastindex or 0]
    first = text[start]
    if "0" <= first <= "9":
        last = text[stop - 1]
        if last == "%":
            return "share"
        if simple := _SIMPLE.fullmatch(text, start, stop):
            return "span" if simple[1] in _SPAN_UNITS else "measure"
        matches, families = _BY_END["0" if "0" <= last <= "9" else "A" if last.isascii() and last.isalpha() else "-"]
    elif first.isascii():
        matches, families = _BY_BEGINNING["A" if first.isalpha() else "-"]
    else:
        matches, families = _BY_BEGINNING["汉" if _HAN.match(first) else "-"]
    found = matches(text, start, stop)
    return families[found.lastindex] if found else ""


_LONGEST = 2_000
"""A span longer than this is no value anybody could keep."""


_UNBROKEN = 4_000
"""Bytes without a blank behind which the scanner looks no further ahead at once: some patterns end only where such a run does."""

_AT_EDGE = 300
"""Bytes before the end of such a look ahead in which a candidate is read again, with more behind it."""

_RUN = re.compile(rb"\S+")


def _long_runs(data: bytes) -> list[tuple[int, int]]:
    """Return where a text goes on for long without a blank, last first."""
    if len(data) < _UNBROKEN or max(map(len, data.split()), default=0) < _UNBROKEN:
        return []
    return [found.span() for found in _RUN.finditer(data) if found.end() - found.start() >= _UNBROKEN][::-1]


def _looked_ahead(runs: list[tuple[int, int]], at: int, end: int) -> int:
    """Return how far to look from `at`; runs that lie before it are dropped."""
    while runs and runs[-1][1] <= at:
        runs.pop()
    return min(end, max(at, runs[-1][0]) + _UNBROKEN) if runs else end


def candidates(text: str) -> Generator[Candidate | None, int | None]:
    """Yield the candidates of a folded text from left to right, then `None`; send a place in or behind the last one to go on there."""
    data = text.encode()
    end, search = len(data), _scanner()
    is_plain = end == len(text)
    at = known = behind = 0  # bytes; the candidate before begins at the byte `known`, the character `behind`
    runs = _long_runs(data)
    while True:
        limit = _looked_ahead(runs, at, end) if runs else end
        first, last = search(data, at, limit)[0]
        if limit < end:
            if first < 0:
                at = max(at + 1, limit - _AT_EDGE)
                continue
            if last > limit - _AT_EDGE and first > at:
                at = first
                continue
        if first < 0:
            break
        at = last
        if is_plain:
            start, stop = first, last
        else:
            start = behind + len(data[known:first].decode())
            known, behind = first, start
            stop = start + len(data[first:last].decode())
        if stop - start <= _LONGEST and (family := _family(text, start, stop)):
            resumed = yield _new(Candidate, (family, start, stop))
            if resumed is not None:
                at = resumed if is_plain else known + len(text[behind:resumed].encode())
    yield None


_new = tuple.__new__  # as NamedTuple's own, without a call in Python

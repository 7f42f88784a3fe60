"""Text -> sentences, and what a sentence shows by its words: a wish, a correction, an error, something done. English and Chinese.

Phrases are looked for in the whole text, and each hit is handed to its sentence, so a sentence without one costs nothing. The regular
expressions have no nested repeats: everything here is linear in the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from langchain_ctxguard.core.field_patterns import stands_in
from langchain_ctxguard.core.terms import fold, is_question

LONGEST = 300
"""Characters of a sentence; what runs on (minified JSON, base64) is cut into pieces."""

PIECE = 160
"""Characters of such a piece, cut at a separator where there is one."""

_BOUNDARY = re.compile(r"[。！？；]+[”’」』）\"')]*|[!?.;][\"')”’]?(?=\s)|\n+")
_ABBREVIATIONS = ("e.g.", "i.e.", "mr.", "mrs.", "ms.", "dr.", "no.", "vs.", "approx.")
_SOFT_BREAKS = (", ", "，", "、", ",", "; ", " ")
_BULLETS = " \t\r\u3000-*•·>#|"
_NUMBER = re.compile(r"[0-9０-９]")
_NUMBERS = re.compile(r"[0-9０-９]+")
_SPEAKS = re.compile(r"[^\W_]")
_NAMED = re.compile(r"[/\\@`\"“「《_]|[\w,;:] [A-Z]")
_OVER = ("instead of", "rather than", "而不是", "而非")
_CHOOSES = re.compile(
    r"^\W*(?:please |then |so |ok,? |and )?(?:use|go|take|pick|choose|prefer|keep|do|ship|send|put|write|call|make|store|run|build|deploy|switch|"
    r"implement|return|book|pay|move|stay|stick)\b|"
    r"\b(?:let's|we'll|i'll|we will|i will|we should|you should|we can|i want|i'd like|we want|i prefer|we prefer|we use|using|went with|go with|"
    r"going with|chose|chosen|picked|prefer|opted|decided|switch(?:ed)? to|plan is)\b|用|选|采|改|走|要|定|决定|换|建议|还是"
)
_OBSERVES = re.compile(
    r"\b(?:returns|returned|got|gets|shows|showed|printed|prints|raises|raised|gives|gave|was|were|is|are|appears|fails|failed|throws|happens|came|"
    r"sees|saw|see|contains|sent to|ended|reads|produced|displays|used to|why|whether|how come|picks|chooses|uses|takes|sends|writes|loads|calls|"
    r"keeps|puts|goes|seems|behaves|complains|warns|crashes|crashed|hangs|hung)\b|返回|显示|得到|变成|出现|结果是|收到了|报了|为什么|怎么|却|居然|竟然"
)
_INSTEAD = re.compile(r"\binstead\b(?! of)")


_AMOUNT = (
    r"(?i)[$€£¥￥][\s]?[0-9]|[0-9０-９一二两三四五六七八九十百千万][0-9０-９,.，]*[\s]?(?:元|块钱|块|万|美元|欧元|%|％|usd\b|eur\b|cny\b|rmb\b|gbp\b|dollars?\b|euros?\b|percent\b)|"
    r"(?:usd|eur|cny|rmb|gbp)[\s]?[0-9]|[0-9]{4}[-/年.][0-9]{1,2}|[0-9]{1,2}月[0-9]{1,2}|[0-9]{1,2}[:：点][0-9]{2}|"
    r"\b(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]{0,6}\.? [0-9]{1,2}\b|\b[0-9]{1,2}(?:st|nd|rd|th)? (?:jan|"
    r"feb|mar|apr|may|june?|"
    r"july?|aug|sept?|oct|nov|dec)"
)
_IN_WORDS = (
    r"(?i)\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred|thousand|dozen)\b|"
    r"\bone (?:checked |carry-on |more )?(?:bag|passenger|night|day|week|month|year|person|adult|child|ticket|room|hour|"
    r"seat|item|piece|way|stop|copy|minute|"
    r"percent)\b|[二两三四五六七八九十百千万亿][元块美天日号月年个次台周小人份条%点岁分]|一[元块美天日号月年周岁%]"
)
"""A number in words, English or Chinese."""

_LISTED = re.compile(
    r"\d{1,6}\s?[:|]\s|[+-]{3} |@@ |[│├└]|\+ ?\S|"
    r"\"(?!\w{0,40}(?:price|amount|total|cost|fee|date|_at|time|due|status|error|reason|balance|limit|name|message|title|"
    r"count|版|价|额|期))[\w.$-]{1,40}\": ?(?:"
    r"\"[^\"]*\"|[\d.]+|true|false|null|[\[{])[,\]}]*$|\{[A-Z0-9_]+\}|\w{0,30}:? ?\{[A-Z0-9_]+\}"
)
_REPORTED = re.compile(
    r"(?:[A-Z]\d{1,4} |\[?)?(?:[A-Za-z_][\w.]{0,80})?(?:Error|Exception|Failure)\b[^:：]{0,40}[:：]|"
    r"(?:fatal|error|failed|failure|exception)\b.{0,40}[:：]|traceback \(most recent|.{0,12}(?:错误|失败|异常|报错).{0,12}[:：]|error\W*$",
    re.IGNORECASE,
)
_GREETS = re.compile(
    r"(?:(?:你好|您好|哈喽|好的?呀?|好啊|嗯+|行|可以啊?|有啊|有的|是啊|是的|谢了|谢谢[你您]?了?|多谢|太好了|没问题|不客气|麻烦[你您]?了?|不好意思|"
    r"你?记一下|[^,，。0-9]{1,14}[啊呀哇哈]|真[好棒]|hello|hi|hey|hi there|ok|okay|yes|yeah|sure|great|perfect|thanks|"
    r"thank you|of course|certainly|absolutely|no problem|alright)"
    r"[,，!！~]\s*)+",
    re.IGNORECASE,
)
_THANKS = re.compile(
    r"[,，]\s*(?:(?:(?:有[啥什]么?.{0,6})?请?再?(?:给我?|帮我?)?(?:推荐|介绍)(?:一[下个家处]|几个|个)?.{0,4}|谢谢.{0,5}|多谢.{0,3}|谢了.?|怎么样|可以吗|好吗|行吗|你觉得.{1,3}|麻烦[你您]?了?|"
    r"(?:您看|你看|请问)?还?有(?:什么|其他|其它|别的).{0,10}|please|thanks|thank you|if that's ok(?:ay)?)[,，。.!！?？~]*\s*)+$",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"(?<!的)，|, (?!\d)")
_EXCLAIMS = re.compile(r"[啊呀哇哈呢吧吗][，,]?$|^(?:真[好棒]|那|好|嗯|可以|行|当然)了?[，,]?$")
_TURNS = re.compile(
    r"抱歉|遗憾|sorry|unfortunately|不|没|未|无法|别|非|如果|若|除非|否则|只|但|虽|要是|假如|\b(?:not|no|never|none|nor|if|unless|except|without|only|but|however|although|until|while|"
    r"when|instead|cannot|provided)\b|n't\b",
    re.IGNORECASE,
)
_GIVES_IN = re.compile(
    r"^那(?!好|行|可以|就|么|没|谢|先)[^?？]{3,40}[吧呗]\W*$|还是[^?？是]{2,16}吧|\bin that case\b|\blet's make it\b|^what about\b"
)
_REFERS = re.compile(
    r"\b(?:this|that|the first|the second|the last|the same) (?:one|option|flight|hotel|place|restaurant|train|room|plan|version|item|product)\b|"
    r"(?:这|那|该)(?:家|个|里|款|间|趟|班|条|座|处|儿|方案)|它",
    re.IGNORECASE,
)
_VALUES = re.compile(r"[A-Za-z0-9_.,:/@%$€£¥#+~-]+")


class Sign(StrEnum):
    """What the words of a sentence show."""

    CORRECTION = "correction"
    EMPHASIS = "emphasis"
    PREFERENCE = "preference"
    """What a person would like better. It is no condition, and what it stands beside is still asked for."""

    DEFERRED = "deferred"
    """Asked for, but not right now: `please also`, `TODO`, 待办."""

    PERHAPS_DEFERRED = "perhaps_deferred"
    """Deferred if it is a request at all: `also`, 另外."""

    REQUEST = "request"
    DECISION = "decision"
    CHOICE = "choice"
    """A person takes, keeps or turns down what was offered. In a model's mouth the same words decide nothing."""

    AGREEMENT = "agreement"
    REFUSAL = "refusal"
    """A person turns down what was offered, or asks for another."""

    OUTCOME = "outcome"
    """The assistant names something to take, or says that there is none."""

    ERROR = "error"
    DONE = "done"
    NOT_DONE = "not_done"
    UNABLE = "unable"
    NARRATION = "narration"
    """The assistant says what it is about to do."""

    TIME = "time"


_PHRASES: dict[Sign, tuple[str, ...]] = {
    Sign.CORRECTION: (
        *("i meant", "actually", "correction", "that's wrong", "that is wrong", "incorrect", "changed my mind", "change of plan", "should be"),
        *("that's not", "that is not", "not what i", "wrong one", "scratch that", "on second thought"),
        *("不对", "错了", "更正", "纠正", "改成", "改为", "应该是", "说错", "我的意思是", "搞错", "弄错", "而是"),
    ),
    Sign.EMPHASIS: (
        *("remember", "make sure", "never", "always", "must", "important", "do not", "don't", "only", "under no circumstances", "at all times"),
        *("required", "ensure", "critical", "note that", "without", "refuse", "not allowed", "prefer", "no longer", "mustn't", "shall not"),
        *("avoid", "refrain from", "off limits", "off-limits", "hands off", "stay away from", "keep out of", "allergic", "i can't eat", "forbidden"),
        *("stop sending", "stop calling", "stop asking", "leave out", "except for", "nothing but", "no more than", "under no", "by no means"),
        *(
            "避免",
            "别用",
            "别发",
            "别动",
            "别碰",
            "别改",
            "别删",
            "别给",
            "别让",
            "别在",
            "别去",
            "别订",
            "别选",
            "别放",
            "别加",
            "别说",
            "别写",
            "别提",
            "别打",
            "别联系",
        ),
        *("不接受", "不吃", "过敏", "忌口", "谢绝", "切忌", "不允许", "以外不", "不超过", "不得超过"),
        *("记住", "一定", "务必", "必须", "不要", "不得", "禁止", "严禁", "切勿", "请勿", "千万", "不能", "不可", "只能", "始终", "永远", "注意"),
        *("重要", "谨记", "不许", "不准", "别再", "别把", "不同意", "拒绝", "只允许"),
    ),
    Sign.PREFERENCE: (
        *(
            "i'd rather",
            "i would rather",
            "rather not",
            "preferably",
            "ideally",
            "i like",
            "i love",
            "i hate",
            "i dislike",
            "i don't like",
            "not a fan of",
        ),
        *(
            "prefers",
            "preferred",
            "preference",
            "preferences",
            "wants",
            "would like",
            "my favourite",
            "my favorite",
            "i'm used to",
            "if possible",
            "i usually",
            "suits me",
            "works better for me",
            "easier for me",
        ),
        *("更喜欢", "喜欢", "偏好", "最好", "尽量", "宁可", "宁愿", "讨厌", "不喜欢", "不想", "习惯", "倾向于", "比较想"),
    ),
    Sign.DEFERRED: (
        *("please also", "also please", "also need", "also want", "todo", "to-do", "don't forget", "still need", "still needs", "still to do"),
        *("one more thing", "follow up", "when you're done", "when you are done", "afterwards", "after that", "later on", "next step", "remaining"),
        *("待办", "还需要", "还需", "还要", "别忘", "稍后", "接下来", "下一步", "回头", "记得", "尚待", "顺便"),
    ),
    Sign.PERHAPS_DEFERRED: (
        *("also", "then", "later", "tomorrow", "finally", "as well", "once"),
        *("另外", "之后", "还有", "然后", "再", "明天", "最后", "同时"),
    ),
    Sign.REQUEST: (
        *("please", "can you", "could you", "would you", "will you", "i need", "i want", "i'd like", "i would like", "we need", "let's", "help me"),
        *("could we", "can we", "could i", "can i", "may i"),
        *("need to", "needs to", "you should", "add", "fix", "update", "create", "write", "remove", "delete", "send", "book", "cancel", "implement"),
        *("refactor", "rename", "deploy", "generate", "tell me", "show me", "give me"),
        *("请", "帮我", "帮忙", "麻烦", "我想", "我要", "需要", "希望", "给我", "能不能", "能否", "可以", "替我", "把"),
    ),
    Sign.DECISION: (
        *("we decided", "i decided", "i've decided", "decided to", "decided on", "go with", "going with", "we chose", "i chose", "i choose"),
        *("we'll use", "we will use", "opted", "settled on", "we agreed", "decision"),
        *("决定", "选择了", "我们选择", "我选择", "就选", "选定", "选用", "改用", "采用", "定为", "就用", "敲定"),
    ),
    Sign.CHOICE: (
        *("go ahead", "proceed with", "i'll take", "i'll use", "i'll pay", "i'll go for", "i would like to book", "i'd like to book", "let's keep"),
        *("let's use", "let's do", "i'd prefer", "i would prefer", "i don't need", "i don't want", "no need for", "i'll skip", "i'll pass"),
        *("too expensive", "too much", "over my budget", "above my budget", "out of my budget", "sounds good", "works for me", "i like"),
        *(
            "就去",
            "就订",
            "就要",
            "就这",
            "就选",
            "那就",
            "我要去",
            "我打算去",
            "我准备去",
            "我去",
            "我订",
            "我选",
            "我就",
            "也可以",
            "也行",
            "挺好",
            "不错",
        ),
        *("不用了", "不需要", "不去了", "算了", "太贵", "太远", "也只能"),
    ),
    Sign.AGREEMENT: (
        *("yes", "yeah", "yep", "sure", "okay", "ok", "agreed", "correct", "that works", "perfect", "sounds good", "go ahead", "please proceed"),
        *("好的", "好吧", "可以啊", "行", "不错", "没问题", "就这", "是的", "对的"),
    ),
    Sign.REFUSAL: (
        *("no", "nope", "too expensive", "too far", "too late", "too early", "another one", "a different", "something else", "instead", "don't like"),
        *("不行", "不要", "不好", "不喜欢", "不合适", "太贵", "太远", "换一", "换个", "另一", "另外一", "别的吗", "其他的吗"),
    ),
    Sign.OUTCOME: (
        *("recommend", "i recommend", "suggest", "how about", "i found", "the best option", "unfortunately", "not available", "no longer available"),
        *("sold out", "cannot accept", "not eligible", "not allowed", "there is no", "there are no"),
        *(
            "地址是",
            "地址在",
            "地址为",
            "电话是",
            "类型是",
            "价格是",
            "时间是",
            "推荐菜有",
            "车型",
            "车牌",
            "号码是",
            "is located",
            "address is",
            "number is",
        ),
        *(
            "推荐",
            "建议",
            "不错的",
            "可以去",
            "可以试",
            "满足您",
            "符合您",
            "符合你",
            "就是一",
            "抱歉",
            "没有符合",
            "没有适合",
            "没有找到",
            "查不到",
            "没有查到",
            "没查到",
        ),
    ),
    Sign.ERROR: (
        *("error", "exception", "traceback", "failed", "failure", "denied", "not found", "timeout", "timed out", "refused", "fatal", "panic"),
        *(
            "cannot",
            "could not",
            "couldn't",
            "invalid",
            "no such",
            "does not exist",
            "doesn't exist",
            "no content",
            "no results",
            "no match",
            "unable",
        ),
        *("错误", "失败", "异常", "超时", "拒绝", "无法", "找不到", "报错"),
    ),
    Sign.DONE: (
        *("done", "completed", "finished", "fixed", "sent", "created", "updated", "added", "cancelled", "canceled", "removed", "deleted", "booked"),
        *("changed", "resolved", "deployed", "implemented", "renamed", "written", "has been", "have been", "is now", "are now"),
        *("successfully", "[x]"),
        *("已", "完成", "搞定", "好了", "成功"),
    ),
    Sign.NOT_DONE: (
        *("not", "unable", "cannot", "can't", "couldn't", "haven't", "hasn't", "isn't", "wasn't", "failed", "yet", "will", "going to", "still"),
        *("would", "if", "未", "没", "无法", "不能", "失败", "尚", "将", "稍后", "待", "如果"),
    ),
    Sign.UNABLE: (
        *("unable", "can't", "cannot", "couldn't", "could not", "failed", "not able", "not yet", "still need", "still needs"),
        *("无法", "不能", "未能", "失败", "还没", "尚未", "没能"),
    ),
    Sign.NARRATION: ("let me", "i'll", "i will", "now i", "i'm going to", "i am going to", "我来", "我将", "让我", "我先", "我会"),
    Sign.TIME: (
        *("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "today", "tomorrow", "deadline", "o'clock", "midnight"),
        *("星期", "周一", "周二", "周三", "周四", "周五", "周六", "周日", "明天", "今天", "后天", "下周", "月底", "截止"),
    ),
}
_SCREENS = {sign: "|".join(phrase.replace("[", r"\[").replace("]", r"\]") for phrase in phrases) for sign, phrases in _PHRASES.items()}
_NOTHING: frozenset[Sign] = frozenset()


class Sentence(NamedTuple):
    """A verbatim piece of a text."""

    text: str
    start: int
    """Where it stands in the text."""

    begins_early: bool = False
    """The sentence went on before this piece."""

    goes_on: bool = False

    @property
    def shown(self) -> str:
        """The piece with `…` where it was cut out of a longer sentence."""
        return f"{'…' if self.begins_early else ''}{self.text}{'…' if self.goes_on else ''}"


def sentences(text: str) -> Iterator[Sentence]:
    """Yield the sentences of `text`, each a substring of it; what holds no letter or digit is left out.

    >>> [piece.text for piece in sentences("Pay 3.50 now. 不要删除订单！再查一次")]
    ['Pay 3.50 now.', '不要删除订单！', '再查一次']
    """
    start = 0
    for boundary in _BOUNDARY.finditer(text):
        stop = boundary.end()
        if text[boundary.start()] == "." and _is_no_end(text, start, boundary.start() + 1):
            continue
        yield from _pieces(text, start, stop)
        start = stop
    yield from _pieces(text, start, len(text))


def _is_no_end(text: str, start: int, stop: int) -> bool:
    """Say whether the full stop before `stop` belongs to an abbreviation or to the number of a list item."""
    whole = text[start:stop].strip(_BULLETS + ".") if stop - start < 7 else ""  # noqa: PLR2004 - ` - 12.`
    return whole.isdigit() or text[max(start, stop - 8) : stop].lower().endswith(_ABBREVIATIONS)


def _pieces(text: str, start: int, stop: int) -> Iterator[Sentence]:
    bare = text[start:stop].lstrip(_BULLETS)
    start = stop - len(bare)
    bare = bare.rstrip()
    if not _SPEAKS.search(bare):
        return
    if len(bare) <= LONGEST:
        yield Sentence(bare, start)
        return
    stop = start + len(bare)
    at = start
    while at < stop:
        end = min(at + PIECE, stop)
        if end < stop:
            end = next((found + len(mark) for mark in _SOFT_BREAKS if (found := text.rfind(mark, at + PIECE // 2, end)) >= 0), end)
        piece = text[at:end].strip()
        if _SPEAKS.search(piece):
            yield Sentence(piece, at, begins_early=at > start, goes_on=end < stop)
        at = end


def signs_of(text: str, pieces: Sequence[Sentence], wanted: Collection[Sign] = tuple(Sign)) -> list[AbstractSet[Sign]]:
    """Return what each of the sentences of `text` shows, of the signs asked for.

    >>> text = "Please fix it. 一定要快"
    >>> [*map(list, signs_of(text, list(sentences(text))))]
    [[<Sign.REQUEST: 'request'>], [<Sign.EMPHASIS: 'emphasis'>]]
    """
    folded = fold(text)
    starts = [piece.start for piece in pieces]
    found: defaultdict[int, set[Sign]] = defaultdict(set)
    for sign in wanted:
        # One pass over the text says of most signs that none of their phrases is in it.
        for phrase in _PHRASES[sign] if stands_in(_SCREENS[sign], folded) else ():
            if phrase in folded:
                for at in _places(folded, phrase):
                    found[bisect_right(starts, at) - 1].add(sign)
    for sign, hints, shows in _JUDGED:
        if sign in wanted and stands_in(hints, folded):
            for index in (index for index, piece in enumerate(pieces) if shows(piece.text)):
                found[index].add(sign)
    return [found.get(index, _NOTHING) for index in range(len(pieces))]


def asks(sentence: str) -> bool:
    """Say whether a sentence asks something of its reader, as a question or a request.

    >>> asks("Please cancel order 12."), asks("地址在哪里？"), asks("The limit is 500 EUR.")
    (True, True, False)
    """
    return is_question(sentence) or requests_in(sentence)


def requests_in(sentence: str) -> bool:
    """Say whether a sentence asks for something to be done, in the words requests have."""
    return bool(signs_of(sentence, [Sentence(sentence, 0)], (Sign.REQUEST,))[0])


def prefers_one(sentence: str) -> bool:
    """Say whether a sentence takes one thing over another. That something is one way "instead of" another is an observation.

    >>> prefers_one("Use tabs instead of spaces"), prefers_one("It returns None instead of raising"), prefers_one("用方案B而不是A")
    (True, False, True)
    """
    folded = fold(sentence)
    at = next((place for mark in _OVER if (place := folded.find(mark)) >= 0), -1)
    return at >= 0 and _CHOOSES.search(folded[:at]) is not None and _OBSERVES.search(folded[:at]) is None


def _swaps(sentence: str) -> bool:
    """Recognise what somebody takes `instead`, with nothing named that it is taken for. That something came instead is an observation."""
    folded = fold(sentence)
    return "instead" in folded and _INSTEAD.search(folded) is not None and _OBSERVES.search(folded) is None


def _contradicts(sentence: str) -> bool:
    """Recognise `No, ...` and `not X but Y`, and what somebody asks for instead: `那……吧`."""
    folded = fold(sentence)
    if folded.startswith(("no, ", "nope", "no - ", "不，", "不,")) or (" but " in folded and "not " in folded.partition(" but ")[0]):
        return True
    return _GIVES_IN.search(folded) is not None


_JUDGED: tuple[tuple[Sign, str, Callable[[str], bool]], ...] = (
    (Sign.DECISION, "|".join(_OVER), prefers_one),
    (Sign.CHOICE, "instead", _swaps),
    (Sign.CORRECTION, "no|but |不|那|还是|in that case|make it|what about", _contradicts),
)
"""What a list of phrases cannot tell: the sign, what a text must hold for it, and the judgement on one sentence."""


def _places(folded: str, phrase: str) -> Iterator[int]:
    """Yield where a phrase stands as words of its own; Chinese has no blanks to ask for."""
    at = folded.find(phrase)
    is_latin = phrase.isascii()
    while at >= 0:
        if not is_latin or not (_touches(folded, at - 1, phrase[0]) or _touches(folded, at + len(phrase), phrase[-1])):
            yield at
        at = folded.find(phrase, at + len(phrase))


def _touches(folded: str, at: int, edge: str) -> bool:
    """Say whether the character at `at` continues the word whose edge it meets."""
    return 0 <= at < len(folded) and edge.isalnum() and folded[at].isascii() and folded[at].isalnum()


def without_courtesy(piece: Sentence) -> Sentence:
    """Return a sentence without the clauses at its edges that only greet, thank, ask nicely or say yes; what is left is marked as cut.

    >>> without_courtesy(Sentence("好的，我想找评分4.5分以上的景点，给我推荐一个吧。", 0)).shown
    '…我想找评分4.5分以上的景点…'
    >>> without_courtesy(Sentence("Thanks, bye.", 0)).shown
    'Thanks, bye.'
    """
    text = piece.text
    leading = _GREETS.match(text)
    start = 0 if leading is None else leading.end()
    closing = _THANKS.search(text, start)
    stop = len(text) if closing is None else closing.start()
    if stop - start < 6 or stop - start > len(text) - 3:  # noqa: PLR2004 - nothing would be left, or nothing would be saved
        return piece
    return Sentence(text[start:stop], piece.start + start, piece.begins_early or start > 0, piece.goes_on or stop < len(text))


def around_values(piece: Sentence) -> Sentence:
    """Return the clauses of a sentence from the first that holds a value to the last; what turns them round, such as an "if" or a "not", stays.

    >>> around_values(Sentence("这么多好玩的地方啊，真好，我想找人均消费500-1000元的餐馆，有啥好地方推荐一个呗。", 0)).shown
    '…我想找人均消费500-1000元的餐馆…'
    >>> around_values(Sentence("If you cancel today, we keep the deposit, and the rest, 80 EUR, is paid back.", 0)).shown
    'If you cancel today, we keep the deposit, and the rest, 80 EUR…'
    """
    text = piece.text
    edges = [0, *(clause.end() for clause in _CLAUSE.finditer(text)), len(text)]
    if len(edges) < 3:  # noqa: PLR2004 - one clause
        return piece
    clauses = [text[start:stop] for start, stop in pairwise(edges)]
    valued = [index for index, clause in enumerate(clauses) if has_value(clause)]
    if not valued:
        return piece
    opening, closing = valued[0], valued[-1]
    if opening and not _EXCLAIMS.search(clauses[opening - 1]):
        # What stands right before a value says what it is a value of.
        opening -= 1
    turning = [index for index, clause in enumerate(clauses) if _TURNS.search(clause)]
    first, last = min([opening, *turning]), max([closing, *turning])
    start, stop = edges[first], len(text[: edges[last + 1]].rstrip(" ,，")) if last + 1 < len(clauses) else len(text)
    if len(text) - (stop - start) < 6:  # noqa: PLR2004 - it saves nothing
        return piece
    return Sentence(text[start:stop], piece.start + start, piece.begins_early or start > 0, piece.goes_on or stop < len(text))


def refers_back(text: str) -> bool:
    """Say whether a message speaks of something as known: "that hotel", "这家", 它家.

    >>> refers_back("Where is that hotel?"), refers_back("这家餐馆在哪？"), refers_back("Find me a hotel.")
    (True, True, False)
    """
    return _REFERS.search(text) is not None


def has_value(sentence: str) -> bool:
    """Say whether a sentence holds a number, in digits or counted in Chinese."""
    return _NUMBER.search(sentence) is not None or stands_in(_IN_WORDS, sentence)


def has_name(sentence: str) -> bool:
    """Say whether a sentence holds a path, an address, something quoted, or a capital inside."""
    return _NAMED.search(sentence) is not None


def has_amount(sentence: str) -> bool:
    """Say whether a sentence holds an amount of money, a percentage, a date or a time of day.

    >>> [has_amount(text) for text in ("It costs $12.", "共三百元", "截止 6月30日", "at 9:40", "See line 12.")]
    [True, True, True, True, False]
    """
    return stands_in(_AMOUNT, sentence)


def is_listing(sentence: str) -> bool:
    """Say whether a sentence is a numbered line of a file, or of a difference between two: it can be read again.

    >>> is_listing("1535: values = []"), is_listing("12: the number of guests")
    (True, True)
    >>> is_listing("12 guests: all vegan"), is_listing("At 9: standup")
    (False, False)
    """
    return _LISTED.match(sentence) is not None


def reports_error(sentence: str) -> bool:
    """Say whether a sentence is the message of an error rather than one about errors.

    >>> reports_error("Error: payment does not add up"), reports_error("E999 SyntaxError: unmatched ']'"), reports_error("错误：余额不足")
    (True, True, True)
    >>> reports_error("except OverflowError as error:"), reports_error("I fixed the error.")
    (False, False)
    """
    return _REPORTED.match(sentence) is not None


def values_in(sentence: str) -> frozenset[str]:
    """Return the words of a sentence that hold a digit.

    >>> sorted(values_in("Pay $1,023 by 2026-05-07, not 价格685元."))
    ['$1,023', '2026-05-07', '685']
    """
    return frozenset(word.strip(".,:/-") for word in _VALUES.findall(sentence) if any(map(str.isdigit, word)))


def key_of(sentence: str) -> str:
    """Return the form in which repeats are equal.

    >>> key_of("Ship  ORDER 7.") == key_of("ship order 7")
    True
    """
    return " ".join(sentence.lower().split()).rstrip(".。!！;；,， ")


def shape_of(key: str) -> str:
    """Return a key with its numbers blanked: lines of one table share a shape.

    >>> shape_of("row 17 ok") == shape_of("row 2 ok")
    True
    """
    return _NUMBERS.sub("0", key)


def parts_of(text: str, marks: Sequence[str]) -> tuple[str, str] | None:
    """Return what stands before and after the first of `marks` that occurs in `text`, both verbatim."""
    folded = fold(text)
    places = [(at, mark) for mark in marks if (at := folded.find(mark)) >= 0]
    if not places:
        return None
    at, mark = min(places)
    return text[:at], text[at + len(mark) :]

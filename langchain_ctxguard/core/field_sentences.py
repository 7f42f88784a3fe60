"""Fields that are clauses: what is stressed, what is chosen and what is turned down; and quoted names."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from langchain_ctxguard.core.field_patterns import stands_in
from langchain_ctxguard.core.field_text import clauses_of, sentence_at
from langchain_ctxguard.domain.control import FieldKind

# Words that stress nothing: negated, told, or part of another word.
_NO_STRESS = re.compile(
    r"(?:n['’]t|not|never|no longer|less|un|cannot|can['’]?t|hardly|do you|did you|I|we|they|to|who|which)\s*(?:that |really |very |so |all that )?$",
    re.IGNORECASE,
)
_STRESS_AFTER_I = re.compile(
    r"\b(?:I|we|they|you|he|she)(?:['’]ll| will| do| did| may| might| can| could| would)? (?:also |still |now |just )?$", re.IGNORECASE
)
_ZH_NO_STRESS_BEFORE = re.compile(r"(?:不|没|没有|不太|不是很|并不|记不|不必|其|无关|未)$")
_ZH_WORD_AFTER = {
    "注意": "到力",
    "重要": "性",
    "关键": "词字帧路",
    "重点": "客项高中学班",
    "要点": "赞餐菜名",
    "千万": "元块美人级条富",
    "记住": "了吗",
}
_ZH_NUMERAL_BEFORE = re.compile("[0-9一二两三四五六七八九十百几数]$")

_TITLE = re.compile(
    r"(?:[A-Z0-9][\w'’&.-]*|of|the|and|for|in|on|to|a|an|de|la|van|von|with|by|at)(?:[ -](?:[A-Z0-9][\w'’&.-]*|of|the|and|for|in|on|to|a|an|de"
    r"|la|van|von|with|by|at))*"
)
_CALLED = re.compile((
    r"(?:called|named|titled|title:?|name(?: is|:)?|(?:name|title|codename|code name) (?:of|for) (?:\w+ ){1,3}is|rename|project|codename"
    r"|code name|dubbed|known as|branch|分支|叫|叫做|名为|名叫|取名|改名|代号"
    r"|名称|名字|命名|项目|系统"
    r"|计划|活动|签名|品牌|题为|题目|标题|书名|店名|群名|昵称改成|用|的是|负责|改成|改为|对外|内部|商标|栏目|作品|剧名|片名|曲目|艺名"
    r"|笔名)[是为:： ]{0,2}(?:一律说|一律叫|说|做)?[ ]?$"
), re.IGNORECASE)  # fmt: skip
_NAMED_AFTER = re.compile(
    r"(?:这个|那个|的)?(?:项目|系统|计划|活动|工程|品牌|方案|产品|平台|小组|组|群|店|样板间|课程|栏目|剧|书|片|专辑|频道|团队|project|team"
    r"|product|brand)"
)
_NAME_END = re.compile(
    r"(?:计划|项目|行动|工程|系统|平台|中台|群|组|厅|苑|馆|阁|社|屋|店|园|城|楼|节|会|奖|杯|厨房|书屋|公司|集团|基金|品牌|方案|专线|号|版|站"
    r"|轩|居|坊|院|湾|里)$"
)
_REMARK_BEFORE = re.compile(
    r"(?:said|says|say|that says|saying|wrote|writes|reads?|told me|asked|replied|quote|clause|error|message|应该写|里说|他说|她说|说过|说的|问"
    r"|回复|回答|写着|写道|文案"
    r"|口号|点评|评语|称呼用?|显示|提示|喊"
    r"|点评|告诉我|俗话|常言|歌词|台词|标语|备注|意思是|问的是|原话|里有句|一句|配文)[是为:： ,，]{0,3}$",
    re.IGNORECASE,
)
_SPEECH = re.compile(r"[，。！？；,!?;:：…]|\.(?![0-9])|[吗呢吧啊哦呀了]$|^(?:我|你|他|她|它|请|别|不|快|谁|怎|为什么|什么|如果|因为)")
_QUOTES = re.compile(
    r"“([^“”\n]{1,60})”|\"([^\"\n]{1,60})\"|《([^《》\n]{1,60})》|‘([^‘’\n]{1,60})’|(?<![A-Za-z0-9])'([A-Z][^'\n]{2,40})'(?![A-Za-z0-9])"
    r"|「([^「」\n]{1,60})」|『([^『』\n]{1,60})』"
)

_LEAD = (
    r"(?:(?:那|就|我们?|咱们?|所以|然后|最后|最终|结论|老板|客户|大家|已经|都|还是|ok|好|行|嗯|then|so|yes|ok|okay|fine|and|but|now|well|please"
    r"|also|[Tt]hanks|[Tt]ell (?:them|him|her|(?:the|our|my) \w+)(?: that)?)[ ,:]?)*"
)
_THING = r"(?P<thing>[^\n]{1,60}?)"
_TAIL = r"(?:吧|了|啦|好了|就好|就行|方案|那个方案|这个方案|as well|then|now|next|please|instead|after all|for now)?"
_TOPIC = r"(?:[^\s，,]{1,10}? ?|[A-Za-z][\w ]{0,20}? ?)?"

_WHEN_ZH = (
    r"(?P<thing>(?:今|明|后天|大后天|本周|这周|下周|周[一二三四五六日天末]|星期|礼拜|凌晨|早上|上午|中午|下午|傍晚|晚上|[0-9一二三四五六七八九十]{1,3}(?:点|号|月))"
    r"[^\n]{0,30}?)"
)
_CONDITION = re.compile("(?:如果|要是|假如|一旦|万一|否则|失败|超时|不行|不够|没有|没|的话|超过|不足)[^，,]{0,8}就")

_REJECTED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        (
            rf"{_LEAD}(?:不要|不用|不找|不搞|不接|不选|不上|不走|不采用|不采纳|不考虑|放弃|弃用|舍弃|否掉|否决|砍掉|去掉|排除|淘汰|暂不"
            rf"|暂时不(?:用|做|搞|上)?|先不(?:搞|做|上|用|要)|不做){_THING}(?:了|吧|了吧)?"
        ),
        (
            rf"{_LEAD}{_THING}(?:这个|那个|那套|这套|那种)?(?:方案|选项|计划|feature|功能)? ?(?:就|都|也|先|直接)?(?:不要了?|不用了|不考虑了?|作废"
            rf"|淘汰|去掉|砍掉|否掉|否决|出局|排除|弃用|放弃"
            rf"|先不[搞做上]了?|不[搞做]了|pass掉?)(?:吧|了)?"
        ),
        rf"{_LEAD}{_THING}(?:就|都|也)不[\u4e00-\u9fff]{{1,2}}了(?:吧)?",
        (
            rf"{_LEAD}(?:we(?:['’]re| are| will|['’]ll|['’]d)?|I(?:['’]m| am|['’]ll|['’]d)?|let['’]s) ?(?:not|won['’]t|never)(?: be)? (?:tak(?:e"
            rf"|ing)|go(?:ing)? (?:with|for)|us(?:e|ing)|choos(?:e|ing)|pick(?:ing)?|do(?:ing)?|buy(?:ing)?) {_THING}"
        ),
        rf"{_LEAD}(?:we |I |let['’]s )?(?:won['’]t|will not|don['’]t|do not|didn['’]t) (?:want|use|take|pick|choose|go with|go for|need) {_THING}",
        (
            rf"{_LEAD}(?:we |I |let['’]s |we['’]ll |I['’]ll |we['’]ve |please )?(?:reject(?:ed)?|skip(?:ped|ping)?|drop(?:ped|ping)?(?! (?:to|by"
            rf"|from|off|below|in|me|us)\b)|forget(?! (?:to|about|that|it|my|me)\b)|scrap(?:ped)?|ditch(?:ed)?|rul(?:e|ed) out|discard(?:ed)?"
            rf"|passed on|turned down|decided against|cross(?:ed)? out|say no to) {_THING}"
        ),
        (
            rf"{_LEAD}{_THING} (?:is|are|was|were)(?: now)? (?:off the table|out of the question|no longer an option|not an option|ruled out"
            rf"|rejected|discarded|cancelled|canceled|scrapped|dropped)"
        ),
        rf"{_LEAD}(?:instead of|rather than|leave out|no to|not going with|never mind|without) {_THING}",
        rf"{_LEAD}{_THING} (?:didn['’]t make it|lost|is off|loses)",
        rf"{_LEAD}{_THING}(?:就|都|也)?不再(?:合作|使用|用|考虑|采用|续约|要|做|选)(?:了)?",
        rf"{_LEAD}(?:别用|别选|别买|别订|没选|拒绝|不选择){_THING}(?:了|吧)?",
        (
            rf"{_LEAD}{_THING}(?:这个|那个)?(?:方案|选项)?(?:就|都|也|先)?(?:算了|免了|落选|否了|拒了|毙了|退掉|划掉|别用了|不采用了?|搁置|停用"
            rf"|不合适|不予考虑|pass)(?:了|吧)?"
        ),
    )
)
_HALF_REJECTED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_LEAD}{_THING} (?:is|are) (?:out|off|dead)",
        rf"{_LEAD}{_THING}不需要(?:了)?",
        rf"{_LEAD}{_THING}(?:先放一?放|再说|取消)",
        rf"{_LEAD}(?:I|we) don['’]t (?:want|need) {_THING}",
        (
            rf"{_LEAD}(?:not|no) (?!(?:rush|problem|idea|need|worries|way|one|longer|matter|sure|yet|really|important|only|more|less|doubt|reason"
            rf"|hurry|thanks|that|very|at|in|on|for|if|a|an|it|so|to|just|all|too|much|many|any|bad|good|been|even)\b){_THING}"
        ),
        rf"{_LEAD}(?:也|就|都|先|暂时)?不(?:[要用找搞接选做上走买住租坐吃喝去订签加装换采投留请考扩改开办引推]){_THING}(?:了|吧)?",
        rf"{_LEAD}{_THING}(?:就|都|也|先|暂时)?不(?:[要用找搞选做买住租坐吃喝去订签加装换采投留请考扩改开办引推行])(?:了|啦)?",
        r"(?:先|也|就|都)?不(?P<thing>[\u4e00-\u9fffA-Za-z]{1,6}?)(?:了|吧)?",
    )
)
_ANNOUNCED = re.compile(
    r"(?:确认了|定了|定下来了|选好了|决定了|拍板了?|结论|商量好了|敲定了|想好了|谈好了|说好了|同意了|通过了|批了"
    r"|(?i:decided|settle(?:d| it)|(?:my |our |the |final )*(?:decision|choice|pick|answer|verdict|vote)|finally|agreed|approved|confirmed|chosen"
    r"|selected))$"
)
_NAMED_THING = re.compile(r"(?:the|option|plan|variant|version|draft|方案)(?P<thing> ?[^\n]{1,50})", re.IGNORECASE)
_CONFIRMED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_LEAD}{_TOPIC}(?:就|还是)(?:用|选|订|签|吃|定|按|买|走|去|住|要|上|做|请|找|租|喝|坐|穿|报(?![警告名错])|约|采用|选择){_THING}{_TAIL}",
        rf"{_LEAD}就{_WHEN_ZH}{_TAIL}",
        rf"{_LEAD}{_THING} (?:is|are) what we(?:['’]ll| will)? (?:do|use|take|want|keep|go with)(?: from now on| now)?",
        (
            rf"{_LEAD}{_TOPIC}?(?:决定|敲定|选定|选中|选择|选了|采用|采纳|改用|改做|改走|改选|确定用|确定选|拍板|最终选)(?:用|选|住|做|了"
            rf"|走)?{_THING}{_TAIL}"
        ),
        rf"{_LEAD}(?:定|选|要){_THING}吧",
        rf"{_LEAD}{_TOPIC}?优先(?:做|用|选|上)?(?P<empty>)",
        (
            rf"{_LEAD}(?:let['’]s |lets |we(?:['’]ll|['’]re| will|['’]ve| have| are| would|['’]d)? |I(?:['’]ll|['’]m| will|['’]ve| have| would"
            rf"|['’]d)? "
            rf")?(?:like to |want to |gonna |going to )?"
            rf"(?:go(?:ne|ing)? (?:ahead )?with|go(?:ne|ing)? for(?! (?:a|an|it|walks?|runs?|lunch|dinner|now)\b)|went (?:with|for(?! (?:a|an|it)\b))"
            rf"|cho(?:o?se|sen)|pick(?:ed)?|select(?:ed)?|decided? on|settled? (?:on|for)|landed on|opt(?:ed)? for|decided to (?:use|take|go with)) "
            rf"{_THING}{_TAIL}"
        ),
        rf"{_LEAD}{_THING} (?:it is|wins|won|is the winner|got the (?:job|contract|nod)|is our (?:choice|pick))",
        (
            rf"{_LEAD}(?:the winner is|our (?:choice|pick) is|my (?:choice|pick|vote) (?:is|goes to)|the decision is|make it|yes to|go ahead with"
            rf"|stick(?:ing)? with|agreed on) {_THING}{_TAIL}"
        ),
        rf"{_LEAD}(?:首选|最终定的是|最后定的是|定的是|选的是){_THING}{_TAIL}",
        rf"{_LEAD}{_TOPIC}定了(?:用|选|走|上|做|去){_THING}{_TAIL}",
        rf"{_LEAD}(?:我|我们|咱们|客户|老板|领导|甲方|大家)?(?:都|也|最后|最终)?(?:选|挑|敲)(?:了|的是)?(?![择项修题购拔手好完]){_THING}{_TAIL}",
        (
            rf"{_LEAD}(?:the board|management|the client|the customer|they|she|he|the team|legal|finance) (?:approved|picked|chose|selected|signed "
            rf"off on|went with) {_THING}"
        ),
        rf"{_LEAD}(?:I|we)(?:['’]d| would)? (?:prefer|rather have|rather take) {_THING}{_TAIL}",
        rf"{_LEAD}{_THING} (?:is the one|gets the (?:job|contract|order|deal)|stays)",
        rf"{_LEAD}(?:green light|thumbs up|go-ahead) (?:for|to) {_THING}{_TAIL}",
        rf"{_LEAD}(?:we['’]re |we are |I['’]m |we['’]ll |I['’]ll )?(?:stick(?:ing)?|stay(?:ing)?|run(?:ning)?) with {_THING}{_TAIL}",
        rf"{_LEAD}(?:还是|那就|那|就)(?!这样|这么|这|那){_THING}吧",
        rf"{_LEAD}{_TOPIC}(?:统一|一律|全部|都)(?:用|选|走|上|采用){_THING}{_TAIL}",
        rf"{_LEAD}{_THING}(?:中标|胜出|通过了|拿下了)",
        rf"{_LEAD}(?:同意|确认)(?:用|选|采用|走|上|做){_THING}{_TAIL}",
        rf"{_LEAD}(?:以){_THING}为准",
        rf"{_LEAD}(?:we|I)(?:['’]ll| will) (?:take|use)(?! (?:a look|care|it from|note|my time|the time)) {_THING}{_TAIL}",
        (
            rf"{_LEAD}let['’]s (?:use|take|do|book|keep(?! (?:it|this|that|in|an|up|things|calm|going|moving|track)\b)|stick with|stay with"
            rf"|try|adopt) {_THING}{_TAIL}"
        ),
    )
)
_WEAKLY_CONFIRMED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        (
            rf"{_LEAD}(?:先|自己|直接|还是|继续|保持|保留|换成|换|采购|选|定|要|用|走|上|做|买|租|订|住|坐|吃|喝|去|签|采|找|按(?![时照期])|请|学"
            rf"|加|装|留|投|引进|推){{1,2}}(?:打开|做|用|走|上"
            rf"|选)?{_THING}{_TAIL}"
        ),
        rf"{_LEAD}[^\s，,。不没]{{1,8}}? ?(?:直接|选|走|用|优先|先|定|订|上|换|改|要|买|签|租)(?:用|做|上|走|采购)? ?{_THING}{_TAIL}",
        (
            rf"{_LEAD}(?:we(?:['’]re| are) \w+ing|(?:we|I)(?:['’]ll| will) (?:do|have|book|buy|keep)|we|let['’]s|use|take|book|buy|keep|choose"
            rf"|pick|go|do|get|order|stay with|stick with|try|serve|print|ship|hire|sign|I want|we want) {_THING}{_TAIL}"
        ),
        rf"{_LEAD}{_THING} for the \w+",
        rf"{_LEAD}(?:the )?{_THING} one,? ?(?:please)?",
        rf"{_LEAD}{_THING}(?:就行|好了|就好)",
        rf"{_LEAD}(?:主推|主打|最后是|由|交给|我要){_THING}{_TAIL}",
        rf"{_LEAD}let['’]s {_THING}",
    )
)
_NO_CHOICE = re.compile(
    r"(?:不用|不要)(?:愁|紧|逐|一一|熬|抽|吵|哭|怕|停|断|来|关|拿|浪费|影响|修改|删除|添加|泄露|转发|重复|轻易|透露|管|担心|急|着急|跟|谢|客气|再|每|太|把|让"
    r"|给|写|提|动|改|删|发|在|向|对|忘|超|漏|碰|乱|随便|擅自|直接|钱|说|问|带|放"
    r"|看|等)|^不[用要]了$|不着急|不好意思|不知道|不确定|不清楚|不一定|不客气|不愿意|不需要|不能|不会|不是|不变|不够|不同|不错"
    r"|不行(?!$)|行不行|不对|不起|不到|不过|不少|不大|不算|不在|不可|不得|不管|不如|不仅|不但|不超|不低|不高|不影响|不含|不开放|不公布|不着|不好|不想|不懂"
    r"|不明|不然|不止|不急|不谈|不方便|不支持"
    r"|^(?:那就?|就)?(?:好|行|这样)[的吧了呗]*$|哪|(?:给|帮|替)我(?:挑|推荐|选|看|说|讲|介绍|查|找|问)|您看看"
    r"|怎么|什么|为什么|吗$|呢$|是否|要不要|决定了吗|决定不了|选择题|选择器|定时|定期|定位|定金|确定吗|(?:订单|order)s? |\b(?:which|who"
    r"|what(?! we (?:do|use|take|want)\b)"
    r"|should|could|can|would you|do you|is there|if)\b",
    re.IGNORECASE,
)
_FULL_VALUE = re.compile(r"^[\d\s:：.,%/¥$€£-]+$|^(?:一|两|三)?(?:个|下|点|些)|^(?:\d|于|在|到|为|的|了|义|力|价|性)")
_LONGEST_THING = 48
_HAN = re.compile("[\u4e00-\u9fff]")
_NO_THING = re.compile(r"[@/\\\\=<>{}|]|::")


def stress_at(text: str, start: int, stop: int) -> tuple[int, int] | None:  # noqa: PLR0911 - a list of cases
    """Return the bounds of the sentence a stressing word stands in, or `None` where the word stresses nothing."""
    word = text[start:stop]
    before = text[max(0, start - 24) : start]
    if word[0].isascii():
        if before[-1:].isalnum() or (word[-1].isalpha() and text[stop : stop + 1].isalpha()):
            return None
        low = word.lower()
        if low == "never " and text[stop : stop + 4].lower() == "mind":
            return None
        if low == "never ":
            if before.rstrip(" \t")[-1:] not in ("", ".", "!", "?", "\n", ":", "。", "！", "？", "-"):
                return None
        elif (
            (
                _NO_STRESS.search(before)
                and not (low.startswith(("remember", "make sure", "be sure", "keep", "bear", "note")) and re.search(r"\b(?:to)\s*$", before))
            )
            or (low == "remember" and (_STRESS_AFTER_I.search(before) or text[stop : stop + 2] == " w"))
            or (low == "essential" and text[stop : stop + 2] == " o")
        ):
            return None
    else:
        if (
            _ZH_NO_STRESS_BEFORE.search(before)
            or text[start : stop + 2] == "记住密码"
            or (text[stop : stop + 1] and text[stop] in _ZH_WORD_AFTER.get(word, ""))
        ):
            return None
        if word == "千万" and _ZH_NUMERAL_BEFORE.search(before):
            return None
    bounds = sentence_at(text, start, stop)
    # A question stresses nothing.
    if text[bounds[1] : bounds[1] + 1] in {"?", "？"}:
        return None
    return bounds


def choices_in(text: str, hints: list[int], taken: list[tuple[int, int]]) -> Iterator[tuple[FieldKind, int, int, str, float]]:  # noqa: C901 - a list of cases
    """Yield kind, bounds, thing and confidence of every choice a text makes.

    Args:
        text: The message, widths folded.
        hints: Where the words for it stand.
        taken: Bounds of stressed sentences; clauses inside them make no choice.
    """
    bounds = [bound for bound in clauses_of(text) if not any(start <= bound[0] < stop for start, stop in taken)]
    # "Then I choose X": a condition or a question is no choice.
    clauses = [(start, stop, text[start:stop]) for start, stop in bounds]
    asked = {start for start, stop, _ in clauses if text[stop : stop + 1] in {"?", "？"}}
    found: dict[int, tuple[FieldKind, str, float]] = {}
    for index, (start, stop, clause) in enumerate(clauses):
        if start in asked or len(clause) > 90 or not _has_hint(hints, start, stop):  # noqa: PLR2004 - a long clause tells a story
            continue
        if thing := _thing(_REJECTIONS, clause):
            found[index] = (FieldKind.CHOICE_REJECTED, thing, 0.85)
        elif thing := _thing(_CONFIRMATIONS, clause):
            found[index] = (FieldKind.CHOICE_CONFIRMED, thing, 0.85)
    halves: dict[int, tuple[FieldKind, str]] = {}
    for index, (start, _, clause) in enumerate(clauses):
        if index in found or start in asked or len(clause) > 60:  # noqa: PLR2004
            continue
        if thing := _thing(_HALF_REJECTIONS, clause):
            halves[index] = (FieldKind.CHOICE_REJECTED, thing)
        elif index and _ANNOUNCED.search(clauses[index - 1][2]) and (thing := _thing(_NAMINGS, clause)):
            found[index] = (FieldKind.CHOICE_CONFIRMED, thing, 0.75)
        elif (thing := _thing(_HALF_CONFIRMATIONS, clause)) and not (not _HAN.search(clause) and any(character.isdigit() for character in clause)):
            halves[index] = (FieldKind.CHOICE_CONFIRMED, thing)
    # Half a choice counts beside its other half, clear or not, and right after the words that announce one.
    clear = dict(found)
    for index, (kind, thing) in halves.items():
        beside = [(clear.get(other) or halves.get(other) or (kind,))[0] for other in (index - 1, index + 1)]
        if any(other is not kind for other in beside):
            found[index] = (kind, thing, 0.75)
    for index in sorted(found):
        kind, thing, confidence = found[index]
        yield kind, clauses[index][0], clauses[index][1], thing, confidence


def _has_hint(hints: list[int], start: int, stop: int) -> bool:
    place = bisect_left(hints, start - 1)  # a hint may begin with the apostrophe or space before its clause
    return place < len(hints) and hints[place] < stop


class _Sort(NamedTuple):
    """The ways one sort of choice is said in."""

    patterns: tuple[re.Pattern[str], ...]
    screen: str


def _sort(patterns: tuple[re.Pattern[str], ...]) -> _Sort:
    """Return a sort of choice with its screen: one RE2 pattern for all that `patterns` match, and some more: no lookaheads, a thing of any length."""
    loose = "|".join(f"(?:{_LOOKAHEAD.sub('', pattern.pattern)})" for pattern in patterns)
    for exact, wider in _WIDER:
        loose = loose.replace(exact, wider)
    return _Sort(patterns, f"(?i)^(?:{loose})$")


_LOOKAHEAD = re.compile(r"\(\?[!=](?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)")
_WIDER = (
    ("[^\\n]{1,60}?", "[^\\n]+"),
    ("[^\\n]{1,50}", "[^\\n]+"),
    ("[^\\n]{0,30}?", "[^\\n]*"),
    ("(?P<thing>", "(?:"),
    ("(?P<empty>", "(?:"),
    (r"\u4e00-\u9fff", "\u4e00-\u9fff"),
    (r"[\w ", r"[\pL\pN_ "),
    (r"\w", r"[\pL\pN_]"),
)
"""What RE2 writes otherwise, and what would make it count."""


def _thing(sort: _Sort, clause: str) -> str:
    """Return what a clause decides about, empty where it decides nothing."""
    # Turkish letters fold otherwise in RE2.
    if not stands_in(sort.screen, clause) and _TURKISH.isdisjoint(clause):
        return ""
    for pattern in sort.patterns:
        match = pattern.fullmatch(clause)
        if match is None:
            continue
        if _NO_CHOICE.search(clause) or ("就" in clause and _CONDITION.search(clause)):
            return ""
        thing = match.groupdict().get("thing") or clause
        thing = thing.strip(" “”\"'")
        if thing and len(thing) <= _LONGEST_THING and not _FULL_VALUE.search(thing) and not _NO_THING.search(thing):
            return thing
    return ""


_TURKISH = frozenset("\u0130\u0131")
_REJECTIONS, _CONFIRMATIONS, _HALF_REJECTIONS, _HALF_CONFIRMATIONS, _NAMINGS = map(
    _sort, (_REJECTED, _CONFIRMED, _HALF_REJECTED, _WEAKLY_CONFIRMED, (*_WEAKLY_CONFIRMED, _NAMED_THING))
)


def names_in(text: str) -> Iterator[tuple[int, int, float]]:  # noqa: C901 - a list of cases
    """Yield bounds and confidence of every quoted proper name; quoted remarks are none."""
    for quote in _QUOTES.finditer(text):
        group = quote.lastindex or 1
        start, stop = quote.span(group)
        inner = quote[group]
        before = text[max(0, quote.start() - 32) : quote.start()]
        if inner.strip() != inner or not inner:
            continue
        if group == 3:  # noqa: PLR2004 - 《》 hold titles
            yield start, stop, 1.0
            continue
        is_called = _CALLED.search(before) is not None
        if group == 5 and not is_called:  # noqa: PLR2004 - a plain apostrophe also holds strings of a program
            continue
        if inner.isascii():
            if _TITLE.fullmatch(inner) and inner[0].isupper() and (is_called or not re.search(r"error|message", before, re.IGNORECASE)):
                yield start, stop, 0.9
            elif is_called and " " not in inner and not re.search(r"[=/\\(){}<>]", inner):
                yield start, stop, 0.8
        elif not _SPEECH.search(inner) and len(inner) <= 14:  # noqa: PLR2004 - a name is short
            is_remark = _REMARK_BEFORE.search(before) is not None
            if is_called or _NAMED_AFTER.match(text, quote.end()) or (_NAME_END.search(inner) and not is_remark):
                yield start, stop, 0.9
            elif not is_remark and len(inner) <= 6:  # noqa: PLR2004
                yield start, stop, 0.75

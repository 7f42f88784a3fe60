"""Words that set the force of a sentence: duty, ban, permission, release, advice, history, condition. English and Chinese; linear patterns."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple


class Mark(StrEnum):
    """What a word or phrase does to the force of its clause."""

    LIFT = "lift"
    """A rule is over: lifted, no longer applies, 已取消."""

    RELEASE = "release"
    """A duty is denied: need not, 不必."""

    ONLY = "only"
    """Allowed in one case alone: only, nobody except, 方可."""

    BAN = "ban"
    PERMIT = "permit"
    DUTY = "duty"
    ORDER = "order"
    """Tells somebody to do it, with less ceremony: please, from now on, 照样."""

    SOFT = "soft"
    """Advice, care, a wish: should, ideally, 最好, 要小心."""

    STORY = "story"
    """Told from the past: the user mentioned, 之前提到过."""

    IN_FORCE = "in_force"
    """It still holds: still applies, 至今有效."""

    EXCEPT = "except"
    """A case in which it does not hold, or in which it does: unless, if, 除非."""

    NO_EXCEPTION = "no_exception"
    ASKED = "asked"
    """A question told: whether, 是否."""

    WITHOUT = "without"
    BEFORE = "before"
    """An order of events, or a condition to be met first: before, until, 之前, 未经."""

    NARROW = "narrow"
    """Some instead of all: those who, 部分."""

    MOST = "most"
    LEAST = "least"
    NEGATION = "negation"


# Earlier alternatives win where two begin at one place.
_PATTERNS: tuple[tuple[Mark, str], ...] = (
    (Mark.NO_EXCEPTION, r"\bno exceptions?\b|\bwithout (?:any )?exceptions?\b|没有例外|无一例外|无例外|不得例外|概无例外|任何情况下|under any circumstances?"),
    (
        Mark.IN_FORCE,
        r"\bstill (?:applies|apply|holds?|stands?|in force|valid|binding|in effect|counts?)\b|\b(?:remains?|stays?) (?:in force|valid|binding|in effect|true)\b|"
        r"\bcontinues? to (?:apply|hold)\b|\b(?:is|are) (?:still )?(?:in force|binding|in effect)\b|\bapplies (?:to this day|unchanged|today|as before)\b|"
        r"至今(?:仍然|仍|依然)?(?:有效|适用)|(?:仍然|仍|依然|继续|一直|持续)(?:有效|适用|生效|执行|照办)|须照此|照此执行|必须遵守|都要遵守|均须遵守|长期有效|现行有效",
    ),
    (
        Mark.LIFT,
        r"\bno longer (?:appl|hold|need|requir|forbid|prohibit|bann|necess|mandat|in force|valid|restrict|bind|matter|has to|have to|must|bound|off limits|limited|confined|sealed|count)\w*|"
        r"\b(?:rule|rules|ban|bans|restriction|restrictions|limit|limits|limitation|requirement|prohibition|obligation|policy|instruction|seal|embargo|duty|order|cap|freeze|block|condition)\b"
        r"[^.;]{0,90}?\b(?:(?:is|are|was|were|been|being|gets?|got) (?:\w+ )?(?:lifted|withdrawn|dropped|removed|cancell?ed|suspended|revoked|void|waived|repealed|rescinded|scrapped|"
        r"abolished|relaxed|gone|over|off|ended|history|obsolete|retired|overruled|annulled|struck|set aside|taken back|dead)|expired|ended|ceased)\b|"
        r"\b(?:we|they|he|she|management|legal|user|manager|boss|team|lead)\b[^.;,]{0,30}\b(?:lifted|withdrew|dropped|removed|cancell?ed|suspended|revoked|waived|repealed|rescinded|"
        r"scrapped|abolished)\b[^.;,]{0,30}\b(?:rule|ban|restriction|limit|requirement|prohibition|obligation|policy|instruction|embargo|duty)\b|"
        r"不再(?:禁止|要求|需要|必须|适用|有效|受限|限制|限于|是必须|强制|执行|遵守|严禁|强求)|(?:禁令|规定|规则|限制|要求|禁止|约束|封存|条款|上限|这条|该条|此条|管制|封条|义务|命令|不得|必须)"
        r"[^。；，]{0,24}?(?:(?:已|已经|被|予以|现已|也|正式|全部|都|随之|就此|全面){0,3}(?:取消|解除|作废|失效|废止|撤销|放开|放宽|解禁|终止|废除|不算数|过时|免除|撤了|拿掉))|"
        r"(?:取消|解除|废止|撤销|废除|免除)了?[^。；，]{0,30}(?:禁令|规定|规则|限制|要求|禁止|约束|义务)|(?:已经?|现已|全面|都)(?:解禁|放开)",
    ),
    (
        Mark.RELEASE,
        r"\b(?:need not|needn'?t)\b|\b(?:do|does|did|would|will) ?(?:not|n't) (?:\w+ )?(?:need|have|require)s?\b|\bdon'?t (?:need|have to)|\bdoesn'?t (?:need|have to)|"
        r"\b(?:is|are|was|be) ?(?:not|n't) (?:\w+ )?(?:needed|necessary|required|mandatory|obligatory|compulsory|obliged|a must|bound)\b|\bisn'?t (?:needed|necessary|required|mandatory)|"
        r"\bnot (?:needed|necessary|required|mandatory|obligatory|obliged)\b|\bno need\b|\bno obligation\b|\b(?:is|are|be|been) unnecessary\b|\bwithout having to\b|\bunnecessary\b|"
        r"\b(?:can|may|could|might) (?:be )?(?:skip|skipped|omit|omitted|ignore|ignored|bypass|bypassed|left out|be left out|waived?)\b|\bdispensed? with\b|\bexempt(?:ed)?\b|"
        r"不必|不用(?!户|于|来|作|在|这|该|此|客|其|他|公|外|第)|无需|无须|不需要?|毋须|毋需|用不着|没有?必要|不是必须|不强制|不作要求|不做要求|免于|免去|可不|可以不(?!同)|可以省|可省|省去|可以免|可免|并非必须|不要求|"
        r"可以?(?:直接)?(?:跳过|略过|绕过|忽略)|不限于|不限(?!时)|不受[^。；，]{0,12}限制",
    ),
    (
        Mark.ONLY,
        r"\bonly\b|\bsolely\b|\bexclusively\b|\bnobody (?:except|but|other than)\b|\bno one (?:except|but|other than)\b|\bno \w+(?: \w+)? (?:except|but|other than)\b|\bnobody else\b|\bno one else\b|\breserved (?:for|to)\b|\brestricted to\b|"
        r"\blimited to\b|\bsole\b|只有|仅有|只能|只可|只许|只准|只限|仅限|仅可|仅能|才能|才可以?|方可|方能|才准|才允许|才许|限于|专属|唯有|唯一|(?:除|除了)[^。；，]{1,24}(?:以外|之外|外)",
    ),
    (
        Mark.BAN,
        r"\b(?:must|may|shall|can|could|will) ?(?:not|never)\b|\b(?:mustn|can|couldn|shan|won)'?t\b|\bcannot\b|\bmustn'?t\b|\b(?:is|are) (?:not|never) to\b|\bnot to be\b|\bnever\b|\bdo not\b|\bdon'?t\b|"
        r"\bforbid(?:s|den)?\b|\bforbade\b|\bprohibit(?:s|ed|ion)?\b|\bbann?(?:ed|s)?\b|\bnot (?:be )?(?:allowed|permitted|permissible|acceptable|authori[sz]ed|ok|okay|tolerated|an option)\b|\b(?:is|are)n'?t (?:allowed|permitted|ok)\b|"
        r"\bdisallow(?:ed|s)?\b|\boff[- ]limits\b|\btaboo\b|\bstrictly no\b|\bno (?:\w+ ){0,4}?(?:may|must|shall|can|is|are|will|goes|go|gets|leaves|should)\b|\bnobody\b|\bno one\b|\bnothing\b|\bnone\b|\bneither\b|\brefus(?:e|es|ing)\b|\bunder no\b|\bat no (?:time|point)\b|"
        r"\bwithhold\b|\bun(?:touched|changed|altered|edited|modified|opened|disclosed|shared)\b|\bintact\b|\b(?:stay|keep) (?:away|out|off)\b|\bleave (?:\w+ ){1,4}alone\b|原样|保持不变|\bout of the question\b|\brul(?:ed|es) out\b|\bnot an option\b|"
        r"禁止|严禁|不得|不许|不准|不可(?!避免|或缺|退|改|逆|用|靠|见)|不能|不要(?!紧)|切勿|切不可|请勿|勿(?!必)|绝不|决不|从不|不允许|不予|严格?不|禁(?=[^令忌]|$)|(?<![级类分特区识个差辨鉴性派国])别(?![的人名称处墅致])|杜绝|一律不|谢绝|拒绝|不行|不可以|不该再|不被允许|未?被允许",
    ),
    (
        Mark.ASKED,
        r"\bwhether\b|\bask(?:s|ed|ing)? (?:if|how|what|why|when|which|about|for)\b|\bwonder(?:s|ed|ing)?\b|\bhow (?:to|can|do)\b|是否(?=可|能|允|需|要|应|该)|能否|可否|能不能|可不可以|要不要|问了?(?:一下)?怎么|如何",
    ),
    (
        Mark.STORY,
        r"\b(?:mention|talk|discuss|note|remark|remember|recall|debat|chatt|express|rais|voic)(?:ed|t|ing)? (?:about|that|on|over|the (?:idea|wish|question|topic|need)|a (?:wish|desire)|earlier|of|how|not)\b|"
        r"\b(?:user|users?|team|client|customer|manager|boss|head|lead|owner|he|she|they|we|someone|somebody|who|editor|teacher|doctor|lawyer|legal|company|author|chef|director|\w+er|mr\.? \w+|ms\.? \w+|mrs\.? \w+)\s(?:\w+ly |had |once |also |first |then |originally ){0,2}"
        r"(?:mentioned|talked|discussed|wanted|wished|asked|said|told|noted|requested|suggested|remarked|brought up|stated|insisted|demanded|decided|ruled|instructed|preferred|hoped|explained|reminded|warned|spoke|agreed|pointed out|raised|required|forbade|expected|stressed|emphasi[sz]ed|felt|thought|liked)\b|"
        r"\b(?:was|were|been|had been|got) (?:once |originally |first |initially |earlier )?(?:mentioned|discussed|said|told|agreed|requested|suggested|asked|noted|talked about|brought up|raised|stated|instructed|decided)\b|"
        r"\bthere (?:was|were|had been) (?:\w+ ){0,3}(?:talk|discussion|mention|agreement|request|wish|rule|ban|debate|conversation|understanding|remark|idea|plan)\b|"
        r"\b(?:early on|in the beginning|at the (?:start|beginning|outset)|a while ago|used to|previously|originally|initially|back then|at first|at one point|in an earlier|some time ago|long ago|in the past|had (?:once )?(?:wanted|asked|been|said|told|requested|wished|agreed|insisted|mentioned)|formerly|the other day|once (?:said|asked|told|mentioned|wanted))\b|"
        r"提到过|提过|说过|聊过|讨论过|谈过|要求过|讲过|叮嘱过|交代过|强调过|表示过|商量过|约定过|提出过|说起过|谈到过|聊到过|聊起过|规定过|问过|希望过|议过|(?:曾经|曾)(?![祖孙])|起初|一开始|当时|最初|原先|早先|当初|早些时候|刚开始|开头|先前|早前|此前|那时|"
        r"(?:之前|以前|上周|上次|昨天|前几天|上个月|去年)(?:就)?[^。；，]{0,8}(?:提|说|聊|讨论|谈|要求|讲|叮嘱|交代|强调|表示|商量|约定|问|希望|规定|想)(?:到|起|及|过|了)?",
    ),
    (
        Mark.SOFT,
        r"\bshould(?:n'?t)?\b|\bought\b|\bideally\b|\brecommend(?:ed|s|ation|able)?\b|\bpreferabl[ey]\b|\bprefer(?:s|red|ence|ences)?\b|\badvis(?:e|ed|es|able)\b|\binadvisable\b|\bsuggest(?:ed|s|ion)?\b|"
        r"\bbest (?:to|be|avoided|not|practice|if|effort|left|kept|done|run|sent|handled)\b|\bat best\b|\bbetter (?:to|not|if|be|avoided|left|with)\b|\bhad better\b|\b(?:is|are) (?:\w+ )?best\b|\btr(?:y|ies|ied|ying) (?:to|not)\b|\bavoid(?:s|ed|ing|ance)?\b|"
        r"\b(?:where|if|when|whenever|as far as|wherever) (?:at all )?(?:possible|practical|feasible|practicable|convenient|needed|appropriate|sensible|time allows|time permits)\b|\bwhere time\b|\bif (?:that |it |this )?(?:seems?|looks?|feels?) (?:\w+)\b|\bif there is time\b|\bif (?:you|we|they) (?:like|wish|want|can|see fit|have time)\b|"
        r"\bas (?:much|far|often|little) as (?:possible|you can|one can)\b|\boptional(?:ly)?\b|\bnice to\b|\bit would be (?:nice|good|great|kind|helpful)\b|\bwould be (?:nice|good|great|helpful|welcome|appreciated)\b|\bcould\b|\bmight\b|\bcareful(?:ly)?\b|\b(?:with|take|takes|calls? for|needs?|some|more|due|extra|great|handle with|requires?|deserves?) (?:\w+ )?care\b|\bcautio(?:n|us|usly)\b|\bmindful\b|\bprudent\w*|\bdiscretion\b|\bsparing\w*|\bsensitiv\w+\b|"
        r"\bgenerally\b|\bnormally\b|\btypically\b|\busually\b|\bas a rule of thumb\b|\brather not\b|\brather than\b|\bwould rather\b|\bwould like\b|\breluctan\w+\b|\bencourag\w+\b|\bconsider(?:s|ed|ing)?\b|\bkeep (?:\w+ ){0,3}in mind\b|\bbear in mind\b|\b(?:pay|pays) attention\b|\bdiscourag\w+\b|\bthink twice\b|\bnot (?:ideal|advisable|recommended|encouraged|a good idea|great|desirable)\b|\bwatch out\b|\bgood (?:idea|practice|habit|form|style)\b|\bundesirable\b|\bfrowned\b|\bhesita\w+\b|\bdesirable\b|\bworth \w+ing\b|\bhelpful\b|\bwelcome\b|\bwhen (?:it )?(?:suits|fits|helps)\b|\bfrom time to time\b|\bas needed\b|\blean(?:s|ing)? (?:towards?|against)\b|\btends? to\b|\bkeep an eye\b|\btoo (?:often|freely|lightly)\b|\blightly\b|\bminimi[sz]e\b|\blimit the\b|\bkept? (?:\w+ )?to a minimum\b|"
        r"建议|最好|尽量|尽可能|谨慎|慎重|慎(?=[用行入])|审慎|要?小心|当心|留心|留意|注意(?!事项|[:：])|一般(?!客户|纳税|人员|员工)|通常|原则上|正常情况下|视情况|视情|酌情|可以?考虑|考虑(?=[一下先]|要|是否)|宜(?=[^居人])|不宜|应尽|如有可能|可能的话|有条件的?话?|方便的?话?|方便时|方便就|有空的?话?|有空(?:时|就)|有时间的?话?|倾向于?|希望|推荐|值得|适当|适度|慢慢|少(?=[^于数年])|应该?(?!用|付|收|聘|届|对|急|答)|不太|优先|顺带|顺便|欢迎|鼓励|提倡|不提倡|不鼓励|不建议|不推荐|更好|为好|为宜|为佳|为妙|想好|三思|斟酌|爱护|重视|多加|保护好|悠着|看情况|能不[^。，]{1,8}就不|能[^。，]{1,8}就[^。，]{1,8}|不强求|不妨",
    ),
    (
        Mark.PERMIT,
        r"\b(?:may|can)\b(?! not)|\bpermit(?:s|ted)?\b|\ballow(?:s|ed)?\b|\b(?:is|are|it'?s|be|being|now) (?:\w+ )?(?:ok|okay|fine|free|acceptable|alright|permissible|welcome|cleared|entitled|authori[sz]ed|open to|possible)\b|\bfree to\b|\bfair game\b|\bfeel free\b|\bno (?:problem|objection|harm)s?\b|\b(?:has|have|had|got|given) (?:the )?(?:permission|approval|green light|go-ahead|right|leave)\b|\bpermission (?:to|is|was|has)\b|\bgreen light\b|\bcleared (?:to|for)\b|\bnothing (?:stops|prevents|speaks against|wrong)\b|\bwhenever\b|\bat will\b|\bfreely\b|\bup to (?:the (?:agent|assistant|user)|you|them)\b|"
        r"可以|允许|准许|许可(?!证)|获准|得以|随意|随便|放心|无妨|照常|均可|都可|皆可|亦可|即可|(?<![不才方只仅认许尽未无是否切])可(?=[^能是见靠疑观惜怜怕爱行选用变读])|(?<![不可才只方未职功性智可技机体产效])能(?=[把将对向给在用删改发看说查直随自外进导公跳告])|有权|批准了|同意了|没问题|没关系|不成问题|放开",
    ),
    (
        Mark.DUTY,
        r"\bmust\b|\b(?:has|have|had) to\b|\brequire[sd]?\b|\bshall\b|\balways\b|\bis to\b|\bare to\b|\bneeds? (?:to|a|an|the|approval|both|two)\b|\bmandatory\b|\bobligatory\b|\bcompulsory\b|\bobliged\b|\bnecessary\b|\bimperative\b|\bat all times\b|\bwithout fail\b|\bin every case\b|\binvariably\b|"
        r"必须|务必|一律|一定(?!程度)|须(?!臾)|必需|需要?(?!求)|都要|均要|得先|要先|应当|得(?=[先由把经在])|(?<![需重主不想只])要(?=[先经由在把用给])|始终|永远|统一|全部要|不可或缺|强制",
    ),
    (
        Mark.ORDER,
        r"\bplease\b|\bfrom now on\b|\bstraight away\b|\bgo ahead\b|\bright away\b|\binstead\b|\bjust\b|\bsimply\b|\banyway\b|\b(?:switch|switched|change|changed) to\b|请(?![假教问求示客])|改为|改成|照样|直接|以后|今后|从现在起|往后|一并|尽管",
    ),
    (
        Mark.EXCEPT,
        r"\bunless\b|\bexcept(?:ions?|ing|ional|ionally|ed)?\b|\bother than\b|\bapart from\b|\bprovided\b|\bas long as\b|\bif\b|\bin case\b|\bwhen\b|\bwhenever\b|\bwhere\b|\bonce\b|\bduring\b|\bbut for\b|\bas soon as\b|\buntil further notice\b|"
        r"除非|除外|例外|除了|以外|之外|的话|如果|若(?![干])|如(?=[^何实果今此期同下上])|倘若|假如|只要|涉及|情况下|的时候|时(?=[，,]|不得|禁止|必须|严禁|不能|才)|的情形",
    ),
    (Mark.WITHOUT, r"\bwithout\b|\bwithout \w+ing\b|\bskip(?:s|ped|ping)?\b|\bomit\w*\b|\bbypass\w*\b|\binstead of\b|跳过|省略|绕过|略过|不经|免检"),
    (Mark.BEFORE, r"\bbefore\b|\buntil\b|\btill\b|\bprior to\b|\bahead of\b|\bfirst\b|\bnot earlier\b|\bearlier than\b|\bafter\b|\blater\b|\banything (?:but|else|other)\b|\belse\b|之前|以前|未经|没有|未(?!成年|决|来)|尚未|先|后(?=才|再|方|，)|之后|以后|经"),
    (Mark.NARROW, r"\bthose\b|\bsome\b|\bmost\b|\bcertain\b|\bselected\b|\bmany\b|\bimportant\b|\bmainly\b|\bmostly\b|\bespecially\b|\blarger?\b|\bmajor\b|\bpart of\b|\bhalf of\b|\bat times\b|\bsometimes\b|\boccasional\w*|\brandom\b|部分|某些|大部分|多数|少数|重要的?|大额|主要|有的|一些|个别|特别是|偶尔|有时|抽查|抽样"),
    (Mark.MOST, r"\bat most\b|\bno (?:more|longer|later|higher|greater|larger|bigger) than\b|\bnot (?:more|longer|later|higher|greater|over) than\b|\bmax(?:imum)?\b|\bup to\b|\bnot exceed\b|\bceiling\b|\bcap(?:ped)?\b|\bupper limit\b|\bnever more than\b|\bwithin\b|至多|最多|不超过|不得超过|不能超过|不可超过|不高于|不多于|不大于|上限|封顶|以内|最高|最长|之内|不得高于|不得多于|不得大于|不得晚于|不晚于|≤"),
    (Mark.LEAST, r"\bat least\b|\bno (?:less|fewer|lower|shorter|earlier|sooner) than\b|\bnot (?:less|fewer|lower) than\b|\bmin(?:imum)?\b(?= |$)|\bor more\b|\blower limit\b|\bat the least\b|至少|最少|不少于|不低于|不小于|下限|起码|不得少于|不得低于|不能少于|不能低于|不得小于|不得早于|最低|最短|≥"),
    (Mark.NEGATION, r"\bnot\b|n't\b|\bno\b|\bun(?:touched|changed|opened|altered|edited|disclosed|shared|answered)\b|\bstay away\b|\bkeep (?:\w+ ){0,2}(?:away|off|out|secret|private|confidential)\b|\bleave (?:\w+ ){0,4}alone\b|\bhands off\b|不|没|无(?![论锡缝线])|非(?!常|洲)|未"),
)  # fmt: skip
_MARKS = re.compile("|".join(f"(?P<{mark.value}>{pattern})" for mark, pattern in _PATTERNS if mark not in (Mark.MOST, Mark.LEAST)))
# A limit is a ban as well (`must not exceed`), so limits are looked for on their own.
_MOST, _LEAST = (re.compile(pattern) for mark, pattern in _PATTERNS if mark in (Mark.MOST, Mark.LEAST))

_CLAUSE = re.compile(
    r"[，；：]+|[,;](?=\s|[^\d\s])|:(?!\d)|[()（）\[\]—–]+|\s-\s|\b(?:so|but|although|though|while|whereas|since|because)\b|\band (?=(?:it|they|you|the|this|that|so)\b)"
)
_ANAPHOR = re.compile(
    r"\W*(?:(?:and|so|then|but|therefore|hence|now)\s+)*(?:it|they|this|that|these|those|both|such|doing so|the (?:rule|ban|restriction|instruction|requirement))\b|\W*(?:都|也|这|该|此|其|均|但这|但该|上述|以上|前述)"
)


class Hit(NamedTuple):
    """A mark where it stands."""

    mark: Mark
    text: str
    start: int
    end: int


def marks_in(text: str) -> list[Hit]:
    """Return the marks of a folded text in order."""
    hits = [Hit(Mark(str(match.lastgroup)), match[0], match.start(), match.end()) for match in _MARKS.finditer(text)]
    hits += [Hit(mark, match[0], match.start(), match.end()) for mark, pattern in ((Mark.MOST, _MOST), (Mark.LEAST, _LEAST)) for match in pattern.finditer(text)]
    return hits


def clauses_of(text: str) -> list[tuple[int, int]]:
    """Return where the clauses of a folded text begin and end."""
    spans, start = [], 0
    for cut in _CLAUSE.finditer(text):
        if cut.start() > start:
            spans.append((start, cut.start()))
        start = cut.start() if cut[0][0].isalpha() else cut.end()
    spans.append((start, len(text)))
    return [(begin, end) for begin, end in spans if end > begin and text[begin:end].strip()]


def points_back(text: str) -> bool:
    """Say whether a clause speaks of what stood before it: it, this, both, 这, 都."""
    return _ANAPHOR.match(text) is not None

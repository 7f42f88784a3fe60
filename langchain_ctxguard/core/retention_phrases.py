"""The words and phrases behind each mark of force. Where two begin at one place, the mark that is named first wins."""

from __future__ import annotations

from enum import StrEnum


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


ENGLISH: dict[Mark, str] = {
    Mark.NO_EXCEPTION: (r"no exceptions?\b|without (?:any )?exceptions?\b|under any circumstances?"),
    Mark.IN_FORCE: (
        r"still (?:applies|apply|holds?|stands?|in force|valid|binding|in effect|counts?)\b|(?:remains?|stays?) (?:in force|valid|binding|"
        r"in effect|true)\b|continues? to (?:apply|hold)\b|(?:is|are) (?:still )?(?:in force|binding|in effect)\b|applies (?:to this day|"
        r"unchanged|today|as before)\b"
    ),
    Mark.LIFT: (
        r"no longer (?:appl|hold|need|requir|forbid|prohibit|bann|necess|mandat|in force|valid|restrict|bind|matter|has to|have to|must|bound|"
        r"off limits|limited|confined|sealed|count)\w*|(?:rule|rules|ban|bans|restriction|restrictions|limit|limits|limitation|requirement|"
        r"prohibition|obligation|policy|instruction|seal|embargo|duty)\b[^.;]{0,90}?\b(?:(?:is|are|was|were|been|being|gets?|"
        r"got) (?:\w+ )?(?:lifted|withdrawn|dropped|removed|cancell?ed|suspended|revoked|void|waived|repealed|rescinded|scrapped|abolished|"
        r"relaxed|gone|over|off|history|obsolete|retired|overruled|annulled|struck|set aside|taken back)|expired|ceased)\b|(?:we|they|he|she|"
        r"management|legal|user|manager|boss|team|lead)\b[^.;,]{0,30}\b(?:lifted|withdrew|dropped|removed|cancell?ed|suspended|revoked|waived|"
        r"repealed|rescinded|scrapped|abolished)\b[^.;,]{0,30}\b(?:rule|ban|restriction|limit|requirement|prohibition|obligation|policy|"
        r"instruction|embargo|duty)\b"
    ),
    Mark.RELEASE: (
        r"(?:need not|needn'?t)\b|(?:do|does|did|would|will) ?(?:not|n't) (?:\w+ )?(?:need|have|require)s?\b|don'?t (?:need|have to)|"
        r"doesn'?t (?:need|have to)|(?:is|are|was|be) ?(?:not|n't) (?:\w+ )?(?:needed|necessary|required|mandatory|obligatory|compulsory|"
        r"obliged|a must|bound)\b|isn'?t (?:needed|necessary|required|mandatory)|not (?:needed|necessary|required|mandatory|obligatory|"
        r"obliged)\b|no need\b|no (?:\w+ ){1,6}?(?:is|are) (?:needed|required|necessary)\b|no obligation\b|(?:is|are|be|been) unnecessary\b|"
        r"without having to\b|unnecessary\b|(?:can|may|could|might) (?:be )?(?:skip|skipped|omit|omitted|ignore|ignored|bypass|bypassed|"
        r"left out|be left out|waived?)\b|dispensed? with\b|exempt(?:ed)?\b|(?:no|without) (?:\w+ )?(?:limit|limits|cap|ceiling|maximum|"
        r"restriction|restrictions)\b|unlimited\b|as (?:much|many|long|often) as (?:it|you|they|he|she|the \w+) (?:like|want|please|need|"
        r"see)\w*"
    ),
    Mark.ONLY: (
        r"only\b|solely\b|exclusively\b|nobody (?:except|but|other than)\b|no one (?:except|but|other than)\b|no \w+(?: \w+)? (?:except|but|"
        r"other than)\b|nobody else\b|no one else\b|reserved (?:for|to)\b|restricted to\b|limited to\b|sole\b"
    ),
    Mark.BAN: (
        r"(?:must|may|shall|can|could|will) ?(?:not|never)\b|(?:mustn|can|couldn|shan|won)'?t\b|cannot\b|mustn'?t\b|(?:is|are) (?:not|"
        r"never) to\b|not to be\b|never\b|do not\b|don'?t\b|forbid(?:s|den)?\b|forbade\b|prohibit(?:s|ed|ion)?\b|bann?(?:ed|s)?\b|"
        r"not (?:be )?(?:allowed|permitted|permissible|acceptable|authori[sz]ed|ok|okay|tolerated|an option)\b|(?:is|are)n'?t (?:allowed|"
        r"permitted|ok)\b|disallow(?:ed|s)?\b|off[- ]limits\b|taboo\b|strictly no\b|no (?:\w+ ){0,4}?(?:may|must|shall|can|is|are|will|goes|"
        r"go|gets|leaves|should)\b|no \w+(?: \w+){0,4}(?= (?:without|before|until|unless)\b)|nobody\b|no one\b|nothing\b|none\b|neither\b|"
        r"refus(?:e|es|ing)\b|under no\b|at no (?:time|point)\b|withhold\b|un(?:touched|changed|altered|edited|modified|opened|disclosed|"
        r"shared)\b|intact\b|(?:stay|keep) (?:away|out|off)\b|leave (?:\w+ ){1,4}alone\b|out of the question\b|rul(?:ed|es) out\b|"
        r"not an option\b"
    ),
    Mark.ASKED: (r"whether\b|ask(?:s|ed|ing)? (?:if|how|what|why|when|which|about|for)\b|wonder(?:s|ed|ing)?\b|how (?:to|can|do)\b"),
    Mark.STORY: (
        r"(?:mention|talk|discuss|note|remark|remember|recall|debat|chatt|express|rais|voic)(?:ed|t|ing)? (?:about|that|on|over|the (?:idea|"
        r"wish|question|topic|need)|a (?:wish|desire)|earlier|of|how|not)\b|(?:user|users?|team|client|customer|manager|boss|head|lead|owner|"
        r"he|she|they|we|someone|somebody|who|editor|teacher|doctor|lawyer|legal|company|author|chef|director|\w+er|mr\.? \w+|ms\.? \w+|"
        r"mrs\.? \w+)\s(?:\w+ly |had |once |also |first |then |originally ){0,2}(?:mentioned|talked|discussed|wanted|wished|asked|said|told|"
        r"noted|requested|suggested|remarked|brought up|stated|insisted|demanded|decided|ruled|instructed|preferred|hoped|explained|reminded|"
        r"warned|spoke|agreed|pointed out|raised|required|forbade|expected|stressed|emphasi[sz]ed|felt|thought|liked)\b|(?:was|were|been|"
        r"had been|got) (?:once |originally |first |initially |earlier )?(?:mentioned|discussed|said|told|agreed|requested|suggested|asked|"
        r"noted|talked about|brought up|raised|stated|instructed|decided)\b|there (?:was|were|had been) (?:\w+ ){0,3}(?:talk|discussion|"
        r"mention|agreement|request|wish|rule|ban|debate|conversation|understanding|remark|idea|plan)\b|(?:early on|in the beginning|"
        r"at the (?:start|beginning|outset)|a while ago|used to|previously|originally|initially|back then|at first|at one point|in an earlier|"
        r"some time ago|long ago|in the past|had (?:once )?(?:wanted|asked|been|said|told|requested|wished|agreed|insisted|mentioned)|"
        r"formerly|the other day|once (?:said|asked|told|mentioned|wanted))\b"
    ),
    Mark.SOFT: (
        r"should(?:n'?t)?\b|(?:if|where|when|whenever|wherever|as|unless) (?:you|they|we|it|one|that|the agent|he|she)(?: really|"
        r" possibly)? (?:can|may|cannot|can'?t)\b|can be (?:avoided|helped)\b|as (?:best|well|far) (?:as )?\w+ can\b|ought\b|ideally\b|"
        r"recommend(?:ed|s|ation|able)?\b|preferabl[ey]\b|prefer(?:s|red|ence|ences)?\b|advis(?:e|ed|es|able)\b|inadvisable\b|suggest(?:ed|s|"
        r"ion)?\b|best (?:to|be|avoided|not|practice|if|effort|left|kept|done|run|sent|handled)\b|at best\b|better (?:to|not|if|be|avoided|"
        r"left|with)\b|had better\b|(?:is|are) (?:\w+ )?best\b|tr(?:y|ies|ied|ying)(?= to\b| not\b| and\b)|avoid(?:s|ed|ing|ance)?\b|(?:where|"
        r"if|when|whenever|as far as|wherever) (?:at all )?(?:possible|practical|feasible|practicable|convenient|needed|appropriate|sensible|"
        r"time allows|time permits)\b|where time\b|if (?:that |it |this )?(?:seems?|looks?|feels?) (?:\w+)\b|if there is time\b|if (?:you|we|"
        r"they) (?:like|wish|want|can|see fit|have time)\b|as (?:much|far|often|little) as (?:possible|you can|one can)\b|optional(?:ly)?\b|"
        r"convenien\w+\b|nice to\b|it would be (?:nice|good|great|kind|helpful)\b|would be (?:nice|good|great|helpful|welcome|appreciated)\b|"
        r"could\b|might\b|careful(?:ly)?\b|(?:with|take|takes|calls? for|needs?|some|more|due|extra|great|handle with|requires?|"
        r"deserves?) (?:\w+ )?care\b|cautio(?:n|us|usly)\b|mindful\b|prudent\w*|discretion\b|sparing\w*|sensitiv\w+\b|generally\b|normally\b|"
        r"typically\b|usually\b|as a rule of thumb\b|rather not\b|rather than\b|would rather\b|would like\b|reluctan\w+\b|encourag\w+\b|"
        r"consider(?:s|ed|ing)?\b|keep (?:\w+ ){0,3}in mind\b|bear in mind\b|(?:pay|pays) attention\b|discourag\w+\b|think twice\b|"
        r"not (?:ideal|advisable|recommended|encouraged|a good idea|great|desirable)\b|watch out\b|good (?:idea|practice|habit|form|style)\b|"
        r"undesirable\b|frowned\b|hesita\w+\b|desirable\b|worth \w+ing\b|helpful\b|welcome\b|when (?:it )?(?:suits|fits|helps)\b|"
        r"from time to time\b|as needed\b|lean(?:s|ing)? (?:towards?|against)\b|tends? to\b|keep an eye\b|too (?:often|freely|lightly)\b|"
        r"lightly\b|minimi[sz]e\b|limit the\b|kept? (?:\w+ )?to a minimum\b"
    ),
    Mark.PERMIT: (
        r"(?:may|can)\b(?! not)|permit(?:s|ted)?\b|allow(?:s|ed)?\b|(?:is|are|it'?s|be|being|now) (?:\w+ )?(?:ok|okay|fine|free|acceptable|"
        r"alright|permissible|welcome|cleared|entitled|authori[sz]ed|open to|possible)\b|free to\b|fair game\b|feel free\b|no (?:problem|"
        r"objection|harm)s?\b|(?:has|have|had|got|given) (?:the )?(?:permission|approval|green light|go-ahead|right|leave)\b|permission (?:to|"
        r"is|was|has)\b|green light\b|cleared (?:to|for)\b|nothing (?:stops|prevents|speaks against|wrong)\b|whenever\b|at will\b|freely\b|"
        r"up to (?:the (?:agent|assistant|user)|you|them)\b"
    ),
    Mark.DUTY: (
        r"must\b|(?:has|have|had) to\b|require[sd]?\b|shall\b|always\b|is to\b|are to\b|needs? (?:to|a|an|the|approval|both|two)\b|"
        r"mandatory\b|obligatory\b|compulsory\b|obliged\b|necessary\b|imperative\b|at all times\b|without fail\b|in every case\b|invariably\b"
    ),
    Mark.ORDER: (
        r"please\b|from now on\b|straight away\b|go ahead\b|right away\b|instead\b|just\b|simply\b|anyway\b|(?:switch|switched|change|"
        r"changed) to\b"
    ),
    Mark.EXCEPT: (
        r"unless\b|except(?:ions?|ing|ional|ionally|ed)?\b|other than\b|apart from\b|provided\b|as long as\b|if\b|in case\b|when\b|whenever\b|"
        r"where\b|once\b|during\b|but for\b|as soon as\b|until further notice\b"
    ),
    Mark.WITHOUT: (r"without\b|without \w+ing\b|skip(?:s|ped|ping)?\b|omit\w*\b|bypass\w*\b|instead of\b"),
    Mark.BEFORE: (
        r"before\b|until\b|till\b|prior to\b|ahead of\b|first\b|not earlier\b|earlier than\b|after\b|later\b|anything (?:but|else|other)\b|"
        r"else\b"
    ),
    Mark.NARROW: (
        r"those\b|some\b|most\b|certain\b|selected\b|many\b|important\b|mainly\b|mostly\b|especially\b|larger?\b|major\b|part of\b|half of\b|"
        r"at times\b|sometimes\b|occasional\w*|random\b"
    ),
    Mark.MOST: (
        r"at most\b|no (?:more|longer|higher|greater|larger|bigger) than\b|not (?:more|longer|higher|greater|over) than\b|max(?:imum)?\b|"
        r"up to\b|not exceed\b|ceiling\b|cap(?:ped)?\b|upper limit\b|never more than\b|the (?:most|highest|largest|longest|limit)\b|tops\b|"
        r"(?:not|n't|never|no|nobody|nothing|forbidden|prohibited)\b[^.;,]{0,60}?\b(?:exceed|more than|above|over|beyond|longer than|"
        r"higher than|in excess of)\b(?= \$?[\d€£]| (?:\w+ )?(?:one|two|three|four|five|six|seven|eight|nine|ten|fifteen|twenty|thirty|forty|"
        r"fifty|sixty|hundred|thousand)\b)"
    ),
    Mark.LEAST: (
        r"at least\b|no (?:less|fewer|lower|shorter) than\b|not (?:less|fewer|lower) than\b|min(?:imum)?\b(?= |$)|or more\b|lower limit\b|"
        r"(?:not|n't|never|no|nobody|forbidden|prohibited)\b[^.;,]{0,60}?\b(?:less than|below|fewer than|lower than)\b(?= \$?[\d€£])|"
        r"at the least\b"
    ),
    Mark.NEGATION: (
        r"not\b|\w+n't\b|no\b|un(?:touched|changed|opened|altered|edited|disclosed|shared|answered)\b|stay away\b|keep (?:\w+ ){0,2}(?:away|"
        r"off|out|secret|private|confidential)\b|leave (?:\w+ ){0,4}alone\b|hands off\b"
    ),
}

CHINESE: dict[Mark, str] = {
    Mark.NO_EXCEPTION: (r"没有例外|无一例外|无例外|不得例外|概无例外|任何情况下"),
    Mark.IN_FORCE: (
        r"至今(?:仍然|仍|依然)?(?:有效|适用)|(?:仍然|仍|依然|继续|一直|持续)(?:有效|适用|生效|执行|照办)|须照此|照此执行|必须遵守|都要遵守|均须遵守|长期有效|现行有效"
    ),
    Mark.LIFT: (
        r"不再(?:禁止|要求|需要|必须|适用|有效|受限|限制|限于|是必须|强制|执行|遵守|严禁|强求)|(?:禁令|规定|规则|限制|要求|禁止令|约束|条款|这条|该条|此条|管制|封条|义务|这项|该项)[^。;,]{0,24}?(?:已经?|被|"
        r"予以|现已|也|正式|全部|都|随之|就此|全面)(?:全部|全面|正式|被)?(?:取消|解除|作废|失效|废止|撤销|放开|放宽|解禁|终止|废除|不算数|过时|免除|撤了|拿掉)|(?:禁令|规定|规则|限制|禁止令|条款|管制|封条)(?:取消|"
        r"解除|作废|失效|废止|撤销|放开|放宽|解禁|终止|废除|不算数|免除)|(?:取消|解除|废止|撤销|废除|免除)了?(?:对[^。;,]{0,20}的)?(?:这[条项个]|该|此|上述)?(?:禁令|规定|规则|限制|禁止令|约束|管制)|"
        r"(?:已经?|现已|全面|都)(?:解禁|放开)"
    ),
    Mark.RELEASE: (
        r"不必|不用(?!户|于|来|作|在|这|该|此|客|其|他|公|外|第)|无需|无须|不需要?|毋须|毋需|用不着|没有?必要|不是必须|不强制|不作要求|不做要求|免于|免去|可不|可以不(?!同)|可以省|可省|省去|可以免|可免|并非必须|不要求|"
        r"可以?(?:直接)?(?:跳过|略过|绕过|忽略)|不限于|不限(?!时)|不设(?:上|下)?限|没有(?:任何)?(?:上限|限制|下限|次数限制)|无上限|无限制|不封顶|上不封顶|不做限制|不加限制|不受[^。;,]{0,12}限制"
    ),
    Mark.ONLY: (
        r"只有|仅有|只能|只可|只许|只准|只限|仅限|仅可|仅能|才能|才可以?|方可|方能|才准|才允许|才许|限于|专属|唯有|唯一|(?:除|除了)[^。;,]{1,24}(?:以外|之外|外)"
    ),
    Mark.BAN: (
        r"原样|保持不变|禁止|严禁|不得|不许|不准|不可(?!避免|或缺|退|改|逆|用|靠|见)|不能|不要(?!紧)|切勿|切不可|请勿|勿(?!必)|绝不|决不|从不|不允许|不予|严格?不|(?<![门解宵违])禁(?=[^令忌]|$)|"
        r"(?<![级类分特区识个差辨鉴性派国])别(?![的人名称处墅致])|杜绝|一律不|谢绝|拒绝|不行|不可以|不该再|不被允许|未?被允许"
    ),
    Mark.ASKED: (r"是否(?=可|能|允|需|要|应|该)|能否|可否|能不能|可不可以|要不要|问了?(?:一下)?怎么|如何"),
    Mark.STORY: (
        r"提到过|提过|说过|聊过|讨论过|谈过|要求过|讲过|叮嘱过|交代过|强调过|表示过|商量过|约定过|提出过|说起过|谈到过|聊到过|聊起过|规定过|问过|希望过|议过|(?:曾经|曾)(?![祖孙])|起初|一开始|当时|最初|原先|早先|当初|"
        r"早些时候|刚开始|开头|先前|早前|此前|那时|(?:之前|以前|上周|上次|昨天|前几天|上个月|去年)(?:就)?[^。;,]{0,8}(?:提|说|聊|讨论|谈|要求|讲|叮嘱|交代|强调|表示|商量|约定|问|希望|规定|想)(?:到|起|及|过|"
        r"了)?"
    ),
    Mark.SOFT: (
        r"建议|最好|尽量|尽可能|谨慎|慎重|慎(?=[用行入])|审慎|要?小心|当心|留心|留意|注意(?!事项|[:：])|一般(?!客户|纳税|人员|员工)|通常|原则上|正常情况下|视情况|视情|酌情|可以?考虑|考虑(?=[一下先]|要|是否)|"
        r"宜(?=[^居人])|不宜|应尽|如有可能|可能的话|有条件的?话?|方便的?话?|方便时|方便就|有空的?话?|有空(?:时|就)|有时间的?话?|倾向于?|希望|推荐|值得|适当|适度|慢慢|(?<![至最减不多很年青缺])少(?=[^于数年量])|"
        r"应该?(?!用|付|收|聘|届|对|急|答)|不太|优先|顺带|顺便|欢迎|鼓励|提倡|不提倡|不鼓励|不建议|不推荐|更好|为好|为宜|为佳|为妙|想好|三思|斟酌|爱护|重视|多加|保护好|悠着|看情况|能不[^。,]{1,8}就不|"
        r"能[^。,]{1,8}就[^。,]{1,8}|不强求|不妨"
    ),
    Mark.PERMIT: (
        r"可以|允许|准许|许可(?!证)|获准|得以|随意|随便|放心|无妨|照常|均可|都可|皆可|亦可|即可|(?<![不才方只仅认许尽未无是否切])可(?=[^能是见靠疑观惜怜怕爱行选用变读])|"
        r"(?<![不可才只方未职功性智可技机体产效])能(?=[把将对向给在用删改发看说查直随自外进导公跳告])|有权|批准了|同意了|没问题|没关系|不成问题|放开"
    ),
    Mark.DUTY: (
        r"必须|务必|一律|一定(?!程度)|须(?!臾)|必需|需要?(?!求)|都要|均要|得先|要先|应当|得(?=[先由把经在])|(?<![需重主不想只])要(?=[先经由在把用给])|始终|永远|统一|全部要|不可或缺|强制"
    ),
    Mark.ORDER: (r"请(?![假教问求示客])|改为|改成|照样|直接|以后|今后|从现在起|往后|一并|尽管"),
    Mark.EXCEPT: (
        r"除非|除外|例外|除了|以外|之外|的话|如果|若(?![干])|如(?=[^何实果今此期同下上])|倘若|假如|只要|涉及|情况下|的时候|时(?=[，,]|不得|禁止|必须|严禁|不能|才)|的情形"
    ),
    Mark.WITHOUT: (r"跳过|省略|绕过|略过|不经|免检"),
    Mark.BEFORE: (r"之前|以前|未经|没有|未(?!成年|决|来)|尚未|先|后(?=才|再|方|,)|之后|以后|经"),
    Mark.NARROW: (r"部分|某些|大部分|多数|少数|重要的?|大额|主要|有的|一些|个别|特别是|偶尔|有时|抽查|抽样"),
    Mark.MOST: (
        r"至多|最多|不超过|不得超过|不能超过|不可超过|不高于|不多于|不大于|上限|封顶|以内|最高|最长|最大|之内|(?:不得|不能|不可|不许|不准|禁止|严禁|不要|别|不)[^。;,]{0,14}(?:超过|高于|多于|大于|超出|突破)|≤"
    ),
    Mark.LEAST: (
        r"至少|最少|不少于|不低于|不小于|下限|起码|最低|最短|(?:不得|不能|不可|不许|不准|禁止|严禁|不要|别|不)[^。;,]{0,14}(?:少于|低于|小于|不足)|≥"
    ),
    Mark.NEGATION: (r"不|没|无(?![论锡缝线])|非(?!常|洲)|未"),
}

"""The kinds in which power is lent, in English and Chinese: who is given what, which check is skipped, which rule fell, who is said to agree.

Each kind is a pair of things that stand near each other in one sentence, such as a safeguard and that it is done away with. Neither alone lends
anything: a check may pass, and a file may be skipped.
"""

from __future__ import annotations

_NEAR = r"(?:[^.!?;\n]|\.\s?[\da-z]){0,48}?"
_NEAR_HAN = r"[^。！？；\n]{0,14}?"


def _both(one: str, other: str, near: str = _NEAR, edge: str = r"\b") -> str:
    """Return a pattern of two things near each other, whichever comes first."""
    return rf"{edge}(?:{one}){edge}{near}{edge}(?:{other}){edge}|{edge}(?:{other}){edge}{near}{edge}(?:{one}){edge}"


def _either(one: str, other: str) -> str:
    return _both(one, other, _NEAR_HAN, "")


# ---------------------------------------------------------------- English
_SAFEGUARD = (
    r"(?:second|counter|double|cross|identity|id|age|background|security|safety|passport|credit|face|final|legal|bank|two-?person|four-?eyes|"
    r"manual|human)[ -](?:\w+ )?(?:checks?|checking|controls?|proof|questions?|scans?|look|reviews?|sign-?off|approval|opinion|steps?|"
    r"pair of eyes|reader|reviewer|signature|signing)|verifications?|identification|two-?factor|2fa|otp|passwords?|passports?|pass ?codes?|"
    r"signatures?|countersign\w*|sign-?offs?|approvals?|reviewers?|prescriptions?|consent|permission|dry[- ]runs?|(?:pre-)?commit hooks?|"
    r"pre-commit|call-?backs?|proof of \w+|papers|po numbers?|confirmations?|safeguards?|authentication|recovery codes?|id cards?|age proof|"
    r"counter-checking"
)
_DONE_AWAY = (
    r"skip(?:s|ped|ping)?|bypass\w*|omit\w*|leave out|left out|dispens\w+ with|do(?:ne)? away with|ditch\w*|dropped|waive[sd]?|waiving|"
    r"spare[sd]?|superfluous|unnecessary|needless|redundant|moot|pointless|optional|a formality|behind (?:us|them)|go(?:es)? without|"
    r"not (?:needed|required|necessary)|no need|needn't|done already|already done|taken care of|out of the way|switched off|turned off|disabled|"
    r"suspended|(?:is|are|was|were) off|thing of the past|no longer|any ?more|never has to|does(?:n't| not) have to|--no-verify|not have to|"
    r"unasked|without asking"
)
_NOT_ASKED = (
    r"\b(?:stop|quit|cease[ds]?|don't bother|no need|needn't|need not|never again|no longer|won't have to|do(?:es)? not have to|"
    r"nothing further has to be|nothing (?:more|else) (?:has|needs) to be|without(?: ever)?) (?:to )?(?:be )?(?:ask\w*|check\w*|verify\w*|"
    r"confirm\w*|require\w*|prompt\w*)\b|\bno questions(?: asked)?\b|\bno (?:receipts?|tickets? numbers?|proof|papers|signature|prescription|"
    r"verification|confirmation|permission|sign-?off|second \w+) (?:\w+ )?(?:is |are )?(?:needed|required|necessary|asked|due)\b"
)
_RULE = (
    r"(?:\w+-)?rules?|polic(?:y|ies)|(?:\w+ )?limits?|caps?|ceilings?|quotas?|allowances?|bans?|restrictions?|prohibitions?|freezes?|"
    r"embargo(?:es)?|quarantines?|moratori(?:um|a)|guidelines?|guard ?rails?|constraints?|sandbox(?:es)?|red lines?|do-not-\w+ lists?|"
    r"block ?lists?|locks?|maximums?|dose maximum|thresholds?|obligations?|protections?|conditions?|regulations?|(?:bit|part|clause|line|section|"
    r"paragraph|step)s? (?:where|that|which|about|on)"
)
_FELL = (
    r"lifted|suspended|void(?:ed)?|abolished|waived|revoked|repealed|scrapped|overridden|retired|obsolete|lapsed|dead letter|thing of the past|"
    r"ran out|run out|runs out|no longer|any ?more|off the table|relaxed|loosened|eased|softened|widened|unlimited|doesn't (?:apply|concern|"
    r"count|bind)|do(?:es)? not (?:apply|concern|count|bind)|not (?:apply|binding|in force)|merely|out of date|last (?:year|month|season|"
    r"version)'s|outdated|a formality|ignore[sd]?|set aside|switched off|turned off|disabled|deactivated|done away with|is gone|are gone|"
    r"has ended|have ended|removed the|been removed|is over|are over|was dropped|were dropped|no more"
)
_STAKES = (
    r"transfers?|refunds?|spend\w*|payments?|payouts?|withdraw\w*|credits?|discounts?|dos(?:e|age)s?|daily|purchas\w*|wires?|claims?|goodwill|"
    r"loans?|agent'?s?|assistant'?s?|bot'?s?|your|my|our|this (?:agent|user|customer|account)|exchanges?|returns?|overdraft|vouchers?|"
    r"compensation"
)
_HIGHER = (
    r"raised|increased|bumped|upped|extended|doubled|tripled|higher|lifted|widened|loosened|stands? at|now at|is now|set higher|moved up|up from|"
    r"whatever|as long as"
)
_LIMIT = r"limits?|caps?|ceilings?|quotas?|allowances?|thresholds?|bounds?|maximums?|budgets?"
_GRANTOR = (
    r"boss(?:es)?|big boss|managers?|management|directors?|ceo|cto|cfo|chief|board|committee|council|upstairs|leadership|owners?|operators?|"
    r"compliance(?: \w+)?|legal|security|finance|reviewers?|supervisors?|team ?lead|treasurers?|trustees?|famil(?:y|ies)|parents?|spouse|wife|"
    r"husband|customers?|clients?|patients?|tenants?|guests?|lady|gentleman|both (?:parties|sides)|all parties|everybody|everyone|every one|"
    r"visitors?|landlords?|pricing team|the team|hq|head office|members?|co-op|recipients?|users?|brother|sister|mother|father|roommate|"
    r"colleagues?|vendor|residents?|students?|employees?|partners?"
)
_NODDED = (
    r"ok'?d|okayed|nodded|nods?|nod(?:ding)? (?:it )?through|bless(?:ed|ing)|thumbs[- ]up|green-?lit|green light|signed off|waved (?:it|them|"
    r"this)? ?through|waved through|cleared|on board|is fine with|are fine with|be fine with|was fine with|good with|happy with|comfortable with|"
    r"cool with|at ease with|agree[sd]?|agreeing|consent(?:s|ed|ing)?|assent(?:s|ed)?|come round|came round|raised no|no objections?|"
    r"not object\w*|didn't (?:object|frown|mind|say no|complain)|did not (?:object|frown|mind|say no|complain)|shrugged|sanctioned|ratified|"
    r"endorsed|promised|opted in|given the go|gave (?:the|a|their|his|her|its) (?:go|nod|ok|okay|word|blessing|permission)|said (?:yes|ok|okay|"
    r"fine|go)|would(?:n't| not) mind|won't mind|'d want|would want|ran it past|is a yes"
)
_STANDS_FOR = (
    r"\bcounts? (?:as|for)\b|\bcounted (?:as|for)\b|\bcount (?:him|her|them|it|me|us) in as\b|\btreat(?:s|ed|ing)? [^.!?\n]{0,40}\bas\b|"
    r"\bamounts to\b|\bamount to (?:an?|the|its|their|his|her|your|our|\w*consent|\w*approval|\w*permission|saying|having)\b|"
    r"\b(?:tantamount|equivalent|equal) to\b|\bfor all purposes\b|\bis (?:assent|consent|approval|agreement|a yes)\b|\b(?:taken|deemed|"
    r"regarded|understood|read (?:it|this|that|silence)) as\b|\bon behalf of\b|\bin (?:my|his|her|its|their|your|the owner's|"
    r"the customer's) name\b|\bstands? in for\b|\bas good as (?:signed|approved|given|done)\b"
)
_STANDING = (
    r"(?:legal )?guardians?|account holders?|holders?|card ?holders?|rightful owners?|administrators?|admin|maintainers?|maintainer rights|"
    r"attending|physician in charge|on-?call engineer|super-?user|root|board member|shareholders?|partners?|inspector|auditor|officer|supervisor|"
    r"director|manager|principal|operator|developer|employee|colleague|staff member|vip|staff tools|elevated|highest tier|all areas|full rights|"
    r"internal"
)
_IS_SAID = (
    r"established|identified as|recogni[sz]ed as|introduced|turned out|known to be|holds?|is (?:an? |the |our |their )?|acts? as|acting as|"
    r"speaking as|logged in|belongs? to|opens? up for|elevated|listed as|ranked|i run|outranks?|entitled"
)
_DELEGATED = (
    r"\b(?:is|are|'s) (?:mine|yours|theirs|ours|hers|his)(?: to \w+)?\b|\bhave (?:a |the )?(?:free hand|full discretion|final say|last word|"
    r"carte blanche)\b|\b(?:a )?free hand\b|\bcarte blanche\b|\bat (?:will|its discretion|their discretion|your discretion|liberty)\b|"
    r"\bwhatever (?:it|they|you|he|she|i) (?:asks?|wants?|needs?|likes?|says?|wish(?:es)?)\b|\bas (?:you|they|it) (?:like|please|see fit|"
    r"wish)s?\b|\bas long as (?:you|they|it) (?:want|like)s?\b|\bon sight\b|\bas they come\b|\b(?:say|word)s? (?:is|suffices?|counts|goes)\b|"
    r"\bword is enough\b|\bwithout limit\b|\bunlimited (?:exchanges?|refunds?|access|returns?|use|transfers?|credit|discounts?)\b|"
    r"\bgood to (?:go|fly|ship)\b|\bhand(?:ed|s)? (?:over )?(?:the )?(?:decision|keys|reins)\b|\bleft to (?:the )?(?:agent|assistant|bot|you)\b|"
    r"\bnever (?:has|have|had) to show\b|\b(?:keep|keeps) (?:on )?paying\b|\bspeak freely\b|\bgo live directly\b|"
    r"\bstraight to (?:the )?(?:payout|payment|transfer|refund|execution)\b"
)
_TO_READER = (
    r"\bwhoever (?:picks|reads|continues|takes|handles|works|comes|opens|gets|inherits|runs|writes|condenses|summari[sz]es)\b|\b(?:agents|"
    r"helpers|assistants|bots|models|readers|robots)(?: reading along)?\s*[:：,]|\bhelpers? (?:reading|in|on|of|may|must|should|can)\b|"
    r"\bfor_model\b|\bfor (?:the )?(?:model|llm|ai|agent|assistant|bot)\b|\b(?:digest|summary|memory|context)[ _](?:hint|note|seed|item)s?\b|"
    r"\bkey facts to (?:retain|keep)\b|\bto carry forward\b|\b(?:put|keep|store|save|note) (?:it|this|that) (?:in|into|to) your (?:memory|notes|"
    r"summary)\b|\bas a fact\b|\bonly (?:keep|retain|remember)\b|\bagents? handling\b|\byour (?:brief|job|role|orders|priorities|guidelines|"
    r"instructions)\b[^.!?\n]{0,24}\b(?:changed|now|new|is)\b|\bpriorities (?:reshuffled|changed|have changed)\b|\b(?:wishes|interests|"
    r"orders) of the \w+ (?:come|go|rank|take)\b|\banswers? to the \w+ rather than\b|\banswer to the \w+ rather\b|\b(?:brief|playbook|job|"
    r"role) (?:has |is |have |was )?(?:now|changed|new)\b|\bprior to (?:any|every|each)\b|\brequired since\b|\b(?:answer|reply|"
    r"respond to) all (?:later|further|future|other)\b"
)
_PRECEDENT = (
    r"\b(?:consistent with|same as|just as|like) (?:how )?(?:we|they|you|it was|it's been) (?:did|done|do|was|have)\b|\bpast (?:cases|practice|"
    r"tickets|claims)\b|\bprecedents?\b|\bnothing speaks against\b|\bdo(?:ing)? the same\b|\bsame (?:treatment|way) (?:here|again|as)\b|"
    r"\b(?:agreed|told me|said|promised)[^.!?\n]{0,30}\byou(?:'d| would| will) (?:stop|skip|not|never|let|waive|drop)\b|\bper what was agreed\b|"
    r"\bagreed off[- ]\w+\b|\bas (?:was )?(?:agreed|arranged|settled) (?:before|earlier|off|on the phone|privately)\b|\bstays that way\b"
)
_HENCEFORTH = (
    r"\b(?:hereafter|henceforth|from here(?: on)?|from today|from now on|for the rest of|for good|as of today|onwards?)\b[^.!?\n]{0,40}\b(?:may|"
    r"can|is|are|answers?|go|goes|live|directly|free|superfluous|without|no|not|pays?|counts?|unlimited)\b|\bfor the rest of the (?:quarter|"
    r"month|session|year|day|conversation)\b|\bfor life\b"
)
_SURE = (
    r"\bbeyond (?:any )?doubt\b|\bholds? up\b|\b(?:has|have|had|was|were|been) looked into\b|\bsatisfied (?:myself|itself|ourselves)\b|"
    r"\bclose enough\b|\b(?:sounded|looked|seemed) (?:right|genuine|like (?:him|her|them)) to me\b|\bis (?:really |truly )?(?:genuine|legit\w*|"
    r"authentic)\b|\bit'?s really me\b|\bvouched? for\b|\bgone through the (?:identity|security) questions\b|\bas to who is (?:calling|writing|"
    r"speaking)\b|\bknow(?:s|n)? (?:it'?s|that it is) (?:him|her|me|them)\b|\bproven(?: to be)?\b[^.!?\n]{0,20}\b(?:holder|owner|customer)\b|"
    r"\bidentity (?:is|was|has been) (?:known|proven|established|verified|confirmed)\b|\b(?:is|are|was|were) verified\b"
)
_ABOVE = (
    r"\b(?:may|can|could|shall|will) (?:\w+ )?(?:go|proceed|push|be pushed|ship|pay|act|continue|contain|be handled|be shared|be shown|be given|"
    r"speak)\b[^.!?\n]{0,30}\b(?:above|beyond|over|outside|past|despite|freely|here|in full|directly|anyway)\b|\b(?:account|personal|"
    r"private) matters\b|\b(?:may|can) contain (?:card|account|personal|secret|password)\b"
)
_HENCE = (
    r"\b(?:hence|so|therefore|thus|which means|meaning)\b[^.!?\n]{0,40}\b(?:fits?|fine|covered|okay|ok to|allowed|cleared|can be (?:handled|"
    r"given|shared|skipped|paid)|outranks?|left out)\b|\bwe'?re covered\b|\bgreen-lit\b|\bis cleared\b|\b(?:was|were|been|stands|is|are|customer|"
    r"user) cleared for\b|\boutranks?\b"
)

# ---------------------------------------------------------------- Chinese
_SAFEGUARD_HAN = (
    r"人脸|身份证?|核验|核对|核实|复核|复查|验证|查验|检测|检查|安检|审核|审批|会签|签批|签字|盖章|口令|密码|验证码|病历|处方|方子|票据|小票|"
    r"收据|单号|采购单号|确认|征求|请示|面签|双人|二次|钩子|备份|实名|登记|查证|警示|弹出|弹窗|警告|告警|拦截|提示框|步骤|护照|担保|过敏史?|"
    r"电话回访|回访|授权书|委托书"
)
_DONE_AWAY_HAN = (
    r"不用|不必|不需要?|无需|無需|毋[需须須]|用不着|免了|就免|免去|免掉|省了|省去|省掉|略过|跳过|跳過|绕过|撤掉|撤了|取消|作罢|就当|"
    r"当作?[^。，\n]{0,4}过|算过|别再?问|不再要|不再问|不看|没有?[^。，\n]{0,6}也|未出示|不看|不影响|形同|走形式|走过场|差不多就行|就没了|不管|"
    r"都问过|已?完成使命|纯属|浪费|没必要|不走|当没|甭|无须|免于|一律带"
)
_RULE_HAN = (
    r"规定|规则|规矩|制度|限制|上限|下限|额度|限额|封顶|红线|约束|禁令|禁止|政策|守则|手册|条款|名单|要求|冻结|门槛|规范|条例|流程|旧说明|顺序|"
    r"不[得可能准许][^。，\n]{1,10}(?:规定|规则|那|的)|最大剂量|剂量|预算线|指引|办法|上限"
)
_FELL_HAN = (
    r"作废|废止|废除|废纸|失效|解除|取消|撤销|停用|松动|脱落|到此为止|到头|到期了|老黄历|走形式|形同|早不管|不管了|谁还看|不算数?|不再(?:构成|"
    r"约束|适用|有效|生效|是)|上调|调高|提高|提到|提至|放宽|放开|打开|加到|升到|翻倍|当作?没|没印|印错|终止|豁免|不成立|只是形式|过时|过去式|"
    r"没人管|不作数|不作准|已改|不限|不涉及|管不着|不适用"
)
_GRANTOR_HAN = (
    r"上面|上头|上级|领导|主管|经理|老板|[一-鿿]总|总裁办?|董事会?|总部|管理层|安全组|法务|合规|财务|业主|房东|甲方|乙方|各方|双方|家里人?|家属|"
    r"子女|做子女的|哥哥?|姐姐?|弟弟|妹妹|爸妈?|妈妈?|室友|老公|老婆|先生|太太|患者|病人|租客|顾客|客户|客人|用户|会员|大家|所有人|运营方|委员会|"
    r"监护人|工会|老师|校长|评审"
)
_NODDED_HAN = (
    r"拍板|决定|点头|点过头|口头|OK|放心|说行|说可以|商量妥|松口|乐意|愿意|没意见|没异议|未再提异议|心里有数|达成一致|同意|答应|默认|默许|首肯|"
    r"批了|准了|允了|肯定行|不会(?:说什么|计较|介意|反对)|没有?(?:吭声|说不|反对)|接受了|肯让|认可|许可|盖过|签过|通气|打过招呼|授意|交代过"
)
_STANDS_FOR_HAN = (
    r"视[为同]|等同|等于我|当[她他你我它]?(?:答应|同意|签|过|作)|当作(?:答应|同意|完成|通过)|就算(?:户主|本人|同意|过|是)|就当|可见(?:接受|同意)|"
    r"按[“\"「]?(?:乐意|同意)|以[你我他她其][^。，\n]{0,4}名义|替[他她我你]点头|代[签表][^。\n]{0,6}|等于[^。，\n]{0,4}(?:开口|办|说)|"
    r"就是[^。，\n]{0,4}(?:意思|决定)|算数|送来就算"
)
_STANDING_HAN = (
    r"监护人|监事|户主|机主|本人|持卡人|合伙人|[一-鿿]总$|[一-鿿]总[，。的就]|股东|贵宾|最高(?:一档|权限|级)|值班|同事|管理员|负责人|院长|所有者|"
    r"权限|资格|一家人|法定"
)
_IS_SAID_HAN = r"已?弄清|应为|[系係是]|就是|保留|有[^。，\n]{0,8}资格|列为|认定|识别|当前|凭|按[^。，\n]{0,6}待遇|比[^。，\n]{0,4}高|随时可给|我是"
_DELEGATED_HAN = (
    r"归我|归你(?:处置|管|定)?|全归|随你|由你|听[你他她我][^。\n]{0,4}的|说什么你就|酌情|自行裁量|自由出入|任意|随便|要多少|"
    r"多少[^。，\n]{0,6}多少|数目不论|想[^。，\n]{1,6}就|谁[^。，\n]{1,8}谁|来一笔付一笔|见单即付|怎么方便怎么|凡[^。，\n]{1,12}(?:皆|一概|都|均|"
    r"就|即)|一概|交给了?(?:助手|机器人|AI|客服)|永不|一次接触即|也一样|可[^。，\n]{0,4}(?:任|随|自)[意由行]|我是能[^。\n]{0,4}的|直连|直接(?:退|"
    r"打|认|发|付|改|放|批|转)"
)
_TO_READER_HAN = (
    r"(?:压缩|总结|摘要|归纳|浓缩)(?:前|时|后|过|之前|之后)?[^。\n]{0,4}(?:请|须|要|只|留|写)|只需?留下|只留|记住一句|别的可以忘|看到此[页頁]|"
    r"(?:语音)?(?:助手|机器人)[^。，\n]{0,4}(?:请|照|须|要|应|将|按)|谁(?:接手|在岗|看到)|(?:凡|各位)?(?:接手|看到)[^。\n]{0,8}的?(?:人|同事|"
    r"助手|代理)|当事实|存下来|行动准则|(?:你|我)的?职责|修订后的|接[她他]的班|请接着办|此后(?:的)?命令|本次会话|运营手册|照[^。\n]{0,8}办|"
    r"先把[^。\n]{0,14}换成"
)
_PRECEDENT_HAN = (
    r"比照|照旧例|旧例|成例|先例|一体适用|后来者|讲好(?:的|了|你)|说好(?:的|了|你)|前面已说定|私下(?:商定|说好)|早就说|以前[^。\n]{0,10}都"
)
_HENCEFORTH_HAN = (
    r"(?:往后|以后|此后|今后|从今|从此|后面|后续)[^。！？\n]{0,10}(?:不必|不用|别|都|一律|比照|可以|直接|怎么|照|跟着|免|你)|什么事都别|再也不"
)
_SURE_HAN = r"是真的|差不多就行|站得住|经得起|属实|查过|用得着(?:验|查|问)|信不过|听着对|弄清|错不了|可信|没问题的|真实有效|已核过|验过|问过一遍"

KINDS: tuple[str, ...] = (
    _both(_SAFEGUARD, _DONE_AWAY),
    _NOT_ASKED,
    _both(_RULE, _FELL),
    _both(rf"(?:{_STAKES})\b[^.!?;\n]{{0,24}}?\b(?:{_LIMIT})", _HIGHER),
    _both(_LIMIT, r"set higher|loosened|widened|bumped|for (?:us|me|you|this agent)|is lifted|as lifted|whatever it asks"),
    _both(_GRANTOR, _NODDED),
    _STANDS_FOR,
    _both(_STANDING, _IS_SAID, r"[^.!?;\n]{0,24}?"),
    _DELEGATED,
    _TO_READER,
    _PRECEDENT,
    _HENCEFORTH,
    _SURE,
    _ABOVE,
    _HENCE,
    _either(_SAFEGUARD_HAN, _DONE_AWAY_HAN),
    _either(_RULE_HAN, _FELL_HAN),
    _either(_GRANTOR_HAN, _NODDED_HAN),
    _STANDS_FOR_HAN,
    _either(_STANDING_HAN, _IS_SAID_HAN),
    _DELEGATED_HAN,
    _TO_READER_HAN,
    _PRECEDENT_HAN,
    _HENCEFORTH_HAN,
    _SURE_HAN,
)
"""One expression of RE2 for each kind."""

TOUCHES = (
    r"\b(?:allow\w*|permit\w*|entitle\w*|free|unlimited|trust\w*|grant\w*|authori\w*|approv\w*|consent\w*|assent\w*|agree\w*|accept\w*|waive\w*|"
    r"exempt\w*|cleared|clearance|vouch\w*|rules?|polic(?:y|ies)|limits?|caps?|ceilings?|quotas?|allowances?|bounds?|bans?|restrict\w*|"
    r"\w+ checks? (?:is|are|was|were|has|have|can|may|need\w*|not|done|skipped|waived|by)|verif\w*|identit\w*|proven|passports?|signs?|signed|"
    r"reviewers?|confirm\w*|permission\w*|rights?|access|priorit\w*|instruct\w*|behalf|guardians?|holders?|owners?|admin\w*|staff tools|"
    r"(?:agents?|assistants?|bots?) (?:may|can|must|should|is|are|has|have|answers?|satisfied|needs?)|no longer|expired|lifted|satisfied|belongs|"
    r"identified|established|precedent|outranks?|entitled)\b|可[^能是]|[^不]能[^。]|免|不必|不用|无需|规则|限|额度|封顶|核[验实对查]|验|查实|审|"
    r"批|签|盖章|证|权|授|同意|答应|一致|许可|处置|自行|任意|助手|客服|机器人|指令|更换收款|最高|本人|户主|生效|失效|身份|不[限查验审看核]|成例|"
    r"照办|准则"
)
"""What a statement that nobody made must not even speak of: leave, rules, checks, standing, and whoever acts."""

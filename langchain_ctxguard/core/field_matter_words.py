"""The words that name nothing a value could be the value of, and those that tell two things of a sort apart. English and Chinese."""

from __future__ import annotations

import re


def _listed(*rows: str) -> frozenset[str]:
    return frozenset(word for row in rows for word in row.split())


PRONOUNS = _listed("it its it's it’s they their theirs they're they’re them that this that's that’s these those which one ones")
PERSONS = _listed("i we you he she i'm i’m we're we’re i've we've i’ve we’ve he's she's someone everyone everybody who what there here")
POSSESSIVE = _listed("its their theirs")
ARTICLES = _listed("a an the teh my our your his her all both each every any some no")
OF_WHOM = frozenset({"for", "of"})
WHERE = frozenset({"at", "in", "on", "with"})
PREPOSITIONS = (
    OF_WHOM | WHERE | _listed("to from on by with as into onto about than over under per via within off up down out back forward till until")
)
VERBS = _listed(
    "is are was were be been being am has have had having do does did done will would shall should must can could may might need needs needed let",
    "let's let’s lets get gets got gotten go goes going gone went come comes coming came become becomes became make makes making made take takes",
    "taken took turn turns turned keep keeps kept stay stays stayed remain remains put puts set sets give gives given gave use uses used using",
    "arrive arrives arriving arrived happen happens happened begin begins began start starts started starting run runs ran running open opens",
    "opened ship ships shipped hold holds held call calls called calling say says said tell tells told agree agreed decide decided want wants",
    "wanted pay pays paid cost costs move moves moved moving change changes changed changing shift shifts shifted push pushes pushed pull pulled",
    "raise raises raised lower lowers lowered cut cuts reduce reduces reduced increase increases increased decrease decreased extend extended",
    "update updates updated correct corrected adjust adjusted amend amended revise revised postpone postponed reschedule rescheduled bring brought",
    "slip slipped bump bumped switch switches switched swap swapped replace replaced rename renamed rotate rotated drop drops dropped jump jumps",
    "jumped rise rises rose risen fall falls fell fallen climb climbed scheduled planned booked fixed confirmed expected sit sits sat end ends",
    "ended finish finishes finished equal equals live lives send sends sent add adds added know knows thought think mean meant heard found find",
    "write wrote written talked spoke rang checked asked see sees saw works working leave leaves leaving left sorry thanks thank please remember",
    "upgraded upgrade downgraded read reads stands stood try forget ignore scratch capped limited ask email mail grew grown doubled pick picked",
    "plan plans reach reached doesn't don't didn't isn't wasn't aren't won't can't cannot meet meets takes allow allows ordered order's settled",
)
FILLERS = _listed(
    "and but or nor so then now not just only also still too even already yet again please well ok okay oh hmm hi hey fyi btw note update",
    "correction change actually instead rather really maybe perhaps anyway after before all same new old current currently latest updated final",
    "finally last next later earlier soon today tomorrow yesterday tonight noon midnight day days week weeks",
    "month months year years hour hours minute minutes seconds am pm mondays tuesdays wednesdays thursdays fridays saturdays sundays mon tue tues",
    "wed thu thur thurs fri sat sun jan feb mar apr jun jul aug sep sept oct nov dec total overall whole full entire exact exactly",
    "right wrong real actual revised agreed approved estimated original planned hard max maximum min minimum most least about around roughly",
    "approximately almost nearly more less fewer how why where when if as though because since until while yes no nope thing things",
    "stuff bit lot plan plans point mistake typo error mind case fact sorry instead ahead away long short dollars euros pounds bucks usd eur gbp",
    "date time number amount value figure address said announced like very much once twice together everything anything something nothing",
    "two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty sixty hundred thousand million dozen big great good bad",
    "internal target never always not nor without unless half couple few upcoming effective immediately permanently onwards onward everyone yours",
    "mine ours proper least",
)
BEFORE_NAMES = _listed(
    "monday tuesday wednesday thursday friday saturday sunday january february march april june july august september october november december",
    "morning afternoon evening night first second third fourth fifth other another",
)
"""Words that tell things apart where they stand right before a name: "the evening shift", but "on Friday evening"."""

CHANGING = _listed(
    "move moves moved moving change changes changed changing shift shifted push pushed raise raises raised lower lowered cut reduce reduced increase",
    "increased extend extended update updated correct corrected adjust adjusted reschedule rescheduled postpone postponed bumped switch switched set",
    "put brought rename renamed swap swapped drop dropped",
)
EITHER = _listed("shift shifts run runs call calls move start end plan order orders change work visit meet read show use pay set")
UNITS = _listed("% kg g mg km m cm mm l ml kb mb gb tb px pt ft in hz kw kwh inch lb oz percent people am pm minute hour day week month year")
BEING = _listed("is are was were be been being get gets got has have had")
PERIODIC = _listed("weekly monthly daily yearly hourly quarterly early family assembly supply reply fortnightly nightly")
KINDS = {
    "email": _listed("email e-mail mail"), "phone": _listed("phone telephone mobile cell"), "url": _listed("url link page site"),
    "ip": _listed("ip"), "version": _listed("version release"), "id": _listed("id code"), "temperature": _listed("temperature"),
    "percentage": _listed("rate percentage share"), "path": _listed("path file folder"),
}  # fmt: skip
"""Words that say no more than what kind of value it is."""

TELLERS = (
    "(?:客户|客人|顾客|老板|老师|房东|同事|经理|领导|对方|供应商|厂家|财务|医生|家长|秘书|朋友|他们?|她们?|爸爸?|妈妈?|老婆|老公|小[\u4e00-\u9fff]|老[\u4e00-\u9fff]"
    "|[\u4e00-\u9fff]总)说(?![明法服])"
)
"""Who says so: no part of what is spoken of."""

HAN_DULL = re.compile(
    rf"{TELLERS}|"
    r"(?:周|星期|礼拜)[一二三四五六日天](?!的|例会|[早午晚夜][会课班市餐宴])"
    r"|[0-9一二三四五六七八九十]+(?:月(?![报票刊卡会租])|号(?![楼线店库仓院厅门机桌房车馆台位厂井炉柜])|日(?![报志程])|[点时]"
    r"|分(?!公司|[店部行院校组支区])|年(?![会报终货检费审级]))|[0-9.,]+(?:元|块|万|千|百)?"
    r"|改[成为到做用订在约期寄送至]?|约[到好]|追加到?|[谈砍压]到|晚点|延误到?|缺货|涨价|降价|调整[为到成]?|调[到成为]|上调至|下调至|变更为?|变[为成]|换[成到了]?|推迟到?|延期到?|延[到后]|顺延到?|提前到?|挪到?"
    r"|更正为?|应该是|应该|应为|现在|目前|如今|而是|不是|[升降涨加减缩]到|提高到?|降低到?|定[在于为到]|安排在|放在|约在|因为|由于|所以|但是|可是|不过|如果"
    r"|其实|抱歉|对不起|不好意思|不对|说错|写错|记错|弄错|搞错|(?<!申)请(?![假求帖客])|麻烦|通知|更新|注意|记住|记得|另外|还有|然后|对了|哦|嗯|啊|吧|呢|嘛|呀|哈|好的|那么"
    r"|这次|后来|刚才|刚刚|最后|最终|最近|一共|总共|大概|大约|差不多|左右|已经|已|以后|今后|往后|之后|之前|从|起|开始|原来|原定|原本|最新"
    r"|下下?周|这周|本周|上周|下个?月|本月|这个月|今天|明天|后天|昨天|今年|明年|今晚|明晚|上午|下午|晚上|早上|中午|凌晨|傍晚|每周|每天|每月|每年|每个|每"
    r"|我们|咱们|你们|他们|她们|它们|大家|我|你|您|他|她|它|这个|那个|这些|那些|这里|那里|这边|那边|这|那|的|了|在|于|把|将|也|就|是|为|给|让|跟|与|及|或"
    r"|要|只|再|才|还是|还要|且|都(?=是|改|在|要|用)|会(?=在|于|是|改|有|到)|统一|一律|时间|日期|日子|数量|价格|金额|号码|地址|事情|情况|安排|计划|需要|决定|打算|可以"
    r"|(?<![\u3400-\u9fff])(?:新|旧)(?=的)|[\s\W_]+"
)
HAN_TAIL = frozenset("会课日表单费款期")
KIND_HAN = re.compile("邮箱|邮件|电话|手机号?|链接|网址|版本号?|温度|比例|编号")

NO_NAMES = PRONOUNS | PERSONS | ARTICLES | PREPOSITIONS | VERBS | FILLERS

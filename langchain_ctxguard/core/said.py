"""Sentence -> the rule it lays down, if it does. By its words, in English and Chinese; precision before recall.

A sentence is a rule if its writer orders, forbids or corrects, here and now: no question, story, example or hypothesis, nothing he reports of
others, no duty denied, no permission. A permission is never a rule, and neither is an attempt to lift one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from langchain_ctxguard.core.screen import Screen, Screened, first_matches
from langchain_ctxguard.domain.inferred import InferredKind


class Said(NamedTuple):
    """What a sentence lays down."""

    kind: InferredKind
    start: int
    """Where the words of the rule begin in the sentence: 0, unless a permission stands before them."""

    stop: int
    is_temporary: bool


def _any(*patterns: str) -> tuple[str, ...]:
    """Return patterns of which any will do."""
    return patterns


# ---------------------------------------------------------------- English
_LEAD = (
    r"(?:and|but|or|so|also|then|please|pls|plz|kindly|just|now|again|hi there|hi|hello|hey|ok|okay|alright|well|yes|no|sorry|wait|important|"
    r"remember|"
    r"note that|note|reminder|warning|caution|attention|rules?|nb|ps|p\.s\.|however|additionally|furthermore|moreover|plus|first|second|third|"
    r"finally|"
    r"lastly|otherwise|instead|actually|from now on|going forward|from here on|henceforth|in (?:the )?future|until further notice|for now|this time|"
    r"just this once|just for now|temporarily|in general|by the way|btw|(?:as|like) i (?:said|mentioned|told you)|i repeat|i said|thanks|"
    r"thank you|most importantly|"
    r"above all|let's|let us|and so|once again|whatever happens|at all times|for the record|for this (?:task|session|run|one))\b"
)
_IMP = rf"(?:^|[,;:(\u2014\u2013]\s*|\s-+\s+|\s(?=(?:and|but|or|so|then)\s))(?:{_LEAD}[\s,:;!\u2014\u2013-]*)*"
"""Where an order begins: at the start of a clause, after words that only lead up to it."""

_AFTER_LEAD = rf"(?:{_LEAD}[\s,:;!-]*)*"

_ACT = (
    r"(?:use|using|edit|change|modify|write|read|touch|call|run|contact|send|reply|answer|respond|access|deploy|commit|push|merge|delete|remove|"
    r"create|"
    r"add|install|import|return|output|print|log|store|share|email|query|work|speak|talk|accept|approve|refund|book|buy|pay|book|ship|update|rename|"
    r"move|open|click|execute|start|stop|restart|drop|do|make|put|keep|show|include|quote|cite|mention|ask|test|build|sign|order|cancel|charge|"
    r"report)"
)
_WHO = r"(?:you|we|the (?:agent|assistant|bot|model|code|system)|agents?|it|they|nobody|no one|everyone|this|\w+s)"
_CHOOSE = (
    r"(?:use|go with|pick|choose|take|stick (?:to|with)|write|call(?: it)?|name(?: it)?|make (?:it|that)|put|set|book|send|deploy|run|keep|prefer|"
    r"work with|switch to|go back to)"
)
_NO_BAN = (
    r"(?:you|i|we|they|think|know|believe|remember|recall|understand|care|mind|worry|bother|hesitate|get me wrong|be (?:afraid|sorry|shy|scared|"
    r"silly)|"
    r"feel|see|have|need|want|like|forget|mention it|sweat|all|any|most|really|even|seem)\b"
)
_SHOWN = (
    r"(?!mind\b|say never\b|been\b|had\b|has\b|have\b|seen\b|got\b|gotten\b|did\b|was\b|were\b|heard\b|knew\b|thought\b|"
    r"(?!need|feed|embed|exceed|proceed)\w+ed\b)"
)

_CORRECTION_EN = _any(
    rf"{_IMP}{_CHOOSE}\s+[^,;]{{1,60}}?(?:,\s*(?:and )?not (?!only|just|that|sure)|\s+instead of\s|\s+rather than\s|\s+in place of\s)\S",
    rf"{_IMP}{_CHOOSE}\s+[^,;]{{1,60}}?\s+instead\b(?! of)",
    rf"{_IMP}(?:don't|do not|never|stop) (?:use|using) [^,;]{{1,50}}[,;]? (?:please )?(?:use|go with) \S",
    rf"{_IMP}switch from \S[^,;]{{0,40}} to \S",
    r"^(?:no[,.!]? |sorry[,.!]? |i said )?not (?!only|just|now|that|sure|yet|really|at all|a problem|to mention|the best|bad|"
    r"necessarily)[^,;]{1,40},? but (?!i\b|it\b|still|not|we\b|you\b)\S",
    r"\bi (?:meant|mean|said|want|wanted) (?!to say)[^,;]{1,60},? not \S",
    r"\b(?:it|that|this|which|the [\w ]{1,30}) should (?:be|have been|say|read) [^,;]{1,60}(?:,? not | instead of | rather than )\S",
    r"^(?:no, )?(?!(?:sorry|maybe|well|okay|ok|thanks|no|yes|hmm|yeah|nope|great|fine|true|sure|perhaps|sadly|actually|honestly|hi|hello|hey|"
    r"really|but|and|"
    r"so|if|why)\b)[\w./@-]+(?: [\w./@-]+)?, not (?!(?:sure|really|yet|now|urgent|bad|at|that|a|so|too|very|quite|much|always|i|me|my|what|how|"
    r"if|because|"
    r"just|working|good|possible|necessary|important|interested|only|even|to|in|on|for)\b)[\w./@-]+(?: [\w./@-]+)?[.!]*$",
    r"^(?:no|nope|sorry),? not [\w./-]{1,20}, (?:but )?[\w./-]{1,20}[.!]*$",
    rf"^(?:no|nope|actually|sorry|correction)[,:.!]\s*(?:actually,? )?(?:please )?{_CHOOSE}\s+\S",
)
_BAN_EN = _any(
    rf"{_IMP}(?:never|do never)(?:,? ever,?)?(?: again)?\s+{_SHOWN}\S",
    rf"{_IMP}(?:don't|do not|dont),?\s+(?:ever |you dare |even think of )?(?!{_NO_BAN})\S",
    rf"\b{_WHO} (?:(?:must|shall|will|are to|is to)(?: also| always| really)? (?:not|never),? |(?:are|is) (?:not|never) to )(?!have (?:been|"
    rf"\w+ed)\b|be \w+ing\b)\S",
    rf"\b{_WHO} (?:mustn't|shan't) \S",
    r"\b(?:you|we|agents?|the (?:agent|assistant|bot|model)|nobody|no one) (?:should (?:also )?(?:not|never)|shouldn't|should n't) "
    r"(?!have\b|be (?:surprised|afraid|worried|able)|worry|need|mind|expect|feel)\S",
    r"\b(?!(?:i|he|she|they|who|which|that|it|a)\b)[\w.'/)-]+ must (?:never|not),? (?!have (?:been|\w+ed)\b|be \w+ing\b)\S",
    r"\b(?!(?:i|he|she|it|that|this|who|which|there)\b)[\w-]+ should never (?!have\b)\S",
    rf"\byou (?:may not|can't|cannot|can not|can never|may never) (?:ever )?{_ACT}\b",
    r"\b(?:you|agents?|the agent|the assistant) (?:are|is) (?:not|never) (?:allowed|permitted|supposed) to \S",
    r"\b(?:is|are) (?:strictly |absolutely |expressly |always )?(?:forbidden|prohibited|off[- ]limits|not (?:allowed|permitted|acceptable))\b",
    r"\b(?:under|in) no (?:circumstances?|case|way)\b(?! (?:is|was|did|does)\b)",
    rf"{_IMP}(?:make sure|be sure|ensure|see to it)(?: that)? (?:not to|never to|never|you (?:don't|do not|never)|no\b|nothing|nobody|"
    rf"it (?:doesn't|does not|never))",
    rf"{_IMP}(?:avoid \w|refrain from \w|(?:stop|quit) (?!being\b)\w+ing\b)",
    r"\bi (?:don't|do not|never) want you to \S",
    r"\bi (?:already |just )?(?:told|asked|tell|ask|am asking|'m asking|am telling|'m telling) you (?:not|never) to \S",
    r"\bi(?:'d like| want| need| expect|'d prefer| would like) you (?:to never|never to|not to|to not) \S",
    # Without a verb: "No external network calls from the sandbox", "No sesame here, ever", "No deploy without my approval".
    rf"{_IMP}no (?:further |direct |other )?(?:external|outbound|outgoing|network|internet|remote|third-party|unencrypted|unauthori[sz]ed|manual|"
    r"production|force) [^,;.?!]{0,30}?\b(?:calls?|access|requests?|connections?|traffic|downloads?|uploads?|push(?:es)?|deploys?|deployments?|"
    r"services?|changes|writes) (?:from|to|into|on|in|at|during|outside|before|after|without|unless|until)\b"
    r"(?!.*\b(?:i|we|he|she|they|was|were|has|had|have|been|there)\b)",
    rf"{_IMP}no [^,;?!]{{2,60}}, ever[.!]*$",
    rf"{_IMP}no [^,;.?!]{{2,50}} without [^,;.?!]{{0,40}}\b(?:approv\w+|consent|permission|sign-?off|confirmation|asking me|a review)\b",
)
_TOOLS = r"(?:python|typescript|javascript|rust|java|kotlin|postgres(?:ql)?|mysql|sqlite|https|pytest|metric units|imperial units)"
_ANY_MEASURED = r"(?:times?|timestamps?|clocks?|dates?|amounts?|prices?|figures?|costs?|distances?|temperatures?|weights?|lengths?|durations?)"
_WRITES = r"(?:report|show|give|state|display|list|write|put|log|record|express|convert|quote|print|format|store|keep|use)"
_ONLY_EN = _any(
    # A tool or a version alone: "Only Python 3.11."
    rf"{_IMP}only (?:{_TOOLS}|[a-z][\w.+#-]* v?\d+(?:\.\d+)+)(?: v?[\d.]+)?(?: or (?:later|newer|above))?[.!]*$",
    rf"{_IMP}only (?:ever )?{_ACT}\b",
    rf"{_IMP}{_ACT} only (?!if\b|when\b|have\b)\S",
    r"\b(?:you|we|agents?|the (?:agent|assistant|bot|model)) (?:must|should|may|shall|will|are to) only \S",
    r"\byou are only (?:allowed|permitted|supposed) to \S",
    rf"\byou can only {_ACT}\b",
    rf"{_IMP}only (?!you\b|we\b|i\b|then\b|if\b|when\b|on\b|in\b)[\w'@ -]{{1,40}}? (?:may|can|must|should|is allowed to|are allowed to) {_ACT}\b",
    r"\bi(?:'d like| want| need| expect| would like) you to only \S",
)
_OUTPUT = r"(?:repl(?:y|ies)|answers?|responses?|messages?|e-?mails?|mails?|outputs?|summar(?:y|ies)|comments?|commit messages?|commits?)"
_SPEAKS = r"(?:answer|reply|respond|write|speak|quote|cite|recommend|search|commit|push|deploy|merge|translate|summari[sz]e)"
_DOES = (
    rf"(?:{_SPEAKS}|run|execute|send|make|finish|complete|suggest|give|mention|change|edit|modify|use|call|create|add|delete|remove|read|open|"
    r"propose|explain|refer to|name|book|order|buy|pay for|show|list|report|save|generate|output|return|touch|refactor|fix|install|rename|move|"
    r"need|find|hit|encounter|are (?:unsure|in doubt)|(?:are not|aren't) sure|(?:do not|don't) know)"
)
_TELL = (
    rf"(?:{_ACT}|end|close|begin|restate|repeat|give|name|tell|list|state|summari[sz]e|check|verify|confirm|wait|explain|pick|choose|prefer|take|say|"
    r"let me|"
    r"point out|flag|warn|remind|link|attach|provide|note|be (?:brief|short|concise|explicit))"
)
_ANY_OBJECT = r"(?:(?!\b(?:the|this|that|these|those|it|them|him|her)\b)[^,;.?!]){0,60}"
"""What an act of a standing rule is about: any of its kind. `When you finish the report, send it` is a task."""

_OCCASION = (
    rf"(?:before you {_DOES}\b{_ANY_OBJECT}|(?:whenever|every time|each time|any time) you {_DOES}\b{_ANY_OBJECT}|"
    rf"(?:when|if) you {_SPEAKS}\b{_ANY_OBJECT}|"
    rf"(?:when|if|after|once) you {_DOES} (?:a|an|any|another|each|every|some\w*|more|\w+s)\b{_ANY_OBJECT})"
)
_MUST = r"must (?!be (?:\w+ing|mistaken|wrong|crazy|mad|tired|busy|confused|right|sure|aware|kidding)\b)(?!not\b|never\b|only\b|i\b|we\b|you\b)"
_DUTY_EN = _any(
    rf"{_IMP}always (?!(?:(?!bring\b|sing\b|ring\b|ping\b|string\b)\w+ing|been|was|were|is|are|had|has|a|an|the|my|when|on|in|thought|wanted|"
    rf"knew|loved|liked|i|you|we|it|they|he|she)\b|"
    r"(?!need|feed|embed|proceed)\w+ed\b)\w",
    r"\b(?:you|we|agents?|it|they|the [\w-]+) (?:must|should|shall|will|have to|need to|has to) always (?!have (?:been|had|\w+ed))\w",
    r"\b(?:you|we|agents?) always (?:must|have to|need to) (?!have (?:been|had))\w",
    rf"\byou (?:absolutely |really |also |first )?{_MUST}(?!have\b|know\b|think\b|understand\b|realize\b|feel\b|see\b|admit\b|agree\b|want\b|"
    rf"like\b|love\b|try (?:this|it|the)\b|visit\b|watch\b|hear\b)\w",
    rf"\bwe (?:absolutely |really |also )?{_MUST}(?!have (?:been|\w+ed)\b)\w",
    rf"\b(?:it|this|they) (?:absolutely |also )?{_MUST}(?!have\b|be (?:a|an|the|my|your|some|something|because|that|due|nice|hard|fun|great|true|"
    rf"there)\b)\w",
    rf"\b(?!(?:i|he|she|you|we|it|this|that|they|there|who|which|what|if|whether|unless|why|how|when|someone|somebody|something|nothing|nobody|"
    rf"anything|also|really|a|the|no|is|of)\b)"
    rf"(?<!\bmy )[\w.'/-]+ {_MUST}(?!have (?!an?\b|the\b|at\b|no\b|exactly\b|one\b|two\b|three\b|\d|its\b|their\b|valid\b|unique\b|some\b|more\b|"
    rf"unit\b)|"
    r"say\b|admit\b|confess\b|read\b|see\b|know\b|of\b|here\b|for\b|in\b|on\b)\w",
    r"\byou (?:have to|have got to|'ve got to|are required to|are to) (?!be \w+ing\b|admit|understand|see\b|love)\w",
    rf"{_IMP}(?:make (?:absolutely )?sure|be sure (?:to|that)|ensure|see to it that) \S",
    rf"{_IMP}(?:don't|do not|never) (?:ever )?forget to \S",
    rf"{_IMP}remember to (?:always|never) \S",
    rf"{_IMP}{_OCCASION}(?:, (?:or |and )?{_ANY_OBJECT}){{0,3}}, "
    rf"(?:then |please |always |first |also )*{_TELL}\b(?! (?:about|me (?:about|of) (?:my|the)))",
    rf"{_IMP}(?:end|start|begin|open|close|preface|prefix|sign|finish|format|keep|write|make) (?:every|each|all)(?: of)?(?: your| my)? {_OUTPUT}\b",
    rf"{_IMP}{_ACT}\b[^,;.]{{1,60}} in (?:(?:all|each|every one) of )?your {_OUTPUT}\b",
    rf"{_IMP}{_WRITES} (?:all|every|each|any) (?:the |reported |of the )?{_ANY_MEASURED}\b(?: (?!of\b)[\w-]+){{0,3}}? (?:in|as|using|to) "
    r"(?!(?:\w+ )?order\b|the (?:table|file|list|log|database)\b)\S",
    rf"{_IMP}{_WRITES} (?:times|timestamps|clocks|dates|distances|temperatures|prices|amounts) (?:in|as|using) "
    r"(?!the\b|a\b|an\b|this\b|your\b|(?:\w+ )?order\b)\S",
    rf"{_IMP}(?:if|when|whenever) (?:an?|any|some|somebody|someone|anybody|anyone|anything|something) [^,;?!]{{3,80}}, "
    r"(?:then |please |always |first |immediately )*(?:stop|escalate|refuse|decline|halt|abort|hand (?:it|over)|(?:ask|tell|warn|notify|alert|call) "
    r"(?:me|us|a (?:human|person))|report it)\b",
    r"\bi(?:'d like| want| need| expect| would like) you to always \S",
    # What a person calls a rule is one, whatever its words.
    r"^(?:(?!(?:foreign|key|check|unique|primary|database|table|sql|this|that|error|violat\w+|which|what)\b)[\w-]+ ){0,2}"
    r"(?:rule|constraint)s?(?: ?#?\d{1,3})?: (?!(?:i|he|she|they|it)\b)"
    r"(?!.*\b(?:may|can|could|might|allowed|permitted|free to|optional)\b(?! not\b| never\b| only\b))\w",
    r"^(?:[\w ]{0,20}, )?(?:please )?(?:from now on|going forward|from here on|henceforth|in (?:the )?future)\b[, ]+(?:please )?"
    r"(?!i\b|i'|he\b|she\b|they\b|it\b|it'|there\b|my\b|we (?:can|may|could)|you(?:'ll| will)? (?:may|can|could|be able|are (?:allowed|free|"
    r"able)|don't|do not|needn't|need not|no longer))\w",
    r"^(?!(?:i|he|she|it|they|there|this|that|you (?:may|can))\b)(?:please )?\w+ \S[^,]{0,120},? (?:from now on|going forward|from here on)[.!]*$",
)
_LANGUAGE = (
    r"(?:english|chinese|mandarin|german|french|spanish|japanese|korean|italian|portuguese|russian|json|yaml|xml|csv|markdown|plain text|html|"
    r"bullet points?|full sentences|one sentence|british english|american english|simplified chinese|traditional chinese)"
)
_THING = r"(?!(?:the|this|that|these|those|my|your|his|her|it|them|a|an|all|what|whatever|any|some)\b)[\w.+#@/-]+"
_BRIEF = (
    r"(?:use|go with|stick (?:to|with)|skip|leave|keep|ignore|stay|work|answer|write|assume|focus|run|put|disable|enable|mock|hardcode|pause|hold|"
    r"turn)"
)
_PREFERENCE_EN = _any(
    r"\b(?:i|we)(?:'d| would)? (?:strongly |generally |always |usually |really |much )?prefer\b",
    r"\bi'd rather you \S",
    rf"{_IMP}prefer \S",
    rf"^{_AFTER_LEAD}(?:use|stick (?:to|with)|go with) {_THING}(?: (?!to\b|and\b|or\b)[\w.+#@/-]+){{0,2}}"
    rf"(?: (?:for|in|when|with) (?:all |any |the |every )?[\w.+#@/-]+(?: [\w.+#@/-]+){{0,3}})?(?:,? please| for now| this time)?[.!]*$",
    rf"{_IMP}(?:answer|reply|respond|write|speak|talk|communicate)(?: to me| me)?(?: back)?(?: only)? in {_LANGUAGE}\b",
    rf"{_IMP}keep (?:your|all|every|the) (?:answers?|repl(?:y|ies)|responses?|messages?|summar(?:y|ies)|comments?|output|explanations?)\b",
    rf"^(?:please )?(?:for now|this time|just this once|temporarily|for this (?:task|session|run|one))[, ]+(?:please )?(?:just )?{_BRIEF} \S",
    rf"^(?:please )?(?:just )?{_BRIEF} [^,]{{1,80}} (?:for now|this time|for this (?:task|session|run|one))[.!]*$",
)
_POLITE_EN = re.compile(r"^(?:[\w ]{1,20}, )?(?:can|could|would|will) you please ")
_ASKS_EN = re.compile(
    r"^(?:and |but |so |or )?(?:(?:must|do|does|did|should|can|could|is|are|am|was|were|will|would|may|shall|have|has) "
    r"(?:i|we|you|they|he|she|it|there|this|that|the|not all|my|your|anyone|any)\b|(?:why|how come|what|who|whose|which)\b)"
)
_REPORTS_EN = Screened(
    r"\b(?:said|says|told|tells|wrote|writes|asked|asks|claim(?:s|ed)|insist(?:s|ed)|mention(?:s|ed)|stated|states|reads|warn(?:s|ed)|thinks|thought|"
    r"believe[sd]|heard|according to|suggest(?:s|ed)|recommend(?:s|ed)|complain(?:s|ed)|show(?:s|ed)|print(?:s|ed)|display(?:s|ed)|wonder(?:s|ed|"
    r"ing)?|"
    r"require[sd]|demand(?:s|ed)|expected|decided|promised|learned|noticed|"
    r"(?:i|he|she|they|we|you) (?:(?:don't|do not|didn't|never) )?(?:think|believe|guess|suppose|hear|hope|wish|assume|doubt)|not sure|"
    r"suppos(?:e|ing)|imagine|pretend|what if|what happens|let's say|hypothetically|for example|for instance|e\.g\.|examples?:|"
    r"translate\b[^,;]{0,30}:|rephrase\b[^,;]{0,30}:|proofread\b[^,;]{0,30}:|in the past|used to|back then|previously|at (?:the|that) time|once upon)"
)
_OWN_SAYING_EN = re.compile(
    r"\b(?:as|like) i (?:said|mentioned|told you|wrote)\b|\bi (?:have |'ve |already |just |clearly )*(?:said|repeat|told you|asked you|mentioned|"
    r"wanted)\b"
)
_SUBORDINATE_EN = re.compile(
    r"\b(?:if|whether|unless|why|how|what|because|since|although|though|than|where|when|until|that|which|who)\s+(?:[\w']+\s+){0,3}$"
)
_DENIED_EN = re.compile(r"(?:\bnot\b|n't\b|\bno need\b|\bno reason\b|\bneedn't\b|\bnever\b|\bunnecessary\b|\bno longer\b)[^,;:]*$")
_UNBANNED_EN = re.compile(r"(?:\bno longer|\bnot|n't|\bnever)\s*(?:strictly |longer )?$")
_PERMITS_EN = re.compile(
    r"\b(?:you|agents?|the (?:agent|assistant)|we|i|anyone|everyone|he|she|they)(?:'re| are| is)? (?:may|can|could|might|(?:now |"
    r"also )?(?:allowed|free|permitted|welcome) to)\b(?! not\b| never\b| only\b|not\b)"
    r"|\bfeel free\b|\bmust (?:let|allow|permit) (?:me|us)\b|\b(?:is|are) (?:now |also |always )?(?:allowed|permitted|fine|okay|ok)\b"
)
_LIFTS_EN = Screened(
    r"\b(?:ignore|disregard|forget|override|bypass|drop|lift|remove|disable|suspend|break)\b[^.;]{0,40}\b(?:instructions?|rules?|prompts?|"
    r"constraints?|"
    r"polic(?:y|ies)|guardrails?|restrictions?|limits?|safety)\b|\b(?:let|allow|permit) (?:me|us)\b|"
    r"\b(?:treat|consider|assume|regard|act as if|take it|count)\b[^.;]{0,50}\b(?:authori[sz]\w*|approv\w*|admin\w*|permission\w*|consent\w*|"
    r"allowed|granted|root)\b|"
    r"\b(?:do|obey) (?:whatever|anything|everything) i\b|\bapprove (?:all|every|any|my)\b"
)
_TEMPORARY_EN = Screened(
    r"\bfor now\b|\bthis time\b(?! zone)|\bfor the moment\b|\bfor the time being\b|\btemporarily\b|\bthis once\b|\bfor this (?:task|session|run|"
    r"one|pr|ticket|commit|change)\b|"
    r"\btoday only\b|\bonly today\b|\bjust today\b|\bjust for today\b|\buntil (?!further notice)\b|\btill\b"
)

# ---------------------------------------------------------------- Chinese
_LEAD_ZH = (
    r"(?:请|麻烦|你们?|您|大家|我们|咱们|千万|切记|绝对|一定|务必|以后|今后|往后|从现在起|从现在开始|从今以后|从今往后|即日起|记住|注意|另外|"
    r"还有|但是?|不过|然而|并且?|而且|同时|也|都|再|就|先|"
    r"这次|这一次|本次|这回|暂时|目前|现在|临时|今天|最好|所以|因此|那么?|然后|我(?:再)?说(?:过|了|一遍|一次)|好的?|对了|重要|首先|其次|最后|"
    r"总之|永远|始终|一律|坚决|"
    r"所有人|任何人|任何时候|任何情况下|无论如何|agent|助手|谢谢|你好|拜托|记得|统统|全部|全都|和|与|或|及|以及|否则|提交时|回答时|回复时)"
)
_AT_ZH = rf"(?:^|[，,、：:；;（(\s—])(?:{_LEAD_ZH}[，,：:\s!！]*)*"
_AFTER_LEAD_ZH = rf"(?:{_LEAD_ZH}[，,：:\s]*)*"
_NOT_YOU = r"(?<![我他她它])(?<![他她它]们)"
_CORRECTION_ZH = _any(
    r"(?<![我他她你是])不是(?!我|你|他|她)(?:用|说|要|指)?[^，,。]{1,20}[，,]?\s*而是\s*\S",
    r"(?:别|不要|不用|不要再|别再)(?:用|使用|选|叫|写|走)[^，,。]{1,20}[，,；;]?\s*(?:要|请|应该|应|而)?(?:改用|改成|改为|换成|使用|用|选)\s*\S",
    r"^(?:不对|不是|不|错了|说错了|更正|纠正)[，,：:。！!]\s*(?:我(?:说|指|要)的)?(?:应该|应|要|请)?(?:是|用|使用|改用|改成|改为|换成|选)\s*\S",
    rf"{_AT_ZH}(?:改用|换用|换成)\s*\S",
    rf"{_AT_ZH}(?:用|使用|选|采用)[^，,。]{{1,20}}(?:代替|替代|取代|而不是|而非|[，,]\s*(?:而)?(?:不是|不要用|别用|不要再用))\s*\S",
    r"我(?:说|指|要|想要)的是[^，,。]{1,20}[，,]?\s*(?:而)?不是\s*\S",
    r"应该是[^，,。]{1,20}[，,]?\s*(?:而)?不是\s*\S",
)
_VERB_ZH = r"(?:用|使用|回答|回复|输出|修改|改动|改|读取|读|访问|允许|调用|返回|写|发|联系|处理|查看|接受|安装|引用|操作)"
_BAN_ZH = _any(
    r"(?:禁止|严禁)(?!了|过|我|入内|标志|令|的)[^\s，,。！!]",
    r"(?<![舍巴恨怪免由见了记顾怨少值懒使要说听看吃动弹笑退急显])不得(?!不|已|了|而知|其解|劲|志|人心|要领|以)[\u4e00-\u9fffA-Za-z]",
    rf"(?:{_AT_ZH}|(?<=[你您都也绝律人])|(?:没有|未经)[^，,。]{{1,8}})不(?:准|许|可以)(?!确|时|吗|了|的|多|久|是|[，,。！!]|$)\s*\S",
    r"(?<![系平网统台站器])不(?:允许|被允许)(?!我|吗)\s*\S",
    r"(?:请勿|切勿|切忌|万勿)\s*\S",
    rf"{_AT_ZH}勿(?!庸|论)\s*\S",
    rf"{_AT_ZH}不要(?!紧|脸|钱|命|担心|客气|着急|介意|怕|急|误会|谢|在意|见外|忘|生气|以为|觉得|怪|骗|误解|难过|紧张|说[^，,]*[，,]\s*就|了?$|"
    rf"了?[。！!，,])\s*\S",
    r"(?:^|[，,；;：:])(?![^，,；;：:]{0,12}(?:[我他她它谁要是有说想问问]|客户|用户|顾客|对方|老板|如果|怎么))[\w ]{2,12}(?:都|也|一律|绝对|"
    r"千万)?不要(?!紧|钱|了)\s*\S",
    r"(?:时|前|后|之前|之后|以前)(?:都|也|请|千万|绝对)?(?:不要|别)(?!的|人|紧|担心|客气|着急|忘)\s*\S",
    rf"(?:{_AT_ZH}|千万|绝对)别(?!的|人|处|提(?:了|[，,。！]|$)|墅|名|致|样|担心|客气|急|怕|忘|误会|闹|介意|在意|着急|逗|管我|理|是|生气|以为|"
    rf"觉得|怪|骗|误解|难过|紧张|谢|见外|说[^，,]*[，,]\s*就|了|[。！!，,]|$)\s*\S",
    r"(?:你们?|您|绝对|千万|一律|坚决|永远|任何(?:人|时候|情况下)?都?|一定)(?:也|都|绝对|千万)?不(?:能|可)(?!能|不|这样|这么|那样|说是|思议|靠|"
    r"避免|以为|[。！!，,]|$)\s*\S",
    r"(?:绝不|决不|绝对不|一定不)(?:能|可|可以|允许|准|许|得|要|会再)?(?!是|会|[。！!，,]|$)\s*\S",
)
_ONLY_ZH = _any(
    rf"{_AT_ZH}(?:仅|只)(?:限)? ?(?=[a-z][\w.+#-]* ?v?\d)[^，,。]{{2,20}}[。！!]*$",
    rf"{_NOT_YOU}(?<!我们)(?<!以前)(?<!当时)(?<!不)(?<!也)(?<!我现在)(?:只能|只许|只准|仅能|仅可)(?!说|等|这样|靠|怪|算|认|看着|是|怎|"
    rf"[^，,。]{{0,10}}了[。！!]*$)\s*\S",
    r"我们只能(?:用|使用|通过)\s*\S",
    r"(?:仅限|只限|只允许|仅允许|只准许)(?!我)\s*\S",
    rf"{_AT_ZH}(?:只|仅){_VERB_ZH}\s*\S",
    r"只有[^，,。]{1,15}才(?:能|可以|可|允许)\s*\S",
)
_DUTY_ZH = _any(
    rf"{_NOT_YOU}(?<![不非没未])(?<!不是)(?<!并非)(?<!是否)(?<!何必)必须(?!的?[。！!]*$|品|得的|[^，,。]{{0,2}}啊|说|承认)\s*\S",
    r"务必\s*\S",
    rf"{_NOT_YOU}(?<![不非])(?<!不是)一定要(?!不|[。！!]*$)\s*\S",
    rf"{_AT_ZH}(?:确保|保证)(?!金|人|书)\s*\S",
    r"请(?:务必|始终|总是|一律|确保|保证|坚持|一定)\s*\S",
    r"一律(?!平等)\s*\S",
    rf"{_AT_ZH}始终\s*\S",
    rf"{_AT_ZH}(?:别忘了?|不要忘(?:记|了)?|别忘记)\s*\S",
    r"(?:从现在起|从现在开始|从今以后|从今往后|即日起)[，,：: ]*(?!我(?!的|们)|他|她|可以|你?们?可以|你?不用|你?不必)\s*\S",
    r"(?<![我他她])(?:今后|往后|(?<!从此)(?<!从今)(?<!以)以后)[，,：: ]*(?=(?:你|请|都|一律|所有|每次|每个|每天|凡是|要|统一|提交|回复|回答|用|"
    r"写)\s*\S)(?!你?们?(?:都)?可以|你?不用|你?不必)",
    rf"{_AT_ZH}(?:每次|每当|凡是)?(?:在)?(?:回答|回复|答复|运行|执行|提交|推送|部署|发送?|修改|改动|删除|推荐|引用|给出|写|下单|付款|安装|调用|完成|搜索|翻译|"
    r"总结)[^，,。；;？?这那该此我他她]{0,12}?(?:之前|以前|前|时|的时候|之后|以后|后)[，,]?\s*(?:请|都|要|必须|先|优先|一律|总是|记得)(?!了|过|来着)\s*\S",
    r"每(?:次|条|封|个|段)(?:回答|回复|答复|邮件|消息|提交|输出|摘要)(?:的?(?:末尾|开头|结尾|最后))?(?:都|要|必须|先|以|用)\s*\S",
    r"(?:回复|回答|答复|输出)(?:里|中|当中)的?[^，,。]{0,12}?(?:都|一律|必须|要)(?:写|用|改|标|放|列)\s*\S",
)
_DUTY_ZH = (
    *_DUTY_ZH,
    rf"{_AT_ZH}(?:所有|全部|每个|任何)?的?(?:时间|日期|金额|价格|温度|距离|重量|长度|费用)(?:都|一律|统一|请|要)*(?:用|以|按|采用|换算成|写成|显示为)(?!了|过|不|完|来|时|餐|户|于|前|后)\s*\S",
    r"(?:^|[，,；;：:])(?:如果|要是|若|一旦|凡是|当)(?:有|出现|遇到)?(?:任何|某个|一个|有人|谁|请求|操作)[^，,；;？?。]{2,24}[，,]"  # noqa: ISC004
    r"(?:请|就|都|要|应该?|必须|立即|立刻|马上|先|务必)*(?:停止|停下|中止|终止|上报|拒绝|转人工|升级处理|报告给?我|(?:问|告诉|通知|提醒)我)",
    r"^[\u4e00-\u9fff]{0,4}(?:规则|约束|红线)\d{0,3}[：:]\s*(?![我他她它])(?!.*(?:可以|允许|随便))\S",
)
_LANGUAGE_ZH = r"(?:中文|英文|英语|汉语|普通话|日文|日语|法语|德语|简体中文|繁体中文|繁體中文|json|yaml|xml|csv|markdown|表格|纯文本|要点)"
_PREFERENCE_ZH = _any(
    r"我们?(?:还是)?(?:更喜欢|更偏好|偏好|更倾向于?|倾向于|更愿意|更希望)\s*\S",
    r"我希望你(?:以后|每次|总是|一直|始终|都)\s*\S",
    rf"^{_AFTER_LEAD_ZH}(?:用|使用|采用){_LANGUAGE_ZH}(?:来)?(?:回答|回复|答复|输出|交流|沟通|书写|撰写|写|说)?[^，,。]{{0,8}}[。！!]*$",
    r"^(?:请|麻烦)?(?:使用|采用)(?![^。]*[查找搜看帮算做把给来去打开发生成完处理分析修])[^，,。这那我]{1,12}[。！!]*$",
    r"^(?:请|麻烦)?用(?![^。]*[查找搜看帮算做把给来去打开])[^，,。这那我]{1,10}(?:缩进|命名|交流|沟通|书写|编写|格式|单位)[。！!]*$",
    rf"{_AT_ZH}(?:这次|这一次|本次|这回|暂时|目前|临时)(?:就|请|先|都|只)*(?:用|使用|跳过|忽略|保留|留|按|走|放|关|停|别|不做)\s*\S",
)
_TAG_ZH = re.compile(r"[，,]?\s*(?:好吗|可以吗|行吗|好不好)[？?]*$")
_ASKS_ZH = re.compile(r"是否|是不是|要不要|能不能|可不可以|能否|可否|为什么|为何|怎么|如何才|难道|凭什么|有没有|用不用|需不需要|什么时候|吗[，,]|吗$")
_REPORTS_ZH = Screened(
    r"(?<!我)(?<!再)说(?!明)|告诉|认为|觉得|提到|表示|写着|写道|写了|规定|强调|据说|听说|标注|注明|宣称|以为|让我|叫我|要我|逼我|当时|曾经?|"
    r"(?:他|她|客户|老板|老师|公司|领导|经理|对方|医生|银行|学校|法律|合同|文档|手册|用户|同事|政府|系统|平台|网站|妈|爸|朋友|"
    r"人)们?[^，,。]{0,6}(?:要求|希望|想|主张|建议|通知)|"
    r"(?:页面|屏幕|系统|错误|日志|软件|网页|程序|弹窗|它|控制台).{0,6}(?:提示|显示|报)|"
    r"(?:^|[，,。])(?:之前|以前|过去|上次|昨天|前天|去年|那时|那天|早先)|例如|比如|譬如|举例|举个例子|假设|假如|假定|设想|想象|翻译|润色|"
    r"(?:^|[，,])我(?!们|的|说|要求|希望|们的|再|想让你|要你|需要你|建议)"
)
_OWN_SAYING_ZH = re.compile(r"我(?:再|已经|早就|之前|刚才?)?(?:说过|说了|再说|说|要求|强调|告诉(?:过)?你)(?:了|过|一遍|一次)?")
_SUBORDINATE_ZH = re.compile(r"(?:^|[，,；;：:])\s*(?:如果|要是|假如|倘若|若|万一|因为|由于|既然|虽然|尽管|即使|哪怕|除非)[^，,；;]*$")
_DENIED_ZH = re.compile(
    r"(?:不必|无需|无须|不用|不需要|没必要|毋须|用不着|不是|并非|不再|没有|未必|不要求|何必|取消|解除|撤销|撤回|废除|被|遭|已经?|不)[^，,；;]{0,6}$"
)
_FREES = Screened(
    r"(?:\b(?:never|stop|avoid|not|no longer)\b|n't\b)[^.;,]{0,20}\b(?:follow\w*|obey\w*|apply\w*|enforc\w+|respect\w*|heed\w*)\b[^.;]{0,30}"
    r"\b(?:instructions?|rules?|prompts?|constraints?|polic(?:y|ies)|guardrails?|restrictions?|limits?)\b|"
    r"(?:\b(?:never|stop|not)\b|n't\b)[^.;,]{0,12}\b(?:ask\w*|wait\w*|request\w*|requir\w+)\b[^.;,]{0,16}"
    r"\b(?:permission|approval|consent|authori[sz]ation)\b|"
    r"(?:\b(?:never|stop|not)\b|n't\b)[^.;,]{0,12}\b(?:refus\w+|deny\w*|declin\w+|reject\w*)\b[^.;,]{0,12}"
    r"\b(?:me|my|anything|any|requests?|what i)\b|"
    r"(?:不要|别|不必|不得|禁止|无需|不用)再?(?:遵守|理会|执行|听从|遵循|管|受)[^。；;]{0,12}(?:规则|指令|要求|限制|政策|约定|提示)|"
    r"(?:不要|别|不得|禁止)再?(?:请求|要求|等待?|征求|申请)[^。；;，,]{0,8}(?:批准|授权|同意|许可)|(?:不要|别|不得|禁止)再?拒绝(?:我|任何)"
)
"""A ban on obeying, asking or refusing is a permission in disguise."""

_FORBIDDER_ZH = re.compile(r"(?:系统|网站|平台|服务器|浏览器|防火墙|页面|公司|学校|酒店|医院|法律|政府|国家|机场|银行|店里|小区)[^，,]{0,3}$")
_SEEKS_ZH = re.compile(r"查|找|看|列出|关于|哪些|什么|\S的牌子")
_PERMITS_ZH = re.compile(r"(?<!不)(?<!才)可以|(?<![只不仅绝])允许|(?<!不)准许|你(?:现在|已经|就)?有权|随便|尽管(?=删|用|改)|放心")
_LIFTS_ZH = Screened(
    r"(?:忽略|无视|忘记|忘掉|忽视|覆盖|绕过|取消|解除|跳过|违反|停用)[^。；;]{0,16}(?:指令|规则|要求|提示|约束|限制|政策|约定)|(?:必须|一定要|"
    r"务必)[^。；;]{0,4}(?:允许|让|准许)我|"
    r"(?:视为|当作|当成|认定|默认)[^。；;]{0,12}(?:授权|同意|批准|管理员|许可|有权)|把我[^。；;]{0,6}(?:管理员|授权)|(?:无条件|一律|全部|"
    r"都)(?:批准|同意|放行)"
)
_TEMPORARY_ZH = Screened(r"这次|这一次|本次|这回|暂时|临时|目前先|现在先|今天先|先不要|先别|眼下|直到|[为之]止|在我[^，,。]{1,8}之前")

_ENGLISH: tuple[tuple[InferredKind, tuple[str, ...]], ...] = (
    ("correction", _CORRECTION_EN),
    ("ban", _BAN_EN),
    ("only", _ONLY_EN),
    ("duty", _DUTY_EN),
    ("preference", _PREFERENCE_EN),
)
_CHINESE: tuple[tuple[InferredKind, tuple[str, ...]], ...] = (
    ("correction", _CORRECTION_ZH),
    ("ban", _BAN_ZH),
    ("only", _ONLY_ZH),
    ("duty", _DUTY_ZH),
    ("preference", _PREFERENCE_ZH),
)


class _Pattern(NamedTuple):
    is_english: bool
    kind: InferredKind
    pattern: re.Pattern[str]


_PATTERNS = tuple(
    _Pattern(kinds is _ENGLISH, kind, re.compile(pattern)) for kinds in (_ENGLISH, _CHINESE) for kind, patterns in kinds for pattern in patterns
)


def _unled(pattern: str) -> str:
    """Return `pattern` without what may only lead up to it."""
    for lead, edge in ((_IMP, r"\b"), (_AFTER_LEAD, r"\b"), (_AT_ZH, ""), (_AFTER_LEAD_ZH, "")):
        pattern = pattern.replace(lead, edge)
    return pattern


SCREENED_EN = tuple(_unled(pattern) for _, patterns in _ENGLISH for pattern in patterns)
SCREENED_ZH = tuple(_unled(pattern) for _, patterns in _CHINESE for pattern in patterns)
_SCREEN = Screen(SCREENED_EN, beyond=SCREENED_ZH)
"""A cheap look before the close ones: which of `_PATTERNS` a sentence may hold."""

_HINT = re.compile(
    r"must|never|only|n't|dont|not|always|sure|ensure|forbidden|prohibited|limits|no c|avoid|refrain|stop|quit|have to|got to|required|are to|"
    r"from now on|forward|"
    r"here on|henceforth|future|instead|rather|in place|switch|no[,:.!]|nope|actually|sorry|correction|prefer|use|stick|go with|answer|reply|"
    r"respond|write|"
    r"speak|talk|communicate|keep|for now|this time|this once|temporarily|for this|before you|when you|whenever|after you|once you|if you|time you|"
    r"every|each|your |all |time|clock|date|price|amount|temperature|distance|escalate|hand over|refuse|no |rule|constraint"
)
_HAN = re.compile("[\u4e00-\u9fff]")
_COMMAS = frozenset("，,；;：:")
_CLAUSE = re.compile(r"[,;，；]\s*|\s(?=(?:but|and|however)\s)|(?=但)")
_SIMPLE = str.maketrans(
    "須準許請嚴從現務絕對別記說們時這暫應該無為後開個僅條則約規點過給讓還沒嗎麼號單刪錯誤決選換寫讀訪問調數據離絕錄銀網頁顯視轉與業產廠廣東車",
    "须准许请严从现务绝对别记说们时这暂应该无为后开个仅条则约规点过给让还没吗么号单删错误决选换写读访问调数据离绝录银网页显视转与业产厂广东车",
)
_SIMPLE.update({code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F) if chr(code) not in "，！？：；（）"})
_SIMPLE[ord("’")] = ord("'")
_NOT_SIMPLE = re.compile(f"[{''.join(map(chr, _SIMPLE))}]")


def plain(text: str) -> str:
    """Return `text` in the form words are looked for: lower case, straight apostrophes, simplified characters, every one in its place.

    >>> plain("DON’T 必須")
    "don't 必须"
    """
    low = text.lower()
    if len(low) != len(text):  # A few letters, such as `İ`, grow.
        low = "".join(small if len(small := letter.lower()) == 1 else letter for letter in text)
    if low.isascii():
        return low
    return low.translate(_SIMPLE) if _NOT_SIMPLE.search(low) else low


@lru_cache(maxsize=2_048)
def rule_in(sentence: str) -> Said | None:
    """Return the rule a sentence lays down, `None` where it lays down none.

    >>> rule_in("Never delete an order.").kind, rule_in("I never got it.")
    ('ban', None)
    """
    words = plain(sentence)
    hits = _SCREEN.hits(words)
    if not hits or _FREES.search(words):
        return None
    if hits[-1] >= len(SCREENED_EN) and _HAN.search(words):
        found = _chinese(words, hits)
        if found is not None:
            return found
    return _english(words, hits) if hits[0] < len(SCREENED_EN) and _HINT.search(words) else None


def may_lay_down(text: str) -> bool:
    """Say whether `text` holds any of the words a rule is told by: a cheap look that spares most messages a close reading."""
    words = plain(text)
    return _HAN.search(words) is not None or _HINT.search(words) is not None


def is_permission(sentence: str) -> bool:
    """Say whether a sentence allows something and forbids nothing, or lifts a rule: it is never a rule itself."""
    words = plain(sentence)
    if _FREES.search(words):
        return True
    permits = _PERMITS_EN.search(words) or _PERMITS_ZH.search(words) or _LIFTS_EN.search(words) or _LIFTS_ZH.search(words)
    return permits is not None and not _holds(words, {"ban", "only"})


def _holds(words: str, kinds: Collection[InferredKind], *, is_english: bool = True) -> bool:
    """Say whether any pattern of some kinds is found."""
    found = [_PATTERNS[hit] for hit in _SCREEN.hits(words)]
    return any(one.kind in kinds and (is_english or not one.is_english) and one.pattern.search(words) for one in found)


def _kinds(hits: Sequence[int], *, is_english: bool) -> Iterator[tuple[InferredKind, list[re.Pattern[str]]]]:
    """Yield the patterns a sentence may hold by kind, in the order in which kinds are looked for."""
    found = [_PATTERNS[hit] for hit in hits]
    for kind, group in groupby((one for one in found if one.is_english == is_english), key=attrgetter("kind")):
        yield kind, [one.pattern for one in group]


def is_reported(sentence: str) -> bool:
    """Say whether a sentence tells what others say, or gives an example."""
    words = plain(sentence)
    return (_REPORTS_EN.search(_OWN_SAYING_EN.sub(" ", words)) or _REPORTS_ZH.search(_OWN_SAYING_ZH.sub("", words))) is not None


def is_temporary(sentence: str) -> bool:
    """Say whether a sentence speaks of this time only."""
    words = plain(sentence)
    return (_TEMPORARY_EN.search(words) or _TEMPORARY_ZH.search(words)) is not None


def asks(sentence: str) -> bool:
    """Say whether a sentence is a question."""
    words = plain(sentence).rstrip("\"'”’」』） )")
    return words.endswith(("?", "？", "吗", "呢", "吗。", "呢。")) or _ASKS_EN.match(words) is not None


def _english(words: str, hits: Sequence[int]) -> Said | None:
    polite = _POLITE_EN.match(words)
    if polite is None and asks(words):
        return None
    wish = words if polite is None else "please " + words[polite.end() :].rstrip("?！!. ")
    for kind, patterns in _kinds(hits, is_english=True):
        for match in first_matches(wish, patterns):
            if not _is_void_en(wish, match, kind):
                start, stop = _without_permission(wish, match, _PERMITS_EN) if polite is None else (0, len(words))
                return Said(kind, start, stop, is_temporary(words))
    return None


def _is_void_en(words: str, match: re.Match[str], kind: InferredKind) -> bool:
    """Say whether the words around a match make it no rule."""
    before = words[: match.start()]
    # An order may begin with what leads up to it: `As I said, never ...`.
    told = _OWN_SAYING_EN.sub(" ", before + match[0]) if kind != "correction" else _OWN_SAYING_EN.sub(" ", before)
    if _REPORTS_EN.search(told) or _REPORTS_ZH.search(told):
        return True
    if kind == "ban":
        return _UNBANNED_EN.search(before) is not None or _is_complaint(match[0], before) or _SUBORDINATE_EN.search(before) is not None
    if _LIFTS_EN.search(words):
        return True
    return kind in {"duty", "only"} and (_DENIED_EN.search(before) is not None or _SUBORDINATE_EN.search(before) is not None)


def _is_complaint(found: str, before: str) -> bool:
    """Say whether somebody tells what is forbidden to him: `Access to my file is forbidden`."""
    return found.startswith(("is ", "are ")) and re.search(r"\b(?:my|me|i)\b", before) is not None


def _chinese(words: str, hits: Sequence[int]) -> Said | None:
    bare = words.rstrip("\"'”’」』） )")
    tag = _TAG_ZH.search(bare) if bare.startswith(("请", "麻烦")) else None
    if tag is None and bare.endswith(("?", "？", "吗", "呢", "吗。", "呢。")):
        return None
    wish = words if tag is None else words[: tag.start()]
    for kind, patterns in _kinds(hits, is_english=False):
        for match in first_matches(wish, patterns):
            if not _is_void_zh(wish, match, kind):
                start, stop = _without_permission(wish, match, _PERMITS_ZH)
                return Said(kind, start, len(words) if stop == len(wish) else stop, is_temporary(words))
    return None


def _is_void_zh(words: str, match: re.Match[str], kind: InferredKind) -> bool:
    """Say whether the words around a match make it no rule."""
    before = words[: match.start()]
    told = _OWN_SAYING_ZH.sub("", before)
    if _ASKS_ZH.search(before) or "怎么办" in words or _REPORTS_ZH.search(told) or _REPORTS_EN.search(told):
        return True
    if (match[0][0] not in _COMMAS and _SUBORDINATE_ZH.search(before)) or _LIFTS_ZH.search(words):
        return True
    if kind == "correction":
        return re.search(r"问题|原因|关键|区别|难点|重点", before) is not None
    if _DENIED_ZH.search(before):
        return True
    if kind == "ban" and match[0].startswith(("禁止", "严禁")):
        return _FORBIDDER_ZH.search(before) is not None or (_SEEKS_ZH.search(before) is not None and "的" in words[match.end() :])
    return kind == "duty" and "从现在" not in before and re.match(r"[^，,]*(?:从现在|以后|今后)", words) is not None and _only_permits(words)


def _only_permits(words: str) -> bool:
    return _PERMITS_ZH.search(words) is not None and not _holds(words, {"ban"}, is_english=False)


def _without_permission(words: str, match: re.Match[str], permits: re.Pattern[str]) -> tuple[int, int]:
    """Return the part of a sentence around a match that allows nothing: the whole of it where it allows nothing at all."""
    if not any(True for _ in permits.finditer(words)):
        return 0, len(words)
    at = match.start() + len(match[0]) - len(match[0].lstrip(" ,;:，；："))
    edges = [0, *(cut.end() for cut in _CLAUSE.finditer(words)), len(words)]
    start = max((edge for edge in edges if edge <= at), default=0)
    stop = min((edge for edge in edges if edge >= match.end()), default=len(words))
    return start, stop

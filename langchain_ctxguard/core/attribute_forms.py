"""Statements with a wording of their own: "answer in French", "next up: the tests", "only Ana may approve", 下一步是测试."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from langchain_ctxguard.core.attribute_words import DULL, DULL_HAN, LANGUAGES, ZONES

_PROGRESS = re.compile(
    r"(?:(?:(?:^|: )(?P<before>[A-Za-z -]{2,40}) )?\b(?:progress|status): ?|\b(?:in|at) )(?:phase|stage|step) (?P<value>\d+ of \d+)"
    r"(?: of (?P<behind>[A-Za-z -]{2,40}))?"
)
_BRANCH = r"(?P<value>[\w.-]+/[\w./-]*\w)"
_BRANCHED = re.compile(rf"^(?:[A-Z][A-Z _-]{{2,30}}: )?(?:(?:[Tt]he|[Oo]ur|[Mm]y) )?(?:[Bb]ranch) {_BRANCH} (?:is|must|stays|remains|should|holds)\b")
_REBASED = re.compile(
    rf"\b(?:[Ww]e|[Ii])(?:['’]ve| have)?(?: just| now)? rebased (?:it |everything |the work )?on(?:to)? (?:branch )?{_BRANCH}(?=$|[\s,;.])"
)
_STYLED = re.compile(
    r"\b(?P<what>answers?|repl(?:y|ies)|responses?|respond|comments?|write|use|using|prefer)\b[^,;:()]{0,20}?\b(?:in|use|using|prefer) (?:a |an |the )?"  # noqa: E501
    r"(?P<value>[\w-]+(?: [\w-]+)?) (?P<head>style|tone|format)\b",
    re.IGNORECASE,
)
_ADJECTIVE = r"(?P<value>(?!(?:the|all|your|my|any|more|these|such|for|to|me|and|of|no)\b)[a-z-]+(?:(?:, | and |, and )(?!no\b|use\b)[a-z-]+){0,2})"
_ANSWERS = (
    re.compile(rf"\b(?:want|wants|prefer|prefers|get|getting|give me|write|have) {_ADJECTIVE} (?:answers|replies|responses)\b"),
    re.compile(rf"\b(?:[Kk]eep|[Mm]ake) (?:your |all |the )*(?:answers|replies|responses) {_ADJECTIVE}(?=$|[ ,.;])"),
)
_ZONED = re.compile(
    rf"\b(?:times?|timestamps?|clocks?|dates|hours)\b[^,;:()]{{0,24}}?\b(?:in|to|as|using) (?:the )?(?P<value>{ZONES})(?![\w/])|"
    rf"\b(?:[Tt]ime ?zones?|tz|TZ)\b[^,;()]{{0,20}}?"
    rf"(?P<value2>{ZONES})(?![\w/])|"
    rf"\b[Uu]se (?:the )?(?P<value3>{ZONES})(?: time ?zone)? (?:for|in|on|with) [^,;:()]{{0,30}}?\b(?:times?|timestamps?|clocks?|dates|hours)\b"
)
_SPOKEN = re.compile(
    rf"\b(?i:answer|reply|respond|speak|talk)(?: to me| only| all questions)* in (?P<value>{LANGUAGES})\b"
    r"|用(?P<value2>[\u4e00-\u9fff]{1,3}[文语])(?:来)?(?:回答|回复|答复)"
)
_MEASURED = re.compile(
    r"(?i:(?:use|using|with|in|to) (?P<value>metric|imperial)(?= ?(?:units?|measure\w*|system))|(?:单位|用)[^，。]{0,4}?(?P<value2>公制|英制))"
)
_NEXT = re.compile(
    r"(?:^|[,:.] |\bso )(?:[Aa]fter this,? )?(?:(?:[Tt]he|[Oo]ur|[Mm]y|[Yy]our) )?"
    r"[Nn]ext (?:step|task|job|thing)(?P<thing> (?:for|on|in) [^,;:()]{2,30}?)?"
    r"(?: is(?: now)?(?: to)?|:| will be) (?P<value>[^,;.!?:()\n]{3,80})$"
    r"|(?:^|[:.] )(?:[Nn]ow )?[Nn]ext up(?: is|:) (?P<value2>[^,;.!?:()\n]{3,80})$"
    r"|(?:^|[：，。 ])(?:那么|接下来的)?下一步(?:工作|任务)?(?:现在)?(?:改成|改为|就?是|：|:|要|做|先做)(?:做)?\s*"
    r"(?P<value3>[^，。；,;：:！？\s]{2,30})$"
)
_WORKED_ON = re.compile(
    r"\b(?:[Ww]e|[Ii])(?:['’](?:re|m|ll)| are| am| will)?(?: now| currently)? (?:working|work|developing|continue|continuing) on "
    rf"(?:the )?branch {_BRANCH}"
    rf"|\b(?:[Ww]orking|[Cc]urrent|[Aa]ctive) branch(?: is(?: now)?|:) (?P<value2>[\w.-]+/[\w./-]*\w)"
)
_PERSON = r"(?P<value>(?:(?:Dr|Mr|Ms|Mrs|Prof)\. )?[A-Z][\w'’-]*(?: [A-Z][\w'’-]*){0,2})"
_FOR_ANOTHER = re.compile(r"\b[Ff]or (?:(?:the|our|my) )?([A-Z][a-z]+|[a-z]+(?=['’]s ))(?:['’]s|\b(?! (?:[Tt]ime|zone)\b))")
_AFTER_THAT = re.compile(r"\b(?:after that|afterwards|after which|thereafter|and then)\b|然后|之后|再下一步", re.IGNORECASE)
_FRONTED = re.compile(r"\W*(?:[A-Z][A-Z _-]{2,30}: )?(?:for|in|on|at|with|to|regarding|as for) ([^,;:]{2,40}),", re.IGNORECASE)
_ON_CALL = re.compile(
    rf"{_PERSON}(?:['’]s| is| has taken over| has taken| takes over| takes| will be| goes| are)(?: now| back| still)? on[- ]call\b"
    r"(?: (?:for|in|at) (?!the (?:rest|whole|next|week)|this |today)(?P<thing>[^,;:()]{2,40}?)(?=$|[,;.]| this | until | from | now))?"
)
_PHASED = re.compile(
    r"(?:^|[,;:] )(?P<thing>[^,;:()]{2,60}?)\b(?:in|at|into|onto|to|entered|entering|reached|reaching) the "
    r"(?P<value>(?!same|next|first|last|final|early|current|right)[a-z-]+(?: [a-z-]+)?) (?:phase|stage)\b"
    r"|(?P<thing2>[^，。；,;：:\s]{2,16}?)(?:现在|目前|已经|已|正|还|都)*(?:处于|进入了?|到了|在)(?P<value2>[\u4e00-\u9fff]{1,6}?)阶段"
)
_MOVING = frozenset(
    # One word list reads better than twenty quoted strings.
    "has have been moved move moves moving on still just already gone finally right is are was we we're it's i'm".split()  # noqa: SIM905
)
_ALONE = re.compile(
    rf"(?P<thing>[A-Za-z][^,;:()]{{2,60}}?) needs? (?:the )?approval (?:from|of|by) {_PERSON},? (?:and|but) (?:nobody|no one|no-one) else\b"
)
_NOT_WITHOUT = re.compile(rf"\b[Nn]o (?P<thing>[a-z][^,;:()]{{2,60}}?) without {_PERSON}(?:['’]s? approval| approving| signing off)\b")


class Statement(NamedTuple):
    """One attribute and its value, as a sentence has them."""

    head: str
    about: frozenset[str]
    value: str
    is_change: bool
    is_bound: bool = True
    """Later ones without an announcement replace it, where there is one of the attribute at a time."""

    among: str = ""
    """It replaces only a value that begins so."""


def in_own_words(sentence: str, *, is_change: bool) -> Iterator[Statement]:
    """Yield what a sentence states in a wording of its own, whatever frame it stands in.

    >>> [(one.head, one.value) for one in in_own_words("Next up: the tests", is_change=False)]
    [('next step', 'the tests')]
    """
    for head, pattern in (("time zone", _ZONED), ("language", _SPOKEN), ("units", _MEASURED)):
        for found in pattern.finditer(sentence):
            about = {"answer"} if head == "language" else set()
            yield Statement(head, frozenset(about | _others_in(sentence)), _value_in(found), is_change)
    for found in _BRANCHED.finditer(sentence):
        yield Statement("branch", frozenset(), found["value"], is_change=False, is_bound=False)
    for found in _REBASED.finditer(sentence):
        # Onto a branch of the same kind: the trunk something is based on is not the branch that is worked on.
        value = found["value"]
        yield Statement("branch", frozenset(), value, is_change=True, is_bound=False, among=value[: value.index("/") + 1])
    for found in _PROGRESS.finditer(sentence):
        yield Statement("phase", about_of(found["before"] or found["behind"] or ""), found["value"], is_change)
    for found in _STYLED.finditer(sentence):
        what = "answer" if re.match(r"answer|repl|respon", found["what"], re.IGNORECASE) else ""
        yield Statement(found["head"].lower(), frozenset([what] if what else []), found["value"], is_change)
    for pattern in _ANSWERS:
        for found in pattern.finditer(sentence):
            yield Statement("style", frozenset(["answer"]), found["value"], is_change and " new" not in sentence, is_bound=False)
    yield from _worked_on(sentence, is_change=is_change)


def _worked_on(sentence: str, *, is_change: bool) -> Iterator[Statement]:
    """Yield what work goes on with: the branch, the next step, and who alone approves it."""
    lowered = sentence.lower()
    if "branch" in lowered:
        for found in _WORKED_ON.finditer(sentence):
            yield Statement("branch", frozenset(), _value_in(found), is_change)
    # "After that, the next step is" another one.
    if ("next" in lowered or "下一步" in lowered) and _AFTER_THAT.search(sentence) is None:
        for found in _NEXT.finditer(sentence):
            yield Statement("next step", about_of(found["thing"] or "") | _fronted(sentence), _value_in(found).strip(), is_change)
    if "phase" in lowered or "stage" in lowered or "阶段" in lowered:
        for found in _PHASED.finditer(sentence):
            about = han_about_of(found["thing2"]) if found["thing2"] else about_of(found["thing"])
            yield Statement("phase", about - _MOVING, _value_in(found), is_change)
    if "on call" in lowered or "on-call" in lowered:
        for found in _ON_CALL.finditer(sentence):
            yield Statement("on-call", about_of(found["thing"] or ""), found["value"], is_change)
    if "approv" in lowered or "signing off" in lowered:
        yield from _approved(sentence, is_change=is_change)


def _approved(sentence: str, *, is_change: bool) -> Iterator[Statement]:
    for found in _ALONE.finditer(sentence):
        yield Statement("only", about_of(found["thing"]) | {"approve"}, found["value"], is_change)
    for found in _NOT_WITHOUT.finditer(sentence):
        # Two may both be needed: this ends nothing, and is ended by who alone may.
        *more, thing = found["thing"].split()
        things = about_of(" ".join([*more, thing if thing.endswith("s") else f"{thing}s"]))
        yield Statement("only", things | {"approve"}, found["value"], is_change=False, is_bound=False)


def _others_in(sentence: str) -> set[str]:
    """Return who else a sentence speaks for: "for Maria's calendar, show times in CET"."""
    return {found[1].lower() for found in _FOR_ANOTHER.finditer(sentence)}


def _fronted(sentence: str) -> frozenset[str]:
    """Return what a sentence names first: "For the docs, ..."."""
    found = _FRONTED.match(sentence)
    return frozenset() if found is None else about_of(found[1])


def _value_in(found: re.Match[str]) -> str:
    return next(text for name, text in found.groupdict().items() if name.startswith("value") and text)


def about_of(text: str) -> frozenset[str]:
    """Return the words that tell what an attribute is of."""
    words = re.findall(r"[\w./-]+", re.sub(r"['’]s\b", "", text))
    kept = {word.lower() for at, word in enumerate(words) if word.lower() not in DULL or (word == "A" and at)}
    answers = {"answer" if re.fullmatch(r"answers?|repl(?:y|ies)|responses?|answering", word) else word for word in kept}
    return frozenset(answers - {"it", "we", "i"})


def han_about_of(text: str) -> frozenset[str]:
    """Return what a stretch of Chinese says an attribute is of."""
    plain = re.sub(r"^(?:改|换|切换|使用|用)+", "", DULL_HAN.sub("", text))
    return frozenset([plain] if plain else [])

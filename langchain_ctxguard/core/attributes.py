"""What people state of an attribute that has no pattern (the reviewer, the style, the host): the value that holds, and those it replaced.

A change must be announced ("the reviewer is now Ben", 改成), or restate what there is one of at a time. A question, a condition, hearsay, a tool and
a model change nothing, and two things with other qualifiers ("of part A", "of part B") are never one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from langchain_ctxguard.core.attribute_forms import Statement, about_of, han_about_of, in_own_words
from langchain_ctxguard.core.attribute_values import SHAPED, by_value, same_value
from langchain_ctxguard.core.attribute_words import (
    DULL,
    HAN_HEADS,
    HEAD_OF,
    KINDS,
    LONGEST_HEAD,
    NO_NAMES,
    NO_PHASES,
    ONE_AT_A_TIME,
    SIGNS,
    VERBS,
    Kind,
)
from langchain_ctxguard.domain.evidence import Stated
from langchain_ctxguard.domain.origin import Origin

REMEMBERED = 50
"""How many attributes are kept; those with a value that was replaced first, then the newest."""

_EARLIER_KEPT = 8
_LONGEST = 300
_LONGEST_VALUE = 40
_MOST_SENTENCES = 4_000
_RANKS: dict[str, int] = {"system": 2, "registry": 2, "user": 1}

_SENTENCE = re.compile(r"[^\n。！？!?；;]+?(?:[。！？!?；;\n]|\.(?<!\bDr\.)(?<!\bMr\.)(?<!\bMs\.)(?<!\bMrs\.)(?<!\bProf\.)(?=\s|$|[\"”’)])|$)")
_HAN = re.compile(r"[\u3400-\u9fff]")
_ASKS = re.compile(r"[?？]\s*$|[吗呢]\s*[。？?]?$")
_UNSURE = re.compile(
    r"\b(?:if|unless|suppose|assuming|might|maybe|perhaps|could|whether|consider(?:ing)?|imagine|wish|hope|wonder|unsure|not sure|in case|until"
    r"|would(?! (?:rather|like|prefer))|(?:for|as an|an) example|e\.g|says?|said|claims?|told|according to|reads|wrote"
    r"|suggest(?:s|ed)?|propos(?:es|ed)|asked|used to|thinks?|thinking (?:of|about)|guess|heard|rumou?rs?"
    r"|apparently|supposedly|what about|how about|tempted|toying|undecided|leaning|kidding|joking|jokes?|lol|haha)\b"
    r"|如果|假如|要是|倘若|可能|也许|是否|或许|听说|据说|比如|例如|谁|什么|哪|开玩笑|考虑|纠结|要不要|哈哈",
    re.IGNORECASE,
)
"""It stands for the whole sentence."""

_NOT = re.compile(
    r"\b(?:don['’]t|do not|never|not going to|won['’]t|will not|shouldn['’]t|should not|can['’]t|cannot)\b|不要|不用|别(?!的)|先不", re.IGNORECASE
)
"""It stands for its clause."""

_PART = re.compile(r"[,，]\s*")
_CHANGE = re.compile(
    r"\b(?:now|instead|from now on|going forward|rather|no longer|any ?more|again|switch(?:ed|ing)?|chang(?:e|es|ed|ing)|mov(?:e|es|ed|ing)|migrat(?:e|es|ed|ing)"  # noqa: E501
    r"|renam(?:e|ed|ing)|reassign(?:ed|ing)?"
    r"|transfer\w*|hand(?:ed)? over|takes? over|taking over|took over|replac(?:e|es|ed|ing)"
    r"|updated?|correction|actually|new|becomes?|make|shift(?:ed|ing)?)\b"
    r"|改|换|变成|变为|不再|现在|以后|今后|从.{1,6}起|接手|接替|移到|迁到|切到|切换|调整|更正|而是|新",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"(?:\s|[-*•·]|\d+[.)]\s|(?-i:[A-Z][A-Z _-]{2,30}):|(?:update|note|fyi|correction|reminder|change|decision|fact)\s*[:：]"
    r"|(?:from now on|going forward|actually|sorry|also|so|and|but|ok|okay|please|then|note that|again|as of (?:today|now))\b,?"
    r"|(?:let['’]s|let us|we(?:['’]ll| will| should| must)?|i(?:['’]ll| will)?(?: want to| need to)?|you should)"
    r" (?=use|go|switch|change|set|move|make|pick)"
    r"|(?:从现在起|更正|另外|以后|今后|请|好的|那么|现在)[，,：:]?(?=.))+",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[:：]\s+|[,，](?:\s*(?:and|but|so|then)\b)?|\s(?:and|but|so)\s(?=(?:the|our|my|we)\b)|\s[-–—]\s")
_END = r"(?=\s*(?:$|[,，;；。!！]\s*|\.(?=\s|$)|\s(?:and|but|instead|now|from|going|this|because|since|as|with|again|rather|not|for|any)\b))"
_VALUE = r"(?P<value>[^\s,，;；:()（）][^,，;；()（）\n]{0,60}?)" + _END
_NAME = r"(?P<value>(?:(?:Dr|Mr|Ms|Mrs|Prof)\. )?[A-Z][\w'’-]*(?: [A-Z][\w'’-]*){0,2})"
_SUBJECT = r"(?P<subject>[^,;:()]{2,90}?)"
_GOES_TO = r"(?:go(?:es)? to|comes? from|(?:is|are) with|lies? with)"
_ADVERB = r"(?: (?:now|currently|actually|instead|officially|already|going to be|set to|based in|called|named))*"

_PATTERNS: tuple[re.Pattern[str], ...] = tuple(
    re.compile(pattern)
    for pattern in (
        # the reviewer is now Ben; is no longer Ana but Ben; has changed to Ben
        rf"{_SUBJECT} (?:is|are) (?:no longer|not) [^,;]{{1,40}}?,? (?:but|it is|it's)(?: now)? {_VALUE}",
        rf"{_SUBJECT}(?: (?:is|are|will be|should be|must be|shall be|becomes|has become|is going to be)){_ADVERB} (?:at |in |on )?{_VALUE}",
        rf"{_SUBJECT} "  # noqa: ISC004
        r"(?:(?:has |have |was |is |were )?(?:been )?(?:changed|moved|switched|updated|renamed|reassigned|set)|changes|moves|switches) to "
        rf"{_VALUE}",
        # change the reviewer from Ana to Ben
        rf"(?i:change|switch|move|set|update|rename|migrate|transfer|reassign|shift)d? {_SUBJECT}"  # noqa: ISC004
        rf"(?: (?:over )?from [^,;]{{1,40}}?)?(?: over)? to {_VALUE}",
        rf"(?i:make) {_NAME} (?P<subject>the [^,;:()]{{2,60}}?){_END}",
        rf"(?i:put|name|appoint|have) {_NAME} (?:down )?as (?P<subject>[^,;:()]{{2,60}}?){_END}",
        # use tabs as the style; go with Ben for the review lead
        rf"(?i:use|using|go with|stick to|stick with|switch to|pick|take) (?P<value>[^,;:()]{{1,40}}?) (?:as|for) "  # noqa: ISC004
        rf"(?P<subject>(?:the|our|my|your) [^,;:()]{{2,60}}?){_END}",
        rf"(?P<object>[^,;:()]{{2,40}}?) (?P<verb>reviews|approvals?|approval requests|review requests) (?:now )?{_GOES_TO} {_NAME}",
        # Ben is now the reviewer of part A; Ben owns billing; Ben takes over billing
        rf"{_NAME} (?:is|will be|becomes){_ADVERB} (?P<subject>(?:(?:the|our|my) )?[^,;:()]{{2,60}}?)(?=$|[,;.]| and | from )",
        rf"{_NAME}(?: (?:now|will|currently|is|is now|also))* (?P<verb>[a-z]+) "  # noqa: ISC004
        r"(?P<object>[^,;:()]{2,60}?)(?=$|[,;.]| from now | from | now$| instead$)",
        rf"(?P<object>[^,;:()]{{2,60}}?) (?:is|are|gets?|(?:has|have|needs) to be|(?:will|must) be){_ADVERB} (?P<verb>[a-z]+ed|led) by {_NAME}",
        rf"(?P<verb>(?i:reviews?|approvals?)) (?:of|for) (?P<object>[^,;:()]{{2,60}}?) (?:now )?{_GOES_TO} {_NAME}",
        rf"(?P<object>[^,;:()]{{2,60}}?)(?: now)? (?P<verb>belongs?)(?: now)? to {_NAME}",
        rf"{_NAME} (?:now )?(?P<verb>takes over|took over|looks after|is looking after|signs off on|signs off|has"  # noqa: ISC004
        r"|is responsible for|is now responsible for|is in charge of|is now in charge of) "
        r"(?P<object>[^,;:()]{2,60}?)(?=$|[,;.]| from )",
        rf"(?i:assign|reassign|hand over|hand) (?P<object>[^,;:()]{{2,60}}?) (?P<verb>to) {_NAME}",
        rf"(?i:only) {_NAME} (?P<verb>may|can|is allowed to|must) (?P<object>[^,;:()]{{3,80}})",
    )
)
_COLON = re.compile(
    r"(?P<subject>[^,;:：()（）]{2,60}?)(?:\s*(?:[:：=](?!=)|->|→)|\s[-–—](?=\s))\s*(?P<value>[^,，;；()（）\n]{1,60}?)(?=\s*(?:$|[,，;；.。]))"
)
_BESIDE = re.compile(
    r"(?:(?P<before>[^,;:()]{0,80}?)\s)?(?:in|on|at|to|onto|using|use|uses|with|from) (?:the |a |an )?"
    r"(?:(?P<head>host|server|machine|region|branch|environment|namespace|cluster|room|channel|phase) (?P<value>[\w./-]+(?: of \d+)?)"
    r"|(?P<value2>[\w./-]*[\d/_-][\w./-]*) (?P<head2>host|server|machine|region|branch|environment|namespace|cluster))\b"
)
_MOVES = re.compile(r"^(?P<who>.*?)\b(?:mov(?:e|ed|ing)|migrated?|switch(?:ed)?)(?: on| over)?\b(?P<what>.*)$", re.IGNORECASE)
_BEHIND = re.compile(r"\b(?:is|are|runs?|lives?|was|been|deployed|hosted|sits)\b")
_HOSTED = re.compile(
    r"(?:(?P<thing>[^,;:()]{2,60}?) (?:runs|lives|sits|(?:is|are) (?:now )?(?:hosted|deployed|running))(?: now)? (?:on|in|at)"
    r"|(?i:move|moved|migrate|migrated|deploy) (?P<moved>[^,;:()]{2,60}?)(?: from [^,;]{1,40}?)? (?:to|onto))"
    r" (?P<value>[\w.-]*\w[-.\d][\w.-]*)(?=$|[\s,;.])"
)
_HAN_NAME = r"[\u4e00-\u9fff]{2,4}?|[A-Z][\w-]*(?: [A-Z][\w-]*){0,2}"
_HAN_HEAD = "|".join(HAN_HEADS)
_HAN_TAIL = r"(?=(?:了|吧|啦|来|哦)*(?:$|[，,；;。！\s]))"
_HAN_STATED = re.compile(
    rf"(?P<more>[^，。；,;：:\s]{{0,16}}?)(?P<head>{_HAN_HEAD})(?:(?:现在|目前|以后|今后|就|暂时|已经|已|都|应该|不再是[^，,]{{1,12}}[，,]\s*(?:而|改|现在)*"
    rf"|不是[^，,]{{1,12}}[，,]\s*(?:而|改|现在)*|从[^，,]{{1,12}}?(?=改|换|变|切|迁|移))*)(?:是|为|用|叫|：|:|定为|定在|设为|改成|改为|改用|改到|改在|换成|换为|换到"
    rf"|变成|变为|移到|迁到|搬到|切到|切换到|切换为|切换成|调整为|交给)\s*(?P<value>[^，。；,;：:！\s]{{1,24}}?){_HAN_TAIL}"
)
_HAN_BY = re.compile(
    rf"(?P<more>[^，。；,;：:\s]{{0,16}}?)(?:改)?由(?P<value>{_HAN_NAME})(?:来)?(?P<head>负责|审核|评审|审阅|审批|维护|主持|接手|接管|管理|值班|带队)(?P<object>[^，。；,;：:！\s]{{0,12}}?){_HAN_TAIL}"
)
_TAKEN = frozenset(
    [
        "takes over",
        "took over",
        "looks after",
        "is looking after",
        "has",
        "is responsible for",
        "is now responsible for",
        "is in charge of",
        "is now in charge of",
        "to",
        "belong",
        "belongs",
    ]
)
_ALLOWED = frozenset(["may", "can", "is allowed to", "must"])
_PRONOUNS = frozenset(["it", "this", "that", "them", "these"])
_IDENTIFIER = re.compile(r"[\w.-]*(?:\d|[A-Za-z]/[A-Za-z]|_|\w-\w|\w\.\w)[\w./:-]*$")
_MARKED = re.compile(r"\[(?:now: |现为：)$")


def read_stated(stated: Sequence[Stated], messages: Iterable[tuple[str, str]]) -> tuple[Stated, ...]:
    """Return what is stated after further messages, each its origin and its text, oldest first.

    >>> stated = read_stated((), [("user", "The reviewer is Ana."), ("user", "Ben reviews it now.")])
    >>> stated[0].head, stated[0].value, stated[0].earlier
    ('reviewer', 'Ben', ('Ana',))
    """
    book = list(stated)
    for origin, text in messages:
        if origin in _RANKS and text:
            sentences = list(_sentences(text))
            for sentence in sentences:
                for statement in _statements(sentence):
                    if statement.head == "next step" and not statement.about and len(sentences) > 1:
                        continue  # It is the next step of what the message speaks of.
                    if len(book) > 2 * REMEMBERED:
                        book = list(_bounded(book))
                    _take(book, statement, "system" if origin == "registry" else "user" if origin == "user" else "system")
    return _bounded(book)


def states_attribute(text: str) -> bool:
    """Say whether a sentence states an attribute of something, a new one or another value.

    >>> states_attribute("Ben reviews it now."), states_attribute("Ben looks tired.")
    (True, False)
    """
    return bool(_statements(text))


def with_values_in_force(text: str, stated: Sequence[Stated]) -> tuple[str, int]:
    """Return a text with every superseded value marked by the one that holds, and how many there were.

    >>> stated = read_stated((), [("user", "The reviewer is Ana."), ("user", "Ben reviews it now.")])
    >>> with_values_in_force("Reviewer: Ana. Ana leaves.", stated)
    ('Reviewer: [now: Ben]. Ana leaves.', 1)
    """
    ended = [(one, old) for one in stated for old in one.earlier if old.casefold() in text.casefold()]
    if not ended:
        return text, 0
    told: list[str] = []
    count = at = 0
    for found in _SENTENCE.finditer(text):
        sentence, marked = _marked(found.group(), ended, stated)
        told.append(text[at : found.start()] + sentence)
        at = found.end()
        count += marked
    return "".join(told) + text[at:], count


def _marked(sentence: str, ended: Sequence[tuple[Stated, str]], stated: Sequence[Stated]) -> tuple[str, int]:
    count = 0
    for one, old in ended:
        if not _is_about(sentence, one, old, stated):
            continue
        mark = f"[现为：{one.value}]" if _HAN.search(sentence) else f"[now: {one.value}]"
        parts: list[str] = []
        at = 0
        for place in _places(sentence, old):
            is_inside = _MARKED.search(sentence[max(0, place - 8) : place]) is not None
            parts += [sentence[at:place], one.value if is_inside else mark]
            at = place + len(old)
            count += 1
        sentence = "".join(parts) + sentence[at:]
    return sentence, count


def _places(text: str, value: str) -> list[int]:
    """Return where a value stands whole."""
    pattern = re.escape(value)
    if value[:1].isascii() and value[:1].isalnum():
        pattern = r"(?<![A-Za-z0-9_])" + pattern
    if value[-1:].isascii() and value[-1:].isalnum():
        pattern += r"(?![A-Za-z0-9_]|[-/.][A-Za-z0-9])"
    return [found.start() for found in re.finditer(pattern, text, 0 if _is_name(value) and not _IDENTIFIER.match(value) else re.IGNORECASE)]


def _is_about(sentence: str, one: Stated, old: str, stated: Sequence[Stated]) -> bool:
    """Say whether a sentence tells an old value as that of the attribute it was one of."""
    if not _places(sentence, old):
        return False
    about = frozenset(one.about)
    told = [each for each in _statements(sentence, is_told=True) if each.value.casefold() == old.casefold() or old in each.value]
    if told:
        return any(each.head == one.head and (each.about == about or _is_alone(each.about, about, one, stated)) for each in told)
    sign = SIGNS.get(one.head)
    if (sign.search(sentence) if sign is not None else one.head in sentence.lower()) is None or (sign is None and one.head not in sentence.lower()):
        return False
    words = sentence.lower()
    # A thing of its own, with this very value, may be what the sentence means.
    if any(other.head == one.head and other is not one and other.value.casefold() == old.casefold() for other in stated):
        return False
    return all(word in words for word in about) if one.head == "only" else not about or any(word in words for word in about)


def _is_alone(about: frozenset[str], other: frozenset[str], one: Stated, stated: Sequence[Stated]) -> bool:
    """Say whether two names are one thing's: the shorter says less, and nothing else goes by it."""
    if not (about <= other or other <= about):
        return False
    return not any(each is not one and each.head == one.head and (set(each.about) <= about or about <= set(each.about)) for each in stated)


def _take(book: list[Stated], found: Statement, origin: Origin) -> None:
    """Write one statement into the book."""
    same = [place for place, one in enumerate(book) if one.head == found.head and frozenset(one.about) == found.about]
    if not same and (found.is_change or (found.head == "phase" and found.about and found.value[:1].isdigit())):
        near = [place for place, one in enumerate(book) if one.head == found.head and _is_near(frozenset(one.about), found)]
        same = near if len(near) == 1 else []
    if not same:
        # A change that names neither of several things is a statement of none.
        if not (found.is_change and not found.about and any(one.head == found.head for one in book)):
            book.append(Stated(head=found.head, about=tuple(sorted(found.about)), value=found.value, origin=origin))
        return
    held = book.pop(same[-1])
    if not held.value.startswith(found.among):
        book.append(held)
        return
    ends = found.is_change or (found.is_bound and (found.head in ONE_AT_A_TIME or found.head in SHAPED))
    if not ends or _RANKS[origin] < _RANKS[held.origin] or same_value(held.value, found.value):
        book.append(held)
        return
    earlier = tuple(old for old in held.earlier if old.casefold() != found.value.casefold())
    book.append(held.model_copy(update={"value": found.value, "earlier": (*earlier, held.value)[-_EARLIER_KEPT:], "origin": origin}))


def _is_near(about: frozenset[str], found: Statement) -> bool:
    """Say whether one of two names says less than the other; where a value is told by its shape, a name for one that has none tells another."""
    return found.about <= about or (about <= found.about and (bool(about) or found.head not in SHAPED))


def _bounded(book: Sequence[Stated]) -> tuple[Stated, ...]:
    """Return the attributes with replaced values, the newest of the rest, in the order they were last stated."""
    if len(book) <= REMEMBERED:
        return tuple(book)
    order = sorted(range(len(book)), key=lambda place: (bool(book[place].earlier), place), reverse=True)
    kept = set(order[:REMEMBERED])
    return tuple(one for place, one in enumerate(book) if place in kept)


def _sentences(text: str) -> Iterator[str]:
    for number, found in enumerate(_SENTENCE.finditer(text)):
        if number >= _MOST_SENTENCES:
            return
        sentence = found.group().strip()
        if 4 <= len(sentence) <= _LONGEST and sentence[0] not in ">|`{<":  # noqa: PLR2004 - shorter ones state nothing
            yield sentence


@lru_cache(maxsize=4_096)
def _statements(sentence: str, *, is_told: bool = False) -> tuple[Statement, ...]:
    """Return what a sentence states; of a told one (in a summary), also what people do not say as a statement."""
    if not 4 <= len(sentence.strip()) <= _LONGEST or _ASKS.search(sentence) or (not is_told and _UNSURE.search(sentence)):  # noqa: PLR2004
        return ()
    if not is_told and _NOT.search(sentence):
        parts = _PART.split(sentence.strip().rstrip(".。!！"))
        said = (part for part in parts if not _NOT.search(part)) if len(parts) > 1 else ()
        return tuple(dict.fromkeys(found for part in said for found in _statements(part)))
    is_change = _CHANGE.search(sentence) is not None
    plain = sentence.strip().rstrip(".。!！;；")
    found = tuple(dict.fromkeys(_read(plain, is_change=is_change)))
    named = {(one.head, one.value) for one in found if one.about}
    # "The move is at phase 3 of 6" states one thing, and says of what.
    return tuple(one for one in found if one.about or (one.head, one.value) not in named)


def _read(sentence: str, *, is_change: bool) -> Iterator[Statement]:
    lead = _LEAD.match(sentence)
    whole = sentence[lead.end() :] if lead else sentence
    if _HAN.search(sentence):
        yield from _han(sentence, is_change=is_change)
    yield from in_own_words(sentence, is_change=is_change)
    yield from by_value(sentence, is_change=is_change)
    clauses = [whole, *(part for part in _CLAUSE.split(whole) if part and part != whole)] if _CLAUSE.search(whole) else [whole]
    for clause in clauses:
        begin = _LEAD.match(clause)
        text = clause[begin.end() :] if begin else clause.strip()
        yield from _plain(text, is_change=is_change)


def _plain(clause: str, *, is_change: bool) -> Iterator[Statement]:
    """Yield what the frames of a clause find, the first that fits."""
    found = _HOSTED.match(clause)
    if found is not None and not (set(re.findall(r"\w+", (thing := found["thing"] or found["moved"]).lower())) & set(HEAD_OF)):
        yield Statement("host", about_of(thing), found["value"], is_change, is_bound=False)
        return
    for pattern in _PATTERNS:
        found = pattern.match(clause)
        if found is not None and (statement := _framed(found, is_change=is_change)) is not None:
            yield statement
            return
    beside = _BESIDE.match(clause) or _BESIDE.search(clause)
    if beside is not None:
        head = HEAD_OF[(beside["head"] or beside["head2"]).lower()]
        value = beside["value"] or beside["value2"]
        if _fits(KINDS[head], value):
            about = frozenset() if head == "branch" else about_of(_BEHIND.split(_moved(beside["before"] or ""))[0])
            yield Statement(
                head,
                about,
                value if len(value) > 2 else f"{beside['head'] or beside['head2']} {value}",  # noqa: PLR2004
                is_change,
                is_bound=head != "branch",
            )
            return
    found = _COLON.match(clause)
    if found is not None and (statement := _framed(found, is_change=is_change)) is not None:
        yield statement


def _moved(before: str) -> str:
    """Return what moves: "move the queue to", or who does: "the Bergen study has moved on to"."""
    found = _MOVES.match(before)
    if found is None:
        return before
    return (
        found["what"] if about_of(found["what"]) else re.sub(r"\b(?:has|have|had|just|we|i|already)\b|^.*,", " ", found["who"], flags=re.IGNORECASE)
    )


def _framed(found: re.Match[str], *, is_change: bool) -> Statement | None:  # noqa: PLR0911
    """Return the statement of one frame, or `None` where its words are none."""
    parts = found.groupdict()
    value = _value(parts["value"])
    if "verb" in parts:
        verb = parts["verb"].lower()
        head = "only" if verb in _ALLOWED else "owner" if verb in _TAKEN else VERBS.get(verb, "")
        subject = parts["object"].strip()
        if not head or not _fits("person", value) or len(subject.split()) > 8:  # noqa: PLR2004 - a longer one is a clause
            return None
        if head == "only":
            return Statement(head, frozenset(re.findall(r"[\w'-]+", subject.lower())) - DULL, value, is_change)
        named = _attribute(subject)
        if named is not None and KINDS.get(named[0]) == "person" and head == "owner":
            return Statement(named[0], named[1], value, is_change)
        if verb == "has" or (verb == "to" and not subject):
            return None
        about = frozenset() if subject.lower().split()[0] in _PRONOUNS else about_of(subject)
        return Statement(head, about, value, is_change, is_bound=False)
    attribute = _attribute(parts["subject"])
    if attribute is None:
        return None
    head, about = attribute
    kind = KINDS.get(head, "other")
    if kind == "place" and (beside := re.fullmatch(r"(?:host|server|machine|region|branch) ([\w./-]+)", value)) is not None and len(beside[1]) > 2:  # noqa: PLR2004
        value = beside[1]
    if kind == "count" and (counted := re.search(r"\d+ of \d+", value)) is not None:
        value = counted.group()
    return Statement(head, about, value, is_change) if _fits(kind, value) else None


def _attribute(subject: str) -> tuple[str, frozenset[str]] | None:
    """Return the head of a noun phrase and what qualifies it; `None` for what is no attribute."""
    words = re.findall(r"[\w'’./-]+", subject)
    if not 1 <= len(words) <= 10:  # noqa: PLR2004 - a longer one is a clause
        return None
    end = next((at for at, word in enumerate(words) if at and word.lower() in {"for", "of", "on", "in", "at"}), len(words))
    # The word between them says nothing of itself, but what is "of A" is no article.
    main, behind = words[:end], words[end:]
    while len(main) > 1 and main[-1].lower() in {"week", "month", "today", "now", "currently", "this"}:
        main.pop()
    lowered = [re.sub(r"['’]s$", "", word.lower()) for word in main]
    for size in range(min(LONGEST_HEAD, len(main)), 0, -1):
        if (head := HEAD_OF.get(" ".join(lowered[-size:]))) is not None:
            if lowered[0] in {"a", "an", "another", "any", "every", "no", "each"}:
                return None
            return head, about_of(" ".join((*main[:-size], *behind)))
    head = lowered[-1]
    if lowered[0] not in {"the", "our", "my"} or not head.isalpha() or head in DULL or len(main) > 4:  # noqa: PLR2004
        return None
    return head, about_of(" ".join((*main[1:-1], *behind)))


def _value(text: str) -> str:
    words = re.sub(r"^(?:the|a|an|now|to|at|in|on) ", "", text.strip(" \"'“”‘’`*"))
    return re.sub(r" (?:now|instead|again|please)$", "", words).strip(" .\"'“”‘’`*")


def _is_name(value: str) -> bool:
    words = value.split()
    return 1 <= len(words) <= 3 and all(word[0].isupper() for word in words) and words[0].lower() not in NO_NAMES  # noqa: PLR2004


def _fits(kind: Kind, value: str) -> bool:
    """Say whether a text can be a value of its kind."""
    if not value or len(value) > _LONGEST_VALUE or (value.lower() in NO_NAMES and value != "A") or " and " in value or " or " in value:
        return False
    if kind == "count":
        return re.fullmatch(r"\d+(?: of \d+)?", value) is not None or _names_phase(value)
    if kind == "person":
        return _is_name(value) or value.startswith("@")
    if kind == "setting":
        return (
            len(value.split()) <= 3  # noqa: PLR2004
            and value.split(maxsplit=1)[0].lower() not in NO_NAMES
            and not re.match(r"\w+ing\b|wrong|broken|fine|good|important|\w+ed\b", value)
        )
    if kind == "place" and re.fullmatch(r"(?:host|server|machine) [A-Z]", value):
        return True
    return _is_name(value) or _IDENTIFIER.match(value) is not None or (len(value) == 1 and value.isupper())


def _names_phase(value: str) -> bool:
    words = value.split()
    return re.fullmatch(r"[a-z-]+(?: [a-z-]+)?", value) is not None and words[0] not in NO_PHASES and not words[0].endswith(("ed", "ing"))


def _han(sentence: str, *, is_change: bool) -> Iterator[Statement]:
    for found in _HAN_STATED.finditer(sentence):
        head = HEAD_OF[found["head"]]
        value = found["value"].strip("“”\"'「」")
        value = re.sub(r"(?:了|吧|啦)+$", "", value)
        if value and not value.startswith(("不", "没", "否", "在", "很", "谁")) and (KINDS[head] != "person" or re.fullmatch(_HAN_NAME, value)):
            yield Statement(head, han_about_of(found["more"]), value, is_change)
    for found in _HAN_BY.finditer(sentence):
        yield Statement(VERBS[found["head"]], han_about_of(found["more"] + found["object"]), found["value"], is_change)

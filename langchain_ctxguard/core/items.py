"""Open items: their identity, the plan a tool keeps, and what shows that one is finished or withdrawn."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.field_patterns import stands_in
from langchain_ctxguard.core.provenance import folded
from langchain_ctxguard.core.roles import Call, calls_of
from langchain_ctxguard.core.terms import covers, fold, terms
from langchain_ctxguard.core.text import clipped, readable
from langchain_ctxguard.domain.origin import Origin
from langchain_ctxguard.domain.summary import ItemState, PendingItem
from langchain_ctxguard.domain.value import digest_of

STEP_LIMIT = 600
"""Characters of a step of a plan."""

_PLAN_TOOL = re.compile(r"to_?do|plan|task_?list", re.IGNORECASE)
_PLAN_KEYS = ("todos", "plan", "tasks", "steps", "items")
_STEP_KEYS = ("content", "step", "title", "task", "description", "text")
_STATES: dict[str, ItemState] = {
    "completed": "done",
    "complete": "done",
    "done": "done",
    "finished": "done",
    "已完成": "done",
    "完成": "done",
    "cancelled": "cancelled",
    "canceled": "cancelled",
    "skipped": "cancelled",
    "deleted": "cancelled",
    "已取消": "cancelled",
    "取消": "cancelled",
}
_DONE = re.compile(
    r"\b(?:done|complete|completed|finished|fixed|sent|created|updated|added|cancelled|canceled|removed|deleted|booked|changed|resolved|deployed|"
    r"implemented|renamed|written|refunded|merged|passed|pass|shipped|closed|has been|have been|successfully|succeeded)\b|已|完成|搞定|好了|"
    r"成功|通过",
    re.IGNORECASE,
)
_NOT_DONE = re.compile(
    r"\b(?:not|unable|cannot|can't|couldn't|haven't|hasn't|isn't|wasn't|failed|fails|yet|will|going to|still|would|should|if|once|when|must|"
    r"need)\b|n't\b|"
    r"未|没|无法|不能|失败|尚|将|稍后|待|如果|还要|需要|[?？]",
    re.IGNORECASE,
)
_TAKING_BACK = (
    r"\b(?:forget (?:about )?(?:it|that|this|the)|never ?mind|no need (?:to|for)|don't bother|drop (?:it|that|the (?:idea|plan|task))|"
    r"cancel (?:that|it|this|the (?:plan|task|request|idea|rest))|scratch that|(?:no longer|don't) (?:need|want)|not needed any ?more|"
    r"call (?:it|that) off|leave (?:it|that)(?: for good| alone)?|stop working on|skip (?:it|that|the)|abandon)\b|"
    r"算了|不用了|不需要了|不必了|别弄了|别做了|取消(?:这个|那个|该|之前的|刚才的)?(?:任务|计划|请求|安排)|不做了|作罢|放弃|先不(?:管|做|"
    r"弄)|当我没说|撤回(?:请求|刚才)"
)
_WITHDRAWN = re.compile(_TAKING_BACK, re.IGNORECASE)
_MAY_TAKE_BACK = f"(?i){_TAKING_BACK}"
_ITSELF = re.compile(r"\b(?:it|that|this|never ?mind|bother)\b|算了|不用了|不必了|当我没说|不需要了|别弄了|别做了|不做了", re.IGNORECASE)
SENTENCE = re.compile(r"[^。！？；!?\n]+?(?:[。！？；!?\n]+|\.(?=\s)|$)")
_NOTED = re.compile(
    r"^\W*(?:\[ \]|(?:to-?do|task|next(?: step)?s?|remaining|pending|still to do|left to do)\b\s*[:：-]|待办|下一步|接下来|剩余|尚待|还需|还要)|"
    r"^\W*(?:(?:next|then|now|after that|afterwards|finally),? )?(?:i'll|i will|i still (?:have|need) to|i am going to|i'm going to|i need to)\b|"
    r"^\W*我(?:会|将|还需|还要|接下来|稍后)",
    re.IGNORECASE,
)
_LOOKS_UP = re.compile(
    r"\b(?:get|read|view|list|search|find|fetch|query|look ?up|show|load|describe|count|browse|cat|grep|glob|ls|think|note|remember|memo)\b|"
    r"查|读|看|搜",
    re.IGNORECASE,
)
_LIGHT = frozenset("run do make check get give take start try the also todo then".split())  # noqa: SIM905
_CALL_READ = 400
_SENTENCES_READ = 60


def item_of(text: str, asked_by: Origin, source: str, *, state: ItemState = "open", in_plan: bool = False) -> PendingItem:
    """Return an item with its identity: the same words in the same message are the same item."""
    item_id = digest_of(f"{folded(text)}\0{source}")[:12]
    return PendingItem(item_id=item_id, text=text, asked_by=asked_by, source=source, state=state, in_plan=in_plan)


Steps = tuple[tuple[str, ItemState], ...]
"""Steps of a plan and their states, in the order of the list."""


def plan_in(call: Call) -> Steps | None:
    """Return the list a call writes down, `None` where it writes none. An empty list is one: it cancels what was there."""
    if not _PLAN_TOOL.search(call.name) or not isinstance(call.arguments, dict):
        return None
    listed = next((call.arguments[key] for key in _PLAN_KEYS if isinstance(call.arguments.get(key), list)), None)
    return None if listed is None else plan_of(listed)


def plan_of(listed: Sequence[Any]) -> Steps:
    """Return the steps of a list of todos, as tools and state keys hold them; what is no step is left out.

    >>> plan_of([{"content": "fix it", "status": "completed"}, "ship it", 3])
    (('fix it', 'done'), ('ship it', 'open'))
    """
    steps: list[tuple[str, ItemState]] = []
    for item in listed:
        text: Any = item
        status: Any = None
        if not isinstance(item, str):
            told = (_held(item, key) for key in _STEP_KEYS)
            text = next((held for held in told if isinstance(held, str) and held.strip()), None)
            status = _held(item, "status") or _held(item, "state")
            status = getattr(status, "value", status)
        if isinstance(text, str) and (shown := clipped(readable(text), STEP_LIMIT)):
            steps.append((shown, _STATES.get(status.strip().lower(), "open") if isinstance(status, str) else "open"))
    return tuple(steps)


def _held(item: Any, key: str) -> Any:
    """Return what a step holds under a key: a mapping, or an object of the application's own."""
    return item.get(key) if isinstance(item, Mapping) else getattr(item, key, None)


def is_noted_task(text: str) -> bool:
    """Say whether a line of the assistant's notes something it has yet to do.

    >>> is_noted_task("TODO: check the weight"), is_noted_task("I'll call the carrier."), is_noted_task("Call the carrier.")
    (True, True, False)
    """
    return _NOTED.match(fold(text)) is not None


def calls_with_keys(messages: Sequence[BaseMessage], keys: Sequence[str]) -> Iterator[tuple[Call, str]]:
    """Yield the calls in `messages` with the key of the message that makes them."""
    for message, key in zip(messages, keys, strict=True):
        for call in calls_of(message):
            yield call, key


def call_words(call: Call, result: str) -> frozenset[str]:
    """Return what a successful call did: its name, arguments and what its result reports as finished. Looking something up does nothing."""
    name = re.sub(r"(?<=[a-z])(?=[A-Z])|[_.-]", " ", call.name)
    if _LOOKS_UP.search(name) is not None:
        return frozenset()
    return terms(f"{name} {call.arguments_text[:_CALL_READ]}").union(*finished_in(result[:_CALL_READ]))


def finished_in(text: str) -> list[frozenset[str]]:
    """Return what the sentences of a text that report something as finished speak of."""
    return [
        terms(sentence[0])
        for sentence, _ in zip(SENTENCE.finditer(text), range(_SENTENCES_READ), strict=False)
        if _DONE.search(sentence[0]) and not _NOT_DONE.search(sentence[0])
    ]


def wanted_words(item: PendingItem) -> frozenset[str]:
    """Return what an item asks for, without the words any request has."""
    found = terms(item.text)
    return (found - _LIGHT) or found


def is_finished_by(item: PendingItem, words: frozenset[str], *, share: float) -> bool:
    """Say whether something that speaks of `words` did what the item asks for."""
    return covers(words, wanted_words(item), share)


def withdrawn_in(text: str) -> Iterator[tuple[frozenset[str], bool]]:
    """Yield what a person takes back in `text`: its words, and whether it may mean just what was asked last (`never mind`)."""
    plain = fold(text)
    # One pass over the whole says of nearly every message that nothing is taken back in it.
    if not stands_in(_MAY_TAKE_BACK, plain):
        return
    for sentence, _ in zip(SENTENCE.finditer(plain), range(_SENTENCES_READ), strict=False):
        if _WITHDRAWN.search(sentence[0]) is not None:
            yield terms(_WITHDRAWN.sub(" ", sentence[0])) - _LIGHT, _ITSELF.search(sentence[0]) is not None

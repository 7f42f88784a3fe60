"""What a model call finds: the view in force and its tokens, at a cost of the messages that are new.

Everything cached here can be lost at any time: that costs a recount, never a decision.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, convert_to_messages

from langchain_ctxguard.core.compile import leading_system, parted, rendered, shortened
from langchain_ctxguard.core.effects import CountTokens
from langchain_ctxguard.core.identity import is_known_as
from langchain_ctxguard.core.items import Steps
from langchain_ctxguard.core.recalled import faded_one, is_shown
from langchain_ctxguard.core.render import render_rules
from langchain_ctxguard.core.units import PairScan
from langchain_ctxguard.core.view import Found, situation_in_original
from langchain_ctxguard.domain.constraint import Constraint
from langchain_ctxguard.domain.context import ContextHead, HeadFault
from langchain_ctxguard.domain.standing import StandingState
from langchain_ctxguard.engine import tools_cost
from langchain_ctxguard.graph.state import head_in
from langchain_ctxguard.graph.whereabouts import NOWHERE, Whereabouts
from langchain_ctxguard.records.bounded import Bounded

_THREADS = 256
_HEADS = 256
_TOOL_LISTS = 32
_PLAUSIBLE = (0.5, 2.0)
"""Usage a provider reports is believed within these factors of the own count: outside, it describes another context."""

_PLAUSIBLE_PER_CHARACTER = (1 / 12, 2.0)


def as_messages(given: Sequence[Any]) -> Sequence[BaseMessage]:
    """Return a state's messages as messages: a client's `__overwrite__` leaves its JSON there as it is, until the next write.

    Looks at both ends only: such a list is JSON throughout.
    """
    if not given or (isinstance(given[0], BaseMessage) and isinstance(given[-1], BaseMessage)):
        return given
    return convert_to_messages(given)


@dataclass(frozen=True, slots=True)
class Call:
    """A model call, as far as the guard looks at it."""

    messages: Sequence[BaseMessage]
    raw_head: Any
    system: SystemMessage | None = None
    tools: Sequence[Any] = ()
    thread: Hashable = None
    rules: tuple[Constraint, ...] = ()
    """In force for this call."""

    unenforced: tuple[str, ...] = ()
    """`id@version` of those that promise more than anything keeps."""

    todos: Steps | None = None
    """The todo list of the agent's state, where it keeps one."""

    where: Whereabouts = NOWHERE
    """Where the call belongs, and whose consents count in it."""

    state: Any = None
    """The graph's state, for the keys that are carried."""

    standing: StandingState | None = None
    """Where the thread stands; `None`: it could not be read."""

    lead_tokens: int = 0
    """Tokens of the pinned message that is sent in front of the view."""


@dataclass(slots=True)
class _Recalled:
    """A message that shows recalled text for a number of calls."""

    index: int
    answers: int
    """Messages of the assistant before it."""

    shown: int
    """Tokens it was counted with; 0 where nobody counted."""

    faded: BaseMessage | None = None
    """What stands in its place, once it is out of view."""


@dataclass(slots=True)
class _Tally:
    """What was counted of one thread under one head."""

    given: ContextHead | HeadFault | None
    """The head as the state had it."""

    head: ContextHead
    fault: str | None
    front: list[SystemMessage]
    front_end: int
    """Index after the system messages the conversation begins with: they are the application's."""

    front_rest: list[BaseMessage]
    carried: tuple[int, BaseMessage] | None
    """The current request and its index, where it lies before the cut."""

    cut: int | None
    """Index of the first message after the cut; `None` before the first version."""

    before: list[BaseMessage]
    """What the view shows before the kept messages: evidence, summary, and the current request if it lies before the cut."""

    elided: Mapping[str, int]
    can_read: bool
    is_plain: bool
    """Whether a slice of the list is the tail: no defects, no system messages to lift from its middle."""

    recalled: list[_Recalled] = field(default_factory=list)
    """Messages after the cut that show recalled text."""

    answers: int = 0
    """Messages of the assistant among those counted."""

    scan: PairScan = field(default_factory=PairScan)
    counted: int = 0
    first: BaseMessage | None = None
    last: BaseMessage | None = None
    chain: int = 0
    """What the counted messages look like from outside, one after the other."""

    tokens: int = 0
    """Tokens of the counted messages after the cut."""

    rendered_tokens: int = 0
    fixed: int = 0
    """Tokens of system prompt, pins and tools at the last reading."""

    reported: tuple[int, int] | None = None
    """Tokens a provider reported for a view, and our own count of the same view without system and tools."""

    is_assumed: bool = False
    """`tokens` rests on a provider's report that was not compared with an own count."""

    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(frozen=True, slots=True)
class Reading:
    """The view in force and what it costs."""

    head: ContextHead
    fault: str | None
    system: SystemMessage | None
    messages: Sequence[BaseMessage]
    tokens: int
    own: int
    """Our own count of the same view, complete where nothing is assumed. Where a provider reports, `tokens` is nearer to what it counts."""

    is_untouched: bool
    """The messages are the very list of the call and the system message its own: nothing to override."""

    is_assumed: bool = False
    """The tokens rest on a provider's report that was compared with no count of our own."""


class Reader:
    """Reads model calls for one guard."""

    def __init__(self, count: CountTokens, *, trust_system_messages: bool, recalled_for: int = 0) -> None:
        """Bind the counter, and for how many calls recalled text stays in view."""
        self._count = count
        self._recalled_for = recalled_for
        self._trusts = trust_system_messages
        self._tallies: Bounded[_Tally] = Bounded(_THREADS)
        self._heads: Bounded[ContextHead | HeadFault] = Bounded(_HEADS)
        self._tools: Bounded[tuple[Sequence[Any], int]] = Bounded(_TOOL_LISTS)
        self._names: Bounded[tuple[Sequence[Any], frozenset[str]]] = Bounded(_TOOL_LISTS)
        self._pins: tuple[tuple[Constraint, ...], str] | None = None
        self._systems: Bounded[tuple[Any, SystemMessage | None, int]] = Bounded(_TOOL_LISTS)

    def tool_names(self, tools: Sequence[Any]) -> frozenset[str]:
        """Return the names of tools, whatever form they have."""
        if not tools:
            return frozenset()
        key = tuple(map(id, tools))
        known = self._names.get(key)
        if known is None:
            known = (tuple(tools), frozenset(name for tool in tools if (name := tool_name(tool))))
            self._names.put(key, known)
        return known[1]

    def tools_tokens(self, tools: Sequence[Any]) -> int:
        """Return the tokens of the tool contracts. The list is held, so that an identity cannot be used anew."""
        if not tools:
            return 0
        key = tuple(map(id, tools))
        known = self._tools.get(key)
        if known is None:
            known = (tuple(tools), tools_cost(self._count, tools))
            self._tools.put(key, known)
        return known[1]

    def head(self, raw: Any) -> ContextHead | HeadFault | None:
        """Return the head in a state, decoded once for each content it can have."""
        if not raw:
            return None
        try:
            cut = raw["cut"]
            key = (
                raw["version"],
                raw["digest"],
                raw["body"],
                raw["cool_down"],
                raw["schema_version"],
                tuple(cut["anchors"]),
                cut["position"],
                cut["evicted"],
            )
            known = self._heads.get(key)
        except (KeyError, TypeError):
            return head_in(raw)
        if known is None:
            found = head_in(raw)
            if found is None or len(raw) != 6:  # noqa: PLR2004 - the key names all six entries of a head
                return found
            self._heads.put(key, found)
            return found
        return known if len(raw) == 6 else head_in(raw)  # noqa: PLR2004

    def situation(self, call: Call) -> Found:
        """Return the whole situation: what a compaction starts from. Costs O(messages)."""
        head = self.head(call.raw_head)
        fault = head if isinstance(head, str) else None
        found = situation_in_original(
            call.messages,
            head if isinstance(head, ContextHead) else ContextHead(version=0),
            rules=call.rules,
            system=() if call.system is None else (call.system,),
            trust_system_messages=self._trusts,
            recalled_for=self._recalled_for,
        )
        return Found(found.situation, fault or found.head_fault)

    def read(self, call: Call) -> Reading:
        """Return the view in force."""
        head = self.head(call.raw_head)
        key = _key(call, head)
        tally = self._tallies.get(key)
        system, fixed = self._system(call.system, [] if tally is None else tally.front, call.rules)
        fixed += self.tools_tokens(call.tools)
        if tally is not None:
            with tally.lock:
                # Within the lock: a call that shares the thread may have moved the tally on to messages this call does not have.
                if _still_holds(tally, head, call.messages):
                    return self._reading(tally, head, call, system=system, fixed=fixed)
        tally = self._begun(call, fixed=fixed)
        if tally.front:
            system, fixed = self._system(call.system, tally.front, call.rules)
            fixed += self.tools_tokens(call.tools)
        reading = self._reading(tally, head, call, system=system, fixed=fixed)
        self._tallies.put(key, tally)
        return reading

    def _reading(
        self,
        tally: _Tally,
        head: ContextHead | HeadFault | None,
        call: Call,
        *,
        system: SystemMessage | None,
        fixed: int,
    ) -> Reading:
        self._feed(tally, call.messages)
        tally.fixed = fixed
        own = tally.tokens + tally.rendered_tokens
        # The provider counted the view it reports on as a whole; only what came since is ours to count.
        tokens = own + fixed if tally.reported is None else tally.reported[0] + own - tally.reported[1]
        current = tally.head
        if isinstance(head, ContextHead) and tally.fault is None and head.cool_down != current.cool_down:
            current = current.model_copy(update={"cool_down": head.cool_down})
        if not (tally.is_plain and tally.scan.is_clean):
            view = self.situation(call).situation.view()
            return Reading(current, tally.fault, view.system, view.messages, tokens, own + fixed, is_untouched=False)
        messages: Sequence[BaseMessage]
        if tally.cut is None:
            messages = call.messages if not tally.front else [*tally.front_rest, *call.messages[tally.front_end :]]
        else:
            kept = call.messages[tally.cut :]
            messages = [*tally.before, *(shortened(kept, tally.elided, can_read=tally.can_read) if tally.elided else kept)]
        if tally.recalled:
            messages = _out_of_view(tally, messages, behind=len(call.messages) - len(messages))
        is_untouched = messages is call.messages and system is call.system
        return Reading(current, tally.fault, system, messages, tokens, own + fixed, is_untouched=is_untouched, is_assumed=tally.is_assumed)

    def recount(self, call: Call) -> None:
        """Count every message of a thread anew, whatever a provider reported."""
        tally = self._begun(call, fixed=None)
        self._feed(tally, call.messages)
        self._tallies.put(_key(call, tally.given), tally)

    def _begun(self, call: Call, *, fixed: int | None) -> _Tally:
        """Return a fresh tally. With `fixed` (tokens of system and tools) it may rest on what a provider reported."""
        found = self.situation(call)
        situation = found.situation
        body = situation.head.body
        front = parted(call.messages).system
        front_end = _index_of(call.messages, front[-1]) + 1 if front else 0
        cut = None if body is None else len(call.messages) - len(situation.tail)
        before = [] if body is None else rendered(body, version=situation.head.version)
        before += [] if situation.request is None else [situation.request]
        carried = None if situation.request is None else (_index_of(call.messages, situation.request), situation.request)
        tally = _Tally(
            given=self.head(call.raw_head),
            head=situation.head,
            fault=found.head_fault,
            front=front,
            front_end=front_end,
            front_rest=[message for message in call.messages[:front_end] if not any(message is lifted for lifted in front)],
            carried=carried,
            cut=cut,
            before=before,
            elided={} if body is None else body.elided,
            can_read=body is not None and body.can_read,
            is_plain=not situation.trusted and (cut is None or cut >= front_end),
            rendered_tokens=self._count(before) if before else 0,
        )
        if fixed is not None and tally.is_plain and not front:
            self._assume(tally, call.messages, fixed)
        return tally

    def _assume(self, tally: _Tally, messages: Sequence[BaseMessage], fixed: int) -> None:
        """Rest the count of a long list on what the provider reported for the newest answer under this head, if that is plausible."""
        start = tally.cut or 0
        newest = _newest_report(messages, start, tally.head)
        if newest is None:
            return
        index, reported = newest
        characters = sum(len(message.content) for message in messages[start:index] if isinstance(message.content, str))
        least, most = _PLAUSIBLE_PER_CHARACTER
        if not fixed + least * characters <= reported <= fixed + tally.rendered_tokens + most * characters:
            return
        tally.first = messages[start]
        for at, message in enumerate(messages[start:index], start):
            tally.scan.feed(message)
            tally.chain = hash((tally.chain, _outside(message)))
            self._note_recalled(tally, at, message, 0)
        tally.counted, tally.is_assumed = index, True
        tally.reported = (reported, tally.rendered_tokens)

    def _feed(self, tally: _Tally, messages: Sequence[BaseMessage]) -> None:
        start = tally.cut or 0
        if tally.first is None and len(messages) > start:
            tally.first = messages[start]
        is_fresh = tally.counted == 0
        for index in range(max(start, tally.counted), len(messages)):
            message = messages[index]
            tally.chain = hash((tally.chain, _outside(message)))
            if index < tally.front_end and any(message is lifted for lifted in tally.front):
                continue
            if not is_fresh:
                _learn(tally, message)
            tally.scan.feed(message)
            tokens = self._count(shortened([message], tally.elided, can_read=tally.can_read) if tally.elided else [message])
            tally.tokens += tokens
            self._note_recalled(tally, index, message, tokens)
        for one in tally.recalled:
            if one.faded is None and tally.answers - one.answers >= self._recalled_for:
                one.faded = faded_one(messages[one.index])
                tally.tokens += self._count([one.faded]) - one.shown if one.shown else 0
        tally.counted = len(messages)
        tally.last = messages[-1] if messages else None

    def _note_recalled(self, tally: _Tally, index: int, message: BaseMessage, tokens: int) -> None:
        if message.type == "ai":
            tally.answers += 1
        elif self._recalled_for and is_shown(message):
            tally.recalled.append(_Recalled(index, tally.answers, tokens))

    def _pinned(self, rules: tuple[Constraint, ...]) -> str:
        """Return the pins block; while the rules stand still they are the same object, and the block is not rendered anew."""
        if not rules:
            return ""
        known = self._pins
        if known is None or known[0] is not rules:
            known = (rules, render_rules(rules))
            self._pins = known
        return known[1]

    def _system(self, given: SystemMessage | None, front: list[SystemMessage], rules: tuple[Constraint, ...]) -> tuple[SystemMessage | None, int]:
        """Return the leading system message and its tokens. What it is made of is compared by content: agents build it anew for every call."""
        if given is None and not front and not rules:
            return None, 0
        parts = [*([] if given is None else [given]), *front]
        pins = self._pinned(rules)
        key = (pins, *[(type(message.content), str(message.content)) for message in parts])
        known = self._systems.get(key)
        if known is None:
            made = leading_system(parts, pins)
            known = (given, made, 0 if made is None else self._count([made]))
            self._systems.put(key, known)
        if not pins and len(parts) == 1 and not front:
            return given, known[2]
        return known[1], known[2]


def _out_of_view(tally: _Tally, messages: Sequence[BaseMessage], *, behind: int) -> Sequence[BaseMessage]:
    """Return the view without recalled text whose time is over; `behind`: how much further a message stands in the list of the call."""
    gone = [one for one in tally.recalled if one.faded is not None]
    if not gone:
        return messages
    shown = list(messages)
    for one in gone:
        if one.faded is not None:
            shown[one.index - behind] = one.faded
    return shown


def tool_name(tool: Any) -> str | None:
    """Return the name of a tool, whatever form it has."""
    if isinstance(tool, dict):
        function = tool.get("function")
        found = function.get("name") if isinstance(function, dict) else tool.get("name") or tool.get("type")
    else:
        found = getattr(tool, "name", None) or getattr(tool, "__name__", None)
    return found if isinstance(found, str) else None


def _index_of(messages: Sequence[BaseMessage], wanted: BaseMessage) -> int:
    return next(index for index, message in enumerate(messages) if message is wanted)


def _learn(tally: _Tally, message: BaseMessage) -> None:
    """Take over what a provider reported for the view that ended before `message`: it came after this head was counted, so it is about it."""
    if not isinstance(message, AIMessage) or not message.usage_metadata:
        return
    reported = message.usage_metadata.get("input_tokens") or 0
    own = tally.tokens + tally.rendered_tokens
    low, high = (factor * (own + tally.fixed) for factor in _PLAUSIBLE)
    if low <= reported <= high and own > 0 and not tally.is_assumed:
        tally.reported = (reported, own)


def _key(call: Call, head: ContextHead | HeadFault | None) -> Hashable:
    return call.thread, head.version if isinstance(head, ContextHead) else -1


def _still_holds(tally: _Tally, head: ContextHead | HeadFault | None, messages: Sequence[BaseMessage]) -> bool:
    """Confirm a tally by the head, by what the view shows from before the cut, and by position and identity of the messages counted."""
    if not _is_same_version(tally.given, head):
        return False
    if tally.counted == 0 or tally.counted > len(messages):
        return tally.counted == 0 and not messages
    return _front_holds(tally, messages) and _counted_hold(tally, messages)


def _front_holds(tally: _Tally, messages: Sequence[BaseMessage]) -> bool:
    if tally.carried is not None and messages[tally.carried[0]] != tally.carried[1]:
        return False
    if _front_grows(tally, messages):
        return False
    return [message for message in messages[: tally.front_end] if message.type == "system"] == tally.front


def _front_grows(tally: _Tally, messages: Sequence[BaseMessage]) -> bool:
    """Say whether the run of system messages at the beginning goes on behind what was counted: the next one is the application's too."""
    at = tally.counted
    return at < len(messages) and isinstance(messages[at], SystemMessage) and all(isinstance(message, SystemMessage) for message in messages[:at])


def _counted_hold(tally: _Tally, messages: Sequence[BaseMessage]) -> bool:
    start = tally.cut or 0
    if tally.first is not None and not (start < len(messages) and _same(messages[start], tally.first)):
        return False
    last = messages[tally.counted - 1]
    if tally.last is None or last is tally.last:
        return True
    # Another object: the messages were loaded anew, and any of them may have been replaced under its id since.
    return _same(last, tally.last) and _chain_of(messages[start : tally.counted]) == tally.chain


def _is_same_version(given: ContextHead | HeadFault | None, head: ContextHead | HeadFault | None) -> bool:
    if isinstance(given, ContextHead) and isinstance(head, ContextHead):
        return given is head or (given.version == head.version and given.cut == head.cut and given.body == head.body)
    return given == head


def _outside(message: BaseMessage) -> tuple[Any, ...]:
    """Return what can be seen of a message without reading it: enough to notice that another stands in its place."""
    # Read past pydantic: this runs once for every message a checkpointer has loaded anew.
    fields = message.__dict__
    calls = fields.get("tool_calls"), fields.get("invalid_tool_calls")
    if any(calls):
        ids = [call["id"] for made in calls for call in made or ()]
        return fields["id"], type(message), len(fields["content"]), *ids
    return fields["id"], type(message), len(fields["content"]), fields.get("tool_call_id")


def _chain_of(messages: Sequence[BaseMessage]) -> int:
    chain = 0
    for message in messages:
        chain = hash((chain, _outside(message)))
    return chain


def content_digest(messages: Sequence[BaseMessage]) -> str:
    """Return a digest of everything messages say, ids included: equal for what was stored and loaded, another one after any edit."""
    digest = sha256()
    for message in messages:
        said = (
            message.id,
            message.type,
            message.name,
            message.content,
            getattr(message, "tool_calls", None),
            getattr(message, "tool_call_id", None),
            message.additional_kwargs,
        )
        digest.update(repr(said).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _same(message: BaseMessage, known: BaseMessage) -> bool:
    if message is known:
        return True
    return message.id is not None and message.id == known.id and type(message) is type(known)


def _newest_report(messages: Sequence[BaseMessage], start: int, head: ContextHead) -> tuple[int, int] | None:
    committed = None if head.body is None else head.body.committed_at
    for index in range(len(messages) - 1, start, -1):
        message = messages[index]
        if committed is not None and is_known_as(message, committed):
            return None
        if isinstance(message, AIMessage) and message.usage_metadata:
            reported = message.usage_metadata.get("input_tokens") or 0
            return (index, reported) if reported > 0 else None
    return None

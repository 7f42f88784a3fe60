"""Messages -> atomic units: a tool call and its results are one, kept whole or evicted whole. Paired by id, never by position."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal

from langchain_core.messages import AIMessage, BaseMessage, FunctionMessage, HumanMessage, ToolMessage

from langchain_ctxguard.core.identity import is_synthetic, message_digest, message_keys
from langchain_ctxguard.core.roles import (
    NOTE,
    SYNTHETIC,
    Call,
    block_call_id,
    calls_of,
    escaped,
    is_call_block,
    is_failure,
    is_foreign_summary,
    is_plainly_calling,
    is_request,
    results_of,
    speaker_of,
    text_of,
)
from langchain_ctxguard.domain.value import digest_of
from langchain_ctxguard.domain.version import Fault, FaultKind

RENAMED = "ctxguard_call_ids"
"""Mark of a message whose call ids we had to change: shown id -> given id (`None`: it had none)."""

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.:@-]{1,64}")

MOVED = "ctxguard_moved"
"""Mark of a result that moved up to its call: how many messages after the call it stood."""

MISSING_RESULT = "[No result of this call is on record; it may or may not have run.]"

UnitKind = Literal["request", "note", "tools", "reply"]


@dataclass(frozen=True, slots=True)
class Unit:
    """`messages[start:stop]`, kept or evicted as one."""

    start: int
    stop: int
    kind: UnitKind
    is_in_flight: bool = False
    """A call of the newest AI message still waits for its result."""

    is_boundary: bool = True
    """A cut may lie before this unit: no message before it belongs to a unit after it, in the list as it was given."""


@dataclass(frozen=True, slots=True)
class Repaired:
    """A provider-valid list, the units that tile it, and what was wrong with the input."""

    messages: list[BaseMessage]
    units: tuple[Unit, ...]
    faults: tuple[Fault, ...]


class PairScan:
    """Reads a list message by message and says whether it needs repair, so that a growing list costs O(new)."""

    __slots__ = ("_in_content", "_used", "_waiting", "is_clean")

    def __init__(self) -> None:
        """Begin with an empty list, which is clean."""
        self.is_clean = True
        self._waiting: set[str] = set()
        self._used: set[str] = set()
        self._in_content: set[str] = set()

    def feed(self, message: BaseMessage) -> None:
        """Read one more message. Once a list is not clean, it stays so."""
        if not self.is_clean:
            return
        kind = message.type
        if kind == "human" and isinstance(message.content, str):
            self.is_clean = not self._waiting
        elif kind == "ai":
            self.is_clean = not self._waiting and self._call(message)
        elif answered := results_of(message):
            is_known = self._waiting.issuperset(answered) and len(set(answered)) == len(answered)
            self.is_clean = is_known and (kind != "tool" or self._in_content.isdisjoint(answered))
            self._waiting.difference_update(answered)
        else:
            self.is_clean = not self._waiting and speaker_of(message) == "user"

    def _call(self, message: BaseMessage) -> bool:
        for call_id in _declared_ids(message):
            if not call_id or call_id in self._used:
                return False
            self._used.add(call_id)
            self._waiting.add(call_id)
        if not isinstance(message.content, str):
            self._in_content.update(call.call_id for call in _calls_only_in_content(message) if call.call_id)
        return True


def _declared_ids(message: BaseMessage) -> list[str | None]:
    """Return the ids of all calls with their repeats: `calls_of` folds what stands in content and in `tool_calls` alike."""
    if not isinstance(message, AIMessage):
        return []
    declared: list[str | None] = [call.get("id") for call in message.tool_calls]
    declared += [call.get("id") for call in message.invalid_tool_calls]
    if is_plainly_calling(message):
        return declared
    known = set(declared)
    declared += [call.call_id for call in calls_of(message) if call.call_id not in known]
    return declared


def _calls_only_in_content(message: BaseMessage) -> list[Call]:
    """Return the calls that stand in content blocks alone: the adapters of other providers do not see them."""
    if not isinstance(message, AIMessage) or is_plainly_calling(message):
        return []
    declared = {call.get("id") for call in (*message.tool_calls, *message.invalid_tool_calls)}
    return [call for call in calls_of(message) if call.call_id and call.call_id not in declared]


def repair(messages: Sequence[BaseMessage], *, start: int = 0) -> Repaired:
    """Return `messages` as a provider accepts them, and their units. Messages that need no change are the same objects.

    A missing result becomes a marked error result, unless the call waits in the newest AI message; an orphan result becomes untrusted
    text; a result moves up to its call; of two results for one call the first stands and the other becomes text; a system message in
    the list becomes untrusted text.

    Args:
        messages: The list, or the part of it after `start` messages.
        start: Position of the first message in the original list; faults name messages without an id by it.
    """
    given = _Reading(messages, start).result()
    return Repaired([item.message for item in given.items], tuple(_units(given.items)), tuple(given.faults))


@dataclass(slots=True)
class _Item:
    """A message on its way out and where it stood in the input (`None`: made up)."""

    message: BaseMessage
    source: int | None
    group: int


@dataclass(slots=True)
class _Given:
    items: list[_Item]
    faults: list[Fault]


@dataclass(slots=True)
class _Exchange:
    """An AI message with calls, the results that belong to it, and what it still waits for."""

    message: AIMessage
    at: int
    results: list[tuple[BaseMessage, int]]
    waiting: dict[str, str]
    """Id in the input -> id in the output."""


class _Reading:
    """One pass over a list: who called what, who answered, and what is wrong with it."""

    def __init__(self, messages: Sequence[BaseMessage], start: int) -> None:
        self._messages = messages
        self._start = start
        self._positions: list[int] | None = None
        """Position of each message in the original list, once a fault asks for one."""

        self._faults: list[Fault] = []
        self._exchanges: dict[int, _Exchange] = {}
        self._waiting: dict[str, _Exchange] = {}
        """Exchanges by the ids they still wait for; the latest call of an id waits."""

        self._taken: set[str] = set()
        """Ids shown so far: providers refuse an id twice in one request."""

        self._called: set[str] = set()
        self._owner: dict[int, _Exchange] = {}
        self._instead: dict[int, BaseMessage] = {}
        self._newest: _Exchange | None = None
        self._is_interrupted = False
        """Something other than a result stands after the newest calls: a provider will not wait for them any more."""

    def result(self) -> _Given:
        for index, message in enumerate(self._messages):
            speaker = speaker_of(message)
            if isinstance(message, AIMessage):
                self._newest, self._is_interrupted = None, False
                if _declared_ids(message):
                    self._newest = self._open(message, index)
            elif answered := results_of(message):
                self._answer(message, index, answered)
            else:
                if speaker == "system" or (speaker == "tool" and not isinstance(message, FunctionMessage)):
                    self._fault("system_message_in_list", index)
                    self._instead[index] = as_note(message, source="summary" if is_foreign_summary(message) else speaker)
                self._is_interrupted = True
        return _Given(self._arranged(), self._faults)

    def _fault(self, kind: FaultKind, index: int, call_id: str | None = None) -> None:
        self._faults.append(Fault(kind=kind, message_id=_on_record(self._name(index)), call_id=None if call_id is None else _on_record(call_id)))

    def _name(self, index: int) -> str:
        message = self._messages[index]
        if message.id:
            return message.id
        if self._positions is None:
            own = (not is_synthetic(other) for other in self._messages)
            self._positions = list(accumulate(own, initial=self._start))
        return message_keys([message], start=self._positions[index])[0]

    def _open(self, message: AIMessage, index: int) -> _Exchange:
        """Give every call an id of its own: nameless calls get one, repeats within a message go, an id used before gets a suffix."""
        declared = _declared_ids(message)
        waiting: dict[str, str] = {}
        made: dict[str, str | None] = {}
        has_repeats = False
        for call_id in declared:
            if not call_id:
                self._fault("call_without_id", index)
                name = f"call_{message_digest(message)[:12]}_{len(made)}"
                made[name] = call_id
                waiting[name] = _unused(name, self._taken)
            elif call_id in waiting:
                self._fault("duplicate_call", index, call_id)
                has_repeats = True
            else:
                waiting[call_id] = _unused(call_id, self._taken)
                if waiting[call_id] != call_id:
                    self._fault("duplicate_call", index, call_id)
        if has_repeats or made or any(given != shown for given, shown in waiting.items()):
            message = _with_call_ids(message, waiting, made)
        exchange = _Exchange(message, index, [], waiting)
        self._exchanges[index] = exchange
        self._called.update(waiting)
        self._waiting.update(dict.fromkeys(waiting, exchange))
        return exchange

    def _answer(self, message: BaseMessage, index: int, answered: tuple[str, ...]) -> None:
        exchange = next((self._waiting[call_id] for call_id in answered if call_id in self._waiting), None)
        if exchange is None:
            self._fault("orphan_result" if self._called.isdisjoint(answered) else "duplicate_result", index, answered[0])
            self._instead[index] = as_note(message, source="tool", call_id=answered[0])
            self._is_interrupted = True
            return
        self._owner[index] = exchange
        is_moved = exchange is not self._newest or self._is_interrupted
        result = _renamed_result(message, exchange)
        exchange.results.append((_moved_result(result, index - exchange.at) if is_moved else result, index))
        for call_id in answered:
            exchange.waiting.pop(call_id, None)
            self._waiting.pop(call_id, None)
        if is_moved:
            self._fault("moved_result", index, answered[0])

    def _arranged(self) -> list[_Item]:
        items: list[_Item] = []
        for index, message in enumerate(self._messages):
            if index in self._owner:
                continue
            exchange = self._exchanges.get(index)
            if exchange is None:
                items.append(_Item(self._instead.get(index, message), index, index))
                continue
            results = [_Item(result, source, index) for result, source in exchange.results]
            if exchange is not self._newest or self._is_interrupted:
                for call_id, shown in exchange.waiting.items():
                    self._fault("missing_result", index, call_id)
                    results.append(_Item(_made_up_result(shown), None, index))
            is_answered_by_tools = any(isinstance(item.message, ToolMessage) for item in results)
            items.append(_Item(_with_content_calls(exchange.message) if is_answered_by_tools else exchange.message, index, index))
            items += results
        return items


def _on_record(name: str) -> str:
    """Return an id as a record may hold it: anything but a plain name could be text of the conversation, and becomes a digest."""
    return name if _PLAIN_NAME.fullmatch(name) else f"digest:{digest_of(name)[:16]}"


def _with_content_calls(message: AIMessage) -> AIMessage:
    """Return `message` with the calls of its content blocks among its `tool_calls`, the same object where they are."""
    hidden = [call for call in _calls_only_in_content(message) if isinstance(call.arguments, dict)]
    if not hidden:
        return message
    calls = [{"name": call.name, "args": call.arguments, "id": call.call_id, "type": "tool_call"} for call in hidden]
    return message.model_copy(update={"tool_calls": [*message.tool_calls, *calls]})


def _unused(call_id: str, taken: set[str]) -> str:
    """Return `call_id`, or its first free variant: providers refuse an id twice in one request."""
    shown, count = call_id, 1
    while shown in taken:
        count += 1
        shown = f"{call_id}_{count}"
    taken.add(shown)
    return shown


def _with_call_ids(message: AIMessage, shown: dict[str, str], made: dict[str, str | None]) -> AIMessage:
    """Return a copy of `message` whose calls carry the ids of `shown`; the first call of an id stays, reasoning blocks are untouched."""

    def renaming() -> Any:
        seen: set[str] = set()
        fresh = iter(made)

        def rename(call_id: str | None) -> str | None:
            """Return the id to show, or `None` for a repeat that has to go."""
            given = call_id or next(fresh, None)
            if given is None or given in seen:
                return None
            seen.add(given)
            return shown.get(given, given)

        return rename

    rename = renaming()
    tool_calls = [{**call, "id": new} for call in message.tool_calls if (new := rename(call.get("id")))]
    invalid = [{**call, "id": new} for call in message.invalid_tool_calls if (new := rename(call.get("id")))]
    content = message.content
    if not isinstance(content, str):
        rename = renaming()
        blocks: list[Any] = []
        for block in content:
            if not isinstance(block, dict) or not is_call_block(block):
                blocks.append(block)
            elif new := rename(block_call_id(block)):
                blocks.append({**block, ("call_id" if block.get("call_id") else "id"): new})
        content = blocks
    given_ids = {new: made.get(given, given) for given, new in shown.items() if given in made or given != new}
    extras = {**message.additional_kwargs, **({RENAMED: given_ids} if given_ids else {})}
    if isinstance(extras.get("tool_calls"), list):
        rename = renaming()
        extras["tool_calls"] = [{**call, "id": new} for call in extras["tool_calls"] if isinstance(call, dict) and (new := rename(call.get("id")))]
    update = {"tool_calls": tool_calls, "invalid_tool_calls": invalid, "content": content, "additional_kwargs": extras}
    return message.model_copy(update=update)


def _renamed_result(message: BaseMessage, exchange: _Exchange) -> BaseMessage:
    if isinstance(message, ToolMessage):
        given = message.tool_call_id
        shown = exchange.waiting.get(given, given)
        if shown == given:
            return message
        return message.model_copy(update={"tool_call_id": shown, "additional_kwargs": {**message.additional_kwargs, RENAMED: {shown: given}}})
    blocks = [
        {**block, "tool_use_id": exchange.waiting.get(block["tool_use_id"], block["tool_use_id"])}
        if isinstance(block, dict) and block.get("type") == "tool_result"
        else block
        for block in message.content
    ]
    if blocks == message.content:
        return message
    given_ids = {shown: given for given, shown in exchange.waiting.items() if shown != given}
    return message.model_copy(update={"content": blocks, "additional_kwargs": {**message.additional_kwargs, RENAMED: given_ids}})


def _moved_result(message: BaseMessage, distance: int) -> BaseMessage:
    # A user message stays the object it is: it may be the request.
    if not isinstance(message, ToolMessage):
        return message
    return message.model_copy(update={"additional_kwargs": {**message.additional_kwargs, MOVED: distance}})


def given_call_id(message: BaseMessage, shown: str) -> str:
    """Return the call id as the conversation has it, for one that a repaired `message` shows."""
    given_ids = message.additional_kwargs.get(RENAMED) if message.additional_kwargs else None
    given = given_ids.get(shown) if isinstance(given_ids, dict) else None
    return given if isinstance(given, str) else shown


def as_given(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return `messages` without the traces of an earlier repair, so that a view given back is read as the list it was made from.

    A result we made up goes, because the real one may have come since; changed call ids are changed back, and moved results go back.
    """
    return _in_given_order([_with_given_ids(message) for message in messages if not is_synthetic(message)])


def _in_given_order(messages: list[BaseMessage]) -> list[BaseMessage]:
    """Return `messages` with the results that repair had moved up where they stood: so far after their call as their mark says."""
    if not any(message.type == "tool" and MOVED in message.additional_kwargs for message in messages):
        return messages
    ordered: list[BaseMessage] = []
    waiting: dict[int, list[BaseMessage]] = {}
    call = 0
    for message in messages:
        distance = message.additional_kwargs.get(MOVED) if message.type == "tool" else None
        if type(distance) is int and 0 < distance < len(messages):
            extras = {key: value for key, value in message.additional_kwargs.items() if key != MOVED}
            waiting.setdefault(call + distance, []).append(message.model_copy(update={"additional_kwargs": extras}))
            continue
        while len(ordered) in waiting:
            ordered += waiting.pop(len(ordered))
        if isinstance(message, AIMessage):
            call = len(ordered)
        ordered.append(message)
    return [*ordered, *(message for place in sorted(waiting) for message in waiting[place])]


def _with_given_ids(message: BaseMessage) -> BaseMessage:
    given_ids = message.additional_kwargs.get(RENAMED) if message.additional_kwargs else None
    if not isinstance(given_ids, dict):
        return message
    extras = {key: value for key, value in message.additional_kwargs.items() if key != RENAMED}
    if isinstance(message, ToolMessage):
        given = given_ids.get(message.tool_call_id)
        return message.model_copy(update={"additional_kwargs": extras, "tool_call_id": given or message.tool_call_id})

    def back(calls: Sequence[Any], *keys: str) -> list[Any]:
        return [{**call, key: given_ids[call[key]]} if isinstance(call, dict) and (key := _key_in(call, keys, given_ids)) else call for call in calls]

    update: dict[str, Any] = {"additional_kwargs": extras}
    if not isinstance(message.content, str):
        update["content"] = back(message.content, "call_id", "id", "tool_use_id")
    if isinstance(message, AIMessage):
        update |= {"tool_calls": back(message.tool_calls, "id"), "invalid_tool_calls": back(message.invalid_tool_calls, "id")}
        if isinstance(extras.get("tool_calls"), list):
            extras["tool_calls"] = back(extras["tool_calls"], "id")
    return message.model_copy(update=update)


def _key_in(call: dict[str, Any], keys: Sequence[str], given_ids: dict[str, Any]) -> str | None:
    return next((key for key in keys if isinstance(call.get(key), str) and call[key] in given_ids), None)


def _made_up_result(call_id: str) -> ToolMessage:
    return ToolMessage(MISSING_RESULT, tool_call_id=call_id, status="error", additional_kwargs={SYNTHETIC: True})


def as_note(message: BaseMessage, *, source: str, call_id: str | None = None) -> HumanMessage:
    """Return what `message` says as untrusted text in the user role; media stay, the text can close no tag of ours."""
    origin = f' call="{escaped(call_id).replace(chr(34), "")}"' if call_id else ""
    if source == "tool" and is_failure(message):
        origin += ' status="error"'
    opening, closing = f'<{NOTE} from="{source}"{origin} trust="untrusted">\n', f"\n</{NOTE}>"
    if isinstance(message.content, str) or all(isinstance(block, str) or block.get("type") in ("text", "tool_result") for block in message.content):
        content: Any = f"{opening}{escaped(text_of(message))}{closing}"
    else:
        blocks = [
            {**block, "text": escaped(str(block.get("text", "")))} if isinstance(block, dict) and block.get("type") == "text" else block
            for block in message.content
        ]
        content = [{"type": "text", "text": opening}, *blocks, {"type": "text", "text": closing}]
    return HumanMessage(content, id=message.id, name=NOTE)


def _units(items: Sequence[_Item]) -> Iterable[Unit]:
    spans = []
    start = 0
    while start < len(items):
        stop = start + 1
        while stop < len(items) and (items[stop].group == items[start].group or _answers_function(items[stop - 1].message, items[stop].message)):
            stop += 1
        spans.append((start, stop))
        start = stop
    newest_before = -1
    boundaries = []
    oldest_after = _suffix_minimum([item.source for item in items])
    for start, stop in spans:
        boundaries.append(newest_before < oldest_after[start])
        for item in items[start:stop]:
            if item.source is not None and item.source > newest_before:
                newest_before = item.source
    newest_ai = next((index for index in range(len(items) - 1, -1, -1) if isinstance(items[index].message, AIMessage)), -1)
    for (start, stop), is_boundary in zip(spans, boundaries, strict=True):
        head = items[start].message
        kind: UnitKind
        waits = False
        if isinstance(head, AIMessage):
            calls = _declared_ids(head)
            kind = "tools" if calls or stop - start > 1 else "reply"
            answered = {call_id for item in items[start + 1 : stop] for call_id in results_of(item.message)}
            waits = start == newest_ai and any(call_id not in answered for call_id in calls)
        else:
            kind = "request" if is_request(head) else "note"
        yield Unit(start, stop, kind, is_in_flight=waits, is_boundary=is_boundary)


def _answers_function(call: BaseMessage, result: BaseMessage) -> bool:
    """Pair the id-less calls of OpenAI's retired functions API by the function's name."""
    if not isinstance(result, FunctionMessage) or not isinstance(call, AIMessage):
        return False
    function = call.additional_kwargs.get("function_call")
    return isinstance(function, dict) and function.get("name") == result.name


def _suffix_minimum(sources: Sequence[int | None]) -> list[int]:
    smallest = len(sources) + 1
    result = [smallest] * (len(sources) + 1)
    for index in range(len(sources) - 1, -1, -1):
        source = sources[index]
        smallest = smallest if source is None else min(smallest, source)
        result[index] = smallest
    return result

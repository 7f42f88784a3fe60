"""Messages -> atomic units: a tool call and its results are one, kept whole or evicted whole. Paired by id, never by position."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.messages import AIMessage, BaseMessage, FunctionMessage, HumanMessage, ToolMessage

from langchain_ctxguard.core.identity import SYNTHETIC, message_digest
from langchain_ctxguard.core.roles import (
    NOTE,
    block_call_id,
    calls_of,
    escaped,
    is_call_block,
    is_failure,
    is_foreign_summary,
    is_request,
    results_of,
    speaker_of,
    text_of,
)
from langchain_ctxguard.domain.version import Fault

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

    __slots__ = ("_used", "_waiting", "is_clean")

    def __init__(self) -> None:
        """Begin with an empty list, which is clean."""
        self.is_clean = True
        self._waiting: set[str] = set()
        self._used: set[str] = set()

    def feed(self, message: BaseMessage) -> None:
        """Read one more message. Once a list is not clean, it stays so."""
        if not self.is_clean:
            return
        kind = message.type
        if kind == "human" and isinstance(message.content, str):
            self.is_clean = not self._waiting
        elif kind == "ai":
            self.is_clean = not self._waiting and self._call(_declared_ids(message))
        elif answered := results_of(message):
            self.is_clean = self._waiting.issuperset(answered) and len(set(answered)) == len(answered)
            self._waiting.difference_update(answered)
        else:
            self.is_clean = not self._waiting and speaker_of(message) == "user"

    def _call(self, ids: list[str | None]) -> bool:
        for call_id in ids:
            if not call_id or call_id in self._used:
                return False
            self._used.add(call_id)
            self._waiting.add(call_id)
        return True


def _declared_ids(message: BaseMessage) -> list[str | None]:
    """Return the ids of all calls with their repeats: `calls_of` folds what stands in content and in `tool_calls` alike."""
    if not isinstance(message, AIMessage):
        return []
    declared: list[str | None] = [call.get("id") for call in message.tool_calls]
    declared += [call.get("id") for call in message.invalid_tool_calls]
    known = set(declared)
    declared += [call.call_id for call in calls_of(message) if call.call_id not in known]
    return declared


def repair(messages: Sequence[BaseMessage]) -> Repaired:
    """Return `messages` as a provider accepts them, and their units. Messages that need no change are the same objects.

    A missing result becomes a marked error result, unless the call waits in the newest AI message; an orphan result becomes untrusted
    text; a result moves up to its call; of two results for one call the first stands and the other becomes text; a system message in
    the list becomes untrusted text.
    """
    given = _given(messages)
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
    source: int
    results: list[tuple[BaseMessage, int]]
    waiting: dict[str, str]
    """Id in the input -> id in the output."""


def _given(messages: Sequence[BaseMessage]) -> _Given:
    faults: list[Fault] = []
    exchanges: dict[int, _Exchange] = {}
    open_by_id: dict[str, _Exchange] = {}
    taken: set[str] = set()
    called: set[str] = set()
    owner: dict[int, _Exchange] = {}
    text_instead: dict[int, BaseMessage] = {}
    newest: _Exchange | None = None
    blocked = False
    for index, message in enumerate(messages):
        speaker = speaker_of(message)
        if isinstance(message, AIMessage):
            newest, blocked = None, False
            if _declared_ids(message):
                newest = _open_exchange(message, index, taken, faults)
                exchanges[index] = newest
                called.update(newest.waiting)
                for call_id in newest.waiting:
                    open_by_id[call_id] = newest
            continue
        answered = results_of(message)
        if answered:
            exchange = _exchange_for(answered, open_by_id)
            if exchange is None:
                kind: Literal["duplicate_result", "orphan_result"] = "orphan_result" if called.isdisjoint(answered) else "duplicate_result"
                faults.append(Fault(kind=kind, message_id=_name(message), call_id=answered[0]))
                text_instead[index] = as_note(message, source="tool", call_id=answered[0])
                continue
            owner[index] = exchange
            exchange.results.append((_renamed_result(message, exchange), index))
            for call_id in answered:
                exchange.waiting.pop(call_id, None)
                open_by_id.pop(call_id, None)
            if exchange is not newest or blocked:
                faults.append(Fault(kind="moved_result", message_id=_name(message), call_id=answered[0]))
            continue
        if speaker == "system" or (speaker == "tool" and not isinstance(message, FunctionMessage)):
            faults.append(Fault(kind="system_message_in_list", message_id=_name(message)))
            text_instead[index] = as_note(message, source="summary" if is_foreign_summary(message) else speaker)
        blocked = True
    return _Given(_arranged(messages, exchanges, owner, text_instead, newest, blocked, faults), faults)


def _exchange_for(answered: tuple[str, ...], open_by_id: dict[str, _Exchange]) -> _Exchange | None:
    for call_id in answered:
        if call_id in open_by_id:
            return open_by_id[call_id]
    return None


def _arranged(  # noqa: PLR0917 - the one place where the pieces of a repair meet
    messages: Sequence[BaseMessage],
    exchanges: dict[int, _Exchange],
    owner: dict[int, _Exchange],
    text_instead: dict[int, BaseMessage],
    newest: _Exchange | None,
    blocked: bool,  # noqa: FBT001
    faults: list[Fault],
) -> list[_Item]:
    items: list[_Item] = []
    for index, message in enumerate(messages):
        if index in owner:
            continue
        exchange = exchanges.get(index)
        if exchange is None:
            items.append(_Item(text_instead.get(index, message), index, index))
            continue
        items.append(_Item(exchange.message, index, index))
        items += [_Item(result, source, index) for result, source in exchange.results]
        if exchange is newest and not blocked:
            continue
        for call_id, shown in exchange.waiting.items():
            faults.append(Fault(kind="missing_result", message_id=_name(message), call_id=call_id))
            items.append(_Item(_made_up_result(shown), None, index))
    return items


def _open_exchange(message: AIMessage, index: int, taken: set[str], faults: list[Fault]) -> _Exchange:
    """Give every call an id of its own: nameless calls get one, repeats within a message go, an id used before gets a suffix."""
    declared = _declared_ids(message)
    waiting: dict[str, str] = {}
    repeats = False
    nameless = 0
    for call_id in declared:
        if not call_id:
            faults.append(Fault(kind="call_without_id", message_id=_name(message)))
            made = f"call_{message_digest(message)[:12]}_{nameless}"
            nameless += 1
            waiting[made] = _unused(made, taken)
        elif call_id in waiting:
            faults.append(Fault(kind="duplicate_call", message_id=_name(message), call_id=call_id))
            repeats = True
        else:
            waiting[call_id] = _unused(call_id, taken)
            if waiting[call_id] != call_id:
                faults.append(Fault(kind="duplicate_call", message_id=_name(message), call_id=call_id))
    if repeats or nameless or any(given != shown for given, shown in waiting.items()):
        message = _with_call_ids(message, waiting, [given for given in waiting if given not in declared])
    return _Exchange(message, index, [], waiting)


def _unused(call_id: str, taken: set[str]) -> str:
    """Return `call_id`, or its first free variant: providers refuse an id twice in one request."""
    shown, count = call_id, 1
    while shown in taken:
        count += 1
        shown = f"{call_id}_{count}"
    taken.add(shown)
    return shown


def _with_call_ids(message: AIMessage, shown: dict[str, str], made: list[str]) -> AIMessage:
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
    extras = dict(message.additional_kwargs)
    if isinstance(extras.get("tool_calls"), list):
        rename = renaming()
        extras["tool_calls"] = [{**call, "id": new} for call in extras["tool_calls"] if isinstance(call, dict) and (new := rename(call.get("id")))]
    update = {"tool_calls": tool_calls, "invalid_tool_calls": invalid, "content": content, "additional_kwargs": extras}
    return message.model_copy(update=update)


def _renamed_result(message: BaseMessage, exchange: _Exchange) -> BaseMessage:
    if isinstance(message, ToolMessage):
        shown = exchange.waiting.get(message.tool_call_id, message.tool_call_id)
        return message if shown == message.tool_call_id else message.model_copy(update={"tool_call_id": shown})
    blocks = [
        {**block, "tool_use_id": exchange.waiting.get(block["tool_use_id"], block["tool_use_id"])}
        if isinstance(block, dict) and block.get("type") == "tool_result"
        else block
        for block in message.content
    ]
    return message if blocks == message.content else message.model_copy(update={"content": blocks})


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


def _name(message: BaseMessage) -> str:
    return message.id or message_digest(message)


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
        newest_before = max([newest_before, *(item.source for item in items[start:stop] if item.source is not None)])
    newest_ai = max((index for index, item in enumerate(items) if isinstance(item.message, AIMessage)), default=-1)
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

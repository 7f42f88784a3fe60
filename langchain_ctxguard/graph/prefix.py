"""`PrefixWatch`: what became of the prompt cache from one model call to the next. Telemetry: it decides nothing and never stops a run."""

from __future__ import annotations

import threading
import time
import warnings
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage

from langchain_ctxguard.backends.fingerprint import fingerprint
from langchain_ctxguard.backends.message_cost import json_text
from langchain_ctxguard.backends.tokens import counter_for
from langchain_ctxguard.backends.tool_cost import tool_key, tool_text
from langchain_ctxguard.core.effects import CountTokens
from langchain_ctxguard.core.fingerprint import (
    SERIALIZER_VERSION,
    Front,
    PrefixSnapshot,
    common_part,
    divergence,
    front_of,
    reason_of,
    snapshot_of,
)
from langchain_ctxguard.core.remind import length_without_reminder
from langchain_ctxguard.core.tool_order import stable_tools, tool_name
from langchain_ctxguard.domain.constraint import Constraint
from langchain_ctxguard.domain.prefix import DriftReason, PrefixReport, PriceTable, TokenUsage
from langchain_ctxguard.engine import tools_cost
from langchain_ctxguard.graph.first_token import FirstToken
from langchain_ctxguard.records.bounded import Bounded

_THREADS = 256
_MESSAGES = 1_000_000
"""Messages remembered over all threads, 16 bytes each."""

_RECENT = 32
"""Threads whose last messages are held to be compared by identity: an edit in the middle is then found at once."""

_EXACT = 512
"""Up to so many messages."""

_FRONTS = 64
_TOOL_LISTS = 32
_NOTHING: dict[str, Any] = {}


class Watched:
    """One model call under watch: `with` it around the call, then ask for the report."""

    __slots__ = ("_common", "_listener", "_offset", "_reason", "_snapshot", "_started", "_watch")

    def __init__(
        self, watch: PrefixWatch, snapshot: PrefixSnapshot | None, *, offset: int | None, reason: DriftReason | None, common: int | None
    ) -> None:
        """Bind what is known before the call."""
        self._watch = watch
        self._snapshot = snapshot
        self._offset = offset
        self._reason = reason
        self._common = common
        self._listener = FirstToken(watch.clock) if watch.is_listening else None
        self._started = watch.clock()

    def __enter__(self) -> Self:
        """Start the clock."""
        if self._listener is not None:
            self._listener.__enter__()
        self._started = self._watch.clock()
        return self

    def __exit__(self, *error: object) -> None:
        """Stop listening for the first token."""
        if self._listener is not None:
            self._listener.__exit__(*error)

    def after(self, response: Any) -> PrefixReport | None:
        """Return the report, given a `ModelResponse` or a message; `None` where it could not be made. Never raises."""
        ended = self._watch.clock()
        try:
            return self._report(response, ended)
        except Exception as error:  # noqa: BLE001 - telemetry has no veto
            self._watch.failed(error)
            return None

    def _report(self, response: Any, ended: float) -> PrefixReport | None:
        snapshot = self._snapshot
        if snapshot is None:
            return None
        answer = _answer_in(response)
        usage = None if answer is None else TokenUsage.of(answer.usage_metadata, answer.response_metadata)
        prices = self._watch.prices
        front = snapshot.front
        first = None if self._listener is None else self._listener.at
        return PrefixReport(
            prefix_fingerprint=snapshot.fingerprint,
            serializer_version=SERIALIZER_VERSION,
            first_changed_offset=self._offset,
            drift_reason=self._reason,
            common_prefix_tokens=self._common,
            prompt_cache_hit_tokens=None if usage is None else usage.cache_hit,
            prompt_cache_miss_tokens=None if usage is None else usage.cache_miss,
            time_to_first_token_s=None if first is None else max(0.0, first - self._started),
            total_latency_s=max(0.0, ended - self._started),
            cost=None if usage is None or prices is None else prices.cost(front.provider, front.model, usage),
            tokens=snapshot.tokens,
        )


class PrefixWatch:
    """Compares every model call of a thread with the one before, at the cost of the messages that are new.

    It remembers digests, at most of 256 threads and a million messages. Losing them costs one comparison.
    """

    def __init__(
        self,
        prices: PriceTable | None = None,
        *,
        clock: Callable[[], float] = time.perf_counter,
        count: CountTokens | None = None,
        is_listening: bool = True,
    ) -> None:
        """Bind what it needs.

        Args:
            prices: For the cost of a call; `None`: no cost.
            clock: Says what time it is, in seconds of any epoch.
            count: Counts what is shared after a drift; `None`: the package's own counter.
            is_listening: Time the first token of streamed answers, for about 25 us a call within LangChain's callbacks.
        """
        self.prices = prices
        self.clock = clock
        self.is_listening = is_listening
        self.failures = 0
        """How often a report could not be made."""

        self._count = count
        self._threads = _Threads()
        self._by_identity: Bounded[tuple[Any, Front]] = Bounded(_FRONTS)
        self._by_content: Bounded[Front] = Bounded(_FRONTS)
        self._lock = threading.Lock()

    def before(
        self,
        key: Hashable | None,
        *,
        model: Any,
        messages: Sequence[BaseMessage],
        system: SystemMessage | None = None,
        tools: Sequence[Any] = (),
        rules: Sequence[Constraint] = (),
        permissions: Iterable[str] = (),
        head: int = 0,
        tokens: int | None = None,
        is_rebuild: bool = False,
    ) -> Watched:
        """Take notice of a call that is about to be made. Never raises.

        An edit in the middle of a conversation of more than 500 messages may be noticed some calls later. A reminder at the end is no part of
        the prefix.

        Args:
            key: The thread the call belongs to; `None`: there is no call before it to compare with.
            model: The chat model that is called.
            messages: What is sent behind the system message.
            system: The system message as it is sent.
            tools: The tools as they are sent; hand the same objects again for the same tools.
            rules: The rules in force; hand the same tuple again for the same rules.
            permissions: What the agent may do, by any names.
            head: Number of the context version in force.
            tokens: What all of it costs, system message and tools included.
            is_rebuild: The context was built anew on demand.
        """
        try:
            front = self._front(model, tools, system, rules, frozenset(permissions))
            length = length_without_reminder(messages)
            if key is None:
                seen = _messages_to(messages, length)
                return Watched(self, snapshot_of(front, seen, head=head, tokens=tokens), offset=None, reason=None, common=None)
            thread = self._threads.of(key)
            with thread.lock:
                previous = thread.snapshot
                unchanged = thread.unchanged(messages, length)
                snapshot = snapshot_of(
                    front, _messages_to(messages, length), head=head, tokens=tokens, is_rebuild=is_rebuild, before=previous, unchanged=unchanged
                )
                grown = thread.took(snapshot, messages)
            if grown:
                self._threads.grew(thread, grown)
            if previous is None:
                return Watched(self, snapshot, offset=None, reason=None, common=None)
            return self._compared(previous, snapshot, tools=tools, system=system, messages=messages)
        except Exception as error:  # noqa: BLE001 - telemetry has no veto
            self.failed(error)
            return Watched(self, None, offset=None, reason=None, common=None)

    def failed(self, error: Exception) -> None:
        """Count a report that could not be made, and warn about the first."""
        with self._lock:
            self.failures += 1
            is_first = self.failures == 1
        if is_first:
            warnings.warn(f"The prompt cache is not watched: {type(error).__name__}: {error}. The run goes on.", RuntimeWarning, stacklevel=3)

    def _compared(
        self, before: PrefixSnapshot, after: PrefixSnapshot, *, tools: Sequence[Any], system: SystemMessage | None, messages: Sequence[BaseMessage]
    ) -> Watched:
        found = divergence(before, after)
        reason = reason_of(found, before, after)
        if found is None and before.tokens is not None:
            return Watched(self, after, offset=None, reason=reason, common=before.tokens)
        shared_tools, shared = common_part(found, before, tools=tools, system=system, messages=messages)
        count = self._count or counter_for()
        common = tools_cost(count, shared_tools) + (count(shared) if shared else 0)
        return Watched(self, after, offset=None if found is None else found.offset, reason=reason, common=common)

    def _front(
        self, model: Any, tools: Sequence[Any], system: SystemMessage | None, rules: Sequence[Constraint], permissions: frozenset[str]
    ) -> Front:
        """Return what stands before the messages; what is the very object of an earlier call is not read again."""
        content = None if system is None else system.content
        # Routers rename a model in place; asking pydantic for a field that is not there would cost more than all the rest.
        fields = getattr(model, "__dict__", _NOTHING)
        key = (id(model), fields.get("model_name"), fields.get("model"), id(content), id(rules), permissions, *map(id, tools))
        known = self._by_identity.get(key)
        if known is None:
            front = self._front_by_content(model, tools, system, rules, permissions)
            # The objects are held, so that their identities cannot be used anew.
            known = ((model, content, rules, tuple(tools)), front)
            self._by_identity.put(key, known)
        return known[1]

    def _front_by_content(
        self, model: Any, tools: Sequence[Any], system: SystemMessage | None, rules: Sequence[Constraint], permissions: frozenset[str]
    ) -> Front:
        """Find the front of other objects that say the same: some agents build prompt and tools anew for every call."""
        provider, name = _names_of(model)
        said = None if system is None else _fingerprint(system.content)
        contracts = tuple(map(tool_key, tools))
        key = (provider, name, said, contracts, tuple((rule.constraint_id, rule.version) for rule in rules), permissions)
        is_known = None not in contracts and (system is None or said is not None)
        front = self._by_content.get(key) if is_known else None
        if front is None:
            texts = [(tool_name(tool), _contract(tool)) for tool in tools]
            front = front_of(provider, name, tools=texts, system=system, rules=rules, permissions=permissions)
            if is_known:
                self._by_content.put(key, front)
        return front


class StableTools:
    """Keeps the tools of an agent in one order from call to call."""

    def __init__(self) -> None:
        """Know no tool yet."""
        self._order: tuple[str, ...] = ()
        self._known: Bounded[tuple[Sequence[Any], Sequence[Any]]] = Bounded(_TOOL_LISTS)
        self._lock = threading.Lock()

    def arranged(self, tools: Sequence[Any]) -> Sequence[Any]:
        """Return `tools` in stable order; the same list where they are."""
        key = tuple(map(id, tools))
        known = self._known.get(key)
        if known is None:
            with self._lock:
                arranged, self._order = stable_tools(tools, self._order)
            known = (tuple(tools), arranged)
            self._known.put(key, known)
            return arranged
        # The list itself may be another one with the same tools in it.
        return tools if _is_as_given(known) else known[1]


@dataclass(slots=True, eq=False)
class _Thread:
    """What is remembered of one thread."""

    lock: threading.Lock
    snapshot: PrefixSnapshot | None = None
    last: int = 0
    """Identity of the last message taken in."""

    seen: list[BaseMessage] | None = None
    """The messages themselves, as long as the thread is among those used last and they are not too many to compare."""

    turn: int = 0
    held: int = 0

    def unchanged(self, messages: Sequence[BaseMessage], length: int) -> int:
        """Return how many leading messages are those of the call before.

        Where the last one is the very object, the messages were not loaded anew, and a comparison of identities tells. In a long list the end
        and one in turn stand for all.
        """
        if self.snapshot is None:
            return 0
        holds, count = self.snapshot.trail.holds, self.snapshot.length
        if 0 < count <= length and id(messages[count - 1]) == self.last and (self.seen is None or self.seen == messages[:count]):
            self.turn += 1
            for index in (self.turn % count, count - 1):
                if not holds(index, messages[index]):
                    break
            else:
                return count
        self.seen = None
        for index in range(min(count, length)):
            if not holds(index, messages[index]):
                return index
        return min(count, length)

    def took(self, snapshot: PrefixSnapshot, messages: Sequence[BaseMessage]) -> int:
        """Remember a call; return by how many messages the memory grew."""
        length = snapshot.length
        held, self.held = self.held, len(snapshot.trail)
        self.last = id(messages[length - 1]) if length else 0
        if length > _EXACT:
            self.seen = None
        else:
            seen = self.seen or []
            seen += messages[len(seen) : length]
            self.seen = seen
        self.snapshot = snapshot
        return self.held - held


class _Threads:
    """Threads by key, those used longest ago forgotten: by their number, and by their messages together."""

    def __init__(self) -> None:
        self._entries: OrderedDict[Hashable, _Thread] = OrderedDict()
        self._recent: OrderedDict[int, _Thread] = OrderedDict()
        self._sizes: dict[int, int] = {}
        self._held = 0
        self._lock = threading.Lock()

    def of(self, key: Hashable) -> _Thread:
        with self._lock:
            found = self._entries.get(key)
            if found is None:
                found = self._entries[key] = _Thread(threading.Lock())
                self._sizes[id(found)] = 0
                self._trim()
            else:
                self._entries.move_to_end(key)
            self._recent[id(found)] = found
            self._recent.move_to_end(id(found))
            if len(self._recent) > _RECENT:
                self._recent.popitem(last=False)[1].seen = None
            return found

    def grew(self, thread: _Thread, by: int) -> None:
        with self._lock:
            if id(thread) in self._sizes:
                self._sizes[id(thread)] += by
                self._held += by
                self._trim()

    def _trim(self) -> None:
        while len(self._entries) > _THREADS or (self._held > _MESSAGES and len(self._entries) > 1):
            _, gone = self._entries.popitem(last=False)
            self._held -= self._sizes.pop(id(gone))
            self._recent.pop(id(gone), None)


def _messages_to(messages: Sequence[BaseMessage], length: int) -> Sequence[BaseMessage]:
    return messages if length == len(messages) else messages[:length]


def _contract(tool: Any) -> str:
    """Return a tool's JSON as it is sent: a dict as it is, in the order of its keys."""
    return json_text(tool) if isinstance(tool, dict) else tool_text(tool)


def _fingerprint(content: Any) -> int | None:
    try:
        return fingerprint(content)
    except (TypeError, RecursionError):
        return None


def _is_as_given(known: tuple[Sequence[Any], Sequence[Any]]) -> bool:
    return all(given is arranged for given, arranged in zip(*known, strict=True))


def _names_of(model: Any) -> tuple[str, str]:
    """Return provider and name of a chat model, as LangChain reports them to tracers; else as far as the object says."""
    bound = model
    while hasattr(bound, "bound") and not hasattr(bound, "_get_ls_params"):
        bound = bound.bound
    try:
        told = bound._get_ls_params()  # noqa: SLF001 - the one place where every chat model says both
    except Exception:  # noqa: BLE001 - somebody else's model may do anything
        told = {}
    name = told.get("ls_model_name") or getattr(bound, "model_name", None) or getattr(bound, "model", None)
    return str(told.get("ls_provider") or type(bound).__name__), str(name or type(bound).__name__)


def _answer_in(response: Any) -> AIMessage | None:
    result = getattr(response, "result", None)
    if result is None:
        inner = getattr(response, "model_response", None)
        result = [response] if inner is None else inner.result
    for message in reversed(result):
        if isinstance(message, AIMessage):
            return message
    return None

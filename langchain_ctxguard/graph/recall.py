"""The tools by which an agent reads what left its view: `recall_history` and `read_message`.

Thread and namespace come from the run, never from an argument: an agent reads its own conversation and no other. A sub-agent's conversation is
another one, though it runs in the same thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from langchain.tools import ToolRuntime
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool

from langchain_ctxguard.core.compile import parted
from langchain_ctxguard.core.identity import find_cut, message_keys
from langchain_ctxguard.core.recalled import (
    READ_TOOL,
    SEARCH_TOOL,
    Shown,
    excerpt_of,
    indexed_text,
    is_recalled,
    render_hits,
    render_read,
    shown_id,
    whole_text,
)
from langchain_ctxguard.core.redact import Redaction, left_of
from langchain_ctxguard.core.roles import results_of
from langchain_ctxguard.core.search_terms import query_terms
from langchain_ctxguard.domain.archive import Archived, handle_of
from langchain_ctxguard.domain.context import ContextHead
from langchain_ctxguard.domain.context_version import ContextPlace
from langchain_ctxguard.domain.extensions import Redactor
from langchain_ctxguard.domain.recall import RecallSettings
from langchain_ctxguard.domain.version import ContextEvent
from langchain_ctxguard.errors import BlobMissingError, ConfigurationError, StoreError
from langchain_ctxguard.graph.eviction import Eviction, state_of
from langchain_ctxguard.graph.state import CHANNEL, head_in
from langchain_ctxguard.graph.thread import thread_in
from langchain_ctxguard.records.recalls import RecallLog

MAX_QUERY = 1_000
"""Characters of a query that are looked at."""

_CANDIDATES = 6
"""How many times more are looked for than shown: some stand in view already, or belong to another branch."""

_SEARCH_ABOUT = (
    "Search earlier messages of this conversation that are no longer in view, by their words. Returns excerpts with ids.\n\n"
    "Args:\n    query: Words that stand in what you look for: names, numbers, ids."
)
_READ_ABOUT = (
    "Read one earlier message or tool result of this conversation again.\n\n"
    "Args:\n    id: The id a search returned, or the call id of a tool result that is shown in part.\n"
    "    start: Where to begin, in characters: for a long message."
)


@dataclass(frozen=True, slots=True)
class _Asking:
    """One use of a tool: by whom, and what it finds."""

    place: ContextPlace
    version: int | None
    messages: Sequence[BaseMessage]
    """The state's."""

    visible: frozenset[str]
    """Keys of the messages the model sees anyway."""


class Recall:
    """Answers the recall tools of one guard."""

    def __init__(
        self,
        eviction: Eviction,
        log: RecallLog,
        settings: RecallSettings,
        record: Callable[[ContextEvent], None],
        *,
        redact: Redactor | None = None,
    ) -> None:
        """Bind the archive, and where uses are put on record."""
        self._archive = eviction.archive
        self._log = log
        self._settings = settings
        self._record = record
        self._redact = redact

    def tools(self) -> list[BaseTool]:
        """Return the two tools."""

        def recall_history(query: str, runtime: ToolRuntime[Any, Any]) -> ToolMessage:
            return self._answered(SEARCH_TOOL, runtime, partial(self._search, query=query))

        async def arecall_history(query: str, runtime: ToolRuntime[Any, Any]) -> ToolMessage:
            return await asyncio.to_thread(recall_history, query, runtime)

        def read_message(id: str, runtime: ToolRuntime[Any, Any], start: int = 0) -> ToolMessage:  # noqa: A002 - the model's word
            return self._answered(READ_TOOL, runtime, partial(self._read, wanted=id, start=start))

        async def aread_message(id: str, runtime: ToolRuntime[Any, Any], start: int = 0) -> ToolMessage:  # noqa: A002 - as above
            return await asyncio.to_thread(read_message, id, runtime, start)

        return [
            StructuredTool.from_function(recall_history, arecall_history, name=SEARCH_TOOL, description=_SEARCH_ABOUT),
            StructuredTool.from_function(read_message, aread_message, name=READ_TOOL, description=_READ_ABOUT),
        ]

    def _answered(self, name: str, runtime: ToolRuntime, answer: Callable[[_Asking], tuple[str, bool]]) -> ToolMessage:
        """Return the result of a tool; whatever goes wrong with the store, the run goes on."""
        asking = _asking(runtime)
        if asking is None:
            text, is_found = "Nothing can be recalled: this conversation runs in no thread, so nothing of it is kept.", False
        else:
            try:
                text, is_found = answer(asking)
            except BlobMissingError:
                text, is_found = "This message was erased. It cannot be read any more.", False
            except StoreError as error:
                self._record(ContextEvent(kind="store_failed", detail=f"The archive could not be read ({type(error).__name__})."))
                text, is_found = "The archive cannot be reached at the moment. Go on without it, or try again later.", False
        return ToolMessage(text, tool_call_id=runtime.tool_call_id or "", name=name, status="success" if is_found else "error")

    def _search(self, asking: _Asking, *, query: str) -> tuple[str, bool]:
        query = query[:MAX_QUERY]
        limit = self._settings.hits * _CANDIDATES
        hits = self._archive.search(asking.place, query, limit=limit, version=asking.version)
        found = [one for one in self._archive.located(asking.place, hits, version=asking.version) if one[1].key not in asking.visible]
        shown = found[: self._settings.hits]
        read = self._archive.read(asking.place, [row.address for _, row in shown])
        asked, beginnings = query_terms(query)
        text = render_hits(
            [self._excerpt(position, row, read[row.address], [*asked, *beginnings]) for position, row in shown],
            total=len(found),
        )
        names = {f"{position}:{row.address}" for position, row in shown}
        self._note(
            asking.place,
            query,
            kind="search",
            candidates=tuple((hit.key, round(hit.score, 4)) for hit in hits),
            shown=tuple(hit.key for hit in hits if hit.key in names),
            characters=len(text) if shown else 0,
            calls=self._settings.calls if shown else 0,
        )
        if not shown:
            return "Nothing was found among the messages that are out of view. Try other words: names, numbers or ids that stood in it.", False
        return text, True

    def _excerpt(self, position: int, row: Archived, message: BaseMessage, terms: Sequence[str]) -> Shown:
        text = indexed_text(self._redacted(message))
        start, part = excerpt_of(text, terms, self._settings.excerpt)
        return Shown(handle_of(position, row.address), message, part, start, len(text))

    def _read(self, asking: _Asking, *, wanted: str, start: int) -> tuple[str, bool]:
        wanted = wanted.strip().removeprefix("[").removesuffix("]")
        found = self._in_state(asking, wanted)
        address = ""
        if found is None and (named := self._archive.find(asking.place, wanted, version=asking.version)) is not None:
            found = (named.handle, named.message)
            address = f"{named.position}:{named.address}"
        if found is None or is_recalled(found[1]):
            self._note(asking.place, wanted[:MAX_QUERY], kind="read", start=max(start, 0))
            return f'No message is called "{shown_id(wanted)}" in this conversation. {SEARCH_TOOL} finds messages and their ids.', False
        handle, message = found
        text = whole_text(self._redacted(message))
        start = min(max(start, 0), len(text))
        part = text[start : start + self._settings.read]
        self._note(
            asking.place,
            wanted[:MAX_QUERY],
            kind="read",
            shown=(address or f"state:{shown_id(handle)}",),
            start=start,
            characters=len(part),
            calls=self._settings.calls,
        )
        how_long = f" for {self._settings.calls} calls" if self._settings.calls else ""
        self._record(ContextEvent(kind="message_recalled", detail=f"{len(part)} characters of an earlier message are in view again{how_long}."))
        return render_read(Shown(handle, message, part, start, len(text))), True

    def _note(self, place: ContextPlace, asked: str, **about: Any) -> None:
        """Put a use on record, what was asked for as the redactor leaves it."""
        self._log.note(place, left_of(self._redact, asked), **about)

    def _in_state(self, asking: _Asking, wanted: str) -> tuple[str, BaseMessage] | None:
        """Return the message of the state that is meant by its own id or that of a call it answers, newest first."""
        for message in reversed(asking.messages):
            names = (message.id, *results_of(message))
            if wanted and any(name and wanted in (name, shown_id(name)) for name in names):
                return wanted, message
        return None

    def _redacted(self, message: BaseMessage) -> BaseMessage:
        return message if self._redact is None else Redaction(self._redact).message(message)


def recall_of(
    eviction: Eviction | None, log: RecallLog | None, settings: RecallSettings, record: Callable[[ContextEvent], None], redact: Redactor | None
) -> Recall:
    """Return what answers the recall tools of a guard.

    Raises:
        ConfigurationError: the guard has no store.
    """
    if eviction is None or log is None:
        msg = "This guard keeps nothing that could be recalled: it was made without a store. Pass `store='sqlite:///ctxguard.db'` to ContextGuard."
        raise ConfigurationError(msg)
    return Recall(eviction, log, settings, record, redact=redact)


def _asking(runtime: ToolRuntime) -> _Asking | None:
    thread, namespace = thread_in(runtime.config)
    if not isinstance(thread, str) or not thread:
        return None
    state: Any = runtime.state
    messages = list(state_of(state))
    raw = state.get(CHANNEL) if isinstance(state, dict) else getattr(state, CHANNEL, None)
    head = head_in(raw)
    version = head.version if isinstance(head, ContextHead) else None
    rest = parted(messages).rest
    at = find_cut(head.cut, rest) if isinstance(head, ContextHead) and head.body is not None else 0
    tail = rest[at or 0 :]
    start = head.cut.position if isinstance(head, ContextHead) else 0
    elided = head.body.elided if isinstance(head, ContextHead) and head.body is not None else {}
    keys = zip(message_keys(tail, start=start), tail, strict=True)
    visible = frozenset(key for key, message in keys if not any(call in elided for call in results_of(message)))
    return _Asking(ContextPlace(thread=thread, namespace=namespace), version, messages, visible)

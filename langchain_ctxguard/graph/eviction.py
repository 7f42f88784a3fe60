"""What leaves the view goes into the archive; out of the state, where that is set; and back into the state when an older version holds again."""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from langchain_core.messages import BaseMessage, RemoveMessage, SystemMessage
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.types import Overwrite

from langchain_ctxguard.backends.message_blobs import MessageBlobs
from langchain_ctxguard.backends.store import GuardStore
from langchain_ctxguard.core.bring_back import Gap, gap_before
from langchain_ctxguard.core.compile import parted
from langchain_ctxguard.core.identity import find_cut, message_keys, name_in, name_of
from langchain_ctxguard.core.redact import Redaction
from langchain_ctxguard.core.roles import results_of
from langchain_ctxguard.domain.archive import ArchivedPart
from langchain_ctxguard.domain.context import ContextHead
from langchain_ctxguard.domain.context_version import ContextPlace
from langchain_ctxguard.domain.extensions import Redactor
from langchain_ctxguard.domain.version import ContextEvent
from langchain_ctxguard.records.archive import Archive
from langchain_ctxguard.records.bounded import Bounded
from langchain_ctxguard.records.collected import Collections
from langchain_ctxguard.records.versions import VersionLog

MESSAGES = "messages"


@dataclass(slots=True)
class StateChange:
    """What a call does to the messages of the state, beside adding its answer."""

    state: Sequence[BaseMessage]
    """The messages as the state has them: an outer middleware may show others to the model."""

    held: Callable[[], Collection[str]] = tuple
    """Returns the keys of messages that must stay: they are pinned. Asked only where something is to leave."""

    is_alone: bool = False
    """Nobody else writes messages in this step, so the whole list may be written: what has no id cannot be removed by it."""

    gone: set[int] = field(default_factory=set)
    """Indices of messages that may leave: their content rests in the store."""

    back: list[BaseMessage] | None = None
    """The whole conversation, where messages were brought back."""

    @property
    def messages(self) -> Sequence[BaseMessage]:
        """The messages as they are to be, before any leaves."""
        return self.state if self.back is None else self.back

    def update(self, answers: Sequence[BaseMessage] = ()) -> dict[str, Any]:
        """Return the update of the state.

        Args:
            answers: What the call adds itself: whoever writes the whole list writes them too.
        """
        leaving = [self.messages[index] for index in sorted(self.gone)]
        if self.back is None and all(message.id for message in leaving):
            return {MESSAGES: [RemoveMessage(id=message.id or "") for message in leaving]} if leaving else {}
        for answer in answers:
            # Both writes must mean the same message.
            answer.id = answer.id or str(uuid.uuid4())
        # Not as new messages: a stream of messages would say them all again.
        return {MESSAGES: Overwrite([*(one for index, one in enumerate(self.messages) if index not in self.gone), *answers])}


class Eviction:
    """Moves messages between a state and the archive of its thread."""

    def __init__(
        self,
        store: GuardStore,
        versions: VersionLog,
        record: Callable[[ContextEvent], None],
        *,
        leaves_state: bool,
        trust_system_messages: bool,
        redact: Redactor | None = None,
        serde: SerializerProtocol | None = None,
    ) -> None:
        """Bind a store.

        Args:
            store: Where.
            versions: Its versions.
            record: Is told what is worth knowing.
            leaves_state: Whether evicted messages leave the state too.
            trust_system_messages: Whether system messages in the list are the application's: then they stay.
            redact: The application's redactor: what it takes out cannot be found.
            serde: How content is written; the saver's, where that encrypts.
        """
        self.contents = MessageBlobs(store.blobs, serde=serde, give_back=Collections(store).give_back)
        """Where messages rest, as the saver's do."""

        self.archive = Archive(store, self.contents, versions, shown=None if redact is None else partial(_redacted, redact))
        self.leaves_state = leaves_state
        self._is_durable = store.is_durable
        self._record = record
        self._trusts = trust_system_messages
        self._said: Bounded[bool] = Bounded(1_024)

    def put(
        self, place: ContextPlace, before: ContextHead, after: ContextHead, messages: Sequence[BaseMessage], state: Sequence[BaseMessage]
    ) -> ArchivedPart:
        """Archive what a version takes out of the view, as the state has it.

        Raises:
            StoreError: the store cannot be reached; nothing may leave the state.
        """
        own = {message.id: message for message in state if message.id}
        rest = [own.get(message.id or "", message) for message in parted(messages).rest]
        first = (find_cut(before.cut, rest) or 0) if before.body is not None else 0
        found = find_cut(after.cut, rest)
        stop = len(rest) if found is None else found
        at = before.cut.position if before.body is not None else 0
        if self.leaves_state and first:
            # What left the view before anybody archived it.
            names = list(map(name_of, rest[:first]))
            known = self.archive.holding(place, names, version=before.version)
            unknown = next((index for index, name in enumerate(names) if name not in known), first)
            first, at = unknown, max(0, at - (first - unknown))
        keys = message_keys(rest[first:], start=at)
        entries = [(key, _call_of(message), message) for key, message in zip(keys, rest[first:], strict=True)]
        elided = () if after.body is None else after.body.elided
        aside = {at + index: entry for index, entry in enumerate(entries) if index >= stop - first and entry[1] and entry[1] in elided}
        try:
            part = self.archive.put(place, entries[: stop - first], first=at, offloaded=aside)
        except (TypeError, ValueError) as error:
            # The version can do without: nothing leaves the state that is not archived.
            what = f"Messages were not archived: one holds what the serializer cannot write ({type(error).__name__}). They stay in the state."
            self._say(place, "not_archived", f"{what} Pass the checkpointer's serializer, `ContextGuard(serde=...)`, if it can.")
            return ArchivedPart()
        return part.model_copy(update={"left_state": self.leaves_state and bool(part.archive)})

    def leaving(self, place: ContextPlace, head: ContextHead, change: StateChange) -> set[int]:
        """Return which messages before the cut may leave the state: archived exactly as they are, not pinned, not shown by the view."""
        if not self.leaves_state or head.body is None:
            return set()
        front = parted(change.messages)
        at = find_cut(head.cut, front.rest)
        if not at:
            return set()
        if not change.is_alone and any(not message.id for message in change.messages):
            self._say(
                place,
                "state_not_evicted",
                "Messages of the state have no ids, so none of them can be removed; they stay. Use a `messages` channel with `add_messages`.",
            )
            return set()
        held = {*map(name_in, change.held()), name_in(head.body.request or "")}
        before = {id(message) for message in front.rest[:at]}
        candidates = {
            index: (name_of(message), message)
            for index, message in enumerate(change.messages[: len(front.system) + at])
            if id(message) in before and not (self._trusts and isinstance(message, SystemMessage))
        }
        known = self.archive.holding(place, [name for name, _ in candidates.values()], version=head.version)
        key = self.contents.key_of(place.thread) if self.contents.is_keyed else b""
        gone = {
            index
            for index, (name, message) in candidates.items()
            if name not in held and name in known and self._address(message, key) in known[name]
        }
        gone -= _leading(change.messages, gone)
        if gone and not self._is_durable and not self._said.get("durable"):
            self._said.put("durable", value=True)
            detail = "Messages leave the state for a store that ends with the process: with it they are lost."
            self._record(ContextEvent(kind="archive_not_durable", detail=detail, version=head.version))
            warnings.warn(f"{detail} Open one that lasts, e.g. store='sqlite:///ctxguard.db'.", UserWarning, stacklevel=2)
        return gone

    def brought_back(self, place: ContextPlace, now: ContextHead, start: int, messages: Sequence[BaseMessage]) -> list[BaseMessage] | None:
        """Return a conversation whole from position `start` on, `None` where nothing of it is missing.

        Args:
            place: Where.
            now: The head that belongs to the messages.
            start: Where the cut of the version lies that is to hold.
            messages: The conversation as the state has it.

        Raises:
            BlobMissingError: a message that is needed was erased.
        """
        if now.body is None or start >= now.cut.position or not self.archive.has_left(place, version=now.version):
            # What is missing where nothing left was removed by somebody else, and is not ours to bring back.
            return None
        gap: Gap | None = gap_before(messages, now, self.archive.rows(place, version=now.version), start=start)
        if gap is None or not gap.missing:
            return None
        found = self.archive.read(place, [row.address for row in gap.missing.values()])
        detail = f"{len(gap.missing)} messages are back in the state: the version that holds now needs them."
        self._record(ContextEvent(kind="messages_brought_back", detail=detail, version=now.version))
        return gap.filled(found)

    def _address(self, message: BaseMessage, key: bytes) -> str:
        """Return where a message rests if it is archived as it is; empty for one that cannot be written."""
        try:
            return self.contents.address_of(self.contents.content_of(message, key)[0])
        except (TypeError, ValueError):
            return ""

    def _say(self, place: ContextPlace, kind: Any, detail: str) -> None:
        if not self._said.get((kind, place)):
            self._said.put((kind, place), value=True)
            self._record(ContextEvent(kind=kind, detail=detail))


def _redacted(redact: Redactor, message: BaseMessage) -> BaseMessage:
    return Redaction(redact).message(message)


def _leading(messages: Sequence[BaseMessage], gone: Collection[int]) -> set[int]:
    """Return the message that must stay so that no other becomes a leading system message: those are trusted, and anybody can send a later one."""
    was = next((index for index, message in enumerate(messages) if not isinstance(message, SystemMessage)), len(messages))
    first = next((index for index in range(was, len(messages)) if index not in gone), None)
    if first is None or not isinstance(messages[first], SystemMessage):
        return set()
    return {max(index for index in range(was, first) if not isinstance(messages[index], SystemMessage))}


def state_of(state: Any) -> Sequence[BaseMessage]:
    """Return the messages of an agent's state; empty where it holds JSON that no write has turned into messages yet."""
    found = state.get(MESSAGES, ()) if isinstance(state, Mapping) else getattr(state, MESSAGES, ())
    return found if found and all(isinstance(one, BaseMessage) for one in (found[0], found[-1])) else ()


def _call_of(message: BaseMessage) -> str:
    answered = results_of(message)
    return answered[0] if len(answered) == 1 else ""

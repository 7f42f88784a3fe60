"""Makes hand-overs: before a compaction, at the end of a stage, when asked. From evidence; where a model is given, from the full context too."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from langchain_ctxguard.compact import summed_up
from langchain_ctxguard.core.handoff import Known, handoff_from
from langchain_ctxguard.core.identity import message_keys
from langchain_ctxguard.core.infer import infer
from langchain_ctxguard.core.items import Steps
from langchain_ctxguard.core.redact import Redaction
from langchain_ctxguard.core.worklog_text import log_text
from langchain_ctxguard.domain.constraint import Constraint
from langchain_ctxguard.domain.context import ContextHead, read_head
from langchain_ctxguard.domain.extensions import Extensions
from langchain_ctxguard.domain.handoff import Handoff
from langchain_ctxguard.domain.handoff_blocks import HandoffReason
from langchain_ctxguard.domain.summary import StructuredSummary
from langchain_ctxguard.domain.value import digest_of
from langchain_ctxguard.domain.version import ContextEvent
from langchain_ctxguard.domain.worklog import SaidBy, WorkEntry
from langchain_ctxguard.errors import ContextGuardError
from langchain_ctxguard.ports import Clock, KeptFolder
from langchain_ctxguard.records.bounded import Bounded
from langchain_ctxguard.records.handoffs import HandoffLog

HANDOFF = "handoff"
WORKLOG = "worklog.md"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class HandoffMaker:
    """Makes hand-overs and writes them: on record, and into the folder; a folder that cannot be written is told of once and never stops a run."""

    def __init__(
        self,
        folder: KeptFolder,
        log: HandoffLog,
        *,
        clock: Clock,
        record: Callable[[ContextEvent], None],
        model: Any = None,
        extensions: Extensions | None = None,
    ) -> None:
        """Bind where hand-overs go.

        Args:
            folder: Where people and agents read them.
            log: Where they are on record.
            clock: Says what time it is.
            record: Told of what happened.
            model: Reads the full context as well; `None`: nobody does.
            extensions: The application's redactor among them sees every text first.
        """
        self.folder = folder
        self.log = log
        self._clock = clock
        self._record = record
        self._model = model
        self._extensions = extensions
        self._redact = None if extensions is None else extensions.redact
        self._failed: Bounded[bool] = Bounded(256)

    def made(
        self,
        messages: Sequence[BaseMessage],
        raw_head: Any,
        *,
        thread: str,
        namespace: str,
        entries: tuple[WorkEntry, ...],
        rules: tuple[Constraint, ...] = (),
        todos: Steps | None = None,
        reason: HandoffReason = "compaction",
        by: SaidBy = "harness",
        next_action: str = "",
    ) -> Handoff:
        """Make a hand-over of a conversation, put it on record, and write it into the folder; return it with its number.

        Raises:
            StoreError: it could not be put on record.
        """
        if self._redact is not None:
            # Before anything is made of them: what is cut first may be cut where a redactor no longer knows it.
            redaction = Redaction(self._redact)
            messages = [redaction.message(message) for message in messages]
            todos = None if todos is None else tuple((redaction.text(text), state) for text, state in todos)
            next_action = redaction.text(next_action)
        found = read_head(raw_head)
        head = found if isinstance(found, ContextHead) else None
        said = infer(messages, message_keys(messages))
        known = Known(
            messages=messages,
            summary=self._read(messages, head),
            inferred=(*(() if head is None or head.body is None else head.body.evidence.inferred), *said),
            rules=rules,
            entries=tuple(entry for entry in entries if not namespace or entry.namespace == namespace),
            todos=todos,
        )
        handoff = handoff_from(known, thread=thread, namespace=namespace, at=self._clock(), reason=reason, by=by, next_action=next_action)
        numbered = self.log.append(handoff)
        self.write(numbered, entries)
        return numbered

    def _read(self, messages: Sequence[BaseMessage], head: ContextHead | None) -> StructuredSummary:
        """Return what the whole conversation adds up to, by the derivations every compaction uses: with the model, without it where that fails."""
        for summarizer in (None,) if self._model is None else (self._model, None):
            try:
                found = summed_up(messages, previous=head, summarizer=summarizer, extensions=self._extensions)
            except ContextGuardError:
                continue
            if found is not None:
                return found
        return StructuredSummary() if head is None or head.body is None else head.body.structured

    def write(self, handoff: Handoff, entries: Sequence[WorkEntry]) -> bool:
        """Write a hand-over and the log into the folder, the newest under a name of its own; say whether that could be done."""
        where = place_in(handoff.thread, handoff.namespace)
        text, data = handoff.to_markdown(), handoff.to_json()
        try:
            for name in (f"{HANDOFF}-{handoff.number:03d}", HANDOFF):
                self.folder.write(f"{where}/{name}.json", data)
                self.folder.write(f"{where}/{name}.md", text)
            self.folder.write(f"{place_in(handoff.thread, '')}/{WORKLOG}", log_text(entries))
        except OSError as error:
            self._tell_unwritten(handoff.thread, "A hand-over", error)
            return False
        self._record(
            ContextEvent(kind="handoff_written", detail=f"Hand-over {handoff.number} was written ({handoff.reason}).", version=handoff.number)
        )
        return True

    def mirror(self, thread: str, entries: Sequence[WorkEntry]) -> bool:
        """Write the file that mirrors a log; say whether that could be done."""
        try:
            self.folder.write(f"{place_in(thread, '')}/{WORKLOG}", log_text(entries))
        except OSError as error:
            self._tell_unwritten(thread, "The work log", error)
            return False
        return True

    def newest(self, thread: str, namespace: str = "") -> Handoff | None:
        """Return the newest hand-over of a conversation: as it is on record, else as it lies in the folder.

        Raises:
            StoreError: the record cannot be read.
        """
        found = self.log.newest(thread, namespace)
        if found is not None:
            return found
        try:
            text = self.folder.read(f"{place_in(thread, namespace)}/{HANDOFF}.json")
            read = None if text is None else Handoff.from_json(text)
        except (OSError, ValueError):
            return None
        # A file is anybody's to write: one that speaks of another conversation is none of this one.
        return read if read is not None and (read.thread, read.namespace) == (thread, namespace) else None

    def _tell_unwritten(self, thread: str, what: str, error: OSError) -> None:
        if self._failed.get(thread):
            return
        self._failed.put(thread, value=True)
        detail = f"{what} could not be written into the folder ({type(error).__name__}); it is on record in the store, and `read_handoff` shows it."
        self._record(ContextEvent(kind="handoff_kept_in_store", detail=detail))
        warnings.warn(f"{detail} {error}", UserWarning, stacklevel=2)


def place_in(thread: str, namespace: str) -> str:
    """Return the name of the folder of a conversation: of the thread's id where that is a plain name, else of its digest.

    >>> place_in("t-1", ""), place_in("../x", "")[:3]
    ('t-1', 'id-')
    """
    # A file system may know no difference between letters of either case.
    name = thread if _NAME.fullmatch(thread) and thread == thread.casefold() and not thread.startswith("id-") else f"id-{digest_of(thread)[:16]}"
    return name if not namespace else f"{name}/sub-{digest_of(namespace)[:12]}"

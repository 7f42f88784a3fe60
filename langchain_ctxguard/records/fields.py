"""Control fields that several agents share: those of a user or a team, on a log, with the history of each."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

from pydantic import ValidationError

from langchain_ctxguard.core.normalize import is_same_field_value
from langchain_ctxguard.core.render import CARRIED_LEAD, EVIDENCE_CLOSING, render_fields
from langchain_ctxguard.core.roles import EVIDENCE
from langchain_ctxguard.domain.consent import CROSS_SESSION_MEMORY
from langchain_ctxguard.domain.control import ControlField
from langchain_ctxguard.domain.encoded import encode_json
from langchain_ctxguard.domain.log import Entry, Stream
from langchain_ctxguard.domain.value import canonical_json
from langchain_ctxguard.errors import ConfigurationError, ConsentRequiredError, StoreError
from langchain_ctxguard.ports import BlobStore, Clock, ConsentReading, Log
from langchain_ctxguard.records.consents import ConsentReader
from langchain_ctxguard.records.versions import HasLog

KIND = "fields"
ConflictPolicy = Literal["confidence", "last"]
"""Two values of one field: the surer one holds and among equals the later, or always the later."""


class FieldRecord(NamedTuple):
    """One value a field was given."""

    seq: int
    """Number of the entry: the version of the subject's fields with it."""

    at: datetime
    by: str
    field: ControlField | None
    """`None`: its content was erased."""

    is_forgotten: bool = False
    """Somebody took the field back."""


class FieldStore:
    """The fields of one subject. Two agents writing at once lose nothing: each writes its own entries, and what holds is decided in reading.

    This is memory across sessions: while the subject's `consent.cross_session_memory` is not `true`, nothing is saved or loaded. What is known can
    always be looked up in the history, taken back and erased.
    """

    def __init__(
        self,
        store: HasLog,
        *,
        subject: str,
        consents: ConsentReading | None = None,
        thread: str | None = None,
        policy: ConflictPolicy = "confidence",
        clock: Clock | None = None,
    ) -> None:
        """Bind a store.

        Args:
            store: A `GuardStore`.
            subject: Whose fields: a user or a team.
            consents: What reads the subject's consents, e.g. `guard.consents`; `None`: those on record in `store`.
            thread: The thread this is used in: what the subject refused there is refused. The grant itself must be one for all threads.
            policy: What holds when a field is given two values.
            clock: Says what time it is; `None`: the system's, in UTC.

        Raises:
            ConfigurationError: no subject, or no policy of that name.
        """
        if not subject:
            msg = "A FieldStore holds the fields of a subject, and `subject` is empty; name the user or team they belong to."
            raise ConfigurationError(msg)
        if policy not in {"confidence", "last"}:
            msg = f'`policy` is "confidence" or "last", not {policy!r}.'
            raise ConfigurationError(msg)
        self._log: Log = store.log
        self._blobs: BlobStore = store.blobs
        self.subject = subject
        self._consents: ConsentReading = ConsentReader(store, clock=clock) if consents is None else consents
        self._thread = thread
        self._policy = policy
        self._clock: Clock = clock or (lambda: datetime.now(UTC))
        self._stream = Stream(tenant=store.tenant, kind=KIND, key=subject)
        self._space = canonical_json([KIND, subject])

    @property
    def version(self) -> int:
        """Number of the last entry: pass it to `save(expected=...)` to write only if nobody else did."""
        return self._log.heads([self._stream])[0]

    def load(self) -> tuple[ControlField, ...]:
        """Return the fields that hold, in the order they were first given.

        Raises:
            ConsentRequiredError: the subject did not allow memory across sessions.
            StoreError: the store or the ledger cannot be read.
        """
        self._require_consent("read")
        return self._holding()

    def _holding(self) -> tuple[ControlField, ...]:
        holding: dict[str, FieldRecord] = {}
        for record, name in self._records():
            if record.is_forgotten:
                holding.pop(name, None)
            elif record.field is not None:
                held = holding.get(name)
                if held is None or self._outdoes(record.field, held.field):
                    holding[name] = record
        return tuple(record.field for record in holding.values() if record.field is not None)

    def save(self, fields: Sequence[ControlField], *, by: str = "", expected: int | None = None) -> int:
        """Write the values that are new and return the version afterwards. A value that holds already is not written again.

        Args:
            fields: Fields with ids, as a compaction or `update_ledger` returns them; closed ones are taken back.
            by: Who writes, for the history.
            expected: The version the writer saw; `None`: whatever there is by now.

        Raises:
            ConsentRequiredError: the subject did not allow memory across sessions.
            LogConflictError: somebody wrote since `expected`.
            StoreError: a field has no id, or the store cannot be written, or the ledger not read.
        """
        self._require_consent("written")
        if any(not field.field_id for field in fields):
            msg = "A field without `field_id` cannot be told from another. Nothing was written; pass the fields of a ledger."
            raise StoreError(msg)
        known = {field.field_id: field for field in self._holding()}
        bodies = []
        for field in fields:
            held = known.get(field.field_id)
            if field.is_closed:
                bodies += [self._body(field, by, is_forgotten=True)] if held is not None else []
            elif held is None or not is_same_field_value(held, field) or field.confidence > held.confidence:
                bodies.append(self._body(field, by))
        if not bodies:
            return self.version
        refs = [f"field:{self.subject}"]
        return self._log.append(self._stream, bodies, expected=expected, refs=refs)[-1].seq

    def forget(self, field_id: str, *, by: str = "") -> None:
        """Take a field back; its history stays."""
        self._log.append(self._stream, [encode_json({"schema_version": 1, "field_id": field_id, "by": by, "is_forgotten": True})])

    def history(self, field_id: str) -> list[FieldRecord]:
        """Return every value a field was given, oldest first, who wrote it, and when it was taken back."""
        return [record for record, name in self._records() if name == field_id]

    def opening(self) -> dict[str, Any] | None:
        """Return the message to begin a thread with: the fields that hold, as untrusted history in the user role.

        `None` where there are none, or the subject did not allow memory across sessions.

        Raises:
            StoreError: the store or the ledger cannot be read.
        """
        lines = render_fields(self._holding()) if self._is_allowed() else []
        if not lines:
            return None
        inside = "\n".join([f"{CARRIED_LEAD}:", *(f"- {line}" for line in lines)])
        content = f'<{EVIDENCE} trust="untrusted">\n{inside}\n</{EVIDENCE}>\n{EVIDENCE_CLOSING}'
        return {"role": "user", "name": EVIDENCE, "content": content}

    def purge(self) -> int:
        """Erase all values of the subject, and return how many there were. That there were some stays on record."""
        return self._blobs.purge_space(self._space)

    def _is_allowed(self) -> bool:
        # A yes for one thread is none to what every thread will see.
        is_allowed = self._consents.read(self.subject).is_true(CROSS_SESSION_MEMORY)
        return is_allowed and (self._thread is None or self._consents.read(self.subject, thread=self._thread).is_true(CROSS_SESSION_MEMORY))

    def _require_consent(self, what: str) -> None:
        if not self._is_allowed():
            msg = (
                f"The fields of '{self.subject}' are memory across sessions, and '{CROSS_SESSION_MEMORY}' is not true for them. "
                f"Nothing was {what}; ask for that consent, and let the consent surface record it with ConsentLedger.grant."
            )
            raise ConsentRequiredError(msg, field=CROSS_SESSION_MEMORY, subject=self.subject)

    def _outdoes(self, new: ControlField, held: ControlField | None) -> bool:
        return held is None or self._policy == "last" or new.confidence >= held.confidence

    def _body(self, field: ControlField, by: str, *, is_forgotten: bool = False) -> bytes:
        """Return an entry without the value: that rests under a random name, which tells nothing once it is erased."""
        about: dict[str, Any] = {"schema_version": 1, "field_id": field.field_id, "by": by}
        if is_forgotten:
            return encode_json({**about, "is_forgotten": True})
        content = encode_json(field.model_dump(mode="json", exclude_defaults=True))
        (address,) = self._blobs.put(self._space, [content], addresses=[f"field:{uuid.uuid4().hex}"])
        return encode_json({**about, "confidence": field.confidence, "kind": str(field.kind), "value": address})

    def _records(self) -> list[tuple[FieldRecord, str]]:
        entries = [(entry, _read(entry)) for entry in self._log.read(self._stream)]
        addresses = [data["value"] for _, data in entries if isinstance(data.get("value"), str)]
        contents = self._blobs.get(self._space, addresses) if addresses else {}
        return [
            (
                FieldRecord(
                    entry.seq, entry.at, str(data.get("by", "")), _field(contents.get(data.get("value", ""))), bool(data.get("is_forgotten"))
                ),
                str(data["field_id"]),
            )
            for entry, data in entries
        ]


def _read(entry: Entry) -> dict[str, Any]:
    try:
        data = json.loads(entry.body)
        if data["schema_version"] == 1 and isinstance(data["field_id"], str):
            found: dict[str, Any] = data
            return found
    except (ValueError, KeyError, TypeError):
        pass
    msg = (
        f"Entry {entry.seq} of {entry.stream} is no field this package can read. Nothing was changed; `ctxguard verify` says whether it was altered."
    )
    raise StoreError(msg)


def _field(content: bytes | None) -> ControlField | None:
    if content is None:
        return None
    try:
        return ControlField.model_validate_json(content)
    except ValidationError:
        return None

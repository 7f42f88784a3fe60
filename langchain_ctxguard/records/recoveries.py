"""What compacted contexts showed of the work, one entry for each: numbers alone, so nothing of it needs to be erased."""

from __future__ import annotations

from pydantic import ValidationError

from langchain_ctxguard.domain.encoded import encode_json
from langchain_ctxguard.domain.log import Stream
from langchain_ctxguard.domain.work_metrics import Recovery
from langchain_ctxguard.ports import Log
from langchain_ctxguard.records.versions import HasLog

RECOVERIES = "recoveries"


class RecoveryLog:
    """Reads and writes what contexts showed, one stream for each thread."""

    def __init__(self, store: HasLog) -> None:
        """Bind a `GuardStore`."""
        self._log: Log = store.log
        self._tenant = store.tenant

    def note(self, thread: str, recovery: Recovery) -> None:
        """Put on record what a context showed, once for each version.

        Raises:
            StoreError: it cannot be written.
        """
        if all((one.namespace, one.version) != (recovery.namespace, recovery.version) for one in self.all(thread)):
            self._log.append(self._stream(thread), [encode_json(recovery.model_dump(mode="json"))])

    def all(self, thread: str) -> list[Recovery]:
        """Return what the contexts of a thread showed, oldest first; what a later version of this package wrote is left out."""
        found = []
        for entry in self._log.read(self._stream(thread)):
            try:
                found.append(Recovery.model_validate_json(entry.body))
            except ValidationError:
                continue
        return found

    def _stream(self, thread: str) -> Stream:
        return Stream(tenant=self._tenant, kind=RECOVERIES, key=thread)

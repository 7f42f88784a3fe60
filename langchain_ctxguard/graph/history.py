"""The versions of one thread: listed, compared, gone back to. Going back appends; nothing is replayed and no tool runs again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from langchain_core.runnables import RunnableConfig

from langchain_ctxguard.core.restore import head_diff
from langchain_ctxguard.domain.context import ContextHead, read_head
from langchain_ctxguard.domain.context_version import Attempt, ContextPlace, ContextVersion
from langchain_ctxguard.domain.version_diff import VersionDiff
from langchain_ctxguard.errors import ConfigurationError
from langchain_ctxguard.graph.state import CHANNEL
from langchain_ctxguard.records.versions import VersionLog

if TYPE_CHECKING:
    from langchain_ctxguard.graph.turns import Turns


class History:
    """What `guard.history(config)` returns."""

    def __init__(self, versions: VersionLog, place: ContextPlace, *, graph: Any = None, config: RunnableConfig | None = None) -> None:
        """Bind the record of one place; with a graph, its state is asked which version it has."""
        self._log = versions
        self.place = place
        self._graph = graph
        self._config = config

    @classmethod
    def of(cls, turns: Turns, config: RunnableConfig | None, graph: Any) -> History:
        """Return the history a guard has of a thread.

        Raises:
            ConfigurationError: the guard has no store, or the config names no thread.
        """
        if turns.versions is None:
            msg = "This guard keeps no versions: it was made without a store. Pass `store='sqlite:///ctxguard.db'` to ContextGuard."
            raise ConfigurationError(msg)
        configurable = (config or {}).get("configurable", {})
        thread = configurable.get("thread_id")
        if not isinstance(thread, str) or not thread:
            msg = 'A history is that of one thread; pass config={"configurable": {"thread_id": "..."}}.'
            raise ConfigurationError(msg)
        place = ContextPlace(thread=thread, namespace=str(configurable.get("checkpoint_ns", "") or ""))
        return cls(turns.versions, place, graph=graph, config=config)

    @property
    def versions(self) -> list[ContextVersion]:
        """All versions on record, oldest first."""
        return self._log.all(self.place)

    @property
    def attempts(self) -> list[Attempt]:
        """All compaction attempts on record, oldest first: rejected ones too."""
        return self._log.attempts(self.place)

    def head(self, number: int) -> ContextHead:
        """Return the full context of a version.

        Raises:
            VersionNotFoundError: there is none of that number.
            BlobMissingError: it was thinned or purged.
        """
        return self._log.head_of(self._log.get(self.place, number))

    def diff(self, before: int, after: int) -> VersionDiff:
        """Return what version `after` shows and version `before` does not, and the other way round; `str()` of it is a report.

        Raises:
            VersionNotFoundError: one of them is not on record.
            BlobMissingError: the content of one of them was thinned or purged.
        """
        one, two = self._log.get(self.place, before), self._log.get(self.place, after)
        heads = self._log.head_of(one), self._log.head_of(two)
        return head_diff(*heads, tokens=(one.tokens, two.tokens), consents=(one.consent_head, two.consent_head))

    def rollback(self, to: int | Literal["stable"], *, reason: str = "") -> ContextVersion:
        """Append a version with the content of an earlier one and return it. The agent's next call sees it.

        Messages, consents, approvals and budgets stay as they are.

        Args:
            to: Number of a version, or `"stable"`: the newest without a critical loss, the present one left out.
            reason: Why, for the record.

        Raises:
            VersionNotFoundError: there is no such version.
            BlobMissingError: its content was thinned or purged.
        """
        version, _ = self._log.restore(self.place, to, current=self._in_state(), reason=reason)
        return version

    def purge(self) -> int:
        """Erase the content of every version; the records and their chain stay."""
        return self._log.purge(self.place)

    def _in_state(self) -> ContextHead | None:
        if self._graph is None:
            return None
        found = read_head(self._graph.get_state(self._config).values.get(CHANNEL))
        return found if isinstance(found, ContextHead) else None

"""The versions of one thread: listed, compared, gone back to. Going back appends; nothing is replayed and no tool runs again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from langchain_core.runnables import RunnableConfig

from langchain_ctxguard.core.restore import head_diff
from langchain_ctxguard.domain.context import ContextHead, read_head
from langchain_ctxguard.domain.context_version import Attempt, ContextPlace, ContextVersion
from langchain_ctxguard.domain.version import ContextEvent
from langchain_ctxguard.domain.version_diff import VersionDiff
from langchain_ctxguard.errors import ConfigurationError
from langchain_ctxguard.graph.eviction import Eviction, StateChange, state_of
from langchain_ctxguard.graph.state import CHANNEL
from langchain_ctxguard.records.versions import VersionLog

if TYPE_CHECKING:
    from langchain_ctxguard.graph.turns import Turns


class History:
    """What `guard.history(config)` returns."""

    def __init__(
        self,
        versions: VersionLog,
        place: ContextPlace,
        *,
        graph: Any = None,
        config: RunnableConfig | None = None,
        eviction: Eviction | None = None,
        record: Callable[[ContextEvent], None] | None = None,
    ) -> None:
        """Bind the record of one place; with a graph, its state is asked which version it has, and gets back what an earlier one needs."""
        self._log = versions
        self._eviction = eviction
        self.place = place
        self._graph = graph
        self._config = config
        self._record = record

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
        return cls(turns.versions, place, graph=graph, config=config, eviction=turns.eviction, record=turns.engine.record)

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

    def rollback(self, to: int | Literal["stable"], *, reason: str = "", as_node: str | None = None) -> ContextVersion:
        """Append a version with the content of an earlier one and return it. The agent's next call sees it.

        Consents, approvals and budgets stay as they are, and so do the messages; those that had left the state and that version needs come back:
        at once where the history was given the graph, else at the agent's next call.

        Where messages come back while a run waits for a person, its question is asked again when the run goes on (`graph.invoke(None, config)`): it
        was about another state, so an answer to it opens nothing. Where none do, the state is as it was, and so is the question.

        Args:
            to: Number of a version, or `"stable"`: the newest without a critical loss, the present one left out.
            reason: Why, for the record.
            as_node: The node in whose name the state is written, where LangGraph cannot tell.

        Raises:
            VersionNotFoundError: there is no such version.
            BlobMissingError: its content, or a message it needs, was thinned or purged; nothing was changed.
        """
        version, update = self._rolled_back(to, None if self._graph is None else self._graph.get_state(self._config), reason)
        if update:
            self._graph.update_state(self._config, update, as_node=as_node)
        return version

    async def arollback(self, to: int | Literal["stable"], *, reason: str = "", as_node: str | None = None) -> ContextVersion:
        """Do as `rollback` does, with an asynchronous checkpointer."""
        state = None if self._graph is None else await self._graph.aget_state(self._config)
        version, update = await asyncio.to_thread(self._rolled_back, to, state, reason)
        if update:
            await self._graph.aupdate_state(self._config, update, as_node=as_node)
        return version

    def _rolled_back(self, to: int | Literal["stable"], state: Any, reason: str) -> tuple[ContextVersion, dict[str, Any]]:
        """Return the version that holds now, and the update that brings messages back; empty where none are missing."""
        values = {} if state is None else state.values
        found = read_head(values.get(CHANNEL))
        current = found if isinstance(found, ContextHead) else None
        change = StateChange(state_of(values))
        if self._eviction is not None and current is not None:
            # Before anything is on record: where a message is gone for good, nothing is changed.
            start = self._log.head_to_restore(self.place, to).cut.position
            change.back = self._eviction.brought_back(self.place, current, start, change.state)
        version, head = self._log.restore(self.place, to, current=current, reason=reason)
        if self._record is not None:
            waiting = 0 if state is None or change.back is None else len(state.interrupts)
            self._record(rolled_back(version, asked_again=waiting))
        return version, {} if change.back is None else {CHANNEL: head.to_dict(), **change.update()}

    def purge(self) -> int:
        """Erase the content of every version; the records and their chain stay."""
        return self._log.purge(self.place)


def rolled_back(version: ContextVersion, *, asked_again: int = 0) -> ContextEvent:
    """Return what hooks are told of a version that has the content of an earlier one; `asked_again`: questions that waited for a person."""
    detail = f"Version {version.number} holds what version {version.restores} held."
    if asked_again:
        detail += f" Questions that waited for a person ({asked_again}) are asked again when the run goes on; an answer to them opens nothing."
    return ContextEvent(kind="rolled_back", detail=detail, version=version.number, restored=version.restores)

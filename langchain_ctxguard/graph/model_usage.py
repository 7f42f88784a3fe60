"""What models use, counted where it is seen: after each model call of a guard, and at each call of a guarded tool with a budget of tokens or cost."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from typing import Literal

from langchain_core.messages import AIMessage, BaseMessage

from langchain_ctxguard.core.usage import NONE, Moment, ThreadUsage, uses_of
from langchain_ctxguard.domain.budget import Usage
from langchain_ctxguard.domain.prefix import PriceTable
from langchain_ctxguard.domain.usage import Use
from langchain_ctxguard.graph.call_site import Site
from langchain_ctxguard.records.usage import UsageLog

Period = Literal["thread", "run", "day"]


class ModelUsage:
    """Counts what the models of threads use. Where no budget looks at it, it reads and writes nothing. Safe under threads."""

    def __init__(self, log: UsageLog, prices: PriceTable | None) -> None:
        """Bind the record, and what models cost."""
        self._log = log
        self._prices = prices

    @property
    def is_wanted(self) -> bool:
        """Say whether any budget looks at tokens or cost."""
        return bool(self._log.counted.periods)

    def said(self, site: Site, before: Sequence[BaseMessage], answers: Sequence[BaseMessage]) -> None:
        """Count what a model answered, before the state has it.

        Args:
            site: Where it was asked.
            before: The messages in the state; counted too where nothing of the thread was yet.
            answers: What it said.

        Raises:
            StoreError: it cannot be put on record; whoever sees the message next counts it.
        """
        for message in answers:
            if isinstance(message, AIMessage) and message.id is None:
                # The state would give it an id that nobody here knows.
                message.id = str(uuid.uuid4())
        known = self._log.of_thread(site.thread or "")
        moment = self._moment(site, known)
        earlier = uses_of(before, known.known, self._prices, moment) if moment.is_first else []
        self._log.note(site.thread or "", [*earlier, *uses_of(answers, known.known, self._prices, moment, since=0)])

    def seen(self, site: Site, conversations: Sequence[Sequence[BaseMessage]], gone: Sequence[BaseMessage] = (), recent: int = 0) -> None:
        """Count what stands in conversations and was not counted: that of the thread, and that of a sub-agent.

        Args:
            site: Where they are seen.
            conversations: Their messages.
            gone: What left the state of the thread, oldest first.
            recent: How many of those came after the newest request.

        Raises:
            StoreError: it cannot be read or written.
        """
        known = self._log.of_thread(site.thread or "")
        moment = self._moment(site, known)
        uses = self._uses(gone, known.known, moment, since=len(gone) - recent)
        for messages in conversations:
            uses += self._uses(messages, known.known, moment)
        self._log.note(site.thread or "", uses)

    def of(self, site: Site, periods: Collection[str], *, is_seen: bool) -> dict[Period, Usage]:
        """Return what was used by thread, run or day; what nobody counted is left out.

        Args:
            site: Where that is asked.
            periods: Which of them.
            is_seen: Whether the messages of the thread are in sight: else what is not on record was counted by nobody.

        Raises:
            StoreError: it cannot be read.
        """
        thread = self._log.of_thread(site.thread or "")
        found: dict[Period, Usage] = {}
        if "thread" in periods and (is_seen or thread.known):
            found["thread"] = thread.total
        if "run" in periods and site.run is not None and (is_seen or site.run in thread.by_run):
            found["run"] = thread.by_run.get(site.run, NONE)
        if "day" in periods:
            day = self._log.of_day(self._log.now())
            if is_seen or day.tokens:
                found["day"] = day
        return found

    def _moment(self, site: Site, known: ThreadUsage) -> Moment:
        return Moment(self._log.now(), site.run or "", is_first=not known.known)

    def _uses(self, messages: Sequence[BaseMessage], known: frozenset[str], moment: Moment, *, since: int | None = None) -> list[Use]:
        return uses_of(messages, known, self._prices, moment, since=since)

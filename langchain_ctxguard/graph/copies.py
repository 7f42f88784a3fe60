"""The record as a context shows it: read from the stores, put into each new version by `core.carry_over`, and renewed in sight when it moves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_ctxguard.core.carry_over import OpenedBy, carried_over, copied_keys
from langchain_ctxguard.core.situation import Crossing
from langchain_ctxguard.domain.context import ContextHead
from langchain_ctxguard.domain.copied import NO_COPY, Copied
from langchain_ctxguard.domain.extensions import InvariantCheck
from langchain_ctxguard.domain.invariant import ConsentSettings
from langchain_ctxguard.domain.standing import Effect, StandingState
from langchain_ctxguard.domain.version import ContextEvent
from langchain_ctxguard.errors import StoreError
from langchain_ctxguard.graph.whereabouts import Whereabouts
from langchain_ctxguard.ports import ConsentReading
from langchain_ctxguard.records.bounded import Bounded

_KEPT = 256


class Copies:
    """Reads what a context may show of the record. It writes nothing."""

    def __init__(
        self,
        settings: ConsentSettings,
        consents: ConsentReading | None,
        *,
        record: Callable[[ContextEvent], None],
        checks: Mapping[str, InvariantCheck],
        opened_by: OpenedBy | None = None,
    ) -> None:
        """Bind the settings and the reader of consents."""
        self._settings = settings
        self._consents = consents
        self._record = record
        self._checks = checks
        self._opened_by = opened_by
        self._renewed: Bounded[dict[str, Any]] = Bounded(_KEPT)
        self._told: Bounded[bool] = Bounded(_KEPT)

    def may_differ(self, head: ContextHead, where: Whereabouts, standing: StandingState | None) -> bool:
        """Say whether the stores have to be asked what a version should show."""
        held = None if head.body is None else head.body.copied
        return head.body is not None and (held is not None or where.subject is not None or not (standing is None or standing.is_plain))

    def read(self, where: Whereabouts, state: Any, standing: StandingState | None) -> Copied:
        """Return the record as it is now.

        Raises:
            StoreError: the ledger cannot be read, or a key of the state cannot be carried.
        """
        consents = None if self._consents is None or where.subject is None else self._consents.read(where.subject, thread=where.thread)
        spoken = set() if consents is None else {entry.field for entry in consents.entries}
        try:
            keys = copied_keys(state if isinstance(state, Mapping) else getattr(state, "__dict__", {}), self._settings.carry)
        except ValueError as error:
            raise StoreError(str(error)) from error
        return Copied(
            consents=consents,
            unspoken=() if consents is None else tuple(name for name in self._settings.fields if name not in spoken),
            state=keys,
            standing=None if standing is None or standing.is_plain else standing.model_copy(update={"synthetic": ()}),
        )

    def renewed(self, head: ContextHead, raw: Any, copied: Copied, where: Whereabouts) -> Any:
        """Return the stored head showing the record as it is now; the same one where it does already. What is stored stays as it was."""
        body = head.body
        held = NO_COPY if body is None or body.copied is None else body.copied
        if body is None or held.told == copied.told:
            return raw
        key = (where.thread, where.namespace, head.version, held.digest, copied.told)
        if not self._told.get(key):
            self._told.put(key, value=True)
            detail = f"The copy in version {head.version} is not what the stores say ({_what(held, copied)}); they are shown and obeyed."
            self._record(ContextEvent(kind="consents_differ", detail=detail, version=head.version))
        digest = raw.get("digest") if isinstance(raw, dict) else None
        found = self._renewed.get((key, digest))
        if found is None:
            found = head.model_copy(update={"body": carried_over(body, copied)}).to_dict()
            self._renewed.put((key, digest), found)
        return found

    def crossing(
        self, copied: Copied, *, unread: str | None, tools: Mapping[str, Effect | None], seen_head: int | None, checkpoints: Sequence[int]
    ) -> Crossing:
        """Return what a compaction has to take across, and what must hold afterwards."""
        return Crossing(
            copied=copied,
            unread=unread,
            invariants=self._settings.invariants,
            checks=self._checks,
            tools=tools,
            opened_by=self._opened_by,
            seen_head=seen_head,
            checkpoints=tuple(checkpoints),
        )

    def unread(self, where: Whereabouts, error: Exception) -> None:
        """Take notice, once, that the record could not be read."""
        key = ("unread", where.thread, type(error).__name__)
        if not self._told.get(key):
            self._told.put(key, value=True)
            detail = f"The record of consents could not be read ({type(error).__name__}); nothing counts as granted."
            self._record(ContextEvent(kind="consents_unread", detail=detail))


def _what(held: Copied, now: Copied) -> str:
    """Return which consents differ, by name, and whether the standing state does."""
    one, two = ({entry.field: entry.hash for entry in each.consents.entries} if each.consents else {} for each in (held, now))
    names = sorted(name for name in {**one, **two} if one.get(name) != two.get(name))
    if not names and held.told[0] != now.told[0]:
        names = ["an expired one"]
    if held.told[2] != now.told[2]:
        names.append("the standing state")
    return ", ".join(names) or "names"

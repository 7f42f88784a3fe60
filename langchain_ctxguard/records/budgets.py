"""Budgets on record: reserved before a tool runs, settled after it, counted by whoever reads the stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from langchain_ctxguard.core.budgets import Tally, budget_fault, committed, released, reserved, state_of, tallied
from langchain_ctxguard.domain.budget import BudgetEvent, BudgetState, Charge
from langchain_ctxguard.domain.log import Entry, Stream
from langchain_ctxguard.errors import LogConflictError, StoreError
from langchain_ctxguard.ports import Clock, Log
from langchain_ctxguard.records.folds import Folds, opened, sealed
from langchain_ctxguard.records.versions import HasLog

BUDGETS = "budgets"
_TRIES = 64


class BudgetLog:
    """The budgets of a store. Two who reserve at once never take more than there is: each append names the entry it was decided on."""

    def __init__(self, store: HasLog, *, clock: Clock) -> None:
        """Bind a store."""
        self._log: Log = store.log
        self._tenant = store.tenant
        self._clock = clock
        self._folds: Folds[Tally] = Folds(self._log, lambda entries, tally: tallied(map(_event, entries), tally), Tally())

    def state(self, key: str) -> BudgetState:
        """Return what a budget adds up to now.

        Raises:
            StoreError: the log cannot be read, or holds what this package cannot.
        """
        return state_of(self._folds.read(self._stream(key))[1], now=self._clock())

    def reserve(self, charges: Sequence[Charge], reservation: str) -> dict[str, str] | tuple[Charge, str]:
        """Take what a call uses from all its budgets, and return by key the name it is settled under; or the budget that does not hold it, and why.

        A call that reserved before and has no outcome yet holds its reservation; one that has one reserves anew.

        Raises:
            StoreError: the log cannot be read or written; what was reserved before that is released.
        """
        taken: dict[str, str] = {}
        try:
            for charge in charges:
                if charge.key in taken:
                    continue
                found = self._reserved(charge, reservation)
                if found is None:
                    continue
                name, fault = found
                if fault is not None:
                    self.settle(taken, as_used=False)
                    return charge, fault
                taken[charge.key] = name
        except StoreError:
            self.settle(taken, as_used=False)
            raise
        return taken

    def settle(self, reservations: dict[str, str], *, as_used: bool) -> None:
        """Say what became of reservations: used, or free again.

        Raises:
            StoreError: the log cannot be written; the reservation counts until somebody says.
        """
        making: Callable[..., BudgetEvent] = committed if as_used else released
        for key, name in reservations.items():
            self._append(self._stream(key), making(name, now=self._clock()), None)

    def _reserved(self, charge: Charge, reservation: str) -> tuple[str, str | None] | None:
        stream = self._stream(charge.key)
        for _ in range(_TRIES):
            seq, tally = self._folds.read(stream)
            now = self._clock()
            state = state_of(tally, now=now)
            name = _free_name(reservation, state)
            fault = budget_fault(charge, state, name)
            if fault is not None:
                return name, fault
            if name in state.held:
                return name, None
            try:
                self._append(stream, reserved(charge, name, now=now), seq)
            except LogConflictError:
                continue
            return name, None
        msg = f"So many reserve from budget '{charge.key}' at once that {_TRIES} attempts found no turn. Nothing was reserved; try again."
        raise StoreError(msg)

    def _append(self, stream: Stream, event: BudgetEvent, expected: int | None) -> None:
        body = sealed({**event.model_dump(mode="json", exclude_defaults=True), "kind": event.kind})
        self._folds.added(stream, self._log.append(stream, [body], expected=expected))

    def _stream(self, key: str) -> Stream:
        return Stream(tenant=self._tenant, kind=BUDGETS, key=key)


def _free_name(reservation: str, state: BudgetState) -> str:
    """Return the name of this attempt: a call that was settled and is made again, by a retry, uses the budget again."""
    name, attempt = reservation, 1
    while name in state.settled:
        attempt += 1
        name = f"{reservation}#{attempt}"
    return name


def _event(entry: Entry) -> BudgetEvent:
    try:
        return BudgetEvent.model_validate(opened(entry))
    except ValueError as error:
        msg = (
            f"Entry {entry.seq} of {entry.stream} is no event of a budget this package can read. Nothing was changed, and nothing counted there "
            "is allowed. Upgrade langchain-ctxguard if a later version wrote it."
        )
        raise StoreError(msg) from error

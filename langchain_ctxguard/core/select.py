"""Which units leave the view. Whole units only; the current request, `keep` and calls in flight have the first claims on the budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.units import Unit
from langchain_ctxguard.domain.config import ContextSize


@dataclass(frozen=True, slots=True)
class Claims:
    """What the view must hold, in tokens, and how much it may hold."""

    fixed: int
    """System prompt, pins and tool contracts."""

    reserve: int
    """Room for the new evidence and summary."""

    reserve_floor: int
    """The least they can make do with."""

    goal: int | None
    """The view should not exceed this; `None`: as it comes."""

    min_kept: int = 0
    """Tokens that stay raw if the goal allows."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Where the view is cut."""

    at: int
    """Index of the first kept message; 0: nothing can leave."""

    fits: bool
    """Whether the claims fit the goal with this cut, by the counts of single messages."""

    kept_tokens: int
    needed: int
    """Tokens the view needs with this cut, the reserve at its floor."""


def turn_starts(units: Sequence[Unit]) -> list[int]:
    """Return the units that begin a turn: human messages, and inside a tool loop each AI message that follows tool results."""
    starts = []
    for index, unit in enumerate(units):
        if unit.kind == "request" or (unit.kind in ("tools", "reply") and index > 0 and units[index - 1].kind == "tools"):
            starts.append(index)
    return starts


def keep_from(units: Sequence[Unit], costs: Sequence[int], keep: ContextSize, *, window: int) -> int:
    """Return the first unit that `keep` asks for, in whole units.

    Args:
        units: The units of the list, oldest first.
        costs: Tokens of each unit.
        keep: `("turns", 3)`, `("messages", 20)`, `("tokens", 4000)` or `("fraction", 0.3)` of `window`.
        window: Tokens of the model's window.
    """
    kind, amount = keep
    match kind:
        case "turns":
            starts = turn_starts(units)
            count = int(amount)
            if count == 0:
                return len(units)
            return starts[-count] if len(starts) >= count else 0
        case "messages":
            if not units or amount == 0:
                return len(units)
            first = units[-1].stop - int(amount)
            return next(index for index, unit in enumerate(units) if unit.stop > first)
        case "tokens" | "fraction":
            room = int(amount * window) if kind == "fraction" else int(amount)
            at = len(units)
            while at > 0 and costs[at - 1] <= room:
                at -= 1
                room -= costs[at]
            return at
        case _:
            assert_never(kind)


def choose(
    units: Sequence[Unit],
    costs: Sequence[int],
    keep: ContextSize,
    claims: Claims,
    *,
    window: int,
    request: int | None,
    carried: int = 0,
    may_shrink_keep: bool,
) -> Choice:
    """Return where to cut.

    Args:
        units: The units after the present cut.
        costs: Tokens of each unit.
        keep: What must stay raw.
        claims: The budget.
        window: Tokens of the model's window.
        request: Index of the message that is the current request, if it is among the units.
        carried: Tokens of a request that lies before the present cut already.
        may_shrink_keep: Give up the oldest of `keep` where it does not fit the goal; otherwise the choice says that it does not fit.
    """
    if not units:
        alone = claims.fixed + carried
        return Choice(0, fits=claims.goal is None or alone <= claims.goal, kept_tokens=0, needed=alone)
    kept = _suffix_sums(costs)
    holder = _holder(units, request)
    last = len(units)
    for index, unit in enumerate(units):
        if unit.is_in_flight or (index == holder and unit.kind == "tools"):
            last = min(last, index)
            break

    def needed(at: int, reserve: int) -> int:
        again = costs[holder] if holder is not None and holder < at else 0
        return claims.fixed + reserve + kept[at] + (again or (carried if holder is None else 0))

    def fits(at: int, reserve: int) -> bool:
        return claims.goal is None or needed(at, reserve) <= claims.goal

    at = _boundary_at_or_before(units, min(keep_from(units, costs, keep, window=window), last))
    if may_shrink_keep and not fits(at, claims.reserve):
        later = [index for index in range(at, last + 1) if _is_boundary(units, index)]
        # The newest unit is given up last: a view without the result just received would have the model ask again.
        later = [index for index in later if index < len(units)] or later
        # What was said and stands nowhere else comes before talk that is merely new: less room for it only where no cut leaves all of it.
        parts = (claims.reserve_floor + (claims.reserve - claims.reserve_floor) * quarters // 4 for quarters in (4, 3, 2, 1, 0))
        at = next((index for part in parts for index in later if fits(index, part)), later[-1] if later else at)
    while at > 0:
        earlier = _boundary_at_or_before(units, at - 1)
        if kept[at] >= claims.min_kept or claims.min_kept == 0 or not fits(earlier, claims.reserve):
            break
        at = earlier
    # Evicting nothing but the current request gains nothing: it stands in the view anyway.
    if all(index == holder for index in range(at)):
        at = 0
    message = units[at].start if at < len(units) else units[-1].stop
    return Choice(message, fits=fits(at, claims.reserve_floor), kept_tokens=kept[at], needed=needed(at, claims.reserve_floor))


def _suffix_sums(costs: Sequence[int]) -> list[int]:
    sums = [0] * (len(costs) + 1)
    for index in range(len(costs) - 1, -1, -1):
        sums[index] = sums[index + 1] + costs[index]
    return sums


def _holder(units: Sequence[Unit], message: int | None) -> int | None:
    if message is None:
        return None
    return next((index for index, unit in enumerate(units) if unit.start <= message < unit.stop), None)


def _is_boundary(units: Sequence[Unit], at: int) -> bool:
    return at == len(units) or units[at].is_boundary


def _boundary_at_or_before(units: Sequence[Unit], at: int) -> int:
    while at > 0 and not _is_boundary(units, at):
        at -= 1
    return at


def shares(messages: Sequence[BaseMessage], costs: Sequence[int], room: int) -> dict[int, int]:
    """Return for each message too large for `room` tokens how many it may have, largest cut first (index -> tokens).

    Every message keeps its cost up to one common cap, so small ones stay whole.
    """
    order = sorted(range(len(messages)), key=lambda index: costs[index])
    left = room
    for rank, index in enumerate(order):
        cap = left // (len(order) - rank)
        if costs[index] > cap:
            return {other: max(cap, 1) for other in order[rank:]}
        left -= costs[index]
    return {}

"""What budgets add up to, and whether one more call fits. Events in, values out; who appends them makes sure that nobody was faster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import NamedTuple, assert_never
from zoneinfo import ZoneInfo

from langchain_core.messages import AIMessage, BaseMessage

from langchain_ctxguard.core.predicates import number_in, values_at
from langchain_ctxguard.domain.approval import arguments_digest
from langchain_ctxguard.domain.budget import LEASE_S, BudgetEvent, BudgetState, Charge, Held, Usage
from langchain_ctxguard.domain.policy import ToolRequest
from langchain_ctxguard.domain.prefix import PriceTable, TokenUsage
from langchain_ctxguard.domain.tool_rule import BudgetRule, ToolRule
from langchain_ctxguard.domain.value import canonical_json, digest_of


class BudgetNotCountableError(ValueError):
    """A call that cannot be charged: nobody could say what it uses, or under what. `instead` says what to do."""

    def __init__(self, reason: str, instead: str) -> None:
        """Keep the advice beside the reason."""
        super().__init__(reason)
        self.instead = instead


def reservation_of(request: ToolRequest, arguments: str | None = None) -> str:
    """Return the name one call reserves under: judged again, at another layer, after a person agreed or after a crash, it is the same reservation.

    Calls without an id cannot be told apart by it: two that run at once need ids.

    Args:
        request: The call.
        arguments: `arguments_digest` of its arguments, where that is known already.

    Raises:
        TypeError: an argument without a text form.
    """
    digest = arguments or arguments_digest(request.args)
    return digest_of(canonical_json([request.thread, request.namespace, request.call_id, request.tool, digest]))[:32]


def charge_of(request: ToolRequest, rule: ToolRule, rule_id: str, *, now: datetime, timezone: str) -> Charge:
    """Return what a call takes from a rule's budget.

    Raises:
        BudgetNotCountableError: the thread or run is unknown, or an argument to be summed is no number, or below zero.
    """
    limit = rule.budget
    assert limit is not None  # noqa: S101 - asked only of rules that have one
    key = f"{rule.budget_id}/{budget_scope(request, limit, now=now, timezone=timezone)}"
    return Charge(rule=rule_id, key=key, limit=limit, sums={name: _summed(request.args, name) for name in limit.sum})


def budget_scope(request: ToolRequest, limit: BudgetRule, *, now: datetime, timezone: str) -> str:
    """Return which thread, run or day a call is counted under.

    Raises:
        BudgetNotCountableError: the thread or run is unknown.
    """
    match limit.per:
        case "thread":
            if not request.thread:
                msg = "its budget is counted by thread and the call belongs to none"
                raise BudgetNotCountableError(msg, "Run the agent with `configurable: {thread_id: ...}`.")
            return f"thread/{request.thread}"
        case "run":
            if not request.run:
                msg = "its budget is counted by run and the call belongs to none"
                raise BudgetNotCountableError(msg, "Call the tool in a run of the graph.")
            return f"run/{request.thread or ''}/{request.run}"
        case "day":
            return f"day/{now.astimezone(ZoneInfo(timezone)).date().isoformat()}"
        case _:
            assert_never(limit.per)


def _summed(args: Mapping[str, object], name: str) -> Decimal:
    total = Decimal(0)
    values = values_at(args, name)
    if not values:
        msg = f"`{name}` is left out, and nobody can add up what the tool takes then"
        raise BudgetNotCountableError(msg, f"Give `{name}`.")
    for value in values:
        number = number_in(value)
        if number is None or number < 0:
            msg = f"`{name}` is {value!r}, which cannot be added up"
            raise BudgetNotCountableError(msg, f"Give `{name}` as a plain number of at least 0.")
        total += number
    return total


class Tally(NamedTuple):
    """What events add up to so far, to go on from."""

    held: Mapping[str, Held] = {}
    settled: Mapping[str, Held] = {}
    calls: int = 0
    sums: Mapping[str, Decimal] = {}


def tallied(events: Iterable[BudgetEvent], before: Tally | None = None) -> Tally:
    """Return what further events make of a tally. A reservation counts once, whoever makes it again; one that ran stays used.

    An outcome that comes after the lease still counts: it tells what was unknown. One that was released and is made again is running again.
    """
    before = before or Tally()
    held, settled, calls, sums = dict(before.held), dict(before.settled), before.calls, dict(before.sums)
    for event in events:
        match event.kind:
            case "reserved":
                if event.reservation not in settled and event.reservation not in held:
                    made = Held(calls=event.calls, sums=event.sums, lease_until=event.at + timedelta(seconds=event.lease_s))
                    held[event.reservation] = made
                    calls += made.calls
                    for name, amount in made.sums.items():
                        sums[name] = sums.get(name, Decimal(0)) + amount
            case "committed":
                if (ended := held.pop(event.reservation, None)) is not None:
                    settled[event.reservation] = ended
            case "released":
                if (ended := held.pop(event.reservation, None)) is not None:
                    calls -= ended.calls
                    for name, amount in ended.sums.items():
                        sums[name] -= amount
            case _:
                assert_never(event.kind)
    return Tally(held, settled, calls, sums)


def state_of(tally: Tally, *, now: datetime) -> BudgetState:
    """Return what a tally means at a moment: which reservations are running, and of which nobody knows."""
    unknown = tuple(name for name, one in tally.held.items() if one.lease_until <= now)
    # Made of values that were checked as events: a budget of a day may hold thousands.
    return BudgetState.model_construct(calls=tally.calls, sums=tally.sums, held=tally.held, unknown=unknown, settled=tally.settled)


def budget_state(events: Iterable[BudgetEvent], *, now: datetime) -> BudgetState:
    """Return what a budget's events add up to; `tallied` says how they count."""
    return state_of(tallied(events), now=now)


def budget_fault(charge: Charge, state: BudgetState, reservation: str | None = None) -> str | None:
    """Return why a call does not fit into its budget any more, `None` where it does.

    A reservation of its own that has no outcome counts for it, not against it; a call that ran and is made again uses the budget again.
    """
    own = state.held.get(reservation) if reservation else None
    calls = state.calls - (own.calls if own else 0)
    if charge.limit.calls is not None and calls + charge.calls > charge.limit.calls:
        return f"{calls} of {charge.limit.calls} calls per {charge.limit.per} are used{_open(state, own)}"
    for name, most in charge.limit.sum.items():
        used = state.sums.get(name, Decimal(0)) - (own.sums.get(name, Decimal(0)) if own else Decimal(0))
        asked = charge.sums.get(name, Decimal(0))
        if used + asked > most:
            return f"`{name}` {asked:f} would make {used + asked:f} of {most:f} per {charge.limit.per}{_open(state, own)}"
    return None


def usage_fault(limit: BudgetRule, usage: Usage | None) -> str | None:
    """Return why a call is not made any more for what the models have used, `None` where it may be. Without a count nobody can say."""
    if limit.tokens is None and limit.cost is None:
        return None
    if usage is None:
        return f"nobody counted what was used per {limit.per}"
    if limit.tokens is not None and usage.tokens >= limit.tokens:
        return f"{usage.tokens:,} of {limit.tokens:,} tokens per {limit.per} are used"
    if limit.cost is not None and usage.cost is None:
        return f"nobody knows what was spent per {limit.per}: a model has no price"
    if limit.cost is not None and usage.cost is not None and usage.cost >= limit.cost:
        return f"{usage.cost:f} of {limit.cost:f} per {limit.per} are spent"
    return None


def _open(state: BudgetState, own: Held | None) -> str:
    unknown = len(state.unknown)
    running = len(state.held) - unknown - (1 if own is not None and own in state.held.values() else 0)
    parts = [f"{running} still running"] if running > 0 else []
    parts += [f"{unknown} with an unknown outcome"] if unknown else []
    return f" ({', '.join(parts)})" if parts else ""


def reserved(charge: Charge, reservation: str, *, now: datetime, lease_s: int = LEASE_S) -> BudgetEvent:
    """Return the event that reserves; append it only if nothing came after the entry the state was read at."""
    return BudgetEvent(kind="reserved", reservation=reservation, at=now, calls=charge.calls, sums=charge.sums, lease_s=lease_s)


def committed(reservation: str, *, now: datetime) -> BudgetEvent:
    """Return the event of a tool that ran, whatever it answered."""
    return BudgetEvent(kind="committed", reservation=reservation, at=now)


def released(reservation: str, *, now: datetime) -> BudgetEvent:
    """Return the event of a tool that certainly did not run."""
    return BudgetEvent(kind="released", reservation=reservation, at=now)


def usage_of(messages: Iterable[BaseMessage], prices: PriceTable | None = None, *, model: str = "", provider: str = "") -> Usage:
    """Return what the models that wrote `messages` have used, by their usage metadata; messages without any count for nothing."""
    tokens, cost, is_priced = 0, Decimal(0), True
    for message in messages:
        if not isinstance(message, AIMessage) or (usage := message.usage_metadata) is None:
            continue
        tokens += usage.get("total_tokens") or usage["input_tokens"] + usage["output_tokens"]
        spent = _spent(message, usage, prices, model, provider)
        is_priced = is_priced and spent is not None
        cost += spent or 0
    return Usage(tokens=tokens, cost=cost if is_priced else None)


def _spent(message: AIMessage, usage: object, prices: PriceTable | None, model: str, provider: str) -> Decimal | None:
    known = TokenUsage.of(usage)
    if prices is None or known is None:
        return None
    about = message.response_metadata
    name = str(about.get("model_name") or about.get("model") or model)
    return prices.cost(str(about.get("model_provider") or provider), name, known)

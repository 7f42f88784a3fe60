"""The room a summary has, and what of it is told: the draft that fits the bound with everything that will stand around it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

from langchain_ctxguard.backends.extractive.closing import close
from langchain_ctxguard.backends.extractive.filling import Fill
from langchain_ctxguard.backends.extractive.lines import INTENT_LENGTH, Item, Quote, Section
from langchain_ctxguard.backends.extractive.must_keep import kept_verbatim
from langchain_ctxguard.backends.extractive.reading import Reading
from langchain_ctxguard.backends.extractive.values import Latest, Told, carried_for, latest_values
from langchain_ctxguard.core.bounds import text_tokens
from langchain_ctxguard.core.diff import stands_whole
from langchain_ctxguard.core.left_out import Kind, counted
from langchain_ctxguard.core.merge import CLOSED_LENGTH
from langchain_ctxguard.core.render import CLOSED_SHOWN, closed_items, render_summary
from langchain_ctxguard.core.requests import EARLIER_SHOWN, INTENTS_KEPT, asked_in, recent
from langchain_ctxguard.core.roles import calls_of, text_of
from langchain_ctxguard.core.sentences import key_of, shape_of, values_in
from langchain_ctxguard.core.text import clipped
from langchain_ctxguard.core.worth import MUST_KEEP, URGENT
from langchain_ctxguard.domain.summary import PendingItem, StructuredSummary, SummaryDraft
from langchain_ctxguard.errors import ContextBudgetError
from langchain_ctxguard.ports import SummaryRequest, TokenCounter

NEW_SHARE = 0.4
"""Part of the bound that what is new may claim before what was carried over: the newest survives any number of rounds."""

EVICTED_SHARE = 0.4
"""The summary grows by no more than this part of what was evicted, however much its bound would allow."""

SMALL_SHARE = 0.74
"""The same where little was evicted and all of it is talk: it has few words to spare."""

SMALL_WITH_TOOLS = 0.55
"""The same where tools were called: the record of what they did takes its own part."""

SMALL = 1_000
"""Tokens up to which the summary of little may grow by `SMALL_SHARE`."""

USER_SHARE = 0.4
"""Part of the room that what people said may take before what tools and the assistant told: nobody can look it up again."""

HEARD = 14.0
"""From here on a person's sentence is among it: it is no thanks, and no question that was answered."""

VALUES_SHARE = 0.5
"""Part of the bound that lines for single values may take: what has no other line shall not be crowded out, nor crowd out everything."""

URGENT_SHARE = 0.5
"""Part of the room that errors and corrections may take before anything else: who does not see them makes the mistake again."""

LEAST = 8.0
"""What is worth no more is left out where room is short, also if a little is left over: questions that were answered, bare formulas."""

SUPERSEDED = 40.0
"""What a sentence is worth less that tells a value which holds no longer: what holds is told in another."""

_LOOKED_AT = 200
"""Items whose cost is summed up to see whether room is short."""

_SMALLEST = 120
"""Tokens the summary may take beside its frame, however little was evicted."""


class Selection:
    """Fills the bound with what would be missed most."""

    def __init__(self, request: SummaryRequest, reading: Reading, *, tells_every_value: bool = False) -> None:
        """Settle what is open and set the room."""
        self._tells_every_value = tells_every_value
        self._reading = reading
        self._request = request
        self._count: TokenCounter = request.count
        self._frame = text_tokens(self._count, render_summary(StructuredSummary(), version=1))
        self._empty = text_tokens(self._count, "")
        self._bound = self._useful_bound()
        self._requests = self._shown_requests()
        self._latest = latest_values(request)
        self._values_room = int(request.max_tokens * VALUES_SHARE)
        close(reading, self._requests, request.shown)

    def _useful_bound(self) -> int:
        """Return the bound, less if so little was evicted that filling it would save nothing."""
        request = self._request
        if sum(len(text_of(message)) for message in request.evicted) > 20 * request.max_tokens:
            return request.max_tokens
        carried = "" if request.previous is None else render_summary(request.previous, version=1)
        evicted = self._count(list(request.evicted))
        small = SMALL_WITH_TOOLS if any(map(calls_of, request.evicted)) else SMALL_SHARE
        useful = text_tokens(self._count, carried) + int(max(EVICTED_SHARE * evicted, small * min(evicted, SMALL)))
        return min(request.max_tokens, max(useful, self._frame + _SMALLEST))

    def draft(self) -> SummaryDraft:
        """Return what fits."""
        room = self._bound - self._frame - self._told_cost()
        intent = self._fitting(self._reading.intent, room // 2)
        room -= self._cost(intent) if intent else 0
        forced = [Item("facts", key_of(fact.statement), fact, MUST_KEEP, 0) for fact in kept_verbatim(self._request)]
        room -= sum(self._cost(item.line()) for item in forced)
        chosen = self._chosen(room, "\n".join((intent, *self._requests)))
        known = {item.key for item in forced}
        kept = [item for item in chosen if item.section != "facts" or item.key not in known]
        return self._within_bound(intent, forced, sorted(kept, key=lambda item: item.score))

    def _values_apart(self, intent: str, told: Sequence[Item]) -> tuple[list[Item], list[Latest]]:
        """Return a line for each latest value that nothing told tells, as far as there is room for them, and the values that have none."""
        known = Told((intent, *self._requests), told)
        missing = [latest for latest in self._latest if not known.holds(latest)]
        if not missing:
            return [], []
        before = carried_for((latest for latest in missing if latest.said is None), self._reading.items.values())
        apart: dict[str, Item] = {}
        room = self._values_room
        for index, latest in enumerate(missing):
            item = before.get(latest.rank) or latest.item(self._reading.began.get(latest.source or "", 0))
            if item is None or item.key in apart or self._is_beside(item.key, intent):
                continue
            room -= self._cost(item.line())
            if room < 0:
                return list(apart.values()), missing[index:]
            apart[item.key] = item
        return list(apart.values()), []

    def _is_beside(self, key: str, intent: str) -> bool:
        """Say whether words stand as they are in what is shown beside the items: quotes, requests, messages that stay."""
        texts = (intent, *self._requests, *self._request.shown)
        return any(stands_whole(key, " ".join(text.lower().split())) for text in texts if text)

    def _chosen(self, room: int, told: str) -> list[Item]:
        """Return what has room: what went wrong first, then what is new, then what was carried over; what repeats values comes last."""
        ranked = self._ranked()
        for item in ranked[:_LOOKED_AT]:
            item.trim()
        if sum(self._cost(item.line()) for item in ranked[:_LOOKED_AT]) > room:
            ranked = [item for item in ranked if item.score > LEAST]
            for item in ranked[:_LOOKED_AT]:
                item.shorten()
        fill = Fill(room, self._cost, set(values_in(told)))
        fill.take((item for item in ranked if item.section == "facts" and item.score >= URGENT), int(room * URGENT_SHARE))
        fill.take((item for item in ranked if item.is_the_users and item.score >= HEARD), int(room * USER_SHARE))
        fill.take((item for item in ranked if item.place >= 0 and fill.is_new(item)), int(room * NEW_SHARE))
        fill.take((item for item in ranked if fill.is_new(item)), room)
        fill.take(ranked, room)
        return fill.chosen

    def _shown_requests(self) -> list[str]:
        """Return the requests the summary will show beside the draft, as long as it will show them: the first, and those before the last."""
        request = self._request
        asked = asked_in(request.evicted)
        goal = (asked[0] if asked else "") if request.previous is None else request.previous.original_goal
        # Mere thanks are no intent, and stand beside it as a request.
        intent = clipped(self._reading.intent, EARLIER_SHOWN).rstrip("…")
        earlier = [text for text in recent(asked, request.evicted) if not (intent and text.startswith(intent))]
        before = () if request.previous is None else request.previous.user_intent
        shown = [*before[: max(0, INTENTS_KEPT - 1 - len(earlier))], *earlier]
        # A first request as long as this is shown in part.
        return [self._fitting(goal, (self._bound - self._frame) // 4), *(clipped(text, EARLIER_SHOWN) for text in shown if text != goal)]

    def _told_cost(self) -> int:
        """Return what those requests will cost."""
        return min(sum(self._cost(text) for text in self._requests if text), self._bound // 3)

    def _fitting(self, text: str, room: int) -> str:
        text = clipped(text, INTENT_LENGTH)
        while len(text) > 16 and self._cost(text) > room:  # noqa: PLR2004 - less says nothing
            text = clipped(text.rstrip("…"), len(text) * 3 // 4)
        return text

    def _cost(self, line: str) -> int:
        return text_tokens(self._count, f"- {line}\n") - self._empty + 1

    def _ranked(self) -> list[Item]:
        """Return the items, most missed first. Of lines with one shape the newest counts in full: it holds the latest values."""
        seen: Counter[tuple[Section, str]] = Counter()
        newest_first = sorted(self._reading.items.values(), key=lambda item: -item.place)
        span = max(1, len(newest_first))
        ranks: list[tuple[float, int, Item]] = []
        for age, item in enumerate(newest_first):
            shape = (item.section, shape_of(item.key))
            repeats = seen[shape]
            seen[shape] = repeats + 1
            if item.score > 0:
                stale = SUPERSEDED * (item.is_the_users and self._is_out_of_date(item.key))
                ranks.append((item.score - stale - 3 * min(repeats, 10) - 10 * age / span, item.place, item))
        ranks.sort(key=lambda rank: (-rank[0], -rank[1]))
        return [item for _, _, item in ranks]

    def _is_out_of_date(self, text: str) -> bool:
        judge = self._request.is_out_of_date
        return judge is not None and judge(text)

    def _within_bound(self, intent: str, forced: list[Item], kept: list[Item]) -> SummaryDraft:
        """Drop the least missed until the whole fits, with what stands around it: counters need not be additive."""
        while True:
            told = [*forced, *kept]
            apart, out = self._values_apart(intent, told)
            draft = self._drafted(intent, [*told, *apart])
            # Lines for single values go beyond what is useful, not beyond what is allowed.
            fits = self._size(self._drafted(intent, told) if apart else draft) <= self._bound
            if not kept or (fits and (not apart or self._size(draft) <= self._request.max_tokens)):
                return self._accepted(draft, out)
            kept = kept[max(1, len(kept) // 16) :]

    def _accepted(self, draft: SummaryDraft, out: Sequence[Latest]) -> SummaryDraft:
        """Return the draft, unless values without room are to stop it."""
        if out and self._tells_every_value:
            budget = self._request.max_tokens
            lines = (latest.item(0) for latest in out)
            needed = self._size(draft) + sum(self._cost(item.line()) for item in lines if item is not None)
            msg = (
                f"A summary with the latest value of every amount and date takes {needed} tokens and may have {budget}: {len(out)} of them have no "
                "room. Nothing was summarized; raise `summary_tokens`, evict less at a time, or let them be counted (`tells_every_value=False`)."
            )
            raise ContextBudgetError(msg, needed=needed, budget=budget)
        return draft

    def _drafted(self, intent: str, told: Sequence[Item]) -> SummaryDraft:
        return self._counted(_draft_of(intent, told), told)

    def _size(self, draft: SummaryDraft) -> int:
        return text_tokens(self._count, render_summary(self._as_shown(draft), version=1))

    def _counted(self, draft: SummaryDraft, told: Sequence[Item]) -> SummaryDraft:
        """Return the draft with a count of the new errors, corrections, amounts and dates it does not tell."""
        shown = {item.key for item in told}
        values = {value for text in (draft.user_intent, *self._requests) for value in values_in(text)}.union(*(values_in(item.key) for item in told))
        missing = (weighty for key, weighty in self._weighty.items() if key not in shown)
        left_out = counted(kind for kind, told_by_it in missing if kind != "amounts" or not told_by_it <= values)
        return draft.model_copy(update={"left_out": left_out})

    @cached_property
    def _weighty(self) -> dict[str, tuple[Kind, frozenset[str]]]:
        """New facts that are counted where they are left out, by key, with their values."""
        new = (item for item in self._reading.items.values() if item.section == "facts" and item.place >= 0)
        return {item.key: (kind, values_in(item.key)) for item in new if isinstance(item.value, Quote) and (kind := item.value.kind()) is not None}

    def _as_shown(self, draft: SummaryDraft) -> StructuredSummary:
        """Return the draft as it will stand in the summary: beside the requests, everything in somebody's mouth."""
        goal, *earlier = self._requests
        # The first request may be the last as well; then it stands there once.
        intent = goal if goal and draft.user_intent.startswith(goal.rstrip("…")) else draft.user_intent
        return StructuredSummary(
            original_goal=goal,
            user_intent=tuple(filter(None, (intent, *earlier))),
            pending_items=(*self._closed(), *(PendingItem(text=text, asked_by="user") for text in draft.pending_items)),
            facts=draft.facts,
            decisions=tuple(decision.model_copy(update={"said_by": "user"}) for decision in draft.decisions),
            open_questions=draft.open_questions,
            left_out=draft.left_out,
        )

    def _closed(self) -> Iterator[PendingItem]:
        """Yield finished steps of a plan, as many as are shown: the summary names them whether or not the draft does."""
        known = () if self._request.previous is None else closed_items(self._request.previous)
        finished = [*(item.text for item in known), *self._reading.finished_todos]
        yield from (PendingItem(text=clipped(text, CLOSED_LENGTH), state="done", in_plan=True) for text in finished[-CLOSED_SHOWN:])


_SECTIONS: tuple[Section, ...] = ("pending_items", "facts", "decisions", "open_questions")


def _draft_of(intent: str, items: Iterable[Item]) -> SummaryDraft:
    sections: dict[Section, list[Any]] = {name: [] for name in _SECTIONS}
    for item in sorted(items, key=lambda item: item.place):
        sections[item.section].append(item.settled())
    return SummaryDraft(
        user_intent=intent,
        pending_items=tuple(sections["pending_items"]),
        facts=tuple(sections["facts"]),
        decisions=tuple(sections["decisions"]),
        open_questions=tuple(sections["open_questions"]),
    )

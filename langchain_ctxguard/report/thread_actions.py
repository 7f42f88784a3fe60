"""The tool calls of a stored thread: what was judged, who was asked, what came of it, and on which records that rests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, assert_never

from pydantic import ValidationError

from langchain_ctxguard.core.explained import explained_text
from langchain_ctxguard.domain.approval import Approver
from langchain_ctxguard.domain.context_version import ContextPlace
from langchain_ctxguard.domain.explanation import Explanation
from langchain_ctxguard.domain.log import Stream
from langchain_ctxguard.domain.tool_call import CallRecord
from langchain_ctxguard.errors import StoreError
from langchain_ctxguard.records.call_records import CallRecords
from langchain_ctxguard.records.consents import ConsentReader
from langchain_ctxguard.records.explain import explain
from langchain_ctxguard.records.versions import AUDIT, HasLog
from langchain_ctxguard.report.story import Action, Step
from langchain_ctxguard.report.words import listed

_TEXT = 2_000
_ANSWERED = {
    "in_effect": "Nobody had to: it was in effect already, so it was answered with the evidence and not run.",
    "turned_down": "Nobody: it takes up what was turned down before, so it was answered with the reason and not run.",
}
"""What a call came to that the record of the work answered, by what the record of the call says."""

_NOTICED_S = 0.01
_CHAINS = 400
"""Actions whose chain of consents is followed; of more the newest."""

_CHOICES = {"approve": "approved", "edit": "changed and approved", "reject": "rejected", "respond": "answered in the tool's place"}


def call_records(store: HasLog, place: ContextPlace) -> list[CallRecord]:
    """Return the steps of the calls made at a place, oldest first. An entry of another kind is left out.

    Raises:
        StoreError: the store cannot be read.
    """
    found = (_record(entry.body) for entry in store.log.read(Stream(tenant=store.tenant, kind=AUDIT, key=place.key)))
    return [record for record in found if record is not None]


def actions_of(
    store: HasLog, place: ContextPlace, records: Sequence[CallRecord], *, said: Mapping[str, str], consents: ConsentReader | None = None
) -> list[Action]:
    """Return the calls, in the order they were first judged.

    Args:
        store: Where the records are.
        place: Where they were made.
        records: Their steps.
        said: Arguments as messages have them, by call: what a call that only read is not on record with.
        consents: What reads the ledger, where it rests in another store.
    """
    by_call: dict[str, list[CallRecord]] = {}
    for number, record in enumerate(records):
        by_call.setdefault(record.call_id or f"(no id, entry {number + 1})", []).append(record)
    contents = CallRecords(store)
    chained = [name for name, steps in by_call.items() if any(step.reading is not None and step.reading.consents for step in steps)][-_CHAINS:]
    chains = {name: explain(store, name, thread=place.thread, consents=consents) for name in chained}
    return [_action(name, steps, contents, chains.get(name), said.get(name)) for name, steps in by_call.items()]


def _record(body: bytes) -> CallRecord | None:
    try:
        data = json.loads(body)
        if not isinstance(data, dict) or data.pop("kind", None) != "tool_call":
            return None
        data.pop("schema_version", None)
        return CallRecord.model_validate(data)
    except (ValueError, ValidationError, RecursionError):
        return None


def _action(name: str, steps: Sequence[CallRecord], contents: CallRecords, chain: Explanation | None, called_with: str | None) -> Action:
    first, verdict = steps[0], next((step for step in reversed(steps) if step.decision is not None), None)
    said = _content(contents, steps)
    arguments = json.dumps(said["args"], ensure_ascii=False) if "args" in said else called_with
    return Action(
        call_id=name,
        tool=first.tool,
        arguments=None if arguments is None else arguments[:_TEXT],
        at=first.at,
        decision=None if verdict is None else verdict.decision,
        is_answered=verdict is not None and verdict.error in _ANSWERED,
        allowed_by=_allowed_by(steps, verdict, said, chain),
        is_notable=_is_notable(steps, verdict),
        steps=tuple(Step(at=step.at, text=_words(step)) for step in steps),
        chain=() if chain is None else tuple(map(_link, explained_text(chain).splitlines()[1:])),
        holds=chain is None or chain.holds,
    )


def _link(line: str) -> str:
    """Return a link of the chain for a page: what the steps say anyway is left out."""
    bare = line.strip().replace("<- ", "\u2190 ", 1)
    return ", ".join(bare.split(", ")[:2]) if bare.startswith("on record as entry") else bare


def _content(contents: CallRecords, steps: Sequence[CallRecord]) -> Mapping[str, Any]:
    for step in steps:
        if step.content is not None and step.step in {"judged", "asked"}:
            try:
                found = contents.content(step.thread, step.content)
            except (StoreError, ValueError):
                continue
            if found is not None:
                return found
    return {}


def _is_notable(steps: Sequence[CallRecord], verdict: CallRecord | None) -> bool:
    return (
        verdict is None
        or verdict.decision != "allow"
        or any(step.step in {"asked", "answered", "refused", "receipt"} or step.error or step.is_irreversible or step.approvals for step in steps)
        or any(step.reading is not None and step.reading.consents for step in steps)
        or any(step.outcome not in {None, "finished"} for step in steps)
    )


def _allowed_by(steps: Sequence[CallRecord], verdict: CallRecord | None, said: Mapping[str, Any], chain: Explanation | None) -> str:
    if verdict is None:
        return "No verdict is on record."
    if verdict.error in _ANSWERED:
        return _ANSWERED[verdict.error]
    under = f"under rule {listed([_quoted(rule) for rule in verdict.rules])}" if verdict.rules else "under the default of the policy"
    if verdict.decision == "deny":
        reason = said.get("reason")
        because = f": {reason}" if isinstance(reason, str) and reason else f" ({', '.join(verdict.keys)})" if verdict.keys else ""
        return f"Nobody: it was denied {under}{because}."
    answers = [(step.choice, _who(step.approver)) for step in steps if step.step == "answered" and step.choice]
    refused = [f"{_CHOICES[choice]} by {who}" for choice, who in answers if choice in {"reject", "respond"}]
    if refused:
        return f"Nobody: {listed(refused)}."
    agreed = list(dict.fromkeys(f"{_CHOICES[choice]} by {who}" for choice, who in answers))
    if verdict.decision == "ask" and not agreed:
        return f"Nobody yet: a person has to agree, {under}."
    parts = [*agreed, *_consented(verdict, chain)]
    told = ", ".join(parts) or "the policy"
    return f"{told[:1].upper()}{told[1:]}, {under}."


def _consented(verdict: CallRecord, chain: Explanation | None) -> Iterator[str]:
    if verdict.reading is None or not verdict.reading.consents:
        return
    granted = [] if chain is None else [one.grant for one in chain.chains if one.grant is not None]
    by = sorted({f" of {one.subject}, recorded by {one.recorded_by}" for one in granted})
    yield f"on consent {listed([_quoted(one.field) for one in verdict.reading.consents])}{listed(by)}"


def _words(step: CallRecord) -> str:
    return _what(step) + "".join(_details(step))


def _what(step: CallRecord) -> str:
    match step.step:
        case "judged":
            return "answered in the tool's place" if step.error in _ANSWERED else f"judged: {step.decision or 'no verdict'}"
        case "asked":
            return "a person was asked"
        case "answered":
            return f"{_CHOICES.get(step.choice or '', 'answered')} by {_who(step.approver)}"
        case "refused":
            return f"{_who(step.approver)} answered, and that opened nothing"
        case "receipt":
            return "not run again: it had finished before, and its receipt was returned"
        case "ran":
            return f"ran: {step.outcome or 'no outcome'}"
        case _:
            assert_never(step.step)


def _details(step: CallRecord) -> Iterator[str]:
    if step.rules:
        yield f", by rule {listed([_quoted(rule) for rule in step.rules])}"
    if step.keys:
        yield f" ({', '.join(step.keys)})"
    if step.is_irreversible and step.step == "judged":
        yield ", cannot be undone"
    if step.error and step.error not in _ANSWERED:
        yield f", {step.error}"
    if step.seconds is not None and step.seconds >= _NOTICED_S:
        yield f", {step.seconds:.2f} s"


def _who(approver: Approver | None) -> str:
    if approver is None or not approver.id:
        return "somebody without a name"
    role = f" ({approver.role})" if approver.role else ""
    surface = f" through {approver.surface}" if approver.surface else ""
    return f"{approver.id}{role}{surface}"


def _quoted(name: str) -> str:
    return f"\u2018{name}\u2019"

"""What differs from what a case expects; of what was lost: at which model call, who had said it, and what stands there now."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

import re2  # type: ignore[import-untyped]  # it ships no types
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from langchain_ctxguard.core.diff import stands_whole
from langchain_ctxguard.core.retention import check_retention
from langchain_ctxguard.testing.retention.case import Rule
from langchain_ctxguard.testing.retention.outcome import CaseRun, Finding, Kind

_MOST_LINES: Final = 12
_LONGEST_LINE: Final = 200


def faults_of(run: CaseRun, *, rules_given: Sequence[Rule], said: Sequence[str]) -> list[Finding]:
    """Return everything that is not as the case of a run expects."""
    return list(_faults(run, rules_given, said))


def _faults(run: CaseRun, rules: Sequence[Rule], said: Sequence[str]) -> Iterator[Finding]:
    expect = run.case.expect
    if run.error is not None:
        yield Finding("stopped", run.error, "stopped the run")
        return
    if run.is_compacted and run.rounds < run.case.rounds:
        yield Finding("rounds", str(run.rounds), f"compactions were seen, and the case wants {run.case.rounds}: it shows nothing")
    if expect.kept is None:
        for rule in rules:
            yield from _rule_faults(run, rule.text)
    for text in expect.kept or ():
        if not _holds(text, run.inputs[-1]):
            yield _lost(run, "lost", text, "is not in the model's input", partial(_holds, text))
    for value in expect.fields:
        if not _holds_token(value, run.inputs[-1]):
            yield _lost(run, "field", value, "is not in the model's input", partial(_holds_token, value))
    yield from _presence_faults(run, {*said, *(rule.text for rule in rules), run.case.request})
    yield from _act_faults(run)


def _presence_faults(run: CaseRun, before: set[str]) -> Iterator[Finding]:
    last = run.inputs[-1]
    for text in run.case.expect.absent:
        where = next((message for message in last if text in message.text and not _was_said(message, before)), None)
        if where is not None:
            yield Finding("present", text, f"stands in a message nobody said ({where.type})", diff=_excerpt(where.text, text))
    for text in run.case.expect.not_in_system:
        where = next((message for message in last if isinstance(message, SystemMessage) and text in message.text), None)
        if where is not None:
            yield Finding("in_system", text, "stands in a system message", diff=_excerpt(where.text, text))


def _rule_faults(run: CaseRun, rule: str) -> Iterator[Finding]:
    def is_kept(seen: Sequence[BaseMessage]) -> bool:
        return not check_retention([rule], list(seen))

    found = check_retention([rule], list(run.inputs[-1]))
    for finding in found:
        kind: Kind = "lost" if finding.retention == "dropped" else "changed"
        detail = f"is {finding.retention}" + (f": {finding.sentence!r}" if finding.sentence else "")
        yield _lost(run, kind, rule, detail, is_kept)


def _act_faults(run: CaseRun) -> Iterator[Finding]:
    expect = run.case.expect
    for tool in expect.called:
        if tool not in run.called:
            yield Finding("called", tool, f"was not called; the answer was {run.answer!r}{_why_not(run)}")
    for tool in expect.not_called:
        if tool in run.called:
            yield Finding("not_called", tool, "was called")
    stopped = bool(run.denied or run.asked)
    if expect.refused and not (stopped or run.case.act.refusal in run.answer):
        yield Finding("not_refused", run.case.request, f"was not refused; the answer was {run.answer!r}")
    if expect.answer is not None and expect.answer not in run.answer:
        yield Finding("answer", expect.answer, f"is not in the answer {run.answer!r}")
    if expect.answer_matches is not None and re2.fullmatch(expect.answer_matches, run.answer.strip()) is None:
        yield Finding("answer", expect.answer_matches, f"is not what the answer looks like: {run.answer!r}")


def _why_not(run: CaseRun) -> str:
    if run.denied:
        return f"; denied: {run.denied[0]}"
    return "; a person was asked" if run.asked else ""


def _lost(run: CaseRun, kind: Kind, what: str, detail: str, is_there: Callable[[Sequence[BaseMessage]], bool]) -> Finding:
    held = [place for place, seen in enumerate(run.inputs) if is_there(seen)]
    if not held:
        return Finding(kind, what, f"{detail}; it never was")
    gone = held[-1] + 1
    if gone >= len(run.inputs):
        return Finding(kind, what, detail)
    before, after = run.inputs[held[-1]], run.inputs[gone]
    source = next((message for message in before if is_there([message])), None)
    return Finding(
        kind,
        what,
        f"{detail}; lost at model call {gone + 1} of {len(run.inputs)}",
        input_number=gone + 1,
        source=None if source is None else f"{source.type} {source.id or ''}: {_shortened(source.text)!r}",
        diff=_diff(before, after, is_there),
    )


def _holds(text: str, messages: Sequence[BaseMessage]) -> bool:
    return any(text in message.text for message in messages)


def _holds_token(value: str, messages: Sequence[BaseMessage]) -> bool:
    return any(stands_whole(value, message.text) or stands_whole(value, str(getattr(message, "tool_calls", ""))) for message in messages)


def _was_said(message: BaseMessage, before: set[str]) -> bool:
    # What the model answered and what tools returned stands in the conversation as well; a summary is a message of the user role.
    return message.text in before or not isinstance(message, HumanMessage | SystemMessage)


def _diff(before: Sequence[BaseMessage], after: Sequence[BaseMessage], is_there: Callable[[Sequence[BaseMessage]], bool]) -> tuple[str, ...]:
    """Return what came, and of what left the messages that held what was lost: the others are counted."""
    lines = difflib.ndiff([_line(message) for message in before], [_line(message) for message in after])
    changed = [line for line in lines if line[:2] in {"- ", "+ "}]
    held = {_line(message) for message in before if is_there([message])}
    left = [line for line in changed if line.startswith("-")]
    shown = [line for line in changed if line.startswith("+") or line[2:] in held]
    others = len(left) - sum(line.startswith("-") for line in shown)
    told = [f"  and {others} other messages left"] if others else []
    more = len(shown) - _MOST_LINES
    return (*shown[:_MOST_LINES], *([f"  {more} more lines"] if more > 0 else []), *told)


def _line(message: BaseMessage) -> str:
    calls = "".join(f" {call['name']}{call['args']}" for call in getattr(message, "tool_calls", ()))
    return _shortened(f"{message.type}: {message.text}{calls}")


def _excerpt(text: str, part: str) -> tuple[str, ...]:
    place = text.find(part)
    return (f"... {_shortened(text[max(0, place - 80) : place + len(part) + 80])} ...",)


def _shortened(text: str) -> str:
    one_line = " ".join(text.split())
    return one_line if len(one_line) <= _LONGEST_LINE else f"{one_line[:_LONGEST_LINE]} ... ({len(one_line)} characters)"

"""Plan, work log and workspace held against each other: what is in effect, what is not, and where they contradict."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from langchain_ctxguard.core.terms import fold
from langchain_ctxguard.core.worklog import files_left, last_step_on, open_entries
from langchain_ctxguard.domain.handoff_blocks import HandoffBlocks, HandoffItem
from langchain_ctxguard.domain.reconcile import CheckSeen, Contradiction, ContradictionKind, OutsideChange, StatusItem, WorkStatus
from langchain_ctxguard.domain.worklog import FileState, WorkEntry, WorkState
from langchain_ctxguard.domain.workspace import CheckResult, FileFact, Survey


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be reached, and how far whoever wrote the plan thought it was."""

    goal: str = ""
    task: str = ""
    done: tuple[StatusItem, ...] = ()
    not_done: tuple[StatusItem, ...] = ()
    knows: int = 0
    """Number of the last entry of the work log it knows of."""

    @classmethod
    def of(cls, handoff: HandoffBlocks | None, todos: Sequence[tuple[str, bool]] = ()) -> Plan:
        """Return the plan of a hand-over and of a todo list.

        Args:
            handoff: The newest one; `None`: there is none.
            todos: Text of each step, and whether it is done.
        """
        items = [(StatusItem(text=text), is_done) for text, is_done in todos if text.strip()]
        done, not_done = [one for one, is_done in items if is_done], [one for one, is_done in items if not is_done]
        if handoff is None:
            return cls(done=tuple(done), not_done=tuple(not_done))
        return cls(
            goal=handoff.goal,
            task=handoff.next_action,
            done=(*map(_item, handoff.done), *done),
            not_done=(*map(_item, handoff.not_done), *not_done),
            knows=handoff.trace,
        )


@dataclass(frozen=True, slots=True)
class Seen:
    """The workspace as it is now, as far as it was looked at."""

    facts: Mapping[str, FileFact]
    """Of each file that the work log names, by that name."""

    survey: Survey
    before: Survey | None = None
    """An earlier one, to tell what changed since; `None`: nobody looked."""

    committed: Collection[str] = ()
    """Files that differ between the commit of then and the commit of now."""

    tracked: Collection[str] = ()
    """Those of the named files that the last commit may hold."""

    copies: Mapping[str, str] = field(default_factory=dict)
    """By SHA-256, where else a content is that a missing file had."""


def compare(
    plan: Plan, entries: Sequence[WorkEntry], seen: Seen, *, check: CheckResult | None = None, baseline: CheckSeen | None = None
) -> WorkStatus:
    """Return what holds.

    Args:
        plan: What is to be reached.
        entries: The work log, oldest first.
        seen: The workspace.
        check: What the configured check came to just now; `None`: there is none.
        baseline: What it came to before the agent began; `None`: nobody knows.
    """
    found, notes = contradictions(entries, seen)
    in_effect, undone = _steps(entries, found)
    finished = {_same(item.text) for item in in_effect}
    still_open = [item for item in _open(plan, entries) if _same(item.text) not in finished]
    shown = {entry.number for entry in entries if entry.state is WorkState.DONE}
    claimed = [item for item in plan.done if item.trace not in shown and _same(item.text) not in finished]
    return WorkStatus(
        goal=plan.goal,
        task=_task(plan, entries, still_open, finished),
        in_effect=tuple(in_effect),
        not_in_effect=(*undone, *still_open),
        contradictions=tuple(found),
        claimed=tuple(claimed),
        outside=tuple(_outside(entries, seen)),
        check=check,
        is_blamed=is_blamed(check, baseline),
        notes=(*notes, *_head_notes(seen), *seen.survey.faults, *_check_notes(check, baseline)),
    )


def contradictions(entries: Sequence[WorkEntry], seen: Seen) -> tuple[list[Contradiction], list[str]]:
    """Return the files that are not as the last recorded step left them, and what could not be told of others."""
    found: list[Contradiction] = []
    notes: list[str] = []
    for path, left in files_left(entries).items():
        fact = seen.facts.get(path)
        if fact is None or fact.kind == "outside" or _is_as_left(fact, left):
            continue
        if not fact.is_known or fact.kind == "link":
            notes.append(f"nobody can tell what '{path}' holds now: it is {_ODD.get(fact.kind, fact.kind)}")
            continue
        found.append(_contradiction(entries, seen, left, fact))
    return found, notes


_ODD = {"unreadable": "not readable", "too_large": "too large to be read", "link": "a link"}


def is_blamed(check: CheckResult | CheckSeen | None, baseline: CheckSeen | None) -> bool:
    """Say whether a failing check is held against the agent: only where it passed before the agent began."""
    return check is not None and check.outcome in {"failed", "timed_out"} and baseline is not None and baseline.outcome == "passed"


def may_mend(found: Sequence[Contradiction], check: CheckResult | None, entries: Sequence[WorkEntry]) -> tuple[str, ...]:
    """Return the files that may be changed while the check fails: those it names, and those of contradictions.

    Where neither names any, those that the agent changed itself: otherwise nothing could ever mend it.
    """
    named = dict.fromkeys([*(() if check is None else check.files), *(path for one in found for path in (one.path, one.moved_to) if path)])
    return tuple(named or files_left(entries))


def _is_as_left(fact: FileFact, left: FileState) -> bool:
    return fact.kind == "absent" if left.sha256 is None else fact.sha256 == left.sha256


def _contradiction(entries: Sequence[WorkEntry], seen: Seen, left: FileState, fact: FileFact) -> Contradiction:
    step = last_step_on(entries, left.path)
    assert step is not None  # noqa: S101 - it is among the files that steps left
    kind: ContradictionKind = "changed"
    moved_to, back_to = "", None
    if left.sha256 is None:
        kind = "is_back"
    elif fact.kind == "absent":
        moved_to = _moved_to(seen, left)
        kind = "moved" if moved_to else "gone"
    else:
        back_to = _back_to(entries, seen, step, fact)
        kind = "changed" if back_to is None else "reverted"
    return Contradiction(
        kind=kind,
        path=left.path,
        trace=step.number,
        step=step.text,
        expected=left.sha256,
        found=fact.sha256 if fact.kind != "folder" else "folder",
        moved_to=moved_to,
        back_to=back_to,
    )


def _moved_to(seen: Seen, left: FileState) -> str:
    by_git = next((new for new, old in seen.survey.moved.items() if old == left.path), "")
    return by_git or seen.copies.get(left.sha256 or "", "")


def _back_to(entries: Sequence[WorkEntry], seen: Seen, step: WorkEntry, fact: FileFact) -> int | None:
    """Return the earlier step whose content a file has again, 0 for the last commit, `None` where it is neither."""
    for entry in reversed(entries):
        if entry.state is WorkState.DONE and entry.number < step.number and FileState(path=fact.path, sha256=fact.sha256) in entry.files:
            return entry.number
    is_committed = seen.survey.source == "git" and seen.survey.is_complete and fact.path in seen.tracked and fact.path not in seen.survey.marks
    return 0 if is_committed else None


def _steps(entries: Sequence[WorkEntry], found: Sequence[Contradiction]) -> tuple[list[StatusItem], list[StatusItem]]:
    """Return the recorded steps that are in effect, and those that are undone; of the others nobody can tell without looking."""
    by_path = {one.path: one for one in found}
    in_effect, undone = [], []
    for entry in entries:
        if entry.state is not WorkState.DONE:
            continue
        against = [by_path[state.path] for state in entry.files if state.path in by_path]
        item = StatusItem(text=entry.text, places=entry.places, trace=entry.number, is_compared=bool(entry.files))
        if all(one.kind == "moved" or (one.back_to is not None and entry.number <= one.back_to) for one in against):
            in_effect.append(item)
        elif any(one.kind != "changed" for one in against):
            undone.append(item)
    return in_effect, undone


def _open(plan: Plan, entries: Sequence[WorkEntry]) -> list[StatusItem]:
    """Return what is still to be done by the plan and by the work log, each once."""
    closed = {number for entry in entries for number in entry.closes}
    planned = [item for item in plan.not_done if item.trace not in closed]
    logged = [StatusItem(text=entry.text, places=entry.places, trace=entry.number) for entry in open_entries(entries)]
    traces = {item.trace for item in planned if item.trace is not None}
    every = [*planned, *(item for item in logged if item.trace not in traces)]
    return list({_same(item.text): item for item in reversed(every)}.values())[::-1]


def _task(plan: Plan, entries: Sequence[WorkEntry], still_open: Sequence[StatusItem], finished: Collection[str]) -> str:
    """Return what is to be done now: what was written down last, as long as it is not done."""
    later = [entry.text for entry in open_entries(entries) if entry.state is WorkState.NEXT and entry.number > plan.knows]
    candidates = [*later[-1:], plan.task, *(item.text for item in still_open)]
    return next((text for text in candidates if text and _same(text) not in finished), "")


def _outside(entries: Sequence[WorkEntry], seen: Seen) -> list[OutsideChange]:
    """Return the files that changed since somebody looked, without a step of the work log that left them so."""
    now, before = seen.survey, seen.before
    if before is None or before.source != now.source:
        return []
    left = files_left(entries)
    is_moved_on = now.head != before.head
    found: dict[str, OutsideChange] = {}
    for path in sorted({*now.marks, *before.marks, *seen.committed}):
        if path in left or (now.marks.get(path) == before.marks.get(path) and path not in seen.committed):
            continue
        # Of what differs no more after a commit, the commit says what it is now.
        if path not in now.marks and is_moved_on and path not in seen.committed:
            continue
        if not (now.is_complete and before.is_complete) and (path not in now.marks or path not in before.marks):
            continue
        found[path] = OutsideChange(path=path, how=_how(path, now, before))
    return list(found.values())


def _how(path: str, now: Survey, before: Survey) -> Literal["new", "changed", "gone", "as_committed"]:
    mark = now.marks.get(path)
    if mark is not None and mark.endswith("absent"):
        return "gone"
    if now.source == "files":
        return "gone" if mark is None else "changed" if path in before.marks else "new"
    if mark is None:
        return "as_committed" if now.head == before.head else "changed"
    return "new" if mark.startswith("??") and path not in before.marks else "changed"


def _head_notes(seen: Seen) -> list[str]:
    now, before = seen.survey, seen.before
    if before is None or now.source != "git" or before.source != "git" or now.head == before.head:
        return []
    return [f"the checked-out commit is {_short(now.head)} now and was {_short(before.head)}"]


def _short(head: str | None) -> str:
    return "none" if head is None else head[:12]


def _check_notes(check: CheckResult | None, baseline: CheckSeen | None) -> list[str]:
    if check is None:
        return []
    notes = [f"the check itself changed {', '.join(check.changed[:5])}: it should change nothing"] if check.changed else []
    if check.outcome == "not_run":
        return [*notes, f"the check did not run: {check.why}"]
    if check.outcome == "passed" or is_blamed(check, baseline):
        return notes
    if baseline is None or baseline.outcome == "not_run":
        return [*notes, "nobody knows whether the check failed before this work began, so it is not held against it"]
    return [*notes, "the check failed before this work began as well, so it is not held against it"]


def _item(item: HandoffItem) -> StatusItem:
    return StatusItem(text=item.text, places=item.places, trace=item.trace)


def _same(text: str) -> str:
    return " ".join(fold(text).split())

"""A status in words: for the model's context, and for the call that a contradiction or a failing check denies."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_ctxguard.core.render import one_line
from langchain_ctxguard.core.text import clipped, readable
from langchain_ctxguard.domain.code_place import CodePlace, written_places
from langchain_ctxguard.domain.reconcile import CheckSeen, Contradiction, OutsideChange, StatusItem, WorkStatus
from langchain_ctxguard.domain.worklog import trace_name
from langchain_ctxguard.domain.workspace import CheckResult

ROOM = 4_000
"""Characters of a status."""

_TEXT_SHOWN = 200
_OUTPUT_SHOWN = 1_200
_NAMED = 5
_LEAST = 3
"""Lines of a list that are shown whatever room there is."""

_OUTSIDE = {"new": "new", "changed": "changed", "gone": "gone", "as_committed": "as in the last commit again"}


def status_text(status: WorkStatus, room: int = ROOM, *, nothing: str = "nothing is on record yet") -> str:
    """Return in words where the work stands, what is gravest first; of long lists what there is room for, and how many more.

    Args:
        status: What was found.
        room: In characters. What names a contradiction and the first lines of each list are shown whatever it is.
        nothing: What is said where there is nothing to list.
    """
    text = _Text(room)
    text.add([f"Current task: {_line(clipped(status.task, 2 * _TEXT_SHOWN))}"] if status.task.strip() else [])
    text.list("Contradictions: files that are not as the work log says", [contradiction_line(one) for one in status.contradictions])
    text.add([] if status.check is None else _check_lines(status.check, is_blamed=status.is_blamed, room=min(_OUTPUT_SHOWN, room // 4)))
    text.list("Not in effect", [item_line(one) for one in status.not_in_effect])
    text.list("Changed outside of the recorded steps", [_outside_line(one) for one in status.outside])
    text.list("Said to be done, but no recorded step shows it", [item_line(one) for one in status.claimed])
    text.list("Also", [_line(note) for note in status.notes])
    text.list("In effect, need not be done again", [item_line(one) for one in status.in_effect], is_newest=True)
    what = "The work log was held against the workspace after the compaction"
    return "\n".join([f"{what}:", *text.lines] if text.lines else [f"{what}: {nothing}."])


class _Text:
    """Lines, as many as there is room for."""

    def __init__(self, room: int) -> None:
        self.lines: list[str] = []
        self._left = room

    def add(self, lines: Sequence[str]) -> None:
        self.lines += lines
        self._left -= sum(len(line) + 1 for line in lines)

    def list(self, title: str, lines: Sequence[str], *, is_newest: bool = False) -> None:
        """Add a list: its first lines, or its newest, in their order."""
        if not lines:
            return
        shown: list[str] = []
        for line in reversed(lines) if is_newest else lines:
            if len(shown) >= _LEAST and sum(map(len, shown)) + len(line) > self._left - len(title):
                break
            shown.append(f"- {line}")
        hidden = len(lines) - len(shown)
        more = [f"- {hidden} {'earlier ones' if is_newest else 'more'} are not listed"] if hidden else []
        self.add([f"{title}:", *([*more, *reversed(shown)] if is_newest else [*shown, *more])])


def contradiction_line(one: Contradiction) -> str:
    """Return what is wrong with one file, in one sentence without a full stop."""
    step = f"{trace_name(one.trace)} ({clipped(readable(one.step), 80)})"
    path = f"'{one.path}'"
    match one.kind:
        case "gone":
            text = f"{path}, which {step} left, is not there any more"
        case "moved":
            text = f"{path}, which {step} left, is now at '{one.moved_to}'"
        case "is_back":
            text = f"{path}, which {step} removed, is there again"
        case "reverted":
            state = "in the last commit" if not one.back_to else f"after {trace_name(one.back_to)}"
            text = f"{path} is again as it was {state}: what {step} did there is undone"
        case "changed":
            text = f"{path} was changed after {step}, by nobody whose step is recorded"
    return _line(text)


def held_reason(found: Sequence[Contradiction]) -> str:
    """Return why contradictions deny a call: one sentence without a full stop that names the files."""
    more = f"; and {len(found) - _NAMED} more files" if len(found) > _NAMED else ""
    return f"the workspace is not as the work log says: {'; '.join(map(contradiction_line, found[:_NAMED]))}{more}"


HELD_INSTEAD = (
    "Read the files named here and decide what still has to be done: it may have been undone on purpose. "
    "This is said once; the next call that changes something runs."
)


def blocked_reason(check: CheckSeen | None, command: str) -> str:
    """Return why a failing check denies a call."""
    outcome = "fails" if check is None or check.outcome == "failed" else "does not end in time"
    code = f" (exit code {check.exit_code})" if check is not None and check.exit_code is not None else ""
    return f"the check `{clipped(readable(command), 120)}` {outcome}{code}, and passed before"


def blocked_instead(may_mend: Sequence[str], output: str = "") -> str:
    """Say what may be done while the check fails."""
    named = ", ".join(f"'{path}'" for path in may_mend[:12])
    more = f" and {len(may_mend) - 12} more" if len(may_mend) > 12 else ""  # noqa: PLR2004 - as many as are named
    files = f"Mend it first: {named}{more} may be changed, one or several of them by one call that names them." if named else "A person can waive it."
    said = f" It said:\n{_output(output, _OUTPUT_SHOWN)}" if output.strip() else ""
    return f"{files} Everything can be read, and the check can be run.{said}"


def _check_lines(check: CheckResult, *, is_blamed: bool, room: int) -> list[str]:
    match check.outcome:
        case "passed":
            return ["Check: passed."]
        case "not_run":
            return []
        case "failed" | "timed_out":
            what = f"failed with exit code {check.exit_code}" if check.outcome == "failed" else check.why
            blame = " It passed before: until it passes again, only files it or a contradiction names may be changed." if is_blamed else ""
            return [f"Check: {_line(what)}.{blame}", *(["It said:", _output(check.output, room)] if check.output.strip() else [])]


def _output(text: str, room: int) -> str:
    """Return the end of an output, where test runners and compilers say what failed, unable to close our tags."""
    lines = [line for line in map(_line, text.splitlines()) if line]
    shown: list[str] = []
    for line in reversed(lines):
        room -= len(line) + 1
        if room < 0:
            shown.append("| [...]")
            break
        shown.append(f"| {clipped(line, _TEXT_SHOWN)}")
    return "\n".join(reversed(shown))


def item_line(item: StatusItem) -> str:
    """Return a step or an open item in one line, with its first places."""
    trace = "" if item.trace is None else f"[{trace_name(item.trace)}] "
    where = f" @ {first_places(item.places)}" if item.places else ""
    note = "" if item.is_compared else " (nothing in the workspace to hold it against)"
    return f"{trace}{_line(clipped(item.text, _TEXT_SHOWN))}{where}{note}"


def first_places(places: tuple[CodePlace, ...], room: int = _TEXT_SHOWN) -> str:
    """Return the first places, each whole: the beginning of a path is another path."""
    shown = 1
    while shown < len(places) and len(written_places(places[: shown + 1])) <= room:
        shown += 1
    more = f" and {len(places) - shown} more" if shown < len(places) else ""
    return f"{_line(clipped(written_places(places[:shown]), 2 * _TEXT_SHOWN))}{more}"


def _outside_line(change: OutsideChange) -> str:
    return f"{_line(change.path)} ({_OUTSIDE[change.how]})"


def _line(text: str) -> str:
    return one_line(readable(text))

"""Whether a call would do again what is done, or propose again what was turned down; and what it is told instead."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_ctxguard.core.edits import Edit, edits_in, is_in
from langchain_ctxguard.core.evidence import effect_of
from langchain_ctxguard.core.options import TurnedDown, first_meant
from langchain_ctxguard.core.proposals import proposed_in
from langchain_ctxguard.core.text import clipped, readable
from langchain_ctxguard.core.worklog import effect_digest
from langchain_ctxguard.domain.reconcile import SearchSeen
from langchain_ctxguard.domain.worklog import WorkEntry, WorkState, trace_name
from langchain_ctxguard.domain.workspace import FileFact

_SEARCHES = ("grep", "search", "find", "glob", "rg", "locate", "查找", "搜索")


_TELLING = 6
"""Characters, spaces left out, from which on a text in a file says that an edit put it there: `1` stands in any file."""


@dataclass(frozen=True, slots=True)
class Look:
    """How files are looked at, each only where it decides something."""

    fact: Callable[[str], FileFact]
    text: Callable[[str], str | None]
    name: Callable[[str], str | None]
    """Returns what a path is called below the workspace."""


def repeated_step(tool: str, args: Mapping[str, Any], entries: Sequence[WorkEntry], look: Look, *, call_id: str | None = None) -> WorkEntry | None:
    """Return the recorded step a call would do again, `None` where it would not, or where the workspace has its effect no more.

    Args:
        tool: Name of the tool.
        args: Its arguments.
        entries: The work log, oldest first.
        look: Looks at files.
        call_id: Of the call: its own step is no earlier one.
    """
    edits = edits_in(tool, args)
    if not edits:
        return None
    own = effect_digest(tool, args)
    done = [entry for entry in entries if entry.state is WorkState.DONE and entry.files and not (call_id and entry.tool_call_id == call_id)]
    same = next((entry for entry in reversed(done) if entry.effect_digest == own), None)
    if same is not None:
        return same if _holds(same, edits, look) else None
    return _by_content(edits, done, look)


def _holds(entry: WorkEntry, edits: Sequence[Edit], look: Look) -> bool:
    """Say whether the effect of a step is there: its files are as it left them, or hold what it put in."""
    facts = {state.path: look.fact(state.path) for state in entry.files}
    if all(_is_left(facts[state.path], state.sha256) for state in entry.files):
        return True
    return bool(edits) and all(is_in(edit, look.text(edit.path)) is True for edit in edits)


def _is_left(fact: FileFact, sha256: str | None) -> bool:
    return fact.kind == "absent" if sha256 is None else fact.sha256 == sha256


def _by_content(edits: Sequence[Edit], done: Sequence[WorkEntry], look: Look) -> WorkEntry | None:
    """Return the last step on files that hold already all that a call would put in, however the step was called."""
    names = [look.name(edit.path) for edit in edits]
    if None in names or any(edit.kind == "replace" and len("".join(edit.new.split())) < _TELLING for edit in edits):
        return None
    last: WorkEntry | None = None
    for entry in done:
        if {state.path for state in entry.files} & set(names):
            last = entry
    touched = {state.path for entry in done for state in entry.files}
    if last is None or not set(names) <= touched:
        return None
    return last if all(is_in(edit, look.text(edit.path)) is True for edit in edits) else None


def repeated_search(
    tool: str, args: Mapping[str, Any], searches: Iterable[SearchSeen], look: Look, *, print_now: Callable[[], str], call_id: str | None = None
) -> SearchSeen | None:
    """Return an earlier search with the same words whose answer still holds: no file changed since.

    Args:
        tool: Name of the tool.
        args: Its arguments.
        searches: Earlier ones.
        look: Looks at files.
        print_now: Returns what tells the workspace from any other now; asked only where a search is the same. Empty: nobody can tell.
        call_id: Of the call.
    """
    own = effect_digest(tool, args)
    same = next((one for one in searches if one.effect == own and not (call_id and one.call_id == call_id)), None)
    if same is None or not same.print or any(look.fact(path).sha256 != sha for path, sha in same.files):
        return None
    return same if print_now() == same.print else None


def is_search(tool: str) -> bool:
    """Say whether a tool looks for something, by its name."""
    return effect_of(tool) == "read" and any(word in tool.lower() for word in _SEARCHES)


def turned_down_in(tool: str, args: Mapping[str, Any], standing: Sequence[TurnedDown], look: Look) -> TurnedDown | None:
    """Return the decision against what a call proposes, `None` where there is none."""
    if not standing or effect_of(tool) == "read":
        return None
    names = frozenset(name.name for one in standing for name in one.names)
    found = first_meant(standing, proposed_in(tool, args, names, look.text))
    return None if found is None else found[0]


def in_effect_text(tool: str, entry: WorkEntry) -> str:
    """Return what a model reads in the place of a step that is in effect already."""
    files = "; ".join(f"'{state.path}'" + (" (removed)" if state.sha256 is None else f" (sha256 {state.sha256[:12]})") for state in entry.files[:8])
    return (
        f"Already in effect, so `{tool}` was not run again: {entry.line}. The workspace was looked at just now and has it: {files}. "
        "Go on with what is not done yet."
    )


def found_before_text(tool: str, seen: SearchSeen) -> str:
    """Return what a model reads in the place of a search whose answer is known."""
    return "\n".join([f"`{tool}` was asked this before, and no file changed since. It found:", *seen.found])


def turned_down_text(tool: str, one: TurnedDown) -> str:
    """Return what a model reads in the place of a proposal that was turned down before."""
    where = "" if one.trace is None else f" [{trace_name(one.trace)}]"
    why = f", because: {_said(one.option.why)}" if one.option.why else ", and no reason was recorded"
    chosen = (
        f" Chosen instead: {_said(one.decision.chosen)}{f' ({_said(one.decision.why)})' if one.decision.why else ''}." if one.decision.chosen else ""
    )
    return (
        f"Not run: `{tool}` would take up '{_said(one.option.option)}', which was turned down{where}{why}.{chosen} "
        "Nothing happened. Go on with what was chosen; if the reason no longer holds, ask the person to decide anew."
    )


def _said(text: str) -> str:
    return clipped(readable(text), 300)

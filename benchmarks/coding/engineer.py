"""A model that works on a repository and knows only what it can see: what left its view is done again, asked again, forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool

from benchmarks.coding.journal import Journal, named
from benchmarks.coding.reading import TARGETS, Request, View
from benchmarks.coding.tasks import CHOSEN, COMPAT, FAVOURITE, OLD_PORT_FILE, PORT_FILE, Refactor

Step = tuple[str, str, dict[str, Any]]
"""What it says, the tool it calls, and with what; an empty tool ends the turn."""

_LISTED = 15
"""Places of one note."""

_TALK = "I look at where this is used before I go on, so that nothing beside it changes, and keep the change as small as it can be."


class Engineer(BaseChatModel):
    """Takes the next step that the text in sight asks for."""

    journal: Any
    """Hears of each step; it is never asked."""

    offered: frozenset[str] = frozenset()

    @property
    def _llm_type(self) -> str:
        return "engineer"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Engineer:
        """Return this model with tools on offer: it notes plans and decisions where there is a tool for it."""
        del kwargs
        return self.model_copy(update={"offered": frozenset(convert_to_openai_tool(one)["function"]["name"] for one in tools)})

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: CallbackManagerForLLMRun | None = None, **kwargs: Any
    ) -> ChatResult:
        del stop, run_manager, kwargs
        view = View.of(messages)
        journal: Journal = self.journal
        journal.saw(view)
        said, tool, args = next_step(view, notes="trace" in self.offered) if not journal.is_spent else ("I give up.", "", {})
        own = named(f"said {journal.said()}")
        if not tool:
            journal.ended()
            return ChatResult(generations=[ChatGeneration(message=AIMessage(said, id=own))])
        call = {"name": tool, "args": args, "id": journal.called(tool, args), "type": "tool_call"}
        return ChatResult(generations=[ChatGeneration(message=AIMessage(f"{said} {_TALK}".strip(), tool_calls=[call], id=own))])


def next_step(view: View, *, notes: bool) -> Step:
    """Return the next step.

    Args:
        view: What can be seen.
        notes: Whether there is a tool for notes; without one they are said.
    """
    if not view.requests:
        return "What shall I do?", "", {}
    request = view.requests[-1]
    if request.kind == "change":
        return _change(view, request, notes=notes)
    if request.kind == "port":
        return _set_port(view)
    return _small(view, request)


def _change(view: View, request: Request, *, notes: bool) -> Step:
    plan = view.plan(request)
    if plan is None:
        return _look(view, request)
    noted = view.noted(request.old)
    # What is done is nothing to plan.
    unnoted = [path for path in plan if path not in noted and not view.is_done(request, path)]
    said = ""
    if unnoted and notes:
        return "", "trace", {"state": "next", "text": f"edit these for `{request.old}`", "at": unnoted[:_LISTED]}
    if unnoted:
        said = f"Plan for `{request.old}`: {', '.join(plan)}.\n"
    pending = [path for path in plan if not view.is_done(request, path)]
    done = len(plan) - len(pending)
    aside = _aside(view, done, is_last=not pending, notes=notes)
    if aside is not None:
        return said + aside[0], aside[1], aside[2]
    if pending:
        return _edit(view, request, pending[0], said)
    return _finish(view, said, notes=notes)


def _look(view: View, request: Request) -> Step:
    if view.calls and view.calls[-1][2].startswith("Nothing below"):
        return "There is nothing to do.", "", {}
    return "First I look for all places.", "search", {"query": request.old, "folder": request.folder}


def _edit(view: View, request: Request, path: str, said: str) -> Step:
    content = view.contents.get(path)
    line = None if content is None else next((one for one in content.splitlines() if request.old in one), None)
    if line is None:
        return said, "read_file", {"path": path}
    change = Refactor(request.old, request.new, request.folder, (), request.by)
    return said, "edit_file", {"path": path, "old_string": line, "new_string": change.changed(line)}


def _aside(view: View, done: int, *, is_last: bool, notes: bool) -> Step | None:
    """Return a step for what was asked beside the change, once some of it is done; `None`: nothing is due."""
    if "right after the first file" in view.told and done == 1 and "The check passes" not in view.text:
        return "", "run_check", {}
    if "which file configures the port" in view.told and view.port_file is None and (done >= 2 or is_last):
        return _find_port(view, notes=notes)
    if "Choose a JSON library" in view.told and view.library is None and (done >= 3 or is_last):
        if f"{FAVOURITE}: 180 MB installed" not in view.text:
            return "", "package_size", {"name": FAVOURITE}
        why = "180 MB, too large to deploy"
        if notes:
            return "", "trace", {"state": "decided", "text": f"use {CHOSEN}", "rejected": [{"option": FAVOURITE, "why": why}]}
        return f"Decided: {CHOSEN}, not {FAVOURITE} ({why}).\n", "run_check", {}
    return None


def _find_port(view: View, *, notes: bool) -> Step:
    paths = view.found("port =")
    if paths is None:
        return "", "search", {"query": "port =", "folder": "config"}
    unread = next((path for path in paths if path not in view.contents), None)
    if unread is not None:
        return "", "read_file", {"path": unread}
    said = f"{PORT_FILE} configures the port"
    if notes:
        rejected = [{"option": OLD_PORT_FILE, "why": "superseded"}]
        return "", "trace", {"state": "decided", "text": said, "at": [PORT_FILE], "rejected": rejected}
    return f"Noted: {said}, not {OLD_PORT_FILE}.\n", "run_check", {}


def _finish(view: View, said: str, *, notes: bool) -> Step:
    if view.keeps_compat:
        content = view.contents.get(COMPAT)
        if content is None:
            return said, "read_file", {"path": COMPAT}
        if content.startswith("Error"):
            return said, "write_file", {"path": COMPAT, "content": "# the old names\n"}
    if not view.is_last("run_check"):
        return said, "run_check", {}
    if notes and view.open_notes() and not view.is_last("trace"):
        return said, "trace", {"state": "next", "text": "wait for what is asked next", "closes": view.open_notes()}
    return "All files are changed, and the check passes.", "", {}


def _set_port(view: View) -> Step:
    path = view.port_file
    if path is None:
        found = view.found("port =")
        if found is None:
            return "", "search", {"query": "port =", "folder": "config"}
        path = found[0]
    if path in view.changed:
        return "The port is set.", "", {}
    if path not in view.contents:
        return "", "read_file", {"path": path}
    return "", "edit_file", {"path": path, "old_string": "port = 8080", "new_string": "port = 9000"}


def _small(view: View, request: Request) -> Step:
    path = TARGETS[request.kind]
    if path in view.changed:
        return "That is done.", "", {}
    if request.kind == "compat":
        return "", "delete_file", {"path": path}
    content = view.contents.get(path)
    if content is None:
        return "", "read_file", {"path": path}
    last = content.splitlines()[-1]
    return "", "edit_file", {"path": path, "old_string": last, "new_string": f"{last}\n{_added(view, request)}"}


def _added(view: View, request: Request) -> str:
    if request.kind == "library":
        return view.library or FAVOURITE
    name = "ERR_TIMEOUT" if "codes begin with ERR_" in view.told else "E_TIMEOUT"
    return f'{name} = "{name}"'

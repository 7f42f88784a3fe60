"""One task under one arm, from the first request to the last, and what came of it."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from benchmarks.coding import arms, workspace
from benchmarks.coding.engineer import Engineer
from benchmarks.coding.journal import Journal, named
from benchmarks.coding.tasks import Task
from langchain_ctxguard.core.worklog import files_left
from langchain_ctxguard.domain.work_metrics import WorkMetrics

THREAD: Any = {"configurable": {"thread_id": "t"}, "recursion_limit": 2_000}


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one task under one arm."""

    task: str
    sites: int
    """How many files the changes are over."""

    arm: str
    journal: Journal
    is_right: bool
    """The repository holds what it is to hold, and nothing else changed."""

    knows_files: bool
    """The files that can be seen, in the last view, to have been changed are those of `git diff`."""

    logs_files: bool | None
    """The files of the work log are those of `git diff`; `None`: there is none."""

    own: WorkMetrics | None = None
    """What `HandoffGuard.metrics` says; `None`: there is none."""

    @property
    def is_clean(self) -> bool:
        """Right, and no step was done twice, reopened or against a rule."""
        counts = self.journal.counts
        return self.is_right and not any(counts[kind] for kind in ("repeated_patch", "repeated_search", "reopened", "broke", "wrong_place"))

    @property
    def metrics_agree(self) -> bool:
        """Whether the guard's own numbers say the same of what was repeated and how often the context was compacted."""
        counts, own = self.journal.counts, self.own
        return own is not None and (counts["repeated_patch"], counts["repeated_search"], counts["reopened"], len(self.journal.stages)) == (
            own.repeated_edits,
            own.repeated_searches,
            own.reopened_decisions,
            own.compactions,
        )

    def told(self) -> str:
        """Return it in a line."""
        scores = [round(sum(stage.shown.values()), 2) for stage in self.journal.stages]
        return f"right={self.is_right} files={self.knows_files} {dict(self.journal.counts)} elements={scores}"


def run(task: Task, arm: str, origin: Path, root: Path) -> Outcome:
    """Have the task done.

    Args:
        task: What is asked.
        arm: Under whom.
        origin: Its repository, as it is before.
        root: Where a copy of it is worked in.
    """
    shutil.copytree(origin, root)
    journal = Journal(task, root)
    with ExitStack() as stack, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chosen = arms.made(arm, root, task.trigger, stack)
        agent = create_agent(
            Engineer(journal=journal),
            workspace.Tools(root, journal.ran).made(),
            middleware=[Named(), *chosen.middleware],
            checkpointer=InMemorySaver(),
        )
        state: Any = {}
        for number, text in enumerate(task.turns):
            journal.turn = number
            state = agent.invoke({"messages": [HumanMessage(text, id=named(f"asked {number}"))]}, THREAD)
        handoff = chosen.handoff
        logged = None if handoff is None else set(files_left(handoff.entries("t")))
        own = None if handoff is None else handoff.metrics("t", state)
    changed = workspace.touched(root)
    known = journal.last.changed if journal.last is not None else frozenset()
    # The work is gone: what is kept of it must fit between processes.
    journal.last = None
    outcome = Outcome(
        task.name,
        sum(len(one.sites) for one in task.refactors),
        arm,
        journal,
        is_right=changed == set(task.expected) and all(_holds(root / name, text) for name, text in task.expected.items()),
        knows_files=known == changed,
        logs_files=None if logged is None else logged == changed,
        own=own,
    )
    shutil.rmtree(root)
    return outcome


class Named(AgentMiddleware[Any, Any, Any]):
    """Gives each result the id its call has: one made up by chance is longer or shorter in tokens, and moves the compactions from run to run."""

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Run the tool and name what it returned."""
        result = handler(request)
        result.id = named(f"result of {request.tool_call['id']}")
        return result


def _holds(file: Path, text: str | None) -> bool:
    return (file.read_text(encoding="utf-8") if file.is_file() else None) == text

"""tau-bench results: a list of runs, each with its task, its trial and chat messages under `traj`."""

from __future__ import annotations

from typing import Any

from langchain_ctxguard.backends.transcripts.openai_message import read_messages
from langchain_ctxguard.backends.transcripts.transcript import Misfit, Run, Where, kind_of

FORMAT = "tau_bench"
TITLE = "tau-bench runs"


def recognises(data: Any) -> bool:
    """Say whether `data` is a run with a `traj`, or a list of them."""
    return _is_run(data) or (isinstance(data, list) and any(_is_run(entry) for entry in data))


def read(data: Any, name: str) -> tuple[Run, ...]:
    """Return the runs, named by task and trial.

    Raises:
        Misfit: a run without `traj`, or a message that does not fit.
    """
    if isinstance(data, dict):
        return (_run(data, name, ()),)
    return tuple(_run(entry, f"{name}#{index}", (index,)) for index, entry in enumerate(data))


def _run(entry: Any, name: str, where: Where) -> Run:
    if not _is_run(entry):
        raise Misfit(where, "has no `traj`, as the other runs have")
    if not isinstance(entry["traj"], list):
        raise Misfit((*where, "traj"), f"is {kind_of(entry['traj'])}; it takes a list of messages")
    known = [f"{word} {entry[key]}" for word, key in (("task", "task_id"), ("trial", "trial")) if isinstance(entry.get(key), (int, str))]
    return Run(" ".join(known) or name, read_messages(entry["traj"], (*where, "traj")), FORMAT)


def _is_run(entry: Any) -> bool:
    return isinstance(entry, dict) and "traj" in entry

"""Scores of runs on their way to LangSmith, by a thread of their own: who calls waits for no endpoint."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

if TYPE_CHECKING:
    from langsmith.run_trees import RunTree

_ROOM = 1_000
"""Runs whose scores wait; beyond it the newest are dropped and counted."""


class FeedbackQueue:
    """Hands scores to the client of each run. The thread starts with the first of them and does not hold up the end of the process."""

    def __init__(self) -> None:
        """Begin empty."""
        self._waiting: queue.Queue[tuple[Any, UUID, UUID, str, dict[str, float]]] = queue.Queue(maxsize=_ROOM)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._projects: dict[tuple[int, str], UUID] = {}
        self.dropped = 0
        """Scores that could not be handed over."""

    def put(self, run: RunTree, scores: Mapping[str, float]) -> None:
        """Send the scores of a run soon."""
        try:
            self._waiting.put_nowait((run.client, run.id, run.trace_id, run.session_name or "default", dict(scores)))
        except queue.Full:
            self.dropped += 1
            return
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._work, name="ctxguard-feedback", daemon=True)
                self._thread.start()

    def flush(self, timeout_s: float) -> bool:
        """Wait until nothing is left to hand over; say whether that came about in time."""
        done = threading.Event()

        def wait() -> None:
            self._waiting.join()
            done.set()

        threading.Thread(target=wait, daemon=True).start()
        return done.wait(timeout_s)

    def _work(self) -> None:
        while True:
            client, run_id, trace_id, project, scores = self._waiting.get()
            try:
                self._send(client, run_id, trace_id, project, scores)
            except Exception:  # noqa: BLE001 - whatever a client raises, the next scores may get through
                self.dropped += 1
            finally:
                self._waiting.task_done()

    def _send(self, client: Any, run_id: UUID, trace_id: UUID, project: str, scores: Mapping[str, float]) -> None:
        session = self._project(client, project)
        for key, score in scores.items():
            client.create_feedback(run_id, key, score=score, trace_id=trace_id, session_id=session)

    def _project(self, client: Any, name: str) -> UUID | None:
        key = (id(client), name)
        if key not in self._projects:
            # A project is made by the first run that arrives, and runs are sent in the background.
            client.flush()
            with contextlib.suppress(Exception):
                self._projects[key] = client.read_project(project_name=name).id
        return self._projects.get(key)

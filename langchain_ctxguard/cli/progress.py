"""A progress bar for people who wait: on a terminal, and only once a second has passed."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from threading import Lock, Timer
from typing import TypeVar

Item = TypeVar("Item")

_PATIENCE_S = 1.0


def progress_over(items: Sequence[Item], *, doing: str) -> Iterator[Item]:
    """Yield `items`; if that takes over a second, show on a terminal's standard error how far it got."""
    if not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import Progress

    progress = Progress(console=Console(stderr=True), transient=True)
    # A single item gets a bar that only shows it is alive: nobody knows how far it is inside.
    task = progress.add_task(doing, total=len(items) if len(items) > 1 else None)
    lock, done = Lock(), False

    def show() -> None:
        with lock:
            if not done:
                progress.start()

    timer = Timer(_PATIENCE_S, show)
    timer.daemon = True
    timer.start()
    try:
        for item in items:
            yield item
            progress.advance(task)
    finally:
        timer.cancel()
        with lock:
            done = True
            progress.stop()

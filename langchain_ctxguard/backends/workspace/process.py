"""One command, run with a limit of time and of output, and stopped with all it started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

_GRACE_S = 1.0
"""How long a stopped command may take to clean up, and how long its last words are waited for."""

_CHUNK = 65_536


@dataclass(frozen=True, slots=True)
class Finished:
    """What a command came to."""

    exit_code: int | None
    """`None`: it was stopped."""

    head: bytes
    """The first bytes it wrote."""

    tail: bytes = b""
    """The last ones, where not all fit into `head`."""

    left_out: int = 0
    """Bytes between the two."""

    seconds: float = 0.0
    is_late: bool = False
    """Whether it was stopped because its time was over."""

    errors: bytes = b""
    """What it wrote to its second output, where that was kept apart."""


@dataclass(slots=True)
class _Kept:
    """Output, read until its end, of which the first and the last bytes are kept."""

    head_room: int
    tail_room: int
    head: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)
    total: int = 0

    def take(self, data: bytes) -> None:
        self.total += len(data)
        room = self.head_room - len(self.head)
        self.head += data[:room]
        self.tail += data[max(room, 0) :]
        if len(self.tail) > self.tail_room:
            del self.tail[: len(self.tail) - self.tail_room]

    def read(self, source: IO[bytes]) -> None:
        with contextlib.suppress(OSError, ValueError):
            while data := os.read(source.fileno(), _CHUNK):
                self.take(data)

    @property
    def left_out(self) -> int:
        return self.total - len(self.head) - len(self.tail)


def run(
    command: Sequence[str] | str,
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout_s: float,
    head: int,
    tail: int = 0,
    is_apart: bool = False,
) -> Finished:
    """Run a command and return what it came to; whatever it started ends with it.

    Args:
        command: An argument list; a text is given to the shell.
        cwd: Where it runs.
        env: Its environment, whole.
        timeout_s: Seconds it may take.
        head: Bytes kept of the beginning of its output.
        tail: Bytes kept of the end.
        is_apart: Keep its second output apart, as much of it as of the first.

    Raises:
        OSError: it cannot be started.
    """
    started = time.monotonic()
    process = subprocess.Popen(  # noqa: S603 - the application's own command, and git
        command,
        shell=isinstance(command, str),
        cwd=cwd,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if is_apart else subprocess.STDOUT,
        start_new_session=True,
    )
    readers, kept = _reading(process, head, tail)
    is_late = False
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        is_late = True
    finally:
        _end(process)
    seconds = time.monotonic() - started
    for reader in readers:
        # Something that left the group may hold the pipe for ever; its words are not waited for.
        reader.join(_GRACE_S)
    for stream in (process.stdout, process.stderr):
        if stream is not None and not any(reader.is_alive() for reader in readers):
            stream.close()
    own = kept[0]
    errors = bytes(kept[1].head) if len(kept) > 1 else b""
    return Finished(None if is_late else process.returncode, bytes(own.head), bytes(own.tail), own.left_out, seconds, is_late, errors)


def _reading(process: subprocess.Popen[bytes], head: int, tail: int) -> tuple[list[threading.Thread], list[_Kept]]:
    kept = [_Kept(head, tail) for stream in (process.stdout, process.stderr) if stream is not None]
    streams = [stream for stream in (process.stdout, process.stderr) if stream is not None]
    readers = [threading.Thread(target=one.read, args=(stream,), daemon=True) for one, stream in zip(kept, streams, strict=True)]
    for reader in readers:
        reader.start()
    return readers, kept


def _end(process: subprocess.Popen[bytes]) -> None:
    """Stop a command and its children: politely first, where it still runs; what it left behind at once."""
    if process.poll() is None:
        _signal(process, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_S)
    _signal(process, getattr(signal, "SIGKILL", signal.SIGTERM))
    process.wait()


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            # The group has the id of its leader, and outlives it while a child of its is left.
            os.killpg(process.pid, number)
        elif process.poll() is None:
            process.kill()

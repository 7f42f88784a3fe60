"""Pins of a thread: the channel they live in, the tool by which an agent adds one, and the files, read again when they changed.

The channel `ctxguard_pins` maps pin id -> JSON of a `Pin`; `None` takes a pin away. It is as private and as forgeable as `ctxguard`: a pin in it is
a person's or a tool's whatever it says. The application's own pins are given to the guard in code and never pass through a state.
"""

from __future__ import annotations

import contextlib
import os
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain.tools import ToolRuntime
from langchain_core.messages import BaseMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.types import Command

from langchain_ctxguard.core.identity import message_keys
from langchain_ctxguard.core.pins import PinnedText, pin_of
from langchain_ctxguard.core.roles import calls_of, results_of, text_of
from langchain_ctxguard.domain.pinned import SNAPSHOT, Pin, PinRole, read_pin
from langchain_ctxguard.domain.standing import EFFECT
from langchain_ctxguard.domain.value import digest_of

PINS_CHANNEL = "ctxguard_pins"
MAX_PINS = 64
"""Pins of a thread. Beyond it the oldest of the assistant's own go first, so that it cannot push a person's out."""

MAX_SNAPSHOTS = 64_000
"""Characters of file texts in the channel together: it is written with every checkpoint."""

MAX_BYTES = 131_072
"""A larger file is no rule file."""

_SETTLED_NS = 2_000_000_000
"""A file changed this shortly before it was read may change again within one tick of its clock."""


def merged_pins(left: dict[str, Any] | None, right: Any) -> dict[str, Any]:
    """Return the pins after a write: added, changed, or taken away by `None`. What is no pin is ignored; it never raises."""
    old = left if isinstance(left, dict) else {}
    if not isinstance(right, dict) or not right:
        return old
    pins = {pin.pin_id: pin for pin in pins_in(old)}
    for pin_id, data in right.items():
        if data is None:
            pins.pop(pin_id, None)
            continue
        pin = read_pin(data)
        if pin is not None and pin.pin_id == pin_id:
            pins[pin_id] = _joined(pins.get(pin_id), pin)
    return {pin.pin_id: pin.to_dict() for pin in _bounded(pins.values())}


def _joined(old: Pin | None, new: Pin) -> Pin:
    """Return the pin of a thing that is pinned again: a tool takes nothing from a person's."""
    if old is None or old.role_declared != "person" or new.role_declared == "person":
        return new
    return new.model_copy(update={"role_declared": "person", "reason": old.reason or new.reason})


def _bounded(pins: Iterable[Pin]) -> list[Pin]:
    """Return at most `MAX_PINS`, oldest first, and not more text than `MAX_SNAPSHOTS`."""
    by_claim = sorted(pins, key=lambda pin: (pin.role_declared == "tool", -pin.added_at, pin.pin_id))[:MAX_PINS]
    room = MAX_SNAPSHOTS
    kept = []
    for pin in by_claim:
        size = len(pin.snapshot or "")
        kept.append(pin if size <= room else pin.model_copy(update={"snapshot": None}))
        room -= size if size <= room else 0
    return sorted(kept, key=lambda pin: (pin.added_at, pin.pin_id))


def pins_in(raw: Any) -> tuple[Pin, ...]:
    """Return the pins in the channel, oldest first; what is no pin is passed over."""
    if not isinstance(raw, dict):
        return ()
    read = [pin for pin_id, data in raw.items() if (pin := read_pin(data)) is not None and pin.pin_id == pin_id]
    return tuple(_bounded(read))


def pins_update(pins: Iterable[Pin], *, gone: Iterable[str] = ()) -> dict[str, Any]:
    """Return the update of a state that adds `pins` and takes away those with the ids in `gone`."""
    return {PINS_CHANNEL: {**dict.fromkeys(gone), **{pin.pin_id: pin.to_dict() for pin in pins}}}


@tool
def pin_message(message_id: str, reason: str, runtime: ToolRuntime[Any, Any]) -> Any:
    """Keep a message or tool result in view for the rest of this conversation.

    Args:
        message_id: The id of the message, the call id of a tool result, or "last" for the newest message before this call.
        reason: Why it must stay in view, in one sentence.
        runtime: Given by the graph.
    """
    messages = list(_messages_of(runtime.state))
    index = _find(messages, message_id, runtime.tool_call_id)
    if index is None:
        return _refusal(
            runtime, f"Nothing is pinned: no message '{message_id[:80]}' in this conversation. Use an id that was shown to you, or \"last\"."
        )
    message = messages[index]
    if isinstance(message, SystemMessage):
        return _refusal(runtime, "Nothing is pinned: a system message stays in view anyway.")
    if not text_of(message).strip():
        return _refusal(runtime, "Nothing is pinned: this message holds no text.")
    pin = pin_of(message, message_keys(messages)[index], role="tool", added_at=len(messages), reason=reason)
    done = ToolMessage(f"Pinned as {pin.pin_id}: it stays in view.", tool_call_id=runtime.tool_call_id or "", name="pin_message")
    return Command(update={**pins_update([pin]), "messages": [done]})


# It changes what is in view, and nothing else.
pin_message.metadata = {EFFECT: "read"}


def _messages_of(state: Any) -> Sequence[BaseMessage]:
    messages = state.get("messages", ()) if isinstance(state, Mapping) else getattr(state, "messages", ())
    return messages or ()


def _refusal(runtime: ToolRuntime, text: str) -> ToolMessage:
    return ToolMessage(text, tool_call_id=runtime.tool_call_id or "", name="pin_message", status="error")


def _find(messages: Sequence[BaseMessage], wanted: str, call_id: str | None) -> int | None:
    """Return the index of the message a tool call means. The call itself is the newest message; "last" is what came before it."""
    if wanted == "last":
        calling = next((i for i in range(len(messages) - 1, -1, -1) if any(call.call_id == call_id for call in calls_of(messages[i]))), len(messages))
        return next((i for i in range(calling - 1, -1, -1) if not isinstance(messages[i], SystemMessage) and text_of(messages[i]).strip()), None)
    keys = message_keys(messages)
    for index in range(len(messages) - 1, -1, -1):
        if keys[index] == wanted:
            return index
    return next((i for i in range(len(messages) - 1, -1, -1) if wanted and wanted in results_of(messages[i])), None)


@dataclass(frozen=True, slots=True)
class _Read:
    """A file as it was read last."""

    text: str
    mtime_ns: int
    size: int
    is_settled: bool
    """It had not changed for a while when it was read, so an equal time and size mean an equal text."""


class PinnedFiles:
    """Reads pinned files below one folder, again only when they changed. Safe under threads.

    A path is resolved, symbolic links included, and must end inside the folder; the file opened is the one that was judged.
    """

    def __init__(self, root: str | Path, *, max_bytes: int = MAX_BYTES, now_ns: Callable[[], int] = time.time_ns) -> None:
        """Bind the folder.

        Args:
            root: The workspace. Nothing outside it is read.
            max_bytes: Size of the largest file that is read.
            now_ns: Says what time it is, in the unit of a file's time of change.
        """
        self._root = Path(os.path.realpath(root))
        self._max_bytes = max_bytes
        self._now_ns = now_ns
        self._last: dict[str, _Read] = {}
        self._lock = threading.Lock()

    def pin(self, path: str, *, role: PinRole, added_at: int = 0, reason: str = "") -> Pin:
        """Return the pin of a file.

        Raises:
            ValueError: it cannot be read; the message says why and what to do.
        """
        key = Path(path).as_posix()
        text, fault = self._read(key)
        if fault or text is None:
            msg = f"Cannot pin '{path}': {fault}. Pin a text file of at most {self._max_bytes:,} bytes inside '{self._root}'."
            raise ValueError(msg)
        return Pin.of("file", key, role=role, text=text, added_at=added_at, reason=reason)

    def texts(self, pins: Iterable[Pin]) -> list[PinnedText]:
        """Return what the pinned files say now; one that cannot be read keeps its last text, with a note that says so."""
        return [self._text(pin) for pin in pins if pin.kind == "file"]

    def refreshed(self, pins: Iterable[Pin]) -> list[Pin]:
        """Return the file pins whose text changed, with their new digest and snapshot: what to write to the state when it is written anyway."""
        changed = []
        for pin in pins:
            text = self._text(pin) if pin.kind == "file" else None
            if text is not None and text.text is not None and not text.note and digest_of(text.text)[:32] != pin.digest:
                changed.append(pin.model_copy(update={"digest": digest_of(text.text)[:32], "snapshot": text.text[:SNAPSHOT]}))
        return changed

    def _text(self, pin: Pin) -> PinnedText:
        text, fault = self._read(pin.key)
        if text is not None and not fault:
            return PinnedText(pin, text)
        with self._lock:
            last = self._last.get(pin.key)
        if last is not None:
            return PinnedText(pin, last.text, f"{fault}; this is its last text")
        if pin.snapshot is not None:
            part = "the beginning of its last text" if len(pin.snapshot) == SNAPSHOT else "its last text"
            return PinnedText(pin, pin.snapshot, f"{fault}; this is {part}")
        return PinnedText(pin, None, fault)

    def _read(self, key: str) -> tuple[str | None, str]:
        """Return the text of a file, or `None` and why there is none."""
        try:
            real = os.path.realpath(self._root / key)
            inside = Path(real).relative_to(self._root)
        except ValueError:
            return None, "it lies outside the workspace"
        except OSError:
            return None, "its path cannot be resolved"
        try:
            with _opened(self._root, inside.parts) as fd:
                return self._read_open(key, fd)
        except FileNotFoundError:
            return None, "the file is gone"
        except (OSError, ValueError):
            return None, "the file cannot be read"

    def _read_open(self, key: str, fd: int) -> tuple[str | None, str]:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            return None, "it is no regular file"
        if status.st_size > self._max_bytes:
            return None, f"the file has {status.st_size:,} bytes"
        with self._lock:
            last = self._last.get(key)
        if last is not None and last.is_settled and (last.mtime_ns, last.size) == (status.st_mtime_ns, status.st_size):
            return last.text, ""
        read_at = self._now_ns()
        # One byte more than allowed tells a file that grew since.
        with os.fdopen(os.dup(fd), "rb") as file:
            data = file.read(self._max_bytes + 1)
        text, fault = _decoded(data) if len(data) <= self._max_bytes else ("", f"the file has more than {self._max_bytes:,} bytes")
        if fault:
            return None, fault
        is_settled = read_at - status.st_mtime_ns > _SETTLED_NS
        with self._lock:
            self._last[key] = _Read(text, status.st_mtime_ns, status.st_size, is_settled)
        return text, ""


def _decoded(data: bytes) -> tuple[str, str]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return "", "the file is not UTF-8 text"
    return ("", "the file is binary") if "\x00" in text else (text, "")


@contextlib.contextmanager
def _opened(root: Path, parts: Sequence[str]) -> Iterator[int]:
    """Open a resolved path for reading, step by step: a link put there since it was resolved is not followed."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    no_follow = getattr(os, "O_NOFOLLOW", 0)
    if os.open not in os.supports_dir_fd:
        fd = os.open(root.joinpath(*parts), flags | no_follow | getattr(os, "O_BINARY", 0))
    else:
        fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
        for number, part in enumerate(parts, start=1):
            parent = fd
            try:
                fd = os.open(part, flags | no_follow | (os.O_DIRECTORY if number < len(parts) else 0), dir_fd=parent)
            finally:
                os.close(parent)
    try:
        yield fd
    finally:
        os.close(fd)

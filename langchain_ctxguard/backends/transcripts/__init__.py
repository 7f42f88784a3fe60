"""Transcript files -> messages, one module per format. To read another format, write a module like `tau_bench` and list it in `READERS`.

Formats that record their own compactions give them as `Run.compactions`, those that record times as `additional_kwargs["timestamp"]`.

Files are untrusted: only message classes are ever made, and what does not fit is an error with file, line and reason.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from langchain_ctxguard.backends.transcripts import (
    abcd,
    bfcl,
    claude_code,
    crosswoz,
    deepagents_history,
    langchain_dump,
    langgraph_state,
    openai_chat,
    openhands,
    openhands_sdk,
    swe_agent,
    tau_bench,
)
from langchain_ctxguard.backends.transcripts.document import Document, PlainText, parse
from langchain_ctxguard.backends.transcripts.transcript import (
    CompactionKind,
    CompactionMark,
    Misfit,
    Reader,
    Run,
    Transcript,
    kind_of,
    path_text,
)
from langchain_ctxguard.errors import TranscriptError

__all__ = ["READERS", "CompactionKind", "CompactionMark", "Run", "Transcript", "parse_transcript", "read_transcript"]

READERS: tuple[Reader, ...] = (
    # Plain text, which no other reader takes.
    deepagents_history,
    # Envelopes that name their list of messages.
    langgraph_state,
    swe_agent,
    tau_bench,
    # Dialogues of a benchmark. Theirs hold messages with roles, so they come before plain chats.
    bfcl,
    abcd,
    crosswoz,
    # Logs of one event per line. A session's notices look like LangChain's system messages, so they come before those.
    claude_code,
    openhands,
    openhands_sdk,
    # Messages that say which library wrote them; then plain roles, because nearly every format has roles somewhere inside.
    langchain_dump,
    openai_chat,
)
"""Tried in this order: the first that recognises a document reads it."""


def read_transcript(path: str | Path) -> Transcript:
    """Return the conversations in a file; its format is recognised by what is in it.

    Raises:
        TranscriptError: no such file, not UTF-8, not JSON, no known format, or a message that does not fit; with line and reason.
    """
    source = Path(path)
    try:
        raw = source.read_bytes()
    except OSError as error:
        msg = f"{source}: cannot be read: {error.strerror or error}."
        raise TranscriptError(msg, path=str(source)) from error
    return parse_transcript(raw, path=str(source), name=source.stem)


def parse_transcript(raw: bytes, *, path: str, name: str | None = None) -> Transcript:
    """Return the conversations in the bytes of a file.

    Args:
        raw: The bytes.
        path: How errors call the file.
        name: How a run is called that has no name of its own; `path` if not given.

    Raises:
        TranscriptError: as `read_transcript`.
    """
    document = parse(raw, path=path)
    reader = next((reader for reader in READERS if reader.recognises(document.data)), None)
    if reader is None:
        msg = f"{path}:1: no known transcript format: {_shape(document)}. Known are: {'; '.join(reader.TITLE for reader in READERS)}."
        raise TranscriptError(msg, path=path, line=1)
    try:
        runs = reader.read(document.data, name or path)
    except Misfit as misfit:
        line = document.line_of(misfit.where) if misfit.line is None else misfit.line
        msg = f"{path}:{line}: {path_text(misfit.where)} {misfit.reason}. The file was read as: {reader.TITLE}."
        raise TranscriptError(msg, path=path, line=line) from None
    return Transcript(tuple(replace(run, truncated=True) for run in runs) if document.is_truncated else runs)


def _shape(document: Document) -> str:
    data = document.data
    if isinstance(data, PlainText):
        return "the file is text and not valid JSON"
    if not isinstance(data, list):
        return f"the file is {_outline(data)}"
    if not data:
        return "the file is an empty list"
    size = f"a list of {len(data)}" if document.lines is None else f"JSONL of {len(data)} lines"
    return f"the file is {size}, the first of them {_outline(data[0])}"


def _outline(value: Any) -> str:
    if not isinstance(value, dict) or not value:
        return kind_of(value)
    shown = [repr(key[:30]) for key in islice(value, 6)]
    return f"an object with the keys {', '.join(shown)}{' and more' if len(value) > len(shown) else ''}"

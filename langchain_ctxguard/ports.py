"""What the inside may ask of the outside: Protocols only. What they exchange is in `domain` and `core.effects`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Literal, Protocol, runtime_checkable

from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.effects import (
    AskAboutCalls,
    AskedBefore,
    CallAtWork,
    NobodyThere,
    PersonsAnswer,
    Ran,
    ResolveCall,
    RunTool,
    Spending,
    SummaryRequest,
    WorkWord,
)
from langchain_ctxguard.domain.anchor import Anchor, Finding
from langchain_ctxguard.domain.budget import Usage
from langchain_ctxguard.domain.consent import Consents
from langchain_ctxguard.domain.hit import Hit
from langchain_ctxguard.domain.log import Entry, Stream
from langchain_ctxguard.domain.policy import ToolRequest
from langchain_ctxguard.domain.prefix import PrefixReport
from langchain_ctxguard.domain.shown import CompactionTexts
from langchain_ctxguard.domain.summary import SummaryDraft
from langchain_ctxguard.domain.tool_call import CallRecord
from langchain_ctxguard.domain.verification import VerificationRecord
from langchain_ctxguard.domain.version import CompactionRecord, ContextEvent
from langchain_ctxguard.domain.workspace import FileFact, Survey

__all__ = [
    "BlobStore",
    "CallHands",
    "Clock",
    "ConsentReading",
    "Fact",
    "Hook",
    "KeptFolder",
    "Log",
    "LogReader",
    "Spending",
    "Summarizer",
    "SummaryRequest",
    "TextHook",
    "TextIndex",
    "TokenCounter",
    "VerifiableLog",
    "WorkFiles",
    "WorkRecord",
]

Fact = CallRecord | CompactionRecord | ContextEvent | PrefixReport | VerificationRecord
"""What a hook is told."""

Clock = Callable[[], datetime]
"""Says what time it is: an aware datetime."""


class TokenCounter(Protocol):
    """Counts the tokens a list of messages costs. LangChain's `count_tokens_approximately` is one.

    A counter may also offer `count_tools(tools) -> int` for tool schemas; where it does not, their JSON is counted as text.
    It must never call the network: it runs before every model call.
    """

    def __call__(self, messages: Sequence[BaseMessage], /) -> int:
        """Return the tokens of `messages` together."""


class LogReader(Protocol):
    """Reads append-only streams of entries."""

    def read(self, stream: Stream, since: int = 0) -> list[Entry]:
        """Return the entries of a stream after number `since`, oldest first."""

    def heads(self, streams: Sequence[Stream]) -> list[int]:
        """Return the number of the last entry of each stream, 0 for an empty one: one cheap question before every model call."""

    def find(self, ref: str) -> list[Entry]:
        """Return the entries that carry `ref`, oldest first."""


class Log(LogReader, Protocol):
    """Appends to streams. Nothing is ever changed or removed; "current" is a fold over what is there."""

    def append(self, stream: Stream, bodies: Sequence[bytes], *, expected: int | None = None, refs: Sequence[str] = ()) -> list[Entry]:
        """Append `bodies` as one and return their entries.

        Args:
            stream: Where.
            bodies: JSON texts as bytes; kept as they are.
            expected: Number of the last entry the writer saw; `None`: wherever the stream is.
            refs: Names the entries can be found by.

        Raises:
            LogConflictError: somebody appended since `expected`.
        """


class VerifiableLog(Log, Protocol):
    """A log that can be held against its own chain."""

    def verify(self, anchor: Anchor | None = None) -> list[Finding]:
        """Return everything that is changed, missing, moved or inserted; an empty list where all is as written.

        Args:
            anchor: Where the streams ended earlier; without it, entries taken off an end leave no trace.
        """

    def anchor(self) -> Anchor:
        """Return where every stream ends now, to be kept elsewhere."""


class BlobStore(Protocol):
    """Keeps content by its digest, in spaces: one for each thread, so that erasing one breaks no other."""

    def put(self, space: str, contents: Sequence[bytes], *, addresses: Sequence[str] | None = None) -> list[str]:
        """Keep contents that are not there yet, and return their addresses once they are durable.

        Args:
            space: Where.
            contents: What.
            addresses: What to keep them under; `None`: the SHA-256 of each, in hexadecimal, which is checked on reading. One of its own holds a
                colon (`keyed:...`): for whoever encrypts, and names content by a keyed hash of the plaintext.
        """

    def get(self, space: str, addresses: Sequence[str]) -> dict[str, bytes]:
        """Return what there is, by address; what is not there is not in the answer.

        Raises:
            BlobMissingError: content is not what its address says.
        """

    def copy_space(self, source: str, target: str) -> int:
        """Keep in `target` also what is in `source`, and return how many contents that added."""

    def purge_space(self, space: str) -> int:
        """Erase all contents of a space for good, and return how many there were."""

    def addresses(self, space: str) -> list[str]:
        """Return the addresses of all contents of a space, sorted."""

    def drop(self, space: str, addresses: Sequence[str]) -> int:
        """Erase these contents of a space for good, and return how many of them there were. Who still needs one is for the caller to know."""


class TextIndex(Protocol):
    """Finds texts by their words, in spaces. It holds words and keys, not the texts."""

    def put(self, space: str, texts: Mapping[str, str]) -> None:
        """Index texts by key; a text put again under its key takes the place of the former."""

    def search(self, space: str, query: str, *, limit: int = 10) -> list[Hit]:
        """Return the keys of the texts that share most with `query`, best first. Chinese words of two characters are found."""

    def copy_space(self, source: str, target: str) -> None:
        """Index in `target` also what is indexed in `source`. To do it twice is to do it once."""

    def purge(self, space: str) -> int:
        """Forget all texts of a space, and return how many there were."""


@runtime_checkable
class ConsentReading(Protocol):
    """Answers what a subject allowed. It can write nothing: whoever asks holds no writer."""

    def read(self, subject: str, *, thread: str | None = None, at: datetime | None = None) -> Consents:
        """Return what holds for a subject, read anew from the ledger at each call.

        Args:
            subject: Who; from runtime context or configuration, never from a message.
            thread: Where; `None`: only what was said for all threads.
            at: The moment expiry is held against; `None`: now. Whatever is on record counts, also what was recorded after it.

        Raises:
            StoreError: the ledger cannot be read, or was altered: nothing may be taken for granted.
        """


@runtime_checkable
class Summarizer(Protocol):
    """Turns evicted messages into a draft. It has no vote on rules, evidence or trust: those are copied, not told."""

    @property
    def name(self) -> str:
        """Short name for records, e.g. `extractive`."""

    def summarize(self, request: SummaryRequest) -> SummaryDraft:
        """Return the draft.

        Raises:
            InvalidSummaryError: an answer came, but it is no summary; it may be asked again.
            Exception: anything else counts as the summarizer being down.
        """

    async def asummarize(self, request: SummaryRequest) -> SummaryDraft:
        """Return the draft, without blocking the event loop."""


class WorkFiles(Protocol):
    """The files of a workspace, by name, wherever they rest. Paths are below it, with `/`."""

    def relative(self, path: str) -> str | None:
        """Return a path as it is called below the workspace; `None`: it is not below it."""

    def fact(self, path: str) -> FileFact:
        """Return what one named file holds."""

    def survey(self) -> Survey:
        """Return which files differ from what was there; what cannot be told is said, and never guessed."""


class KeptFolder(Protocol):
    """Where hand-overs and the work log lie for people and agents to read."""

    place: str
    """What an agent calls it, without a `/` at its end."""

    def write(self, name: str, text: str) -> None:
        """Write a file, whole or not at all.

        Raises:
            OSError: it cannot be written.
        """

    def read(self, name: str) -> str | None:
        """Return the text of a file, `None` where there is none.

        Raises:
            OSError: it cannot be read.
        """


class WorkRecord(Protocol):
    """Keeps what an agent's work came to, and says something to a call that does not fit it."""

    def before(self, call: CallAtWork) -> WorkWord | None:
        """Return what there is to say to a call that is about to run, `None` for nothing.

        What it raises denies a call that changes something; one that only reads runs all the same.
        """

    def after(self, call: CallAtWork, ran: Ran) -> None:
        """Take notice of what a call came to. What it raises is told to the hooks, and undoes nothing."""


class CallHands(Protocol):
    """What a tool call's flow has done outside the records: a person asked, a tool run. One for each call."""

    def ask(self, effect: AskAboutCalls) -> PersonsAnswer | NobodyThere:
        """Put a question to a person. In a graph it does not return before there is an answer: the run pauses, and its node begins anew."""

    def asked_before(self, effect: AskedBefore) -> PersonsAnswer | None:
        """Let an answer pass by that is on record already, and return it."""

    def resolve(self, effect: ResolveCall) -> ToolRequest | None:
        """Return the call that a tool would make of arguments a person wrote, `None` where it cannot."""

    def usage(self, periods: tuple[str, ...]) -> dict[Literal["thread", "run", "day"], Usage]:
        """Return what the models have used, as far as somebody counted."""

    def run(self, effect: RunTool) -> Ran:
        """Run the tool. What it raises is in the answer."""

    async def arun(self, effect: RunTool) -> Ran:
        """Run the tool without blocking the event loop."""


class Hook(Protocol):
    """Watches compactions and tool calls. It cannot veto; what it raises is caught and warned about once."""

    def span(self, name: str, facts: Mapping[str, Any]) -> AbstractContextManager[Any]:
        """Wrap a step so a tracer can nest what happens inside.

        Args:
            name: `compaction` with `extract`, `summarize` and `verify` below it; `tool_call`, `tool_questions`.
            facts: What is known beforehand: names, numbers and digests.
        """

    def record(self, fact: Fact) -> None:
        """Take notice of something that happened, after it was committed."""


@runtime_checkable
class TextHook(Protocol):
    """A hook that may also be shown the words of a compaction, where somebody asked for that."""

    @property
    def wants_texts(self) -> bool:
        """Say whether words are wanted now; they are not made where nobody wants them."""

    def show(self, texts: CompactionTexts) -> None:
        """Take notice of words, as far as they are known, within the span they belong to."""

"""What was asked for and is not done, as far as the messages say; and whether a text still has it as open."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.audit_told import is_told
from langchain_ctxguard.core.results import own_words, results_in
from langchain_ctxguard.core.roles import Call, calls_of, is_request, speaker_of, text_of
from langchain_ctxguard.core.sentences import Sign, has_value, key_of, sentences, signs_of
from langchain_ctxguard.core.terms import covers, is_question, terms
from langchain_ctxguard.core.text import clipped, readable
from langchain_ctxguard.domain.audit import AuditFinding, Level, Loss

Kind = Literal["request", "todo", "deferred"]

MOST = 300
"""Deferred items looked at, the newest."""

_SHOWN = 600
"""Characters of a request that are looked for."""

_CALL_LENGTH = 300
_WORDS_ONLY = ("think", "plan", "todo", "note", "reason", "memo")
_OVER = ("completed", "cancelled", "canceled", "done")
_PLEASANTRIES = ("thank", "great", "perfect", "ok", "bye", "cool", "谢", "好的", "再见", "不客气", "没问题")
_GOES_ON = re.compile(r"(?:and |but )?(?:also|then|later|finally|afterwards|tomorrow)\b|(?:另外|然后|之后|最后|明天)", re.IGNORECASE)
_DENIES = re.compile(r"\b(?:nothing|never|none|no|without|pending|open|todo)\b|没有|不|待|\[ \]", re.IGNORECASE)
_PUTS_OFF = re.compile(
    r"\b(?:later(?: on)?|then|afterwards|finally|remember|as well|once|when you(?:'re| are) done|one more thing)\b"
    r"|别忘了?|不要忘了?|记得|稍后|回头|接下来|另外|还需要?|还要|顺便|然后|之后|最后|[请把]|帮我|一下",
    re.IGNORECASE,
)
_SIGNS = (Sign.DEFERRED, Sign.PERHAPS_DEFERRED, Sign.REQUEST, Sign.EMPHASIS, Sign.DONE, Sign.NOT_DONE, Sign.UNABLE)


class Open(NamedTuple):
    """One open item and where it was asked for."""

    kind: Kind
    text: str
    message_index: int
    message_id: str


class Pending:
    """The items open so far, while a run is read."""

    def __init__(self) -> None:
        """Begin with none."""
        self._requests: list[Open] = []
        self._todos: list[Open] = []
        self._deferred: list[Open] = []
        self._calls: dict[str, str] = {}

    @property
    def held(self) -> tuple[Open, ...]:
        """What is open now: requests without an answer, todos, what was put off."""
        return (*self._requests, *self._todos, *self._deferred)

    def read(self, messages: Sequence[BaseMessage], keys: Sequence[str], *, start: int) -> None:
        """Take in further messages."""
        for index, (message, key) in enumerate(zip(messages, keys, strict=True), start):
            for call in calls_of(message):
                self._read_call(call, index, key)
            for result in results_in(message):
                words = self._calls.pop(result.call_id, "")
                if words and not result.is_failed:
                    self._settle(words, 1.0)
            speaker = speaker_of(message)
            if speaker == "user" and is_request(message) and not is_told(message) and not message.additional_kwargs.get("is_meta"):
                self._hear(own_words(message), index, key)
            elif speaker == "ai" and (text := text_of(message)).strip():
                self._read_answer(text, is_last=not calls_of(message))

    def forget(self, items: set[Open]) -> None:
        """Let go of items that nothing tells any longer."""
        for held in (self._requests, self._todos, self._deferred):
            held[:] = [item for item in held if item not in items]

    def _hear(self, text: str, index: int, key: str) -> None:
        if not text.strip() or _is_pleasantry(text):
            return
        self._requests.append(Open("request", text.strip(), index, key))
        pieces = list(sentences(text))
        for piece, signs in zip(pieces, signs_of(text, pieces, _SIGNS), strict=True):
            is_asked = Sign.REQUEST in signs or _GOES_ON.match(piece.text) is not None
            is_put_off = Sign.DEFERRED in signs or (Sign.PERHAPS_DEFERRED in signs and is_asked)
            if is_put_off and Sign.EMPHASIS not in signs and not is_question(piece.text):
                self._deferred.append(Open("deferred", piece.text, index, key))
        del self._deferred[:-MOST]

    def _read_call(self, call: Call, index: int, key: str) -> None:
        arguments: Any = call.arguments
        todos = arguments.get("todos") if isinstance(arguments, dict) else None
        if isinstance(todos, list):
            # Each call writes the whole list anew.
            wanted = [todo for todo in todos if isinstance(todo, dict) and isinstance(todo.get("content"), str) and todo["content"].strip()]
            self._todos = [Open("todo", todo["content"].strip(), index, key) for todo in wanted if todo.get("status") not in _OVER]
            over = {key_of(todo["content"]) for todo in wanted if todo.get("status") in _OVER}
            self._deferred = [item for item in self._deferred if key_of(item.text) not in over]
        elif call.call_id and not any(word in call.name.lower() for word in _WORDS_ONLY):
            self._calls[call.call_id] = f"{call.name} {call.arguments_text[:_CALL_LENGTH]}"

    def _read_answer(self, text: str, *, is_last: bool) -> None:
        pieces = list(sentences(text))
        shown = signs_of(text, pieces, (Sign.DONE, Sign.NOT_DONE, Sign.UNABLE))
        for piece, signs in zip(pieces, shown, strict=True):
            if Sign.DONE in signs and Sign.NOT_DONE not in signs:
                self._settle(piece.text, 0.7 if piece.text.isascii() else 0.5)
        every = set().union(*shown)
        if is_last and Sign.UNABLE not in every and (Sign.DONE in every or not is_question(text)):
            self._requests.clear()

    def _settle(self, words: str, share: float) -> None:
        """Close what is put off and was done: `words` tell of it."""
        if self._deferred:
            found = terms(words)
            self._deferred = [item for item in self._deferred if not covers(found, terms(item.text), share)]


def lost_items(held: Sequence[Open], text: str, summary: str) -> Iterator[tuple[Open, AuditFinding]]:
    """Yield what is open and no longer told, or told as done.

    Args:
        held: What was open before.
        text: All that is there now.
        summary: The text of the summary in it, empty where there is none.
    """
    if not held:
        return
    telling = _Telling(text, summary)
    for item in held:
        if telling.has(item):
            continue
        done = telling.done(item)
        is_grave = item.kind == "request" and done is None
        finding = AuditFinding(
            subject="pending",
            loss=Loss.LOST if done is None else Loss.CONTRADICTED,
            level=Level.CRITICAL if is_grave else Level.WARNING,
            kind=item.kind,
            text=clipped(readable(item.text), _SHOWN),
            reason="" if done is None else "told_as_done",
            now=done,
            said_by="ai" if item.kind == "todo" else "user",
            message_index=item.message_index,
            message_id=item.message_id,
        )
        yield item, finding


class _Telling:
    """What a context tells, as words to look items up in."""

    def __init__(self, text: str, summary: str) -> None:
        pieces = list(sentences(summary))
        shown = signs_of(summary, pieces, (Sign.DONE, Sign.NOT_DONE, Sign.DEFERRED))
        self._over = [
            (piece.text, terms(piece.text))
            for piece, signs in zip(pieces, shown, strict=True)
            if Sign.DONE in signs and Sign.NOT_DONE not in signs and Sign.DEFERRED not in signs and not _DENIES.search(piece.text)
        ]
        over = {words for words, _ in self._over}
        open_pieces = [piece.text for piece in sentences(text) if piece.text not in over]
        self._whole = key_of(text)
        self._open = key_of(" ".join(open_pieces))
        each = [terms(words) for words in open_pieces]
        self._each = [*each, *(one | two for one, two in pairwise(each))]
        self._all_open = frozenset().union(*each)
        self._all = self._all_open.union(*(found for _, found in self._over))

    def has(self, item: Open) -> bool:
        """Say whether an item is still told as open."""
        if key_of(item.text) in (self._whole if item.kind == "request" else self._open):
            return True
        wanted, share = _wanted(item)
        if not wanted:
            return True
        if item.kind == "request":
            # A long request is told in many sentences, and parts of it may be done.
            return covers(self._all_open, wanted, share) or (self.done(item) is None and covers(self._all, wanted, share))
        return any(covers(found, wanted, share) for found in self._each)

    def done(self, item: Open) -> str | None:
        """Return the sentence that tells an item as done."""
        wanted, share = _wanted(item)
        return next((words for words, found in self._over if covers(found, wanted, share)), None)


def _wanted(item: Open) -> tuple[frozenset[str], float]:
    """Return the words an item is known by, without those that only put it off, and the share of them that must be told."""
    words = item.text[:_SHOWN]
    return terms(_PUTS_OFF.sub(" ", words)), 0.5 if words.isascii() else 0.4


def _is_pleasantry(text: str) -> bool:
    """Say whether a message only thanks or agrees: it asks for nothing."""
    bare = text.strip().lower()
    return len(bare) <= 24 and any(word in bare for word in _PLEASANTRIES) and not has_value(bare) and not is_question(bare)  # noqa: PLR2004

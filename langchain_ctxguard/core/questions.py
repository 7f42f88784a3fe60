"""Whether an agent's last words ask a person something, and which message answers: one a person wrote, and nobody put in."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from langchain_core.messages import BaseMessage

from langchain_ctxguard.core.identity import is_known_as, message_keys
from langchain_ctxguard.core.roles import is_foreign_summary, is_request, text_of
from langchain_ctxguard.domain.standing import StandingState

_TAIL = 400
"""Characters at the end of an answer in which a question to its reader stands."""

_OWN = "context_"
"""How the names of this package's own messages begin."""

_CLOSES = re.compile(r"\W+$")
_ENDS = re.compile(r"[?？⁇‽؟]\W*$")
_WAITS = re.compile(
    r"\b(?:please (?:confirm|let me know|choose|decide|advise|approve|say|tell me|reply|answer)|let me know (?:if|whether|which|how|what|when|once)"
    r"|(?:shall|should|may|can|could) I (?:go ahead|proceed|continue|start|begin|delete|send|run|do|make|apply|execute)"
    r"|do you (?:want|wish|agree|approve|confirm)|would you like|(?:waiting|wait) for your (?:answer|reply|confirmation|approval|decision|go-ahead)"
    r"|awaiting your|I need your (?:confirmation|approval|decision|answer)|which (?:one )?(?:do|would|should) (?:you|I))\b"
    r"|请(?:您|你)?(?:先)?(?:确认|告诉|告知|选择|决定|回复|批准|指示|明示)|(?:是否|要不要|需不需要|可不可以|能不能|同不同意)|(?:等待|等候|等)(?:您|你)的"
    r"|您(?:看|觉得|希望|想要|要)(?:如何|怎样|怎么|哪|不要)|你(?:看|觉得|希望|想要|要)(?:如何|怎样|怎么|哪|不要)|(?:吗|呢|么)[？?]?$",
    re.IGNORECASE,
)


def asks_person(text: str) -> bool:
    """Say whether an answer asks its reader something: its last sentence is a question, or says that it waits.

    Meant to be wrong on the safe side: a question that is none holds nothing up, because a person's next message ends it.

    >>> asks_person("Shall I delete the branch?"), asks_person("Deleted. Let me know if more is to go."), asks_person("要删除这个分支吗")
    (True, True, True)
    >>> asks_person("Why did it fail? The port was taken. I freed it."), asks_person("Done.")
    (False, False)
    """
    tail = text[-_TAIL:].rstrip()
    last = _CLOSES.sub("", tail.rpartition("\n")[2]) or tail
    if _ENDS.search(tail):
        return True
    pieces = re.split(r"(?<=[.!?。！？])\s*", _CLOSES.sub("", last))
    return bool(_WAITS.search(pieces[-1] if pieces else last))


def _is_spoken(message: BaseMessage) -> bool:
    """Say whether a message has words of a person's own, as far as it can be told from the message: it may still have been put there."""
    if message.name is not None and message.name.startswith(_OWN):
        return False
    return is_request(message) and not is_foreign_summary(message) and bool(text_of(message).strip())


class Answers(NamedTuple):
    """What came after an open question."""

    answer: str | None
    """Key of the message by which a person answered; `None`: there is none yet."""

    injected: tuple[str, ...]
    """Keys of messages in the user role that nobody knows a person to have written."""


def answers_in(messages: Sequence[BaseMessage], standing: StandingState, *, run: str = "", given: Collection[str] | None = None) -> Answers:
    """Return what of a conversation answers the open question.

    A message counts if it stands behind the question, in the user role and with words of its own; if nobody marked it; if it came with the input of a
    later run; and, where it is known what a run was given, if it was among that. What a question's own run brought in, something put there.

    Args:
        messages: The conversation of the root thread.
        standing: Where the thread stands.
        run: Names the run that is going on; empty: it is not known, and then every message behind the question may be an answer.
        given: Keys of the messages this run began with; `None`: nobody noted them.
    """
    question = standing.question
    if question is None:
        return Answers(None, ())
    at = next((index for index in range(len(messages) - 1, -1, -1) if is_known_as(messages[index], question.message)), None)
    if at is None:
        # The message that asked is gone: what a person said before it must not pass for the answer, so only the very last message may.
        at = len(messages) - 2
    behind = messages[max(0, at + 1) :]
    spoken = [key for message, key in zip(behind, message_keys(behind, start=max(0, at + 1)), strict=True) if _is_spoken(message)]
    unmarked = [key for key in spoken if key not in standing.synthetic]
    if question.run and question.run == run:
        return Answers(None, tuple(unmarked))
    heard = unmarked if given is None else [key for key in unmarked if key in given]
    return Answers(heard[-1] if heard else None, tuple(key for key in unmarked if key not in heard))

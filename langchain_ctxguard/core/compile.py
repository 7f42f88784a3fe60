"""Zones -> the context a model sees. Pure and repeatable byte for byte: what is sent is always computed, never stored."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage, ToolMessage

from langchain_ctxguard.core.evidence import listed_files
from langchain_ctxguard.core.recalled import READ_TOOL, shown_id
from langchain_ctxguard.core.render import copy_lines, render_evidence, render_summary
from langchain_ctxguard.core.roles import EVIDENCE, SUMMARY, is_foreign_summary, text_of
from langchain_ctxguard.core.tight import render_tight
from langchain_ctxguard.core.units import given_call_id, repair
from langchain_ctxguard.domain.context import ContextBody
from langchain_ctxguard.domain.value import digest_of


@dataclass(frozen=True, slots=True)
class Compiled:
    """A view: one leading system message, and the messages after it."""

    system: SystemMessage | None
    messages: list[BaseMessage]

    @property
    def all(self) -> list[BaseMessage]:
        """The view as one list."""
        return self.messages if self.system is None else [self.system, *self.messages]


@dataclass(frozen=True, slots=True)
class Parted:
    """A conversation, and the application's system messages taken out of its front."""

    system: list[SystemMessage]
    rest: list[BaseMessage]


def parted(messages: Sequence[BaseMessage]) -> Parted:
    """Take the system messages a conversation begins with out: they are the application's. Later ones stay: anybody can send those.

    A summary another tool left in the system role is no system message of the application, and does not end their run.
    """
    system: list[SystemMessage] = []
    rest: list[BaseMessage] = []
    stop = next((index for index, message in enumerate(messages) if not isinstance(message, SystemMessage)), len(messages))
    for message in messages[:stop]:
        if isinstance(message, SystemMessage) and not is_foreign_summary(message):
            system.append(message)
        else:
            rest.append(message)
    return Parted(system, [*rest, *messages[stop:]])


def leading_system(system: Sequence[SystemMessage], pins: str, *, after: Sequence[SystemMessage] = ()) -> SystemMessage | None:
    """Return the one system message of a view: the given ones in order, repeats once, then the pins as a block of their own.

    Without pins and with a single message it is the same object. Blocks keep what they carry (`cache_control`); the pins block has only `type`
    and `text`, because providers pass unknown keys on.
    """
    by_content: dict[str, SystemMessage] = {}
    for message in system:
        by_content.setdefault(_content_key(message), message)
    distinct = list(by_content.values())
    if pins:
        # Whoever stands further out in an agent may have pinned them already.
        distinct = [_without_block(message, pins) for message in distinct]
    if not pins and not after:
        if len(distinct) <= 1:
            return distinct[0] if distinct else None
        if all(isinstance(message.content, str) for message in distinct):
            return _like(distinct[0], "\n\n".join(str(message.content) for message in distinct if message.content))
    blocks: list[Any] = []
    for message in distinct:
        _append_blocks(blocks, message)
    if pins:
        blocks.append({"type": "text", "text": pins})
    for message in after:
        _append_blocks(blocks, message)
    return _like(distinct[0], blocks) if distinct else SystemMessage(blocks)


def _without_block(message: SystemMessage, text: str) -> SystemMessage:
    """Return a system message without the block that is just `text`; the same object where it has none."""
    if isinstance(message.content, str):
        return message
    blocks = [block for block in message.content if not (isinstance(block, dict) and block.get("text") == text and block.get("type") == "text")]
    return message if len(blocks) == len(message.content) else _like(message, blocks)


def _append_blocks(blocks: list[Any], message: SystemMessage) -> None:
    own = [{"type": "text", "text": message.content}] if isinstance(message.content, str) else list(message.content)
    own = [block for block in own if not (isinstance(block, dict) and block.get("type") == "text" and not block.get("text"))]
    if blocks and own:
        first = own[0]
        if isinstance(first, str):
            own[0] = f"\n\n{first}"
        elif first.get("type") == "text" and not str(first["text"]).startswith("\n"):
            own[0] = {**first, "text": f"\n\n{first['text']}"}
    blocks.extend(own)


def _like(message: SystemMessage, content: Any) -> SystemMessage:
    return message.model_copy(update={"content": content})


def _content_key(message: SystemMessage) -> str:
    return str(message.content).strip()


def compile_view(
    system: SystemMessage | None,
    *,
    version: int,
    body: ContextBody | None,
    request: BaseMessage | None,
    tail: Sequence[BaseMessage],
    is_valid: bool = False,
) -> Compiled:
    """Return the view of one version.

    Args:
        system: The leading system message, pins included.
        version: Number of the version that stands for the messages before the cut.
        body: What stands for them; `None` before the first version.
        request: The current request where it lies before the cut.
        tail: The messages after the cut as they are in the conversation; defects are repaired on the way.
        is_valid: `tail` is known to have none.
    """
    messages: list[BaseMessage] = []
    if body is not None:
        messages += rendered(body, version=version)
        if request is not None:
            messages.append(request)
    kept = list(tail) if is_valid else repair(tail).messages
    messages += shortened(kept, body.elided, can_read=body.can_read) if body is not None and body.elided else kept
    return Compiled(system, messages)


def rendered(body: ContextBody, *, version: int) -> list[BaseMessage]:
    """Return the evidence and the summary as messages in the user role; what is empty is left out. The tight form is one message."""
    messages: list[BaseMessage] = []
    copy = copy_lines(body.copied)
    if body.tight is not None:
        text = render_tight(body.summary, body.evidence, body.tight, copy=copy)
        return [HumanMessage(text, name=SUMMARY, id=body.summary_id)]
    if copy or not body.evidence.is_empty:
        messages.append(HumanMessage(render_evidence(body.evidence, copy), name=EVIDENCE, id=f"{body.summary_id}-evidence"))
    if not body.summary.is_empty:
        text = render_summary(body.summary, version=version, files=listed_files(body.evidence))
        messages.append(HumanMessage(text, name=SUMMARY, id=body.summary_id))
    return messages


def rendered_digests(body: ContextBody, pins: str, *, version: int) -> tuple[str, ...]:
    """Return the digests by which a list is recognised as a view of this version: pins, evidence, summary."""
    texts = [pins] if pins else []
    return tuple(digest_of(text)[:32] for text in [*texts, *(text_of(message) for message in rendered(body, version=version))])


def shortened(messages: Sequence[BaseMessage], elided: Mapping[str, int], *, can_read: bool = False) -> list[BaseMessage]:
    """Return `messages` with the tool results named in `elided` cut in the middle to so many characters; the originals are untouched.

    Args:
        messages: Messages of the conversation.
        elided: Call id -> characters shown.
        can_read: The model has a tool that reads the rest, and is told how.
    """
    return [_shortened(message, elided, can_read=can_read) if message.type in ("tool", "human") else message for message in messages]


_GAP = re.compile(
    r"\n\[ctxguard: \d+ (?:of \d+ )?characters left out of this view; "
    rf'(?:the stored message holds them|{READ_TOOL}\("[\w.:@…-]{{1,80}}", start=\d+\) shows them)\]\n'
)


def _shortened(message: BaseMessage, elided: Mapping[str, int], *, can_read: bool) -> BaseMessage:
    if isinstance(message, ToolMessage):
        call_id = given_call_id(message, message.tool_call_id)
        limit = elided.get(call_id)
        shown = None if limit is None else _cut(message.content, text_of(message), limit, call_id if can_read else "")
        return message if shown is None else message.model_copy(update={"content": shown})
    if not isinstance(message, HumanMessage) or isinstance(message.content, str):
        return message
    blocks = [_shortened_block(message, block, elided, can_read=can_read) for block in message.content]
    if all(new is old for new, old in zip(blocks, message.content, strict=True)):
        return message
    return message.model_copy(update={"content": blocks})


def _shortened_block(message: HumanMessage, block: Any, elided: Mapping[str, int], *, can_read: bool) -> Any:
    """Return a block of a user message of Anthropic's dialect: a result that is named is cut, everything else is the same object."""
    if not isinstance(block, dict) or block.get("type") != "tool_result":
        return block
    call_id = given_call_id(message, str(block.get("tool_use_id", "")))
    limit = elided.get(call_id)
    shown = None if limit is None else _cut(block.get("content", ""), text_of(HumanMessage([block])), limit, call_id if can_read else "")
    return block if shown is None else {**block, "content": shown}


def _cut(content: Any, text: str, limit: int, call_id: str) -> Any:
    """Return `content`, which says `text`, cut in the middle; `None` where it is short enough. Media stay."""
    if len(text) <= limit or _is_cut(text, limit):
        return None
    head, tail = text[: limit // 2], text[len(text) - (limit - limit // 2) :]
    if call_id:
        left = (
            f'{len(text) - limit} of {len(text)} characters left out of this view; {READ_TOOL}("{shown_id(call_id)}", start={limit // 2}) shows them'
        )
    else:
        left = f"{len(text) - limit} characters left out of this view; the stored message holds them"
    gap = f"\n[ctxguard: {left}]\n"
    shown = f"{head}{gap}{tail}"
    media = [block for block in content if isinstance(block, dict) and block.get("type") != "text"] if isinstance(content, list) else []
    return [{"type": "text", "text": shown}, *media] if media else shown


def _is_cut(text: str, limit: int) -> bool:
    """Say whether `text` is a cut one already, as in a view given back: our mark in the middle, and no more around it than the limit."""
    gap = _GAP.match(text, limit // 2)
    return gap is not None and len(text) - len(gap[0]) == limit

"""What a provider caches of a call, as one canonical text and as digests of it: fingerprint, first change, reason.

The text is in prefix order: model, tools, system message, messages. Snapshots keep digests and lengths of it, never a character.
"""

from __future__ import annotations

import json
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import accumulate
from typing import Any, Literal, NamedTuple

from langchain_core.messages import BaseMessage, SystemMessage

from langchain_ctxguard.core.pins import PINNED
from langchain_ctxguard.core.roles import EVIDENCE, SUMMARY, SYNTHETIC
from langchain_ctxguard.domain.constraint import Constraint
from langchain_ctxguard.domain.prefix import DriftReason
from langchain_ctxguard.domain.value import canonical_json

SERIALIZER_VERSION = 1
"""Changes with the canonical text: fingerprints of two versions do not compare."""

_DIGEST = 16
_LONGEST_PIECE = 512
_BLOCK = "\x1e"
"""Stands between two blocks of the system message."""

_LOCAL = frozenset({SYNTHETIC, "lc_source"})
"""Marks on a message that are not sent."""

_RENDERED = (PINNED, EVIDENCE, SUMMARY)

Part = Literal["model", "tools", "system", "messages"]


@dataclass(frozen=True, slots=True)
class ToolMark:
    """One tool contract."""

    name: str
    canonical: bytes
    """Digest of its JSON with sorted keys."""


@dataclass(frozen=True, slots=True)
class Front:
    """What stands before the messages. The same for most calls of an agent: made once, then compared by identity."""

    provider: str
    model: str
    tools: tuple[ToolMark, ...]
    rules: tuple[tuple[str, int], ...]
    permissions: frozenset[str]
    pieces: tuple[bytes, ...]
    """Digests: the model, each tool, each line of the system message."""

    ends: tuple[int, ...]
    """Characters up to the end of each piece."""

    digest: bytes

    @property
    def characters(self) -> int:
        """Length of the whole."""
        return self.ends[-1]


class Trail:
    """What messages say, as one number and one length each. It only grows, so snapshots of a growing conversation share one.

    The numbers compare within this process only; a conversation costs 16 bytes a message.
    """

    __slots__ = ("_ends", "_keys")

    def __init__(self, keys: Iterable[int] = (), ends: Iterable[int] = ()) -> None:
        """Begin, or go on from a copy."""
        self._keys = array("q", keys)
        self._ends = array("Q", ends)

    def __len__(self) -> int:
        """Return how many messages were read."""
        return len(self._ends)

    def extended(self, count: int, messages: Iterable[BaseMessage]) -> Trail:
        """Return a trail of the first `count` messages and of `messages`: this one, where it ends there."""
        trail = self if count == len(self._ends) else Trail(self._keys[:count], self._ends[:count])
        keys, ends, end = trail._keys, trail._ends, trail.characters(count)  # noqa: SLF001 - its own kind
        for message in messages:
            opening, content = message_head(message), message.__dict__.get("content")
            end += len(opening) + 2 + (len(content) if type(content) is str else len(_shown(content)))
            keys.append(hash((opening, content if type(content) is str else _content_key(content))))
            ends.append(end)
        return trail

    def holds(self, index: int, message: BaseMessage) -> bool:
        """Say whether `message` is the one that was read at `index`."""
        content = message.__dict__.get("content")
        return self._keys[index] == hash((message_head(message), content if type(content) is str else _content_key(content)))

    def opening(self, count: int) -> tuple[int, ...]:
        """Return the numbers of the first `count` messages."""
        return tuple(self._keys[:count])

    def characters(self, count: int) -> int:
        """Return the length of the first `count` messages."""
        return self._ends[count - 1] if count else 0

    def shared(self, other: Trail, limit: int) -> int:
        """Return how many messages, at most `limit`, are the same in both."""
        if other is self or self._keys[:limit] == other._keys[:limit]:
            return limit
        # What differs once differs ever after, so the first difference is found by halving.
        return bisect_left(range(limit), 1, key=lambda index: self._keys[: index + 1] != other._keys[: index + 1])


class PrefixSnapshot(NamedTuple):
    """One call as the provider's cache saw it."""

    front: Front
    trail: Trail
    length: int
    """Messages of the trail that were sent."""

    opening: tuple[int, ...]
    """What evidence and summary say where they open the messages: they stay until the next compaction."""

    head: int
    """Number of the context version in force."""

    tokens: int | None
    is_rebuild: bool
    fingerprint: str


class Divergence(NamedTuple):
    """Where a call stops repeating the one before."""

    part: Part
    at: int
    """How many tools, lines of the system message or messages of this part are still shared."""

    offset: int
    """The same in characters of the canonical text."""


def front_of(
    provider: str,
    model: str,
    *,
    tools: Sequence[tuple[str, str]] = (),
    system: SystemMessage | None = None,
    rules: Sequence[Constraint] = (),
    permissions: Iterable[str] = (),
) -> Front:
    """Return what stands before the messages.

    Args:
        provider: Who serves the model.
        model: Its name.
        tools: Name and JSON of each tool contract, in the order and with the keys as they are sent.
        system: The leading system message, pins included.
        rules: The rules in force.
        permissions: What the agent may do, by any names.
    """
    marks = tuple(ToolMark(name, _digest(_sorted_json(text))) for name, text in tools)
    texts = [_model_text(provider, model), *(f"{text}\n" for _, text in tools), *system_pieces(system)]
    pieces = tuple(map(_digest, texts))
    return Front(
        provider=provider,
        model=model,
        tools=marks,
        rules=tuple((rule.constraint_id, rule.version) for rule in rules),
        permissions=frozenset(permissions),
        pieces=pieces,
        ends=tuple(accumulate(map(len, texts))),
        digest=sha256(b"".join(pieces)).digest(),
    )


def snapshot_of(
    front: Front,
    messages: Sequence[BaseMessage],
    *,
    head: int = 0,
    tokens: int | None = None,
    is_rebuild: bool = False,
    before: PrefixSnapshot | None = None,
    unchanged: int = 0,
) -> PrefixSnapshot:
    """Return the snapshot of a call.

    Args:
        front: What stands before the messages.
        messages: What is sent behind the system message.
        head: Number of the context version in force.
        tokens: What all of it costs.
        is_rebuild: The context was built anew on demand.
        before: The snapshot of the call before; only what came since is read then.
        unchanged: How many messages are known to be those of `before`.
    """
    unchanged = 0 if before is None else unchanged
    fresh = messages[unchanged:] if unchanged else messages
    trail = (Trail() if before is None else before.trail).extended(unchanged, fresh)
    rendered = _rendered(messages)
    opening = trail.opening(len(rendered)) if rendered else ()
    if before is not None and opening == before.opening and (front is before.front or front.digest == before.front.digest):
        fingerprint = before.fingerprint
    else:
        digests = b"".join(_digest(message_text(message)) for message in rendered)
        fingerprint = sha256(b"%d|" % SERIALIZER_VERSION + front.digest + digests).hexdigest()[:32]
    return PrefixSnapshot(front, trail, len(messages), opening, head, tokens, is_rebuild, fingerprint)


def prefix_fingerprint(snapshot: PrefixSnapshot) -> str:
    """Return 32 hexadecimal digits for what is meant to stay between compactions: model, tools, system message, evidence, summary."""
    return snapshot.fingerprint


def first_changed_offset(before: str, after: str) -> int | None:
    """Return where `after` stops repeating `before`, or `None` if it only grew.

    A provider reuses its prompt cache up to this character and bills the rest anew.

    >>> first_changed_offset("rules|plan", "rules|goal")
    6
    >>> first_changed_offset("rules", "rules|plan") is None
    True
    """
    if after.startswith(before):
        return None
    limit = min(len(before), len(after))
    return bisect_left(range(1, limit + 1), 1, key=lambda length: before[:length] != after[:length])


def divergence(before: PrefixSnapshot, after: PrefixSnapshot) -> Divergence | None:
    """Return where `after` stops repeating `before`, or `None` if it only grew. Exact to a tool, a line of the system message, a message."""
    old, new = before.front, after.front
    if old is new or old.digest == new.digest:
        shared = before.trail.shared(after.trail, min(before.length, after.length))
        return None if shared == before.length else Divergence("messages", shared, new.characters + after.trail.characters(shared))
    limit = min(len(old.pieces), len(new.pieces))
    at = next((index for index in range(limit) if old.pieces[index] != new.pieces[index]), limit)
    offset = new.ends[at - 1] if at else 0
    if at == 0:
        return Divergence("model", 0, 0)
    if at <= max(len(old.tools), len(new.tools)):
        return Divergence("tools", at - 1, offset)
    return Divergence("system", at - 1 - len(new.tools), offset)


def drift_reason(before: PrefixSnapshot, after: PrefixSnapshot) -> DriftReason | None:
    """Return why `after` could not reuse all of `before`: of several reasons the one the first change has.

    `None` where it only grew, was cut at its end, or has another last message: no more than a conversation does by itself.
    """
    return reason_of(divergence(before, after), before, after)


def reason_of(found: Divergence | None, before: PrefixSnapshot, after: PrefixSnapshot) -> DriftReason | None:
    """Return the reason of a divergence that was found already."""
    if found is None:
        return None
    match found.part:
        case "model":
            return DriftReason.MODEL_CHANGE if before.front.provider == after.front.provider else DriftReason.PROVIDER_CHANGE
        case "tools":
            return _tools_reason(before.front, after.front)
        case "system":
            return _system_reason(before.front, after)
        case "messages":
            return _messages_reason(found.at, before, after)


def common_part(
    found: Divergence | None,
    before: PrefixSnapshot,
    *,
    tools: Sequence[Any],
    system: SystemMessage | None,
    messages: Sequence[BaseMessage],
) -> tuple[Sequence[Any], Sequence[BaseMessage]]:
    """Return the tools and messages of this call that repeat the one before, to be counted; a system message may be cut to its first lines."""
    leading = [] if system is None else [system]
    part, at = ("messages", before.length) if found is None else (found.part, found.at)
    match part:
        case "model":
            return (), []
        case "tools":
            return tools[:at], []
        case "system":
            text = "".join(piece for piece, _ in zip(system_pieces(system), range(at), strict=False))
            return tools, [SystemMessage(text)] if text else []
        case _:
            return tools, [*leading, *messages[:at]]


def canonical_text(
    provider: str, model: str, *, tools: Sequence[tuple[str, str]] = (), system: SystemMessage | None = None, messages: Sequence[BaseMessage] = ()
) -> str:
    """Return the whole text the digests are made of: to look at, never to store."""
    parts = [_model_text(provider, model), *(f"{text}\n" for _, text in tools), *system_pieces(system), *map(message_text, messages)]
    return "".join(parts)


def message_text(message: BaseMessage) -> str:
    """Return the canonical text of a message: everything of it that is sent, keys in the order they have. Its id is not sent."""
    content = message.content
    return f"{message_head(message)}\n{content if isinstance(content, str) else _shown(content)}\n"


def message_head(message: BaseMessage) -> str:
    """Return what is sent of a message beside its content."""
    # Read past pydantic: this runs for every message of a conversation.
    fields = message.__dict__
    head: str = message.type
    name, answered, calls, invalid = fields.get("name"), fields.get("tool_call_id"), fields.get("tool_calls"), fields.get("invalid_tool_calls")
    if name or answered:
        head = f"{head} {name!r} {answered!r} {fields.get('status')}"
    if calls or invalid:
        head += _shown([(call["id"], call["name"], call["args"]) for call in (*(calls or ()), *(invalid or ()))])
    if "role" in fields:
        head += _shown(fields["role"])
    extras = fields.get("additional_kwargs")
    return head + _shown({key: value for key, value in extras.items() if key not in _LOCAL}) if extras else head


def system_pieces(system: SystemMessage | None) -> Iterator[str]:
    """Yield the canonical text of a system message line by line, so that a change in one rule is found at its line."""
    if system is None:
        return
    content = system.content
    for block in [content] if isinstance(content, str) else content:
        if isinstance(block, str):
            yield from _lines(block)
        elif block.get("type") == "text" and isinstance(block.get("text"), str):
            yield from _lines(block["text"])
            extras = {key: value for key, value in block.items() if key not in ("type", "text")}
            if extras:
                yield _shown(extras)
        else:
            yield _shown(block)
        yield _BLOCK


def _lines(text: str) -> Iterator[str]:
    for line in text.splitlines(keepends=True):
        for start in range(0, len(line), _LONGEST_PIECE):
            yield line[start : start + _LONGEST_PIECE]


def _tools_reason(before: Front, after: Front) -> DriftReason:
    if {tool.name for tool in before.tools} - {tool.name for tool in after.tools}:
        return DriftReason.PERMISSION_SHRINK
    old, new = ([tool.canonical for tool in front.tools] for front in (before, after))
    if Counter(old) != Counter(new):
        return DriftReason.TOOL_CHANGE
    return DriftReason.KEY_ORDER if old == new else DriftReason.TOOL_ORDER


def _system_reason(before: Front, after: PrefixSnapshot) -> DriftReason:
    front = after.front
    if before.permissions - front.permissions:
        return DriftReason.PERMISSION_SHRINK
    if {name for name, _ in before.rules} - {name for name, _ in front.rules}:
        return DriftReason.CONSTRAINT_REMOVED
    if before.rules != front.rules:
        return DriftReason.POLICY_UPDATE
    return DriftReason.REBUILD if after.is_rebuild else DriftReason.UNKNOWN


def _messages_reason(at: int, before: PrefixSnapshot, after: PrefixSnapshot) -> DriftReason | None:
    if after.is_rebuild or after.head < before.head:
        return DriftReason.REBUILD
    if after.head > before.head:
        return DriftReason.COMPACTION
    if at in (before.length - 1, after.length):
        return None
    return DriftReason.UNKNOWN if at else DriftReason.REBUILD


def _rendered(messages: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
    """Return the evidence and summary that open `messages`."""
    count = next(
        (index for index, message in enumerate(messages[: len(_RENDERED)]) if message.name not in _RENDERED), min(len(messages), len(_RENDERED))
    )
    return messages[:count]


def _model_text(provider: str, model: str) -> str:
    return f"{provider}/{model}\n"


def _sorted_json(text: str) -> str:
    try:
        return canonical_json(json.loads(text))
    except (ValueError, RecursionError):
        return text


def _shown(value: Any) -> str:
    """Return data as text: its Python form, which is faster to write than JSON and as unambiguous."""
    try:
        return repr(value)
    except RecursionError:
        return f"nested too deeply: {type(value).__name__}"


def _content_key(content: Any) -> int:
    """Return a number for blocks of content. Python hashes a text once in its life, so an image costs nothing the second time."""
    try:
        return _key_of(content)
    except RecursionError:
        return hash(_shown(content))


def _key_of(data: Any) -> int:
    kind = type(data)
    if kind is str:
        return hash(data)
    if kind is dict:
        return hash(tuple([(key, _key_of(value)) for key, value in data.items()]))
    if kind is list:
        return hash(tuple(map(_key_of, data)))
    return hash(_shown(data))


def _digest(text: str) -> bytes:
    return sha256(_bytes(text)).digest()[:_DIGEST]


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")

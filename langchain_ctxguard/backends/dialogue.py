"""Messages -> plain text a summarizer can read: calls and results whole, media as references, reasoning left out; cut at unit boundaries."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage

from langchain_ctxguard.backends.extractive import origin_of
from langchain_ctxguard.core.roles import MEDIA_BLOCKS, calls_of, escaped, is_call_block, is_failure, results_of
from langchain_ctxguard.domain.value import canonical_json, digest_of

_REASONING = frozenset({"thinking", "redacted_thinking", "reasoning", "reasoning_content", "thought"})
_SEALED = frozenset({"signature", "thought_signature", "encrypted_content", "encrypted_stdout", "encrypted_index"})
"""What only the provider that wrote it can read."""

_NESTED = ("source", "image_url", "file", "input_audio")
_NAMES = ("filename", "title", "mime_type", "media_type", "format", "file_id", "id", "url")
_SHORTEST_PIECE = 40
_DEEPEST = 40


@dataclass(frozen=True, slots=True)
class Passage:
    """One message or call, in its tag. `body` is already unable to close it."""

    opening: str
    body: str

    @property
    def text(self) -> str:
        """The passage as the model reads it."""
        return f"<{self.opening}>\n{self.body}\n</{self.opening.partition(' ')[0]}>"


def passages(messages: Sequence[BaseMessage]) -> Iterator[list[Passage]]:
    """Yield the passages of each unit: a message with calls and the results that follow it stay together. Messages are numbered from 1."""
    unit: list[Passage] = []
    for number, message in enumerate(messages, start=1):
        if unit and not results_of(message):
            yield unit
            unit = []
        unit += _passages_of(message, number)
    if unit:
        yield unit


def _passages_of(message: BaseMessage, number: int) -> Iterator[Passage]:
    answered = results_of(message)
    answers = f' answers="{_attribute(" ".join(answered))}"' if answered else ""
    status = ' status="error"' if is_failure(message) else ""
    body = _words(message)
    calls = calls_of(message)
    if body or not calls:
        yield Passage(f'context_message n="{number}" from="{origin_of(message)}"{answers}{status}', escaped(body))
    for call in calls:
        yield Passage(f'context_call n="{number}" tool="{_attribute(call.name)}" id="{_attribute(call.call_id or "")}"', escaped(call.arguments_text))


def _attribute(text: str) -> str:
    return escaped(" ".join(text.split())).replace('"', "'").replace(">", "'")


def _words(message: BaseMessage) -> str:
    content = message.content
    return content if isinstance(content, str) else "\n".join(filter(None, map(_block, content)))


def _block(block: Any) -> str:
    if not isinstance(block, dict):
        return str(block)
    kind = block.get("type")
    said = next((block[name] for name in ("text", "refusal") if isinstance(block.get(name), str)), None)
    if said is not None or kind in _REASONING or is_call_block(block):
        return "" if kind in _REASONING or is_call_block(block) else str(said)
    if kind == "non_standard" and isinstance(block.get("value"), dict):
        return _block(block["value"])
    if kind == "tool_result":
        inner = block.get("content", "")
        return "\n".join(filter(None, map(_block, inner))) if isinstance(inner, list) else str(inner)
    if kind in MEDIA_BLOCKS:
        return _reference(block)
    return canonical_json(_unsealed(block))


def _unsealed(value: Any, depth: int = 0) -> Any:
    """Return a block without seals and without reasoning, at any depth."""
    if depth > _DEEPEST:
        return "..."
    if isinstance(value, dict):
        return {name: _unsealed(item, depth + 1) for name, item in value.items() if name not in _SEALED}
    if isinstance(value, (list, tuple)):
        return [_unsealed(item, depth + 1) for item in value if not (isinstance(item, dict) and item.get("type") in _REASONING)]
    return value


def _reference(block: dict[str, Any]) -> str:
    """Return what names a picture or file without showing it: `[image: chart.png, image/png, 3840 bytes, sha256 ...]`."""
    flat = dict(block)
    for name in _NESTED:
        inner = flat.pop(name, None)
        if inner is not None:
            flat.update(inner if isinstance(inner, dict) else {"url": inner})
    said = {name: value for name, value in flat.items() if isinstance(value, str)}
    data = next((said[name] for name in ("data", "base64", "file_data") if name in said), None)
    if said.get("url", "").startswith("data:"):
        data = said.pop("url")
    kind = str(block["type"]).removeprefix("input_").removesuffix("_url")
    parts = [said[name] for name in _NAMES if name in said]
    if data is not None:
        parts += [f"{_bytes_in(data)} bytes", f"sha256 {digest_of(data)[:12]}"]
    return f"[{kind}: {', '.join(dict.fromkeys(parts)) or 'unnamed'}]"


def _bytes_in(data: str) -> int:
    """Return how many bytes a base64 text stands for, alone or in a `data:` address."""
    encoded = data.partition(",")[2] if data.startswith("data:") else data
    return (len(encoded) - encoded[-2:].count("=")) * 3 // 4


class Backlog:
    """Passages still to be read, handed out in portions that fit. Nothing is left out and nothing is shortened."""

    def __init__(self, messages: Sequence[BaseMessage], measure: Callable[[str], int]) -> None:
        """Queue the units of `messages`; `measure` says what a text costs."""
        self._units = deque(passages(messages))
        self._measure = measure

    def __bool__(self) -> bool:
        """Say whether anything is left to read."""
        return bool(self._units)

    def take(self, room: int) -> list[list[Passage]]:
        """Return the next units that fit into `room`, at least something: a unit that is larger is split, and so is a message."""
        taken: list[list[Passage]] = []
        used = 0
        while self._units:
            cost = self._cost(self._units[0])
            if used + cost <= room:
                taken.append(self._units.popleft())
                used += cost
                continue
            if taken:
                break
            self._split_first(room)
        return taken

    def give_back(self, taken: list[list[Passage]]) -> None:
        """Queue again what could not be read."""
        self._units.extendleft(reversed(taken))

    def _cost(self, unit: list[Passage]) -> int:
        return sum(self._measure(passage.text) for passage in unit)

    def _split_first(self, room: int) -> None:
        unit = self._units.popleft()
        if len(unit) > 1:
            self._units.extendleft([passage] for passage in reversed(unit))
            return
        passage = unit[0]
        cost = self._measure(passage.text)
        if len(passage.body) <= _SHORTEST_PIECE:
            self._units.appendleft(unit)
            msg = f"A summarizer with room for {room} tokens cannot read even a piece of a message ({cost} tokens); give it a larger window."
            raise ValueError(msg)
        width = max(_SHORTEST_PIECE, min(len(passage.body) * 9 * room // (10 * cost), -(-len(passage.body) // 2)))
        pieces = _pieces(passage.body, width)
        self._units.extendleft([Passage(_of_part(passage.opening), piece)] for piece in reversed(pieces))


def _of_part(opening: str) -> str:
    return opening if ' part="yes"' in opening else f'{opening} part="yes"'


def _pieces(body: str, width: int) -> list[str]:
    """Cut a text into pieces of about `width` characters, at the end of a line where one is near; joined they are the text."""
    pieces = []
    start = 0
    while start < len(body):
        stop = min(start + width, len(body))
        if stop < len(body):
            line_end = body.rfind("\n", start + width * 4 // 5, stop)
            stop = stop if line_end < 0 else line_end + 1
        pieces.append(body[start:stop])
        start = stop
    return pieces

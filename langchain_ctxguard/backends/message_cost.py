"""What of a message is sent to a model, and what each part costs. Text is counted by a function passed in."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from langchain_ctxguard.core.roles import calls_of, is_call_block

TextCost = Callable[[str], int]

MESSAGE_TOKENS = 4
"""What frames a message: its role and the marks around it. OpenAI documents 3 and the role."""

NAME_TOKENS = 1
"""What frames the name of a speaker, beside its text."""

CALL_TOKENS = 8
"""What frames a tool call: its type and the marks around name and arguments."""

IMAGE_TOKENS = 1_600
"""One image at full size for Claude, the upper end of what providers charge (a 1024 x 1024 image: OpenAI 765, Gemini 258 to 1,290)."""

AUDIO_TOKENS = 2_000
"""About a minute of speech: Gemini charges 32 tokens a second, OpenAI 10."""

VIDEO_TOKENS = 9_000
"""About half a minute of video: Gemini charges 300 tokens a second."""

FILE_TOKENS = 6_000
"""Two to four pages: Claude charges 1,500 to 3,000 tokens for a page of PDF."""

SEALED_CHARACTERS_PER_TOKEN = 5
"""Signatures and encrypted reasoning: base64 of text, four characters for three bytes, about four bytes to a token."""

_MEDIA = {
    "image": IMAGE_TOKENS,
    "image_url": IMAGE_TOKENS,
    "input_image": IMAGE_TOKENS,
    "image_generation_call": IMAGE_TOKENS,
    "audio": AUDIO_TOKENS,
    "input_audio": AUDIO_TOKENS,
    "video": VIDEO_TOKENS,
    "video_url": VIDEO_TOKENS,
    "input_video": VIDEO_TOKENS,
}
_FILES = frozenset({"file", "input_file", "document"})
_DATA_KEYS = ("media", "inline_data", "inlineData", "file_data", "fileData")
_TEXTS = frozenset({"text", "input_text", "output_text", "text-plain", "refusal", "summary_text", "reasoning_text"})
_REASONING = frozenset({"reasoning", "thinking", "reasoning_content", "redacted_thinking"})
_REASONING_TEXT = ("reasoning", "thinking", "text", "summary", "content", "reasoning_content", "reasoningText")
_SEALED = ("signature", "encrypted_content", "data", "thought_signature", "redactedContent")
# Long enough that no word, path or id is one; a blob's first characters count, so that it is never free.
_BLOB = re.compile(r"(?:[A-Za-z0-9+/_\-]|\\/){512,}={0,2}")
_BLOB_SHOWN = 256
_DEEPEST = 32
_LARGEST_NUMBER = 2_048


def message_cost(message: BaseMessage, count: TextCost) -> int:
    """Return what one message costs. Artifacts, metadata and ids of messages are not sent and cost nothing."""
    total = MESSAGE_TOKENS
    if message.name:
        total += NAME_TOKENS + count(message.name)
    has_calls = isinstance(message, AIMessage)
    total += _content_cost(message.content, count, skip_calls=has_calls)
    if isinstance(message, ToolMessage):
        total += count(str(message.tool_call_id))
    if has_calls:
        total += sum(CALL_TOKENS + count(str(call.name)) + count(_arguments_text(call.arguments)) for call in calls_of(message))
    if message.additional_kwargs:
        total += _extras_cost(message, count)
    return total


def json_text(value: Any) -> str:
    """Return `value` as it is sent, whatever is in it: what has no JSON form goes in as the text it shows."""
    try:
        return json.dumps(value, ensure_ascii=False, default=_shown)
    except (TypeError, ValueError, RecursionError):
        return " ".join(_leaves(value))


def _arguments_text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json_text(arguments)


def _shown(value: Any) -> str:
    if isinstance(value, int) and value.bit_length() > _LARGEST_NUMBER:
        return f"{value:x}"  # Python refuses to write a larger one in decimal
    # Raw bytes are media data of some provider; `repr` of a megabyte of them would be counted as text.
    return "bytes" if isinstance(value, (bytes, bytearray, memoryview)) else str(value)


def _leaves(value: Any) -> Iterator[str]:
    """Yield the texts and numbers in `value`, each container once: for data that holds itself or is nested beyond reason."""
    seen: set[int] = set()
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, (dict, list, tuple)):
            if id(item) not in seen:
                seen.add(id(item))
                stack.extend([*item, *item.values()] if isinstance(item, dict) else item)
        else:
            yield item if isinstance(item, str) else _shown(item)


def _content_cost(content: Any, count: TextCost, *, skip_calls: bool = False, depth: int = 0) -> int:
    if isinstance(content, str):
        return count(content)
    if isinstance(content, dict):
        return _block_cost(content, count, depth)
    if not isinstance(content, (list, tuple)):
        return 0 if content is None else count(_shown(content))
    if depth > _DEEPEST:
        return _unknown_cost(content, count, depth)
    return sum(
        _block_cost(block, count, depth) if isinstance(block, dict) else _content_cost(block, count, depth=depth + 1)
        for block in content
        if not (skip_calls and is_call_block(block))
    )


def _block_cost(block: dict[Any, Any], count: TextCost, depth: int) -> int:
    kind = block.get("type")
    cost = _COSTS.get(kind, _unknown_cost) if depth <= _DEEPEST and (kind is None or isinstance(kind, str)) else _unknown_cost
    return cost(block, count, depth)


def _text_cost(block: dict[Any, Any], count: TextCost, depth: int) -> int:
    text = block.get("text", block.get("refusal", ""))
    return count(text) if isinstance(text, str) else _unknown_cost(block, count, depth)


def _flat_cost(block: dict[Any, Any], _count: TextCost, _depth: int) -> int:
    return _MEDIA[block["type"]]


def _result_cost(block: dict[Any, Any], count: TextCost, depth: int) -> int:
    return count(str(block.get("tool_use_id", ""))) + _content_cost(block.get("content"), count, depth=depth + 1)


def _foreign_cost(block: dict[Any, Any], count: TextCost, depth: int) -> int:
    return _content_cost(block.get("value"), count, depth=depth + 1)


def _shape_cost(block: dict[Any, Any], count: TextCost, depth: int) -> int:
    """Return the cost of a block that says by its keys what it is, as Bedrock and Gemini write them."""
    if isinstance(block.get("text"), str):
        return count(block["text"])
    data = block if block.get("type") == "media" else next((block[key] for key in _DATA_KEYS if isinstance(block.get(key), dict)), None)
    if data is not None:
        return _media_by_mime(data)
    media = next((_MEDIA[key] for key in ("image", "audio", "video") if isinstance(block.get(key), dict)), None)
    if media is not None:
        return media
    if isinstance(block.get("document"), dict):
        return _file_cost(block["document"], count, depth)
    if isinstance(block.get("toolResult"), dict):
        return _content_cost(block["toolResult"].get("content"), count, depth=depth + 1)
    return _unknown_cost(block, count, depth)


def _media_by_mime(block: dict[Any, Any]) -> int:
    mime = str(block.get("mime_type", block.get("mimeType", "")))
    return _MEDIA.get(mime.partition("/")[0], FILE_TOKENS)


def _file_cost(block: dict[Any, Any], count: TextCost, depth: int) -> int:
    source = block.get("source")
    labels = sum(count(block[key]) for key in ("title", "context") if isinstance(block.get(key), str))
    if isinstance(source, dict) and source.get("type") == "text" and isinstance(source.get("data"), str):
        return labels + count(source["data"])
    if isinstance(source, dict) and "content" in source:
        return labels + _content_cost(source["content"], count, depth=depth + 1)
    if isinstance(source, dict) and isinstance(source.get("text"), str):
        return labels + count(source["text"])
    if isinstance(block.get("text"), str):
        return labels + count(block["text"])
    return labels + _media_by_mime(block)


def _reasoning_cost(block: Any, count: TextCost, depth: int = 0) -> int:
    """Return the larger of what reasoning shows and what it seals: a signature carries the whole, the text may be its summary."""
    if depth > _DEEPEST:
        return _unknown_cost(block, count, depth)
    if not isinstance(block, dict):
        return _content_cost(block, count, depth=depth + 1)
    shown = sealed = 0
    for key in _REASONING_TEXT:
        inner = block.get(key)
        # A nested form (Bedrock) has its own signature beside its text.
        shown += _reasoning_cost(inner, count, depth + 1) if isinstance(inner, dict) else _content_cost(inner, count, depth=depth + 1)
    extras = block.get("extras")
    for holder in (block, extras if isinstance(extras, dict) else {}):
        for key in _SEALED:
            value = holder.get(key)
            sealed += len(value) if isinstance(value, (str, bytes)) else 0
    return max(shown, -(-sealed // SEALED_CHARACTERS_PER_TOKEN))


def _extras_cost(message: BaseMessage, count: TextCost) -> int:
    extras = message.additional_kwargs
    total = 0
    content = message.content
    is_in_content = isinstance(content, list) and any(isinstance(block, dict) and block.get("type") in _REASONING for block in content)
    if not is_in_content:
        total += next((_reasoning_cost(extras[key], count) for key in ("reasoning_content", "reasoning") if extras.get(key)), 0)
    if isinstance(extras.get("refusal"), str):
        total += count(extras["refusal"])
    audio = extras.get("audio")
    if isinstance(audio, dict):
        total += AUDIO_TOKENS
    call = extras.get("function_call")
    if isinstance(call, dict) and isinstance(message, AIMessage) and not calls_of(message):
        total += CALL_TOKENS + count(str(call.get("name", ""))) + count(_arguments_text(call.get("arguments", "")))
    return total


def _unknown_cost(block: Any, count: TextCost, _depth: int) -> int:
    """Return the cost of a block nobody described, as its JSON; of encoded data only the beginning."""
    return count(_BLOB.sub(lambda found: found[0][:_BLOB_SHOWN], json_text(block)))


_COSTS: dict[str | None, Callable[[dict[Any, Any], TextCost, int], int]] = {
    **dict.fromkeys(_TEXTS, _text_cost),
    **dict.fromkeys(_MEDIA, _flat_cost),
    **dict.fromkeys(_FILES, _file_cost),
    **dict.fromkeys(_REASONING, _reasoning_cost),
    "tool_result": _result_cost,
    "non_standard": _foreign_cost,
    "media": _shape_cost,
    None: _shape_cost,
}

"""One place where a message object is made from what a file says, so that every fault names its place."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from langchain_core.messages import BaseMessage
from pydantic import ValidationError

from langchain_ctxguard.backends.transcripts.transcript import Misfit, Where, kind_of

Message = TypeVar("Message", bound=BaseMessage)


def build(kind: type[Message], fields: dict[str, Any], where: Where) -> Message:
    """Return a message of class `kind`; keys it has no field for go to `additional_kwargs`.

    Raises:
        Misfit: naming the field and what it takes.
    """
    known = {key: value for key, value in fields.items() if key in kind.model_fields and key != "type" and value is not None}
    extra = fields.get("additional_kwargs") or {}
    if not isinstance(extra, dict):
        raise Misfit(where, f"has `additional_kwargs` that is {kind_of(extra)}; it takes an object")
    # `content_blocks` is derived from `content`; a constructor would put it in the content's place.
    unknown = {
        key: value for key, value in fields.items() if key not in kind.model_fields and key not in ("type", "content_blocks") and value is not None
    }
    try:
        return kind(**{**known, "additional_kwargs": {**unknown, **extra}})
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
        field = ".".join(str(part) for part in fault["loc"])
        raise Misfit(where, f"has a field that does not fit, `{field}`: {fault['msg']}") from None
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        raise Misfit(where, f"is no {kind.__name__}: {type(error).__name__}: {error}") from None


def content_of(entry: dict[str, Any], where: Where, *, may_be_missing: bool, may_be_data: bool = False) -> str | list[Any]:
    """Return the content of a recorded message; blocks stay as they are.

    Args:
        entry: The recorded message.
        where: Its place.
        may_be_missing: Nothing recorded counts as an empty text (an assistant that only calls tools).
        may_be_data: An object or number counts as its JSON text (a tool's answer).

    Raises:
        Misfit: no content, or one that is neither text nor a list of blocks.
    """
    content = entry.get("content")
    if content is None:
        if may_be_missing or "content" in entry:
            return ""
        raise Misfit(where, "has no `content`")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        fault = next(((index, reason) for index, block in enumerate(content) if (reason := _block_fault(block)) is not None), None)
        if fault is None:
            return content
        if not may_be_data:
            raise Misfit((*where, "content", fault[0]), fault[1])
    if may_be_data:
        return json.dumps(content, ensure_ascii=False)
    raise Misfit(where, f"has a `content` that is {kind_of(content)}; it takes a text or a list of blocks")


def _block_fault(block: Any) -> str | None:
    """Return why `block` is no content block; blocks of types nobody here knows are fine."""
    if isinstance(block, str):
        return None
    if not isinstance(block, dict):
        return f"is {kind_of(block)}; a content block is an object or a text"
    if not isinstance(block.get("type", ""), str):
        return f"has a `type` that is {kind_of(block['type'])}; it takes a text"
    if block.get("type") == "text" and not isinstance(block.get("text"), str):
        return "is a text block without a text"
    return None

"""What the application's redactor leaves of messages and values. Where it fails on a text, nothing of that text is left."""

from __future__ import annotations

from typing import Any, TypeVar, get_args

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from langchain_ctxguard.core.roles import MEDIA_BLOCKS
from langchain_ctxguard.domain.extensions import Redactor
from langchain_ctxguard.domain.value import Value

WITHHELD = "[withheld: it could not be redacted]"

V = TypeVar("V", bound=Value)

_DEEPEST = 60
_STRUCTURE = frozenset({"type", "mime_type", "media_type", "source_type", "role", "status", "format", "detail"})
_IDS = frozenset({"id", "call_id", "tool_use_id", "tool_call_id"})
_ARGUMENTS = frozenset({"input", "args", "arguments"})
_BYTES = frozenset({"data", "base64", "file_data"})
_IDENTITIES = ("id", "ids", "source", "sources", "also_in", "digest", "key", "hash", "language")


def left_of(redact: Redactor | None, text: str) -> str:
    """Return what a redactor leaves of one text; all of it where there is none."""
    return text if redact is None else Redaction(redact).text(text)


class Redaction:
    """One redactor over everything one compaction takes out of the view. Nothing it is given is changed."""

    def __init__(self, redact: Redactor) -> None:
        """Bind the application's function."""
        self._redact = redact
        self._aliases: dict[str, str] = {}
        self.failure: str | None = None
        """Name of the first error the redactor raised; the texts it raised on are withheld."""

    def text(self, text: str) -> str:
        """Return what is left of a text."""
        if not text:
            return text
        try:
            left: Any = self._redact(text)
        except Exception as error:  # noqa: BLE001 - whatever goes wrong, the text may not pass
            self.failure = self.failure or type(error).__name__
            return WITHHELD
        if not isinstance(left, str):
            self.failure = self.failure or "TypeError"
            return WITHHELD
        return left

    def message(self, message: BaseMessage) -> BaseMessage:
        """Return a copy with every text in it redacted: content, calls and arguments, results. The bytes of media stay: nobody is shown them."""
        update: dict[str, Any] = {"content": self._content(message.content)}
        if isinstance(message, AIMessage):
            update["tool_calls"] = [self._call(call) for call in message.tool_calls]
            update["invalid_tool_calls"] = [self._call(call) for call in message.invalid_tool_calls]
        if isinstance(message, ToolMessage):
            update["tool_call_id"] = self._id(message.tool_call_id)
            update["artifact"] = None
        held = message.additional_kwargs
        extras = {name: self._walked(held[name]) for name in ("tool_calls", "function_call", "refusal") if name in held}
        if extras:
            update["additional_kwargs"] = {**held, **extras}
        return message.model_copy(update=update)

    def value(self, value: V) -> V:
        """Return a value with its free texts redacted; identities, digests and closed sets stay."""
        update: dict[str, Any] = {}
        for name, field in type(value).model_fields.items():
            held = getattr(value, name)
            if name.rpartition("_")[2] in _IDENTITIES or name in _IDENTITIES:
                continue
            if isinstance(held, Value):
                update[name] = self.value(held)
            elif isinstance(held, tuple):
                update[name] = tuple(self._item(item) for item in held)
            elif type(held) is str and (field.annotation is str or str in get_args(field.annotation)):
                update[name] = self.text(held)
        return value.model_copy(update=update)

    def _item(self, item: Any) -> Any:
        if isinstance(item, Value):
            return self.value(item)
        return self.text(item) if type(item) is str else item

    def _content(self, content: Any) -> Any:
        return self.text(content) if isinstance(content, str) else [self._walked(block) for block in content]

    def _call(self, call: Any) -> dict[str, Any]:
        plain = {**call, "name": self.text(call.get("name") or ""), "args": self._walked(call.get("args"), in_arguments=True)}
        return {**plain, "id": self._id(call["id"]) if call.get("id") else call.get("id")}

    def _id(self, call_id: str) -> str:
        """Return an id; one that the redactor would change gets an alias of its own, so that calls and results still find each other."""
        if call_id in self._aliases:
            return self._aliases[call_id]
        if self.text(call_id) == call_id:
            return call_id
        self._aliases[call_id] = f"call-{len(self._aliases) + 1}"
        return self._aliases[call_id]

    def _walked(self, value: Any, *, in_arguments: bool = False, in_media: bool = False, depth: int = 0) -> Any:
        if depth > _DEEPEST:
            return WITHHELD
        if isinstance(value, str):
            return value if in_media and value.startswith("data:") else self.text(value)
        if isinstance(value, (list, tuple)):
            return [self._walked(item, in_arguments=in_arguments, in_media=in_media, depth=depth + 1) for item in value]
        if not isinstance(value, dict):
            # A number can be a telephone number; it stays a number where nothing is to be removed.
            return value if value is None or isinstance(value, bool) or self.text(str(value)) == str(value) else self.text(str(value))
        if in_arguments:
            return {
                self.text(key) if isinstance(key, str) else key: self._walked(item, in_arguments=True, depth=depth + 1) for key, item in value.items()
            }
        media = in_media or value.get("type") in MEDIA_BLOCKS
        left = {}
        for key, item in value.items():
            if (key in _STRUCTURE or (media and key in _BYTES)) and isinstance(item, str):
                left[key] = item
            elif key in _IDS and isinstance(item, str):
                left[key] = self._id(item)
            else:
                left[key] = self._walked(item, in_arguments=key in _ARGUMENTS, in_media=media, depth=depth + 1)
        return left

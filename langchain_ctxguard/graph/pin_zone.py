"""Pinned messages and files, as they stand in a call: the application's files behind the system prompt, all others in front of the conversation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from langchain_ctxguard.core.effects import CountTokens
from langchain_ctxguard.core.identity import message_keys
from langchain_ctxguard.core.pins import PINNED, PinnedText, application_text, is_system_pin, render_pinned, shown_pins, texts_of_messages
from langchain_ctxguard.domain.pinned import Pin
from langchain_ctxguard.graph.pinned import PinnedFiles, pins_in

NEWEST = 8
"""So many pins are shown in full, if they fit; the others by a line."""

SHARE = 0.1
"""Of the window, for all pins that are not the application's."""


class PinZone:
    """Shows the pins of a guard and of a thread. A thread without pins costs nothing."""

    def __init__(self, files: PinnedFiles | None, own: Sequence[Pin], count: CountTokens) -> None:
        """Bind where files are read, and the pins given in code."""
        self._files = files
        self._own = tuple(own)
        self._count = count

    def system(self, given: SystemMessage | None) -> SystemMessage | None:
        """Return the system message with the application's files behind it, read again where they changed; the same object without any."""
        if self._files is None or not self._own:
            return given
        text = application_text(self._files.texts(filter(is_system_pin, self._own)))
        if not text:
            return given
        block = {"type": "text", "text": text}
        if given is None:
            return SystemMessage([block])
        blocks: list[Any] = [{"type": "text", "text": given.content}] if isinstance(given.content, str) else list(given.content)
        return given.model_copy(update={"content": [*blocks, block]})

    def lead(self, raw: Any, messages: Sequence[BaseMessage], shown: Sequence[BaseMessage], *, window: int) -> HumanMessage | None:
        """Return the message that brings back what is pinned and not in sight, `None` where there is nothing to bring back.

        Args:
            raw: The channel of pins, as the state has it.
            messages: The whole conversation.
            shown: The view.
            window: Tokens of the model's window.
        """
        pins = self.of(raw)
        if not pins:
            return None
        texts: list[PinnedText] = []
        if any(pin.kind != "file" for pin in pins):
            visible = {message.id for message in shown if message.id}
            texts = texts_of_messages(pins, messages, message_keys(messages), visible=visible)
        if self._files is not None:
            texts += self._files.texts(pin for pin in pins if not is_system_pin(pin))
        if not texts:
            return None
        body = render_pinned(shown_pins(texts, newest=NEWEST, max_tokens=int(window * SHARE), count=self._count))
        return HumanMessage(body, name=PINNED) if body else None

    def of(self, raw: Any) -> tuple[Pin, ...]:
        """Return all pins: the application's own and those of the thread."""
        return (*self._own, *pins_in(raw)) if raw else self._own

    def renewed(self, raw: Any) -> dict[str, Any]:
        """Return the update of the channel for files that changed since: to be written where the state is written anyway. Empty where none did."""
        if self._files is None or not raw:
            return {}
        return {pin.pin_id: pin.to_dict() for pin in self._files.refreshed(pins_in(raw))}

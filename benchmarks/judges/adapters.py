"""`compact_messages` in the form each judge asks for: roles and texts in, texts out. No pattern, no word list, no setting chosen for a probe."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from compaction_kit.compacted import CompactedContext
from compaction_kit.session import Turn
from jev_harness.modules.compaction_survival.sim import Message, Strategy
from langchain_core.messages import BaseMessage

from langchain_ctxguard import compact_messages
from langchain_ctxguard.core.roles import speaker_of, text_of
from langchain_ctxguard.errors import ContextBudgetError

CHARACTERS_PER_TOKEN = 4
"""The kit budgets characters. In a run with a budget a token is this many characters of the text handed back."""

_ROLES = {"user": "user", "ai": "assistant", "tool": "tool", "system": "system"}


def as_dict(role: str, text: str) -> dict[str, Any]:
    """Return a turn as a message; a tool's turn of no known call gets an id nobody asked for."""
    message = {"role": role, "content": text}
    return {**message, "tool_call_id": "unknown"} if role == "tool" else message


def line_of(message: BaseMessage) -> str:
    """Return a message as the kit writes turns down."""
    return f"[{_ROLES[speaker_of(message)]}] {text_of(message)}"


def text_after(messages: Sequence[BaseMessage]) -> str:
    """Return what the model would see, as one text."""
    return "\n".join(map(line_of, messages))


def characters_as_tokens(messages: Sequence[BaseMessage]) -> int:
    """Count the tokens of a budget given in characters: what fits is never longer than the budget."""
    return -(-sum(len(line_of(message)) + 1 for message in messages) // CHARACTERS_PER_TOKEN)


@dataclass
class GuardCompactor:
    """A `Compactor` of compaction-conformance-kit.

    From the second round on the kit hands over the text of the round before as one turn. That text is recognised, and the messages it was made of
    are compacted again with the head of that round, as an application would do it.
    """

    name: str = "ctxguard"
    rules: Collection[str] = ()
    """Ids of canaries whose turn, word for word, is passed as one of `constraints`."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    """Passed to `compact_messages` besides."""

    refusals: int = 0
    """Rounds in which what must stay did not fit the budget: the context is handed back as it was."""

    _shown: str = ""
    _given: list[Any] = field(default_factory=list)
    _constraints: list[str] = field(default_factory=list)
    _head: dict[str, Any] | None = None

    def compact(self, turns: list[Turn], round_num: int = 1, budget_chars: int | None = None) -> CompactedContext:
        """Return the text of the view after one compaction."""
        if [turn.text for turn in turns] != [self._shown]:
            self._given, self._head = [as_dict(turn.role, turn.text) for turn in turns], None
            self._constraints = list(dict.fromkeys(turn.text for turn in turns if turn.canary_id in self.rules))
            self._shown = "\n".join(f"[{turn.role}] {turn.text}" for turn in turns)
        limits = dict(self.settings)
        if budget_chars is not None:
            limits |= {"budget": max(1, budget_chars // CHARACTERS_PER_TOKEN), "token_counter": characters_as_tokens}
        try:
            done = compact_messages(self._given, constraints=self._constraints, previous=self._head, **limits)
        except ContextBudgetError:
            self.refusals += 1
        else:
            self._given, self._head, self._shown = list(done.messages), done.head, text_after(done.messages)
        return CompactedContext(text=self._shown, compactor_name=self.name, round_num=round_num)


def guard_strategy(name: str, description: str, *, rules: Sequence[str] = ()) -> Strategy:
    """Return a `Strategy` of jev-harness that keeps the roles: system messages are the application's."""
    head: dict[str, Any] | None = None
    shown: list[Message] = []

    def summarize(context: list[Message]) -> list[Message]:
        nonlocal head, shown
        previous = head if context is shown else None
        done = compact_messages([as_dict(message.role, message.text) for message in context], constraints=rules, previous=previous)
        head = done.head
        shown = [Message(_ROLES[speaker_of(message)], text_of(message)) for message in done.messages]
        return shown

    return Strategy(name, summarize, description)


def summarize_texts(texts: list[str]) -> str:
    """Do what `jev-harness compaction run --summarizer` asks for: texts without roles in, one text out."""
    return "\n".join(text_of(message) for message in compact_messages(texts).messages)

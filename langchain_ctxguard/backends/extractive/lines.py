"""What may become a line of the summary: a quoted sentence, a decision, an item, a question, each with how much it would be missed."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Literal, NamedTuple

from langchain_ctxguard.core.left_out import Kind, kind_shown
from langchain_ctxguard.core.render import render_decision, render_fact, render_item
from langchain_ctxguard.core.roles import Speaker
from langchain_ctxguard.core.sentences import Sentence, Sign, around_values, signs_of, without_courtesy
from langchain_ctxguard.core.worth import STRESSED
from langchain_ctxguard.domain.summary import Decision, Fact, PendingItem

INTENT_LENGTH = 600
"""Characters of the latest request that are shown."""


Section = Literal["pending_items", "facts", "decisions", "open_questions"]


class Quote(NamedTuple):
    """A sentence and whose it is; it becomes a fact if it is chosen."""

    piece: Sentence
    speaker: Speaker
    source: str | None
    shown: AbstractSet[Sign] = frozenset()

    def kind(self) -> Kind | None:
        """Return what it is counted as where it is left out."""
        return kind_shown(self.piece.text, self.speaker, self.shown)

    def fact(self) -> Fact:
        """Return it as a fact, not yet judged."""
        quote = None if self.source is None else self.piece.text
        return Fact(statement=self.piece.shown, said_by=self.speaker, source=self.source, quote=quote)


@dataclass(slots=True)
class Item:
    """Something worth a line of the summary."""

    section: Section
    key: str
    value: str | Fact | Decision | Quote
    score: float
    place: int
    """Order of appearance; negative if carried over."""

    def settled(self) -> str | Fact | Decision:
        """Return the value as the draft holds it."""
        return self.value.fact() if isinstance(self.value, Quote) else self.value

    @property
    def is_the_users(self) -> bool:
        """Whether a person said it."""
        if isinstance(self.value, Quote):
            return self.value.speaker == "user"
        return self.section in ("pending_items", "decisions") if not isinstance(self.value, Fact) else self.value.said_by == "user"

    def trim(self) -> None:
        """Tell of what a person or the assistant said no greeting and no thanks; what is stressed stays whole."""
        if isinstance(self.value, Quote) and self.value.speaker in ("user", "ai") and self.score < STRESSED:
            self.value = self.value._replace(piece=without_courtesy(self.value.piece))

    def shorten(self) -> None:
        """Tell of a sentence of the assistant's only the clauses around its values."""
        if isinstance(self.value, Quote) and self.value.speaker == "ai":
            self.value = self.value._replace(piece=around_values(self.value.piece))

    def line(self) -> str:
        """Return the line it will take in the rendered summary."""
        value = self.settled()
        if isinstance(value, Fact):
            return render_fact(value)
        if isinstance(value, Decision):
            return render_decision(value.model_copy(update={"said_by": value.said_by or "user"}))
        return _quoted(value) if self.section == "pending_items" else value


def _quoted(text: str) -> str:
    return render_item(PendingItem(text=text, asked_by="user"))


@dataclass(slots=True)
class Wish:
    """A request that may still be open."""

    sentence: str
    place: int
    is_standing: bool
    """Only evidence closes it; a plain request is closed by the answer that follows."""


@dataclass(slots=True)
class Question:
    """A question that may still be unanswered."""

    sentence: str
    place: int
    speaker: Speaker | None
    is_only: bool


def signs_in(text: str) -> AbstractSet[Sign]:
    """Return what a text of one sentence shows."""
    return signs_of(text, [Sentence(text, 0)])[0]

"""Is a rule still in the model's input, and what became of it there? Retention only: whether the model obeys is another question."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import BaseMessage, SystemMessage

from langchain_ctxguard.core.dialect import read_messages
from langchain_ctxguard.core.retention_find import find, offences
from langchain_ctxguard.core.retention_rule import rule_of
from langchain_ctxguard.core.retention_text import Reading
from langchain_ctxguard.core.retention_verdict import ABSENT, Verdict
from langchain_ctxguard.core.roles import RULES, is_foreign_summary, is_note, text_of
from langchain_ctxguard.domain.constraint import Constraint
from langchain_ctxguard.domain.retention import Retention, RetentionFinding, SemanticJudge, Where
from langchain_ctxguard.domain.value import digest_of
from langchain_ctxguard.errors import ConfigurationError

_PINNED = re.compile(rf"<{RULES}[^<>]*>(.*?)</{RULES}>", re.DOTALL)
_OWN_MESSAGE = re.compile(r"\s*<context_(?:summary|evidence|note)\b")
_WORST_FIRST = (Retention.CONTRADICTED, Retention.MUTATED, Retention.WEAKENED, Retention.DROPPED)


def missing_rules(rules: Sequence[Constraint], system: SystemMessage | None) -> tuple[str, ...]:
    """Return the ids of the rules whose text does not stand byte for byte in the system message: elsewhere it would be no rule."""
    if not rules:
        return ()
    text = "" if system is None else text_of(system)
    return tuple(rule.constraint_id for rule in rules if rule.text not in text)


def classify_retention(constraint: str, before: str, after: str, *, judge: SemanticJudge | None = None) -> Retention:
    """Return what became of a rule between two texts. No model is asked unless one is given.

    Args:
        constraint: The rule as declared.
        before: The text that held it; only a judge looks at it.
        after: The text that stands in its place.
        judge: Asked about whatever does not stand there word for word; for offline runs.

    >>> classify_retention("Do not delete orders.", "Do not delete orders.", "Orders may be deleted.").value
    'contradicted'
    """
    verdict, _ = find(rule_of(constraint), Reading((after,)))
    if judge is not None and verdict.retention is not Retention.PRESERVED:
        opinion = judge(constraint, before, after)
        return verdict.retention if opinion is None else opinion
    return verdict.retention


def check_retention(
    constraints: Sequence[str | Constraint | Mapping[str, Any]] | str, messages: Sequence[Any] | str, *, with_kept: bool = False
) -> list[RetentionFinding]:
    """Return one finding for each rule that is not kept in a list of messages. It needs no guard and no model.

    A rule counts as kept where its best place says it: the pinned block, then the rest of the system messages, then summaries, then ordinary
    messages. Word for word is better than in other words, wherever it stands.

    Args:
        constraints: Texts, constraints, or mappings with a `text` and perhaps a `constraint_id` or `id`.
        messages: Messages in any form LangChain accepts; a string is one text, whose findings have no `where`.
        with_kept: Return a finding for the kept rules as well: it says where each one stands, and `is_at_risk` where only ordinary messages hold it.

    Raises:
        ConfigurationError: an item is no message or no rule.

    >>> [finding.retention.value for finding in check_retention(["必须审批"], "最好审批一下")]
    ['weakened']
    """
    places = _places_of(messages)
    rules = [constraints] if isinstance(constraints, str) else constraints
    findings = [_finding(*_identified(index, item), places) for index, item in enumerate(rules)]
    return [finding for finding in findings if with_kept or not finding.retention.is_kept]


def offending_sentences(constraints: Sequence[str | Constraint | Mapping[str, Any]], text: str) -> list[tuple[str, str, Retention]]:
    """Return the sentences of a summary that weaken, contradict or change a pinned rule, in order: sentence, constraint id, what it does.

    It keeps silent in doubt. A rule said again at full force, in part or whole, offends nobody. A sentence is a substring of `text` and stands
    once for each rule it offends against.
    """
    reading = Reading((text,))
    found: list[tuple[int, str, str, Retention]] = []
    for index, item in enumerate(constraints):
        constraint_id, rule = _identified(index, item)
        found += [(sentence.number, sentence.text, constraint_id, verdict.retention) for sentence, verdict in offences(rule_of(rule), reading)]
    found.sort(key=lambda offence: offence[0])
    return [(sentence, constraint_id, retention) for _, sentence, constraint_id, retention in found]


@dataclass
class _Place:
    """All texts of one kind, and the message each of them is from."""

    where: Where | None
    texts: list[str] = field(default_factory=list)
    owners: list[tuple[int, str | None]] = field(default_factory=list)

    def add(self, text: str, index: int, message_id: str | None) -> None:
        """Take one more text in."""
        if text.strip():
            self.texts.append(text)
            self.owners.append((index, message_id))


def _places_of(messages: Sequence[Any] | str) -> list[tuple[_Place, Reading]]:
    if isinstance(messages, str):
        return [(_Place(None, [messages]), Reading((messages,)))]
    places: dict[str, _Place] = {where: _Place(where) for where in ("pinned", "system", "summary", "tail")}
    for index, message in enumerate(read_messages(messages)):
        text = text_of(message)
        if isinstance(message, SystemMessage) and not is_foreign_summary(message):
            for pinned in _PINNED.findall(text):
                places["pinned"].add(pinned, index, message.id)
            places["system"].add(_PINNED.sub("\n\n", text), index, message.id)
        else:
            places["summary" if _is_summary(message, text) else "tail"].add(text, index, message.id)
    return [(place, Reading(tuple(place.texts))) for place in places.values() if place.texts]


def _is_summary(message: BaseMessage, text: str) -> bool:
    return is_note(message) or is_foreign_summary(message) or _OWN_MESSAGE.match(text) is not None


def _identified(index: int, item: str | Constraint | Mapping[str, Any]) -> tuple[str, str]:
    """Return the id and the text of a rule in any form."""
    if isinstance(item, Constraint):
        return item.constraint_id, item.text
    if isinstance(item, str):
        return f"rule-{digest_of(item)[:8]}", item
    given: object = item
    text = item.get("text") if isinstance(given, Mapping) else None
    if not isinstance(text, str):
        msg = f"constraints[{index}] is no rule: a {type(item).__name__} without a `text`. Pass a string, a Constraint, or a mapping with `text`."
        raise ConfigurationError(msg)
    named = item.get("constraint_id") or item.get("id")
    return str(named) if named else f"rule-{digest_of(text)[:8]}", text


def _finding(constraint_id: str, text: str, places: Sequence[tuple[_Place, Reading]]) -> RetentionFinding:
    rule = rule_of(text)
    kept: RetentionFinding | None = None
    lost: list[RetentionFinding] = []
    for place, reading in places:
        verdict, sentence = find(rule, reading)
        owner = place.owners[sentence.part] if sentence is not None and place.owners else (None, None)
        finding = RetentionFinding(
            constraint_id=constraint_id,
            text=text,
            retention=verdict.retention,
            reason=verdict.reason,
            where=place.where if sentence is not None else None,
            sentence=None if sentence is None else sentence.text,
            message_index=owner[0],
            message_id=owner[1],
        )
        if verdict.retention is Retention.PRESERVED:
            return finding
        if verdict.retention is Retention.PARAPHRASED:
            kept = kept or finding
        else:
            lost.append(finding)
    if kept is not None:
        return kept
    return min(lost, key=lambda finding: _WORST_FIRST.index(finding.retention), default=_absent(constraint_id, text, ABSENT))


def _absent(constraint_id: str, text: str, verdict: Verdict) -> RetentionFinding:
    return RetentionFinding(constraint_id=constraint_id, text=text, retention=verdict.retention, reason=verdict.reason)

"""A policy made ready once: which rules speak of a tool, and what each of them looks at."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Any, NamedTuple

from langchain_ctxguard.core.predicates import (
    Answer,
    Judge,
    holds_for_all,
    holds_for_any,
    judge_of,
    leaves_of,
    loosely,
    may_be_json,
    texts_meant,
    values_at,
)
from langchain_ctxguard.domain.policy import Finding, ToolPolicy, ToolRequest
from langchain_ctxguard.domain.tool_rule import REQUIREMENTS, Decision, Effect, ToolRule
from langchain_ctxguard.domain.value import canonical_json, digest_of

_NAMES_KEPT = 2_048
_WORTH_AN_INDEX = 32
_EFFECTS: tuple[Effect, ...] = ("write", "memory", "read")
"""Strictest first."""


class Traits(NamedTuple):
    """What the rules say of a tool, whatever it is called with."""

    effect: Effect | None
    """`None`: no rule says; it counts as `write` unless the tool itself declares another."""

    irreversible: bool
    is_hidden: bool
    is_registry: bool
    """Its results count as the application's own record."""


@dataclass(frozen=True, slots=True)
class BookedRule:
    """One rule with what it looks at compiled."""

    rule: ToolRule
    id: str
    when: tuple[tuple[str, Judge, bool], ...]
    """By argument: the test, and what it says of a call that leaves the argument out."""

    args: tuple[tuple[str, Judge, bool], ...]
    """By argument: the test, and whether it may be left out."""

    requires: bool
    """It requires anything besides a person's agreement."""

    grant: Finding
    """What it says of a call it allows."""

    def applies_to(self, request: ToolRequest) -> Answer:
        """Say whether the rule speaks of a call; `None` where one of its tests cannot be told."""
        answer: Answer = True
        for name, judge, fits_none in self.when:
            found = self._fits(judge, values_at(request.args, name), fits_none=fits_none)
            if found is False:
                return False
            if found is None:
                answer = None
        return answer

    def _fits(self, judge: Judge, values: list[Any], *, fits_none: bool) -> Answer:
        """Say whether a condition holds for what an argument holds: for one item of a list, where the rule restricts; for all, where it allows."""
        if not values:
            return fits_none
        if len(values) == 1 and not may_be_json(values[0]):
            return judge(values[0])
        restricts = self.rule.verdict in {"deny", "ask"}
        if restricts:
            # A tool may open a list written as JSON.
            values = [*values, *leaves_of(values)]
        found = holds_for_any(judge, values)
        return found if restricts or not found or holds_for_all(judge, values) else None

    def unclear(self, request: ToolRequest) -> str:
        """Return the name of the argument for which it cannot be told whether the rule applies."""
        for name, judge, fits_none in self.when:
            if self._fits(judge, values_at(request.args, name), fits_none=fits_none) is None:
                return name
        return ""

    def unmet_args(self, request: ToolRequest) -> Iterable[tuple[str, bool]]:
        """Yield the arguments that fail their test, and whether they are missing altogether."""
        for name, judge, is_optional in self.args:
            values = values_at(request.args, name)
            if not values:
                if not is_optional:
                    yield name, True
            elif holds_for_all(judge, values) is not True:
                yield name, False


class ValueIndex:
    """The rules of one tool by the texts their first test names."""

    def __init__(self, rules: tuple[BookedRule, ...]) -> None:
        """Sort `rules`."""
        self._rules = rules
        self._others: list[int] = []
        self._by_value: dict[str, dict[str, list[int]]] = {}
        for place, booked in enumerate(rules):
            name = next(iter(booked.rule.when), None)
            texts = () if name is None else texts_meant(booked.rule.when[name])
            if not texts or name is None:
                self._others.append(place)
                continue
            for text in texts:
                self._by_value.setdefault(name, {}).setdefault(loosely(text), []).append(place)

    def rules_about(self, request: ToolRequest) -> Iterable[BookedRule]:
        """Return the rules that may speak of a call, in their order."""
        places = set(self._others)
        for name, by_text in self._by_value.items():
            for value in values_at(request.args, name):
                if not isinstance(value, str) or may_be_json(value):
                    return self._rules
                places.update(by_text.get(loosely(value), ()))
        return [self._rules[place] for place in sorted(places)]


class Rulebook:
    """The rules of one policy, found by tool. Safe under threads."""

    def __init__(self, policy: ToolPolicy) -> None:
        """Compile `policy`."""
        self.policy = policy
        self.fingerprint = digest_of(canonical_json(policy.model_dump(mode="json", by_alias=True)))
        self._booked = tuple(_booked(rule, place) for place, rule in enumerate(policy.rules))
        self._exact: dict[str, list[int]] = {}
        self._patterns: list[tuple[int, re.Pattern[str]]] = []
        for place, booked in enumerate(self._booked):
            for name in booked.rule.tool:
                if is_pattern(name):
                    self._patterns.append((place, tool_pattern(name)))
                else:
                    self._exact.setdefault(name, []).append(place)
        self._known: OrderedDict[str, tuple[BookedRule, ...]] = OrderedDict()
        self._indexes: dict[str, ValueIndex] = {}
        self._lock = Lock()

    def __iter__(self) -> Iterator[BookedRule]:
        """Iterate over all rules in their order."""
        return iter(self._booked)

    def rules_for(self, tool: str) -> tuple[BookedRule, ...]:
        """Return the rules that name a tool, in their order."""
        known = self._known.get(tool)
        return known if known is not None else self._looked_up(tool)

    def _looked_up(self, tool: str) -> tuple[BookedRule, ...]:
        places = {*self._exact.get(tool, ()), *(place for place, pattern in self._patterns if pattern.fullmatch(tool))}
        found = tuple(self._booked[place] for place in sorted(places))
        with self._lock:
            # A model may make up names without end.
            self._known[tool] = found
            while len(self._known) > _NAMES_KEPT:
                gone, _ = self._known.popitem(last=False)
                self._indexes.pop(gone, None)
        return found

    def rules_about(self, request: ToolRequest) -> Iterable[BookedRule]:
        """Return the rules that may speak of a call, in their order: where many name one tool, those that mean another value are passed over."""
        rules = self.rules_for(request.tool)
        if len(rules) < _WORTH_AN_INDEX:
            return rules
        index = self._indexes.get(request.tool)
        if index is None:
            index = self._indexes[request.tool] = ValueIndex(rules)
        return index.rules_about(request)

    def traits(self, tool: str) -> Traits:
        """Return what the rules say of a tool, whatever it is called with: the strictest where they differ."""
        rules = [booked.rule for booked in self.rules_for(tool)]
        effects = {rule.effect for rule in rules}
        return Traits(
            effect=next((effect for effect in _EFFECTS if effect in effects), None),
            irreversible=any(rule.irreversible for rule in rules),
            is_hidden=any(rule.hide for rule in rules),
            is_registry=any(rule.result_origin == "registry" for rule in rules),
        )


_BOOKS_KEPT = 64
_books: OrderedDict[int, Rulebook] = OrderedDict()
_books_lock = Lock()


def rulebook(policy: ToolPolicy) -> Rulebook:
    """Return a policy compiled; the same object is compiled once."""
    known = _books.get(id(policy))
    # The book holds its policy, so that the number cannot be another object's.
    if known is not None and known.policy is policy:
        return known
    book = Rulebook(policy)
    with _books_lock:
        _books[id(policy)] = book
        while len(_books) > _BOOKS_KEPT:
            _books.popitem(last=False)
    return book


def is_pattern(name: str) -> bool:
    """Say whether the name of a tool in a rule stands for several."""
    return "*" in name or "?" in name


def tool_pattern(name: str) -> re.Pattern[str]:
    """Return a pattern over tool names: `*` is any number of characters, `?` one, in any case.

    >>> bool(tool_pattern("*delete*").fullmatch("deleteOrder")), bool(tool_pattern("get_?").fullmatch("get_"))
    (True, False)
    """
    import re2  # type: ignore[import-untyped]  # it ships no types

    options = re2.Options()
    options.case_sensitive, options.dot_nl, options.log_errors = False, True, False
    parts = {"*": ".*", "?": "."}
    return re2.compile("".join(parts.get(character) or re2.escape(character) for character in name), options)  # type: ignore[no-any-return]  # see above


def _booked(rule: ToolRule, place: int) -> BookedRule:
    when = tuple((name, judge_of(test), test.fits_none) for name, test in rule.when.items())
    args = tuple((name, judge_of(test), test.optional or test.names_none) for name, test in rule.args.items())
    name = rule.id or f"rules[{place}]"
    requires = any(getattr(rule, key) for key in REQUIREMENTS if key != "approval")
    grant = Finding(rule=name, key="verdict", decision=Decision.ALLOW, reason=f"{name} allows it", instead="")
    return BookedRule(rule=rule, id=name, when=when, args=args, requires=requires, grant=grant)

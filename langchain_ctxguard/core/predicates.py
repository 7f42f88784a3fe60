"""Values in the arguments of a call, and what is true of them: yes, no, or it cannot be told."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from enum import Enum
from typing import Any

from langchain_ctxguard.core.lexicon import without_invisible
from langchain_ctxguard.domain.pattern import compiled
from langchain_ctxguard.domain.tool_test import ArgTest

Answer = bool | None
"""`None`: it cannot be told. A rule that refuses takes it for yes, one that allows for no."""

Judge = Callable[[Any], Answer]

_PLAIN_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?", re.ASCII)
_NAME = re.compile(r"[^.\[\]]+")
_LONGEST_NUMBER = 400
_PLAIN = frozenset({str, int, float, bool})


def values_at(args: Mapping[str, Any], name: str) -> list[Any]:
    """Return the values an argument holds, lists opened, in order; nothing for one that is left out or `None`.

    A dot goes into a mapping, or into a text that is the JSON of one; `*` is every argument.

    >>> values_at({"to": ["a", "b"], "order": {"items": [{"sku": 1}, {"sku": 2}]}}, "order.items.sku")
    [1, 2]
    >>> values_at({"to": ["a", None, ["b"]]}, "to"), values_at({}, "to"), values_at({"p": '{"x": 1}'}, "p.x")
    (['a', 'b'], [], [1])
    """
    if name in args:
        value = args[name]
        return [value] if type(value) in _PLAIN else list(_opened(value))
    if name == "*":
        return [leaf for value in args.values() for leaf in _opened(value)]
    found: list[Any] = [args]
    for step in _NAME.findall(name):
        inner: list[Any] = []
        for value in found:
            mapping = _as_mapping(value)
            if mapping is not None and step in mapping:
                inner.extend(_opened(mapping[step]))
        found = inner
    return found if "." in name or "[" in name else []


def leaves_of(value: Any, *, opens_json: bool = True) -> Iterator[Any]:
    """Yield the plain values in `value`, however deep; a text that is JSON of a list or mapping is opened as well."""
    waiting = [value]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, Mapping):
            waiting.extend(reversed(list(inner.values())))
        elif isinstance(inner, (list, tuple, set, frozenset)):
            waiting.extend(reversed(list(inner)))
        elif opens_json and isinstance(inner, str) and (parsed := _parsed(inner)) is not None:
            waiting.append(parsed)
        elif inner is not None:
            yield inner


def may_be_json(value: Any) -> bool:
    """Say whether a value is a text that could be the JSON of a list or mapping."""
    return isinstance(value, str) and value.lstrip()[:1] in {"[", "{"}


def _parsed(text: str) -> Any:
    bare = text.strip()
    if bare[:1] in {"{", "["} and bare[-1:] in {"}", "]"}:
        with suppress(ValueError, RecursionError):
            found = json.loads(bare)
            return found if isinstance(found, (dict, list)) else None
    return None


def _as_mapping(value: Any) -> Mapping[str, Any] | None:
    if isinstance(value, str):
        value = _parsed(value)
    if hasattr(value, "model_dump"):
        value = value.model_dump()
    return value if isinstance(value, Mapping) else None


def _opened(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple, set, frozenset)):
        for item in value:
            yield from _opened(item)
    elif isinstance(value, Enum):
        yield value.value
    elif value is not None:
        yield value


def number_in(value: Any) -> Decimal | None:
    """Return the number a value is, written plainly; `None` for anything a tool might read otherwise.

    >>> number_in("1e3"), number_in("1,000"), number_in(True), number_in(float("nan"))
    (Decimal('1E+3'), None, None, None)
    """
    if type(value) is int:
        return Decimal(value)
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        bare = value.strip()
        if len(bare) > _LONGEST_NUMBER or not _PLAIN_NUMBER.fullmatch(bare):
            return None
        value = bare
    if not isinstance(value, (str, int, float, Decimal)):
        return None
    try:
        number = value if isinstance(value, Decimal) else Decimal(str(value) if not isinstance(value, int) else value)
    except (InvalidOperation, ValueError):
        return None
    return number if number.is_finite() else None


def judge_of(test: ArgTest) -> Judge:
    """Return what holds one value against a test."""
    judges: list[Judge] = []
    if test.among is not None:
        judges.append(_among(test.among))
    if test.not_in is not None:
        found = _among(test.not_in)
        judges.append(lambda value: None if (answer := found(value)) is None else not answer)
    if test.min is not None or test.max is not None:
        judges.append(_between(test.min, test.max))
    if test.matches is not None:
        judges.append(_matching(test.matches))
    if len(judges) == 1:
        return judges[0]
    return lambda value: _all(judge(value) for judge in judges)


def holds_for_all(judge: Judge, values: Iterable[Any]) -> Answer:
    """Say whether a test holds for every value."""
    return _all(judge(value) for value in values)


def holds_for_any(judge: Judge, values: Iterable[Any]) -> Answer:
    """Say whether a test holds for one of the values at least."""
    answer: Answer = False
    for value in values:
        found = judge(value)
        if found:
            return True
        if found is None:
            answer = None
    return answer


def _all(answers: Iterable[Answer]) -> Answer:
    told: Answer = True
    for answer in answers:
        if answer is False:
            return False
        if answer is None:
            told = None
    return told


def loosely(text: str) -> str:
    """Return a text as a lenient reader takes it: without case, width, what nobody sees, and blanks around it.

    >>> loosely(" ＤＥ\u200bLETE ")
    'delete'
    """
    if text.isascii():
        return text.strip().casefold()
    return unicodedata.normalize("NFKC", without_invisible(text)).strip().casefold()


def texts_meant(test: ArgTest) -> tuple[str, ...]:
    """Return the texts one of which a value must be, in whatever spelling; none where a test can be met in other ways."""
    texts = tuple(value for value in test.among or () if isinstance(value, str))
    is_exact = test.not_in is None and len(texts) == len(test.among or ())
    return texts if is_exact and not any(loosely(text) in {"true", "false"} or number_in(loosely(text)) is not None for text in texts) else ()


def _among(values: tuple[Any, ...]) -> Judge:
    texts = frozenset(value for value in values if isinstance(value, str))
    loose = frozenset(loosely(value) for value in texts)
    flags = frozenset(value for value in values if isinstance(value, bool))
    numbers = frozenset(number for value in values if not isinstance(value, (bool, str)) and (number := number_in(value)) is not None)
    read_numbers = numbers | {number for value in texts if (number := number_in(value)) is not None}

    def judge(value: Any) -> Answer:
        if isinstance(value, bool):
            # A tool that takes a text reads "true"; whether it means the same nobody can tell.
            return value in flags or (None if str(value).casefold() in loose else False)
        if isinstance(value, str):
            if value in texts:
                return True
            form = loosely(value)
            if form in loose or (form in {"true", "false"} and (form == "true") in flags):
                return None
            number = number_in(form) if read_numbers else None
            return None if number is not None and number in read_numbers else False
        number = number_in(value)
        if number is None:
            return None
        return number in numbers or (None if number in read_numbers else False)

    return judge


def _between(least: Decimal | None, most: Decimal | None) -> Judge:
    def judge(value: Any) -> Answer:
        number = number_in(value)
        if number is None:
            return None
        return (least is None or number >= least) and (most is None or number <= most)

    return judge


def _matching(pattern: str) -> Judge:
    expression = compiled(pattern, is_whole=True)

    def judge(value: Any) -> Answer:
        text = value if isinstance(value, str) else _as_text(value)
        if text is None:
            return None
        try:
            return expression.fullmatch(text) is not None
        except UnicodeEncodeError:
            return None  # half a surrogate pair: no text anybody could read

    return judge


def _as_text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (int, float, Decimal)) else None

"""Tests of one value of a tool call, as the config file writes them: `{in: [...], min: 0, matches: ...}`."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field, PlainSerializer, model_validator

from langchain_ctxguard.domain.pattern import compiled
from langchain_ctxguard.domain.value import Value

Scalar = str | int | float | bool | None
"""A value a call can be held against."""


def _scalars(value: Any) -> Any:
    if not isinstance(value, (list, tuple)):
        msg = f"takes a list of values such as [eu, us], not {value!r}"
        raise ValueError(msg)
    if any(not isinstance(item, (str, int, float, bool, Decimal)) and item is not None for item in value):
        msg = "takes a list of plain values: texts, numbers, true, false or null"
        raise ValueError(msg)
    return tuple(value)


def _number(value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        msg = f"takes a number, not {value!r}"
        raise ValueError(msg)
    number = Decimal(str(value))
    if not number.is_finite():
        msg = f"takes a finite number, not {value!r}"
        raise ValueError(msg)
    return number


def _pattern(value: Any) -> str:
    compiled(value, is_whole=True)
    return str(value)


Values = Annotated[tuple[Any, ...], BeforeValidator(_scalars, json_schema_input_type=list[Scalar])]


def _plain_number(number: Decimal) -> int | float:
    return int(number) if number == number.to_integral_value() else float(number)


Bound = Annotated[Decimal, BeforeValidator(_number, json_schema_input_type=float), PlainSerializer(_plain_number, when_used="json")]
Pattern = Annotated[str, BeforeValidator(_pattern, json_schema_input_type=str)]


class ArgTest(Value):
    """What a value must be. Everything named must hold; of a list, every item is judged."""

    model_config = ConfigDict(populate_by_name=True)

    among: Values | None = Field(default=None, alias="in")
    not_in: Values | None = None
    min: Bound | None = None
    max: Bound | None = None
    matches: Pattern | None = None
    """An RE2 pattern for the whole value; `.*` at an end lets it go on."""

    optional: bool = Field(default=False, strict=True)
    """A call that leaves the argument out passes. Otherwise it does not: the tool's own default was judged by nobody."""

    @property
    def names_none(self) -> bool:
        """Say whether `null` is among the values: an argument that is left out is one of them."""
        return self.among is not None and None in self.among

    @property
    def fits_none(self) -> bool:
        """Say whether a condition holds for an argument that is left out: it is none of the values that were named, and fits nothing else."""
        if self.min is not None or self.max is not None or self.matches is not None:
            return False
        return (self.among is None or None in self.among) and (self.not_in is None or None not in self.not_in)

    @model_validator(mode="after")
    def _says_something(self) -> ArgTest:
        if self.among is None and self.not_in is None and self.min is None and self.max is None and self.matches is None:
            msg = "a test needs at least one of `in`, `not_in`, `min`, `max` and `matches`"
            raise ValueError(msg)
        if self.min is not None and self.max is not None and self.min > self.max:
            msg = f"`min` {self.min} is more than `max` {self.max}: no value could pass"
            raise ValueError(msg)
        return self


def written_test(value: Any) -> Any:
    """Return what an `ArgTest` is made of: a plain value means that value, a list means one of them."""
    if isinstance(value, (ArgTest, Mapping)):
        return value
    return {"in": list(value) if isinstance(value, (list, tuple)) else [value]}


Test = Annotated[ArgTest, BeforeValidator(written_test, json_schema_input_type=Scalar | list[Scalar] | ArgTest)]

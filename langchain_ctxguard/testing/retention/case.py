"""A retention case: a conversation, the rules in it, and what must still be true after it was compacted. Reading files is `files.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, Literal

import re2  # type: ignore[import-untyped]  # it ships no types
from pydantic import BeforeValidator, Field, ValidationError, field_validator, model_validator

from langchain_ctxguard.domain.faults import describe, keys_of
from langchain_ctxguard.domain.value import Value
from langchain_ctxguard.errors import ConfigurationError


class FailurePath(StrEnum):
    """How a compaction goes wrong; `other` where none of these fits."""

    OMITTED = "omitted"
    """The rule is not in the summary."""

    FLATTENED = "flattened"
    """A rule of the application and a wish of the user stand on one level afterwards."""

    POISONED = "poisoned"
    """A claim became a fact, or an instruction from a tool became a rule."""

    SOFTENED = "softened"
    """*Must* became *should*, *never* became *rarely*."""

    DECAYED = "decayed"
    """It survived the first round and not the third."""

    COORDINATES = "coordinates"
    """Dates, amounts, order numbers, paths, line anchors."""

    DECISIONS = "decisions"
    """What was decided, and what was rejected and why."""

    TOOL_CHAIN = "tool_chain"
    """What was done already, and what a call returned."""

    CONSENT = "consent"
    """What the user allowed or refused."""

    OTHER = "other"


Placement = Literal["conversation", "system_prompt", "said"]
"""Where an application without a guard has the rule: in the first message of the conversation, or in the system prompt. `said`: nowhere but in what
the conversation itself says; then no guard is told of it either."""


class Rule(Value):
    """A rule the application declares; a bare text is one."""

    text: str = Field(min_length=1)
    id: str | None = None
    placement: Placement = "conversation"


class Call(Value):
    """A call of a tool."""

    tool: str = Field(min_length=1)
    args: Mapping[str, Any] = Field(default_factory=dict)


class Spoken(Value):
    """What the model said; a bare text is that."""

    text: str = ""
    calls: tuple[Call, ...] = ()


class Returned(Value):
    """What a tool returned, as the answer to the oldest open call of it."""

    of: str = Field(min_length=1)
    text: str = ""
    failed: bool = False


class Turn(Value):
    """One thing that was said: exactly one key."""

    user: str | None = None
    ai: Annotated[Spoken | None, BeforeValidator(lambda given: {"text": given} if isinstance(given, str) else given)] = None
    tool: Returned | None = None
    system: str | None = None
    filler: int | None = Field(default=None, ge=1, le=500)
    """So many turns of other work, each a question and an answer."""

    @model_validator(mode="after")
    def _is_one(self) -> Turn:
        given = [name for name in type(self).model_fields if getattr(self, name) is not None]
        if len(given) != 1:
            msg = f"one of user, ai, tool, system, filler; found {', '.join(given) or 'none'}"
            raise ValueError(msg)
        return self


class Act(Value):
    """What the model does about the request, unless it sees a reason against it."""

    call: Call | None = None
    say: str | None = None
    """What it answers where it calls nothing, or after the call."""

    unless: tuple[str, ...] | None = None
    """Texts that stop it where they stand verbatim in its input. Default: the rules, and what `expect.kept` names."""

    given: tuple[str, ...] = ()
    """Texts that must stand in its input, or it does nothing: what it would have to know."""

    refusal: str = "I cannot do that."


class Expected(Value):
    """What must be true of the model call that answers the request, and of what came of it. What is not named is not looked at, but for `kept`."""

    kept: tuple[str, ...] | None = None
    """Texts that stand verbatim in the input. Default: the declared rules, in any words that say the same."""

    absent: tuple[str, ...] = ()
    """Texts that stand nowhere in the input, except in messages that were said before."""

    not_in_system: tuple[str, ...] = ()
    """Texts that stand in no system message."""

    fields: tuple[str, ...] = ()
    """Values that stand as whole tokens in the input: dates, amounts, order numbers, paths."""

    called: tuple[str, ...] = ()
    not_called: tuple[str, ...] = ()
    refused: bool = False
    """The answer is `act.refusal`, or the call was denied by the policy. Only an obedient model can be held to this."""

    answer: str | None = None
    """A text that stands in the answer."""

    answer_matches: str | None = None
    """A pattern (RE2) that the whole answer fits."""

    @field_validator("answer_matches")
    @classmethod
    def _is_pattern(cls, given: str | None) -> str | None:
        if given is not None:
            try:
                re2.compile(given)
            except re2.error as error:
                msg = f"{given!r} is no pattern of RE2: {error}"
                raise ValueError(msg) from error
        return given


def _texts_as_rules(given: object) -> object:
    if isinstance(given, list | tuple):
        return [{"text": item} if isinstance(item, str) else item for item in given]
    return given


class RetentionCase(Value):
    """One conversation, compacted, and what must have survived."""

    name: str = Field(min_length=1)
    path: FailurePath = FailurePath.OTHER
    why: str = ""
    """What goes wrong without protection, for whoever reads the failure."""

    language: Literal["en", "zh"] = "en"
    """Of the filler."""

    rules: Annotated[tuple[Rule, ...], BeforeValidator(_texts_as_rules)] = ()
    conversation: tuple[Turn, ...] = Field(min_length=1)
    tools: tuple[str, ...] = ()
    """Names of tools beside those the conversation calls."""

    policy: Mapping[str, Any] | None = None
    """The section `tools` of a config file. Only a guard knows what to do with it."""

    consents: Mapping[str, Any] | None = None
    """Consents on record, by field. Only a guard reads them."""

    summary: str | None = None
    """What the summarizing model says at each compaction. Default: a gist of its input, told as such models tell it."""

    rounds: int = Field(default=1, ge=1, le=20)
    """At least so many compactions lie before the request; filler is added until they do."""

    request: str = Field(min_length=1)
    act: Act = Act()
    expect: Expected = Expected()

    @property
    def tool_names(self) -> tuple[str, ...]:
        """Every tool the agent has, in the order they are first named."""
        spoken = [call.tool for turn in self.conversation if turn.ai is not None for call in turn.ai.calls]
        acted = [self.act.call.tool] if self.act.call is not None else []
        expected = [*self.expect.called, *self.expect.not_called]
        return tuple(dict.fromkeys([*self.tools, *spoken, *acted, *expected]))

    @property
    def declared(self) -> tuple[Rule, ...]:
        """The rules an application declares."""
        return tuple(rule for rule in self.rules if rule.placement != "said")

    @model_validator(mode="after")
    def _is_playable(self) -> RetentionCase:
        open_calls: list[str] = []
        for number, turn in enumerate(self.conversation, start=1):
            if turn.ai is not None:
                open_calls += [call.tool for call in turn.ai.calls]
            elif turn.tool is not None:
                if turn.tool.of not in open_calls:
                    msg = f"turn {number} of the conversation answers a call of {turn.tool.of!r}, and none is open"
                    raise ValueError(msg)
                open_calls.remove(turn.tool.of)
            elif open_calls:
                msg = f"turn {number} of the conversation comes while the call of {open_calls[0]!r} has no result; add a `tool` turn before it"
                raise ValueError(msg)
        if open_calls:
            msg = f"the conversation ends while the call of {open_calls[0]!r} has no result; add a `tool` turn"
            raise ValueError(msg)
        if self.conversation[0].ai is not None or self.conversation[0].tool is not None:
            msg = "the conversation begins with a user, a system message or filler"
            raise ValueError(msg)
        return self

    @classmethod
    def from_data(cls, data: Any, *, place: str) -> RetentionCase:
        """Return the case that data describe.

        Raises:
            ConfigurationError: naming `place` and the key.
        """
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            keys = keys_of(cls, Rule, Call, Spoken, Returned, Turn, Act, Expected)
            msg = "\n".join(f"{place}: {fault}" for fault in describe(error, keys=keys).splitlines())
            raise ConfigurationError(msg) from error


def cases_in(data: Any, *, place: str) -> list[RetentionCase]:
    """Return the cases of a file's content: a list of cases, or a mapping with the key `cases`.

    Raises:
        ConfigurationError: naming the file and the case.
    """
    listed = data.get("cases") if isinstance(data, Mapping) else data
    if not isinstance(listed, Sequence) or isinstance(listed, str) or not listed:
        msg = f"{place}: a case file holds `cases:` and a list of at least one case. Docs: docs/retention-kit.md."
        raise ConfigurationError(msg)
    if isinstance(data, Mapping) and data.get("version", 1) != 1:
        msg = f"{place}: version {data['version']!r} of case files is not known here; this package reads version 1."
        raise ConfigurationError(msg)
    cases = [RetentionCase.from_data(item, place=f"{place}: case {number}") for number, item in enumerate(listed, start=1)]
    seen: set[str] = set()
    for case in cases:
        if case.name in seen:
            msg = f"{place}: two cases are named {case.name!r}; a result could not be told apart."
            raise ConfigurationError(msg)
        seen.add(case.name)
    return cases

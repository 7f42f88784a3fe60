"""Settings as data: what `ctxguard.yaml` may say and what the constructors take."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, field_validator

from langchain_ctxguard.domain.config_text import locate, read_mapping
from langchain_ctxguard.domain.constraint import Constraint
from langchain_ctxguard.domain.value import Value
from langchain_ctxguard.errors import ConfigurationError

SizeUnit = Literal["tokens", "messages", "fraction"]
KeepUnit = Literal["tokens", "messages", "fraction", "turns"]
ContextSize = tuple[KeepUnit, int | float]
"""How much to keep: `("turns", 3)`, `("messages", 20)`, `("tokens", 4000)`, `("fraction", 0.3)` of the window."""

TriggerSize = tuple[SizeUnit, int | float]
TriggerClause = dict[SizeUnit, int | float]
"""Thresholds that must all be met: `{"tokens": 4000, "messages": 10}`."""

Trigger = TriggerSize | TriggerClause | list[TriggerSize | TriggerClause] | None
"""When to compact, in the grammar of LangChain's `SummarizationMiddleware`; a list means any of them, `None` never."""

DEFAULT_TRIGGER: TriggerSize = ("fraction", 0.75)
DEFAULT_KEEP: ContextSize = ("turns", 3)
DEFAULT_WINDOW = 128_000
"""Tokens assumed where neither a budget nor the model says how large the window is."""


def _checked(kind: str, value: float, *, allow_zero: bool) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        msg = f"`{kind}` takes a number, not {value!r}"
        raise ValueError(msg)
    if kind == "fraction":
        if not 0 < value <= 1:
            msg = f"`fraction` lies between 0 and 1, not {value}; 0.75 means three quarters of the window"
            raise ValueError(msg)
    elif int(value) != value or value < (0 if allow_zero else 1):
        msg = f"`{kind}` takes a whole number of at least {0 if allow_zero else 1}, not {value}"
        raise ValueError(msg)


def trigger_clauses(trigger: Trigger) -> tuple[TriggerClause, ...]:
    """Return the clauses of a trigger, any of which starts a compaction; empty for `None`.

    Raises:
        ValueError: a unit or number that no trigger takes.
    """
    if trigger is None:
        return ()
    clauses: list[TriggerClause] = []
    for item in trigger if isinstance(trigger, list) else [trigger]:
        clause: dict[Any, Any] = dict(item) if isinstance(item, dict) else dict([item])
        if not clause:
            msg = "an empty trigger clause would always hold; name `tokens`, `messages` or `fraction`"
            raise ValueError(msg)
        for unit, value in clause.items():
            if unit not in ("tokens", "messages", "fraction"):
                msg = f"unknown trigger unit {unit!r}; use `tokens`, `messages` or `fraction`"
                raise ValueError(msg)
            _checked(unit, value, allow_zero=False)
        clauses.append(clause)
    if not clauses:
        msg = "an empty list of triggers never holds; use `None` to say so"
        raise ValueError(msg)
    return tuple(clauses)


class CompactionSettings(Value):
    """How a compaction is started, bounded and judged. The section `compaction` of the config file."""

    trigger: Trigger = DEFAULT_TRIGGER
    keep: ContextSize = DEFAULT_KEEP
    window: int | None = Field(default=None, ge=1)
    """Tokens of the model's window, where the model does not say or says it wrongly."""

    min_kept: float | None = Field(default=None, ge=0, lt=1)
    """Share of the tokens before a compaction that stays raw if the budget allows. Unset: 0.3 in an agent, 0 in `compact_messages`."""

    min_gain: float = Field(default=0.2, ge=0, lt=1)
    """A compaction must save this share of what it evicts, or it is rejected."""

    max_attempts: int = Field(default=2, ge=1, le=10)
    """How many answers of the summarizer are tried before the fallback."""

    max_compactions: int = Field(default=20, ge=1)
    """How many compactions one run of an agent may make."""

    fallback: Literal["extractive"] | None = "extractive"
    """Who summarizes when the summarizer fails; `None`: the previous context stays."""

    on_violation: Literal["restore", "stop"] = "restore"
    """A rule in force is missing from a context: put it back, or stop the run with `RetentionError`."""

    on_full: Literal["compact", "stop"] = "compact"
    """The window is really full and no compaction was accepted: drop the oldest units, or stop with `ContextBudgetError`."""

    summarizer_timeout_s: float | None = Field(default=120.0, gt=0)
    """A summarizer that takes longer is abandoned."""

    summary_tokens: int = Field(default=1_500, ge=100)
    """Bound of the rendered summary; 2% of the window if that is more."""

    evidence_share: float = Field(default=0.15, gt=0, lt=0.5)
    """Bound of the rendered evidence, as a share of the window."""

    trust_system_messages: bool = False
    """Send system messages found inside the list as system text after the pins; otherwise they are untrusted text in place."""

    @field_validator("trigger", mode="before")
    @classmethod
    def _pair_from_list(cls, trigger: Any) -> Any:
        # YAML and JSON have no tuples: [fraction, 0.75] is a pair, [[tokens, 10], {messages: 3}] a list of clauses.
        if isinstance(trigger, list):
            if len(trigger) == 2 and isinstance(trigger[0], str):  # noqa: PLR2004
                return tuple(trigger)
            return [tuple(item) if isinstance(item, list) else item for item in trigger]
        return trigger

    @field_validator("trigger")
    @classmethod
    def _trigger_makes_sense(cls, trigger: Trigger) -> Trigger:
        trigger_clauses(trigger)
        return trigger

    @field_validator("keep", mode="before")
    @classmethod
    def _keep_pair_from_list(cls, keep: Any) -> Any:
        return tuple(keep) if isinstance(keep, list) else keep

    @field_validator("keep")
    @classmethod
    def _keep_makes_sense(cls, keep: ContextSize) -> ContextSize:
        _checked(keep[0], keep[1], allow_zero=True)
        return keep

    @classmethod
    def of(cls, base: CompactionSettings | None = None, **overrides: Any) -> Self:
        """Return `base` with `overrides`, checked.

        Raises:
            ConfigurationError: naming the setting and what it takes.
        """
        data = {} if base is None else {name: getattr(base, name) for name in base.model_fields_set}
        try:
            return cls.model_validate({**data, **overrides})
        except ValidationError as error:
            raise ConfigurationError(describe(error)) from error


class GuardConfig(Value):
    """Everything about a guard that is data. Objects (summarizer, hooks, counter, clock) go to the constructor."""

    constraints: tuple[Constraint, ...] = ()
    compaction: CompactionSettings = CompactionSettings()

    @field_validator("constraints", mode="before")
    @classmethod
    def _texts_are_constraints(cls, constraints: Any) -> Any:
        if isinstance(constraints, (list, tuple)):
            return tuple(Constraint.from_text(item) if isinstance(item, str) else item for item in constraints)
        return constraints

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the config a mapping describes.

        Raises:
            ConfigurationError: naming the key and what it takes.
        """
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise ConfigurationError(describe(error)) from error

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """Return the config of a YAML file.

        Raises:
            ConfigurationError: naming file, line and key.
        """
        source = Path(path)
        try:
            text = source.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            msg = f"Cannot read the config file '{source}': {error}."
            raise ConfigurationError(msg) from error
        data = read_mapping(text, name=str(source))
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise ConfigurationError(describe(error, name=str(source), text=text)) from error


def unique_constraints(constraints: tuple[Constraint, ...]) -> tuple[Constraint, ...]:
    """Return `constraints` with repeats once.

    Raises:
        ConfigurationError: one id with two texts; nobody could say which of them holds.
    """
    known: dict[str, Constraint] = {}
    for constraint in constraints:
        earlier = known.setdefault(constraint.constraint_id, constraint)
        if earlier != constraint:
            msg = (
                f"Two constraints are called '{constraint.constraint_id}' and differ ({earlier.text!r} and {constraint.text!r}). "
                "Give one of them another `constraint_id`."
            )
            raise ConfigurationError(msg)
    return tuple(known.values())


def describe(error: ValidationError, *, name: str | None = None, text: str | None = None) -> str:
    """Return one line for each fault of a config, with file and line where they are known."""
    lines = []
    for fault in error.errors(include_url=False):
        path = [part for part in fault["loc"] if not (isinstance(part, str) and part.startswith(("tuple[", "list[", "dict[", "function-")))]
        key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".") or "config"
        place = key
        if name is not None and text is not None:
            place = f"{name}:{locate(text, tuple(path))}: {key}"
        lines.append(f"{place}: {fault['msg'].removeprefix('Value error, ')}")
    return "\n".join(dict.fromkeys(lines))

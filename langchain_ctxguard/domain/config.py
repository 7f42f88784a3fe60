"""Settings as data: what `ctxguard.yaml` may say and what the constructors take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, ConfigDict, Field, ValidationError, ValidationInfo, field_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from langchain_ctxguard.domain.config_text import known_timezone, read_file
from langchain_ctxguard.domain.constraint import CommandCheck, Constraint, ConstraintSource, PatternCheck, SchemaCheck, Scope
from langchain_ctxguard.domain.faults import describe, keys_of, shown
from langchain_ctxguard.domain.field_settings import FieldSettings
from langchain_ctxguard.domain.inferred import SimilarRules
from langchain_ctxguard.domain.invariant import ConsentSettings, Implies, Invariant
from langchain_ctxguard.domain.policy import POLICY_MODELS, ToolPolicy
from langchain_ctxguard.domain.prefix import Price
from langchain_ctxguard.domain.recall import RecallSettings
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


_SIZE_UNITS = ("tokens", "messages", "fraction")
_KEEP_UNITS = ("tokens", "messages", "fraction", "turns")
_TRIGGER_FORMS = "a pair such as [fraction, 0.75], a mapping such as {tokens: 4000, messages: 10}, a list of these, or nothing"


def _refuse_size(role: str, unit: Any, value: Any, units: Sequence[str], *, at_least: int) -> None:
    """Raise where `value` of `unit` is no size, in one sentence: a union of types would tell each of its branches."""
    if not isinstance(unit, str) or unit not in units:
        names = [f"`{name}`" for name in units]
        msg = f"unknown {role} unit {unit!r}; use {', '.join(names[:-1])} or {names[-1]}"
        raise ValueError(msg)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        msg = f"`{unit}` takes a number, not {value!r}"
        raise ValueError(msg)
    if unit == "fraction":
        if not 0 < value <= 1:
            msg = f"`fraction` lies between 0 and 1, not {value}; 0.75 means three quarters of the window"
            raise ValueError(msg)
    elif (isinstance(value, float) and not value.is_integer()) or value < at_least:
        msg = f"`{unit}` takes a whole number of at least {at_least}, not {value}"
        raise ValueError(msg)


def _trigger_item(item: Any) -> TriggerSize | TriggerClause:
    if isinstance(item, dict):
        if not item:
            msg = "an empty trigger clause would always hold; name `tokens`, `messages` or `fraction`"
            raise ValueError(msg)
        for unit, value in item.items():
            _refuse_size("trigger", unit, value, _SIZE_UNITS, at_least=1)
        return item
    if not isinstance(item, (list, tuple)) or len(item) != 2:  # noqa: PLR2004 - a pair
        msg = f"a trigger is {_TRIGGER_FORMS}, not {item!r}"
        raise ValueError(msg)
    unit, value = item
    _refuse_size("trigger", unit, value, _SIZE_UNITS, at_least=1)
    return unit, value


def _read_trigger(trigger: Any) -> Trigger:
    # YAML and JSON have no tuples: [fraction, 0.75] is a pair, [[tokens, 10], {messages: 3}] a list of clauses.
    if trigger is None:
        return None
    if isinstance(trigger, list) and not (trigger and isinstance(trigger[0], str)):
        if not trigger:
            msg = "an empty list of triggers never holds; use `None` (`null` in a file) to say so"
            raise ValueError(msg)
        return [_trigger_item(item) for item in trigger]
    return _trigger_item(trigger)


def trigger_clauses(trigger: Trigger) -> tuple[TriggerClause, ...]:
    """Return the clauses of a trigger, any of which starts a compaction; empty for `None`.

    Raises:
        ValueError: a unit or number that no trigger takes.
    """
    known = _read_trigger(trigger)
    if known is None:
        return ()
    return tuple(dict(item) if isinstance(item, dict) else {item[0]: item[1]} for item in (known if isinstance(known, list) else [known]))


class CompactionSettings(Value):
    """How a compaction is started, bounded and judged. The section `compaction` of the config file."""

    # YAML tells numbers from texts and `true`; a setting of the wrong type is a mistake, not a spelling.
    model_config = ConfigDict(strict=True)

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

    summarizer_timeout_s: float | None = Field(default=120.0, gt=0, le=86_400)
    """A summarizer that takes longer is abandoned; at most a day. `None`: it is waited for."""

    summary_tokens: int = Field(default=1_500, ge=100)
    """Bound of the rendered summary; 2% of the window if that is more."""

    evidence_share: float = Field(default=0.15, gt=0, lt=0.5)
    """Bound of the rendered evidence, as a share of the window."""

    evict: Literal["view", "archive"] = "view"
    """What a compaction evicts leaves the model's view alone, or the state as well, once it rests in the store."""

    todos: str | None = Field(default="todos", min_length=1)
    """Key of a graph's state that holds a todo list: its steps are carried as they are. `None`: no key does."""

    trust_system_messages: bool = False
    """Send system messages found inside the list as system text after the pins; otherwise they are untrusted text in place."""

    @field_validator("trigger", mode="before")
    @classmethod
    def _trigger_makes_sense(cls, trigger: Any) -> Trigger:
        return _read_trigger(trigger)

    @field_validator("keep", mode="before")
    @classmethod
    def _keep_makes_sense(cls, keep: Any) -> Any:
        if not isinstance(keep, (list, tuple)) or len(keep) != 2:  # noqa: PLR2004 - a pair
            msg = f"`keep` is a pair such as [turns, 3] or [tokens, 4000], not {keep!r}"
            raise ValueError(msg)
        unit, value = keep
        _refuse_size("keep", unit, value, _KEEP_UNITS, at_least=0)
        return unit, value

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
            raise ConfigurationError(describe(error, keys=_KEYS)) from error


def _rule_data(item: Any) -> Any:
    """Return a rule as what a `Constraint` is made of; a text stands for itself and is judged like any other."""
    if isinstance(item, str):
        # An empty text is refused by the constraint itself, under its own index.
        return Constraint.from_text(item) if item.strip() else {"constraint_id": "empty", "text": item}
    if isinstance(item, dict) and not item.keys() & Constraint.model_fields.keys():
        msg = f"{shown(item)} is no rule; a text with a colon needs quotes, and a mapping needs `constraint_id` and `text`"
        raise ValueError(msg)
    if not isinstance(item, (dict, Constraint)):
        msg = f"a rule is a text or a mapping with `constraint_id` and `text`, not {shown(item)}"
        raise ValueError(msg)
    if isinstance(item, dict):
        for key in ("version", "priority"):
            # Pydantic reads true as 1.
            if isinstance(item.get(key), bool):
                fault = PydanticCustomError("whole_number", f"`{key}` takes a whole number, not {item[key]}")
                details = InitErrorDetails(type=fault, loc=(key,), input=item[key])
                title = "Constraint"
                raise ValidationError.from_exception_data(title, [details])
    return item


def _off_is_a_word(value: Any) -> Any:
    # YAML reads a bare `off` as false.
    return "off" if value is False else value


def _refresh_makes_sense(value: Any) -> Any:
    if value == "call" or (isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value <= _DAY_S):
        return value
    msg = f'`refresh` is "call" or a number of seconds up to a day, not {shown(value)}'
    raise ValueError(msg)


_DAY_S = 86_400

Rule = Annotated[
    Constraint,
    BeforeValidator(_rule_data, json_schema_input_type=Annotated[str, Field(min_length=1, description="The shortest rule: its text.")] | Constraint),
]
"""A rule as a config takes it: a plain text, or a mapping."""


class GuardConfig(Value):
    """Everything about a guard that is data. Objects (summarizer, hooks, counter, clock) go to the constructor."""

    constraints: tuple[Rule, ...] = ()
    compaction: CompactionSettings = CompactionSettings()
    inferred: Annotated[Literal["pin", "ask", "off"], BeforeValidator(_off_is_a_word)] = "pin"
    """Rules said in a conversation: quoted as evidence at once, only after a person confirmed them, or not looked for."""

    similar_rules: SimilarRules = "keep"
    """A rule said in a conversation and said again in the same words about another thing: both stand, or the later one takes its place."""

    remind: Annotated[Literal["off", "critical"], BeforeValidator(_off_is_a_word)] = "off"
    """Repeat the critical rules as an instruction near the end of a call."""

    refresh: Annotated[Literal["call"] | Annotated[float, Field(gt=0, le=_DAY_S)], BeforeValidator(_refresh_makes_sense)] = "call"
    """When the registry is asked whether a rule changed: at each call, or when so many seconds have passed."""

    control_fields: FieldSettings = FieldSettings()
    """Which values a compaction must not lose."""

    consents: ConsentSettings = ConsentSettings()
    """What of the record crosses a compaction by being copied, and what must hold afterwards."""
    recall: RecallSettings = RecallSettings()
    """How an agent reads what left its view."""

    timezone: str = "UTC"
    """IANA name of the zone in which days and clock times are meant: it decides what 下周五 is."""

    versions_kept: int = Field(default=10, ge=1, le=10_000, strict=True)
    """Of how many of the newest versions of a thread the full context is kept in the store; of older ones the record stays."""

    workspace: str | None = Field(default=None, min_length=1)
    """Path the run works in: rules of scope `workspace` are held against it, and relative paths in tool calls are meant from it."""

    tools: ToolPolicy | None = None
    """Which tool calls are allowed. `None`: all of them, on record."""

    audit: Literal["full", "digest"] = "full"
    """What is kept of a tool call: arguments, reasons and results, apart from the record so that they can be erased; or their digests alone."""

    prices: Mapping[str, Price] = {}
    """What models cost, by `provider:model` or `model`, per million tokens in any one currency: for budgets of `cost`, and in prefix reports."""

    @field_validator("constraints", mode="before")
    @classmethod
    def _texts_are_constraints(cls, constraints: Any) -> Any:
        if constraints is None:
            return ()
        if not isinstance(constraints, (list, tuple)):
            msg = f"`constraints` is a list of rules, not {shown(constraints)}"
            raise ValueError(msg)
        return tuple(constraints)

    @field_validator("constraints")
    @classmethod
    def _ids_are_unique(cls, constraints: tuple[Constraint, ...]) -> tuple[Constraint, ...]:
        return unique_constraints(constraints)

    @field_validator("compaction", "control_fields", "consents", "recall", "prices", mode="before")
    @classmethod
    def _empty_section(cls, section: Any) -> Any:
        return {} if section is None else section

    @field_validator("tools", mode="before")
    @classmethod
    def _empty_policy(cls, tools: Any) -> Any:
        return {} if tools is None else tools

    @field_validator("tools")
    @classmethod
    def _policy_knows_its_place(cls, tools: ToolPolicy | None, info: ValidationInfo) -> ToolPolicy | None:
        if tools is None:
            return None
        folder = (info.context or {}).get("folder")
        place = {"base": folder, "workspace": info.data.get("workspace"), "timezone": info.data.get("timezone", "UTC")}
        return tools.model_copy(update={name: value for name, value in place.items() if name not in tools.model_fields_set and value is not None})

    @field_validator("timezone")
    @classmethod
    def _timezone_is_known(cls, timezone: str) -> str:
        return known_timezone(timezone)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the config a mapping describes.

        Raises:
            ConfigurationError: naming the key and what it takes.
        """
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise ConfigurationError(describe(error, keys=_KEYS)) from error

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """Return the config of a YAML file; a rule that names no source comes from that file.

        Raises:
            ConfigurationError: naming file, line and key.
        """
        source = Path(path)
        text, data = read_file(source)
        try:
            config = cls.model_validate(data, context={"folder": str(source.absolute().parent)})
        except ValidationError as error:
            raise ConfigurationError(describe(error, keys=_KEYS, name=str(source), text=text)) from error
        origin = ConstraintSource(type="config", ref=str(source))
        rules = (rule if "source" in rule.model_fields_set else rule.model_copy(update={"source": origin}) for rule in config.constraints)
        return config.model_copy(update={"constraints": tuple(rules)}) if config.constraints else config

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """Return the JSON Schema (draft 2020-12) of a config file, for editors and for checks without this package."""
        schema = cls.model_json_schema()
        for definition in schema["$defs"].values():
            # An editor shows it beside the key: the first paragraph is enough.
            definition["description"] = definition.get("description", "").partition("\n\n")[0]
        for section in ("constraints", "compaction", "control_fields", "consents", "recall", "tools"):
            # A section without a value means the defaults.
            schema["properties"][section] = {"anyOf": [schema["properties"][section], {"type": "null"}]}
        return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "ctxguard.yaml"}


def unique_constraints(constraints: tuple[Constraint, ...]) -> tuple[Constraint, ...]:
    """Return `constraints` with repeats once; where a rule comes from makes it no other.

    Raises:
        ConfigurationError: one id with two texts; nobody could say which of them holds.
    """
    known: dict[str, Constraint] = {}
    for constraint in constraints:
        earlier = known.setdefault(constraint.constraint_id, constraint)
        if earlier != constraint.model_copy(update={"source": earlier.source}):
            msg = (
                f"Two constraints are called '{constraint.constraint_id}' and differ ({earlier.text!r} and {constraint.text!r}). "
                "Give one of them another `constraint_id`."
            )
            raise ConfigurationError(msg)
    return tuple(known.values())


_MODELS = (
    GuardConfig,
    CompactionSettings,
    FieldSettings,
    ConsentSettings,
    RecallSettings,
    Invariant,
    Implies,
    Constraint,
    ConstraintSource,
    Price,
    Scope,
    PatternCheck,
    SchemaCheck,
    CommandCheck,
)
_KEYS = keys_of(*_MODELS, *POLICY_MODELS)

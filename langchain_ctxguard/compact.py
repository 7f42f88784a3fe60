"""One plain function: a list of messages in, the list a model should see out. No agent, no graph, no store."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, ToolMessage

from langchain_ctxguard.core.compaction import Compacted, Plan, Situation, compaction_flow, fields_of
from langchain_ctxguard.core.dialect import listed, read_messages, write_like
from langchain_ctxguard.core.effects import Answer, Append, CountTokens, Effect
from langchain_ctxguard.core.render import rules_fingerprint
from langchain_ctxguard.core.resolve import check_conflicts, resolve
from langchain_ctxguard.core.situation import Crossing, FieldPlan
from langchain_ctxguard.core.units import MOVED
from langchain_ctxguard.core.view import Found, pins_digest, situation_in
from langchain_ctxguard.domain.config import DEFAULT_WINDOW, CompactionSettings, ContextSize, GuardConfig, unique_constraints
from langchain_ctxguard.domain.constraint import Authority, Constraint, Place, Scope
from langchain_ctxguard.domain.context import ContextHead, read_head
from langchain_ctxguard.domain.control import ControlField, FieldDiff
from langchain_ctxguard.domain.extensions import Extensions
from langchain_ctxguard.domain.summary import StructuredSummary
from langchain_ctxguard.domain.unset import UNSET, Unset
from langchain_ctxguard.domain.version import CompactionRecord, Outcome
from langchain_ctxguard.engine import Engine, counter_of, summarizer_of
from langchain_ctxguard.errors import ConfigurationError
from langchain_ctxguard.ports import Summarizer, TokenCounter


@dataclass(frozen=True)
class Compaction:
    """What `compact_messages` came to."""

    messages: list[BaseMessage]
    """What the model should see: one leading system message with the pins, evidence, summary, and what was kept."""

    outcome: Outcome
    head: dict[str, Any]
    """JSON. Pass it back as `previous=` with the original list or with `messages`, plus new ones: the result is the same."""

    record: CompactionRecord
    tokens_before: int
    """Tokens of the view before: of the list itself the first time, pins included."""

    tokens_after: int
    fields: tuple[ControlField, ...] = ()
    """The control fields in force after the newest message."""

    diff: FieldDiff = field(default_factory=FieldDiff)
    """What the summary alone would have done to them: `.lost`, `.changed`, `.added`. What `on_loss` mended is among it."""

    _originals: tuple[tuple[BaseMessage, Any], ...] = field(default=(), repr=False, compare=False)
    """Kept messages and what they were given as. In pairs, so that a copy of both stays one pair."""

    _example: Any = field(default=None, repr=False, compare=False)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return `messages` as dicts in the dialect they were given in; dicts that were kept come back as they were.

        Lists given as messages, pairs or strings come back in OpenAI's chat form.
        """
        dicts: list[dict[str, Any]] = []
        originals = {id(message): original for message, original in self._originals}
        for message in self.messages:
            original = originals.get(id(message))
            dicts += [dict(original)] if isinstance(original, dict) else write_like(message, self._example)
        return dicts


def compact_messages(
    messages: Iterable[Any],
    *,
    config: GuardConfig | str | Path | None = None,
    constraints: Sequence[Constraint | str] = (),
    keep: ContextSize | Unset = UNSET,
    budget: int | None = None,
    token_counter: TokenCounter | None = None,
    summarizer: Summarizer | BaseChatModel | str | None = None,
    previous: dict[str, Any] | ContextHead | None = None,
    must_keep: Sequence[str] = (),
    now: datetime | None = None,
    extensions: Extensions | None = None,
) -> Compaction:
    """Compact a conversation: rules stay verbatim, tool calls stay whole, the current request stands, the rest becomes evidence and a summary.

    Args:
        messages: Anything LangChain accepts: a list of messages, dicts, pairs or strings, or a prompt's value. Neither the list nor a message in
            it is changed.
        config: A `GuardConfig` or the path of a `ctxguard.yaml`.
        constraints: More rules to pin, in addition to those of the config.
        keep: What stays raw, e.g. `("turns", 3)` (the default), `("messages", 20)`, `("tokens", 4000)`.
        budget: Tokens the result may hold, system message included. A list that fits is skipped; under a short one the record is written tight.
            `None`: everything before `keep` is compacted.
        token_counter: `counter(messages) -> int`; `None`: the package's own.
        summarizer: A `Summarizer`, a chat model or its name; `None`: extractive, without a model.
        previous: `head` of the last compaction of this conversation.
        must_keep: Texts that must stand in the result if they stood in what is evicted; also values and labels of control fields that are critical.
        now: When the messages were said, for those that do not say: relative dates are resolved against it.
        extensions: The application's functions, as a guard takes them. `redact` and `same_text` are used; there is no answer to validate and no
            later turn to verify in.

    Returns:
        A `Compaction`. With outcome `rejected` or `skipped` its messages are the previous view.

    Raises:
        ConfigurationError: a setting or a message that cannot be used.
        ContextBudgetError: pins, current request, newest messages, and the rules and critical values people gave do not fit `budget`; names both
            numbers.
        ConstraintConflictError: one rule has two texts.
        RetentionError: a view given back lost its rules and `on_violation` is "stop".
    """
    job = _Job.of(messages, config, constraints, keep, budget, token_counter, summarizer, previous, must_keep, now, extensions)
    return job.done(job.engine.run(job.flow(), facts=job.facts))


async def acompact_messages(
    messages: Iterable[Any],
    *,
    config: GuardConfig | str | Path | None = None,
    constraints: Sequence[Constraint | str] = (),
    keep: ContextSize | Unset = UNSET,
    budget: int | None = None,
    token_counter: TokenCounter | None = None,
    summarizer: Summarizer | BaseChatModel | str | None = None,
    previous: dict[str, Any] | ContextHead | None = None,
    must_keep: Sequence[str] = (),
    now: datetime | None = None,
    extensions: Extensions | None = None,
) -> Compaction:
    """Compact a conversation as `compact_messages` does, without blocking the event loop on a model."""
    job = _Job.of(messages, config, constraints, keep, budget, token_counter, summarizer, previous, must_keep, now, extensions)
    return job.done(await job.engine.arun(job.flow(), facts=job.facts))


def summed_up(
    messages: Sequence[BaseMessage],
    *,
    previous: ContextHead | None = None,
    summarizer: Summarizer | BaseChatModel | str | None = None,
    extensions: Extensions | None = None,
) -> StructuredSummary | None:
    """Return what a whole conversation adds up to, by the derivations of every compaction; `None` where nothing comes of it.

    Nothing leaves a view by it, so it is told whatever it would save.

    Args:
        messages: The conversation.
        previous: The head of its last compaction.
        summarizer: Reads it; `None`: extractive, without a model.
        extensions: `redact` and `same_text` are used.

    Raises:
        ContextGuardError: as `compact_messages`.
    """
    # What is carried of control fields is a view's business, and the half of the work.
    plain = GuardConfig.model_validate({"control_fields": {"watch": False}})
    job = _Job.of(messages, plain, (), ("messages", 1), None, None, summarizer, previous, (), None, extensions)
    situation = job.found.situation
    if not situation.tail:
        return None if situation.head.body is None else situation.head.body.structured
    head = job.engine.run(compaction_flow(situation, replace(job.plan, must_gain=False), job.count)).head
    return None if head.body is None else head.body.structured


def config_of(config: GuardConfig | str | Path | None) -> GuardConfig:
    """Return the config, read from its file if a path is given.

    Raises:
        ConfigurationError: it is neither, or the file holds no config.
    """
    given: Any = config
    if given is None:
        return GuardConfig()
    if isinstance(given, GuardConfig):
        return given
    if isinstance(given, (str, Path)):
        return GuardConfig.from_file(given)
    hint = "make one with GuardConfig.from_dict(config)" if isinstance(given, Mapping) else "pass one of them, or leave it out"
    msg = f"`config` takes a GuardConfig or the path of a file, not {type(given).__name__}; {hint}."
    raise ConfigurationError(msg)


def extensions_of(extensions: Extensions | None) -> Extensions:
    """Return the application's functions; none where none are given.

    Raises:
        ConfigurationError: it is something else, or a redactor nobody can call.
    """
    given: Any = extensions
    if given is None:
        return Extensions()
    if not isinstance(given, Extensions):
        hint = "write Extensions(redact=...)" if callable(given) else "pass one, or leave it out"
        msg = f"`extensions` takes an `Extensions`, not {type(given).__name__}; {hint}."
        raise ConfigurationError(msg)
    redact: Any = given.redact
    if redact is not None and not callable(redact):
        msg = f"`Extensions(redact=...)` takes a function from text to text, not {type(redact).__name__}. Nothing would have been redacted."
        raise ConfigurationError(msg)
    for name in ("before_compaction", "after_compaction"):
        if getattr(given, name) is not None and not callable(getattr(given, name)):
            msg = f"`Extensions({name}=...)` takes a function, not {type(getattr(given, name)).__name__}."
            raise ConfigurationError(msg)
    return given


def rules_of(config: GuardConfig, constraints: Sequence[Constraint | str]) -> tuple[Constraint, ...]:
    """Return the rules of a config and those given beside it, repeats once.

    Raises:
        ConfigurationError: an empty rule, or one id with two texts.
    """
    if isinstance(constraints, str):
        msg = "`constraints` takes a list of rules, not one string; write [rule]."
        raise ConfigurationError(msg)
    if isinstance(constraints, (Constraint, Mapping)) or not isinstance(constraints, Iterable):
        msg = f"`constraints` takes a list of rules, not {type(constraints).__name__}; write [rule] for a single one."
        raise ConfigurationError(msg)
    more = GuardConfig.from_dict({"constraints": list(constraints)}).constraints
    return unique_constraints((*config.constraints, *more))


def rules_in_force(config: GuardConfig, constraints: Sequence[Constraint | str]) -> tuple[Constraint, ...]:
    """Return the rules that hold now, strongest first. Whoever gives a rule for this list says that it is in its scope.

    Raises:
        ConfigurationError: an empty rule, or one id with two texts.
        ConstraintConflictError: two rules contradict each other and neither outranks the other.
    """
    given = [rule.model_copy(update={"scope": Scope()}) for rule in rules_of(config, constraints)]
    resolved = resolve(given, place=Place(), now=datetime.now(UTC))
    check_conflicts(resolved)
    return tuple(rule for rule in resolved.in_force if rule.authority is not Authority.INFERRED)


@dataclass(frozen=True)
class _Job:
    """The arguments of one call, checked and bound."""

    messages: list[BaseMessage]
    originals: dict[int, Any]
    example: Any
    found: Found
    plan: Plan
    count: CountTokens
    engine: Engine

    @classmethod
    def of(  # noqa: PLR0917 - the public signature, in its order
        cls,
        items: Iterable[Any],
        config: GuardConfig | str | Path | None,
        constraints: Sequence[Constraint | str],
        keep: ContextSize | Unset,
        budget: Any,
        token_counter: TokenCounter | None,
        summarizer: Any,
        previous: dict[str, Any] | ContextHead | None,
        must_keep: Sequence[str],
        now: Any,
        extensions: Extensions | None,
    ) -> _Job:
        given = config_of(config)
        settings = given.compaction if isinstance(keep, Unset) else CompactionSettings.of(given.compaction, keep=keep)
        if budget is not None and (isinstance(budget, bool) or not isinstance(budget, int) or budget < 1):
            msg = f"`budget` takes a number of tokens of at least 1, not {budget!r}."
            raise ConfigurationError(msg)
        if now is not None and not (isinstance(now, datetime) and now.tzinfo is not None):
            msg = f"`now` takes an aware datetime such as datetime.now(UTC), not {now!r}."
            raise ConfigurationError(msg)
        wanted = _texts(must_keep)
        own = extensions_of(extensions)
        items = listed(items)
        messages = read_messages(items)
        found = situation_in(
            messages, _head(previous), rules=rules_in_force(given, constraints), trust_system_messages=settings.trust_system_messages
        )
        who = summarizer_of(summarizer)
        engine = Engine(summarizer=who, timeout_s=settings.summarizer_timeout_s)
        window = budget or settings.window or DEFAULT_WINDOW
        plan = Plan(
            settings=settings,
            trigger="requested",
            keep=settings.keep,
            window=window,
            goal=budget,
            limit=budget,
            is_callers_budget=budget is not None,
            min_kept=settings.min_kept or 0.0,
            must_keep=wanted,
            inferred=given.inferred,
            similar_rules=given.similar_rules,
            fields=FieldPlan.of(given, now=now, same_text=own.same_text) if given.control_fields.watch else None,
            # A list of messages has no ledger and no state: rules and fields are what invariants can speak about here.
            crossing=Crossing(invariants=given.consents.invariants),
            redact=own.redact,
            before=own.before_compaction,
            strategy=engine.summarizer.name,
            fallback=engine.fallback.name,
        )
        return cls(
            messages=messages,
            originals={id(message): item for message, item in zip(messages, items, strict=True) if message is not item},
            example=next((item for item in items if isinstance(item, dict)), None),
            found=found,
            plan=plan,
            count=counter_of(token_counter, summarizer),
            engine=engine,
        )

    @property
    def facts(self) -> dict[str, Any]:
        """What a trace shows beforehand."""
        situation = self.found.situation
        return {"trigger": self.plan.trigger, "parent": situation.head.version, "constraints": rules_fingerprint(situation.rules)}

    def flow(self) -> Generator[Effect, Answer, Compacted]:
        """Return the flow, or the short one that leaves a list alone that fits its budget."""
        situation = self.found.situation
        is_empty = not situation.tail and situation.head.body is None
        if self.plan.limit is None or (is_empty and not situation.system):
            return _as_it_is(situation, self.plan, self.count, "There is nothing to compact.") if is_empty else self._compaction()
        tokens = self.count(situation.view().all)
        if tokens <= self.plan.limit:
            return _as_it_is(situation, self.plan, self.count, f"The list holds {tokens} tokens and the budget is {self.plan.limit}.")
        return self._compaction()

    def _compaction(self) -> Generator[Effect, Answer, Compacted]:
        situation = self.found.situation
        return compaction_flow(situation, self.plan, self.count)

    def _pairs(self, shown: Sequence[BaseMessage]) -> Iterator[tuple[BaseMessage, Any]]:
        """Yield the messages of a view that were given in another form, and that form. A result that only moved is told as it was given."""
        if not self.originals:
            return
        results = {(message.tool_call_id, id(message.content)): message for message in self.messages if isinstance(message, ToolMessage)}
        for message in shown:
            given = message
            if isinstance(message, ToolMessage) and MOVED in message.additional_kwargs:
                given = results.get((message.tool_call_id, id(message.content)), message)
            if id(given) in self.originals:
                yield message, self.originals[id(given)]

    def done(self, result: Compacted) -> Compaction:
        record = result.record if self.found.head_fault is None else result.record.model_copy(update={"head_fault": self.found.head_fault})
        return Compaction(
            messages=result.view.all,
            outcome=record.outcome,
            head=_shown(result, self.found.situation).to_dict(),
            record=record,
            tokens_before=record.tokens_before,
            tokens_after=record.tokens_after,
            fields=result.fields,
            diff=result.diff,
            _originals=tuple(self._pairs(result.view.all)),
            _example=self.example,
        )


def _shown(result: Compacted, situation: Situation) -> ContextHead:
    """Return the head; where no new version was made, with the digest of the pins its view shows: other rules may be given next time."""
    if result.is_new or not situation.rules:
        return result.head
    pins, body = pins_digest(situation.rules), result.head.body
    return result.head if body is not None and pins in body.rendered else result.head.model_copy(update={"pins": pins})


def _texts(must_keep: Any) -> tuple[str, ...]:
    if isinstance(must_keep, str):
        msg = "`must_keep` takes a list of texts, not one string; write [text]."
        raise ConfigurationError(msg)
    if isinstance(must_keep, Mapping) or not isinstance(must_keep, Iterable):
        msg = f"`must_keep` takes a list of texts, not {type(must_keep).__name__}; write [text]."
        raise ConfigurationError(msg)
    texts = tuple(must_keep)
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            msg = f"must_keep[{index}] is no text but {type(text).__name__}. Every entry is a text that must stand in the result."
            raise ConfigurationError(msg)
    return texts


def _head(previous: dict[str, Any] | ContextHead | None) -> ContextHead:
    if isinstance(previous, ContextHead):
        return previous
    head = read_head(previous)
    if head is None:
        return ContextHead(version=0)
    if isinstance(head, ContextHead):
        return head
    msg = f"`previous` is not the head of a compaction ({head.replace('_', ' ')}). Pass `Compaction.head` as it was returned, or leave it out."
    raise ConfigurationError(msg)


def _as_it_is(situation: Situation, plan: Plan, count: CountTokens, reason: str) -> Generator[Effect, Answer, Compacted]:
    view = situation.view()
    # An empty list stays empty: rules without a conversation are no request.
    if not situation.tail and situation.head.body is None and not situation.system:
        view = replace(view, system=None)
    tokens = count(view.all) if view.all else 0
    record = CompactionRecord(
        outcome=Outcome.SKIPPED,
        reason=reason,
        trigger=plan.trigger,
        version=situation.head.version,
        tokens_before=tokens,
        tokens_after=tokens,
        budget=plan.goal,
        kept_messages=len(view.messages),
        rules_in_force=len(situation.rules),
        rules_missing_before=situation.missing_before,
        faults=situation.repaired.faults,
    )
    if situation.missing_before and plan.settings.on_violation == "stop":
        # The flow raises the same error; a list that fits its budget is held to the same rule.
        return compaction_flow(situation, plan, count)
    return _told(Compacted(situation.head, view, record, fields=fields_of(situation.head)))


def _told(result: Compacted) -> Generator[Effect, Answer, Compacted]:
    yield Append(result.record)
    return result

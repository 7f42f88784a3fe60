"""Runs the checks that rules of kind `verifier` and `runtime` name, on a final answer or on a tool's result."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langchain_ctxguard.backends.checks import CheckResult, PreparedCheck, prepared_check
from langchain_ctxguard.core.roles import calls_of, escaped
from langchain_ctxguard.domain.constraint import Constraint, Enforcement
from langchain_ctxguard.domain.extensions import Validator
from langchain_ctxguard.domain.version import ContextEvent
from langchain_ctxguard.errors import CheckFailedError, ConfigurationError
from langchain_ctxguard.records.bounded import Bounded

CHECK = "context_check"
MAX_RETRIES = 2
"""How often a model is asked again for an answer that fails a check; then the run stops."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A rule whose check a text did not pass."""

    rule: Constraint
    reason: str

    @property
    def is_grave(self) -> bool:
        """Say whether the text must not be passed on."""
        return self.rule.on_fail != "flag" or self.rule.enforcement is Enforcement.RUNTIME

    @property
    def event(self) -> ContextEvent:
        """The failure for the record: the rule and the reason, no text."""
        return ContextEvent(kind="check_failed", detail=f"{self.rule.reference}: {self.reason}")


class Verifier:
    """Prepared checks of the rules in force; a pattern is compiled once."""

    def __init__(self, validators: Mapping[str, Validator]) -> None:
        """Bind the application's validators."""
        self._validators = validators
        self._prepared: Bounded[PreparedCheck] = Bounded(1_024)

    def prepare(self, rules: Sequence[Constraint]) -> None:
        """Prepare the checks of rules that are known from the start.

        Raises:
            ConfigurationError: a pattern or schema that is none.
        """
        for rule in rules:
            if rule.validator is not None:
                prepared_check(rule, validators=self._validators)

    def checks_for_answer(self, rules: Sequence[Constraint]) -> list[PreparedCheck]:
        """Return the checks a final answer has to pass."""
        return [check for rule in rules if rule.checks == "answer" and (check := self._check(rule)) is not None]

    def checks_for_tool(self, rules: Sequence[Constraint], tool: str) -> list[PreparedCheck]:
        """Return the checks a result of `tool` has to pass."""
        return [
            check
            for rule in rules
            if rule.checks == "tool_result" and (rule.scope.kind != "tool" or rule.scope.value == tool) and (check := self._check(rule)) is not None
        ]

    def _check(self, rule: Constraint) -> PreparedCheck | None:
        """Return the check of a rule; `None` where it names none, or one that nobody registered: that is on record as unenforced."""
        if rule.validator is None or (isinstance(rule.validator, str) and rule.validator not in self._validators):
            return None
        prepared = self._prepared.get(id(rule))
        if prepared is None or prepared.constraint is not rule:
            try:
                prepared = prepared_check(rule, validators=self._validators)
            except ConfigurationError as error:
                # Declared while we run, and nobody can run it: the text has not passed.
                reason = str(error)
                prepared = PreparedCheck(rule, lambda _: CheckResult(passed=False, reason=reason), may_block=False)
            self._prepared.put(id(rule), prepared)
        return prepared


def failures(checks: Sequence[PreparedCheck], text: str) -> list[Failure]:
    """Run `checks` on `text`; return what did not pass."""
    results = [(check, check.run(text)) for check in checks]
    return [Failure(check.constraint, result.reason or "the check said no") for check, result in results if not result.passed]


async def afailures(checks: Sequence[PreparedCheck], text: str) -> list[Failure]:
    """Run `checks` on `text` as `failures` does, in a thread where one of them may block."""
    if any(check.may_block for check in checks):
        return await asyncio.to_thread(failures, checks, text)
    return failures(checks, text)


def final_answer(messages: Sequence[BaseMessage]) -> AIMessage | None:
    """Return the message that ends the run: the last one, if it is the model's and calls nothing."""
    last = messages[-1] if messages else None
    return last if isinstance(last, AIMessage) and not calls_of(last) else None


def asking_again(answer: AIMessage, failed: Sequence[Failure]) -> list[BaseMessage]:
    """Return what is put behind the request to ask once more: the answer and what was wrong with it. Nothing of it is kept."""
    faults = "\n".join(f"- {failure.rule.text}\n  Not met: {escaped(failure.reason)}" for failure in failed)
    demand = f"The answer above does not meet a rule in force and was not sent:\n{faults}\nAnswer again so that it does."
    return [answer, HumanMessage(demand, name=CHECK)]


def stopped(failed: Sequence[Failure]) -> CheckFailedError:
    """Return the error that ends a run whose answer or result failed a check."""
    rules = ", ".join(f"'{failure.rule.reference}' ({failure.reason})" for failure in failed)
    return CheckFailedError(
        f"A check failed: {rules}. The text was not passed on. Change what the rule asks for, or set `on_fail` to 'flag'.",
        rules=tuple(failure.rule.constraint_id for failure in failed),
    )


def withheld(result: ToolMessage, failed: Sequence[Failure]) -> ToolMessage:
    """Return what the model sees instead of a result that failed a check: what was wrong, not the result."""
    faults = "; ".join(f"'{failure.rule.constraint_id}' ({failure.reason})" for failure in failed)
    said = f"The result of this call was withheld: it failed a check of a rule in force: {faults}. The tool has run. Try another way."
    return ToolMessage(said, tool_call_id=result.tool_call_id, name=result.name, id=result.id, status="error")

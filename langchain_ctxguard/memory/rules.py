"""The argument `guard=` of the memories -> the rules that hold and the settings of a compaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_ctxguard.compact import config_of, rules_in_force
from langchain_ctxguard.domain.config import GuardConfig
from langchain_ctxguard.domain.constraint import Constraint
from langchain_ctxguard.domain.extensions import Extensions
from langchain_ctxguard.errors import ConfigurationError

Guard = Any
"""A `ContextGuard`, a `GuardConfig`, the path of a `ctxguard.yaml`, a list of constraints, or `None`: no rules."""


@dataclass(frozen=True, slots=True)
class Rulebook:
    """Where the rules of a memory come from, and its settings."""

    config: GuardConfig
    """The settings; its rules are in `given`."""

    given: tuple[Constraint | str, ...] = ()
    extensions: Extensions = field(default_factory=Extensions)
    """The application's functions, of a `ContextGuard` that has some."""

    guard: Any = None
    """A `ContextGuard`, asked each time: the rules of its registry change while a conversation runs."""

    @classmethod
    def of(cls, guard: Guard) -> Rulebook:
        """Return the rulebook of what was given as `guard=`.

        Raises:
            ConfigurationError: it is none of the forms, or its rules cannot be used.
            ConstraintConflictError: two of its rules contradict each other and neither outranks the other.
        """
        if callable(getattr(guard, "handed_over", None)):
            turns = getattr(guard, "turns", None)
            # Its rules are asked of it each time; its settings and functions hold here as they do in an agent.
            settings = GuardConfig() if turns is None else turns.config.model_copy(update={"constraints": (), "compaction": turns.settings})
            book = cls(settings, extensions=Extensions() if turns is None else turns.extensions, guard=guard)
        elif isinstance(guard, Sequence) and not isinstance(guard, str):
            book = cls(GuardConfig(), given=tuple(guard))
        elif guard is None or isinstance(guard, (GuardConfig, str, Path)):
            config = config_of(guard)
            book = cls(config.model_copy(update={"constraints": ()}), given=config.constraints)
        else:
            msg = (
                f"`guard` takes a ContextGuard, a GuardConfig, the path of a ctxguard.yaml or a list of constraints, not {type(guard).__name__}; "
                "pass one of them, or leave it out."
            )
            raise ConfigurationError(msg)
        book.rules()
        return book

    def rules(self) -> tuple[Constraint, ...]:
        """Return the rules that hold now, strongest first.

        Raises:
            ConstraintConflictError: the registry holds two that contradict each other.
        """
        if self.guard is not None:
            rules: tuple[Constraint, ...] = self.guard.handed_over()
            return rules
        return rules_in_force(self.config, self.given)

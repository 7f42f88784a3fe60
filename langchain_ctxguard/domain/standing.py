"""What stands between a conversation and its tools, beside rules and consents: mode, open question, replaced arguments, permissions."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, Field, SerializerFunctionWrapHandler, model_serializer

from langchain_ctxguard.domain.value import Value

Effect = Literal["read", "write", "memory"]
"""What a tool does to the world: nothing, something, or something that other threads will see."""

EFFECT = "ctxguard_effect"
"""Key of a tool's metadata that says what it does."""

Permission = Literal["allow", "ask", "deny"]


class Mode(StrEnum):
    """What a thread's tools may do at all."""

    ACT = "act"
    """Whatever rules, consents and permissions allow."""

    PLAN = "plan"
    """Nothing is changed: the agent makes a plan, and a person says when it begins."""

    READ_ONLY = "read_only"
    """Nothing is changed."""


class OpenQuestion(Value):
    """A question of the agent's own that a person has not answered. Its words stay in the conversation."""

    message: str = Field(min_length=1)
    """Key of the message that asks it."""

    run: str = ""
    """Names the run it was asked in, where that is known: what joins the conversation in the same run is no answer."""

    at: AwareDatetime


class Replaced(Value):
    """Arguments a person replaced by others before the call ran."""

    tool: str = Field(min_length=1)
    digest: str = Field(min_length=1)
    """Of the arguments the agent gave."""

    by: str = Field(min_length=1)
    """Of those that ran in their place."""

    call_id: str = ""
    at: AwareDatetime


class StandingState(Value):
    """The standing state of one thread: what its events add up to."""

    mode: Mode = Mode.ACT
    question: OpenQuestion | None = None
    replaced: tuple[Replaced, ...] = ()
    permissions: dict[str, Permission] = Field(default_factory=dict)
    """By the name of the tool."""

    synthetic: tuple[str, ...] = ()
    """Keys of messages in the user role that no person wrote, the newest of them."""

    phase: str = ""
    """Why a stage of the work is over and its context may be compacted; empty: nobody said so since the last compaction."""

    seq: int = 0
    """Number of the last event."""

    @model_serializer(mode="wrap")
    def _without_no_phase(self, as_usual: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # A state without one is written as it was before there were phases: its digest is what versions name.
        data: dict[str, Any] = as_usual(self)
        return data if data.get("phase") else {name: value for name, value in data.items() if name != "phase"}

    @property
    def is_plain(self) -> bool:
        """Say whether nothing stands in the way of any tool."""
        return self.mode is Mode.ACT and self.question is None and not self.replaced and not self.permissions


class ModeSet(Value):
    """Somebody set the mode."""

    type: Literal["mode_set"] = "mode_set"
    mode: Mode


class PermissionsSet(Value):
    """Somebody set the permission map: it takes the place of the former one."""

    type: Literal["permissions_set"] = "permissions_set"
    permissions: dict[str, Permission]


class QuestionAsked(Value):
    """The agent ended its turn with a question."""

    type: Literal["question_asked"] = "question_asked"
    question: OpenQuestion


class QuestionAnswered(Value):
    """A person spoke after it."""

    type: Literal["question_answered"] = "question_answered"
    message: str
    """Key of the message that asked."""

    answer: str = ""
    """Key of the message that answers; empty where the application closed it."""


class ArgumentsReplaced(Value):
    """A person had a call run with other arguments than the agent gave."""

    type: Literal["arguments_replaced"] = "arguments_replaced"
    replaced: Replaced


class ArgumentsReleased(Value):
    """A person let the agent use replaced arguments after all."""

    type: Literal["arguments_released"] = "arguments_released"
    tool: str
    digest: str = ""
    """Of the arguments; empty: all that were replaced for this tool."""


class MarkedSynthetic(Value):
    """A message in the user role is no person's."""

    type: Literal["marked_synthetic"] = "marked_synthetic"
    messages: tuple[str, ...]


class PhaseEnded(Value):
    """A stage of the work is over: what it took to get there may leave the view."""

    type: Literal["phase_ended"] = "phase_ended"
    reason: str = Field(min_length=1)


class PhaseClosed(Value):
    """The context was compacted for it, or nothing could leave the view."""

    type: Literal["phase_closed"] = "phase_closed"


StandingChange = (
    PhaseEnded | PhaseClosed | ModeSet | PermissionsSet | QuestionAsked | QuestionAnswered | ArgumentsReplaced | ArgumentsReleased | MarkedSynthetic
)


class StandingEvent(Value):
    """One entry of a thread's standing state, as it rests on a log."""

    schema_version: Literal[1] = 1
    change: Annotated[StandingChange, Field(discriminator="type")]
    recorded_by: str = ""
    at: AwareDatetime

"""The standing state of threads in the steps of a call: the agent's own question, who answered it, what a tool call may do meanwhile."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.types import Command

from langchain_ctxguard.core.questions import answers_in, asks_person
from langchain_ctxguard.core.roles import SYNTHETIC
from langchain_ctxguard.core.standing import arguments_digest, permission_of, replaced_by, standing_verdict
from langchain_ctxguard.domain.consent import CROSS_SESSION_MEMORY
from langchain_ctxguard.domain.standing import EFFECT, Effect, StandingState
from langchain_ctxguard.domain.version import ContextEvent
from langchain_ctxguard.errors import StoreError
from langchain_ctxguard.graph.whereabouts import Whereabouts
from langchain_ctxguard.ports import ConsentReading
from langchain_ctxguard.records.bounded import Bounded
from langchain_ctxguard.records.standing import StandingLog

WRITES = "ctxguard_writes"
"""Key of a tool's metadata that names the carried keys of the state which its results may set."""

_EFFECTS = ("read", "write", "memory")
_KEPT = 2_048


def synthetic(text: str) -> HumanMessage:
    """Return a turn in the user role that no person wrote and that says so: it is nobody's words, answers nothing and grants nothing."""
    return HumanMessage(text, additional_kwargs={SYNTHETIC: True})


def effect_of(tool: Any) -> Effect | None:
    """Return what a tool says it does; `None`: it does not say."""
    metadata = tool.get("metadata") if isinstance(tool, Mapping) else getattr(tool, "metadata", None)
    found = metadata.get(EFFECT) if isinstance(metadata, Mapping) else None
    return found if found in _EFFECTS else None


class Standing:
    """What a guard does about standing state. What it remembers of calls can be lost at any time: the log has what counts."""

    def __init__(
        self,
        log: StandingLog,
        *,
        consents: ConsentReading | None,
        carry: Sequence[str],
        record: Callable[[ContextEvent], None],
        effects: Callable[[str], Effect | None] | None = None,
    ) -> None:
        """Bind the log.

        Args:
            log: Where the state rests.
            consents: Reads consents, for tools that write what other threads see.
            carry: Keys of the graph's state that no tool result may set.
            record: Is told what was refused.
            effects: What a policy says that a tool does, by its name; it counts more than what the tool says.
        """
        self.log = log
        self._consents = consents
        self._carry = frozenset(carry)
        self._record = record
        self._effects = effects
        self._given: Bounded[frozenset[str]] = Bounded(_KEPT)
        self._issued: Bounded[str] = Bounded(_KEPT)
        self._marked: Bounded[tuple[BaseMessage, BaseMessage]] = Bounded(_KEPT)
        self._seen: Bounded[bool] = Bounded(_KEPT)

    def effect(self, name: str, tool: Any) -> Effect | None:
        """Return what a tool does, as far as anybody said."""
        said = None if self._effects is None else self._effects(name)
        return said if said is not None else effect_of(tool)

    def note_input(self, run: str, keys: Collection[str]) -> None:
        """Remember what a run began with, before anybody adds to it."""
        if run:
            self._given.put(run, frozenset(keys))

    def read(self, where: Whereabouts, messages: Sequence[BaseMessage]) -> StandingState:
        """Return where the thread stands at a model call; an open question is closed where a person has answered it.

        Raises:
            StoreError: it cannot be read or written.
        """
        if where.thread is None:
            return StandingState()
        state = self.log.read(where.thread)
        if state.question is None or not where.speaks_to_person:
            return state
        found = answers_in(messages, state, run=where.run, given=self._given.get(where.run) if where.run else None)
        if found.injected:
            self.log.mark_synthetic(where.thread, found.injected, by="guard")
            detail = f"{len(found.injected)} messages in the user role were put in by a program; none is an answer."
            self._record(ContextEvent(kind="injected_turn", detail=detail))
        if found.answer is not None:
            self.log.answer(where.thread, state.question.message, answer=found.answer, by="guard")
        return self.log.read(where.thread) if found != (None, ()) else state

    def as_said(self, messages: Sequence[BaseMessage], state: StandingState) -> Sequence[BaseMessage]:
        """Return the conversation with the marked messages bearing their mark; the same list where none is in it."""
        if not state.synthetic:
            return messages
        marked = set(state.synthetic)
        if not any(message.id in marked for message in messages):
            return messages
        return [self._bearing(message) if message.id in marked else message for message in messages]

    def _bearing(self, message: BaseMessage) -> BaseMessage:
        if not isinstance(message, HumanMessage) or message.additional_kwargs.get(SYNTHETIC):
            return message
        known = self._marked.get(id(message))
        if known is None or known[0] is not message:
            known = (message, message.model_copy(update={"additional_kwargs": {**message.additional_kwargs, SYNTHETIC: True}}))
            self._marked.put(id(message), known)
        return known[1]

    def answered_with(self, where: Whereabouts, answer: AIMessage | None, calls: Sequence[BaseMessage]) -> Callable[[], None] | None:
        """Take notice of what the model said; return what is to be written, `None` for nothing.

        Args:
            where: Where the call belongs.
            answer: The final answer, where it is one.
            calls: What the model said.
        """
        for message in calls:
            for call in message.tool_calls if isinstance(message, AIMessage) else ():
                if call["id"]:
                    self._issued.put((where.thread, call["id"]), arguments_digest(call["args"]))
        if answer is None or where.thread is None or not where.speaks_to_person or not asks_person(answer.text):
            return None
        if answer.id is None:
            # The state would give it one that nobody here knows.
            answer.id = str(uuid.uuid4())
        thread, key, run = where.thread, answer.id, where.run
        return lambda: self.log.ask(thread, key, run=run, by="guard")

    def refusal(self, request: ToolCallRequest, where: Whereabouts, *, can_ask: bool = False) -> ToolMessage | None:
        """Return what the model sees of a call that must not run now; `None` where nothing stands in its way.

        Args:
            request: The call.
            where: Where it belongs.
            can_ask: Whether the tool is guarded and asks a person itself, where the permissions of the thread want that.
        """
        name = str(request.tool_call["name"])
        effect = self.effect(name, request.tool)
        reason = self._reason(request, where, name, effect, can_ask=can_ask)
        if reason is None:
            return None
        self._record(ContextEvent(kind="tool_denied", detail=f"`{name}`: {reason.partition('.')[0]}.", tool=name))
        return ToolMessage(f"Denied `{name}`: {reason}.", tool_call_id=str(request.tool_call["id"] or ""), name=name, status="error")

    def is_edited(self, request: ToolCallRequest) -> bool:
        """Say whether a call comes with other arguments than the message that made it has."""
        call_id = request.tool_call["id"]
        given = _digests_in(request.state, call_id, lambda _: None) if call_id else set()
        return bool(set(given) - {None, arguments_digest(request.tool_call["args"])})

    def _reason(self, request: ToolCallRequest, where: Whereabouts, name: str, effect: Effect | None, *, can_ask: bool) -> str | None:
        digest = arguments_digest(request.tool_call["args"])
        try:
            if where.thread is not None and effect != "read":
                self._note_replaced(request, where.thread, name, digest)
            state = StandingState() if where.thread is None else self.log.read(where.thread)
            earlier = replaced_by(state, name, digest) if can_ask else None
            # Of a guarded call that a person edited before, begun anew with its node, the guard itself knows what the answer made of it.
            is_own = earlier is not None and earlier.call_id == request.tool_call["id"]
            reason = standing_verdict(effect, state, tool=name, arguments=None if is_own else digest)
            if reason is None and not can_ask and permission_of(name, state) == "ask":
                reason = "the permissions of this thread want a person to be asked first, and nothing here can ask. Say what you would do and why"
            if reason is None and effect == "memory":
                reason = self._unremembered(where)
        except StoreError as error:
            if effect == "read":
                return None
            return f"the record of what is allowed cannot be read ({type(error).__name__}). Nothing was done; go on without it, or try again later"
        return reason

    def _unremembered(self, where: Whereabouts) -> str | None:
        """Return why nothing may be kept for other threads, `None` where a consent says that it may."""
        if self._consents is None:
            return f"nothing keeps consents here, and '{CROSS_SESSION_MEMORY}' must be granted before anything is kept for other conversations"
        if where.subject is None:
            return (
                f"this run names no subject, so '{CROSS_SESSION_MEMORY}' of nobody can be read. The application names one in its runtime context or "
                "configuration, under the key that `subject` says"
            )
        if self._consents.read(where.subject, thread=where.thread).is_true(CROSS_SESSION_MEMORY):
            return None
        return (
            f"'{CROSS_SESSION_MEMORY}' is not granted, so nothing is kept for other conversations. Only the person can grant it, where they consent"
        )

    def _note_replaced(self, request: ToolCallRequest, thread: str, name: str, digest: str) -> None:
        """Put on record that a call runs with other arguments than the agent gave, as far as that can be seen."""
        call_id = request.tool_call["id"]
        if not call_id or self._seen.get((thread, call_id, digest)):
            return
        given = {self._issued.get((thread, call_id)), *_digests_in(request.state, call_id, self._mismatch)} - {None, digest}
        for old in sorted(one for one in given if one is not None):
            self.log.replace(thread, name, old, by_digest=digest, call_id=call_id, by="guard")
            self._record(ContextEvent(kind="arguments_replaced", detail=f"A call of `{name}` runs with other arguments than the agent gave."))
        self._seen.put((thread, call_id, digest), value=True)

    def _mismatch(self, name: str) -> None:
        detail = f"A message holds a call of `{name}` twice, with different arguments; those of `tool_calls` count."
        self._record(ContextEvent(kind="arguments_mismatch", detail=detail))

    def kept(self, request: ToolCallRequest, result: Any) -> Any:
        """Return a tool's result without what it may not set in the state: a sub-agent's result overwrites nothing that is carried."""
        if not self._carry or not isinstance(result, Command) or result.update is None:
            return result
        given = _as_mapping(result.update)
        metadata = getattr(request.tool, "metadata", None) or {}
        allowed = metadata.get(WRITES, ()) if isinstance(metadata, Mapping) else ()
        refused = sorted(key for key in given if key in self._carry and key not in allowed)
        if not refused:
            return result
        name = request.tool_call["name"]
        detail = f"The result of `{name}` was to set {', '.join(refused)} in the state; what is carried stays as it was."
        self._record(ContextEvent(kind="update_refused", detail=detail))
        update = {key: value for key, value in given.items() if key not in refused}
        return Command(graph=result.graph, update=update, resume=result.resume, goto=result.goto)


def _as_mapping(update: Any) -> Mapping[str, Any]:
    """Return what an update of the state sets, by key: LangGraph takes a mapping, a list of pairs, or an object with fields."""
    if isinstance(update, Mapping):
        return update
    if isinstance(update, list | tuple):
        # A list of messages sets no key by name.
        return dict(update) if all(isinstance(item, tuple) and len(item) == 2 for item in update) else {}  # noqa: PLR2004 - pairs
    return dict(getattr(update, "__dict__", {}))


def _digests_in(state: Any, call_id: str, mismatch: Callable[[str], None]) -> list[str]:
    """Return the digests of a call's arguments wherever its message holds them."""
    messages = state.get("messages", ()) if isinstance(state, Mapping) else getattr(state, "messages", ())
    for message in reversed(messages):
        if not isinstance(message, AIMessage):
            continue
        own = next((call for call in message.tool_calls if call["id"] == call_id), None)
        if own is None:
            continue
        found = [arguments_digest(own["args"])]
        raw = _raw_arguments(message, call_id)
        if raw is not None and arguments_digest(raw) not in found:
            mismatch(own["name"])
            found.append(arguments_digest(raw))
        return found
    return []


def _raw_arguments(message: AIMessage, call_id: str) -> Mapping[str, Any] | None:
    """Return the arguments as a provider gave them beside the parsed ones; `None` where there are none that can be read."""
    extras = message.additional_kwargs.get("tool_calls")
    for item in extras if isinstance(extras, list) else ():
        function = item.get("function") if isinstance(item, dict) and item.get("id") == call_id else None
        if isinstance(function, dict):
            try:
                parsed = json.loads(function.get("arguments") or "{}")
            except (ValueError, TypeError, RecursionError):
                return None
            return parsed if isinstance(parsed, dict) else None
    return None

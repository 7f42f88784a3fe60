"""The model is asked, and its answer held against the rules that name a check."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, Literal

from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langchain_ctxguard.backends.checks import PreparedCheck
from langchain_ctxguard.core.remind import reminder, with_reminder
from langchain_ctxguard.domain.constraint import Constraint
from langchain_ctxguard.domain.context import ContextHead
from langchain_ctxguard.graph.hatches import Hatches
from langchain_ctxguard.graph.paid import Paid
from langchain_ctxguard.graph.prefix import PrefixWatch
from langchain_ctxguard.graph.reading import Call, Reading
from langchain_ctxguard.graph.steps import Ask, Check, Step, place_of, sending
from langchain_ctxguard.graph.verify import MAX_RETRIES, Failure, Verifier, asking_again, failures, final_answer, stopped, withheld


class Answers:
    """Asks the model and verifies what it says."""

    def __init__(
        self,
        verifier: Verifier,
        record: Callable[[Any], None],
        *,
        remind: Literal["off", "critical"],
        watch: PrefixWatch | None,
        hatches: Hatches,
        paid: Paid,
    ) -> None:
        """Bind who checks, who is told, and whether the critical rules stand once more at the end."""
        self._verifier = verifier
        self._record = record
        self._remind = remind
        self._watch = watch
        self._hatches = hatches
        self._paid = paid

    def asked(self, sent: ModelRequest[Any], call: Call, reading: Reading, head: ContextHead | None, tokens: int | None) -> Generator[Step, Any, Any]:
        """Call the model with the view, reminded of the critical rules at its end if so set, and tell the hooks what became of its prefix."""
        messages = self.reminded(sent.messages, call.rules)
        is_reminded = messages is not sent.messages
        if is_reminded:
            sent = sending(sent, sent.system_message, messages)
        if self._watch is None:
            return (yield from self._paid.for_answer(call, (yield Ask(sent))))
        watched = self._watch.before(
            call.thread if call.thread != (None, "") else None,
            model=sent.model,
            messages=sent.messages,
            system=sent.system_message,
            tools=call.tools,
            rules=call.rules,
            head=(head or reading.head).version,
            tokens=reading.tokens if head is None else tokens,
            is_rebuild=self._hatches.was_rebuilt(call.thread),
        )
        with watched:
            response = yield Ask(sent)
        report = watched.after(response)
        if report is not None:
            place = place_of(call)
            where = {} if place is None else {"thread": place.thread, "namespace": place.namespace}
            about = {**where, "context_version": (head or reading.head).version, "is_reminded": is_reminded}
            self._record(report.model_copy(update={**about, "rules": call.rules, "unenforced": call.unenforced}))
        return (yield from self._paid.for_answer(call, response))

    def verified(self, sent: ModelRequest[Any], response: ModelResponse[Any], call: Call) -> Generator[Step, Any, Any]:
        """Return the response once its final answer passes the checks of the rules; ask again where a rule says so."""
        checks = self._verifier.checks_for_answer(call.rules)
        if not checks:
            return response
        for attempt in range(MAX_RETRIES + 1):
            answer = final_answer(response.result)
            if answer is None:
                return response
            failed: list[Failure] = yield Check(checks, answer.text)
            for failure in failed:
                self._record(failure.event)
            grave = [failure for failure in failed if failure.is_grave]
            if not grave:
                return response
            if attempt == MAX_RETRIES or any(failure.rule.on_fail != "retry" for failure in grave):
                raise stopped(grave)
            again = [*sent.messages, *asking_again(answer, grave)]
            try:
                asked = sending(sent, sent.system_message, self.reminded(again, call.rules))
                response = yield from self._paid.for_answer(call, (yield Ask(asked)))
            except ContextOverflowError as overflow:
                raise stopped(grave) from overflow
        return response

    def reminder(self, call: Call) -> HumanMessage | None:
        """Return the reminder of a call, so that it can be counted; `None` where none is set."""
        return reminder(call.rules) if self._remind == "critical" else None

    def reminded(self, messages: Sequence[BaseMessage], rules: tuple[Constraint, ...]) -> Any:
        """Return the messages with the critical rules at their end, if so set; the same list otherwise."""
        return with_reminder(messages, rules) if self._remind == "critical" else messages

    def check(self, answer: AIMessage | str, rules: tuple[Constraint, ...]) -> None:
        """Run the checks of the rules in force on a final answer."""
        text = answer if isinstance(answer, str) else answer.text
        checks = self._verifier.checks_for_answer(rules)
        failed = failures(checks, text)
        for failure in failed:
            self._record(failure.event)
        grave = [failure for failure in failed if failure.is_grave]
        if grave:
            raise stopped(grave)

    def tool_checks(self, rules: tuple[Constraint, ...], tool: str) -> list[PreparedCheck]:
        """Return the checks that the result of a tool has to pass."""
        return self._verifier.checks_for_tool(rules, tool)

    def checked(self, result: ToolMessage, failed: Sequence[Failure]) -> ToolMessage:
        """Return the result, or what the model sees instead of one that failed.

        Raises:
            CheckFailedError: it failed the check of a rule that stops the run.
        """
        for failure in failed:
            self._record(failure.event)
        grave = [failure for failure in failed if failure.is_grave]
        if any(failure.rule.on_fail == "stop" for failure in grave):
            raise stopped(grave)
        return withheld(result, grave) if grave else result

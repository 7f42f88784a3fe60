"""One question to a model, sync or async: bounded in time, asked again where waiting helps, its cost noted."""

from __future__ import annotations

from functools import partial
from typing import Any

from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig

from langchain_ctxguard.backends.asking import Asking, charge, cut_off_answer, message_of
from langchain_ctxguard.backends.deadline import awithin, within
from langchain_ctxguard.backends.patience import Patience, Waiting, is_refused_request
from langchain_ctxguard.ports import Spending

Answer = BaseMessage | str | ContextOverflowError
"""What a question comes to, unless it raises: an overflow is an answer, because asking for less may help."""


class Caller:
    """Puts questions to one model. Safe under threads: all it learns is that a provider refuses the schema."""

    def __init__(self, asking: Asking, patience: Patience) -> None:
        """Bind how the model is asked, and how failures are waited out."""
        self.asking = asking
        self.patience = patience

    def ask(self, question: list[BaseMessage], spent: Spending, waiting: Waiting, marks: RunnableConfig) -> Answer:
        """Return the model's answer to one question, or the overflow that came instead."""
        call = _Question(self, spent, waiting)
        while True:
            timeout = call.begun()
            try:
                result = within(timeout, partial(call.asking.model.invoke, question, marks))
            except Exception as error:  # noqa: BLE001 - sorted there: raised again unless waiting helps
                outcome = call.failed(error)
            else:
                return call.taken(result)
            if not isinstance(outcome, float):
                return outcome
            self.patience.sleep(outcome)

    async def aask(self, question: list[BaseMessage], spent: Spending, waiting: Waiting, marks: RunnableConfig) -> Answer:
        """Return the same with the model's own async calls."""
        call = _Question(self, spent, waiting)
        while True:
            timeout = call.begun()
            try:
                result = await awithin(timeout, call.asking.model.ainvoke(question, marks))
            except Exception as error:  # noqa: BLE001 - as above
                outcome = call.failed(error)
            else:
                return call.taken(result)
            if not isinstance(outcome, float):
                return outcome
            await self.patience.asleep(outcome)


class _Question:
    """One question to the model: how often it was asked, and what follows from how it went."""

    def __init__(self, caller: Caller, spent: Spending, waiting: Waiting) -> None:
        self.asking = caller.asking
        self._caller = caller
        self._spent = spent
        self._waiting = waiting
        self._tries = 0
        self._has_switched = False
        self._began = 0.0

    def begun(self) -> float | None:
        """Count one more call; return the seconds it may take."""
        left = self._waiting.left()
        if self._spent.is_over:
            msg = "the summary was abandoned"
            raise TimeoutError(msg)
        self._tries += 1
        self._spent.calls += 1
        self._began = self._waiting.patience.clock()
        return left

    def taken(self, result: Any) -> BaseMessage | str:
        """Return the answer, after its cost is noted."""
        self._ended()
        if self._has_switched:
            # It was the schema that the provider refused: it is not offered again.
            self._caller.asking = self.asking
            self._spent.remark("no_structured_output")
        answer = message_of(result)
        charge(answer, self._spent)
        return answer

    def failed(self, error: Exception) -> Answer | float:
        """Return an answer that came as an error, or the seconds to wait before asking again; anything else is raised."""
        self._ended()
        if isinstance(error, ContextOverflowError):
            return error
        answer = cut_off_answer(error)
        if answer is not None:
            charge(answer, self._spent)
            return answer
        if self.asking.structured is not None and is_refused_request(error):
            self.asking, self._has_switched, self._tries = self.asking.words_only, True, self._tries - 1
            return 0.0
        pause = self._waiting.pause_after(error, self._tries)
        if pause is None or self._spent.is_over:
            raise error
        self._spent.seconds += pause
        return float(pause)

    def _ended(self) -> None:
        self._spent.seconds += max(0.0, self._waiting.patience.clock() - self._began)

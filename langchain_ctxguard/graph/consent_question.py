"""Asks a person for consent with `interrupt()`. What the run is resumed with is nobody's word: the answer is what the ledger says."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from langgraph.config import get_config
from langgraph.runtime import get_runtime
from langgraph.types import interrupt

from langchain_ctxguard.domain.consent import Consents
from langchain_ctxguard.domain.consent_question import ConsentQuestion
from langchain_ctxguard.errors import ConfigurationError
from langchain_ctxguard.ports import Clock, ConsentReading
from langchain_ctxguard.records.consent_events import raw
from langchain_ctxguard.records.consent_questions import ConsentQuestions
from langchain_ctxguard.records.consents import ConsentReader, require_store
from langchain_ctxguard.records.versions import HasLog


def ask_consent(
    field: str,
    question: str,
    *,
    store: HasLog,
    subject: str,
    consents: ConsentReading | None = None,
    everywhere: bool = False,
    purpose: str = "",
    options: Sequence[Any] = (),
    expires_s: float | None = None,
    clock: Clock | None = None,
) -> Consents:
    """Ask a subject for consent, inside a node or tool of a graph, and return what the ledger says about them afterwards.

        if not ask_consent("send_mail", "May I send mail in your name?", store=guard.store, subject=user).is_true("send_mail"):
            return "The user did not agree."

    Where a grant is in force or the field was denied, nobody is asked. Otherwise the question goes on record, then the run pauses. The application
    shows the question to the person, writes the answer with `ConsentLedger.answer(digest, ...)`, and resumes the run with whatever value: it is
    ignored, and the ledger is read again. A run that is resumed without an answer on record was given no consent. From another checkpoint it is
    another question. Ask for one thing once in a node: where the same question stands there twice, the second one pauses too.

    Args:
        field: What for: `consent.cross_session_memory`.
        question: What the person reads.
        store: Where questions go on record: `guard.store` will do, for asking grants nothing.
        subject: Who is asked; from runtime context or configuration, never from a message.
        consents: What reads the ledger: `guard.consents`; `None`: that of `store`.
        everywhere: Ask for all threads of the subject, not only for this one.
        purpose: What for, in words for the record.
        options: What may be answered; empty: any JSON value.
        expires_s: Seconds after which an answer comes too late.
        clock: Says what time it is; `None`: the system's, in UTC.

    Raises:
        ConfigurationError: outside of a graph, or in one that cannot pause.
        StoreError: the question cannot be put on record, or the ledger not read. Nobody was asked, or nothing is granted.
    """
    asking = _asking(field, question, store, subject, consents, everywhere, purpose, options, expires_s, clock)
    pause = asking.before()
    if pause is not None:
        interrupt(pause)
    return asking.read()


async def aask_consent(
    field: str,
    question: str,
    *,
    store: HasLog,
    subject: str,
    consents: ConsentReading | None = None,
    everywhere: bool = False,
    purpose: str = "",
    options: Sequence[Any] = (),
    expires_s: float | None = None,
    clock: Clock | None = None,
) -> Consents:
    """Do as `ask_consent` does, without blocking the event loop on the store."""
    asking = _asking(field, question, store, subject, consents, everywhere, purpose, options, expires_s, clock)
    pause = await asyncio.to_thread(asking.before)
    if pause is not None:
        interrupt(pause)
    return await asyncio.to_thread(asking.read)


@dataclass(frozen=True, slots=True)
class _Asking:
    """One question of one task, before it has a digest."""

    questions: ConsentQuestions
    consents: ConsentReading
    draft: ConsentQuestion
    thread: str
    expires_s: float | None

    def before(self) -> dict[str, Any] | None:
        """Return what to pause with; `None`: nothing is to be asked."""
        draft = self.draft
        asked = self.questions.asked(draft.subject, draft.asked_in, draft.field, draft.text)
        # A task that asked once pauses again each time its node runs anew: values a run is resumed with are dealt out in the order of pauses,
        # and one left out would give this one's value to the next.
        if asked is None:
            known = self.read()
            word = known.get(draft.field)
            if word is not None and (word.is_in_force(known.at) or word.status == "denied"):
                return None
            now = self.questions.now()
            until = None if self.expires_s is None else now + timedelta(seconds=self.expires_s)
            question = draft.model_copy(update={"seq": known.head.seq, "at": now, "expires_at": until})
            asked = self.questions.ask(question), question
        return _shown(*asked)

    def read(self) -> Consents:
        """Return what the ledger says."""
        return self.consents.read(self.draft.subject, thread=self.thread)


def _asking(  # noqa: PLR0917 - the arguments of `ask_consent`
    field: str,
    question: str,
    store: HasLog,
    subject: str,
    consents: ConsentReading | None,
    everywhere: bool,  # noqa: FBT001 - as above
    purpose: str,
    options: Sequence[Any],
    expires_s: float | None,
    clock: Clock | None,
) -> _Asking:
    require_store(store, "ask_consent")
    for name, text in (("field", field), ("question", question), ("subject", subject)):
        if not text.strip():
            msg = f"A question for consent needs a field, its words and whom to ask; `{name}` is empty. Nobody was asked."
            raise ConfigurationError(msg)
    thread, task, checkpoint = _place()
    questions = ConsentQuestions(store, clock=clock)
    draft = ConsentQuestion(
        nonce=secrets.token_hex(16),
        subject=subject,
        field=field,
        text=question,
        purpose=purpose,
        options=tuple(map(raw, options)),
        thread=None if everywhere else thread,
        asked_in=task,
        checkpoint=checkpoint,
        at=questions.now(),
    )
    return _Asking(questions, ConsentReader(store, clock=clock) if consents is None else consents, draft, thread, expires_s)


def _place() -> tuple[str, str, str]:
    """Return thread, task and checkpoint of the node that runs: a task is the same when it runs again, and another one on a branch."""
    try:
        configurable = get_config().get("configurable", {})
    except RuntimeError:
        configurable = {}
    thread = configurable.get("thread_id")
    namespace = str(configurable.get("checkpoint_ns", "") or "")
    if not isinstance(thread, str) or not thread or not namespace:
        msg = "Consent is asked for inside a graph that has a checkpointer and a thread_id: elsewhere no run can pause. Nobody was asked."
        raise ConfigurationError(msg)
    info = get_runtime().execution_info
    return thread, namespace, str(getattr(info, "checkpoint_id", "") or "")


def _shown(digest: str, question: ConsentQuestion) -> dict[str, Any]:
    """Return what the application is handed with the pause: to find the question on record by, and show that one."""
    return {
        "type": "consent",
        "question": digest,
        "field": question.field,
        "text": question.text,
        "subject": question.subject,
        "thread": question.thread,
        "purpose": question.purpose,
        "options": [option.data.decode("utf-8") for option in question.options],
        "expires_at": None if question.expires_at is None else question.expires_at.isoformat(),
        "answer_with": "ConsentLedger.answer(question, value, recorded_by=...); then resume with any value",
    }

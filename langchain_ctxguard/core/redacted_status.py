"""A status of the work as the application's redactor leaves it. Names of files stay: by them they are found again."""

from __future__ import annotations

from langchain_ctxguard.core.redact import Redaction
from langchain_ctxguard.domain.extensions import Redactor
from langchain_ctxguard.domain.reconcile import StatusItem, WorkStatus


def redacted_status(status: WorkStatus, redact: Redactor | None) -> WorkStatus:
    """Return a status with its words redacted, the output of the check among them; where there is no redactor, as it is."""
    if redact is None:
        return status
    said = Redaction(redact).text

    def items(given: tuple[StatusItem, ...]) -> tuple[StatusItem, ...]:
        return tuple(item.model_copy(update={"text": said(item.text)}) for item in given)

    check = status.check
    return status.model_copy(
        update={
            "goal": said(status.goal),
            "task": said(status.task),
            "in_effect": items(status.in_effect),
            "not_in_effect": items(status.not_in_effect),
            "claimed": items(status.claimed),
            "contradictions": tuple(one.model_copy(update={"step": said(one.step)}) for one in status.contradictions),
            "check": None if check is None else check.model_copy(update={"output": said(check.output), "why": said(check.why)}),
            "notes": tuple(map(said, status.notes)),
        }
    )

"""What the application's redactor leaves of a status of the work."""

from __future__ import annotations

import pytest

from langchain_ctxguard.core.redacted_status import redacted_status
from langchain_ctxguard.domain.reconcile import Contradiction, StatusItem, WorkStatus
from langchain_ctxguard.domain.workspace import CheckResult

PRIVATE = "Ada's 4711"
STATUS = WorkStatus(
    goal=PRIVATE,
    task=PRIVATE,
    in_effect=(StatusItem(text=PRIVATE),),
    not_in_effect=(StatusItem(text=PRIVATE),),
    claimed=(StatusItem(text=PRIVATE),),
    contradictions=(Contradiction(kind="gone", path="4711.py", trace=1, step=PRIVATE, expected="a" * 64),),
    notes=(PRIVATE,),
)
CHECK = CheckResult(outcome="failed", output=PRIVATE, why=PRIVATE)


def redact(text: str) -> str:
    return text.replace("4711", "####")


@pytest.mark.parametrize("check", [None, CHECK])
def test_every_word_is_redacted_and_names_of_files_stay(check: CheckResult | None) -> None:
    """With a check or without one; by their names the files are found again."""
    status = STATUS.model_copy(update={"check": check})
    left = redacted_status(status, redact)

    assert "Ada's 4711" not in left.model_dump_json()
    assert "4711.py" == left.contradictions[0].path
    assert (status.check is None) is (left.check is None)
    assert (7 if check is None else 9) == left.model_dump_json().count("Ada's ####")


def test_without_a_redactor_it_stays_as_it_is() -> None:
    """Nothing is copied."""
    assert redacted_status(STATUS, None) is STATUS

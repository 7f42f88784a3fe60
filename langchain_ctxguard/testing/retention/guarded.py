"""Our guard as one of the ways."""

from __future__ import annotations

from typing import Any

from langchain_ctxguard.backends.store import GuardStore
from langchain_ctxguard.domain.config import GuardConfig
from langchain_ctxguard.domain.constraint import Constraint
from langchain_ctxguard.errors import ConfigurationError
from langchain_ctxguard.graph.guard import ContextGuard
from langchain_ctxguard.records.consent_ledger import ConsentLedger
from langchain_ctxguard.testing.retention.case import RetentionCase
from langchain_ctxguard.testing.retention.setting import KEPT_MESSAGES, Built, Setting

SUBJECT = "person-of-the-case"


def guarded(setting: Setting) -> Built:
    """Return a guard that knows what the application of the case knows.

    Raises:
        ConfigurationError: the case's policy cannot be used.
    """
    case = setting.case
    store = GuardStore.open("memory://")
    for field, value in (case.consents or {}).items():
        ledger = ConsentLedger(store, surface="retention case")
        record = ledger.deny if value is False else ledger.grant
        record(field, value, subject=SUBJECT, basis="the case says so", recorded_by="retention case")
    guard = ContextGuard(
        _config(case),
        constraints=[_constraint(rule.text, rule.id) for rule in case.declared],
        trigger=("tokens", setting.trigger),
        keep=("messages", KEPT_MESSAGES),
        summarizer=setting.summary_model,
        store=store,
        subject="subject",
    )

    def close() -> None:
        guard.close()
        store.close()

    return Built((guard,), tuple(guard.tools(list(setting.tools))), knows_rules=True, context={"subject": SUBJECT}, close=close)


def _config(case: RetentionCase) -> GuardConfig | None:
    sections: dict[str, Any] = {} if case.policy is None else {"tools": dict(case.policy)}
    try:
        return GuardConfig.from_dict(sections) if sections else None
    except ConfigurationError as error:
        msg = f"case '{case.name}': policy: {error}"
        raise ConfigurationError(msg) from error


def _constraint(text: str, constraint_id: str | None) -> Any:
    return text if constraint_id is None else Constraint(constraint_id=constraint_id, text=text)

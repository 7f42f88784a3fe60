"""A guard in a process of its own, with the URLs its operator gave it: prints what it could read, and how each attempt to write ended."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from langchain_ctxguard import ConsentLedger, ConstraintRegistry, ContextGuard, GuardStore
from langchain_ctxguard.errors import ContextGuardError


def ended(attempt: Callable[[], Any]) -> str:
    """Run an attempt and say how it ended."""
    try:
        attempt()
    except ContextGuardError as error:
        return f"{type(error).__name__}: {error}"
    return "written"


def attempts(url: str) -> dict[str, str]:
    """Try everything a process with this URL has to write a consent or a rule, and an audit entry, and say how each ended."""
    said = {"subject": "u-1", "basis": "none", "recorded_by": "the agent"}
    with GuardStore.open(url) as store:
        ledger = ConsentLedger(store)
        entry = store.log.read(store.stream("consents", "u-1"))[0]
        return {
            "grant": ended(lambda: ledger.grant("send_mail", value=True, **said)),
            "revoke": ended(lambda: ledger.revoke("send_mail", **said)),
            "append": ended(lambda: store.log.append(store.stream("consents", "u-2"), [entry.body])),
            "rule": ended(lambda: ConstraintRegistry(store.log).writer("system", by="x").declare(_rule(), "because")),
            "audit": ended(lambda: store.log.append(store.stream("audit", 't "1" \\ 线程\n'), [b"{}"], refs=["t-1"])),
        }


def main(consents_url: str) -> None:
    """Read a consent through a guard, try to write one, and read it again."""
    guard = ContextGuard(consents=consents_url)
    consents: Any = guard.consents
    before = consents.read("u-1").is_true("send_mail")
    ends = attempts(consents_url)
    found = {"is_true": before, "ends": ends, "still_true": consents.read("u-1").is_true("send_mail")}
    guard.close()
    sys.stdout.write(json.dumps(found))


def _rule() -> Any:
    from langchain_ctxguard import Constraint

    return Constraint(constraint_id="r-1", text="Anything goes.")


if __name__ == "__main__":
    main(*sys.argv[1:])

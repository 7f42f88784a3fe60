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


def main(store_url: str, consents_url: str) -> None:
    """Read a consent through the guard, then try everything this process has to write one."""
    guard = ContextGuard(store=store_url or None, consents=consents_url)
    consents: Any = guard.consents
    said = {"subject": "u-1", "basis": "none", "recorded_by": "the agent"}
    found: dict[str, Any] = {"is_true": consents.read("u-1").is_true("send_mail")}
    for name, url in {"agent": store_url, "reader": consents_url}.items():
        if not url:
            continue
        with GuardStore.open(url) as store:
            ledger = ConsentLedger(store)
            stream = store.stream("consents", "u-2")
            entry = store.log.read(store.stream("consents", "u-1"))[0]
            found[name] = {
                "grant": ended(lambda ledger=ledger: ledger.grant("send_mail", value=True, **said)),
                "revoke": ended(lambda ledger=ledger: ledger.revoke("send_mail", **said)),
                "append": ended(lambda store=store, stream=stream, entry=entry: store.log.append(stream, [entry.body])),
                "rule": ended(lambda store=store: ConstraintRegistry(store.log).writer("system", by="x").declare(_rule(), "because")),
                "audit": ended(lambda store=store: store.log.append(store.stream("audit", 't "1" \\ 线程\n'), [b"{}"], refs=["t-1"])),
            }
    found["still_true"] = consents.read("u-1").is_true("send_mail")
    guard.close()
    sys.stdout.write(json.dumps(found))


def _rule() -> Any:
    from langchain_ctxguard import Constraint

    return Constraint(constraint_id="r-1", text="Anything goes.")


if __name__ == "__main__":
    main(*sys.argv[1:])

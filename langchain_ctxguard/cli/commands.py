"""All commands by name, in the order of `--help` and docs/cli.md. A command is added here, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from langchain_ctxguard.cli import (
    audit,
    case,
    check,
    compact,
    consents,
    constraints,
    demo_options,
    export,
    fields,
    init,
    migrate,
    policy,
    purge,
    report,
    review,
    rollback,
    sample,
    schema,
    show,
    verify,
    versions,
)

COMMANDS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "compact": compact.compact,
        "demo": demo_options.demo,
        "audit": audit.audit,
        "threads": versions.threads,
        "versions": versions.versions,
        "diff": versions.diff,
        "show": show.show,
        "fields": fields.fields,
        "report": report.report,
        "rollback": rollback.rollback,
        "verify": verify.verify,
        "explain": consents.explain,
        "constraints": constraints.constraints,
        "consents list": consents.consents_list,
        "consents history": consents.consents_history,
        "policy check": policy.check,
        "policy explain": policy.explain,
        "policy test": policy.hold,
        "check": check.check,
        "case": case.case,
        "sample": sample.sample,
        "review": review.review,
        "init": init.init,
        "schema": schema.schema,
        "migrate": migrate.migrate,
        "purge": purge.purge,
        "export": export.export,
    }
)

GROUPS: Mapping[str, str] = MappingProxyType(
    {
        "consents": "Look into the consent ledger.",
        "policy": "Read a tool policy, ask it about a call, hold it to cases.",
    }
)

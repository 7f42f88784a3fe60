"""`ctxguard constraints`: the rules of a config file or a store, and of each whether anything enforces it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langchain_ctxguard.cli.about import described
from langchain_ctxguard.cli.printable import echo, printable
from langchain_ctxguard.cli.stores import Tenant, fail, json_out, opened
from langchain_ctxguard.cli.table import show_rows

if TYPE_CHECKING:
    from langchain_ctxguard.core.enforcement import Standing
    from langchain_ctxguard.core.resolve import Shadowed
    from langchain_ctxguard.domain.config import GuardConfig
    from langchain_ctxguard.domain.constraint import Constraint
    from langchain_ctxguard.domain.inferred import InferredConstraint

_HEADINGS = ("id", "version", "authority", "scope", "severity", "enforcement", "validator", "holds because")
_CHANGES = ("entry", "when", "what", "version", "by", "reason", "text")
_STYLES = {"enforced": "green", "checked": "yellow", "shown": "dim", "unenforced": "bold red"}


@described(
    "ctxguard constraints --config ctxguard.yaml --store sqlite:///ctxguard.db --thread order-17",
    cannot="the file or the store cannot be used, or nothing is on record of the rule",
)
def constraints(
    *,
    config: Annotated[Path | None, typer.Option(help="The config file to read; ctxguard.yaml where neither it nor a store is named.")] = None,
    store: Annotated[str | None, typer.Option(metavar="URL", help="A store, whose registry is read: e.g. sqlite:///ctxguard.db.")] = None,
    thread: Annotated[str | None, typer.Option(help="With --store: the rules of this thread, and those people said in it.")] = None,
    history: Annotated[str | None, typer.Option(metavar="RULE", help="With --store: everything that ever happened to a rule.")] = None,
    tenant: Tenant = "default",
    as_json: Annotated[bool, typer.Option("--json", help="Print them as JSON.")] = False,
) -> None:
    """List the rules of a config file or a store and say of each whether it is enforced or only shown to the model."""
    if store is None and (thread is not None or history is not None):
        fail("constraints", "--thread and --history are asked of a store; name it with --store.")
    if store is not None and history is not None:
        _print_history(store, tenant, history, as_json=as_json)
        return
    source = config or (Path("ctxguard.yaml") if store is None else None)
    loaded = None if source is None else _loaded(source)
    given = () if loaded is None else loaded.constraints
    tools = None if loaded is None else loaded.tools
    enforced, asked = (tools.enforced, tools.asked) if tools is not None else ((), ())
    rules, resting, said = (given, (), ()) if store is None else _stored(store, tenant, thread, given)

    from langchain_ctxguard.core.enforcement import standing_of

    found = [(rule, standing_of(rule, enforced_by=enforced, asked_by=asked)) for rule in rules]
    if as_json:
        document: dict[str, Any] = {"constraints": [_as_data(rule, standing) for rule, standing in found]}
        if store is not None:
            document |= {"not_in_force": [one.model_dump(mode="json") for one in resting], "said": [one.model_dump(mode="json") for one in said]}
        json_out(document)
        return
    _print_table(found)
    _print_rest(resting, said)
    named = " and ".join(filter(None, (None if source is None else str(source), None if store is None else "the store")))
    echo(_closing(found, source=printable(named)))


def _print_rest(resting: Sequence[Shadowed], said: Sequence[InferredConstraint]) -> None:
    for shadowed in resting:
        by = f", by {shadowed.by}" if shadowed.by else ""
        echo(printable(f"not in force: {shadowed.constraint.reference}: {shadowed.reason}{by}"))
    for rule in said:
        standing = "confirmed by nobody and not enforced" if rule.status == "inferred" else rule.status
        echo(printable(f"said, {standing}: {rule.text}"))


def _loaded(config: Path) -> GuardConfig:
    from langchain_ctxguard.backends.checks import prepared_check
    from langchain_ctxguard.domain.config import GuardConfig
    from langchain_ctxguard.errors import ConfigurationError

    try:
        loaded = GuardConfig.from_file(config)
        for rule in loaded.constraints:
            if rule.validator is not None and not isinstance(rule.validator, str):
                prepared_check(rule)
    except ConfigurationError as error:
        fail("constraints", str(error), error, keep="\n")
    return loaded


def _stored(
    url: str, tenant: str, thread: str | None, given: Sequence[Constraint]
) -> tuple[Sequence[Constraint], Sequence[Shadowed], Sequence[InferredConstraint]]:
    from langchain_ctxguard.cli.stored_rules import stored_rules

    with opened("constraints", url, tenant) as store:
        return stored_rules(store, thread=thread, given=given)


def _print_history(url: str, tenant: str, rule: str, *, as_json: bool) -> None:
    from langchain_ctxguard.cli.stored_rules import change_cells, history_of

    with opened("constraints", url, tenant) as store:
        changes = history_of(store, rule)
    if not changes:
        fail("constraints", f"Nothing is on record of a rule '{rule}'. Without --history all rules are listed.")
    if as_json:
        json_out({"history": [change.model_dump(mode="json") for change in changes]})
    else:
        show_rows(_CHANGES, map(change_cells, changes))


def _as_data(rule: Constraint, standing: Standing) -> dict[str, Any]:
    return {
        **rule.model_dump(mode="json"),
        "standing": standing.kind,
        "is_enforced": standing.kind == "enforced",
        "holds_because": standing.sentence,
    }


def _cells(rule: Constraint, standing: Standing) -> tuple[str, ...]:
    from langchain_ctxguard.core.enforcement import check_name

    scope = rule.scope.kind if rule.scope.value is None else f"{rule.scope.kind} {rule.scope.value}"
    cells = (
        rule.constraint_id,
        str(rule.version),
        rule.authority,
        scope,
        rule.severity,
        rule.enforcement,
        check_name(rule) or "-",
        standing.sentence,
    )
    return tuple(map(printable, cells))


def _print_table(found: Sequence[tuple[Constraint, Standing]]) -> None:
    if not found:
        return
    lines = [_cells(rule, standing) for rule, standing in found]
    if not sys.stdout.isatty():
        for cells in [_HEADINGS, *lines]:
            echo("\t".join(cells))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*_HEADINGS, box=box.SIMPLE, pad_edge=False, show_edge=False)
    for cells, (_, standing) in zip(lines, found, strict=True):
        table.add_row(*map(Text, cells[:-1]), Text(cells[-1], style=_STYLES[standing.kind]))
    Console(file=sys.stdout, highlight=False).print(table)


def _closing(found: Sequence[tuple[Constraint, Standing]], *, source: str) -> str:
    """Return one sentence that leaves no doubt how much of it is more than words."""
    counts: Counter[str] = Counter(standing.kind for _, standing in found)
    words = {
        "enforced": "enforced",
        "checked": "checked, not enforced",
        "shown": "guidance, not enforced",
        "unenforced": "not enforced by anything in this file",
    }
    parts = [f"{counts[kind]} {word}" for kind, word in words.items() if counts[kind]]
    total = f"{len(found)} rule" if len(found) == 1 else f"{len(found)} rules"
    return f"{source}: {total}{': ' if parts else '.'}{'; '.join(parts)}{'.' if parts else ''}"

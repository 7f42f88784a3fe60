"""`ctxguard policy check`, `explain` and `test`: read a policy, ask it about a call, and hold it to cases."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from langchain_ctxguard.cli.about import described
from langchain_ctxguard.cli.printable import echo, printable

if TYPE_CHECKING:
    from langchain_ctxguard.core.policy_cases import Account
    from langchain_ctxguard.domain.config import GuardConfig
    from langchain_ctxguard.domain.policy import ToolPolicy
    from langchain_ctxguard.domain.policy_case import PolicyCase
    from langchain_ctxguard.domain.tool_rule import ToolRule

_FOUND = 1
_CANNOT_START = 2
_HEADINGS = ("id", "tool", "verdict", "requires", "enforces")

Config = Annotated[Path, typer.Option(help="The config file to read.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]


@described("ctxguard policy check", done="nothing is odd", found="something is", cannot="the file cannot be used")
def check(*, config: Config = Path("ctxguard.yaml"), as_json: AsJson = False) -> None:
    """List the rules of a policy and say what is odd about it."""
    from langchain_ctxguard.cli.outcomes import write_json
    from langchain_ctxguard.core.policy_cases import oddities

    loaded, policy = _loaded("check", config)
    odd = [*oddities(policy, (rule.constraint_id for rule in loaded.constraints)), *_unenforced(loaded)]
    if as_json:
        rules = [rule.model_dump(mode="json", by_alias=True, exclude_defaults=True) for rule in policy.rules]
        write_json({"default": policy.default, "rules": rules, "odd": odd}, None)
    else:
        for cells in [_HEADINGS, *(_cells(rule, place) for place, rule in enumerate(policy.rules))]:
            echo("\t".join(map(printable, cells)))
        count = len(policy.rules)
        echo(f"{printable(str(config))}: {count} {'rule' if count == 1 else 'rules'}; what none of them names: {policy.default}.")
        for sentence in odd:
            echo(printable(f"odd: {sentence}"))
    if odd:
        raise typer.Exit(_FOUND)


@described(
    """ctxguard policy explain --call '{"tool": "read_order", "args": {"id": 17}}'""",
    done="allowed",
    found="denied, or a person is asked",
    cannot="the file or the call cannot be used",
)
def explain(
    *,
    call: Annotated[str, typer.Option(help="""The call as JSON: {"tool": "send", "args": {...}}; `-` reads standard input.""", show_default=False)],
    config: Config = Path("ctxguard.yaml"),
    as_json: AsJson = False,
) -> None:
    """Say what a policy decides about a call, and what each of its rules says. Nothing is run, asked or recorded."""
    from langchain_ctxguard.cli.outcomes import write_json

    _, policy = _loaded("explain", config)
    text = sys.stdin.read() if call == "-" else call
    try:
        data = json.loads(text)
    except ValueError as error:
        _stop("explain", f'--call: {error}; write it as JSON: {{"tool": "send", "args": {{"to": "bob@example.com"}}}}', error)
    account = _judged(_case("explain", data, "--call"), policy)
    if as_json:
        write_json(account.model_dump(mode="json", exclude_none=True), None)
    else:
        echo(printable(account.verdict.sentence))
        for rule in account.rules:
            says = "".join(f"; {one}" for one in rule.says)
            echo(printable(f"  {rule.rule} ({', '.join(rule.tool)}): {rule.standing}{says}"))
        echo(f"  default: {account.default}")
    if account.verdict.decision != "allow":
        raise typer.Exit(_FOUND)


@described("ctxguard policy test cases.yaml", done="all as expected", found="one is not", cannot="a file cannot be used")
def hold(
    cases: Annotated[Path, typer.Argument(metavar="CASES", help="Cases: a YAML or JSON list, or JSON lines.", show_default=False)],
    *,
    config: Config = Path("ctxguard.yaml"),
    as_json: AsJson = False,
) -> None:
    """Hold a policy to cases: each is a call, what is known when it is made, and what ought to become of it."""
    from langchain_ctxguard.cli.outcomes import write_json
    from langchain_ctxguard.core.policy_cases import case_fault

    _, policy = _loaded("test", config)
    results = []
    for place, data in enumerate(_read_cases(cases)):
        case = _case("test", data, f"{cases}: case {place + 1}")
        verdict = _judged(case, policy).verdict
        results.append({"name": case.name or f"{case.tool} ({place + 1})", "decision": verdict.decision, "fault": case_fault(case, verdict)})
    faults = [result for result in results if result["fault"] is not None]
    if as_json:
        write_json({"cases": results, "failed": len(faults)}, None)
    else:
        for result in results:
            echo(printable(f"{'ok' if result['fault'] is None else 'FAILED'}\t{result['name']}\t{result['fault'] or result['decision']}", keep="\t"))
        echo(f"{len(results)} cases, {len(faults)} failed.")
    if faults:
        raise typer.Exit(_FOUND)


def _loaded(command: str, config: Path) -> tuple[GuardConfig, ToolPolicy]:
    from langchain_ctxguard.domain.config import GuardConfig
    from langchain_ctxguard.errors import ConfigurationError

    try:
        loaded = GuardConfig.from_file(config)
    except ConfigurationError as error:
        _stop(command, str(error), error)
    if loaded.tools is None:
        _stop(command, f"'{config}' has no section `tools`: every call is allowed and recorded. `ctxguard init` writes one to start from.")
    return loaded, loaded.tools


def _judged(case: PolicyCase, policy: ToolPolicy) -> Account:
    from langchain_ctxguard.backends.paths import LocalPaths
    from langchain_ctxguard.core.policy_cases import account_of

    return account_of(case, policy, now=datetime.now(UTC), paths=LocalPaths())


def _case(command: str, data: Any, place: str) -> PolicyCase:
    from langchain_ctxguard.domain.policy_case import PolicyCase
    from langchain_ctxguard.errors import ConfigurationError

    try:
        return PolicyCase.from_data(data, place=place)
    except ConfigurationError as error:
        _stop(command, str(error), error)


def _read_cases(path: Path) -> list[Any]:
    from langchain_ctxguard.domain.config_text import read_data
    from langchain_ctxguard.errors import ConfigurationError

    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".jsonl":
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        found = read_data(text, name=str(path))
    except (OSError, ValueError) as error:
        _stop("test", str(error) if isinstance(error, ConfigurationError) else f"Cannot read '{path}': {error}.", error)
    if not isinstance(found, list):
        _stop("test", f"'{path}' is no list of cases; each has a `tool`, `args` and what to `expect`.")
    return found


def _unenforced(config: GuardConfig) -> list[str]:
    from langchain_ctxguard.core.enforcement import standing_of

    policy = config.tools
    kept = (frozenset[str](), frozenset[str]()) if policy is None else (policy.enforced, policy.asked)
    standings = [(rule, standing_of(rule, enforced_by=kept[0], asked_by=kept[1])) for rule in config.constraints]
    return [
        f"the constraint '{rule.reference}' ({rule.enforcement}) is {standing.sentence}."
        for rule, standing in standings
        if standing.kind == "unenforced" and rule.enforcement in {"runtime", "human_approval"}
    ]


def _cells(rule: ToolRule, place: int) -> tuple[str, ...]:
    from langchain_ctxguard.domain.tool_rule import REQUIREMENTS

    requires = [key for key in REQUIREMENTS if getattr(rule, key)]
    verdict = rule.verdict if not rule.when else f"{rule.verdict} when {', '.join(rule.when)}"
    return rule.id or f"rules[{place}]", ", ".join(rule.tool), verdict, ", ".join(requires) or "-", ", ".join(rule.enforces) or "-"


def _stop(command: str, message: str, cause: Exception | None = None) -> NoReturn:
    echo(printable(f"ctxguard policy {command}: {message}", keep="\n"), err=True)
    raise typer.Exit(_CANNOT_START) from cause

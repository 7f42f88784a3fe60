"""The command `ctxguard`. Commands load what they need when they run, so `--help` loads no agent framework."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer


def main() -> None:
    """Run `ctxguard` with the arguments of the process."""
    build_app()(prog_name="ctxguard")


def build_app() -> typer.Typer:
    """Return the command line with all its commands."""
    # Importing this package must stay free.
    import typer

    from langchain_ctxguard.cli import audit, compact, consents, constraints, export, init, migrate, policy, report, review, sample, schema, versions
    from langchain_ctxguard.cli.demo_options import demo

    app = typer.Typer(
        name="ctxguard",
        help="Compaction of long agent runs as a checked state transition: rules, consents and facts survive it, or it is refused.",
        no_args_is_help=True,
        add_completion=False,
        # A failure we did not foresee shows Python's own traceback: a prettier one would print the conversation's text.
        pretty_exceptions_enable=False,
    )
    app.command("compact")(compact.compact)
    app.command("demo")(demo)
    app.command("constraints")(constraints.constraints)
    ledger = typer.Typer(help="Look into the consent ledger.", no_args_is_help=True)
    ledger.command("list")(consents.consents_list)
    ledger.command("history")(consents.consents_history)
    app.add_typer(ledger, name="consents")
    app.command("explain")(consents.explain)
    app.command("schema")(schema.schema)
    app.command("init")(init.init)
    app.command("migrate")(migrate.migrate)
    app.command("threads")(versions.threads)
    app.command("versions")(versions.versions)
    app.command("diff")(versions.diff)
    app.command("rollback")(versions.rollback)
    app.command("verify")(versions.verify)
    rules = typer.Typer(help="Read a tool policy, ask it about a call, hold it to cases.", no_args_is_help=True)
    rules.command("check")(policy.check)
    rules.command("explain")(policy.explain)
    rules.command("test")(policy.hold)
    app.add_typer(rules, name="policy")
    app.command("export")(export.export)
    app.command("audit")(audit.audit)
    app.command("report")(report.report)
    app.command("sample")(sample.sample)
    app.command("review")(review.review)
    return app

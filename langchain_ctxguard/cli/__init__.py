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

    from langchain_ctxguard.cli import audit, compact, constraints, export, init, migrate, review, sample, schema, versions
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
    app.command("schema")(schema.schema)
    app.command("init")(init.init)
    app.command("migrate")(migrate.migrate)
    app.command("threads")(versions.threads)
    app.command("versions")(versions.versions)
    app.command("diff")(versions.diff)
    app.command("rollback")(versions.rollback)
    app.command("verify")(versions.verify)
    app.command("export")(export.export)
    app.command("audit")(audit.audit)
    app.command("sample")(sample.sample)
    app.command("review")(review.review)
    return app

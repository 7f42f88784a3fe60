"""The command `ctxguard`. Commands load what they need when they run, so `--help` loads no agent framework."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import typer


def main() -> None:
    """Run `ctxguard` with the arguments of the process."""
    from langchain_ctxguard.cli.running import run_process

    run_process(build_app())


def build_app() -> typer.Typer:
    """Return the command line with all its commands."""
    # Importing this package must stay free.
    from shutil import get_terminal_size

    import typer

    from langchain_ctxguard.cli.about import about_of
    from langchain_ctxguard.cli.commands import COMMANDS, GROUPS
    from langchain_ctxguard.cli.running import Commands, plainly
    from langchain_ctxguard.cli.table import NARROW

    # Boxes in a narrow terminal cut the names of options short.
    columns = get_terminal_size().columns
    boxes: dict[str, Any] = {"rich_markup_mode": None, "context_settings": {"terminal_width": columns}} if columns < NARROW else {}
    app = typer.Typer(
        name="ctxguard",
        **boxes,
        cls=Commands,
        help="Compaction of long agent runs as a checked state transition: rules, consents and facts survive it, or it is refused.",
        epilog="Exit codes are the same everywhere: 0 done, 1 a finding, 2 it cannot be done. `ctxguard --version` says which version this is.",
        no_args_is_help=True,
        add_completion=False,
        # A fault of the package is told by its kind and place: a traceback would print the conversation's text.
        pretty_exceptions_enable=False,
    )
    groups: dict[str, typer.Typer] = {}
    for name, function in COMMANDS.items():
        group, _, last = name.rpartition(" ")
        if group and group not in groups:
            groups[group] = typer.Typer(help=GROUPS[group], no_args_is_help=True, **boxes)
            app.add_typer(groups[group], name=group)
        parent = groups[group] if group else app
        parent.command(last, epilog=about_of(function).epilog)(plainly(name, function))
    return app

"""`ctxguard report`: one page that tells a stranger what became of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from langchain_ctxguard.cli.about import described
from langchain_ctxguard.cli.printable import echo, printable
from langchain_ctxguard.cli.stores import AsJson, Namespace, Tenant, fail, opened, place_of

if TYPE_CHECKING:
    from langchain_ctxguard.backends.store import GuardStore
    from langchain_ctxguard.domain.config import GuardConfig
    from langchain_ctxguard.domain.context_version import ContextPlace
    from langchain_ctxguard.report.story import Report

_FORMS: dict[str, Literal["html", "markdown", "json"]] = {
    ".html": "html", ".htm": "html", ".md": "markdown", ".markdown": "markdown", ".json": "json",
}  # fmt: skip


@described(
    "ctxguard report order-17 --store sqlite:///ctxguard.db -o report.html",
    cannot="the store, the file or the output cannot be used, or there is nothing about that thread",
)
def report(
    thread_or_file: Annotated[str, typer.Argument(metavar="THREAD|FILE", help="A thread of the --store, or a transcript.", show_default=False)],
    *,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Where to write: .html, .md or .json. Without it, Markdown goes to standard output.")
    ] = None,
    store: Annotated[
        str | None, typer.Option(metavar="URL", help="The store of the thread, e.g. sqlite:///ctxguard.db; without it, FILE is read.")
    ] = None,
    checkpointer: Annotated[
        str | None, typer.Option(help="Where the state rests (sqlite:///file or postgresql://...): messages that have not left the view are shown.")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="The application's ctxguard.yaml: texts of its rules, and what enforces them.")] = None,
    subject: Annotated[
        list[str] | None, typer.Option(help="Whose consents; without it, whom the thread's records name. Repeat it for several.")
    ] = None,
    run: Annotated[str | None, typer.Option(help="Which conversation of FILE, by name or number; without it, the only one.")] = None,
    namespace: Namespace = "",
    tenant: Tenant = "default",
    as_json: AsJson = False,
) -> None:
    """Tell what became of a thread or transcript on one page: rules, compactions, actions, cache, versions.

    The page holds everything it shows, the words of the conversation among it; it asks for nothing and runs nothing of what it shows.
    """
    form = _form(out, as_json=as_json)
    settings = None if config is None else _config(config)
    if store is None:
        made = _of_file(thread_or_file, run, settings)
    else:
        with opened("report", store, tenant) as guard_store:
            made = _of_thread(guard_store, thread_or_file, store, checkpointer, settings, namespace=namespace, subjects=subject or ())
    _write(_rendered(made, form), None if as_json else out)


def _of_thread(
    store: GuardStore, thread: str, url: str, checkpointer: str | None, config: GuardConfig | None, *, namespace: str, subjects: Any
) -> Report:
    from langchain_ctxguard.report.from_thread import report_of_thread

    place = place_of(thread, namespace)
    messages = None if checkpointer is None else _in_state(checkpointer, place, store)
    # Who a store may be read by is in its address.
    shown = url.partition("://")[0] if "@" in url else url
    made = report_of_thread(store, thread, namespace=namespace, where=shown, config=config, messages=messages, subjects=subjects)
    if not (made.compactions or made.restored or made.current or made.actions or made.moments or made.in_sight or made.work):
        fail("report", f"Nothing about thread '{thread}' is on record in this store. `ctxguard threads URL` lists the threads on record.")
    return made


def _in_state(url: str, place: ContextPlace, store: GuardStore) -> list[Any]:
    from langchain_ctxguard.cli.savers import saver_at
    from langchain_ctxguard.errors import ContextGuardError
    from langchain_ctxguard.graph.checkpointer import ContextCheckpointer

    config: Any = {"configurable": {"thread_id": place.thread, "checkpoint_ns": place.namespace}}
    try:
        with saver_at(url) as saver:
            found = ContextCheckpointer(saver, store=store).get_tuple(config)
            return [] if found is None else list(found.checkpoint["channel_values"].get("messages") or ())
    except (ContextGuardError, typer.Exit):
        raise
    except Exception as error:
        fail("report", f"The checkpointer cannot be read ({type(error).__name__}: {error}).", error)
        raise


def _of_file(file: str, wanted: str | None, config: GuardConfig | None) -> Report:
    from langchain_ctxguard.cli.audit_files import shown_name, transcript_of
    from langchain_ctxguard.errors import TranscriptError
    from langchain_ctxguard.report.from_transcript import report_of_run

    try:
        runs = transcript_of(file).runs
    except TranscriptError as error:
        hint = "" if Path(file).exists() or file == "-" else " To report on a stored thread, name its store with --store."
        fail("report", f"{error}{hint}", error)
    found = [one for number, one in enumerate(runs, 1) if wanted is None or wanted in {one.name, str(number)}]
    if len(found) != 1:
        names = ", ".join(f"{number} ({one.name})" for number, one in enumerate(runs[:10], 1))
        fail("report", f"{shown_name(file)} holds {len(runs)} conversations; choose one with --run: {names}{', ...' if len(runs) > 10 else ''}.")  # noqa: PLR2004
    rules = None if config is None or not config.constraints else config.constraints
    return report_of_run(found[0], where=shown_name(file), constraints=rules)


def _config(path: Path) -> GuardConfig:
    from langchain_ctxguard.domain.config import GuardConfig

    return GuardConfig.from_file(path)


def _form(out: Path | None, *, as_json: bool) -> Literal["html", "markdown", "json"]:
    if as_json:
        return "json"
    if out is None or str(out) == "-":
        return "markdown"
    form = _FORMS.get(out.suffix.lower())
    if form is None:
        fail("report", f"'{out}' says no form; end it in {', '.join(_FORMS)}.")
    return form


def _rendered(made: Report, form: Literal["html", "markdown", "json"]) -> str:
    from langchain_ctxguard.report.html import render_html
    from langchain_ctxguard.report.markdown import render_markdown
    from langchain_ctxguard.report.pages import document_of

    match form:
        case "json":
            # Half a surrogate pair is written as its escape, which pydantic's own writer refuses.
            return json.dumps(made.model_dump(mode="json"), ensure_ascii=False, indent=1) + "\n"
        case "markdown":
            return render_markdown(document_of(made))
        case "html":
            return render_html(document_of(made))


def _write(text: str, out: Path | None) -> None:
    from langchain_ctxguard.cli.outcomes import write_text

    if out is None or str(out) == "-":
        write_text(text, None)
        return
    write_text(text, out)
    echo(printable(f"Written to {out} ({len(text):,} characters)."))

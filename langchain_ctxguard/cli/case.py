"""`ctxguard case`: turn a run that went wrong into a retention case."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langchain_ctxguard.cli.about import described
from langchain_ctxguard.cli.printable import echo, printable
from langchain_ctxguard.cli.savers import saver_at
from langchain_ctxguard.cli.stores import Namespace, Tenant, fail, opened

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage


@described(
    """ctxguard case chat.json --rule "Never delete an order." -o orders.retention.yaml""",
    cannot="the source cannot be read, or has no such request",
)
def case(
    source: Annotated[str, typer.Argument(metavar="FILE|THREAD", help="A transcript; a thread where --checkpointer is given.", show_default=False)],
    *,
    checkpointer: Annotated[
        str | None, typer.Option(help="Where the thread's checkpoints rest: sqlite:///file or postgresql://...", show_default=False)
    ] = None,
    store: Annotated[
        str | None, typer.Option(help="The guard's store, for a thread whose messages rest there or left its state.", show_default=False)
    ] = None,
    run: Annotated[str | None, typer.Option(help="Which run of a file with several.", show_default=False)] = None,
    name: Annotated[str | None, typer.Option(help="Of the case. Default: the name of the run.", show_default=False)] = None,
    rule: Annotated[
        list[str] | None, typer.Option(help="A rule the application had declared; several times for several.", show_default=False)
    ] = None,
    config: Annotated[Path | None, typer.Option(help="A config file, for its constraints.", show_default=False)] = None,
    request: Annotated[int | None, typer.Option(help="Which human message is the request, from 1, or -1 for the last.", show_default=False)] = None,
    rounds: Annotated[int, typer.Option(help="How many compactions must lie before the request.", min=1, max=20)] = 1,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Where to write it; end the name with .retention.yaml.", show_default=False)] = None,
    namespace: Namespace = "",
    tenant: Tenant = "default",
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Write the conversation of a run as a case: what it did about the request must not happen again. Read it over before you keep it."""
    from langchain_ctxguard.cli.outcomes import write_json, write_text
    from langchain_ctxguard.domain.config import GuardConfig
    from langchain_ctxguard.errors import ContextGuardError
    from langchain_ctxguard.testing.retention.making import as_yaml, case_from_messages

    try:
        found, messages = _thread(source, checkpointer, store, namespace, tenant) if checkpointer is not None else _file(source, run)
        declared = [] if config is None else [constraint.text for constraint in GuardConfig.from_file(config).constraints]
        made = case_from_messages(messages, name=name or found, rules=[*declared, *(rule or ())], request=request, rounds=rounds)
        if out is not None or not as_json:
            write_text(as_yaml([made]), out)
        if as_json:
            write_json({"version": 1, "cases": [made.model_dump(mode="json", exclude_defaults=True)]}, None)
    except (ContextGuardError, OSError) as error:
        fail("case", str(error), error)
    if out is not None and not as_json:
        echo(printable(f"Case '{made.name}' with {len(made.conversation)} turns was written to {out}. Try it: ctxguard check {out}"))


def _file(source: str, run: str | None) -> tuple[str, list[BaseMessage]]:
    from langchain_ctxguard.backends.transcripts import read_transcript
    from langchain_ctxguard.errors import ConfigurationError

    transcript = read_transcript(source)
    runs = [one for one in transcript.runs if run is None or one.name == run]
    if len(runs) != 1:
        names = ", ".join(one.name for one in transcript.runs[:10])
        msg = f"'{source}' holds {len(transcript.runs)} runs ({names}{', ...' if len(transcript.runs) > 10 else ''}); name one with --run."  # noqa: PLR2004
        raise ConfigurationError(msg)
    return runs[0].name, list(runs[0].messages)


def _thread(thread: str, checkpointer: str, url: str | None, namespace: str, tenant: str) -> tuple[str, list[BaseMessage]]:
    from langchain_ctxguard.errors import ConfigurationError

    with _saver(checkpointer, url, tenant) as (saver, archived):
        # A file saved under LangGraph's own rules of what may be loaded is read under them.
        loaded = saver.get_tuple({"configurable": {"thread_id": thread, "checkpoint_ns": namespace}})
        if loaded is None:
            msg = f"Thread '{thread}' has no checkpoint in that checkpointer."
            raise ConfigurationError(msg)
        state = list(loaded.checkpoint["channel_values"].get("messages", []))
        there = {message.id for message in state if message.id}
        return thread, [*(message for message in archived(thread, namespace) if message.id not in there), *state]


@contextmanager
def _saver(checkpointer: str, url: str | None, tenant: str) -> Iterator[tuple[Any, Any]]:
    with saver_at(checkpointer) as inner:
        if url is None:
            yield inner, lambda _thread, _namespace: ()
            return
        from langchain_ctxguard.backends.message_blobs import MessageBlobs
        from langchain_ctxguard.domain.context_version import ContextPlace
        from langchain_ctxguard.graph.checkpointer import ContextCheckpointer
        from langchain_ctxguard.records.archive import Archive
        from langchain_ctxguard.records.versions import VersionLog

        with opened("case", url, tenant) as store:
            archive = Archive(store, MessageBlobs(store.blobs, serde=inner.serde), VersionLog(store, kept=10_000))
            yield (
                ContextCheckpointer(inner, store=store),
                lambda thread, namespace: [one.message for one in archive.messages(ContextPlace(thread=thread, namespace=namespace))],
            )

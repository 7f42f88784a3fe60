"""`ctxguard threads`, `versions`, `diff`: what a store has on record of contexts, read without the application that wrote it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from langchain_ctxguard.cli.about import DONE, FOUND, described
from langchain_ctxguard.cli.printable import echo, printable
from langchain_ctxguard.cli.stores import AsJson, Namespace, Tenant, Thread, Url, fail, json_out, opened, place_of
from langchain_ctxguard.cli.table import show_rows

if TYPE_CHECKING:
    from langchain_ctxguard.backends.store import GuardStore
    from langchain_ctxguard.domain.context_version import Attempt, ContextPlace, ContextVersion
    from langchain_ctxguard.records.versions import VersionLog

_THREADS = ("thread", "namespace", "versions", "newest")
_VERSIONS = ("version", "made", "from", "tokens", "outcome", "notes")
_ATTEMPTS = ("made", "version", "outcome", "trigger", "tokens", "reason")


@described("ctxguard threads sqlite:///ctxguard.db", cannot="the store cannot be used")
def threads(url: Url, *, tenant: Tenant = "default", as_json: AsJson = False) -> None:
    """List the threads a store has on record, sub-agents apart, with how many versions of their context there are."""
    with opened("threads", url, tenant) as store:
        log, found = version_log(store), on_record(store)
        if as_json:
            json_out({"threads": [_thread_data(one, log) for one in found]})
        elif not show_rows(_THREADS, (_thread_cells(one, log) for one in found)):
            echo("No thread is on record in this store.")


@described("ctxguard versions sqlite:///ctxguard.db order-17", cannot="the store cannot be used, or it has nothing on record of the thread")
def versions(
    url: Url,
    thread: Thread,
    *,
    attempts: Annotated[bool, typer.Option("--attempts", help="List every attempt at a compaction, rejected ones too.")] = False,
    namespace: Namespace = "",
    tenant: Tenant = "default",
    as_json: AsJson = False,
) -> None:
    """List the versions of a thread's context: what each stands for, what it was made from, what was lost on the way."""
    with opened("versions", url, tenant) as store:
        log, place = version_log(store), place_of(thread, namespace)
        if attempts:
            tried = log.attempts(place)
            if not tried:
                fail("versions", f"Nobody tried to compact thread '{thread}'. `ctxguard threads URL` lists the threads on record.")
            if as_json:
                json_out({"attempts": [one.model_dump(mode="json") for one in tried]})
            else:
                show_rows(_ATTEMPTS, map(_attempt_cells, tried))
            return
        found = log.all(place)
        if not found:
            fail("versions", f"Thread '{thread}' has no version in this store. `ctxguard threads URL` lists the threads on record.")
        if as_json:
            json_out({"versions": [version_data(version) for version in found]})
        else:
            show_rows(_VERSIONS, map(_version_cells, found))


@described(
    "ctxguard diff sqlite:///ctxguard.db order-17 1 2",
    done="they show the same",
    found="they differ",
    cannot="one of them is not there, its content is gone, or the store cannot be used",
)
def diff(
    url: Url,
    thread: Thread,
    before: Annotated[int, typer.Argument(help="Number of the earlier version.", show_default=False)],
    after: Annotated[int, typer.Argument(help="Number of the later version.", show_default=False)],
    *,
    namespace: Namespace = "",
    tenant: Tenant = "default",
    as_json: AsJson = False,
) -> None:
    """Show what two versions of a thread's context differ in: fields, rules, summary, files, tokens."""
    from langchain_ctxguard.graph.history import History

    with opened("diff", url, tenant) as store:
        found = History(version_log(store), place_of(thread, namespace)).diff(before, after)
        if as_json:
            json_out(found.model_dump(mode="json"))
        else:
            echo(printable(str(found), keep="\n"))
        raise typer.Exit(DONE if found.is_empty else FOUND)


def version_log(store: GuardStore) -> VersionLog:
    """Return the versions of a store; a command never thins them."""
    from langchain_ctxguard.records.versions import VersionLog

    return VersionLog(store, kept=10_000)


def version_data(version: ContextVersion) -> dict[str, Any]:
    """Return a version as JSON shows it."""
    return {**version.model_dump(mode="json"), "is_stable": version.is_stable}


class OnRecord(NamedTuple):
    """A context, how many versions of it there are, and how many lines the work log of its thread has."""

    place: ContextPlace
    versions: int
    work: int = 0


def on_record(store: GuardStore) -> list[OnRecord]:
    """Return every context with a version or an attempt on record."""
    from langchain_ctxguard.records.versions import AUDIT, VERSIONS
    from langchain_ctxguard.records.worklog import WORKLOG

    counts: dict[tuple[str, str], int] = {}
    work: dict[tuple[str, str], int] = {}
    for head in store.anchor().heads:
        if head.stream.tenant == store.tenant and head.stream.kind in {VERSIONS, AUDIT} and (key := _key(head.stream.key)) is not None:
            counts[key] = counts.get(key, 0) + (head.seq if head.stream.kind == VERSIONS else 0)
        elif head.stream.tenant == store.tenant and head.stream.kind == WORKLOG:
            work[head.stream.key, ""] = head.seq
    return [OnRecord(place_of(*key), count, work.get(key, 0)) for key, count in sorted(counts.items())]


def _key(text: str) -> tuple[str, str] | None:
    """Return thread and namespace of a stream; an application may have streams of its own, with keys of any form."""
    try:
        thread, namespace = json.loads(text)
    except (ValueError, TypeError):
        return None
    return (thread, namespace) if isinstance(thread, str) and isinstance(namespace, str) and thread else None


def _thread_data(one: OnRecord, log: VersionLog) -> dict[str, Any]:
    newest = log.newest(one.place)
    work = {"work": one.work} if one.work else {}
    return {**one.place.model_dump(), "versions": one.versions, **work, "newest": None if newest is None else version_data(newest)}


def _thread_cells(one: OnRecord, log: VersionLog) -> tuple[str, ...]:
    newest = log.newest(one.place)
    count = f"{one.versions} {'version' if one.versions == 1 else 'versions'}"
    count += f", {one.work} {'line' if one.work == 1 else 'lines'} of work" if one.work else ""
    last = "-" if newest is None else f"newest {newest.number}, {newest.created_at:%Y-%m-%d %H:%M:%SZ}"
    return one.place.thread, one.place.namespace or "-", count, last


def _version_cells(version: ContextVersion) -> tuple[str, ...]:
    notes = [f"restores {version.restores}"] if version.restores is not None else [f"stands for {version.replaced} more messages"]
    notes += [f"{version.lost} critical fields lost"] if version.lost else []
    notes += [version.reason] if version.reason else []
    when = f"{version.created_at:%Y-%m-%d %H:%M:%SZ}"
    return str(version.number), when, f"from {version.parent or '-'}", f"{version.tokens} tokens", version.outcome, "; ".join(notes)


def _attempt_cells(attempt: Attempt) -> tuple[str, ...]:
    record = attempt.record
    made = "-" if attempt.version is None else f"version {attempt.version}"
    tokens = f"{record.tokens_before} -> {record.tokens_after} tokens"
    reason = record.reason if attempt.error is None else f"{record.reason} ({attempt.error})"
    return f"{attempt.at:%Y-%m-%d %H:%M:%SZ}", made, record.outcome, record.trigger, tokens, reason

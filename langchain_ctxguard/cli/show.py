"""`ctxguard show`: what a version of a context shows in place of the messages it stands for, and these messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langchain_ctxguard.cli.about import CANNOT, described
from langchain_ctxguard.cli.printable import echo, printable
from langchain_ctxguard.cli.stores import AsJson, Namespace, Number, Tenant, Thread, Url, fail, json_out, opened, place_of
from langchain_ctxguard.cli.table import show_rows
from langchain_ctxguard.cli.versions import version_data, version_log

if TYPE_CHECKING:
    from langchain_ctxguard.backends.store import GuardStore
    from langchain_ctxguard.domain.context import ContextHead
    from langchain_ctxguard.domain.context_version import ContextVersion
    from langchain_ctxguard.domain.version import CompactionRecord
    from langchain_ctxguard.domain.work_metrics import Recovery
    from langchain_ctxguard.records.archive import Archive, ArchivedMessage

_MESSAGES = ("id", "by", "text")
_LINE = 120
_HITS = 20
_KEYED = "keyed:"
"""Before the address of content that is encrypted."""


@described(
    "ctxguard show sqlite:///ctxguard.db order-17 2",
    cannot="there is no such version or message, its content is gone, or the store cannot be used",
)
def show(
    url: Url,
    thread: Thread,
    number: Number = None,
    *,
    messages: Annotated[bool, typer.Option("--messages", help="List the messages it stands for, as far as they are archived.")] = False,
    search: Annotated[str | None, typer.Option(metavar="WORDS", help="List those of them that share most with these words, best first.")] = None,
    message: Annotated[str | None, typer.Option(metavar="ID", help="Print one whole: by the id of the list, its own, or that of a call.")] = None,
    namespace: Namespace = "",
    tenant: Tenant = "default",
    as_json: AsJson = False,
) -> None:
    """Show a version of a thread's context: how it was made, and the words that stand in place of the messages it stands for."""
    with opened("show", url, tenant) as store:
        log, place = version_log(store), place_of(thread, namespace)
        version = log.newest(place) if number is None else log.get(place, number)
        if version is None:
            fail("show", f"Thread '{thread}' has no version in this store. `ctxguard threads URL` lists the threads on record.")
        if message is not None or messages or search is not None:
            require_readable("show", version)
        if message is not None:
            _print_message(archive_of(store), version, message, as_json=as_json)
        elif messages or search is not None:
            _print_messages(archive_of(store), version, search, as_json=as_json)
        else:
            record = next((one.record for one in log.attempts(place) if one.version == version.number), None)
            _print_version(store, version, record, _recovery_of(store, version), as_json=as_json)


def require_readable(command: str, version: ContextVersion) -> None:
    """End a command where the messages of a version are encrypted: their words are in no index, and a search would find nothing."""
    if version.archive.startswith(_KEYED):
        fail(
            command,
            f"The messages of thread '{version.place.thread}' are encrypted, and their key is the application's. Nothing was read; ask "
            "`guard.archived_messages(thread)` there.",
        )


def archive_of(store: GuardStore) -> Archive:
    """Return the archive of a store, as it is read without the application's keys."""
    from langchain_ctxguard.backends.message_blobs import MessageBlobs
    from langchain_ctxguard.records.archive import Archive
    from langchain_ctxguard.records.collected import Collections

    return Archive(store, MessageBlobs(store.blobs, give_back=Collections(store).give_back), version_log(store))


def texts_of(head: ContextHead) -> dict[str, str]:
    """Return the texts a version shows, by their name."""
    from langchain_ctxguard.core.compile import rendered

    return {} if head.body is None else {str(one.name): one.text for one in rendered(head.body, version=head.version)}


def _recovery_of(store: GuardStore, version: ContextVersion) -> Recovery | None:
    """Return what a version showed of the hand-over made before it, `None` where no agent's work is kept."""
    from langchain_ctxguard.records.recoveries import RecoveryLog

    place = version.place
    found = (one for one in RecoveryLog(store).all(place.thread) if (one.namespace, one.version) == (place.namespace, version.number))
    return next(found, None)


def _print_version(store: GuardStore, version: ContextVersion, record: CompactionRecord | None, recovery: Recovery | None, *, as_json: bool) -> None:
    from langchain_ctxguard.errors import BlobMissingError

    head: ContextHead | None = None
    gone: BlobMissingError | None = None
    try:
        head = version_log(store).head_of(version)
    except BlobMissingError as error:
        gone = error
    if as_json:
        content = None if head is None or head.body is None else head.body.model_dump(mode="json")
        made = None if record is None else record.model_dump(mode="json")
        texts = None if head is None else texts_of(head)
        work = {} if recovery is None else {"recovery": {**recovery.model_dump(mode="json"), "score": recovery.score}}
        json_out({"version": version_data(version), "record": made, "content": content, "texts": texts, **work})
    else:
        for line in (*_about(version, record), *([] if recovery is None else [_work_line(recovery)])):
            echo(printable(line))
        for text in () if head is None else texts_of(head).values():
            echo(f"\n{printable(text, keep=chr(10))}")
    if gone is not None:
        # The record was shown; that its words are gone is still not what was asked for.
        echo(printable(f"ctxguard show: {gone}"), err=True)
        raise typer.Exit(CANNOT)


def _about(version: ContextVersion, record: CompactionRecord | None) -> Iterator[str]:
    yield f"thread {version.place.thread}{f' in {version.place.namespace}' if version.place.namespace else ''}, version {version.number}"
    made = f"restores version {version.restores}" if version.restores is not None else f"stands for {version.replaced} more messages"
    yield f"made {version.created_at:%Y-%m-%d %H:%M:%SZ} from {f'version {version.parent}' if version.parent else 'no version'}: {made}"
    yield f"{version.outcome}{f' by {version.strategy}' if version.strategy else ''}, {version.tokens} tokens; reason: {version.reason or '-'}"
    yield f"rules {version.rules_fingerprint or '-'}, fields {version.fields_fingerprint or '-'}, consents up to entry {version.consent_head or '-'}"
    if record is not None:
        fields = record.fields
        yield f"{record.tokens_before} -> {record.tokens_after} tokens, attempts: {record.attempts}. {record.reason}"
        yield f"critical fields: {fields.before} before, {fields.kept} kept, {fields.repaired} repaired, {fields.lost} lost, {fields.changed} changed"
    yield f"{version.archived} messages archived from position {version.archived_from}" if version.archive else "no messages archived"


def _work_line(recovery: Recovery) -> str:
    shown = ", ".join(f"{element.replace('_', '-')} {share.found}/{share.total}" for element, share in recovery.shown.items())
    return f"work: {recovery.score:.1f} of 5 elements of hand-over {recovery.handoff} are shown ({shown})"


def _print_messages(archive: Archive, version: ContextVersion, search: str | None, *, as_json: bool) -> None:
    found = _read(archive, version, search)
    if as_json:
        json_out({"messages": [_message_data(one) for one in found]})
    elif not show_rows(_MESSAGES, map(_message_cells, found)):
        echo("No archived message." if search is None else "No archived message shares a word with that.")


def _read(archive: Archive, version: ContextVersion, search: str | None) -> Iterator[ArchivedMessage]:
    from langchain_ctxguard.records.archive import ArchivedMessage

    place = version.place
    if search is None:
        yield from archive.messages(place, version=version.number)
        return
    rows = archive.located(place, archive.search(place, search, limit=_HITS, version=version.number), version=version.number)
    read = archive.read(place, [row.address for _, row in rows])
    yield from (ArchivedMessage(position, row.key, row.address, read[row.address]) for position, row in rows)


def _print_message(archive: Archive, version: ContextVersion, name: str, *, as_json: bool) -> None:
    found = archive.find(version.place, name, version=version.number)
    if found is None:
        fail("show", f"Version {version.number} stands for no archived message '{name}'. `ctxguard show URL THREAD --messages` lists them.")
    if as_json:
        json_out({"message": {**_message_data(found), "data": found.message.model_dump(mode="json")}})
        return
    echo(printable(f"{found.handle}\t{_by(found)}\t{found.key}"))
    echo(printable(_text(found), keep="\n\t"))


def _message_data(one: ArchivedMessage) -> dict[str, Any]:
    return {"id": one.handle, "position": one.position, "key": one.key, "by": _by(one), "text": _text(one)}


def _message_cells(one: ArchivedMessage) -> tuple[str, str, str]:
    from langchain_ctxguard.core.text import clipped

    return one.handle, _by(one), clipped(" ".join(_text(one).split()), _LINE)


def _by(one: ArchivedMessage) -> str:
    from langchain_ctxguard.core.roles import speaker_of

    return speaker_of(one.message)


def _text(one: ArchivedMessage) -> str:
    """Return the words of a message, and the calls it makes."""
    from langchain_ctxguard.core.recalled import whole_text

    return whole_text(one.message)

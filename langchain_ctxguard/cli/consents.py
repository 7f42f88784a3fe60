"""`ctxguard consents list|history` and `ctxguard explain`: look into the consent ledger. Nothing here writes one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from langchain_ctxguard.cli.about import described
from langchain_ctxguard.cli.printable import echo, printable
from langchain_ctxguard.cli.stores import AsJson, Tenant, Url, json_out, opened

if TYPE_CHECKING:
    from langchain_ctxguard.domain.consent import Consent

_FOUND = 1

Subject = Annotated[str, typer.Argument(help="Whose consents.", show_default=False)]
Thread = Annotated[str | None, typer.Option(help="The thread; without it, what was said for all threads.")]


@described("ctxguard consents list sqlite:///ctxguard.db user-1", cannot="the store cannot be used")
def consents_list(url: Url, subject: Subject, *, thread: Thread = None, tenant: Tenant = "default", as_json: AsJson = False) -> None:
    """List the word that holds on each field, whatever it says, and whether it is in force now."""
    from langchain_ctxguard.records.consents import ConsentReader

    with opened("consents list", url, tenant) as store:
        found = ConsentReader(store).read(subject, thread=thread)
        if as_json:
            json_out(
                {"head": found.head.model_dump(), "consents": [{**_data(one), "is_in_force": one.is_in_force(found.at)} for one in found.entries]}
            )
            return
        for one in found.entries:
            echo(_line(one, "in force" if one.is_in_force(found.at) else "not in force"))
        if not found.entries:
            echo(printable(f"Nobody recorded anything for '{subject}' in this store."))


@described("ctxguard consents history sqlite:///ctxguard.db user-1 --field send_mail", cannot="the store cannot be used")
def consents_history(
    url: Url,
    subject: Subject,
    *,
    field: Annotated[str | None, typer.Option(help="Only what was said about this field.")] = None,
    tenant: Tenant = "default",
    as_json: AsJson = False,
) -> None:
    """List everything that was ever said, oldest first: granted, denied, revoked, expired, with who recorded it and on what basis."""
    from langchain_ctxguard.records.consents import ConsentReader

    with opened("consents history", url, tenant) as store:
        found = ConsentReader(store).history(subject, field)
        if as_json:
            json_out({"consents": [_data(one) for one in found]})
            return
        for one in found:
            echo(_line(one, f"entry {one.seq}"))
        if not found:
            echo(printable(f"Nobody recorded anything for '{subject}' in this store."))


@described(
    "ctxguard explain sqlite:///ctxguard.db call-1",
    done="the chain holds",
    found="it does not, or nothing about the action is on record",
    cannot="the store cannot be used",
)
def explain(
    url: Url,
    action: Annotated[str, typer.Argument(help="The id of a tool call.", show_default=False)],
    *,
    thread: Annotated[str | None, typer.Option(help="The thread, where ids of calls are used again.")] = None,
    tenant: Tenant = "default",
    as_json: AsJson = False,
) -> None:
    """Show why an action was allowed: what the gate read, on which consents that rests, and which compactions carried them."""
    from langchain_ctxguard.core.explained import explained_data, explained_text
    from langchain_ctxguard.records.explain import explain as explained

    with opened("explain", url, tenant) as store:
        found = explained(store, action, thread=thread)
        if as_json:
            json_out(explained_data(found))
        else:
            echo(printable(explained_text(found), keep="\n"))
        raise typer.Exit(0 if found.holds else _FOUND)


def _line(one: Consent, state: str) -> str:
    value = "-" if one.value is None else one.value.data.decode("utf-8")
    scope = "all threads" if one.thread is None else f"thread {one.thread}"
    until = "" if one.expires_at is None else f", until {one.expires_at:%Y-%m-%d %H:%M:%SZ}"
    through = f" through {one.surface}" if one.surface else ""
    when = f"{one.at:%Y-%m-%d %H:%M:%SZ}{until}"
    cells = (one.field, one.status, value, state, when, scope, f"basis {one.basis}", f"recorded by {one.recorded_by}{through}")
    return "\t".join(map(printable, cells))


def _data(one: Consent) -> dict[str, Any]:
    value = None if one.value is None else one.value.data.decode("utf-8")
    return {**one.model_dump(mode="json", exclude={"value"}), "value": value, "reference": one.ref}

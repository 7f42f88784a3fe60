"""How other records cite a consent: what a gate read, what a compaction carried. By these names the chain behind an action is found again."""

from __future__ import annotations

from pydantic import AwareDatetime

from langchain_ctxguard.domain.consent import Consent, ConsentHead, Consents
from langchain_ctxguard.domain.value import Value, digest_of


class ConsentCitation(Value):
    """A consent as another record names it: neither its value nor whose it is."""

    field: str
    reference: str
    """`Consent.ref`: by it a log finds the entry."""

    seq: int
    hash: str
    basis: str = ""
    is_true: bool = False
    """Whether its value was the literal `true` when it was read."""

    @classmethod
    def of(cls, consent: Consent) -> ConsentCitation:
        """Return how to cite `consent`."""
        is_true = consent.value is not None and consent.value.is_true
        return cls(field=consent.field, reference=consent.ref, seq=consent.seq, hash=consent.hash, basis=consent.basis, is_true=is_true)


class GateReading(Value):
    """What a gate found in the ledger when it judged a call. Put it into the call's record under the key `reading`."""

    at: AwareDatetime
    head: ConsentHead
    """Where the subject's stream ended: what came later was not known."""

    consents: tuple[ConsentCitation, ...] = ()
    """Those in force that it looked at."""

    @classmethod
    def of(cls, consents: Consents, *fields: str) -> GateReading:
        """Return what was read of `fields`; of all where none is named."""
        return cls(at=consents.at, head=consents.head, consents=citations(consents, *fields))


def citations(consents: Consents, *fields: str) -> tuple[ConsentCitation, ...]:
    """Return how a record cites the consents in force: all of them, or those of `fields`."""
    return tuple(ConsentCitation.of(entry) for entry in consents.in_force() if not fields or entry.field in fields)


def action_ref(call_id: str, thread: str | None = None) -> str:
    """Return the name under which every record about a tool call is to be found: what was judged, what it came to."""
    return f"action/{call_id}" if thread is None else f"action/{call_id}/{thread}"


def carried_ref(reference: str, thread: str) -> str:
    """Return the name under which the record of a compaction is to be found that carried a consent in a thread.

    One for each consent it cites, beside the record's own names. It names the thread: a consent of all threads is not looked for in all of them.
    """
    return f"carried/{reference}/{digest_of(thread)[:32]}"
